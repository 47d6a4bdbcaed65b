"""Rules about a task role's fields `dockerImage`, `data`, `script` and `output`, which name one prerequisite each.

Each field accepts only prerequisites of its own type.
"""

from __future__ import annotations

from pai_lsp.embedded.server_rendering import OBJECT_PROTOTYPE_NAMES
from pai_lsp.findings.diagnostic import Consequence, Finding, Fix, Fixes, Order, Related, Severity, Stage, later, rule
from pai_lsp.findings.fixes import all_of, fix_of, near_name_fixes
from pai_lsp.job.definition import (
    COMMAND_KEYS,
    TYPED_FIELDS,
    Origin,
    Reference,
    name_span,
)
from pai_lsp.job.template_uses import RUNTIME_PLACES
from pai_lsp.platform.image_addresses import without_host
from pai_lsp.platform.tables import ROLE_TYPES, TYPES, as_name
from pai_lsp.rules.prerequisites.references import created_edit, prerequisite_stub
from pai_lsp.source.nodes import Scalar, Sequence
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.text import TextEdit
from pai_lsp.source.tree_edits import append_value, insert_values
from pai_lsp.source.type_checking import TYPE_CHECKING
from pai_lsp.source.writing import scalar_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole

_TYPES = frozenset({*TYPES, "storage"})
# The address of an image, which no name can look like: it has a registry or a tag.
_ADDRESS = lazy_pattern(r"(?=[^:/]*[:/])[a-z_.0-9-]+(?::\d+(?=/))?(?:/[a-z_.0-9-]+)*(?::[A-Za-z_.0-9-]+)?")


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.SERVER)
def wrong_prerequisite_type(job: Job) -> Iterator[Finding]:
    """A task role's `dockerImage`, `data`, `script` or `output` names a prerequisite of another type.

    Each of the four fields accepts only prerequisites of its own type, so the rest-server refuses the job:
    "Prerequisite ... does not exist." The list `prerequisites` of a task role accepts every type.
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
    typed = ((field, *found) for field in TYPED_FIELDS for found in job.once(_typed)[field])
    for field, role, reference in typed:
        definition = job.definitions_by_name.get(reference.name)
        if definition is None or job.find_typed(TYPED_FIELDS[field], reference.name):
            continue
        if definition.type not in _TYPES and definition.origin is Origin.JOB:
            continue  # fixing its type may fix this as well
        if definition.type == TYPED_FIELDS[field]:
            place = definition.origin.value
            message = f"'{field}' must name a prerequisite of the job itself; '{reference.name}' is one of '{place}'"
        else:
            described = f"is {_a(definition.type)} prerequisite" if definition.type else "has no type"
            message = f"'{field}' must name {_a(TYPED_FIELDS[field])} prerequisite; '{reference.name}' {described}"
        fixes = near_name_fixes(reference.span, reference.name, job.once(_names)[TYPED_FIELDS[field]], safe=False)
        right, entry = fields.get(definition.type), role.field(field)
        if right and entry and isinstance(entry.key, Scalar) and role.field(right) is None:
            fixes = all_of(fix_of(f"Use '{right}' instead", TextEdit, name_span(entry.key), right), fixes)
        yield Finding(reference.span, message, fixes, (Related(definition.name_span, "defined here"),))


def _a(kind: str) -> str:
    return f"an {kind}" if kind[:1] in "aeiou" else f"a {kind}"


def _typed(job: Job) -> dict[str, list[tuple[TaskRole, Reference]]]:
    """By typed field, the names in it in task roles, even empty ones."""
    found: dict[str, list[tuple[TaskRole, Reference]]] = {field: [] for field in TYPED_FIELDS}
    for role in job.task_roles:
        for field, names in found.items():
            node = role.get(field)
            if isinstance(node, Scalar) and node.is_string:
                names.append((role, role.typed_references.get(field) or Reference(node.text, node)))
    return found


def _names(job: Job) -> dict[str, tuple[str, ...]]:
    """The names of the job's prerequisites, by their type."""
    named = [one for one in job.prerequisites if one.name]
    return {kind: tuple(one.name for one in named if one.type == kind) for kind in TYPED_FIELDS.values()}


