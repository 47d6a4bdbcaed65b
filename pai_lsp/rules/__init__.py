"""The rules: one folder is a subject, one module a family, one function a rule.

`RULES` lists the rules that check a job, in the order in which findings at one place are shown. `KNOWN_RULES` lists all
rules about jobs that a user can name; `all_rules` adds those about MPIJobs. Settings may name the rules of `CODES`.
"""

from __future__ import annotations

from collections.abc import Collection

from pai_lsp.findings import suppression
from pai_lsp.findings.diagnostic import SHELLCHECK_CODE
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


def codes_in(lists: Iterable[str]) -> frozenset[str]:
    """The codes in lists such as `a,b`, in which the name of a family means all its rules.

    Raises:
        UnknownCodeError: for a name that is neither.
    """
    found: set[str] = set()
    for name in names_in(lists):
        if name in BY_CODE or SHELLCHECK_CODE.fullmatch(name):
            found.add(name)
        else:
            found.update(_codes_of(name))
    return frozenset(found)


def names_in(lists: Iterable[str]) -> frozenset[str]:
    """The names in lists such as `a,b`."""
    return frozenset(name.strip() for one in lists for name in one.split(",") if name.strip())


def _codes_of(name: str) -> Iterator[str]:
    family = families().get(name)
    if family is not None:
        return (rule.code for rule in family)
    try:
        return iter([known(name).code])
    except UnknownCodeError:
        suggestion = did_you_mean(name, (*CODES, *families()))
        raise UnknownCodeError(f"no rule or family is named '{name}'{suggestion}") from None


def known(name: str) -> Rule:
    """The rule with the code `name`.

    Raises:
        UnknownCodeError: if no rule has that code.
    """
    rule = BY_CODE.get(name)
    if rule is None:
        by_code = {one.code: one for one in all_rules()}
        if name not in by_code:
            raise UnknownCodeError(f"no rule has the code '{name}'{did_you_mean(name, by_code)}")
        return by_code[name]
    return rule
