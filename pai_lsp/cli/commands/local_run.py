"""Runs the plans of tasks on this machine, in containers or without.

Before anything starts, the user sees all that will. In a container, everything that the job says runs inside of it,
`git clone` as well. Without one, only the clone is made with our own arguments: everything else runs with the user's
rights, which is what the user has to agree to.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS, CommandError, failed
from pai_lsp.cli.commands import container
from pai_lsp.cli.commands.job_file import need_agreement
from pai_lsp.cli.commands.run_listing import listing, programs, remember, show, with_marks
from pai_lsp.cli.commands.task_ssh import left_out, make_keys, path_line, script_here, ssh_files, ssh_scripts
from pai_lsp.cluster.ended_line import ended_line, line_in_job
from pai_lsp.cluster.task_environment import port_counts
from pai_lsp.cluster.task_files import (
    ADDRESS,
    CLONE,
    ENTRY,
    TITLES,
    TaskHome,
    clone_script,
    published_ports,
    task_files,
)
from pai_lsp.cluster.task_plan import SCRIPTS
from pai_lsp.cluster.why import failure
from pai_lsp.expansion.plugin_scripts import HOME
from pai_lsp.source.failures import OWN_FAILURE
from pai_lsp.source.files import program_on_path
from pai_lsp.source.spelling import plural
from pai_lsp.source.text import LineIndex, visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from pai_lsp.cluster.task_files import Ports
    from pai_lsp.cluster.task_plan import PartSource, TaskPlan
    from pai_lsp.job.job import Job

_KEPT = 256 * 1024
_SECONDS_TO_END = 5.0
# What timeout(1) returns.
_TIMED_OUT = 124
_REMOTE = re.compile(r"(?:https|ssh)://[^\s\x00-\x1f-][^\s\x00-\x1f]*|[\w.]+@[\w.][\w.-]*:(?!:)[^\s\x00-\x1f]+")


# The runtime makes pipes in a folder that its first container, which is root's, has made.
# Source: openpai-runtime, src/init and src/runtime.d/runtime_entry.sh (mkfifo).
_NOT_CLONED = "a repository of the plugin git cannot be cloned"
_NOT_ROOT = "on a cluster only root can run the runtime's scripts, so the task would fail before its first command"


def run_here(plans: Sequence[TaskPlan], shown: Sequence[TaskPlan], job: Job, arguments: argparse.Namespace) -> int:
    """Run the tasks at the same time; returns the exit status of the first that fails, and then ends the others.

    shown: the same plans without the values of secrets.
    """
    pairs = [option.partition("=") for option in arguments.storage]
    if not all(name and folder for name, _, folder in pairs):
        return failed("run", "--storage has the form NAME=FOLDER")
    folders = {name: folder for name, _, folder in pairs}
    if arguments.container is None:
        return failed("run", _CHOICES)
    is_contained = arguments.container != "none"
    name = arguments.container if is_contained else "bash"
    program = program_on_path(name, os.environ.get("PATH", ""))
    if not program:
        return failed("run", f"'{name}' is not installed on this machine")
    if fault := _fault(plans, folders, arguments):
        return failed("run", visible(job.hidden.without(fault)))
    text = _listed(plans, shown, job, folders, arguments)
    show(with_marks(text, arguments.job), is_asked=not arguments.yes)
    if not arguments.yes:
        where = "in containers" if is_contained else "on this machine"
        need_agreement(f"run this {where}?", "nothing was run", needs_word=not is_contained)
        remember(text, arguments.job)
    with ExitStack() as stack:
        stack.enter_context(_ending_by_signal())
        runs = _prepared(plans, program, folders, arguments, stack)
        first = _run_together(runs, arguments.time_limit)
    return 0 if first is None else _explained(first, job, arguments)


_CHOICES = (
    "choose where the commands run:\n"
    "  --container podman (or docker)  in a container of the job's image\n"
    "  --container none                on this machine: with your rights, its programs and all your files"
)


def _fault(plans: Sequence[TaskPlan], folders: dict[str, str], arguments: argparse.Namespace) -> str:
    """Why the tasks cannot run as the user wants it; empty if they can."""
    if arguments.container == "none":
        words = [words for plan in plans for words in plan.clones]
        if words and not program_on_path("git", os.environ.get("PATH", "")):
            return "'git' is not installed on this machine"
        return next((fault for fault in map(_clone_fault, words) if fault), "")
    for folder in folders.values():
        if not os.path.isdir(folder):
            return f"--storage: '{folder}' is not a folder"
        if container.mount_fault(str(Path(folder).absolute())):
            return f"--storage: an engine cannot mount '{folder}'"
    images = [plan.image for plan in plans] + ([arguments.git_image] if arguments.git_image else [])
    paths = [path for plan in plans for path, _ in _mounts(plan, folders)]
    faults = [*map(container.image_fault, images), *map(container.mount_fault, paths)]
    return next((fault for fault in faults if fault), "")


def _clone_fault(words: Sequence[str]) -> str:
    """Why git does not get the words of a job on this machine."""
    *options, _, address = words
    if options:
        return (
            f"without a container, git gets no options of a job: '{' '.join(options)}'; "
            "an option can start a program. --container runs git in a container"
        )
    return "" if _REMOTE.fullmatch(address) else f"without a container, git asks https and ssh only: '{address}'"


def _mounts(plan: TaskPlan, folders: dict[str, str]) -> list[tuple[str, str]]:
    """Paths in the container and folders of this machine."""
    named = [(path, folders.get(name.removesuffix("-volume"))) for path, name in plan.mounts]
    return [(path, str(Path(folder).absolute())) for path, folder in named if folder is not None]


def _listed(
    plans: Sequence[TaskPlan],
    shown: Sequence[TaskPlan],
    job: Job,
    folders: dict[str, str],
    arguments: argparse.Namespace,
) -> str:
    is_contained = arguments.container != "none"
    where = f"in {arguments.container}" if is_contained else "on this machine, without a container"
    notes = {note: None for plan in plans for note in _notes(plan, folders, is_contained=is_contained)}
    if not is_contained:
        notes |= dict.fromkeys(_about_programs(shown))
    written = "".join(f"note: {visible(note)}\n" for note in notes)
    return f"pai-lsp run: {plural(len(plans), 'task')} {where}\n{listing(shown, job, arguments.job)}{written}"


def _notes(plan: TaskPlan, folders: dict[str, str], *, is_contained: bool) -> Iterator[str]:
    """What differs from a run on a cluster."""
    if reason := left_out(plan, is_contained=is_contained):
        yield f"the plugin ssh does not run here: {reason}"
    elif reason == "":
        yield "the plugin ssh connects the tasks that run here, with a key for this run only; 'userssh' is ignored"
    storages = {name.removesuffix("-volume"): path for path, name in plan.mounts if name.endswith("-volume")}
    for name, path in storages.items():
        if name not in {"pai", *folders} and (is_contained or not os.path.isdir(path)):
            step = f"; give --storage {name}=FOLDER" if is_contained else ""
            yield f"the storage '{name}' is missing here, so the task does not find {path}{step}"
    if not is_contained and folders:
        yield "--storage needs --container docker or podman"


def _about_programs(plans: Sequence[TaskPlan]) -> Iterator[str]:
    """What a run without a container uses of this machine."""
    found, missing = programs(plans, os.environ.get("PATH", ""))
    named = ", ".join(
        place if Path(place).name == Path(name).name else f"{name} ({place})" for name, place in found.items()
    )
    yield (
        "the programs of this machine run, not those of the image, with your rights: they can read, change and "
        f"send what you can. The commands name {named}"
    )
    if missing:
        yield f"not on this machine: {', '.join(missing)}"


@contextmanager
def _ending_by_signal() -> Iterator[None]:
    """The end of a terminal, and a request to end, end the tasks as ^C does."""

    def interrupted(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    former: list[tuple[int, object]] = []
    with suppress(ValueError):  # not in the main thread
        former = [(getattr(signal, name), signal.signal(getattr(signal, name), interrupted)) for name in names]
    try:
        yield
    finally:
        for number, handler in former:
            signal.signal(number, handler)  # type: ignore[arg-type]


@dataclass(slots=True)
class _Run:
    """One task that is to run.

    label: the beginning of each line of its output. token: the beginning of what its own script reports. log: the end
    of its output. part: the script that runs. ended: what bash reports about the end of the commands.
    container: the name of its container; empty without one.
    """

    plan: TaskPlan
    command: list[str]
    home: str
    label: str
    token: str
    log: str = ""
    status: int = 0
    part: str = ""
    ended: str = ""
    kept: bytes = field(default=b"", repr=False)
    container: str = ""


def _prepared(
    plans: Sequence[TaskPlan],
    program: str,
    folders: dict[str, str],
    arguments: argparse.Namespace,
    stack: ExitStack,
) -> list[_Run]:
    """Everything that is needed before the tasks start; `stack` removes it.

    Raises:
        CommandError: if a container cannot be made, or a repository cannot be cloned.
        OSError: if a file cannot be written.
    """
    is_contained = arguments.container != "none"
    ports = allocated_ports(plans)
    keys = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pai-lsp-run-")))
    if any(left_out(plan, is_contained=is_contained) == "" for plan in plans):
        make_keys(keys)
    run_name = f"pai-lsp-run-{os.getpid()}-{secrets.token_hex(4)}"
    network = ""
    if is_contained and len(plans) > 1:
        network = f"{run_name}-network"
        _hold_network(plans, program, network, ports, stack)
    runs: list[_Run] = []
    for number, plan in enumerate(plans):
        token = secrets.token_hex(16)
        label = f"{plan.role.name}-{plan.index}" if len(plans) > 1 else ""
        if not is_contained:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pai-lsp-run-")))
            _clone_here(plan, folder)
            _write(folder, _files(plan, TaskHome(str(folder), is_container=False), ports, token, keys))
            (folder / "work").mkdir()
            runs.append(_Run(plan, [program, f"{folder}/{ENTRY}"], str(folder), label, token))
            continue
        name = f"{run_name}-{number}"
        place = TaskHome(HOME, is_container=True, clones=not arguments.git_image)
        stack.callback(container.remove, program, name)
        has_ssh = left_out(plan, is_contained=True) == ""
        is_made = container.create(
            program, name, plan.image, [f"{HOME}/{ENTRY}"],
            plan=plan, network=network, has_ssh=has_ssh, ports=() if network else published_ports(plan, ports),
            mounts=[(folder, path) for path, folder in _mounts(plan, folders)],
        )  # fmt: skip
        if not is_made or not container.fill(program, name, _files(plan, place, ports, token, keys)):
            raise CommandError(
                f"{arguments.container} could not make the container; see its message above", OWN_FAILURE
            )
        if plan.clones and arguments.git_image:
            _clone_in(program, f"{name}-git", arguments.git_image, plan, name, stack)
        runs.append(
            _Run(plan, [program, "start", "--attach", "--interactive", name], HOME, label, token, container=name)
        )
    return runs


def _hold_network(plans: Sequence[TaskPlan], engine: str, name: str, ports: Ports, stack: ExitStack) -> None:
    """Start a container whose network all tasks share: there each finds the others on the loopback address.

    Raises:
        CommandError: if that fails.
    """
    published = [port for plan in plans for port in published_ports(plan, ports)]
    stack.callback(container.remove, engine, name)
    if not (
        container.create(engine, name, plans[0].image, container.HOLDS, ports=dict.fromkeys(published))
        and _is_held(engine, name, stack)
    ):
        raise CommandError("the network of the tasks could not be made; see the message above", OWN_FAILURE)


def _is_held(engine: str, name: str, stack: ExitStack) -> bool:
    """Start a container that does nothing; at the end of the run, it ends."""
    holder = container.held(engine, name)
    if holder is not None:
        stack.callback(_let_go, holder)
    return holder is not None


def _let_go(holder: subprocess.Popen[bytes]) -> None:
    with holder:
        _close(holder)
        holder.kill()


def _close(process: subprocess.Popen[bytes]) -> None:
    """End the standard input of a process, which ends the containers that it holds."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()


