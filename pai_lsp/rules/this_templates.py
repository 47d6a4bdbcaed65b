"""Rules about `<% this.… %>`, by which a definition of the extended protocol uses a parameter of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.diagnostic import Finding, Severity, rule
from pai_lsp.fixes import near_name_fixes
from pai_lsp.requirement_words import no_parameter
from pai_lsp.rules.command_places import SIMPLE_KEYS
from pai_lsp.rules.this_lookup import key_step, lost_this

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.definition import Definition
    from pai_lsp.job import Job


@rule(Severity.ERROR)
def unresolved_this(job: Job) -> Iterator[Finding]:
    """`<% this.name %>` finds no such parameter.

    `this` is the prerequisite that the tag stands in. The name is looked up among its own keys (or its
    `plugin_params`), then among those of the prerequisites that it requires.
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
    lost = lost_this(job)
    for use in job.template_uses:
        if id(use) not in lost or use.definition is None:
            continue
        number = key_step(use)
        if number is None:
            # A `this` without anything behind it is reported as a root that nothing fills.
            if use.tag.content.startswith("this."):
                yield Finding(use.content_span, "expected 'this.NAME', with the name of a parameter")
            continue
        name, span = str(use.tag.steps[number].name), use.step_span(number)
        below = [target for link in job.require_graph.links(use.definition) for target in link.targets]
        near = list(dict.fromkeys(one for holder in (use.definition, *below) for one in _keys(holder)))
        yield Finding(span, no_parameter(name, use.definition.name, near), near_name_fixes(span, name, near))


def _keys(definition: Definition) -> Iterator[str]:
    return (entry.name for entry in definition.parameters if entry.name not in {"callbacks", *SIMPLE_KEYS})


RULES = (unresolved_this,)
