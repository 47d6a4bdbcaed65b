"""The interface for programs, such as scripts that write jobs: `pai_lsp.check` and `pai_lsp.expand`.

It is kept stable: names and fields may be added, and none is removed or changed in a release with the same first
number. Lines and columns count from 1, offsets from 0, all in code points; `end` is the place after the last character.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pai_lsp.document import Document, check_expanded
from pai_lsp.document import check as checked
from pai_lsp.findings.diagnostic import Settings, Severity, limited
from pai_lsp.platform.platforms import ALL_NAMES, platform_named
from pai_lsp.project.projects import Projects
from pai_lsp.source.failures import kind_and_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from pai_lsp.findings import diagnostic
    from pai_lsp.source.text import Place


class Diagnostic(NamedTuple):
    """One finding: the code of its rule, and how severe it is, `error`, `warning`, `information` or `hint`.

    No message contains the value of a secret. `url` is the page of the rule, if there is one. `fixable` is whether
    `pai-lsp check --fix` fixes it.
    """

    code: str
    severity: str
    message: str
    start: Place
    end: Place
    url: str | None
    fixable: bool


class ExpansionError(ValueError):
    """A job cannot be expanded, or the expanded job would have errors.

    diagnostics: the errors, at least one, at places of the given text.
    """

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        """The message is that of the first error."""
        super().__init__(f"line {diagnostics[0].start.line}: {diagnostics[0].message}")
        self.diagnostics = diagnostics


def check(text: str, *, path: str | None = None, platform: str | None = None) -> list[Diagnostic]:
    """What `pai-lsp check` finds in the text of a job, all severities, by place.

    path: where the job is, or would be: its `.pai-lsp.yaml` and its folder of definitions apply. The file itself is not
        read. Without it nothing is read from the disk. The network is never used.
    platform: a name that `--platform` takes, such as `openpai`, `ltp` or `ltp/1.3`; None for the one that the text or
        its configuration names.

    Raises:
        ValueError: for an unknown platform.
    """
    document = _document(text, path, platform)
    return _diagnostics(document, checked(document))


def expand(text: str, *, path: str | None = None, platform: str | None = None, inline: bool = False) -> str:
    """The job that every released cluster runs as it is meant: what `pai-lsp expand` prints.

    path, platform: as for `check`. inline: as `--inline`.

    Raises:
        ExpansionError: if `pai-lsp expand` would print nothing.
        ValueError: for an unknown platform.
    """
    from pai_lsp.expansion.released_job import expanded  # noqa: PLC0415 - most programs only check

    document = _document(text, path, platform)
    roles = [role.name for role in document.job.task_roles] if inline else ()
    found = expanded(document.job, roles)
    problems = (*found.problems, *check_expanded(document, found))
    errors = _diagnostics(document, (one for one in problems if one.severity is Severity.ERROR))
    if found.text is None or errors:
        raise ExpansionError(errors)
    return found.text


def _document(text: str, path: str | None, platform: str | None) -> Document:
    if platform is not None and platform not in ALL_NAMES:
        raise ValueError(f"no platform is named '{platform}'; the platforms are {', '.join(ALL_NAMES)}")
    named = None if platform is None else platform_named(platform)
    if path is None:
        return Document(text, Settings() if named is None else Settings().on(named))
    projects = Projects(lambda _: None, kind_and_place)
    return projects.document_of(text, str(Path(path).absolute()), str(Path.cwd()), path, named)


def _diagnostics(document: Document, found: Iterable[diagnostic.Diagnostic]) -> list[Diagnostic]:
    hidden = document.job.hidden
    return [
        Diagnostic(
            one.code,
            one.severity.label,
            one.without_secrets(hidden).message,
            document.lines.place(one.span.start),
            document.lines.place(one.span.end),
            one.url or None,
            any(fix.safe for fix in one.fixes),
        )
        for one in limited(tuple(found))
    ]
