"""A YAML text to a tree, as libyaml reads it; pai_lsp/source/recovery.py reads a text that libyaml refuses.

No values are constructed, and limits on size, depth and the size after following aliases keep a hostile file cheap.
Characters that libyaml reads differently than js-yaml are replaced before reading and put back into the tree. Recovery
also replaces the escapes of surrogate pairs such as those of emoji, which libyaml refuses.
"""

from __future__ import annotations

from pai_lsp.source.foreign import MAX_DEPTH
from pai_lsp.source.frozen import dataclass_of_many, field
from pai_lsp.source.libyaml import yaml
from pai_lsp.source.nodes import (
    Alias,
    Anchor,
    Entry,
    Mapping,
    Node,
    ProblemKind,
    Scalar,
    ScalarStyle,
    Sequence,
    SyntaxProblem,
    Tree,
    mapping_of,
    plain_value,
)
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import BEGIN_OF_VALUES, Reader, server_text
from pai_lsp.source.tags import is_of_other_kind, server_refusal, tag_span, with_tag
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Sequence as SequenceOf
    from typing import Any


MAX_NODES = 500_000
MAX_ALIASED_NODES = 20_000

try:
    from yaml._yaml import CParser

    _Parser: Any = CParser
except ImportError:  # a PyYAML built without libyaml
    from pai_lsp.source.python_parser import PythonParser

    _Parser = PythonParser

# js-yaml reads any 1.x, libyaml 1.1 and 1.2.
_VERSION = lazy_pattern(r"\A(%YAML 1\.)\d(?=\s)")
SURROGATE = lazy_pattern("[\ud800-\udfff]")
_PROPERTIES = lazy_pattern(r"(?:(?:&[^\s,\[\]{}]*|!\S*)[ \t\r\n]*)+")
_ANCHOR = lazy_pattern(r"&([^\s,\[\]{}]+)")
_BLANKS: Any = lazy_pattern(r"[ \t]*")
# A comment that follows a block's signs without a blank, which only libyaml accepts.
_STUCK_COMMENT = lazy_pattern(r"[|>][-+0-9]*(?=#)")
# A line after the first one of a value, with its indentation.
_NEXT_LINE: Any = lazy_pattern(r"[\r\n]( *)(?=[^ \r\n])")


def readable(text: str) -> str:
    """The text without a byte order mark; one character replaces each that libyaml reads differently than js-yaml."""
    text = text.removeprefix("\ufeff")
    if text.startswith("%YAML 1."):
        text = _VERSION.sub(r"\g<1>2", text)
    if not text.isascii():
        text = SURROGATE.sub("\ufffd", text)
        text = _TO_BE_READ.sub(lambda match: STAND_INS.get(match[0], "\ufffd"), text)
    if "?" in text:
        text = _QUESTION_MARK.sub(STAND_INS["?"], text)
    return text


def build(
    text: str, reader: Reader = Reader.JS_YAML_3, part: Span | None = None, depth: int = 0
) -> tuple[Tree, yaml.YAMLError | None]:
    """The tree of a text as far as it can be read, and the error where it is not YAML.

    `part` is the part to read, all by default; the tree's places are those in the whole text, the error's those in the
    part. `depth` is the number of collections around it.
    """
    tree = Tree()
    try:
        _Builder(text, part or Span(0, len(text)), tree, depth, reader).build()
    except yaml.YAMLError as error:
        # A traceback refers to the frames of all callers, so their values would not be freed.
        return tree, error.with_traceback(None)
    return tree, None


def first_fault(text: str) -> int | None:
    """The offset where a text turns out not to be YAML; None where it is, or is nested deeper than is read.

    This takes a fraction of the time of building the tree.
    """
    depth = 0
    try:
        for event in iter(_Parser(text).get_event, None):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                break
    except yaml.MarkedYAMLError as error:
        return error.problem_mark.index if error.problem_mark else 0
    except yaml.YAMLError:
        return 0
    return None


def nodes_in(text: str) -> int:
    """How many nodes a text has, those of its collections counted twice; 0 where it is not YAML."""
    try:
        return sum(1 for _ in iter(_Parser(text).get_event, None))
    except yaml.YAMLError:
        return 0


