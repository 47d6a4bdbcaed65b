"""What the checks and the marketplaces use of the session that owns them; a type, so that no module imports upward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from pygls.lsp.server import LanguageServer

    from pai_lsp.lsp.client import Client
    from pai_lsp.lsp.client_trust import ClientTrust
    from pai_lsp.lsp.documents import OpenDocument
    from pai_lsp.lsp.workspace_settings import EditorSettings
    from pai_lsp.project.projects import Projects


class Connection(Protocol):
    """The connection to one client."""

    @property
    def server(self) -> LanguageServer:
        """Sends messages to the client."""

    @property
    def projects(self) -> Projects:
        """The configuration and the sources of definitions of each file."""

    @property
    def client(self) -> Client:
        """What the client can do."""

    @property
    def documents(self) -> Mapping[str, OpenDocument]:
        """The open documents by URI, each at its newest version."""

    @property
    def folders(self) -> tuple[str, ...]:
        """The paths of the workspace's folders."""

    @property
    def trust(self) -> ClientTrust:
        """What the user trusts."""

    @property
    def settings(self) -> EditorSettings:
        """The client's settings."""

    def folder_of(self, path: str) -> str:
        """The innermost workspace folder that contains a file or folder; empty without one."""

    def configured(self, document: OpenDocument) -> OpenDocument:
        """The same version of a document with the settings and definitions that apply to its file now."""

    def reconfigure(self) -> None:
        """Update the open documents whose settings or definitions have changed."""

    def check_again(self, uri: str) -> None:
        """Check the same version of an open document again: another program has found something."""

    def in_background(self, work: Coroutine[Any, Any, object]) -> None:
        """Run a coroutine without waiting for it."""

    async def ready_to_check(self) -> None:
        """Wait for the client's settings and for the marketplaces on the disk, but not for long."""
