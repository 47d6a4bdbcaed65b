"""What the rest-server makes of a role's commands: `<% %>` filled in as mustache 2.3.2 and its caller do it.

`pai_lsp.embedded.template.tags` finds the tags; here the text around them is kept, with mustache's rule for lines that
hold nothing but a tag. Only text and names are kept; sections, partials, comments and unescaped names vanish.
Sources: mustache.js 2.3.2, parseTemplate; rest-server, src/middlewares/v2/protocol.js, render.

What JavaScript finds under a property name: `<% $parameters.l.length %>` reaches more than a job's own keys.

The rest-server looks paths up with mustache 2.3.2, which follows any property, those of the prototypes among them, and
calls what turns out to be a function on the template's values. The tables say what such a call writes; they were
recorded from mustache 2.3.2. Source: mustache.js 2.3.2, Context.prototype.lookup; ECMAScript.
"""

from __future__ import annotations

from pai_lsp.embedded.template import MISSING, OPENING, SPACES, TagKind, TemplateFault, TemplateTag, server_path, tags
from pai_lsp.source.foreign import number_of
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import Binary, Date, server_text
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


_RUN = lazy_pattern(rf"\n|(?:(?!\n)[{SPACES}])+|[^{SPACES}]+")
# What mustache takes for text on a line, though nothing but a name is kept of it.
_COUNTS_AS_TEXT = frozenset({TagKind.NAME, TagKind.UNESCAPED, TagKind.UNESCAPED_BRACES})
# How many sections a tag opens.
_SECTIONS = {TagKind.SECTION: 1, TagKind.INVERTED: 1, TagKind.END: -1}


def rendered(template: str, values: dict[str, Any], mustache: int = 2) -> str | TemplateFault:
    """The text with its tags filled from `values`, JavaScript values by root; or where the rest-server answers 500.

    `values` holds `$parameters`, `$data` … as `pai_lsp.source.nodes.plain_value` gives them. Names that find nothing
    are put back as `<% name %>`, with `[0]` written `.0`. mustache: the major version of the library.
    """
    if template in failing_names(mustache):
        message = f"a script that is nothing but '{template}' is taken for a template read before"
        return TemplateFault(message, Span(0, len(template)))
    if OPENING not in template:
        return trim(template)
    found, fault = tags(template)
    if fault is not None:
        return fault
    parts: list[str] = []
    for token in _tokens(template, found):
        if isinstance(token, str):
            parts.append(token)
            continue
        path = server_path(token.content)
        try:
            text = written(looked_up(path, values, mustache))
        except CallFailedError as error:
            message = f"'{token.content}' reaches a function of JavaScript that fails, '{error}'"
            return TemplateFault(message, token.span)
        parts.append(f"<% {path} %>" if text is None else text)
    return trim(well_formed("".join(parts)))


def _tokens(template: str, found: Sequence[TemplateTag]) -> list[str | TemplateTag]:
    """The texts and the names outside of all sections; a text in one only counts for its line.

    A line that holds tags without a value and nothing else loses its white space, its line end too.
    """
    tokens: list[str | TemplateTag] = []
    blanks: list[int] = []  # the places of the line's white space among the tokens
    has_tag = has_text = False
    open_sections = at = 0
    for tag in (*found, None):
        for match in _RUN.finditer(template, at, tag.span.start if tag else len(template)):
            text = match[0]
            has_text |= text[0] not in SPACES
            if not open_sections:
                blanks += [len(tokens)] if text[0] in SPACES else []
                tokens.append(text)
            if text == "\n":
                for number in blanks if has_tag and not has_text else ():
                    tokens[number] = ""
                blanks, has_tag, has_text = [], False, False
        if tag is None:
            break
        at, has_tag = tag.span.end, True
        has_text |= tag.kind in _COUNTS_AS_TEXT
        open_sections += _SECTIONS.get(tag.kind, 0)
        if tag.kind is TagKind.NAME and not open_sections:
            tokens.append(tag)
    return tokens


# From this version on, the last name of a path finds what a string or a number has itself, nothing inherited.
# Source: mustache.js 4.2.0, Context.prototype.lookup, primitiveHasOwnProperty.
_OWN_OF_PRIMITIVES_SINCE = 4
_OBJECT_TEXT = "[object Object]"
_INDEX = lazy_pattern(r"0|[1-9][0-9]*")


@dataclass(frozen=True, slots=True)
class Function:
    """A function met on a path.

    result: the text that calling it writes; None where it gives nothing, so that the tag is left as it is.
    fails: whether calling it throws, which makes the rest-server answer 500.
    """

    name: str
    result: str | None = None
    fails: bool = False
    length: int | None = None


class CallFailedError(Exception):
    """A function was called that throws."""


def _functions(results: dict[str | None, str], failing: str = "") -> dict[str, Function]:
    found = {name: Function(name, result) for result, names in results.items() for name in names.split()}
    return found | {name: Function(name, fails=True) for name in failing.split()}


