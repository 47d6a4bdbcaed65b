"""Rules about the pods of an MPIJob: ssh, GPUs, volumes, policies; what the operator adds and overwrites."""

from __future__ import annotations

import re

from pai_lsp.embedded.command_lines import PYTHON
from pai_lsp.findings.diagnostic import Consequence, Finding, Severity, Stage, rule
from pai_lsp.findings.fixes import change_fix, choice_fixes, fix_of, number_fix
from pai_lsp.mpijob.launch import (
    REPLICAS,
    all_containers,
    finding_at,
    has_worker,
    layout,
    served_layout,
    user_of_launcher,
    worker_gpus,
)
from pai_lsp.mpijob.manifest import HOST_FOLDER
from pai_lsp.mpijob.manifest_edits import edits_of_keys
from pai_lsp.mpijob.structure import LABEL, mpijob_table
from pai_lsp.platform.programs import PREPARING, TRAINING, WAITING, launchers
from pai_lsp.source.text import shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.mpijob.manifest import Manifest


@rule(Severity.WARNING, stage=Stage.CLUSTER, consequence=Consequence.IGNORED)
def mpijob_launcher_gpu(manifest: Manifest) -> Iterator[Finding]:
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
    found = served_layout(manifest)
    if found is None or found.works:
        return
    for container in found.launcher_containers[:1]:
        gpus = container.gpus()
        if gpus and gpus[0] > 0:
            message = "these GPUs stay unused: the launcher runs no process without runLauncherAsWorker"
            yield Finding(gpus[1], message, field=gpus[2])


@rule(Severity.WARNING, stage=Stage.CLUSTER)
def mpijob_not_first_container(manifest: Manifest) -> Iterator[Finding]:
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
    found = served_layout(manifest)
    for name, _, some in found.pods if found else ():
        for container in some[1:]:
            is_ssh = name == "worker" and any(command.program == "sshd" for command in container.commands)
            if is_ssh or (name == "launcher" and container.launchers):
                message = "only the first container gets the ssh key and the host file; move this one to the front"
                yield Finding(container.value.span, message, field=container.path)


@rule(Severity.WARNING, stage=Stage.CLUSTER, consequence=Consequence.IGNORED)
def mpijob_env_overridden(manifest: Manifest) -> Iterator[Finding]:
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
    found = served_layout(manifest)
    if found is None:
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


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def mpijob_worker_without_sshd(manifest: Manifest) -> Iterator[Finding]:
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
    found = served_layout(manifest)
    for container in found.worker_containers[:1] if found else ():
        if not container.words or container.lines.mentions("ssh"):
            continue
        place = container.place
        programs = [command.program for command in container.commands]
        others = {*launchers(), *PREPARING, *WAITING, *TRAINING}
        known = bool(programs) and all(one in others or PYTHON.fullmatch(one) for one in programs)
        if place is not None and known:
            key = "command" if container.has_command else "args"
            value = container.value.get(key)
            message = "no ssh server runs here and the launcher cannot connect; remove 'command' and 'args'"
            path: tuple[str | int, ...] = (*(found.worker if found else "").split("."), "containers", 0)
            title = "Remove 'command' and 'args', so that the operator starts sshd"
            fixes = fix_of(title, edits_of_keys, manifest, ((*path, "command"), None), ((*path, "args"), None))
            is_waiting = WAITING.issuperset(programs)
            span = value.span if value else place.span
            yield Finding(span, message, fixes if is_waiting else (), field=f"{container.path}.{key}")


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def mpijob_sshd_background(manifest: Manifest) -> Iterator[Finding]:
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
    found = served_layout(manifest)
    for container in found.worker_containers[:1] if found else ():
        if not container.commands or container.place is None:
            continue
        last = container.commands[-1]
        texts = [word.text or "" for word in last.arguments]
        is_sshd = last.program == "sshd" and not any(re.match(r"-[a-zA-Z]*D", text) for text in texts)
        is_service = last.program == "service" and texts[:1] in (["ssh"], ["sshd"])
        is_service = is_service or (last.name.text or "") in {"/etc/init.d/ssh", "/etc/init.d/sshd"}
        if is_sshd or is_service:
            message = "sshd goes to the background, so this container ends at once; use '/usr/sbin/sshd -De'"
            yield Finding(last.name.span, message, field=container.place.field)


