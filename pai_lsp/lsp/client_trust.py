"""What the user trusts, as far as the client lets the user answer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pai_lsp.project.projects import stamp_of
from pai_lsp.project.trust import TrustAnswers
from pai_lsp.source.foreign import as_mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pai_lsp.catalog.setup import CatalogSetup


class ClientTrust:
    """The user's answers, and whether the client or its settings refuse all trust.

    folders: the paths of the workspace's folders. changed: is called when something else is trusted than before.
    """

    def __init__(self, folders: Callable[[], tuple[str, ...]], changed: Callable[[], object]) -> None:
        self._answers = TrustAnswers(os.environ)
        self._folders, self._changed = folders, changed
        self._refusing: set[str] = set()

    @property
    def refuses_all(self) -> bool:
        """Whether the client or its settings refuse all trust, as VS Code does in an untrusted workspace."""
        return bool(self._refusing)

    def about(self, setup: CatalogSetup) -> bool | None:
        """Whether the user trusts a setup: what the client refuses is not trusted; None if the user was never asked."""
        return False if self.refuses_all else self._answers.about(setup, self._folder(setup))

    def remember(self, setup: CatalogSetup, *, is_trusted: bool) -> None:
        """Keep the user's answer, and let everything follow it.

        Raises:
            OSError: if it cannot be written.
        """
        self._answers.remember(setup, self._folder(setup), is_trusted=is_trusted)
        self._changed()

    def take_value(self, value: Any) -> None:
        """Take a client's value `trusted`: with `false` nothing is trusted, otherwise the user's answers decide."""
        self._take("client", refuses=value is False)

    def take_sections(self, sections: Mapping[str, Any]) -> None:
        """Take the value `trusted` in the sections of the client's settings."""
        self._take("settings", refuses=any(as_mapping(one).get("trusted") is False for one in sections.values()))

    def stamp(self) -> object:
        """What changes when another program writes an answer."""
        return stamp_of(str(self._answers.path))

    def _take(self, who: str, *, refuses: bool) -> None:
        before = self.refuses_all
        self._refusing = self._refusing | {who} if refuses else self._refusing - {who}
        if self.refuses_all != before:
            self._changed()

    def _folder(self, setup: CatalogSetup) -> str:
        """The folder that an answer is about: the settings of an editor, which have none, count as the workspace's."""
        return setup.folder or next(iter(self._folders()), "")
