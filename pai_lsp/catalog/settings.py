"""The sources of definitions that a configuration names, as values."""

from __future__ import annotations

from pai_lsp.source.frozen import dataclass


@dataclass(frozen=True, slots=True)
class DirectorySource:
    """A folder of definition files: an absolute path, or one from the configuration's folder."""

    directory: str


@dataclass(frozen=True, slots=True)
class ServerSource:
    """A marketplace server: its base address and the origin of the access token.

    token_env: the name of the environment variable that holds it. token_command: a command that prints it.
    """

    url: str
    token_env: str | None = None
    token_command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Marketplace:
    """The sources of definitions that jobs name by an address.

    sources: searched in this order. allowed_hosts: the only hosts from which single addresses are fetched.
    """

    sources: tuple[DirectorySource | ServerSource, ...] = ()
    allowed_hosts: frozenset[str] = frozenset()

    @property
    def is_named(self) -> bool:
        """Whether anything is configured."""
        return bool(self.sources or self.allowed_hosts)