@rule(Severity.WARNING, stage=Stage.CLUSTER)
def mpijob_no_worker(manifest: Manifest) -> Iterator[Finding]:
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
    found = served_layout(manifest)
    if found is None or found.works or has_worker(found):
        return
    if manifest.root.entries(*REPLICAS.split(".")):
        yield finding_at(manifest, REPLICAS, "no 'Worker' and no runLauncherAsWorker: the host file is empty")


@rule(Severity.ERROR, stage=Stage.CLUSTER, consequence=Consequence.IGNORED)
def mpijob_unknown_replica(manifest: Manifest) -> Iterator[Finding]:
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
    if manifest.is_served:
        replicas = manifest.root.entries(*REPLICAS.split("."))
        for name, replica in replicas.items():
            if name not in {"Launcher", "Worker"}:
                message = f"'{name}' is stored and never started; the keys are 'Launcher' and 'Worker'"
                key = replica.key
                free = {"Launcher", "Worker"} - set(replicas)
                near = [one for one in sorted(free) if one.lower() in {name.lower(), name.lower().rstrip("s")}]
                fixes = change_fix(key.span, *near, safe=True) if key is not None else ()
                yield finding_at(manifest, f"{REPLICAS}.{name}", message, fixes=fixes)


@rule(Severity.WARNING)
def mpijob_slots_over_gpus(manifest: Manifest) -> Iterator[Finding]:
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
    if (found := worker_gpus(manifest)) and found[0].slots > found[1]:
        message = f"{found[0].slots} slots for {found[1]} GPUs of a worker; processes share a GPU"
        value = manifest.get("spec.slotsPerWorker")
        fixes = number_fix(value.span, found[1]) if value is not None else ()
        yield finding_at(manifest, "spec.slotsPerWorker", message, fixes=fixes)


@rule(Severity.INFORMATION)
def mpijob_slots_under_gpus(manifest: Manifest) -> Iterator[Finding]:
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
    if (found := worker_gpus(manifest)) and 0 < found[0].slots < found[1]:
        message = f"{found[0].slots} slots for {found[1]} GPUs of a worker; one process for each slot"
        if manifest.number("spec.slotsPerWorker") is not None:
            yield finding_at(manifest, "spec.slotsPerWorker", message)
        else:
            yield Finding(found[2], message, field=found[3])


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def mpijob_ssh_path(manifest: Manifest) -> Iterator[Finding]:
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
    found = served_layout(manifest)
    if found is None:
        return
    path = manifest.text("spec.sshAuthMountPath") or "/root/.ssh"
    field = "spec.sshAuthMountPath"
    if not path.startswith("/"):
        yield finding_at(manifest, field, f"'{path}' is not an absolute path; Kubernetes does not expand '~'")
        return
    if path == HOST_FOLDER:
        message = f"the host file is mounted at '{path}'; Kubernetes refuses a pod with two volumes at one path"
        yield finding_at(manifest, field, message)
        return
    users = [user for one in found.launcher_containers[:1] if (user := user_of_launcher(found, one)) is not None]
    if users and users[0] != 0 and path == "/root/.ssh":
        message = f"user {users[0]} cannot read the key in /root/.ssh; set sshAuthMountPath to its home directory"
        yield finding_at(manifest, field, message, Severity.WARNING)
    elif users and users[0] == 0 and path != "/root/.ssh":
        yield finding_at(manifest, field, f"root looks for the key in /root/.ssh, not in {path}", Severity.WARNING)


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def mpijob_mount_taken(manifest: Manifest) -> Iterator[Finding]:
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
    found = served_layout(manifest)
    key = manifest.text("spec.sshAuthMountPath") or "/root/.ssh"
    for name, _, some in found.pods if found else ():
        taken = {key, HOST_FOLDER} if name == "launcher" else {key}
        folders = {one.rstrip("/") for one in taken}
        for container in some[:1]:
            for number, mount in enumerate(container.value.items("volumeMounts")):
                path = mount.get("mountPath")
                if path is None or str(path.content).rstrip("/") not in folders:
                    continue
                field = f"{container.path}.volumeMounts[{number}].mountPath"
                message = f"the operator itself mounts a volume at '{path.content}'"
                if path.content in taken:
                    yield Finding(path.span, message, field=field)
                else:
                    hidden = f"{message}; one hides the other"
                    yield Finding(path.span, hidden, field=field, severity=Severity.WARNING)


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def mpijob_volume_taken(manifest: Manifest) -> Iterator[Finding]:
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
    found = served_layout(manifest)
    for name, path, _ in found.pods if found else ():
        taken = {"ssh-auth", "mpi-job-config"} if name == "launcher" else {"ssh-auth"}
        for number, volume in enumerate(manifest.root.items(*path.split("."), "volumes")):
            one = volume.get("name")
            if one is not None and one.text in taken:
                field = f"{path}.volumes[{number}].name"
                yield Finding(one.span, f"the operator itself adds a volume named '{one.content}'", field=field)


