"""What each `<% … %>` of a job finds: a value, or the step of its path at which it finds nothing.

The rest-server and the runtime look up paths differently: the same text can be right in a command and fatal in a
callback. Sources: rest-server, middlewares/v2/protocol.js, render, with mustache.js 2.3.2, Context.lookup (on what
js-yaml read); openpai-runtime, src/init.d/initializer.py, replace_ref (on what PyYAML read, or for secrets on what the
rest-server wrote).
"""

from __future__ import annotations

from enum import Enum

from pai_lsp.embedded.template import ROOTS, TagKind
from pai_lsp.job.template_uses import RUNTIME_PLACES, TemplatePlace, TemplateUse
from pai_lsp.job.this_lookup import is_this
from pai_lsp.platform.tables import ROLE_TYPES, converted_role_name
from pai_lsp.source.foreign import number_of
from pai_lsp.source.frozen import dataclass_of_many
from pai_lsp.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import start_of_line
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Mapping as MappingOf

    from pai_lsp.embedded.template import PathStep, TemplateTag
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.tree import JobTree
    from pai_lsp.source.text import Span


_COMMENT = lazy_pattern(r"[ \t]*#")
_INDEX = lazy_pattern(r"0|[1-9][0-9]{0,8}")


class PathOutcome(Enum):
    """The result of looking up a path."""

    __hash__ = object.__hash__  # the one of Enum is many times slower

    FOUND = "found"
    NULL = "null"
    UNKNOWN_ROOT = "unknown root"
    ROOT_NOT_FILLED = "a root that is not filled here"
    NO_FIELD = "a role without the field"
    UNDEFINED = "no such parameter or secret"
    NO_MEMBER = "no such key below"
    OUT_OF_RANGE = "past the end of a list"
    DOTTED_INDEX = "an index after a dot, where only brackets work"


@dataclass_of_many(frozen=True, slots=True)
class PathEnd:
    """The end of a path.

    step: the index of the step that finds nothing, or of the last one.
    container: the node in which that step was looked up; None for the root, and if a value is found.
    node: the value found; None for nothing, for a character and for a length.
    definition: the prerequisite that the root means.
    """

    outcome: PathOutcome
    step: int
    container: Node | None = None
    node: Node | None = None
    definition: Definition | None = None


def followed(tag: TemplateTag, top: Mapping | None, definition: Definition | None, *, in_plugin: bool) -> PathEnd:
    """Follow a tag's path from the value of its root, `top`; None if the job has no such section."""
    steps = tag.runtime_steps if in_plugin else tag.server_steps
    last = len(steps) - 1
    if top is None:
        return PathEnd(PathOutcome.UNDEFINED, min(1, last))
    is_secret = steps[0].name == "$secrets"
    here: Node = top
    for number, step in enumerate(steps[1:], 1):
        if in_plugin:
            below, outcome = _runtime_step(here, step.name, is_last=number == last, is_secret=is_secret)
        else:
            below, outcome = _server_step(here, str(step.name), is_last=number == last)
        if below is None:
            is_name = number == 1 and definition is None and outcome is PathOutcome.NO_MEMBER
            return PathEnd(PathOutcome.UNDEFINED if is_name else outcome, number, here, None, definition)
        if not in_plugin and isinstance(below, Scalar) and below.value is None:
            return PathEnd(PathOutcome.NULL, number, here, below, definition)
        here = below
    is_null = in_plugin and isinstance(here, Scalar) and (here.value if is_secret else here.runtime_value) is None
    return PathEnd(PathOutcome.NULL if is_null else PathOutcome.FOUND, last, None, here, definition)


