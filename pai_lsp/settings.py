"""What a user may decide about checking, as values; where it is written (file, editor) is not known here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pai_lsp.diagnostic import Rule, Severity


@dataclass(frozen=True, slots=True)
class Settings:
    """How a document is checked.

    severities: by the code of a rule, the severity to report it with; None means that the rule is off.
        Codes that are absent keep their rule's own severity.
    plugins: names of runtime plugins that this site has added, as they are written in a job
        (`com.microsoft.pai.runtimeplugin.NAME` without the prefix).
    """

    severities: Mapping[str, Severity | None] = field(default_factory=dict)
    plugins: frozenset[str] = frozenset()

    def severity_of(self, rule: Rule) -> Severity | None:
        """The severity in force for `rule`; None when it is off."""
        return self.severities.get(rule.code, rule.severity)


@dataclass(frozen=True, slots=True)
class DirectorySource:
    """A folder of definition files: an absolute path, or one from the configuration's folder."""

    directory: str


@dataclass(frozen=True, slots=True)
class ServerSource:
    """A marketplace server: its base address, and where the access token comes from.

    token_env: the name of the environment variable that holds it. token_command: a command that prints it.
    """

    url: str
    token_env: str | None = None
    token_command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Marketplace:
    """Where definitions come from that jobs name by an address.

    sources: asked in this order. allowed_hosts: the only hosts that single addresses are fetched from.
    """

    sources: tuple[DirectorySource | ServerSource, ...] = ()
    allowed_hosts: frozenset[str] = frozenset()
