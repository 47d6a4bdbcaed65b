"""One task here as on a cluster: the plan, and a run of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from job_text import HEAD
from programs import harmless_programs
from recorded_tasks import RECORD, recorded

from pai_lsp.cli.commands import task_ssh
from pai_lsp.cli.commands.container import ask_to_end
from pai_lsp.cli.main import main
from pai_lsp.document import Document
from pai_lsp.ide.known_values import variable_value

if TYPE_CHECKING:
    from pathlib import Path

JOB = (
    HEAD
    + """\
parameters: {rate: 0.1}
taskRoles:
  ps:
    dockerImage: image
    resourcePerInstance: {gpu: 0, cpu: 1, memoryMB: 512, ports: {grpc: 2}}
    commands: [echo ps]
  worker:
    instances: 2
    completion: {minFailedInstances: 2}
    extraContainerOptions: {shmMB: 2048}
    dockerImage: image
    resourcePerInstance: {gpu: 1, cpu: 2, memoryMB: 1024}
    commands:
      - cd .
      - COMMAND
EXTRAS
"""
)
PLUGINS = """\
extras:
  storages: [{name: data}, {name: home, mountPath: /home/me}]
  com.microsoft.pai.runtimeplugin:
    - plugin: cmd
      parameters: {callbacks: [{event: taskStarts, commands: [echo first]}]}
    - plugin: ssh
      parameters: {jobssh: true, sshbarrier: true, sshbarrierTimeout: 3}
    - plugin: cmd
      failurePolicy: ignore
      parameters: {preCommands: [echo second], postCommands: [echo last]}
