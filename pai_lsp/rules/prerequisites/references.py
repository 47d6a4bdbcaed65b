"""Rules about the names in a task role's list `prerequisites`: each must be defined and have an effect.

typed_references.py checks the fields that name one prerequisite each, require.py checks addresses.

The fixes create a missing prerequisite, which the author then completes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pai_lsp.findings.diagnostic import Finding, Fix, Related, Severity, rule
from pai_lsp.findings.fixes import fix_of, near_name_fixes
from pai_lsp.job.definition import CMD_PLUGIN, STORAGE_PLUGINS, Definition, Origin, Reference, name_span
from pai_lsp.job.lookup import looks_like_address
from pai_lsp.job.require_graph import no_prerequisite
from pai_lsp.platform.job_schema import field
from pai_lsp.platform.tables import PLUGIN_PREFIX, plugins
from pai_lsp.source.edits import remove_item
from pai_lsp.source.nodes import Scalar, Sequence
from pai_lsp.source.spelling import did_you_mean, nearest
from pai_lsp.source.text import TextEdit
from pai_lsp.source.tree_edits import append_value, insert_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole


@rule(Severity.ERROR)
def unknown_prerequisite(job: Job) -> Iterator[Finding]:
    """A task role names a prerequisite that the job does not define.

    The rest-server refuses the job: "Prerequisite ... does not exist."
    Source: rest-server, middlewares/v2/protocol.js, protocolValidate.

        prerequisites:
          - name: justecho
            type: script
        taskRoles:
          worker:
            prerequisites: [justecho_wrong]
            #               ^^^^^^^^^^^^^^ error

    Good:

        prerequisites:
          - name: justecho
            type: script
        taskRoles:
          worker:
            prerequisites: [justecho]
    """
    names = tuple(job.definitions_by_name)
    for role in job.task_roles:
        for reference in _listed(role):
            name = reference.name
            if name not in job.definitions_by_name and not looks_like_address(name):
                fixes = near_name_fixes(reference.span, name, names) + callback_stub(job, name)
                yield Finding(reference.place, no_prerequisite(name, names), fixes)


def _listed(role: TaskRole) -> Iterator[Reference]:
    """The strings that a role lists, even empty ones; type-mismatch reports other values."""
    node = role.get("prerequisites")
    for item in node.items if isinstance(node, Sequence) else ():
        if isinstance(item, Scalar) and item.is_string:
            yield Reference(item.text, item)


@rule(Severity.WARNING)
def duplicate_prerequisite_reference(job: Job) -> Iterator[Finding]:
    """Duplicate entry in a task role's `prerequisites`.

    The runtime then runs its commands twice.
    Source: openpai-runtime, src/init.d/initializer.py, collect_plugin_configs.

        taskRoles:
          worker:
            prerequisites: [setup, data, setup]
            #                            ^^^^^ warning

    Good:

        taskRoles:
          worker:
            prerequisites: [setup, data]
    """
    for role in job.task_roles:
        first: dict[str, Reference] = {}
        for reference in role.prerequisites:
            earlier = first.setdefault(reference.name, reference)
            if earlier is not reference:
                fixes = _unlisted(job, role, reference, "Remove the duplicate")
                related = (Related(earlier.span, "first listed here"),)
                yield Finding(reference.span, f"'{reference.name}' is listed twice and runs twice", fixes, related)


def _unlisted(job: Job, role: TaskRole, reference: Reference, title: str) -> tuple[Fix, ...]:
    """Remove a reference from the role's list."""
    listed = role.get("prerequisites")
    return fix_of(title, remove_item(job.text, listed, reference.scalar)) if isinstance(listed, Sequence) else ()


