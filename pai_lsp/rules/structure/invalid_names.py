"""Rules about names: their characters and length, how the runtime reads them, and references to roles and deployments.

pai_lsp/rules/prerequisites/references.py checks names of prerequisites that refer to something defined elsewhere.
"""

from __future__ import annotations

from pai_lsp.findings.diagnostic import (
    HIVED,
    Consequence,
    Finding,
    Fix,
    Fixes,
    Order,
    Related,
    Severity,
    Stage,
    later,
    rule,
)
from pai_lsp.findings.fixes import fix_of, near_name_fixes, quote_fix
from pai_lsp.job.definition import name_span
from pai_lsp.platform.tables import ROLE_NAME, converted_role_name
from pai_lsp.rules.structure.structure_places import reported
from pai_lsp.source.nodes import Mapping, Scalar
from pai_lsp.source.scalar import Reader
from pai_lsp.source.spelling import did_you_mean, free_name, repeated
from pai_lsp.source.text import TextEdit, shortened
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.rules.structure.structure_places import ErrorPlace
    from pai_lsp.source.nodes import Entry

# FrameworkController's limit; frameworkcontroller, pkg/apis/frameworkcontroller/v1/crd.go.
_LONGEST_ROLE_NAME = 63


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.SERVER)
def invalid_task_role_name(job: Job) -> Iterator[Finding]:
    """OpenPAI refuses the name of a task role, or its runtime cannot find the task role.

    The rest-server allows letters, digits and `_`. But it passes the name on in lower case and without `_`, and the
    runtime looks up exactly that in the job: the init container of a role named `ps_server` or `Worker` dies with a
    KeyError. The runtime also does not read `yes`, `on`, `true` and `null` as strings, so it cannot find such a role
    unless the name is quoted. More than 63 characters are refused when the job is created.
    Sources: rest-server, config/v2/protocol.js and utils/name.js; openpai-runtime, src/init.d/initializer.py and
    issue 47; frameworkcontroller, pkg/apis/frameworkcontroller/v1/crd.go.

        taskRoles:
          ps_server:
          #^^^^^^^^ error
            commands: [python serve.py]
          on:
          #^ error
            commands: [python train.py]

    Good:

        taskRoles:
          psserver:
            commands: [python serve.py]
          "on":
            commands: [python train.py]
    """
    for role in job.task_roles:
        # A misplaced key, such as `dockerImage` under `taskRoles`, is reported by its type.
        fault = _fault(job, role) if role.node is not None else None
        is_lost = role.name == "__proto__" and job.syntax.reader is Reader.JS_YAML_3
        if is_lost:
            fault = ("the task role '__proto__' is lost when the server reads the file", False)
        if fault is None:
            continue
        message, is_quoting = fault
        key = role.entry.key
        span = role.name_span if len(role.name_span) else key.span
        # The rest-server asks for the form alone; what it accepts, and the cluster cannot use, dies later.
        happens = Consequence.DIES if ROLE_NAME.fullmatch(role.name) else Consequence.REFUSED
        if is_lost:  # a job needs a task role
            happens = Consequence.REFUSED if len(job.task_roles) == 1 else Consequence.FAILS
        fixes = () if is_quoting else _rename_fixes(job, role.name)
        if is_quoting and isinstance(key, Scalar) and key.text == role.name:
            fixes = quote_fix(key)
        yield Finding(span, message, fixes, consequence=happens)


