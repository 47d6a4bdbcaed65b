"""Rules about the extended protocol, which a released cluster refuses or ignores until the job is expanded.

Files of a marketplace are written in the extended protocol and never submitted, so these rules skip them.
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
from pai_lsp.findings.fixes import change_fix, fix_of
from pai_lsp.job.definition import CMD_PLUGIN, STORAGE_PLUGINS, Definition, Origin, is_empty, name_span
from pai_lsp.job.lookup import AddressFault, looks_like_address, read_address
from pai_lsp.job.this_lookup import this_answer, this_uses
from pai_lsp.job.uses import callbacks
from pai_lsp.platform.tables import PLUGIN_PREFIX, events
from pai_lsp.source.content import mapped
from pai_lsp.source.edits import cut_entry, insert_entry, line_span
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Mapping, Scalar, Sequence
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Entry


_EXPAND = "submit the output of 'pai-lsp expand'"


@rule(Severity.WARNING, stage=Stage.RUNTIME, order=Order.STRUCTURE, consequence=Consequence.IGNORED)
def needs_expansion(job: Job) -> Iterator[Finding]:
    """A released cluster ignores a part of the extended protocol.

    A released cluster silently ignores `require`, `plugin_params`, `template_variables`, `requireStorages`,
    `pathForUser`, `<% this.… %>`, `extras.reference_prerequisites`, short or missing plugin names, and the events
    `taskFails` and `containerExit`: the job runs without them. `pai-lsp expand` writes a job that every cluster
    understands. Each use has one finding; the first one that the cluster refuses has the error `refused-until-expanded`
    instead. If you always expand jobs, turn off both rules in `.pai-lsp.yaml`.
    Source: docs/protocol.md, "Layers"; openpai-runtime, src/init.d/initializer.py, src/plugins/cmd/init.py; openpai,
    issues 5145 and 5345.

        prerequisites:
          - name: storage
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
          - name: mnist
            type: data
            plugin: cmd
            #       ^^^ warning
            require: [storage]
            #^^^^^^ warning
            callbacks:
              - event: taskFails
                #      ^^^^^^^^^ warning
                commands: [sleep 30m]
        taskRoles:
          worker:
            prerequisites: [mnist]

    Good:

        prerequisites:
          - name: storage
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
          - name: mnist
            type: data
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands: [echo hello]
        taskRoles:
          worker:
            prerequisites: [storage, mnist]
    """
    if job.is_catalog:
        return
    refused, ignored = job.once(_features)
    for feature in (*ignored, *refused[1:]):
        yield replace(feature, message=f"{feature.message}; {_EXPAND}")


@rule(Severity.ERROR, stage=Stage.SERVER, order=Order.STRUCTURE, explains_stop=False)
def refused_until_expanded(job: Job) -> Iterator[Finding]:
    """The rest-server refuses a part of the extended protocol.

    The rest-server refuses an address or a name from `extras.reference_prerequisites` in a task role's list
    ("Prerequisite ... does not exist."), a prerequisite of type `storage`, and an entry of `require` with template
    variables. A job has this error once, at the first such place; the others have the warning `needs-expansion`.
    `pai-lsp expand` writes a job that the rest-server accepts. If you always expand jobs, turn off both rules in
    `.pai-lsp.yaml`.
    Source: rest-server, config/v2/protocol.js, middlewares/v2/protocol.js; docs/protocol.md, "Layers".

        taskRoles:
          worker:
            prerequisites: ["marketplace://name/mnist"]
            #                ^^^^^^^^^^^^^^^^^^^^^^^^ error

    Good:

        prerequisites:
          - name: mnist
            type: data
        taskRoles:
          worker:
            prerequisites: [mnist]
    """
    if job.is_catalog:
        return
    refused, _ = job.once(_features)
    if refused:
        yield Finding(refused[0].span, f"{refused[0].message}; {_EXPAND}")


def _features(job: Job) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """What the rest-server refuses, in the order of the file, and what the cluster ignores.

    Each with what a released cluster does, and fixes that avoid expansion.
    """
    return tuple(sorted(_refused(job), key=lambda feature: feature.span)), tuple(_ignored(job))


def _refused(job: Job) -> Iterator[Finding]:
    own = {definition.name for definition in job.prerequisites}
    for role in job.task_roles:
        for reference in role.prerequisites:
            name = reference.name
            if looks_like_address(name):
                if not isinstance(read_address(name), AddressFault):
                    yield Finding(reference.span, f"a released cluster does not look up '{name}'")
            elif name not in own and name in job.definitions_by_name:
                message = f"a released cluster does not find '{name}' in 'extras.reference_prerequisites'"
                yield Finding(reference.span, message)
    for definition in job.prerequisites:
        kind = definition.node.get("type")
        if definition.type == "storage" and isinstance(kind, Scalar):
            yield Finding(name_span(kind), "a released cluster refuses prerequisites of type 'storage'")
        for requirement in definition.requirements:
            if isinstance(requirement.node, Mapping):
                message = "a released cluster accepts only names in 'require'"
                yield Finding(requirement.reference.span, message)


def _ignored(job: Job) -> Iterator[Finding]:
    for definition in job.prerequisites:
        if definition.type == "dockerimage":
            continue  # the rest-server refuses such keys there; dockerimage_extra_key reports them
        for entry in definition.extended_entries:
            yield Finding(entry.key.span, f"a released cluster ignores '{entry.name}'")
        yield from _plugin(job, definition)
    section = job.extras_entry("reference_prerequisites")
    if section and not is_empty(section.value):
        yield Finding(section.key.span, "a released cluster ignores 'reference_prerequisites'")
    yield from _events(job)
    yield from _this(job)


def _this(job: Job) -> Iterator[Finding]:
    """Every `<% this.… %>` that expansion fills; it does not change definitions that no task role runs."""
    filled: dict[Span, None] = {}
    for definition in job.prerequisites if "this" in job.text else ():
        if job.roles_running(definition):
            for scalar, tag, fault in this_uses(definition):
                if fault is None and this_answer(job.require_graph, definition, tag).fault is None:
                    filled[mapped(job.text, scalar).span(tag.span.start, tag.span.end)] = None
    for span in filled:
        yield Finding(span, "a released cluster does not replace 'this'")


def _plugin(job: Job, definition: Definition) -> Iterator[Finding]:
    if not definition.plugin:
        entry = definition.parameter("callbacks")
        if entry and definition.plugin_scalar is None:
            place = (job.text, definition.node, f"plugin: {CMD_PLUGIN}", definition.node.own("name"))
            # With the plugin, a wrong callback ends the task; without, it is ignored.
            is_sound = all(callback.event and callback.commands for callback in definition.callbacks)
            is_list = isinstance(entry.value, Sequence) and len(definition.callbacks) == len(entry.value.items)
            fixes = fix_of("Add the plugin", insert_entry, *place, safe=is_sound and is_list)
            yield Finding(entry.key.span, "a released cluster ignores 'callbacks' without a 'plugin'", fixes)
        return
    scalar = definition.plugin_scalar
    if scalar is None or definition.runtime_plugin is not None:
        return
    span, message = name_span(scalar), f"a released cluster ignores the plugin '{definition.plugin}'"
    if definition.plugin in job.platform.plugins or definition.plugin in job.site_plugins:
        full = f"{PLUGIN_PREFIX}{definition.plugin}"
        yield Finding(span, message, fix_of(f"Write '{full}'", TextEdit, span, full, safe=True))
    elif definition.plugin in STORAGE_PLUGINS:
        yield Finding(span, message)


def _events(job: Job) -> Iterator[Finding]:
    for use in job.uses_of_plugin("cmd"):
        if isinstance(use.owner, Definition) and use.owner.origin is not Origin.JOB:
            continue
        for callback in callbacks(use):
            node = callback.get("event")
            event = events().get(node.text) if isinstance(node, Scalar) else None
            if event is None or event.status == "released" or not isinstance(node, Scalar):
                continue
            span = name_span(node)
            message = f"a released cluster never runs the callback for '{event.name}'"
            if event.replacement:
                fixes = change_fix(span, event.replacement, safe=True)
                yield Finding(span, message, fixes, tags=(DiagnosticTag.DEPRECATED,))
            else:
                yield Finding(span, message)


@rule(Severity.ERROR, stage=Stage.EXPANSION, about=("plugin_params",))
def plugin_parameters_twice(job: Job) -> Iterator[Finding]:
    """A plugin has parameters both in `plugin_params` and next to it.

    In the extended protocol the parameters of a plugin are in `plugin_params` or, as in the released protocol, among
    the other keys. With both, it is ambiguous which ones are meant.
    Source: docs/protocol.md, "A definition"; openpai, issue 5345.

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            plugin_params:
              preCommands: [echo hello]
            postCommands: [echo bye]
            #^^^^^^^^^^^ error

    Good:

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            plugin_params:
              preCommands: [echo hello]
              postCommands: [echo bye]
    """
    for definition in job.definitions:
        params = definition.node.entry("plugin_params")
        if params is None or not isinstance(params.value, Mapping):
            continue
        for entry in definition.flat_parameters:
            related = (Related(params.key.span, "'plugin_params' is here"),)
            message = f"'{entry.name}' must be inside 'plugin_params', or the job cannot be expanded"
            yield Finding(entry.key.span, message, _moved(job, definition, params.value, entry), related)


@later
def _moved(job: Job, definition: Definition, params: Mapping, entry: Entry) -> Fixes:
    line = line_span(job.text, entry.span)
    written = job.text[entry.key.span.start : entry.span.end if params.is_flow else line.end].rstrip()
    is_movable = entry in definition.node.entries and entry.span.end >= entry.key.span.end and "\n" not in written
    if not is_movable or params.entry(entry.name) or not params.entries:
        return ()
    if params.is_flow and any(sign in job.text[entry.value.span.start : line.end] for sign in ",[]{}#"):
        return ()
    removal = cut_entry(job.text, definition.node, entry)
    edits = (*removal, insert_entry(job.text, params, written))
    return (Fix("Move it into 'plugin_params'", edits, safe=True),) if removal else ()


@rule(Severity.WARNING, stage=Stage.EXPANSION, consequence=Consequence.IGNORED, about=("reference_prerequisites",))
def shadowed_prerequisite(job: Job) -> Iterator[Finding]:
    """An entry of `extras.reference_prerequisites` has the name of a prerequisite of the job.

    A name means the job's own prerequisite first, so the entry has no effect.
    Source: docs/protocol.md, "References".

        prerequisites:
          - name: mnist
            type: data
            plugin: com.microsoft.pai.runtimeplugin.cmd
        taskRoles:
          worker:
            prerequisites: [mnist]
        extras:
          reference_prerequisites:
            - name: mnist
              #     ^^^^^ warning
              require: ["marketplace://name/mnist"]

    Good:

        taskRoles:
          worker:
            prerequisites: [mnist]
        extras:
          reference_prerequisites:
            - name: mnist
              require: ["marketplace://name/mnist"]
    """
    own = {definition.name: definition for definition in reversed(job.prerequisites)}
    for definition in job.definitions:
        if definition.origin is Origin.EXTRAS and definition.name in own:
            related = (Related(own[definition.name].name_span, "this one is used"),)
            message = f"'{definition.name}' means the prerequisite of the job, so this one has no effect"
            yield Finding(definition.name_span, message, related=related)


@rule(Severity.ERROR, stage=Stage.EXPANSION)
def cannot_be_expressed(job: Job) -> Iterator[Finding]:
    """No released cluster can run some of the commands, even after expansion.

    Commands for `taskFails` and `containerExit` are moved into the task role's own commands. A secret with `&`, `<`,
    `>` or a quote cannot be used there, because the runtime escapes it as HTML. Task roles that share their commands
    through an alias must need the same callbacks.
    Source: docs/protocol.md, "Events"; openpai-runtime, src/common/utils.py, render_string_with_secrets.

        prerequisites:
          - name: report
            type: script
            callbacks:
              - event: taskFails
                commands: ["curl -H 'Token: <% $secrets.token %>' http://reports/failed"]
                #          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error
        secrets: {token: "a<b"}
        taskRoles:
          worker:
            prerequisites: [report]
            commands:
              - python train.py

    Good:

        prerequisites:
          - name: report
            type: script
            callbacks:
              - event: taskFails
                commands: ["curl -H 'Token: <% $secrets.token %>' http://reports/failed"]
        secrets: {token: "a-b"}
        taskRoles:
          worker:
            prerequisites: [report]
            commands:
              - python train.py
    """
    for problem in problems_of_expansion(job):
        if problem.code == "cannot-be-expressed":
            yield Finding(problem.span, problem.message, related=problem.related)


@rule(Severity.ERROR, stage=Stage.EXPANSION, is_last=True)
def cannot_be_expanded(job: Job) -> Iterator[Finding]:
    """The job cannot be expanded.

    `pai-lsp expand` cannot write an equivalent job for a released cluster: a definition in another file has a mistake,
    text is shared through an alias where task roles need different text, or a value cannot survive the runtime's
    parsing. Reported only if no error in the file comes before it: what the commands do, and the runtime, comes later.
    Source: docs/protocol.md, "Expand a job".

        protocolVersion: 2
        name: train
        type: job
        prerequisites:
          - {name: image, type: dockerimage, uri: "ubuntu:20.04"}
          - name: data
            type: script
            requireStorages: [{mountPath: /data}]
            #                 ^^^^^^^^^^^^^^^^^^ error
        taskRoles:
          worker:
            instances: 1
            dockerImage: image
            prerequisites: [data]
            resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
            commands: [ls /data]

    Good:

        protocolVersion: 2
        name: train
        type: job
        prerequisites:
          - {name: image, type: dockerimage, uri: "ubuntu:20.04"}
          - name: data
            type: script
            requireStorages: [{name: disk, mountPath: /data}]
        taskRoles:
          worker:
            instances: 1
            dockerImage: image
            prerequisites: [data]
            resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
            commands: [ls /data]
    """
    for problem in problems_of_expansion(job):
        # About what this file holds, the rule of that code decides: it may know that another finding is the cause.
        has_a_rule = problem.code != "cannot-be-expanded" and not problem.related
        others = {"cannot-be-expressed", "marketplace-not-asked", "task-never-starts"}
        if problem.code not in others and not has_a_rule:
            yield Finding(problem.span, problem.message, related=problem.related)


def problems_of_expansion(job: Job) -> tuple[Diagnostic, ...]:
    """What keeps a job that uses the extended protocol from being expanded."""
    if job.is_catalog or job.syntax.problems or not uses_extended_protocol(job):
        return ()
    from pai_lsp.expansion.released_job import expanded  # noqa: PLC0415 - most jobs use no extended protocol

    return expanded(job).problems


def uses_extended_protocol(job: Job) -> bool:
    """Whether a released cluster refuses or ignores a part of the job that expansion answers."""
    return any(job.once(_features))


# The codes of findings that end with expansion.
ANSWERED_BY_EXPANSION = frozenset({needs_expansion.code, refused_until_expanded.code})