def duplicate_keys(entries: Iterable[Entry]) -> Iterator[SyntaxProblem]:
    """A problem at the first key of a mapping that is written in it before, if there is one; it counts the others.

    js-yaml 3 does not see that `__proto__` is there: it sets the prototype. Source: lib/js-yaml/loader.js,
    storeMappingPair.
    """
    seen: dict[str, Entry] = {}
    again = [entry for entry in entries if seen.setdefault(entry.name, entry) is not entry and not entry.is_merge]
    again = [entry for entry in again if not _sets_prototype(entry.key)]
    if again:
        names = list(dict.fromkeys(entry.name for entry in again))
        others = f"{len(names) - 1} more" if len(names) > 2 else f"'{names[-1]}'"
        subject = f"key '{names[0]}' occurs" if len(names) == 1 else f"keys '{names[0]}' and {others} occur"
        message = f"the {subject} twice in one mapping"
        yield SyntaxProblem(ProblemKind.DUPLICATE_KEY, again[0].key.span, message, seen[names[0]].key.span)


def _sets_prototype(key: Node) -> bool:
    return isinstance(key, Scalar) and key.text == "__proto__" and key.reader is Reader.JS_YAML_3


@dataclass_of_many(slots=True, eq=False)
class _OpenCollection:
    """A collection that is still being read: its children so far (keys and values in turn for a mapping).

    The node of an alias is written elsewhere; `aliases_end` is where the last alias itself ends. `first_anchor` is the
    anchor in front of the first key of a block mapping.
    """

    event: Any
    content_start: int
    anchor: tuple[str, Span] | None
    children: list[Node] = field(default_factory=list)
    aliases_end: int = 0
    weight: int = 1
    first_anchor: tuple[str, Span] | None = None


def _block_span(opened: _OpenCollection, *, is_mapping: bool) -> Span:
    children, start, end = opened.children, opened.content_start, opened.aliases_end
    if not children:
        return Span(start, max(start, end))
    if is_mapping and children[0].span.start > start:
        start = children[0].span.start
    # An alias has the span of its anchor's node; an empty value may be before the end of its key.
    for child in children[-2:]:
        end = max(end, child.span.end)
    return Span(start, end) if start < end else Span(end, start)