def _fault(job: Job, role: TaskRole) -> tuple[str, bool] | None:
    """What is wrong with a role's name, and whether quotes would fix it."""
    name, key = role.name, role.entry.key
    if not isinstance(key, Scalar):
        return None
    if not ROLE_NAME.fullmatch(name):
        message = f"'{shortened(key.text)}' is not a task role name; use lower-case letters and digits, a letter first"
        return message, False
    if len(name) > _LONGEST_ROLE_NAME:
        return f"this task role name has {len(name)} characters; at most {_LONGEST_ROLE_NAME} are allowed", False
    converted = converted_role_name(name)
    if converted != name and converted not in job.task_roles_by_name:
        looks = f"looks for task role '{name}' as '{converted}'" if converted else f"finds no task role '{name}'"
        return f"the runtime {looks}, and fails; use only lower-case letters and digits", False
    reading = key.runtime_value
    if not isinstance(reading, str):
        message = {True: "true", False: "false", None: "null"}.get(reading, "a non-string")
        advice = "quote it" if key.text == name else "give it a name"
        return f"the runtime reads '{key.text}' as {message} and does not find the task role; {advice}", True
    return None


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.CLUSTER)
def task_role_name_collision(job: Job) -> Iterator[Finding]:
    """Two task roles have the same name in lower case and without `_`.

    The cluster uses that form of the name, so the hosts, environment variables and tasks of the two roles collide.
    Sources: rest-server, utils/name.js; frameworkcontroller, pkg/apis/frameworkcontroller/v1/crd.go, which requires
    different names without checking them.

        taskRoles:
          worker1:
            commands: [python train.py]
          worker_1:
          #^^^^^^^ error
            commands: [python train.py]

    Good:

        taskRoles:
          worker1:
            commands: [python train.py]
          worker2:
            commands: [python train.py]
    """
    for role, other in repeated(job.task_roles, lambda one: converted_role_name(one.name)):
        converted = converted_role_name(role.name)
        if not converted or other.name == role.name:
            continue
        renamed = other if role.name == converted else role
        message = f"task roles '{role.name}' and '{other.name}' have the same name in the cluster, '{converted}'"
        related = (Related(other.name_span, f"'{other.name}' also becomes '{converted}'"),)
        yield Finding(role.name_span, message, _rename_fixes(job, renamed.name), related)


def _new_names(job: Job) -> dict[str, str]:
    """A valid, unique name for each role with an invalid name."""
    used = {role.name for role in job.task_roles}
    found: dict[str, str] = {}
    for role in job.task_roles:
        key = role.entry.key
        if not isinstance(key, Scalar) or key.text != role.name:
            continue  # js-yaml reads a date or a number, whose text is of no use as a name
        stem = converted_role_name(role.name).lstrip("0123456789")[:_LONGEST_ROLE_NAME]
        if not stem or stem == role.name:
            continue
        candidates = (stem, *(stem[: _LONGEST_ROLE_NAME - 1] + letter for letter in "bcdefghijklmnopqrstuvwxyz"))
        if name := next((name for name in candidates if name not in used), None):
            found[role.name] = name
            used.add(name)
    return found


@later
def _rename_fixes(job: Job, name: str) -> Fixes:
    if (new_name := job.once(_new_names).get(name)) is None:
        return ()
    from pai_lsp.job.symbols import rename_role  # noqa: PLC0415 - only for a fix

    renaming = rename_role(job, name, new_name)
    is_same = converted_role_name(name) == new_name
    return (Fix(f"Rename to '{new_name}'", renaming.edits, safe=renaming.is_complete and is_same),)


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.SERVER, about=("invalid-prerequisite-name",))
def invalid_prerequisite_name(job: Job) -> Iterator[Finding]:
    """The name of a prerequisite is not valid.

    A prerequisite name consists of letters, digits, `_` and `-`, at most 255 characters. The rest-server refuses the
    job: "should match pattern".
    Source: rest-server, config/v2/protocol.js.

        prerequisites:
          - name: cifar 10
            #     ^^^^^^^^ error
            type: data

    Good:

        prerequisites:
          - name: cifar-10
            type: data
    """
    return reported(job, "invalid-prerequisite-name", _prerequisite_fixes)


