"""The tree of a YAML text: nodes with the places of every key and value, and what is wrong with the text.

A node holds what the rest-server's js-yaml reads; `Scalar.runtime_value` is what the runtime's PyYAML reads; what
explicit tags do to both is in pai_lsp/source/tags.py.
Aliases share nodes; a tree that passed the caps of building.py may be walked naively.
"""

from __future__ import annotations

from enum import Enum

from pai_lsp.source.frozen import dataclass, dataclass_of_many, field
from pai_lsp.source.libyaml import Resolver, SafeConstructor, ScalarNode, yaml
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import BEGIN_OF_VALUES, REFUSED, Reader, is_plain_decimal, server_value, tagged_server_value
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypeAlias

YAML_TAG = "tag:yaml.org,2002:"
# The tag `!`: js-yaml takes a scalar for text, PyYAML as if it were plain, quoted or not.
NO_TYPE = "!"


class ScalarStyle(Enum):
    """How a scalar is written; the values are YAML's indicators."""

    __hash__ = object.__hash__  # the one of Enum is many times slower

    PLAIN = ""
    SINGLE = "'"
    DOUBLE = '"'
    LITERAL = "|"
    FOLDED = ">"


@dataclass_of_many(frozen=True, slots=True, eq=False)
class Scalar:
    """A scalar; `span` holds the quotes or the block's indicator, `text` is its content; `reader` reads its value."""

    span: Span
    text: str
    style: ScalarStyle = ScalarStyle.PLAIN
    tag: str | None = None
    reader: Reader = Reader.JS_YAML_3

    @property
    def value(self) -> Any:
        """What the rest-server reads: None, bool, int, float, str, scalar.Date or scalar.Binary.

        Where it refuses the tag, the text as written.
        """
        if self.tag is None:
            text = self.text
            if self.style is not ScalarStyle.PLAIN or (text and text[0] not in BEGIN_OF_VALUES):
                return text
            return server_value(text, self.reader)
        kind = self.tag.removeprefix(YAML_TAG)
        if self.is_empty:
            return "" if kind == "str" else None
        value = self.text if self.tag == NO_TYPE else tagged_server_value(kind, self.text, self.reader)
        return self.text if value is REFUSED else value

    @property
    def runtime_value(self) -> Any:
        """What the runtime's PyYAML reads; a `ValueError` instance where it fails."""
        tag = self.tag
        if tag is None and (self.style is not ScalarStyle.PLAIN or self.text[:1] not in _SPECIAL_STARTS):
            return self.text
        if tag is None and is_plain_decimal(self.text):
            return int(self.text)
        if tag is None or tag == NO_TYPE:
            is_float = self.reader is Reader.JS_YAML_3 and _FLOAT_OF_PYYAML_5.fullmatch(self.text)
            tag = f"{YAML_TAG}float" if is_float else _RESOLVER.resolve(ScalarNode, self.text, (True, False))
        try:
            # A tag of a collection gives its value only in a document, and a constructor keeps all that it has made.
            return SafeConstructor().construct_document(ScalarNode(tag, self.text))
        except _CONSTRUCTOR_FAULTS as error:
            return ValueError(str(error))

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written, which is null and fits tags of collections too."""
        return self.style is ScalarStyle.PLAIN and not self.text

    @property
    def is_string(self) -> bool:
        """Whether the rest-server reads a string."""
        return isinstance(self.value, str)

    @property
    def is_block(self) -> bool:
        """Whether it is written as a literal or folded block."""
        return self.style in {ScalarStyle.LITERAL, ScalarStyle.FOLDED}


@dataclass_of_many(frozen=True, slots=True, eq=False)
class Entry:
    """A key of a mapping with its value, as written; `name` is the key as the rest-server reads it."""

    key: Node
    value: Node
    name: str

    @property
    def span(self) -> Span:
        """From the key to the end of the value."""
        return Span(self.key.span.start, max(self.key.span.end, self.value.span.end))

    @property
    def place(self) -> Span:
        """Where to point when the value is wrong: the value, or the key of an empty one."""
        return self.value.span if len(self.value.span) else self.key.span

    @property
    def is_merge(self) -> bool:
        """Whether this is `<<`, or `!!merge` without a text, which takes over another mapping's keys."""
        key = self.key
        if not isinstance(key, Scalar):
            return False
        if key.tag == f"{YAML_TAG}merge":
            return key.text == "<<" or key.is_empty
        return key.text == "<<" and key.tag is None and key.style is ScalarStyle.PLAIN


