"""Rules about what the containers of an MPIJob start: launchers, their hosts, options and processes; commands."""

from __future__ import annotations

import re

from pai_lsp.embedded.command_lines import PYTHON
from pai_lsp.findings.diagnostic import Finding, Severity, Stage, rule
from pai_lsp.mpijob.launch import (
    SHELLS,
    Layout,
    all_containers,
    finding_at,
    has_worker,
    layout,
    served_layout,
    user_of_launcher,
)
from pai_lsp.mpijob.manifest import HOST_FILE
from pai_lsp.platform.programs import (
    HOROVOD,
    HYDRA,
    OPEN_MPI,
    OPEN_MPI_5,
    LaunchLine,
    foreign_option,
    hosts_of,
    launchers,
    looks_like,
    option_of_no_launcher,
)
from pai_lsp.source.foreign import whole_number
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.mpijob.launch import Container
    from pai_lsp.mpijob.manifest import Manifest
    from pai_lsp.platform.programs import LaunchHost
    from pai_lsp.source.text import Span

_SHELL_VARIABLE = lazy_pattern(r"\$(?:[A-Za-z_]|\{)")
_SHELL_LINE = lazy_pattern(r"\s(?:&&|\|\|?|>>?|2>)\s|\S;$")
_OPERATORS = frozenset({"&&", "||", ";", "|", ">", ">>", "2>&1", "&"})
_NO_MPI = frozenset({"torchrun", "sleep", "tail"})
_ADDRESS = lazy_pattern(r"[0-9]+(?:\.[0-9]+){3}")
# Words that are code for the program that they follow.
_CODE_OPTIONS = frozenset({"-c", "-e", "--eval"})
_KUBEXEC = "/etc/mpi/kubexec.sh"


@rule(Severity.ERROR)
def mpijob_np_over_slots(manifest: Manifest) -> Iterator[Finding]:
    """There are more processes than slots.

    Open MPI and horovodrun stop: "There are not enough slots available". MPICH and Intel MPI put several processes on
    one slot. The slots are slotsPerWorker for each worker, and for the launcher with runLauncherAsWorker.
    Source: Open MPI, mpirun(1), "Specifying Number of Processes"; Horovod, runner/common/util/hosts.py.

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, -np, "8", ./a.out]}]}}}
            #                                                                 ^^^ error
            Worker: {replicas: 2}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, -np, "2", ./a.out]}]}}}
            Worker: {replicas: 2}
    """
    for found, (number, field, span), capacity, line in _counted(manifest):
        if number > capacity:
            severity = Severity.INFORMATION if line.implementation == HYDRA else Severity.ERROR
            consequence = "processes share slots" if severity is Severity.INFORMATION else "the launcher stops"
            message = f"{number} processes for {capacity} slots ({found.slots} for each worker); {consequence}"
            yield Finding(span, message, field=field, severity=severity)


