"""Rules about the structure of a job: unknown keys, missing keys, the file as a whole, and single values.

A value may have the wrong type, be none of the allowed values, or be out of range. pai_lsp/platform/job_schema.py finds
all structure errors once; each rule reports one kind of them.
"""

# ruff: noqa: PLC0415 - fixes are imported where there is something to fix: most jobs have no structure errors
from __future__ import annotations

import re

from pai_lsp.embedded.placeholders import is_placeholder, placeholder_spans
from pai_lsp.findings.diagnostic import Consequence, Finding, Fixes, Order, Severity, Stage, later, rule
from pai_lsp.findings.fixes import fix_of
from pai_lsp.platform.job_schema import keys_of_version_1_only
from pai_lsp.rules.structure.structure_places import line_of_content, places, reported
from pai_lsp.source.edits import line_end
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import (
    YAML_TAG,
    Mapping,
    ProblemKind,
    Scalar,
    Sequence,
    items_of,
    nodes_along,
    plain_value,
    value_at,
)
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import counts_as_false
from pai_lsp.source.spelling import listed
from pai_lsp.source.text import Span, TextEdit, any_overlaps
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pai_lsp.job.job import Job
    from pai_lsp.rules.structure.structure_places import ErrorPlace
    from pai_lsp.source.nodes import Entry, Node

_TEMPLATE_COMMENT = lazy_pattern(r"^[ \t]*#[ \t]*pai-lsp:[ \t]*template\b", re.MULTILINE)
# Source: body-parser, lib/types/text.js (limit '100kb'); bytes of UTF-8.
MAX_BYTES = 102_400


@rule(Severity.ERROR, order=Order.STRUCTURE, stage=Stage.SERVER)
def not_a_job(job: Job) -> Iterator[Finding]:
    """The file is not a job, but something other than a mapping, or a manifest of Kubernetes.

    A job must be a mapping; the rest-server refuses an empty file, a list or a single value: "should be object". Of the
    manifests of Kubernetes, pai-lsp knows the MPIJobs of Kubeflow.
    Source: rest-server, config/v2/protocol.js.

        - protocolVersion: 2
        #^^^^^^^^^^^^^^^^^^^ error
          name: train

    Good:

        protocolVersion: 2
        name: train
    """
    if (entry := job.once(key_of_kubernetes)) is not None:
        version = entry.value.text if isinstance(entry.value, Scalar) else entry.name
        message = f"'{version}' is an API of Kubernetes that pai-lsp does not know; this file is not a job"
        yield Finding(entry.key.span, message)
    if job.is_catalog or isinstance(job.syntax.root, Mapping):
        return
    if any(problem.kind is not ProblemKind.SEVERAL_DOCUMENTS for problem in job.syntax.problems):
        return
    found = "a list" if isinstance(job.syntax.root, Sequence) else "a single value"
    is_empty = job.plain is None
    message = "the file is empty; a job must be a mapping" if is_empty else f"a job must be a mapping, not {found}"
    yield Finding(line_of_content(job.text), message)


