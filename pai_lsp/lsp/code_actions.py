"""Code actions: fix, ignore or explain the findings at a place, and refactor.

A refactoring is offered with the reason why it is not possible, if there is one; its edits are made on request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcContentModified, JsonRpcException

from pai_lsp.ide.ignoring import NOT_IGNORED, ignore_comment, ignore_in_file, title_on_line
from pai_lsp.ide.refactorings import RefactoringKind, conversion, made, mpijob_conversion, refactorings
from pai_lsp.ide.refactorings.refactoring import EXPANDED, line_edits
from pai_lsp.lsp.convert import lsp_diagnostic, written_beside
from pai_lsp.lsp.documents import CHECKED_BY_RULES, FileKind
from pai_lsp.lsp.features import (
    CLIENT_CONVERT,
    CLIENT_EXPAND,
    FIX_ALL,
    QUICK_FIX,
    CommandName,
)
from pai_lsp.safe_fixes import with_safe_fixes
from pai_lsp.source.spelling import plural
from pai_lsp.source.text import Span, apply_edits

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from pai_lsp.findings.diagnostic import Diagnostic, Fix
    from pai_lsp.ide.refactorings import Refactoring
    from pai_lsp.lsp.documents import OpenDocument
    from pai_lsp.source.text import TextEdit


def code_actions(document: OpenDocument, params: lsp.CodeActionParams) -> list[lsp.CodeAction] | None:
    """The actions for a range, fixes first; only of the kinds that the client asks for."""
    here = document.places.span(params.range)
    diagnostics = [one for one in document.diagnostics if one.span.overlaps(here)]
    if not document.client.code_action_literals:
        return None
    actions: list[lsp.CodeAction] = []
    if _is_wanted(QUICK_FIX, params.context):
        actions += _fixes(document, diagnostics)
    if _is_wanted(FIX_ALL, params.context) and _is_asked_for(params.context):
        actions += _fix_all(document)
    if _is_wanted(QUICK_FIX, params.context):
        actions += _beside_fixing(document, diagnostics)
    kinds = [one for one in RefactoringKind if _is_wanted(one.value, params.context)]
    actions += refactoring_actions(document, here, kinds)
    return actions or None


def _is_wanted(kind: str, context: lsp.CodeActionContext) -> bool:
    """Whether the client asks for a kind, or for a kind that contains it."""
    return context.only is None or any(not one or f"{kind}.".startswith(f"{_value(one)}.") for one in context.only)


def _is_asked_for(context: lsp.CodeActionContext) -> bool:
    """Whether the user wants to see actions; editors also ask at every move of the cursor, for their light bulb."""
    return context.only is not None or context.trigger_kind is not lsp.CodeActionTriggerKind.Automatic


def _value(kind: Any) -> str:
    return kind.value if isinstance(kind, lsp.CodeActionKind) else str(kind)


def _fixes(document: OpenDocument, diagnostics: Iterable[Diagnostic]) -> Iterator[lsp.CodeAction]:
    """Each fix once, with the first finding that has it."""
    found: dict[tuple[str, tuple[TextEdit, ...]], lsp.CodeAction] = {}
    for diagnostic in diagnostics:
        for number, fix in enumerate(diagnostic.fixes):
            action = _edit_action(document, fix, diagnostic, is_preferred=fix.safe and number == 0)
            found.setdefault((fix.title, fix.edits), action)
    yield from found.values()


def _beside_fixing(document: OpenDocument, diagnostics: Sequence[Diagnostic]) -> Iterator[lsp.CodeAction]:
    """The actions that ignore a finding and explain its rule."""
    if document.kind not in CHECKED_BY_RULES:
        return
    for diagnostic in {one.code: one for one in reversed(diagnostics) if one.code not in NOT_IGNORED}.values():
        ignoring = ignore_comment(document.document, diagnostic)
        if not isinstance(ignoring, str):
            yield _edit_action(document, ignoring, diagnostic)
            continue
        if document.client.disabled_code_actions:
            reason = lsp.CodeActionDisabled(ignoring)
            yield _quick_fix(document, title_on_line(diagnostic), diagnostic, disabled=reason)
        yield _edit_action(document, ignore_in_file(document.document, diagnostic.code), diagnostic)
    if document.client.shows_documents:
        for code, diagnostic in {one.code: one for one in diagnostics}.items():
            title = f"Read about '{code}'"
            command = lsp.Command(title, CommandName.OPEN_RULE.value, arguments=[code])
            yield _quick_fix(document, title, diagnostic, command=command)


def _fix_all(document: OpenDocument) -> Iterator[lsp.CodeAction]:
    has_safe = any(fix.safe for one in document.diagnostics for fix in one.fixes)
    if document.kind not in CHECKED_BY_RULES or not has_safe:
        return
    fixed = with_safe_fixes(document.document, lambda tried: tried.diagnostics, lambda _: True)
    if fixed.fixed:
        edit = document.edit(line_edits(document.text, fixed.document.text))
        yield lsp.CodeAction(f"Fix {plural(fixed.fixed, 'problem')}", kind=FIX_ALL, edit=edit)


def _edit_action(
    document: OpenDocument, fix: Fix, diagnostic: Diagnostic, *, is_preferred: bool = False
) -> lsp.CodeAction:
    return _quick_fix(document, fix.title, diagnostic, is_preferred=is_preferred or None, edit=document.edit(fix.edits))


def _quick_fix(document: OpenDocument, title: str, diagnostic: Diagnostic, **answer: Any) -> lsp.CodeAction:
    shown = [_shown(document, diagnostic)]
    return lsp.CodeAction(title, kind=lsp.CodeActionKind.QuickFix, diagnostics=shown, **answer)


def _shown(document: OpenDocument, diagnostic: Diagnostic) -> lsp.Diagnostic:
    return lsp_diagnostic(diagnostic, document.uri, document.places, document.client)


def refactoring_actions(
    document: OpenDocument, here: Span, kinds: Collection[RefactoringKind]
) -> Iterator[lsp.CodeAction]:
    """The refactorings of some kinds for a place."""
    for offer in _offered(document, here, kinds):
        command = _command_beside(document, offer)
        if command is None and offer.beside == EXPANDED and not _can_write_beside(document):
            continue
        if command is not None and (offer.make is not None or offer.beside != EXPANDED):
            yield lsp.CodeAction(offer.title, kind=offer.kind.value, command=command)
            continue
        found = offer if document.client.resolves_edits else made(offer)
        action = lsp.CodeAction(found.title, kind=found.kind.value)
        if found.make is None:
            if not document.client.disabled_code_actions:
                continue
            action.disabled = lsp.CodeActionDisabled(found.disabled_reason)
        elif document.client.resolves_edits:
            action.data = {"uri": document.uri, "version": document.version, "start": here.start, "end": here.end}
        else:
            action.edit = _edit(document, found)
        yield action


def _command_beside(document: OpenDocument, offer: Refactoring) -> lsp.Command | None:
    """What a client runs that opens the result beside the file; None if it has no such command."""
    known = document.client.commands
    if offer.beside == EXPANDED and CLIENT_EXPAND in known:
        return lsp.Command(offer.title, CommandName.EXPAND.value, arguments=[document.uri])
    if offer.beside not in {"", EXPANDED} and CLIENT_CONVERT in known:
        return lsp.Command(offer.title, CommandName.CONVERT.value, arguments=[document.uri, offer.beside])
    return None


def _can_write_beside(document: OpenDocument) -> bool:
    client = document.client
    return client.document_changes and client.creates_files and document.uri.startswith("file:")


def resolved_action(document: OpenDocument, action: lsp.CodeAction) -> lsp.CodeAction:
    """An action with its edit: the offers at its place are made again, and one of them is this action.

    Raises:
        JsonRpcException: when the text has changed, or the action is not possible after all; the user sees the reason.
    """
    kept: Any = action.data
    if not isinstance(kept, dict) or kept.get("version") != document.version:
        raise JsonRpcContentModified("the text has changed since this was offered")
    start, end = kept.get("start"), kept.get("end")
    if isinstance(start, int) and isinstance(end, int):
        kinds = [kind for kind in RefactoringKind if kind.value == action.kind]
        offers = _offered(document, Span(start, end), kinds)
        if offer := next((one for one in offers if one.title == action.title), None):
            found = made(offer)
            if found.make is None:
                raise JsonRpcException(found.disabled_reason, lsp.LSPErrorCodes.RequestFailed)
            action.edit = _edit(document, found)
    return action


def _offered(document: OpenDocument, here: Span, kinds: Collection[RefactoringKind]) -> Iterable[Refactoring]:
    """The refactorings of a job; one of protocol version 1, and an MPIJob, can only be converted."""
    if document.context.is_excluded or not kinds:
        return ()
    if document.kind is FileKind.JOB:
        return refactorings(document.document, here, kinds)
    convert = _CONVERSIONS.get(document.kind) if RefactoringKind.REWRITE in kinds else None
    return convert(document.document, here) if convert else ()


_CONVERSIONS = {FileKind.OTHER: conversion, FileKind.MPIJOB: mpijob_conversion}


def _edit(document: OpenDocument, offer: Refactoring) -> lsp.WorkspaceEdit:
    edits = offer.make() if offer.make else ()
    if offer.beside == EXPANDED:
        return written_beside(document.uri, EXPANDED, apply_edits(document.text, edits))
    return document.edit(edits)