def _clone_in(engine: str, name: str, image: str, plan: TaskPlan, target: str, stack: ExitStack) -> None:
    """Clone the repositories of a task in a container of another image, as on a cluster.

    Raises:
        CommandError: if that fails.
    """
    script = f"{SCRIPTS}/{CLONE}"
    stack.callback(container.remove, engine, name)
    sys.stderr.write(f"[{TITLES[CLONE]}]\n")
    is_done = (
        container.create(engine, name, image, container.HOLDS)
        and container.fill(engine, name, {script: clone_script(plan)})
        and _is_held(engine, name, stack)
        and container.ran(engine, name, f"{HOME}/{script}")
        and container.copy_folder(engine, name, target, "code")
    )
    container.remove(engine, name)
    if not is_done:
        raise CommandError(_NOT_CLONED, OWN_FAILURE)


def _clone_here(plan: TaskPlan, folder: Path) -> None:
    """Clone the repositories of a task on this machine, with arguments of our own.

    Raises:
        CommandError: if that fails.
    """
    environment = {**os.environ, "GIT_ALLOW_PROTOCOL": "https:ssh", "GIT_TERMINAL_PROMPT": "0"}
    git = program_on_path("git", os.environ.get("PATH", ""))
    for words in plan.clones:
        command = [git, "-c", "core.hooksPath=/dev/null", "clone", "--", words[-1], str(folder / "code")]
        done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, check=False)  # noqa: S603 - as agreed
        if done.returncode:
            raise CommandError(_NOT_CLONED, OWN_FAILURE)


