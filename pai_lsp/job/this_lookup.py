"""What `<% this.… %>` finds in a definition of the extended protocol: a value, or the reason why it finds nothing.

`this` is the definition in which the tag is written. A path is looked up among its parameters and other keys, then in
the prerequisites that it requires, nearest first; the first value counts.
Source of the semantics: docs/protocol.md, "Order".
"""

from __future__ import annotations

import re

from pai_lsp.embedded.template import CLOSING, OPENING, tags_without_dollar
from pai_lsp.job.definition import COMMAND_KEYS
from pai_lsp.job.lookup import LookupState
from pai_lsp.job.require_graph import no_parameter
from pai_lsp.source.foreign import number_of
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Scalar, Sequence, scalars_below
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.embedded.template import PathStep, TemplateTag
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.require_graph import RequireGraph
    from pai_lsp.source.content import MappedText
    from pai_lsp.source.nodes import Entry, Node
    from pai_lsp.source.text import Span

_ROOT_END = lazy_pattern(r"[.\[]")
_INDEX = lazy_pattern(r"[0-9]{1,9}")
_FORM = "expected 'this.NAME', with the name of a parameter"

# The entries of a definition that are read before anything in it is filled.
UNFILLED_KEYS = frozenset({"require", "template_variables"})


@dataclass(frozen=True, slots=True)
class ThisFault:
    """Why a tag finds no value.

    step: the number of the step of its path at fault; None for the whole path.
    near: the names that could be meant instead of that step.
    without_blanks: the path as it should be written, where blanks are all that is wrong; else empty.
    """

    message: str
    step: int | None = None
    near: tuple[str, ...] = ()
    without_blanks: str = ""

    def span(self, tag: TemplateTag, text: MappedText) -> Span:
        """The place of the wrong step in the file."""
        span = tag.content_span if self.step is None else tag.steps[self.step].span
        return text.span(span.start, span.end)


@dataclass(frozen=True, slots=True, eq=False)
class ThisAnswer:
    """What a tag finds: a value and its definition, or a fault; nothing at all where a prerequisite is not known.

    entry: the key of the value; None for an item of a list.
    """

    node: Node | None = None
    entry: Entry | None = None
    holder: Definition | None = None
    fault: ThisFault | None = None


def is_this(tag: TemplateTag) -> bool:
    """Whether a tag's path begins with `this`."""
    return _ROOT_END.split(tag.content, maxsplit=1)[0].strip() == "this"


def this_tags(definition: Definition, text: str) -> tuple[TemplateTag, ...]:
    """The `<% this.… %>` in a text of a definition; an image's definition has none."""
    if OPENING not in text or CLOSING not in text or definition.type == "dockerimage":
        return ()
    return tuple(tag for tag in tags_without_dollar(text) if is_this(tag))


def this_uses(definition: Definition) -> Iterator[tuple[Scalar, TemplateTag, ThisFault | None]]:
    """Every `<% this.… %>` in a definition; with a fault where nothing fills it, whatever it finds."""
    for entry in definition.node.effective_entries():
        fault = ThisFault(f"'this' is not filled in '{entry.name}'") if entry.name in UNFILLED_KEYS else None
        for scalar in scalars_below(entry.value):
            for tag in this_tags(definition, scalar.text):
                yield scalar, tag, fault


def this_faults(graph: RequireGraph, definition: Definition) -> Iterator[tuple[Scalar, TemplateTag, ThisFault]]:
    """Every `<% this.… %>` of a definition of the graph that finds no value, and the reason."""
    for scalar, tag, unfilled in this_uses(definition):
        if fault := unfilled or this_answer(graph, definition, tag).fault:
            yield scalar, tag, fault


def this_answer(graph: RequireGraph, definition: Definition, tag: TemplateTag) -> ThisAnswer:
    """What a tag in a definition of the graph finds."""
    return graph.once((definition, tag.content), lambda: _this_answer(graph, definition, tag))


def _this_answer(graph: RequireGraph, definition: Definition, tag: TemplateTag) -> ThisAnswer:
    # The last one is kept, as the tags of a definition are looked up one after the other.
    kept = graph.once("asked", list[Asked])
    if not kept or kept[0].definitions[0] is not definition:
        kept[:] = [asked(graph.reachable([definition]))]
    answer = looked_up(tag, kept[0])
    links = (link for one in kept[0].definitions for link in graph.links(one))
    is_certain = answer.fault is None or _form_fault(tag) is not None
    is_certain = is_certain or all(link.answer.state is not LookupState.UNKNOWN for link in links)
    return answer if is_certain else ThisAnswer()


