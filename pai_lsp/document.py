"""A file at one moment, and its diagnostics.

`Document` is an immutable snapshot; its parts are computed when first asked for. `check` runs the rules and applies
the author's `# pai-lsp: ignore[code]` comments; one broken rule never silences the others.
"""

from __future__ import annotations

import re
from _contextvars import ContextVar  # what `contextvars` gives; importing that takes longer
from collections import Counter
from itertools import islice

from pai_lsp.findings.diagnostic import (
    MOST_FOUND,
    MOST_RELATED,
    Consequence,
    Diagnostic,
    Fixes,
    Order,
    Settings,
    Severity,
    Stage,
    causes,
    later,
    limited,
)
from pai_lsp.findings.fixes import ApplicableFixes
from pai_lsp.findings.suppression import ignores, ineffective_comments, silencing, unused_ignore, unused_ignores
from pai_lsp.job.definition import unfilled_values
from pai_lsp.job.job import Job
from pai_lsp.job.lookup import Lookup, NoLookup
from pai_lsp.platform.secrets_section import job_syntax
from pai_lsp.rules import BY_CODE, EXPLAINING, RULES, family_of, known, name_meaning, rule_with, rules_in_force
from pai_lsp.rules.prerequisites.extension import ANSWERED_BY_EXPANSION
from pai_lsp.rules.resources.task_resources import instances_missing
from pai_lsp.rules.structure.job_shape import (
    job_template,
    key_of_kubernetes,
    key_of_version_1,
    missing_key,
    not_a_job,
    placeholders,
    v1_job,
)
from pai_lsp.rules.subjects import rules_about
from pai_lsp.rules.text.characters import invisible_character
from pai_lsp.rules.text.yaml_syntax import several_documents
from pai_lsp.source.failures import kind_and_place
from pai_lsp.source.frozen import dataclass, lazy, replace
from pai_lsp.source.nodes import Mapping, ProblemKind, Scalar, Syntax
from pai_lsp.source.odd_characters import is_blank, odd_characters
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.steps import ALLOWANCE, Allowance, OutOfSteps
from pai_lsp.source.text import LineIndex, PlacesBefore, Span, any_overlaps, apart, apply_edits, one_line
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

    from pai_lsp.catalog.setup import CatalogFolder
    from pai_lsp.expansion.effective import Prerequisite
    from pai_lsp.expansion.released_job import ExpandedJob
    from pai_lsp.findings.diagnostic import Finding, Fix, Rule
    from pai_lsp.job.symbols import Occurrence
    from pai_lsp.platform.platforms import Platform
    from pai_lsp.source.odd_characters import OddCharacter

    OnFault: TypeAlias = Callable[[Rule, Exception], None]

