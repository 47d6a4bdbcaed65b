"""What diagnostics say, however odd the names in the file."""

from __future__ import annotations

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Severity


def test_a_message_is_one_line_of_bounded_length() -> None:
    name = "x" * 2000
    text = f'taskRoles:\n  worker:\n    prerequisites: ["one\\n\\ttwo", {name}]\n'
    messages = [one.message for one in Document(text).diagnostics if one.code == "unknown-prerequisite"]
    assert messages[0] == "no prerequisite is named 'one two'"
    assert len(messages[1]) == 500
    assert messages[1].endswith("x…")


def test_a_name_without_its_closing_quote_is_one_error() -> None:
    text = 'prerequisites:\n  - {name: s, type: script}\ntaskRoles:\n  worker:\n    prerequisites: ["sa]\n'
    (one,) = (one for one in Document(text).diagnostics if one.severity is Severity.ERROR)
    assert (one.code, one.message) == ("yaml-syntax", 'the " is never closed')
