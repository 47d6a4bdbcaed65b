"""Rules about MPIJobs that every judge accepts, and that fail or waste resources when they run."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Rule, Severity
from pai_lsp.mpijob.launch import Command, Container, containers
from pai_lsp.mpijob.manifest import OTHER_OPERATOR, Manifest
from pai_lsp.mpijob.manifest_rule import manifest_rule
from pai_lsp.mpijob.structure import mpijob_table
from pai_lsp.platform.launchers import HOROVOD, HYDRA, OPEN_MPI, LaunchLine, foreign_option, hosts_of
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.platform.launchers import LaunchHost
    from pai_lsp.source.text import Span

_REPLICAS = "spec.mpiReplicaSpecs"
_CONTAINER_NAME = lazy_pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SHELL_VARIABLE = lazy_pattern(r"\$(?:[A-Za-z_]|\{)")
_OPERATORS = frozenset({"&&", "||", ";", "|", ">", ">>", "2>&1", "&"})
_NO_MPI = lazy_pattern(r"python[0-9.]*|torchrun|sleep|accelerate|deepspeed|tail")
_ENDLESS = frozenset({"sleep", "tail", "sshd", "wait", "read"})
_KUBEXEC = "/etc/mpi/kubexec.sh"
_HOST_FILE = "/etc/mpi/hostfile"
# Programs that are known not to be an ssh server.
_NOT_SSHD = lazy_pattern(r"python[0-9.]*|torchrun|sleep|tail|mpirun|mpiexec|horovodrun|echo|true|cat|ls|nvidia-smi")


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The parts of a manifest that its operator runs.

    launcher, worker: paths of the pod specifications; workers: how many; slots: of one worker;
    implementation: OpenMPI, Intel or MPICH; works: whether the launcher runs processes too.
    """

    manifest: Manifest
    launcher: str
    worker: str
    workers: int
    slots: int
    implementation: str
    works: bool
    is_other: bool

    @property
    def capacity(self) -> int:
        """How many processes fit."""
        return self.slots * (self.workers + self.works)

    @property
    def launcher_containers(self) -> tuple[Container, ...]:
        """The launcher's containers."""
        return containers(self.manifest, self.launcher)

    @property
    def worker_containers(self) -> tuple[Container, ...]:
        """A worker's containers."""
        return containers(self.manifest, self.worker)

    @property
    def pods(self) -> tuple[tuple[str, str, tuple[Container, ...]], ...]:
        """Both pods: name, path and containers."""
        return (
            ("launcher", self.launcher, self.launcher_containers),
            ("worker", self.worker, self.worker_containers),
        )

    @property
    def starters(self) -> list[tuple[Command, LaunchLine]]:
        """The launchers in the first container, as they read their words."""
        known = OPEN_MPI if self.implementation == "OpenMPI" else HYDRA
        first = self.launcher_containers[:1]
        return [(command, command.launch(known)) for container in first for command in container.launchers]


@lru_cache(maxsize=4)
def layout(manifest: Manifest) -> Layout | None:
    """The parts of a manifest of v2beta1 or of the other operator; None for another one."""
    if manifest.version == OTHER_OPERATOR:
        workers = manifest.number("spec.numWorkers") or 1
        paths = "spec.launcherTemplate.spec", "spec.workerTemplate.spec"
        return Layout(manifest, *paths, workers, 1, "OpenMPI", works=False, is_other=True)
    if not manifest.is_served:
        return None
    written = manifest.get("spec.slotsPerWorker")
    # Of a wrong value nothing follows; -1 is less than any number of slots.
    slots = 1 if written is None else manifest.number("spec.slotsPerWorker")
    slots = -1 if slots is None else slots
    return Layout(
        manifest,
        f"{_REPLICAS}.Launcher.template.spec",
        f"{_REPLICAS}.Worker.template.spec",
        max(manifest.number(f"{_REPLICAS}.Worker.replicas") or 0, 0),
        slots,
        manifest.text("spec.mpiImplementation") or "OpenMPI",
        works=manifest.flag("spec.runLauncherAsWorker"),
        is_other=False,
    )


def _at(manifest: Manifest, path: str, message: str, severity: Severity | None = None) -> Finding:
    return Finding(manifest.place(path), message, field=path, severity=severity)