def _server_step(here: Node, name: str, *, is_last: bool) -> tuple[Node | None, PathOutcome]:
    """Follow a name as JavaScript does: keys, indexes of lists and strings, and their `length`.

    The node, and the outcome if there is none: a length or a character of a string is found, and not a node.
    """
    if isinstance(here, Mapping):
        return here.get(name), PathOutcome.NO_MEMBER
    if isinstance(here, Sequence) or here.is_string:
        size = len(here.items) if isinstance(here, Sequence) else len(here.text)
        is_index = _INDEX.fullmatch(name) is not None and number_of(name) < size
        if isinstance(here, Sequence) and is_index:
            return here.items[number_of(name)], PathOutcome.FOUND
        if is_last and (is_index or name == "length"):
            return None, PathOutcome.FOUND
        if name.isdigit():
            return None, PathOutcome.OUT_OF_RANGE
    return None, PathOutcome.NO_MEMBER


def _runtime_step(here: Node, name: str | int, *, is_last: bool, is_secret: bool) -> tuple[Node | None, PathOutcome]:
    """As `_server_step`, as Python does: keys by value and type, indexes in brackets."""
    if isinstance(here, Mapping):
        entry = _entry(here, name, is_secret=is_secret)
        return entry.value if entry else None, PathOutcome.NO_MEMBER
    if isinstance(here, Sequence):
        if isinstance(name, int):
            return here.items[name] if name < len(here.items) else None, PathOutcome.OUT_OF_RANGE
        return None, PathOutcome.DOTTED_INDEX if name.isdigit() else PathOutcome.NO_MEMBER
    if isinstance(name, int) and isinstance(here.runtime_value, str):
        is_character = is_last and name < len(here.text)
        return None, PathOutcome.FOUND if is_character else PathOutcome.OUT_OF_RANGE
    return None, PathOutcome.NO_MEMBER


def _entry(mapping: Mapping, name: str | int, *, is_secret: bool) -> Entry | None:
    """The entry of a key; even of one that the runtime does not read as a string (`on`), which has its own rule."""
    entry = mapping.entry(str(name))
    if entry is None or isinstance(name, str) or not isinstance(entry.key, Scalar):
        return entry
    return entry if not is_secret and entry.key.runtime_value == name else None


# Characters that a path does not have: of variables that are filled first, and of a tag that is not closed.
_NO_NAME = frozenset("{<")
# The field of a task role that gives the value of a root.
ROLE_FIELDS = {f"${kind}": kind for kind in ROLE_TYPES}


@dataclass_of_many(frozen=True, slots=True, eq=False)
class TemplateAnswer:
    """What one `<% %>` finds; the same for all its `roles`.

    step: the index of the step that finds nothing, or of the last one.
    container: the node in which that step was looked up; None for the root.
    node: the value found; None for nothing, for a character and for a length.
    field_value: the prerequisite that `$data`, `$script` or `$output` means.
    """

    use: TemplateUse
    outcome: PathOutcome
    step: int
    roles: tuple[TaskRole, ...]
    root: str
    container: Node | None
    node: Node | None
    field_value: Definition | None

    @property
    def steps(self) -> tuple[PathStep, ...]:
        """The path, as the rest-server or the runtime splits it."""
        return self.use.tag.runtime_steps if self.in_plugin else self.use.tag.server_steps

    @property
    def name(self) -> str:
        """The step that finds nothing, or the last one."""
        return str(self.steps[self.step].name)

    @property
    def path_above(self) -> str:
        """The written path up to that step."""
        return self.use.tag.content[: self.steps[self.step].span.start - self.use.tag.content_span.start].rstrip(".[ ")

    @property
    def span(self) -> Span:
        """The place of that step; of the whole content, if the step is empty."""
        return self.step_span(self.step)

    def step_span(self, number: int) -> Span:
        """The place of one step of the path; of the whole content, if the step is empty."""
        span = self.steps[number].span
        if not len(span):
            return self.use.content_span
        return self.use.text.span(span.start, span.end)

    @property
    def in_plugin(self) -> bool:
        """Whether the runtime looks it up, before the task starts."""
        return self.use.place in RUNTIME_PLACES


def template_answers(
    job: JobTree, uses: Iterable[TemplateUse], roles_running: Callable[[Definition], tuple[TaskRole, ...]]
) -> tuple[TemplateAnswer, ...]:
    """What every `<% %>` that is filled finds, in the order of the uses.

    Without those whose section has the wrong shape or whose field names no prerequisite, and those that are never
    filled: in unused deployments, prerequisites that no task role runs, commented lines, and dropped sections.
    """
    finder = _Finder(job, roles_running)
    return tuple(answer for use in uses for answer in finder.answers(use))


