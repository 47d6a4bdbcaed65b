"""Which `<% this.… %>` find no parameter, in their own definition or in one that it requires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.lookup import LookupState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pai_lsp.job import Job
    from pai_lsp.template_uses import TemplateUse


def key_step(use: TemplateUse) -> int | None:
    """Which step of the path is the parameter's name: `this.NAME` or `this.parameters.NAME`."""
    steps = use.tag.steps
    number = 2 if len(steps) > 2 and steps[1].name == "parameters" else 1
    return number if len(steps) > number and isinstance(steps[number].name, str) else None


def lost_this(job: Job) -> frozenset[int]:
    """The `<% this.… %>` that find nothing for sure, by `id` of their `TemplateUse`."""
    uses = [use for use in job.template_uses if use.definition is not None and use.tag.root == "this"]
    if not uses:
        return frozenset()
    requirers, holders, unsure = _requirers(job), _holders(job), _unsure(job)
    found: dict[str, set[int]] = {}
    lost: set[int] = set()
    may_hold = _with_requirers(unsure, requirers)
    for use in uses:
        number = key_step(use)
        if number is not None and use.definition is not None:
            name = str(use.tag.steps[number].name)
            if name not in found:
                found[name] = _with_requirers(holders.get(name, ()), requirers)
            if id(use.definition.node) in found[name] or id(use.definition.node) in may_hold:
                continue
        lost.add(id(use))
    return frozenset(lost)


def _requirers(job: Job) -> dict[int, list[int]]:
    """Who requires a definition, both by `id` of their nodes."""
    graph = job.require_graph
    found: dict[int, list[int]] = {}
    for definition in graph.definitions:
        for link in graph.links(definition):
            for target in link.targets:
                found.setdefault(id(target.node), []).append(id(definition.node))
    return found


def _holders(job: Job) -> dict[str, list[int]]:
    """By key, the definitions that have it, among their own keys or in their `plugin_params`."""
    found: dict[str, list[int]] = {}
    for definition in job.require_graph.definitions:
        names = {entry.name for entry in (*definition.node.effective_entries(), *definition.parameters)}
        for name in names:
            found.setdefault(name, []).append(id(definition.node))
    return found


def _unsure(job: Job) -> list[int]:
    """The definitions that require something of which nothing is known."""
    graph = job.require_graph
    return [
        id(definition.node)
        for definition in graph.definitions
        if any(link.answer.state is LookupState.UNKNOWN for link in graph.links(definition))
    ]


def _with_requirers(definitions: Iterable[int], requirers: dict[int, list[int]]) -> set[int]:
    """Some definitions with all that require one of them, however indirectly."""
    waiting = list(definitions)
    found = set(waiting)
    while waiting:
        for requirer in requirers.get(waiting.pop(), ()):
            if requirer not in found:
                found.add(requirer)
                waiting.append(requirer)
    return found
