"""Rules about the names of prerequisites: undefined ones in a task role's list, and duplicate or unused ones.

typed_references.py checks the fields that name one prerequisite each, require.py checks addresses. The fixes create a
missing prerequisite, which the author then completes.
"""

from __future__ import annotations

from pai_lsp.findings.diagnostic import (
    Consequence,
    DiagnosticTag,
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
from pai_lsp.findings.fixes import all_of, change_fix, fix_of, near_name_fixes
from pai_lsp.job.definition import CMD_PLUGIN, STORAGE_PLUGINS, Definition, Origin, Reference, name_span
from pai_lsp.job.lookup import BY_NAME, looks_like_address, titled
from pai_lsp.job.require_graph import no_prerequisite
from pai_lsp.platform.job_schema import field
from pai_lsp.platform.tables import PLUGIN_PREFIX, PREREQUISITE_NAME
from pai_lsp.source.edits import remove_item
from pai_lsp.source.nodes import Scalar, Sequence
from pai_lsp.source.spelling import did_you_mean, nearest, repeated
from pai_lsp.source.text import TextEdit
from pai_lsp.source.tree_edits import append_value, insert_values
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.SERVER, spreads=True)
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
        for reference in role.prerequisites:
            name = reference.name
            if not reference.scalar.is_string or name in job.definitions_by_name:
                continue  # `type_mismatch` reports other values
            if not looks_like_address(name) and not job.may_define(name):
                if found := by_title(job, reference):
                    yield found
                    continue
                fixes = all_of(near_name_fixes(reference.span, name, names), callback_stub(job, name))
                yield Finding(reference.place, no_prerequisite(name, names), fixes)


def by_title(job: Job, reference: Reference) -> Finding | None:
    """The finding about a reference that is the title of a marketplace's item, which has an address too."""
    name = reference.name
    addresses = () if PREREQUISITE_NAME.fullmatch(name) else titled(job.lookup, name)
    if not addresses:
        return None
    wanted = " or ".join(f"'{one}'" for one in addresses)
    message = f"'{name.removeprefix(BY_NAME)}' is the title of an item of the marketplace; write {wanted}"
    return Finding(reference.span, message, change_fix(reference.span, *addresses))


@rule(Severity.WARNING, order=Order.NAMES, stage=Stage.RUNTIME)
def duplicate_prerequisite_reference(job: Job) -> Iterator[Finding]:
    """A task role lists the same prerequisite twice.

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
        for reference, earlier in repeated(role.prerequisites, lambda one: one.name):
            fixes = _unlisted(job, role, reference, "Remove the duplicate")
            related = (Related(earlier.span, "first listed here"),)
            yield Finding(reference.span, f"'{reference.name}' is listed twice and runs twice", fixes, related)


@later
def _unlisted(job: Job, role: TaskRole, reference: Reference, title: str) -> Fixes:
    """Remove a reference from the role's list."""
    listed = role.get("prerequisites")
    return fix_of(title, remove_item, job.text, listed, reference.scalar) if isinstance(listed, Sequence) else ()


@rule(Severity.WARNING, order=Order.NAMES, stage=Stage.RUNTIME, consequence=Consequence.IGNORED)
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
    graph = job.require_graph
    for role in job.task_roles:
        for reference in role.prerequisites:
            found = graph.link(reference).targets
            reasons = [_idle(job, definition) for definition in found]
            if not found or None in reasons:
                continue
            fixes = _idle_fixes(job, role, reference, found[0])
            related = (Related(found[0].name_span, "defined here", graph.path(found[0])),)
            message = f"listing '{reference.name}' here has no effect: {reasons[0]}"
            yield Finding(reference.span, message, fixes, related)


@later
def _idle_fixes(job: Job, role: TaskRole, reference: Reference, found: Definition) -> Fixes:
    fixes = () if job.require_graph.is_outside(found) else _plugin_fixes(job, found)
    return all_of(fixes, _unlisted(job, role, reference, "Remove it from the list"))


# Keys of the extended protocol that have an effect without a plugin.
_ACTING = ("require", "requireStorages")


