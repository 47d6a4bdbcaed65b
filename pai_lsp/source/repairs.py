"""What is wrong where libyaml stopped, in the author's words, and the smallest change after which it reads on.

Each function knows one sort of fault, and gives None for any other; `next_repair` asks them in turn. Offsets are code
points in the text that libyaml read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.source.building import STAND_INS, SURROGATE_ESCAPE, joined_surrogates
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.libyaml import yaml
from pai_lsp.source.nodes import ProblemKind, Tree
from pai_lsp.source.odd_lines import Repair, odd_line
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import Reader
from pai_lsp.source.text import Span, end_of_line, shortened, start_of_line
from pai_lsp.source.writing import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


_TEMPLATE_VALUE = lazy_pattern(r"(?:^|[:-] +|[,\[] *)(\{\{[^\n]*\}\}[^\n,\]]*)")
# A double-quoted scalar, one of its escapes, and what is between two of them in a text such as `json.dumps` writes.
_DOUBLE_QUOTED = lazy_pattern(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_ESCAPE = lazy_pattern(rf"(?P<surrogates>{SURROGATE_ESCAPE.pattern})|\\.", re.DOTALL)
_UP_TO_QUOTE = lazy_pattern(r'[\s\w,:\[\]{}.-]*(?=")')
# The tokens that separate the items of a list in brackets; a tag with brackets of its own is meant as text.
_FLOW_TOKEN = lazy_pattern(r"""(?P<tag><%[^%]*%>|\{\{[^{}]*\}\})|"(?:[^"\\]|\\.)*"|'[^']*'|(?P<key>:\s)|[\[\]{},]""")
_LONGEST_COMMAND = 2_000
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
# What begins a line after a quote that is not closed: an item of a list or a key.
_NEXT_ITEM = lazy_pattern(r"\n[ \t]*(?:- |[\w.-]+:(?:\s|$))")
_LINE_PROBLEM = lazy_pattern("mapping values|<document start>")
# Directives are only allowed before the line `---`.
_DIRECTIVES = lazy_pattern(r"(?:(?:[%#][^\n]*|[ \t]*)\n)*---(?=\s)")
_COMMENT_AFTER = lazy_pattern(r"\s#")


@dataclass(frozen=True, slots=True, eq=False)
class _ParserFault:
    """Where and why libyaml stopped, in its own words.

    problem: what it found `at` an offset; context: what it was reading, which begins at `context_at`.
    tree: the part of the text that was read before. reader: the rest-server's library.
    """

    text: str
    problem: str
    context: str
    at: int
    context_at: int
    tree: Tree
    reader: Reader = Reader.JS_YAML_3


def next_repair(text: str, error: yaml.YAMLError, tree: Tree, reader: Reader) -> Repair:
    """The fault that libyaml stopped at, and a repair of it."""
    if isinstance(error, yaml.reader.ReaderError):
        # Its position is counted in bytes of UTF-8.
        character = chr(error.character)
        at = text.index(character)
        message = f"the control character U+{error.character:04X} is not allowed in YAML"
        return Repair(message, Span(at, at + 1), ((at, at + 1, STAND_INS.get(character, "_")),))
    fault = _fault(text, error, tree, reader)
    for attempt in (
        _what_js_yaml_reads,
        _unquoted_template,
        _template_in_brackets,
        _stray_tab,
        _open_quote,
        _odd_line,
        _half_typed_key,
        _second_colon,
        _question_mark,
        _nothing_in_brackets,
        _open_bracket,
        _reserved_character,
        _bad_indentation,
    ):
        repair = attempt(fault)
        if repair is not None:
            return repair
    is_outside = "<document start>" in fault.problem
    return _hide_line(text, fault.at, _outside(text, fault.at) if is_outside else _plain_words(fault.problem))


def _odd_line(fault: _ParserFault) -> Repair | None:
    """A line near by that a single slip keeps from being read; flow collections and quotes have their own faults."""
    context, problem = fault.context, fault.problem
    is_list = "alias" in context and fault.text[fault.at - 1 : fault.at + 1] == "* "
    if not (is_list or "block" in context or "simple key" in context or _LINE_PROBLEM.search(problem)):
        return None
    return odd_line(fault.text, fault.at, fault.context_at)


def is_odd_line(text: str, error: yaml.YAMLError, tree: Tree) -> bool:
    """Whether the fault that libyaml stopped at is a slip in a single line near by."""
    return not isinstance(error, yaml.reader.ReaderError) and _odd_line(_fault(text, error, tree)) is not None


