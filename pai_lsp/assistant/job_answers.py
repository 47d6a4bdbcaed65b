"""Answers about a job, by what the command line and the editor answer."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pai_lsp.assistant.allowed_files import AnswerError
from pai_lsp.document import check, check_expanded, diagnostics_of_expansion, document_of_text
from pai_lsp.findings.diagnostic import SEVERITIES, Settings, Severity, causes, limited
from pai_lsp.job.hidden import with_hidden
from pai_lsp.platform.platforms import ALL_NAMES, platform_named
from pai_lsp.project.projects import Projects
from pai_lsp.project.targets import report_faults
from pai_lsp.rules.record import MEANINGS
from pai_lsp.source.failures import kind_and_place
from pai_lsp.source.files import YAML_ENDINGS
from pai_lsp.source.frozen import replace
from pai_lsp.source.line_changes import changed_lines
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.text import LineIndex, apply_edits, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pai_lsp.assistant.allowed_files import AllowedFiles
    from pai_lsp.cluster.profile import Profile
    from pai_lsp.document import Document
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.platform.platforms import Platform

_ENDINGS = (*YAML_ENDINGS, ".json")
# Short answers, and the longest ones.
SHORT_LIST, SHORT_LINES = 20, 100
_MOST_LISTED, _MOST_LINES = 200, 5_000
# Characters in the edits of an answer's findings: lines can be as long as a job. `fix` gives what is left out.
_MOST_OF_FIXES = 50_000


def checked(given: Mapping[str, Any], files: AllowedFiles) -> dict[str, Any]:
    """What `pai-lsp check` finds, each finding with the edit that fixes it."""
    document = document_of(given, files)
    found = _reported(document, check(document))
    lowest = SEVERITIES[given.get("severity", Severity.WARNING.label)]
    shown, more = cut([one for one in found if one.severity <= lowest], given, _MOST_LISTED, SHORT_LIST)
    counts = [sum(one.severity is severity for one in found) for severity in (Severity.ERROR, Severity.WARNING)]
    return {
        "clean": not any(counts),
        "errors": counts[0],
        "warnings": counts[1],
        "findings": _findings(document, shown, has_fixes=True),
        "more": more,
    }


def fixed(given: Mapping[str, Any], files: AllowedFiles) -> dict[str, Any]:
    """What `pai-lsp check --fix` would write, as edits of whole lines."""
    from pai_lsp.safe_fixes import with_safe_fixes  # noqa: PLC0415 - only to fix

    document = document_of(given, files)
    result = with_safe_fixes(
        document, check, lambda one: one.severity <= Severity.WARNING, unsafe_too=given.get("unsafe", False)
    )
    after = result.document
    edits, is_masked = _line_edits(document, after.text)
    left = [one for one in _reported(after, result.diagnostics) if one.severity <= Severity.WARNING]
    shown, more = cut(left, given, _MOST_LISTED, SHORT_LIST)
    answer: dict[str, Any] = {
        "fixed": result.fixed,
        "edits": edits,
        "masked": is_masked,
        "left": _findings(after, shown, has_fixes=True),
        "more": more,
    }
    if given.get("full"):
        _must_be_job(after, given)
        answer["text"], is_masked = shown_text(after)
        answer["masked"] |= is_masked
    return answer


def expanded_job(given: Mapping[str, Any], files: AllowedFiles) -> dict[str, Any]:
    """What `pai-lsp expand` prints, with asterisks instead of the values of secrets."""
    from pai_lsp.expansion.released_job import expanded  # noqa: PLC0415 - only to expand

    document = document_of(given, files)
    _must_be_job(document, given)
    roles = [role.name for role in document.job.task_roles] if given.get("inline") else ()
    found = expanded(document.job, roles)
    findings = None if found.text is None else tuple(check_expanded(document, found))
    every = diagnostics_of_expansion(document, found.problems, findings)
    errors = [one for one in limited(causes(every)) if one.severity is Severity.ERROR]
    shown, more = cut(errors, given, _MOST_LISTED, SHORT_LIST)
    answer: dict[str, Any] = {"expanded": not errors and found.text is not None, "masked": False, "more": more}
    answer["errors"] = _findings(document, shown, has_fixes=False)
    if answer["expanded"] and found.text is not None:
        text, answer["masked"] = shown_text(replace(document, text=found.text))
        answer["text"], answer["more"] = cut_text(text, given)
    return answer


def what_runs(given: Mapping[str, Any], files: AllowedFiles) -> dict[str, Any]:
    """The editor's preview of what task roles run."""
    from pai_lsp.ide.preview import preview  # noqa: PLC0415 - only for this question

    document = document_of(given, files)
    _must_be_job(document, given)
    role, roles = given.get("role"), document.job.task_roles_by_name
    if role is not None and role not in roles:
        names = document.job.hidden.without(f" ({', '.join(roles)}){did_you_mean(role, roles)}")
        raise AnswerError(f"no task role is named '{visible(role)}'{names}")
    path = given.get("path")
    folder = files.folder_of(files.real_path(path)) if path is not None else ""
    text, more = cut_text(preview(document, role, folder).text, given)
    return {"text": text, "more": more}