@rule(Severity.WARNING, stage=Stage.CLUSTER)
def mpijob_host_network(manifest: Manifest) -> Iterator[Finding]:
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
    found = served_layout(manifest)
    if found is None or not manifest.flag(f"{found.worker}.hostNetwork"):
        return
    for container in found.worker_containers[:1]:
        sshd = [command for command in container.commands if command.program == "sshd"]
        texts = [word.text or "" for command in sshd for word in command.arguments]
        if (sshd or not container.words) and not any(re.match(r"-[a-zA-Z]*[pf]", text) for text in texts):
            yield finding_at(
                manifest,
                f"{found.worker}.hostNetwork",
                "sshd uses port 22 of the node, which the node's ssh server already uses",
            )


@rule(Severity.WARNING, stage=Stage.CLUSTER, consequence=Consequence.IGNORED)
def mpijob_unknown_policy(manifest: Manifest) -> Iterator[Finding]:
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
    text = manifest.text("spec.launcherCreationPolicy")
    if manifest.is_served and text and text not in {"AtStartup", "WaitForWorkersReady"}:
        message = f"'{text}' is not known and acts as 'WaitForWorkersReady'; the other policy is 'AtStartup'"
        fixes = choice_fixes(manifest.place("spec.launcherCreationPolicy"), ("AtStartup", "WaitForWorkersReady"))
        yield finding_at(manifest, "spec.launcherCreationPolicy", message, fixes=fixes)


@rule(Severity.INFORMATION, stage=Stage.CLUSTER)
def mpijob_wait_without_probe(manifest: Manifest) -> Iterator[Finding]:
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
    found = layout(manifest)
    policy = manifest.text("spec.launcherCreationPolicy")
    if found is None or not (found.is_other or policy not in {None, "", "AtStartup"}):
        return
    for container in found.worker_containers[:1]:
        first = container.commands[0].program if container.commands else "sshd"
        if container.value.get("readinessProbe") is None and first not in {"sshd", "sleep"}:
            field = "spec.workerTemplate" if found.is_other else "spec.launcherCreationPolicy"
            severity = Severity.WARNING if found.is_other else Severity.INFORMATION
            message = (
                "workers count as ready as soon as they start; add a readinessProbe that waits for their ssh server"
            )
            yield finding_at(manifest, field, message, severity)


