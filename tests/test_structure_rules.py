"""Structure rules that fixtures cannot cover: sizes, syntax errors nearby, aliases, files of definitions."""

from __future__ import annotations

import pytest
from job_text import HEAD

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import rules_of
from pai_lsp.platform.structure_errors import StructureError
from pai_lsp.rules import BY_CODE
from pai_lsp.rules.structure import job_shape
from pai_lsp.rules.structure.job_shape import MAX_BYTES
from pai_lsp.source.text import apply_edits

CODES = {rule.code for rule in rules_of(job_shape)}

JOB = (
    HEAD
    + """\
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands:
      - sleep 1
"""
)


def found(text: str, *, is_catalog: bool = False) -> list[tuple[str, str]]:
    """The structure findings as their code and the words that they mark."""
    document = Document(text, is_catalog=is_catalog)
    return [(d.code, text[d.span.start : d.span.end]) for d in document.diagnostics if d.code in CODES]


def test_a_good_job_is_silent() -> None:
    assert found(JOB) == []
    assert found(JOB.replace("\n", "\r\n")) == []
    assert found("\ufeff" + JOB) == []


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing yet\n", "---\n", "~\n"])
def test_an_empty_file_is_no_job(text: str) -> None:
    assert [code for code, _ in found(text)] == ["not-a-job"]
    assert found(text, is_catalog=True) == []


def test_what_can_not_be_read_is_not_called_empty() -> None:
    assert found("\t: :\n%") == []


@pytest.mark.parametrize(("surplus", "is_found"), [(0, False), (1, True)])
def test_the_largest_job(surplus: int, is_found: bool) -> None:
    comment = "# ä"
    size = len((JOB + comment).encode())
    text = JOB + comment + "x" * (MAX_BYTES - size + surplus)
    assert len(text.encode()) == MAX_BYTES + surplus
    document = Document(text)
    large = [d for d in document.diagnostics if d.code == "job-too-large"]
    assert bool(large) is is_found
    if is_found:
        assert large[0].message == "the file has 102,401 bytes; the rest-server accepts at most 102,400"
        assert text[large[0].span.start : large[0].span.end] == "protocolVersion: 2"


@pytest.mark.parametrize(
    ("written", "half_typed"),
    [
        ("    dockerImage: image\n", "    dockerIma\n"),
        ("    commands:\n      - sleep 1\n", "    comm\n"),
        ("    commands:\n      - sleep 1\n", "    commands: [\n"),
        ("    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}\n", "    resourcePerInstance: {cpu: 1,\n"),
    ],
)
def test_what_a_half_typed_line_may_be_is_not_missed(written: str, half_typed: str) -> None:
    text = JOB.replace(written, half_typed)
    assert text != JOB
    assert found(text) == []


def test_a_mistake_elsewhere_does_not_silence_the_rest() -> None:
    text = JOB.replace("gpu: 0}", "gpu: 0}\n    taskRetryCont: 1") + "extras:\n  note: 'open\n"
    assert Document(text).syntax.problems
    assert found(text) == [("unknown-key", "taskRetryCont")]


def test_what_hangs_in_the_wrong_place_after_a_line_that_was_left_out_is_not_accused() -> None:
    text = JOB.replace("taskRoles:\n  worker:\n", "  taskRoles:\n  worker:\n")
    assert Document(text).syntax.problems
    assert [code for code, _ in found(text) if code == "unknown-key"] == []


def test_a_mistake_after_an_alias_is_shown_once_where_it_is_written() -> None:
    text = JOB.replace("  worker:\n", "  worker: &worker\n").replace("gpu: 0", "gpu: '0'") + "  second: *worker\n"
    assert found(text) == [("type-mismatch", "'0'")]
    assert text.count("'0'") == 1


def test_a_mistake_in_a_merged_mapping_is_shown_there() -> None:
    text = JOB.replace("instances: 1\n", "<<: {instances: '1', instance: 2}\n")
    assert found(text) == [("type-mismatch", "'1'"), ("unknown-key", "instance")]


