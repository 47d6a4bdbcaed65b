"""Where a comment that silences a finding can be written, and where not."""

from __future__ import annotations

import pytest

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Diagnostic, Severity
from pai_lsp.ide.ignoring import ignore_comment, ignore_in_file, with_ignore_comments
from pai_lsp.source.text import Span, apply_edits


def ignored(text: str) -> str:
    """The text, in which `$` is the place of a finding, after ignoring it; or why that is not possible."""
    offset = text.index("$")
    text = text.replace("$", "", 1)
    diagnostic = Diagnostic("some-code", Severity.ERROR, Span(offset, offset), "found")
    fix = ignore_comment(Document(text), diagnostic)
    return fix if isinstance(fix, str) else apply_edits(text, fix.edits)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: $b\n", "a: b  # pai-lsp: ignore[some-code]\n"),
        ("a: $b", "a: b  # pai-lsp: ignore[some-code]"),
        ("a: $b  \r\nc: d\r\n", "a: b  # pai-lsp: ignore[some-code]\r\nc: d\r\n"),
        ("a: $b # why\n", "a: b # why  # pai-lsp: ignore[some-code]\n"),
        ("a: $b # pai-lsp: ignore[other] why\n", "a: b # pai-lsp: ignore[some-code, other] why\n"),
        ("# pai-lsp: ignore[other]\na: $b\n", "# pai-lsp: ignore[some-code, other]\na: b\n"),
        ("a: $[b,\n  c]\n", "a: [b,  # pai-lsp: ignore[some-code]\n  c]\n"),
        ("$", "# pai-lsp: ignore[some-code]"),
        ("a: $|\n  text\n", "a: |  # pai-lsp: ignore[some-code]\n  text\n"),
        ("a:\n  - |\n    echo $x\n    echo y\n", "a:\n  - |\n    echo x  # pai-lsp: ignore[some-code]\n    echo y\n"),
        ('a: |\n  echo "x\'"\n  echo $y\n  z\n', 'a: |\n  echo "x\'"\n  echo y  # pai-lsp: ignore[some-code]\n  z\n'),
        (
            "a: |\n  cat <<E\n  it's\n  E\n  echo $y\n",
            "a: |\n  cat <<E\n  it's\n  E\n  echo y  # pai-lsp: ignore[some-code]\n",
        ),
        ("a: |\n  cat <<E $x\n  E\n", "a: |\n  cat <<E x  # pai-lsp: ignore[some-code]\n  E\n"),
        ("a: |\n  # $no \\\n  z\n", "a: |\n  # no \\  # pai-lsp: ignore[some-code]\n  z\n"),
        ("a: |\n  # don't\n  echo $y\n  z\n", "a: |\n  # don't\n  echo y  # pai-lsp: ignore[some-code]\n  z\n"),
    ],
)
def test_a_comment_at_the_end_of_the_line(before: str, after: str) -> None:
    assert ignored(before) == after


@pytest.mark.parametrize(
    "text",
    [
        "a: >\n  echo $x\n  echo y\n",
        "a: $b\n  c\n",
        'a: "$b\n  c"\n',
        "a: |\n  echo $x \\\n    y\n",
        "a: |\n  cat <<EOF\n  $x\n  EOF\n",
        "a: |\n  echo '$x\n  y'\n",
    ],
)
def test_no_room(text: str) -> None:
    assert ignored(text) == "a comment here would become part of the text"


JOB = """\
protocolVersion: 2
name: train
type: job
owner: me
taskRoles:
  worker:
    instances: 1
    dockerImage: imaje
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands:
      - >-
        pip install $1
        -r requirements.txt &&
        python train.py
"""


def test_comments_for_all_findings() -> None:
    """A folded block has no room for a comment, and what a comment for the whole file would hide is not known."""

    def wanted(one: Diagnostic) -> bool:
        return one.severity <= Severity.WARNING

    document, count = with_ignore_comments(Document(JOB), lambda document: document.diagnostics, wanted)
    assert [line for line in document.text.splitlines() if "pai-lsp" in line] == [
        "owner: me  # pai-lsp: ignore[unknown-key]",
        "    dockerImage: imaje  # pai-lsp: ignore[unknown-docker-image]",
    ]
    assert count == 2
    assert [one.code for one in document.diagnostics if wanted(one)] == ["unset-positional"]
    assert not [one for one in document.diagnostics if one.code == "unused-ignore"]


def test_a_comment_may_name_a_family() -> None:
    text = "protocolVersion: 2\nname: train\ntype: job\ntaskRoles: {worker: {instances: 0, nonsense: 1}}\n"
    found = {one.code for one in Document(text).diagnostics}
    assert found - {"missing-key"}
    comment = "# pai-lsp: ignore-file[structure, secrets]\n"
    left = Document(comment + text).diagnostics
    assert not {one.code for one in left} & found
    (unused,) = [one for one in left if one.code == "unused-ignore"]
    assert unused.message == "unused ignore comment: there is no finding 'secrets' here"


def test_a_former_code_is_changed_with_all_safe_fixes() -> None:
    text = (
        "# pai-lsp: ignore-file[mpi-as-root]\nprotocolVersion: 2\ntaskRoles: {a: {commands: [mpirun -np 2 hostname]}}\n"
    )
    (found,) = [one for one in Document(text).diagnostics if one.code == "unused-ignore"]
    assert [(fix.title, fix.safe) for fix in found.fixes] == [("Change to 'mpi-run-as-root'", True)]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_code_is_ignored_in_the_whole_file(newline: str) -> None:
    text = newline.join(["protocolVersion: 2", "type: job", ""])
    once = apply_edits(text, ignore_in_file(Document(text), "missing-key").edits)
    assert once == f"# pai-lsp: ignore-file[missing-key]{newline}{text}"
    twice = apply_edits(once, ignore_in_file(Document(once), "empty").edits)
    assert twice == f"# pai-lsp: ignore-file[empty, missing-key]{newline}{text}"
