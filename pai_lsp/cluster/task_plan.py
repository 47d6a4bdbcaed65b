"""One task as a released OpenPAI cluster runs it: its environment, its scripts, what runs in which order, its mounts.

Nothing runs here. Values that are known only when a task has a node are named by their kind. The plan assumes that the
user may use everything that the job names, and a cluster without HiveD.
Sources: rest-server, models/v2/job/k8s.js and runtime-env.js; openpai-runtime, src/init.d/framework_parser.py,
src/init.d/initializer.py, src/plugins and src/runtime.d/runtime_entry.sh.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.cluster.job_stage import storage_entries
from pai_lsp.cluster.task_environment import port_counts, task_environment
from pai_lsp.embedded.template import TemplateFault
from pai_lsp.expansion.plugin_scripts import HOME, plugin_scripts
from pai_lsp.expansion.released_run import (
    PluginRun,
    RuntimeRole,
    RuntimeStopError,
    after_runtime,
    passed_parameters,
    plugin_folder,
    plugin_runs,
    runtime_job,
    runtime_role,
    server_command,
)
from pai_lsp.platform.clone_options import clone_words
from pai_lsp.platform.platforms import OPENPAI
from pai_lsp.source.foreign import as_mapping, as_whole
from pai_lsp.source.frozen import dataclass, field, replace
from pai_lsp.source.scalar import server_text
from pai_lsp.source.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole

SCRIPTS = "runtime.d"


class NoTaskError(ValueError):
    """The job has no such task, or the cluster refuses it; the message has the reason."""


@dataclass(frozen=True, slots=True)
class PartSource:
    """What makes a task run a script: in words, and where the job says it (in code points)."""

    title: str
    offset: int


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """A task before it has a node.

    failed_step: the step of the first container that ends the task; then there is nothing else.
    environment: variables with known values. later: the others, by their kind: `host-address`, `port`, `ports:N`,
        `addresses-and-http-ports`, `labels-and-ports`, `controller`, `working-directory-of-image`.
    files: by their paths below `HOME`, without the header of the runtime; a name with `/` at its end is a folder.
    order: what runs, in order. mounts: paths and names of volumes. shared_memory: of /dev/shm, in MiB.
    tensorboard: the command and the port of TensorBoard, if the task runs it.
    clones: what the first container passes to `git clone` before the folder `code` in `HOME`.
    sources: what the scripts of plugins come from, by their paths. clone_sources: what the clones come from.
    memory: in MiB; None if the job asks for nothing that can be counted.
    """

    role: TaskRole
    index: int
    image: str
    failed_step: str | None
    failure: str
    environment: dict[str, str] = field(default_factory=dict)
    later: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()
    shared_memory: int = OPENPAI.shared_memory
    clones: tuple[tuple[str, ...], ...] = ()
    tensorboard: tuple[str, str] | None = None
    sources: dict[str, PartSource] = field(default_factory=dict)
    clone_sources: tuple[PartSource, ...] = ()
    memory: int | None = None


def task_plan(job: Job, role_name: str, index: int, user: str, *, shows_secrets: bool) -> TaskPlan:
    """The plan of one task of a job that the rest-server accepts; `index` from 0.

    shows_secrets: whether the values of secrets are filled in as the runtime does it.

    Raises:
        NoTaskError: if the job has no such task, or the rest-server cannot render its commands.
    """
    role = job.task_roles_by_name.get(role_name)
    if role is None or role.resources is None:
        near = did_you_mean(role_name, job.task_roles_by_name)
        raise NoTaskError(f"the job has no task role '{role_name}'{near}")
    if not 0 <= index < role.instances:
        raise NoTaskError(f"'{role_name}' has {role.instances} tasks, so the index is 0 to {role.instances - 1}")
    definition = job.image_of(role)
    image = server_text(job.plain["prerequisites"][job.prerequisites.index(definition)]["uri"]) if definition else ""
    command = server_command(job, role)
    if isinstance(command, TemplateFault):
        raise NoTaskError(command.message)
    step = "ENV_GENERATOR"
    try:
        _check_ports(job, role)
        step = "PLUGIN_INITIALIZER"
        known = runtime_job(job)
        parts = _plugin_parts(job, runtime_role(known, role.name), role.name, index, shows_secrets=shows_secrets)
        step = "RENDER_USER_COMMAND"
        command = after_runtime(command, known.secrets, shows_secrets=shows_secrets)
    except RuntimeStopError as error:
        return TaskPlan(role, index, image, step, str(error))
    files, order = _scripts(parts, command)
    environment, later = task_environment(job, role, index, user)
    written = job.plain["taskRoles"][role.name]
    options = as_mapping(written.get("extraContainerOptions"))
    memory = as_whole(options.get("shmMB")) or job.platform.shared_memory
    return TaskPlan(
        role, index, image, None, "", environment, later, files, order, tuple(_mounts(job)), memory,
        tuple(part.clone for part in parts if part.clone),
        next((part.tensorboard for part in reversed(parts) if part.tensorboard is not None), None),
        {path: part.source for part in parts if part.source is not None for path in part.paths},
        tuple(part.source for part in parts if part.clone and part.source is not None),
        as_whole(written["resourcePerInstance"].get("memoryMB")) or None,
    )  # fmt: skip


def _check_ports(job: Job, role: TaskRole) -> None:
    """Raise RuntimeStopError where a port that every task needs has the count 0.

    With a barrier the runtime asks for the first `http` port of every task; for its own task always for both.
    """
    own = port_counts(role)
    others = (port_counts(other)["http"] for other in job.task_roles)
    if 0 in (own["ssh"], own["http"]) or (job.has_gang_allocation and 0 in others):
        raise RuntimeStopError("the count of the port 'ssh' or 'http' is 0")


@dataclass(frozen=True, slots=True)
class _PluginPart:
    """What one plugin leaves for the task: two scripts, whether it writes a key pair, and what it clones."""

    number: int
    before: str = ""
    after: str = ""
    has_keys: bool = False
    clone: tuple[str, ...] = ()
    tensorboard: tuple[str, str] | None = None
    source: PartSource | None = None

    @property
    def paths(self) -> dict[str, str]:
        """The scripts that are not empty, by their paths: the one before the commands, and the one after them."""
        named = (("pre", self.before), ("post", self.after))
        return {f"{SCRIPTS}/plugin_{kind}{self.number}.sh": script for kind, script in named if script}


def _plugin_parts(job: Job, role: RuntimeRole, role_name: str, index: int, *, shows_secrets: bool) -> list[_PluginPart]:
    known = job.site_plugins.union(job.platform.plugins)
    found: list[_PluginPart] = []
    for number, plugin in enumerate(plugin_runs(role)):
        parameters = passed_parameters(plugin.parameters, role, shows_secrets=shows_secrets)
        name = plugin_folder(str(plugin.name), known)
        if name is None:
            raise RuntimeStopError(f"the runtime has no plugin '{plugin.name}'")
        source = _source(job, job.task_roles_by_name[role_name], plugin, name)
        found.append(replace(_part(job, role, index, number, plugin, name, parameters), source=source))
    return found


def _source(job: Job, role: TaskRole, plugin: PluginRun, name: str) -> PartSource:
    """The definition of a prerequisite, or the entry of a plugin."""
    offset = plugin.span(job, role).start
    if not plugin.is_prerequisite:
        return PartSource(f"runtime plugin '{name}'", offset)
    named = role.prerequisites[plugin.number].name if plugin.number < len(role.prerequisites) else ""
    defined = next((one.node.span.start for one in job.prerequisites if one.name == named), offset)
    return PartSource(f"prerequisite '{named}', plugin '{name}'", defined)


def _part(
    job: Job, role: RuntimeRole, index: int, number: int, plugin: PluginRun, name: str, parameters: Any
) -> _PluginPart:
    if name == "dind":
        return _PluginPart(number)  # it starts a second Docker, which only the cluster has
    policy = plugin.failure_policy
    scripts = plugin_scripts(job, name, parameters, policy, role=role.name, index=index)
    clone: tuple[str, ...] = ()
    if name == "git" and not scripts.fails:
        try:
            clone = _cloned(job, parameters)
        except ValueError:  # an option with an open quote
            scripts.fails = True
    if scripts.fails and policy != "ignore":
        raise RuntimeStopError(f"the plugin '{name}' cannot read its parameters")
    shown = _tensorboard(parameters) if name == "tensorboard" and scripts.pre else None
    return _PluginPart(number, scripts.pre, scripts.post, name == "ssh", clone, shown)


def _tensorboard(parameters: Any) -> tuple[str, str]:
    """The command of the plugin's script for TensorBoard 2, and the port; bash expands variables in both.

    Source: openpai-runtime, src/plugins/tensorboard/init.py and tensorboard.sh.template.
    """
    logs, port = parameters["logdir"], str(parameters["port"])
    named = ",".join(f"{name}:{folder}" for name, folder in logs.items())
    shown = f"--logdir_spec={named}" if len(logs) > 1 else f"--logdir={next(iter(logs.values()))}"
    return f"tensorboard {shown} --port={port}", port


def _cloned(job: Job, parameters: Any) -> tuple[str, ...]:
    """What is passed to `git clone`. Source: GitPython, git/repo/base.py, Repo.clone_from."""
    words = clone_words(list(parameters.get("options") or ()), as_shell=job.platform.git_splits_as_shell)
    return (*(word.text for word in words), "--", str(parameters["repo_uri"]))


def _scripts(parts: list[_PluginPart], command: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The files of the task, and what runs in order."""
    files: dict[str, str] = {}
    before: list[str] = []
    after: list[str] = []
    for part in parts:
        for path, script in part.paths.items():
            files[path] = script
            (after if path.startswith(f"{SCRIPTS}/plugin_post") else before).append(f"/bin/bash {HOME}/{path}")
        if part.has_keys:
            files["ssh-secret/"] = "key pair of the user for jobs"
    after.reverse()
    files[f"{SCRIPTS}/precommands.sh"] = "\n".join(before)
    files[f"{SCRIPTS}/user.sh"] = command
    files[f"{SCRIPTS}/postcommands.sh"] = "\n".join(after)
    order = (
        f"source {SCRIPTS}/runtime_env.sh", f"{SCRIPTS}/precommands.sh", *before, f"{SCRIPTS}/user.sh",
        f"{SCRIPTS}/postcommands.sh", *after,
    )  # fmt: skip
    return files, order


def _mounts(job: Job) -> Iterator[tuple[str, str]]:
    yield "/dev/shm", "dshm"  # noqa: S108 - a path in the container
    yield HOME, "pai-vol"
    yield f"{HOME}/logs", "host-log"
    entries, _ = storage_entries(job.plain)
    for one in entries if isinstance(entries, list) else ():
        if name := as_mapping(one).get("name"):
            yield str(one.get("mountPath") or f"/mnt/{name}"), f"{name}-volume"
    if job.plain.get("secrets"):
        yield f"{HOME}/secrets", "job-secrets"
    yield f"{HOME}/user-extension-secrets", "user-extension-secrets"
