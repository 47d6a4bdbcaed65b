"""The syntax problem that bash has with a script: none, a warning about a here-document, or an error with its place.

Bash runs everything before a syntax error, then stops with exit code 2. Source: bash 5.2, parse.y.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.embedded.placeholders import PLACEHOLDER_ADVICE, angle_placeholder
from pai_lsp.embedded.shell_grammar import ENDING, JOINING, NEXT
from pai_lsp.embedded.shell_script import CONTINUATION, HERE_DOCUMENT
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.text import shortened

if TYPE_CHECKING:
    from pai_lsp.embedded.shell_script import Script, Unclosed
    from pai_lsp.source.text import Span

_CLOSING = {
    "if": "fi", "for": "done", "while": "done", "until": "done", "select": "done", "case": "esac", "{": "}", "(": ")",
    "$(": ")", "<(": ")", ">(": ")", "${": "}", "$[": "]", "[": "]", "[[": "]]", "$'": "'", "'": "'",
    '"': '"', "`": "`",
}  # fmt: skip
# What the platform fills, or another rule reports.
_TEMPLATE = "<%"
# For these, bash only notices the end of the script.
_KNOWN_AT_END = frozenset(
    {"if", "for", "while", "until", "select", "case", "{", "$(", "<(", ">(", "function", *JOINING}
)
_MIDDLE = frozenset({"then", "do", "else", "elif", "in"})

# How many other openings are named: as many as a finding shows.
_MOST_OPEN = 20


@dataclass(frozen=True, slots=True)
class ScriptProblem:
    """The first thing that is wrong; `span` may be empty at the end of the text.

    is_error: bash refuses the script; otherwise a here-document takes everything up to the end.
    line: the line that bash names, from 1.
    related: other places, each with a short sentence.
    """

    is_error: bool
    span: Span
    line: int
    message: str
    related: tuple[tuple[Span, str], ...] = ()


def syntax_problem(script: Script) -> ScriptProblem | None:
    """The first problem of a script; None where bash reads all of it."""
    if script.fault is not None:
        return _fault(script, script.fault)
    left = [one for one in script.unclosed if one.opener not in {CONTINUATION, _TEMPLATE}]
    open_ones = [one for one in left if one.opener != HERE_DOCUMENT]
    if open_ones:
        return _unclosed(script, open_ones)
    return _here_document(script, left[0]) if left else None


def _fault(script: Script, span: Span) -> ScriptProblem:
    written = script.text[span.start : span.end]
    inside = script.fault_inside
    line = _line(script.text, span.start)
    related: tuple[tuple[Span, str], ...] = ()
    if inside is not None:
        closing = f" and needs '{_CLOSING[inside.opener]}'" if inside.opener in _CLOSING else ""
        related = ((inside.span, f"'{inside.opener}' begins here{closing}"),)
    # A placeholder with a remark: `<path (of the model)>`.
    end = script.line_end(span.start) if written == "(" else span.start
    placeholder = angle_placeholder(script.text, end)
    redirection = next((one for one in script.open_redirections if one.end <= span.start), None)
    if placeholder is not None and placeholder.start < span.start:
        span, name = placeholder, _short(script.text[placeholder.start : placeholder.end])
        message = f"'{name}' is a placeholder; {PLACEHOLDER_ADVICE}"
    elif written in {"", "\n"} and redirection is not None:
        span = redirection
        message = f"'{script.text[span.start : span.end]}' needs a file name after it"
    elif written in {"", "\n"}:
        message = "bash does not expect the end of the line here"
    elif written in ENDING:
        message = _ending(script, written, inside)
    elif written == "(":
        message = "bash does not expect '(' here; quote it if it is text"
    elif written == ")" and inside is None:
        message = "this ')' closes nothing; quote it if it is text"
    elif written in {";;", ";&", ";;&"}:
        message = f"'{written}' is only allowed in 'case'"
    elif written in JOINING or written in {";", "&"}:
        message = f"a command is missing before '{written}'"
    else:
        message = f"bash does not expect '{_short(written)}' here"
    return ScriptProblem(True, span, line, message, related)


def _ending(script: Script, written: str, inside: Unclosed | None) -> str:
    """Why a reserved word that ends a part of a command is wrong."""
    openers = sorted({keyword for (keyword, _), words in NEXT.items() if written in words})
    if inside is not None and inside.opener not in openers:
        closing = _CLOSING[inside.opener]
        return f"'{written}' is not expected here: the '{inside.opener}' before it is not closed with '{closing}'"
    if inside is not None:
        before = script.text[inside.span.end : script.fault.start if script.fault else 0].rstrip(" \t\n;")
        if not before or before.split()[-1] in _MIDDLE:
            return f"a command is missing before '{written}'"
        return f"'{written}' is not expected here; is a ';' or a word such as 'then' or 'do' missing before it?"
    names = " or ".join(f"'{opener}'" for opener in openers)
    return f"'{written}' without {names} before it"


def _unclosed(script: Script, left: list[Unclosed]) -> ScriptProblem:
    *outer, last = left
    line = (
        len(script.text.split("\n")) - script.text.endswith("\n") + 1
        if last.opener in _KNOWN_AT_END
        else _line(script.text, last.span.start)
    )
    related = tuple((one.span, f"'{one.opener}' is also still open") for one in outer[:_MOST_OPEN])
    if last.opener in _CLOSING:
        message = f"this '{last.opener}' is never closed with '{_CLOSING[last.opener]}'"
        if last.opener == _CLOSING[last.opener]:
            message = f"this {last.opener} is never closed"
    elif last.opener == "function":
        message = "this function has no body"
    else:
        message = f"a command is missing after '{last.opener}'"
    return ScriptProblem(True, last.span, line, message, related)


def _here_document(script: Script, one: Unclosed) -> ScriptProblem | None:
    rest = script.text[one.span.end :].lstrip("- ")
    if rest.startswith(_TEMPLATE):
        return None
    mark = rest.split(maxsplit=1)[0].strip("'\"\\;") if rest.strip() else ""
    message = f"no line is exactly '{_short(mark)}', so the rest of the script becomes text of this here-document"
    alike = next((line for line in script.text.split("\n")[1:] if line.strip() == mark != line), None)
    if alike is not None:
        message += "; a similar line has spaces around the word"
    return ScriptProblem(False, one.span, script.text.count("\n") + 1, message)


def _short(written: str) -> str:
    return shortened(written.split("\n", 1)[0])


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