def _unknown(job: Job, field: str) -> Iterator[Finding]:
    kind = TYPED_FIELDS[field]
    for _, reference in job.once(_typed)[field]:
        name = reference.name
        if job.find_typed(kind, name) or name in job.definitions_by_name or job.may_define(name):
            continue
        names = job.once(_names)[kind]
        fixes = all_of(near_name_fixes(reference.span, name, names), prerequisite_stub(job, kind, name))
        if field == "dockerImage" and _ADDRESS.fullmatch(name):
            fixes = _image_at(job, reference)
        message = f"no {kind} prerequisite is named '{name}'{did_you_mean(name, names)}"
        happens = None
        if name in OBJECT_PROTOTYPE_NAMES:  # the server finds them in every mapping
            uses = (use.tag.content for use in job.template_uses if use.place in RUNTIME_PLACES)
            # The runtime looks for an image, and for the prerequisite of a template in a plugin.
            is_needed = field == "dockerImage" or any(content.startswith(f"${field}") for content in uses)
            happens = Consequence.DIES if is_needed else Consequence.FAILS
        yield Finding(reference.place, message, fixes, consequence=happens)


@later
def _image_at(job: Job, reference: Reference) -> Fixes:
    """Use the prerequisite that has the address of an image, which is written instead of its name, or add one."""
    address = reference.name
    uris = ((one.name, one.node.get("uri")) for one in job.prerequisites if one.type == "dockerimage" and one.name)
    known = next((name for name, uri in uris if isinstance(uri, Scalar) and uri.text == address), None)
    if known is not None:
        return fix_of(f"Change to '{known}'", TextEdit, reference.span, scalar_line(known), safe=True)
    name = job.free_name(as_name(without_host(address).partition(":")[0].rpartition("/")[2], "image"))
    added = created_edit(job, {"type": "dockerimage", "name": name, "uri": address})
    if added is None:
        return ()
    return (Fix(f"Add the image as the prerequisite '{name}'", (TextEdit(reference.span, name), added), safe=True),)


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.SERVER, spreads=True)
def unknown_docker_image(job: Job) -> Iterator[Finding]:
    """A task role's `dockerImage` is not defined.

    It must be the name of a prerequisite of type `dockerimage`, not the address of an image. The rest-server refuses
    the
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


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.SERVER, spreads=True)
def unknown_data(job: Job) -> Iterator[Finding]:
    """A task role's `data` is not defined.

    It must be the name of a prerequisite of type `data`; the rest-server refuses the job: "Prerequisite ... does not
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


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.SERVER, spreads=True)
def unknown_script(job: Job) -> Iterator[Finding]:
    """A task role's `script` is not defined.

    It must be the name of a prerequisite of type `script`; the rest-server refuses the job: "Prerequisite ... does not
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


@rule(Severity.ERROR, order=Order.NAMES, stage=Stage.SERVER, spreads=True)
def unknown_output(job: Job) -> Iterator[Finding]:
    """A task role's `output` is not defined.

    It must be the name of a prerequisite of type `output`; the rest-server refuses the job: "Prerequisite ... does not
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


@rule(Severity.WARNING, order=Order.NAMES, stage=Stage.RUNTIME, consequence=Consequence.IGNORED, about=("plugin",))
def plugin_never_runs(job: Job) -> Iterator[Finding]:
    """A prerequisite with a plugin is only named in `data`, `script` or `output`, so the plugin never runs.

    These fields only make the values of a prerequisite available in commands. Its callbacks, and any other plugin, run
    only for task roles that list it in `prerequisites`. Not reported if some task role does.
    Source: openpai-runtime, src/init.d/initializer.py, collect_plugin_configs.

        prerequisites:
          - name: mnist
            type: data
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands: [mkdir -p /dataset/mnist]
        taskRoles:
          worker:
            data: mnist
            #     ^^^^^ warning

    Good:

        prerequisites:
          - name: mnist
            type: data
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands: [mkdir -p /dataset/mnist]
        taskRoles:
          worker:
            data: mnist
            prerequisites: [mnist]
    """
    for field in ROLE_TYPES:
        for role, reference in job.once(_typed)[field]:
            definition = job.find_typed(field, reference.name)
            plugin = definition.extended_plugin if definition else None
            if definition is None or plugin is None or job.roles_running(definition):
                continue
            if plugin == "cmd" and not any(map(definition.parameter, COMMAND_KEYS)):
                continue
            what = "callbacks of" if plugin == "cmd" else f"plugin '{plugin}' of"
            verb = "run" if plugin == "cmd" else "runs"
            message = f"the {what} '{reference.name}' never {verb}; also list it in 'prerequisites'"
            related = (Related(definition.name_span, "defined here"),)
            yield Finding(reference.span, message, _listed_too(job, role, reference.name), related)


@later
def _listed_too(job: Job, role: TaskRole, name: str) -> Fixes:
    title, entry = f"List '{name}' in 'prerequisites'", role.field("prerequisites")
    if entry is None and role.node is not None:
        return fix_of(title, insert_values, job.text, role.node, {"prerequisites": [name]})
    if entry is None or not isinstance(entry.value, Sequence) or not entry.value.items:
        return ()
    return fix_of(title, append_value, job.text, entry.value, name)
