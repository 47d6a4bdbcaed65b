"""The interface for programs, such as scripts that write jobs: `pai_lsp.check`, `pai_lsp.fix` and `pai_lsp.expand`.

It is kept stable: names and fields may be added, and none is removed or changed in a release with the same first
number. Lines and columns count from 1, offsets from 0, all in code points; `end` is the place after the last character.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.document import Document, check_expanded, diagnostics_of_expansion
from pai_lsp.document import check as checked
from pai_lsp.findings.diagnostic import SEVERITIES, Settings, Severity, causes, limited
from pai_lsp.platform.platforms import ALL_NAMES, platform_named
from pai_lsp.project.projects import Projects
from pai_lsp.project.targets import report_faults
from pai_lsp.source.failures import kind_and_place
from pai_lsp.source.files import full_path
from pai_lsp.source.frozen import replace
from pai_lsp.source.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pai_lsp.findings import diagnostic
    from pai_lsp.source.text import Place


@dataclass(frozen=True)
class Related:
    """Another place that matters to a finding; `path` is None for the same text.

    start, end: None for a place in another file.
    """

    message: str
    path: str | None
    start: Place | None
    end: Place | None


@dataclass(frozen=True)
class Diagnostic:
    """One finding: the code of its rule, and how severe it is, `error`, `warning`, `information` or `hint`.

    No message contains the value of a secret. `url` is the page of the rule, if there is one. `fixable` is whether
    `fix` fixes it.
    """

    code: str
    severity: str
    message: str
    start: Place
    end: Place
    url: str | None
    fixable: bool
    related: tuple[Related, ...] = ()

    def to_dict(self) -> dict[str, str | int | bool | None]:
        """The finding as a row of a table: texts and numbers only, so without the related places."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "start_line": self.start.line,
            "start_column": self.start.column,
            "start_offset": self.start.offset,
            "end_line": self.end.line,
            "end_column": self.end.column,
            "end_offset": self.end.offset,
            "url": self.url,
            "fixable": self.fixable,
        }


class ExpansionError(ValueError):
    """A job cannot be expanded, or the expanded job would have errors.

    diagnostics: the errors that `pai-lsp expand` prints, at least one, at places of the given text.
    """

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        """The message is that of the first error."""
        super().__init__(f"line {diagnostics[0].start.line}: {diagnostics[0].message}")
        self.diagnostics = diagnostics


def check(
    text: str,
    *,
    path: str | None = None,
    platform: str | None = None,
    cluster: str | None = None,
    severity: str = "warning",
) -> list[Diagnostic]:
    """What `pai-lsp check` finds in the text of a job, by place.

    path: where the job is, or would be: its `.pai-lsp.yaml` and its folder of definitions apply. The file itself is not
        read. Without it nothing is read from the disk. The network is never used.
    platform: a name that `--platform` takes, such as `openpai`, `ltp` or `ltp/1.3`; None for the one that the text or
        its configuration names.
    cluster: a name that `--cluster` takes: that of a cluster, or the path of its profile. None for the one that the
        configuration names.
    severity: the lowest severity of the findings: `error`, `warning`, `information` or `hint`.

    What the baseline of the configuration accepts is left out.

    Raises:
        TypeError: for a text that is not a `str`.
        ValueError: for an unknown platform, cluster or severity, and for an error in the configuration.
    """
    if severity not in SEVERITIES:
        raise ValueError(f"no severity is named '{severity}'{did_you_mean(str(severity), SEVERITIES)}")
    lowest = SEVERITIES[severity]
    document = _document("check", text, path, platform, cluster)
    found = checked(document)
    if document.settings.accepted:
        from pai_lsp.project.baseline import without_accepted  # noqa: PLC0415 - few projects have one

        found, _ = without_accepted(found, document.settings.accepted)
    return _diagnostics(document, (one for one in found if one.severity <= lowest))


def fix(
    text: str,
    *,
    path: str | None = None,
    platform: str | None = None,
    cluster: str | None = None,
    unsafe: bool = False,
) -> str:
    """The text as `pai-lsp check --fix` would write it: with the safe fixes of all errors and warnings.

    path, platform, cluster: as for `check`. unsafe: as `--unsafe-fixes`.

    Raises:
        TypeError: for a text that is not a `str`.
        ValueError: for an unknown platform or cluster, and for an error in the configuration.
    """
    from pai_lsp.safe_fixes import with_safe_fixes  # noqa: PLC0415 - most programs only check

    document = _document("fix", text, path, platform, cluster)
    fixed = with_safe_fixes(document, checked, lambda one: one.severity <= Severity.WARNING, unsafe_too=unsafe)
    return fixed.document.text


def expand(text: str, *, path: str | None = None, platform: str | None = None, inline: bool = False) -> str:
    """The job that every released cluster runs as it is meant: what `pai-lsp expand` prints.

    path, platform: as for `check`. inline: as `--inline`.

    Raises:
        ExpansionError: if `pai-lsp expand` would print nothing.
        TypeError: for a text that is not a `str`.
        ValueError: for an unknown platform, and for an error in the configuration.
    """
    from pai_lsp.expansion.released_job import expanded  # noqa: PLC0415 - most programs only check

    document = _document("expand", text, path, platform, None)
    roles = [role.name for role in document.job.task_roles] if inline else ()
    found = expanded(document.job, roles)
    findings = None if found.text is None else tuple(check_expanded(document, found))
    every = diagnostics_of_expansion(document, found.problems, findings)
    errors = _diagnostics(document, (one for one in every if one.severity is Severity.ERROR))
    if found.text is None or errors:
        raise ExpansionError(errors)
    return found.text


def _document(function: str, text: object, path: str | None, platform: str | None, cluster: str | None) -> Document:
    if not isinstance(text, str):
        step = "; decode it first" if isinstance(text, (bytes, bytearray)) else ""
        raise TypeError(f"pai_lsp.{function} takes the text of a job as str, not {type(text).__name__}{step}")
    if platform is not None and platform not in ALL_NAMES:
        raise ValueError(f"no platform is named '{platform}'; the platforms are {', '.join(ALL_NAMES)}")
    named = None if platform is None else platform_named(platform)
    if path is None:
        document = Document(text, Settings() if named is None else Settings().on(named))
    else:
        faults: list[str] = []
        projects = Projects(faults.append, kind_and_place)
        document = projects.document_of(text, full_path(path), str(Path.cwd()), path, named)
        faults.clear()  # a file that is not read has no effect, as on the command line
        if report_faults(projects):
            raise ValueError(faults[0])
    if cluster is None:
        return document
    from pai_lsp.cluster.profile import profile_named  # noqa: PLC0415 - most programs know no cluster

    return replace(document, settings=profile_named(cluster).applied_to(document.settings))


def _diagnostics(document: Document, found: Iterable[diagnostic.Diagnostic]) -> list[Diagnostic]:
    hidden, place = document.job.hidden, document.lines.place

    def related(one: diagnostic.Related) -> Related:
        start, end = (place(one.span.start), place(one.span.end)) if one.path is None else (None, None)
        return Related(one.message, one.path, start, end)

    return [
        Diagnostic(
            one.code, one.severity.label, one.message, place(one.span.start), place(one.span.end), one.url or None,
            any(fix.safe for fix in one.fixes), tuple(map(related, one.related)),
        )
        for one in (shown.without_secrets(hidden) for shown in limited(causes(found)))
    ]  # fmt: skip
