"""Command lines in the file: those of a program, their places, and fixes that fit into the way they are written."""

from __future__ import annotations

from pai_lsp.embedded.command_lines import Arguments, command_lines
from pai_lsp.embedded.shell_structure import structure
from pai_lsp.findings.diagnostic import Finding, Fix, Fixes, later
from pai_lsp.findings.fixes import first_of
from pai_lsp.job.uses import command_lists
from pai_lsp.job.variable_places import ScriptPlace, callback_scripts
from pai_lsp.platform.programs import TRAINING, arguments_of, program, program_of
from pai_lsp.source.frozen import dataclass, dataclass_of_many
from pai_lsp.source.nodes import ScalarStyle, scalar_text
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import KeysView, Sequence

    from pai_lsp.embedded.command_lines import CommandLine, Program
    from pai_lsp.embedded.shell_script import Word
    from pai_lsp.findings.diagnostic import Related, Severity
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.source.nodes import Scalar

# What a plain scalar cannot begin with, and what a scalar cannot hold as it is.
_NOT_FIRST = tuple("!&*-?:,[]{}#|>@`\"'% ")
_NOT_WITHIN = {ScalarStyle.DOUBLE: '"\\', ScalarStyle.SINGLE: "'", ScalarStyle.PLAIN: ",[]{}"}
# The programs that start the processes of a training.
LAUNCHING = (*TRAINING, "accelerate launch")
# The programs whose tables are complete enough to compare with.
_PROGRAMS = (
    *LAUNCHING, "horovodrun", "apt-get", "tensorboard", "pip", "git", "wget", "curl", "conda", "azcopy", "unzip", "ssh",
    "scp", "rsync",
)  # fmt: skip


def is_failing_code(arguments: Sequence[str]) -> bool:
    """Whether `exit` or `return` with these arguments is meant as a failure: neither without one nor with `0`."""
    return bool(arguments) and arguments[0] != "0"


@dataclass_of_many(frozen=True, slots=True, eq=False)
class CommandUse:
    """A command line in a script of the file."""

    place: ScriptPlace
    line: CommandLine

    @property
    def role(self) -> TaskRole | None:
        """The task role that runs it; None for a callback."""
        return self.place.role

    @property
    def ends_script(self) -> bool:
        """Whether the script ends when the command fails; not known for a callback."""
        return self.role is not None and structure(self.place.script).ends_script(self.line.step)

    def earlier(self, *programs: str) -> list[CommandLine]:
        """The command lines of some programs that come before it in its script."""
        lines = self.place.lines.by_program
        return [line for name in programs for line in lines.get(name, ()) if line.span.start < self.line.span.start]

    def mentioned(self, part: str) -> bool:
        """Whether a word of the script before the command has a text."""
        return self.place.mentions(part, self.line.span.start)

    @property
    def folder(self) -> str | None:
        """Its working folder, as `CommandLines.folder`."""
        return self.place.lines.folder(self.line)

    def written(self, span: Span) -> str:
        """What the script has at a place."""
        return self.place.written(span)

    def arguments(self, name: str, start: int = 0) -> Arguments:
        """The words from number `start` on, by the table of a program; empty if it has no table."""
        kept, key = self.place.arguments, (self.line, name, start)
        if key not in kept:
            known = program(name)
            kept[key] = arguments_of(self.line, known, start) if known else Arguments()
        return kept[key]

    def span(self, span: Span) -> Span:
        """The place in the file of a place in the script."""
        return self.place.span(span)

    def word(self, word: Word) -> Span:
        """The place of a word in the file."""
        return self.place.span(word.span)


def uses(job: Job, *programs: str, with_callbacks: bool = True) -> Sequence[CommandUse]:
    """The command lines of some programs, in the commands of task roles and in callbacks."""
    by_program = job.once(_found).by_program
    if by_program.keys().isdisjoint(programs):  # for most rules, in most jobs
        return ()
    found = [use for name in programs for use in by_program.get(name, ())]
    return found if with_callbacks else [use for use in found if use.place.role is not None]


def all_uses(job: Job, *, with_callbacks: bool = True) -> Sequence[CommandUse]:
    """Every command line."""
    found = job.once(_found).uses
    return found if with_callbacks else [use for use in found if use.place.role is not None]


def known_lines(job: Job, names: tuple[str, ...] = ()) -> Sequence[tuple[CommandUse, str, Program, Arguments]]:
    """The command lines of programs with a table, with name and table; `names` are those wanted, all without."""
    by_name = job.once(_known_lines)
    if names and by_name.keys().isdisjoint(names):
        return ()
    return [one for name in names or by_name for one in by_name.get(name, ())]


