"""Rules for the MPI operator of today: ssh, GPUs, volumes, policies; what it adds and overwrites in pods."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.embedded.command_lines import PYTHON
from pai_lsp.findings.diagnostic import Consequence, Finding, Severity, Stage, rule
from pai_lsp.findings.fixes import change_fix, choice_fixes, fix_of, number_fix
from pai_lsp.mpijob.launch import REPLICAS
from pai_lsp.mpijob.manifest import HOST_FILE, HOST_FOLDER
from pai_lsp.mpijob.manifest_edits import edits_of_keys
from pai_lsp.mpijob.structure import mpijob_table
from pai_lsp.platform.programs import OPEN_MPI, OPEN_MPI_5, PREPARING, TRAINING, WAITING, launchers, looks_like

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.mpijob.launch import Layout

_KUBEXEC = "/etc/mpi/kubexec.sh"
_KEY_FOLDER = "/root/.ssh"


@rule(Severity.WARNING, stage=Stage.CLUSTER, consequence=Consequence.IGNORED)
def mpijob_launcher_gpu(layout: Layout) -> Iterator[Finding]:
    """The launcher has GPUs, but runs no process.

    They are reserved, and the operator hides them from it. Set runLauncherAsWorker, or remove the limit.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`nvidiaDisableEnvVars`).

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{resources: {limits: {nvidia.com/gpu: 1}}, command: [./a]}]}}}
            #                                                                               ^ warning
            Worker: {replicas: 2}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, ./a]}]}}}
            Worker: {replicas: 2}
    """
    if layout.launcher.gpus and not layout.works:
        _, span, field = layout.launcher.gpus
        message = "these GPUs stay unused: the launcher runs no process without runLauncherAsWorker"
        yield Finding(span, message, field=field)


@rule(Severity.WARNING, stage=Stage.CLUSTER)
def mpijob_not_first_container(layout: Layout) -> Iterator[Finding]:
    """The MPI program is not in the first container.

    Only the first container gets the ssh key, the host file and the variables of the operator.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`newLauncherPodTemplate`).

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Launcher:
              template:
                spec:
                  containers:
                    - {name: log}
                    - {name: main, command: [mpirun, --allow-run-as-root, ./a.out]}
                    # ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ warning
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
                    - {name: main, command: [mpirun, --allow-run-as-root, ./a.out]}
                    - {name: log}
            Worker: {replicas: 2}
    """
    servers = (one for one in layout.worker.containers[1:] if any(each.program == "sshd" for each in one.commands))
    for container in (*(one for one in layout.launcher.containers[1:] if one.launchers), *servers):
        message = "only the first container gets the ssh key and the host file; move this one to the front"
        yield Finding(container.value.span, message, field=container.path)


@rule(Severity.WARNING, stage=Stage.CLUSTER, consequence=Consequence.IGNORED)
def mpijob_env_overridden(layout: Layout) -> Iterator[Finding]:
    """The operator sets a variable itself, and its value wins.

    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`newLauncherPodTemplate`).

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{env: [{name: K_MPI_JOB_ROLE, value: a}]}]}}}
            #                                                                  ^^^^^^^^^^^^^^ warning

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{env: [{name: ROLE, value: a}]}]}}}
    """
    table = mpijob_table()["environment"]
    own = [*table["launcher"], *table.get(layout.implementation, ())]
    own += [] if layout.works else table["idle_launcher"]
    for pod, names in ((layout.launcher, own), (layout.worker, table["worker"])):
        for container in pod.containers[:1]:
            for number, name, _ in container.environment():
                if name.content in names:
                    message = f"the operator sets '{name.content}' after this, so its value wins"
                    yield Finding(name.span, message, field=f"{container.path}.env[{number}]")


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def mpijob_worker_without_sshd(layout: Layout) -> Iterator[Finding]:
    """A worker runs no ssh server, so the launcher cannot connect.

    The operator adds `/usr/sbin/sshd -De` only if `command` and `args` are both absent. Remove them.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`newWorker`).

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{command: [sleep, infinity]}]}}}
            #                                                     ^^^^^^^ error

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{image: mpi}]}}}
    """
    for container in layout.worker.containers[:1]:
        programs = [command.program for command in container.commands]
        others = {*launchers(), *PREPARING, *WAITING, *TRAINING}
        is_known = bool(programs) and all(one in others or PYTHON.fullmatch(one) for one in programs)
        if is_known and not container.lines.mentions("ssh"):
            message = "no ssh server runs here and the launcher cannot connect; remove 'command' and 'args'"
            path: tuple[str | int, ...] = (*layout.worker.path.split("."), "containers", 0)
            title = "Remove 'command' and 'args', so that the operator starts sshd"
            fixes = fix_of(title, edits_of_keys, layout.manifest, ((*path, "command"), None), ((*path, "args"), None))
            place = container.written
            yield Finding(place.span, message, fixes if WAITING.issuperset(programs) else (), field=place.field)


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def mpijob_sshd_background(layout: Layout) -> Iterator[Finding]:
    """Sshd goes to the background, and the container ends.

    Use `/usr/sbin/sshd -De`, or a long `sleep` after it.
    Source: OpenSSH, sshd(8), "-D".

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{command: [/usr/sbin/sshd]}]}}}
            #                                                               ^^^^^^^^^^^^^^ error

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{command: [/usr/sbin/sshd, -De]}]}}}
    """
    for container in layout.worker.containers[:1]:
        for last in container.commands[-1:]:
            texts = [word.text or "" for word in last.arguments]
            is_sshd = last.program == "sshd" and not any(re.match(r"-[a-zA-Z]*D", text) for text in texts)
            is_service = last.program == "service" and texts[:1] in (["ssh"], ["sshd"])
            if is_sshd or is_service or last.name.text in {"/etc/init.d/ssh", "/etc/init.d/sshd"}:
                message = "sshd goes to the background, so this container ends at once; use '/usr/sbin/sshd -De'"
                yield Finding(last.name.span, message, field=container.place.field)


@rule(Severity.WARNING, stage=Stage.CLUSTER)
def mpijob_no_worker(layout: Layout) -> Iterator[Finding]:
    """There is no worker, and the launcher runs no process.

    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`newConfigMap`): an empty host file.

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
        # ^^^^^^^^^^^^^^^ warning
            Launcher: {template: {spec: {containers: [{command: [mpirun, --allow-run-as-root, ./a.out]}]}}}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          runLauncherAsWorker: true
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{command: [mpirun, --allow-run-as-root, ./a.out]}]}}}
    """
    if not layout.works and not layout.has_worker and layout.manifest.root.entries(*REPLICAS.split(".")):
        yield layout.finding(REPLICAS, "no 'Worker' and no runLauncherAsWorker: the host file is empty")


@rule(Severity.ERROR, stage=Stage.CLUSTER, consequence=Consequence.IGNORED)
def mpijob_unknown_replica(layout: Layout) -> Iterator[Finding]:
    """A replica type is stored and never started.

    Only `Launcher` and `Worker` exist, with these capitals.
    Source: kubeflow/mpi-operator v0.8.2, pkg/apis/kubeflow/v2beta1/types.go (`MPIReplicaType`).

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Workers: {replicas: 2}
          # ^^^^^^^ error

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2}
    """
    replicas = layout.manifest.root.entries(*REPLICAS.split("."))
    for name, replica in replicas.items():
        if name not in {"Launcher", "Worker"}:
            message = f"'{name}' is stored and never started; the keys are 'Launcher' and 'Worker'"
            free = {"Launcher", "Worker"} - set(replicas)
            near = [one for one in sorted(free) if one.lower() in {name.lower(), name.lower().rstrip("s")}]
            fixes = change_fix(replica.key.span, *near, safe=True) if replica.key is not None else ()
            yield layout.finding(f"{REPLICAS}.{name}", message, fixes=fixes)


@rule(Severity.WARNING)
def mpijob_slots_over_gpus(layout: Layout) -> Iterator[Finding]:
    """A worker has more slots than GPUs, so processes share GPUs.

    Source: Horovod, docs/running.rst ("the number of GPUs on each server").

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          slotsPerWorker: 4
          #               ^ warning
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{resources: {limits: {nvidia.com/gpu: 2}}}]}}}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          slotsPerWorker: 2
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{resources: {limits: {nvidia.com/gpu: 2}}}]}}}
    """
    if layout.worker.gpus and layout.slots > layout.worker.gpus[0]:
        gpus = layout.worker.gpus[0]
        message = f"{layout.slots} slots for {gpus} GPUs of a worker; processes share a GPU"
        fixes = number_fix(layout.manifest.place("spec.slotsPerWorker"), gpus)
        yield layout.finding("spec.slotsPerWorker", message, fixes=fixes)


@rule(Severity.INFORMATION)
def mpijob_slots_under_gpus(layout: Layout) -> Iterator[Finding]:
    """A worker has fewer slots than GPUs.

    Source: Horovod, docs/running.rst ("the number of GPUs on each server").

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          slotsPerWorker: 2
          #               ^ information
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{resources: {limits: {nvidia.com/gpu: 4}}}]}}}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          slotsPerWorker: 4
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{resources: {limits: {nvidia.com/gpu: 4}}}]}}}
    """
    if layout.worker.gpus and 0 < layout.slots < layout.worker.gpus[0]:
        gpus, span, field = layout.worker.gpus
        message = f"{layout.slots} slots for {gpus} GPUs of a worker; one process for each slot"
        if layout.manifest.number("spec.slotsPerWorker") is not None:
            yield layout.finding("spec.slotsPerWorker", message)
        else:
            yield Finding(span, message, field=field)


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def mpijob_ssh_path(layout: Layout) -> Iterator[Finding]:
    """Ssh does not find its key at this path, or the path is taken.

    Kubernetes does not expand `~`. ssh reads the key from the home directory of the user, and another user than root
    cannot read /root/.ssh.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`setupSSHOnPod`).

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          sshAuthMountPath: ~/.ssh
          #                 ^^^^^^ error

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          sshAuthMountPath: /root/.ssh
    """
    field = "spec.sshAuthMountPath"
    path = layout.manifest.text(field) or _KEY_FOLDER
    if not path.startswith("/"):
        yield layout.finding(field, f"'{path}' is not an absolute path; Kubernetes does not expand '~'")
    elif path == HOST_FOLDER:
        message = f"the host file is mounted at '{path}'; Kubernetes refuses a pod with two volumes at one path"
        yield layout.finding(field, message)
    elif layout.user and path == _KEY_FOLDER:
        message = f"user {layout.user} cannot read the key in /root/.ssh; set sshAuthMountPath to its home directory"
        yield layout.finding(field, message, Severity.WARNING)
    elif layout.user == 0 and path != _KEY_FOLDER:
        yield layout.finding(field, f"root looks for the key in /root/.ssh, not in {path}", Severity.WARNING)


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def mpijob_mount_taken(layout: Layout) -> Iterator[Finding]:
    """A volume is at a path that the operator uses; Kubernetes refuses the pod.

    With a slash at its end Kubernetes takes it for another path: the pod starts, and one volume hides the other.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`setupSSHOnPod`, `configMountPath`).

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{volumeMounts: [{name: a, mountPath: /root/.ssh}]}]}}}
            #                                                                                         ^^^^^^^^^^ error

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{volumeMounts: [{name: a, mountPath: /keys}]}]}}}
    """
    key = layout.manifest.text("spec.sshAuthMountPath") or _KEY_FOLDER
    for pod, taken in ((layout.launcher, {key, HOST_FOLDER}), (layout.worker, {key})):
        folders = {one.rstrip("/") for one in taken}
        for container in pod.containers[:1]:
            for number, mount in enumerate(container.value.items("volumeMounts")):
                path = mount.get("mountPath")
                if path is not None and str(path.content).rstrip("/") in folders:
                    field = f"{container.path}.volumeMounts[{number}].mountPath"
                    severity, end = (None, "") if path.content in taken else (Severity.WARNING, "; one hides the other")
                    message = f"the operator itself mounts a volume at '{path.content}'{end}"
                    yield Finding(path.span, message, field=field, severity=severity)


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def mpijob_volume_taken(layout: Layout) -> Iterator[Finding]:
    """A volume has a name that the operator uses; Kubernetes refuses the pod.

    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`sshAuthVolume`, `configVolumeName`).

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {volumes: [{name: ssh-auth}], containers: [{name: main}]}}}
            #                                                        ^^^^^^^^ error

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {volumes: [{name: keys}], containers: [{name: main}]}}}
    """
    for pod, taken in ((layout.launcher, {"ssh-auth", "mpi-job-config"}), (layout.worker, {"ssh-auth"})):
        for number, volume in enumerate(layout.manifest.root.items(*pod.path.split("."), "volumes")):
            one = volume.get("name")
            if one is not None and one.text in taken:
                field = f"{pod.path}.volumes[{number}].name"
                yield Finding(one.span, f"the operator itself adds a volume named '{one.content}'", field=field)


@rule(Severity.WARNING, stage=Stage.CLUSTER)
def mpijob_host_network(layout: Layout) -> Iterator[Finding]:
    """The sshd of a worker on the host network uses the port of the node.

    Port 22 is taken by the ssh server of the node. Start `sshd -p` with another port, and tell Open MPI about it.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`newWorker`).

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {hostNetwork: true, containers: [{name: main}]}}}
            #                                                    ^^^^ warning

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          mpiReplicaSpecs:
            Worker: {template: {spec: {hostNetwork: true, containers: [{command: [/usr/sbin/sshd, -D, -p, "9"]}]}}}
    """
    path = f"{layout.worker.path}.hostNetwork"
    for container in layout.worker.containers[:1] if layout.manifest.flag(path) else ():
        sshd = [command for command in container.commands if command.program == "sshd"]
        texts = [word.text or "" for command in sshd for word in command.arguments]
        if (sshd or not container.words) and not any(re.match(r"-[a-zA-Z]*[pf]", text) for text in texts):
            yield layout.finding(path, "sshd uses port 22 of the node, which the node's ssh server already uses")


@rule(Severity.WARNING, stage=Stage.CLUSTER, consequence=Consequence.IGNORED)
def mpijob_unknown_policy(layout: Layout) -> Iterator[Finding]:
    """`launcherCreationPolicy` is unknown, and acts as `WaitForWorkersReady`.

    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go, line 678.

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          launcherCreationPolicy: AtStartUp
          #                       ^^^^^^^^^ warning

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          launcherCreationPolicy: AtStartup
    """
    path, known = "spec.launcherCreationPolicy", ("AtStartup", "WaitForWorkersReady")
    text = layout.manifest.text(path)
    if text and text not in known:
        message = f"'{text}' is not known and acts as 'WaitForWorkersReady'; the other policy is 'AtStartup'"
        yield layout.finding(path, message, fixes=choice_fixes(layout.manifest.place(path), known))


@rule(Severity.INFORMATION, stage=Stage.CLUSTER)
def mpijob_workers_stay(layout: Layout) -> Iterator[Finding]:
    """The workers keep their GPUs after the job ends.

    With cleanPodPolicy None, the default, they run forever. `Running` deletes them.
    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go (`cleanUpWorkerPods`).

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          runPolicy: {cleanPodPolicy: None}
          #                           ^^^^ information
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{resources: {limits: {nvidia.com/gpu: 1}}}]}}}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          runPolicy: {cleanPodPolicy: Running}
          mpiReplicaSpecs:
            Worker: {replicas: 2, template: {spec: {containers: [{resources: {limits: {nvidia.com/gpu: 1}}}]}}}
    """
    path = "spec.runPolicy.cleanPodPolicy"
    if not layout.worker.gpus or layout.manifest.text(path) not in {None, "None"}:
        return
    while layout.manifest.get(path) is None and "." in path:
        path = path.rpartition(".")[0]
    key = ("spec", "runPolicy", "cleanPodPolicy")
    fixes = fix_of("Add 'cleanPodPolicy: Running'", edits_of_keys, layout.manifest, (key, "Running"))
    message = "the workers keep their GPUs after the job ends; write cleanPodPolicy: Running"
    yield layout.finding(path, message, fixes=fixes)


@rule(Severity.WARNING, stage=Stage.CLUSTER, consequence=Consequence.DIES)
def mpijob_min_available(layout: Layout) -> Iterator[Finding]:
    """`minAvailable` is larger than the number of pods, so the job never starts.

    Source: kubeflow/mpi-operator v0.8.2, pkg/controller/podgroup.go, line 396.

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          runPolicy: {schedulingPolicy: {minAvailable: 4}}
          #                                            ^ warning
          mpiReplicaSpecs:
            Launcher: {}
            Worker: {replicas: 2}

    Good:

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec:
          runPolicy: {schedulingPolicy: {minAvailable: 3}}
          mpiReplicaSpecs:
            Launcher: {}
            Worker: {replicas: 2}
    """
    path = "spec.runPolicy.schedulingPolicy.minAvailable"
    number = layout.manifest.number(path)
    if number is not None and number > layout.workers + 1:
        message = f"the job has only {layout.workers + 1} pods, fewer than {number}, so it never starts"
        yield layout.finding(path, message)


@rule(Severity.WARNING)
def mpijob_hostfile_implicit(layout: Layout) -> Iterator[Finding]:
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
    if not layout.workers or layout.implementation != "OpenMPI":
        return
    for command, line in layout.starters:
        if line.implementation != OPEN_MPI or line.host_lists or line.host_files or line.arguments.unknown:
            continue
        container = layout.launcher.containers[0]
        image = container.value.get("image")
        texts = (image.text or "" if image else "", *(word.text or "" for word in container.words))
        names = [name.content for _, name, _ in container.environment()]
        is_named = container.lines.mentions("default_hostfile") or any("default_hostfile" in name for name in names)
        if looks_like(OPEN_MPI_5, (*texts, *names)) and not is_named:
            message = f"Open MPI 5 finds the workers only with '--hostfile {HOST_FILE}'"
            fixes = layout.insert_fix(command, "--hostfile", HOST_FILE)
            yield Finding(command.name.span, message, fixes, field=command.name.field)


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def mpijob_kubexec(layout: Layout) -> Iterator[Finding]:
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
    for container in layout.containers:
        for word in container.words:
            if _KUBEXEC in (word.text or ""):
                yield Finding(word.span, message, field=word.field)
        for number, _, entry in container.environment():
            value = entry.get("value")
            if value is not None and _KUBEXEC in str(value.content):
                yield Finding(value.span, message, field=f"{container.path}.env[{number}].value")