@rule(Severity.INFORMATION)
def mpijob_np_under_slots(manifest: Manifest) -> Iterator[Finding]:
    """There are fewer processes than slots; the others stay empty.

    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`newConfigMap`).

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, -np, "1", ./a.out]}]}}}
            #                                                                 ^^^ information
            Worker: {replicas: 2}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, -np, "2", ./a.out]}]}}}
            Worker: {replicas: 2}
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
        if not number or counts[-1].value_span is None or _oversubscribes(found, line):
            continue
        capacity = found.capacity
        if line.host_lists:
            listed = hosts_of(line.host_lists[-1])
            if listed is None:
                continue
            if line.implementation == HOROVOD and any(host.slots is None for host in listed):
                continue  # `mpijob_host_format` reports it
            capacity = sum(1 if host.slots is None else host.slots for host in listed)
        place = counts[-1].value_span
        yield found, (number, command.field_of(place), place), capacity, line


def _oversubscribes(found: Layout, line: LaunchLine) -> bool:
    name = "OMPI_MCA_rmaps_base_oversubscribe"
    for container in found.launcher_containers[:1]:
        if container.lines.mentions(name):
            return True
        for _, variable, entry in container.environment():
            value = entry.get("value")
            if variable == name and (value is None or value.text not in {"0", "false", "no"}):
                return True
    return line.oversubscribes


@rule(Severity.ERROR)
def mpijob_slots_zero(manifest: Manifest) -> Iterator[Finding]:
    """No worker has a slot, so Open MPI starts nothing.

    Source: Open MPI 4.1, "All nodes which are allocated for this job are already filled".

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          slotsPerWorker: 0
          #               ^ error

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          slotsPerWorker: 1
    """
    if layout(manifest) is not None and manifest.number("spec.slotsPerWorker") == 0:
        yield finding_at(manifest, "spec.slotsPerWorker", "0 slots: Open MPI starts no process on any worker")


@rule(Severity.WARNING)
def mpijob_horovodrun_no_hosts(manifest: Manifest) -> Iterator[Finding]:
    """`horovodrun` without hosts runs all processes on the launcher.

    It never reads the host file of the operator. Add `--hostfile /etc/mpi/hostfile`.
    Source: Horovod 0.28.1, runner/launch.py (`_run`, default `localhost`).

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [horovodrun, -np, "2", ./a.py]}]}}}
            #                                                    ^^^^^^^^^^ warning
            Worker: {replicas: 2}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher:
              template:
                spec:
                  containers:
                    - command: [horovodrun, -np, "2", --hostfile, /etc/mpi/hostfile, ./a.py]
            Worker: {replicas: 2}
    """
    found = layout(manifest)
    if found is None or not has_worker(found):
        return
    for command, line in found.starters:
        if line.implementation == HOROVOD and not line.host_lists and not line.host_files:
            place = found.launcher_containers[0].place
            if place is not None:
                message = f"horovodrun without hosts runs only on the launcher; add --hostfile {HOST_FILE}"
                container = found.launcher_containers[0]
                is_open_mpi = found.implementation == "OpenMPI"
                fixes = container.insert_fix(command, manifest.syntax.text, "--hostfile", HOST_FILE)
                yield Finding(command.name.span, message, fixes if is_open_mpi else (), field=place.field)


@rule(Severity.ERROR)
def mpijob_host_format(manifest: Manifest) -> Iterator[Finding]:
    """`horovodrun` refuses a list of hosts.

    Each host needs its slots, as in `worker-0:2`; a host file needs `slots=`, and Intel MPI and MPICH write another.
    Source: Horovod 0.28.1, runner/common/util/hosts.py.

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [horovodrun, -np, "1", -H, a-worker-0, ./a.py]}]}}}
            #                                                                              ^^^^^^^^^^ error
            Worker: {replicas: 2}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [horovodrun, -np, "1", -H, "a-worker-0:1", ./a.py]}]}}}
            Worker: {replicas: 2}
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
            if file.value == HOST_FILE and file.value_span and found.implementation != "OpenMPI":
                message = f"the host file for {found.implementation} has 'host:slots'; horovodrun needs 'host slots=n'"
                yield Finding(file.value_span, message, field=command.field_of(file.value_span))


def _listed(line: LaunchLine) -> Iterator[tuple[Span, tuple[LaunchHost, ...]]]:
    """The place and the hosts of the list that counts, if no variable is in it."""
    for option in line.host_lists[-1:]:
        hosts = hosts_of(option)
        if hosts and option.value_span and "$" not in (option.value or ""):
            yield option.value_span, hosts


@rule(Severity.WARNING)
def mpijob_unknown_host(manifest: Manifest) -> Iterator[Finding]:
    """A host is not a pod of this job.

    The names are `JOB-launcher` and `JOB-worker-0` to the number of workers less one, short or with the domain.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`workerName`).

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        metadata: {name: train}
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, -H, worker-0, ./a.out]}]}}}
            #                                                                ^^^^^^^^ warning
            Worker: {replicas: 2}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        metadata: {name: train}
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, -H, train-worker-0, ./a.out]}]}}}
            Worker: {replicas: 2}
    """
    found, name = layout(manifest), manifest.text("metadata.name")
    if found is None or name is None:
        return
    for command, line in found.starters:
        for span, hosts in _listed(line):
            for host in hosts:
                if not _ADDRESS.fullmatch(host.name) and not _is_pod(host.name.partition(".")[0], name, found.workers):
                    message = f"'{host.name}' is not a pod of this job; the workers are {name}-worker-0 and following"
                    yield Finding(span, message, field=command.field_of(span))


def _is_pod(host: str, job: str, workers: int) -> bool:
    """Whether a short host name is a pod of the job."""
    index = host.removeprefix(f"{job}-worker-")
    number = whole_number(index) if index != host else None
    is_worker = number is not None and number < workers
    return is_worker or host in {f"{job}-launcher", "localhost"}