@rule(Severity.WARNING)
def prerequisite_without_effect(job: Job) -> Iterator[Finding]:
    """A task role lists a prerequisite that has no effect there.

    Only a prerequisite with a runtime plugin has an effect when a task role lists it. Select a docker image with
    `dockerImage`; use `data`, `script` and `output` to make a prerequisite's values available in commands.
    Source: openpai-runtime, src/init.d/initializer.py, collect_plugin_configs.

        prerequisites:
          - name: cifar10
            type: data
            uri: ["https://example.com/cifar10.tar.gz"]
        taskRoles:
          worker:
            prerequisites: [cifar10]
            #               ^^^^^^^ warning

    Good:

        prerequisites:
          - name: cifar10
            type: data
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands: ["wget https://example.com/cifar10.tar.gz"]
        taskRoles:
          worker:
            prerequisites: [cifar10]
    """
    for role in job.task_roles:
        for reference in role.prerequisites:
            definition = job.definitions_by_name.get(reference.name)
            # Definitions in `extras` belong to the extended protocol; unknown_plugin checks their plugin.
            reason = _idle(job, definition) if definition and definition.origin is Origin.JOB else None
            if definition is None or reason is None:
                continue
            fixes = _plugin_fixes(job, definition) + _unlisted(job, role, reference, "Remove it from the list")
            message = f"listing '{reference.name}' here has no effect: {reason}"
            yield Finding(reference.span, message, fixes, (Related(definition.name_span, "defined here"),))


# Keys of the extended protocol that have an effect without a plugin.
_ACTING = ("require", "requireStorages")


def _idle(job: Job, definition: Definition) -> str | None:
    """Why a listed definition has no effect; None if it has one, in the released or the extended protocol."""
    if definition.type == "dockerimage":
        return "select a docker image with 'dockerImage'"
    if definition.runtime_plugin is not None or definition.type == "storage":
        return None
    if any(definition.node.entry(key) for key in _ACTING):
        return None
    plugin = definition.extended_plugin
    if plugin is None:
        return "it has no 'plugin'"
    known = (*plugins(), *job.site_plugins)
    if plugin in known or plugin in STORAGE_PLUGINS:
        return None
    return f"'{definition.plugin}' is not a runtime plugin{did_you_mean(definition.plugin, known)}"


def _plugin_fixes(job: Job, definition: Definition) -> tuple[Fix, ...]:
    if definition.plugin_scalar is None:
        return ()
    known = [PLUGIN_PREFIX + name for name in (*plugins(), *sorted(job.site_plugins))]
    by_name = {nearest_name.rpartition(".")[2]: nearest_name for nearest_name in known}
    near = nearest(definition.plugin.rpartition(".")[2], by_name) or nearest(definition.plugin, known)
    span = name_span(definition.plugin_scalar)
    return tuple(
        Fix(f"Change the plugin to '{name}'", (TextEdit(span, name),))
        for name in dict.fromkeys(by_name.get(one, one) for one in near)
    )


# The rest-server's pattern of names (config/v2/protocol.js).
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,255}")


def prerequisite_stub(job: Job, kind: str, name: str) -> tuple[Fix, ...]:
    """Create a prerequisite for one of the fields `dockerImage`, `data`, `script` and `output`."""
    documented = field(("prerequisites", 0, "uri"), prerequisite_type=kind)
    value: dict[str, Any] = {"type": kind, "name": name}
    if kind != "output" and documented and documented.examples:
        value["uri"] = documented.examples[0]
    return _created(job, kind, name, value)


def callback_stub(job: Job, name: str) -> tuple[Fix, ...]:
    """Create a prerequisite that runs commands, for a task role's `prerequisites`."""
    callbacks = [{"event": "taskStarts", "commands": [f"echo {name}"]}]
    value = {"type": "script", "name": name, "plugin": CMD_PLUGIN, "callbacks": callbacks}
    return _created(job, "script", name, value)


def _created(job: Job, kind: str, name: str, value: dict[str, Any]) -> tuple[Fix, ...]:
    if not _NAME.fullmatch(name) or job.root is None or not job.root.entries:
        return ()
    title = f"Create the {kind} prerequisite '{name}'"
    entry = job.section("prerequisites")
    if entry is None:
        return (Fix(title, (insert_values(job.text, job.root, {"prerequisites": [value]}),)),)
    if not isinstance(entry.value, Sequence) or entry not in job.root.entries:
        return ()
    return (Fix(title, (append_value(job.text, entry.value, value),)),)


RULES = (
    unknown_prerequisite,
    duplicate_prerequisite_reference,
    prerequisite_without_effect,
)
