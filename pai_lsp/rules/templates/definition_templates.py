"""Rules about the templates of definitions: variables, which a `require` gives values, and `<% this.… %>`.

A definition of the extended protocol uses its own parameters with `<% this.… %>`. A mistake in a marketplace's file is
reported on the reference in the job that leads there, with a related location in that file.
"""

from __future__ import annotations

from functools import partial

from pai_lsp.embedded.template import variables
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
from pai_lsp.findings.fixes import all_of, fix_of, near_name_fixes
from pai_lsp.job.definition import filled_texts, key_name_span, undeclared_variables
from pai_lsp.job.require_graph import needs_values, requires_without_value, undeclared_variable
from pai_lsp.job.this_lookup import this_faults
from pai_lsp.source.content import mapped
from pai_lsp.source.edits import remove_entry, remove_item
from pai_lsp.source.nodes import Mapping, Scalar, Sequence, entry_at
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.tree_edits import append_value, insert_values
from pai_lsp.source.type_checking import TYPE_CHECKING
from pai_lsp.source.writing import flow_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.template import TemplateTag
    from pai_lsp.job.definition import Definition, TemplateVariable
    from pai_lsp.job.job import Job
    from pai_lsp.job.require_graph import RequireLink
    from pai_lsp.job.this_lookup import ThisFault
    from pai_lsp.source.content import MappedText
    from pai_lsp.source.nodes import Node


_names_rule = partial(rule, order=Order.NAMES, stage=Stage.EXPANSION)


@_names_rule(Severity.ERROR)
def unfilled_template_variable(job: Job) -> Iterator[Finding]:
    """A required prerequisite has template variables without a value.

    An entry that requires a definition with `template_variables` must give a value to each of them. A task role's list
    cannot give values: list a prerequisite that requires the definition with values.
    Source: docs/protocol.md, "Template variables"; openpai, issue 5345.

        prerequisites:
          - name: download
            type: script
            template_variables: [{name: dataPath}]
          - name: mnist
            type: data
            require: [download]
            #         ^^^^^^^^ error

    Good:

        prerequisites:
          - name: download
            type: script
            template_variables: [{name: dataPath}]
          - name: mnist
            type: data
            require: [{name: download, template_variables: {dataPath: /dataset/mnist}}]
    """
    graph = job.require_graph
    for entry in graph.entries:
        if missing := _missing(entry):
            names = list(dict.fromkeys(variable.name for variable in missing))
            path = next((graph.path(target) for target in entry.targets), None)
            related = tuple(_declaration(one, path) for one in missing)
            message = needs_values(entry.reference.name, names, is_listed=entry.requirement is None)
            yield Finding(entry.reference.span, message, _fill(job, entry, names), related)
        for link in graph.beyond(entry):
            for variable in _missing(link):
                message = requires_without_value(entry.reference.name, link.reference.name, variable.name)
                related = (Related(link.reference.span, "required here", link.path),)
                yield Finding(entry.reference.span, message, related=related)


def _missing(link: RequireLink) -> list[TemplateVariable]:
    given = link.requirement.values() if link.requirement else {}
    return [one for target in link.targets for one in target.template_variables if one.name not in given]


def _declaration(variable: TemplateVariable, path: str | None) -> Related:
    if (default := entry_at(variable.node, "default")) is not None:
        return Related(default.key.span, f"the 'default' of '{variable.name}' has no effect", path)
    return Related(variable.span, f"'{variable.name}' is declared here", path)


@later
def _fill(job: Job, link: RequireLink, names: list[str]) -> Fixes:
    """Write the variables with empty values."""
    requirement, values = link.requirement, dict.fromkeys(names, "")
    if requirement is None:
        return ()
    node, title = requirement.node, "Add " + " and ".join(f"'{name}'" for name in names)
    if isinstance(node, Scalar):
        whole = {"name": link.reference.name, "template_variables": values}
        return fix_of(title, TextEdit, node.span, flow_value(whole))
    if requirement.bindings is not None:
        return fix_of(title, insert_values, job.text, requirement.bindings, values)
    if not isinstance(node, Mapping) or node.entry("template_variables"):
        return ()
    return fix_of(title, insert_values, job.text, node, {"template_variables": values})