@rule(Severity.ERROR)
def mpijob_option_unknown(manifest: Manifest) -> Iterator[Finding]:
    """This MPI implementation does not have an option.

    Open MPI, Intel MPI and MPICH name their options differently, and stop at an unknown one.
    Source: schemas/programs.json, with the source of each program's options.

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, -ppn, "1", ./a.out]}]}}}
            #                                                            ^^^^ error
            Worker: {replicas: 2}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, -npernode, "1", ./a.out]}]}}}
            Worker: {replicas: 2}
    """
    found = layout(manifest)
    for command, line in found.starters if found else ():
        foreign = foreign_option(line)
        if found is not None and foreign is not None:
            name, span = foreign
            message = f"{found.implementation} does not know the option '{name}' and stops"
            yield Finding(span, message, field=command.field_of(span))
        elif found is not None and line.implementation != HOROVOD and (missing := option_of_no_launcher(line)):
            name, span, better = missing
            guess = f"; use '{better}'" if better else ""
            message = f"no MPI has the option '{name}', so '{command.program}' stops{guess}"
            yield Finding(span, message, field=command.field_of(span))


@rule(Severity.WARNING)
def mpijob_launcher_without_mpi(manifest: Manifest) -> Iterator[Finding]:
    """The launcher starts no MPI program, so the program runs once and the workers do nothing.

    Source: kubeflow/mpi-operator v0.8.2, README.md ("Creating an MPI Job").

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [python, train.py]}]}}}
            #                                                    ^^^^^^ warning
            Worker: {replicas: 2}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, python, train.py]}]}}}
            Worker: {replicas: 2}
    """
    found = layout(manifest)
    for container in found.launcher_containers[:1] if found else ():
        everything = [one for other in found.launcher_containers for one in other.launchers] if found else []
        command = container.commands[0] if container.commands else None
        if command is None or command.is_script or everything or container.place is None:
            continue
        if container.has_command and _has_no_mpi(command.program):
            message = f"the launcher runs '{command.program}' once and no worker is used; start it with mpirun"
            yield Finding(command.name.span, message, field=container.place.field)


@rule(Severity.ERROR)
def mpijob_command_one_word(manifest: Manifest) -> Iterator[Finding]:
    """A whole command line is one word.

    Kubernetes starts the first word as a program; without a shell, blanks do not separate words.
    Source: Kubernetes, "Define a Command and Arguments for a Container".

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: ["mpirun -np 2 ./a.out"]}]}}}
            #                                                    ^^^^^^^^^^^^^^^^^^^^^^ error
            Worker: {replicas: 2}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, -np, "2", ./a.out]}]}}}
            Worker: {replicas: 2}
    """
    for container in all_containers(manifest):
        if container.script is not None or not container.words:
            continue
        first = container.words[0]
        if first.text and container.has_command and _is_command_line(first.text.strip()):
            message = "Kubernetes looks for one program with this whole name; write each word as an item of the list"
            yield Finding(first.span, message, field=first.field)
            continue
        for command in container.launchers[:1]:
            for word in command.arguments[:1]:
                if word.text and re.match(r"-\S+\s", word.text):
                    message = f"'{command.program}' receives all of this as one option; write each word as an item"
                    yield Finding(word.span, message, field=word.field)


def _has_no_mpi(program: str) -> bool:
    return program in _NO_MPI or PYTHON.fullmatch(program) is not None


def _is_command_line(text: str) -> bool:
    """Whether a word is a program with its arguments; a program may have blanks in its path."""
    program, blank, rest = text.partition(" ")
    name = program.rpartition("/")[2]
    is_known = name in launchers() or name in SHELLS or _has_no_mpi(name) or name == "sshd"
    return bool(blank) and (is_known or re.search(r"(?:^|\s)-", rest) is not None)


@rule(Severity.WARNING)
def mpijob_no_shell(manifest: Manifest) -> Iterator[Finding]:
    """A command has shell syntax, but no shell reads it.

    Kubernetes replaces only `$(VAR)`; `$VAR`, `&&`, `|` and `>` reach the program as they are written.
    Source: Kubernetes, "Define a Command and Arguments for a Container".

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, ./a.out, $DATA]}]}}}
            #                                                                     ^^^^^ warning
            Worker: {replicas: 2}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, ./a.out, $(DATA)]}]}}}
            Worker: {replicas: 2}
    """
    for container in all_containers(manifest):
        if container.script is not None or not container.has_command:
            continue
        if any((word.text or "").rpartition("/")[2] in {"sh", "bash", "eval"} for word in container.words):
            continue
        for before, word in zip((None, *container.words), container.words, strict=False):
            text = word.text or ""
            if before is not None and before.text in _CODE_OPTIONS:
                continue
            if text in _OPERATORS or _SHELL_VARIABLE.search(text) or _SHELL_LINE.search(text):
                message = f"there is no shell here, so the program receives '{shortened(text, 60)}' as it is written"
                yield Finding(word.span, message, field=word.field)


