"""Rules for both operators: what containers start, launchers with their hosts, options and processes, and images."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.embedded.command_lines import PYTHON
from pai_lsp.findings.diagnostic import Consequence, Finding, Severity, Stage, rule
from pai_lsp.findings.fixes import fix_of
from pai_lsp.mpijob.launch import SHELLS
from pai_lsp.mpijob.manifest import HOST_FILE
from pai_lsp.mpijob.manifest_edits import edits_of_keys
from pai_lsp.mpijob.structure import LABEL
from pai_lsp.platform.programs import (
    HOROVOD,
    HYDRA,
    OPEN_MPI,
    WAITING,
    foreign_option,
    hosts_of,
    launchers,
    option_of_no_launcher,
)
from pai_lsp.source.foreign import whole_number
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.mpijob.launch import Layout
    from pai_lsp.platform.programs import LaunchHost, LaunchLine
    from pai_lsp.source.text import Span

_SHELL_VARIABLE = lazy_pattern(r"\$(?:[A-Za-z_]|\{)")
_SHELL_LINE = lazy_pattern(r"\s(?:&&|\|\|?|>>?|2>)\s|\S;$")
_OPERATORS = frozenset({"&&", "||", ";", "|", ">", ">>", "2>&1", "&"})
_NO_MPI = frozenset({"torchrun", "sleep", "tail"})
_ADDRESS = lazy_pattern(r"[0-9]+(?:\.[0-9]+){3}")
# Words that are code for the program that they follow.
_CODE_OPTIONS = frozenset({"-c", "-e", "--eval"})


@rule(Severity.ERROR)
def mpijob_np_over_slots(layout: Layout) -> Iterator[Finding]:
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
    for number, capacity, line, (span, field) in _counted(layout):
        if number > capacity:
            severity = Severity.INFORMATION if line.implementation == HYDRA else Severity.ERROR
            consequence = "processes share slots" if severity is Severity.INFORMATION else "the launcher stops"
            message = f"{number} processes for {capacity} slots ({layout.slots} for each worker); {consequence}"
            yield Finding(span, message, field=field, severity=severity)


@rule(Severity.INFORMATION)
def mpijob_np_under_slots(layout: Layout) -> Iterator[Finding]:
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
    for number, capacity, _, (span, field) in _counted(layout):
        if number < capacity:
            yield Finding(span, f"{number} processes for {capacity} slots; {capacity - number} stay empty", field=field)


def _counted(layout: Layout) -> Iterator[tuple[int, int, LaunchLine, tuple[Span, str]]]:
    """Each number of processes that is written, with the slots for it, its line, its place and its path."""
    if layout.slots <= 0 or (not layout.works and layout.workers == 0):
        return
    for command, line in layout.starters:
        span = line.counts[-1].value_span if line.counts else None
        if not line.processes or span is None or _oversubscribes(layout, line):
            continue
        capacity = layout.slots * (layout.workers + layout.works)
        if line.host_lists:
            listed = hosts_of(line.host_lists[-1])
            if listed is None:
                continue
            if line.implementation == HOROVOD and any(host.slots is None for host in listed):
                continue  # `mpijob_host_format` reports it
            capacity = sum(1 if host.slots is None else host.slots for host in listed)
        yield line.processes, capacity, line, (span, command.field_of(span))


def _oversubscribes(layout: Layout, line: LaunchLine) -> bool:
    name = "OMPI_MCA_rmaps_base_oversubscribe"
    container = layout.launcher.containers[0]
    values = (entry.get("value") for _, variable, entry in container.environment() if variable.content == name)
    is_set = any(value is None or value.text not in {"0", "false", "no"} for value in values)
    return is_set or container.lines.mentions(name) or line.oversubscribes


@rule(Severity.ERROR)
def mpijob_slots_zero(layout: Layout) -> Iterator[Finding]:
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
    if layout.manifest.number("spec.slotsPerWorker") == 0:
        yield layout.finding("spec.slotsPerWorker", "0 slots: Open MPI starts no process on any worker")


@rule(Severity.WARNING)
def mpijob_horovodrun_no_hosts(layout: Layout) -> Iterator[Finding]:
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
    for command, line in layout.starters if layout.has_worker else ():
        if line.implementation == HOROVOD and not line.host_lists and not line.host_files:
            message = f"horovodrun without hosts runs only on the launcher; add --hostfile {HOST_FILE}"
            is_open_mpi = layout.implementation == "OpenMPI"
            fixes = layout.insert_fix(command, "--hostfile", HOST_FILE) if is_open_mpi else ()
            yield Finding(command.name.span, message, fixes, field=layout.launcher.containers[0].place.field)


@rule(Severity.ERROR)
def mpijob_host_format(layout: Layout) -> Iterator[Finding]:
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
    for command, line in layout.starters:
        if line.implementation != HOROVOD:
            continue
        for span, hosts in _listed(line):
            bare = [host.name for host in hosts if host.slots is None]
            if bare:
                message = f"horovodrun needs the slots of each host, as in '{bare[0]}:{max(layout.slots, 1)}'"
                yield Finding(span, message, field=command.field_of(span))
        for file in line.host_files[-1:]:
            if file.value == HOST_FILE and file.value_span and layout.implementation != "OpenMPI":
                message = f"the host file for {layout.implementation} has 'host:slots'; horovodrun needs 'host slots=n'"
                yield Finding(file.value_span, message, field=command.field_of(file.value_span))


def _listed(line: LaunchLine) -> Iterator[tuple[Span, tuple[LaunchHost, ...]]]:
    """The place and the hosts of the list that counts, if no variable is in it."""
    for option in line.host_lists[-1:]:
        hosts = hosts_of(option)
        if hosts and option.value_span and "$" not in (option.value or ""):
            yield option.value_span, hosts


@rule(Severity.WARNING)
def mpijob_unknown_host(layout: Layout) -> Iterator[Finding]:
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
    name = layout.manifest.text("metadata.name")
    if name is None:
        return
    for command, line in layout.starters:
        for span, hosts in _listed(line):
            for host in hosts:
                if not _ADDRESS.fullmatch(host.name) and not _is_pod(host.name.partition(".")[0], name, layout.workers):
                    message = f"'{host.name}' is not a pod of this job; the workers are {name}-worker-0 and following"
                    yield Finding(span, message, field=command.field_of(span))


def _is_pod(host: str, job: str, workers: int) -> bool:
    """Whether a short host name is a pod of the job."""
    index = host.removeprefix(f"{job}-worker-")
    number = whole_number(index) if index != host else None
    is_worker = number is not None and number < workers
    return is_worker or host in {f"{job}-launcher", "localhost"}


@rule(Severity.ERROR)
def mpijob_option_unknown(layout: Layout) -> Iterator[Finding]:
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
    for command, line in layout.starters:
        foreign = foreign_option(line)
        if foreign is not None:
            name, span = foreign
            message = f"{layout.implementation} does not know the option '{name}' and stops"
            yield Finding(span, message, field=command.field_of(span))
        elif line.implementation != HOROVOD and (missing := option_of_no_launcher(line)):
            name, span, better = missing
            guess = f"; use '{better}'" if better else ""
            message = f"no MPI has the option '{name}', so '{command.program}' stops{guess}"
            yield Finding(span, message, field=command.field_of(span))


@rule(Severity.WARNING)
def mpijob_launcher_without_mpi(layout: Layout) -> Iterator[Finding]:
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
    if any(container.launchers for container in layout.launcher.containers):
        return
    for container in layout.launcher.containers[:1]:
        for command in container.commands if container.has_command and container.script is None else ():
            if _has_no_mpi(command.program):
                message = f"the launcher runs '{command.program}' once and no worker is used; start it with mpirun"
                yield Finding(command.name.span, message, field=container.place.field)


@rule(Severity.ERROR)
def mpijob_command_one_word(layout: Layout) -> Iterator[Finding]:
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
    for container in layout.containers:
        if container.script is not None or not container.words:
            continue
        first = container.words[0]
        if first.text and container.has_command and _is_command_line(first.text.strip()):
            message = "Kubernetes looks for one program with this whole name; write each word as an item of the list"
            yield Finding(first.span, message, field=first.field)
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
def mpijob_no_shell(layout: Layout) -> Iterator[Finding]:
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
    for container in layout.containers:
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
def mpijob_run_as_root(layout: Layout) -> Iterator[Finding]:
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
    for container in layout.launcher.containers[:1]:
        variables = {name.content for _, name, _ in container.environment()}
        is_allowed = {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"} <= variables
        if is_allowed or layout.user or layout.security("runAsNonRoot") is True:
            continue
        for command, line in layout.starters:
            if any(re.search(r"\s", name) for name, _ in line.arguments.unknown):
                continue  # `mpijob_command_one_word` reports it
            is_open_mpi = line.implementation == OPEN_MPI and not line.allows_root and not command.is_other_user
            if is_open_mpi and not container.lines.mentions("OMPI_ALLOW_RUN_AS_ROOT"):
                message = f"Open MPI refuses to run as root; add --allow-run-as-root to {command.program}"
                fixes = layout.insert_fix(command, "--allow-run-as-root")
                yield Finding(command.name.span, message, fixes, field=command.name.field)


@rule(Severity.INFORMATION, stage=Stage.CLUSTER)
def mpijob_wait_without_probe(layout: Layout) -> Iterator[Finding]:
    """The launcher waits for workers that are ready before their ssh server runs.

    Without readinessProbe a pod is ready when it starts.
    Source: Kubernetes, "Configure Liveness, Readiness and Startup Probes".

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          launcherCreationPolicy: WaitForWorkersReady
          #                       ^^^^^^^^^^^^^^^^^^^ information
          mpiReplicaSpecs:
            Worker: {template: {spec: {containers: [{args: [sh, -c, "./prepare; exec /usr/sbin/sshd -De"]}]}}}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          launcherCreationPolicy: WaitForWorkersReady
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{image: mpi}]}}}
    """
    policy = layout.manifest.text("spec.launcherCreationPolicy")
    if not (layout.is_other or policy not in {None, "", "AtStartup"}):
        return
    for container in layout.worker.containers[:1]:
        first = container.commands[0].program if container.commands else "sshd"
        if container.value.get("readinessProbe") is None and first not in {"sshd", "sleep"}:
            field = "spec.workerTemplate" if layout.is_other else "spec.launcherCreationPolicy"
            severity = Severity.WARNING if layout.is_other else Severity.INFORMATION
            message = "workers count as ready as soon as they start; "
            message += "add a readinessProbe that waits for their ssh server"
            yield layout.finding(field, message, severity)


@rule(Severity.WARNING, stage=Stage.CLUSTER, consequence=Consequence.IGNORED)
def mpijob_restart_policy_ignored(layout: Layout) -> Iterator[Finding]:
    """The restart policy of the pod template is overwritten with another one.

    The operator writes that of the replica: OnFailure for a launcher without one, Never for a worker, and Never for
    ExitCode. Write it beside `template`, in the replica.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`setRestartPolicy`) and
    pkg/apis/kubeflow/v2beta1/default.go.

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {restartPolicy: OnFailure, containers: [{name: main}]}}}
            #                                                      ^^^^^^^^^ warning

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {restartPolicy: OnFailure, replicas: 2, template: {spec: {containers: [{image: mpi}]}}}
    """
    for pod in (layout.launcher, layout.worker):
        path, is_launcher = pod.path, pod is layout.launcher
        text = layout.manifest.text(f"{path}.restartPolicy") or None
        replica = ".".join(path.split(".")[:3])
        own = layout.manifest.text(f"{replica}.restartPolicy") or None
        written = {None: "OnFailure" if is_launcher else "Never", "ExitCode": "Never"}.get(own, own)
        if layout.is_other:
            written = text if is_launcher else "Always"
        if text in {None, written}:
            continue
        better = "" if layout.is_other or own is not None else "; write it beside 'template'"
        old, new = (*path.split("."), "restartPolicy"), (*replica.split("."), "restartPolicy")
        moves = ((new, text),) if text in {"Never", "OnFailure"} and own is None else ()
        title = "Move it beside 'template'" if moves else "Remove it"
        fixes = fix_of(title, edits_of_keys, layout.manifest, (old, None), *moves) if not layout.is_other else ()
        message = f"the operator writes {written} here{better}"
        yield layout.finding(f"{path}.restartPolicy", message, fixes=fixes)


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def mpijob_image_missing(layout: Layout) -> Iterator[Finding]:
    """A container has no image, so the job is stored but no pod can be created.

    Source: Kubernetes, pkg/apis/core/validation/validation.go (`validateContainers`).

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{name: main}]}}}
            #                                                    ^^^^^^^^^^^^ error

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{image: mpi}]}}}
    """
    for container in layout.containers:
        image = container.value.get("image")
        if image is None or image.content == "":
            message = "this container has no 'image', so no pod can be created"
            yield Finding(container.value.span, message, field=container.path)


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def mpijob_container_name(layout: Layout) -> Iterator[Finding]:
    """Kubernetes refuses the name of a container when the pod is created.

    Lower-case letters, digits and `-`, at most 63 characters.
    Source: Kubernetes, pkg/apis/core/validation/validation.go (`ValidateDNS1123Label`).

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{name: my.main}]}}}
            #                                                           ^^^^^^^ error

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{name: my-main}]}}}
    """
    for container in layout.containers:
        name = container.value.get("name")
        if name is not None and name.text and (len(name.text) > 63 or not LABEL.fullmatch(name.text)):
            message = f"'{shortened(name.text, 60)}' is not a container name; use lower-case letters, digits and '-'"
            yield Finding(name.span, message, field=f"{container.path}.name")


@rule(Severity.WARNING, stage=Stage.CLUSTER)
def mpijob_worker_ends(layout: Layout) -> Iterator[Finding]:
    """A worker of the operator batch.test.bdap.com ends with its script, and is started again and again.

    Source: FFFFFaraway/MPI-Operator, controllers/mpijob_controller.go.

        apiVersion: batch.test.bdap.com/v1
        kind: MPIJob
        spec:
          numWorkers: 2
          workerTemplate:
            spec:
              containers:
                - command: [bash, -c]
                  args: [./prepare.sh]
                # ^^^^ warning

    Good:

        apiVersion: batch.test.bdap.com/v1
        kind: MPIJob
        spec:
          numWorkers: 2
          workerTemplate:
            spec:
              containers:
                - command: [bash, -c]
                  args: [./prepare.sh; sleep infinity]
    """
    for container in layout.worker.containers[:1] if layout.is_other else ():
        if container.script is not None and container.commands and container.commands[-1].program not in WAITING:
            key = "args" if container.value.get("args") else "command"
            message = "this script ends, so the worker is started again and again; end it with 'sleep infinity'"
            span = (container.value.get(key) or container.value).span
            yield Finding(span, message, field=f"{container.path}.{key}")