@later
def _prerequisite_fixes(job: Job, place: ErrorPlace) -> Fixes:
    node = place.node
    if not isinstance(node, Scalar) or node.is_block or not place.error.expected:
        return ()
    new_name = place.error.expected[0]
    definition = next((one for one in job.definitions if one.name_scalar is node), None)
    if definition is None or new_name in job.definitions_by_name:
        return ()
    from pai_lsp.job.symbols import rename_prerequisite  # noqa: PLC0415 - only for a fix

    return (Fix(f"Rename to '{new_name}'", rename_prerequisite(job, definition, new_name), safe=True),)


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.SERVER, about=("invalid-name",))
def invalid_name(job: Job) -> Iterator[Finding]:
    """The name of a deployment, of a task role in it, or of a port is not valid.

    A deployment name consists of letters, digits, `_` and `-`; a port label and a task role name of letters, digits and
    `_`, without a digit first. The rest-server refuses anything else, and loses the name `__proto__`, which JavaScript
    reserves.
    Source: rest-server, config/v2/protocol.js.

        taskRoles:
          worker:
            resourcePerInstance:
              ports:
                tensor-board: 1
                #^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            resourcePerInstance:
              ports:
                tensor_board: 1
    """
    return reported(job, "invalid-name", _name_fixes)


@later
def _name_fixes(job: Job, place: ErrorPlace) -> Fixes:
    scalar = place.key.key if place.key else place.node
    if not isinstance(scalar, Scalar) or scalar.is_block or not place.error.expected:
        return ()
    old_name, new_name = scalar.text, place.error.expected[0]
    is_taken = isinstance(place.node, Mapping) and place.node.own(new_name) is not None
    if is_taken or old_name in job.task_roles_by_name:  # renamed together with the task role
        return ()
    edits = [TextEdit(name_span(scalar), new_name)]
    default = job.default_deployment_reference
    if place.key is None and default is not None and default.name == old_name:
        edits.append(TextEdit(default.span, new_name))
    mentions = sum(scalar.text.count(old_name) for scalar in job.syntax.scalars)
    return (Fix(f"Rename to '{new_name}'", tuple(edits), safe=mentions == len(edits)),)


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.SERVER, about=("deployment",), spreads=True)
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


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.SERVER, about=("deployments",))
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
    names = [deployment.name_scalar for deployment in job.deployments if deployment.name_scalar]
    for name, first in repeated(names, lambda one: one.text):
        new = free_name(name.text, {one.text for one in names})
        fixes = fix_of(f"Rename this one to '{new}'", TextEdit, name_span(name), new)
        related = (Related(name_span(first), "first defined here"),)
        yield Finding(name_span(name), f"another deployment is named '{name.text}'", fixes, related)


@rule(Severity.WARNING, order=Order.NAMES, stage=Stage.SERVER, consequence=Consequence.IGNORED, about=("deployments",))
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


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.SERVER, about=("hivedScheduler",), scheduler=HIVED)
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
    present = {entry.name for entry in entries}
    for entry in entries if job.task_roles else ():  # missing task roles are reported elsewhere
        if entry.name not in job.task_roles_by_name and isinstance(entry.key, Scalar):
            span = name_span(entry.key)
            free = [name for name in job.task_roles_by_name if name not in present]
            message = f"no task role is named '{entry.name}'{did_you_mean(entry.name, job.task_roles_by_name)}"
            yield Finding(span, message, near_name_fixes(span, entry.name, free))


@rule(Severity.WARNING, order=Order.NAMES, stage=Stage.RUNTIME, consequence=Consequence.IGNORED, about=("taskroles",))
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
    for plugin in job.plugins if converted else ():
        for scalar in plugin.task_roles or ():
            name = scalar.text
            if name in converted:
                continue
            span, spelt = name_span(scalar), converted_role_name(name)
            if converted.get(spelt) == name:
                message = f"the runtime uses '{spelt}' for the task role '{name}', so the plugin never runs"
            else:
                message = f"no task role is named '{name}'{did_you_mean(name, converted)}"
            yield Finding(span, message, near_name_fixes(span, name, [spelt] if spelt in converted else converted))
