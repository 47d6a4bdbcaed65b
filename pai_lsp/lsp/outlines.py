"""Answers to who is looking for something: the outline of a job, and names in all jobs of the workspace."""

from __future__ import annotations

import re
from itertools import chain, islice
from pathlib import PurePath
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from pai_lsp.ide.outline import OutlineItem, OutlineKind, outline
from pai_lsp.lsp.convert import around, location
from pai_lsp.lsp.open_document import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pai_lsp.document import Document
    from pai_lsp.lsp.convert import Places
    from pai_lsp.lsp.open_document import OpenDocument
    from pai_lsp.lsp.workspace import Workspace

MOST_SYMBOLS = 500

_KINDS: Mapping[OutlineKind, lsp.SymbolKind] = {
    OutlineKind.SECTION: lsp.SymbolKind.Namespace,
    OutlineKind.PREREQUISITE: lsp.SymbolKind.Package,
    OutlineKind.CALLBACK: lsp.SymbolKind.Event,
    OutlineKind.COMMAND: lsp.SymbolKind.String,
    OutlineKind.TASK_ROLE: lsp.SymbolKind.Class,
    OutlineKind.FIELD: lsp.SymbolKind.Property,
    OutlineKind.PARAMETER: lsp.SymbolKind.Variable,
    OutlineKind.SECRET: lsp.SymbolKind.Key,
    OutlineKind.DEPLOYMENT: lsp.SymbolKind.Module,
    OutlineKind.PLUGIN: lsp.SymbolKind.Interface,
}
# What people look for by name in a whole workspace.
_NAMED = frozenset(
    {
        OutlineKind.PREREQUISITE,
        OutlineKind.TASK_ROLE,
        OutlineKind.PARAMETER,
        OutlineKind.SECRET,
        OutlineKind.DEPLOYMENT,
    }
)


def document_symbols(
    document: OpenDocument, params: lsp.DocumentSymbolParams
) -> list[lsp.DocumentSymbol] | list[lsp.SymbolInformation]:
    """The outline of a job; flat for clients that know no other."""
    del params
    items = outline(document.document)
    if document.client.reading.nested_symbols:
        return [_symbol(item, document.places) for item in items]
    return [
        lsp.SymbolInformation(
            location(document.uri, item.span, document.places), item.name, _KINDS[item.kind], container_name=holder
        )
        for item, holder in _flat(items, None)
    ]


def workspace_symbols(workspace: Workspace, params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
    """The names in all jobs, open ones as they are in the editor, that have the query's letters in their order."""
    letters = re.compile(".*".join(map(re.escape, params.query)), re.IGNORECASE | re.DOTALL)
    documents = [one for one in workspace.documents.values() if one.kind is Kind.JOB]
    in_editor = (named_symbols(one.document, one.path, one.uri, one.places) for one in documents)
    open_paths = frozenset(one.path for one in workspace.documents.values())
    on_disk = workspace.job_files.symbols(workspace.folders, workspace.unit, open_paths)
    found = (one for one in chain(chain.from_iterable(in_editor), on_disk) if letters.search(one.name))
    return list(islice(found, MOST_SYMBOLS))


def named_symbols(document: Document, path: str, uri: str, places: Places) -> Iterator[lsp.WorkspaceSymbol]:
    """What in a file people look for by name; the file's own name is told with each."""
    for item, _ in _flat(outline(document), None):
        if item.kind in _NAMED:
            place = location(uri, item.name_span, places)
            yield lsp.WorkspaceSymbol(place, item.name, _KINDS[item.kind], container_name=PurePath(path).name)


def _symbol(item: OutlineItem, places: Places) -> lsp.DocumentSymbol:
    return lsp.DocumentSymbol(
        item.name,
        _KINDS[item.kind],
        places.range(around(item.span, item.name_span)),
        places.range(item.name_span),
        detail=item.detail or None,
        children=[_symbol(child, places) for child in item.children] or None,
    )


def _flat(items: Iterable[OutlineItem], holder: str | None) -> Iterator[tuple[OutlineItem, str | None]]:
    """The items and all below them, each with the name of the one that it belongs to."""
    for item in items:
        yield item, holder
        yield from _flat(item.children, item.name)
