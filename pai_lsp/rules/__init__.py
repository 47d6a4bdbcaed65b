"""The rules: one folder is a subject, one module a family, one function a rule.

`RULES` lists the rules that check a job, in the order in which findings at one place are shown. `KNOWN_RULES` lists all
rules about jobs that a user can name; `all_rules` adds those about MPIJobs. What a name in settings, in a comment or on
the command line means is answered by `codes_named`.
"""

from __future__ import annotations

from collections.abc import Collection

from pai_lsp.findings import suppression
from pai_lsp.findings.diagnostic import SHELLCHECK_CODE
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
from pai_lsp.rules.cluster_rules import CLUSTER_RULES
from pai_lsp.rules.command_rules import COMMAND_RULES
from pai_lsp.source.spelling import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.findings.diagnostic import Rule

RULES: tuple[Rule, ...] = (
    *text.RULES,
    *structure.RULES,
    *prerequisites.RULES,
    *plugins.RULES,
    *platforms.RULES,
    *templates.RULES,
    *secrets.RULES,
    *resources.RULES,
    *commands.RULES,
    *suppression.RULES,
)

KNOWN_RULES: tuple[Rule, ...] = (*RULES, *CLUSTER_RULES, *COMMAND_RULES)
# With such a finding, a released cluster does not run the job as it is written, or not at all.
EXPLAINING: dict[str, Rule] = {rule.code: rule for rule in RULES if rule.explains_stop}
BY_CODE: dict[str, Rule] = {rule.code: rule for rule in KNOWN_RULES}


class _Codes(Collection[str]):
    """The codes of all rules; those about MPIJobs are loaded when a code belongs to no other rule."""

    def __contains__(self, code: object) -> bool:
        return code in BY_CODE or any(rule.code == code for rule in all_rules())

    def __iter__(self) -> Iterator[str]:
        return (rule.code for rule in all_rules())

    def __len__(self) -> int:
        return len(all_rules())


CODES = _Codes()


def all_rules() -> tuple[Rule, ...]:
    """All rules, those about MPIJobs included."""
    from pai_lsp.mpijob.manifest_rules import MANIFEST_RULES  # noqa: PLC0415 - only for MPIJobs and lists of rules

    return (*KNOWN_RULES, *MANIFEST_RULES)


def families() -> dict[str, tuple[Rule, ...]]:
    """All rules by the name of their family, which a list of codes may contain."""
    from pai_lsp.mpijob.manifest_rules import MANIFEST_RULES  # noqa: PLC0415 - as above

    return {
        "text": text.RULES,
        "structure": structure.RULES,
        "prerequisites": prerequisites.RULES,
        "plugins": plugins.RULES,
        "platforms": platforms.RULES,
        "templates": templates.RULES,
        "secrets": secrets.RULES,
        "resources": resources.RULES,
        "commands": commands.RULES,
        "cluster": CLUSTER_RULES,
        "mpijob": MANIFEST_RULES,
        "files": (*COMMAND_RULES, *suppression.RULES),
    }


def family_of(code: str) -> str:
    """The name of the family of a rule; `commands` for what ShellCheck finds."""
    return next((name for name, rules in families().items() if any(rule.code == code for rule in rules)), "commands")


class UnknownCodeError(ValueError):
    """A name is neither the code of a rule nor a family; the message has the name and a suggestion."""


def name_meaning(name: str) -> NameMeaning:
    """What a name in a comment or in settings means."""
    try:
        return NameMeaning(codes_named(name), "" if name in BY_CODE else renaming(name))
    except UnknownCodeError as error:
        return NameMeaning(frozenset(), str(error))


def codes_named(name: str) -> frozenset[str]:
    """The codes that a name means: a rule's own code or a former one, a family, or a code of ShellCheck.

    Raises:
        UnknownCodeError: for any other name.
    """
    if name in BY_CODE or SHELLCHECK_CODE.fullmatch(name):
        return frozenset({name})
    family = families().get(name)
    if family is not None:
        return frozenset(rule.code for rule in family)
    try:
        return frozenset({known(name).code})
    except UnknownCodeError:
        suggestion = did_you_mean(name, (*CODES, *families()))
        raise UnknownCodeError(f"no rule or family is named '{name}'{suggestion}") from None


def codes_in(lists: Iterable[str]) -> frozenset[str]:
    """The codes that the names in lists such as `a,b` mean.

    Raises:
        UnknownCodeError: for a name that means none.
    """
    return frozenset[str]().union(*map(codes_named, names_in(lists)))


def codes_themselves_in(lists: Iterable[str]) -> frozenset[str]:
    """The codes in lists such as `a,b` without those that only the name of a family means."""
    return codes_in(name for name in names_in(lists) if name in BY_CODE or name not in families())


def names_in(lists: Iterable[str]) -> frozenset[str]:
    """The names in lists such as `a,b`."""
    return frozenset(name.strip() for one in lists for name in one.split(",") if name.strip())


def known(code: str) -> Rule:
    """The rule with this code, or with this former code.

    Raises:
        UnknownCodeError: if there is none.
    """
    if code in BY_CODE:
        return BY_CODE[code]
    for rule in all_rules():
        if code == rule.code or code in rule.former:
            return rule
    raise UnknownCodeError(f"no rule has the code '{code}'{did_you_mean(code, CODES)}")


def renaming(name: str) -> str:
    """The message about a former code; empty for any other name."""
    if name in BY_CODE or not any(name in rule.former for rule in all_rules()):
        return ""
    return f"the rule '{name}' is now '{known(name).code}'"