def _has_worker(found: Layout) -> bool:
    return found.is_other or found.manifest.get(f"{_REPLICAS}.Worker") is not None


def _oversubscribes(found: Layout, line: LaunchLine) -> bool:
    variables = (name for one in found.launcher_containers[:1] for _, name, _ in one.environment())
    return line.oversubscribes or "OMPI_MCA_rmaps_base_oversubscribe" in variables


@manifest_rule(Severity.ERROR)
def mpijob_np_over_slots(manifest: Manifest) -> Iterator[Finding]:
    """More processes than slots.

    Open MPI and horovodrun stop: "There are not enough slots available". MPICH and Intel MPI put several processes on
    one slot. The slots are slotsPerWorker for each worker, and for the launcher with runLauncherAsWorker.
    Source: Open MPI, mpirun(1), "Specifying Number of Processes"; Horovod, runner/common/util/hosts.py.
    """
    for found, (number, field, span), capacity, line in _counted(manifest):
        if number > capacity:
            severity = Severity.INFORMATION if line.implementation == HYDRA else Severity.ERROR
            consequence = "several share a slot" if severity is Severity.INFORMATION else "the launcher stops"
            message = f"{number} processes for {capacity} slots ({found.slots} for each worker); {consequence}"
            yield Finding(span, message, field=field, severity=severity)


@manifest_rule(Severity.INFORMATION)
def mpijob_np_under_slots(manifest: Manifest) -> Iterator[Finding]:
    """Fewer processes than slots; the others stay empty.

    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`newConfigMap`).
    """
    for _, (number, field, span), capacity, _ in _counted(manifest):
        if number < capacity:
            yield Finding(span, f"{number} processes for {capacity} slots; {capacity - number} stay empty", field=field)


def _counted(manifest: Manifest) -> Iterator[tuple[Layout, tuple[int, str, Span], int, LaunchLine]]:
    found = layout(manifest)
    if found is None or found.slots <= 0 or (not found.works and found.workers == 0):
        return
    for command, line in found.starters:
        number, counts = line.processes, line.counts
        if number is None or counts[-1].value_span is None or _oversubscribes(found, line):
            continue
        capacity = found.capacity
        if line.host_lists:
            listed = hosts_of(line.host_lists[-1], "")
            if listed is None:
                continue
            if line.implementation == HOROVOD and any(host.slots is None for host in listed):
                continue  # `mpijob_host_format` reports it
            capacity = sum(1 if host.slots is None else host.slots for host in listed)
        place = counts[-1].value_span
        yield found, (number, command.field_of(place), place), capacity, line


@manifest_rule(Severity.ERROR)
def mpijob_slots_zero(manifest: Manifest) -> Iterator[Finding]:
    """No slot on a worker: Open MPI starts nothing.

    Source: Open MPI 4.1, "All nodes which are allocated for this job are already filled".
    """
    if layout(manifest) is not None and manifest.number("spec.slotsPerWorker") == 0:
        yield _at(manifest, "spec.slotsPerWorker", "0 slots: Open MPI starts no process on any worker")


@manifest_rule(Severity.WARNING)
def mpijob_horovodrun_no_hosts(manifest: Manifest) -> Iterator[Finding]:
    """`horovodrun` without hosts runs all processes on the launcher.

    It never reads the host file of the operator. Add `--hostfile /etc/mpi/hostfile`.
    Source: Horovod 0.28.1, runner/launch.py (`_run`, default `localhost`).
    """
    found = layout(manifest)
    if found is None or not _has_worker(found):
        return
    for command, line in found.starters:
        if line.implementation == HOROVOD and not line.host_lists and not line.host_files:
            place = found.launcher_containers[0].place
            if place is not None:
                message = f"horovodrun without hosts runs only on the launcher; add --hostfile {_HOST_FILE}"
                yield Finding(command.name.span, message, field=place.field)


