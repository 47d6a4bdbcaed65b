"""The subcommands of `pai-lsp`, and the parsers of the command line.

Each subcommand imports its code when it runs, so that `check` does not wait for the imports of `server`.
"""

# ruff: noqa: PLC0415 - see the docstring
from __future__ import annotations

import argparse
import sys

from pai_lsp.cli import WRONG_USAGE, arguments
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
    """A name on the command line, a short summary, its arguments, and its code, which returns the exit status."""

    name: str
    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


# Looking for translations of argparse's own words imports `locale`, and finds none: all else here is English too.
# Before Python 3.13 it also "translates" a description that is not there.
setattr(argparse, "_", lambda text: text)  # noqa: B010 - not among the names that a type checker knows


def _check(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import check

    return check.run(found)


def _expand(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import expand

    return expand.run(found)


def _convert(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import convert_file

    return convert_file.run(found)


def _graph(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import graph

    return graph.run(found)


def _marketplace(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import marketplace

    return marketplace.run(found)


def _trust(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import trust_folders

    return trust_folders.trust(found)


def _untrust(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import trust_folders

    return trust_folders.untrust(found)


def _shell(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import check_shell

    return check_shell.run(found)


def _rules(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import reference

    return reference.list_rules(found)


def _explain(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import reference

    return reference.explain(found)


def _schema(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import reference

    return reference.print_schema(found)


def _server(found: argparse.Namespace) -> int:
    from pai_lsp.lsp import language_server

    return language_server.main(found.tcp)


def _completion(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import completion

    return completion.run(found)


def _fit_arguments(parser: argparse.ArgumentParser) -> None:
    from pai_lsp.cli import cluster_arguments

    cluster_arguments.fit(parser)


def _fit(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import fit_jobs

    return fit_jobs.run(found)


def _cluster_arguments(parser: argparse.ArgumentParser) -> None:
    from pai_lsp.cli import cluster_arguments

    cluster_arguments.cluster(parser)


def _cluster(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import cluster

    return cluster.run(found)


def _why_arguments(parser: argparse.ArgumentParser) -> None:
    from pai_lsp.cli import cluster_arguments

    cluster_arguments.why(parser)


def _why(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import why_failed

    status = why_failed.run(found)
    if status is not None:
        return status
    from pai_lsp.cli.commands import why_log

    return why_log.run(found)


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    from pai_lsp.cli import cluster_arguments

    cluster_arguments.run(parser)


def _run(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import run_task

    return run_task.run(found)


def _image_check_arguments(parser: argparse.ArgumentParser) -> None:
    from pai_lsp.cli import cluster_arguments

    cluster_arguments.image_check(parser)


def _image_check(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import check_image

    return check_image.run(found)


def _submit_arguments(parser: argparse.ArgumentParser) -> None:
    from pai_lsp.cli import cluster_arguments

    cluster_arguments.submit(parser)


def _submit(found: argparse.Namespace) -> int:
    from pai_lsp.cli.commands import submit_job

    return submit_job.run(found)


SUBCOMMANDS = (
    Subcommand("check", "check job files and fix what can be fixed safely", arguments.check, _check),
    Subcommand("expand", "expand a job into one that any released cluster accepts", arguments.expand, _expand),
    Subcommand("fit", "check whether jobs fit a cluster", _fit_arguments, _fit),
    Subcommand("submit", "submit a job to one of your clusters", _submit_arguments, _submit),
    Subcommand("run", "run one task of a job here as a cluster would", _run_arguments, _run),
    Subcommand("why", "explain why a task failed, from its exit code or log", _why_arguments, _why),
    Subcommand("image-check", "check the images of a job as the platform does", _image_check_arguments, _image_check),
    Subcommand("cluster", "create and list the profiles of clusters", _cluster_arguments, _cluster),
    Subcommand("convert", "convert protocol v1 jobs and MPIJob manifests", arguments.convert, _convert),
    Subcommand("graph", "draw the prerequisite graph: mermaid, dot, svg, png or pdf", arguments.graph, _graph),
    Subcommand("marketplace", "list, show, refresh and lock shared definitions", arguments.marketplace, _marketplace),
    Subcommand("trust", "trust the marketplace configuration of a folder", arguments.trust, _trust),
    Subcommand("untrust", "stop trusting the configuration of a folder", arguments.untrust, _untrust),
    Subcommand("shell", "check the syntax of bash scripts as bash does", arguments.shell, _shell),
    Subcommand("rules", "list the rules", arguments.rules, _rules),
    Subcommand("explain", "explain a rule, with examples", arguments.explain, _explain),
    Subcommand("schema", "print a JSON schema for other YAML editors", arguments.schema, _schema),
    Subcommand("server", "run the language server", arguments.server, _server),
    Subcommand("completion", "print a shell completion script", arguments.completion, _completion),
)


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
            one.add_arguments(added)
    return parser


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
