"""Reading a text that is not YAML yet: mend a copy, step by step, until it can be read.

Every step mends one fault where libyaml stopped, says it in one sentence on the author's own text, and reads again.
The mended copy is never shown; places in the tree are carried back to the text as written.

The same tree in places of another text: of the one that was mended for it, or of the whole that it is a part of.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from pai_lsp.source.building import SURROGATE_ESCAPE, TAB_STAND_IN, build, joined_surrogates
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Alias, Anchor, Entry, Mapping, Node, ProblemKind, Scalar, Sequence, SyntaxProblem, Tree
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.writing import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Sequence as SequenceOf
    from typing import TypeAlias

    Relocation: TypeAlias = Callable[[Span], Span]


# More faults than a person makes between two looks at the screen; what follows is then left out of the tree.
MAX_STEPS = 24
# Reading a long text over and over would be felt while typing.
MAX_CHARACTERS_READ = 2_000_000
_COST_OF_READING = 1_000

_CONFLICT_START = re.compile(r"^<{7}(?: .*)?$", re.MULTILINE)
_CONFLICT = re.compile(r"^(<{7}|\|{7}|={7}|>{7})(?: .*)?$", re.MULTILINE)
_TEMPLATE_VALUE = re.compile(r"(?:^|[:\-,\[] +)(\{\{[^\n]*\}\}[^\n,\]]*)")
# A double-quoted scalar, one of its escapes, and what stands between two of them in a text such as `json.dumps` writes.
_DOUBLE_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_ESCAPE = re.compile(rf"(?P<surrogates>{SURROGATE_ESCAPE.pattern})|\\.", re.DOTALL)
_UP_TO_QUOTE = re.compile(r'[\s\w,:\[\]{}.-]*(?=")')
# What tells the items of a list in brackets apart; a tag with brackets of its own is meant as text.
_FLOW_TOKEN = re.compile(r"""(?P<tag><%[^%]*%>)|"(?:[^"\\]|\\.)*"|'[^']*'|(?P<key>:\s)|[\[\]{},]""")
_LONGEST_COMMAND = 2_000
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_LINE_CONTENT = re.compile(r"[^\S\n]*(?P<content>[^\n]*?)(?P<comment>(?:^|[^\S\n])#[^\n]*)?[^\S\n]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Step:
    """One fault and the replacements in the mended copy that remove it: `(start, end, new text)`.

    Without a message it is none to js-yaml, and only libyaml needs the replacement.
    `title` names what an author would do about it: `mend` if given, else the one replacement itself.
    """

    message: str
    span: Span
    replacements: tuple[tuple[int, int, str], ...]
    kind: ProblemKind = ProblemKind.SYNTAX
    title: str = ""
    mend: tuple[int, int, str] | None = None


def build_mended(text: str, broken_off: Tree, error: yaml.YAMLError) -> Tree:
    """Read a text that libyaml refuses: all that could be read, and what was wrong, in places of `text`.

    `broken_off` is what had been read when libyaml raised the `error`.
    """
    places = list(range(len(text) + 1))
    problems: list[SyntaxProblem] = []
    mended = text
    mended, markers = _without_conflict_markers(mended)
    problems += markers
    budget = MAX_CHARACTERS_READ
    first_moved: int | None = None
    tree, fault = (broken_off, error) if mended == text else build(mended)
    faults = 0
    while fault is not None and faults < MAX_STEPS:
        step = _next_step(mended, fault, tree)
        mend = _mend(step, places)
        if step.message:
            faults += 1
            problems.append(SyntaxProblem(step.kind, _original(step.span, places), step.message, mend=mend))
        budget -= len(mended) + _COST_OF_READING
        if budget < 0:
            break
        for start, end, new_text in sorted(step.replacements, reverse=True):
            mended = mended[:start] + new_text + mended[end:]
            if len(new_text) != end - start:
                places[start:end] = [places[start]] * len(new_text)
                first_moved = start if first_moved is None else min(first_moved, start)
        tree, fault = build(mended)
    if first_moved is not None:
        tree = relocated(tree, lambda span: _original(span, places), first_moved)
    tree.problems[:0] = _once_a_line(problems, text)
    return tree


def _mend(step: _Step, places: SequenceOf[int]) -> tuple[str, TextEdit] | None:
    if not step.title:
        return None
    start, end, new_text = step.mend or step.replacements[0]
    return step.title, TextEdit(_original(Span(start, end), places), new_text)


def _original(span: Span, places: SequenceOf[int]) -> Span:
    last = len(places) - 1
    start, end = places[min(span.start, last)], places[min(span.end, last)]
    return Span(start, max(start, end))


def _once_a_line(problems: list[SyntaxProblem], text: str) -> list[SyntaxProblem]:
    """The first problem of each line: what follows on the same line is mostly its consequence."""
    seen: set[int] = set()
    kept: list[SyntaxProblem] = []
    for problem in problems:
        line = text.count("\n", 0, problem.span.start)
        if line not in seen:
            seen.add(line)
            kept.append(problem)
    return kept


def _without_conflict_markers(text: str) -> tuple[str, list[SyntaxProblem]]:
    """The text with merge conflicts settled for our side, line for line of the same length."""
    if not _CONFLICT_START.search(text):
        return text, []
    problems: list[SyntaxProblem] = []
    parts: list[str] = []
    hidden = False
    offset = 0
    for line in text.splitlines(keepends=True) if "\x0b" not in text and "\x0c" not in text else _lines(text):
        body = line.rstrip("\r\n")
        marker = _CONFLICT.fullmatch(body)
        if marker:
            if marker[1][0] == "<":
                message = "a merge conflict is left in the file; keep one side and delete the marks"
                problems.append(SyntaxProblem(ProblemKind.SYNTAX, Span(offset, offset + len(body)), message))
            hidden = marker[1][0] in "|="
        parts.append("#" * len(body) + line[len(body) :] if marker or hidden else line)
        offset += len(line)
    return "".join(parts), problems


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _next_step(text: str, error: yaml.YAMLError, tree: Tree) -> _Step:
    """The fault behind libyaml's complaint, and how to get round it."""
    if isinstance(error, yaml.reader.ReaderError):
        at = min(int(error.position), len(text) - 1)
        at = _character_at_byte(text, error, at)
        character = text[at]
        message = f"the control character U+{ord(character):04X} can not stand in YAML"
        return _Step(message, Span(at, at + 1), ((at, at + 1, "_"),))
    problem = str(getattr(error, "problem", "") or "")
    context = str(getattr(error, "context", "") or "")
    at = _index(getattr(error, "problem_mark", None), text)
    context_at = _index(getattr(error, "context_mark", None), text) if getattr(error, "context_mark", None) else at
    for attempt in (
        _what_js_yaml_reads,
        _unquoted_template,
        _template_in_brackets,
        _stray_tab,
        _open_quote,
        _half_typed_key,
        _second_colon,
        _open_bracket,
        _reserved_character,
        _bad_indentation,
    ):
        step = attempt(text, problem, context, at, context_at, tree)
        if step is not None:
            return step
    return _hide_line(text, at, _plain_words(problem))


def _index(mark: object, text: str) -> int:
    return min(int(getattr(mark, "index", len(text))), len(text))


def _character_at_byte(text: str, error: yaml.YAMLError, at: int) -> int:
    """Libyaml counts a forbidden character's place in bytes of UTF-8; find it by what it is."""
    character = getattr(error, "character", None)
    if isinstance(character, int) and (found := text.find(chr(character))) >= 0:
        return found
    return at


def _line(text: str, at: int) -> tuple[int, int]:
    """The line around an offset, without its line end."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return start, max(start, end - 1 if text[end - 1 : end] == "\r" else end)


def _content(text: str, at: int) -> Span:
    """What stands on the line of `at` between its indentation and its comment."""
    start, end = _line(text, at)
    match = _LINE_CONTENT.match(text[start:end])
    if match is None:
        return Span(start, end)
    return Span(start + match.start("content"), start + match.end("content"))


def _indentation(text: str, at: int) -> int:
    start, _ = _line(text, at)
    content = _content(text, at)
    return content.start - start


def _plain_words(problem: str) -> str:
    """Libyaml's complaint, where none of ours fits better."""
    words = problem.replace("did not find expected", "expected").replace("did not find", "expected")
    return words.replace("found undefined", "undefined").rstrip(".") or "not YAML"


def _hide_line(text: str, at: int, message: str) -> _Step:
    """Take one line out of the mended copy: the line of the fault, or the nearest above that is not out already."""
    at = min(at, max(len(text) - 1, 0))
    content = _content(text, at)
    while not len(content) and content.start > 0:
        start, _ = _line(text, content.start)
        if start == 0:
            break
        content = _content(text, start - 1)
    if not len(content):
        return _Step(message, Span(0, len(text)), ((0, len(text), " " * len(text)),))
    hidden = re.sub(r"[^\n]", "#", text[content.start : content.end])
    # A comment needs white space before it; what is hidden begins its line, so there is.
    return _Step(message, content, ((content.start, content.end, hidden),))


def _what_js_yaml_reads(text: str, problem: str, context: str, at: int, context_at: int, tree: Tree) -> _Step | None:
    """`{ports:}`, a block whose first line begins with a tab, and JSON's pairs of surrogates: libyaml alone refuses."""
    del tree
    if "quoted scalar" in context and "escape" in problem and (escapes := tuple(_surrogates(text, context_at))):
        return _Step("", Span(at, at), escapes)
    if "found unexpected ':'" in problem and text[at : at + 1] == ":":
        return _Step("", Span(at, at), ((at + 1, at + 1, " "),))
    if "block scalar" in context and "tab character" in problem and text[at : at + 1] == "\t":
        start, _ = _line(text, at)
        # In a folded block a tab also decides how lines are joined, which no stand-in does.
        if at > start and text[context_at : context_at + 1] == "|":
            return _Step("", Span(at, at), ((at, at + 1, TAB_STAND_IN),))
    return None


def _surrogates(text: str, at: int) -> Iterator[tuple[int, int, str]]:
    """The escapes of surrogates in the double-quoted scalar at `at` and in those that follow, as libyaml reads them."""
    scalar = _DOUBLE_QUOTED.match(text, at)
    while scalar is not None:
        for escape in _ESCAPE.finditer(text, *scalar.span()):
            if escape["surrogates"]:
                yield *escape.span(), f"\\U{ord(joined_surrogates(escape[0])):08x}"
        gap = _UP_TO_QUOTE.match(text, scalar.end())
        scalar = _DOUBLE_QUOTED.match(text, gap.end()) if gap else None


def _unquoted_template(text: str, problem: str, context: str, at: int, context_at: int, tree: Tree) -> _Step | None:
    """`key: {{ x }}/more`: read as a mapping with something behind it."""
    del problem, context, tree
    for place in (at, context_at):
        start, end = _line(text, place)
        match = _TEMPLATE_VALUE.search(text[start:end])
        if match:
            span = Span(start + match.start(1), start + match.start(1) + len(match[1].rstrip()))
            message = f"'{text[span.start : span.end]}' is read as a mapping; quote it to make it text"
            stand_in = "_" * len(span)
            return _Step(message, span, ((span.start, span.end, stand_in),), ProblemKind.UNQUOTED_TEMPLATE)
    return None


def _template_in_brackets(text: str, problem: str, context: str, at: int, context_at: int, tree: Tree) -> _Step | None:
    """`[echo <% $data.uri[0] %>]`: the inner bracket begins a list, which its author took for text."""
    del problem, context, context_at, tree
    start, end = _line(text, at)
    if end - start > _LONGEST_COMMAND:
        return None
    item, is_meant = start, False
    for token in _FLOW_TOKEN.finditer(text, start, end):
        is_outside = token.end() - token.start() == 1 or token["key"]
        if is_outside and is_meant:
            end = token.start()
            break
        if is_outside:
            item = token.end()
        elif token["tag"] and token.start() < at < token.end():
            is_meant = re.search(r"[\[{]", token[0]) is not None
    if not is_meant or _unclosed_bracket(text, item) == item:
        return None
    written = text[item:end].strip()
    start = text.index(written, item)
    span = Span(start, start + len(written))
    message = "in brackets, unquoted text ends where another bracket begins; quote the whole text"
    inner = (start + match.start() for match in re.finditer("'", written))
    quotes = tuple((place, place, "'") for place in (start, *inner, span.end))
    return _Step(message, span, quotes, title="Quote it", mend=(start, span.end, quoted(written)))


def _stray_tab(text: str, problem: str, context: str, at: int, context_at: int, tree: Tree) -> _Step | None:
    del context, context_at, tree
    if "\\t" not in problem and "tab character" not in problem and text[at : at + 1] != "\t":
        return None
    start, end = _line(text, at)
    gap = re.match(r"\s*", text[start:end])
    tabs = [start + index for index, character in enumerate(gap[0] if gap else "") if character == "\t"]
    tabs = tabs or ([at] if text[at : at + 1] == "\t" else [])
    if not tabs:
        return None
    span = Span(tabs[0], tabs[-1] + 1)
    replacements = tuple((tab, tab + 1, " ") for tab in tabs)
    spaces = (span.start, span.end, text[span.start : span.end].replace("\t", "  "))
    message = "YAML is indented with spaces, not with tabs"
    return _Step(message, span, replacements, title="Use spaces", mend=spaces)


def _open_quote(text: str, problem: str, context: str, at: int, context_at: int, tree: Tree) -> _Step | None:
    """A quote that is never closed, or that swallowed the lines up to the next quote."""
    if "quoted scalar" in context and "end of stream" in problem:
        return _close_quote(text, context_at)
    if "quoted scalar" in context and ("escape" in problem or "hexdecimal" in problem):
        backslash = text.rfind("\\", context_at, at + 1)
        if backslash >= 0:
            written = text[backslash : backslash + 2]
            message = f"{_wrong_escape(written, problem)}; in double quotes write '\\{written}', or use single quotes"
            return _Step(message, Span(backslash, backslash + 2), ((backslash, backslash + 1, "/"),))
    last = tree.scalars[-1] if tree.scalars else None
    if (
        last
        and last.style.value in {"'", '"'}
        and "\n" in text[last.span.start : last.span.end]
        and at >= last.span.end
    ):
        inside = text[last.span.start : last.span.end]
        between = text[last.span.end : at]
        if "\n" not in between and re.search(r"\n[ \t]*(?:- )?[\w.-]+:(?:\s|$)", inside):
            return _close_quote(text, last.span.start)
    del context
    return None


def _wrong_escape(written: str, problem: str) -> str:
    """What is wrong with an escape, given its first two characters."""
    if digits := _HEX_DIGITS.get(written[1:]):
        is_complete = "Unicode" in problem
        return f"'{written}' needs {'a code up to 10FFFF' if is_complete else f'{digits} hexadecimal digits after it'}"
    return f"'{written}' is no escape"


def _close_quote(text: str, start: int) -> _Step:
    quote = text[start]
    _, end = _line(text, start)
    stop = max(start + 1, start + len(text[start:end].rstrip()))
    message = f"the {quote} is never closed"
    return _Step(message, Span(start, start + 1), ((stop, stop, quote),), title=f"Close it with {quote}")


def _half_typed_key(text: str, problem: str, context: str, at: int, context_at: int, tree: Tree) -> _Step | None:
    """A word alone on its line where a `key:` must stand."""
    del tree
    if "could not find expected ':'" in problem and "simple key" in context:
        content = _content(text, context_at)
        if content.start <= context_at and len(content):
            return _key_without_colon(text, Span(context_at, content.end))
    if "mapping values are not allowed" in problem:
        start, _ = _line(text, at)
        above = _content(text, start - 1) if start else Span(0, 0)
        word = text[above.start : above.end]
        if re.fullmatch(r"(?:- )?[\w.-]+", word) and _indentation(text, above.start) < _indentation(text, at):
            return _key_without_colon(text, above)
    return None


def _key_without_colon(text: str, span: Span) -> _Step:
    word = text[span.start : span.end].removeprefix("- ")
    shown = word if len(word) <= 40 else word[:39] + "…"
    start = span.end - len(word)
    replacement = (span.end, span.end, ":")
    return _Step(f"expected ':' after '{shown}'", Span(start, span.end), (replacement,), title="Add ':'")


def _second_colon(text: str, problem: str, context: str, at: int, context_at: int, tree: Tree) -> _Step | None:
    """`key: value: more`, and a line indented deeper than the value above allows."""
    del context, context_at, tree
    if "mapping values are not allowed" not in problem:
        return None
    start, _ = _line(text, at)
    content = _content(text, at)
    before = text[content.start : at]
    colon = re.search(r":\s", before)
    if colon is not None:
        value = Span(content.start + colon.end(), content.end)
        mend = (value.start, value.end, quoted(text[value.start : value.end]))
        message = "a value that holds ': ' must be quoted"
        return _Step(message, value, ((at, at + 1, "_"),), title="Quote it", mend=mend)
    above = _content(text, start - 1) if start else content
    depth = _indentation(text, above.start) if start else 0
    if before and depth < content.start - start and start:
        message = f"'{before.strip()}' is indented deeper than the key above it, which has a value already"
        surplus = content.start - start - depth
        return _Step(message, Span(content.start, at), ((start, start + surplus, ""),))
    return None


def _open_bracket(text: str, problem: str, context: str, at: int, context_at: int, tree: Tree) -> _Step | None:
    """`[a, b` or `{a: 1` without its end."""
    del tree
    if "flow" not in context and "flow" not in problem:
        return None
    if "flow node" in context:
        context_at = _unclosed_bracket(text, at)
    opener = text[context_at : context_at + 1]
    if opener not in {"[", "{"}:
        return None
    closer = "]" if opener == "[" else "}"
    content = _content(text, context_at)
    message = f"the '{opener}' is never closed; expected '{closer}'"
    if at >= content.end or "\n" in text[context_at:at]:
        stop = content.end
        replacement = (stop, stop, closer)
        return _Step(message, Span(context_at, context_at + 1), (replacement,), title=f"Close it with '{closer}'")
    tail = "".join("#" if character != " " else " " for character in text[at : content.end])
    message = f"expected ',' or '{closer}' before '{text[at : content.end][:20]}'"
    return _Step(message, Span(at, content.end), ((at, content.end, f"{closer} {tail}"),))


def _unclosed_bracket(text: str, at: int) -> int:
    """The nearest bracket before `at` that has no partner between; `at` where there is none."""
    partners = {"]": "[", "}": "{"}
    waiting: list[str] = []
    for index in range(at - 1, max(at - 10_000, -1), -1):
        character = text[index]
        if character in partners:
            waiting.append(partners[character])
        elif character in "[{":
            if not waiting:
                return index
            waiting.pop()
    return at


def _reserved_character(text: str, problem: str, context: str, at: int, context_at: int, tree: Tree) -> _Step | None:
    """A plain value that begins with a character that YAML keeps for itself: @ ` % * & !."""
    del tree
    place = at if "cannot start any token" in problem else context_at
    anchor = "while scanning an a" in context or "while scanning a tag" in context or "directive" in context
    if "cannot start any token" not in problem and not anchor:
        return None
    character = text[place : place + 1]
    if not character or character in " \n\r#":
        return None
    content = _content(text, place)
    message = f"a plain value can not begin with '{character}'; quote it"
    span = Span(place, max(content.end, place + 1))
    mend = (span.start, span.end, quoted(text[span.start : span.end]))
    return _Step(message, span, ((place, place + 1, "_"),), title="Quote it", mend=mend)


def _bad_indentation(text: str, problem: str, context: str, at: int, context_at: int, tree: Tree) -> _Step | None:
    """A line that belongs to no level of the indentation above it, or that breaks a list."""
    del tree
    content = _content(text, at)
    if not len(content) or at > content.start or not context.startswith("while parsing a block"):
        return _hide_rest(text, problem, at) if len(content) and at > content.start else None
    start, _ = _line(text, at)
    depth, wanted = content.start - start, _indentation(text, context_at)
    word = text[content.start : content.end]
    shown = word if len(word) <= 40 else word[:39] + "…"
    if "'-' indicator" in problem:
        return _hide_line(text, at, f"expected '- ' before '{shown}', as in the lines above")
    if depth != wanted and context_at < start:
        replacement = (start, content.start, " " * wanted)
        return _Step(f"'{shown}' is indented by {depth}, the lines it belongs to by {wanted}", content, (replacement,))
    return _hide_line(text, at, f"'{shown}' does not belong here")


def _hide_rest(text: str, problem: str, at: int) -> _Step:
    """Take the end of a line out: `key: "value" more`."""
    content = _content(text, at)
    word = text[at : content.end]
    if not word.strip():
        return _hide_line(text, at, _plain_words(problem))
    return _Step(
        f"'{word[:40]}' is left over behind the value", Span(at, content.end), ((at, content.end, " " * len(word)),)
    )


def relocated(tree: Tree, relocation: Relocation, unmoved: int = 0) -> Tree:
    """A tree with every span replaced; what ends at offset `unmoved` or before stands where it stood."""
    moved: dict[int, Node] = {}
    documents = [None if node is None else _moved(node, relocation, unmoved, moved) for node in tree.documents]
    anchors = {
        id(anchor): Anchor(anchor.name, relocation(anchor.span), _moved(anchor.node, relocation, unmoved, moved))
        for anchor in tree.anchors
    }
    aliases = [Alias(alias.name, relocation(alias.span), anchors.get(id(alias.anchor))) for alias in tree.aliases]
    scalars = [_moved(scalar, relocation, unmoved, moved) for scalar in tree.scalars]
    problems = [_relocated_problem(problem, relocation) for problem in tree.problems]
    return Tree(
        documents,
        list(anchors.values()),
        aliases,
        [scalar for scalar in scalars if isinstance(scalar, Scalar)],
        problems,
    )


# No function inside the other: one that calls itself is garbage that only Python's collector finds, with all the nodes.
def _moved(node: Node, relocation: Relocation, unmoved: int, moved: dict[int, Node]) -> Node:
    """The node with its new places; `moved` are those that have them already, by what they were."""
    span = node.span
    if span.end <= unmoved:
        return node
    done = moved.get(id(node))
    if done is not None:
        return done
    new: Node
    if isinstance(node, Scalar):
        new = Scalar(relocation(span), node.text, node.style, node.tag)
    elif isinstance(node, Sequence):
        items = [_moved(item, relocation, unmoved, moved) for item in node.items]
        new = Sequence(relocation(span), tuple(items), node.is_flow, node.tag)
    else:
        entries = [
            Entry(
                _moved(entry.key, relocation, unmoved, moved),
                _moved(entry.value, relocation, unmoved, moved),
                entry.name,
            )
            for entry in node.entries
        ]
        new = Mapping(relocation(span), tuple(entries), node.is_flow, node.tag)
    moved[id(node)] = new
    return new


def _relocated_problem(problem: SyntaxProblem, relocation: Relocation) -> SyntaxProblem:
    other = relocation(problem.other) if problem.other else None
    mend = problem.mend
    if mend is not None:
        mend = (mend[0], TextEdit(relocation(mend[1].span), mend[1].new_text))
    return SyntaxProblem(problem.kind, relocation(problem.span), problem.message, other, mend)
