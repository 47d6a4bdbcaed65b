"""What a released cluster runs when a job is submitted as it is: scripts before and after, and the command, by role.

The rest-server renders the commands, the runtime writes the scripts of the `cmd` plugin; both read the file in their
own way, and extended features are ignored as they ignore them. Only what ends the task is reported. References to
secrets stay as they are written unless the caller asks for their values.
Sources: rest-server, src/middlewares/v2/protocol.js; openpai-runtime, src/init.d/initializer.py.
"""

from __future__ import annotations

from functools import partial

from pai_lsp.embedded.server_rendering import member, rendered, trim
from pai_lsp.embedded.template import MISSING, OPENING, TemplateFault
from pai_lsp.expansion.as_is.runtime_plugins import cmd_scripts, names_secret, with_references_filled
from pai_lsp.expansion.as_is.runtime_reading import (
    RuntimeJob,
    RuntimeRole,
    RuntimeStopError,
    after_runtime,
    runtime_job,
    runtime_role,
)
from pai_lsp.job.plugin_parameters import NOT_PARAMETERS, runtime_round_trip
from pai_lsp.platform.tables import PLUGIN_PREFIX, ROLE_TYPES, RUNTIME_PLUGIN
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole


@dataclass(frozen=True, slots=True)
class RoleRun:
    """What runs in each task of a role: one script for each plugin that has commands, in order, around the command.

    platform: the names of the other plugins, whose scripts only the platform knows; they run among the first scripts.
    """

    pre: tuple[str, ...]
    command: str
    post: tuple[str, ...]
    platform: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a role never starts: the rest-server fails to render it, or the task ends before its first command."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class ReleasedRun:
    """What runs, by task role in written order; a role that never starts is among the stops instead."""

    roles: dict[str, RoleRun]
    stops: tuple[Stop, ...] = ()


def released_run(job: Job, *, shows_secrets: bool = False) -> ReleasedRun:
    """What a released cluster runs for the job, which must have been read without syntax problems.

    shows_secrets: whether secrets are filled in as the runtime does it. The scripts hold their values then; the stops
        never do.
    """
    runs: dict[str, RoleRun] = {}
    stops: list[Stop] = []
    try:
        known = runtime_job(job)
    except RuntimeStopError as error:
        return ReleasedRun({}, (Stop(Span(0, 0), str(error)),))
    for role in job.task_roles:
        run = _role_run(job, role, known, shows_secrets=shows_secrets)
        if isinstance(run, Stop):
            stops.append(run)
        else:
            runs[role.name] = run
    return ReleasedRun(runs, tuple(stops))


def command_source(job: Job, role: TaskRole) -> str:
    """The text that the rest-server renders for a role: each command trimmed, those of the deployment around them."""
    return "\n".join(trim(scalar.text) for scalar in job.command_parts(role))


def server_command(job: Job, role: TaskRole) -> str | TemplateFault:
    """The command of a role as the rest-server passes it on, or where it answers 500."""
    return rendered(command_source(job, role), server_values(job, role), job.platform.mustache)


def server_values(job: Job, role: TaskRole) -> dict[str, Any]:
    """What the tags of a role's commands may name, by root. A role without `data` looks for one named 'undefined'."""
    values: dict[str, Any] = {}
    if isinstance(parameters := job.plain.get("parameters"), dict):
        values["$parameters"] = parameters
    for kind in ROLE_TYPES:
        reference = role.typed_references.get(kind)
        name = reference.name if reference else "undefined"
        definition = job.find_typed(kind, name)
        value = plain_value(definition.node) if definition else member({}, name)
        if value is not MISSING:
            values[f"${kind}"] = value
    return values


def _role_run(job: Job, role: TaskRole, known: RuntimeJob, *, shows_secrets: bool) -> RoleRun | Stop:
    source = command_source(job, role)
    command = server_command(job, role)
    if isinstance(command, TemplateFault):
        text = job.command_text(role)
        is_same = text.text == source
        return Stop(text.span(command.span.start, command.span.end) if is_same else role.name_span, command.message)
    pre: list[str] = []
    post: list[str] = []
    platform: list[str] = []
    plugin: PluginRun | None = None
    try:
        runtime = runtime_role(known, role.name)
        for plugin in plugin_runs(runtime):
            scripts = _plugin_scripts(
                plugin, runtime, job.site_plugins.union(job.platform.plugins), shows_secrets=shows_secrets
            )
            if scripts is None:
                platform.append(str(plugin.name))
                continue
            pre += [scripts[0]] if scripts[0] else []
            post += [scripts[1]] if scripts[1] else []
        plugin = None
        command = after_runtime(command, known.secrets, shows_secrets=shows_secrets)
    except RuntimeStopError as error:
        return Stop(plugin.span(job, role) if plugin else role.name_span, str(error))
    return RoleRun(tuple(pre), command, tuple(reversed(post)), tuple(platform))


