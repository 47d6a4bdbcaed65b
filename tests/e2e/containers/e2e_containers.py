"""Tasks of jobs in real containers: how they end, what they see, and what is left of them.

The expected outcomes are those of a cluster; where nothing but output and exit code matter, the runtime's own order of
processes (tests/runtime_container.py) gives them. Run by scripts/e2e_containers.sh, which makes the images.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from expansion import run_of
from runtime_container import FINISHED, STARTING, USER_END, USER_START, Container

if TYPE_CHECKING:
    from collections.abc import Iterator

ENGINE = os.environ.get("ENGINE", "podman")
PROGRAM = str(shutil.which(ENGINE))
OURS = "pai-lsp-run-"
# How many seconds a test may take; one that takes more does not end.
_LONGEST = 150
# The runs of a test, whose numbers their containers have in their names: other tests may run at the same time.
_STARTED: list[int] = []


@dataclass(frozen=True)
class End:
    status: int
    output: str
    notes: str

    @property
    def lines(self) -> list[str]:
        """What the commands have printed, without the names of the parts."""
        titles = {"[git clone]", "[commands of plugins]", "[commands]", "[last commands of plugins]"}
        return [line for line in self.output.splitlines() if line not in titles]


def job(
    *commands: str, image: str = "tools", plugins: str = "", role: str = "", prerequisites: str = "", extras: str = ""
) -> str:
    listed = "".join(f"      - {json.dumps(command)}\n" for command in commands)
    return (
        "protocolVersion: 2\nname: train\ntype: job\nprerequisites:\n"
        f"  - {{type: dockerimage, name: image, uri: localhost/pai-lsp-{image}:1}}\n{prerequisites}"
        "taskRoles:\n  worker:\n    dockerImage: image\n"
        f"    resourcePerInstance: {{cpu: 1, memoryMB: 256, gpu: 0, ports: {{web: 1}}}}\n{role}    commands:\n{listed}"
        + (f"extras:\n{extras}" if extras or plugins else "")
        + (f"  com.microsoft.pai.runtimeplugin:\n{plugins}" if plugins else "")
    )


def started(folder: Path, text: str, *options: str) -> subprocess.Popen[str]:
    path = folder / "job.pai.yaml"
    path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pai_lsp", "run", "--container", ENGINE, "--yes", *options, str(path)]
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    _STARTED.append(process.pid)
    return process


def ended(process: subprocess.Popen[str], begun: str = "") -> End:
    # Not communicate(), which loses what readline() has read ahead.
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        output, notes = begun + process.stdout.read(), process.stderr.read()
        return End(process.wait(timeout=100), output, notes)


def ran(folder: Path, text: str, *options: str) -> End:
    return ended(started(folder, text, *options))


def until(process: subprocess.Popen[str], line: str) -> str:
    """Read the output up to a line."""
    read = ""
    assert process.stdout is not None
    while line not in read.splitlines():
        part = process.stdout.readline()
        assert part, read
        read += part
    return read


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    def does_not_end(*_: object) -> None:
        for pid in _STARTED:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        raise TimeoutError(f"it has not ended in {_LONGEST} s; containers: {names('--all')}")

    former = signal.signal(signal.SIGALRM, does_not_end)
    signal.alarm(_LONGEST)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, former)
    left = [name for name in names("--all") for pid in _STARTED if name.startswith(f"{OURS}{pid}-")]
    if left:
        subprocess.run([PROGRAM, "rm", "--force", *left], check=True, stdout=subprocess.DEVNULL)
    _STARTED.clear()
    assert left == []


def names(*options: str) -> list[str]:
    """Those of the containers that run."""
    command = [PROGRAM, "ps", *options, "--format", "{{.Names}}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def names_of(process: subprocess.Popen[str], *options: str) -> list[str]:
    """Those of the containers of one run."""
    return [name for name in names(*options) if name.startswith(f"{OURS}{process.pid}-")]


CALLBACKS = (
    "  - {type: script, name: prepare, plugin: com.microsoft.pai.runtimeplugin.cmd,\n"
    "     callbacks: [{event: taskStarts, commands: [echo early]}, {event: taskSucceeds, commands: [echo late]}]}\n"
)
CMD = "    - {plugin: cmd, parameters: {preCommands: [PRE], postCommands: [POST]}}\n"


def cmd(before: str, after: str, policy: str = "") -> str:
    return CMD.replace("PRE", before).replace("POST", after).replace("cmd,", f"cmd, {policy}" if policy else "cmd,")


@pytest.mark.parametrize(
    "text",
    [
        job("echo one", "echo two"),
        job("echo one", "bash -c 'exit 3'", "echo two"),
        job("echo one; exit 4"),
        job("echo $NOTHING", "echo two"),
        job("no_such_program"),
        job("false | cat", "echo two"),
        job("kill -9 $$"),
        job("bash -c 'kill -9 $$'", "echo two"),
        job("kill $$", "echo two"),
        job("if true; then", "echo one"),
        job("cat", "read -r line || echo none"),
        job("trap 'echo bye' EXIT", "false"),
        job("set -x", "cat nothing 2>/dev/null"),
        job("echo one", role="    prerequisites: [prepare]\n", prerequisites=CALLBACKS),
        job("exit 5", role="    prerequisites: [prepare]\n", prerequisites=CALLBACKS),
        job("echo one", plugins=cmd("echo before", "echo after") + cmd("echo before2", "echo after2")),
        job("echo one", plugins=cmd("exit 6", "echo after")),
        job("echo one", plugins=cmd("cat nothing", "echo after", "failurePolicy: ignore,")),
        job("echo one", plugins=cmd("echo before", "exit 7")),
        job("echo one", image="small"),
    ],
)
def test_a_task_ends_as_in_the_runtime(text: str, tmp_path: Path) -> None:
    (tmp_path / "runtime").mkdir()
    expected = Container(tmp_path / "runtime").run(run_of(text))
    found = ran(tmp_path, text)
    # A signal ends the process of the test; the runtime gives 128 and its number.
    assert found.status == (expected.status if expected.status >= 0 else 128 - expected.status)
    printed = [line for line in found.lines if not line.startswith(("/", "+ ", "Killed", "Terminated"))]
    printed = [line for line in printed if not line.startswith("cat: ")]
    assert printed == [line for line in expected.log if line not in {STARTING, FINISHED, USER_START, USER_END}]


def test_the_line_that_failed_is_named(tmp_path: Path) -> None:
    found = ran(tmp_path, job("echo one", "echo two", "bash -c 'exit 3'"))
    assert "job.pai.yaml:13: - \"bash -c 'exit 3'\"" in found.notes
    found = ran(tmp_path, job("echo one", "if true; then"))
    assert "job.pai.yaml:12: - " in found.notes
    assert "job.pai.yaml:1" not in ran(tmp_path, job("exec bash -c 'exit 3'")).notes.partition("ended with 3")[2]


def test_the_environment_is_that_of_the_plan(tmp_path: Path) -> None:
    found = ran(tmp_path, job("export -p"))
    text = found.output
    shown = subprocess.run(
        [sys.executable, "-m", "pai_lsp", "run", "--dry", "--format", "json", str(tmp_path / "job.pai.yaml")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    plan: dict[str, Any] = json.loads(shown.stdout)
    for name, value in plan["env"].items():
        assert f'declare -x {name}="{value}"' in text
    for name in plan["dynamic"]:
        assert f"declare -x {name}=" in text
    assert 'declare -x PAI_WORK_DIR="/srv"' in text
    exported = {line.split("=")[0].removeprefix("declare -x ") for line in text.splitlines() if "declare -x" in line}
    assert {name for name in exported if name.startswith(("PAI_", "FC_"))} == {
        name for name in (*plan["env"], *plan["dynamic"]) if name.startswith(("PAI_", "FC_"))
    }


def test_limits_and_rights(tmp_path: Path) -> None:
    text = job(
        "df -m /dev/shm | tail -n 1", "grep CapEff /proc/self/status", "cd /dev/shm",
        "dd if=/dev/zero of=full bs=1M count=64",
        role="    extraContainerOptions: {shmMB: 16}\n",
    )  # fmt: skip
    found = ran(tmp_path, text)
    assert found.lines[0].split()[1] == "16"
    # chown, dac_override, fowner, fsetid, kill, setgid, setuid.
    assert found.lines[1].split()[-1] == f"{0xFB:016x}"
    assert "No space left on device" in found.output
    assert found.status == 1


def _limits_memory() -> bool:
    """Whether the engine can: not without root where the kernel has control groups of version 1."""
    if ENGINE != "podman":
        return True
    words = [PROGRAM, "info", "--format", "{{.Host.Security.Rootless}} {{.Host.CgroupsVersion}}"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split() != ["true", "v1"]


@pytest.mark.skipif(not _limits_memory(), reason="without root, podman limits memory with cgroups of version 2 only")
def test_memory_ends_with_what_the_job_asks_for(tmp_path: Path) -> None:
    found = ran(tmp_path, job("echo one", "tail /dev/zero", "echo two"))
    assert (found.status, found.lines[0]) == (137, "one")
    assert "two" not in found.lines


def test_an_image_with_a_user_of_its_own(tmp_path: Path) -> None:
    text = job("id -u", "pwd", "touch here /usr/local/pai/there", "grep CapEff /proc/self/status", image="small")
    found = ran(tmp_path, text)
    assert (found.status, found.lines[:2], found.lines[2].split()[-1]) == (0, ["1000", "/home/ann"], "0" * 16)
    assert "the user of the image is 1000; on a cluster only root" in found.notes


def test_an_image_without_bash(tmp_path: Path) -> None:
    found = ran(tmp_path, job("echo one", image="bare"))
    assert (found.status, "[commands]" in found.output) == (3, False)
    assert f"{ENGINE} could not start the container" in found.notes
    assert "/bin/bash" in found.notes


def test_an_image_that_is_not_there(tmp_path: Path) -> None:
    text = job("echo one").replace("localhost/pai-lsp-tools:1", "127.0.0.1:1/nothing:1")
    found = ran(tmp_path, text)
    assert (found.status, found.output) == (3, "")
    assert f"{ENGINE} could not make the container" in found.notes


def test_an_engine_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = ran(tmp_path, job("echo one"))
    assert (found.status, found.output, f"'{ENGINE}' is not installed" in found.notes) == (2, "", True)


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """The engine cannot write the files of the task."""
    stand_in = tmp_path / "bin" / ENGINE
    stand_in.parent.mkdir()
    stand_in.write_text(
        f'#!/bin/bash\n[ "$1" != cp ] || {{ cat >/dev/null; echo "no space left on device" >&2; exit 125; }}\n'
        f'exec {PROGRAM} "$@"\n',
        encoding="utf-8",
    )
    stand_in.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{stand_in.parent}{os.pathsep}{os.environ['PATH']}")
        found = ran(tmp_path, job("echo one"))
    assert (found.status, found.output, "no space left on device" in found.notes) == (3, "", True)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGHUP, 130)])
def test_the_end_of_the_run_reaches_the_commands(number: signal.Signals, status: int, tmp_path: Path) -> None:
    text = job(
        "trap 'echo asked; exit 1' TERM",
        "echo ready",
        "while true; do sleep 0.1; done",
        plugins=cmd("sleep 1000 &", "echo never"),
    )
    process = started(tmp_path, text)
    begun = until(process, "ready")
    process.send_signal(number)
    found = ended(process, begun)
    assert (found.status, found.lines[-1]) == (status, "asked")


@pytest.mark.parametrize("commands", [("sleep 1000",), ("trap '' TERM", "while true; do sleep 0.1; done")])
def test_nothing_is_left_of_a_run_that_is_killed(commands: tuple[str, ...], tmp_path: Path) -> None:
    process = started(tmp_path, job("echo ready", *commands, role="    instances: 2\n"), "--all")
    until(process, "[worker-1] ready")
    assert len(names_of(process)) == 3
    process.kill()
    ended(process)
    while names_of(process, "--all"):
        time.sleep(0.2)


def test_a_clone_ends_with_a_run_that_is_killed(with_repository: str, tmp_path: Path) -> None:
    # The address is a pipe that never answers.
    plugins = GIT.replace("file:///srv/repository", "ext::sleep 1000").replace(
        "OPTIONS", "options: [-c, protocol.ext.allow=always],"
    )
    image = f"localhost/pai-lsp-{with_repository}:1"
    process = started(tmp_path, job("echo one", image="small", plugins=plugins), "--git-image", image)
    assert process.stderr is not None
    while "[git clone]" not in process.stderr.readline():
        pass
    while not any(name.endswith("-git") for name in names_of(process)):
        time.sleep(0.1)
    process.kill()
    ended(process)
    while any(name.endswith("-git") for name in names_of(process, "--all")):
        time.sleep(0.2)
    # The container of the task was made and never started.
    subprocess.run([PROGRAM, "rm", "--force", *names_of(process, "--all")], check=True, stdout=subprocess.DEVNULL)


def test_commands_that_ignore_their_end_are_killed(tmp_path: Path) -> None:
    text = job("trap '' TERM", "echo ready", "while true; do sleep 0.1; done")
    found = ran(tmp_path, text, "--time-limit", "3")
    assert (found.status, found.lines) == (124, ["ready"])
    assert "ended after 3 seconds" in found.notes


def test_what_runs_in_the_background_ends_with_the_task(tmp_path: Path) -> None:
    found = ran(tmp_path, job("sleep 1000 &", "echo one"))
    assert (found.status, found.lines) == (0, ["one"])


def test_a_storage_is_a_folder_that_the_user_names(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "in").write_text("given\n", encoding="utf-8")
    text = job("cat /mnt/data/in", "echo made >/mnt/data/out", f"ls {tmp_path}", extras="  storages: [{name: data}]\n")
    found = ran(tmp_path, text, "--storage", f"data={data}")
    assert (found.status, found.lines[0], (data / "out").read_text()) == (1, "given", "made\n")
    assert "No such file or directory" in found.output


def test_this_machine_reaches_the_ports_that_the_job_names_and_no_others(tmp_path: Path) -> None:
    text = job(
        "echo web $PAI_CONTAINER_HOST_web_PORT_LIST",
        "echo http $PAI_CONTAINER_HOST_PORT",
        "echo hello | nc -l -p $PAI_CONTAINER_HOST_PORT &",
        "echo hello | nc -l -p $PAI_CONTAINER_HOST_web_PORT_LIST",
    )
    process = started(tmp_path, text)
    begun = until(process, "[commands]")
    assert process.stdout is not None
    begun += process.stdout.readline() + process.stdout.readline()
    ports = {line.split()[0]: int(line.split()[1]) for line in begun.splitlines()[1:]}
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", ports["http"]), timeout=10)
    received = b""
    while not received and process.poll() is None:
        # Until the command listens, the port is refused, or a proxy of the engine listens alone.
        with (
            contextlib.suppress(ConnectionError),
            socket.create_connection(("127.0.0.1", ports["web"]), timeout=10) as connection,
        ):
            received = connection.recv(100)
    assert (received, ended(process).status) == (b"hello\n", 0)


def test_a_service_of_this_machine_cannot_be_reached(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = ran(tmp_path, job(f"nc -w 2 127.0.0.1 {port} || echo refused"))
    assert found.lines[-1] == "refused"


def test_neither_processes_nor_the_engine_know_a_secret(tmp_path: Path) -> None:
    text = job("export TOKEN=<% $secrets.token %>", "echo ready", 'echo "${#TOKEN}"', "sleep 2")
    process = started(tmp_path, text + "secrets: {token: hunter2-very-secret}\n")
    begun = until(process, "ready")
    running = names_of(process)
    seen = subprocess.run([PROGRAM, "inspect", *running], capture_output=True, text=True, check=True).stdout
    lists = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=False).stdout
    found = ended(process, begun)
    assert (found.status, found.lines) == (0, ["ready", "19"])
    assert len(running) == 1
    assert "hunter2" not in seen + lists + found.notes + found.output


GIT = "    - {plugin: git, parameters: {repo_uri: 'file:///srv/repository', OPTIONS clone_dir: code}}\n"
MADE = (
    "git init -q /srv/repository", "cd /srv/repository", "git config user.email a@b.c", "git config user.name a",
    "echo 'echo trained' >train.sh", "git add .", "git commit -q -m first",
)  # fmt: skip


@pytest.fixture(scope="session")
def with_repository(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of an image that has git and a repository."""
    name = "localhost/pai-lsp-repository"
    commands = " && ".join(MADE)
    made = f"pai-lsp-made-{os.getpid()}"
    build = [PROGRAM, "run", "--name", made, "localhost/pai-lsp-tools:1", "/bin/bash", "-c", commands]
    subprocess.run(build, check=True, cwd=tmp_path_factory.mktemp("build"))
    subprocess.run([PROGRAM, "commit", "--change=WORKDIR /root", made, f"{name}:1"], check=True)
    subprocess.run([PROGRAM, "rm", "--force", made], check=True)
    return name.removeprefix("localhost/pai-lsp-")