def test_what_others_refer_to_is_not_taken_out() -> None:
    text = "x-usual: &usual {cpu: 1, memoryMB: 1024, gpu: 0}\n" + JOB.replace(
        "resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}", "resourcePerInstance: *usual"
    )
    (finding,) = (d for d in Document(text).diagnostics if d.code == "unknown-key")
    assert tuple(finding.fixes) == ()
    (finding,) = (d for d in Document(text.replace("*usual", "{cpu: 1}")).diagnostics if d.code == "unknown-key")
    assert [fix.title for fix in finding.fixes] == ["Remove 'x-usual'"]


def test_two_keys_that_mean_the_same_are_not_both_renamed_unasked() -> None:
    text = JOB.replace("    instances: 1\n", "    instance: 1\n    Instances: 2\n")
    findings = [d for d in Document(text).diagnostics if d.code == "unknown-key"]
    assert [fix.safe for finding in findings for fix in finding.fixes if fix.title.startswith("Change")] == [False] * 2


def test_a_comment_is_not_lost_unasked() -> None:
    for text, is_safe in (("parameters:\n", True), ("parameters: # none yet\n", False)):
        (finding,) = (d for d in Document(JOB + text).diagnostics if d.code == "empty-section")
        assert [fix.safe for fix in finding.fixes] == [is_safe]


def test_a_placeholder_is_not_tidied_unasked() -> None:
    (finding,) = (d for d in Document(JOB.replace("train", "job-<alias>")).diagnostics if d.code == "invalid-job-name")
    assert [(fix.title, fix.safe) for fix in finding.fixes] == [("Change to 'job--alias'", False)]


def test_line_ends_are_kept() -> None:
    text = JOB.replace("    dockerImage: image\n", "").replace("\n", "\r\n")
    (finding,) = (d for d in Document(text).diagnostics if d.code == "missing-key")
    assert apply_edits(text, finding.fixes[0].edits) == text.replace(
        "instances: 1\r\n", "instances: 1\r\n    dockerImage: image\r\n"
    )


def test_definitions_are_checked_in_every_document() -> None:
    text = "name: a\ntype: script\n---\n- name: b\n  type: scripts\n- type: data\n"
    assert found(text, is_catalog=True) == [("invalid-enum", "scripts"), ("missing-key", "type")]


@pytest.mark.parametrize(
    "kind",
    [
        "unknown-key",
        "v1-job-key",
        "dockerimage-extra-key",
        "missing-key",
        "type-mismatch",
        "taskroles-not-mapping",
        "ports-not-mapping",
        "empty-section",
        "invalid-enum",
        "out-of-range",
        "invalid-job-name",
        "invalid-prerequisite-name",
        "invalid-name",
    ],
)
def test_every_kind_of_structure_error_has_a_rule(kind: str) -> None:
    assert f"`{kind}`" in (StructureError.__doc__ or "")
    assert kind in BY_CODE


@pytest.mark.parametrize(
    ("ports", "converted"),
    [
        ("[a # x, y\n  , b]", "{a: 1, b: 1}"),
        ("[a, {b: 2, c: 3}, d: 4]", "{a: 1, b: 2, c: 3, d: 4}"),
        ('\n- "a"\n# - c\n- b # d', '\n  "a": 1\n# - c\n  b: 1 # d'),
        ("\n- a: 1\n  b: 2\n- c : 3", "\n  a: 1\n  b: 2\n  c : 3"),
        ("\n-   a\n- b", None),
        ("\n- {a: 1}", None),
        ("[a, a]", None),
        ("[]", None),
    ],
)
def test_a_list_of_ports_becomes_a_mapping(ports: str, converted: str | None) -> None:
    text = (
        f"taskRoles:\n  worker:\n    resourcePerInstance:\n      ports: {ports.replace(chr(10), chr(10) + ' ' * 6)}\n"
    )
    fixes = [fix for one in Document(text).diagnostics if one.code == "ports-not-mapping" for fix in one.fixes]
    after = [apply_edits(text, fix.edits).partition("ports: ")[2].replace("\n" + " " * 6, "\n") for fix in fixes]
    assert after == ([] if converted is None else [f"{converted}\n"])
