"""What the checker reports: findings, their fixes, and the rules that make them. Values only.

Also the settings that a user can choose, as values, whether from a file or from an editor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import Enum, IntEnum, auto
from functools import partial, wraps

from pai_lsp.platform.platforms import ALL_NAMES, OPENPAI, Platform, platform_comment, platform_named
from pai_lsp.source.frozen import dataclass, field, lazy, replace
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import plural
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType
    from typing import Any, ParamSpec

    from pai_lsp.job.hidden import Hidden
    from pai_lsp.source.text import Span, TextEdit

    _P = ParamSpec("_P")


# The codes of ShellCheck, which `check --shellcheck` reports besides the rules' own.
SHELLCHECK_CODE = lazy_pattern(r"SC[0-9]{4}")


def shellcheck_page(code: str) -> str:
    """The address of the page about a code of ShellCheck."""
    return f"https://www.shellcheck.net/wiki/{code}"


# The address of the pages of the rules, which ends with a slash. Empty until they are published: a link to a name that
# is not registered may lead to anybody's page. `pai-lsp explain` has the same text.
RULE_PAGES = ""


class Severity(IntEnum):
    """How bad it is; the numbers are LSP's.

    error: the cluster refuses the job, or it dies at start. warning: it runs, but surely not as meant.
    information: worth knowing. hint: unused or superseded.
    """

    ERROR = 1
    WARNING = 2
    INFORMATION = 3
    HINT = 4

    @property
    def label(self) -> str:
        """The word that people and configuration files use."""
        return self.name.lower()


SEVERITIES = {severity.label: severity for severity in Severity}


class DiagnosticTag(Enum):
    """How an editor may draw a finding; the values are LSP's."""

    UNNECESSARY = 1
    DEPRECATED = 2


class Stage(Enum):
    """Who meets what a rule reports; of an error, who does not go on.

    server: the rest-server, or the API server of Kubernetes for a manifest. cluster: Kubernetes, the scheduler, the
    framework controller or the MPI operator, with a job that the server has accepted. runtime: the runtime of OpenPAI,
    before a task's commands. commands: the shell and the programs of a task. expansion: `pai-lsp expand`, as the
    extended protocol defines it. checker: pai-lsp itself.
    """

    SERVER = "server"
    CLUSTER = "cluster"
    RUNTIME = "runtime"
    COMMANDS = "commands"
    EXPANSION = "expansion"
    CHECKER = "checker"


class Order(IntEnum):
    """The order in which `check` runs rules: each depends on what the ones before it found valid.

    syntax: the file is read as YAML. structure: its keys and the kinds of their values. names: what names lead to.
    server: whatever else the server refuses. expansion, runtime, commands: as `Stage`; clusters count as the runtime.
    """

    SYNTAX = auto()
    STRUCTURE = auto()
    NAMES = auto()
    SERVER = auto()
    EXPANSION = auto()
    RUNTIME = auto()
    COMMANDS = auto()
    CHECKER = auto()


class Consequence(Enum):
    """What becomes of the job, or of the part of it that a finding is about.

    refused: the server, or the expansion, does not take the job. dies: the job is accepted, and its tasks never start
    or end before their commands. fails: a command or a part of the job fails, or does something else than meant.
    ignored: what is written has no effect. style: it works as it is written.
    """

    REFUSED = "refused"
    DIES = "dies"
    FAILS = "fails"
    IGNORED = "ignored"
    STYLE = "style"


class RuleStatus(Enum):
    """How far users can rely on a rule; docs/versioning.md says what may change.

    stable: it stays. preview: nobody has met yet what it reports, so it is off until rules in preview are switched on,
    or its code is set or selected. deprecated: it will be removed.
    """

    STABLE = "stable"
    PREVIEW = "preview"
    DEPRECATED = "deprecated"


# By who meets it, the order of rules that name none, and the usual consequence of an error.
_OF_STAGE = {
    Stage.SERVER: (Order.SERVER, Consequence.REFUSED),
    Stage.EXPANSION: (Order.EXPANSION, Consequence.REFUSED),
    Stage.CLUSTER: (Order.RUNTIME, Consequence.DIES),
    Stage.RUNTIME: (Order.RUNTIME, Consequence.DIES),
    Stage.COMMANDS: (Order.COMMANDS, Consequence.FAILS),
    Stage.CHECKER: (Order.CHECKER, Consequence.IGNORED),
}


