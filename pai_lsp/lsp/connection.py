"""What the checks and the marketplaces use of the session that owns them; a type, so that no module imports upward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from pygls.lsp.server import LanguageServer

    from pai_lsp.lsp.client import Client
    from pai_lsp.lsp.client_trust import ClientTrust
    from pai_lsp.lsp.documents import OpenDocument
    from pai_lsp.lsp.worker_threads import Lane
    from pai_lsp.lsp.workspace_settings import EditorSettings
    from pai_lsp.project.projects import Projects


class Connection(Protocol):
    """The connection to one client.

    server: sends messages to the client.
    projects: the configuration and the sources of definitions of each file.
    client: what the client can do.
    documents: the open documents by URI, each at its newest version.
    trust: what the user trusts.
    settings: the client's settings.
    lane: the threads that analyse.
    """

    server: LanguageServer
    projects: Projects
    client: Client
    documents: Mapping[str, OpenDocument]
    trust: ClientTrust
    settings: EditorSettings
    lane: Lane

    @property
    def folders(self) -> tuple[str, ...]:
        """The paths of the workspace's folders."""

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
