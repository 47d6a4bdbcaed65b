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
