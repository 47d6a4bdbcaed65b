"""Runs the plan of a task on this machine, in a container or without one."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.cli import WRONG_USAGE
from pai_lsp.cli.commands.job_file import failed
from pai_lsp.cluster.failure_line import HEADER_LINES
from pai_lsp.cluster.task_plan import HOME, SCRIPTS, port_counts
from pai_lsp.cluster.why import failure
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.failures import OWN_FAILURE, why
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from pai_lsp.cluster.task_plan import TaskPlan
    from pai_lsp.job.job import Job

_OPTIONS = "set -o errexit\nset -o nounset\nset -o pipefail\n"
# The runtime's own header has this many lines, so that messages of bash name the same lines as on a cluster.
_HEADER = "#!/bin/bash\n" + "#\n" * (HEADER_LINES - 4) + _OPTIONS
_PHASES = ("precommands.sh", "user.sh", "postcommands.sh")
_ADDRESS = "127.0.0.1"
_KEPT = 256 * 1024
_STARTED = {
    "precommands.sh": "commands of plugins",
    "user.sh": "commands",
    "postcommands.sh": "last commands of plugins",
}


def run_here(plan: TaskPlan, job: Job, arguments: argparse.Namespace) -> int:
    """Run the task; returns the exit status of its commands."""
    folders = _folders(arguments.storage)
    if folders is None:
        return failed("run", "--storage has the form NAME=FOLDER", WRONG_USAGE)
    engine = arguments.container
    program = "bash" if engine == "none" else engine
    if shutil.which(program) is None:
        return failed("run", f"'{program}' is not installed on this machine", WRONG_USAGE)
    skipped = [path for path, text in plan.files.items() if f"{HOME}/plugins/" in text]
    for note in _notes(plan, skipped, folders, is_contained=engine != "none"):
        sys.stderr.write(f"pai-lsp run: {note}\n")
    if not arguments.yes and not _is_agreed(plan, arguments):
        return failed("run", "nothing was run; give --yes to run without asking", WRONG_USAGE)
    with tempfile.TemporaryDirectory(prefix="pai-lsp-run-") as folder:
        home = folder if engine == "none" else HOME
        try:
            _write(plan, Path(folder), home, skipped)
            command = _command(plan, engine, folder, folders)
            work = Path(folder, "work")
            work.mkdir()
            status, log = _run(command, str(work), _own_environment(engine))
        except OSError as error:
            return failed("run", why(error), OWN_FAILURE)
        if status:
            _explain(status, log.replace(f"{home}/", f"{HOME}/"), plan, job, arguments)
        return status


def _folders(options: list[str]) -> dict[str, str] | None:
    """Folders of this machine by the names of storages; None if an option is malformed."""
    pairs = [option.partition("=") for option in options]
    return {name: folder for name, _, folder in pairs} if all(name and folder for name, _, folder in pairs) else None


def _notes(plan: TaskPlan, skipped: list[str], folders: dict[str, str], *, is_contained: bool) -> Iterator[str]:
    """What differs from a run on a cluster."""
    if skipped or any(path.endswith("/") for path in plan.files):
        yield "the plugins ssh, git and tensorboard are left out here"
    storages = {name.removesuffix("-volume"): path for path, name in plan.mounts if name.endswith("-volume")}
    for name, path in storages.items():
        if name == "pai":
            continue
        if name not in folders and not (not is_contained and Path(path).is_dir()):
            yield f"the storage '{name}' is not there; the task finds no {path}"
    if not is_contained and folders:
        yield "--storage needs --container docker or podman"
    if not is_contained:
        yield f"without a container the programs of this machine run, not those of {plan.image}"


def _is_agreed(plan: TaskPlan, arguments: argparse.Namespace) -> bool:
    if not sys.stdin.isatty():
        return False
    where = "on this machine" if arguments.container == "none" else f"in {arguments.container} ({plan.image})"
    commands = "\n".join(f"  {line}" for line in plan.files[f"{SCRIPTS}/user.sh"].splitlines()[:10])
    sys.stderr.write(f"run task {plan.index} of '{plan.role.name}' {where}?\n{visible(commands)}\n[y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _write(plan: TaskPlan, folder: Path, home: str, skipped: list[str]) -> None:
    """Write the files of the task; scripts of plugins that are left out are not called."""
    scripts = folder / SCRIPTS
    scripts.mkdir()
    left_out = [f"/bin/bash {HOME}/{path}" for path in skipped]
    for path, text in plan.files.items():
        name = path.rpartition("/")[2]
        if path.endswith("/") or path in skipped:
            continue
        lines = [line for line in text.split("\n") if line not in left_out] if name in _PHASES else [text]
        body = "\n".join(lines).replace(f"{HOME}/", f"{home}/") if name != "user.sh" else text
        # Bytes: on Windows, a text file would get line ends that bash does not understand.
        (scripts / name).write_bytes(((_HEADER if name in _PHASES else "") + body + "\n").encode("utf-8"))
    exports = [f"export {name}={shlex.quote(value)}" for name, value in _values(plan).items()]
    (scripts / "runtime_env.sh").write_bytes(("\n".join(exports) + "\n").encode("utf-8"))
    calls = [f"echo {shlex.quote(f'[{_STARTED[one]}]')} >&2\nbash {home}/{SCRIPTS}/{one}" for one in _phases(plan)]
    lines = [_OPTIONS + 'PAI_WORK_DIR="$(pwd)"', "export PAI_WORK_DIR", f"source {home}/{SCRIPTS}/runtime_env.sh"]
    (scripts / "entry.sh").write_bytes(("\n".join([*lines, *calls]) + "\n").encode("utf-8"))


def _phases(plan: TaskPlan) -> list[str]:
    return [one for one in _PHASES if one == "user.sh" or plan.files[f"{SCRIPTS}/{one}"]]


def _values(plan: TaskPlan) -> dict[str, str]:
    """All variables with values: this machine's address, and ports that are free."""
    found = dict(plan.environment)
    own = f"_{converted_role_name(plan.role.name)}_{plan.index}_"
    ports = {name: _free_ports(count) for name, count in port_counts(plan.role).items()}
    for name, kind in plan.later.items():
        label = name.removeprefix(f"PAI_PORT_LIST{own}").removeprefix(f"PAI{own}").removesuffix("_PORT")
        if kind == "host-address":
            found[name] = _ADDRESS
        elif kind.startswith("port") and (name.startswith((f"PAI_PORT_LIST{own}", f"PAI{own}")) and label in ports):
            found[name] = ports[label]
        elif name.startswith("PAI_CONTAINER_HOST_") and name.endswith("_PORT_LIST") and kind.startswith("port"):
            found[name] = ports[name.removeprefix("PAI_CONTAINER_HOST_").removesuffix("_PORT_LIST")]
        elif name == "PAI_CONTAINER_SSH_PORT":
            found[name] = ports["ssh"].partition(",")[0]
        elif name in {"PAI_CURRENT_CONTAINER_PORT", "PAI_CONTAINER_HOST_PORT"}:
            found[name] = ports["http"].partition(",")[0]
        elif kind.startswith("port"):
            # Other tasks do not run here; their ports only have to be numbers.
            found[name] = ",".join(["1"] * int(kind.partition(":")[2] or 1))
        elif kind == "labels-and-ports":
            found[name] = "".join(f"{label}:{numbers};" for label, numbers in ports.items())
        elif kind == "addresses-and-http-ports":
            found[name] = f"{_ADDRESS}:{ports['http'].partition(',')[0]}"
        elif kind == "controller":
            found[name] = "0"
    return found


