"""The client's capabilities, taken once from its `initialize` request."""

from __future__ import annotations

from typing import Any

from lsprotocol import types as lsp

from pai_lsp.source.foreign import as_mapping, texts_in
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.text import ColumnUnit


@dataclass(frozen=True, slots=True)
class CompletionClient:
    """What a client can do with completions.

    keeps_indentation: whether it can insert lines unchanged. One that cannot adds the indentation of the line that a
        snippet begins in to the snippet's other lines.
    two_edits: whether it takes one place for inserting and another one for replacing.
    later_documentation: whether it asks for the documentation of an item when it shows it.
    kinds, tags: the values that it knows. Source: LSP 3.17, CompletionClientCapabilities (kinds 1 to 18 are basic).
    """

    snippets: bool = False
    keeps_indentation: bool = False
    two_edits: bool = False
    markdown: bool = False
    later_documentation: bool = False
    kinds: frozenset[int] = frozenset(range(1, 19))
    tags: frozenset[int] = frozenset()
    deprecated: bool = False


@dataclass(frozen=True, slots=True)
class ReadingClient:
    """What a client can do with hovers, links between places, outlines and what is drawn around the text.

    fold_limit: how many folds it takes at most; None for all.
    commands: the commands of its own that it has announced (initialization option `commands`).
    """

    markdown_hover: bool = False
    definition_links: bool = False
    nested_symbols: bool = False
    link_tooltips: bool = False
    whole_line_folds: bool = False
    fold_limit: int | None = None
    multi_line_tokens: bool = False
    refreshes_hints: bool = False
    refreshes_lenses: bool = False
    commands: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Client:
    """The capabilities that the server uses; the default is a client without any.

    unit: what its columns count.
    tags: the values of `Tag` that it knows.
    pulls_diagnostics: whether it pulls diagnostics and does not support published ones. A client with both gets them
        published: that is faster, and both would show them twice.
    registry_accounts: whether it keeps the user's accounts at image registries (initialization option
        `registryAccounts`).
    completion, reading: the capabilities for completion, and for everything shown around the text.
    """

    unit: ColumnUnit = ColumnUnit.UTF16
    pulls_diagnostics: bool = False
    refreshes_diagnostics: bool = False
    related_information: bool = False
    code_description: bool = False
    tags: frozenset[int] = frozenset()
    document_changes: bool = False
    creates_files: bool = False
    applies_edits: bool = False
    code_action_literals: bool = False
    preferred_code_actions: bool = False
    disabled_code_actions: bool = False
    resolves_edits: bool = False
    shows_documents: bool = False
    configuration: bool = False
    configuration_registration: bool = False
    watch_registration: bool = False
    registry_accounts: bool = False
    completion: CompletionClient = CompletionClient()
    reading: ReadingClient = ReadingClient()


def client_of(capabilities: lsp.ClientCapabilities, unit: ColumnUnit, options: Any = None) -> Client:
    """The client of an `initialize` request; a missing capability is not supported."""
    document, workspace = capabilities.text_document, capabilities.workspace
    pushed, pulled = _part(document, "publish_diagnostics"), _part(document, "diagnostic")
    marks = pushed or pulled
    changes_documents = _can(workspace, "workspace_edit.document_changes")
    return Client(
        unit=unit,
        pulls_diagnostics=pulled is not None and pushed is None,
        refreshes_diagnostics=_can(workspace, "diagnostics.refresh_support"),
        related_information=_can(marks, "related_information"),
        code_description=_can(marks, "code_description_support"),
        tags=_values(marks, "tag_support"),
        document_changes=changes_documents,
        creates_files=changes_documents
        and _has(workspace, "workspace_edit.resource_operations", lsp.ResourceOperationKind.Create),
        applies_edits=_can(workspace, "apply_edit"),
        code_action_literals=_part(document, "code_action.code_action_literal_support") is not None,
        preferred_code_actions=_can(document, "code_action.is_preferred_support"),
        disabled_code_actions=_can(document, "code_action.disabled_support"),
        resolves_edits=_can(document, "code_action.data_support")
        and _has(document, "code_action.resolve_support.properties", "edit"),
        shows_documents=_can(capabilities.window, "show_document.support"),
        configuration=_can(workspace, "configuration"),
        configuration_registration=_can(workspace, "did_change_configuration.dynamic_registration"),
        watch_registration=_can(workspace, "did_change_watched_files.dynamic_registration"),
        registry_accounts=as_mapping(options).get("registryAccounts") is True,
        completion=_completion(_part(document, "completion")),
        reading=_reading(document, workspace, as_mapping(options)),
    )


def _completion(completion: Any) -> CompletionClient:
    item = _part(completion, "completion_item")
    return CompletionClient(
        snippets=_can(item, "snippet_support"),
        keeps_indentation=lsp.InsertTextMode.AsIs in _values(item, "insert_text_mode_support"),
        two_edits=_can(item, "insert_replace_support"),
        markdown=_has(item, "documentation_format", lsp.MarkupKind.Markdown),
        later_documentation=_has(item, "resolve_support.properties", "documentation"),
        kinds=_values(completion, "completion_item_kind") or CompletionClient().kinds,
        tags=_values(item, "tag_support"),
        deprecated=_can(item, "deprecated_support"),
    )


def _reading(document: Any, workspace: Any, options: dict[str, Any]) -> ReadingClient:
    return ReadingClient(
        markdown_hover=_has(document, "hover.content_format", lsp.MarkupKind.Markdown),
        definition_links=_can(document, "definition.link_support"),
        nested_symbols=_can(document, "document_symbol.hierarchical_document_symbol_support"),
        link_tooltips=_can(document, "document_link.tooltip_support"),
        whole_line_folds=_can(document, "folding_range.line_folding_only"),
        fold_limit=_part(document, "folding_range.range_limit"),
        multi_line_tokens=_can(document, "semantic_tokens.multiline_token_support"),
        refreshes_hints=_can(workspace, "inlay_hint.refresh_support"),
        refreshes_lenses=_can(workspace, "code_lens.refresh_support"),
        commands=frozenset(texts_in(options.get("commands"))),
    )


def _part(capabilities: Any, path: str) -> Any:
    """The capability at a path such as `hover.content_format`; None without it."""
    for name in path.split("."):
        capabilities = None if capabilities is None else getattr(capabilities, name)
    return capabilities


def _can(capabilities: Any, path: str) -> bool:
    return bool(_part(capabilities, path))


def _has(capabilities: Any, path: str, value: object) -> bool:
    return value in (_part(capabilities, path) or ())


def _values(capabilities: Any, path: str) -> frozenset[int]:
    return frozenset(int(value) for value in _part(capabilities, f"{path}.value_set") or ())
