"""Rules about the names by which a task role asks for its prerequisites: each must be defined, and of the right kind.

Addresses are judged in rules/require.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.addresses import looks_like_address
from pai_lsp.definition import (
    PLUGIN_PREFIX,
    STORAGE_PLUGINS,
    TYPED_FIELDS,
    Definition,
    Origin,
    Reference,
    name_span,
)
from pai_lsp.diagnostic import Finding, Fix, Related, Severity, rule
from pai_lsp.edits import remove_item
from pai_lsp.fixes import fix_of, near_name_fixes
from pai_lsp.platform import plugins
from pai_lsp.requirement_words import no_prerequisite
from pai_lsp.rules.stubs import callback_stub, prerequisite_stub
from pai_lsp.spelling import did_you_mean, nearest
from pai_lsp.syntax import Scalar, Sequence
from pai_lsp.text import TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job
    from pai_lsp.job_parts import TaskRole
    from pai_lsp.text import Span


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
                yield Finding(_place(reference), no_prerequisite(name, names), fixes)


def _place(reference: Reference) -> Span:
    return reference.span if reference.name else reference.scalar.span


def _listed(role: TaskRole) -> Iterator[Reference]:
    """The texts that a role lists, an empty one too; what is no text is a mistake of another kind."""
    node = role.get("prerequisites")
    for item in node.items if isinstance(node, Sequence) else ():
        if isinstance(item, Scalar) and item.is_string:
            yield Reference(item.text, item)


_TYPES = frozenset({*TYPED_FIELDS.values(), "storage"})


@rule(Severity.ERROR)
def wrong_prerequisite_type(job: Job) -> Iterator[Finding]:
    """A task role's `dockerImage`, `data`, `script` or `output` names a prerequisite of another type.

    Each of the four fields looks among the prerequisites of its own type only, so the rest-server refuses the job:
    "Prerequisite ... does not exist." The list `prerequisites` of a task role takes every type.
    Source: rest-server, middlewares/v2/protocol.js, protocolValidate.

        prerequisites:
          - name: trainer
            type: script
        taskRoles:
          worker:
            data: trainer
            #     ^^^^^^^ error

    Good:

        prerequisites:
          - name: trainer
            type: script
        taskRoles:
          worker:
            script: trainer
    """
    fields = {kind: field for field, kind in TYPED_FIELDS.items()}
    typed = ((field, *found) for field in TYPED_FIELDS for found in _typed(job, field))
    for field, role, reference in typed:
        definition = job.definitions_by_name.get(reference.name)
        if definition is None or job.prerequisite_uses.typed(TYPED_FIELDS[field], reference.name):
            continue
        if definition.type and definition.type not in _TYPES:
            continue  # once its type is put right, this may be right as well
        if definition.type == TYPED_FIELDS[field]:
            place = definition.origin.value
            message = f"'{field}' names a prerequisite of the job itself; '{reference.name}' is one of '{place}'"
        else:
            described = f"is {_a(definition.type)} prerequisite" if definition.type else "has no type"
            message = f"'{field}' names {_a(TYPED_FIELDS[field])} prerequisite; '{reference.name}' {described}"
        fixes = near_name_fixes(reference.span, reference.name, _names(job, TYPED_FIELDS[field]), safe=False)
        right, entry = fields.get(definition.type), role.field(field)
        if right and entry and isinstance(entry.key, Scalar) and role.field(right) is None:
            fixes = (Fix(f"Name it in '{right}'", (TextEdit(name_span(entry.key), right),)), *fixes)
        yield Finding(reference.span, message, fixes, (Related(definition.name_span, "defined here"),))


def _a(kind: str) -> str:
    return f"an {kind}" if kind[:1] in "aeiou" else f"a {kind}"


def _typed(job: Job, field: str) -> Iterator[tuple[TaskRole, Reference]]:
    """What task roles name in one of the four typed fields, an empty text too."""
    for role in job.task_roles:
        node = role.get(field)
        if isinstance(node, Scalar) and node.is_string:
            yield role, Reference(node.text, node)


def _names(job: Job, kind: str) -> tuple[str, ...]:
    return tuple(definition.name for definition in job.prerequisites if definition.type == kind and definition.name)


def _unknown(job: Job, field: str) -> Iterator[Finding]:
    kind = TYPED_FIELDS[field]
    names: tuple[str, ...] | None = None
    for _, reference in _typed(job, field):
        name = reference.name
        if job.prerequisite_uses.typed(kind, name) or name in job.definitions_by_name:
            continue
        names = _names(job, kind) if names is None else names
        fixes = near_name_fixes(reference.span, name, names) + prerequisite_stub(job, kind, name)
        yield Finding(_place(reference), f"no {kind} prerequisite is named '{name}'{did_you_mean(name, names)}", fixes)


@rule(Severity.ERROR)
def unknown_docker_image(job: Job) -> Iterator[Finding]:
    """A task role's `dockerImage` names no prerequisite.

    It takes the name of a prerequisite of type `dockerimage`, not the address of an image. The rest-server refuses the
    job: "Prerequisite ... does not exist."
    Source: rest-server, middlewares/v2/protocol.js, protocolValidate.

        prerequisites:
          - name: pytorch
            type: dockerimage
            uri: openpai/standard:python_3.6-pytorch_1.2.0-gpu
        taskRoles:
          worker:
            dockerImage: pytorhc
            #            ^^^^^^^ error

    Good:

        prerequisites:
          - name: pytorch
            type: dockerimage
            uri: openpai/standard:python_3.6-pytorch_1.2.0-gpu
        taskRoles:
          worker:
            dockerImage: pytorch
    """
    return _unknown(job, "dockerImage")


@rule(Severity.ERROR)
def unknown_data(job: Job) -> Iterator[Finding]:
    """A task role's `data` names no prerequisite.

    It takes the name of a prerequisite of type `data`; the rest-server refuses the job: "Prerequisite ... does not
    exist."
    Source: rest-server, middlewares/v2/protocol.js, protocolValidate.

        prerequisites:
          - name: cifar10
            type: data
        taskRoles:
          worker:
            data: cifar-10
            #     ^^^^^^^^ error

    Good:

        prerequisites:
          - name: cifar10
            type: data
        taskRoles:
          worker:
            data: cifar10
    """
    return _unknown(job, "data")


@rule(Severity.ERROR)
def unknown_script(job: Job) -> Iterator[Finding]:
    """A task role's `script` names no prerequisite.

    It takes the name of a prerequisite of type `script`; the rest-server refuses the job: "Prerequisite ... does not
    exist."
    Source: rest-server, middlewares/v2/protocol.js, protocolValidate.

        prerequisites:
          - name: trainer
            type: script
        taskRoles:
          worker:
            script: train
            #       ^^^^^ error

    Good:

        prerequisites:
          - name: trainer
            type: script
        taskRoles:
          worker:
            script: trainer
    """
    return _unknown(job, "script")


@rule(Severity.ERROR)
def unknown_output(job: Job) -> Iterator[Finding]:
    """A task role's `output` names no prerequisite.

    It takes the name of a prerequisite of type `output`; the rest-server refuses the job: "Prerequisite ... does not
    exist."
    Source: rest-server, middlewares/v2/protocol.js, protocolValidate.

        prerequisites:
          - name: models
            type: output
        taskRoles:
          worker:
            output: model
            #       ^^^^^ error

    Good:

        prerequisites:
          - name: models
            type: output
        taskRoles:
          worker:
            output: models
    """
    return _unknown(job, "output")


@rule(Severity.WARNING)
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
        first: dict[str, Reference] = {}
        for reference in role.prerequisites:
            earlier = first.setdefault(reference.name, reference)
            if earlier is not reference:
                fixes = _unlisted(job, role, reference, "Remove the repetition")
                related = (Related(earlier.span, "first listed here"),)
                yield Finding(reference.span, f"'{reference.name}' is listed twice, so it runs twice", fixes, related)


def _unlisted(job: Job, role: TaskRole, reference: Reference, title: str) -> tuple[Fix, ...]:
    """Take a reference out of the role's list."""
    listed = role.get("prerequisites")
    return fix_of(title, remove_item(job.text, listed, reference.scalar)) if isinstance(listed, Sequence) else ()