class _Builder:
    """Makes the tree of one text, or of a part of it."""

    def __init__(self, text: str, part: Span, tree: Tree, depth: int, reader: Reader) -> None:
        self._text, self._part, self._reader, self._tree = text, part, reader, tree
        self._has_stand_ins = not text.isascii() and _TO_BE_PUT_BACK.search(text, part.start, part.end) is not None
        self._max_open = MAX_DEPTH - depth
        self._open: list[_OpenCollection] = []
        self._named: dict[str, Anchor | None] = {}
        self._weights: dict[Node, int] = {}
        self._aliased = 0
        self._too_large = False

    def build(self) -> None:
        tree, reader, shift = self._tree, self._reader, self._part.start
        next_event = _Parser(self._text[shift : self._part.end]).get_event
        scalar, starts, ends = yaml.ScalarEvent, _STARTS, _ENDS
        scalars, collections, has_stand_ins = tree.scalars, self._open, self._has_stand_ins
        try:
            while not self._too_large and (event := next_event()) is not None:
                kind = type(event)
                if kind is scalar:
                    start, end = event.start_mark.index + shift, event.end_mark.index + shift
                    value: str = event.value
                    if event.style or event.tag or event.anchor or value in _ODD or has_stand_ins:
                        self._scalar(event, start, end)
                        continue
                    # Most scalars: what `_add` does for a node in a collection.
                    node = Scalar(Span(start, end), value, _PLAIN, None, reader)
                    scalars.append(node)
                    if collections and (parent := collections[-1]).weight < MAX_NODES:
                        parent.weight += 1
                        parent.children.append(node)
                    else:
                        self._add(node, 1, None)
                elif kind in starts:
                    self._start(event, event.start_mark.index + shift)
                elif kind in ends:
                    self._close(event.end_mark.index + shift)
                elif kind is yaml.AliasEvent:
                    self._alias(Span(event.start_mark.index + shift + 1, event.end_mark.index + shift))
                elif kind is yaml.DocumentStartEvent:
                    self._named.clear()
                    if tree.documents:
                        start = event.start_mark.index + shift
                        message = "a job file holds one document; this '---' begins another"
                        span = Span(start, max(event.end_mark.index + shift, start))
                        self._problem(ProblemKind.SEVERAL_DOCUMENTS, span, message)
                    tree.documents.append(None)
        finally:
            while self._open:
                self._close(None)

    def _problem(self, kind: ProblemKind, span: Span, message: str, **others: Any) -> None:
        """Report a fault; `others` are those of SyntaxProblem."""
        self._tree.problems.append(SyntaxProblem(kind, span, message, **others))

    def _stop(self, span: Span, message: str) -> None:
        if not self._too_large:
            self._too_large = True
            self._problem(ProblemKind.TOO_LARGE, span, message)

    def _content_start(self, event: Any, start: int) -> tuple[int, tuple[str, Span] | None]:
        """Where the content of a node with an anchor or a tag begins after them, and the anchor."""
        match = _PROPERTIES.match(self._text, start)
        if match is None:
            return start, None
        anchor = None
        if event.anchor is not None and (named := _ANCHOR.search(self._text, start, match.end())):
            anchor = (named[1], Span(*named.span(1)))
        return match.end(), anchor

    def _check_tag(self, node: Node) -> None:
        """Report a tag that js-yaml refuses: for its place, for what follows it, or for its node."""
        text = self._text
        span = tag_span(text, node) or node.span
        end = _BLANKS.match(text, span.end).end()
        removal = ("Remove the tag", TextEdit(Span(span.start, end), ""))
        if self._is_first_key():
            is_same = isinstance(node, Scalar) and Scalar(node.span, node.text, node.style).value == node.value
            message = "a tag is not allowed before the first key of a mapping: the rest-server refuses the file"
            self._refused_by_server(with_tag(text, node), message, removal if is_same else None)
        elif refusal := server_refusal(node):
            message = f"'{text[span.start : span.end]}' {refusal}: the rest-server refuses the file"
            is_other_kind = is_of_other_kind(node)
            self._refused_by_server(with_tag(text, node), message, removal if is_other_kind else None)
        elif span is not node.span and text[span.end : span.end + 1].strip():
            message = f"add a space after '{text[span.start : span.end]}': the rest-server refuses the file"
            blank = ("Add a space", TextEdit(Span(span.end, span.end), " "))
            self._problem(ProblemKind.SYNTAX, span, message, fix=blank)

    def _refused_by_server(self, span: Span, message: str, fix: tuple[str, TextEdit] | None) -> None:
        self._problem(ProblemKind.SYNTAX, span, message, fix=fix, is_of_js_yaml=True)

    def _scalar(self, event: Any, start: int, end: int) -> None:
        written_end = end
        mark: str | None = event.style
        value: str = event.value
        tag, anchor = event.tag, None
        if tag is not None or event.anchor is not None:
            start, anchor = self._content_start(event, start)
            end = max(start, end)
        if not mark:
            if not value:
                end = start = min(start, written_end)
            elif value == "-":
                self._check_lone_dash(Span(start, end))
        elif mark in "|>":
            end = _BLANKS.match(self._text, start + len(self._text[start:end].rstrip(" \t\r\n"))).end()
            if stuck := _STUCK_COMMENT.match(self._text, start):
                message = f"add a space between '{stuck[0]}' and the comment: the rest-server refuses the file"
                blank = ("Add a space", TextEdit(Span(stuck.end(), stuck.end()), " "))
                self._problem(ProblemKind.SYNTAX, Span(start, stuck.end() + 1), message, fix=blank)
        if self._has_stand_ins and not value.isascii():
            value = as_written(value)
        scalar = Scalar(Span(start, end), value, _STYLES[mark], tag, self._reader)
        self._tree.scalars.append(scalar)
        if tag is not None:
            self._check_tag(scalar)
        self._add(scalar, 1, anchor)

    def _start(self, event: Any, start: int) -> None:
        content_start, anchor = start, None
        if event.anchor is not None or event.tag is not None:
            content_start, anchor = self._content_start(event, start)
            if anchor is not None:
                self._named[anchor[0]] = None
        self._open.append(_OpenCollection(event, content_start, anchor))
        if len(self._open) > self._max_open:
            self._stop(Span(start, start + 1), f"nested deeper than {MAX_DEPTH} levels")

    def _close(self, end: int | None) -> None:
        """Finish the innermost collection; `end` is None when the text broke off inside it."""
        opened = self._open.pop()
        event, children = opened.event, opened.children
        is_mapping = type(event) is yaml.MappingStartEvent
        is_flow = bool(event.flow_style)
        if opened.first_anchor and (value := self._without_key(opened, *opened.first_anchor)):
            self._name(opened.first_anchor, value, opened.weight)
            self._add(value, opened.weight, None)
            return
        span = self._flow_span(opened, end) if is_flow else _block_span(opened, is_mapping=is_mapping)
        if is_flow and end is not None:
            self._check_lines_in_brackets(span, children)
        node: Node
        if is_flow and self._is_unquoted_template(span):
            node = Scalar(span, self._text[span.start : span.end])
            message = f"'{node.text}' is read as a mapping; quote it to make it text"
            self._problem(ProblemKind.UNQUOTED_TEMPLATE, span, message)
        elif is_mapping:
            node = mapping_of(span, self._entries(children), is_flow=is_flow, tag=event.tag)
            if len(node.first_by_name) < len(node.entries):
                self._tree.problems += duplicate_keys(node.entries)
            if node.may_merge:
                self._check_merges(node)
        else:
            node = Sequence(span, tuple(children), is_flow, event.tag)
        if node.tag is not None and end is not None:
            self._check_tag(node)
        self._add(node, opened.weight, opened.anchor)

    def _without_key(self, opened: _OpenCollection, name: str, span: Span) -> Node | None:
        """What js-yaml takes for the value of `&name: value`, the only entry of a mapping: the colon is in the name.

        None, and a fault, where an anchor is in front of a key. Source: js-yaml 3.13.1 and 4.1.1, loader.js,
        readAnchorProperty.
        """
        if name.endswith(":") and len(opened.children) == 2 and opened.anchor is None and opened.event.tag is None:
            key, value = opened.children
            self._tree.anchors[:] = [one for one in self._tree.anchors if one.node is not key]
            return value
        message = "an anchor is not allowed before the first key of a mapping: the rest-server refuses the file"
        self._problem(ProblemKind.SYNTAX, Span(span.start - 1, span.end), message)
        return None

    def _flow_span(self, opened: _OpenCollection, end: int | None) -> Span:
        event, children, start = opened.event, opened.children, opened.content_start
        if event.start_mark.index < event.end_mark.index and not self._text.startswith("?", start):
            start = self._text.find("{" if type(event) is yaml.MappingStartEvent else "[", start)
        elif children:  # a pair in a list needs no braces: `[key: value]`
            start = children[0].span.start
        if end is None:
            end = children[-1].span.end if children else start + 1
        return Span(start, max(end, start))

    def _is_first_key(self) -> bool:
        """Whether a node that ends here is the first key of a block mapping, without a `?`.

        js-yaml takes an anchor or a tag in front of it for the mapping's, and then finds no key.
        """
        parent = self._open[-1] if self._open else None
        if parent is None or parent.children or type(parent.event) is not yaml.MappingStartEvent:
            return False
        return not parent.event.flow_style and not self._text.startswith("?", parent.content_start)

    def _check_lone_dash(self, span: Span) -> None:
        """`[-]`: js-yaml takes a dash in brackets for text only where more text follows."""
        if self._open and self._open[-1].event.flow_style and self._text[span.end] in ",[]{}":
            message = "quote a '-' that is alone in brackets: the rest-server refuses the file"
            self._problem(ProblemKind.SYNTAX, span, message, fix=("Quote it", TextEdit(span, "'-'")))

    def _check_lines_in_brackets(self, span: Span, children: Iterable[Node]) -> None:
        """`[one<line break>two]`: js-yaml ends text without quotes at a line that is not indented deeper than the key.

        Source: js-yaml 3.13.1 and 4.1.1, loader.js, readPlainScalar.
        """
        text = self._text
        block = next((one for one in reversed(self._open) if not one.event.flow_style), None)
        if block is None or _NEXT_LINE.search(text, span.start, span.end) is None:
            return
        first = max(block.content_start, block.children[0].span.start if block.children else 0)
        least = first - text.rfind("\n", 0, first)
        for child in children:
            if not isinstance(child, Scalar) or child.style is not _PLAIN or child.span.start not in span:
                continue
            lines = _NEXT_LINE.finditer(text, child.span.start, child.span.end)
            if low := next((line for line in lines if len(line[1]) < least), None):
                written = text[child.span.start : child.span.end]
                deeper = _NEXT_LINE.sub(lambda line: line[0] + " " * (least - len(line[1])), written)
                message = (
                    "in brackets, too, the next line of a value must be indented: the rest-server refuses the file"
                )
                fix = ("Indent the value", TextEdit(child.span, deeper))
                self._problem(ProblemKind.SYNTAX, Span(low.end(), child.span.end), message, fix=fix)

    def _is_unquoted_template(self, span: Span) -> bool:
        """Whether a flow mapping is a `{{ name }}` that its author took for text."""
        text = self._text
        return (
            text.startswith("{{", span.start)
            and text[span.start - 1 : span.start] != "{"
            and "}}" in text[span.start : span.end]
        )

    def _entries(self, children: SequenceOf[Node]) -> tuple[Entry, ...]:
        if len(children) % 2:  # the text broke off after a key
            key = children[-1]
            children = [*children, Scalar(Span(key.span.end, key.span.end), "")]
        keys = children[::2]
        names = [
            key.text
            if type(key) is Scalar and key.text[:1] not in _MAY_BE_VALUES and not key.tag
            else self._key_name(key)
            for key in keys
        ]
        return tuple(map(Entry, keys, children[1::2], names))

    def _key_name(self, key: Node) -> str:
        if isinstance(key, Scalar):
            value = key.value
            return value if isinstance(value, str) else server_text(value)
        if isinstance(key, Sequence) and any(isinstance(item, Sequence) for item in key.items):
            self._problem(ProblemKind.SYNTAX, key.span, "a key cannot be a list of lists")
        return server_text(plain_value(key))

    def _check_merges(self, mapping: Mapping) -> None:
        for entry in mapping.entries:
            if not entry.is_merge:
                continue
            sources = entry.value.items if isinstance(entry.value, Sequence) else (entry.value,)
            for source in sources:
                if not isinstance(source, Mapping) and not self._text.startswith(("*", "{{"), source.span.start):
                    # An alias of a value is marked where it is used; one that has no value, and a template without
                    # quotes, have a fault of their own.
                    is_here = len(source.span) > 0 and source.span.start >= entry.key.span.end
                    span = source.span if is_here else entry.key.span
                    message = "'<<' must be followed by a mapping or a list of mappings"
                    # js-yaml merges a list, too, whose numbers are keys.
                    is_read = isinstance(source, Sequence)
                    self._problem(ProblemKind.SYNTAX, span, message, is_runtime_only=is_read)

    def _alias(self, span: Span) -> None:
        name, place = self._text[span.start : span.end], Span(span.start - 1, span.end)
        anchor = self._named.get(name)
        self._tree.aliases.append(Alias(name, span, anchor))
        if anchor is not None:
            node, weight = anchor.node, self._weights[anchor.node]
            self._aliased += weight
            if self._aliased > MAX_ALIASED_NODES:
                message = f"more than {MAX_ALIASED_NODES:,} values after all aliases are expanded"
                self._stop(span, message)
                return
        else:
            node, weight = Scalar(place, ""), 1
        if name not in self._named:
            self._problem(ProblemKind.SYNTAX, place, f"no anchor is named '{name}'")
        elif self._text[span.end : span.end + 1] == ":":
            # Source: js-yaml 3.13.1 and 4.1.1, loader.js, readAlias.
            message = f"add a space after '*{name}': for the rest-server, the colon is a part of the name"
            self._refused_by_server(place, message, ("Add a space", TextEdit(Span(span.end, span.end), " ")))
        elif anchor is None:
            self._problem(ProblemKind.SELF_ALIAS, place, f"'*{name}' is inside the value that it refers to")
        self._add(node, weight, None)
        if self._open:
            self._open[-1].aliases_end = span.end

    def _add(self, node: Node, weight: int, anchor: tuple[str, Span] | None) -> None:
        if anchor is not None:
            if node.tag is None and self._is_first_key():
                self._open[-1].first_anchor = anchor
            elif anchor[0].endswith(":") and self._open and not self._open[-1].event.flow_style:
                # For js-yaml the colon is a part of the name, and what follows is no entry of a mapping.
                message = f"there is no key after '&{anchor[0][:-1]}': the rest-server refuses the file"
                self._problem(ProblemKind.SYNTAX, Span(anchor[1].start - 1, anchor[1].end - 1), message)
            self._name(anchor, node, weight)
        if not self._open:
            self._tree.documents[-1] = node
            return
        parent = self._open[-1]
        parent.weight += weight
        if parent.weight > MAX_NODES:
            self._stop(Span(node.span.start, node.span.start + 1), f"more than {MAX_NODES:,} values")
        else:
            parent.children.append(node)

    def _name(self, anchor: tuple[str, Span], node: Node, weight: int) -> None:
        named = Anchor(*anchor, node)
        self._tree.anchors.append(named)
        self._named[anchor[0]] = named
        self._weights[node] = weight