@dataclass(frozen=True, slots=True)
class PluginRun:
    """A plugin that the runtime prepares for a role; `number` counts in the list that names it."""

    name: Any
    failure_policy: Any
    parameters: Any
    number: int
    is_prerequisite: bool

    def span(self, job: Job, role: TaskRole) -> Span:
        """Where the job names it."""
        if self.is_prerequisite:
            references = role.prerequisites
            return references[self.number].span if self.number < len(references) else role.name_span
        return job.plugins[self.number].node.span if self.number < len(job.plugins) else role.name_span


def plugin_runs(role: RuntimeRole) -> Iterator[PluginRun]:
    """The plugins of a role in the order in which they are prepared.

    Raises:
        RuntimeStopError: if the runtime fails to collect them.
    """
    try:
        yield from _prerequisites(role)
        yield from _extras(role)
    except (LookupError, TypeError, AttributeError):
        raise RuntimeStopError("the runtime fails to gather the plugins of this task role") from None


def _prerequisites(role: RuntimeRole) -> Iterator[PluginRun]:
    job = role.job.values
    if "prerequisites" not in role.values or "prerequisites" not in job:
        return
    by_name = {definition["name"]: definition for definition in job["prerequisites"]}
    for number, name in enumerate(role.values["prerequisites"]):
        definition = by_name[name]
        if "plugin" in definition and definition["plugin"].startswith(RUNTIME_PLUGIN):
            parameters = {key: value for key, value in definition.items() if key not in NOT_PARAMETERS}
            plugin = definition["plugin"][len(PLUGIN_PREFIX) :]
            yield PluginRun(plugin, definition.get("failurePolicy", "fail"), parameters, number, is_prerequisite=True)


def _extras(role: RuntimeRole) -> Iterator[PluginRun]:
    job = role.job.values
    if "extras" not in job or RUNTIME_PLUGIN not in job["extras"]:
        return
    for number, entry in enumerate(job["extras"][RUNTIME_PLUGIN]):
        if "taskroles" in entry and role.name not in entry["taskroles"]:
            continue
        # An absent value is written as nothing, null as the word that Python has for it.
        parameters = entry["parameters"] if entry.get("parameters") is not None else str(entry.get("parameters", ""))
        yield PluginRun(entry["plugin"], entry.get("failurePolicy", "fail"), parameters, number, is_prerequisite=False)


def _plugin_scripts(
    plugin: PluginRun, role: RuntimeRole, known: frozenset[str], *, shows_secrets: bool
) -> tuple[str, str] | None:
    """The script before and the one after that the plugin writes; None for plugins other than `cmd`.

    Raises:
        RuntimeStopError: if the task ends here.
    """
    parameters = passed_parameters(plugin.parameters, role, shows_secrets=shows_secrets)
    name = plugin_folder(str(plugin.name), known)
    if name is None:
        raise RuntimeStopError(f"the runtime has no plugin '{plugin.name}'")
    if name != "cmd":
        return None
    scripts = filled = cmd_scripts(parameters, plugin.failure_policy)
    if not shows_secrets and names_secret(str(plugin.parameters)):
        # A secret may change the structure of the parameters.
        filled = cmd_scripts(passed_parameters(plugin.parameters, role, shows_secrets=True), plugin.failure_policy)
    if filled.fails and plugin.failure_policy != "ignore":
        raise RuntimeStopError("the plugin fails on its parameters")
    return scripts.pre, scripts.post


def passed_parameters(parameters: Any, role: RuntimeRole, *, shows_secrets: bool) -> Any:
    """The parameters as the plugin gets them, with the references to secrets filled or left as they are.

    Raises:
        RuntimeStopError: if a reference or the runtime's parser fails.
    """
    written = str(parameters)
    fillers = [partial(with_references_filled, role=role, shows_secrets=True)]
    if not shows_secrets and names_secret(written):
        # A secret may break the text, so the filled text is parsed as well.
        fillers.append(partial(with_references_filled, role=role, shows_secrets=False))
    found = [runtime_round_trip(parameters, fill if OPENING in written else None) for fill in fillers]
    if any(isinstance(value, ValueError) for value in found):
        raise RuntimeStopError("the runtime's YAML reader fails on the plugin's parameters as it writes them")
    return found[-1]


def plugin_folder(name: str, known: Collection[str]) -> str | None:
    """The plugin whose folder the name finds: the runtime takes it for a path below the folder of all plugins."""
    place = ["plugins"]
    for part in name.split("/"):
        if part in {"", "."}:
            continue
        if part == "..":
            if not place:
                return None
            place.pop()
        elif (not place and part == "plugins") or (place == ["plugins"] and part in known):
            place.append(part)
        else:
            return None
    return place[1] if len(place) == 2 else None
