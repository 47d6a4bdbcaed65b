"""The subcommands of `pai-lsp`, and the parsers of the command line; their table is schemas/command_line.json."""

# ruff: noqa: PLC0415 - a run needs the imports of one subcommand
from __future__ import annotations

import argparse
import sys

from pai_lsp.cli import WRONG_USAGE, CommandError, ended
from pai_lsp.platform.tables import table
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.type_checking import TYPE_CHECKING
from pai_lsp.version import __version__

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any, NoReturn

    from _typeshed import SupportsWrite

_TABLE = table("command_line.json")


@dataclass(frozen=True, slots=True)
class Subcommand:
    """A name on the command line, and its entry in schemas/command_line.json."""

    name: str
    entry: dict[str, Any]

    @property
    def summary(self) -> str:
        """A few words about it."""
        return str(self.entry["summary"])

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Describe its arguments."""
        from pai_lsp.cli.arguments import describe

        describe(parser, self.entry, _TABLE["shared"])

    def run(self, found: argparse.Namespace) -> int:
        """Import its code, and run it; returns the exit status."""
        from importlib import import_module

        module, _, function = self.entry["code"].partition(":")
        try:
            status: int = getattr(import_module(f"pai_lsp.cli.commands.{module}"), function)(found)
        except CommandError as error:
            return ended(" ".join(filter(None, (self.name, getattr(found, "action", "")))), error)
        return status


# Looking for translations of argparse's own words imports `locale`, and finds none: all else here is English too.
# Before Python 3.13 it also "translates" a description that is not there.
setattr(argparse, "_", lambda text: text)  # noqa: B010 - not among the names that a type checker knows


GROUPS = {
    title: tuple(Subcommand(name, entry) for name, entry in group.items()) for title, group in _TABLE["groups"].items()
}
SUBCOMMANDS = tuple(one for group in GROUPS.values() for one in group)


def parser_of(subcommand: Subcommand) -> argparse.ArgumentParser:
    """The argument parser of a subcommand."""
    parser = _CommandParser(prog=f"pai-lsp {subcommand.name}", formatter_class=_Help, allow_abbrev=False)
    subcommand.add_arguments(parser)
    return parser


def whole_parser(words: Collection[str] = ()) -> argparse.ArgumentParser:
    """The parser of the whole command line; only the subcommands among `words` have arguments."""
    parser = _CommandParser(
        prog="pai-lsp",
        usage="%(prog)s [-h] [-V] COMMAND ...",
        description="\n\n".join(["Check OpenPAI job files before you submit them.", *map(_group_help, GROUPS)]),
        epilog="\n".join(_TABLE["examples"]),
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument("-V", "--version", action="version", version=f"pai-lsp {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", help=argparse.SUPPRESS)  # the description has them in groups
    for one in SUBCOMMANDS:
        added = commands.add_parser(one.name, help=one.summary, allow_abbrev=False)
        if one.name in words:
            one.add_arguments(added)
    return parser


def _group_help(title: str) -> str:
    return "\n".join([f"{title}:", *(f"    {one.name:<22}{one.summary}" for one in GROUPS[title])])


class _CommandParser(argparse.ArgumentParser):
    """A parser with short messages, which suggest what may be meant.

    Its help fails where it cannot be written; argparse ignores that and ends with success.
    """

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As in argparse, but an unknown option comes with the known one that it resembles."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            from pai_lsp.source.spelling import did_you_mean  # only for a mistake

            name = unknown[0].partition("=")[0]
            kind = "option" if name.startswith("-") else "argument"
            if kind == "argument" and (reason := getattr(found, "one_file", "")):
                self.error(f"unknown argument '{name}'; {reason}")
            self.error(f"unknown {kind} '{name}'{did_you_mean(name, self._option_string_actions)}")
        return found

    def error(self, message: str) -> NoReturn:
        """Print the message and where the options are described; exit with 2."""
        self.exit(WRONG_USAGE, f"{self.prog}: {message.removeprefix('argument ')}\nsee {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices = [str(choice) for choice in action.choices or ()]
        if choices and value not in choices:
            from pai_lsp.source.spelling import did_you_mean  # only for a mistake

            hint = did_you_mean(str(value), choices) or f"; choose from {', '.join(choices)}"
            raise argparse.ArgumentError(action, f"'{value}' is not known{hint}")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        if file is not None and file is sys.stdout:
            file.write(message)
        else:
            super()._print_message(message, file)


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help of a fixed width: argparse would import shutil to learn the terminal's, on every run."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=80)