@dataclass_of_many(frozen=True, slots=True, eq=False)
class Mapping:
    """A mapping: its entries in written order, `<<` among them; `mapping_of` makes one.

    first_by_name: the first entry of each name.
    """

    span: Span
    entries: tuple[Entry, ...]
    is_flow: bool
    tag: str | None
    first_by_name: dict[str, Entry] = field(repr=False)

    @property
    def may_merge(self) -> bool:
        """Whether a key may be `<<`; most mappings are known to have none without looking at each entry."""
        return "<<" in self.first_by_name or "null" in self.first_by_name

    def own(self, name: str) -> Entry | None:
        """The entry written in this very mapping; of several, the first."""
        return self.first_by_name.get(name)

    def entry(self, name: str) -> Entry | None:
        """The entry of that name, own or merged: own ones win, then the first of the merged mappings."""
        own = self.first_by_name.get(name)
        if own is not None and not own.is_merge:
            return own
        return next((found for source in self.merged if (found := source.entry(name))), None)

    def get(self, name: str) -> Node | None:
        """The value of that name, own or merged."""
        entry = self.entry(name)
        return entry.value if entry else None

    @property
    def merged(self) -> tuple[Mapping, ...]:
        """The mappings that `<<` names, in order."""
        if "<<" not in self.first_by_name:
            return ()
        found: list[Mapping] = []
        for entry in self.entries:
            if entry.name == "<<" and entry.is_merge:
                sources = entry.value.items if isinstance(entry.value, Sequence) else (entry.value,)
                found += (source for source in sources if isinstance(source, Mapping))
        return tuple(found)

    def effective_entries(self) -> tuple[Entry, ...]:
        """All entries, merged ones last; a name comes once, except where the author wrote it twice."""
        if not self.may_merge:
            return self.entries
        own = [entry for entry in self.entries if not entry.is_merge]
        names = {entry.name for entry in own}
        for source in self.merged:
            for entry in source.effective_entries():
                if entry.name not in names:
                    names.add(entry.name)
                    own.append(entry)
        return tuple(own)


@dataclass_of_many(frozen=True, slots=True, eq=False)
class Sequence:
    """A list of nodes."""

    span: Span
    items: tuple[Node, ...]
    is_flow: bool = False
    tag: str | None = None


Node: TypeAlias = "Scalar | Mapping | Sequence"


def mapping_of(span: Span, entries: tuple[Entry, ...], *, is_flow: bool = False, tag: str | None = None) -> Mapping:
    """A mapping with these entries."""
    return Mapping(span, entries, is_flow, tag, {entry.name: entry for entry in reversed(entries)})


class ProblemKind(Enum):
    """What sort of fault a text has; the values are the codes of the rules that report them."""

    SYNTAX = "yaml-syntax"
    DUPLICATE_KEY = "duplicate-key"
    SEVERAL_DOCUMENTS = "several-documents"
    UNQUOTED_TEMPLATE = "unquoted-template"
    TOO_LARGE = "too-large-to-read"
    SELF_ALIAS = "alias-inside-itself"


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """Something that a YAML reader of the cluster refuses, or that is not read on purpose.

    other: another place that matters.
    fix: the edit that an author would make, with its title, where one is sure.
    is_runtime_only: whether the rest-server's js-yaml reads it, and only the runtime's PyYAML refuses it.
    is_of_js_yaml: whether only js-yaml refuses it: a tag, or a colon right behind an alias.
    """

    kind: ProblemKind
    span: Span
    message: str
    other: Span | None = None
    fix: tuple[str, TextEdit] | None = None
    is_runtime_only: bool = False
    is_of_js_yaml: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Anchor:
    """`&name` and the node it names; `span` is the name without the `&`."""

    name: str
    span: Span
    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class Alias:
    """`*name`; `span` is the name without the `*`, `anchor` None where nothing has that name."""

    name: str
    span: Span
    anchor: Anchor | None


