"""The client's capabilities, taken once from its `initialize` request."""

from __future__ import annotations

from typing import Any

from lsprotocol import types as lsp

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
    document, workspace, window = capabilities.text_document, capabilities.workspace, capabilities.window
    pushed = _part(document, "publish_diagnostics")
    pulled = _part(document, "diagnostic")
    marks = pushed or pulled
    actions, edits = _part(document, "code_action"), _part(workspace, "workspace_edit")
    return Client(
        unit=unit,
        pulls_diagnostics=pulled is not None and pushed is None,
        refreshes_diagnostics=_can(_part(workspace, "diagnostics"), "refresh_support"),
        related_information=_can(marks, "related_information"),
        code_description=_can(marks, "code_description_support"),
        tags=_values(_part(marks, "tag_support")),
        document_changes=_can(edits, "document_changes"),
        creates_files=_can(edits, "document_changes")
        and lsp.ResourceOperationKind.Create in (_part(edits, "resource_operations") or ()),
        applies_edits=_can(workspace, "apply_edit"),
        code_action_literals=_part(actions, "code_action_literal_support") is not None,
        preferred_code_actions=_can(actions, "is_preferred_support"),
        disabled_code_actions=_can(actions, "disabled_support"),
        resolves_edits=_can(actions, "data_support")
        and "edit" in (_part(_part(actions, "resolve_support"), "properties") or ()),
        shows_documents=_can(_part(window, "show_document"), "support"),
        configuration=_can(workspace, "configuration"),
        configuration_registration=_can(_part(workspace, "did_change_configuration"), "dynamic_registration"),
        watch_registration=_can(_part(workspace, "did_change_watched_files"), "dynamic_registration"),
        registry_accounts=isinstance(options, dict) and options.get("registryAccounts") is True,
        completion=_completion(_part(document, "completion")),
        reading=_reading(document, workspace, options),
    )


def _completion(capabilities: Any) -> CompletionClient:
    item = _part(capabilities, "completion_item")
    kinds = _values(_part(capabilities, "completion_item_kind"))
    resolved = _part(_part(item, "resolve_support"), "properties") or ()
    return CompletionClient(
        snippets=_can(item, "snippet_support"),
        keeps_indentation=lsp.InsertTextMode.AsIs in _values(_part(item, "insert_text_mode_support")),
        two_edits=_can(item, "insert_replace_support"),
        markdown=_takes_markdown(_part(item, "documentation_format")),
        later_documentation="documentation" in resolved,
        kinds=kinds or CompletionClient().kinds,
        tags=_values(_part(item, "tag_support")),
        deprecated=_can(item, "deprecated_support"),
    )


def _reading(document: Any, workspace: Any, options: Any) -> ReadingClient:
    folds = _part(document, "folding_range")
    commands = options.get("commands") if isinstance(options, dict) else None
    return ReadingClient(
        markdown_hover=_takes_markdown(_part(_part(document, "hover"), "content_format")),
        definition_links=_can(_part(document, "definition"), "link_support"),
        nested_symbols=_can(_part(document, "document_symbol"), "hierarchical_document_symbol_support"),
        link_tooltips=_can(_part(document, "document_link"), "tooltip_support"),
        whole_line_folds=_can(folds, "line_folding_only"),
        fold_limit=_part(folds, "range_limit"),
        multi_line_tokens=_can(_part(document, "semantic_tokens"), "multiline_token_support"),
        refreshes_hints=_can(_part(workspace, "inlay_hint"), "refresh_support"),
        refreshes_lenses=_can(_part(workspace, "code_lens"), "refresh_support"),
        commands=frozenset(command for command in commands or () if isinstance(command, str)),
    )


def _values(capabilities: Any) -> frozenset[int]:
    return frozenset(int(value) for value in _part(capabilities, "value_set") or ())


def _takes_markdown(formats: Any) -> bool:
    """Whether a client shows Markdown; without a word about it, it shows plain text."""
    return lsp.MarkupKind.Markdown in (formats or ())


def _part(capabilities: Any, name: str) -> Any:
    return None if capabilities is None else getattr(capabilities, name)


def _can(capabilities: Any, name: str) -> bool:
    return bool(_part(capabilities, name))
