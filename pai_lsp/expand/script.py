"""What a task role runs, as text for a person: each part under a comment that says when it runs and where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.expand.as_is import command_source, server_values
from pai_lsp.expand.callbacks import Moment
from pai_lsp.expand.effective import CmdPluginEntry, Prerequisite
from pai_lsp.expand.released_commands import shown_text
from pai_lsp.expand.role_commands import owner
from pai_lsp.expand.server_rendering import rendered
from pai_lsp.frozen import dataclass
from pai_lsp.template import TemplateFault
from pai_lsp.text import LineIndex, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.expand.as_is import RoleRun
    from pai_lsp.expand.effective import EffectiveRole
    from pai_lsp.expand.released_commands import RoleValues
    from pai_lsp.expand.role_commands import Source
    from pai_lsp.job import Job, PluginEntry

_WHEN = {
    Moment.START: "before the commands",
    Moment.SUCCESS: "after the commands, when they succeeded",
    Moment.FAILURE: "after the commands, when they failed",
    Moment.EXIT: "after the commands, whether they succeeded or failed",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One command as it runs; `span` is where it is written, in the file of `path`, None for the job's own."""

    text: str
    span: Span
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What belongs together in a task: `title` says when it runs and whose it is, `lines` may be none for a plugin."""

    title: str
    lines: tuple[Line, ...]


def effective_parts(job: Job, role: EffectiveRole, values: RoleValues) -> tuple[Part, ...]:
    """Everything that a task of the role runs, in order."""
    before = [part for source in (*role.prerequisites, *role.plugins) for part in _start(job, source, values)]
    ends = [
        part
        for moment in (Moment.FAILURE, Moment.EXIT, Moment.SUCCESS)
        for source in reversed(role.sources)
        for part in _callbacks(job, source, moment, values)
    ]
    return (*before, _command(job, role), *ends)


def script(parts: tuple[Part, ...]) -> str:
    """The parts one below the other."""
    return "\n".join("".join(f"{line}\n" for line in _part_lines(part)) for part in parts)


def released_script(run: RoleRun) -> str:
    """What a released cluster runs, in the order in which it runs it."""
    parts = [
        *(Part("before the commands", _plain_lines(text)) for text in run.pre),
        Part("the commands", _plain_lines(run.command)),
        *(Part("after the commands, when they succeeded", _plain_lines(text)) for text in run.post),
    ]
    return script(tuple(parts))


def _plain_lines(text: str) -> tuple[Line, ...]:
    return (Line(text.removesuffix("\n"), Span(0, 0)),)


def _part_lines(part: Part) -> Iterator[str]:
    yield f"# --- {' '.join(part.title.split())} ---"
    for line in part.lines:
        yield line.text


def _start(job: Job, source: Prerequisite | CmdPluginEntry | PluginEntry, values: RoleValues) -> Iterator[Part]:
    if isinstance(source, (Prerequisite, CmdPluginEntry)):
        if not isinstance(source, Prerequisite) or source.plugin in {None, "cmd"}:
            yield from _callbacks(job, source, Moment.START, values)
            return
        name, place = f"{owner(source)}, plugin '{source.plugin}'", _place(job, source)
    else:
        name, place = f"plugin '{source.plugin}' of extras", f" ({_line(job, source.node.span)})"
    yield Part(f"before the commands: {name}{place}", ())


def _callbacks(job: Job, source: Source, moment: Moment, values: RoleValues) -> Iterator[Part]:
    items = source.moments(moment)
    if not items:
        return
    path = source.step.path if isinstance(source, Prerequisite) and not source.is_own else None
    lines = tuple(Line(shown_text(item.text.rstrip("\n"), values), item.scalar.span, path) for item in items)
    policy = "; failures are ignored" if source.ignores_failure else ""
    yield Part(f"{_WHEN[moment]}: {owner(source)}{_place(job, source)}{policy}", lines)


def _place(job: Job, source: Source) -> str:
    if not isinstance(source, Prerequisite):
        return f" ({_line(job, source.entry.node.span)})"
    if source.is_own:
        return f" ({_line(job, source.definition.name_span)})"
    where = f" in {source.step.path}" if source.step.path else ""
    return f" ({source.step.link.reference.name}{where})"


def _line(job: Job, span: Span) -> str:
    return f"line {LineIndex(job.text).line_of(span.start) + 1}"


def _command(job: Job, role: EffectiveRole) -> Part:
    source = command_source(job, role.role)
    text = rendered(source, server_values(job, role.role))
    parts = job.command_parts(role.role)
    span = Span(parts[0].span.start, parts[-1].span.end) if parts else role.role.name_span
    shown = source if isinstance(text, TemplateFault) else text
    return Part(f"the commands of '{role.role.name}' ({_line(job, span)})", (Line(shown, span),))