@rule(Severity.WARNING, stage=Stage.CLUSTER, consequence=Consequence.IGNORED)
def mpijob_restart_policy_ignored(manifest: Manifest) -> Iterator[Finding]:
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
    found = layout(manifest)
    if found is None:
        return
    for name, path, _ in found.pods:
        text = manifest.text(f"{path}.restartPolicy") or None
        replica = ".".join(path.split(".")[:3])
        own = manifest.text(f"{replica}.restartPolicy") or None
        written = {None: "OnFailure" if name == "launcher" else "Never", "ExitCode": "Never"}.get(own, own)
        if found.is_other:
            written = text if name == "launcher" else "Always"
        if text in {None, written}:
            continue
        better = "" if found.is_other or own is not None else "; write it beside 'template'"
        old, new = (*path.split("."), "restartPolicy"), (*replica.split("."), "restartPolicy")
        moves = ((new, text),) if text in {"Never", "OnFailure"} and own is None else ()
        title = "Move it beside 'template'" if moves else "Remove it"
        fixes = fix_of(title, edits_of_keys, manifest, (old, None), *moves) if not found.is_other else ()
        message = f"the operator writes {written} here{better}"
        yield finding_at(manifest, f"{path}.restartPolicy", message, fixes=fixes)


@rule(Severity.INFORMATION, stage=Stage.CLUSTER)
def mpijob_workers_stay(manifest: Manifest) -> Iterator[Finding]:
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
    if worker_gpus(manifest) is None or manifest.text("spec.runPolicy.cleanPodPolicy") not in {None, "None"}:
        return
    path = "spec.runPolicy.cleanPodPolicy"
    while manifest.get(path) is None and "." in path:
        path = path.rpartition(".")[0]
    key = ("spec", "runPolicy", "cleanPodPolicy")
    fixes = fix_of("Add 'cleanPodPolicy: Running'", edits_of_keys, manifest, (key, "Running"))
    message = "the workers keep their GPUs after the job ends; write cleanPodPolicy: Running"
    yield finding_at(manifest, path, message, fixes=fixes)


@rule(Severity.WARNING, stage=Stage.CLUSTER, consequence=Consequence.DIES)
def mpijob_min_available(manifest: Manifest) -> Iterator[Finding]:
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
    found = served_layout(manifest)
    path = "spec.runPolicy.schedulingPolicy.minAvailable"
    number = manifest.number(path)
    if found and number is not None and number > found.workers + 1:
        yield finding_at(
            manifest, path, f"the job has only {found.workers + 1} pods, fewer than {number}, so it never starts"
        )


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def mpijob_image_missing(manifest: Manifest) -> Iterator[Finding]:
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
    for container in all_containers(manifest):
        image = container.value.get("image")
        if image is None or image.content == "":
            yield Finding(
                container.value.span, "this container has no 'image', so no pod can be created", field=container.path
            )


@rule(Severity.ERROR, stage=Stage.CLUSTER)
def mpijob_container_name(manifest: Manifest) -> Iterator[Finding]:
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
    for container in all_containers(manifest):
        name = container.value.get("name")
        text = name.content if name is not None and name.kind == "string" else ""
        if name is not None and text and (len(text) > 63 or not LABEL.fullmatch(text)):
            message = f"'{shortened(text, 60)}' is not a container name; use lower-case letters, digits and '-'"
            yield Finding(name.span, message, field=f"{container.path}.name")


@rule(Severity.WARNING, stage=Stage.CLUSTER)
def mpijob_worker_ends(manifest: Manifest) -> Iterator[Finding]:
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
    found = layout(manifest)
    for container in found.worker_containers[:1] if found and found.is_other else ():
        last = container.commands[-1] if container.commands else None
        place = container.place
        if last is not None and place is not None and last.program not in WAITING and container.script is not None:
            key = "args" if container.value.get("args") else "command"
            value = container.value.get(key)
            if value is not None:
                message = "this script ends, so the worker is started again and again; end it with 'sleep infinity'"
                yield Finding(value.span, message, field=f"{container.path}.{key}")
