"""The command `pai-lsp`: finds the subcommand, hands it its arguments, and turns what happens into an exit status.

A subcommand is a module with `add_arguments(parser)` and `run(arguments) -> int`, imported only when it is asked for,
so that `check` does not wait for what `server` needs.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import TYPE_CHECKING, Protocol, cast

from pai_lsp import __version__
from pai_lsp.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

FINDINGS = 1
WRONG_USAGE = 2
OWN_FAILURE = 3

# What a shell reports for a program that the signals of ^C and of a closed pipe end: 128 and the signal's number.
_INTERRUPTED = 130
_BROKEN_PIPE = 141


@dataclass(frozen=True, slots=True)
class Subcommand:
    """A name on the command line, the module behind it, and what it does in a few words."""

    name: str
    module: str
    summary: str


SUBCOMMANDS = (
    Subcommand("check", "pai_lsp.commands.check", "check job files, and mend what can safely be mended"),
    Subcommand("expand", "pai_lsp.commands.expand", "print the job that every cluster runs, or what it runs"),
    Subcommand("convert", "pai_lsp.commands.convert", "convert a job of protocol version 1 to version 2"),
    Subcommand("graph", "pai_lsp.commands.graph", "draw who requires whom: mermaid, dot, svg, png or pdf"),
    Subcommand("marketplace", "pai_lsp.commands.marketplace", "list, show, refresh and lock shared definitions"),
    Subcommand("rules", "pai_lsp.commands.rules", "list the rules"),
    Subcommand("explain", "pai_lsp.commands.explain", "explain one rule, with examples"),
    Subcommand("schema", "pai_lsp.commands.schema", "print a JSON schema for other YAML editors"),
    Subcommand("server", "pai_lsp.commands.server", "run the language server"),
    Subcommand("completion", "pai_lsp.commands.completion", "print what completes this command line in a shell"),
)

_EXAMPLES = """\
examples:
  pai-lsp check                       the job files in this folder and below
  pai-lsp check job.pai.yaml --fix    mend one job, and report what is left
  pai-lsp explain unknown-prerequisite
  pai-lsp check --help                all options of a command

exit status:
  0  nothing found      1  findings      2  wrong usage      3  a failure of pai-lsp itself

documentation: https://pai-lsp.readthedocs.io/
"""


class Command(Protocol):
    """What a subcommand's module offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Describe the subcommand and its arguments."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do it, and return the exit status."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv`, without the program's name; returns the exit status and never raises."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except SystemExit as ended:  # argparse has said what it had to say
        return ended.code if isinstance(ended.code, int) else WRONG_USAGE
    except BrokenPipeError:
        _forget_output()
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        return _INTERRUPTED
    return status


def parser_of(subcommand: Subcommand) -> argparse.ArgumentParser:
    """What reads a subcommand's arguments."""
    parser = argparse.ArgumentParser(
        prog=f"pai-lsp {subcommand.name}",
        formatter_class=_Help,
        allow_abbrev=False,
    )
    _command(subcommand).add_arguments(parser)
    return parser


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help of a fixed width: argparse would import shutil to learn the terminal's, on every run."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=110)


def _run(arguments: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names of files and texts of jobs may hold what an output can not
            stream.reconfigure(errors="backslashreplace")
    subcommand = next((one for one in SUBCOMMANDS if arguments and one.name == arguments[0]), None)
    if subcommand is None:
        return _without_subcommand(arguments)
    return _command(subcommand).run(parser_of(subcommand).parse_args(arguments[1:]))


def _command(subcommand: Subcommand) -> Command:
    return cast("Command", importlib.import_module(subcommand.module))


def _without_subcommand(arguments: list[str]) -> int:
    """Answer --help and --version, and explain what is wrong with anything else."""
    parser = argparse.ArgumentParser(
        prog="pai-lsp",
        description="Checks OpenPAI job files: says what the cluster would say, before you submit.",
        epilog=_EXAMPLES,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"pai-lsp {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for one in SUBCOMMANDS:
        commands.add_parser(one.name, help=one.summary)
    if arguments and not arguments[0].startswith("-"):
        from pai_lsp.spelling import did_you_mean  # noqa: PLC0415 - only for a misspelt command

        names = [one.name for one in SUBCOMMANDS]
        sys.stderr.write(f"pai-lsp: no command is named '{arguments[0]}'{did_you_mean(arguments[0], names)}\n")
        sys.stderr.write(f"commands: {', '.join(names)}; see pai-lsp --help\n")
        return WRONG_USAGE
    parser.parse_args(arguments)
    parser.print_help(sys.stderr)
    return WRONG_USAGE


def _forget_output() -> None:
    """Let the interpreter's last flush go nowhere: who read our output has gone."""
    try:
        output = sys.stdout.fileno()
    except OSError:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output)
    os.close(nowhere)
