"""Long chains of `require`: four times as many definitions are four times the work, whatever comes of them."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from job_text import HEAD

from pai_lsp.document import Document
from pai_lsp.expansion.effective import effective_job
from pai_lsp.expansion.released_job import expanded
from pai_lsp.expansion.script import scripts

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from pai_lsp.job.job import Job

TAIL = """\
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [first]
    resourcePerInstance: {cpu: 1, memoryMB: 1, gpu: 0}
    commands: [echo hello]
"""


def definition(name: str, *required: str) -> str:
    return (
        f"  - {{name: {name}, type: script, require: [{', '.join(required)}], requireStorages: [{{name: {name}}}],\n"
        f"     callbacks: [{{event: taskStarts, commands: [echo {name}]}}]}}\n"
    )


def deep(count: int) -> str:
    names = ["first", *(f"link{number}" for number in range(1, count))]
    chain = [definition(one, other) for one, other in pairwise(names)]
    return "".join([HEAD, *chain, definition(names[-1]), TAIL])


def wide(count: int) -> str:
    leaves = [f"leaf{number}" for number in range(count)]
    return "".join([HEAD, definition("first", *leaves), *map(definition, leaves), TAIL])


def inlined(job: Job) -> str | None:
    return expanded(job, [role.name for role in job.task_roles]).text


def calls(output: Callable[[Job], Any], text: str) -> int:
    """How many functions and generators are entered."""
    count = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    job = Document(text).job
    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        assert output(job)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("shape", [deep, wide])
@pytest.mark.parametrize(
    "output",
    [
        lambda job: expanded(job).text,
        inlined,
        lambda job: expanded(job).run,
        lambda job: scripts(job, effective_job(job)),
    ],
    ids=["yaml", "inline", "json", "script"],
)
def test_the_work_grows_as_the_job_does(shape: Callable[[int], str], output: Callable[[Job], Any]) -> None:
    assert calls(output, shape(80)) < 4.4 * calls(output, shape(20))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [deep, wide])
def test_a_thousand_expand_and_stay_expanded(shape: Callable[[int], str]) -> None:
    text = expanded(Document(shape(1000)).job).text
    assert text is not None
    assert text.count("event: taskStarts") == text.count("mountPath: ") >= 1000
    assert expanded(Document(text).job).text == text