# The keys of a job's root as nearly everybody writes them, so that the text need not be parsed to find them.
_JOB_VERSION = lazy_pattern(r"^protocolVersion:[ \t]+(?:2|'2'|\"2\")[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_JOB_KIND = lazy_pattern(r"^(?:taskRoles:|type:[ \t]+job[ \t]*(?:#.*)?\r?$)", re.MULTILINE)
_DOCUMENT = lazy_pattern(r"^---", re.MULTILINE)
_MARK_OF_DOCUMENT = lazy_pattern(r"^-(--[ \t]*(?:#.*)?\r?)$", re.MULTILINE)
JOB_FILE = lazy_pattern(r"\.pai\.ya?ml$", re.IGNORECASE)
# A name that marks every text as a job.
_UNNAMED_JOB = "job.pai.yaml"
_LONGEST_MESSAGE = 500
_NAME = lazy_pattern(r"[A-Za-z_][\w-]*")
_ENDS = frozenset({Consequence.REFUSED, Consequence.DIES})
# Problems of reading that a torn block above them explains.
_OF_MAPPINGS = frozenset({ProblemKind.SYNTAX.value, ProblemKind.DUPLICATE_KEY.value})
# What rules may take for one text: about half a second.
MOST_STEPS = 2_000_000
_FEW_PASSES = 4
# Each kind of odd character costs a check.
_MOST_KINDS = 3
# Their place is that of what lacks something, and is whole itself.
_ABOUT_WHAT_IS_ABSENT = frozenset({missing_key.code, instances_missing.code})
# Of a file that has such a key, one finding says all.
_WHOLE_FILES = ((key_of_version_1, v1_job), (key_of_kubernetes, not_a_job))
_OF_TASKS = frozenset({Stage.RUNTIME, Stage.COMMANDS})
# They are about the placeholders.
_TEMPLATE_CODES = frozenset({job_template.code, "mpijob-template"})


class CheckAbandoned(Exception):  # noqa: N818 - nothing failed
    """The result of a check is not wanted any more."""


# Asked before each rule: false abandons the check that runs in this context.
IS_WANTED: ContextVar[Callable[[], bool] | None] = ContextVar("is the check wanted", default=None)


@dataclass(frozen=True, eq=False)
class Document:
    """One file's text with its settings; `path` is its name in reports, and the ending of that may mark it as a job.

    known_job: the job of this text if it has been read before; one of another text is not used.
    """

    text: str
    settings: Settings = Settings()
    path: str | None = None
    lookup: Lookup = NoLookup()
    is_catalog: bool = False
    known_job: Job | None = None

    @lazy
    def lines(self) -> LineIndex:
        """Where the lines begin."""
        return LineIndex(self.text)

    @lazy
    def platform(self) -> Platform:
        """The platform that the file is for."""
        return self.settings.platform_of(self.text)

    @lazy
    def syntax(self) -> Syntax:
        """The tree of the text."""
        return job_syntax(self.text, self.platform.reader) if self._known is None else self._known.syntax

    @property
    def _known(self) -> Job | None:
        job = self.known_job
        if job is None or job.text != self.text:
            return None
        return job if job.platform is self.platform and job.cluster is self.settings.cluster else None

    @lazy
    def job(self) -> Job:
        """The job that the tree describes."""
        known, cluster = self._known, self.settings.cluster
        return known or Job(
            self.syntax, self.settings.plugins, self.lookup, self.is_catalog, platform=self.platform, cluster=cluster
        )

    @lazy
    def is_job(self) -> bool:
        """Whether it is an OpenPAI job, by its name or by its root.

        A job's root has `protocolVersion: 2` and `taskRoles` or `type: job`. An MPIJob never is one.
        """
        if self.path is not None and JOB_FILE.search(self.path):
            return "protocolVersion" in self.text or not self._holds_mpijob
        if "protocolVersion" not in self.text:
            return False
        if _JOB_VERSION.search(self.text) and _JOB_KIND.search(self.text) and not _DOCUMENT.search(self.text):
            return True
        root = self.syntax.root
        if not isinstance(root, Mapping):
            return False
        version, kind = root.get("protocolVersion"), root.get("type")
        is_version_2 = isinstance(version, Scalar) and version.value in {2, "2"}
        is_typed_job = isinstance(kind, Scalar) and kind.text == "job"
        return is_version_2 and (root.entry("taskRoles") is not None or is_typed_job)

    @lazy
    def is_mpijob(self) -> bool:
        """Whether it holds an MPIJob of Kubernetes, and not a job of OpenPAI."""
        return self._holds_mpijob and not self.is_job

    @lazy
    def _holds_mpijob(self) -> bool:
        if "pijob" not in self.text.lower() or "kind" not in self.text:
            return False
        from pai_lsp.mpijob.manifest import has_mpijob  # noqa: PLC0415 - most files are jobs of OpenPAI

        return has_mpijob(self.syntax)

    def as_definitions(self, *, is_wanted: bool) -> Document:
        """The same text as a file of definitions, if it can be one: no job, and `is_wanted` or with a definition."""
        from pai_lsp.catalog.definition_text import reads_as_definitions  # noqa: PLC0415 - most files are jobs

        if self.is_job or not reads_as_definitions(self.syntax, is_wanted=is_wanted):
            return self
        return replace(self, is_catalog=True)

    def in_folder(self, folder: CatalogFolder | None) -> Document:
        """The same text as a file of a folder of definitions; itself without a folder."""
        return self if folder is None else self.as_definitions(is_wanted=folder.is_configured)

    @lazy
    def occurrences(self) -> tuple[Occurrence, ...]:
        """Every place of every name."""
        from pai_lsp.job.symbols import occurrences  # noqa: PLC0415 - editors ask for it, the command line never

        return occurrences(self.job)

    @lazy
    def applicable_fixes(self) -> ApplicableFixes:
        """Tells which fixes can be applied; it knows the tree only, as findings that are kept keep it too."""
        return ApplicableFixes(self.syntax)

    @lazy
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What `check` finds."""
        return check(self)


def _log_fault(rule: Rule, error: Exception) -> None:
    import logging  # noqa: PLC0415 - most runs need no log

    logging.getLogger(__name__).error("rule %s failed: %s", rule.code, kind_and_place(error))


def check(
    document: Document, on_fault: OnFault = _log_fault, others: Iterable[Diagnostic] = ()
) -> tuple[Diagnostic, ...]:
    """All diagnostics of a document, with `others` that a program found, sorted by place and code, each once.

    Raises:
        CheckAbandoned: as soon as `IS_WANTED` returns false.
    """
    odd = () if document.text.isascii() else odd_characters(document.syntax)
    found: Iterable[Diagnostic]
    if odd and document.settings.severity_of(invisible_character) is not None:
        found = _checked_without(odd, document, on_fault)
    elif joined := _joined(document):
        own = _found_alone(several_documents, document, on_fault)
        found = (*own, *_checked(joined, on_fault))
    else:
        found = _checked(document, on_fault)
    return _without_ignored((*found, *others), document)


def _checked_without(odd: tuple[OddCharacter, ...], document: Document, on_fault: OnFault) -> list[Diagnostic]:
    """What the rules find without odd characters, at the places in the document, and the characters themselves.

    They are an error if the document has errors that it does not have without them; without any such finding, blanks
    are not reported.
    """

    def checked(without_those: Sequence[OddCharacter], fault: OnFault) -> list[Diagnostic]:
        edits = tuple(one.edit for one in without_those)
        found = _checked(replace(document, text=apply_edits(document.text, edits), known_job=None), fault)
        before = PlacesBefore(edits)
        return [_at_places(one, before) for one in found]

    found = checked(odd, on_fault)
    as_it_is = checked((), lambda *_: None)
    if not any(one.consequence in _ENDS for one in as_it_is):
        # The cluster reads the file as it is: what it would refuse is not there for it.
        found = [replace(one, consequence=Consequence.FAILS) if one.consequence in _ENDS else one for one in found]
    own = _found_alone(invisible_character, document, on_fault)
    is_set = invisible_character.code in document.settings.severities
    known = Counter(map(_kind, found))
    kinds = dict.fromkeys(one.character for one in odd)
    for kind in kinds:
        # With all other kinds removed; of very many kinds, all are to blame.
        rest = [one for one in odd if one.character != kind] if len(kinds) <= _MOST_KINDS else ()
        here = checked(rest, lambda *_: None) if rest else as_it_is
        here = [one for one in here if one.severity <= Severity.WARNING]
        more = Counter(map(_kind, here)) - known
        worst = min((one for one in here if _kind(one) in more), key=lambda one: one.severity, default=None)
        for one in own:
            if one.cause != kind or (worst is None and is_blank(kind)):
                continue
            if worst is not None:
                severity = one.severity if is_set else worst.severity
                one = replace(one, severity=severity, consequence=worst.consequence, fixes=_as_safe(one.fixes))  # noqa: PLW2901
            found.append(one)
    return found


def _kind(one: Diagnostic) -> tuple[str, str, Severity]:
    return one.code, one.field, one.severity


def _joined(document: Document) -> Document | None:
    """The same file with its documents as one; None for a file of one, or whose documents do not make a whole."""
    problems = document.syntax.problems
    if document.is_mpijob or not any(one.kind is ProblemKind.SEVERAL_DOCUMENTS for one in problems):
        return None
    # A comment in place of the mark, so that all places stay the same.
    text = _MARK_OF_DOCUMENT.sub(r"#\1", document.text)
    joined = replace(document, text=text, known_job=None)
    return None if text == document.text or joined.syntax.problems else joined


def _at_places(one: Diagnostic, before: PlacesBefore) -> Diagnostic:
    """A finding in a text without odd characters, at its places in the original text."""
    related = tuple(other if other.path else replace(other, span=before.span(other.span)) for other in one.related)
    fixes = _carried(one.fixes, before) if one.fixes != () else ()
    return replace(one, span=before.span(one.span), related=related, fixes=fixes)


@later
def _carried(fixes: Fixes, before: PlacesBefore) -> Iterator[Fix]:
    for fix in fixes:
        yield replace(fix, edits=tuple(replace(edit, span=before.span(edit.span)) for edit in fix.edits))


@later
def _as_safe(fixes: Fixes) -> Iterator[Fix]:
    return (replace(fix, safe=True) for fix in fixes)


def _checked(document: Document, on_fault: OnFault) -> tuple[Diagnostic, ...]:
    """What the rules find, those that comments silence as well."""
    if document.is_mpijob:
        return _check_mpijob(document, on_fault)
    whole = next((rule for key, rule in _WHOLE_FILES if document.job.once(key) is not None), None)
    if whole is not None:
        return tuple(dict.fromkeys(_found_alone(whole, document, on_fault)))
    template = document.job.once(placeholders)
    job = document.job.as_meant
    rules = _asked(rules_in_force(RULES, document.settings, None if template else document.settings.cluster), job)
    checks = [(rule, rule.check) for rule in rules if not rule.is_last]
    found = dict.fromkeys(_without_skipped(_found(checks, document, on_fault, job), job))
    known = {(one.code, one.span) for one in found}
    outside = _in_definitions_outside(document, on_fault)
    found |= dict.fromkeys(one for one in outside if (one.code, one.span) not in known)
    if template:
        # With statements of Jinja, the text is no YAML, and nothing is where it seems to be.
        unread = (Span(0, len(document.text)),) if "{%" in document.text and document.syntax.problems else template
        found = dict.fromkeys(_without_placeholders(found, unread))
    else:
        for rule in rules:
            if rule.is_last and not _explains_stop(found, rule.order, document, job):
                found |= dict.fromkeys(_found([(rule, rule.check)], document, on_fault, job))
    return _of_whole_parts(_without_echoes(_without_unfilled(tuple(found), document), document))


def _asked(rules: Sequence[Rule], job: Job) -> Sequence[Rule]:
    """The rules that may find something in a job; all of them if a fault of ours hides what the job is about."""
    try:
        return rules_about(job, rules)
    except Exception:  # noqa: BLE001 - the rules that meet the same fault report it
        return rules


def check_expanded(document: Document, found: ExpandedJob) -> Iterator[Diagnostic]:
    """What the checker finds in the expanded job, at the places in the source that it comes from."""
    if found.job is not None and found.job.text == document.text:  # a job that needs no expansion
        return (replace(one, fixes=()) for one in document.diagnostics)
    return (diagnostic for _, diagnostic in _carried_back(document, found, _log_fault))


def document_of_text(text: str, settings: Settings) -> Document:
    """The document of a text that is in no file: a job, also an unfinished one, unless it is surely something else."""
    document = Document(text, settings).as_definitions(is_wanted=False)
    return document if document.is_mpijob or document.is_catalog else Document(text, settings, _UNNAMED_JOB)


def diagnostics_of_expansion(
    document: Document,
    problems: Iterable[Diagnostic],
    findings: tuple[Diagnostic, ...] | None,
    ignored: frozenset[str] = ANSWERED_BY_EXPANSION,
) -> list[Diagnostic]:
    """What an author reads about an expansion, sorted by place: errors, warnings, and what the expansion itself found.

    problems: what the expansion found; one at the place of an error is left out. findings: those of the expanded job,
    at places of the source; None if there is no such job, so that those of the source count.
    ignored: the codes of rules that only ask for expansion.
    """
    found = check(document) if findings is None else findings
    shown = limited(causes(one for one in found if one.severity <= Severity.WARNING and one.code not in ignored))
    errors = [one for one in shown if one.severity is Severity.ERROR]
    new = [one for one in islice(problems, MOST_FOUND) if not any(one.span.overlaps(error.span) for error in errors)]
    return sorted([*shown, *new], key=lambda one: (one.span.start, one.span.end))


def _in_definitions_outside(document: Document, on_fault: OnFault) -> Iterator[Diagnostic]:
    """What the checker finds in definitions outside the file once they are filled, at the references to them."""
    job = document.job.as_meant
    graph = job.require_graph
    if document.is_catalog or not graph.leaves_file:
        return
    from pai_lsp.expansion.released_job import expanded  # noqa: PLC0415 - most jobs use no other file

    try:
        found = expanded(job)
    except Exception:  # noqa: BLE001 - the rule cannot_be_expanded has failed with it, and was reported
        return
    if any(not prerequisite.is_own for _, prerequisite in found.places.origins):
        for prerequisite, diagnostic in _carried_back(document, found, on_fault):
            if prerequisite and not prerequisite.is_own and diagnostic.severity <= Severity.WARNING:
                yield diagnostic


def _carried_back(
    document: Document, found: ExpandedJob, on_fault: OnFault
) -> Iterator[tuple[Prerequisite | None, Diagnostic]]:
    """The findings in an expanded job, each with the prerequisite whose added definition has it."""
    if found.job is None:
        return
    places = found.places
    after = replace(document, text=found.job.text, known_job=found.job)
    for one in check(after, on_fault):
        origin = places.origin(one.span)
        message = f"in '{origin.definition.name}': {one.message}" if origin else one.message
        related = tuple(other if other.path else replace(other, span=places.span(other.span)) for other in one.related)
        related = (*origin.related, *related) if origin else related
        yield origin, replace(one, span=places.span(one.span), message=message, fixes=(), related=related)


def _without_skipped(found: list[Diagnostic], job: Job) -> list[Diagnostic]:
    """The findings without errors of plugins that run for no task role: they end no task.

    But the rest-server reads the names of storages of such a plugin, too, and the runtime all of the YAML.
    """
    if "taskroles" not in job.text or not (skipped := [entry.node.span for entry in job.skipped_plugins]):
        return found
    return [
        one
        for one in found
        if one.severity is not Severity.ERROR
        or one.consequence is Consequence.REFUSED
        or known(one.code).stage not in _OF_TASKS
        or family_of(one.code) == "text"
        or not any(span.holds(one.span) for span in skipped)
    ]


def _without_placeholders(found: Iterable[Diagnostic], template: Sequence[Span]) -> Iterator[Diagnostic]:
    """The findings of a template without those about what a program fills in."""
    for one in found:
        places = (one.span, *(related.span for related in one.related if related.path is None))
        if one.code in _TEMPLATE_CODES or not any(any_overlaps(template, place) for place in places):
            yield one


def _check_mpijob(document: Document, on_fault: OnFault) -> tuple[Diagnostic, ...]:
    from pai_lsp.mpijob.manifest import filled_in  # noqa: PLC0415 - as in is_mpijob
    from pai_lsp.mpijob.manifest_rules import manifest_checks  # noqa: PLC0415 - as above

    severity_of = document.settings.severity_of
    checks = (one for one in manifest_checks(document.syntax) if severity_of(one[0]) is not None)
    found = dict.fromkeys(_found(checks, document, on_fault))
    return tuple(_without_placeholders(found, filled_in(document.syntax)))


def _explains_stop(found: Iterable[Diagnostic], order: Order, document: Document, job: Job) -> bool:
    """Whether a finding of a rule that comes no later than `order` may say why the job does not run.

    Rules that the settings switch off or report as something else explain it as well; a fault of theirs is not
    reported, as whoever switched the rule off wants to hear nothing of it.
    """
    if any(one.code in EXPLAINING and EXPLAINING[one.code].order <= order for one in found):
        return True
    off = [EXPLAINING.get(code) for code, severity in document.settings.severities.items() if severity is None]
    silent = [rule for rule in off if rule and rule.order <= order]
    return any(_found([(rule, rule.check)], document, lambda *_: None, job) for rule in silent)


def _of_whole_parts(found: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """The findings without those about words in which a rule that comes earlier found an error.

    What ends the job is said, unless that error does so, too.
    """
    torn = [
        (BY_CODE[one.code].order, one.span, one.consequence in _ENDS)
        for one in found
        if one.severity is Severity.ERROR and one.code in EXPLAINING and one.code not in _ABOUT_WHAT_IS_ABSENT
    ]
    if not torn:
        return found

    before = {order: apart(span for earlier, span, _ in torn if earlier < order) for order in Order}
    ended = {order: apart(span for earlier, span, ends in torn if ends and earlier < order) for order in Order}

    def is_whole(one: Diagnostic) -> bool:
        rule = rule_with(one.code)
        order = rule.order if rule else Order.COMMANDS
        is_worse = one.severity is Severity.ERROR and one.consequence in _ENDS
        return order is Order.CHECKER or not any_overlaps((ended if is_worse else before)[order], one.span)

    return tuple(one for one in found if is_whole(one))


def _without_unfilled(found: tuple[Diagnostic, ...], document: Document) -> tuple[Diagnostic, ...]:
    """The diagnostics without those about values that are not known yet: the variables of definitions."""
    if "{{" not in document.text:
        return found
    values = {scalar.span for definition in document.job.as_meant.definitions for scalar in unfilled_values(definition)}
    return tuple(one for one in found if _is_about_reading(one) or not any(span.holds(one.span) for span in values))


def _without_ignored(kept: tuple[Diagnostic, ...], document: Document) -> tuple[Diagnostic, ...]:
    if "pai-lsp" in document.text.lower():
        comments = ignores(document.text, document.lines)
        meanings = {comment.name: name_meaning(comment.name) for comment in comments}
        used, silenced = silencing(comments, kept, document.lines, meanings)
        unused: list[Diagnostic] = []
        if document.settings.severity_of(unused_ignore) is not None:
            findings = [
                *unused_ignores(comments, used, meanings),
                *ineffective_comments(document.text, kept, document.lines),
            ]
            unused = _diagnostics(unused_ignore, findings, document, _log_fault)
        kept = (*(diagnostic for diagnostic in kept if diagnostic not in silenced), *unused)
    return tuple(sorted(kept, key=lambda diagnostic: (diagnostic.span, diagnostic.code, diagnostic.message)))


def _found(
    checks: Iterable[tuple[Rule, Callable[..., Iterable[Finding]]]], document: Document, on_fault: OnFault, *job: Job
) -> list[Diagnostic]:
    """What rules find, each with its check, which gets the job. Most find nothing, so each step of this loop counts.

    A rule may take half of the steps that are left, so that all together end; one that passes the text a few times may
    always end.
    """
    is_wanted = IS_WANTED.get()
    found: list[Diagnostic] = []
    findings: list[Finding] = []
    left, least = MOST_STEPS, _FEW_PASSES * len(document.text)
    share = max(left // 2, least)
    allowance = Allowance(share)
    former = ALLOWANCE.set(allowance)
    try:
        for rule, check in checks:
            if is_wanted is not None and not is_wanted():
                raise CheckAbandoned
            try:
                for finding in check(*job):
                    findings.append(finding)
                    if len(findings) == MOST_FOUND:
                        break
            except OutOfSteps:
                found.append(_gave_up(rule))
            except Exception as error:  # noqa: BLE001 - a fault in one rule, which never silences the others
                on_fault(rule, error)
                findings = []
            if findings:
                found += _diagnostics(rule, findings, document, on_fault)
                findings = []
            if allowance.left != share:
                left -= share - allowance.left
                share = allowance.left = max(left // 2, least)
    finally:
        ALLOWANCE.reset(former)
    return found


def _found_alone(rule: Rule, document: Document, on_fault: OnFault) -> list[Diagnostic]:
    """What a rule finds that is not asked with the others; nothing if it is off."""
    is_on = document.settings.severity_of(rule) is not None
    return _found([(rule, rule.check)], document, on_fault, document.job) if is_on else []


def _gave_up(rule: Rule) -> Diagnostic:
    message = f"the rule '{rule.code}' gave up: this file has too much of what it looks at; the others went on"
    return Diagnostic(rule.code, Severity.INFORMATION, Span(0, 0), message)


def _diagnostics(rule: Rule, findings: Iterable[Finding], document: Document, on_fault: OnFault) -> list[Diagnostic]:
    severity = document.settings.severity_of(rule) or rule.severity
    is_set = rule.code in document.settings.severities
    applicable = document.applicable_fixes
    shared: dict[int, Fixes] = {}  # the places of one mistake may have the same fixes

    def fixes_of(found: Finding) -> Fixes:
        known = shared.get(id(found.fixes))
        if known is None:
            known = shared[id(found.fixes)] = _applicable(rule, found.fixes, applicable, on_fault)
        return known

    findings = tuple(findings)  # so that each of their fixes keeps its identity
    return [
        Diagnostic(
            rule.code,
            severity if is_set else found.severity or severity,
            found.span,
            one_line(found.message, _LONGEST_MESSAGE),
            fixes_of(found) if found.fixes != () else (),
            found.related[:MOST_RELATED],
            found.tags,
            found.field,
            found.consequence or rule.consequence_at(found.severity),
            _cause(found) if rule.spreads else "",
        )
        for found in findings
    ]


def _cause(found: Finding) -> str:
    return found.cause or (str(found.related[0].span) if found.related else found.message)


@later
def _applicable(rule: Rule, fixes: Fixes, applicable: ApplicableFixes, on_fault: OnFault) -> Fixes:
    """The fixes that can be applied; none, and a report, if the rule fails at them."""
    try:
        return tuple(applicable.of(fixes))
    except Exception as error:  # noqa: BLE001 - as in _found_by
        on_fault(rule, error)
        return ()


def _without_echoes(found: tuple[Diagnostic, ...], document: Document) -> tuple[Diagnostic, ...]:
    """The diagnostics without those that only follow from a syntax problem, or from another error, at their place."""
    if not document.syntax.problems:
        return found
    lines, text, problems = document.lines, document.text, document.syntax.problems
    aliases = _misread_aliases(document)
    echoes = [span for problem in problems for span in (problem.span, problem.other) if span]
    torn = (one for one in problems if one.kind is ProblemKind.SYNTAX and one.span not in aliases)
    faulty = {lines.line_of(one.span.start) for one in torn}  # what explains others is reported
    unread, holders = _unread_lines(lines, faulty), _lines_of_holders(lines, faulty)
    misread = (*map(lines.line_text, faulty), *(text[span.start : span.end] for span in unread))
    words = set(_NAME.findall(" ".join(misread)))

    def is_misread(one: Diagnostic) -> bool:
        """Whether a torn block may explain it: it is in the block, where it belongs, or about a word that is in it."""
        if one.code == ProblemKind.SYNTAX.value and one.span in aliases:
            return True
        if _is_about_reading(one):
            return one.code in _OF_MAPPINGS and any(one.span.start in span for span in unread)
        return (
            any(one.span.start in span for span in unread)
            or lines.line_of(one.span.start) in holders
            or not words.isdisjoint(_NAME.findall(text, one.span.start, one.span.end))
        )

    return tuple(
        one
        for one in found
        if not is_misread(one) and (_is_about_reading(one) or not any(span.holds(one.span) for span in echoes))
    )


def _is_about_reading(one: Diagnostic) -> bool:
    return one.code in BY_CODE and BY_CODE[one.code].is_about_reading


def _misread_aliases(document: Document) -> set[Span]:
    """The aliases whose anchor is written, in a line that another problem misreads."""
    text, problems = document.text, document.syntax.problems
    aliases = {one.span for one in problems if len(one.span) and text[one.span.start] == "*"}
    if all(one.span in aliases for one in problems if len(one.span)):
        return set()
    return {one for one in aliases if re.search(rf"&{re.escape(text[one.start + 1 : one.end])}(?![\w-])", text)}


def _unread_lines(lines: LineIndex, faulty: set[int]) -> list[Span]:
    """The lines after a faulty one, which has a syntax problem, that are indented deeper or are faulty, too.

    The first problem is likely the cause of the others, such as one line with the wrong indentation.
    """
    found: list[Span] = []
    last = -1
    for first in sorted(faulty):
        if first <= last:
            continue
        depth, last = _indentation(lines.line_text(first)), first
        for number in range(first + 1, len(lines)):
            line = lines.line_text(number)
            if line.strip() and number not in faulty and _indentation(line) <= depth:
                break
            last = number
        if last > first:
            found.append(Span(lines.line_start(first + 1), lines.line_span(last).end + 1))
    return found


def _lines_of_holders(lines: LineIndex, faulty: set[int]) -> set[int]:
    """The lines that a faulty line may belong to, by the indentation of the two lines above it.

    A line with the wrong indentation may be valid, and only the next one have the problem.
    """
    found: set[int] = set()
    for line in sorted(faulty):
        above = (one for one in range(line - 1, -1, -1) if lines.line_text(one).strip())
        near = list(islice(above, 2))
        depth = _indentation(lines.line_text(near[-1])) if near else 0
        found.update(near)
        for one in above:
            indentation = _indentation(lines.line_text(one))
            if not depth or (indentation <= depth and one in found):  # all further ones are known
                break
            if indentation < depth:
                depth = indentation
                found.add(one)
    return found


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
