"""Replacing one reference by its definition: the role runs the same commands in the same order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from expansion import Ended, job_of, run_of, run_task
from job_text import HEAD

from pai_lsp.expansion.released_job import expanded
from pai_lsp.ide.refactorings.refactoring import CanNotRefactorError
from pai_lsp.ide.refactorings.resolve_references import import_edits, inline_edits, into_job_edits
from pai_lsp.source.text import apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pai_lsp.job.definition import Reference
    from pai_lsp.job.job import Job
    from pai_lsp.source.text import TextEdit

JOB = (
    HEAD
    + """\
  # the base
  - name: base
    type: script
    callbacks:
      - {event: taskStarts, commands: [echo base]}
      - {event: taskSucceeds, commands: [echo base ends]}
  - name: first
    type: script
    require: [base]
    callbacks: [{event: taskStarts, commands: [echo first]}]
  - name: second
    type: script
    require: [base]
    callbacks:
      - {event: taskStarts, commands: ["echo 'second' \\"$HOME\\""]}
      - {event: taskSucceeds, commands: [echo second ends]}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: # what it needs
LISTED
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands:
      # go
      - echo run
extras:
  reference_prerequisites:
    - name: digits
      require:
        - {name: "marketplace://name/digits", template_variables: {dataPath: /tmp}}
"""
)


def job(*listed: str, text: str = JOB) -> Job:
    return job_of(text.replace("LISTED", "\n".join(f"      - {name}" for name in listed)))


def reference(one: Job, name: str) -> Reference:
    return next(found for found in one.task_roles[0].prerequisites if found.name == name)


def inlined(one: Job, role: str, found: Reference) -> tuple[TextEdit, ...]:
    return inline_edits(one, role, [found])


def ended(text: str, folder: Path) -> Ended:
    result = expanded(job_of(text))
    assert result.problems == ()
    assert result.text is not None
    return run_task(run_of(result.text), folder)


@pytest.mark.parametrize(
    ("listed", "name"),
    [
        (("second",), "second"),
        (("first", "second"), "second"),
        (("base", "first"), "first"),
        (("first", "digits"), "digits"),
        (('"marketplace://name/install_wget"',), "marketplace://name/install_wget"),
    ],
)
@pytest.mark.parametrize("edit", [inlined, into_job_edits])
def test_the_role_runs_the_same_afterwards(
    tmp_path: Path, listed: tuple[str, ...], name: str, edit: Callable[[Job, str, Reference], tuple[TextEdit, ...]]
) -> None:
    before = job(*listed)
    edits = edit(before, "worker", reference(before, name))
    text = apply_edits(before.text, edits)
    if edit is inlined or "marketplace" in name or name == "digits":
        assert text != before.text
    assert "# what it needs" in text or len(listed) == 1
    assert "      # go\n      - echo run\n" in text
    assert ended(text, tmp_path) == ended(before.text, tmp_path)


def test_inlined_commands_stand_in_front_of_the_own_ones() -> None:
    before = job("first", "second")
    text = apply_edits(before.text, inlined(before, "worker", reference(before, "second")))
    assert (
        "    prerequisites: # what it needs\n"
        "      - first\n"
        "    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}\n"
        "    commands:\n"
        "      - |-\n"
        "        # Runs the commands in a process of their own"
    ) in text
    assert (
        "      - |-\n"
        "        pai_lsp_at_end 'taskSucceeds of second' 3<<'PAI_LSP_END'\n"
        "        set -o errexit\n"
        "        echo second ends\n"
        "        PAI_LSP_END\n"
        "      - pai_lsp_commands\n"
        "      - |-\n"
        "        # taskStarts of 'second'\n"
        "        set +o nounset +o pipefail\n"
        "        echo 'second' \"$HOME\"\n"
        "        set -o nounset -o pipefail\n"
        "      # go\n"
        "      - echo run\n"
    ) in text


def test_a_definition_comes_into_the_job_with_its_variables_filled() -> None:
    before = job("digits", "base")
    text = apply_edits(before.text, into_job_edits(before, "worker", reference(before, "digits")))
    assert (
        "  - name: digits\n"
        "    type: data\n"
        "    plugin: cmd\n"
        "    plugin_params:\n"
        "      callbacks:\n"
        "        - event: taskStarts\n"
        "          commands:\n"
        "            - mkdir -p /tmp\n"
        '            - echo "digits are in /tmp"\n'
    ) in text
    assert "      - install_wget\n      - digits\n      - base\n" in text


@pytest.mark.parametrize(
    ("listed", "name", "reason"),
    [
        (("second", "first"), "second", "'first' runs between 'second' and the commands; inline it first"),
        (("base", "second"), "base", "'base' is also required by another prerequisite of this task role"),
        (("first", "nothing"), "first", "no prerequisite is named 'nothing'"),
    ],
)
def test_nothing_is_inlined_that_would_then_run_at_another_time(
    listed: tuple[str, ...], name: str, reason: str
) -> None:
    before = job(*listed)
    with pytest.raises(CanNotRefactorError) as error:
        inlined(before, "worker", reference(before, name))
    assert str(error.value) == reason


def test_a_definition_is_copied_from_the_marketplace_and_named_here(tmp_path: Path) -> None:
    before = job('"marketplace://name/install_wget"', text=JOB.partition("extras:")[0])
    text = apply_edits(before.text, import_edits(before, reference(before, "marketplace://name/install_wget")))
    assert '      - "install_wget"\n' in text
    assert "  - name: install_wget\n    type: script\n    plugin: cmd\n" in text
    assert ended(text, tmp_path) == ended(before.text, tmp_path)


def test_a_copy_that_would_run_beside_the_original_is_not_made() -> None:
    before = job('"marketplace://name/install_wget"', "digits")
    one = reference(before, "marketplace://name/install_wget")
    assert import_edits(before, one) == ()
    assert into_job_edits(before, "worker", one) == ()