def this_parameters(graph: RequireGraph, definition: Definition) -> dict[str, Entry]:
    """The parameters that `this.NAME` can mean in a definition of the graph, nearest first."""
    return _values(graph.reachable([definition]))


def _values(definitions: Iterable[Definition]) -> dict[str, Entry]:
    """The first parameter of each name that is a value, and not commands."""
    found: dict[str, Entry] = {}
    for definition in definitions:
        for entry in definition.parameters:
            if entry.name not in COMMAND_KEYS:
                found.setdefault(entry.name, entry)
    return found


@dataclass(frozen=True, slots=True)
class Asked:
    """The definitions that the tags of one are looked up in, in order, and where each name of a value may be found."""

    definitions: tuple[Definition, ...]
    by_name: dict[str, list[Definition]]


def asked(definitions: Iterable[Definition]) -> Asked:
    """The definitions, with an index of the names: a long chain has a tag for each of them."""
    found = Asked(tuple(definitions), {})
    for one in found.definitions:
        names = (*one.parameters, *one.node.effective_entries(), *one.node.entries)
        for name in dict.fromkeys(entry.name for entry in names):
            found.by_name.setdefault(name, []).append(one)
    return found


def looked_up(tag: TemplateTag, asked: Asked) -> ThisAnswer:
    """What a tag finds in its own definition, which is the first one, or in those that it requires."""
    if fault := _form_fault(tag):
        return ThisAnswer(fault=fault)
    number = _first(tag)
    name = str(tag.steps[number].name)
    nearest: ThisFault | None = None
    for definition in asked.by_name.get(name, ()):
        entry = definition.parameter(name) or definition.node.entry(name)
        if entry is not None:
            answer = _below(tag.steps, number, definition, entry)
            if answer.fault is None:
                return answer
            nearest = nearest or answer.fault
    if nearest:
        return ThisAnswer(fault=nearest)
    near = tuple(_values(asked.definitions))
    return _nothing(no_parameter(name, asked.definitions[0].name, near), number, near)


def _first(tag: TemplateTag) -> int:
    """Which step of the path is the parameter's name: `this.NAME` or `this.parameters.NAME`."""
    return 2 if len(tag.steps) > 2 and tag.steps[1].name == "parameters" else 1


def _form_fault(tag: TemplateTag) -> ThisFault | None:
    """What is wrong with a path wherever it is looked up."""
    steps = tag.steps
    if any(isinstance(step.name, str) and step.name != step.name.strip() for step in steps):
        path = re.sub(r"\s*([.\[])\s*", r"\1", tag.content)
        return ThisFault("remove the space around '.' or '['", without_blanks=path)
    number = _first(tag)
    return None if len(steps) > number and isinstance(steps[number].name, str) else ThisFault(_FORM)


def _below(steps: tuple[PathStep, ...], first: int, holder: Definition, top: Entry) -> ThisAnswer:
    """Where the rest of a path leads from the value of a definition's key."""
    here, path = top.value, top.name
    last: Entry | None = top
    for number, step in enumerate(steps[first + 1 :], first + 1):
        name = str(step.name)
        if isinstance(here, Mapping):
            last = here.entry(name)
            if last is None:
                near = tuple(one.name for one in here.effective_entries())
                return _nothing(f"no '{name}' in '{path}'{did_you_mean(name, near)}", number, near)
            here = last.value
        elif isinstance(here, Sequence):
            last, items = None, here.items
            if not _INDEX.fullmatch(name):
                return _nothing(f"'{path}' is a list, so it has no '{name}'; expected '{path}[0]'", number)
            if number_of(name) >= len(items):
                listed = f"a list whose last item is {len(items) - 1}" if items else "which is an empty list"
                return _nothing(f"no item {name} in '{path}', {listed}", number)
            here = items[number_of(name)]
        elif here.value is None:
            return _nothing(f"'{path}' has no value", number - 1)
        else:
            return _nothing(f"'{path}' is a single value, so it has no '{name}'", number)
        path += f"[{name}]" if isinstance(step.name, int) else f".{name}"
    if isinstance(here, Scalar) and here.value is None:
        return _nothing(f"'{path}' has no value", len(steps) - 1)
    if isinstance(here, Mapping):
        return _nothing(f"'{path}' is a mapping; expected one of its keys, '{path}.KEY'", len(steps) - 1)
    return ThisAnswer(here, last, holder)


def _nothing(message: str, step: int, near: tuple[str, ...] = ()) -> ThisAnswer:
    return ThisAnswer(fault=ThisFault(message, step, near))
