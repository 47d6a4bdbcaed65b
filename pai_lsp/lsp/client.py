"""What the client at the other end can do, taken once from its `initialize` request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pai_lsp.text import ColumnUnit

if TYPE_CHECKING:
    from lsprotocol import types as lsp


@dataclass(frozen=True, slots=True)
class Client:
    """The client's capabilities as far as anybody asks for them; the default is a client that can do nothing.

    unit: what its columns count.
    tags: the values of `Tag` that it knows.
    pulls_diagnostics: whether it asks for diagnostics instead of taking those that are sent. A client that can do both
        gets them sent: that is faster, and twice would be wrong.
    """

    unit: ColumnUnit = ColumnUnit.UTF16
    pulls_diagnostics: bool = False
    refreshes_diagnostics: bool = False
    related_information: bool = False
    code_description: bool = False
    tags: frozenset[int] = frozenset()
    document_changes: bool = False
    applies_edits: bool = False
    code_action_literals: bool = False
    preferred_code_actions: bool = False
    disabled_code_actions: bool = False
    shows_documents: bool = False
    configuration: bool = False
    configuration_registration: bool = False
    watch_registration: bool = False


def client_of(capabilities: lsp.ClientCapabilities, unit: ColumnUnit) -> Client:
    """What the capabilities say; what is missing in them is not supported."""
    document, workspace, window = capabilities.text_document, capabilities.workspace, capabilities.window
    pushed = _part(document, "publish_diagnostics")
    pulled = _part(document, "diagnostic")
    marks = pushed or pulled
    tag_support = _part(marks, "tag_support")
    actions = _part(document, "code_action")
    return Client(
        unit=unit,
        pulls_diagnostics=pulled is not None and pushed is None,
        refreshes_diagnostics=_can(_part(workspace, "diagnostics"), "refresh_support"),
        related_information=_can(marks, "related_information"),
        code_description=_can(marks, "code_description_support"),
        tags=frozenset(int(tag) for tag in tag_support.value_set) if tag_support else frozenset(),
        document_changes=_can(_part(workspace, "workspace_edit"), "document_changes"),
        applies_edits=_can(workspace, "apply_edit"),
        code_action_literals=_part(actions, "code_action_literal_support") is not None,
        preferred_code_actions=_can(actions, "is_preferred_support"),
        disabled_code_actions=_can(actions, "disabled_support"),
        shows_documents=_can(_part(window, "show_document"), "support"),
        configuration=_can(workspace, "configuration"),
        configuration_registration=_can(_part(workspace, "did_change_configuration"), "dynamic_registration"),
        watch_registration=_can(_part(workspace, "did_change_watched_files"), "dynamic_registration"),
    )


def _part(capabilities: Any, name: str) -> Any:
    return None if capabilities is None else getattr(capabilities, name)


def _can(capabilities: Any, name: str) -> bool:
    return bool(_part(capabilities, name))