def consequence_of(severity: Severity, stage: Stage) -> Consequence:
    """The usual consequence of what has this severity and is met there."""
    if severity is Severity.ERROR:
        return _OF_STAGE[stage][1]
    return Consequence.FAILS if severity is Severity.WARNING else Consequence.STYLE


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that matters to a finding; `path` is None for the same file."""

    span: Span
    message: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Fix:
    """One way to fix a finding.

    A safe fix keeps or restores what the author surely meant, so that `check --fix` may apply it unasked;
    any other is offered in the editor only.
    """

    title: str
    edits: tuple[TextEdit, ...]
    safe: bool = False


# What a finding has: a tuple, or what computes it.
Fixes = Sequence[Fix]


class LaterFixes(Fixes):
    """Fixes that are computed when they are shown or applied, once: most findings are only counted or underlined."""

    def __init__(self, compute: Callable[[], Iterable[Fix]]) -> None:
        self._compute = compute

    @lazy
    def _now(self) -> tuple[Fix, ...]:
        return tuple(self._compute())

    def __getitem__(self, key: Any) -> Any:
        return self._now[key]

    def __len__(self) -> int:
        return len(self._now)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._now,)


def later(make: Callable[_P, Iterable[Fix]]) -> Callable[_P, Fixes]:
    """Mark a function that makes fixes: a call returns at once, and it runs when they are shown or applied.

    No rule makes a fix itself: it may have a thousand findings, and an edit may look at the whole file.
    """

    @wraps(make)
    def made(*arguments: _P.args, **named: _P.kwargs) -> Fixes:
        return LaterFixes(partial(make, *arguments, **named))

    return made


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found; who runs the rule adds its code and severity.

    field: the dotted path in a Kubernetes manifest, also of a missing key; empty for a job of OpenPAI.
    severity: where this finding differs from its rule; settings of the user still apply.
    consequence: where it differs from that of the rule.
    cause: of a rule that spreads, what made the mistake, where the first related place or the message is not enough.
    """

    span: Span
    message: str
    fixes: Fixes = field(default=(), compare=False)
    related: tuple[Related, ...] = ()
    tags: tuple[DiagnosticTag, ...] = ()
    field: str = ""
    severity: Severity | None = None
    consequence: Consequence | None = None
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding with the code of its rule and the severity in force.

    cause: findings of one rule with the same cause, if it is not empty, come from one mistake; see `causes`.
    """

    code: str
    severity: Severity
    span: Span
    message: str
    fixes: Fixes = field(default=(), compare=False)
    related: tuple[Related, ...] = ()
    tags: tuple[DiagnosticTag, ...] = ()
    field: str = ""
    consequence: Consequence = Consequence.FAILS
    cause: str = ""

    @property
    def url(self) -> str:
        """The page that explains the rule; empty without one."""
        if SHELLCHECK_CODE.fullmatch(self.code):
            return shellcheck_page(self.code)
        return _page(self.code)

    @property
    def explained(self) -> str:
        """Where the rule is explained: the page, or the command that prints the same."""
        return self.url or f"pai-lsp explain {self.code}"

    def without_secrets(self, hidden: Hidden) -> Diagnostic:
        """The same with no hidden value in its message, its related places and the titles of its fixes."""
        texts = (self.message, *(fix.title for fix in self.fixes), *(related.message for related in self.related))
        if not hidden.changes("\n".join(texts)):
            return self
        is_in_place = hidden.holds(self.span)

        def cleaned(message: str) -> str:
            return hidden.sentence(message, is_in_place=is_in_place)

        return replace(
            self,
            message=cleaned(self.message),
            fixes=tuple(replace(fix, title=cleaned(fix.title)) for fix in self.fixes),
            related=tuple(replace(related, message=cleaned(related.message)) for related in self.related),
        )


# The scheduler that a profile of a cluster may name, and a rule about its settings.
HIVED = "hived"

# Of one rule, so many findings are made for one file, and so many of them are shown.
MOST_FOUND = 1000
MOST_SHOWN = 100
# The other places that a finding names.
MOST_RELATED = 20


def causes(diagnostics: Iterable[Diagnostic], *, keeps_places: bool = False) -> list[Diagnostic]:
    """One finding for one cause, at its first place; the other places are related ones, and the message counts them.

    keeps_places: whether the findings at the other places stay, as hints: editors mark them, and offer fixes there.
    """
    found: list[Diagnostic] = []
    places: dict[tuple[str, str], list[Diagnostic]] = {}
    for one in diagnostics:
        same = places.setdefault((one.code, one.cause), []) if one.cause else []
        same.append(one)
        if len(same) == 1:
            found.append(one)
        elif keeps_places:
            found.append(replace(one, severity=Severity.HINT))
    counted = {id(same[0]): same[1:] for same in places.values() if len(same) > 1}
    return [_with_places(one, counted[id(one)]) if id(one) in counted else one for one in found]


_COUNT = lazy_pattern(r" \(and (?:at least )?[0-9]+ more (?:places?|'[\w-]+' in this file)\)\Z")


def without_count(message: str) -> str:
    """The message of a finding without the number of the others: the same at every other place of its cause."""
    return _COUNT.sub("", message)


def _with_places(one: Diagnostic, others: Sequence[Diagnostic]) -> Diagnostic:
    count = plural(len(others), "more place")
    related = (*one.related, *(Related(other.span, "also here") for other in others))
    return replace(one, message=f"{one.message} (and {count})", related=related[:MOST_RELATED])


def limited(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings to show: of each rule the first `MOST_SHOWN`; the last of them states how many are not shown."""
    counts = Counter(one.code for one in diagnostics)
    numbers: Counter[str] = Counter()
    shown: list[Diagnostic] = []
    for one in diagnostics:
        numbers[one.code] += 1
        count, number = counts[one.code], numbers[one.code]
        if number < MOST_SHOWN or count == MOST_SHOWN:
            shown.append(one)
        elif number == MOST_SHOWN:
            least = "at least " if len(diagnostics) >= MOST_FOUND else ""
            more = f"{one.message} (and {least}{count - MOST_SHOWN} more '{one.code}' in this file)"
            shown.append(replace(one, message=more))
    return tuple(shown)


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """The record of a rule: its code, its usual severity, its check, and the docstring that documents it.

    What is to be known about a rule is here and in schemas/rules.json, which `make rules` makes.

    stage, consequence: who meets what it reports, and what becomes of the job.
    order: when it is asked. Where a rule before it found an error, it does not speak about the same words.
    is_about_reading: it reports what is read as YAML, which explains what other rules find near by.
    explains_stop: a job with such a finding does not run, not even once it is expanded.
    is_last: it is about the job as a whole: asked after all others, and only if none of the same order or before it
        explains why the job does not run.
    only_on: the platform that a rule without examples is about; empty for all.
    about: a file that the rule reports has one of these words, see `pai_lsp.rules.subjects`; empty for any file.
    former: the codes that it had in former versions, and those of rules that it contains now; they still name it.
    spreads: one mistake may show at many places: findings with the same first related place, else message, are one.
    scheduler: the scheduler whose settings it is about, so that it does not matter on a cluster with another one.
    """

    code: str
    severity: Severity
    check: Callable[[Any], Iterable[Finding]]
    docstring: str
    stage: Stage = Stage.COMMANDS
    consequence: Consequence = Consequence.FAILS
    order: Order = Order.COMMANDS
    status: RuleStatus = RuleStatus.STABLE
    explains_stop: bool = False
    is_last: bool = False
    only_on: str = ""
    about: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    scheduler: str = ""
    is_about_reading: bool = False
    spreads: bool = False

    def consequence_at(self, severity: Severity | None) -> Consequence:
        """The consequence of a finding that has another severity than the rule; None for the rule's own."""
        if severity is None or self.consequence is not consequence_of(self.severity, self.stage):
            return self.consequence
        return consequence_of(severity, self.stage)

    @property
    def documentation(self) -> str:
        """What is wrong and what the cluster does, in Markdown without a title."""
        import inspect  # noqa: PLC0415 - a check never asks for it, and it is slow to load

        return inspect.cleandoc(self.docstring)

    @property
    def summary(self) -> str:
        """The first sentence of the documentation."""
        return self.documentation.split("\n", 1)[0]

    @property
    def platform(self) -> Platform | None:
        """The only platform that the rule is about, which its first example names; None for all of them."""
        if self.only_on:
            return platform_named(self.only_on)
        comment = platform_comment(self.documentation.partition("Good:")[0])
        return platform_named(comment["name"]) if comment is not None and comment["name"] in ALL_NAMES else None

    @property
    def url(self) -> str:
        """The page that explains the rule; empty without one."""
        return _page(self.code)