def _outside(text: str, at: int) -> str:
    """Why a line is outside of the document that begins above it."""
    first = len(text) - len(text.lstrip())
    if _indentation(text, at) < _indentation(text, first):
        return "this line is indented less than the first line"
    return "the value above is already complete, so nothing can follow it"


def _fault(text: str, error: Any, tree: Tree, reader: Reader = Reader.JS_YAML_3) -> _ParserFault:
    """What an error of YAML's scanner or parser says, which has types nowhere."""
    at = min(error.problem_mark.index, len(text))
    context_at = min(error.context_mark.index, len(text)) if error.context_mark else at
    return _ParserFault(text, error.problem, error.context or "", at, context_at, tree, reader)


def _line(text: str, at: int) -> tuple[int, int]:
    """The line around an offset, without its line end."""
    start = start_of_line(text, at)
    end = end_of_line(text, at)
    return start, max(start, end - 1 if text[end - 1 : end] == "\r" else end)


def _content(text: str, at: int) -> Span:
    """The place on the line of `at` between its indentation and its comment."""
    start, end = _line(text, at)
    line = text[start:end]
    content = line.lstrip()
    first = start + len(line) - len(content)
    if line.startswith("#"):
        return Span(first, first)
    comment = _COMMENT_AFTER.search(content)
    return Span(first, first + (comment.start() if comment else len(content.rstrip())))


def _indentation(text: str, at: int) -> int:
    start, _ = _line(text, at)
    content = _content(text, at)
    return content.start - start


def _plain_words(problem: str) -> str:
    """Libyaml's own words, for a fault that no heuristic knows."""
    words = problem.replace("did not find expected", "expected").replace("did not find", "expected")
    return words.replace("found undefined", "undefined").rstrip(".") or "not YAML"


def _hide_line(text: str, at: int, message: str) -> Repair:
    """Hide one line in the repaired copy: the line of the fault, or the nearest above that is not hidden yet."""
    while not len(content := _content(text, at)) and (start := _line(text, at)[0]):
        at = start - 1
    if not len(content):
        return Repair(message, Span(0, len(text)), ((0, len(text), " " * len(text)),))
    hidden = re.sub(r"[^\n]", "#", text[content.start : content.end])
    # A comment needs white space before it; the hidden text begins its line, so there is some.
    return Repair(message, content, ((content.start, content.end, hidden),))


def _what_js_yaml_reads(fault: _ParserFault) -> Repair | None:
    """`{ports:}`, `%FOO`, a tab that begins a block, and JSON's pairs of surrogates: libyaml alone refuses."""
    text, problem, context, at, context_at = fault.text, fault.problem, fault.context, fault.at, fault.context_at
    if "quoted scalar" in context and "escape" in problem and (escapes := tuple(_surrogates(text, context_at))):
        return Repair("", Span(at, at), escapes)
    if "unknown directive" in problem and _DIRECTIVES.match(text, context_at):
        return Repair("", Span(at, at), ((context_at, context_at + 1, "#"),))
    if "found unexpected ':'" in problem and text[at : at + 1] == ":":
        return Repair("", Span(at, at), ((at + 1, at + 1, " "),))
    if "block scalar" in context and "tab character" in problem and text[at : at + 1] == "\t":
        start, end = _line(text, at)
        # In a folded block a line that begins with a tab is not joined with the next one; an empty line does the same.
        next_line = rf"(?:\r?\n {{0,{at - start}}})*\r?\n {{{at - start}}}(?=\S)"
        is_joined = text[context_at : context_at + 1] == ">" and re.compile(next_line).match(text, end)
        tab = (at, at + 1, STAND_INS["\t"])
        if at > start:
            return Repair("", Span(at, at), (tab, (end, end, "\n")) if is_joined else (tab,))
    return None


def _surrogates(text: str, at: int) -> Iterator[tuple[int, int, str]]:
    """The escapes of surrogates in the double-quoted scalar at `at` and in those that follow, as libyaml reads them."""
    scalar = _DOUBLE_QUOTED.match(text, at)
    while scalar is not None:
        for escape in _ESCAPE.finditer(text, *scalar.span()):
            if surrogates := escape["surrogates"]:
                yield *escape.span(), f"\\U{ord(joined_surrogates(surrogates)):08x}"
        gap = _UP_TO_QUOTE.match(text, scalar.end())
        scalar = _DOUBLE_QUOTED.match(text, gap.end()) if gap else None


