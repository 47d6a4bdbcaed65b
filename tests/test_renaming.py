"""A name changes at the same places, whether an editor renames it, a quick fix or a refactoring."""

from __future__ import annotations

import pytest
from budgets import generated_cases, some
from hypothesis import given
from hypothesis import strategies as st
from job_text import HEAD
from random_edits import edited, job_texts

from pai_lsp.document import Document
from pai_lsp.ide.navigation import RenameRefused, rename
from pai_lsp.job.symbols import SymbolKind, occurrence_at, rename_prerequisite, rename_role
from pai_lsp.source.text import apply_edits

TEXTS = job_texts()
NEW = {
    SymbolKind.TASK_ROLE: "renamed",
    SymbolKind.PREREQUISITE: "renamed-one",
    SymbolKind.PARAMETER: "renamed",
    SymbolKind.SECRET: "renamed",
}

JOB = (
    HEAD
    + """\
  - {name: image, type: script, plugin: com.microsoft.pai.runtimeplugin.cmd, preCommands: [echo]}
  - {name: data set, type: data}
parameters: {hosts: "my_role-0,other", main: x}
taskRoles:
  my_role:
    instances: 2
    dockerImage: image
    data: data set
    prerequisites: [image]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 1}
    commands:
      - for i in 0 1; do ssh my_role-$i hostname; ssh my_role-${i}; echo $PAI_HOST_IP_my_role_0; done
      - eval echo \\$PAI_HOST_IP_my_role_$i > my_role-$i.log; cat my_role-0.log
extras:
  com.microsoft.pai.runtimeplugin:
    - plugin: ssh
      parameters: {jobssh: true}
      taskroles: [my_role]
"""
)


@pytest.mark.parametrize("name", some(sorted(TEXTS), 3))
def test_every_way_to_rename_changes_the_same_places(name: str) -> None:
    document = Document(TEXTS[name], path="a.pai.yaml")
    job = document.job
    for place in document.occurrences:
        kind = place.symbol.kind
        if kind not in NEW or not place.is_definition:
            continue
        try:
            asked = rename(document, place.span.start, NEW[kind])
        except RenameRefused:
            continue
        if kind is SymbolKind.TASK_ROLE:
            assert asked == rename_role(job, place.symbol.name, NEW[kind]).edits
        elif kind is SymbolKind.PREREQUISITE:
            definition = next(one for one in job.definitions if one.name_scalar and one.name_span == place.span)
            assert asked == rename_prerequisite(job, definition, NEW[kind])
        after = Document(apply_edits(document.text, asked), path="a.pai.yaml")
        renamed = [one for one in after.occurrences if one.symbol.name == NEW[kind] and one.symbol.kind is kind]
        assert len(renamed) >= len(asked)


@pytest.mark.parametrize("name", some(sorted(TEXTS), 4))
def test_every_fix_that_renames_does_what_the_editor_does(name: str) -> None:
    assert_fixes_rename(TEXTS[name])


@generated_cases(150)
@given(st.sampled_from(sorted(TEXTS)), st.integers(0, 2**32))
def test_every_fix_renames_as_the_editor_does_in_edited_jobs(name: str, seed: int) -> None:
    assert_fixes_rename(edited(TEXTS[name], seed))


def assert_fixes_rename(text: str) -> int:
    """How many fixes rename something in the job."""
    document = Document(text, path="a.pai.yaml")
    count = 0
    for finding in document.diagnostics:
        for fix in finding.fixes:
            words = fix.title.split("'")
            here = occurrence_at(document.occurrences, finding.span.start)
            if here is not None and here.symbol.kind in NEW and fix.title.startswith("Rename") and len(words) == 3:
                edits = tuple(sorted(fix.edits))
                try:
                    asked = rename(document, finding.span.start, words[1])
                except RenameRefused:
                    continue
                assert edits == asked
                count += 1
    return count


def test_hosts_and_variables_with_a_shell_variable_are_renamed_by_all() -> None:
    assert assert_fixes_rename(JOB) == 4
    document = Document(JOB, path="a.pai.yaml")
    text = apply_edits(JOB, rename(document, JOB.index("  my_role:") + 3, "node"))
    assert "ssh node-$i hostname; ssh node-${i}; echo $PAI_HOST_IP_node_0;" in text
    assert "$PAI_HOST_IP_node_$i > my_role-$i.log; cat my_role-0.log" in text
    assert 'hosts: "node-0,other"' in text
    assert "taskroles: [node]" in text


def test_of_two_prerequisites_with_one_name_the_one_at_the_cursor_is_renamed() -> None:
    document = Document(JOB, path="a.pai.yaml")
    first, second = (one for one in document.job.definitions if one.name == "image")
    edits = rename(document, first.name_span.start, "base")
    assert "dockerImage: base\n    data: data set\n    prerequisites: [image]" in apply_edits(JOB, edits)
    assert edits == rename(document, JOB.index("dockerImage: image") + 15, "base")
    edits = rename(document, second.name_span.start, "base")
    assert "dockerImage: image\n    data: data set\n    prerequisites: [base]" in apply_edits(JOB, edits)