def test_a_repository_is_cloned_in_the_container(with_repository: str, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    marked = tmp_path / "PWNED"
    options = f"options: [\"--upload-pack='touch {marked}; git-upload-pack'\"],"
    found = ran(tmp_path, job("bash code/train.sh", image=with_repository, plugins=GIT.replace("OPTIONS", "")))
    assert (found.status, found.lines[-1]) == (0, "trained")
    found = ran(tmp_path, job("echo one", image=with_repository, plugins=GIT.replace("OPTIONS", options)))
    assert (found.status, "cannot be cloned" in found.notes) == (1, True)
    assert sorted(tmp_path.iterdir()) == [*before, tmp_path / "job.pai.yaml"]


def test_a_repository_is_not_moved_into_a_folder_with_files(with_repository: str, tmp_path: Path) -> None:
    plugins = cmd("mkdir code && touch code/mine", "echo after") + GIT.replace("OPTIONS", "")
    found = ran(tmp_path, job("echo one", image=with_repository, plugins=plugins))
    assert (found.status, found.lines[-1]) == (
        1,
        "fatal: destination path 'code' already exists and is not an empty directory.",
    )


@pytest.mark.skipif(
    ENGINE == "docker", reason="docker keeps the owner of the clone, which the user of the image cannot move"
)
def test_another_image_clones(with_repository: str, tmp_path: Path) -> None:
    text = job("bash code/train.sh", "ls -la code | wc -l", image="small", plugins=GIT.replace("OPTIONS", ""))
    found = ran(tmp_path, text)
    assert (found.status, "the image has no git" in found.output) == (1, True)
    found = ran(tmp_path, text, "--git-image", f"localhost/pai-lsp-{with_repository}:1")
    assert (found.status, found.lines[-2:]) == (0, ["trained", "4"])


def test_a_foreign_repository_around_the_job_has_no_effect(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f"[core]\n\tfsmonitor = touch {tmp_path}/PWNED\n", encoding="utf-8")
    found = ran(tmp_path, job("echo one", plugins=GIT.replace("OPTIONS", "")))
    assert found.status == 1
    assert not (tmp_path / "PWNED").exists()


def test_the_first_failure_ends_all_tasks(tmp_path: Path) -> None:
    text = job("if [ $PAI_TASK_INDEX = 1 ]; then exit 7; fi", "sleep 1000", role="    instances: 3\n")
    found = ran(tmp_path, text, "--all")
    assert (found.status, "ended with 7" in found.notes) == (7, True)


def test_tasks_reach_each_other_by_their_ports(tmp_path: Path) -> None:
    # nc may end without having sent anything, or fail after it has: one listens until the words come, the other speaks
    # until nobody listens.
    send = "echo from $PAI_TASK_INDEX | nc $PAI_HOST_IP_worker_0 $PAI_PORT_LIST_worker_0_http"
    text = job(
        "listen() { nc -l -p $PAI_CONTAINER_HOST_PORT || sleep 0.1; }",
        'heard=; while [ $PAI_TASK_INDEX = 0 ] && [ -z "$heard" ]; do heard=$(listen); done',
        'if [ $PAI_TASK_INDEX = 0 ]; then echo "$heard"; exit 0; fi',
        f'sent=; for _ in {{1..300}}; do {send} && sent=yes || [ -z "$sent" ] || break; sleep 0.1; done; exit 0',
        role="    instances: 2\n",
    )
    found = ran(tmp_path, text, "--all")
    assert (found.status, "[worker-0] from 1" in found.lines) == (0, True), found


@pytest.mark.skipif(
    not shutil.which("sshd", path=f"{os.environ.get('PATH')}:/usr/sbin"),
    reason="needs sshd; scripts/e2e_ssh.sh installs it in CI",
)
def test_tasks_reach_each_other_with_ssh(tmp_path: Path) -> None:
    text = job(
        "if [ $PAI_TASK_INDEX = 1 ]; then touch begun; until [ -e stopped ]; do sleep 0.1; done; exit 0; fi",
        # As on a cluster, a task that ends before the other has reached it leaves the other at the barrier.
        "ssh -q worker-1 'until [ -e begun ]; do sleep 0.1; done; echo I am $PAI_TASK_INDEX in $(pwd); touch stopped'",
        role="    instances: 2\n",
        plugins="    - {plugin: ssh, parameters: {jobssh: true, sshbarrier: true}}\n",
    )
    found = ran(tmp_path, text, "--all")
    assert (found.status, "[worker-0] I am 1 in /srv" in found.lines) == (0, True)


def test_tensorboard_is_published_on_this_machine(tmp_path: Path) -> None:
    # The plugin's own program is not in the image. It runs beside the commands, which wait for what it prints.
    program = "#!/bin/bash\\necho the board $* > /tmp/said"
    made = f"printf '{program}' > /bin/tensorboard; chmod +x /bin/tensorboard"
    plugins = (
        f"    - {{plugin: cmd, parameters: {{callbacks: [{{event: taskStarts, commands: [{json.dumps(made)}]}}]}}}}\n"
        "    - {plugin: tensorboard, parameters: {port: 16006, logdir: {all: /tmp/logs}}}\n"
    )
    found = ran(tmp_path, job("until [ -s /tmp/said ]; do :; done; cat /tmp/said", plugins=plugins))
    assert (found.status, "the board" in found.output, "--port=16006" in found.output) == (0, True, True), found
