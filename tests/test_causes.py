"""One mistake is one finding: the other places are related ones, and the message counts them."""

from __future__ import annotations

from pathlib import Path

import pytest
from marks import as_marks, read_marks
from test_odd_lines import JOB

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Severity, causes

# Short files, one for each kind of mistake, or of what only looks like one, that real files had.
FIELD = sorted((Path(__file__).parent / "field").glob("*.yaml"))


@pytest.mark.parametrize("path", FIELD, ids=lambda path: path.stem)
def test_what_real_files_have_wrong_is_one_finding(path: Path) -> None:
    text, marks = read_marks(path.read_text(encoding="utf-8"))
    found = causes(Document(text).diagnostics)
    assert as_marks(text, found, with_messages=marks) == marks


@pytest.mark.parametrize(
    ("after", "message", "related"),
    [
        (
            "echo $PAI_HOST_IP_worker_2 $PAI_HOST_IP_worker_3",
            "'worker' only has",
            ["2", "PAI_HOST_IP_worker_3"],
        ),
        (
            "python <% $parameters.lr %> <% $parameters.lr %> <% $parameters.lr %>",
            "parameter 'lr' is not defined",
            ["lr", "lr"],
        ),
        ("python <% $parameters.lr %>", "parameter 'lr' is not defined", []),
    ],
)
def test_a_cause_is_counted_once(after: str, message: str, related: list[str]) -> None:
    text = JOB.replace("python a.py", after)
    found = Document(text).diagnostics
    (error,) = (one for one in causes(found) if one.severity is Severity.ERROR)
    assert error.message.startswith(message)
    assert [text[one.span.start : one.span.end].lstrip("$") for one in error.related] == related
    places = sum(one.message == "also here" for one in error.related)
    assert error.message.endswith(f"(and {places} more place{'s' if places > 1 else ''})") or not places
    shown = causes(found, keeps_places=True)
    assert [one.span for one in shown] == [one.span for one in found]
    assert sum(one.severity is Severity.ERROR for one in shown) == 1


@pytest.mark.parametrize(
    ("right", "wrong", "code", "marked"),
    [
        ("type: script", "ytpe: script", "missing-key", "ytpe"),
        ("name: image", "name: 5", "type-mismatch", "5"),
        ("  - name: setup", "    name: setup", "duplicate-key", "name"),
        ("    commands:\n      - pip", "commands:\n      - pip", "unknown-key", "commands"),
        ("\n  worker:", "\nworker:", "unknown-key", "worker"),
    ],
)
def test_a_slip_has_one_error(right: str, wrong: str, code: str, marked: str) -> None:
    text = JOB.replace(right, wrong, 1)
    (error,) = (one for one in Document(text).diagnostics if one.severity is Severity.ERROR)
    assert (error.code, text[error.span.start : error.span.end]) == (code, marked)


def test_a_script_for_another_shell_is_one_cause() -> None:
    """Tests of variables that are not set yet, and `return` outside of a function."""
    tests = "".join(f"        if [ -z ${name} ]; then {name}=1; fi\n" for name in "ABC")
    script = f"|\n{tests}        [ -f a ] || return\n        [ -f b ] || return\n"
    found = causes(Document(JOB.replace("python a.py\n", script)).diagnostics)
    assert [one.code for one in found if one.severity is Severity.WARNING] == ["used-before-set", "jump-outside"]
    before, jump = (one for one in found if one.severity is Severity.WARNING)
    assert before.message.endswith("(and 2 more places)")
    assert jump.message.endswith("(and 1 more place)")
