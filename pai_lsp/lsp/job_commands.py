"""The server's commands about whole jobs: what runs, who requires whom, the expanded job, and jobs to begin with.

No answer tells a secret: previews and graphs hold none, and an expanded job has its `secrets` as the author's own text
has them, because it is the text to submit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol.converters import get_converter
from pygls.exceptions import JsonRpcInvalidParams

from pai_lsp.expand.write import expanded
from pai_lsp.graph.dot import dot
from pai_lsp.graph.mermaid import mermaid
from pai_lsp.graph.prerequisite_graph import prerequisite_graph
from pai_lsp.ide.preview import preview
from pai_lsp.ide.snippet_texts import JOBS
from pai_lsp.ide.suggestion import plain_text
from pai_lsp.lsp.commands import about_document
from pai_lsp.lsp.features import PREVIEW
from pai_lsp.lsp.open_document import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pai_lsp.lsp.open_document import OpenDocument
    from pai_lsp.lsp.session import Session


async def templates(session: Session, arguments: Sequence[Any]) -> list[dict[str, str]]:
    """Jobs to begin with, each with its name, what it is for, and its text."""
    del session, arguments
    return [{"name": name, "description": detail, "text": plain_text(snippet)} for name, detail, snippet in JOBS]


def _previewed(document: OpenDocument, arguments: Sequence[Any]) -> dict[str, str] | None:
    role = arguments[0] if arguments else None
    if role is not None and not isinstance(role, str):
        raise JsonRpcInvalidParams(f"'{PREVIEW}' expects a URI and the name of a task role, or none for all")
    if not _is_job(document):
        return None
    return {"text": preview(document.document, role, document.folder), "languageId": "shellscript"}


def _drawn(document: OpenDocument, arguments: Sequence[Any]) -> dict[str, str] | None:
    del arguments
    if document.kind is not Kind.JOB:
        return None
    graph = prerequisite_graph(document.document.job, document.folder)
    return {"dot": dot(graph), "mermaid": mermaid(graph)}


def _expanded(document: OpenDocument, arguments: Sequence[Any]) -> dict[str, Any] | None:
    del arguments
    if not _is_job(document):
        return None
    result = expanded(document.document.job)
    if result.text is not None:
        return {"text": result.text}
    shown = (one.without_secrets(document.document.job.hidden) for one in result.problems)
    convert = get_converter().unstructure
    return {
        "findings": [
            {"code": one.code, "message": one.message, "range": convert(document.places.range(one.span))}
            for one in shown
        ]
    }


def _is_job(document: OpenDocument) -> bool:
    return document.kind is Kind.JOB and not document.document.is_catalogue


# What a task role runs, as a text to read: the arguments are the job's URI, and the role's name or null for all roles.
previewed = about_document(_previewed)
# Who requires whom, for Graphviz and for Mermaid; the argument is the URI of a job or of a file of definitions.
drawn = about_document(_drawn)
# The text of the job that every cluster runs, or the findings that keep it from being; the argument is the job's URI.
expanded_job = about_document(_expanded)