def _unquoted_template(fault: _ParserFault) -> Repair | None:
    """`key: {{ x }}/more`: read as a mapping with more text after it."""
    text, at, context_at = fault.text, fault.at, fault.context_at
    for place in (at, context_at):
        start, end = _line(text, place)
        match = _TEMPLATE_VALUE.search(text[start:end])
        if match:
            span = Span(start + match.start(1), start + match.start(1) + len(match[1].rstrip()))
            message = f"'{text[span.start : span.end]}' is read as a mapping; quote it to make it text"
            stand_in = "_" * len(span)
            return Repair(message, span, ((span.start, span.end, stand_in),), ProblemKind.UNQUOTED_TEMPLATE)
    return None


def _template_in_brackets(fault: _ParserFault) -> Repair | None:
    """`[echo <% $data.uri[0] %>]`, `[echo {{ x }}]`: what the inner bracket begins was meant as text."""
    text, at = fault.text, fault.at
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
        elif token["tag"] and token.start() <= at < token.end():
            is_meant = re.search(r"[\[{]", token[0]) is not None
    if not is_meant or _unclosed_bracket(text, item) == item:
        return None
    written = text[item:end].strip()
    start = text.index(written, item)
    span = Span(start, start + len(written))
    message = "in brackets, unquoted text ends where another bracket begins; quote the whole text"
    inner = (start + match.start() for match in re.finditer("'", written))
    quotes = tuple((place, place, "'") for place in (start, *inner, span.end))
    return Repair(message, span, quotes, title="Quote it", edit=(start, span.end, quoted(written)))


def _stray_tab(fault: _ParserFault) -> Repair | None:
    text, problem, at = fault.text, fault.problem, fault.at
    if "\\t" not in problem and "tab character" not in problem and text[at : at + 1] != "\t":
        return None
    start, _ = _line(text, at)
    tabs = [place for place in range(start, start + _indentation(text, at)) if text[place] == "\t"]
    tabs = tabs or ([at] if text[at : at + 1] == "\t" else [])
    if not tabs:
        return None
    span = Span(tabs[0], tabs[-1] + 1)
    replacements = tuple((tab, tab + 1, " ") for tab in tabs)
    spaces = (span.start, span.end, text[span.start : span.end].replace("\t", "  "))
    message = "YAML is indented with spaces, not with tabs"
    # js-yaml 3 counts a tab behind a space as a column of the first line of a block; js-yaml 4 refuses it. In brackets,
    # a tab is a blank to both.
    before = text[:start].rstrip()
    outer = before[before.rfind("\n") + 1 :]
    is_deeper = len(outer) - len(outer.lstrip(" ")) < tabs[0] - start
    is_first = is_deeper and re.search(r":(?:\s+#.*)?\Z", outer) is not None
    is_read = (is_first and fault.reader is Reader.JS_YAML_3) or _unclosed_bracket(text, tabs[0]) != tabs[0]
    return Repair(message, span, replacements, title="Use spaces", edit=spaces, is_runtime_only=is_read)


def _open_quote(fault: _ParserFault) -> Repair | None:
    """A quote that is never closed, or that swallowed the lines up to the next quote."""
    text, problem, context, at, context_at = fault.text, fault.problem, fault.context, fault.at, fault.context_at
    if "quoted scalar" in context and "end of stream" in problem:
        return _close_quote(text, context_at)
    if "quoted scalar" in context and ("escape" in problem or "hexdecimal" in problem):
        # The fault is at an unknown escape, and behind the first two characters of one that lacks digits.
        backslash = text.rfind("\\", context_at, at + ("unknown" in problem))
        written = text[backslash : backslash + 2]
        message = f"{_wrong_escape(written, problem)}; in double quotes write '\\{written}', or use single quotes"
        return Repair(message, Span(backslash, backslash + 2), ((backslash, backslash + 1, "/"),))
    last = fault.tree.scalars[-1] if fault.tree.scalars else None
    if last is None or last.style.value not in {"'", '"'} or at < last.span.end:
        return None
    is_before = "\n" not in text[last.span.end : at]
    is_swallowing = is_before and _NEXT_ITEM.search(text, last.span.start, last.span.end)
    return _close_quote(text, last.span.start) if is_swallowing else None