@dataclass(frozen=True, slots=True, eq=False)
class Syntax:
    """The documents of a text (None for an empty one), and what is wrong with it."""

    text: str
    documents: tuple[Node | None, ...]
    problems: tuple[SyntaxProblem, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    aliases: tuple[Alias, ...] = ()
    scalars: tuple[Scalar, ...] = field(default=(), repr=False)
    reader: Reader = Reader.JS_YAML_3

    @property
    def root(self) -> Node | None:
        """The first document, which is the job."""
        return self.documents[0] if self.documents else None


@dataclass(slots=True)
class Tree:
    """What `build` has read so far; filled while reading, frozen into a `Syntax` by `parse`."""

    documents: list[Node | None] = field(default_factory=list)
    anchors: list[Anchor] = field(default_factory=list)
    aliases: list[Alias] = field(default_factory=list)
    scalars: list[Scalar] = field(default_factory=list)
    problems: list[SyntaxProblem] = field(default_factory=list)


def if_scalar(node: Node | None) -> Scalar | None:
    """The node if it is a scalar."""
    return node if isinstance(node, Scalar) else None


def if_mapping(node: Node | None) -> Mapping | None:
    """The node if it is a mapping."""
    return node if isinstance(node, Mapping) else None


def scalar_text(node: Node | None) -> str:
    """The text of a scalar; empty for anything else."""
    return node.text if isinstance(node, Scalar) else ""


def items_of(node: Node | None) -> tuple[Node, ...]:
    """The items of a list; none of anything else."""
    return node.items if isinstance(node, Sequence) else ()


def entries_of(node: Node | None) -> tuple[Entry, ...]:
    """The entries of a mapping, merged ones last; none of anything else."""
    return node.effective_entries() if isinstance(node, Mapping) else ()


def entry_at(node: Node | None, name: str) -> Entry | None:
    """The entry of that name, own or merged, where the node is a mapping."""
    return node.entry(name) if isinstance(node, Mapping) else None


def value_at(node: Node | None, name: str) -> Node | None:
    """The value of that name, own or merged, where the node is a mapping."""
    return node.get(name) if isinstance(node, Mapping) else None


def walk(node: Node | None) -> Iterator[Node]:
    """The node and all below it in their order, aliases followed; bounded by the caps of `parse`."""
    waiting = [] if node is None else [node]
    while waiting:
        here = waiting.pop()
        yield here
        if isinstance(here, Mapping):
            for entry in reversed(here.entries):
                waiting += entry.value, entry.key
        elif isinstance(here, Sequence):
            waiting += reversed(here.items)


def scalars_below(node: Node | None) -> Iterator[Scalar]:
    """The scalars among the node and all below it, as `walk`."""
    return (below for below in walk(node) if isinstance(below, Scalar))


def entries_below(node: Node | None) -> Iterator[Entry]:
    """The entries of the node and of all mappings below it, as `walk`."""
    return (entry for below in walk(node) if isinstance(below, Mapping) for entry in below.entries)


def nodes_along(node: Node | None, path: Iterable[str | int]) -> tuple[Node, ...]:
    """The node, and those that keys and indexes from 0 lead to; fewer than the path has where it ends too early."""
    found = [] if node is None else [node]
    for step in path:
        node = value_at(node, step) if isinstance(step, str) else next(iter(items_of(node)[step:]), None)
        if node is None:
            break
        found.append(node)
    return tuple(found)


def plain_value(node: Node | None) -> Any:
    """The node as the rest-server's JavaScript value: dict with string keys, list, or what `Scalar.value` gives."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        items = [plain_value(item) for item in node.items]
        if node.tag == f"{YAML_TAG}pairs":
            return [list(pair) for item in items if isinstance(item, dict) for pair in item.items()]
        return items
    if isinstance(node, Mapping):
        return {entry.name: plain_value(entry.value) for entry in node.effective_entries()}
    return None


# Only a plain scalar that begins like this can be anything but text to PyYAML.
_SPECIAL_STARTS = frozenset(Resolver.yaml_implicit_resolvers)
# PyYAML 5, which goes with js-yaml 3, takes these for numbers, PyYAML 6 for strings.
_FLOAT_OF_PYYAML_5 = lazy_pattern(r"\._[0-9_]*(?:[eE][-+][0-9]+)?")
_RESOLVER: Any = Resolver()  # types-PyYAML leaves `resolve` untyped
# What PyYAML's constructors raise where a tag or a date does not fit; only the first is meant.
_CONSTRUCTOR_FAULTS = (yaml.YAMLError, ValueError, LookupError, AttributeError, OverflowError)
