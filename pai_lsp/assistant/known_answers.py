"""Answers about what pai-lsp knows besides jobs: names of the platform, and failures."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pai_lsp.assistant.allowed_files import AnswerError
from pai_lsp.assistant.job_answers import cut_text, document_of, platform_given
from pai_lsp.cluster.fit_answer import cleaned
from pai_lsp.ide.documentation import (
    event_documentation,
    field_documentation,
    plugin_documentation,
    rule_page,
    variable_documentation,
)
from pai_lsp.job.hidden import Hidden
from pai_lsp.platform.job_schema import field, fields
from pai_lsp.platform.platforms import OPENPAI
from pai_lsp.platform.tables import PLUGIN_PREFIX, as_exit_code, events
from pai_lsp.rules import UnknownCodeError, all_codes, known
from pai_lsp.source.foreign import number_of
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pai_lsp.assistant.allowed_files import AllowedFiles
    from pai_lsp.platform.job_schema import Field
    from pai_lsp.platform.platforms import Platform

# The end of a longer log is what matters.
_MOST_CHARACTERS = 200_000
_DEEPEST = 7
# Without a job, only what has the form of a password or token is hidden.
_NOTHING_KNOWN = Hidden((), (), ())


def explained(given: Mapping[str, Any], files: AllowedFiles) -> dict[str, Any]:
    """What a name means, in the editor's words."""
    del files
    kind, whole = _explanation(given["name"].strip(), platform_given(given.get("platform", OPENPAI.name)))
    text, more = cut_text(whole, given)
    return {"kind": kind, "text": text, "more": more}


def _explanation(name: str, platform: Platform) -> tuple[str, str]:
    if (code := as_exit_code(name)) is not None:
        from pai_lsp.cluster.exit_code_text import code_text  # noqa: PLC0415 - only for a code

        return "exit code", code_text(code)
    if (event := events().get(name)) is not None:
        return "event", event_documentation(event)
    if (plugin := platform.plugins.get(name.removeprefix(PLUGIN_PREFIX))) is not None:
        return "plugin", plugin_documentation(plugin)
    variable_name = name.strip("${}")
    if (variable := platform.environment_variable(variable_name)) is not None:
        return "variable", variable_documentation(variable, variable_name)
    if pages := list(_key_pages(name, platform)):
        return "key", "\n\n".join(pages)
    try:
        return "rule", rule_page(known(name))
    except UnknownCodeError:
        names = (*all_codes(), *events(), *platform.plugins, *_paths_by_key(platform))
        raise AnswerError(
            f"'{visible(name)}' is not a rule, key, event, plugin, variable or exit code{did_you_mean(name, names)}"
        ) from None


def _key_pages(name: str, platform: Platform) -> Iterator[str]:
    """The documentation of a key, given by its path or alone: then of all places that have such a key."""
    if "." in name:
        steps = [number_of(step) if step.isdecimal() else step for step in name.split(".")]
        if (found := field((*steps,), platform=platform)) is not None:
            yield field_documentation(found)
            return
    seen: set[str] = set()
    for path, one in _paths_by_key(platform).get(name, ()):
        page = field_documentation(one)
        if page not in seen:
            seen.add(page)
            yield f"`{path}`\n\n{page}"


@cache
def _paths_by_key(platform: Platform) -> dict[str, list[tuple[str, Field]]]:
    """The keys of a job by name, each with its paths; `NAME` stands for a name that the author gives."""
    found: dict[str, list[tuple[str, Field]]] = {}
    waiting: list[tuple[str | int, ...]] = [()]
    while waiting:
        path = waiting.pop(0)
        inner = fields(path, platform=platform)
        for one in inner:
            here = (*path, one.key)
            shown = ".".join(str(step) for step in here if step != 0)
            found.setdefault(str(one.key), []).append((shown, one))
            if len(here) < _DEEPEST and {"object", "array"} & set(one.types):
                waiting += [here, (*here, 0), (*here, "NAME")]
    return found


def why_failed(given: Mapping[str, Any], files: AllowedFiles) -> dict[str, Any]:
    """What `pai-lsp why` prints about a code or a text."""
    from pai_lsp.cluster.exit_code_text import code_text, command_code, command_text  # noqa: PLC0415 - only here
    from pai_lsp.cluster.why import NOT_KNOWN, failure, failure_text  # noqa: PLC0415 - as above

    text = given.get("text", "")
    if "text" not in given and "path" in given:
        text = files.end_of(given["path"], _MOST_CHARACTERS)
    exit_code, has_job = given.get("exit_code"), not {"job", "job_path"}.isdisjoint(given)
    if not text.strip() and exit_code is None:
        raise AnswerError("give 'text', an exit code or the end of a log, or 'path', or 'exit_code'")
    if not text and exit_code is not None and not has_job:
        return {"known": True, "cause": "", "line": None, "text": command_text(command_code(exit_code))}
    text = text.strip("\0")[-_MOST_CHARACTERS:]
    if (code := as_exit_code(text.strip())) is not None:
        return {"known": True, "cause": "", "line": None, "text": code_text(code)}
    job = None
    if has_job:
        job = document_of({**given, "cluster": ""}, files, "job", "job_path").job
        if (role := given.get("role")) is not None and role not in job.task_roles_by_name:
            raise AnswerError(f"no task role is named '{visible(role)}'")
    found = failure(text, job, exit_code, "", given.get("role"))
    answer = {
        "known": found.cause.name != NOT_KNOWN,
        "cause": found.cause.name,
        "line": found.line,
        "text": failure_text(found, job, given.get("job_path", "job")),
    }
    hidden = _NOTHING_KNOWN if job is None else job.hidden
    without: dict[str, Any] = cleaned(answer, hidden.without)
    return without