@rule(Severity.WARNING)
def mpijob_run_as_root(manifest: Manifest) -> Iterator[Finding]:
    """Open MPI refuses to run as root.

    Most images run as root. Add `--allow-run-as-root`, or set OMPI_ALLOW_RUN_AS_ROOT and
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM, or runAsUser.
    Source: Open MPI 4.1, mpirun(1), "--allow-run-as-root".

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, ./a.out]}]}}}
            #                                                    ^^^^^^ warning
            Worker: {replicas: 2}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, --allow-run-as-root, ./a.out]}]}}}
            Worker: {replicas: 2}
    """
    found = layout(manifest)
    for container in found.launcher_containers[:1] if found else ():
        variables = {name for _, name, _ in container.environment()}
        is_allowed = {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"} <= variables
        if found is None or is_allowed or user_of_launcher(found, container) or _is_no_root(found, container):
            continue
        for command, line in found.starters:
            if any(re.search(r"\s", name) for name, _ in line.arguments.unknown):
                continue  # `mpijob_command_one_word` reports it
            is_open_mpi = line.implementation == OPEN_MPI and not line.allows_root and not command.is_other_user
            if is_open_mpi and not container.lines.mentions("OMPI_ALLOW_RUN_AS_ROOT"):
                message = f"Open MPI refuses to run as root; add --allow-run-as-root to {command.program}"
                fixes = container.insert_fix(command, manifest.syntax.text, "--allow-run-as-root")
                yield Finding(command.name.span, message, fixes, field=command.name.field)


def _is_no_root(found: Layout, container: Container) -> bool:
    """Whether Kubernetes starts the launcher only as another user than root."""
    own = container.value.get("securityContext", "runAsNonRoot")
    pod = found.manifest.get(f"{found.launcher}.securityContext.runAsNonRoot")
    value = own or pod
    return value is not None and value.content is True


@rule(Severity.WARNING)
def mpijob_hostfile_implicit(manifest: Manifest) -> Iterator[Finding]:
    """Open MPI 5 does not find the host file of the operator.

    The operator names it in variables that only Open MPI up to 4 reads. With Open MPI 5, mpirun starts all processes on
    the launcher, and the job succeeds. Write `--hostfile /etc/mpi/hostfile`, which all versions read. Reported where
    the name of the image, a variable or an option shows that it is Open MPI 5.
    Source: kubeflow/mpi-operator, issue 842; pkg/controller/mpi_job_controller.go; mpirun of Open MPI 5.0.11.

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{image: "example.com/openmpi:5.0", command: [mpirun, ./a.out]}]}}}
            #                                                                                      ^^^^^^ warning
            Worker: {replicas: 2}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher:
              template:
                spec:
                  containers:
                    - image: example.com/openmpi:5.0
                      command: [mpirun, --hostfile, /etc/mpi/hostfile, ./a.out]
            Worker: {replicas: 2}
    """
    found = served_layout(manifest)
    if found is None or not found.workers or found.implementation != "OpenMPI":
        return
    for command, line in found.starters:
        if line.implementation != OPEN_MPI or line.host_lists or line.host_files or line.arguments.unknown:
            continue
        container = found.launcher_containers[0]
        image = container.value.get("image")
        texts = (image.text or "" if image else "", *(word.text or "" for word in container.words))
        names = (name for _, name, _ in container.environment())
        if looks_like(OPEN_MPI_5, (*texts, *names)) and not container.mentions("default_hostfile"):
            message = f"Open MPI 5 finds the workers only with '--hostfile {HOST_FILE}'"
            fixes = container.insert_fix(command, manifest.syntax.text, "--hostfile", HOST_FILE)
            yield Finding(command.name.span, message, fixes, field=command.name.field)


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def mpijob_kubexec(manifest: Manifest) -> Iterator[Finding]:
    """`/etc/mpi/kubexec.sh` does not exist since v2.

    The launcher connects by ssh. Remove the setting.
    Source: kubeflow/mpi-operator v0.3.0, CHANGELOG ("use ssh").

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher:
              template:
                spec:
                  containers:
                    - command: [mpirun, -mca, plm_rsh_agent, /etc/mpi/kubexec.sh, ./a.out]
                    #                                        ^^^^^^^^^^^^^^^^^^^ error
            Worker: {replicas: 2}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, ./a.out]}]}}}
            Worker: {replicas: 2}
    """
    message = f"{_KUBEXEC} does not exist since v2beta1; the launcher connects by ssh"
    for container in all_containers(manifest) if manifest.is_served else ():
        for word in container.words:
            if _KUBEXEC in (word.text or ""):
                yield Finding(word.span, message, field=word.field)
        for number, _, entry in container.environment():
            value = entry.get("value")
            if value is not None and _KUBEXEC in str(value.content):
                yield Finding(value.span, message, field=f"{container.path}.env[{number}].value")
