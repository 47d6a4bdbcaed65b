"""The rules: one folder is a subject, one module a part of a family, one function a rule.

`RULES` lists the rules that check every job; `all_rules` adds those about a known cluster, about files and about
MPIJobs, which a check of a job does not load. `codes_named` returns what a name in settings, in a comment or on the
command line means.
"""

from __future__ import annotations

from functools import cache, lru_cache

from pai_lsp.findings import suppression
from pai_lsp.findings.diagnostic import SHELLCHECK_CODE, Settings, rules_of
from pai_lsp.findings.suppression import NameMeaning
from pai_lsp.rules import (
    commands,
    platforms,
    plugins,
    prerequisites,
    resources,
    secrets,
    structure,
    templates,
    text,
)
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pai_lsp.findings.diagnostic import Rule, Severity

# The rules that check a job, by the name of their family.
_FAMILIES: dict[str, tuple[Rule, ...]] = {
    "text": text.RULES,
    "structure": structure.RULES,
    "prerequisites": prerequisites.RULES,
    "plugins": plugins.RULES,
    "platforms": platforms.RULES,
    "templates": templates.RULES,
    "secrets": secrets.RULES,
    "resources": resources.RULES,
    **commands.FAMILIES,
}
# Names that mean several families.
GROUPS = {"commands": tuple(commands.FAMILIES)}
# In the order in which they are asked.
_UNORDERED = (*(rule for rules in _FAMILIES.values() for rule in rules), *rules_of(suppression))
RULES: tuple[Rule, ...] = tuple(sorted(_UNORDERED, key=lambda one: one.order))
# With such a finding, a released cluster does not run the job as it is written, or not at all.
EXPLAINING: dict[str, Rule] = {rule.code: rule for rule in RULES if rule.explains_stop}
BY_CODE: dict[str, Rule] = {rule.code: rule for rule in RULES}
# The codes of rules that are gone, each with the version that removed it and why: settings may still name them.
REMOVED: dict[str, str] = {}


def all_rules() -> tuple[Rule, ...]:
    """All rules."""
    return (*RULES, *(rule for rules in _other_families().values() for rule in rules))


def all_codes() -> tuple[str, ...]:
    """The codes of all rules."""
    return tuple(rule.code for rule in all_rules())


@cache
def _other_families() -> dict[str, tuple[Rule, ...]]:
    """The rules that do not check every job, by the name of their family."""
    from pai_lsp.mpijob.manifest_rules import MANIFEST_RULES  # noqa: PLC0415 - most checks need none of these
    from pai_lsp.rules import command_rules  # noqa: PLC0415 - as above

    return {"cluster": rules_about_clusters(), "mpijob": MANIFEST_RULES, "files": rules_of(command_rules)}


def rules_about_clusters() -> tuple[Rule, ...]:
    """The rules that check a job whose cluster is known."""
    from pai_lsp.rules import cluster_rules  # noqa: PLC0415 - most checks know no cluster

    return rules_of(cluster_rules)


def families() -> dict[str, tuple[Rule, ...]]:
    """All rules by the name of their family."""
    others = _other_families()
    return {**_FAMILIES, **others, "files": (*others["files"], *rules_of(suppression))}


def family_names() -> tuple[str, ...]:
    """The names that mean several rules."""
    return (*families(), *GROUPS)


def family_of(code: str) -> str:
    """The name of the family of a rule; `shell` for what ShellCheck finds."""
    return next((name for name, rules in families().items() if any(rule.code == code for rule in rules)), "shell")


def rules_in_force(rules: tuple[Rule, ...], settings: Settings, cluster: object | None) -> tuple[Rule, ...]:
    """Those of `rules` that settings have on; with a cluster, those that matter there and the rules about clusters.

    In the order in which they are asked.
    """
    scheduler = None
    if cluster is not None:
        from pai_lsp.rules.cluster_rules import scheduler_of  # noqa: PLC0415 - as above

        scheduler = scheduler_of(cluster)
    return _in_force(rules, scheduler, settings.previews, frozenset(settings.severities.items()))


@lru_cache(maxsize=16)
def _in_force(
    rules: tuple[Rule, ...],
    scheduler: str | None,
    previews: bool,
    severities: frozenset[tuple[str, Severity | None]],
) -> tuple[Rule, ...]:
    settings = Settings(dict(severities), previews)
    if scheduler is not None:
        rules = (*(one for one in rules if one.scheduler in {"", scheduler}), *rules_about_clusters())
    return tuple(sorted((one for one in rules if settings.severity_of(one) is not None), key=lambda one: one.order))


class UnknownCodeError(ValueError):
    """A name is neither the code of a rule nor a family; the message has the name and a suggestion."""


def name_meaning(name: str) -> NameMeaning:
    """What a name in a comment or in settings means."""
    try:
        return NameMeaning(codes_named(name), renaming(name))
    except UnknownCodeError as error:
        return NameMeaning(frozenset(), str(error))


def codes_named(name: str) -> frozenset[str]:
    """The codes that a name means: a rule's own code or a former one, a family, or a code of ShellCheck.

    Raises:
        UnknownCodeError: for any other name.
    """
    if name in BY_CODE or name in REMOVED or SHELLCHECK_CODE.fullmatch(name):
        return frozenset({name})
    by_family = families()
    if name in by_family or name in GROUPS:
        return frozenset(rule.code for family in GROUPS.get(name, (name,)) for rule in by_family[family])
    try:
        return frozenset({known(name).code})
    except UnknownCodeError:
        suggestion = did_you_mean(name, (*all_codes(), *family_names()))
        raise UnknownCodeError(f"no rule or family is named '{name}'{suggestion}") from None


def codes_in(lists: Iterable[str]) -> frozenset[str]:
    """The codes that the names in lists such as `a,b` mean.

    Raises:
        UnknownCodeError: for a name that means none.
    """
    return frozenset[str]().union(*map(codes_named, names_in(lists)))


def codes_themselves_in(lists: Iterable[str]) -> frozenset[str]:
    """The codes in lists such as `a,b` without those that only the name of a family means."""
    return codes_in(name for name in names_in(lists) if name in BY_CODE or name not in family_names())


def names_in(lists: Iterable[str]) -> frozenset[str]:
    """The names in lists such as `a,b`."""
    return frozenset(name.strip() for one in lists for name in one.split(",") if name.strip())


def rule_with(code: str) -> Rule | None:
    """The rule with this code; None if there is none. The other rules are loaded only for a code of none of `RULES`."""
    return BY_CODE.get(code) or next((one for one in all_rules() if one.code == code), None)


def known(code: str) -> Rule:
    """The rule with this code, or with this former code.

    Raises:
        UnknownCodeError: if there is none.
    """
    rule = rule_with(code) or next((one for one in all_rules() if code in one.former), None)
    if rule is None:
        raise UnknownCodeError(renaming(code) or f"no rule has the code '{code}'{did_you_mean(code, all_codes())}")
    return rule


def renaming(name: str) -> str:
    """The message about a former code, or about the code of a rule that is gone; empty for any other name."""
    if name in REMOVED:
        return f"the rule '{name}' was removed in {REMOVED[name]}"
    if name in BY_CODE:  # which needs no other rules
        return ""
    code = next((rule.code for rule in all_rules() if name in rule.former), "")
    return f"the rule '{name}' is now '{code}'" if code else ""
