"""What each task role means to run: order, values, and where every line is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from expansion import job_of
from job_text import HEAD

from pai_lsp.document import Document
from pai_lsp.expansion.effective import effective_job
from pai_lsp.expansion.released_commands import role_values
from pai_lsp.expansion.script import Origins, effective_parts
from pai_lsp.ide.preview import preview
from pai_lsp.source.text import LineIndex

if TYPE_CHECKING:
    from pai_lsp.expansion.effective import EffectiveRole
    from pai_lsp.expansion.script import ScriptPart
    from pai_lsp.job.job import Job

JOB = (
    HEAD
    + """\
  - name: disk
    type: script
    folder: /disk
    size: 5
    callbacks: [{event: taskStarts, commands: [mount <% this.folder %>]}]
  - name: cache
    type: script
    folder: /cache
    kinds: [ram, {of: disk}]
    callbacks: [{event: containerStart, commands: [cache]}]
  - name: set
    type: data
    template_variables: [{name: part}]
    require: [cache, disk]
    callbacks:
      - event: taskStarts
        commands:
          - TEXT
  - name: both
    type: data
    require:
      - {name: set, template_variables: {part: "{{ part }}"}}
      - {name: set, template_variables: {part: two}}
      - {name: set, template_variables: {part: one}}
    template_variables: [{name: part}]
    callbacks: [{event: containerExit, commands: [both]}]
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [all, disk, "marketplace://name/install_wget"]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [run]
extras:
  reference_prerequisites:
    - {name: all, require: [{name: both, template_variables: {part: one}}]}
"""
)


def lines(text: str = "set {{ part }}") -> list[str]:
    job = job_of(JOB.replace("TEXT", text))
    effective = effective_job(job)
    assert effective.problems == ()
    (role,) = effective.roles
    return [line.text for part in parts(job, role) for line in part.lines]


def parts(job: Job, role: EffectiveRole) -> tuple[ScriptPart, ...]:
    return effective_parts(job, role, role_values(job)["worker"], Origins(LineIndex(job.text)))


def test_what_is_required_runs_once_for_the_same_values_and_in_order() -> None:
    assert lines() == ["cache", "mount /disk", "set one", "set two", 'echo "install wget"', "run", "both"]


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("x <% this.folder %>", "x /cache"),
        ("x <% this.parameters.size %>", "x 5"),
        ("x <% this.kinds[0] %> <% this.kinds[1].of %>", "x ram disk"),
        ("x <% this.name %> {{part}} {{ FC_TASK_INDEX }} '{{.ID}}'", "x set one {{ FC_TASK_INDEX }} '{{.ID}}'"),
        ("'x {{ part }}<% this.size %>{{ part }}'", "x one5one"),
    ],
)
def test_keys_are_found_in_what_is_required_nearest_first(text: str, filled: str) -> None:
    assert lines(text)[2] == filled


def test_every_line_tells_where_it_is_written() -> None:
    job = job_of(JOB.replace("TEXT", "set {{ part }}"))
    (role,) = effective_job(job).roles
    found = [line for part in parts(job, role) for line in part.lines]
    written = [job.text[line.span.start : line.span.end] for line in found if line.path is None]
    assert written == ["cache", "mount <% this.folder %>", "set {{ part }}", "set {{ part }}", "run", "both"]
    assert [line.path for line in found if line.path is not None] == ["marketplace/all.yaml"]


def test_a_preview_shows_what_is_known_and_reports_what_is_unknown() -> None:
    document = Document(
        """\
protocolVersion: 2
name: preview
type: job
parameters: {rate: 0.1}
secrets: {key: abc}
prerequisites:
  - {type: dockerimage, name: image, uri: "ubuntu:20.04"}
  - {name: login, type: script, plugin: com.microsoft.pai.runtimeplugin.ssh, jobssh: true}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [login, nothing]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [python train.py <% $parameters.rate %> <% $secrets.key %>]
extras:
  com.microsoft.pai.runtimeplugin:
    - plugin: cmd
      failurePolicy: ignore
      parameters: {preCommands: ["echo <% $parameters.rate %>"]}
"""
    )
    assert preview(document, "worker").text == (
        "# line 13: no prerequisite is named 'nothing'\n"
        "# --- before the commands: 'login', plugin 'ssh' (line 8) ---\n"
        "\n"
        "# --- before the commands: the cmd plugin of extras (line 18); failures are ignored ---\n"
        "echo 0.1\n"
        "\n"
        "# --- the commands of 'worker' (line 15) ---\n"
        "python train.py 0.1 <% $secrets.key %>\n"
    )
    assert preview(document, "absent").text.endswith("# no task role is named 'absent'\n")


@pytest.mark.parametrize(
    ("keys", "storage"),
    [
        ("config: disk, mountPath: /a, mountPoint: /b", ("disk", "/a")),
        ("config: disk, mountPoint: /b", ("disk", "/b")),
        ("mountPath: /a", ("nfs", "/a")),
        ("config: disk", ("disk", "/mnt/disk")),
        ("", ("nfs", "/mnt/nfs")),
    ],
)
def test_where_a_definition_of_a_storage_is_mounted(keys: str, storage: tuple[str, str]) -> None:
    text = (
        f"prerequisites: [{{name: nfs, type: storage, {keys}}}]\n"
        "taskRoles: {worker: {prerequisites: [nfs], commands: [ls]}}\n"
    )
    (found,) = effective_job(job_of(text)).prerequisites[0].storages
    assert (found.name, found.mount_path) == storage