def _free_ports(count: int) -> str:
    """Numbers of ports that are free now, joined by commas."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind((_ADDRESS, 0))
        return ",".join(str(one.getsockname()[1]) for one in sockets)
    finally:
        for one in sockets:
            one.close()


def _command(plan: TaskPlan, engine: str, folder: str, folders: dict[str, str]) -> list[str]:
    if engine == "none":
        return ["bash", f"{folder}/{SCRIPTS}/entry.sh"]
    mounts = [("--volume", f"{folder}:{HOME}")]
    for path, name in plan.mounts:
        if (source := folders.get(name.removesuffix("-volume"))) is not None:
            mounts.append(("--volume", f"{Path(source).absolute()}:{path}"))
    options = [word for pair in mounts for word in pair]
    shared = f"--shm-size={plan.shared_memory}m"
    entry = f"{HOME}/{SCRIPTS}/entry.sh"
    return [engine, "run", "--rm", "--network=host", shared, *options, "--entrypoint=/bin/bash", plan.image, entry]


def _own_environment(engine: str) -> dict[str, str]:
    """This process' environment; a task must not see variables of another one."""
    if engine != "none":
        return dict(os.environ)
    return {name: value for name, value in os.environ.items() if not name.startswith(("PAI_", "FC_"))}


def _run(command: list[str], folder: str, environment: dict[str, str]) -> tuple[int, str]:
    """Run a command, pass its output on, and return its exit status with the end of the output."""
    kept = b""
    with subprocess.Popen(  # noqa: S603 - it runs what the user has agreed to
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        if process.stdout is not None:
            while chunk := os.read(process.stdout.fileno(), 65536):
                sys.stdout.buffer.write(chunk)
                sys.stdout.flush()
                kept = (kept + chunk)[-_KEPT:]
        status = process.wait()
    # A process that a signal ends has a negative status here, and 128 and the signal's number in a shell.
    return (128 - status if status < 0 else status), kept.decode("utf-8", "replace")


def _explain(status: int, log: str, plan: TaskPlan, job: Job, arguments: argparse.Namespace) -> None:
    """Say why the commands failed, and on which line of the job."""
    text = "\n".join(line for line in log.splitlines() if line not in {f"[{one}]" for one in _STARTED.values()})
    found = failure(text, job, status, role=plan.role.name)
    sys.stdout.flush()
    write = sys.stderr.write
    write(f"\npai-lsp run: the commands ended with {status}; a cluster would report {found.code}\n")
    write(f"{found.cause.name}: {found.cause.explanation}\n{found.cause.fix}\n")
    if found.line is not None:
        line = job.hidden.without(job.text.splitlines()[found.line - 1].strip())
        write(f"{visible(arguments.job)}:{found.line}: {visible(line)}\n")
