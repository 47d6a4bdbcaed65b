"""Runs the plans of tasks on this machine, in containers or without, with the plugin ssh.

Each task with that plugin has an ssh server, and a key pair for this run alone. The servers listen on this machine's
own address only, accept only that key, and read nothing of the user's. A task finds `ssh`, `scp` and `sftp` that know
the other tasks by name, as on a cluster. Keys of `userssh` get no access.
Sources: openpai-runtime, src/plugins/ssh/init.py, sshd.sh and sshbarrier.sh; sshd_config(5).
"""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Thread

from pai_lsp.cli import FINDINGS, WRONG_USAGE
from pai_lsp.cli.commands.job_file import failed
from pai_lsp.cluster.failure_report import HEADER_LINES
from pai_lsp.cluster.task_plan import HOME, SCRIPTS, port_counts
from pai_lsp.cluster.why import failure
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.failures import OWN_FAILURE, why
from pai_lsp.source.files import program_on_path
from pai_lsp.source.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    from pai_lsp.cluster.task_plan import TaskPlan
    from pai_lsp.job.job import Job

_OPTIONS = "set -o errexit\nset -o nounset\nset -o pipefail\n"
# The runtime's own header has this many lines, so that messages of bash name the same lines as on a cluster.
_HEADER = "#!/bin/bash\n" + "#\n" * (HEADER_LINES - 4) + _OPTIONS
_PHASES = ("precommands.sh", "user.sh", "postcommands.sh")
_ADDRESS = "127.0.0.1"
_KEPT = 256 * 1024
# Docker's own failure, before anything runs. Source: docker/cli, docs/reference/commandline/container_run.md.
_NOT_STARTED = 125
_SECONDS_TO_END = 5.0
# By role and index of a task, and label: numbers of ports, joined by commas.
Ports: TypeAlias = "dict[tuple[str, int], dict[str, str]]"
_STARTED = {
    "precommands.sh": "commands of plugins",
    "user.sh": "commands",
    "postcommands.sh": "last commands of plugins",
}


def run_here(plans: Sequence[TaskPlan], job: Job, arguments: argparse.Namespace) -> int:
    """Run the tasks at the same time; returns the exit status of the first that fails, and then ends the others."""
    folders = _folders(arguments.storage)
    if folders is None:
        return failed("run", "--storage has the form NAME=FOLDER", WRONG_USAGE)
    engine = arguments.container
    programs = ["bash" if engine == "none" else engine, *(["git"] if any(plan.clones for plan in plans) else [])]
    if absent := next((one for one in programs if shutil.which(one) is None), None):
        return failed("run", f"'{absent}' is not installed on this machine", WRONG_USAGE)
    notes = {note: None for plan in plans for note in _notes(plan, folders, is_contained=engine != "none")}
    for note in notes:
        sys.stderr.write(f"pai-lsp run: {note}\n")
    if not arguments.yes and not _is_agreed(plans, arguments):
        step = "" if sys.stdin.isatty() else "; give --yes to run without asking"
        return failed("run", f"nothing was run{step}", WRONG_USAGE)
    ports = allocated_ports(plans)
    has_ssh = any(left_out(plan, is_contained=engine != "none") == "" for plan in plans)
    with ExitStack() as stack:
        runs: list[_Run] = []
        try:
            keys = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pai-lsp-run-")))
            if has_ssh:
                make_keys(keys)
            for plan in plans:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pai-lsp-run-"))
                home = folder if engine == "none" else HOME
                if not _cloned(plan, Path(folder)):
                    return failed("run", "a repository of the plugin git cannot be cloned", FINDINGS)
                _write(plan, Path(folder), home, ports, keys)
                work = Path(folder, "work")
                work.mkdir()
                label = f"{plan.role.name}-{plan.index}" if len(plans) > 1 else ""
                runs.append(_Run(plan, home, _command(plan, engine, folder, folders), str(work), label))
            first = _run_together(runs, _own_environment(engine))
        except OSError as error:
            return failed("run", why(error), OWN_FAILURE)
        if first is None:
            return 0
        if engine != "none" and first.status == _NOT_STARTED:
            return failed("run", f"{engine} could not start the container; see its message above", OWN_FAILURE)
        _explain(first.status, first.log.replace(f"{first.home}/", f"{HOME}/"), first.plan, job, arguments)
        return first.status