def _idle(job: Job, definition: Definition) -> str | None:
    """Why a listed definition has no effect; None if it has one, in the released or the extended protocol."""
    if definition.type == "dockerimage":
        is_own = definition.origin is not Origin.CATALOG
        return "select a docker image with 'dockerImage'" if is_own else "a job must define its docker images itself"
    acts = any(definition.node.entry(key) for key in _ACTING)
    if acts or definition.runtime_plugin is not None or definition.type == "storage":
        return None
    if definition.extended_plugin is None:
        return "it has no 'plugin'"
    if definition.origin is not Origin.JOB:
        return None  # unknown_plugin checks the plugins of the extended protocol
    if definition.plugin_scalar and not isinstance(definition.plugin_scalar.runtime_value, str):
        return None  # the runtime fails on it, which is reported there
    known = (*job.platform.plugins, *job.site_plugins)
    if definition.extended_plugin in {*known, *STORAGE_PLUGINS}:
        return None
    return f"'{definition.plugin}' is not a runtime plugin{did_you_mean(definition.plugin, known)}"


def _plugin_fixes(job: Job, definition: Definition) -> Fixes:
    if definition.plugin_scalar is None:
        return ()
    known = [PLUGIN_PREFIX + name for name in (*job.platform.plugins, *sorted(job.site_plugins))]
    by_name = {name.rpartition(".")[2]: name for name in known}
    near = nearest(definition.plugin.rpartition(".")[2], by_name) or nearest(definition.plugin, known)
    span = name_span(definition.plugin_scalar)
    names = dict.fromkeys(by_name.get(one, one) for one in near)
    return tuple(Fix(f"Change the plugin to '{name}'", (TextEdit(span, name),)) for name in names)


@later
def prerequisite_stub(job: Job, kind: str, name: str) -> Fixes:
    """Create a prerequisite for one of the fields `dockerImage`, `data`, `script` and `output`."""
    documented = field(("prerequisites", 0, "uri"), prerequisite_type=kind, platform=job.platform)
    value: dict[str, Any] = {"type": kind, "name": name}
    if kind != "output" and documented and documented.examples:
        value["uri"] = documented.examples[0]
    return _created(job, kind, name, value)


@later
def callback_stub(job: Job, name: str) -> Fixes:
    """Create a prerequisite that runs commands, for a task role's `prerequisites`."""
    callbacks = [{"event": "taskStarts", "commands": [f"echo {name}"]}]
    value = {"type": "script", "name": name, "plugin": CMD_PLUGIN, "callbacks": callbacks}
    return _created(job, "script", name, value)


def _created(job: Job, kind: str, name: str, value: dict[str, Any]) -> Fixes:
    if not PREREQUISITE_NAME.fullmatch(name):
        return ()
    edit = created_edit(job, value)
    return () if edit is None else (Fix(f"Create the {kind} prerequisite '{name}'", (edit,)),)


def created_edit(job: Job, value: dict[str, Any]) -> TextEdit | None:
    """Add a prerequisite to those of the job; None where they are not a list."""
    if job.root is None or not job.root.entries:
        return None
    entry = job.section("prerequisites")
    if entry is None:
        return insert_values(job.text, job.root, {"prerequisites": [value]})
    if not isinstance(entry.value, Sequence) or entry not in job.root.entries:
        return None
    return append_value(job.text, entry.value, value)


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.SERVER)
def duplicate_prerequisite(job: Job) -> Iterator[Finding]:
    """Two prerequisites have the same type and name.

    The rest-server refuses the job: "Duplicate ... prerequisites ...". In `extras.reference_prerequisites` and in a
    marketplace's file it would be ambiguous which of the two is meant.
    Source: rest-server, middlewares/v2/protocol.js, protocolValidate.

        prerequisites:
          - name: setup
            type: script
          - name: setup
            #     ^^^^^ error
            type: script

    Good:

        prerequisites:
          - name: setup
            type: script
          - name: setup_2
            type: script
    """
    named = [definition for definition in job.definitions if definition.name]
    for definition, earlier in repeated(named, lambda one: (one.origin, one.type, one.name)):
        kind = f"{definition.type} prerequisite" if definition.type else "prerequisite"
        related = (Related(earlier.name_span, "first defined here"),)
        message = f"another {kind} is named '{definition.name}'"
        # In JavaScript, this name is never a key of its own, so that the server finds no other.
        consequence = Consequence.FAILS if definition.name == "__proto__" else None
        yield Finding(definition.name_span, message, _rename(job, definition), related, consequence=consequence)


