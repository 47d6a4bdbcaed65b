"""Checks one file of a run and fixes it if requested. An error here never ends the run."""

from __future__ import annotations

from pai_lsp.cli.report.results import CheckedFile, CheckFailure, checked_file
from pai_lsp.document import Document, check
from pai_lsp.findings.diagnostic import Diagnostic, Severity
from pai_lsp.job.hidden import with_hidden
from pai_lsp.project.targets import source_of
from pai_lsp.rules import rule_with
from pai_lsp.source.failures import kind_and_place, why
from pai_lsp.source.files import SourceFile, UnreadableFile, decoded, read_bytes, write_text
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import TypeAlias

    from pai_lsp.cluster.profile import Profile
    from pai_lsp.findings.diagnostic import Rule, Settings
    from pai_lsp.platform.platforms import Platform
    from pai_lsp.project.baseline import Baseline
    from pai_lsp.project.configuration import Configuration
    from pai_lsp.project.targets import Target

    Check: TypeAlias = Callable[[Document], tuple[Diagnostic, ...]]


@dataclass(frozen=True, slots=True)
class Options:
    """The options for every file.

    arguments: the command line; the others are what it names.
    selected, ignored: codes of rules and names of consequences; if `selected` is empty, all but the ignored ones apply.
    turned_on: codes of rules that apply although they are off.
    shown: the lowest severity in the report; threshold: the lowest one that sets the exit status and is fixed.
    shellcheck: `auto`, `off` or a program; empty for that of the configuration, which is `off` by default.
    baseline: the findings that are accepted; None for that of the configuration.
    cluster: the cluster that the jobs are for.
    platform: the platform of all files; None for that of each file or its configuration.
    """

    arguments: argparse.Namespace
    selected: frozenset[str]
    ignored: frozenset[str]
    turned_on: frozenset[str]
    shown: Severity
    threshold: Severity
    shellcheck: str
    baseline: Baseline | None
    cluster: Profile | None
    platform: Platform | None

    @property
    def fixes(self) -> bool:
        """Whether safe fixes are applied."""
        return bool(self.arguments.fix or self.arguments.diff)

    def counts(self, diagnostic: Diagnostic) -> bool:
        """Whether the rule of this finding applies."""
        names = {diagnostic.code, diagnostic.consequence.value}
        return names.isdisjoint(self.ignored) and (not self.selected or not names.isdisjoint(self.selected))

    def matters(self, diagnostic: Diagnostic) -> bool:
        """Whether a finding sets the exit status and is fixed."""
        return self.counts(diagnostic) and diagnostic.severity <= self.threshold


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one file; `file` is None if it is not a job.

    fixed: how many findings were fixed. difference: a unified diff. text: the fixed text.
    """

    file: CheckedFile | None = None
    failures: tuple[CheckFailure, ...] = ()
    fixed: int = 0
    difference: str = ""
    text: str | None = None


def check_one(target: Target, options: Options) -> Outcome:
    """Check a file; an exception of ours becomes a `CheckFailure`."""
    failures: list[CheckFailure] = []

    def checked(document: Document) -> tuple[Diagnostic, ...]:
        setting = options.shellcheck or document.settings.shellcheck
        is_asked = setting not in {"", "off"} and not options.fixes
        others = _by_shellcheck(document, setting) if is_asked else ()
        if options.arguments.images and not options.fixes and document.is_job:
            from pai_lsp.project.image_answers import answers_of_network, image_diagnostics  # noqa: PLC0415 - rarely

            others = (*others, *image_diagnostics(document, answers_of_network()))
        return check(document, failed, others)

    def _by_shellcheck(document: Document, setting: str) -> tuple[Diagnostic, ...]:
        from pai_lsp.project.shellcheck import ShellCheck, ShellCheckError, shellcheck_program  # noqa: PLC0415 - optional

        program = shellcheck_program(setting)
        if not program:
            return ()
        shellcheck = ShellCheck(program)
        try:
            shellcheck.read(shellcheck.unread(document))
        except ShellCheckError as error:
            failures.append(CheckFailure(target.path, str(error), is_fault=False))
        return shellcheck.diagnostics(document)

    def failed(rule: Rule, error: Exception) -> None:
        failures.append(CheckFailure(target.path, f"rule {rule.code} failed: {kind_and_place(error)}"))

    try:
        outcome = _checked(target, options, checked)
        return replace(outcome, failures=(*failures, *outcome.failures))
    except Exception as error:  # noqa: BLE001 - the other files are still checked
        return Outcome(failures=(CheckFailure(target.path, kind_and_place(error)),))


def check_configuration(configuration: Configuration, options: Options) -> CheckedFile:
    """The findings of a configuration file."""
    return _reported(configuration.path or "", configuration.text, configuration.diagnostics, options)


def _checked(target: Target, options: Options, check: Check) -> Outcome:
    if target.is_configuration:
        from pai_lsp.project.config_reader import load_configuration  # noqa: PLC0415 - rarely named

        return Outcome(check_configuration(load_configuration(target.path), options))
    source = source_of(target)
    if source is None:
        return Outcome()
    if isinstance(source, UnreadableFile):
        return _unreadable(source, target, options)
    settings = settings_for(target, options)
    document = Document(source.text, settings, target.path, target.lookup).in_folder(target.catalog_folder)
    if not (target.candidate.is_named or document.is_job or document.is_catalog or document.is_mpijob):
        return Outcome()
    if options.arguments.show_files:
        return Outcome(CheckedFile(target.path, ""))
    if options.arguments.add_ignore or options.fixes:
        return _changed(document, source, target, options, check)
    return Outcome(_reported_document(document, check(document), options))


def _changed(document: Document, source: SourceFile, target: Target, options: Options, check: Check) -> Outcome:
    """The outcome with fixes, or with comments that ignore what is found."""
    if options.arguments.add_ignore:
        from pai_lsp.ide.ignoring import with_ignore_comments  # noqa: PLC0415 - rarely asked for

        after, count = with_ignore_comments(document, check, options.matters)
        diagnostics = check(after)
    else:
        from pai_lsp.safe_fixes import with_safe_fixes  # noqa: PLC0415 - most runs fix nothing

        fixed = with_safe_fixes(document, check, options.matters, unsafe_too=options.arguments.unsafe_fixes)
        after, diagnostics, count = fixed.document, fixed.diagnostics, fixed.fixed
    file = _reported_document(after, diagnostics, options)
    difference = ""
    if options.arguments.diff and after.text != document.text:
        from pai_lsp.cli.report.text_report import unified_difference  # noqa: PLC0415 - as above

        shown_before, shown_after = (with_hidden(one.text, one.job.hidden.spans) for one in (document, after))
        difference = unified_difference(target.path, shown_before, shown_after)
    if (options.arguments.fix or options.arguments.add_ignore) and target.given is None and after.text != document.text:
        try:
            write_text(source, after.text)
        except OSError as error:
            failure = CheckFailure(target.path, f"could not be written: {why(error)}", is_fault=False)
            return Outcome(_reported_document(document, check(document), options), (failure,))
    mark = "\ufeff" if source.has_byte_order_mark else ""
    return Outcome(file, (), count, difference, mark + after.text)


def settings_for(target: Target, options: Options) -> Settings:
    """The settings with the rules that the command line turns on, and with its cluster and platform."""
    settings = target.configuration.settings_of(target.path)
    if options.arguments.preview:
        settings = replace(settings, previews=True)
    if options.cluster is not None:
        settings = options.cluster.applied_to(settings)
    if options.platform is not None:
        settings = settings.on(options.platform)
    if options.baseline is not None:
        settings = replace(settings, accepted=options.baseline.accepted_in(target.path))
    turned_on = options.turned_on - target.configuration.ignored_in(target.path)
    rules = filter(None, map(rule_with, turned_on))
    off = {rule.code: rule.severity for rule in rules if settings.severity_of(rule) is None}
    return replace(settings, severities={**settings.severities, **off}) if off else settings


def _unreadable(file: UnreadableFile, target: Target, options: Options) -> Outcome:
    from pai_lsp.rules.command_rules import unreadable_file  # noqa: PLC0415 - nearly all files can be read

    severity = settings_for(target, options).severity_of(unreadable_file)
    if severity is None:
        return Outcome()
    consequence = unreadable_file.consequence
    diagnostic = Diagnostic(unreadable_file.code, severity, file.span, file.message, consequence=consequence)
    return Outcome(_reported(file.path, file.text, (diagnostic,), options))


def _reported_document(document: Document, diagnostics: tuple[Diagnostic, ...], options: Options) -> CheckedFile:
    accepted = 0
    if document.settings.accepted and not options.arguments.update_baseline:
        from pai_lsp.project.baseline import without_accepted  # noqa: PLC0415 - few projects have one

        diagnostics, accepted = without_accepted(diagnostics, document.settings.accepted)
    shown, not_shown = _selected(diagnostics, options)
    return replace(with_related_texts(checked_file(document, shown, not_shown=not_shown)), accepted=accepted)


def with_related_texts(file: CheckedFile) -> CheckedFile:
    """The file with the texts, without secrets, of the other files on this machine that its findings point to."""
    paths = {related.path for diagnostic in file.diagnostics for related in diagnostic.related} - {None, file.path}
    texts: dict[str, str] = {}
    for path in paths:
        if path is not None and "://" not in path:
            source = decoded(path, read_bytes(path))
            if isinstance(source, SourceFile):
                other = Document(source.text).as_definitions(is_wanted=True)
                texts[path] = with_hidden(other.text, other.job.hidden.spans)
    return replace(file, other_texts=texts)


def _reported(path: str, text: str, diagnostics: tuple[Diagnostic, ...], options: Options) -> CheckedFile:
    shown, not_shown = _selected(diagnostics, options)
    return CheckedFile(path, text if shown else "", shown, not_shown=not_shown)


def _selected(diagnostics: tuple[Diagnostic, ...], options: Options) -> tuple[tuple[Diagnostic, ...], int]:
    """The findings to show, and the number of those not shown."""
    counted = [diagnostic for diagnostic in diagnostics if options.counts(diagnostic)]
    always: set[str] = set()
    if options.arguments.images:  # then images that could not be asked for are reported
        from pai_lsp.rules.command_rules import image_not_asked  # noqa: PLC0415 - as above

        always.add(image_not_asked.code)
    shown = tuple(one for one in counted if one.severity <= options.shown or one.code in always)
    return shown, len(counted) - len(shown)