def _cloned(plan: TaskPlan, folder: Path) -> bool:
    """Clone the repositories of the plugin git to where its script looks for them; False if that fails."""
    for words in plan.clones:
        (folder / "plugins" / "git").mkdir(parents=True, exist_ok=True)
        command = ["git", "clone", *words, str(folder / "code")]
        if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode:  # noqa: S603 - as agreed
            return False
    return True


def _folders(options: list[str]) -> dict[str, str] | None:
    """Folders of this machine by the names of storages; None if an option is malformed."""
    pairs = [option.partition("=") for option in options]
    return {name: folder for name, _, folder in pairs} if all(name and folder for name, _, folder in pairs) else None


def _notes(plan: TaskPlan, folders: dict[str, str], *, is_contained: bool) -> Iterator[str]:
    """What differs from a run on a cluster."""
    if reason := left_out(plan, is_contained=is_contained):
        yield f"the plugin ssh does not run here: {reason}"
    elif reason == "":
        yield "the plugin ssh connects the tasks that run here, with a key for this run only; 'userssh' is ignored"
    storages = {name.removesuffix("-volume"): path for path, name in plan.mounts if name.endswith("-volume")}
    for name, path in storages.items():
        if name == "pai":
            continue
        if name not in folders and not (not is_contained and Path(path).is_dir()):
            step = f"; give --storage {name}=FOLDER" if is_contained else ""
            yield f"the storage '{name}' is missing here, so the task does not find {path}{step}"
    if not is_contained and folders:
        yield "--storage needs --container docker or podman"
    if not is_contained:
        yield f"without a container, the programs of this machine run in an empty folder, not those of {plan.image}"