@later
def _rename(job: Job, definition: Definition) -> Fixes:
    """Give a definition a unique name."""
    name = job.free_name(definition.name)
    from pai_lsp.job.symbols import rename_prerequisite  # noqa: PLC0415 - only for a fix

    return (Fix(f"Rename this one to '{name}'", rename_prerequisite(job, definition, name)),)


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.RUNTIME)
def image_name_shared(job: Job) -> Iterator[Finding]:
    """A docker image shares its name with a prerequisite of another type.

    The rest-server accepts this, because names are only unique within a type. The runtime looks up the image by its
    name alone and fails if it finds two: the task ends with exit code 254, "ContainerImageNotExists".
    Source: openpai-runtime, src/init.d/image_checker.py, ImageChecker (`assert len(docker_images) == 1`).

        prerequisites:
          - name: pytorch
            type: dockerimage
            uri: openpai/standard:python_3.6-pytorch_1.2.0-gpu
          - name: pytorch
            #     ^^^^^^^ error
            type: script
        taskRoles:
          worker:
            dockerImage: pytorch

    Good:

        prerequisites:
          - name: pytorch
            type: dockerimage
            uri: openpai/standard:python_3.6-pytorch_1.2.0-gpu
          - name: pytorch_setup
            type: script
        taskRoles:
          worker:
            dockerImage: pytorch
    """
    images = {image.name: image for image in job.chosen_images}
    for definition in job.prerequisites:
        image = images.get(definition.name)
        if image is not None and definition.type != "dockerimage":
            message = f"'{definition.name}' is also the name of a docker image"
            related = (Related(image.name_span, "the docker image"),)
            happens = "the runtime finds two and the task fails"
            yield Finding(definition.name_span, f"{message}; {happens}", _rename(job, definition), related)


@rule(Severity.WARNING, order=Order.NAMES, stage=Stage.RUNTIME, consequence=Consequence.IGNORED)
def prerequisite_name_shared_across_types(job: Job) -> Iterator[Finding]:
    """A task role lists a name that two prerequisites of different types have.

    Names are only unique within a type. The runtime uses the name alone and runs the last prerequisite of that name;
    the others never run.
    Source: openpai-runtime, src/init.d/initializer.py, collect_plugin_configs.

        prerequisites:
          - name: cifar10
            #     ^^^^^^^ warning
            type: data
          - name: cifar10
            type: script
        taskRoles:
          worker:
            prerequisites: [cifar10]

    Good:

        prerequisites:
          - name: cifar10
            type: data
          - name: cifar10_unpack
            type: script
        taskRoles:
          worker:
            prerequisites: [cifar10, cifar10_unpack]
    """
    listed = {reference.name for role in job.task_roles for reference in role.prerequisites}
    last = {definition.name: definition for definition in job.prerequisites if definition.name in listed}
    for definition in job.prerequisites:
        taken = last.get(definition.name)
        if taken is not None and taken.type != definition.type:
            message = f"a later prerequisite is also named '{definition.name}'; only that one runs"
            related = (Related(taken.name_span, "the one that runs"),)
            yield Finding(definition.name_span, message, _rename(job, definition), related)


@rule(Severity.HINT, order=Order.NAMES, stage=Stage.RUNTIME)
def unused_prerequisite(job: Job) -> Iterator[Finding]:
    """No task role uses a prerequisite.

    A prerequisite is used when a task role lists it in `prerequisites`, names it in `dockerImage`, `data`, `script` or
    `output`, or when a used one requires it. Any other has no effect.
    Source: openpai-runtime, src/init.d/initializer.py, collect_plugin_configs; rest-server,
    middlewares/v2/protocol.js, protocolRender.

        prerequisites:
          - name: debug
            #     ^^^^^ hint
            type: script
          - name: setup
            type: script
        taskRoles:
          worker:
            prerequisites: [setup]

    Good:

        prerequisites:
          - name: debug
            type: script
          - name: setup
            type: script
            require: [debug]
        taskRoles:
          worker:
            prerequisites: [setup]
    """
    for definition in job.definitions if job.task_roles and not job.is_catalog else ():
        if definition.name_scalar is not None and not job.is_used(definition):
            message = f"no task role uses '{definition.name}'"
            yield Finding(definition.name_span, message, _removal(job, definition), tags=(DiagnosticTag.UNNECESSARY,))


@later
def _removal(job: Job, definition: Definition) -> Fixes:
    is_extra = definition.origin is Origin.EXTRAS
    section = job.extras_entry("reference_prerequisites") if is_extra else job.section("prerequisites")
    node = section.value if section else None
    if not isinstance(node, Sequence) or len(node.items) < 2 or not isinstance(definition.name_scalar, Scalar):
        return ()
    return fix_of(f"Remove '{definition.name}'", remove_item, job.text, node, definition.node)
