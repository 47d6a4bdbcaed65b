"""The place of the cursor, wherever it is in a job and whatever is half-typed there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from budgets import IS_FAST

from pai_lsp.document import Document
from pai_lsp.ide import cursor as cursor_module
from pai_lsp.ide.completion.complete import complete
from pai_lsp.ide.cursor import Cursor, Location
from pai_lsp.ide.hover import hover
from pai_lsp.ide.navigation import definitions
from pai_lsp.ide.outline import selection_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pai_lsp.job.job import Job

JOB = """\
protocolVersion: 2
name: 漢字😀
type: job
prerequisites:
  # the image
  - type: dockerimage
    name: image
    uri: openpai/standard:python_3.6
  - type: script
    name: prepare
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskStarts
        commands:
          - echo <% $parameters.rate %> {{ path }}
    template_variables: [{name: path}]
  -
    type: data
    name: dataset
    uri: [https://example.com/a.zip]
parameters:
  rate: 0.1
  nested:
    deep: 1
taskRoles:
  master:
    instances: 1
    dockerImage: image
    prerequisites: [prepare, ]
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
    commands:
      - |
        echo "語😀 <% $parameters.rate %>"

        echo $PAI_HOST_IP_worker_0
      - mpirun -H master-0:1
         hostname
  worker: # the others
    instances: 3

    dockerImage: image
    commands: [sleep infinity]
  empty:
deployments:
- name: prod
  taskRoles:
    worker:
      preCommands:
        - echo before
extras:
  com.microsoft.pai.runtimeplugin:
    - plugin: ssh
      parameters:
        jobssh: true
"""


def typed(text: str, step: int) -> Iterator[tuple[str, str, int]]:
    """The text at many places: as it is, with a letter typed, with a letter and without the rest of the line."""
    for offset in range(0, len(text) + 1, step):
        end = text.find("\n", offset)
        yield "nothing", text, offset
        yield "a letter", f"{text[:offset]}c{text[offset:]}", offset + 1
        yield "the rest gone", f"{text[:offset]}c{text[end:] if end >= 0 else ''}", offset + 1


@pytest.mark.parametrize(("end", "step"), [("\n", 4), ("\r\n", 9)], ids=["LF", "CRLF"])
def test_what_would_be_replaced_is_around_the_cursor(end: str, step: int) -> None:
    found, every = 0, 9 * step if IS_FAST else step
    for what, text, offset in typed(JOB.replace("\n", end), every):
        place = Cursor(Document(text), offset).insertion_point
        if place is None:
            continue
        found += 1
        where = f"{what} at {offset}: {text[:offset][-40:]!r}"
        assert place.replace.start <= offset <= place.replace.end, where
        assert "\n" not in text[place.replace.start : place.replace.end], where
        assert place.content[: place.index].endswith(place.prefix), where
    assert found > len(JOB) // (3 * every)


@pytest.mark.parametrize(
    ("place", "wanted"),
    [
        ("    dockerImage: ", "image"),
        ("    prerequisites: [prepare, ", "dataset"),
        ("echo <% $parameters.", "$parameters.rate"),
        ("{{ ", "path"),
        ('echo "語😀 <% $', "$parameters.nested.deep"),
        ("echo $PAI_HOST", "PAI_HOST_IP_worker_2"),
        ("    worker:\n      ", "postCommands"),
        ("instances: 3\n\n    ", "resourcePerInstance"),
    ],
)
def test_names_of_the_whole_job_are_offered(place: str, wanted: str) -> None:
    document = Document(JOB)
    offset = JOB.index(place) + len(place)
    assert wanted in [suggestion.label for suggestion in complete(document, offset)]


@pytest.mark.parametrize("ask", [hover, definitions, selection_ranges], ids=lambda ask: ask.__name__)
def test_an_answer_locates_once(monkeypatch: pytest.MonkeyPatch, ask: Callable[[Document, int], object]) -> None:
    document = Document(JOB)
    asked: list[int] = []

    def counted(job: Job, offset: int) -> Location | None:
        asked.append(offset)
        return locate(job, offset)

    locate = cursor_module._locate
    monkeypatch.setattr(cursor_module, "_locate", counted)
    for offset in range(0, len(JOB), 3):
        asked.clear()
        ask(document, offset)
        assert asked.count(offset) <= 1, JOB[:offset][-40:]


@pytest.mark.parametrize("section", ["taskRoles", "deployments"])
def test_a_command_knows_its_task_role(section: str) -> None:
    deployment = "- name: prod\n    taskRoles:\n      worker:\n        preCommands: [echo]\n"
    text = f"{JOB[: JOB.index('deployments:')]}deployments:\n  {deployment}"
    start = text.index("echo", text.index(f"{section}:"))
    location = Cursor(Document(text), start).location
    assert location is not None
    assert location.task_role is not None
    assert location.task_role.name == {"taskRoles": "master", "deployments": "worker"}[section]
