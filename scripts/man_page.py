"""Writes the manual page docs/pai-lsp.1 from the parsers of the command line: man_page.py [--check].

With --check nothing is written, and the status is 1 when the page is not up to date.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from made_page import write_or_compare

from pai_lsp import __version__
from pai_lsp.cli.subcommands import SUBCOMMANDS, parser_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parent.parent / "docs" / "pai-lsp.1"

_HEAD = r"""
.\" Made by scripts/man_page.py from the parsers of the command line; do not edit.
.TH PAI-LSP 1 "" "pai-lsp {version}" "User Commands"
.SH NAME
pai-lsp \- language server and checker for OpenPAI job files
.SH SYNOPSIS
{synopsis}
.SH DESCRIPTION
pai-lsp checks OpenPAI job files before they are submitted and reports problems on the exact words that cause them.
.PP
It is a command line tool, a language server for editors, and a compiler from the extended job protocol to the one that
every released cluster runs.
.PP
Options cannot be abbreviated.
.TP
\fB\-h\fR, \fB\-\-help\fR
Show the commands; after a command, show its arguments and options.
.TP
\fB\-V\fR, \fB\-\-version\fR
Show the version.
"""

_FOOT = r"""
.SH EXIT STATUS
.TP
.B 0
No findings, or success.
.TP
.B 1
Findings, or the command cannot process the job.
.TP
.B 2
Wrong usage.
.TP
.B 3
pai-lsp failed; standard error shows the reason in one line.
.SH FILES
.TP
.B .pai-lsp.yaml
Configuration: severities of rules, excluded files, plugins of the cluster, marketplaces. The nearest file at or above
the job's folder applies.
.TP
.B .pai-lsp.lock
The marketplace definitions that the jobs beside it use.
.TP
.BR *.pai.yaml ", " *.pai.yml
Job files. Other YAML files are jobs if their top-level keys are those of a job.
.SH ENVIRONMENT
.TP
.BR NO_COLOR ", " FORCE_COLOR
Turn colors off, or on even if the output is not a terminal.
.SH SEE ALSO
.B pai\-lsp explain
prints the documentation of a rule.
"""


def man_page() -> str:
    """The page."""
    commands = [(one.name, parser_of(one)) for one in SUBCOMMANDS]
    synopsis = "\n.br\n".join(f".B pai\\-lsp {_escaped(name)}\n{_synopsis(parser)}" for name, parser in commands)
    parts = [_HEAD.lstrip("\n").format(version=__version__, synopsis=synopsis), ".SH COMMANDS\n"]
    parts += [line for name, parser in commands for line in _section(name, parser)]
    return "".join([*parts, _FOOT.lstrip("\n")])


def _section(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f".SS pai\\-lsp {_escaped(name)}\n"
    yield from _text(parser.description or "")
    parts, arguments = _parts(parser), _arguments(parser)
    for argument in sorted(arguments, key=lambda argument: bool(argument.option_strings)):
        if "--help" not in argument.option_strings:  # described once, at the top
            yield f".TP\n{_heading(argument)}\n{_line(argument.help or '')}\n"
    if parser.epilog:
        yield ".PP\n"
        yield from _text(parser.epilog)
    for part, inner in parts.items():
        yield from _section(f"{name} {part}", inner)


def _parts(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands that the first argument chooses from, such as `marketplace list`."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            found |= action.choices
    return found


def _arguments(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [one for one in parser._actions if not isinstance(one, argparse._SubParsersAction)]  # noqa: SLF001 - as above


def _synopsis(parser: argparse.ArgumentParser) -> str:
    """What a command takes, in a few words."""
    words = [r"[\fIOPTION\fR]..."]
    if _parts(parser):
        words = [r"\fIACTION\fR", *words]
    for argument in _arguments(parser):
        if argument.option_strings:
            continue
        word = rf"\fI{_escaped(_value(argument))}\fR"
        word = f"[{word}]" if argument.nargs in {"?", "*"} else word
        words.append(f"{word}..." if argument.nargs == "*" else word)
    return " ".join(words)


def _heading(argument: argparse.Action) -> str:
    names = [rf"\fB{_escaped(name)}\fR" for name in argument.option_strings]
    value = rf"\fI{_escaped(_value(argument))}\fR" if argument.nargs != 0 else ""
    return " ".join(part for part in (", ".join(names), value) if part)


def _value(argument: argparse.Action) -> str:
    """The name that the help gives to a value."""
    choices = "{" + ",".join(map(str, argument.choices)) + "}" if argument.choices else ""
    return str(argument.metavar or choices or argument.dest.upper())


def _text(text: str) -> Iterator[str]:
    """Paragraphs are filled; what is indented or aligned by hand stays as it is."""
    for number, block in enumerate(text.strip().split("\n\n")):
        if number:
            yield ".PP\n"
        lines = block.split("\n")
        is_aligned = any(line.startswith(" ") or "  " in line for line in lines)
        body = "".join(f"{_line(line)}\n" for line in lines)
        yield f".nf\n{body}.fi\n" if is_aligned else body


def _line(text: str) -> str:
    escaped = _escaped(text)
    return rf"\&{escaped}" if escaped.startswith(".") else escaped


def _escaped(text: str) -> str:
    """Text in which roff sees no escape, no typographic quote and no hyphen to break a line at."""
    return text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")


if __name__ == "__main__":
    sys.exit(write_or_compare(PAGE, man_page(), "man"))
