"""Comments that a fix must not lose."""

from __future__ import annotations

from collections import Counter

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Diagnostic, Fix, Severity
from pai_lsp.safe_fixes import with_safe_fixes
from pai_lsp.source.comments import comments, written_comments
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span, TextEdit

TEXT = """\
# above
a: 1 # beside
b:
  - 'no # comment' # in a list
  # below
c: |
  # text
d: "#"
"""


def test_comments_are_told_from_text() -> None:
    assert written_comments(TEXT) == Counter(["# above", "# beside", "# in a list", "# below"])
    assert not written_comments("# a\n\x01") - Counter(["# a"])


def test_a_comment_after_a_text_that_begins_with_its_sign() -> None:
    assert [one.text for one in comments(parse('commands: ["# first", "ls"] # all of it\n'))] == ["# all of it"]


def test_a_comment_after_the_sign_of_a_block_is_one() -> None:
    for text in ("- | # a\n  b\n# c\n", "- |\t# a\n  b\n# c\n", "- >- # a\n  b\n# c\n"):
        assert written_comments(text) == Counter(["# a", "# c"])


def test_a_fix_that_would_lose_a_comment_is_not_applied() -> None:
    text = "a: 1 # why\nb: 2\n"

    def check(document: Document) -> tuple[Diagnostic, ...]:
        places = [(name, document.text.find(f"{name}:")) for name in "ab"]
        return tuple(
            Diagnostic(name, Severity.WARNING, Span(at, at + 1), "superfluous", (_without_line(document.text, at),))
            for name, at in places
            if at >= 0
        )

    fixed = with_safe_fixes(Document(text), check, lambda _: True)
    assert (fixed.document.text, fixed.fixed) == ("a: 1 # why\n", 1)


def _without_line(text: str, at: int) -> Fix:
    return Fix("Remove it", (TextEdit(Span(at, text.index("\n", at) + 1), ""),), safe=True)
