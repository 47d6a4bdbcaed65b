"""The jobs with which prerequisites were proposed (openpai, issues 5145 and 5345): each runs as its author meant it.

A job is expanded by the command line, and what a released cluster then runs is run with a real bash.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from programs import harmless_programs
from runtime_container import FINISHED, STARTING, USER_END, USER_START, Container, TaskEnd

from pai_lsp.cli.main import main
from pai_lsp.document import Document
from pai_lsp.expansion.released_run import released_run
from pai_lsp.findings.diagnostic import Severity

MARKETPLACE = Path(__file__).parent.parent / "examples" / "marketplace"

PIECES = {
    "image": """\
  - type: dockerimage
    name: standard
    uri: openpai/standard:python_3.6-pytorch_1.2.0-gpu
""",
    "role": """\
    instances: 1
    completion: {minFailedInstances: 1}
    taskRetryCount: 0
    dockerImage: standard
    resourcePerInstance: {gpu: 1, cpu: 3, memoryMB: 29065}
""",
    "ssh": """\
extras:
  com.microsoft.pai.runtimeplugin:
    - plugin: ssh
      parameters:
        jobssh: true
""",
}


def job(prerequisites: str, role: str, rest: str = "", *, image: str = PIECES["image"]) -> str:
    head = "protocolVersion: 2\nname: seed\ntype: job\njobRetryCount: 0\n"
    return (
        f"{head}prerequisites:\n{prerequisites}{image}taskRoles:\n  trainer:\n{PIECES['role']}{role}"
        f"defaults: {{virtualCluster: default}}\n{rest}"
    )


class Project:
    """A folder with the marketplace of the examples, in which the command line runs; and a container."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        self.container = Container(folder)

    def expand(self, text: str, *options: str) -> tuple[int, str, str]:
        """The exit status of `pai-lsp expand`, its output, and its messages."""
        (self.folder / "job.pai.yaml").write_text(text, encoding="utf-8")
        status = main(["expand", "job.pai.yaml", *options])
        output, errors = self._capsys.readouterr()
        return status, output, errors

    def expanded(self, text: str, *options: str) -> str:
        """The expanded job, which every released cluster takes as it is."""
        status, output, _ = self.expand(text, *options)
        assert status == 0
        found = Document(output).diagnostics
        assert [one.message for one in found if one.severity is Severity.ERROR or one.code == "needs-expansion"] == []
        return output

    def run(self, text: str, *options: str, secrets: dict[str, str] | None = None) -> TaskEnd:
        """Expand a job and run its task."""
        run = released_run(Document(self.expanded(text, *options)).job)
        assert run.stops == ()
        return self.container.run(run.roles["trainer"], secrets)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    shutil.copytree(MARKETPLACE, tmp_path / "marketplace")
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path, capsys)


def log(before: list[str], user: list[str], after: list[str]) -> TaskEnd:
    return TaskEnd([STARTING, *before, FINISHED, USER_START, *user, USER_END, *after], 0)


ECHO = """\
  - type: script
    name: echoes
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskStarts
        commands:
          - echo 111
          - echo 222
      - event: taskSucceeds
        commands:
          - echo 333
          - echo 444
"""
FIRST = """\
  - type: script
    name: first
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - {event: taskStarts, commands: [echo 111]}
      - {event: taskSucceeds, commands: [echo 222]}
"""
LATER = FIRST.replace("first", "later").replace("111", "aaa").replace("222", "bbb")
SLEEPS = "    commands: [sleep 0s]\n"


@pytest.mark.parametrize("options", [(), ("--inline",)])
def test_commands_of_a_prerequisite_run_before_and_after(project: Project, options: tuple[str, ...]) -> None:
    text = job(ECHO, "    prerequisites: [echoes]\n" + SLEEPS, PIECES["ssh"])
    end = project.run(text, *options)
    assert [line for line in end.log if line.isdigit()] == ["111", "222", "333", "444"]
    if not options:
        assert end == log(["111", "222"], [], ["333", "444"])
        assert project.expanded(text) == text


@pytest.mark.parametrize("options", [(), ("--inline",)])
def test_several_prerequisites_end_in_reverse(project: Project, options: tuple[str, ...]) -> None:
    text = job(FIRST + LATER, "    prerequisites: [first, later]\n" + SLEEPS, PIECES["ssh"])
    end = project.run(text, *options)
    assert [line for line in end.log if len(line) == 3] == ["111", "aaa", "bbb", "222"]
    if not options:
        assert end == log(["111", "aaa"], [], ["bbb", "222"])


def test_an_unknown_reference_is_an_error(project: Project) -> None:
    text = job(ECHO, "    prerequisites: [echoes_wrong]\n" + SLEEPS, PIECES["ssh"])
    line = text[: text.index("echoes_wrong")].count("\n") + 1
    status, output, errors = project.expand(text)
    assert (status, output) == (1, "")
    assert "error[unknown-prerequisite]: no prerequisite is named 'echoes_wrong'; did you mean 'echoes'?" in errors
    assert f"job.pai.yaml:{line}:21" in errors


