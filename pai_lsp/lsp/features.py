"""The table of the server's features, as the client gets them; the functions that answer are in answers.py.

A feature is one line here and one line there.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp

from pai_lsp.ide.completion import TRIGGERS
from pai_lsp.ide.token_types import TokenModifier, TokenType
from pai_lsp.lsp.documents import CHECKED_BY_RULES, FileKind
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

QUICK_FIX = lsp.CodeActionKind.QuickFix.value
_REFACTORINGS = ("refactor.extract", "refactor.inline", "refactor.rewrite")
FIX_ALL = f"{lsp.CodeActionKind.SourceFixAll.value}.pai-lsp"


class CommandName(Enum):
    """The commands that the server runs."""

    EXPLAIN = "pai-lsp.explain"
    OPEN_RULE = "pai-lsp.openRule"
    PREVIEW = "pai-lsp.preview"
    SCRIPT = "pai-lsp.script"
    GRAPH = "pai-lsp.graph"
    EXPAND = "pai-lsp.expand"
    STATUS = "pai-lsp.status"
    WHY = "pai-lsp.why"
    CHECK_IMAGES = "pai-lsp.checkImages"
    CHECK_FOLDER = "pai-lsp.checkFolder"
    CLEAR_FOLDERS = "pai-lsp.clearFolders"
    CLUSTERS = "pai-lsp.clusters"
    TEMPLATES = "pai-lsp.templates"
    CONVERT = "pai-lsp.convert"
    ASSISTANT = "pai-lsp.assistant"
    MARKETPLACE_LIST = "pai-lsp.marketplace.list"
    MARKETPLACE_LOCKED = "pai-lsp.marketplace.locked"
    MARKETPLACE_INSERT = "pai-lsp.marketplace.insert"
    MARKETPLACE_REFRESH = "pai-lsp.marketplace.refresh"
    MARKETPLACE_TEXT = "pai-lsp.marketplace.text"


# The commands of a client that open a converted file, and an expanded job, beside the source.
CLIENT_CONVERT = "openpai.convert"
CLIENT_EXPAND = "openpai.expand"

# Our own notification, `{"trusted": false}` while the client trusts nothing, and any other value afterwards.
WORKSPACE_TRUST = "pai-lsp/workspaceTrust"

# The types and modifiers of semantic tokens, in the order in which convert.py numbers them.
LEGEND = lsp.SemanticTokensLegend([one.value for one in TokenType], [one.value for one in TokenModifier])

_WITH_FINDINGS = frozenset({*CHECKED_BY_RULES, FileKind.CONFIGURATION})


@dataclass(frozen=True, slots=True)
class DocumentFeature:
    """A question about one open document.

    options: makes the options that the client gets, for methods that have some.
    kinds: the files that it is answered in; in all others, and in unknown ones, the answer is `otherwise`.
    """

    method: str
    options: Callable[[], Any] | None = None
    kinds: frozenset[FileKind] = frozenset({FileKind.JOB})
    otherwise: Callable[[Any], Any] = lambda _: None


DOCUMENT_FEATURES: tuple[DocumentFeature, ...] = (
    DocumentFeature(
        lsp.TEXT_DOCUMENT_DIAGNOSTIC,
        lambda: lsp.DiagnosticOptions(inter_file_dependencies=False, workspace_diagnostics=False, identifier="pai-lsp"),
        kinds=_WITH_FINDINGS,
        otherwise=lambda _: lsp.RelatedFullDocumentDiagnosticReport(items=[]),
    ),
    DocumentFeature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lambda: lsp.CodeActionOptions(code_action_kinds=[QUICK_FIX, FIX_ALL, *_REFACTORINGS], resolve_provider=True),
        # A job of protocol version 1 is not a job here, but can be converted.
        kinds=frozenset(FileKind),
    ),
    DocumentFeature(lsp.CODE_ACTION_RESOLVE, kinds=frozenset(FileKind), otherwise=lambda action: action),
    DocumentFeature(
        lsp.TEXT_DOCUMENT_COMPLETION,
        lambda: lsp.CompletionOptions(trigger_characters=[*TRIGGERS], resolve_provider=True),
        kinds=CHECKED_BY_RULES,
    ),
    DocumentFeature(lsp.COMPLETION_ITEM_RESOLVE, kinds=CHECKED_BY_RULES, otherwise=lambda item: item),
    DocumentFeature(lsp.TEXT_DOCUMENT_HOVER, kinds=CHECKED_BY_RULES),
    DocumentFeature(lsp.TEXT_DOCUMENT_DEFINITION),
    DocumentFeature(lsp.TEXT_DOCUMENT_REFERENCES),
    DocumentFeature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT),
    DocumentFeature(lsp.TEXT_DOCUMENT_PREPARE_RENAME),
    DocumentFeature(lsp.TEXT_DOCUMENT_RENAME),
    DocumentFeature(lsp.TEXT_DOCUMENT_FORMATTING),
    DocumentFeature(
        lsp.TEXT_DOCUMENT_ON_TYPE_FORMATTING,
        # A key has its colon, an item its dash, a line is ended.
        lambda: lsp.DocumentOnTypeFormattingOptions(":", [" ", "\n"]),
    ),
    DocumentFeature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, kinds=CHECKED_BY_RULES),
    DocumentFeature(lsp.TEXT_DOCUMENT_INLAY_HINT),
    DocumentFeature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, lambda: LEGEND),
    DocumentFeature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, lambda: LEGEND),
    DocumentFeature(lsp.TEXT_DOCUMENT_CODE_LENS),
    DocumentFeature(lsp.TEXT_DOCUMENT_DOCUMENT_LINK),
    DocumentFeature(lsp.TEXT_DOCUMENT_FOLDING_RANGE),
    DocumentFeature(lsp.TEXT_DOCUMENT_SELECTION_RANGE),
    DocumentFeature(lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY),
    DocumentFeature(lsp.CALL_HIERARCHY_INCOMING_CALLS),
    DocumentFeature(lsp.CALL_HIERARCHY_OUTGOING_CALLS),
)
