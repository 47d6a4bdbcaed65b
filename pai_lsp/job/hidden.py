"""The passwords, tokens and keys of a job, which no output may show.

The result depends on the job alone, not on the rules that are enabled, ignored or fail. In case of doubt, a text is
hidden: if the search for secrets fails, all of the text is.

Hidden are the values below `secrets` with their anchors and comments, and everything else that looks like a secret.
Values that are not ordinary words are hidden wherever else they appear, too.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from functools import lru_cache

from pai_lsp.job.secret_forms import places_of, secrets_in
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Scalar, scalars_below
from pai_lsp.source.nodes import Sequence as SequenceNode
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import LineIndex, Span, TextEdit, any_overlaps, apart, apply_edits, column
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from pai_lsp.job.clear_secrets import ClearSecret
    from pai_lsp.job.tree import JobTree
    from pai_lsp.source.nodes import Entry, Node

# Values below `secrets` of letters or digits alone, and others, that are shorter than this can be ordinary words.
_SHORTEST_PLAIN = 8
_SHORTEST_SPECIAL = 6
# The length of the prefixes that are looked up first. Shorter values are hidden where they are whole words.
_START = 4
# Up to this number of texts, it is faster to test first whether any of them occurs.
_FEW = 16

_SECTION = lazy_pattern(r"""(?:^|(?<=[\s{,]))(?:"secrets?"|'secrets?'|secrets?)[ \t]*:""", re.IGNORECASE)
_KEY = lazy_pattern(r"""\s*(?:"[^"]*"|'[^']*'|[^\s"'#:]+)[ \t]*:(?=\s|$)""")
_COLON: Any = lazy_pattern(r"(?:\s*:)?")  # always matches
_BRACKETS = " \t,[]{}"
_LINE = lazy_pattern(r"\S[^\n\r]*")
_PART = lazy_pattern(r"""[^\s'",:\[\]{}*&!|>]+""")
_TEMPLATE = lazy_pattern(r"<%.*%>", re.DOTALL)
_WORD = lazy_pattern(r"\w+")
_ENDS = lazy_pattern(r"^\W+|\W+$")
_RUN = lazy_pattern(r"[^\W_]{4,}")
_CONTENT_LINE = lazy_pattern(r"^[ \t]*[^\s#]", re.MULTILINE)
_QUOTED = lazy_pattern(r"'[^']*'")
_CUT = "…"


class Hidden:
    """The hidden places of a job's text, sorted and without overlaps, and the hidden values.

    spans: the places, in code points, half-open.
    """

    __slots__ = ("_in_place", "_plain", "_special", "spans")

    def __init__(self, spans: tuple[Span, ...], values: Iterable[str], in_place: Iterable[str]) -> None:
        """Args: the places; values hidden everywhere; other texts that a finding at such a place may not quote."""
        values = set(values)
        self.spans = spans
        self._special = _Texts(value for value in values if _is_special(value))
        self._plain = _Texts(value for value in values if not _is_special(value))
        self._in_place = _Texts(in_place)

    def holds(self, span: Span) -> bool:
        """Whether a part of a place is hidden."""
        return any_overlaps(self.spans, span)

    def shows(self, text: str) -> bool:
        """Whether a text contains a hidden value that is not an ordinary word."""
        return self._without_special(text) != text

    def changes(self, text: str) -> bool:
        """Whether a text has anything in it that `without` or `sentence` hides."""
        return self.shows(text) or self._plain.occur_in(text) or self._in_place.occur_in(text)

    def without(self, text: str) -> str:
        """A text taken from the job's, with asterisks instead of hidden values."""
        return self._plain.without(self._without_special(text))

    def sentence(self, message: str, *, is_in_place: bool) -> str:
        """A message; ordinary words are hidden only in quotations from the file, so that it stays readable."""

        def cleaned(quoted: re.Match[str]) -> str:
            text = self._plain.without(quoted[0])
            return self._in_place.without(text) if is_in_place else text

        return _QUOTED.sub(cleaned, self._without_special(message))

    def _without_special(self, text: str) -> str:
        text = self._special.without(text)
        return _replaced(text, (span for span, _ in secrets_in(text)))


def with_hidden(text: str, hidden: Iterable[Span]) -> str:
    """The text with every visible character inside `hidden` replaced by `*`, as long as before."""
    return _replaced(text, hidden, lambda part: "".join(c if c.isspace() else "*" for c in part))


class _Texts:
    """Finds several texts in another one, in one pass."""

    __slots__ = ("_lengths", "_longest", "_short", "_texts")

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = frozenset(texts)
        self._longest = max(map(len, self._texts), default=0)
        lengths: dict[str, set[int]] = {}
        for text in self._texts:
            if len(text) >= _START:
                lengths.setdefault(text[:_START], set()).add(len(text))
        self._lengths = {start: sorted(found, reverse=True) for start, found in lengths.items()}
        short = sorted((text for text in self._texts if len(text) < _START and _WORD.search(text)), reverse=True)
        self._short = re.compile("|".join(map(_whole_word, short))) if short else None

    def without(self, text: str) -> str:
        """The other text with asterisks instead of these."""
        return _replaced(text, self.found(text))

    def occur_in(self, text: str) -> bool:
        """Whether there is any of these texts in the other one."""
        return next(self.found(text), None) is not None

    def found(self, text: str) -> Iterator[Span]:
        """The places of these texts in another one, also of a text that is cut off with `…`."""
        if len(self._texts) <= _FEW and _CUT not in text and not any(one in text for one in self._texts):
            return
        words = {match.start(): match.end() for match in self._short.finditer(text)} if self._short else {}
        if len(self._lengths) <= _FEW:
            starts = [at for start in self._lengths for at in places_of(start, text)]
        else:
            starts = [at for at in range(len(text)) if text[at : at + _START] in self._lengths]
        done = 0
        for at in sorted({*starts, *words}):
            end = max(self._end(text, at), words.get(at, 0)) if at >= done else 0
            if end:
                yield Span(at, end)
                done = end

    def _end(self, text: str, start: int) -> int:
        lengths = self._lengths.get(text[start : start + _START], ())
        for length in lengths:
            if text[start : start + length] in self._texts:
                return start + length
        cut = text.find(_CUT, start, start + self._longest)
        return cut if lengths and cut > 0 and any(one.startswith(text[start:cut]) for one in self._texts) else 0


@dataclass(frozen=True, slots=True)
class _HiddenPlace:
    """A hidden place with its value; empty if the value is not known.

    is_anywhere: whether the value is hidden everywhere, even if it looks like an ordinary word.
    """

    span: Span
    value: str = ""
    is_anywhere: bool = False


def hidden_values(job: JobTree, in_clear: Callable[[], Iterable[ClearSecret]]) -> Hidden:
    """What is hidden of a job; `in_clear` finds passwords outside its secrets.

    Never raises; in case of doubt it hides too much.
    """
    text = job.text
    places = _found(job, lambda: _below_secrets(job))
    places += _found(job, lambda: _shared(job))
    places += _found(job, lambda: _in_clear(job.text, in_clear()))
    names = _names(job, _united(place.span for place in places))
    values: set[str] = set()
    for place in places:
        # In a text with a fault, the value that is read may differ from the written one, mostly at its ends.
        written = text[place.span.start : place.span.end] if place.value else ""
        core = _ENDS.sub("", place.value) if job.syntax.problems else ""
        for value in (place.value, *place.value.splitlines(), " ".join(place.value.split()), written, core):
            known = value.strip()
            is_long = len(known) >= (_SHORTEST_SPECIAL if _is_special(known) else _SHORTEST_PLAIN)
            if known and (is_long or place.is_anywhere) and known not in names and not _TEMPLATE.fullmatch(known):
                values |= {known, *_quoted_forms(known)}
    spans = [line for place in places for line in _lines(text, place.span)]
    in_place = {part for span in spans for part in _PART.findall(text[span.start : span.end])}
    in_place.update(place.value for place in places if place.value)
    # A message about a text with a fault can quote a repaired copy, in which some characters are replaced.
    in_place.update(run for part in tuple(in_place) for run in _RUN.findall(part))
    elsewhere = _Texts(value for value in values if _is_special(value)).found(text)
    return Hidden(_united([*spans, *elsewhere]), values, in_place)


def _found(job: JobTree, find: Callable[[], Iterator[_HiddenPlace]]) -> list[_HiddenPlace]:
    """The places that `find` returns; if it fails, all of the text."""
    try:
        return list(find())
    except Exception:  # noqa: BLE001 - no error may reveal a password
        parts = (_HiddenPlace(Span(*part.span()), part[0], is_anywhere=True) for part in _PART.finditer(job.text))
        return [_HiddenPlace(Span(0, len(job.text))), *parts]


def _names(job: JobTree, hidden: tuple[Span, ...]) -> set[str]:
    """Names that are never hidden: a value as in `docker_password: docker_password` would hide them everywhere.

    A key at a hidden place is not a name, but perhaps a value without its key.
    """
    entries = (*job.secrets.items(), *job.parameters.items())
    return {name for name, entry in entries if not any_overlaps(hidden, entry.key.span)}


def _in_clear(text: str, secrets: Iterable[ClearSecret]) -> Iterator[_HiddenPlace]:
    for secret in secrets:
        node = secret.entry.value if secret.entry else None
        value = node.text if isinstance(node, Scalar) else text[secret.span.start : secret.span.end]
        yield _HiddenPlace(secret.span, value, is_anywhere=True)


def _below_secrets(job: JobTree) -> Iterator[_HiddenPlace]:
    for mapping, entry in _sections(job):
        yield from _section_places(job.text, mapping, entry)
    if job.syntax.problems or not isinstance(job.syntax.root, Mapping):  # the tree may lack a part of the section
        for span in _section_lines(job.text, LineIndex(job.text)):
            yield _HiddenPlace(span)
            for part in _PART.findall(job.text[span.start : span.end]):
                if not (part.isalpha() or part.isdigit()):
                    yield _HiddenPlace(span, part)


def _shared(job: JobTree) -> Iterator[_HiddenPlace]:
    """Values that an alias shares between the secrets and the rest, and values that are read as an anchor or alias."""
    if not (job.syntax.aliases or job.syntax.anchors):
        return
    sections = _sections(job)
    spans = (place.span for mapping, entry in sections for place in _section_places(job.text, mapping, entry))
    hidden = Hidden(_united(spans), (), ())
    for alias in job.syntax.aliases:
        if alias.anchor is None:
            if hidden.holds(alias.span):
                yield _HiddenPlace(alias.span, alias.name)
        elif hidden.holds(alias.anchor.span) != hidden.holds(alias.span):
            yield from (_HiddenPlace(one.span, one.text, is_anywhere=True) for one in _scalars(alias.anchor.node))
    for anchor in job.syntax.anchors:
        if hidden.holds(anchor.span):
            yield _HiddenPlace(anchor.span, anchor.name)


def _sections(job: JobTree) -> Iterator[tuple[Mapping, Entry]]:
    """The sections `secrets` of a file, each with its mapping: also merged and duplicate ones."""
    for root in job.syntax.documents:
        mappings = [root] if isinstance(root, Mapping) else []
        for mapping in mappings:
            mappings += mapping.merged
            for entry in mapping.entries:
                if entry.name.casefold() in {"secret", "secrets"}:
                    yield mapping, entry


def _section_places(text: str, mapping: Mapping, entry: Entry) -> Iterator[_HiddenPlace]:
    """Everything in a section except its keys; its values also where an alias leads to them."""
    yield from (_HiddenPlace(scalar.span, scalar.text) for scalar in _scalars(entry.value))
    start, end = _after_colon(text, entry), _section_end(text, mapping, entry)
    inner = entry.value
    for one in inner.entries if isinstance(inner, Mapping) else ():
        if not isinstance(one.key, Scalar):
            yield from (_HiddenPlace(scalar.span, scalar.text) for scalar in scalars_below(one.key))
        elif start <= one.key.span.start and _after_colon(text, one) <= end:
            yield _HiddenPlace(_trimmed(text, Span(start, one.key.span.start), inner))
            start = _after_colon(text, one)
            if start == one.key.span.end:  # without a colon it may be a value that lacks its key
                yield _HiddenPlace(one.key.span, one.key.text)
    yield _HiddenPlace(_trimmed(text, Span(start, max(start, end)), inner))


def _after_colon(text: str, entry: Entry) -> int:
    """The place after the colon of a key, or after a key without one."""
    end: int = _COLON.match(text, entry.key.span.end).end()
    return end


def _section_end(text: str, mapping: Mapping, entry: Entry) -> int:
    """Where the next key begins, or the comments above it."""
    start = entry.key.span.start
    ends = _ends(text, mapping)
    end = ends[bisect_right(ends, start, hi=len(ends) - 1)]
    depth = column(text, start)
    while (line := text.rfind("\n", start, end)) >= 0:
        written = text[line + 1 : end].strip("\r\n")
        bare = written.lstrip()
        if bare[:1] not in {"", "#"} or (bare and len(written) - len(bare) > depth):
            break
        end = line
    return end


@lru_cache(maxsize=1)  # a mapping may have many keys of the same name
def _ends(text: str, mapping: Mapping) -> list[int]:
    """Where the keys begin, and where all ends: for a block, at a line after it that is neither empty nor a comment."""
    end = mapping.span.end
    if not mapping.is_flow:
        rest = _CONTENT_LINE.search(text, end)
        end = rest.start() if rest else len(text)
    return [*sorted(one.key.span.start for one in mapping.entries), end]


def _trimmed(text: str, span: Span, inner: Node) -> Span:
    """A span without the brackets and commas around it, in a section in braces."""
    if not isinstance(inner, Mapping) or not inner.is_flow:
        return span
    written = text[span.start : span.end]
    start = span.start + len(written) - len(written.lstrip(_BRACKETS))
    return Span(start, max(start, span.start + len(written.rstrip(_BRACKETS))))


def _scalars(node: Node) -> Iterator[Scalar]:
    """All scalars below a node except keys."""
    if isinstance(node, Scalar):
        yield node
    else:
        for inner in node.items if isinstance(node, SequenceNode) else [entry.value for entry in node.entries]:
            yield from _scalars(inner)


def _quoted_forms(value: str) -> Iterator[str]:
    """A value as edits write it between quotes."""
    yield value.replace("'", "''")
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]


