"""What the client can do, as its `initialize` request says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp

from pai_lsp.source.foreign import as_mapping, texts_in
from pai_lsp.source.frozen import dataclass, lazy
from pai_lsp.source.text import ColumnUnit

if TYPE_CHECKING:
    from functools import cached_property


def _can(*paths: str) -> cached_property[bool]:
    """Whether the client has a capability, at one of some paths such as `workspace.apply_edit`."""
    return lazy(lambda client: any(map(client.part, paths)))


def _has(path: str, value: object) -> cached_property[bool]:
    """Whether a value is among those that the client lists at a path."""
    return lazy(lambda client: value in (client.part(path) or ()))


def _values(*paths: str) -> cached_property[frozenset[int]]:
    """The values that the client lists at some paths."""
    return lazy(lambda client: frozenset(int(value) for path in paths for value in client.part(path) or ()))


_EDIT = "workspace.workspace_edit"
_ACTION = "text_document.code_action"
_COMPLETION = "text_document.completion"
_ITEM = "text_document.completion.completion_item"
_PUBLISHED, _PULLED = "text_document.publish_diagnostics", "text_document.diagnostic"


@dataclass(frozen=True)
class Client:
    """The capabilities that the server uses; a missing one is not supported.

    unit: what its columns count. options: its initialization options.
    """

    capabilities: lsp.ClientCapabilities = lsp.ClientCapabilities()
    unit: ColumnUnit = ColumnUnit.UTF16
    options: Any = None

    refreshes_diagnostics = _can("workspace.diagnostics.refresh_support")
    refreshes_hints = _can("workspace.inlay_hint.refresh_support")
    refreshes_lenses = _can("workspace.code_lens.refresh_support")
    related_information = _can(f"{_PUBLISHED}.related_information", f"{_PULLED}.related_information")
    diagnostic_tags = _values(f"{_PUBLISHED}.tag_support.value_set", f"{_PULLED}.tag_support.value_set")
    document_changes = _can(f"{_EDIT}.document_changes")
    creates_files = _has(f"{_EDIT}.resource_operations", lsp.ResourceOperationKind.Create)
    configuration = _can("workspace.configuration")
    configuration_registration = _can("workspace.did_change_configuration.dynamic_registration")
    watch_registration = _can("workspace.did_change_watched_files.dynamic_registration")
    shows_documents = _can("window.show_document.support")
    shows_progress = _can("window.work_done_progress")
    code_action_literals = _can(f"{_ACTION}.code_action_literal_support")
    disabled_code_actions = _can(f"{_ACTION}.disabled_support")
    keeps_action_data = _can(f"{_ACTION}.data_support")
    asks_for_edits = _has(f"{_ACTION}.resolve_support.properties", "edit")
    markdown_hover = _has("text_document.hover.content_format", lsp.MarkupKind.Markdown)
    definition_links = _can("text_document.definition.link_support")
    nested_symbols = _can("text_document.document_symbol.hierarchical_document_symbol_support")
    snippets = _can(f"{_ITEM}.snippet_support")
    # Whether it can insert lines unchanged. One that cannot adds the indentation of the line that a snippet begins in
    # to the snippet's other lines.
    keeps_indentation = _has(f"{_ITEM}.insert_text_mode_support.value_set", lsp.InsertTextMode.AsIs)
    # Whether it takes one place for inserting and another one for replacing.
    two_edits = _can(f"{_ITEM}.insert_replace_support")
    # Whether it asks for the documentation of an item when it shows it.
    later_documentation = _has(f"{_ITEM}.resolve_support.properties", "documentation")
    markdown_completions = _has(f"{_ITEM}.documentation_format", lsp.MarkupKind.Markdown)
    completion_tags = _values(f"{_ITEM}.tag_support.value_set")
    completion_kinds = _values(f"{_COMPLETION}.completion_item_kind.value_set")

    def part(self, path: str) -> Any:
        """The capability at a path; None without it."""
        found: Any = self.capabilities
        for name in path.split("."):
            found = None if found is None else getattr(found, name)
        return found

    @lazy
    def pulls_diagnostics(self) -> bool:
        """Whether it pulls diagnostics and does not support published ones.

        A client with both gets them published: that is faster, and both would show them twice.
        """
        return self.part(_PULLED) is not None and self.part(_PUBLISHED) is None

    @property
    def resolves_edits(self) -> bool:
        """Whether it asks for the edit of a code action when the action is chosen."""
        return self.keeps_action_data and self.asks_for_edits

    @lazy
    def commands(self) -> frozenset[str]:
        """The commands of its own that it has announced."""
        return frozenset(texts_in(as_mapping(self.options).get("commands")))
