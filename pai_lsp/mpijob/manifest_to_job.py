"""Converts an MPIJob of kubeflow.org/v2beta1 to an OpenPAI job: a launcher, and workers that it reaches by ssh.

Sources: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go; openpai-runtime, src/plugins/ssh;
rest-server, src/config/v2/schema.js.
"""

from __future__ import annotations

import shlex
from math import ceil
from typing import TYPE_CHECKING

from pai_lsp.embedded.command_lines import command_lines
from pai_lsp.embedded.shell import read_script
from pai_lsp.mpijob.conversion import ConversionError, Converted, others_lost, upgraded
from pai_lsp.mpijob.launch import SHELLS
from pai_lsp.mpijob.manifest import GPU, HOST_FOLDER, SERVED, quantity
from pai_lsp.platform.programs import HOROVOD, HYDRA, OPEN_MPI, launch_of, launchers, looks_like
from pai_lsp.platform.tables import RUNTIME_PLUGIN
from pai_lsp.source.foreign import as_list, as_mapping, as_text, as_whole
from pai_lsp.source.frozen import dataclass, field
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span, TextEdit, apply_edits

if TYPE_CHECKING:
    from typing import Any

    from pai_lsp.embedded.command_lines import CommandLine

_UNKNOWN = "an OpenPAI job has no such key"
_VARIABLE = lazy_pattern(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_SPECIAL = lazy_pattern(r'[\\"$`]')
_ROOT = "--allow-run-as-root"
_ROOT_VARIABLES = frozenset({"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
_LASTS = "sleep infinity"
_SHM = "/dev/shm"  # noqa: S108 - where containers have their shared memory
_LOCK = {"capabilities": {"add": ["IPC_LOCK"]}}
_MEGABYTE = 1 << 20
_MOST_WORKERS = 10_000  # the launch line lists each of them
_CONTAINER = ("name", "image", "command", "args", "env", "resources", "volumeMounts")


def manifest_to_job(manifest: dict[str, Any]) -> Converted:
    """The manifest as an OpenPAI job; one of an older version is upgraded first.

    Raises:
        ConversionError: if it is not an MPIJob, or a job cannot do the same.
    """
    lost: dict[str, str] = {}
    if manifest.get("apiVersion") != SERVED:
        older = upgraded(manifest)
        manifest, lost = older.result, older.lost
    spec, metadata = as_mapping(manifest.get("spec")), as_mapping(manifest.get("metadata"))
    if not spec:
        raise ConversionError("not-an-mpijob", "this is not an MPIJob with a 'spec'")
    reader = _ManifestReader(spec, metadata, lost)
    return Converted(reader.job(), lost, reader.comments)


@dataclass(slots=True)
class _Pod:
    """The part of a job that a replica becomes: its image, commands before its own, and the rest of its task role."""

    path: str
    container: dict[str, Any]
    image: str
    exports: list[str]
    role: dict[str, Any]
    names: frozenset[str] = field(default_factory=frozenset)


class _ManifestReader:
    """Reads one manifest."""

    def __init__(self, spec: dict[str, Any], metadata: dict[str, Any], lost: dict[str, str]) -> None:
        self._spec, self._metadata, self._lost = spec, metadata, lost
        self._storages: list[dict[str, str]] = []
        self.comments: list[str] = []
        self._name = str(metadata.get("name") or metadata.get("generateName") or "mpijob").strip("-")
        self._is_mpich = as_text(spec.get("mpiImplementation")) in {"Intel", "MPICH"}
        slots = as_whole(spec.get("slotsPerWorker"))
        self._slots = 1 if slots is None else slots
        self._works = spec.get("runLauncherAsWorker") is True
        self._workers = 0

    def job(self) -> dict[str, Any]:
        replicas = as_mapping(self._spec.get("mpiReplicaSpecs"))
        launcher = self._pod(replicas, "Launcher", "OnFailure")
        if launcher is None:
            raise ConversionError("launcher-without-command", "the manifest has no launcher")
        worker = self._pod(replicas, "Worker", "Never")
        if worker is not None:
            self._workers = as_whole(as_mapping(replicas["Worker"]).get("replicas")) or 0
            if self._workers < 1:
                message = "'spec.mpiReplicaSpecs.Worker.replicas' is missing or 0"
                raise ConversionError("worker-replicas-missing", message)
            if self._workers > _MOST_WORKERS:
                message = f"{self._workers} workers cannot be listed as hosts"
                raise ConversionError("too-many-workers", message)
        retries = self._policy()
        self._others(replicas)
        job: dict[str, Any] = {"protocolVersion": 2, "name": self._name.replace(".", "-"), "type": "job"}
        if retries is not None:
            job["jobRetryCount"] = retries
        images = {"image": launcher.image}
        if worker is not None and worker.image != launcher.image:
            images = {"launcher_image": launcher.image, "worker_image": worker.image}
        job["prerequisites"] = [{"type": "dockerimage", "name": name, "uri": uri} for name, uri in images.items()]
        commands = [*launcher.exports, *self._launcher_commands(launcher)]
        roles = {"launcher": _role(1, 1, next(iter(images)), launcher.role, commands)}
        if worker is not None:
            commands = [*worker.exports, *_worker_commands(worker)]
            roles["worker"] = _role(self._workers, -1, list(images)[-1], worker.role, commands)
        job["taskRoles"] = roles
        ssh = {"plugin": "ssh", "parameters": {"jobssh": True, "sshbarrier": True}}
        extras: dict[str, Any] = {} if worker is None else {RUNTIME_PLUGIN: [ssh]}
        extras |= {"storages": self._storages} if self._storages else {}
        return job | ({"extras": extras} if extras else {})

    def _policy(self) -> int | None:
        policy = as_mapping(self._spec.get("runPolicy"))
        known = ["backoffLimit", "cleanPodPolicy"] + ["suspend"] * (policy.get("suspend") is False)
        self._lost |= others_lost(policy, known, "spec.runPolicy.", _UNKNOWN)
        if policy.get("cleanPodPolicy") == "None":
            self._lost["spec.runPolicy.cleanPodPolicy"] = "OpenPAI ends all tasks with the job"
        return as_whole(policy.get("backoffLimit"))

    def _others(self, replicas: dict[str, Any]) -> None:
        self._lost |= others_lost(self._metadata, ("name",), "metadata.", _UNKNOWN)
        known = ["slotsPerWorker", "runLauncherAsWorker", "launcherCreationPolicy", "mpiImplementation", "runPolicy"]
        known.append("mpiReplicaSpecs")
        if as_text(self._spec.get("sshAuthMountPath")) in {"/root/.ssh", ""}:
            known.append("sshAuthMountPath")
        self._lost |= others_lost(self._spec, known, "spec.", _UNKNOWN)
        reason = "the operator knows only Launcher and Worker"
        self._lost |= others_lost(replicas, ("Launcher", "Worker"), "spec.mpiReplicaSpecs.", reason)

    def _pod(self, replicas: dict[str, Any], name: str, restarts: str) -> _Pod | None:
        replica = as_mapping(replicas.get(name))
        if not replica:
            return None
        path = f"spec.mpiReplicaSpecs.{name}"
        known = ["replicas", "template"]
        if as_text(replica.get("restartPolicy")) in {restarts, ""}:
            known.append("restartPolicy")
        self._lost |= others_lost(replica, known, f"{path}.", "OpenPAI restarts jobs and tasks by its own rules")
        template = as_mapping(replica.get("template"))
        self._lost |= others_lost(template, ("spec",), f"{path}.template.", _UNKNOWN)
        pod = as_mapping(template.get("spec"))
        path = f"{path}.template.spec"
        self._lost |= others_lost(pod, ("containers", "volumes"), f"{path}.", "a task has no such key")
        containers = [as_mapping(one) for one in as_list(pod.get("containers"))]
        for number in range(1, len(containers)):
            self._lost[f"{path}.containers[{number}]"] = "a task has one container"
        container = containers[0] if containers else {}
        path = f"{path}.containers[0]"
        image = container.get("image")
        if not isinstance(image, str) or not image:
            raise ConversionError("image-missing", f"'{path}.image' is missing")
        exports, names = self._environment(container, path)
        resources, has_rdma = self._resources(container, path)
        options: dict[str, Any] = {"infiniband": True} if has_rdma else {}
        options |= self._mounts(container, pod, path)
        role = {"resourcePerInstance": resources} | ({"extraContainerOptions": options} if options else {})
        known = list(_CONTAINER)
        if not container.get("securityContext") or (has_rdma and container["securityContext"] == _LOCK):
            known.append("securityContext")
        self._lost |= others_lost(container, known, f"{path}.", "a task has no such key")
        return _Pod(path, container, image, exports, role, frozenset(names))

    def _environment(self, container: dict[str, Any], path: str) -> tuple[list[str], list[str]]:
        exports, names = [], []
        for number, entry in enumerate(map(as_mapping, as_list(container.get("env")))):
            if entry.get("valueFrom") is not None:
                self._lost[f"{path}.env[{number}]"] = "only values that are written in the manifest can be kept"
                continue
            names.append(str(entry.get("name")))
            exports.append(f"export {entry.get('name')}={_quoted(str(entry.get('value') or ''))}")
        return exports, names

    def _resources(self, container: dict[str, Any], path: str) -> tuple[dict[str, int], bool]:
        groups = as_mapping(container.get("resources"))
        limits, requests = as_mapping(groups.get("limits")), as_mapping(groups.get("requests"))
        amounts = requests | limits
        has_rdma = False
        for name in amounts:
            is_rdma = name.startswith("rdma/")
            has_rdma = has_rdma or (is_rdma and _amount(amounts[name], 0) > 0)
            if not is_rdma and name not in {"cpu", "memory", GPU}:
                group = "limits" if name in limits else "requests"
                self._lost[f"{path}.resources.{group}.{name}"] = "a task has no such resource"
        self._lost |= others_lost(groups, ("limits", "requests"), f"{path}.resources.", "a task has no such key")
        found = {
            "cpu": max(1, ceil(_amount(amounts.get("cpu"), 1))),
            "memoryMB": max(1, ceil(_amount(amounts.get("memory"), 1024 * _MEGABYTE) / _MEGABYTE)),
            "gpu": ceil(_amount(amounts.get(GPU), 0)),
        }
        return found, has_rdma

    def _mounts(self, container: dict[str, Any], pod: dict[str, Any], path: str) -> dict[str, int]:
        volumes = {as_text(one.get("name")): one for one in map(as_mapping, as_list(pod.get("volumes")))}
        options: dict[str, int] = {}
        for number, mount in enumerate(map(as_mapping, as_list(container.get("volumeMounts")))):
            volume, place = volumes.get(as_text(mount.get("name")), {}), mount.get("mountPath")
            claim = as_mapping(volume.get("persistentVolumeClaim")).get("claimName")
            memory = as_mapping(volume.get("emptyDir"))
            where = f"{path}.volumeMounts[{number}]"
            if claim and place:
                storage = {"name": str(claim), "mountPath": str(place)}
                if storage not in self._storages:
                    self._storages.append(storage)
                self._lost |= others_lost(mount, ("name", "mountPath"), f"{where}.", "a storage has no such key")
            elif place == _SHM and memory.get("medium") == "Memory" and memory.get("sizeLimit") is not None:
                options["shmMB"] = max(1, ceil(_amount(memory["sizeLimit"], _MEGABYTE) / _MEGABYTE))
            else:
                self._lost[where] = "only volume claims and sized shared memory can be mounted"
        return options

    def _launcher_commands(self, pod: _Pod) -> list[str]:
        text = _script(pod)
        if text is None:
            message = "the launcher has no command; what its image starts is not known"
            raise ConversionError("launcher-without-command", message)
        launches = [line for line in command_lines(read_script(text)).all if line.program in launchers()]
        if not launches:
            raise ConversionError("no-starter", "the launcher runs no mpirun, mpiexec or horovodrun")
        for line in reversed(launches):
            text = self._with_hosts(text, line, allows_root=pod.names >= _ROOT_VARIABLES)
        # Most images of OpenPAI have Open MPI, and nothing else in the job would show another implementation.
        is_open = self._is_mpich and any(line.program in {"mpirun", "mpiexec"} for line in launches)
        if is_open and "-hosts" in text and not looks_like(HYDRA, (text, pod.image, *pod.exports)):
            name = as_text(self._spec.get("mpiImplementation"))
            self.comments.append(f"pai-lsp: ignore-file[mpi-option-unknown] the image has {name}")
        if HOST_FOLDER in text:
            key = "args" if pod.container.get("args") else "command"
            self._lost[f"{pod.path}.{key}"] = f"it uses a file below {HOST_FOLDER}, which is not there"
        return _lines(text)

    def _with_hosts(self, text: str, line: CommandLine, *, allows_root: bool) -> str:
        """The script with the tasks' names in place of the operator's host file in one launch line."""
        launch = launch_of(line, HYDRA if self._is_mpich else OPEN_MPI)
        names = ["launcher-0"] * self._works + [f"worker-{number}" for number in range(self._workers)]
        hosts = ",".join(f"{name}:{self._slots}" for name in names)
        is_horovod = launch.implementation == HOROVOD
        option = "-hosts" if self._is_mpich and not is_horovod else "-H"
        edits = [TextEdit(Span(len(text[: one.span.start].rstrip(" \t")), one.end), "") for one in launch.host_files]
        for one in launch.host_lists:
            if one.value is not None and one.value_span is not None:
                renamed = ",".join(map(self._task_host, one.value.split(",")))
                written = text[one.value_span.start : one.end]
                edits.append(TextEdit(one.value_span, written.replace(one.value, renamed)))
        front = "" if self._is_mpich or is_horovod or allows_root or launch.allows_root else f" {_ROOT}"
        if names and not launch.host_lists:
            if launch.counts:
                count = launch.counts[0].end
                edits.append(TextEdit(Span(count, count), f" {option} {hosts}"))
            else:
                front = f" -np {len(names) * self._slots} {option} {hosts}{front}"
        start = line.name.span.end
        return apply_edits(text, [*edits, TextEdit(Span(start, start), front)])

    def _task_host(self, item: str) -> str:
        host, colon, slots = item.partition(":")
        short = host.partition(".")[0].removeprefix(f"{self._name}-")
        return (f"{short}-0" if short == "launcher" else short) + colon + slots


def _script(pod: _Pod) -> str | None:
    """What a container runs as one script; None if the image decides."""
    words = [str(one) for key in ("command", "args") for one in as_list(pod.container.get(key))]
    if not words:
        return None
    if words[0].rpartition("/")[2] in SHELLS and len(words) > 2:
        options = words[1:-1]
        # All words before the script are options; `pipefail` is the value of `-o`.
        if options[-1].endswith("c") and all(one.startswith("-") or one == "pipefail" for one in options):
            known = pod.names
            return _VARIABLE.sub(lambda match: f"${{{match[1]}}}" if match[1] in known else match[0], words[-1])
    return " ".join(map(_quoted, words))


def _worker_commands(pod: _Pod) -> list[str]:
    text = _script(pod)
    if text is None:
        return [_LASTS]
    lines = command_lines(read_script(text)).all
    server = next((line for line in lines if _starts_ssh(line)), None)
    if server is None:
        message = "the worker runs no ssh server, so the launcher cannot start processes on it"
        raise ConversionError("worker-without-sshd", message)
    steps = [(line.step, line.step.command) for line in lines if line.step.command is not None]
    # Each line of a task role must succeed, as each part of `a && b` must; in other scripts `&&` means more.
    is_plain = not any(
        command.keyword or step.is_subshell or command.operator in {"||", "|", "&"} for step, command in steps
    )
    edits = []
    for line in lines:
        words = line.step.command.words if line.step.command else ()
        start = words[0].span.start if words else line.span.start
        if line is server:
            stays = line is lines[-1] or any(text.startswith("-D") for text in line.texts)
            edits.append(TextEdit(Span(start, line.span.end), _LASTS if stays else "true"))
        if is_plain and line.step.command and line.step.command.operator == "&&":
            edits.append(TextEdit(Span(text.rindex("&&", 0, start), start), "\n"))
    return [line for line in _lines(apply_edits(text, edits)) if line.strip() != "true"]


def _starts_ssh(line: CommandLine) -> bool:
    is_service = line.program == "service" and line.texts[:2] in {("ssh", "start"), ("sshd", "start")}
    return line.program == "sshd" or is_service


def _lines(text: str) -> list[str]:
    """A script as commands of a task role; one with words of several lines stays as it is."""
    text = text.strip("\n")
    commands = read_script(text).commands
    if "<<" in text or any("\n" in word.text for command in commands for word in command.words):
        return [text]
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def _role(instances: int, completion: int, image: str, rest: dict[str, Any], commands: list[str]) -> dict[str, Any]:
    counts = {"minFailedInstances": completion, "minSucceededInstances": completion}
    return {"instances": instances, "completion": counts, "dockerImage": image, **rest, "commands": commands}


def _quoted(word: str) -> str:
    """A word for bash, with the variables that Kubernetes fills."""
    if not _VARIABLE.search(word):
        return shlex.quote(word)
    parts = _VARIABLE.split(word)
    found = (f"${{{one}}}" if at % 2 else _SPECIAL.sub(r"\\\g<0>", one) for at, one in enumerate(parts))
    return '"' + "".join(found) + '"'


def _amount(value: Any, default: float) -> float:
    """A quantity of Kubernetes as a number."""
    found = None if value is None else quantity(str(value))
    return default if found is None else found