def _known_lines(job: Job) -> dict[str, list[tuple[CommandUse, str, Program, Arguments]]]:
    found: dict[str, list[tuple[CommandUse, str, Program, Arguments]]] = {}
    for use in uses(job, *_PROGRAMS):
        name, start = program_of(use.line) or ("", 0)
        if known := program(name):
            found.setdefault(name, []).append((use, name, known, use.arguments(name, start)))
    return found


def scripts(job: Job, *, with_callbacks: bool = False) -> Sequence[ScriptPlace]:
    """The scripts that bash can read, with every quote closed; those of callbacks too, if wanted."""
    found = job.once(_found).places
    return found if with_callbacks else [place for place in found if place.role is not None]


def programs_of(job: Job) -> KeysView[str]:
    """The programs that the scripts run."""
    return job.once(_found).by_program.keys()


def all_scripts(job: Job) -> tuple[ScriptPlace, ...]:
    """The scripts of task roles and callbacks, those with a syntax error too."""
    return job.once(_found).all_places


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """What all rules ask for, found once for a job.

    all_places: the scripts, those with a syntax error too; the others are about those that bash can read.
    """

    all_places: tuple[ScriptPlace, ...]
    places: tuple[ScriptPlace, ...]
    uses: tuple[CommandUse, ...]
    by_program: dict[str, list[CommandUse]]


def _found(job: Job) -> _Found:
    all_places = (*job.role_scripts, *callback_scripts(job, command_lists(job.uses_of_plugin("cmd"))))
    places = tuple(place for place in all_places if place.script.is_readable and not place.script.is_empty)
    found = tuple(CommandUse(place, line) for place in places for line in command_lines(place.script).all)
    by_program: dict[str, list[CommandUse]] = {}
    for use in found:
        by_program.setdefault(use.line.program, []).append(use)
    return _Found(all_places, places, found, by_program)


def image_address(job: Job, role: TaskRole | None) -> str:
    """The address of the image of a task role; empty where it is not known."""
    image = job.image_of(role) if role else None
    return scalar_text(image.node.get("uri")) if image else ""


def changed(
    place: ScriptPlace,
    span: Span,
    message: str,
    new: str | None,
    title: str = "",
    *,
    at: Span | None = None,
    safe: bool = False,
    related: tuple[Related, ...] = (),
    severity: Severity | None = None,
    cause: str = "",
) -> Finding:
    """The finding about a place of a script, with the fix that writes other text there; None offers no fix.

    `title` is that of the fix, if it does not name the new text, and `at` what is marked, if not the same place.
    """
    fixes = () if new is None else edit_fix(place, title or f"Change to '{new}'", span, new, safe=safe)
    return Finding(place.span(at or span), message, fixes, related, severity=severity, cause=cause)


@later
def edit_fix(place: ScriptPlace, title: str, span: Span, new: str, *, safe: bool = False) -> Fixes:
    """Write other text at a place of a script; nothing where its scalar writes that text in another way."""
    where, text = place.span(span), place.source
    if text[where.start : where.end] != place.written(span):
        return ()
    scalar = scalar_at(place.parts, where.start)
    if scalar is None or not set(new).isdisjoint(_NOT_WITHIN.get(scalar.style, "")):
        return ()
    if scalar.style is ScalarStyle.PLAIN:
        is_begin = where.start == scalar.span.start
        if ": " in new or " #" in new or (is_begin and (new or text[where.end :]).startswith(_NOT_FIRST)):
            return ()
    return (Fix(title, (TextEdit(where, new),), safe),)


def scalar_at(parts: Sequence[Scalar], offset: int) -> Scalar | None:
    """The scalar at an offset of the file."""
    return next((one for one in parts if one.span.start <= offset <= one.span.end), None)


def quote_words_fix(place: ScriptPlace, span: Span) -> Fixes:
    """Write some words of a script in quotes that their scalar allows."""
    written = place.written(span)
    return first_of(*(edit_fix(place, "Quote it", span, mark + written + mark) for mark in "\"'"))


@later
def insert_fix(place: ScriptPlace, at: int, new: str, *, safe: bool = False) -> Fixes:
    """Insert text after offset `at` of a script, which is the end of a word."""
    last = Span(at - 1, at)
    return edit_fix(place, f"Add '{new.strip()}'", last, place.written(last) + new, safe=safe)