def _page(code: str) -> str:
    return f"{RULE_PAGES}{code}/" if RULE_PAGES else ""


def rule(
    severity: Severity,
    *,
    stage: Stage = Stage.COMMANDS,
    consequence: Consequence | None = None,
    order: Order | None = None,
    explains_stop: bool = True,
    about: Iterable[str] = (),
    is_about_reading: bool = False,
    **facts: Any,
) -> Callable[[Callable[[Any], Iterable[Finding]]], Rule]:
    """Make a rule of a function of a job or a manifest: its name is the code, its docstring the documentation.

    Errors explain a stop; `explains_stop` is false for one that ends with expansion. Without `consequence`, the
    severity and the stage decide it; without `order`, the stage, and whether it is about reading. facts: the other
    attributes of the rule.
    """
    order = order or (Order.SYNTAX if is_about_reading else _OF_STAGE[stage][0])
    consequence = consequence or consequence_of(severity, stage)
    facts |= {"stage": stage, "consequence": consequence, "order": order, "is_about_reading": is_about_reading}
    facts["explains_stop"] = explains_stop and severity is Severity.ERROR and not facts.get("is_last")

    def make(check: Callable[[Any], Iterable[Finding]]) -> Rule:
        code = check.__name__.replace("_", "-")
        return Rule(code, severity, check, check.__doc__ or "", about=tuple(about), **facts)

    return make