@rule(Severity.ERROR, order=Order.STRUCTURE, stage=Stage.SERVER)
def job_too_large(job: Job) -> Iterator[Finding]:
    """The file is larger than 102,400 bytes.

    The rest-server responds with status 413 to a larger request. Put long scripts and data into an image or a storage.
    Source: rest-server, src/config/express.js (bodyParser.text with its default limit, 100kb).
    """
    size = len(job.text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES and not job.is_catalog:
        message = f"the file has {size:,} bytes; the rest-server accepts at most {MAX_BYTES:,}"
        yield Finding(line_of_content(job.text), message)


@later
def _fixes(job: Job, place: ErrorPlace) -> Fixes:
    from pai_lsp.rules.structure.structure_fixes import FIXES

    return FIXES[place.error.kind](job, place)


@rule(Severity.ERROR, order=Order.STRUCTURE, stage=Stage.SERVER, about=("unknown-key",))
def unknown_key(job: Job) -> Iterator[Finding]:
    """The rest-server does not know a key, and refuses the job.

    The rest-server refuses unknown keys of the job itself, of a task role, of `completion`, `resourcePerInstance` and
    a deployment's task role: "should NOT have additional properties". Elsewhere, as in `extras`, any key is allowed.
    Source: rest-server, config/v2/protocol.js.

        taskRoles:
          worker:
            instance: 1
            #^^^^^^^ error

    Good:

        taskRoles:
          worker:
            instances: 1
    """
    return reported(job, "unknown-key", _fixes)


@rule(Severity.ERROR, order=Order.STRUCTURE, stage=Stage.SERVER)
def task_role_name_missing(job: Job) -> Iterator[Finding]:
    """The keys of a task role are directly under `taskRoles`, without the name of the task role.

    The name of the task role is missing above them, or they are not indented deeper than the name. The rest-server
    reads each of the keys as a task role, and refuses the job.
    Source: rest-server, config/v2/protocol.js.

        taskRoles:
          instances: 1
          #^^^^^^^^ error
          commands: [sleep 1]

    Good:

        taskRoles:
          worker:
            instances: 1
            commands: [sleep 1]
    """
    if misplaced := job.misplaced_role_keys:
        name = misplaced[0].name
        if names := job.misread_roles - {entry.name for entry in misplaced}:
            message = f"indent '{name}' and the keys after it deeper than the task role '{min(names)}'"
        else:
            message = f"'{name}' is a key of a task role; the name of the task role is missing above it"
        yield Finding(misplaced[0].key.span, message)


@rule(Severity.ERROR, order=Order.STRUCTURE, stage=Stage.SERVER, about=("dockerimage-extra-key",))
def dockerimage_extra_key(job: Job) -> Iterator[Finding]:
    """A prerequisite of type `dockerimage` has a key that is not allowed there.

    In an image the rest-server accepts `uri`, `auth` and the keys of all prerequisites: `name`, `version`,
    `contributor`, `description` and `protocolVersion`. It refuses `plugin`, `callbacks`, `require` and all others. Put
    commands into a prerequisite of type `script`, `data` or `output`, and list it in the task role.
    Source: rest-server, config/v2/protocol.js.

        prerequisites:
          - type: dockerimage
            name: image
            uri: openpai/standard:python_3.6-pytorch_1.2.0-gpu
            plugin: com.microsoft.pai.runtimeplugin.cmd
            #^^^^^ error

    Good:

        prerequisites:
          - type: dockerimage
            name: image
            uri: openpai/standard:python_3.6-pytorch_1.2.0-gpu
          - type: script
            name: setup
            plugin: com.microsoft.pai.runtimeplugin.cmd
    """
    return reported(job, "dockerimage-extra-key", _fixes)


@rule(Severity.ERROR, order=Order.STRUCTURE, stage=Stage.SERVER)
def v1_job(job: Job) -> Iterator[Finding]:
    """The file is a job of protocol version 1.

    OpenPAI 1.0 and later have no address for such jobs. `pai-lsp convert` writes a job of version 2; in the editor, the
    refactoring *Convert to protocol version 2* does. Nothing else is checked in the file.
    Source: rest-server, src/routes/index.js, which has version 2 only.

        jobName: train
        #^^^^^^ error
        image: openpai/standard:python_3.6-pytorch_1.2.0-gpu
        taskRoles:
          - {name: worker, taskNumber: 1, command: python train.py}

    Good:

        protocolVersion: 2
        name: train
        type: job
        prerequisites:
          - type: dockerimage
            name: image
            uri: openpai/standard:python_3.6-pytorch_1.2.0-gpu
        taskRoles:
          worker:
            instances: 1
            dockerImage: image
            commands:
              - python train.py
    """
    if (span := job.once(key_of_version_1)) is not None:
        yield Finding(span, "this is a job of protocol version 1; 'pai-lsp convert' makes one of version 2 of it")


def key_of_version_1(job: Job) -> Span | None:
    """The key that makes a file a job of protocol version 1, also one in JSON with comments; None for any other file.

    It has no `protocolVersion`, and `jobName` or a list of task roles with keys of version 1.
    """
    if "protocolVersion" in job.text or "taskRoles" not in job.text or job.is_catalog:
        return None
    if not job.syntax.problems:
        found = _key_of_version_1(job.root)
        return found.key.span if found is not None else None
    from pai_lsp.source.json_comments import without_json_comments

    syntax = without_json_comments(job.syntax)
    found = None if syntax.problems else _key_of_version_1(syntax.root)
    if found is None:
        return None
    start = job.text.find(f'"{found.name}"')
    return Span(start, start + len(found.name) + 2) if start >= 0 else line_of_content(job.text)


def _key_of_version_1(root: Node | None) -> Entry | None:
    if not isinstance(root, Mapping) or root.get("taskRoles") is None:
        return None
    if (name := root.entry("jobName")) is not None:
        return name
    _, keys = keys_of_version_1_only()
    items = items_of(root.get("taskRoles"))
    return next((one for item in items if isinstance(item, Mapping) for one in item.entries if one.name in keys), None)


@rule(Severity.ERROR, order=Order.STRUCTURE, stage=Stage.SERVER, about=("v1-job-key",))
def v1_job_key(job: Job) -> Iterator[Finding]:
    """A protocol v2 job has a key of protocol v1.

    The rest-server refuses the keys of the older JSON protocol: "should NOT have additional properties". In version 2
    some keys have another name, some are in a separate section, and an image is a prerequisite.
    Source: rest-server, config/v2/protocol.js; openpaivscode, schemas/pai_job_config.schema.json, for the old keys.

        taskRoles:
          worker:
            taskNumber: 1
            #^^^^^^^^^ error
            command: python train.py
            #^^^^^^ error

    Good:

        taskRoles:
          worker:
            instances: 1
            commands:
              - python train.py
    """
    return reported(job, "v1-job-key", _fixes)


@rule(Severity.ERROR, order=Order.STRUCTURE, stage=Stage.SERVER, about=("missing-key",))
def missing_key(job: Job) -> Iterator[Finding]:
    """A required key is missing.

    A job needs `protocolVersion`, `name`, `type` and `taskRoles`; a task role `dockerImage`, `resourcePerInstance` and
    `commands`; resources `cpu`, `memoryMB` and `gpu`; a prerequisite `name` and `type`, and an image its `uri`.
    The rest-server refuses the job: "should have required property".
    Source: rest-server, config/v2/protocol.js.

        protocolVersion: 2
        name: train
        type: job
        taskRoles:
          worker:
            dockerImage: image
            resourcePerInstance:
            #^^^^^^^^^^^^^^^^^^ error
              cpu: 4
              memoryMB: 8192
            commands: [python train.py]

    Good:

        protocolVersion: 2
        name: train
        type: job
        taskRoles:
          worker:
            dockerImage: image
            resourcePerInstance:
              cpu: 4
              memoryMB: 8192
              gpu: 1
            commands: [python train.py]
    """
    missing: dict[tuple[Node | None, Span], list[ErrorPlace]] = {}
    for place in places(job, "missing-key"):
        missing.setdefault((place.node, place.span), []).append(place)
    for (_, span), ones in missing.items():
        from pai_lsp.rules.structure.structure_fixes import insert_fixes

        message = ones[0].error.message
        if len(ones) > 1:
            keys = listed(one.error.key or "" for one in ones)
            message = f"{message.partition(' needs the key ')[0]} needs the keys {keys}"
        yield Finding(span, message, insert_fixes(job, ones), consequence=ones[0].consequence)


@rule(Severity.ERROR, order=Order.STRUCTURE, stage=Stage.SERVER, about=("empty-section",))
def empty_section(job: Job) -> Iterator[Finding]:
    """A section that needs content is empty.

    An optional section may be omitted, but not empty: the rest-server reads `parameters:` as null and refuses it
    ("should be object"). Lists of prerequisites, deployments and commands need at least one item. `{}` is allowed for
    `parameters`, `secrets`, `defaults` and `extras`. OpenPAI takes null for no `ports`, which is a warning.
    Source: rest-server, config/v2/protocol.js; models/v2/job/k8s.js (`ports || {}`).

        parameters:
        #^^^^^^^^^ error
        prerequisites: []
        #              ^^ error

    Good:

        parameters: {}
    """
    for place in places(job, "empty-section"):
        if isinstance(place.node, Scalar) and place.node.tag == f"{YAML_TAG}map" and "object" in place.error.types:
            continue  # js-yaml reads `{}`; the runtime, which sees no secrets, cannot read it
        found = Finding(place.span, place.error.message, _fixes(job, place), consequence=place.consequence)
        if place.error.is_of_ports and not job.platform.checks_mappings:
            found = replace(found, severity=Severity.WARNING, consequence=Consequence.IGNORED)
        elif place.error.types and _is_in_deployment(place) and not job.platform.checks_mappings:
            found = replace(found, consequence=_of_deployment(job, place))
        yield found


@rule(Severity.ERROR, stage=Stage.SERVER, is_about_reading=True)
def job_template(job: Job) -> Iterator[Finding]:
    """The file is a template from which a program makes jobs.

    Values such as `{instances}`, `{{ name }}` or `${COUNT}` are filled in by the program that submits the job. As the
    file is, they are mappings or strings, and the rest-server refuses it. If it is meant as a template, mark it with
    the comment `# pai-lsp: template`: then its placeholders are not reported, and everything else is checked.
    Source: rest-server, config/v2/protocol.js.

        name: {{ name }}
        #     ^^^^^^^^^^ error
        taskRoles:
          worker:
            instances: {instances}

    Good:

        # pai-lsp: template
        name: {{ name }}
        taskRoles:
          worker:
            instances: {instances}
    """
    spans = job.once(placeholders)
    if not spans or is_marked_template(job.text):
        return
    first = next((span for span in spans if not job.hidden.holds(span)), spans[0])
    written = job.text[first.start : first.end]
    message = f"'{written}' is a placeholder for another program; the cluster refuses the file as it is"
    end = line_end(job.text)
    at = 1 if job.text.startswith("\ufeff") else 0
    fixes = fix_of("Mark this file as a template", TextEdit, Span(at, at), f"# pai-lsp: template{end}")
    message = f"{message} (if it is a template, mark it with '# pai-lsp: template')"
    # The server takes whatever the secrets are.
    consequence = Consequence.FAILS if all(job.hidden.holds(span) for span in spans) else None
    yield Finding(first, message, () if job.text.startswith("%", at) else fixes, consequence=consequence)


def key_of_kubernetes(job: Job) -> Entry | None:
    """The `apiVersion` of a manifest of Kubernetes; None in any other file."""
    root = job.syntax.root
    if job.is_catalog or not isinstance(root, Mapping) or root.get("kind") is None or root.entry("taskRoles"):
        return None
    return None if root.entry("protocolVersion") else root.entry("apiVersion")


def is_marked_template(text: str) -> bool:
    """Whether the author has marked the file as a template of jobs."""
    return "pai-lsp:" in text and _TEMPLATE_COMMENT.search(text) is not None


def placeholders(job: Job) -> tuple[Span, ...]:
    """The placeholders of a program in a template of jobs, in their order; none if no value is wrong because of one."""
    if job.is_catalog:
        return ()
    wrong = [place.span for kind in ("type-mismatch", "invalid-job-name") for place in places(job, kind)]
    statements = [problem.span for problem in job.syntax.problems] if "{%" in job.text else []
    if not wrong and not statements:
        return ()
    found = placeholder_spans(job.text)
    braces = [span for span in found if job.text[span.start] != "$"]  # those of bash are part of many right values
    is_marked = any(any_overlaps(braces, span) for span in (*wrong, *statements))
    return found if is_marked or any(is_placeholder(job.text[span.start : span.end]) for span in wrong) else ()


@rule(Severity.ERROR, order=Order.STRUCTURE, stage=Stage.SERVER, about=("type-mismatch",))
def type_mismatch(job: Job) -> Iterator[Finding]:
    """A value has the wrong type.

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
            yield Finding(place.span, place.error.message, _fixes(job, place), consequence=_of_wrong_type(place))


def _of_wrong_type(place: ErrorPlace) -> Consequence | None:
    """What becomes of the job; the rest-server checks no part of `extras`, but walks over its storages."""
    path, node = place.error.path, place.node
    if path == ("extras",) and place.error.is_accepted:
        return Consequence.DIES  # the runtime looks for plugins in it
    if len(path) < 2 or path[0] != "extras":
        return place.consequence
    is_walked = isinstance(node, Mapping) or (
        isinstance(node, Scalar) and not isinstance(node.value, str) and not counts_as_false(node.value)
    )
    return None if path == ("extras", "storages") and is_walked else Consequence.FAILS


@rule(Severity.ERROR, order=Order.STRUCTURE, stage=Stage.SERVER, about=("invalid-enum",))
def invalid_enum(job: Job) -> Iterator[Finding]:
    """A value is not one of the allowed ones.

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
    return reported(job, "invalid-enum", _fixes)


@rule(Severity.ERROR, order=Order.STRUCTURE, stage=Stage.SERVER, about=("out-of-range",))
def out_of_range(job: Job) -> Iterator[Finding]:
    """A number is outside the allowed range.

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
    return reported(job, "out-of-range", _fixes)


@rule(Severity.ERROR, order=Order.STRUCTURE, stage=Stage.SERVER, about=("invalid-job-name",))
def invalid_job_name(job: Job) -> Iterator[Finding]:
    """The name of the job is not valid.

    A job name consists of letters, digits, `_` and `-`, at most 255 characters. The rest-server refuses `.`, `~` and
    spaces, although the portal's form allows them: "should match pattern".
    Source: rest-server, config/v2/protocol.js.

        name: my training v1.2
        #     ^^^^^^^^^^^^^^^^ error

    Good:

        name: my-training-v1-2
    """
    return reported(job, "invalid-job-name", _fixes)


@rule(Severity.ERROR, order=Order.STRUCTURE, stage=Stage.RUNTIME, about=("taskroles-not-mapping",))
def taskroles_not_mapping(job: Job) -> Iterator[Finding]:
    """`taskRoles` is not a mapping.

    `taskRoles` maps names to task roles. OpenPAI's rest-server does not check this: it accepts a list, names the task
    roles `0`, `1` and so on, and the job cannot start. A string causes an error 500. In a deployment, a list names no
    role, so the commands do not run; any other value causes an error 500 if it is the default one. LTP refuses them.
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
        # A number has no keys for JavaScript: the job has no task roles, and Kubernetes refuses that.
        is_refused = isinstance(place.node, Scalar) and (place.node.value is None or isinstance(place.node.value, str))
        happens = Consequence.REFUSED if is_refused or job.platform.checks_mappings else None
        if _is_in_deployment(place) and not job.platform.checks_mappings:
            happens = _of_deployment(job, place)
        yield Finding(place.span, place.error.message, _fixes(job, place), consequence=happens)


def _is_in_deployment(place: ErrorPlace) -> bool:
    return place.error.path[:1] == ("deployments",) and place.error.path[2:] == ("taskRoles",)


def _of_deployment(job: Job, place: ErrorPlace) -> Consequence:
    """What a value other than a mapping as a deployment's `taskRoles` does where the server does not check it.

    JavaScript looks for the task roles in that of the default deployment: a list has none, and a scalar ends it.
    """
    name = value_at((job.root, *nodes_along(job.root, place.error.path[:2]))[-1], "name")
    default = job.default_deployment_reference
    is_default = isinstance(name, Scalar) and default is not None and name.text == default.name
    return Consequence.REFUSED if is_default and not isinstance(place.node, Sequence) else Consequence.FAILS


@rule(Severity.ERROR, order=Order.STRUCTURE, stage=Stage.RUNTIME, about=("ports-not-mapping",))
def ports_not_mapping(job: Job) -> Iterator[Finding]:
    """`ports` is not a mapping.

    `ports` maps a label to the number of ports. OpenPAI's rest-server does not check this: it accepts a list, and the
    runtime fails before the task starts. A list of numbers is a warning: each is the number of ports of a label that is
    its index. So is an empty list or string, 0 or `false`, which means no ports. LTP refuses all of them.
    Source: rest-server, config/v2/protocol.js; models/v2/job/k8s.js; openpai-runtime, src/init.d/framework_parser.py
    (`int`); pai, issue 4696.

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
        found = Finding(place.span, place.error.message, _fixes(job, place))
        if job.platform.checks_mappings or (isinstance(place.node, Scalar) and not counts_as_false(place.node.value)):
            found = replace(found, consequence=Consequence.REFUSED)
        elif isinstance(place.node, Scalar) or not items_of(place.node):
            found = replace(found, severity=Severity.WARNING, consequence=Consequence.IGNORED)
        elif _are_numbers_of_ports(plain_value(place.node)):
            message = f"{found.message}; it reserves so many ports under the labels '0', '1' and so on"
            found = replace(found, message=message, severity=Severity.WARNING, consequence=Consequence.FAILS)
        yield found


def _are_numbers_of_ports(items: list[Any]) -> bool:
    """Whether the runtime, which is written in Python, can make a whole number of each item."""
    try:
        return [int(item) for item in items] != []
    except (TypeError, ValueError, OverflowError):
        return False