def _wrong_escape(written: str, problem: str) -> str:
    """What is wrong with an escape, given its first two characters."""
    if digits := _HEX_DIGITS.get(written[1:]):
        is_complete = "Unicode" in problem
        return f"'{written}' needs {'a code up to 10FFFF' if is_complete else f'{digits} hexadecimal digits after it'}"
    return f"'{written}' is not an escape"


def _close_quote(text: str, start: int) -> Repair:
    quote = text[start]
    _, end = _line(text, start)
    stop = max(start + 1, start + len(text[start:end].rstrip()))
    message = f"the {quote} is never closed"
    return Repair(message, Span(start, start + 1), ((stop, stop, quote),), title=f"Close it with {quote}")


def _half_typed_key(fault: _ParserFault) -> Repair | None:
    """A word alone on its line where a `key:` is expected."""
    text, problem, context, at, context_at = fault.text, fault.problem, fault.context, fault.at, fault.context_at
    if "could not find expected ':'" in problem and "simple key" in context:
        content = _content(text, context_at)
        if content.start <= context_at and len(content):
            return _key_without_colon(text, Span(context_at, content.end))
    if "mapping values are not allowed" in problem and (start := _line(text, at)[0]):
        above = _content(text, start - 1)
        word = text[above.start : above.end]
        if re.fullmatch(r"(?:- )?[\w.-]+", word) and _indentation(text, above.start) < _indentation(text, at):
            return _key_without_colon(text, above)
    return None


def _key_without_colon(text: str, span: Span) -> Repair:
    word = text[span.start : span.end].removeprefix("- ")
    start = span.end - len(word)
    replacement = (span.end, span.end, ":")
    return Repair(f"expected ':' after '{shortened(word)}'", Span(start, span.end), (replacement,), title="Add ':'")


def _second_colon(fault: _ParserFault) -> Repair | None:
    """`key: value: more`, and a line indented deeper than the value above allows."""
    text, problem, at = fault.text, fault.problem, fault.at
    if "mapping values are not allowed" not in problem:
        return None
    start, _ = _line(text, at)
    content = _content(text, at)
    before = text[content.start : at]
    colon = re.search(r":\s", before)
    if colon is not None:
        value = Span(content.start + colon.end(), content.end)
        edit = _quoting(text, value)
        message = "a value that holds ': ' must be quoted"
        return Repair(message, value, ((at, at + 1, "_"),), title="Quote it", edit=edit)
    depth = _indentation(text, _content(text, start - 1).start) if start else content.start
    if before and depth < content.start - start:
        message = f"'{before.strip()}' is indented deeper than the key above it, which already has a value"
        surplus = content.start - start - depth
        return Repair(message, Span(content.start, at), ((start, start + surplus, ""),))
    return None


def _open_bracket(fault: _ParserFault) -> Repair | None:
    """`[a, b` or `{a: 1` without its end."""
    text, problem, context, at, context_at = fault.text, fault.problem, fault.context, fault.at, fault.context_at
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
        return Repair(message, Span(context_at, context_at + 1), (replacement,), title=f"Close it with '{closer}'")
    tail = re.sub("[^ ]", "#", text[at : content.end])
    message = f"expected ',' or '{closer}' before '{shortened(text[at : content.end], 20)}'"
    return Repair(message, Span(at, content.end), ((at, content.end, f"{closer} {tail}"),))


def _question_mark(fault: _ParserFault) -> Repair | None:
    """`key: ? value`, which js-yaml 3.13.1 reads as a second key."""
    text, at = fault.text, fault.at
    if "mapping keys are not allowed" not in fault.problem or text[at : at + 1] != "?":
        return None
    span = Span(at, _content(text, at).end)
    is_read = fault.reader is Reader.JS_YAML_3
    message = "a plain value cannot begin with '? '; quote it"
    return Repair(message, span, (_quoting(text, span),), title="Quote it", is_runtime_only=is_read)