_STARTS = frozenset({yaml.MappingStartEvent, yaml.SequenceStartEvent})
_ENDS = frozenset({yaml.MappingEndEvent, yaml.SequenceEndEvent})
_MAY_BE_VALUES = BEGIN_OF_VALUES | {""}
# Plain scalars that need a look at the text around them.
_ODD = frozenset({"", "-"})
_PLAIN = ScalarStyle.PLAIN
_STYLES = {style.value or None: style for style in ScalarStyle} | {"": ScalarStyle.PLAIN}


# Libyaml ends lines at the first three, and refuses a byte order mark inside the text and a tab where a block begins.
# While it reads, the last code points of Unicode replace them; those of the text itself become U+FFFD. So do the
# ones before them for the control characters that js-yaml reads in quotes; recovery finds those.
_CONTROLS = [*map(chr, (0x7F, *range(0x80, 0x85), *range(0x86, 0xA0))), "\ufffe", "\uffff"]
STAND_INS = {
    "\x85": "\U0010fffb",
    "\u2028": "\U0010fffc",
    "\u2029": "\U0010fffd",
    "\ufeff": "\U0010fffe",
    # Libyaml takes a tab nearly everywhere; pai_lsp/source/repairs.py finds the places where it does not.
    "\t": "\U0010ffff",
    # In brackets, libyaml takes `?` for the sign of a key also where no blank follows; js-yaml reads a letter.
    "?": "\U0010ffd8",
} | {character: chr(0x10FFD9 + index) for index, character in enumerate(_CONTROLS)}
_ORIGINALS = {stand_in: character for character, stand_in in STAND_INS.items()}
_TO_BE_READ = lazy_pattern("[\x85\u2028\u2029\ufeff\U0010ffd8-\U0010ffff]")
_TO_BE_PUT_BACK = lazy_pattern("[\U0010ffd8-\U0010ffff]")
_QUESTION_MARK = lazy_pattern(r"(?<=[\s,\[{])\?(?=[^\s,\[\]{}])")


def as_written(text: str) -> str:
    """A part of a text that was read, with the characters that the author wrote."""
    return _TO_BE_PUT_BACK.sub(lambda match: _ORIGINALS.get(match[0], match[0]), text)


# In double quotes, a pair of surrogates or one of them alone.
SURROGATE_ESCAPE = lazy_pattern(
    r"\\(?:u|U0000)[dD][89abAB][0-9a-fA-F]{2}\\(?:u|U0000)[dD][c-fC-F][0-9a-fA-F]{2}|\\(?:u|U0000)[dD][89a-fA-F][0-9a-fA-F]{2}"
)


def joined_surrogates(escapes: str) -> str:
    """The character that `SURROGATE_ESCAPE` means to js-yaml; what the cluster makes of one alone is U+FFFD."""
    codes = [int(escape[-4:], 16) for escape in escapes.split("\\")[1:]]
    if len(codes) < 2:
        return "\ufffd"
    return chr(0x10000 + (codes[0] - 0xD800) * 0x400 + codes[1] - 0xDC00)
