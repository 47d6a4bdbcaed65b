"""The functions that answer the features and commands of features.py; imports the whole analysis.

Loaded after the client has its answer to `initialize`, so that an editor does not wait for what it has not asked for.
An answer gets the document as it was when the request arrived and runs outside of the event loop. It is five lines
long: client units in (`document.places`), one question to the analysis, client units out. The tables are at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from pai_lsp.ide.formatting import formatted
from pai_lsp.ide.hints_and_lenses import HintKind, Lens, LensKind, inlay_hints, lenses
from pai_lsp.ide.hover import hover
from pai_lsp.ide.navigation import (
    Call,
    Member,
    RenameRefused,
    definitions,
    highlights,
    links,
    members_at,
    needed_by,
    needs,
    prepare,
    references,
    rename,
)
from pai_lsp.ide.outline import folds, selection_ranges
from pai_lsp.ide.semantic_tokens import semantic_tokens
from pai_lsp.ide.typed_line import moved_line
from pai_lsp.lsp import commands, completions, workspace
from pai_lsp.lsp.checks import diagnostics_of
from pai_lsp.lsp.code_actions import code_actions, resolved_action
from pai_lsp.lsp.commands import about_document, explain, open_rule
from pai_lsp.lsp.convert import (
    around,
    fold_range,
    location,
    location_link,
    markup,
    selection_range,
    text_edits,
    token_numbers,
)
from pai_lsp.lsp.documents import file_at
from pai_lsp.lsp.features import CommandName
from pai_lsp.source.foreign import as_mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pai_lsp.lsp.commands import Command
    from pai_lsp.lsp.documents import OpenDocument


def hovered(document: OpenDocument, params: lsp.HoverParams) -> lsp.Hover | None:
    """The description of the name or key at a place."""
    found = hover(document.document, document.places.offset(params.position))
    if found is None:
        return None
    contents = markup(found.markdown, is_shown=document.client.markdown_hover)
    return lsp.Hover(contents, document.places.range(found.span))


def definition(
    document: OpenDocument, params: lsp.DefinitionParams
) -> list[lsp.Location] | list[lsp.LocationLink] | None:
    """Where the name at a place is defined, here or in a file of the catalog."""
    found = definitions(document.document, document.places.offset(params.position))
    targets = [(target, file) for target in found if (file := file_at(document, target.path))]
    if document.client.definition_links:
        origin = document.places
        return [location_link(target, origin, file.uri, file.places) for target, file in targets] or None
    return [location(file.uri, target.span, file.places) for target, file in targets] or None


def all_references(document: OpenDocument, params: lsp.ReferenceParams) -> list[lsp.Location] | None:
    """Every place of the name at a place."""
    offset = document.places.offset(params.position)
    found = references(document.document, offset, with_definition=params.context.include_declaration)
    return [location(document.uri, span, document.places) for span in found] or None


def highlighted(document: OpenDocument, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight] | None:
    """The places of the name at a place: its definition as written, its uses as read."""
    kinds = {True: lsp.DocumentHighlightKind.Write, False: lsp.DocumentHighlightKind.Read}
    found = highlights(document.document, document.places.offset(params.position))
    return [lsp.DocumentHighlight(document.places.range(one.span), kinds[one.is_definition]) for one in found] or None


def prepared_rename(document: OpenDocument, params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder:
    """The name that can be renamed at a place; the user sees the reason if there is none.

    Raises:
        JsonRpcException: without a name that this file defines.
    """
    try:
        found = prepare(document.document, document.places.offset(params.position))
    except RenameRefused as refused:
        raise JsonRpcException(str(refused), lsp.LSPErrorCodes.RequestFailed) from None
    written = document.text[found.span.start : found.span.end]
    return lsp.PrepareRenamePlaceholder(document.places.range(found.span), written)


def renamed(document: OpenDocument, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    """The edits of a rename; the user sees the reason if it is refused.

    Raises:
        JsonRpcException: for a name that would break the job.
    """
    try:
        edits = rename(document.document, document.places.offset(params.position), params.new_name)
    except RenameRefused as refused:
        raise JsonRpcException(str(refused), lsp.LSPErrorCodes.RequestFailed) from None
    return document.edit(edits)


def reformatted(document: OpenDocument, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
    """The edits that format the document."""
    return text_edits(formatted(document.document, params.options.tab_size), document.places)


def moved(document: OpenDocument, params: lsp.DocumentOnTypeFormattingParams) -> list[lsp.TextEdit]:
    """The edits that move the line that is being typed to where its key or item belongs."""
    return text_edits(moved_line(document.document, document.places.offset(params.position)), document.places)


def prepared(document: OpenDocument, params: lsp.CallHierarchyPrepareParams) -> list[lsp.CallHierarchyItem] | None:
    """The task role or prerequisite at a place."""
    members = members_at(document.document, document.places.offset(params.position))
    return [item for member in members if (item := _item(document, member))] or None


def incoming(
    document: OpenDocument, params: lsp.CallHierarchyIncomingCallsParams
) -> list[lsp.CallHierarchyIncomingCall]:
    """The members that need a member."""
    calls = needed_by(document.document, _key(params.item))
    return [lsp.CallHierarchyIncomingCall(*call) for call in _calls(document, calls)]


def outgoing(
    document: OpenDocument, params: lsp.CallHierarchyOutgoingCallsParams
) -> list[lsp.CallHierarchyOutgoingCall]:
    """The members that a member needs."""
    calls = needs(document.document, _key(params.item))
    return [lsp.CallHierarchyOutgoingCall(*call) for call in _calls(document, calls)]


def _calls(document: OpenDocument, calls: list[Call]) -> Iterator[tuple[lsp.CallHierarchyItem, list[lsp.Range]]]:
    for call in calls:
        item, file = _item(document, call.member), file_at(document, call.path)
        if item is not None and file is not None:
            yield item, [file.places.range(span) for span in call.places]


def _item(document: OpenDocument, member: Member) -> lsp.CallHierarchyItem | None:
    """A member as an item; its data names the document that was asked about, wherever the member itself is."""
    file = file_at(document, member.path)
    if file is None:
        return None
    return lsp.CallHierarchyItem(
        member.name,
        lsp.SymbolKind.Class if member.is_role else lsp.SymbolKind.Package,
        file.uri,
        file.places.range(around(member.span, member.name_span)),
        file.places.range(member.name_span),
        detail=member.detail,
        data={"uri": document.uri, "key": member.key},
    )


def _key(item: lsp.CallHierarchyItem) -> str:
    return str(as_mapping(item.data).get("key", ""))


# The commands of a client that show or copy what a task role runs; arguments: URI, task role.
CLIENT_COMMANDS = {LensKind.PREVIEW: "openpai.preview", LensKind.SCRIPT: "openpai.copyScript"}
# A client that announces one of these can show a list of places; the second is what VS Code's own is called.
SHOW_REFERENCES = ("openpai.showReferences", "editor.action.showReferences")


def hints(document: OpenDocument, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    """The inlay hints of a range, without those that the settings switch off."""
    wanted = frozenset(kind for kind in HintKind if kind.value not in document.context.switched_off)
    return [
        lsp.InlayHint(
            document.places.position(hint.offset),
            hint.label,
            tooltip=hint.tooltip or None,
            padding_left=hint.kind is not HintKind.RUN_ORDER,
            padding_right=hint.kind is HintKind.RUN_ORDER,
        )
        for hint in inlay_hints(document.document, document.places.span(params.range), wanted)
    ]


def tokens(
    document: OpenDocument, params: lsp.SemanticTokensParams | lsp.SemanticTokensRangeParams
) -> lsp.SemanticTokens:
    """The semantic tokens of the document, or of a range."""
    span = document.places.span(params.range) if isinstance(params, lsp.SemanticTokensRangeParams) else None
    return lsp.SemanticTokens(token_numbers(semantic_tokens(document.document, span), document.places))


def code_lenses(document: OpenDocument, _params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """The lenses that are not switched off; where the client lacks the command, a lens only shows its text."""
    wanted = frozenset(kind for kind in LensKind if kind.value not in document.context.switched_off)
    commands = ((lens, _command(document, lens)) for lens in lenses(document.document, wanted))
    return [lsp.CodeLens(document.places.range(lens.span), command) for lens, command in commands if command]


def _command(document: OpenDocument, lens: Lens) -> lsp.Command | None:
    """The command of a click; None for a lens that has no use without it."""
    known = document.client.commands
    if own := CLIENT_COMMANDS.get(lens.kind):
        return lsp.Command(lens.title, own, arguments=[document.uri, lens.role]) if own in known else None
    show = next((name for name in SHOW_REFERENCES if name in known), None)
    if lens.kind is LensKind.REFERENCES and lens.references and show:
        places = [location(document.uri, span, document.places) for span in lens.references]
        position = document.places.position(lens.span.start)
        return lsp.Command(lens.title, show, arguments=[document.uri, position, places])
    return lsp.Command(lens.title, "")  # no command: it only shows a text


def document_links(document: OpenDocument, _params: lsp.DocumentLinkParams) -> list[lsp.DocumentLink]:
    """The links of the document."""
    found = links(document.document)
    return [lsp.DocumentLink(document.places.range(link.span), link.address, link.tooltip) for link in found]


def folding_ranges(document: OpenDocument, _params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
    """The folds of the document; no more than the client accepts."""
    limit = document.client.part("text_document.folding_range.range_limit")
    return [fold_range(fold, document.places) for fold in folds(document.document)[:limit]]


def selections(document: OpenDocument, params: lsp.SelectionRangeParams) -> list[lsp.SelectionRange]:
    """For each position, the growing selections around it."""
    offsets = [document.places.offset(position) for position in params.positions]
    return [selection_range(selection_ranges(document.document, offset), document.places) for offset in offsets]


def pulled_diagnostics(document: OpenDocument, _params: lsp.DocumentDiagnosticParams) -> lsp.DocumentDiagnosticReport:
    """The diagnostics, for a client that asks for them itself."""
    return lsp.RelatedFullDocumentDiagnosticReport(items=diagnostics_of(document))


# About one open document: gets it and the request's parameters.
DOCUMENT_ANSWERS: Mapping[str, Callable[[OpenDocument, Any], Any]] = {
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: pulled_diagnostics,
    lsp.TEXT_DOCUMENT_CODE_ACTION: code_actions,
    lsp.CODE_ACTION_RESOLVE: resolved_action,
    lsp.TEXT_DOCUMENT_COMPLETION: completions.completion,
    lsp.COMPLETION_ITEM_RESOLVE: completions.resolved_completion,
    lsp.TEXT_DOCUMENT_HOVER: hovered,
    lsp.TEXT_DOCUMENT_DEFINITION: definition,
    lsp.TEXT_DOCUMENT_REFERENCES: all_references,
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: highlighted,
    lsp.TEXT_DOCUMENT_PREPARE_RENAME: prepared_rename,
    lsp.TEXT_DOCUMENT_RENAME: renamed,
    lsp.TEXT_DOCUMENT_FORMATTING: reformatted,
    lsp.TEXT_DOCUMENT_ON_TYPE_FORMATTING: moved,
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: workspace.document_symbols,
    lsp.TEXT_DOCUMENT_INLAY_HINT: hints,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: tokens,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: tokens,
    lsp.TEXT_DOCUMENT_CODE_LENS: code_lenses,
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: document_links,
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: folding_ranges,
    lsp.TEXT_DOCUMENT_SELECTION_RANGE: selections,
    lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: prepared,
    lsp.CALL_HIERARCHY_INCOMING_CALLS: incoming,
    lsp.CALL_HIERARCHY_OUTGOING_CALLS: outgoing,
}

COMMANDS: Mapping[CommandName, Command] = {
    CommandName.EXPLAIN: explain,
    CommandName.OPEN_RULE: open_rule,
    CommandName.PREVIEW: about_document(commands.previewed),
    CommandName.SCRIPT: about_document(commands.scripted),
    CommandName.GRAPH: about_document(commands.drawn),
    CommandName.EXPAND: about_document(commands.expanded_job),
    CommandName.STATUS: about_document(commands.described),
    CommandName.WHY: commands.failure_explained,
    CommandName.CHECK_IMAGES: commands.images_checked,
    CommandName.CHECK_FOLDER: commands.folder_checked,
    CommandName.CLEAR_FOLDERS: commands.folders_cleared,
    CommandName.CLUSTERS: commands.clusters,
    CommandName.TEMPLATES: commands.templates,
    CommandName.CONVERT: about_document(commands.converted_file),
    CommandName.ASSISTANT: commands.assistant_answered,
    CommandName.MARKETPLACE_LIST: commands.listed,
    CommandName.MARKETPLACE_LOCKED: commands.locked,
    CommandName.MARKETPLACE_INSERT: about_document(commands.inserted),
    CommandName.MARKETPLACE_REFRESH: commands.refreshed,
    CommandName.MARKETPLACE_TEXT: commands.text,
}