@rule(Severity.WARNING)
def prerequisite_without_effect(job: Job) -> Iterator[Finding]:
    """A task role lists a prerequisite for which the runtime does nothing.

    Only a prerequisite with a runtime plugin does something when a task role lists it. A docker image is chosen with
    `dockerImage`; `data`, `script` and `output` make a prerequisite's values known to the commands.
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
            # What stands in `extras` is of the extended protocol, and its plugin judged there.
            reason = _idle(job, definition) if definition and definition.origin is Origin.JOB else None
            if definition is None or reason is None:
                continue
            fixes = _plugin_fixes(job, definition) + _unlisted(job, role, reference, "Remove it from the list")
            message = f"listing '{reference.name}' here does nothing: {reason}"
            yield Finding(reference.span, message, fixes, (Related(definition.name_span, "defined here"),))


# Keys of the extended protocol that let a definition without any plugin do something.
_ACTING = ("require", "requireStorages")


def _idle(job: Job, definition: Definition) -> str | None:
    """Why a listed definition does nothing; None when it does, in the released protocol or in the extended one."""
    if definition.type == "dockerimage":
        return "a docker image is chosen with 'dockerImage'"
    if definition.runtime_plugin is not None or definition.type == "storage":
        return None
    if any(definition.node.entry(key) for key in _ACTING):
        return None
    plugin = definition.extended_plugin
    if plugin is None:
        return "it has no 'plugin'"
    known = (*plugins(), *job.settings.plugins)
    if plugin in known or plugin in STORAGE_PLUGINS:
        return None
    return f"'{definition.plugin}' is no runtime plugin{did_you_mean(definition.plugin, known)}"


def _plugin_fixes(job: Job, definition: Definition) -> tuple[Fix, ...]:
    if definition.plugin_scalar is None:
        return ()
    known = [PLUGIN_PREFIX + "." + name for name in (*plugins(), *sorted(job.settings.plugins))]
    by_name = {nearest_name.rpartition(".")[2]: nearest_name for nearest_name in known}
    near = nearest(definition.plugin.rpartition(".")[2], by_name) or nearest(definition.plugin, known)
    span = name_span(definition.plugin_scalar)
    return tuple(
        Fix(f"Change the plugin to '{name}'", (TextEdit(span, name),))
        for name in dict.fromkeys(by_name.get(one, one) for one in near)
    )


RULES = (
    unknown_prerequisite,
    wrong_prerequisite_type,
    unknown_docker_image,
    unknown_data,
    unknown_script,
    unknown_output,
    duplicate_prerequisite_reference,
    prerequisite_without_effect,
)