def completions(given: Mapping[str, Any], files: AllowedFiles) -> dict[str, Any]:
    """The editor's completion at a place."""
    from pai_lsp.ide.completion.complete import complete  # noqa: PLC0415 - only for this question

    document = document_of(given, files)
    line = given["line"] - 1
    if line >= len(document.lines):
        raise AnswerError(f"the argument 'line' is {given['line']}, but the text has {len(document.lines)} lines")
    written = len(document.lines.line_text(line))
    column = given.get("column", written + 1) - 1
    if column > written:
        raise AnswerError(f"the argument 'column' is {column + 1}, but line {line + 1} ends at {written + 1}")
    found, more = cut(complete(document, document.lines.line_start(line) + column), given, _MOST_LISTED, SHORT_LIST)
    return {
        "suggestions": [
            {"label": one.label, "kind": one.kind.value, "detail": one.detail, "insert": one.edit.new_text}
            for one in found
        ],
        "more": more,
    }


def fitted(given: Mapping[str, Any], files: AllowedFiles) -> dict[str, Any]:
    """What `pai-lsp fit --format json` prints about one job."""
    from pai_lsp.cluster.fit import fit  # noqa: PLC0415 - only for this question
    from pai_lsp.cluster.fit_answer import fit_answer  # noqa: PLC0415 - as above
    from pai_lsp.cluster.profile import Profile  # noqa: PLC0415 - as above

    document = document_of(given, files)
    _must_be_job(document, given)
    profile = document.settings.cluster
    if not isinstance(profile, Profile):
        raise AnswerError(f"give 'cluster', the name of a cluster; known clusters: {_known_clusters()}")
    found = fit_answer(fit(document.job, profile), document.job.hidden)
    wanted = ("outcome", "message", "explanation", "also", "skus", "total", "wait")
    return {"cluster": profile.name, **{key: found[key] for key in wanted if key in found}}


def document_of(given: Mapping[str, Any], files: AllowedFiles, text: str = "text", path: str = "path") -> Document:
    """The document that the arguments `text` and `path` mean, with the settings of its place.

    Raises:
        AnswerError: if there is none, or if its configuration has an error.
    """
    profile = chosen_cluster(given.get("cluster") or files.cluster)
    platform = platform_given(given["platform"]) if "platform" in given else None
    named = given.get(path)
    if named is None and text not in given:
        raise AnswerError(f"give '{text}', the text of a job, or '{path}', its file")
    if named is None:
        document = _document_of_text(given[text], files, platform)
    else:
        real = files.real_path(named)
        if not real.lower().endswith(_ENDINGS):
            raise AnswerError(f"'{visible(named)}' is not the name of a job: it must end with {', '.join(_ENDINGS)}")
        content = given[text] if text in given else files.text_of(named)
        document = _document_of_file(content, real, named, files, platform)
    return document if profile is None else replace(document, settings=profile.applied_to(document.settings))


def _document_of_text(text: str, files: AllowedFiles, platform: Platform | None) -> Document:
    section = next((files.sections[one] for one in (*files.folders, "") if one in files.sections), None)
    settings = Settings() if section is None else section.settings
    return document_of_text(text, settings if platform is None else settings.on(platform))


def _document_of_file(text: str, real: str, name: str, files: AllowedFiles, platform: Platform | None) -> Document:
    faults: list[str] = []
    projects = projects_of(files, faults)
    document = projects.document_of(text, real, files.folder_of(real), name, platform)
    faults.clear()  # a file that is not read has no effect, as on the command line
    if report_faults(projects):
        raise AnswerError(faults[0])
    return document.as_definitions(is_wanted=False)


def projects_of(files: AllowedFiles, messages: list[str] | None = None) -> Projects:
    """The projects of the allowed files; definitions in other folders need trust. `messages` gets those about files."""
    projects = Projects(([] if messages is None else messages).append, kind_and_place)
    projects.workspace, projects.sections = files.folders, files.sections
    return projects


def platform_given(name: str) -> Platform:
    """The platform of that name.

    Raises:
        AnswerError: if there is none.
    """
    if name not in ALL_NAMES:
        raise AnswerError(f"no platform is named '{visible(name)}'; the platforms are {', '.join(ALL_NAMES)}")
    return platform_named(name)


