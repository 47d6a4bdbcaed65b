"""Converts an OpenPAI job with mpirun, mpiexec or horovodrun to an MPIJob of kubeflow.org/v2beta1.

Sources: kubeflow/mpi-operator v0.8.2, pkg/controller/mpi_job_controller.go and pkg/apis/kubeflow/validation;
rest-server, src/models/v2/job/k8s.js; openpai-runtime, src/plugins/ssh.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.embedded.command_lines import command_lines
from pai_lsp.embedded.server_rendering import rendered, trim
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.template import TemplateFault
from pai_lsp.expansion.released_run import server_values
from pai_lsp.mpijob.conversion import ConversionError, Converted, others_lost
from pai_lsp.mpijob.manifest import GPU, HOST_FILE, SERVED
from pai_lsp.platform.programs import HYDRA, THIS_HOST, hosts_of, launch_of, launchers
from pai_lsp.platform.tables import RUNTIME_PLUGIN
from pai_lsp.source.foreign import as_list, as_mapping, as_whole, whole_number
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from typing import Any

    from pai_lsp.embedded.command_lines import CommandLine
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.platform.programs import LaunchLine

_UNKNOWN = "an MPIJob has no such key"
_BASH = ["/bin/bash", "-euo", "pipefail", "-c"]
_PAI = lazy_pattern(r"\bPAI_[A-Z]")
_INTEL = lazy_pattern(r"\bI_MPI_|intel|impi|oneapi", 2)  # re.IGNORECASE
_NOT_IN_NAMES = lazy_pattern(r"[^a-z0-9]")
_LONGEST_NAME = 50
_TOP = ("protocolVersion", "name", "type", "jobRetryCount", "prerequisites", "taskRoles", "parameters", "defaults")
_ROLE = ("instances", "completion", "taskRetryCount", "dockerImage", "resourcePerInstance", "extraContainerOptions")
_STORAGE = "teamwise_storage"


def job_to_manifest(job: Job) -> Converted:
    """The job as an MPIJob, with its parameters filled in.

    Raises:
        ConversionError: if it is not a job, or an MPIJob cannot do the same.
    """
    if job.syntax.problems or not isinstance(job.plain, dict) or not job.task_roles or job.plain.get("jobName"):
        raise ConversionError("not-a-job", "this is not a job of protocol version 2 with task roles")
    return _JobReader(job).converted()


class _JobReader:
    """Reads one job."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._values: dict[str, Any] = job.plain
        self._lost: dict[str, str] = {}
        self._scripts = {role.name: _script(job, role) for role in job.task_roles}

    def converted(self) -> Converted:
        launcher, lines = self._launcher()
        launches = [launch_of(line) for line in lines]
        tasks, slots = self._hosts(launcher, launches)
        names = sorted({role for role, _ in tasks} - {launcher.name})
        if len(names) > 1:
            raise ConversionError("several-worker-roles", f"the launcher uses several roles: {', '.join(names)}")
        worker = next((role for role in self._job.task_roles if role.name in names), None)
        if worker is not None and sum(role == worker.name for role, _ in tasks) < worker.instances:
            message = f"the launcher does not use all instances of '{worker.name}'"
            raise ConversionError("not-all-workers-listed", message)
        is_hydra = any(launch.implementation == HYDRA for launch in launches)
        command = self._launcher_command(self._scripts[launcher.name], lines, worker, is_hydra=is_hydra)
        storages, plugins = self._plugins()
        replicas = {"Launcher": {"replicas": 1, "template": self._template(launcher, "launcher", command, storages)}}
        uses_retries = False
        if worker is not None:
            command = _worker_command(worker.name, self._scripts[worker.name])
            template = self._template(worker, "worker", command, storages)
            replicas["Worker"] = {"replicas": worker.instances, "template": template}
            gang = as_mapping(self._values.get("extras")).get("gangAllocation")
            uses_retries = (gang is False or gang == "false") and bool(self._role(worker).get("taskRetryCount"))
            if uses_retries:
                replicas["Worker"]["restartPolicy"] = "OnFailure"
        retries = self._values.get("jobRetryCount")
        spec: dict[str, Any] = {
            "slotsPerWorker": slots or self._gpus(launcher) or 1,
            "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": as_whole(retries) or 0},
        }
        if not tasks or any(role == launcher.name for role, _ in tasks):
            spec["runLauncherAsWorker"] = True
        barrier = plugins.get("sshbarrier")
        if barrier is True or barrier == "true":
            spec["launcherCreationPolicy"] = "WaitForWorkersReady"
        if is_hydra:
            text = self._scripts[launcher.name] + str(self._image(launcher)[1])
            spec["mpiImplementation"] = "Intel" if _INTEL.search(text) else "MPICH"
        spec["mpiReplicaSpecs"] = replicas
        self._others(launcher, worker, uses_retries=uses_retries)
        metadata = {"name": _name(str(self._values.get("name") or "job"))}
        return Converted({"apiVersion": SERVED, "kind": "MPIJob", "metadata": metadata, "spec": spec}, self._lost)

    def _launcher(self) -> tuple[TaskRole, list[CommandLine]]:
        found = {}
        for role in self._job.task_roles:
            lines = command_lines(read_script(self._scripts[role.name])).all
            if launches := [line for line in lines if line.program in launchers()]:
                found[role.name] = (role, launches)
        if not found:
            raise ConversionError("no-launcher", "no task role runs mpirun, mpiexec or horovodrun")
        if len(found) > 1:
            raise ConversionError("several-launchers", f"several task roles start MPI programs: {', '.join(found)}")
        role, launches = next(iter(found.values()))
        if role.instances != 1:
            message = f"'{role.name}' starts the MPI program in each of its {role.instances} instances"
            raise ConversionError("launcher-instances", message)
        return role, launches

    def _hosts(self, launcher: TaskRole, launches: list[LaunchLine]) -> tuple[set[tuple[str, int]], int]:
        """The tasks that a launcher starts ranks on, (role, index), and the slots of each; none if it names none."""
        tasks: set[tuple[str, int]] = set()
        slots: set[int] = set()
        for launch in launches:
            if launch.host_files:
                raise ConversionError("unknown-host", "the hosts are in a file; write them with -H")
            for option in launch.host_lists:
                hosts = hosts_of(option)
                if option.value is None:
                    raise ConversionError("unknown-host", "the hosts are not written as text; list them")
                if hosts is None:
                    raise ConversionError("unequal-slots", f"in '{option.value}' the number of slots is not a number")
                slots |= {host.slots or 1 for host in hosts}
                tasks |= {self._task(host.name) for host in hosts if host.name not in THIS_HOST}
        if len(slots) > 1:
            raise ConversionError("unequal-slots", "the hosts have different numbers of slots")
        alone = max(launch.processes or 0 for launch in launches) or self._gpus(launcher)
        return tasks, next(iter(slots)) if tasks else alone

    def _task(self, host: str) -> tuple[str, int]:
        name, _, index = host.rpartition("-")
        for role in self._job.task_roles:
            number = whole_number(index)
            if role.name == name and number is not None and number < role.instances:
                return name, number
        raise ConversionError("unknown-host", f"'{host}' is not a task of this job")

    def _launcher_command(
        self, text: str, lines: list[CommandLine], worker: TaskRole | None, *, is_hydra: bool
    ) -> dict[str, Any]:
        option = f"-f {HOST_FILE}" if is_hydra else f"--hostfile {HOST_FILE}"
        for line in reversed(lines):
            for one in reversed(launch_of(line).host_lists):
                before, after = text[: one.span.start], text[one.end :]
                text = before.rstrip(" \t") + after if worker is None else before + option + after
        words = _plain_words(text)
        return {"command": words} if words else {"command": list(_BASH), "args": [text]}

    def _template(
        self, role: TaskRole, name: str, command: dict[str, Any], storages: list[tuple[str, str]]
    ) -> dict[str, Any]:
        path, values = f"taskRoles.{role.name}", self._role(role)
        number, image = self._image(role)
        if not isinstance(image, str) or not image:
            raise ConversionError("image-missing", f"'{role.name}' has no Docker image")
        if self._values["prerequisites"][number].get("auth"):
            self._lost[f"prerequisites[{number}].auth"] = "write it as an imagePullSecret of the namespace"
        resources = as_mapping(values.get("resourcePerInstance"))
        options = as_mapping(values.get("extraContainerOptions"))
        memory = resources.get("memoryMB") and f"{resources['memoryMB']}Mi"
        amounts = {"cpu": resources.get("cpu"), "memory": memory, GPU: resources.get("gpu")}
        limits: dict[str, Any] = {name: amount for name, amount in amounts.items() if amount}
        container: dict[str, Any] = {"name": name, "image": image}
        if options.get("infiniband") is True:
            container["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
            limits["rdma/hca"] = 1
        if limits:
            container["resources"] = {"limits": limits}
        size = f"{options.get('shmMB') or self._job.platform.shared_memory}Mi"
        volumes: list[dict[str, Any]] = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": size}}]
        mounts = [{"name": "shm", "mountPath": "/dev/shm"}]  # noqa: S108 - where containers have their shared memory
        for at, (claim, place) in enumerate(storages):
            volumes.append({"name": f"storage-{at}", "persistentVolumeClaim": {"claimName": claim}})
            mounts.append({"name": f"storage-{at}", "mountPath": place})
        container |= {"volumeMounts": mounts, **command}
        if resources.get("ports"):
            self._lost[f"{path}.resourcePerInstance.ports"] = "an MPIJob gives no ports to tasks"
        known = ("cpu", "memoryMB", "gpu", "ports")
        self._lost |= others_lost(resources, known, f"{path}.resourcePerInstance.", _UNKNOWN)
        self._lost |= others_lost(options, ("infiniband", "shmMB"), f"{path}.extraContainerOptions.", _UNKNOWN)
        if _PAI.search(self._scripts[role.name]):
            self._lost[f"{path}.commands"] = "variables PAI_… are not set in an MPIJob"
        self._lost |= others_lost(values, (*_ROLE, "commands"), f"{path}.", _UNKNOWN)
        return {"spec": {"containers": [container], "volumes": volumes}}

    def _plugins(self) -> tuple[list[tuple[str, str]], dict[str, Any]]:
        """The storages as claim and place, and the parameters of the ssh plugin."""
        extras = as_mapping(self._values.get("extras"))
        written = extras.get("storages")
        storages: list[tuple[str, str]] = []
        ssh: dict[str, Any] = {}
        for number, entry in enumerate(map(as_mapping, as_list(written))):
            claim = entry.get("name")
            path = f"extras.storages[{number}]"
            if isinstance(claim, str) and claim:
                storages.append((claim, str(entry.get("mountPath") or f"/mnt/{claim}")))
                self._lost |= others_lost(entry, ("name", "mountPath"), f"{path}.", _UNKNOWN)
            else:
                self._lost[path] = "it does not name a storage"
        for number, entry in enumerate(map(as_mapping, as_list(extras.get(RUNTIME_PLUGIN)))):
            path, parameters = f"extras.{RUNTIME_PLUGIN}[{number}]", as_mapping(entry.get("parameters"))
            if entry.get("plugin") == "ssh":
                ssh |= parameters
                reason = "the operator sets up ssh itself"
                self._lost |= others_lost(parameters, ("jobssh", "sshbarrier"), f"{path}.parameters.", reason)
            elif entry.get("plugin") == _STORAGE and written is None:
                claims = [one for one in as_list(parameters.get("storageConfigNames")) if isinstance(one, str)]
                storages += [(one, f"/mnt/{one}") for one in claims]
            else:
                self._lost[path] = "the operator has no such plugin"
        known = (RUNTIME_PLUGIN, "storages", "gangAllocation")
        self._lost |= others_lost(extras, known, "extras.", _UNKNOWN)
        return storages, ssh

    def _others(self, launcher: TaskRole, worker: TaskRole | None, *, uses_retries: bool) -> None:
        self._lost |= others_lost(self._values, (*_TOP, "extras"), "", _UNKNOWN)
        defaults = as_mapping(self._values.get("defaults"))
        self._lost |= others_lost(defaults, ("deployment",), "defaults.", _UNKNOWN)
        roles = [launcher] if worker is None else [launcher, worker]
        for role in self._job.task_roles:
            if role.name not in {one.name for one in roles}:
                self._lost[f"taskRoles.{role.name}"] = "the launcher does not use this role"
        used = {self._image(role)[0] for role in roles}
        for number, _ in enumerate(as_list(self._values.get("prerequisites"))):
            if number not in used:
                self._lost[f"prerequisites[{number}]"] = "only images of the two roles can be kept"
        for role in roles:
            if self._role(role).get("taskRetryCount") and not (uses_retries and role is worker):
                reason = "the operator restarts a launcher by spec.runPolicy.backoffLimit alone"
                self._lost[f"taskRoles.{role.name}.taskRetryCount"] = reason
        completion = as_mapping(self._role(roles[-1]).get("completion")) if worker is not None else {}
        for name in ("minFailedInstances", "minSucceededInstances"):
            value = completion.get(name)
            if isinstance(value, int) and (value >= 1 if name == "minFailedInstances" else value != -1):
                path = f"taskRoles.{roles[-1].name}.completion.{name}"
                self._lost[path] = "the launcher alone decides about an MPIJob"

    def _role(self, role: TaskRole) -> dict[str, Any]:
        return as_mapping(as_mapping(self._values.get("taskRoles")).get(role.name))

    def _gpus(self, role: TaskRole) -> int:
        number = as_mapping(self._role(role).get("resourcePerInstance")).get("gpu")
        return as_whole(number) or 0

    def _image(self, role: TaskRole) -> tuple[int, Any]:
        """The index of a role's image among the prerequisites, and its address; -1 and None without one."""
        name = self._role(role).get("dockerImage")
        for number, entry in enumerate(map(as_mapping, as_list(self._values.get("prerequisites")))):
            if entry.get("type") == "dockerimage" and entry.get("name") == name:
                return number, entry.get("uri")
        return -1, None


def _script(job: Job, role: TaskRole) -> str:
    """The commands of a role with the parameters filled in, without those of deployments."""
    source = "\n".join(trim(scalar.text) for scalar in role.commands)
    text = rendered(source, server_values(job, role))
    if isinstance(text, TemplateFault):
        raise ConversionError("not-a-job", f"the commands of '{role.name}' cannot be filled in: {text.message}")
    return text


def _worker_command(name: str, text: str) -> dict[str, Any]:
    wait = read_script(text).last_wait
    if wait is None:
        message = f"'{name}' does not end with 'sleep infinity', so its tasks would end before the launcher"
        raise ConversionError("worker-ends", message)
    before = text[: wait.words[0].span.start]
    if not before.strip():
        return {}
    return {"command": list(_BASH), "args": [f"{before}exec /usr/sbin/sshd -De"]}


def _plain_words(text: str) -> list[str]:
    """The words of a script that is one launch line without anything that needs a shell; else none."""
    line, *others = command_lines(read_script(text)).all
    words = (line.name, *line.arguments)
    is_launch = line.program in launchers() and not line.wrappers and line.span == Span(0, len(text))
    if others or not is_launch or not all(word.is_literal for word in words):
        return []
    # Kubernetes fills `$(NAME)` in words; `$$` is its escape.
    return [word.text.replace("$(", "$$(") for word in words]


def _name(name: str) -> str:
    """A name that Kubernetes accepts and that is short enough for the names of the pods."""
    text = _NOT_IN_NAMES.sub("-", name.lower())
    if not text[:1].isalpha():
        text = f"job-{text}"
    return text[:_LONGEST_NAME].rstrip("-")