def test_a_job_of_the_old_style_works_unchanged(project: Project) -> None:
    text = """\
protocolVersion: 2
name: xray-images_17
description: >
  Images of chests, of patients who are positive or suspected of a pneumonia
  ([SARS](https://en.wikipedia.org/wiki/SARS), and others).
contributor: OpenPAI
type: job
jobRetryCount: 0
prerequisites:
  - name: xray-images
    type: data
    uri:
      - 'https://example.com/xray-images.git'
  - name: default_image
    type: dockerimage
    uri: 'openpai/standard:python_3.6-pytorch_1.4.0-gpu'
taskRoles:
  trainer:
    instances: 1
    completion:
      minFailedInstances: 1
    taskRetryCount: 0
    dockerImage: default_image
    data: xray-images
    resourcePerInstance:
      cpu: 3
      memoryMB: 29065
      gpu: 1
    commands:
      - 'git clone <% $data.uri[0] %>'
defaults:
  virtualCluster: default
"""
    project.container.tool("git")
    assert project.expanded(text) == text
    assert project.run(text) == log([], ["git clone https://example.com/xray-images.git"], [])


@pytest.mark.parametrize("options", [(), ("--inline",)])
def test_data_that_a_prerequisite_fetches_is_there(project: Project, options: tuple[str, ...]) -> None:
    text = job(
        """\
  - type: script
    name: install-git
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskStarts
        commands:
          - apt update
          - apt install -y git
  - type: data
    name: xray-data
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskStarts
        commands:
          - mkdir -p dataset/xray
          - >-
            git clone https://example.com/xray-images.git
            dataset/xray
""",
        "    prerequisites: [install-git, xray-data]\n    commands: [ls dataset/xray]\n",
        PIECES["ssh"],
    )
    project.container.tool("apt")
    project.container.tool("git", 'touch "$3/metadata.csv"')
    end = project.run(text, *options)
    fetched = ["apt update", "apt install -y git", "git clone https://example.com/xray-images.git dataset/xray"]
    assert [line for line in end.log if (line.islower() and " " in line) or "." in line] == [*fetched, "metadata.csv"]
    assert end.status == 0


@pytest.mark.parametrize("options", [(), ("--inline",)])
def test_parameters_and_secrets(project: Project, options: tuple[str, ...]) -> None:
    text = job(
        """\
  - type: script
    name: echoes
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskStarts
        commands:
          - echo <% $parameters.x %>
          - echo <% $secrets.y %>
""",
        "    prerequisites: [echoes]\n" + SLEEPS,
        f"parameters: {{x: '111'}}\nsecrets: {{'y': '222'}}\n{PIECES['ssh']}",
    )
    end = project.run(text, *options, secrets={"y": "222"})
    assert [line for line in end.log if line.isdigit()] == ["111", "222"]
    status, script, _ = project.expand(text, "--format", "script", *options)
    assert status == 0
    assert "echo <% $secrets.y %>" in script
    assert "222" not in script


EXPORTS = """\
  - name: xray
    type: data
    callbacks:
      - event: containerStart
        commands:
          - mkdir -p data/xray
          - cd data/xray
          - wget https://example.com/xray.zip
          - export DATA_DIR=$PWD
"""


def test_what_a_callback_exports_reaches_the_commands_when_inlined(project: Project) -> None:
    text = job(EXPORTS, "    prerequisites: [xray]\n    commands: [basename $DATA_DIR]\n")
    project.container.tool("wget", "touch xray.zip")
    fetched = "wget https://example.com/xray.zip"
    # On a cluster each callback has a process of its own; `nounset` then ends the task.
    lost = project.run(text)
    assert lost == TaskEnd([STARTING, fetched, FINISHED, USER_START], 1)
    assert project.run(text, "--inline") == log([], [fetched, "xray"], [])
    assert (project.container.home / "data" / "xray" / "xray.zip").exists()


STORAGE = """\
  - name: team-disk
    type: storage
    plugin: com.microsoft.pai.rest.storage
    config: nfsconfig
    mountPoint: /mnt/team-disk
  - name: digits
    type: data
    plugin: com.microsoft.pai.runtimeplugin.cmd
    require:
      - team-disk
    callbacks:
      - event: containerStart
        commands:
          - echo digits are in <% this.mountPoint %>/digits
  - name: results
    type: output
    plugin: com.microsoft.pai.runtimeplugin.cmd
    require:
      - team-disk
    callbacks:
      - event: containerStart
        commands:
          - mkdir results
      - event: containerExit
        commands:
          - 'if [ -z "$(ls results)" ]; then'
          - echo "no results"
          - else
          - cp -v results/* .
          - fi
"""