def _section_lines(text: str, lines: LineIndex) -> Iterator[Span]:
    """The text after `secrets:` in its line and the lines that are indented deeper, without the section's own keys.

    A line has a key if it is indented like the section's first key; any other line may be part of a value.
    """
    if "secret" not in text.casefold():
        return
    section_indentation = key_indentation = -1
    for number in range(len(lines)):
        span = lines.line_span(number)
        line = text[span.start : span.end]
        bare = line.lstrip()
        indentation = len(line) - len(bare)
        if section := _SECTION.search(line):
            section_indentation, key_indentation = indentation, -1
            yield Span(span.start + section.end(), span.end)
            continue
        if bare and indentation <= section_indentation and bare[0] not in "#-}]":
            section_indentation = -1
        if section_indentation >= 0:
            key = _KEY.match(line)
            if key and key_indentation < 0:
                key_indentation = indentation
            yield Span(span.start + (key.end() if key and indentation == key_indentation else 0), span.end)


def _lines(text: str, span: Span) -> Iterator[Span]:
    """The parts of a span line by line, without the spaces around them."""
    for line in _LINE.finditer(text, span.start, span.end):
        yield Span(line.start(), line.start() + len(line[0].rstrip()))


def _united(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The places in order and apart, without empty ones."""
    return tuple(apart(span for span in spans if len(span)))


def _replaced(text: str, spans: Iterable[Span], replacement: Callable[[str], str] = lambda _: "***") -> str:
    return apply_edits(text, [TextEdit(span, replacement(text[span.start : span.end])) for span in _united(spans)])


def _whole_word(text: str) -> str:
    """A pattern for a text that is not a part of a longer word."""
    before = r"(?<!\w)" if _WORD.match(text) else ""
    after = r"(?!\w)" if _WORD.match(text[-1]) else ""
    return f"{before}{re.escape(text)}{after}"


def _is_special(text: str) -> bool:
    """Whether a text is neither letters alone nor digits alone, so that it is hardly an ordinary word."""
    return not (text.isalpha() or text.isdigit())
