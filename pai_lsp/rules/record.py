"""The record of a rule in words: what `explain`, the pages and reports say about a rule besides its documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Consequence, RuleStatus, Stage
from pai_lsp.platform.tables import table
from pai_lsp.rules import family_of
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from typing import Any

    from pai_lsp.findings.diagnostic import Rule

_BY = {
    Stage.SERVER: "the server",
    Stage.CLUSTER: "the cluster, after the server has accepted the job",
    Stage.RUNTIME: "the runtime, before the commands of a task",
    Stage.COMMANDS: "the shell and the programs of a task",
    Stage.EXPANSION: "`pai-lsp expand`",
    Stage.CHECKER: "pai-lsp",
}
MEANINGS = {
    Consequence.REFUSED: "the server, or the expansion of the extended protocol, does not take the job",
    Consequence.DIES: "the job is accepted, and its tasks never start or end before their commands",
    Consequence.FAILS: "a command or a part of the job fails, or does something else than meant",
    Consequence.IGNORED: "what is written has no effect",
    Consequence.STYLE: "it works as it is written",
}
# Why a fix is safe, by the first word of its title, and why any other fix is not.
_SAFE = {
    "Quote": "the characters stay as they are written, and YAML reads them as text",
    "Change": "only this word can be meant",
    "Rename": "it is renamed everywhere",
    "Remove": "what is removed has no effect, or is refused",
    "Wrap": "the value stays the same",
    "Convert": "the result means the same",
    "Move": "the value stays the same",
    "Write": "it means the same, or what is missing can be nothing else",
    "Add": "only this is missing, or it is the default",
    "Close": "only this is missing",
    "Use": "it means the same",
}
_UNSAFE = "something else may be meant"


@dataclass(frozen=True, slots=True)
class KnownFix:
    """A fix that the examples of a rule get; in the title, `…` is what differs between jobs."""

    title: str
    is_safe: bool

    @property
    def reason(self) -> str:
        """Why `--fix` may apply it, or why not."""
        return _SAFE[self.title.split(" ", 1)[0]] if self.is_safe else _UNSAFE


def known_fixes(rule: Rule) -> tuple[KnownFix, ...]:
    """The fixes that a rule is known to offer, the safe ones first."""
    row = table("rules.json").get(rule.code, {})
    return tuple(KnownFix(title, kind == "safe") for kind in ("safe", "suggestion") for title in row.get(kind, ()))


def fix_kind(rule: Rule) -> str:
    """The best kind of fix that a rule offers: `safe`, `suggestion` or `none`."""
    return next(("safe" if fix.is_safe else "suggestion" for fix in known_fixes(rule)), "none")


def since(rule: Rule) -> str:
    """The first version that has the rule."""
    return str(table("rules.json").get(rule.code, {}).get("since", ""))


def record(rule: Rule) -> dict[str, Any]:
    """The record as `pai-lsp rules --format json` prints it."""
    return {
        "code": rule.code,
        "severity": rule.severity.label,
        "summary": rule.summary,
        "family": family_of(rule.code),
        "since": since(rule),
        "status": rule.status.value,
        "former": list(rule.former),
        "stage": rule.stage.value,
        "consequence": rule.consequence.value,
        "fix": fix_kind(rule),
        "fixes": [{"title": fix.title, "safe": fix.is_safe, "why": fix.reason} for fix in known_fixes(rule)],
        "subject": list(rule.about),
        "platform": rule.platform.name if rule.platform else None,
        "url": rule.url or None,
    }


def facts(rule: Rule) -> list[str]:
    """The record as sentences, one a line, in Markdown."""
    lines = [
        f"Consequence: **{rule.consequence.value}** ({MEANINGS[rule.consequence]}).",
        f"Found by {_BY[rule.stage]}.",
        f"Family: `{family_of(rule.code)}`. Since {since(rule)}{_status(rule)}.",
    ]
    if rule.former:
        lines.append(f"Former codes, which still work: {', '.join(f'`{code}`' for code in rule.former)}.")
    for fix in known_fixes(rule):
        how = "`--fix`" if fix.is_safe else "the editor, or `--fix --unsafe-fixes`"
        lines.append(f"Fix: {fix.title} (by {how}: {fix.reason}).")
    return lines


def _status(rule: Rule) -> str:
    if rule.status is RuleStatus.PREVIEW:
        return ", in preview: off without `--preview`, `preview: true` or its code in `rules` or `--select`"
    return "" if rule.status is RuleStatus.STABLE else f", {rule.status.value}"
