"""`pai-lsp shell`: checks the syntax of bash scripts as bash does, without running anything."""

from __future__ import annotations

import io
import json
import sys

from pai_lsp.cli import FINDINGS, WRONG_USAGE
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_syntax import syntax_problem
from pai_lsp.source.foreign import as_text, json_mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def run(_arguments: argparse.Namespace) -> int:
    """Answer each line."""
    status = 0
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="backslashreplace")
    for number, line in enumerate(sys.stdin, 1):
        if not line.strip():
            continue
        asked = json_mapping(line)
        name, script = asked.get("id"), as_text(asked.get("script"))
        if "id" not in asked or script is None:
            sys.stderr.write(f'pai-lsp shell: line {number} is not an object with "id" and "script"\n')
            return WRONG_USAGE
        problem = syntax_problem(read_script(script))
        answer = {"id": name, "status": "ok", "line": None, "message": None}
        if problem is not None:
            answer |= {
                "status": "error" if problem.is_error else "warning",
                "line": problem.line,
                "message": problem.message,
            }
            status = FINDINGS if problem.is_error else status
        sys.stdout.write(json.dumps(answer) + "\n")
    return status
