"""The arguments and the help of the subcommands about clusters, failures and local runs.

Apart from arguments.py because `check` needs none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.cli.arguments import path

if TYPE_CHECKING:
    import argparse

_FIT_DESCRIPTION = """\
Say whether jobs fit a cluster: what its server would refuse, how many SKUs each task needs, and what would be accepted
and never start.

The answer holds for an empty and healthy cluster: "fits" does not mean that there is room now. It comes from the
cluster's profile alone; the cluster is not asked.
"""

_FIT_EPILOG = """\
exit status:
  0  every job fits      1  a job is refused or never starts      2  wrong usage

examples:
  pai-lsp fit --cluster cluster.json train.pai.yaml
  pai-lsp fit --cluster lab --format json jobs/*.pai.yaml
"""


def fit(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp fit`."""
    parser.description = _FIT_DESCRIPTION
    parser.epilog = _FIT_EPILOG
    add = parser.add_argument
    add("jobs", nargs="+", type=path, metavar="JOB", help="job files, or - for standard input")
    add("--cluster", required=True, metavar="CLUSTER", help="a cluster's profile: its name, or a file")
    add("--format", choices=("text", "json"), default="text", help="output format (default: text)")


_CLUSTER_DESCRIPTION = """\
Make and list the profiles of clusters. A profile holds what pai-lsp needs to know about a cluster: SKU types, virtual
clusters and their cells, your rights. It holds no token, host name, e-mail address or account key.
"""

_CLUSTER_EPILOG = """\
examples:
  pai-lsp cluster import services-configuration.yaml --name lab --group default
  pai-lsp cluster import hivedscheduler.yaml --name lab --output -
  pai-lsp cluster list
  pai-lsp fit --cluster lab train.pai.yaml
"""


def cluster(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp cluster`."""
    parser.description = _CLUSTER_DESCRIPTION
    parser.epilog = _CLUSTER_EPILOG
    parts = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)

    def part(name: str, summary: str) -> argparse.ArgumentParser:
        return parts.add_parser(name, help=summary, description=summary, allow_abbrev=False)

    importing = part("import", "make a profile from services-configuration.yaml, hivedscheduler.yaml, or both")
    importing.add_argument("files", nargs="+", type=path, metavar="FILE", help="the administrator's files")
    importing.add_argument("--group", action="append", default=[], metavar="NAME", help="a group whose rights you have")
    importing.add_argument("--platform", choices=("openpai", "ltp"), help="the platform (default: as the files show)")
    importing.add_argument("--name", required=True, metavar="NAME", help="your name for the cluster")
    importing.add_argument("--output", type=path, metavar="FILE", help="write to this file, or to - (default: by name)")
    part("list", "list your profiles")


_WHY_DESCRIPTION = """\
Explain why a task failed: what happened, who can fix it, which line of the job led to it, and what to change.

The text is an exit code, a file, - for standard input, or a pasted text itself: the end of a log, the diagnostics of
the portal, or an event of the scheduler. Nothing is sent anywhere.
"""

_WHY_EPILOG = """\
examples:
  pai-lsp why 137
  pai-lsp why --job train.pai.yaml --exit-code 1 user.pai.all
  pai-lsp why "Pod needs to wait, reason: insufficient capacity when scheduling in VC default"
"""


def why(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp why`."""
    parser.description = _WHY_DESCRIPTION
    parser.epilog = _WHY_EPILOG
    add = parser.add_argument
    add("text", metavar="TEXT", help="an exit code, a file, - for standard input, or the text itself")
    add("--job", type=path, metavar="JOB", help="the job that failed, to find the line")
    add("--exit-code", type=int, metavar="N", help="the exit code of the commands, for the end of a log")
    add("--platform-log", type=path, metavar="FILE", help="the runtime's log of the task")
    add("--format", choices=("text", "json"), default="text", help="output format (default: text)")
