"""`pai-lsp graph`: the prerequisite graph of a job, as a picture or as text that other programs draw."""

from __future__ import annotations

import os
import subprocess
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS, CommandError, failed
from pai_lsp.cli.commands.job_file import each_job, job_of, put, show_findings
from pai_lsp.cli.report.results import CheckedFile, checked_file
from pai_lsp.document import Document, check
from pai_lsp.ide.prerequisite_graph import dot, mermaid, prerequisite_graph
from pai_lsp.source.failures import OWN_FAILURE, why
from pai_lsp.source.files import program_on_path
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse

    from pai_lsp.project.projects import Projects

_WRITERS = {"mermaid": mermaid, "dot": dot}
_LONGEST = 60  # seconds for Graphviz
_ENDINGS = {".mmd": "mermaid", ".dot": "dot", ".gv": "dot", ".svg": "svg", ".png": "png", ".pdf": "pdf"}


def run(arguments: argparse.Namespace) -> int:
    """Draw the graphs."""
    output = arguments.output
    ending = "" if output is None or os.path.isdir(output) else Path(output).suffix
    form = arguments.format or _ENDINGS.get(ending.lower(), "" if ending else "mermaid")
    if not form:
        known = ", ".join(_ENDINGS)
        return failed("graph", f"unknown output format '{visible(ending)}'; use {known}, or --format")
    suffix = next(suffix for suffix, known in _ENDINGS.items() if known == form)
    return each_job("graph", arguments.jobs, output, partial(_draw, form), suffix)


def _draw(form: str, path: str, output: str | None, projects: Projects) -> int:
    """Draw the graph of one job."""
    document = job_of(path, projects)
    graph, broken = prerequisite_graph(document.job), _broken(document)
    if broken is not None and (graph.nodes or document.is_job):
        show_findings(broken)
    if (fault := document.job.require_graph.lock_fault) is not None:
        failed("graph", visible(fault[1]), FINDINGS)
    if not graph.nodes:
        return failed("graph", f"{visible(document.path or '')} has no task roles or prerequisites to draw", FINDINGS)
    put(_WRITERS[form](graph) if form in _WRITERS else drawn(dot(graph), form), output)
    return 0 if broken is None and fault is None else FINDINGS


def _broken(document: Document) -> CheckedFile | None:
    """The syntax errors of the file, with the values of secrets hidden; None without syntax errors."""
    codes = {problem.kind.value for problem in document.syntax.problems}
    if not codes:
        return None
    return checked_file(document, (one for one in check(document) if one.code in codes))


def drawn(description: str, form: str) -> bytes:
    """The picture of a graph in Graphviz' language; `form` is `svg`, `png` or another that Graphviz knows.

    Raises:
        CommandError: Graphviz is not installed, or has failed.
    """
    program = program_on_path("dot", os.environ.get("PATH", ""))
    if not program:
        message = f"{form} needs Graphviz, but its program 'dot' is not on PATH"
        raise CommandError(f"{message}; install graphviz, or use --format mermaid", OWN_FAILURE)
    command, given = [program, f"-T{form}"], description.encode()
    try:  # the user's own program, and the graph is its input only
        ended = subprocess.run(command, input=given, capture_output=True, timeout=_LONGEST, check=False)  # noqa: S603
    except OSError as error:
        raise CommandError(f"{visible(program)}: {why(error)}", OWN_FAILURE) from None
    except subprocess.TimeoutExpired:
        message = f"Graphviz did not finish in {_LONGEST} seconds; use --format mermaid"
        raise CommandError(message, OWN_FAILURE) from None
    if ended.returncode:
        reason = visible(ended.stderr.decode("utf-8", "replace").strip().partition("\n")[0])
        message = f"Graphviz could not draw the graph: {reason or f'exit status {ended.returncode}'}"
        raise CommandError(message, OWN_FAILURE)
    return ended.stdout