@manifest_rule(Severity.ERROR)
def mpijob_host_format(manifest: Manifest) -> Iterator[Finding]:
    """A list of hosts that horovodrun refuses.

    Each host needs its slots, as in `worker-0:2`; a host file needs `slots=`, and Intel MPI and MPICH write another.
    Source: Horovod 0.28.1, runner/common/util/hosts.py.
    """
    found = layout(manifest)
    for command, line in found.starters if found else ():
        if line.implementation != HOROVOD or found is None:
            continue
        for span, hosts in _listed(line):
            bare = [host.name for host in hosts if host.slots is None]
            if bare:
                message = f"horovodrun needs the slots of each host, as in '{bare[0]}:{max(found.slots, 1)}'"
                yield Finding(span, message, field=command.field_of(span))
        for file in line.host_files[-1:]:
            if file.value == _HOST_FILE and file.value_span and found.implementation != "OpenMPI":
                message = f"the host file for {found.implementation} has 'host:slots'; horovodrun needs 'host slots=n'"
                yield Finding(file.value_span, message, field=command.field_of(file.value_span))


def _listed(line: LaunchLine) -> Iterator[tuple[Span, tuple[LaunchHost, ...]]]:
    """The place and the hosts of the list that counts, if no variable is in it."""
    for option in line.host_lists[-1:]:
        hosts = hosts_of(option, "")
        if hosts and option.value_span and "$" not in (option.value or ""):
            yield option.value_span, hosts


@manifest_rule(Severity.WARNING)
def mpijob_unknown_host(manifest: Manifest) -> Iterator[Finding]:
    """A host that is not a pod of this job.

    The names are `JOB-launcher` and `JOB-worker-0` to the number of workers less one, short or with the domain.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`workerName`).
    """
    found, name = layout(manifest), manifest.text("metadata.name")
    if found is None or name is None:
        return
    for command, line in found.starters:
        for span, hosts in _listed(line):
            for host in hosts:
                if not _is_pod(host.name.partition(".")[0], name, found.workers):
                    message = f"'{host.name}' is not a pod of this job; the workers are {name}-worker-0 and following"
                    yield Finding(span, message, field=command.field_of(span))


def _is_pod(host: str, job: str, workers: int) -> bool:
    """Whether a short host name is a pod of the job."""
    index = host.removeprefix(f"{job}-worker-")
    is_worker = index != host and index.isdecimal() and int(index) < workers
    return is_worker or host in {f"{job}-launcher", "localhost"}


@manifest_rule(Severity.ERROR)
def mpijob_option_unknown(manifest: Manifest) -> Iterator[Finding]:
    """An option that this MPI implementation does not have.

    Open MPI, Intel MPI and MPICH name their options differently, and stop at an unknown one.
    Source: schemas/programs.json, with the source of each program's options.
    """
    found = layout(manifest)
    for command, line in found.starters if found else ():
        foreign = foreign_option(line)
        if found is not None and foreign is not None:
            name, span = foreign
            message = f"{found.implementation} does not know the option '{name}' and stops"
            yield Finding(span, message, field=command.field_of(span))


@manifest_rule(Severity.WARNING)
def mpijob_launcher_without_mpi(manifest: Manifest) -> Iterator[Finding]:
    """The launcher starts no MPI program, so the program runs once and the workers do nothing.

    Source: kubeflow/mpi-operator v0.8.2, README.md ("Creating an MPI Job").
    """
    found = layout(manifest)
    for container in found.launcher_containers[:1] if found else ():
        everything = [one for other in found.launcher_containers for one in other.launchers] if found else []
        command = container.commands[0] if container.commands else None
        if command is None or command.is_script or everything or container.place is None:
            continue
        if _NO_MPI.fullmatch(command.program):
            message = f"the launcher runs '{command.program}' once and no worker is used; start it with mpirun"
            yield Finding(command.name.span, message, field=container.place.field)


@manifest_rule(Severity.ERROR)
def mpijob_command_one_word(manifest: Manifest) -> Iterator[Finding]:
    """A whole command line in one word.

    Kubernetes starts the first word as a program; without a shell, blanks do not separate words.
    Source: Kubernetes, "Define a Command and Arguments for a Container".
    """
    for container in _all_containers(manifest):
        if container.script is not None or not container.words:
            continue
        first = container.words[0]
        if first.text and container.has_command and re.search(r"\s", first.text.strip()):
            message = "Kubernetes looks for one program of this name; write each word as an item of the list"
            yield Finding(first.span, message, field=first.field)
            continue
        for command in container.launchers[:1]:
            for word in command.arguments[:1]:
                if word.text and re.match(r"-\S+\s", word.text):
                    message = f"'{command.program}' gets all of this as one option; write each word as an item"
                    yield Finding(word.span, message, field=word.field)


