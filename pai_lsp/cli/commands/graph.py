"""`pai-lsp graph`: the prerequisite graph of a job, as a picture or as text that other programs draw."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.cli.commands import graphviz
from pai_lsp.cli.commands.job_file import failed, job_file, names_input, put, show_findings
from pai_lsp.cli.main import FINDINGS, WRONG_USAGE
from pai_lsp.cli.report.results import CheckedFile, checked_file
from pai_lsp.document import Document, check
from pai_lsp.ide.graph.graph_languages import dot, mermaid
from pai_lsp.ide.graph.prerequisite_graph import prerequisite_graph
from pai_lsp.project.targets import missing, path_argument
from pai_lsp.source.failures import OWN_FAILURE
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse

_WRITERS = {"mermaid": mermaid, "dot": dot}
# Drawn by Graphviz from the dot format.
_PICTURES = ("svg", "png", "pdf")
_ENDINGS = {".mmd": "mermaid", ".dot": "dot", ".gv": "dot", ".svg": "svg", ".png": "png", ".pdf": "pdf"}

_DESCRIPTION = """\
Draw the prerequisite graph: the task roles of a job, their prerequisites, and everything that these require, in the
file, in extras.reference_prerequisites and in the marketplace.

Cycles are red, undefined names are red and dashed, and definitions from the marketplace show their file or address.
"""

_EPILOG = """\
formats:
  mermaid        for Markdown on GitHub, GitLab and many wikis, in a ```mermaid block
  dot            for Graphviz
  svg, png, pdf  pictures, drawn by Graphviz: its program 'dot' must be on PATH

exit status:
  0  success      1  the file has syntax errors or nothing to draw      2  wrong usage
  3  pai-lsp failed, the picture could not be drawn, or the output could not be written

examples:
  pai-lsp graph train.pai.yaml
  pai-lsp graph train.pai.yaml --output train.svg
  pai-lsp graph train.pai.yaml --format dot > train.dot
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp graph`."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    add = parser.add_argument
    add(
        "job",
        type=path_argument,
        metavar="JOB",
        help="a job file, a definition file of a marketplace, or - for standard input",
    )
    add(
        "--format",
        choices=(*_WRITERS, *_PICTURES),
        help="output format (default: from the extension of FILE, or mermaid)",
    )
    add("--output", type=path_argument, metavar="FILE", help="write to this file")


def run(arguments: argparse.Namespace) -> int:
    """Draw the graph."""
    output = arguments.output
    if names_input(output, arguments.job):
        return failed("graph", "--output names the job itself", WRONG_USAGE)
    ending = Path(output or "").suffix
    form = arguments.format or _ENDINGS.get(ending.lower(), "" if ending else "mermaid")
    if not form:
        known = ", ".join(_ENDINGS)
        return failed("graph", f"unknown output format '{visible(ending)}'; use {known}, or --format", WRONG_USAGE)
    if message := missing([arguments.job]):
        return failed("graph", message, WRONG_USAGE)
    document = job_file(arguments.job)
    if isinstance(document, CheckedFile):
        show_findings(document)
        return FINDINGS
    graph, broken = prerequisite_graph(document.job), _broken(document)
    if broken is not None and (graph.nodes or document.is_job):
        show_findings(broken)
    if not graph.nodes:
        return failed("graph", f"{visible(document.path or '')} has no task roles or prerequisites to draw", FINDINGS)
    try:
        content = _WRITERS[form](graph) if form in _WRITERS else graphviz.drawn(dot(graph), form)
    except graphviz.NotDrawnError as error:
        return failed("graph", str(error), OWN_FAILURE)
    return put("graph", content, output) or (0 if broken is None else FINDINGS)


def _broken(document: Document) -> CheckedFile | None:
    """The syntax errors of the file, with the values of secrets hidden; None if there are none."""
    codes = {problem.kind.value for problem in document.syntax.problems}
    if not codes:
        return None
    return checked_file(document, (one for one in check(document) if one.code in codes))
