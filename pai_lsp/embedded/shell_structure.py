"""How the commands of a script depend on each other: lists, pipelines, compound commands, and what errexit sees of it.

The reader records what it meets as events; this makes a tree of steps of them. Source: the bash reference manual, "The
Set Builtin" (`-e`, `pipefail`), "Lists of Commands" and "Pipelines".
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property

from pai_lsp.embedded.shell_grammar import JOINING
from pai_lsp.embedded.shell_script import Assignment, EventKind, Redirection, run_builtin
from pai_lsp.source.frozen import dataclass, field
from pai_lsp.source.steps import counted
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.shell_script import Event, Script, SimpleCommand, Word

_PIPES = frozenset({"|", "|&"})
_MOST_STEPS = 60
_NOWHERE = Span(0, 0)
# Builtins that end or replace the shell, or leave a trap in it.
_CHANGING = frozenset({"exit", "logout", "return", "exec", "trap"})
# The events with which a step begins.
_STEP_EVENTS = frozenset({EventKind.COMMAND, EventKind.BARE, EventKind.COMPOUND, EventKind.OPEN})


@dataclass(slots=True, eq=False)
class Step:
    """A command, a compound command, a substitution, or assignments alone.

    kind: `command`, `assignment`, `arithmetic`, a reserved word (`if`, `{`, `(` …) for a compound command, the opening
        characters of a substitution, or nothing for the script itself.
    part: the part of the parent that it is in: `condition`, `then`, `body` …
    before, after: the operators around it; empty at the ends of a list.
    prefixes: `!`, `time`, `coproc`.
    defines: the name of the function whose body it is.
    assigned: the variables in front of it.
    siblings, number: the list that it is a part of, and its place there.
    end: the end of a compound command, whose `span` is that of its first word; 0 where nothing closes it.
    """

    kind: str
    parent: Step | None
    part: str = ""
    span: Span = _NOWHERE
    command: SimpleCommand | None = None
    before: str = ""
    after: str = ""
    defines: str = ""
    prefixes: tuple[str, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    assigned: tuple[Assignment, ...] = ()
    steps: list[Step] = field(default_factory=list)
    siblings: list[Step] = field(default_factory=list)
    number: int = 0
    end: int = 0
    substitutions: list[Step] = field(default_factory=list)
    owner: Step | None = None
    is_substitution: bool = False

    @property
    def words(self) -> tuple[Word, ...]:
        """The values that are assigned in front, then the words of the command."""
        values = tuple(one.value for one in self.assigned if one.value is not None)
        return (*values, *self.command.words) if self.command is not None else values

    @property
    def ancestors(self) -> Iterator[Step]:
        """The steps around it, the innermost first; for a substitution, the command that it belongs to."""
        step = self.owner if self.is_substitution else self.parent
        while step is not None:
            yield step
            step = step.owner if step.is_substitution else step.parent

    @property
    def around(self) -> Iterator[Step]:
        """Itself and the steps around it."""
        yield self
        yield from self.ancestors

    def following(self) -> Step | None:
        """The next step of the list."""
        at = self.number + 1
        return self.siblings[at] if at < len(self.siblings) else None

    def preceding(self) -> Step | None:
        """The step before it in the list."""
        return self.siblings[self.number - 1] if self.number else None

    @property
    def pipeline(self) -> list[Step]:
        """The steps of its pipeline, itself included."""
        siblings = self.siblings
        first = last = self.number
        while first and siblings[first].before in _PIPES:
            first -= 1
        while last + 1 < len(siblings) and siblings[last].after in _PIPES:
            last += 1
        return siblings[first : last + 1]

    @property
    def has_piped_input(self) -> bool:
        """Whether it, or a compound command around it, reads a pipe or a file."""
        return any(
            step.before in _PIPES or step.kind == ">(" or any(one.operator[0] == "<" for one in step.redirections)
            for step in self.around
        )

    @property
    def is_background(self) -> bool:
        """Whether it, or a list around it, runs in the background."""
        for step in self.around:
            last = step
            while last.after in JOINING and (following := last.following()) is not None:
                last = following
            if last.after == "&":
                return True
        return False

    @property
    def process(self) -> Step | None:
        """The innermost step around it, or itself, that runs in a process of its own; None for the script's shell.

        What changes the shell, such as `cd`, has no effect outside of it.
        """
        return next((one for one in self.around if one.is_process), None)

    @property
    def is_process(self) -> bool:
        """Whether it runs in a process of its own: `( )`, a substitution, a part of a pipeline or in the background."""
        return self.kind == "(" or self.is_substitution or self.before in _PIPES or self.after in {*_PIPES, "&"}

    @property
    def is_subshell(self) -> bool:
        """Whether what it runs cannot change or replace the shell that reads the script."""
        is_coprocess = any("coproc" in step.prefixes for step in self.around)
        return is_coprocess or self.process is not None or self.is_background


@dataclass(slots=True)
class _Level:
    """A step that is being read: its part, the list there, and what the next step of the list has in front."""

    step: Step
    part: str = ""
    siblings: list[Step] = field(default_factory=list)
    substitutions: list[Step] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    assigned: list[Assignment] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)


class Structure:
    """The tree of a script's steps."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.root = Step("", None)
        self.root.siblings = [self.root]
        steps: list[Step] = []
        self._build(script.events, steps)
        self.all = counted(steps)
        self.has_arithmetic = any(step.kind == "arithmetic" for step in self.all)
        self.calls: dict[str, list[Step]] = {}
        for step in self.all:
            if step.command is not None:
                self.calls.setdefault(step.command.name, []).append(step)

    def _build(self, events: tuple[Event, ...], steps: list[Step]) -> None:
        levels = [_Level(self.root)]
        function = ""
        for kind, text, value in events:
            level = levels[-1]
            span = value if isinstance(value, Span) else _NOWHERE
            if kind in _STEP_EVENTS:
                siblings = level.siblings
                step = Step("assignment", level.step, level.part, span, siblings=siblings, number=len(siblings))
                step.before = siblings[-1].after if siblings else ""
                step.prefixes, level.prefixes = tuple(level.prefixes), []
                if kind is EventKind.COMPOUND:
                    if siblings and siblings[-1].after == "" and siblings[-1].kind == "command":
                        continue  # the brackets of `[[ … ]]`, whose command is there already
                    step.kind = "arithmetic"
                elif kind is EventKind.OPEN:
                    step.kind, step.defines, function = text, function, ""
                elif kind is EventKind.COMMAND:
                    step.kind, step.command = "command", self.script.commands[int(text)]
                    first, last = step.command.words[0].span, step.command.words[-1].span
                    step.span = Span(first.start, last.end)
                if kind is not EventKind.OPEN:
                    step.substitutions, level.substitutions = level.substitutions, []
                    for one in step.substitutions:
                        one.owner = step
                    step.assigned, step.redirections = tuple(level.assigned), tuple(level.redirections)
                    level.assigned, level.redirections = [], []
                    if step.assigned:
                        step.span = Span(step.assigned[0].span.start, max(step.span.end, step.assigned[-1].whole.end))
                level.step.steps.append(step)
                siblings.append(step)
                steps.append(step)
                if kind is EventKind.OPEN:
                    levels.append(_Level(step))
            elif kind is EventKind.PART or (kind is EventKind.CLOSE and len(levels) > 1):
                for one in level.substitutions:  # those in the words of `for` and `case`, whose failure ends nothing
                    one.owner = level.step
                level.part, level.siblings, level.substitutions = text, [], []
                if kind is EventKind.CLOSE:
                    levels.pop().step.end = span.end
            elif kind is EventKind.SUBSTITUTION:
                step = Step(text, level.step, level.part, span, is_substitution=True)
                step.siblings = [step]
                if not text.startswith("<<"):
                    level.substitutions.append(step)
                levels.append(_Level(step))
            elif kind is EventKind.SUBSTITUTION_END:
                while not levels[-1].step.is_substitution:  # what broken text leaves open
                    levels.pop()
                levels.pop().step.span = span
            elif kind is EventKind.OPERATOR:
                if level.siblings and not level.siblings[-1].after:
                    level.siblings[-1].after = text
            elif kind is EventKind.PREFIX:
                level.prefixes.append(text)
            elif kind is EventKind.FUNCTION:
                function = text
            elif isinstance(value, Assignment):
                level.assigned.append(value)
            elif isinstance(value, Redirection) and kind is EventKind.REDIRECTION:
                level.redirections.append(value)
            elif isinstance(value, Redirection):
                level.step.steps[-1].redirections = (*level.step.steps[-1].redirections, value)

    @property
    def has_pipeline(self) -> bool:
        """Whether there is a `|` between two of its commands."""
        return any(step.after in _PIPES for step in self.all)

    @cached_property
    def own_commands(self) -> tuple[SimpleCommand, ...]:
        """The commands that the shell runs itself, not a process of its own: a function's only if it is called."""
        in_shell = [step.command for step in self.all if step.command is not None and not step.is_subshell]
        reached, called = set[str](), [""]
        while called:
            function = called.pop()
            reached.add(function)
            names = {run_builtin(command.words)[0].text for command in in_shell if command.function == function}
            called += (names & self.script.functions) - reached
        return tuple(command for command in in_shell if command.function in reached)

    @cached_property
    def changes_process(self) -> bool:
        """Whether it ends or replaces the shell, or sets a trap, so that commands after it would notice."""
        return any(
            run_builtin(command.words)[0].text in _CHANGING and not (command.function and command.name == "return")
            for command in self.own_commands
        )

    def ends_script(self, step: Step) -> bool:
        """Whether the script ends when this step fails: with errexit and pipefail, and nothing that catches it."""
        return self.is_certain(step) and not self.is_off(step, "e", "errexit")

    def is_certain(self, step: Step, seen: tuple[str, ...] = (), *, is_result: bool = True) -> bool:
        """The same, whatever `set` has switched off.

        is_result: whether the failure is the result of all lists that it is in so far. In a substitution errexit is
            off, so that only the result counts.
        """
        for _ in range(_MOST_STEPS):
            pipeline = step.pipeline
            last = pipeline[-1]
            is_result = is_result and last.number + 1 >= len(last.siblings)
            if "!" in pipeline[0].prefixes or last.after in {"&&", "||"}:
                return False
            if len(pipeline) > 1 and step is not last and self.is_off(step, "", "pipefail"):
                return False
            if step.part == "condition" or step.is_background or "coproc" in pipeline[0].prefixes:
                return False
            parent = step.parent
            if parent is None or not parent.kind:
                return True
            if step.defines:
                return False
            if parent.is_substitution:
                owner = parent.owner
                if not is_result or parent.kind in {"<(", ">("} or owner is None:
                    return False
                if owner.kind != "assignment" or owner.substitutions[-1] is not parent:
                    return False
                step, is_result = owner, True
            elif parent.defines:
                if parent.defines in seen:
                    return False
                calls = self.calls.get(parent.defines, [])
                return any(self.is_certain(call, (*seen, parent.defines), is_result=is_result) for call in calls)
            else:
                step = parent
        return False

    def is_off(self, step: Step, letter: str, name: str) -> bool:
        """Whether `set` has switched an option off before a step, in the same shell."""
        around = [one for one in step.ancestors if one.kind == "(" or one.is_substitution]
        calls = self.calls.get("set", [])
        for call in reversed(calls[: bisect_left(calls, step.span.start, key=lambda one: one.span.start)]):
            shells = [one for one in call.ancestors if one.kind == "(" or one.is_substitution]
            if shells and shells[0] not in around:
                continue
            off = _switched(call.command, letter, name, off=False)
            if off is _switched(call.command, letter, name, off=True):
                return off
        return False


def _switched(command: SimpleCommand | None, letter: str, name: str, *, off: bool) -> bool:
    arguments = command.arguments if command else ()
    for number, argument in enumerate(arguments):
        if argument in {"-o", "+o"} and arguments[number + 1 : number + 2] == (name,):
            off = argument == "+o"
        elif letter and argument[:1] in "+-" and argument[1:].isalpha() and letter in argument[1:]:
            off = argument[0] == "+"
    return off


def structure(script: Script) -> Structure:
    """The tree of a script; made once for each, as its steps are compared by identity."""
    found: Structure | None = script.derived.get(Structure)
    if found is None:
        found = script.derived[Structure] = Structure(script)
    return found


def is_one_word(text: str, word: Word) -> bool:
    """Whether a word of a script is always one word for the program: literal, quoted, or a variable of the platform."""
    if word.is_literal:
        return True
    written = text[word.span.start : word.span.end]
    if written.startswith('"') and written.endswith('"'):
        return True
    bare = written.replace("${", "$").replace("}", "")
    return "$PAI_" in bare and bare.count("$") == bare.count("$PAI_") and "`" not in written and "*" not in written
