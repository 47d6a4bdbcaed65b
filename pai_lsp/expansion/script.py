"""What a task role runs, as text for a person: each part under a comment with its moment and its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.embedded.server_rendering import trim
from pai_lsp.embedded.template import TemplateFault
from pai_lsp.expansion.effective import CmdPluginEntry, Prerequisite
from pai_lsp.expansion.released_commands import RoleValues, role_values, shown_text
from pai_lsp.expansion.released_run import RoleRun, command_source, server_command
from pai_lsp.job.lookup import displayed_path
from pai_lsp.platform.tables import EventForm, Moment, moments_with
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.text import LineIndex, Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pai_lsp.expansion.effective import EffectiveJob, EffectiveRole
    from pai_lsp.expansion.task_shell import Source
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import PluginEntry
    from pai_lsp.source.nodes import Scalar


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """One command as it runs; `span` is where it is written, in the file of `path`, None for the job's own."""

    text: str
    span: Span
    path: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptPart:
    """The lines that run together in a task: `title` gives the moment and the owner; a plugin may have no lines."""

    title: str
    lines: tuple[ScriptLine, ...]


@dataclass(frozen=True, slots=True)
class Origins:
    """Describes places: lines of the job, and paths relative to `folder` for files in it."""

    lines: LineIndex
    folder: str = ""

    def line(self, span: Span) -> str:
        """A place in the job."""
        return f"line {self.lines.line_of(span.start) + 1}"

    def source(self, source: Source) -> str:
        """Where a prerequisite, or a plugin of `extras`, is written."""
        if not isinstance(source, Prerequisite):
            return f" ({self.line(source.entry.node.span)})"
        if source.is_own:
            return f" ({self.line(source.definition.name_span)})"
        path = source.step.path
        return f" ({source.step.link.reference.name}{f' in {displayed_path(path, self.folder)}' if path else ''})"


def scripts(job: Job, effective: EffectiveJob, role: str | None = None, folder: str = "") -> str:
    """What one task role runs, or without a name what each of them runs, as text; see `Origins` for the folder."""
    return "".join(f"{text}\n" for text, _ in script_lines(job, effective, role, folder))


def script_lines(
    job: Job, effective: EffectiveJob, role: str | None = None, folder: str = ""
) -> Iterator[tuple[str, ScriptLine | None]]:
    """The lines of `scripts`, which may contain line ends, each with what it comes from."""
    values, origins = role_values(job), Origins(LineIndex(job.text), folder)
    chosen = [one for one in effective.roles if role in {None, one.role.name}]
    for number, one in enumerate(chosen):
        if number:
            yield "", None
        if len(chosen) > 1:
            yield _heading(one.role.name), None
            yield "", None
        yield from _lines(effective_parts(job, one, values[one.role.name], origins))


def together(texts: Mapping[str, str]) -> str:
    """The texts of several task roles one below the other, each under the role's name; one alone as it is."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    return "\n".join(f"{_heading(name)}\n\n{text}" for name, text in texts.items())


def _heading(role: str) -> str:
    return f"# === each task of '{role}' ==="


def effective_parts(job: Job, role: EffectiveRole, values: RoleValues, origins: Origins) -> tuple[ScriptPart, ...]:
    """Everything that a task of the role runs, in order."""
    before = [part for source in (*role.prerequisites, *role.plugins) for part in _start(source, values, origins)]
    ends = [
        part
        for moment in (Moment.SUCCESS, *moments_with(EventForm.COMMANDS))
        for source in reversed(role.sources)
        for part in _callbacks(source, moment, values, origins)
    ]
    return (*before, _command(job, role, origins), *ends)


def released_script(run: RoleRun) -> str:
    """What a released cluster runs, in the order in which it runs it."""
    start, end = Moment.START.value, Moment.SUCCESS.value
    parts = [ScriptPart(f"{start}: plugin '{one}'; its script is left to the platform", ()) for one in run.platform]
    texts = [*((start, text) for text in run.pre), ("the commands", run.command), *((end, text) for text in run.post)]
    parts += [ScriptPart(title, (ScriptLine(text.removesuffix("\n"), Span(0, 0)),)) for title, text in texts]
    return "".join(f"{text}\n" for text, _ in _lines(parts))


def _lines(parts: Sequence[ScriptPart]) -> Iterator[tuple[str, ScriptLine | None]]:
    for number, part in enumerate(parts):
        if number:
            yield "", None
        yield f"# --- {' '.join(part.title.split())} ---", next(iter(part.lines), None)
        for line in part.lines:
            yield line.text, line


def _start(source: Source | PluginEntry, values: RoleValues, origins: Origins) -> Iterator[ScriptPart]:
    if isinstance(source, (Prerequisite, CmdPluginEntry)):
        if not isinstance(source, Prerequisite) or source.plugin in {None, "cmd"}:
            yield from _callbacks(source, Moment.START, values, origins)
            return
        name, place = f"{source.title}, plugin '{source.plugin}'", origins.source(source)
    else:
        name, place = f"plugin '{source.plugin}' of extras", f" ({origins.line(source.node.span)})"
    yield ScriptPart(f"{Moment.START.value}: {name}{place}", ())


def _callbacks(source: Source, moment: Moment, values: RoleValues, origins: Origins) -> Iterator[ScriptPart]:
    items = source.moments(moment)
    if not items:
        return
    path = source.step.path if isinstance(source, Prerequisite) and not source.is_own else None
    lines = tuple(ScriptLine(shown_text(item.text.rstrip("\n"), values), item.scalar.span, path) for item in items)
    policy = "; failures are ignored" if source.ignores_failure else ""
    yield ScriptPart(f"{moment.value}: {source.title}{origins.source(source)}{policy}", lines)


def _command(job: Job, role: EffectiveRole, origins: Origins) -> ScriptPart:
    source = command_source(job, role.role)
    text = server_command(job, role.role)
    parts = job.command_parts(role.role)
    span = Span(parts[0].span.start, parts[-1].span.end) if parts else role.role.name_span
    shown = source if isinstance(text, TemplateFault) else text
    title = f"the commands of '{role.role.name}' ({origins.line(span)})"
    return ScriptPart(title, tuple(_by_command(shown, source, parts)) or (ScriptLine(shown, span),))


def _by_command(shown: str, source: str, parts: Sequence[Scalar]) -> Iterator[ScriptLine]:
    """The text of each command; all of it belongs to the first one if templates bring line ends."""
    lines = shown.split("\n")
    if len(lines) != source.count("\n") + 1:
        parts = parts[:1]
    begin = 0
    for number, scalar in enumerate(parts):
        end = begin + trim(scalar.text).count("\n") + 1 if number + 1 < len(parts) else len(lines)
        yield ScriptLine("\n".join(lines[begin:end]), scalar.span)
        begin = end