class _Finder:
    """Looks paths up in one job."""

    def __init__(self, job: JobTree, roles_running: Callable[[Definition], tuple[TaskRole, ...]]) -> None:
        self._job = job
        self._roles_running = roles_running

    def answers(self, use: TemplateUse) -> Iterable[TemplateAnswer]:
        tag = use.tag
        if tag.kind is not TagKind.NAME or tag.in_section or not tag.content or not _NO_NAME.isdisjoint(tag.content):
            return ()
        if use.place is TemplatePlace.COMMANDS and use.role is not None:
            return () if _is_in_comment(use) else self._by_role(use, (use.role,))
        if use.place is TemplatePlace.AUTH:
            return self._in_auth(use)
        if use.place is TemplatePlace.DEFINITION and use.definition is not None:
            return () if is_this(tag) else self._by_role(use, self._roles_running(use.definition))
        if use.place is TemplatePlace.PLUGIN and (plugin := use.plugin) is not None:
            roles = self._job.task_roles
            return self._by_role(use, tuple(role for role in roles if plugin.acts_for(converted_role_name(role.name))))
        return ()

    def _by_role(self, use: TemplateUse, roles: tuple[TaskRole, ...]) -> list[TemplateAnswer]:
        in_plugin = use.place in RUNTIME_PLACES
        root = _root(use.tag.content, in_plugin=in_plugin)
        if root not in ROLE_FIELDS:  # the same for all of them
            return _answers(use, root, {self._in_section(use.tag, root, in_plugin=in_plugin): roles}) if roles else []
        by_end: dict[PathEnd | None, list[TaskRole]] = {}
        for role in roles:
            by_end.setdefault(self._in_field(use.tag, ROLE_FIELDS[root], role, in_plugin=in_plugin), []).append(role)
        return _answers(use, root, by_end)

    def _in_field(self, tag: TemplateTag, field: str, role: TaskRole, *, in_plugin: bool) -> PathEnd | None:
        if role.field(field) is None:
            return PathEnd(PathOutcome.NO_FIELD, 0)
        definition = self._job.named_by(role, field)
        return followed(tag, definition.node, definition, in_plugin=in_plugin) if definition else None

    def _in_section(self, tag: TemplateTag, root: str, *, in_plugin: bool) -> PathEnd | None:
        """The end of a path that is the same for all roles; None where its section has the wrong shape."""
        if root not in ROOTS:
            return PathEnd(PathOutcome.UNKNOWN_ROOT, 0)
        section = self._job.section(root[1:])
        top = section.value if section else None
        return followed(tag, top, None, in_plugin=in_plugin) if top is None or isinstance(top, Mapping) else None

    def _in_auth(self, use: TemplateUse) -> list[TemplateAnswer]:
        root = _root(use.tag.content, in_plugin=False)
        is_filled = root == "$secrets" or root not in ROOTS
        not_filled = PathEnd(PathOutcome.ROOT_NOT_FILLED, 0)
        found = self._in_section(use.tag, root, in_plugin=False) if is_filled else not_filled
        return _answers(use, root, {found: ()})


def _answers(use: TemplateUse, root: str, found: MappingOf[PathEnd | None, Iterable[TaskRole]]) -> list[TemplateAnswer]:
    """The answers for the roles of each end."""
    return [
        TemplateAnswer(use, end.outcome, end.step, tuple(roles), root, end.container, end.node, end.definition)
        for end, roles in found.items()
        if end is not None
    ]


def _root(content: str, *, in_plugin: bool) -> str:
    """The first name of a path."""
    first = content.partition(".")[0]
    return first if in_plugin else first.partition("[")[0]


def _is_in_comment(use: TemplateUse) -> bool:
    """Whether a tag is in a line that is a comment in bash, where its value does not matter."""
    text = use.text.text
    return _COMMENT.match(text, start_of_line(text, use.tag.span.start)) is not None