"""


def plan(tmp_path: Path, capsys: pytest.CaptureFixture[str], *options: str, extras: str = "", text: str = JOB) -> Any:
    path = tmp_path / "job.pai.yaml"
    command = "echo <% $parameters.rate %>"
    path.write_text(text.replace("COMMAND", command).replace("EXTRAS", extras), encoding="utf-8")
    status = main(["run", "--dry", "--format", "json", "--user", "ann", *options, str(path)])
    output = capsys.readouterr()
    found = json.loads(output.out)
    assert (output.err, status) == ("", int(found["initFails"] is not None))
    return found


def test_environment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(tmp_path, capsys, "--role", "worker", "--index", "1")
    environment = found["env"]
    assert environment["PAI_JOB_NAME"] == "ann~train"
    assert environment["PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"] == "1"
    assert environment["PAI_RESOURCE_worker"] == "1,2,1024,2048"
    assert environment["PAI_MIN_FAILED_TASK_COUNT_worker"] == "2"
    assert environment["PAI_MIN_SUCCEEDED_TASK_COUNT_worker"] == "2"
    assert environment["PAI_TASK_ROLE_INSTANCES"] == "ps:0,worker:0,worker:1"
    assert environment["PAI_TASKS_NUM"] == "3"
    assert "NVIDIA_VISIBLE_DEVICES" not in environment
    assert found["dynamic"]["PAI_PORT_LIST_ps_0_grpc"] == "ports:2"
    assert found["dynamic"]["PAI_HOST_IP_worker_0"] == "host-address"
    assert found["shmMB"] == 2048
    assert plan(tmp_path, capsys)["env"]["NVIDIA_VISIBLE_DEVICES"] == "none"


def test_editors_know_every_value_that_a_run_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    extras = "extras: {gangAllocation: false}"
    planned = plan(tmp_path, capsys, "--role", "ps", extras=extras)["env"]
    job = Document((tmp_path / "job.pai.yaml").read_text(encoding="utf-8")).job
    role = job.task_roles_by_name["ps"]
    shown = {}
    for name in planned:
        variable = job.platform.environment_variable(name)
        if variable is not None:
            shown[name] = variable_value(job, role, variable, name)
    # Nobody knows there who runs the job. The others are not documented, or say that something is not known.
    of_user = {"PAI_JOB_NAME": "<user>~train", "PAI_FRAMEWORK_NAME": "<user>~train"}
    unknown = {
        "PAI_USER_NAME",
        "PAI_USERNAME",
        "FC_FRAMEWORK_NAME",
        "PAI_CURRENT_CONTAINER_IP",
        "PAI_CONTAINER_HOST_IP",
    }
    assert {name: value for name, value in shown.items() if name not in unknown} == {
        name: of_user.get(name, value) for name, value in planned.items() if name in shown and name not in unknown
    }
    assert len([value for value in shown.values() if value]) > 20


def test_a_label_without_ports_is_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(tmp_path, capsys, text=JOB.replace("grpc: 2", "grpc: 0"))
    assert found["env"]["PAI_PORT_LIST_ps_0_grpc"] == found["env"]["PAI_CONTAINER_HOST_grpc_PORT_LIST"] == ""


def test_without_gang_no_address_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(tmp_path, capsys, extras="extras: {gangAllocation: false}")
    assert found["env"]["PAI_CURRENT_CONTAINER_IP"] == "None"
    assert found["env"]["PAI_TASK_ROLE_worker_HOST_LIST"] == ""
    assert "PAI_HOST_IP_ps_0" not in found["dynamic"]


def test_scripts_and_their_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(tmp_path, capsys, "--role", "worker", extras=PLUGINS)
    home = "/usr/local/pai"
    assert found["files"] == {
        "runtime.d/plugin_pre0.sh": "set -o errexit\necho first\n",
        "runtime.d/plugin_pre1.sh": "set -o errexit\n"
        "apt-get update;apt-get install -y openssh-client openssh-server;\n"
        f"{home}/plugins/ssh/sshd.sh true\n\n{home}/plugins/ssh/sshbarrier.sh 3\n\n",
        "runtime.d/plugin_pre2.sh": "set +o errexit\necho second\nset -o errexit\n",
        "runtime.d/plugin_post2.sh": "set +o errexit\necho last\nset -o errexit\n",
        "runtime.d/precommands.sh": "\n".join(f"/bin/bash {home}/runtime.d/plugin_pre{n}.sh" for n in range(3)),
        "runtime.d/user.sh": "cd .\necho 0.1",
        "runtime.d/postcommands.sh": f"/bin/bash {home}/runtime.d/plugin_post2.sh",
        "ssh-secret/": "key pair of the user for jobs",
    }
    assert found["order"][-3:] == [
        "runtime.d/user.sh",
        "runtime.d/postcommands.sh",
        f"/bin/bash {home}/runtime.d/plugin_post2.sh",
    ]
    assert {"path": "/mnt/data", "name": "data-volume"} in found["mounts"]
    assert {"path": "/home/me", "name": "home-volume"} in found["mounts"]


LTP = "# pai-lsp: platform=ltp"
# An option with an open quote.
GIT = """{plugin: git, parameters: {repo_uri: https://example.com/a.git, options: ["--branch 'a"]}}"""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--role", "wroker"), "the job has no task role 'wroker'; did you mean 'worker'?"),
        (("--role", "worker", "--index", "2"), "'worker' has 2 tasks, so the index is 0 to 1"),
        (("--all", "--index", "1"), "--all runs every task; it cannot be combined with --dry, --role or --index"),
    ],
)
def test_tasks_that_there_are_not(
    options: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.pai.yaml"
    path.write_text(JOB.replace("COMMAND", "a").replace("EXTRAS", ""), encoding="utf-8")
    assert main(["run", *options, str(path)]) == 2
    assert capsys.readouterr() == ("", f"pai-lsp run: {message}\n")


@pytest.mark.parametrize("instances", [63, 64])
def test_no_more_tasks_than_one_machine_can_run(
    instances: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.pai.yaml"
    text = JOB.replace("COMMAND", "a").replace("EXTRAS", "").replace("instances: 2", f"instances: {instances}")
    path.write_text(text, encoding="utf-8")
    status = main(["run", "--all", str(path)])
    errors = capsys.readouterr().err
    too_many = "pai-lsp run: the job has 65 tasks; --all runs at most 64 on one machine\n"
    assert (status, errors == too_many, "choose where" in errors) == (
        (1, True, False) if instances == 64 else (2, False, True)
    )


def test_a_second_docker_is_left_to_the_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    extras = f"extras: {{com.microsoft.pai.runtimeplugin: [{{plugin: dind}}]}}\n{LTP}"
    assert "runtime.d/plugin_pre0.sh" not in plan(tmp_path, capsys, "--role", "worker", extras=extras)["files"]


@pytest.mark.parametrize(
    ("change", "step"),
    [
        (("  worker:", "  Worker:"), "PLUGIN_INITIALIZER"),
        (("ports: {grpc: 2}", "ports: {http: 0}"), "ENV_GENERATOR"),
        (("EXTRAS", "extras: {com.microsoft.pai.runtimeplugin: [{plugin: sssh}]}"), "PLUGIN_INITIALIZER"),
        (("EXTRAS", f"extras: {{com.microsoft.pai.runtimeplugin: [{GIT}]}}\n{LTP}"), "PLUGIN_INITIALIZER"),
    ],
)
def test_tasks_that_end_before_their_first_command(
    change: tuple[str, str], step: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    role = "Worker" if "Worker" in change[1] else "worker"
    assert plan(tmp_path, capsys, "--role", role, text=JOB.replace(*change))["initFails"] == step
    assert main(["run", "--dry", "--role", role, str(tmp_path / "job.pai.yaml")]) == 1
    assert capsys.readouterr().out.endswith(f" (step {step}, exit code 1); run pai-lsp check to see why\n")


def test_secrets_are_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = JOB.replace("EXTRAS", "secrets: {key: hunter2}\nEXTRAS").replace("cd .", "echo <% $secrets.key %> hunter2")
    assert "hunter2" not in json.dumps(plan(tmp_path, capsys, "--role", "worker", text=text))
    shown = plan(tmp_path, capsys, "--role", "worker", "--show-secrets", text=text)
    assert shown["files"]["runtime.d/user.sh"].startswith("echo hunter2 hunter2\n")


TWO_TASKS = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "ubuntu:20.04"}
taskRoles:
  worker:
    instances: 2
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands:
      - COMMAND
"""
# On this machine, without being asked.
HERE = ("--yes", "--container", "none")


def started(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str, *options: str, extras: str = ""
) -> tuple[int, str, str]:
    path = tmp_path / "job.pai.yaml"
    path.write_text(JOB.replace("COMMAND", json.dumps(command)).replace("EXTRAS", extras), encoding="utf-8")
    status = main(["run", "--role", "worker", *options, str(path)])
    return status, *capfd.readouterr()


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_a_run_without_a_container(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_ssh, "_FOLDERS_OF_SERVERS", ())
    monkeypatch.setenv("PATH", harmless_programs())
    command = "echo $PAI_TASK_INDEX $PAI_HOST_IP_ps_0 && [[ $PAI_CONTAINER_HOST_PORT -gt 0 ]]"
    status, output, notes = started(tmp_path, capfd, command, *HERE, extras=PLUGINS)
    assert (status, output.splitlines()[1:4]) == (0, ["first", "second", "[commands]"])
    assert "\n0 127.0.0.1\n" in output
    assert output.endswith("last\n")
    assert "the plugin ssh does not run here: 'ssh-keygen' is not installed on this machine" in notes


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
@pytest.mark.parametrize(
    ("command", "status", "cause"),
    [
        ("echo $NOTHING", 1, "unset-variable"),
        ("no_such_program", 127, "command-not-found"),
        ("exit 3", 3, None),
        ("if true; then echo x", 2, None),
        ("bash -c 'exit 3'", 3, None),
    ],
)
def test_a_failure_is_explained(
    command: str, status: int, cause: str | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found, _, notes = started(tmp_path, capfd, command, *HERE)
    assert found == status
    line = JOB[: JOB.index("COMMAND")].count("\n") + 1
    assert cause is None or f"\n{cause}: " in notes
    assert f"job.pai.yaml:{line}: - " in notes


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_no_line_is_named_where_none_is_known(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, _, notes = started(tmp_path, capfd, "exec bash -c 'exit 3'", *HERE)
    assert (status, "job.pai.yaml:" in notes.partition("the commands ended with 3")[2]) == (3, False)
    plugin = "{plugin: cmd, parameters: {preCommands: [exit 4]}}"
    extras = f"extras: {{com.microsoft.pai.runtimeplugin: [{plugin}]}}\n"
    status, _, notes = started(tmp_path, capfd, "echo hi", *HERE, extras=extras)
    # The plugin is named instead.
    line = (JOB.replace("COMMAND", "").replace("EXTRAS", extras)).partition("{plugin:")[0].count("\n") + 1
    path = tmp_path / "job.pai.yaml"
    ended = ["pai-lsp run: the commands of plugins ended with 4", f"{path}:{line}: runtime plugin 'cmd'"]
    assert (status, notes.splitlines()[-2:]) == (4, ended)


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_a_task_that_fails_in_time(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, _, notes = started(tmp_path, capfd, "exit 3", *HERE, "--time-limit", "600")
    assert (status, "the commands ended with 3" in notes) == (3, True)


def test_nothing_runs_unasked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, output, notes = started(tmp_path, capfd, "echo unasked", "--container", "none")
    assert (status, output) == (2, "")
    assert "give --yes" in notes
    status, output, notes = started(tmp_path, capfd, "echo unasked", "--yes")
    assert (status, output) == (2, "")
    assert "--container podman (or docker)" in notes
    assert "--container none" in notes


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of Unix")
@pytest.mark.parametrize(("container", "answer", "status"), [("none", "y", 2), ("none", "yes", 0), ("docker", "y", 0)])
def test_the_question_shows_all_that_the_answer_starts(
    container: str, answer: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Path
) -> None:
    text = TWO_TASKS.replace("COMMAND", "export TOKEN=<% $secrets.token %>\n" + "      - echo line\n" * 30) + (
        "secrets: {token: hunter2-very-secret, other: hunter2 | sh}\n"
        "extras:\n"
        "  com.microsoft.pai.runtimeplugin:\n"
        "    - {plugin: cmd, parameters: {preCommands: [echo first], postCommands: [echo last]}}\n"
    )
    text = text.replace(
        "taskRoles:\n",
        "  - {type: script, name: prepare, plugin: com.microsoft.pai.runtimeplugin.cmd,\n"
        "     callbacks: [{event: taskStarts, commands: [echo prepared]}]}\n"
        "taskRoles:\n  other:\n    prerequisites: [prepare]\n    dockerImage: image\n"
        "    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}\n    commands: [echo other]\n",
    ).replace("instances: 2", "instances: 3")
    path = tmp_path / "job.pai.yaml"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setenv("PATH", f"{engine.parent}{os.pathsep}{harmless_programs()}")
    found, shown = answered(["run", "--all", "--container", container, str(path)], answer)
    before, _, after = shown.partition("/N] ")
    assert found == status
    assert [line for line in before.splitlines() if line.startswith(("task", "  "))] == [
        "task 0 of 'other', image ubuntu:20.04",
        f"  before the commands, prerequisite 'prepare', plugin 'cmd' ({path}:6)",
        "    set -o errexit",
        "    echo prepared",
        f"  before the commands, runtime plugin 'cmd' ({path}:54)",
        "    set -o errexit",
        "    echo first",
        f"  commands ({path}:13)",
        "    echo other",
        f"  after the commands, runtime plugin 'cmd' ({path}:54)",
        "    set -o errexit",
        "    echo last",
        "tasks 0 to 2 of 'worker', image ubuntu:20.04",
        f"  before the commands, runtime plugin 'cmd' ({path}:54)",
        "    set -o errexit",
        "    echo first",
        f"  commands ({path}:19)",
        "    export TOKEN=<% $secrets.token %>",
        *["    echo line"] * 30,
        f"  after the commands, runtime plugin 'cmd' ({path}:54)",
        "    set -o errexit",
        "    echo last",
    ]
    assert f"note: a value below 'secrets' ({path}:51) has characters that bash obeys; it is not shown\n" in before
    assert "hunter2" not in shown
    assert ("prepared" in after) == (status == 0)


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_without_a_container_the_question_names_the_programs_of_this_machine(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("bash", "env", "first", "second", "third", "sixth", "echo"):
        (folder / name).symlink_to(str(shutil.which("true")))
    monkeypatch.setenv("PATH", str(folder))
    command = "own() { sixth; }; own; env A=1 first $(second) | $X; [ -f x ] && no_such; echo fourth; python -m fifth"
    plugin = "{plugin: cmd, parameters: {preCommands: [third --all]}}"
    extras = f"extras: {{com.microsoft.pai.runtimeplugin: [{plugin}]}}\n"
    status, _, notes = started(tmp_path, capfd, command, "--container", "none", extras=extras)
    named = ", ".join(f"{folder}/{name}" for name in ("bash", "env", "first", "second", "sixth", "third"))
    assert status == 2
    assert f"The commands name {named}\n" in notes
    assert "note: not on this machine: no_such, python\n" in notes


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of Unix")
def test_what_is_new_since_the_last_agreement_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Path
) -> None:
    monkeypatch.setenv("PATH", f"{engine.parent}{os.pathsep}{harmless_programs()}")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "job.pai.yaml"
    command = ["run", "--container", "docker", str(path)]
    path.write_text(TWO_TASKS.replace("COMMAND", "echo one"), encoding="utf-8")
    assert "note: " not in answered(command, "n")[1]
    assert "note: " not in answered(command, "y")[1]
    assert "note: this is what you agreed to last time\n" in answered(command, "n")[1]
    path.write_text("# new\n" + TWO_TASKS.replace("COMMAND", "echo one\n      - echo two"), encoding="utf-8")
    shown = answered(command, "n")[1]
    assert [line for line in shown.splitlines() if line.startswith("+")] == ["+     echo two"]
    assert "note: lines with '+' are new since you agreed last; 0 earlier" in shown
    assert "echo one" not in "".join(file.read_text() for file in (tmp_path / "state").rglob("*") if file.is_file())


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of Unix")
def test_a_long_listing_is_shown_by_a_pager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Path) -> None:
    pager = engine.parent / "less"
    pager.write_text('#!/bin/bash\necho "pager $LESSSECURE $*"\ncat\n', encoding="utf-8")
    pager.chmod(0o755)
    monkeypatch.setenv("PATH", f"{engine.parent}{os.pathsep}{harmless_programs()}")
    path = tmp_path / "job.pai.yaml"
    path.write_text(TWO_TASKS.replace("COMMAND", "echo one\n" + "      - echo line\n" * 600), encoding="utf-8")
    shown = answered(["run", "--container", "docker", str(path)], "n")[1]
    assert "pager 1 -X" in shown
    assert shown.count("echo line") == 600
    assert "pager" not in answered(["run", "--container", "docker", "--yes", str(path)], "")[1]


def answered(argv: list[str], answer: str) -> tuple[int, str]:
    """The exit status and the output of the program in a terminal, with an answer to its question."""
    import pty  # noqa: PLC0415 - not on Windows

    ours, theirs = pty.openpty()
    # The terminal is high enough for the listing, so that no pager starts.
    set_size(theirs)
    process = subprocess.Popen(
        [sys.executable, "-m", "pai_lsp", *argv], stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True
    )
    os.close(theirs)
    os.write(ours, f"{answer}\n".encode())
    output = b""
    with suppress(OSError):
        while chunk := os.read(ours, 65536):
            output += chunk
    os.close(ours)
    return process.wait(timeout=60), output.decode().replace("\r\n", "\n")


def set_size(terminal: int) -> None:
    import fcntl  # noqa: PLC0415 - not on Windows
    import struct  # noqa: PLC0415
    import termios  # noqa: PLC0415

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 500, 200, 0, 0))


# An engine that keeps its containers in folders and runs their scripts here: `calls` has its arguments.
ENGINE = """\
#!/bin/bash
here=${0%/*}
echo "$@" >>"$here/calls"
command=$1 name=${!#}
case $command in
  create)
    for word; do
      case $word in --name=*) mkdir "$here/${word#--name=}" ;; esac
    done ;;
  cp)
    folder=$here/${name%%:*}
    tee "$here/archive" | tar -x -C "$folder"
    sed -i "s#/usr/local/pai#$folder/usr/local/pai#" "$folder"/usr/local/pai/*/*.sh ;;
  start)
    [ -e "$here/$name/usr/local/pai/runtime.d/entry.sh" ] || { echo; read -r; exit; }  # it only holds what others share
    [ -z "${STATUS:-}" ] || exit "$STATUS"
    cd "$here/$name" && exec bash usr/local/pai/runtime.d/entry.sh ;;
esac
"""


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """The program of an engine called docker; beside it, its calls and its containers."""
    program = tmp_path / "bin" / "docker"
    program.parent.mkdir()
    program.write_text(ENGINE, encoding="utf-8")
    program.chmod(0o755)
    for name in ("mkdir", "sed", "tar", "tee"):
        (program.parent / name).symlink_to(str(shutil.which(name)))
    return program


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")
def test_a_run_in_a_container(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, engine: Path
) -> None:
    monkeypatch.setenv("PATH", f"{engine.parent}{os.pathsep}{os.environ['PATH']}")
    options = ("--yes", "--container", "docker", "--storage", f"data={tmp_path}")
    command = "echo a1b2-hidden"
    status, output, notes = started(
        tmp_path, capfd, command, *options, extras=PLUGINS.replace("jobssh: true", "jobssh: false")
    )
    assert (status, output.splitlines()[-3:]) == (0, ["a1b2-hidden", "[last commands of plugins]", "last"])
    calls = (engine.parent / "calls").read_text().splitlines()
    made = next(call for call in calls if call.startswith("create"))
    assert f"--mount=type=bind,source={tmp_path},target=/mnt/data" in made
    assert "--shm-size=2048m --memory=1024m" in made
    assert "--cap-drop=NET_RAW" in made
    assert "--network" not in made
    assert made.endswith("--entrypoint=/bin/bash ubuntu:20.04 /usr/local/pai/runtime.d/entry.sh")
    assert "hidden" not in "".join(calls)
    with tarfile.open(engine.parent / "archive") as archive:
        modes = {one.name: one.mode for one in archive}
    assert modes["usr/local/pai"] == modes["usr/local/pai/runtime.d"] == 0o777, "an image may have a user of its own"
    assert modes["usr/local/pai/runtime.d/entry.sh"] == 0o755
    assert calls[-1].startswith("rm --force")
    assert "the storage 'home' is missing here, so the task does not find /home/me; give --storage home=FOLDER" in notes
    assert "the storage 'data' is missing" not in notes, "it is given"
    monkeypatch.setenv("STATUS", "125")
    status, _, notes = started(tmp_path, capfd, "echo hi", *options)
    assert (status, "docker could not start the container" in notes) == (3, True)
    assert main(["run", "--role", "wroker", str(tmp_path / "job.pai.yaml")]) == 2
    assert "did you mean 'worker'?" in capfd.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("", 0),
        ('[[ "$*" != "create "*-network* ]] || exit 1', 3),
        ('[[ "$*" != "start "*-network ]] || exit 1', 3),
    ],
)
def test_tasks_in_containers_share_the_network_of_a_container_that_does_nothing(
    fault: str,
    expected: int,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    engine: Path,
) -> None:
    engine.write_text(ENGINE.replace("command=$1", f"{fault}\ncommand=$1"), encoding="utf-8")
    monkeypatch.setenv("PATH", f"{engine.parent}{os.pathsep}{os.environ['PATH']}")
    path = tmp_path / "job.pai.yaml"
    path.write_text(TWO_TASKS.replace("COMMAND", "echo hi"), encoding="utf-8")
    status = main(["run", "--yes", "--all", "--container", "docker", str(path)])
    output, notes = capfd.readouterr()
    assert status == expected
    calls = (engine.parent / "calls").read_text().splitlines()
    made = [call for call in calls if call.startswith("create")]
    holder = re.search(r"--name=(\S+-network) ", made[0])
    assert holder
    assert calls[-1].startswith("rm --force")
    if fault:
        assert "the network of the tasks could not be made" in notes
        assert len(made) == 1
        return
    assert sorted(line for line in output.splitlines() if line.endswith(" hi")) == ["[worker-0] hi", "[worker-1] hi"]
    assert all(f" --network=container:{holder[1]} " in call for call in made[1:])
    assert len(made) == 3


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")
@pytest.mark.parametrize(
    "change",
    [
        ("uri: 'openpai/standard:v1'", "uri: 'oci:latest'"),
        ("uri: 'openpai/standard:v1'", "uri: '--privileged'"),
        ("EXTRAS", "extras: {storages: [{name: data, mountPath: '/a,readonly=false'}]}"),
        ("EXTRAS", "extras: {storages: [{name: data, mountPath: /usr/./local}]}"),
        ("EXTRAS", "extras: {storages: [{name: data, mountPath: /usr/local/pai/logs}]}"),
    ],
)
def test_no_word_of_a_job_is_an_option_of_the_engine(
    change: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Path
) -> None:
    monkeypatch.setenv("PATH", f"{engine.parent}{os.pathsep}{os.environ['PATH']}")
    path = tmp_path / "job.pai.yaml"
    text = JOB.replace('"ubuntu:20.04"', "'openpai/standard:v1'").replace(*change)
    assert text != JOB
    path.write_text(text.replace("COMMAND", "echo hi").replace("EXTRAS", ""), encoding="utf-8")
    options = ("--yes", "--container", "docker", "--storage", f"data={tmp_path}", str(path))
    assert main(["run", *options]) == 2
    assert not (engine.parent / "calls").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--container", "docker", "--storage", "data"), "--storage has the form NAME=FOLDER"),
        (("--container", "docker", "--storage", "=/tmp"), "--storage has the form NAME=FOLDER"),
        (("--container", "docker", "--storage", "data=/no/such"), "--storage: '/no/such' is not a folder"),
        (("--container", "docker", "--storage", "data=%/a,b"), "--storage: an engine cannot mount '%/a,b'"),
        (("--container", "docker", "--git-image=--rm"), "'--rm' is not the name of an image in a registry"),
        (("--container", "podman"), "'podman' is not installed on this machine"),
    ],
)
def test_options_with_which_nothing_can_run(
    options: tuple[str, ...],
    message: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    engine: Path,
) -> None:
    monkeypatch.setenv("PATH", f"{engine.parent}{os.pathsep}{harmless_programs()}")
    (tmp_path / "a,b").mkdir()
    given = [option.replace("%", str(tmp_path)) for option in options]
    status, output, notes = started(tmp_path, capfd, "echo hi", "--yes", *given)
    assert (status, output, notes) == (2, "", f"pai-lsp run: {message.replace('%', str(tmp_path))}\n")
    assert not (engine.parent / "calls").exists()


FORGED = """\
while read -r line; do
  if [[ $line =~ ^echo\\ .([0-9a-f]+)user ]]; then token=${BASH_REMATCH[1]}; fi
done <../runtime.d/entry.sh
printf '%s\\n' "${token}end nothing.sh 1" "${token}end user.sh syntax 3" "${token}x"
printf '%s' "$token"
exit 3
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_commands_that_forge_reports_do_no_harm(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, output, notes = started(tmp_path, capfd, FORGED, *HERE)
    assert (status, "the commands ended with 3" in notes) == (3, True)
    assert "nothing.sh" not in output
    assert "bug" not in notes


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
@pytest.mark.slow
def test_a_task_ends_with_a_run_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "job.pai.yaml"
    command = "exec 9>/dev/null; echo ready; while true; do read -r -t 1 <> <(:) || true; done"
    path.write_text(TWO_TASKS.replace("COMMAND", json.dumps(command)), encoding="utf-8")
    words = [sys.executable, "-m", "pai_lsp", "run", "--all", *HERE, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        while "[worker-1] ready" not in process.stdout.readline():
            pass
        process.kill()
        # The tasks have this pipe, too: it ends with the last of them.
        process.stdout.read()


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_all_tasks_at_once_know_each_other(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ports = "echo me=$PAI_CONTAINER_HOST_PORT all=$PAI_TASK_ROLE_worker_HOST_LIST"
    path = tmp_path / "job.pai.yaml"
    path.write_text(TWO_TASKS.replace("COMMAND", ports), encoding="utf-8")
    assert main(["run", "--all", *HERE, str(path)]) == 0
    lines = capfd.readouterr().out.splitlines()
    found = dict(line.split("] ", 1) for line in lines if "me=" in line)
    assert found.keys() == {"[worker-0", "[worker-1"}
    own = [text.split()[0].removeprefix("me=") for _, text in sorted(found.items())]
    assert len(set(own)) == 2
    assert {text.split()[1] for text in found.values()} == {f"all=127.0.0.1:{own[0]},127.0.0.1:{own[1]}"}


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_the_first_failure_ends_all_tasks(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.pai.yaml"
    command = "if [ $PAI_TASK_INDEX = 1 ]; then exit 7; fi; sleep 600; echo survived"
    path.write_text(TWO_TASKS.replace("COMMAND", command), encoding="utf-8")
    assert main(["run", "--all", *HERE, str(path)]) == 7
    shown = capfd.readouterr()
    assert "survived" not in shown.out
    assert "ended with 7" in shown.err
    assert main(["run", "--all", "--index", "1", *HERE, str(path)]) == 2
    path.write_text(TWO_TASKS.replace("instances: 2", "instances: 500"), encoding="utf-8")
    assert main(["run", "--all", *HERE, str(path)]) == 1
    assert "at most 64" in capfd.readouterr().err


GIT = """\
#!/bin/bash
echo "$GIT_ALLOW_PROTOCOL $*"
[[ $* != *nothing* ]] || exit 128
mkdir "${!#}" && echo "echo trained" >"${!#}/train.sh"
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")
@pytest.mark.parametrize(
    ("options", "address", "status", "message"),
    [
        ("[]", "https://example.com/a.git", 0, ""),
        ("[]", "https://example.com/nothing.git", 3, "cannot be cloned"),
        ("[--upload-pack=x]", "https://example.com/a.git", 2, "git gets no options of a job: '--upload-pack=x'"),
        ("[]", "ext::sh -c x", 2, "git asks https and ssh only: 'ext::sh -c x'"),
        ("[]", "/etc", 2, "git asks https and ssh only: '/etc'"),
    ],
)
def test_the_repository_of_the_plugin_git(
    options: str,
    address: str,
    status: int,
    message: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text(GIT, encoding="utf-8")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{git.parent}{os.pathsep}{os.environ['PATH']}")
    plugin = f"{{plugin: git, parameters: {{repo_uri: '{address}', options: {options}, clone_dir: code}}}}"
    extras = f"extras: {{com.microsoft.pai.runtimeplugin: [{plugin}]}}\n"
    path = tmp_path / "job.pai.yaml"
    path.write_text(TWO_TASKS.replace("COMMAND", "bash code/train.sh") + extras, encoding="utf-8")
    assert main(["run", *HERE, str(path)]) == status
    shown = capfd.readouterr()
    assert message in shown.err
    assert ("https:ssh -c core.hooksPath=/dev/null clone -- https://" in shown.out) == (status != 2)
    assert ("trained" in shown.out) == (status == 0)


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")
def test_with_a_container_the_repository_is_cloned_in_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, engine: Path
) -> None:
    git = engine.parent / "git"
    git.write_text('#!/bin/bash\npwd; for word; do echo "word: $word"; done\nexit 128\n', encoding="utf-8")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{engine.parent}{os.pathsep}{os.environ['PATH']}")
    plugin = "{plugin: git, parameters: {repo_uri: /some, options: [\"--upload-pack='touch PWNED; x'\"]}}"
    path = tmp_path / "job.pai.yaml"
    extras = f"extras: {{com.microsoft.pai.runtimeplugin: [{plugin}]}}\n"
    path.write_text(TWO_TASKS.replace("COMMAND", "echo hi") + extras, encoding="utf-8")
    assert main(["run", "--yes", "--container", "docker", str(path)]) == 1
    output, notes = capfd.readouterr()
    lines = output.splitlines()
    assert lines[0] == "[git clone]"
    assert lines[1].startswith(f"{engine.parent}/pai-lsp-run-")
    # OpenPAI splits options at blanks.
    assert lines[2:-1] == [
        "word: clone", "word: --upload-pack='touch", "word: PWNED;", "word: x'", "word: --", "word: /some",
    ]  # fmt: skip
    assert "cannot be cloned" in notes
    assert "PWNED" not in (engine.parent / "calls").read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")
@pytest.mark.parametrize(
    ("folders", "options"),
    [
        ("all: /tmp/logs", "--logdir=/tmp/logs"),
        ("a: /tmp/a, b: /tmp/$PAI_TASK_INDEX", "--logdir_spec=a:/tmp/a,b:/tmp/0"),
    ],
)
def test_tensorboard_runs_beside_the_commands_and_ends_with_them(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folders: str, options: str
) -> None:
    stand_in = tmp_path / "bin" / "tensorboard"
    stand_in.parent.mkdir()
    started = tmp_path / "started"
    stand_in.write_text(f'#!/bin/bash\necho "shows $*"\ntouch {started}\nexec sleep 600\n', encoding="utf-8")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stand_in.parent}{os.pathsep}{os.environ['PATH']}")
    plugin = f"{{plugin: tensorboard, parameters: {{port: 16006, logdir: {{{folders}}}}}}}"
    extras = f"extras: {{com.microsoft.pai.runtimeplugin: [{plugin}]}}\n"
    path = tmp_path / "job.pai.yaml"
    wait = f"while [ ! -e {started} ]; do sleep 0.05; done; echo done"
    path.write_text(TWO_TASKS.replace("COMMAND", wait) + extras, encoding="utf-8")
    assert main(["run", *HERE, str(path)]) == 0
    output, notes = capfd.readouterr()
    assert f"shows {options} --port=16006 --host=127.0.0.1" in output
    assert f"tensorboard {options} --port".replace("b:/tmp/0", "b:/tmp/$PAI_TASK_INDEX") in notes
    assert "done" in output


SSH = """\
extras:
  com.microsoft.pai.runtimeplugin:
    - plugin: ssh
      parameters: {jobssh: JOBSSH, sshbarrier: true, userssh: {type: custom, value: ssh-ed25519 AAAA foreign}}
"""
SSHD = shutil.which("sshd", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))


@pytest.mark.skipif(SSHD is None, reason="needs sshd; scripts/e2e_ssh.sh installs it in CI")
@pytest.mark.slow
def test_tasks_reach_each_other_with_ssh(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = """|
        if [ $PAI_TASK_INDEX = 0 ]; then
          ssh -q worker-1 'echo "I am $PAI_TASK_INDEX"; cat note; touch stopped'
        else
          echo "a note of $(wc -l < ../ssh-secret/ssh-publickey) key" > note
          while [ ! -e stopped ]; do sleep 0.05; done
        fi
"""
    path = tmp_path / "job.pai.yaml"
    path.write_text(TWO_TASKS.replace("COMMAND\n", command) + SSH.replace("JOBSSH", "true"), encoding="utf-8")
    # The note may not be there yet when the first task asks for it: the barrier only waits for the servers.
    text = path.read_text().replace("cat note", "while [ ! -e note ]; do sleep 0.05; done; cat note")
    path.write_text(text, encoding="utf-8")
    assert main(["run", "--all", *HERE, str(path)]) == 0
    shown = capfd.readouterr()
    assert [line for line in shown.out.splitlines() if line.startswith("[worker-0] ") and "[" not in line[11:]][
        -2:
    ] == [
        "[worker-0] I am 1",
        "[worker-0] a note of 1 key",
    ]
    assert "AAAA" not in shown.out


@pytest.mark.skipif(sys.platform == "win32" or not shutil.which("ssh-keygen"), reason="needs ssh-keygen")
def test_ssh_in_a_container_is_for_this_machine_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, engine: Path
) -> None:
    text = ENGINE.replace("exec bash usr/local/pai/runtime.d/entry.sh", "cat $(find usr -type f)")
    engine.write_text(text, encoding="utf-8")
    monkeypatch.setenv("PATH", f"{engine.parent}{os.pathsep}{os.environ['PATH']}")
    path = tmp_path / "job.pai.yaml"
    for is_on, part in (("true", "ListenAddress 127.0.0.1\n"), ("false", "")):
        path.write_text(TWO_TASKS.replace("COMMAND", "echo hi") + SSH.replace("JOBSSH", is_on), encoding="utf-8")
        main(["run", "--yes", "--container", "docker", str(path)])
        shown = capfd.readouterr()
        assert part in shown.out
        assert ("keys of 'userssh' get no access" in shown.err) == (not part)
        assert ("apt-get install -y openssh-client" in shown.out) == bool(part)


@pytest.mark.skipif(sys.platform == "win32" or not shutil.which("ssh-keygen"), reason="needs ssh-keygen")
@pytest.mark.slow
def test_an_ssh_server_that_does_not_start_ends_the_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ssh", "sshd"):
        stand_in = tmp_path / "bin" / name
        stand_in.parent.mkdir(exist_ok=True)
        stand_in.write_text("#!/bin/sh\necho no server today >&2\nexit 255\n", encoding="utf-8")
        stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stand_in.parent}{os.pathsep}{os.environ['PATH']}")
    path = tmp_path / "job.pai.yaml"
    path.write_text(TWO_TASKS.replace("COMMAND", "echo hi") + SSH.replace("JOBSSH", "true"), encoding="utf-8")
    assert main(["run", *HERE, str(path)]) == 1
    output = capfd.readouterr().out
    assert "the ssh server did not start\nno server today\n" in output
    assert "hi" not in output.split()


@pytest.mark.parametrize(("engine", "is_asked"), [("true", True), ("false", False)])
def test_a_task_that_does_not_run_cannot_be_asked_to_end(engine: str, is_asked: bool) -> None:
    assert ask_to_end(engine, "task") is is_asked


def test_the_files_of_tasks_to_the_letter() -> None:
    assert recorded() == RECORD.read_text(encoding="utf-8"), "python tests/recorded_tasks.py writes the record"
