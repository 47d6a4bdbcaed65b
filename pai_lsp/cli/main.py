"""The command `pai-lsp`: finds the subcommand, passes its arguments, and turns the result into an exit status.

A subcommand is a module with `add_arguments(parser)` and `run(arguments) -> int`. It is imported only when it is used,
so that `check` does not wait for the imports of `server`.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, cast

from pai_lsp import __version__
from pai_lsp.source.failures import OWN_FAILURE
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

FINDINGS = 1
WRONG_USAGE = 2

# What a shell reports for a program that the signals of ^C and of a closed pipe end: 128 and the signal's number.
_INTERRUPTED = 130
_BROKEN_PIPE = 141


@dataclass(frozen=True, slots=True)
class Subcommand:
    """A name on the command line, its module, and a short summary."""

    name: str
    module: str
    summary: str


SUBCOMMANDS = (
    Subcommand("check", "pai_lsp.cli.commands.check", "check job files and fix what can be fixed safely"),
    Subcommand(
        "expand",
        "pai_lsp.cli.commands.expand",
        "expand a job into one that any released cluster accepts",
    ),
    Subcommand("fit", "pai_lsp.cli.commands.fit_jobs", "check whether jobs fit a cluster"),
    Subcommand("convert", "pai_lsp.cli.commands.convert_v1", "convert a job from protocol version 1 to 2"),
    Subcommand("graph", "pai_lsp.cli.commands.graph", "draw the prerequisite graph: mermaid, dot, svg, png or pdf"),
    Subcommand("marketplace", "pai_lsp.cli.commands.marketplace", "list, show, refresh and lock shared definitions"),
    Subcommand("rules", "pai_lsp.cli.commands.rules", "list the rules"),
    Subcommand("explain", "pai_lsp.cli.commands.explain", "explain a rule, with examples"),
    Subcommand("schema", "pai_lsp.cli.commands.schema", "print a JSON schema for other YAML editors"),
    Subcommand("server", "pai_lsp.cli.commands.server", "run the language server"),
    Subcommand("completion", "pai_lsp.cli.commands.completion", "print a shell completion script"),
)

_EXAMPLES = """\
examples:
  pai-lsp check                       check the jobs in this folder and below
  pai-lsp check job.pai.yaml --fix    fix one job and report the rest
  pai-lsp explain unknown-prerequisite
  pai-lsp check --help                show all options of a command

exit status:
  0  no findings      1  findings      2  wrong usage      3  pai-lsp failed

documentation: https://pai-lsp.readthedocs.io/
"""


class Command(Protocol):
    """The interface of a subcommand's module."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Describe the subcommand and its arguments."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Run the subcommand and return the exit status."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv`, without the program's name; returns the exit status and never raises."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _run(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        _give_up_output()
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a traceback would end with the status of findings
        return _failed(error)
    return status


def parser_of(subcommand: Subcommand) -> argparse.ArgumentParser:
    """The argument parser of a subcommand."""
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
    _replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # file names may hold what an output cannot encode
            stream.reconfigure(errors="backslashreplace")
    if "_ARGCOMPLETE" in os.environ:
        return _complete()
    subcommand = next((one for one in SUBCOMMANDS if arguments and one.name == arguments[0]), None)
    try:
        if subcommand is None:
            return _without_subcommand(arguments)
        return _command(subcommand).run(parser_of(subcommand).parse_args(arguments[1:]))
    except SystemExit as ended:  # argparse has printed its message
        return ended.code if isinstance(ended.code, int) else WRONG_USAGE


def _command(subcommand: Subcommand) -> Command:
    return cast("Command", importlib.import_module(subcommand.module))


def whole_parser(words: Collection[str] = ()) -> argparse.ArgumentParser:
    """The parser of the whole command line; only the subcommands among `words` have arguments."""
    parser = argparse.ArgumentParser(
        prog="pai-lsp",
        description="Check OpenPAI job files before you submit them.",
        epilog=_EXAMPLES,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument("-V", "--version", action="version", version=f"pai-lsp {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for one in SUBCOMMANDS:
        added = commands.add_parser(one.name, help=one.summary, allow_abbrev=False)
        if one.name in words:
            _command(one).add_arguments(added)
    return parser


def _complete() -> int:
    """Answer a shell that completes a command line at a TAB."""
    from pai_lsp.cli.commands.completion import complete  # noqa: PLC0415 - other runs need no argcomplete

    complete(whole_parser(os.environ.get("COMP_LINE", "").split()))
    return 0


def _without_subcommand(arguments: list[str]) -> int:
    """Answer --help and --version, and explain what is wrong with anything else."""
    parser = whole_parser()
    if arguments and not arguments[0].startswith("-"):
        from pai_lsp.source.spelling import did_you_mean  # noqa: PLC0415 - only for a misspelt command

        names = [one.name for one in SUBCOMMANDS]
        sys.stderr.write(f"pai-lsp: no command is named '{arguments[0]}'{did_you_mean(arguments[0], names)}\n")
        sys.stderr.write(f"commands: {', '.join(names)}; see pai-lsp --help\n")
        return WRONG_USAGE
    parser.parse_args(arguments)
    parser.print_help(sys.stderr)
    return WRONG_USAGE


def _replace_closed_streams() -> None:
    """Replace standard streams that were closed by `<&-` or `>&-`, which Python sets to None.

    Standard input and output then fail when they are used. Messages are dropped, as `2>&-` asks for.
    """
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(_Closed("standard input"), encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_Closed("standard output"), encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


class _Closed(io.RawIOBase):
    """A stream that cannot be used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, _buffer: object) -> int:
        raise self._error()

    def write(self, _data: object) -> int:
        raise self._error()

    def fileno(self) -> int:
        raise self._error()

    def _error(self) -> OSError:
        return OSError(errno.EBADF, f"{self._name} is closed")


def _failed(error: Exception) -> int:
    """Report an uncaught exception in one line."""
    from pai_lsp.source.failures import PLEASE_REPORT, kind_and_place, why  # noqa: PLC0415 - most runs do not fail

    if isinstance(error, MemoryError):
        message = "out of memory"
    elif isinstance(error, ImportError):
        message = f"the installation is incomplete: {error}"
    elif not isinstance(error, OSError):
        message = f"{kind_and_place(error)}; {PLEASE_REPORT}"
    elif isinstance(error, FileNotFoundError) and not _has_current_directory():
        message = "the current directory does not exist"
    else:
        message = f"{error.filename!r}: {why(error)}" if error.filename else why(error)
    with suppress(OSError):
        sys.stderr.write(f"pai-lsp: {message}\n")
    _give_up_output()
    return OWN_FAILURE


def _has_current_directory() -> bool:
    from pathlib import Path  # noqa: PLC0415 - as above

    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def _give_up_output() -> None:
    """Redirect a broken output to the null device: the interpreter's last flush would change the exit status."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