def _files(plan: TaskPlan, place: TaskHome, ports: Ports, token: str, keys: Path) -> dict[str, str]:
    """The texts of the files of a task; scripts of the plugin ssh that cannot run here are not called."""
    of_ssh = ssh_scripts(plan)
    if left_out(plan, is_contained=place.is_container) != "":
        return task_files(plan, place, ports, token, of_ssh)
    files = task_files(plan, place, ports, token, ())
    for path in of_ssh:
        files[path] = script_here(files[path], is_contained=place.is_container)
    files[f"{SCRIPTS}/runtime_env.sh"] += path_line(place.home) + "\n"
    return files | ssh_files(plan, place, keys, {task: one["ssh"].partition(",")[0] for task, one in ports.items()})


def _write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        # Bytes: on Windows, a text file would get line ends that bash does not understand.
        target.write_bytes(text.encode("utf-8", "replace"))
        target.chmod(0o700)


def allocated_ports(plans: Sequence[TaskPlan]) -> Ports:
    """Free ports of this machine for tasks that run at the same time."""
    counts = {(plan.role.name, plan.index): port_counts(plan.role) for plan in plans}
    free = _free_ports(sum(count for labels in counts.values() for count in labels.values()))
    return {
        task: {label: ",".join(str(next(free)) for _ in range(count)) for label, count in labels.items()}
        for task, labels in counts.items()
    }


