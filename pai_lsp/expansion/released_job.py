"""The released job: an extended job's text without what a released cluster does not know, and the proof of it.

Only what must change changes; comments, order and formatting of the rest stay. Expansion edits text; where that text is
shared through aliases or merge keys, an edit may reach further than it should. So the result is read again and compared
with what was meant.
Source of what a released cluster accepts: docs/protocol.md, "What expand gives".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_syntax import syntax_problem
from pai_lsp.expansion.effective import (
    CANNOT_BE_EXPANDED,
    CANNOT_BE_EXPRESSED,
    EffectiveJob,
    EffectiveRole,
    Prerequisite,
    effective_job,
    merged_storages,
    problem,
)
from pai_lsp.expansion.proof import proven
from pai_lsp.expansion.released_edits import (
    definition_edits,
    extras_edits,
    new_definition,
    opened_lists,
    origin_comment,
    plugin_edits,
    released_references,
    role_list_edits,
)
from pai_lsp.expansion.released_form import is_extended, released_form
from pai_lsp.expansion.task_shell import command_list, place_of
from pai_lsp.job.definition import TYPED_FIELDS
from pai_lsp.platform.tables import event_at
from pai_lsp.source.comments import comments
from pai_lsp.source.edits import cut_entry, keeping_comments, line_end, line_span
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.nodes import Mapping, Sequence
from pai_lsp.source.text import PlacesBefore, Span, TextEdit, apply_edits, start_of_line
from pai_lsp.source.tree_edits import item_span, items_after, without_items
from pai_lsp.source.writing import indented, item_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Any

    from pai_lsp.expansion.released_form import ReleasedForm
    from pai_lsp.expansion.released_run import ReleasedRun
    from pai_lsp.findings.diagnostic import Diagnostic, Related
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.source.nodes import Node


@dataclass(frozen=True, slots=True)
class SourcePlaces:
    """Carries places in an expanded job back to the text that its author wrote.

    before: by what was changed in the source.
    origins: the definitions that were added to the expanded text, each with the prerequisite that it comes from.
    """

    before: PlacesBefore = PlacesBefore()
    origins: tuple[tuple[Span, Prerequisite], ...] = ()

    def origin(self, span: Span) -> Prerequisite | None:
        """The prerequisite that a place in the expanded text comes from, if its definition was added there."""
        return next((one for part, one in self.origins if part.start <= span.start < part.end), None)

    def span(self, span: Span) -> Span:
        """The place in the source; for text that expansion has written, what it has replaced, or where it was added."""
        origin = self.origin(span)
        return origin.entry.reference.span if origin else self.before.span(span)


@dataclass(frozen=True, slots=True)
class ExpandedJob:
    """The released job's text, and what it runs; without a text, the problems have the reasons.

    problems: with a text, callbacks that bash refuses; everything else runs.
    job: the text as it was read again; `places` carries its spans back. None if the job cannot be expanded.
    run: None in the same case; with stops, and without a text, if its tasks would not start.
    """

    text: str | None
    problems: tuple[Diagnostic, ...] = ()
    run: ReleasedRun | None = None
    job: Job | None = None
    places: SourcePlaces = SourcePlaces()


def expanded(job: Job, inlined: Collection[str] = ()) -> ExpandedJob:
    """Expand a job: read it, write the released job, and read that to prove that it runs the same.

    inlined: the task roles whose prerequisites' commands go among the role's own, where `export` and `cd` reach them.
        Without any, a job is expanded once, whoever asks.
    """
    return _expanded(job, inlined) if inlined else job.once(_expanded)


def _expanded(job: Job, inlined: Collection[str] = ()) -> ExpandedJob:
    if "\r" in job.text and "\n" not in job.text:  # the line ends of old systems, which edits of lines do not know
        found = _expanded(job.of_text(job.text.replace("\r", "\n")), inlined)
        return replace(found, text=None if found.text is None else found.text.replace("\n", "\r"))
    effective = effective_job(job)
    if effective.problems:
        return ExpandedJob(None, effective.problems)
    form = released_form(job, effective, inlined)
    writer = _ReleasedJobWriter(job, form)
    text = writer.written()
    if writer.problems:
        return ExpandedJob(None, tuple(writer.problems))
    proof = proven(job, text, form)
    origins = ((definition.node.span, form.added.get(definition.name)) for definition in proof.job.prerequisites)
    places = SourcePlaces(
        PlacesBefore(tuple(sorted(writer.edits))), tuple((part, origin) for part, origin in origins if origin)
    )
    if proof.problems:
        return ExpandedJob(None, proof.problems, proof.run, proof.job if proof.run else None, places)
    return ExpandedJob(text, tuple(_broken_callbacks(effective)), proof.run, proof.job, places)


def _broken_callbacks(effective: EffectiveJob) -> Iterator[Diagnostic]:
    """Callbacks that bash cannot read."""
    for one in dict.fromkeys(source for role in effective.roles for source in role.sources):
        for commands in one.commands:
            fault = syntax_problem(read_script("\n".join(item.text for item in commands.items)))
            if fault and fault.is_error:
                message = f"bash cannot read {event_at(commands.moment)} of {one.title}: {fault.message}"
                yield problem("shell-syntax", place_of(one, commands.items), message, *one.related)


class _ReleasedJobWriter:
    """Writes one job and collects its problems; with problems, the text is not used."""

    def __init__(self, job: Job, form: ReleasedForm) -> None:
        self._job = job
        self._text = job.text
        self._effective = form.effective
        self._form = form
        self._edits: dict[TextEdit, None] = {}
        self.edits: tuple[TextEdit, ...] = ()
        self._comments = comments(job.syntax)
        self._dropped: set[int] = set()
        self._shared: dict[tuple[Node, str], tuple[str, ...]] = {}
        self.problems = [*form.problems]

    def written(self) -> str:
        """The job's text with all edits; not to be used if there are problems."""
        for role in self._effective.roles:
            self._role_commands(role)
            self._role_list(role)
        self._definitions()
        self._extras()
        if self.problems:
            return ""
        newline = line_end(self._text)
        remaining = [one for one in self._comments if one.span.start not in self._dropped]
        kept = keeping_comments(self._text, tuple(self._edits), remaining)
        kept = opened_lists(self._job, kept, [role.role for role in self._effective.roles])
        texts = (edit.new_text.replace("\r\n", "\n").replace("\n", newline) for edit in kept)
        self.edits = tuple(TextEdit(edit.span, text) for edit, text in zip(kept, texts, strict=True))
        try:
            return apply_edits(self._text, self.edits)
        except ValueError:
            self._problem(Span(0, 0), "aliases in this job share text that expansion must change in different ways")
            return ""

    def _problem(self, span: Span, message: str, *related: Related) -> None:
        self.problems.append(problem(CANNOT_BE_EXPANDED, span, message, *related))

    def _edit(self, edits: Iterable[TextEdit]) -> None:
        self._edits.update(dict.fromkeys(edits))

    def _drop_comments(self, span: Span, *, above: bool = True) -> None:
        """Take out the comments in a part that goes, and those on the lines directly above it."""
        lines = line_span(self._text, span)
        at = lines.start
        for comment in reversed(self._comments):
            if span.start <= comment.span.start < lines.end:
                self._dropped.add(comment.span.start)
            elif above and comment.is_alone and self._text[comment.span.end : at].strip(" \t\r") == "\n":
                start = start_of_line(self._text, comment.span.start)
                self._dropped.add(comment.span.start)
                self._edit([TextEdit(Span(start, at), "")])
                at = start

    def _agree(self, node: Node, what: str, texts: tuple[str, ...], role: TaskRole) -> bool:
        """Whether all roles that share a list change it in this way; a second, different change is a problem."""
        if self._shared.setdefault((node, what), texts) == texts:
            return True
        message = f"'{role.name}' shares its {what} with a task role that needs other ones"
        self.problems.append(problem(CANNOT_BE_EXPRESSED, role.name_span, message))
        return False

    def _role_commands(self, role: EffectiveRole) -> None:
        name = role.role.name
        added = self._form.commands[name]
        commands = command_list(self._job, role.role)
        if commands is None:
            if added.starts or added.ends:
                self._problem(role.role.name_span, f"'{name}' has no list of commands")
        elif self._agree(commands, "commands", (*added.ends, *added.starts), role.role):
            self._edit(added.edits(self._text, commands))

    def _role_list(self, role: EffectiveRole) -> None:
        entry = role.role.field("prerequisites")
        names = tuple(self._form.names[one] for one in self._form.listed[role.role.name])
        if entry is None or not self._agree(entry.value, "prerequisites", names, role.role):
            return
        listed = {one.step: self._form.names[one] for one in self._form.listed[role.role.name]}
        released = released_references(self._job, role, listed)
        edits = role_list_edits(self._text, role.role, names, released)
        self._edit(edits)
        # A comment on an entry goes with it.
        if not names and edits:
            self._drop_comments(Span(entry.key.span.start, entry.span.end), above=False)
        elif isinstance(entry.value, Sequence):
            for item in entry.value.items:
                if any(not edit.new_text and edit.span.start <= item.span.start < edit.span.end for edit in edits):
                    self._drop_comments(item.span)

    def _definitions(self) -> None:
        """Write every definition of the job in its released form, or remove it; and add the new ones."""
        section = self._job.section("prerequisites")
        sequence = section.value if section and isinstance(section.value, Sequence) else None
        used = {
            definition.node
            for role in self._job.task_roles
            for field, reference in role.typed_references.items()
            if (definition := self._job.find_typed(TYPED_FIELDS[field], reference.name))
        }
        places = {item: number for number, item in enumerate(sequence.items if sequence else ())}
        removed: list[int] = []
        for definition in self._job.prerequisites:
            prerequisite = self._form.homes.get(definition.node)
            is_listed = prerequisite is not None and prerequisite in self._form.users
            is_inlined = prerequisite is not None and not is_listed and prerequisite.plugin == "cmd"
            if not is_listed and definition.node not in used and (is_inlined or is_extended(definition)):
                removed += [places[definition.node]] if definition.node in places else []
            else:
                plugins = {*self._job.platform.plugins, *self._job.site_plugins}
                self._edit(definition_edits(self._text, definition, prerequisite, self._form.items, plugins))
        new = self._form.added
        if sequence is not None and section and self._job.root and len(removed) == len(places) and removed and not new:
            self._edit(cut_entry(self._text, self._job.root, section))
            self._drop_comments(Span(section.key.span.start, section.span.end), above=False)
        elif sequence is not None:
            self._edit(without_items(self._text, sequence, removed))
            if not sequence.is_flow:
                for number in removed:
                    self._drop_comments(item_span(self._text, sequence, number))
        values = [new_definition(one, name, self._form.items) for name, one in new.items()]
        comments = list(map(origin_comment, new.values()))
        if sequence is not None:
            self._edit(items_after(self._text, sequence, values, comments=comments))
        elif values:
            self._new_section(values, comments)

    def _new_section(self, values: list[dict[str, Any]], comments: list[str]) -> None:
        root = self._job.root
        if root is None or self._job.section("prerequisites") or root.is_flow:
            self._problem(root.span if root else Span(0, 0), "this job has no list of prerequisites to add to")
            return
        lines = ["prerequisites:"]
        for value, comment in zip(values, comments, strict=True):
            lines += indented([f"# {comment}", *item_lines(value)], "  ")
        at = next((entry.key.span.start for entry in root.entries if entry.name == "taskRoles"), root.span.start)
        self._edit([TextEdit(Span(at, at), "".join(f"{line}\n" for line in lines))])

    def _extras(self) -> None:
        needed = [storage for one in self._effective.prerequisites for storage in one.storages]
        storages, problems = merged_storages(self._job, needed)
        self.problems += problems
        for plugin, names in self._form.plugin_users.items():
            if names:
                moved = self._form.moved.intersection(r.role.name for r in self._effective.roles if plugin in r.plugins)
                self._edit(plugin_edits(self._text, plugin, self._form.items, names if moved else ()))
        gone = {one.entry.node for one, names in self._form.plugin_users.items() if not names}
        references, section = self._job.extras_entry("reference_prerequisites"), self._job.section("extras")
        if references is not None and section is not None and isinstance(section.value, Mapping):
            is_alone = len(section.value.entries) == 1
            gone_entry = section if is_alone else references
            inside = Span(gone_entry.key.span.start, gone_entry.span.end)
            self._drop_comments(inside, above=not is_alone)
        self._edit(extras_edits(self._job, storages, ("reference_prerequisites",), gone))