def _is_agreed(plans: Sequence[TaskPlan], arguments: argparse.Namespace) -> bool:
    if not sys.stdin.isatty():
        return False
    where = "on this machine" if arguments.container == "none" else f"in {arguments.container} ({plans[0].image})"
    what = f"task {plans[0].index} of '{plans[0].role.name}'" if len(plans) == 1 else f"all {len(plans)} tasks"
    lines = [f"  git clone {' '.join(words)}" for words in plans[0].clones]
    for plan in {plan.role.name: plan for plan in plans}.values():
        lines += [f"  {line}" for line in plan.files[f"{SCRIPTS}/user.sh"].splitlines()[:10]]
    commands = "\n".join(lines)
    sys.stderr.write(f"run {what} {where}?\n{visible(commands)}\n[y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _write(plan: TaskPlan, folder: Path, home: str, ports: Ports, keys: Path) -> None:
    """Write the files of the task; scripts of plugins that are left out are not called."""
    is_contained = home == HOME
    has_ssh = left_out(plan, is_contained=is_contained) == ""
    of_ssh = ssh_scripts(plan)
    skipped = [] if has_ssh else of_ssh
    scripts = folder / SCRIPTS
    scripts.mkdir()
    not_called = [f"/bin/bash {HOME}/{path}" for path in skipped]
    if has_ssh:
        write_ssh(plan, folder, home, keys, {task: labels["ssh"].partition(",")[0] for task, labels in ports.items()})
    for path, text in plan.files.items():
        name = path.rpartition("/")[2]
        if path.endswith("/") or path in skipped:
            continue
        lines = text.split("\n")
        if path in of_ssh:
            lines = script_here(lines, is_contained=is_contained)
        elif name in _PHASES:
            lines = [line for line in lines if line not in not_called]
        body = "\n".join(lines).replace(f"{HOME}/", f"{home}/") if name != "user.sh" else text
        # Bytes: on Windows, a text file would get line ends that bash does not understand.
        (scripts / name).write_bytes(((_HEADER if name in _PHASES else "") + body + "\n").encode("utf-8"))
    if plan.tensorboard is not None:
        logs, port = plan.tensorboard
        program = folder / "plugins" / "tensorboard" / "tensorboard.sh"
        program.parent.mkdir(parents=True)
        # Only this machine reaches it here. Source: openpai-runtime, src/plugins/tensorboard/tensorboard.sh.template.
        call = f"tensorboard --logdir={shlex.quote(logs)} --port={shlex.quote(port)} --host={_ADDRESS} &"
        program.write_bytes(f"#!/bin/bash\n{_OPTIONS}{call}\n".encode())
    exports = [f"export {name}={shlex.quote(value)}" for name, value in _values(plan, ports).items()]
    (scripts / "runtime_env.sh").write_bytes(("\n".join(exports) + "\n").encode("utf-8"))
    calls = [f"echo {shlex.quote(f'[{_STARTED[one]}]')} >&2\nbash {home}/{SCRIPTS}/{one}" for one in _phases(plan)]
    lines = [_OPTIONS + 'PAI_WORK_DIR="$(pwd)"', "export PAI_WORK_DIR", f"source {home}/{SCRIPTS}/runtime_env.sh"]
    lines += [path_line(home)] if has_ssh else []
    (scripts / "entry.sh").write_bytes(("\n".join([*lines, *calls]) + "\n").encode("utf-8"))


def _phases(plan: TaskPlan) -> list[str]:
    return [one for one in _PHASES if one == "user.sh" or plan.files[f"{SCRIPTS}/{one}"]]


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
            one.bind((_ADDRESS, 0))
        return iter([one.getsockname()[1] for one in sockets])
    finally:
        for one in sockets:
            one.close()


def _values(plan: TaskPlan, allocated: Ports) -> dict[str, str]:
    """All variables with values: this machine's address, and the ports of the tasks that run."""
    found = dict(plan.environment)
    ports = allocated[plan.role.name, plan.index]
    by_name: dict[str, str] = {}
    hosts: dict[str, list[str]] = {}
    for (role, index), labels in allocated.items():
        name = converted_role_name(role)
        by_name |= {f"PAI_PORT_LIST_{name}_{index}_{label}": numbers for label, numbers in labels.items()}
        by_name |= {f"PAI_{name}_{index}_{label}_PORT": numbers for label, numbers in labels.items()}
        host = f"{_ADDRESS}:{labels['http'].partition(',')[0]}"
        hosts.setdefault(f"PAI_TASK_ROLE_{name}_HOST_LIST", []).append(host)
    by_name |= {f"PAI_CONTAINER_HOST_{label}_PORT_LIST": numbers for label, numbers in ports.items()}
    by_name["PAI_CONTAINER_SSH_PORT"] = ports["ssh"].partition(",")[0]
    by_name |= dict.fromkeys(("PAI_CURRENT_CONTAINER_PORT", "PAI_CONTAINER_HOST_PORT"), ports["http"].partition(",")[0])
    for name, kind in plan.later.items():
        if kind == "host-address":
            found[name] = _ADDRESS
        elif kind.startswith("port"):
            # The ports of tasks that do not run here only have to be numbers.
            found[name] = by_name.get(name) or ",".join(["1"] * int(kind.partition(":")[2] or 1))
        elif kind == "labels-and-ports":
            found[name] = "".join(f"{label}:{numbers};" for label, numbers in ports.items())
        elif kind == "addresses-and-http-ports":
            found[name] = ",".join(hosts.get(name, [f"{_ADDRESS}:{ports['http'].partition(',')[0]}"]))
        elif kind == "controller":
            found[name] = "0"
    return found


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


@dataclass(slots=True)
class _Run:
    """One task that is to run; `label` begins each line of its output, `log` keeps the end of it."""

    plan: TaskPlan
    home: str
    command: list[str]
    folder: str
    label: str
    log: str = ""
    status: int = 0


def _run_together(runs: Sequence[_Run], environment: dict[str, str]) -> _Run | None:
    """Run tasks, and pass their output on; returns the first that fails, after the others were ended."""
    ended: Queue[_Run] = Queue()
    processes: list[subprocess.Popen[bytes]] = []
    readers: list[Thread] = []
    try:
        for one in runs:
            process = subprocess.Popen(  # noqa: S603 - it runs what the user has agreed to
                one.command,
                cwd=one.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            processes.append(process)
            readers.append(Thread(target=_follow, args=(process, one, ended), daemon=True))
            readers[-1].start()
            Thread(target=_end_group, args=(process,), daemon=True).start()
        return next((found for found in (ended.get() for _ in runs) if found.status), None)
    finally:
        for process in processes:
            _end(process)
        for reader in readers:
            reader.join(_SECONDS_TO_END)


def _follow(process: subprocess.Popen[bytes], run: _Run, ended: Queue[_Run]) -> None:
    """Pass the output of a process on until it ends, whole lines where there are several processes."""
    kept, rest = b"", b""
    prefix = f"[{run.label}] ".encode() if run.label else b""
    while process.stdout is not None and (chunk := os.read(process.stdout.fileno(), 65536)):
        kept = (kept + chunk)[-_KEPT:]
        if prefix:
            *lines, rest = (rest + chunk).split(b"\n")
            chunk = b"".join(prefix + line + b"\n" for line in lines)
        sys.stdout.buffer.write(chunk)
        sys.stdout.flush()
    if rest:
        sys.stdout.buffer.write(prefix + rest + b"\n")
    if process.stdout is not None:
        process.stdout.close()
    status = process.wait()
    # A process that a signal ends has a negative status here, and 128 and the signal's number in a shell.
    run.status, run.log = (128 - status if status < 0 else status), kept.decode("utf-8", "replace")
    ended.put(run)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """When a task ends, end what it has started in the background, as the end of its container does."""
    process.wait()
    if hasattr(os, "killpg"):
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGTERM)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that still runs, with those that it has started."""
    if process.poll() is not None:
        return
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGTERM)
        else:
            process.terminate()
    try:
        process.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


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


_PLUGIN = f"{HOME}/plugins/ssh/"
_IS_ON = f"{_PLUGIN}sshd.sh true"
_CLIENTS = ("ssh", "scp", "sftp")
# Servers are usually in folders that PATH of a user does not have.
_FOLDERS_OF_SERVERS = ("/usr/sbin", "/usr/local/sbin", "/sbin")
_SECONDS_TO_START = 20


def ssh_scripts(plan: TaskPlan) -> list[str]:
    """The scripts of the plugin ssh in a plan."""
    return [path for path, text in plan.files.items() if _PLUGIN in text]


def left_out(plan: TaskPlan, *, is_contained: bool) -> str | None:
    """Why the plugin ssh is left out of a run; empty if it is not, None without the plugin."""
    scripts = ssh_scripts(plan)
    if not scripts:
        return None
    if not any(_IS_ON in plan.files[path] for path in scripts):
        return "keys of 'userssh' get no access to this machine"
    if os.name == "nt" and not is_contained:
        return "on Windows it needs a container"
    absent = [name for name in ("ssh-keygen", *(() if is_contained else ("ssh", "sshd"))) if not _program(name)]
    return f"'{absent[0]}' is not installed on this machine" if absent else ""


def _program(name: str) -> str:
    return program_on_path(name, os.pathsep.join([os.environ.get("PATH", ""), *_FOLDERS_OF_SERVERS]))


def make_keys(folder: Path) -> None:
    """Make the key pair of a run, and that of its servers.

    Raises:
        OSError: if that fails.
    """
    for name in ("job", "server"):
        command = [
            _program("ssh-keygen"),
            "-q",
            "-t",
            "ed25519",
            "-N",
            "",
            "-C",
            "pai-lsp-run",
            "-f",
            str(folder / name),
        ]
        if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode:  # noqa: S603 - our own words
            raise OSError(f"ssh-keygen failed in '{folder}'")


def script_here(lines: list[str], *, is_contained: bool) -> list[str]:
    """The lines of the plugin's script for a run here: without a container, nothing is installed."""
    return [line for line in lines if is_contained or not line.startswith("apt-get update;")]


def write_ssh(plan: TaskPlan, folder: Path, home: str, keys: Path, ports: Mapping[tuple[str, int], str]) -> None:
    """Write what the scripts of the plugin run and read.

    home: the path of `folder` as the task sees it. ports: of the servers, by role and index of the tasks that run.
    """
    is_contained = home == HOME
    user = "root" if is_contained else getpass.getuser()
    names = {f"{converted_role_name(role)}-{index}": port for (role, index), port in ports.items()}
    own = f"{converted_role_name(plan.role.name)}-{plan.index}"
    server = "/usr/sbin/sshd" if is_contained else _program("sshd")
    hosts = "".join(_host(name, home, user, f"  Port {port}\n") for name, port in names.items())
    files = {
        "ssh-secret/ssh-privatekey": keys.joinpath("job").read_text(),
        "ssh-secret/ssh-publickey": keys.joinpath("job.pub").read_text(),
        "ssh/server-key": keys.joinpath("server").read_text(),
        "ssh/config": hosts + _host(_ADDRESS, home, user),
        "ssh/sshd_config": _SERVER.format(home=home, port=names[own], address=_ADDRESS),
        "ssh/session.sh": _SESSION.format(home=home, work="$PAI_WORK_DIR"),
        "plugins/ssh/sshd.sh": _START.format(home=home, server=shlex.quote(server), tries=_SECONDS_TO_START * 10),
        "plugins/ssh/sshbarrier.sh": _BARRIER.format(others=" ".join(name for name in names if name != own)),
    }
    for name in _CLIENTS:
        program = f"/usr/bin/{name}" if is_contained else _program(name)
        if program:
            files[f"bin/{name}"] = f'#!/bin/sh\nexec {shlex.quote(program)} -F {home}/ssh/config "$@"\n'
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
        # A program, or a key, which ssh refuses if others can read it.
        target.chmod(0o600 if "key" in target.name or "config" in target.name else 0o700)


def _host(name: str, home: str, user: str, port: str = "") -> str:
    return (
        f"Host {name}\n  HostName {_ADDRESS}\n{port}  User {user}\n  StrictHostKeyChecking no\n"
        f"  UserKnownHostsFile /dev/null\n  IdentityFile {home}/ssh-secret/ssh-privatekey\n  IdentitiesOnly yes\n"
    )


def path_line(home: str) -> str:
    """The line that makes a task find the clients."""
    return f"export PATH={shlex.quote(f'{home}/bin')}:$PATH"


_SERVER = """\
ListenAddress {address}
Port {port}
HostKey {home}/ssh/server-key
AuthorizedKeysFile {home}/ssh-secret/ssh-publickey
AuthenticationMethods publickey
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
LogLevel ERROR
ForceCommand /bin/bash {home}/ssh/session.sh
Subsystem sftp internal-sftp
"""
# A session has the environment of the task, and begins in its folder, not in the user's home.
_SESSION = """\
source {home}/ssh/environment
cd "{work}"
case "${{SSH_ORIGINAL_COMMAND:-}}" in
  '') exec /bin/bash ;;
  internal-sftp)
    for program in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec; do
      [ -x $program/sftp-server ] && exec $program/sftp-server
    done
    exit 127 ;;
  *) exec /bin/bash -c "$SSH_ORIGINAL_COMMAND" ;;
esac
"""
_START = """\
#!/bin/bash
set -o errexit -o nounset -o pipefail
export -p >{home}/ssh/environment
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
{server} -D -e -f {home}/ssh/sshd_config 2>{home}/ssh/server.log &
for ((tries = 0; tries < {tries}; tries++)); do
  (exec 3<>"/dev/tcp/127.0.0.1/$PAI_CONTAINER_SSH_PORT") 2>/dev/null && exit 0
  kill -0 $! 2>/dev/null || break
  sleep 0.1
done
echo "the ssh server did not start" >&2
cat {home}/ssh/server.log >&2
exit 1
"""
_BARRIER = """\
#!/bin/bash
tries=$((${{1:-300}} * 60))
for name in {others}; do
  until ssh -q -o BatchMode=yes "$name" true; do
    ((tries-- > 0)) || {{ echo "no ssh connection to $name" >&2; exit 10; }}
    sleep 1
  done
done
echo "All ssh connections are established"
"""