@_names_rule(Severity.WARNING, consequence=Consequence.IGNORED, about=("template_variables",))
def template_variable_default(job: Job) -> Iterator[Finding]:
    """A template variable has a default, but the protocol has no defaults.

    Template variables have no defaults: every entry that requires the definition must give each of them a value. Where
    one does not, `unfilled-template-variable` is reported instead.
    Source: docs/protocol.md, "Template variables"; openpai, issue 5345.

        # a catalog file
        - name: debug_hook
          plugin: cmd
          plugin_params:
            callbacks:
              - event: taskFails
                commands: ["sleep {{ min }}m"]
          template_variables:
            - name: min
              default: 30
              #^^^^^^ warning

    Good:

        # a catalog file
        - name: debug_hook
          plugin: cmd
          plugin_params:
            callbacks:
              - event: taskFails
                commands: ["sleep {{ min }}m"]
          template_variables:
            - name: min
    """
    unfilled = {variable for entry in job.require_graph.entries for variable in _missing(entry)}
    for definition in job.definitions:
        for variable in definition.template_variables:
            entry = entry_at(variable.node, "default")
            if entry is not None and isinstance(variable.node, Mapping) and variable not in unfilled:
                message = "'default' has no effect; each entry that requires this definition must give a value"
                fixes = fix_of("Remove 'default'", remove_entry, job.text, variable.node, entry)
                yield Finding(entry.key.span, message, fixes)


@_names_rule(Severity.WARNING, consequence=Consequence.IGNORED, about=("require",))
def template_variable_not_wanted(job: Job) -> Iterator[Finding]:
    """A template variable that is not declared gets a value.

    The required prerequisite does not declare the variable, so the value has no effect. Usually the name is misspelled.
    Source: docs/protocol.md, "Template variables"; openpai, issue 5345.

        prerequisites:
          - name: download
            type: script
            template_variables: [{name: dataPath}]
          - name: mnist
            type: data
            require: [{name: download, template_variables: {dataPath: /dataset, path: /dataset}}]
            #                                                                   ^^^^ warning

    Good:

        prerequisites:
          - name: download
            type: script
            template_variables: [{name: dataPath}]
          - name: mnist
            type: data
            require: [{name: download, template_variables: {dataPath: /dataset}}]
    """
    for definition in job.definitions:
        for link in job.require_graph.links(definition):
            bindings = link.requirement.bindings if link.requirement else None
            if bindings is None or not link.targets:
                continue
            declared = [variable.name for target in link.targets for variable in target.template_variables]
            free = [name for name in declared if bindings.entry(name) is None]
            for entry in bindings.entries:
                if entry.name in declared or entry.is_merge:
                    continue
                span = key_name_span(entry)
                removal = fix_of("Remove it", remove_entry, job.text, bindings, entry)
                fixes = all_of(near_name_fixes(span, entry.name, free), removal)
                message = f"'{link.reference.name}' has no template variable '{entry.name}', so this has no effect"
                yield Finding(span, message + did_you_mean(entry.name, declared), fixes)


@_names_rule(Severity.ERROR)
def undeclared_template_variable(job: Job) -> Iterator[Finding]:
    """A template variable is used but not declared.

    `{{ name }}` is only filled if `template_variables` declares the name; otherwise it is kept unchanged. The rule
    checks definitions that are meant to be required (in a marketplace's file, in `extras.reference_prerequisites`, or
    with `template_variables` or `plugin_params`), and only braces around a single word, because other braces may belong
    to another template language. `{{FC_TASK_INDEX}}` and the like belong to the platform.
    Source: docs/protocol.md, "Template variables"; openpai, issue 5345.

        # a catalog file
        - name: mnist
          plugin: cmd
          plugin_params:
            callbacks:
              - event: taskStarts
                commands:
                  - mkdir -p {{ dataPth }}
                  #             ^^^^^^^ error
                  - cd {{ dataPath }}
          template_variables:
            - name: dataPath

    Good:

        # a catalog file
        - name: mnist
          plugin: cmd
          plugin_params:
            callbacks:
              - event: taskStarts
                commands:
                  - mkdir -p {{ dataPath }}
          template_variables:
            - name: dataPath
    """
    for definition in job.definitions if "{{" in job.text else ():
        declared = [variable.name for variable in definition.template_variables]
        for scalar, variable in undeclared_variables(definition):
            span = mapped(job.text, scalar).span(variable.name_span.start, variable.name_span.end)
            fixes = all_of(near_name_fixes(span, variable.name, declared), _declare(job, definition, variable.name))
            yield Finding(span, undeclared_variable(variable.name, declared), fixes)
    graph = job.require_graph
    for entry in graph.entries:
        for definition in graph.reached(entry):
            declared = [variable.name for variable in definition.template_variables]
            for scalar, variable in undeclared_variables(definition):
                message = undeclared_variable(variable.name, declared, definition.name)
                related = (Related(scalar.span, "used here", graph.path(definition)),)
                yield Finding(entry.reference.span, message, related=related)


