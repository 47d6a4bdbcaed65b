"""The command `pai-lsp`: finds the subcommand, passes its arguments, and turns the result into an exit status."""

from __future__ import annotations

import errno
import gc
import os
import sys

from pai_lsp.cli import WRONG_USAGE
from pai_lsp.cli.subcommands import SUBCOMMANDS, parser_of, whole_parser
from pai_lsp.source.failures import OWN_FAILURE
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

# What a shell reports for a program that the signals of ^C and of a closed pipe end: 128 and the signal's number.
_INTERRUPTED = 130
_BROKEN_PIPE = 141
# How many objects are made before Python looks for garbage among them. Its own number is so low that it looks at the
# imported modules several times, which takes a twentieth of the time that the check of one file does, or that a server
# takes until it answers.
OBJECTS_BEFORE_COLLECTION = 100_000


def run() -> NoReturn:
    """The program `pai-lsp`.

    It ends without taking the interpreter apart, which would take an eighth of a short run. Nothing depends on that:
    `main` has written all output.
    """
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION)
    os._exit(main())


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


def _run(arguments: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # file names may hold what an output cannot encode
            stream.reconfigure(errors="backslashreplace")
    _replace_closed_streams()
    if "_ARGCOMPLETE" in os.environ:
        return _complete()
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    elif arguments == ["version"]:
        arguments = ["--version"]
    subcommand = next((one for one in SUBCOMMANDS if arguments and one.name == arguments[0]), None)
    try:
        if subcommand is None:
            return _without_subcommand(arguments)
        return subcommand.run(parser_of(subcommand).parse_args(arguments[1:]))
    except SystemExit as ended:  # argparse has printed its message
        return ended.code if isinstance(ended.code, int) else WRONG_USAGE


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
        sys.stdin = _Closed("standard input")
    if sys.stdout is None:
        sys.stdout = _Closed("standard output")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


class _Closed:
    """A stream that cannot be used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def flush(self) -> None:
        """Nothing was written."""

    def __getattr__(self, _name: str) -> NoReturn:
        raise OSError(errno.EBADF, f"{self._name} is closed")


def _failed(error: Exception) -> int:
    """Report an uncaught exception in one line."""
    from pai_lsp.source.failures import PLEASE_REPORT, kind_and_place, why  # noqa: PLC0415 - most runs do not fail

    if isinstance(error, MemoryError):
        message = "out of memory"
    elif isinstance(error, ImportError):
        message = f"the installation is incomplete: {error}"
    elif not isinstance(error, OSError):
        message = f"{kind_and_place(error)}; {PLEASE_REPORT}"
    elif isinstance(error, FileNotFoundError) and error.filename is None:  # as os.getcwd raises it
        message = "the current directory does not exist"
    else:
        message = f"{error.filename!r}: {why(error)}" if error.filename else why(error)
    from contextlib import suppress  # noqa: PLC0415 - as above

    with suppress(OSError):
        sys.stderr.write(f"pai-lsp: {message}\n")
    _give_up_output()
    return OWN_FAILURE


def _give_up_output() -> None:
    """Redirect a broken output to the null device: the interpreter's last flush would change the exit status."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