def _all_containers(manifest: Manifest) -> list[Container]:
    found = layout(manifest)
    return [container for _, _, some in found.pods for container in some] if found else []


@manifest_rule(Severity.WARNING)
def mpijob_no_shell(manifest: Manifest) -> Iterator[Finding]:
    """Shell syntax in a command that no shell reads.

    Kubernetes replaces only `$(VAR)`; `$VAR`, `&&`, `|` and `>` reach the program as they are written.
    Source: Kubernetes, "Define a Command and Arguments for a Container".
    """
    for container in _all_containers(manifest):
        if container.script is not None or not container.has_command:
            continue
        if any((word.text or "").rpartition("/")[2] in {"sh", "bash", "eval"} for word in container.words):
            continue
        for word in container.words:
            text = word.text or ""
            if text in _OPERATORS or _SHELL_VARIABLE.search(text):
                message = f"no shell reads '{text[:60]}', so the program gets it as it is written"
                yield Finding(word.span, message, field=word.field)


def _user(found: Layout, container: Container) -> int | None:
    own = container.value.get("securityContext", "runAsUser")
    pod = found.manifest.get(f"{found.launcher}.securityContext.runAsUser")
    value = own or pod
    return value.content if value is not None and value.kind == "integer" else None


@manifest_rule(Severity.WARNING)
def mpijob_run_as_root(manifest: Manifest) -> Iterator[Finding]:
    """Open MPI refuses to run as root.

    Most images run as root. Add `--allow-run-as-root`, or set OMPI_ALLOW_RUN_AS_ROOT and
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM, or runAsUser.
    Source: Open MPI 4.1, mpirun(1), "--allow-run-as-root".
    """
    found = layout(manifest)
    for container in found.launcher_containers[:1] if found else ():
        variables = {name for _, name, _ in container.environment()}
        is_allowed = {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"} <= variables
        if found is None or is_allowed or _user(found, container):
            continue
        for command, line in found.starters:
            if any(re.search(r"\s", name) for name, _ in line.arguments.unknown):
                continue  # `mpijob_command_one_word` reports it
            script = (container.script.text or "") if container.script else ""
            is_open_mpi = line.implementation == OPEN_MPI and not line.allows_root
            if is_open_mpi and "OMPI_ALLOW_RUN_AS_ROOT" not in script:
                message = f"Open MPI refuses to run as root; add --allow-run-as-root to {command.program}"
                yield Finding(command.name.span, message, field=command.name.field)


@manifest_rule(Severity.WARNING)
def mpijob_launcher_gpu(manifest: Manifest) -> Iterator[Finding]:
    """GPUs for a launcher that runs no process.

    They are reserved, and the operator hides them from it. Set runLauncherAsWorker, or remove the limit.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`nvidiaDisableEnvVars`).
    """
    found = layout(manifest)
    if found is None or found.works or found.is_other:
        return
    for container in found.launcher_containers[:1]:
        gpus = container.gpus()
        if gpus and gpus[0] > 0:
            group = "limits" if container.value.get("resources", "limits", "nvidia.com/gpu") else "requests"
            message = "these GPUs stay unused: the launcher runs no process without runLauncherAsWorker"
            yield Finding(gpus[1], message, field=f"{container.path}.resources.{group}.nvidia.com/gpu")


@manifest_rule(Severity.WARNING)
def mpijob_not_first_container(manifest: Manifest) -> Iterator[Finding]:
    """The MPI program is not in the first container.

    Only the first container gets the ssh key, the host file and the variables of the operator.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`newLauncherPodTemplate`).
    """
    found = layout(manifest)
    for name, _, some in found.pods if found and not found.is_other else ():
        for container in some[1:]:
            is_ssh = name == "worker" and any(command.program == "sshd" for command in container.commands)
            if is_ssh or (name == "launcher" and container.launchers):
                message = "only the first container gets the ssh key and the host file; move this one to the front"
                yield Finding(container.value.span, message, field=container.path)


@manifest_rule(Severity.ERROR)
def mpijob_kubexec(manifest: Manifest) -> Iterator[Finding]:
    """`/etc/mpi/kubexec.sh` does not exist since v2.

    The launcher connects by ssh. Remove the setting.
    Source: kubeflow/mpi-operator v0.3.0, CHANGELOG ("use ssh").
    """
    message = f"{_KUBEXEC} does not exist since v2beta1; the launcher connects by ssh"
    for container in _all_containers(manifest) if manifest.is_served else ():
        for word in container.words:
            if _KUBEXEC in (word.text or ""):
                yield Finding(word.span, message, field=word.field)
        for number, _, entry in container.environment():
            value = entry.get("value")
            if value is not None and _KUBEXEC in str(value.content):
                yield Finding(value.span, message, field=f"{container.path}.env[{number}].value")


@manifest_rule(Severity.WARNING)
def mpijob_env_overridden(manifest: Manifest) -> Iterator[Finding]:
    """A variable that the operator sets itself; its value wins.

    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`newLauncherPodTemplate`).
    """
    found = layout(manifest)
    if found is None or found.is_other:
        return
    table = mpijob_table()["environment"]
    names = {
        "launcher": {*table["launcher"], *table.get(found.implementation, ())},
        "worker": {*table["worker"]},
    }
    if not found.works:
        names["launcher"] |= {*table["idle_launcher"]}
    for pod, _, some in found.pods:
        for container in some[:1]:
            for number, name, entry in container.environment():
                if name in names[pod]:
                    path = f"{container.path}.env[{number}]"
                    place = entry.get("name")
                    span = place.span if place else entry.span
                    yield Finding(span, f"the operator sets '{name}' after this, so its value wins", field=path)


@manifest_rule(Severity.ERROR)
def mpijob_worker_without_sshd(manifest: Manifest) -> Iterator[Finding]:
    """A worker that runs no ssh server, so the launcher cannot connect.

    The operator adds `/usr/sbin/sshd -De` only if `command` and `args` are both absent. Remove them.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`newWorker`).
    """
    found = layout(manifest)
    for container in found.worker_containers[:1] if found and not found.is_other else ():
        if not container.words or any(
            "sshd" in (word.text or "") or "ssh" in (word.text or "") for word in container.words
        ):
            continue
        place = container.place
        programs = [command.program for command in container.commands]
        known = bool(programs) and all(_NOT_SSHD.fullmatch(program) for program in programs)
        if place is not None and known:
            key = "command" if container.has_command else "args"
            value = container.value.get(key)
            message = "no ssh server runs here and the launcher cannot connect; remove 'command' and 'args'"
            yield Finding(value.span if value else place.span, message, field=f"{container.path}.{key}")


@manifest_rule(Severity.ERROR)
def mpijob_sshd_background(manifest: Manifest) -> Iterator[Finding]:
    """Sshd goes to the background, and the container ends.

    Use `/usr/sbin/sshd -De`, or a long `sleep` after it.
    Source: OpenSSH, sshd(8), "-D".
    """
    found = layout(manifest)
    for container in found.worker_containers[:1] if found and not found.is_other else ():
        if not container.commands or container.place is None:
            continue
        last = container.commands[-1]
        texts = [word.text or "" for word in last.arguments]
        is_sshd = last.program == "sshd" and not any(re.match(r"-[a-zA-Z]*D", text) for text in texts)
        is_service = last.program == "service" and texts[:1] in (["ssh"], ["sshd"])
        if is_sshd or is_service:
            message = "sshd goes to the background, so this container ends at once; use '/usr/sbin/sshd -De'"
            yield Finding(last.name.span, message, field=container.place.field)


@manifest_rule(Severity.WARNING)
def mpijob_no_worker(manifest: Manifest) -> Iterator[Finding]:
    """No worker, and the launcher runs no process.

    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`newConfigMap`): an empty host file.
    """
    found = layout(manifest)
    replicas = manifest.get(_REPLICAS)
    if found is None or found.is_other or found.works or replicas is None:
        return
    if replicas.kind == "object" and replicas.content and replicas.get("Worker") is None:
        yield _at(manifest, _REPLICAS, "no 'Worker' and no runLauncherAsWorker: the host file is empty")


@manifest_rule(Severity.ERROR)
def mpijob_unknown_replica(manifest: Manifest) -> Iterator[Finding]:
    """A replica type that is stored and never started.

    Only `Launcher` and `Worker` exist, with these capitals.
    Source: kubeflow/mpi-operator v0.8.2, pkg/apis/kubeflow/v2beta1/types.go (`MPIReplicaType`).
    """
    replicas = manifest.get(_REPLICAS)
    if manifest.is_served and replicas is not None and replicas.kind == "object":
        for name in replicas.content:
            if name not in {"Launcher", "Worker"}:
                message = f"'{name}' is stored and never started; the keys are 'Launcher' and 'Worker'"
                yield _at(manifest, f"{_REPLICAS}.{name}", message)


def _worker_gpus(manifest: Manifest) -> tuple[Layout, int, Span, str] | None:
    found = layout(manifest)
    if found is None or found.is_other:
        return None
    for container in found.worker_containers[:1]:
        gpus = container.gpus()
        if gpus and gpus[0] > 0:
            group = "limits" if container.value.get("resources", "limits", "nvidia.com/gpu") else "requests"
            return found, gpus[0], gpus[1], f"{container.path}.resources.{group}.nvidia.com/gpu"
    return None


@manifest_rule(Severity.WARNING)
def mpijob_slots_over_gpus(manifest: Manifest) -> Iterator[Finding]:
    """More slots than GPUs on a worker, so processes share GPUs.

    Source: Horovod, docs/running.rst ("the number of GPUs on each server").
    """
    if (found := _worker_gpus(manifest)) and found[0].slots > found[1]:
        message = f"{found[0].slots} slots for {found[1]} GPUs of a worker; processes share a GPU"
        yield _at(manifest, "spec.slotsPerWorker", message)


@manifest_rule(Severity.INFORMATION)
def mpijob_slots_under_gpus(manifest: Manifest) -> Iterator[Finding]:
    """Fewer slots than GPUs on a worker.

    Source: Horovod, docs/running.rst ("the number of GPUs on each server").
    """
    if (found := _worker_gpus(manifest)) and 0 < found[0].slots < found[1]:
        message = f"{found[0].slots} slots for {found[1]} GPUs of a worker; one process for each slot"
        if manifest.number("spec.slotsPerWorker") is not None:
            yield _at(manifest, "spec.slotsPerWorker", message)
        else:
            yield Finding(found[2], message, field=found[3])


@manifest_rule(Severity.ERROR)
def mpijob_ssh_path(manifest: Manifest) -> Iterator[Finding]:
    """A path for the ssh key that does not fit.

    Kubernetes does not expand `~`. ssh reads the key from the home directory of the user, and another user than root
    cannot read /root/.ssh.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`setupSSHOnPod`).
    """
    found = layout(manifest)
    if found is None or found.is_other:
        return
    path = manifest.text("spec.sshAuthMountPath") or "/root/.ssh"
    field = "spec.sshAuthMountPath"
    if not path.startswith("/"):
        yield _at(manifest, field, f"'{path}' is not an absolute path; Kubernetes does not expand '~'")
        return
    users = [user for one in found.launcher_containers[:1] if (user := _user(found, one)) is not None]
    if users and users[0] != 0 and path == "/root/.ssh":
        message = f"user {users[0]} cannot read the key in /root/.ssh; set sshAuthMountPath to its home directory"
        yield _at(manifest, field, message, Severity.WARNING)
    elif users and users[0] == 0 and path != "/root/.ssh":
        yield _at(manifest, field, f"root looks for the key in /root/.ssh, not in {path}", Severity.WARNING)


@manifest_rule(Severity.ERROR)
def mpijob_mount_taken(manifest: Manifest) -> Iterator[Finding]:
    """A volume at a path that the operator uses; Kubernetes refuses the pod.

    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`setupSSHOnPod`, `configMountPath`).
    """
    found = layout(manifest)
    key = manifest.text("spec.sshAuthMountPath") or "/root/.ssh"
    for name, _, some in found.pods if found and not found.is_other else ():
        taken = {key, "/etc/mpi"} if name == "launcher" else {key}
        for container in some[:1]:
            mounts = container.value.get("volumeMounts")
            for number, mount in enumerate(mounts.content if mounts and mounts.kind == "array" else ()):
                path = mount.get("mountPath")
                if path is not None and str(path.content).rstrip("/") in taken:
                    field = f"{container.path}.volumeMounts[{number}].mountPath"
                    yield Finding(path.span, f"the operator mounts at '{path.content}' itself", field=field)


@manifest_rule(Severity.ERROR)
def mpijob_volume_taken(manifest: Manifest) -> Iterator[Finding]:
    """A volume with a name that the operator uses; Kubernetes refuses the pod.

    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`sshAuthVolume`, `configVolumeName`).
    """
    found = layout(manifest)
    for name, path, _ in found.pods if found and not found.is_other else ():
        taken = {"ssh-auth", "mpi-job-config"} if name == "launcher" else {"ssh-auth"}
        volumes = manifest.get(f"{path}.volumes")
        for number, volume in enumerate(volumes.content if volumes and volumes.kind == "array" else ()):
            one = volume.get("name")
            if one is not None and one.content in taken:
                field = f"{path}.volumes[{number}].name"
                yield Finding(one.span, f"the operator adds a volume '{one.content}' itself", field=field)


@manifest_rule(Severity.WARNING)
def mpijob_host_network(manifest: Manifest) -> Iterator[Finding]:
    """A worker on the host network whose sshd uses the port of the node.

    Port 22 is taken by the ssh server of the node. Start `sshd -p` with another port, and tell Open MPI about it.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`newWorker`).
    """
    found = layout(manifest)
    if found is None or found.is_other or not manifest.flag(f"{found.worker}.hostNetwork"):
        return
    for container in found.worker_containers[:1]:
        sshd = [command for command in container.commands if command.program == "sshd"]
        texts = [word.text or "" for command in sshd for word in command.arguments]
        if (sshd or not container.words) and not any(re.match(r"-[a-zA-Z]*[pf]", text) for text in texts):
            yield _at(manifest, f"{found.worker}.hostNetwork", "sshd uses port 22, which the node's ssh server has")


@manifest_rule(Severity.WARNING)
def mpijob_unknown_policy(manifest: Manifest) -> Iterator[Finding]:
    """A launcherCreationPolicy that is not known acts as WaitForWorkersReady.

    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go, line 678.
    """
    text = manifest.text("spec.launcherCreationPolicy")
    if manifest.is_served and text and text not in {"AtStartup", "WaitForWorkersReady"}:
        message = f"'{text}' is not 'AtStartup', so it acts as 'WaitForWorkersReady'"
        yield _at(manifest, "spec.launcherCreationPolicy", message)


@manifest_rule(Severity.INFORMATION)
def mpijob_wait_without_probe(manifest: Manifest) -> Iterator[Finding]:
    """The launcher waits for workers that are ready before their ssh server runs.

    Without readinessProbe a pod is ready when it starts.
    Source: Kubernetes, "Configure Liveness, Readiness and Startup Probes".
    """
    found = layout(manifest)
    policy = manifest.text("spec.launcherCreationPolicy")
    if found is None or not (found.is_other or policy not in {None, "", "AtStartup"}):
        return
    for container in found.worker_containers[:1]:
        first = container.commands[0].program if container.commands else "sshd"
        if container.value.get("readinessProbe") is None and first not in {"sshd", "sleep"}:
            field = "spec.workerTemplate" if found.is_other else "spec.launcherCreationPolicy"
            severity = Severity.WARNING if found.is_other else Severity.INFORMATION
            message = "workers count as ready when they start; add a readinessProbe that waits for their preparation"
            yield _at(manifest, field, message, severity)


@manifest_rule(Severity.WARNING)
def mpijob_restart_policy_ignored(manifest: Manifest) -> Iterator[Finding]:
    """The restart policy of the pod template is overwritten.

    Write it beside `template`, in the replica.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`setRestartPolicy`).
    """
    found = layout(manifest)
    if found is None:
        return
    for name, path, _ in found.pods:
        text = manifest.text(f"{path}.restartPolicy")
        if text is None or (found.is_other and (name == "launcher" or text == "Always")):
            continue
        better = "the operator writes Always here" if found.is_other else "write it beside 'template'"
        yield _at(manifest, f"{path}.restartPolicy", f"this restartPolicy is overwritten; {better}")


@manifest_rule(Severity.INFORMATION)
def mpijob_workers_stay(manifest: Manifest) -> Iterator[Finding]:
    """The workers keep their GPUs after the job ends.

    With cleanPodPolicy None, the default, they run for ever. `Running` deletes them.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`cleanUpWorkerPods`).
    """
    if _worker_gpus(manifest) is None or manifest.text("spec.runPolicy.cleanPodPolicy") not in {None, "None"}:
        return
    path = "spec.runPolicy.cleanPodPolicy"
    while manifest.get(path) is None and "." in path:
        path = path.rpartition(".")[0]
    yield _at(manifest, path, "the workers keep their GPUs after the job ends; write cleanPodPolicy: Running")


@manifest_rule(Severity.WARNING)
def mpijob_min_available(manifest: Manifest) -> Iterator[Finding]:
    """More pods are needed at once than the job has, so it never starts.

    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/podgroup.go, line 396.
    """
    found = layout(manifest)
    path = "spec.runPolicy.schedulingPolicy.minAvailable"
    number = manifest.number(path)
    if found and not found.is_other and number is not None and number > found.workers + 1:
        yield _at(manifest, path, f"the job has {found.workers + 1} pods, fewer than {number}, and never starts")


@manifest_rule(Severity.ERROR)
def mpijob_image_missing(manifest: Manifest) -> Iterator[Finding]:
    """A container without an image: it is stored, and no pod can be made.

    Source: Kubernetes, pkg/apis/core/validation/validation.go (`validateContainers`).
    """
    for container in _all_containers(manifest):
        image = container.value.get("image")
        if image is None or image.content == "":
            yield Finding(
                container.value.span, "this container has no 'image'; no pod can be made", field=container.path
            )


@manifest_rule(Severity.ERROR)
def mpijob_container_name(manifest: Manifest) -> Iterator[Finding]:
    """A name of a container that Kubernetes refuses when the pod is made.

    Lower-case letters, digits and `-`, at most 63 characters.
    Source: Kubernetes, pkg/apis/core/validation/validation.go (`ValidateDNS1123Label`).
    """
    for container in _all_containers(manifest):
        name = container.value.get("name")
        text = name.content if name is not None and name.kind == "string" else ""
        if name is not None and text and (len(text) > 63 or not _CONTAINER_NAME.fullmatch(text)):
            message = f"'{text[:60]}' is not a name for a container: lower-case letters, digits and '-'"
            yield Finding(name.span, message, field=f"{container.path}.name")


@manifest_rule(Severity.WARNING)
def mpijob_worker_ends(manifest: Manifest) -> Iterator[Finding]:
    """A worker of the operator batch.test.bdap.com whose script ends; it is started again and again.

    Source: FFFFFaraway/MPI-Operator, controllers/mpijob_controller.go.
    """
    found = layout(manifest)
    for container in found.worker_containers[:1] if found and found.is_other else ():
        last = container.commands[-1] if container.commands else None
        place = container.place
        if last is not None and place is not None and last.program not in _ENDLESS and container.script is not None:
            key = "args" if container.value.get("args") else "command"
            value = container.value.get(key)
            if value is not None:
                message = "this script ends, so the worker is started again and again; end it with 'sleep infinity'"
                yield Finding(value.span, message, field=f"{container.path}.{key}")


SEMANTIC_RULES: tuple[Rule, ...] = (
    mpijob_np_over_slots,
    mpijob_np_under_slots,
    mpijob_slots_zero,
    mpijob_horovodrun_no_hosts,
    mpijob_host_format,
    mpijob_unknown_host,
    mpijob_option_unknown,
    mpijob_launcher_without_mpi,
    mpijob_command_one_word,
    mpijob_no_shell,
    mpijob_run_as_root,
    mpijob_launcher_gpu,
    mpijob_not_first_container,
    mpijob_kubexec,
    mpijob_env_overridden,
    mpijob_worker_without_sshd,
    mpijob_sshd_background,
    mpijob_no_worker,
    mpijob_unknown_replica,
    mpijob_slots_over_gpus,
    mpijob_slots_under_gpus,
    mpijob_ssh_path,
    mpijob_mount_taken,
    mpijob_volume_taken,
    mpijob_host_network,
    mpijob_unknown_policy,
    mpijob_wait_without_probe,
    mpijob_restart_policy_ignored,
    mpijob_workers_stay,
    mpijob_min_available,
    mpijob_image_missing,
    mpijob_container_name,
    mpijob_worker_ends,
)