@later
def _declare(job: Job, definition: Definition, name: str) -> Fixes:
    title, entry = f"Declare '{name}'", definition.node.entry("template_variables")
    if entry is None:
        value = {"template_variables": [{"name": name}]}
        return fix_of(title, insert_values, job.text, definition.node, value)
    if not isinstance(entry.value, Sequence):
        return ()
    return fix_of(title, append_value, job.text, entry.value, {"name": name})


@_names_rule(Severity.HINT, about=("template_variables",))
def unused_template_variable(job: Job) -> Iterator[Finding]:
    """A template variable is declared but not used.

    Every entry that requires the definition must still give it a value.
    Source: docs/protocol.md, "Template variables"; openpai, issue 5345.

        # a catalog file
        - name: debug_hook
          plugin: cmd
          plugin_params:
            callbacks:
              - event: taskFails
                commands: ["sleep {{ min }}m"]
          template_variables:
            - name: min
            - name: max
              #     ^^^ hint

    Good:

        # a catalog file
        - name: debug_hook
          plugin: cmd
          plugin_params:
            callbacks:
              - event: taskFails
                commands: ["sleep {{ min }}m"]
          template_variables:
            - name: min
    """
    for definition in job.definitions:
        used = {variable.name for scalar in filled_texts(definition) for variable in variables(scalar.text)}
        for declared in definition.template_variables:
            if declared.name not in used:
                message = f"the template variable '{declared.name}' is never used"
                fixes = _undeclare(job, definition, declared.node)
                yield Finding(declared.span, message, fixes, tags=(DiagnosticTag.UNNECESSARY,))


@later
def _undeclare(job: Job, definition: Definition, node: Node) -> Fixes:
    entry = definition.node.entry("template_variables")
    if entry is None or not isinstance(entry.value, Sequence):
        return ()
    if len(entry.value.items) == 1 and entry in definition.node.entries:
        edits = remove_entry(job.text, definition.node, entry)
    else:
        edits = remove_item(job.text, entry.value, node)
    return (Fix("Remove the declaration", edits),) if edits else ()


@_names_rule(Severity.ERROR)
def unresolved_this(job: Job) -> Iterator[Finding]:
    """`<% this.name %>` names nothing that can be found.

    `this` is the prerequisite that contains the template. The path is looked up in its own keys (or its
    `plugin_params`), then in those of the prerequisites that it requires. Null values do not count, and a mapping
    cannot be inserted. A job with an unresolved template cannot be expanded.
    Source: docs/protocol.md, "Expansion of a task role"; openpai, issue 5145.

        prerequisites:
          - name: nfs
            type: script
            mountPoint: /mnt/nfs
          - name: mnist
            type: data
            plugin: com.microsoft.pai.runtimeplugin.cmd
            require: [nfs]
            callbacks:
              - event: taskStarts
                commands:
                  - ls <% this.mountPath %>/mnist
                  #            ^^^^^^^^^ error

    Good:

        prerequisites:
          - name: nfs
            type: script
            mountPoint: /mnt/nfs
          - name: mnist
            type: data
            plugin: com.microsoft.pai.runtimeplugin.cmd
            require: [nfs]
            callbacks:
              - event: taskStarts
                commands:
                  - ls <% this.mountPoint %>/mnist
    """
    graph = job.require_graph
    reported: set[Span] = set()  # definitions may share a string through an alias
    for definition in job.definitions:
        for scalar, tag, fault in this_faults(graph, definition):
            span = fault.span(tag, text := mapped(job.text, scalar))
            if span not in reported:
                reported.add(span)
                yield Finding(span, fault.message, _fixes(job, tag, text, fault))
    for entry in graph.entries:
        for definition in graph.reached(entry):
            for scalar, _, fault in this_faults(graph, definition):
                related = (Related(scalar.span, "used here", graph.path(definition)),)
                yield Finding(entry.reference.span, fault.message, related=related)


@later
def _fixes(job: Job, tag: TemplateTag, text: MappedText, fault: ThisFault) -> Fixes:
    span = fault.span(tag, text)
    if fault.without_blanks and "\n" not in job.text[span.start : span.end]:
        return (Fix("Remove the space", (TextEdit(span, fault.without_blanks),), safe=True),)
    return near_name_fixes(span, str(tag.steps[fault.step].name), fault.near) if fault.step is not None else ()
