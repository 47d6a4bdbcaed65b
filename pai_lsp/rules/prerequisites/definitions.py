"""Rules about prerequisites themselves: duplicate names and unused definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Fix, Related, Severity, Tag, rule
from pai_lsp.findings.fixes import fix_of
from pai_lsp.job.definition import Definition, Origin
from pai_lsp.job.symbols import rename_prerequisite
from pai_lsp.source.edits import remove_item
from pai_lsp.source.nodes import Scalar, Sequence
from pai_lsp.source.spelling import free_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job


@rule(Severity.ERROR)
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
    first: dict[tuple[Origin, str, str], Definition] = {}
    for definition in job.definitions:
        if not definition.name:
            continue
        earlier = first.setdefault((definition.origin, definition.type, definition.name), definition)
        if earlier is not definition:
            kind = f"{definition.type} prerequisite" if definition.type else "prerequisite"
            related = (Related(earlier.name_span, "first defined here"),)
            message = f"another {kind} is named '{definition.name}'"
            yield Finding(definition.name_span, message, (_rename(job, definition),), related)


def _rename(job: Job, definition: Definition) -> Fix:
    """Give a definition a unique name."""
    name = free_name(definition.name, {one.name for one in job.definitions})
    return Fix(f"Rename this one to '{name}'", rename_prerequisite(job, definition, name))


@rule(Severity.ERROR)
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
        if image is None or definition.type == "dockerimage":
            continue
        yield Finding(
            definition.name_span,
            f"'{definition.name}' is also the name of a docker image; the runtime finds two and the task fails",
            (_rename(job, definition),),
            (Related(image.name_span, "the docker image"),),
        )


@rule(Severity.WARNING)
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
        if taken is None or taken.type == definition.type:
            continue
        yield Finding(
            definition.name_span,
            f"a later prerequisite is also named '{definition.name}'; only that one runs",
            (_rename(job, definition),),
            (Related(taken.name_span, "the one that runs"),),
        )


@rule(Severity.HINT)
def unused_prerequisite(job: Job) -> Iterator[Finding]:
    """Unused prerequisite.

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
    if job.is_catalog or not job.task_roles:
        return
    for definition in job.definitions:
        if definition.name_scalar is None or job.prerequisite_uses.is_used(definition):
            continue
        message = f"no task role uses '{definition.name}'"
        yield Finding(definition.name_span, message, _removal(job, definition), tags=(Tag.UNNECESSARY,))


def _removal(job: Job, definition: Definition) -> tuple[Fix, ...]:
    is_extra = definition.origin is Origin.EXTRAS
    section = job.extras_entry("reference_prerequisites") if is_extra else job.section("prerequisites")
    node = section.value if section else None
    if not isinstance(node, Sequence) or len(node.items) < 2 or not isinstance(definition.name_scalar, Scalar):
        return ()
    return fix_of(f"Remove '{definition.name}'", remove_item(job.text, node, definition.node))


RULES = (duplicate_prerequisite, image_name_shared, prerequisite_name_shared_across_types, unused_prerequisite)
