"""The functions that answer the features and commands of features.py; imports the whole analysis.

Loaded after the client has its answer to `initialize`, so that an editor does not wait for what it has not asked for.
An answer gets the document as it was when the request arrived and runs outside of the event loop. It is five lines
long: client units in (`document.places`), one question to the analysis, client units out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp

from pai_lsp.lsp import commands, editing, name_answers, reading, workspace
from pai_lsp.lsp.checks import diagnostics_of
from pai_lsp.lsp.code_actions import code_actions, resolved_action
from pai_lsp.lsp.commands import apply_edit, explain, open_rule
from pai_lsp.lsp.features import (
    APPLY_EDIT,
    EXPAND,
    EXPLAIN,
    GRAPH,
    MARKETPLACE_INSERT,
    MARKETPLACE_LIST,
    MARKETPLACE_REFRESH,
    MARKETPLACE_TEXT,
    OPEN_RULE,
    PREVIEW,
    TEMPLATES,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pai_lsp.lsp.commands import Command
    from pai_lsp.lsp.documents import OpenDocument
    from pai_lsp.lsp.workspace import Workspace


def pulled_diagnostics(document: OpenDocument, params: lsp.DocumentDiagnosticParams) -> lsp.DocumentDiagnosticReport:
    """The diagnostics, for a client that asks for them itself."""
    del params
    return lsp.RelatedFullDocumentDiagnosticReport(items=diagnostics_of(document))


# About one open document: gets it and the request's parameters.
DOCUMENT_ANSWERS: Mapping[str, Callable[[OpenDocument, Any], Any]] = {
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: pulled_diagnostics,
    lsp.TEXT_DOCUMENT_CODE_ACTION: code_actions,
    lsp.CODE_ACTION_RESOLVE: resolved_action,
    lsp.TEXT_DOCUMENT_COMPLETION: editing.completion,
    lsp.COMPLETION_ITEM_RESOLVE: editing.resolved_completion,
    lsp.TEXT_DOCUMENT_HOVER: name_answers.hovered,
    lsp.TEXT_DOCUMENT_DEFINITION: name_answers.definition,
    lsp.TEXT_DOCUMENT_REFERENCES: name_answers.all_references,
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: name_answers.highlighted,
    lsp.TEXT_DOCUMENT_PREPARE_RENAME: editing.prepared_rename,
    lsp.TEXT_DOCUMENT_RENAME: editing.renamed,
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: workspace.document_symbols,
    lsp.TEXT_DOCUMENT_INLAY_HINT: reading.hints,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: reading.all_tokens,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: reading.some_tokens,
    lsp.TEXT_DOCUMENT_CODE_LENS: reading.code_lenses,
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: reading.document_links,
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: reading.folding_ranges,
    lsp.TEXT_DOCUMENT_SELECTION_RANGE: reading.selections,
    lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: name_answers.prepared,
    lsp.CALL_HIERARCHY_INCOMING_CALLS: name_answers.incoming,
    lsp.CALL_HIERARCHY_OUTGOING_CALLS: name_answers.outgoing,
}

# About the workspace: gets it as it was when the question came in, and the request's parameters.
WORKSPACE_ANSWERS: Mapping[str, Callable[[Workspace, Any], Any]] = {
    lsp.WORKSPACE_SYMBOL: workspace.workspace_symbols,
}

COMMANDS: Mapping[str, Command] = {
    EXPLAIN: explain,
    OPEN_RULE: open_rule,
    APPLY_EDIT: apply_edit,
    PREVIEW: commands.previewed,
    GRAPH: commands.drawn,
    EXPAND: commands.expanded_job,
    TEMPLATES: commands.templates,
    MARKETPLACE_LIST: commands.listed,
    MARKETPLACE_INSERT: commands.inserted,
    MARKETPLACE_REFRESH: commands.refreshed,
    MARKETPLACE_TEXT: commands.text,
}
