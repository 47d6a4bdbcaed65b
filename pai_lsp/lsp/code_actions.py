"""What the client can offer at a place: fixes of the findings there, ignoring and explaining them, refactorings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp

from pai_lsp.ide.ignore_comment import ignore_comment
from pai_lsp.ide.line_edits import line_edits
from pai_lsp.ide.refactorings import RefactoringKind
from pai_lsp.lsp.convert import lsp_diagnostic, workspace_edit
from pai_lsp.lsp.features import APPLY_EDIT, FIX_ALL, OPEN_RULE, QUICK_FIX
from pai_lsp.lsp.open_document import Kind
from pai_lsp.lsp.refactoring_actions import refactoring_actions
from pai_lsp.nodes import ProblemKind
from pai_lsp.safe_fixes import mend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pai_lsp.diagnostic import Diagnostic, Fix
    from pai_lsp.lsp.open_document import OpenDocument
    from pai_lsp.text import TextEdit

# What can not be ignored: the reader's own findings, and those about ignoring.
_NOT_IGNORED = frozenset({"unused-ignore", *(kind.value for kind in ProblemKind)})


def code_actions(document: OpenDocument, params: lsp.CodeActionParams) -> list[lsp.CodeAction | lsp.Command] | None:
    """The actions for a range, those that mend first; only of the kinds that the client asks for."""
    here = document.places.span(params.range)
    diagnostics = [one for one in document.diagnostics if one.span.overlaps(here)]
    actions: list[lsp.CodeAction] = []
    if _is_wanted(QUICK_FIX, params.context):
        actions += _fixes(document, diagnostics)
    if _is_wanted(FIX_ALL, params.context) and _is_asked_for(params.context):
        actions += _fix_all(document)
    if _is_wanted(QUICK_FIX, params.context):
        actions += _beside_fixing(document, diagnostics)
    actions += refactoring_actions(
        document, here, [one for one in RefactoringKind if _is_wanted(one.value, params.context)]
    )
    if document.client.code_action_literals:
        return [*actions] or None
    return [command for action in actions if (command := _as_command(action))] or None


def _is_wanted(kind: str, context: lsp.CodeActionContext) -> bool:
    """Whether a kind, or one that it is a part of, is asked for."""
    return context.only is None or any(not one or f"{kind}.".startswith(f"{_value(one)}.") for one in context.only)


def _is_asked_for(context: lsp.CodeActionContext) -> bool:
    """Whether the user wants to see actions; editors also ask at every move of the cursor, for their light bulb."""
    return context.only is not None or context.trigger_kind is not lsp.CodeActionTriggerKind.Automatic


def _value(kind: Any) -> str:
    return kind.value if isinstance(kind, lsp.CodeActionKind) else str(kind)


def _fixes(document: OpenDocument, diagnostics: Iterable[Diagnostic]) -> Iterator[lsp.CodeAction]:
    """Each fix once; one that mends several findings belongs to all of them."""
    found: dict[tuple[str, tuple[TextEdit, ...]], lsp.CodeAction] = {}
    for diagnostic in diagnostics:
        for number, fix in enumerate(diagnostic.fixes):
            if action := found.get((fix.title, fix.edits)):
                action.diagnostics = [*(action.diagnostics or ()), _shown(document, diagnostic)]
            else:
                is_preferred = fix.safe and number == 0
                found[fix.title, fix.edits] = _edit_action(document, fix, diagnostic, is_preferred=is_preferred)
    yield from found.values()


def _beside_fixing(document: OpenDocument, diagnostics: Sequence[Diagnostic]) -> Iterator[lsp.CodeAction]:
    """To ignore a finding, and to read about its rule."""
    if document.kind is not Kind.JOB:
        return
    for diagnostic in {one.code: one for one in reversed(diagnostics) if one.code not in _NOT_IGNORED}.values():
        ignoring = ignore_comment(document.document, diagnostic)
        if not isinstance(ignoring, str):
            yield _edit_action(document, ignoring, diagnostic)
        elif document.client.disabled_code_actions:
            yield lsp.CodeAction(
                f"Ignore '{diagnostic.code}' on this line",
                kind=lsp.CodeActionKind.QuickFix,
                diagnostics=[_shown(document, diagnostic)],
                disabled=lsp.CodeActionDisabled(ignoring),
            )
    if document.client.shows_documents:
        for code, diagnostic in {one.code: one for one in diagnostics}.items():
            title = f"Read about '{code}'"
            yield lsp.CodeAction(
                title,
                kind=lsp.CodeActionKind.QuickFix,
                diagnostics=[_shown(document, diagnostic)],
                command=lsp.Command(title, OPEN_RULE, arguments=[code]),
            )


def _fix_all(document: OpenDocument) -> Iterator[lsp.CodeAction]:
    if document.kind is not Kind.JOB or not any(fix.safe for one in document.diagnostics for fix in one.fixes):
        return
    mended = mend(document.document, lambda tried: tried.diagnostics, lambda _: True)
    if mended.fixed:
        noun = "problem" if mended.fixed == 1 else "problems"
        edits = line_edits(document.text, mended.document.text)
        edit = workspace_edit(edits, document.uri, document.version, document.places, document.client)
        yield lsp.CodeAction(f"Fix {mended.fixed} {noun}", kind=FIX_ALL, edit=edit)


def _edit_action(
    document: OpenDocument, fix: Fix, diagnostic: Diagnostic, *, is_preferred: bool = False
) -> lsp.CodeAction:
    return lsp.CodeAction(
        fix.title,
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=[_shown(document, diagnostic)],
        is_preferred=True if is_preferred and document.client.preferred_code_actions else None,
        edit=workspace_edit(fix.edits, document.uri, document.version, document.places, document.client),
    )


def _shown(document: OpenDocument, diagnostic: Diagnostic) -> lsp.Diagnostic:
    return lsp_diagnostic(diagnostic, document.uri, document.places, document.client)


def _as_command(action: lsp.CodeAction) -> lsp.Command | None:
    """The action for a client that knows only commands; it gets the edit back by one of ours."""
    return action.command or (lsp.Command(action.title, APPLY_EDIT, arguments=[action.edit]) if action.edit else None)
