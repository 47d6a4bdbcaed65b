"""`pai-lsp schema`: prints a JSON schema, for editors that support schemas but no language servers."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from pai_lsp.platform.job_schema import published_schema

if TYPE_CHECKING:
    import argparse

_NAMES = ("job", "definition", "configuration")

_DESCRIPTION = """\
Print a JSON schema (draft 2020-12):

  job            a job file
  definition     a file with prerequisite definitions, as in a marketplace folder
  configuration  .pai-lsp.yaml
"""

_EPILOG = """\
example, for an editor with yaml-language-server:
  pai-lsp schema job > openpai-job.schema.json
  # then, as the first line of a job:
  # yaml-language-server: $schema=openpai-job.schema.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp schema`."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.add_argument("name", nargs="?", choices=_NAMES, default="job", help="the schema to print (default: job)")


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    sys.stdout.write(json.dumps(published_schema(arguments.name), indent=2, ensure_ascii=False) + "\n")
    return 0