def _nothing_in_brackets(fault: _ParserFault) -> Repair | None:
    """`[a, , b]`, `{: value}` and `[:word]`, which PyYAML refuses.

    js-yaml reads an empty key, and 3.13.1 null between two commas, which 4.1.1 refuses.
    Source: lib/js-yaml/loader.js, readFlowCollection.
    """
    text, at = fault.text, fault.at
    character = text[at : at + 1]
    if "flow node" not in fault.context or character not in {",", ":"}:
        return None
    before = at - 1
    while text[before] in " \t\r\n":
        before -= 1
    if text[before] not in "[{,:":
        return None
    span, empty = Span(at, at + 1), ((at, at, "~"),)
    if character == ",":
        is_read = fault.reader is Reader.JS_YAML_3
        message = "there is nothing before this comma; remove it or write a value"
        return Repair(message, span, empty, title="Remove ','", edit=(at, at + 1, ""), is_runtime_only=is_read)
    word = _COLON_WORD.match(text, at)
    if word is None:
        return Repair("there is no key before ':'", span, empty, is_runtime_only=True)
    span = Span(at, at + len(word[0].rstrip()))
    message = "a plain value in brackets cannot begin with ':'; quote it"
    return Repair(message, span, (_quoting(text, span),), title="Quote it", is_runtime_only=True)


def _quoting(text: str, span: Span) -> tuple[int, int, str]:
    """The replacement that quotes a part of the text."""
    return span.start, span.end, quoted(text[span.start : span.end])


def _unclosed_bracket(text: str, at: int) -> int:
    """The offset of the nearest bracket before `at` that is not closed; `at` without one."""
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


# A plain value in brackets that begins with a colon, and perhaps spaces.
_COLON_WORD = lazy_pattern(r":[^\s,\[\]{}](?:(?!:[\s,\[\]{}]|\s#)[^,\[\]{}\n])*")
# A name as the rest-server's js-yaml reads it, followed by a value, a bracket or nothing, and the start of one.
_ANCHOR_NAME = lazy_pattern(r"[&*][^\s,\[\]{}]+(?=[\s,\]}]|\Z)")
_ANCHOR_START = lazy_pattern(r"(?<![^\s,\[{])[&*][\w-]+\Z")


def _reserved_character(fault: _ParserFault) -> Repair | None:
    """A plain value that begins with a character that YAML keeps for itself: @ ` % * & !."""
    text, problem, context, at, context_at = fault.text, fault.problem, fault.context, fault.at, fault.context_at
    place = at if "cannot start any token" in problem else context_at
    anchor = "while scanning an a" in context or "while scanning a tag" in context or "directive" in context
    if "cannot start any token" not in problem and not anchor:
        return None
    character = text[place : place + 1]
    if not character or character in " \n\r#":
        return None
    # Libyaml ends a name at some of these characters.
    begun = _ANCHOR_START.search(text, start_of_line(text, place), place)
    if (begun or "while scanning an a" in context) and (
        name := _ANCHOR_NAME.match(text, begun.start() if begun else place)
    ):
        message = f"an anchor or alias can only have letters, digits, '_' and '-' in its name, unlike '{name[0]}'"
        valid = "".join(one if one.isascii() and (one.isalnum() or one in "_-") else "_" for one in name[0][1:])
        return Repair(message, Span(*name.span()), ((name.start() + 1, name.end(), valid),), is_runtime_only=True)
    content = _content(text, place)
    message = f"a plain value cannot begin with '{character}'; quote it"
    span = Span(place, max(content.end, place + 1))
    edit = _quoting(text, span)
    return Repair(message, span, ((place, place + 1, "_"),), title="Quote it", edit=edit)


def _bad_indentation(fault: _ParserFault) -> Repair | None:
    """A line that belongs to no level of the indentation above it, or that breaks a list."""
    text, problem, context, at, context_at = fault.text, fault.problem, fault.context, fault.at, fault.context_at
    content = _content(text, at)
    if not len(content) or at > content.start or not context.startswith("while parsing a block"):
        return _hide_rest(text, problem, at) if len(content) and at > content.start else None
    start, _ = _line(text, at)
    depth, wanted = content.start - start, _indentation(text, context_at)
    word = text[content.start : content.end]
    shown = shortened(word)
    if "'-' indicator" in problem:
        return _hide_line(text, at, f"expected '- ' before '{shown}', as in the lines above")
    if depth != wanted and context_at < start:
        message = f"'{shown}' is indented by {depth}, but the lines that it belongs to are indented by {wanted}"
        return Repair(message, content, ((start, content.start, " " * wanted),))
    return _hide_line(text, at, f"'{shown}' does not belong here")


def _hide_rest(text: str, problem: str, at: int) -> Repair:
    """Hide the end of a line: `key: "value" more`."""
    content = _content(text, at)
    word = text[at : content.end]
    if not word.strip():
        return _hide_line(text, at, _plain_words(problem))
    message = f"'{shortened(word)}' is not expected after the value"
    return Repair(message, Span(at, content.end), ((at, content.end, " " * len(word)),))