def rules_of(*modules: ModuleType) -> tuple[Rule, ...]:
    """The rules that modules define, as they are written."""
    return tuple(
        one
        for module in modules
        for one in vars(module).values()
        if isinstance(one, Rule) and one.check.__module__ == module.__name__
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """How a document is checked.

    severities: by the code of a rule, the severity to report it with; None means that the rule is off.
        Codes that are absent keep their rule's own severity.
    previews: whether rules in preview are on that `severities` does not name.
    plugins: names of runtime plugins that this site has added, as they are written in a job
        (`com.microsoft.pai.runtimeplugin.NAME` without the prefix).
    cluster: the facts of the cluster that the jobs are for, a `pai_lsp.cluster.profile.Profile`.
    platform: the platform of the jobs, where it is configured.
    is_platform_fixed: whether it also counts for files with a comment that names another platform.
    shellcheck: `auto`, `off` or the user's program; empty where nothing is configured.
    accepted: by code, how many findings in the file a baseline accepts.
    """

    severities: Mapping[str, Severity | None] = field(default_factory=dict)
    previews: bool = False
    plugins: frozenset[str] = frozenset()
    cluster: object | None = None
    platform: Platform | None = None
    is_platform_fixed: bool = False
    shellcheck: str = ""
    accepted: Mapping[str, int] = field(default_factory=dict)

    def severity_of(self, rule: Rule) -> Severity | None:
        """The severity in force for `rule`; None when it is off."""
        if rule.code in self.severities:
            return self.severities[rule.code]
        return rule.severity if self.previews or rule.status is not RuleStatus.PREVIEW else None

    def on(self, platform: Platform) -> Settings:
        """The same for jobs of a platform, whatever their files say."""
        return replace(self, platform=platform, is_platform_fixed=True)

    def platform_of(self, text: str) -> Platform:
        """The platform that a file is for: that of its comment, else the configured one, else OpenPAI."""
        comment = None if self.is_platform_fixed else platform_comment(text)
        if comment is not None and comment["name"] in ALL_NAMES:
            return platform_named(comment["name"])
        return self.platform or OPENPAI
