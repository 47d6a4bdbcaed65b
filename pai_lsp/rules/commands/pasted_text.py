"""Rules about characters that a page or an editor puts into commands: typographic quotes and dashes, invisible ones."""

from __future__ import annotations

import re

from pai_lsp.findings.diagnostic import Finding, Fix, Severity, rule
from pai_lsp.rules.commands.command_uses import edit_fix, scripts
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span, TextEdit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job

_PASTED = {
    "\u00a0": (" ", "a no-break space"), "\u2007": (" ", "a figure space"), "\u202f": (" ", "a narrow no-break space"),
    "\u3000": (" ", "an ideographic space"), "\uff1d": ("=", "a full-width '='"), "\uff1b": (";", "a full-width ';'"),
    "\uff08": ("(", "a full-width '('"), "\uff09": (")", "a full-width ')'"), "\uff5c": ("|", "a full-width '|'"),
    "\uff06": ("&", "a full-width '&'"), "\uff1e": (">", "a full-width '>'"), "\uff0d": ("-", "a full-width '-'"),
    "\uff04": ("$", "a full-width '$'"), "\uff1a": (":", "a full-width ':'"),
}  # fmt: skip
_DASHES = {"\u2013": "-", "\u2014": "--", "\u2212": "-", "\u2012": "-", "\u2010": "-", "\u2011": "-", "\u2015": "--"}
_QUOTES = {"\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2018": "'", "\u2019": "'", "\u00ab": '"', "\u00bb": '"'}
_INVISIBLE = lazy_pattern("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\u00ad\u180e]|(?<!^)\ufeff")
_LONGEST_WORD = 200
_SMART = lazy_pattern("[" + "".join((*_PASTED, *_DASHES, *_QUOTES)) + "]")


@rule(Severity.WARNING)
def pasted_character(job: Job) -> Iterator[Finding]:
    """Typographic character in a command, as web pages and documents have them.

    For bash, typographic quotes, dashes and spaces are letters: quotes do not quote, options are not options, and a
    no-break space is a part of the word. Inside quotes they are text and not reported.
    Source: the bash reference manual, "Definitions" (blank) and "Quoting".

        taskRoles:
          worker:
            commands:
              - python train.py –lr 0.1
              #                 ^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - python train.py -lr 0.1
    """
    for place in scripts(job, with_callbacks=True):
        text = place.script.text
        if text.isascii() or not _SMART.search(text):
            continue
        done = 0
        for match in _SMART.finditer(text):
            at, character = match.start(), match[0]
            if at < done or (place.role is None and character.isspace()) or place.script.is_quoted(at):
                continue
            start = max(text.rfind(mark, max(at - _LONGEST_WORD, 0), at) for mark in " \t\n=") + 1
            start = start or max(at - _LONGEST_WORD, 0)
            ended = re.compile(r"[ \t\n;|&]").search(text, at)
            end = ended.start() if ended else len(text)
            if character in _QUOTES:
                closing = next((m.end() for m in re.compile(f"[{''.join(_QUOTES)}]").finditer(text, at + 1)), 0)
                if not closing or "\n" in text[at:closing] or (start != at and text[start:at].isalnum()):
                    continue
                span, done = Span(at, closing), closing
                quote = _QUOTES[character]
                fixes = edit_fix(place, "Use plain quotes", span, f"{quote}{text[at + 1 : closing - 1]}{quote}")
                yield Finding(place.span(span), "typographic quotes do not quote in bash", fixes)
            elif character in _DASHES:
                following = text[at:end].lstrip("-" + "".join(_DASHES))
                if start != at or not following[:1].isalpha() or not following[:1].isascii():
                    continue
                dashes = "--" if len(re.split(r"[=\W]", following)[0]) > 1 else "-"
                count = len(text[at:end]) - len(following)
                dashes = dashes if count == 1 and character in {"\u2014", "\u2015"} else _DASHES[character] * count
                span, done = Span(at, end), end
                fixes = edit_fix(place, f"Change to '{dashes}{following}'", span, dashes + following)
                yield Finding(place.span(span), f"'{character}' is not '-', so this is not an option", fixes)
            else:
                new, name = _PASTED[character]
                around = text[max(at - 1, 0) : at] + text[at + 1 : at + 2]
                if not around.isascii() or (character == "\uff1a" and not around.isalnum()):
                    continue
                span = Span(at, at + 1)
                fixes = edit_fix(place, f"Change to '{new}'", span, new)
                yield Finding(place.span(span), f"this is {name}, which bash takes for a letter", fixes)


@rule(Severity.WARNING)
def invisible_character(job: Job) -> Iterator[Finding]:
    """Invisible character in the file.

    A zero-width character is a part of the word around it: the name is another one. A bidirectional control
    shows text in another order than the cluster reads it.
    Source: Unicode, "Default Ignorable Code Points" and Standard Annex 9; the bash reference manual, "Definitions".

        taskRoles:
          worker:
            commands:
              - "python\u200b train.py"
              #        ^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - python train.py
    """
    if job.text.isascii():
        return
    for match in _INVISIBLE.finditer(job.text):
        if match.start() == 0:
            continue
        before, after = job.text[match.start() - 1], job.text[match.end() : match.end() + 1]
        if match[0] in "\u200c\u200d\u200e\u200f" and not (before.isascii() and after.isascii()):
            continue  # a part of an emoji or of another script
        fix = Fix("Remove it", (TextEdit(Span(*match.span()), ""),))
        yield Finding(Span(*match.span()), f"invisible character U+{ord(match[0]):04X}", (fix,))


RULES = (
    pasted_character,
    invisible_character,
)
