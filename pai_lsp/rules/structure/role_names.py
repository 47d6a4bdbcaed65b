"""Rules about references to deployments and task roles."""

from __future__ import annotations

from pai_lsp.findings.diagnostic import Finding, Fix, Related, Severity, rule
from pai_lsp.findings.fixes import near_name_fixes
from pai_lsp.job.definition import name_span
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.spelling import did_you_mean, free_name
from pai_lsp.source.text import TextEdit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import Deployment
    from pai_lsp.source.nodes import Entry


@rule(Severity.ERROR, about=("deployment",))
def unknown_deployment(job: Job) -> Iterator[Finding]:
    """`defaults.deployment` names a deployment that the job does not define.

    The rest-server refuses the job: "Default deployment ... does not exist."
    Source: rest-server, middlewares/v2/protocol.js, protocolValidate.

        deployments:
          - name: production
            taskRoles: {worker: {preCommands: ["echo hello"]}}
        defaults:
          deployment: prod
          #           ^^^^ error

    Good:

        deployments:
          - name: production
            taskRoles: {worker: {preCommands: ["echo hello"]}}
        defaults:
          deployment: production
    """
    defaults = job.mapping("defaults")
    node = defaults.get("deployment") if defaults else None
    names = [deployment.name for deployment in job.deployments if deployment.name]
    if isinstance(node, Scalar) and node.is_string and node.text not in names:
        span = name_span(node)
        message = f"no deployment is named '{node.text}'{did_you_mean(node.text, names)}"
        yield Finding(span, message, near_name_fixes(span, node.text, names))


@rule(Severity.ERROR, about=("deployments",))
def duplicate_deployment(job: Job) -> Iterator[Finding]:
    """Two deployments have the same name.

    The rest-server refuses the job: "Duplicate deployments ...".
    Source: rest-server, middlewares/v2/protocol.js, protocolValidate.

        deployments:
          - name: production
            taskRoles: {worker: {preCommands: ["echo hello"]}}
          - name: production
            #     ^^^^^^^^^^ error
            taskRoles: {worker: {preCommands: ["echo again"]}}

    Good:

        deployments:
          - name: production
            taskRoles: {worker: {preCommands: ["echo hello"]}}
          - name: development
            taskRoles: {worker: {preCommands: ["echo again"]}}
    """
    first: dict[str, Deployment] = {}
    names = {deployment.name for deployment in job.deployments}
    for deployment in job.deployments:
        if deployment.name_scalar is None:
            continue
        earlier = first.setdefault(deployment.name, deployment)
        if earlier is deployment or earlier.name_scalar is None:
            continue
        span = name_span(deployment.name_scalar)
        new = free_name(deployment.name, names)
        related = (Related(name_span(earlier.name_scalar), "first defined here"),)
        fixes = (Fix(f"Rename this one to '{new}'", (TextEdit(span, new),)),)
        yield Finding(span, f"another deployment is named '{deployment.name}'", fixes, related)


@rule(Severity.WARNING, about=("deployments",))
def deployment_unknown_role(job: Job) -> Iterator[Finding]:
    """A deployment names a task role that the job does not define.

    The rest-server looks up the deployment's commands for each task role of the job, so these commands never run.
    Source: rest-server, middlewares/v2/protocol.js, protocolRender.

        taskRoles:
          worker: {commands: ["echo hello"]}
        deployments:
          - name: production
            taskRoles:
              workers: {preCommands: ["echo first"]}
              #^^^^^^ warning

    Good:

        taskRoles:
          worker: {commands: ["echo hello"]}
        deployments:
          - name: production
            taskRoles:
              worker: {preCommands: ["echo first"]}
    """
    for deployment in job.deployments:
        # The server loses this name; `invalid_name` reports it.
        kept = tuple(entry for entry in deployment.role_entries if entry.name != "__proto__")
        yield from _unknown_role_keys(job, kept)


@rule(Severity.ERROR, about=("hivedScheduler",))
def hived_unknown_role(job: Job) -> Iterator[Finding]:
    """`extras.hivedScheduler` names a task role that the job does not define.

    The rest-server of a cluster with HiveD refuses the job: "Taskrole ... does not exist."
    Source: rest-server, middlewares/v2/hived.js.

        taskRoles:
          worker: {commands: ["echo hello"]}
        extras:
          hivedScheduler:
            taskRoles:
              master: {skuType: K80}
              #^^^^^ error

    Good:

        taskRoles:
          worker: {commands: ["echo hello"]}
        extras:
          hivedScheduler:
            taskRoles:
              worker: {skuType: K80}
    """
    yield from _unknown_role_keys(job, job.hived_role_entries)


def _unknown_role_keys(job: Job, entries: tuple[Entry, ...]) -> Iterator[Finding]:
    if not job.task_roles:
        return  # missing task roles are reported elsewhere
    present = {entry.name for entry in entries}
    for entry in entries:
        if entry.name in job.task_roles_by_name or not isinstance(entry.key, Scalar):
            continue
        span = name_span(entry.key)
        free = [name for name in job.task_roles_by_name if name not in present]
        message = f"no task role is named '{entry.name}'{did_you_mean(entry.name, job.task_roles_by_name)}"
        yield Finding(span, message, near_name_fixes(span, entry.name, free))


@rule(Severity.WARNING, about=("taskroles",))
def plugin_unknown_role(job: Job) -> Iterator[Finding]:
    """A runtime plugin names a task role that the job does not define.

    The runtime compares the plugin's `taskroles` with the name of the task role as the rest-server passes it on: lower
    case, letters and digits only. For every other name it silently skips the plugin.
    Source: openpai-runtime, src/init.d/initializer.py, collect_plugin_configs; rest-server, src/utils/name.js.

        taskRoles:
          worker: {commands: ["echo hello"]}
        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              taskroles: [wroker]
              #           ^^^^^^ warning
              parameters: {jobssh: true}

    Good:

        taskRoles:
          worker: {commands: ["echo hello"]}
        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              taskroles: [worker]
              parameters: {jobssh: true}
    """
    converted = {converted_role_name(role.name): role.name for role in job.task_roles}
    if not converted:
        return
    for plugin in job.plugins:
        for scalar in plugin.task_roles or ():
            name = scalar.text
            if name in converted:
                continue
            span = name_span(scalar)
            spelt = converted_role_name(name)
            if converted.get(spelt) == name:
                message = f"the runtime uses '{spelt}' for the task role '{name}', so the plugin never runs"
            else:
                message = f"no task role is named '{name}'{did_you_mean(name, converted)}"
            yield Finding(span, message, near_name_fixes(span, name, [spelt] if spelt in converted else converted))


RULES = (unknown_deployment, duplicate_deployment, deployment_unknown_role, hived_unknown_role, plugin_unknown_role)
