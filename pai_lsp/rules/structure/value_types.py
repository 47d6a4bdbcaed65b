"""Rules about single values: wrong type, not one of the allowed values, or out of range.

pai_lsp/platform/job_schema.py finds all structure errors once; each rule reports one kind of them.
"""

# ruff: noqa: PLC0415 - fixes are imported where there is something to fix: most jobs have no structure errors
from __future__ import annotations

from pai_lsp.findings.diagnostic import Finding, Fix, Severity, rule
from pai_lsp.findings.fixes import change_fix
from pai_lsp.job.definition import name_span
from pai_lsp.rules.structure.structure_places import places
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.text import TextEdit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job


@rule(Severity.ERROR, about=("type-mismatch",))
def type_mismatch(job: Job) -> Iterator[Finding]:
    """Value of the wrong type.

    In YAML the spelling of a value decides its type: `1` is a number and `"1"` a string, `true` is a boolean,
    `2020-01-02` is a date, and `- echo a: b` is a mapping. The rest-server refuses the job: "should be string". It does
    not check some keys of `extras`; there, the wrong type makes the job fail later.
    Sources: rest-server, config/v2/protocol.js; js-yaml 3.13, lib/js-yaml/type.

        taskRoles:
          worker:
            instances: "1"
            #          ^^^ error
            commands:
              - echo step: done
              # ^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            instances: 1
            commands:
              - "echo step: done"
    """
    for place in places(job, "type-mismatch"):
        if place.error.path:
            from pai_lsp.rules.structure.structure_fixes import type_fixes

            yield Finding(place.span, place.error.message, type_fixes(job, place))


@rule(Severity.ERROR, about=("invalid-enum",))
def invalid_enum(job: Job) -> Iterator[Finding]:
    """Value that is not one of the allowed ones.

    `protocolVersion` must be 2, `type` must be `job`, and the type of a prerequisite must be `dockerimage`, `data`,
    `script` or `output`. The rest-server refuses anything else: "should be equal to one of the allowed values".
    Source: rest-server, config/v2/protocol.js.

        prerequisites:
          - type: dockerImage
            #     ^^^^^^^^^^^ error
            name: image
            uri: ubuntu:18.04

    Good:

        prerequisites:
          - type: dockerimage
            name: image
            uri: ubuntu:18.04
    """
    for place in places(job, "invalid-enum"):
        from pai_lsp.rules.structure.structure_fixes import choice_fixes

        yield Finding(place.span, place.error.message, choice_fixes(place))


@rule(Severity.ERROR, about=("out-of-range",))
def out_of_range(job: Job) -> Iterator[Finding]:
    """Number out of range.

    `instances` must be at least 1 and `jobRetryCount` at least 0. The rest-server refuses the job: "should be >= 1".
    Source: rest-server, config/v2/protocol.js.

        taskRoles:
          worker:
            instances: 0
            #          ^ error

    Good:

        taskRoles:
          worker:
            instances: 1
    """
    for place in places(job, "out-of-range"):
        limit = place.error.expected
        fixes = (Fix(f"Change to {limit[0]}", (TextEdit(place.span, limit[0]),)),) if limit else ()
        yield Finding(place.span, place.error.message, fixes)


@rule(Severity.ERROR, about=("invalid-job-name",))
def invalid_job_name(job: Job) -> Iterator[Finding]:
    """Invalid job name.

    A job name consists of letters, digits, `_` and `-`, at most 255 characters. The rest-server refuses `.`, `~` and
    spaces, although the portal's form allows them: "should match pattern".
    Source: rest-server, config/v2/protocol.js.

        name: my training v1.2
        #     ^^^^^^^^^^^^^^^^ error

    Good:

        name: my-training-v1-2
    """
    for place in places(job, "invalid-job-name"):
        node = place.node
        fixes: tuple[Fix, ...] = ()
        if isinstance(node, Scalar) and not node.is_block:
            # Braces and brackets mark a placeholder; a valid name would hide that it must be replaced.
            is_placeholder = not {"{", "<", "$", "%"}.isdisjoint(node.text)
            span, names = name_span(node), place.error.expected
            fixes = tuple(change_fix(span, name, safe=not is_placeholder) for name in names)
        yield Finding(place.span, place.error.message, fixes)


@rule(Severity.ERROR, about=("taskroles-not-mapping",))
def taskroles_not_mapping(job: Job) -> Iterator[Finding]:
    """`taskRoles` is not a mapping.

    `taskRoles` maps names to task roles. The rest-server does not check this: it accepts a list, names the task roles
    `0`, `1` and so on, and the job cannot start. A string causes an error 500.
    Source: rest-server, config/v2/protocol.js and middlewares/v2/protocol.js.

        taskRoles:
        #^^^^^^^^ error
          - name: worker
            dockerImage: image

    Good:

        taskRoles:
          worker:
            dockerImage: image
    """
    for place in places(job, "taskroles-not-mapping"):
        from pai_lsp.rules.structure.structure_fixes import roles_as_mapping_fixes

        yield Finding(place.span, place.error.message, roles_as_mapping_fixes(job, place))


@rule(Severity.ERROR, about=("ports-not-mapping",))
def ports_not_mapping(job: Job) -> Iterator[Finding]:
    """`ports` is not a mapping.

    `ports` maps a label to the number of ports. The rest-server does not check this: it accepts a list, and the job
    never gets its ports.
    Source: rest-server, config/v2/protocol.js; pai, issue 4696.

        taskRoles:
          worker:
            resourcePerInstance:
              cpu: 4
              memoryMB: 8192
              gpu: 1
              ports: [ssh, tensorboard]
              #      ^^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            resourcePerInstance:
              cpu: 4
              memoryMB: 8192
              gpu: 1
              ports: {ssh: 1, tensorboard: 1}
    """
    for place in places(job, "ports-not-mapping"):
        from pai_lsp.rules.structure.structure_fixes import ports_as_mapping_fixes

        yield Finding(place.span, place.error.message, ports_as_mapping_fixes(job, place))


RULES = (
    type_mismatch,
    invalid_enum,
    out_of_range,
    invalid_job_name,
    taskroles_not_mapping,
    ports_not_mapping,
)
