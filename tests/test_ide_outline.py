"""The outline of a job, as a person would tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pai_lsp.document import Document
from pai_lsp.ide.outline import OutlineItem, OutlineKind, outline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

JOB = """\
protocolVersion: 2
name: 训练😀
type: job
prerequisites:
  - type: dockerimage
    name: image
    uri: openpai/standard:python_3.6
  - type: script
    name: prepare
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskStarts
        commands:
          - pip install -r requirements.txt
          - |

            echo two
            echo three
parameters:
  epochs: 10
  rates: [0.1, 0.2]
  model: {name: resnet, depth: 50}
secrets:
  token: very-secret
taskRoles:
  master:
    instances: 2
    dockerImage: image
    prerequisites: [prepare]
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
    commands: [python train.py --epochs <% $parameters.epochs %>]
  worker:
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0}
    commands: &wait [sleep infinity]
  other:
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0}
    commands: *wait
deployments:
  - name: prod
    taskRoles: {master: {preCommands: [a, b], postCommands: [c]}}
defaults:
  deployment: prod
extras:
  com.microsoft.pai.runtimeplugin:
    - {plugin: ssh, taskroles: [master], parameters: {jobssh: true}}
    - {parameters: {}}
  reference_prerequisites:
    - name: mnist
  gangAllocation: false
"""

OUTLINE = """\
name (field) 训练😀
prerequisites (section) 2
  image (prerequisite) dockerimage
  prepare (prerequisite) script
    taskStarts (callback) 2 commands
      pip install -r requirements.txt (command)
      echo two (command)
parameters (section) 3
  epochs (parameter) 10
  rates (parameter) 0.1, 0.2
  model (parameter) name, depth
secrets (section) 1
  token (secret)
taskRoles (section) 4 tasks, 4 GPU, 10 CPU, 17 GiB
  master (task role) 2 tasks, 4 GPU
    dockerImage (field) image
    prerequisites (field) prepare
    commands (field) 1 command
      python train.py --epochs <% $parameters.epochs %> (command)
  worker (task role) 1 task, 0 GPU
    dockerImage (field) image
    commands (field) 1 command
      sleep infinity (command)
  other (task role) 1 task, 0 GPU
    dockerImage (field) image
    commands (field) 1 command
deployments (section) 1
  prod (deployment)
    master (field) 2 pre, 1 post
defaults (field) deployment
extras (section)
  com.microsoft.pai.runtimeplugin (section) 2
    ssh (plugin) master
    (no name) (plugin)
  reference_prerequisites (section) 1
    mnist (prerequisite)
  gangAllocation (field) false
"""


def lines_of(items: Iterable[OutlineItem], indentation: str = "") -> Iterator[str]:
    for item in items:
        yield f"{indentation}{item.name} ({item.kind.name.lower().replace('_', ' ')}) {item.detail}".rstrip()
        yield from lines_of(item.children, indentation + "  ")


def every(items: Iterable[OutlineItem]) -> Iterator[OutlineItem]:
    for item in items:
        yield item
        yield from every(item.children)


def test_a_job_in_outline() -> None:
    assert "\n".join(lines_of(outline(Document(JOB)))) + "\n" == OUTLINE


def test_names_are_selected() -> None:
    for item in every(outline(Document(JOB))):
        name = JOB[item.name_span.start : item.name_span.end]
        assert name in {item.name, ""} or item.kind is OutlineKind.COMMAND


def test_a_file_of_definitions() -> None:
    document = Document("- name: mnist\n  type: data\n- name: imagenet\n  type: data\n", is_catalog=True)
    assert list(lines_of(outline(document))) == ["mnist (prerequisite) data", "imagenet (prerequisite) data"]


def test_what_looks_like_a_secret_is_not_told() -> None:
    job = JOB.replace("  epochs: 10\n", "  epochs: 10\n  password: hunter2hunter2\n")
    job = job.replace("pip install -r", "curl https://me:hunter3@example.com; pip install -r")
    shown = repr(outline(Document(job)))
    assert "very-secret" not in shown
    assert "hunter2" not in shown
    assert "hunter3" not in shown


@pytest.mark.parametrize("end", [100, 300, 420, 700, 900, 1200])
@pytest.mark.parametrize("more", ["", "\n  [", "\n    - {a: '", "\n x: y"])
def test_half_typed_jobs_have_an_outline(end: int, more: str) -> None:
    text = JOB[:end] + more
    for item in every(outline(Document(text))):
        assert item.name
        assert 0 <= item.span.start <= item.name_span.start <= item.name_span.end <= item.span.end <= len(text)
        for child in item.children:
            assert item.span.start <= child.span.start
            assert child.span.end <= item.span.end


@pytest.mark.parametrize("text", ["", "# nothing\n", "[]", "taskRoles: [1]", "prerequisites: {}\nparameters: 3\n"])
def test_what_is_no_job_has_little_outline(text: str) -> None:
    assert all(not item.children for item in outline(Document(text)))
