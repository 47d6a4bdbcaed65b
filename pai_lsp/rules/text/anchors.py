"""Rules about anchors and aliases that the rest-server resolves and the runtime does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Fix, Related, Severity, rule
from pai_lsp.platform.masking import masked_span
from pai_lsp.source.spelling import free_name
from pai_lsp.source.text import TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Anchor
    from pai_lsp.source.text import Span


@rule(Severity.ERROR)
def redefined_anchor(job: Job) -> Iterator[Finding]:
    """An anchor is defined twice.

    The rest-server uses the latest definition, as YAML 1.2 allows. The runtime's YAML parser refuses the file, so every
    task dies in its init container: "found duplicate anchor".
    Source: PyYAML, composer.py, compose_node.

        parameters:
          first: &rate "0.1"
          second: &rate "0.2"
          #        ^^^^ error

    Good:

        parameters:
          first: &first "0.1"
          second: &second "0.2"
    """
    if len({anchor.name for anchor in job.syntax.anchors}) == len(job.syntax.anchors) or job.is_catalog:
        return
    masked = masked_span(job.text)
    taken = {one.name for one in job.syntax.anchors}
    aliases: dict[Anchor, list[Span]] = {}
    for alias in job.syntax.aliases:
        if alias.anchor is not None:
            aliases.setdefault(alias.anchor, []).append(alias.span)
    first: dict[str, Anchor] = {}
    for anchor in job.syntax.anchors:
        if anchor.span.start in masked:
            continue
        earlier = first.setdefault(anchor.name, anchor)
        if earlier is not anchor:
            message = f"the anchor '{anchor.name}' is already defined; the runtime refuses the file"
            related = (Related(earlier.span, "first defined here"),)
            yield Finding(anchor.span, message, (_rename_anchor(anchor, aliases.get(anchor, []), taken),), related)


def _rename_anchor(anchor: Anchor, aliases: list[Span], taken: set[str]) -> Fix:
    new_name = free_name(anchor.name, taken, separator="")
    edits = tuple(TextEdit(span, new_name) for span in (anchor.span, *aliases))
    return Fix(f"Rename to '{new_name}'", edits, safe=True)


@rule(Severity.ERROR)
def secrets_anchor(job: Job) -> Iterator[Finding]:
    """An alias refers to an anchor inside `secrets`, which the runtime does not see.

    The rest-server replaces the text of `secrets` before it stores the job. The runtime then reads an alias without its
    anchor, and every task dies in its init container: "found undefined alias". Refer to the secret as `<% $secrets.name
    %>` instead, or define the anchor elsewhere.
    Sources: rest-server, utils/protocolSecret.js; PyYAML, composer.py, compose_node.

        secrets:
          token: &token "not-a-real-one"
        parameters:
          key: *token
          #     ^^^^^ error
        taskRoles: {}

    Good:

        secrets:
          token: "not-a-real-one"
        parameters:
          key: plain
        taskRoles: {}
    """
    if not job.syntax.aliases or job.is_catalog:
        return
    masked = masked_span(job.text)
    for alias in job.syntax.aliases:
        anchor = alias.anchor
        if anchor is not None and anchor.span.start in masked and alias.span.start not in masked:
            message = f"the anchor '{alias.name}' is inside 'secrets', which the runtime does not see; every task dies"
            yield Finding(alias.span, message, related=(Related(anchor.span, "defined here"),))


RULES = (redefined_anchor, secrets_anchor)