def chosen_cluster(name: str) -> Profile | None:
    """One of the user's own profiles, None for no name; a path is not taken, since it could name any file.

    Raises:
        AnswerError: if there is no such profile, or if it cannot be read.
    """
    if not name:
        return None
    from pai_lsp.cluster.profile import ProfileError, own_profiles, path_of_name, profile_named  # noqa: PLC0415 - rarely

    if name not in {known for known, _ in own_profiles()}:
        raise AnswerError(f"no cluster is named '{visible(name)}'; known clusters: {_known_clusters()}")
    try:
        return profile_named(str(path_of_name(name)))
    except ProfileError as error:
        raise AnswerError(str(error)) from None


def _known_clusters() -> str:
    from pai_lsp.cluster.profile import own_profiles  # noqa: PLC0415 - only for a message

    return ", ".join(name for name, _ in own_profiles()) or "none ('pai-lsp cluster --help' shows how to make one)"


def _must_be_job(document: Document, given: Mapping[str, Any]) -> None:
    """Only the text of a job is shown: what is secret in another file is not known.

    Raises:
        AnswerError: if it is not a job.
    """
    if not (document.is_job or document.is_mpijob or document.is_catalog):
        name = given.get("path")
        raise AnswerError(f"{'the text' if name is None else repr(visible(name))} is not a job; 'check' explains why")


def _reported(document: Document, found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings that a report shows."""
    if document.settings.accepted:
        from pai_lsp.project.baseline import without_accepted  # noqa: PLC0415 - few projects have one

        found, _ = without_accepted(tuple(found), document.settings.accepted)
    return limited(causes(found))


def _findings(document: Document, found: Sequence[Diagnostic], *, has_fixes: bool) -> list[dict[str, Any]]:
    hidden, place = document.job.hidden, document.lines.place
    answers, left = [], _MOST_OF_FIXES
    for one in found:
        start, end = place(one.span.start), place(one.span.end)
        answer: dict[str, Any] = {
            "line": start.line,
            "column": start.column,
            "end_line": end.line,
            "end_column": end.column,
            "severity": one.severity.label,
            "rule": one.code,
            "message": one.without_secrets(hidden).message,
            "why": MEANINGS[one.consequence],
        }
        if has_fixes and (fix := _best_fix(document, one)) is not None:
            size = sum(len(edit["old"]) + len(edit["new"]) for edit in fix["edits"])
            if (left := left - size) >= 0:
                answer["fix"] = fix
        answers.append(answer)
    return answers


def _best_fix(document: Document, finding: Diagnostic) -> dict[str, Any] | None:
    """The safe fix, or the first one; None without one, or where it would show a secret."""
    fixes = finding.without_secrets(document.job.hidden).fixes
    fix = next((one for one in fixes if one.safe), None) or next(iter(fixes), None)
    if fix is None:
        return None
    edits, is_masked = _line_edits(document, apply_edits(document.text, dict.fromkeys(fix.edits)))
    return None if is_masked else {"title": fix.title, "safe": fix.safe, "edits": edits}


def _line_edits(document: Document, text: str) -> tuple[list[dict[str, Any]], bool]:
    """The lines that differ in a later text, and whether asterisks stand in them for the values of secrets."""
    if text == document.text:
        return [], False
    after = replace(document, text=text)
    old, new = _lines(document.text), _lines(text)
    shown_old, shown_new = (_lines(shown_text(one)[0]) for one in (document, after))
    edits, is_masked = [], False
    for begin, end, new_begin, new_end in changed_lines(old, new):
        is_masked |= old[begin:end] != shown_old[begin:end] or new[new_begin:new_end] != shown_new[new_begin:new_end]
        lines = {"old": "".join(shown_old[begin:end]), "new": "".join(shown_new[new_begin:new_end])}
        edits.append({"line": begin + 1, "end_line": end, **lines})
    return edits, is_masked


def shown_text(document: Document) -> tuple[str, bool]:
    """The text with asterisks instead of the values of secrets, and whether there are any."""
    text = with_hidden(document.text, document.job.hidden.spans)
    return text, text != document.text


def _lines(text: str) -> list[str]:
    """The lines as reports count them, each with its end; the empty one after the last end is none."""
    index = LineIndex(text)
    starts = [*map(index.line_start, range(len(index))), len(text)]
    lines = [text[start:end] for start, end in pairwise(starts)]
    return lines if lines[-1] else lines[:-1]


def cut(found: Sequence[Any], given: Mapping[str, Any], most: int, short: int) -> tuple[Sequence[Any], int]:
    """The beginning of a list, and how many are left out."""
    shown = found[: most if given.get("full") else short]
    return shown, len(found) - len(shown)


def cut_text(text: str, given: Mapping[str, Any]) -> tuple[str, int]:
    """The beginning of a text, and how many lines are left out."""
    lines = text.splitlines(keepends=True)
    shown, more = cut(lines, given, _MOST_LINES, SHORT_LINES)
    return "".join(shown), more