def _free_ports(count: int) -> Iterator[int]:
    """Numbers of ports that are free now, each once."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind((ADDRESS, 0))
        return iter([one.getsockname()[1] for one in sockets])
    finally:
        for one in sockets:
            one.close()


def _environment() -> dict[str, str]:
    """This process' environment, without the variables of a task, of which another one must not see any."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PAI_", "FC_"))}


def _run_together(runs: Sequence[_Run], seconds: float | None) -> _Run | None:
    """Run tasks, and pass their output on; returns the first that fails, after the others were ended.

    seconds: after which all of them are ended; the first then has the status of timeout(1).
    """
    ended: Queue[_Run] = Queue()
    processes: list[subprocess.Popen[bytes]] = []
    readers: list[Thread] = []
    try:
        for one in runs:
            process = subprocess.Popen(  # noqa: S603 - it runs what the user has agreed to
                one.command,
                cwd=None if one.container else f"{one.home}/work",
                env=None if one.container else _environment(),
                # It is the sign that this process lives: see the script of the task.
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            processes.append(process)
            readers.append(Thread(target=_follow, args=(process, one, ended), daemon=True))
            readers[-1].start()
            Thread(target=_end_group, args=(process,), daemon=True).start()
        return _first_failure(runs, ended, seconds)
    finally:
        for one, process in zip(runs, processes, strict=False):
            # The program that shows a container's output passes on a signal only once it is attached.
            if process.poll() is None and not (one.container and container.ask_to_end(one.command[0], one.container)):
                _signal(process, signal.SIGTERM)
        for process in processes:
            _end(process)
            _close(process)
        for reader in readers:
            reader.join(_SECONDS_TO_END)


def _first_failure(runs: Sequence[_Run], ended: Queue[_Run], seconds: float | None) -> _Run | None:
    until = None if seconds is None else monotonic() + seconds
    for _ in runs:
        try:
            found = ended.get(timeout=None if until is None else max(0.0, until - monotonic()))
        except Empty:
            runs[0].status = _TIMED_OUT
            return runs[0]
        if found.status:
            return found
    return None


def _follow(process: subprocess.Popen[bytes], run: _Run, ended: Queue[_Run]) -> None:
    """Pass the output of a process on until it ends, whole lines where there are several processes."""
    rest = b""
    while process.stdout is not None and (chunk := os.read(process.stdout.fileno(), 65536)):
        rest = _passed_on(rest + chunk, run)
    _put(rest + b"\n" if rest and run.label else rest, run)
    if process.stdout is not None:
        process.stdout.close()
    status = process.wait()
    # A process that a signal ends has a negative status here, and 128 and the signal's number in a shell.
    status = 128 - status if status < 0 else status
    run.status, run.log = run.status or status, run.kept.decode("utf-8", "replace")
    ended.put(run)


def _passed_on(data: bytes, run: _Run) -> bytes:
    """Pass on what is complete in the output; returns what is not. Reports of the task's own script are taken out."""
    token = run.token.encode()
    while (start := data.find(token)) >= 0:
        end = data.find(b"\n", start)
        if end < 0:
            break
        before = data[:start]
        _put(before + b"\n" if before and run.label and not before.endswith(b"\n") else before, run)
        _note(data[start + len(token) : end].decode("utf-8", "replace"), run)
        data = data[end + 1 :]
    start = data.find(token)
    if start < 0:
        # The beginning of a report may be here already.
        start = next((len(data) - size for size in range(len(token), 0, -1) if data.endswith(token[:size])), len(data))
    if run.label:
        start = data.rfind(b"\n", 0, start) + 1
    if len(data) - start > _KEPT:
        start = len(data)
    _put(data[:start], run)
    return data[start:]


def _note(report: str, run: _Run) -> None:
    """Take a report of the task's own script: `user NUMBER`, `start SCRIPT` or `end SCRIPT LINE`."""
    kind, _, rest = report.partition(" ")
    part, _, line = rest.partition(" ")
    if kind == "user" and rest != "0" and run.home == HOME:
        sys.stderr.write(f"note: the user of the image is {visible(rest)}; {_NOT_ROOT}\n")
    # The commands could write such a line, too.
    if kind == "user" or part not in TITLES:
        return
    run.part = part
    if kind == "end":
        run.ended = line
    else:
        _put(f"[{TITLES[part]}]\n".encode(), run, is_kept=False)


def _put(data: bytes, run: _Run, *, is_kept: bool = True) -> None:
    if not data:
        return
    if is_kept:
        run.kept = (run.kept + data)[-_KEPT:]
    if run.label:
        prefix = f"[{run.label}] ".encode()
        data = prefix + data.removesuffix(b"\n").replace(b"\n", b"\n" + prefix) + data[len(data.removesuffix(b"\n")) :]
    sys.stdout.buffer.write(data)
    sys.stdout.flush()


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """When a task ends, end what it has started in the background, as the end of its container does."""
    process.wait()
    _signal(process, signal.SIGTERM)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to a process, and to those that it has started."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        else:
            process.terminate()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process ends, and kill it if that takes too long."""
    try:
        process.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
        process.wait()


def _explained(run: _Run, job: Job, arguments: argparse.Namespace) -> int:
    """Say which part failed, why, and on which line of the job if bash knows it; returns the exit status."""
    status, plan = run.status, run.plan
    sys.stdout.flush()
    if not run.part:
        reason = f"{arguments.container} could not start the container; see its message above"
        message = f"{reason}. If it names /bin/bash, the image has none; a cluster needs it too"
        return failed("run", message, OWN_FAILURE)
    if status == _TIMED_OUT and arguments.time_limit is not None:
        return failed("run", f"ended after {arguments.time_limit:g} seconds", status)
    if run.part == CLONE:
        return failed("run", _NOT_CLONED, FINDINGS)
    write = sys.stderr.write
    task = f"{visible(run.label)}: " if run.label else ""
    if run.part != "user.sh":
        write(f"\npai-lsp run: {task}the {TITLES.get(run.part, run.part)} ended with {status}\n")
        if source := _failed_plugin(run):
            line = LineIndex(job.text).line_of(source.offset) + 1
            write(f"{visible(arguments.job)}:{line}: {visible(source.title)}\n")
        return status
    found = failure(run.log.replace(f"{run.home}/", f"{HOME}/"), job, status, role=plan.role.name)
    write(f"\npai-lsp run: {task}the commands ended with {status}; a cluster would report {found.code}\n")
    write(f"{found.cause.name}: {found.cause.explanation}\n{found.cause.fix}\n")
    commands = plan.files[f"{SCRIPTS}/user.sh"]
    number = ended_line(run.ended, commands)
    found_line = None if number is None else line_in_job(job, plan.role, commands, number)
    if found_line is not None:
        written = job.hidden.without(job.text.splitlines()[found_line - 1].strip())
        write(f"{visible(arguments.job)}:{found_line}: {visible(written)}\n")
    return status


def _failed_plugin(run: _Run) -> PartSource | None:
    """What the script of a plugin comes from that ended the task."""
    calls = run.plan.files[f"{SCRIPTS}/{run.part}"]
    number = ended_line(run.ended, calls)
    path = "" if number is None else calls.split("\n")[number - 1].rpartition(f"{HOME}/")[2]
    return run.plan.sources.get(path)
