"""`pai-lsp shell`: checks the syntax of bash scripts as bash does, without running anything."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS, failed
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_syntax import syntax_problem
from pai_lsp.source.foreign import as_text, json_mapping

if TYPE_CHECKING:
    import argparse


def run(_arguments: argparse.Namespace) -> int:
    """Answer each line."""
    status = 0
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="backslashreplace")
    for number, line in enumerate(iter(sys.stdin.readline, ""), 1):
        if not line.strip():
            continue
        asked = json_mapping(line)
        name, script = asked.get("id"), as_text(asked.get("script"))
        if "id" not in asked or script is None:
            return failed("shell", f'line {number} is not an object with "id" and "script"')
        problem = syntax_problem(read_script(script))
        if problem is None:
            answer = {"id": name, "status": "ok", "line": None, "message": None}
        else:
            word = "error" if problem.is_error else "warning"
            answer = {"id": name, "status": word, "line": problem.line, "message": problem.message}
            status = FINDINGS if problem.is_error else status
        sys.stdout.write(json.dumps(answer) + "\n")
    return status
