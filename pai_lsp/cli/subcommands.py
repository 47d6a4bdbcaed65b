"""The table of the subcommands of `pai-lsp`, and the parsers of the command line."""

# ruff: noqa: PLC0415 - a run needs the imports of one subcommand
from __future__ import annotations

import argparse
import sys

from pai_lsp.cli import WRONG_USAGE
from pai_lsp.source.frozen import dataclass
from pai_lsp.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any, NoReturn

    from _typeshed import SupportsWrite

_EXAMPLES = """\
examples:
  pai-lsp check                       check the jobs in this folder and below
  pai-lsp check job.pai.yaml --fix    fix one job and report the rest
  pai-lsp explain unknown-prerequisite
  pai-lsp check --help                show all options of a command

exit status:
  0  no findings      1  findings      2  wrong usage      3  pai-lsp failed
"""


@dataclass(frozen=True, slots=True)
class Subcommand:
    """A name on the command line, and a short summary.

    arguments: the module of pai_lsp.cli whose function of this name describes a parser.
    code: `module:function` of pai_lsp.cli.commands, which takes the parsed arguments and returns the exit status.
    """

    name: str
    summary: str
    arguments: str
    code: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Describe its arguments."""
        _function(self.arguments, self.name)(parser)

    def run(self, found: argparse.Namespace) -> int:
        """Run it; returns the exit status."""
        module, _, function = self.code.partition(":")
        status: int = _function(f"commands.{module}", function)(found)
        return status


def _function(module: str, name: str) -> Callable[..., Any]:
    """A function, whose module is imported now: `check` does not wait for the imports of `server`."""
    from importlib import import_module

    found: Callable[..., Any] = getattr(import_module(f"pai_lsp.cli.{module}"), name)
    return found


# Looking for translations of argparse's own words imports `locale`, and finds none: all else here is English too.
# Before Python 3.13 it also "translates" a description that is not there.
setattr(argparse, "_", lambda text: text)  # noqa: B010 - not among the names that a type checker knows


GROUPS = {
    "write and check": (
        Subcommand("check", "check job files and fix what can be fixed safely", "arguments", "check:run"),
        Subcommand("expand", "expand jobs into what any released cluster accepts", "arguments", "expand:run"),
        Subcommand("convert", "convert protocol v1 jobs and MPIJob manifests", "arguments", "convert_file:run"),
        Subcommand("graph", "draw the prerequisite graph: mermaid, dot, svg, png, pdf", "arguments", "graph:run"),
        Subcommand("rules", "list the rules", "arguments", "reference:list_rules"),
        Subcommand("explain", "explain a rule, with examples, or an exit code", "arguments", "reference:explain"),
    ),
    "try, submit and follow": (
        Subcommand("fit", "check whether jobs fit a cluster", "cluster_arguments", "fit_jobs:run"),
        Subcommand("run", "run one task of a job here as a cluster would", "cluster_arguments", "run_task:run"),
        Subcommand("submit", "submit a job to one of your clusters", "cluster_arguments", "submit_job:run"),
        Subcommand("jobs", "list your jobs on a cluster, or show one", "cluster_arguments", "job_states:run"),
        Subcommand("logs", "print the log of a task on a cluster", "cluster_arguments", "job_log:run"),
        Subcommand("why", "explain why a task failed", "cluster_arguments", "why_failed:run"),
        Subcommand("cluster", "create and list the profiles of clusters", "cluster_arguments", "cluster:run"),
    ),
    "share": (
        Subcommand("marketplace", "list, show, refresh and lock shared definitions", "arguments", "marketplace:run"),
        Subcommand("trust", "trust the marketplace configuration of a folder", "arguments", "trust_folders:run"),
    ),
    "for programs": (
        Subcommand("server", "run the language server", "arguments", "serve:run"),
        Subcommand("schema", "print a JSON schema for other YAML editors", "arguments", "reference:print_schema"),
        Subcommand("shell", "check the syntax of bash scripts as bash does", "arguments", "check_shell:run"),
        Subcommand("completion", "print a shell completion script", "arguments", "completion:run"),
    ),
}
SUBCOMMANDS = tuple(one for group in GROUPS.values() for one in group)


def parser_of(subcommand: Subcommand) -> argparse.ArgumentParser:
    """The argument parser of a subcommand."""
    parser = _CommandParser(
        prog=f"pai-lsp {subcommand.name}",
        formatter_class=_Help,
        allow_abbrev=False,
    )
    subcommand.add_arguments(parser)
    return parser


def whole_parser(words: Collection[str] = ()) -> argparse.ArgumentParser:
    """The parser of the whole command line; only the subcommands among `words` have arguments."""
    parser = _CommandParser(
        prog="pai-lsp",
        usage="%(prog)s [-h] [-V] COMMAND ...",
        description="\n\n".join(["Check OpenPAI job files before you submit them.", *map(_group_help, GROUPS)]),
        epilog=_EXAMPLES,
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
            if kind == "argument" and (reason := self.get_default("one_job")):
                self.error(f"unknown argument '{name}'; give one job: {reason}")
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
