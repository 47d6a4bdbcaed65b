"""What a user may decide about checking, as values; where it is written (file, editor) is not known here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.frozen import dataclass, field

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