@pytest.mark.parametrize(
    ("command", "said", "status"),
    [
        ("touch results/loss.txt", "'results/loss.txt' -> './loss.txt'", 0),
        ("echo nothing", "no results", 0),
        ("touch results/part.txt; exit 9", "'results/part.txt' -> './part.txt'", 9),
    ],
)
def test_a_required_storage_and_what_runs_at_the_end(project: Project, command: str, said: str, status: int) -> None:
    text = job(STORAGE, f"    prerequisites: [digits, results]\n    commands: ['{command}']\n")
    end = project.run(text)
    assert end.status == status
    assert "digits are in /mnt/team-disk/digits" in end.log
    assert said in end.log
    extras = yaml.safe_load(project.expanded(text))["extras"]
    assert extras == {"storages": [{"name": "nfsconfig", "mountPath": "/mnt/team-disk"}]}


def test_a_runtime_plugin_as_a_prerequisite_stays(project: Project) -> None:
    text = job(
        "  - {name: enable-ssh, type: script, plugin: com.microsoft.pai.runtimeplugin.ssh, jobssh: true}\n",
        "    prerequisites: [enable-ssh]\n" + SLEEPS,
    )
    assert project.expanded(text) == text


def reference(name: str, **variables: object) -> str:
    """An entry of `extras.reference_prerequisites` that fills a definition of the marketplace."""
    given = "".join(f"            {key}: {value}\n" for key, value in variables.items())
    lines = f"    - name: {name}\n      require:\n        - name: marketplace://name/{name}\n"
    return f"{lines}          template_variables:\n{given}"


def referring(*references: str) -> str:
    return "extras:\n  reference_prerequisites:\n" + "".join(references)


@pytest.mark.parametrize("options", [(), ("--inline",)])
def test_a_dataset_of_the_marketplace(project: Project, options: tuple[str, ...]) -> None:
    role = "    prerequisites: [mnist]\n    commands: [ls sets/mnist]\n"
    text = job("", role, referring(reference("mnist", dataPath="sets/mnist")))
    project.container.tool("wget", 'touch "$4"')
    project.container.tool("tar", 'touch "$4/digits"')
    end = project.run(text, *options)
    archive = "sets/mnist/mnist.tar.gz"
    said = [line for line in end.log if line.startswith(("wget ", "tar ", "digits"))]
    assert said == [
        f"wget -q https://example.com/datasets/mnist.tar.gz -O {archive}",
        f"tar -xzf {archive} -C sets/mnist",
        "digits",
    ]
    assert end.status == 0


def test_a_dataset_on_a_storage(project: Project) -> None:
    role = "    prerequisites: [imagenet, imagenet_only_validation]\n    commands: [echo run]\n"
    references = referring(
        reference("imagenet", dataPath="sets/imagenet"), reference("imagenet_only_validation", dataPath="sets/part")
    )
    text = job("", role, references)
    project.container.tool("cp")
    end = project.run(text)
    assert [line for line in end.log if line.startswith("cp ")] == [
        "cp -r /mnt/confignfs_pvc/imagenet/. sets/imagenet",
        "cp -r /mnt/confignfs_pvc/imagenet/validation/. sets/part/validation",
    ]
    assert end.status == 0
    extras = yaml.safe_load(project.expanded(text))["extras"]
    assert extras == {"storages": [{"name": "confignfs", "mountPath": "/mnt/confignfs_pvc"}]}


@pytest.mark.parametrize(("command", "status"), [("sleep 0s", 0), ("exit 3", 3), ("no-such-command", 127)])
def test_the_debug_hook_runs_when_the_commands_fail(project: Project, command: str, status: int) -> None:
    role = f"    prerequisites: [debug_hook]\n    commands: ['{command}']\n"
    text = job("", role, referring(reference("debug_hook", min=30)))
    project.container.tool("sleep")
    end = project.run(text)
    assert end.status == status
    hook = ["the task has failed; its container stays for 30 minutes", "sleep 30m"]
    assert [line for line in end.log if line in hook] == (hook if status else [])


def test_references_by_type_and_superseded_events(project: Project) -> None:
    (project.folder / "marketplace" / "pai_copy.yaml").write_text(
        "name: pai_copy\ntype: script\ncallbacks:\n  - {event: containerStarts, commands: [echo install pai_copy]}\n",
        encoding="utf-8",
    )
    text = job(
        """\
  - type: script
    name: copy_data
    require: ["marketplace://script/pai_copy"]
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: containerStarts
        commands:
          - echo pai_copy data
""",
        '    prerequisites: [copy_data, "marketplace://script/install_wget"]\n' + SLEEPS,
    )
    project.container.tool("wget")
    end = project.run(text)
    assert end.log[1:3] == ["install pai_copy", "pai_copy data"]
    assert end.status == 0


@pytest.mark.parametrize("program", ["apt-get", "apt", "sudo", "curl", "wget", "pip", "git", "make"])
def test_a_container_finds_no_program_that_could_change_the_machine(program: str, project: Project) -> None:
    text = job("", f"    commands: ['command -v bash {program}', {program} --version]\n")
    bash = f"{harmless_programs()}/bash"
    assert project.run(text) == TaskEnd([STARTING, FINISHED, USER_START, bash], 127)
    project.container.tool(program)
    assert project.run(text).log[-2:] == [f"{program} --version", USER_END]