_OBJECT_MEMBERS = _functions(
    {
        _OBJECT_TEXT: "toString toLocaleString valueOf",
        "false": "hasOwnProperty isPrototypeOf propertyIsEnumerable",
        None: "__lookupGetter__ __lookupSetter__",
    },
    "__defineGetter__ __defineSetter__",
)
_ARRAY_MEMBERS = _functions(
    {
        "": "slice splice join flat toLocaleString",
        _OBJECT_TEXT: "concat copyWithin fill reverse sort toString",
        "-1": "indexOf lastIndexOf",
        "0": "push unshift",
        "false": "includes",
        "[object Array Iterator]": "keys entries values",
        None: "pop shift at",
    },
    "find findIndex findLast findLastIndex forEach filter flatMap map every some reduce reduceRight",
)
_STRING_MEMBERS = _functions(
    {
        _OBJECT_TEXT: "concat normalize padEnd padStart replace replaceAll slice split substr substring trim trimStart "
        "trimLeft trimEnd trimRight",
        "": "match repeat",
        "[": "at charAt",
        "91": "charCodeAt codePointAt",
        "0": "search",
        "-1": "indexOf lastIndexOf localeCompare",
        "false": "endsWith includes startsWith",
        "[object object]": "toLocaleLowerCase toLowerCase",
        "[OBJECT OBJECT]": "toLocaleUpperCase toUpperCase",
        "[object RegExp String Iterator]": "matchAll",
        '<a name="undefined">[object Object]</a>': "anchor",
        '<a href="undefined">[object Object]</a>': "link",
        '<font color="undefined">[object Object]</font>': "fontcolor",
        '<font size="undefined">[object Object]</font>': "fontsize",
        **{
            f"<{tag}>{_OBJECT_TEXT}</{tag}>": name for name, tag in {"bold": "b", "fixed": "tt", "italics": "i"}.items()
        },
        **{f"<{tag}>{_OBJECT_TEXT}</{tag}>": tag for tag in ("big", "blink", "small", "strike", "sub", "sup")},
    },
    "toString valueOf",
)
_NUMBER_MEMBERS = _functions({}, "toExponential toFixed toPrecision toString valueOf toLocaleString")
_BOOLEAN_MEMBERS = _functions({}, "toString valueOf")
# A Date's own methods want a Date and get the template's values; which of them is asked for does not matter.
_DATE_MEMBER = lazy_pattern(r"(?:to|get|set)[A-Z]\w*|valueOf")
_FUNCTION_MEMBERS = _functions({}, "apply bind call toString")

_CONSTRUCTORS = {
    dict: Function("Object", _OBJECT_TEXT, length=1),
    list: Function("Array", "", length=1),
    str: Function("String", "", length=1),
    int: Function("Number", "0", length=1),
    float: Function("Number", "0", length=1),
    bool: Function("Boolean", "false", length=1),
    Function: Function("Function", "function anonymous(\n) {\n\n}", length=1),
}
_MEMBERS = {
    list: _ARRAY_MEMBERS,
    str: _STRING_MEMBERS,
    int: _NUMBER_MEMBERS,
    float: _NUMBER_MEMBERS,
    bool: _BOOLEAN_MEMBERS,
    Function: _FUNCTION_MEMBERS,
}
# These names find something in every object; templates and prerequisites may be named so by accident.
OBJECT_PROTOTYPE_NAMES = frozenset({*_OBJECT_MEMBERS, "constructor", "__proto__"})


def member(value: Any, name: str) -> Any:
    """The property of a value that is not null: its own, else its prototype's; `MISSING` for undefined."""
    own = _own(value, name)
    return _inherited(type(value), name) if own is MISSING else own


def _own(value: Any, name: str) -> Any:
    kind = type(value)
    if kind is dict and name in value:
        return value[name]
    if kind is list:
        if name == "length":
            return len(value)
        if _INDEX.fullmatch(name) and number_of(name) < len(value):
            return value[number_of(name)]
    if kind is str:
        units = value.encode("utf-16-le", "surrogatepass")
        if name == "length":
            return len(units) // 2
        if _INDEX.fullmatch(name) and number_of(name) < len(units) // 2:
            return units[2 * number_of(name) : 2 * number_of(name) + 2].decode("utf-16-le", "surrogatepass")
    if kind is Function and name in {"name", "length"}:
        return value.name if name == "name" else MISSING if value.length is None else value.length
    return MISSING


def _inherited(kind: type, name: str) -> Any:
    if name == "__proto__":
        return {}
    if name == "constructor":
        return _CONSTRUCTORS.get(kind, MISSING)
    if kind is Date and _DATE_MEMBER.fullmatch(name):
        return Function(name, fails=True)
    return _MEMBERS.get(kind, {}).get(name) or _OBJECT_MEMBERS.get(name, MISSING)


def failing_names(mustache: int) -> frozenset[str]:
    """The texts that are refused as a whole template. Source: mustache.js 4.2.0, Writer.parse."""
    return OBJECT_PROTOTYPE_NAMES if mustache < _OWN_OF_PRIMITIVES_SINCE else frozenset()


def looked_up(path: str, values: dict[str, Any], mustache: int = 2) -> Any:
    """What mustache finds under a tag's path, called if it is a function; `MISSING` for undefined.

    Raises:
        CallFailedError: if that function throws.
    """
    if path == ".":
        return values
    value: Any = values
    *parents, last = path.split(".") if path.find(".") > 0 else (path,)
    for name in parents:
        if value is None or value is MISSING:
            break
        value = member(value, name)
    if value is not None and value is not MISSING:
        is_object = isinstance(value, (dict, list, Date, Binary))
        value = member(value, last) if is_object or mustache < _OWN_OF_PRIMITIVES_SINCE else _own(value, last)
    if isinstance(value, Function):
        if value.fails:
            raise CallFailedError(value.name)
        return MISSING if value.result is None else value.result
    return value


def written(value: Any) -> str | None:
    """How a value is added to a string; None for null and undefined, which the rest-server leaves out."""
    return None if value is None or value is MISSING else server_text(value)


def trim(text: str) -> str:
    """`text.trim()`."""
    return text.strip(SPACES)


def well_formed(text: str) -> str:
    """The text as it leaves JavaScript in UTF-8: halves of surrogate pairs joined, or replaced where one is missing."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
