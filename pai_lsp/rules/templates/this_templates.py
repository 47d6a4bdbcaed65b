"""Rules about `<% this.… %>`, with which a definition of the extended protocol uses its own parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Fix, Related, Severity, rule
from pai_lsp.findings.fixes import near_name_fixes
from pai_lsp.job.this_lookup import this_faults
from pai_lsp.source.content import mapped
from pai_lsp.source.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.template import TemplateTag
    from pai_lsp.job.job import Job
    from pai_lsp.job.this_lookup import ThisFault
    from pai_lsp.source.content import MappedText


@rule(Severity.ERROR)
def unresolved_this(job: Job) -> Iterator[Finding]:
    """Unresolved `<% this.name %>`.

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
        for definition in graph.reached(entry) if any(map(graph.is_outside, entry.targets)) else ():
            for scalar, _, fault in this_faults(graph, definition):
                related = (Related(scalar.span, "used here", graph.path(definition)),)
                yield Finding(entry.reference.span, fault.message, related=related)


def _fixes(job: Job, tag: TemplateTag, text: MappedText, fault: ThisFault) -> tuple[Fix, ...]:
    span = fault.span(tag, text)
    if fault.without_blanks and "\n" not in job.text[span.start : span.end]:
        return (Fix("Remove the space", (TextEdit(span, fault.without_blanks),), safe=True),)
    return near_name_fixes(span, str(tag.steps[fault.step].name), fault.near) if fault.step is not None else ()


RULES = (unresolved_this,)
