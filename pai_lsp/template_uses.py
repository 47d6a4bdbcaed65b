"""Every `<% … %>` of a job, and who fills it: that decides which names work there and what a wrong one costs.

Sources: rest-server, middlewares/v2/protocol.js (commands, auth); openpai-runtime, initializer.py (plugin parameters).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from pai_lsp.content import MappedText, mapped
from pai_lsp.syntax import Node, Scalar, walk
from pai_lsp.template import Tag, runtime_tags, tags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.definition import Definition
    from pai_lsp.job import Job, PluginEntry, TaskRole
    from pai_lsp.text import Span


class TemplatePlace(Enum):
    """Who fills the `<% %>` of a place."""

    COMMANDS = "commands"  # the rest-server, then the runtime for $secrets
    IDLE_DEPLOYMENT = "deployment"  # nobody, until `defaults.deployment` names it
    AUTH = "auth"  # the rest-server, $secrets only
    DEFINITION = "definition"  # the runtime, as a prerequisite's plugin parameter
    PLUGIN = "plugin"  # the runtime, as a parameter of an extras plugin
    LITERAL = "literal"  # nobody


@dataclass(frozen=True, slots=True, eq=False)
class TemplateUse:
    """One `<% %>` in the file; spans mean the file. Who it belongs to depends on its place."""

    tag: Tag
    span: Span
    content_span: Span
    place: TemplatePlace
    role: TaskRole | None = None
    definition: Definition | None = None
    plugin: PluginEntry | None = None
    text: MappedText | None = None

    def step_span(self, number: int) -> Span:
        """The place of one step of the path."""
        step = self.tag.steps[number]
        return self.text.span(step.span.start, step.span.end) if self.text else self.content_span


def template_uses(job: Job) -> tuple[TemplateUse, ...]:
    """Every `<% %>` of the file, with who fills it; one in an alias or a shared deployment may come several times."""
    found: list[TemplateUse] = []
    seen: set[int] = set()
    for role in job.task_roles:
        if role.name in job.command_templates:
            text, role_tags, _ = job.command_templates[role.name]
            found += (_use(text, tag, TemplatePlace.COMMANDS, role=role) for tag in role_tags)
        seen.update(map(id, job.command_parts(role)))
    for definition in job.definitions:
        found += _in_definition(job, definition, seen)
    for plugin in job.plugins:
        for scalar in _unseen(plugin.parameters, seen):
            text = mapped(job.text, scalar)
            found += (_use(text, tag, TemplatePlace.PLUGIN, plugin=plugin) for tag in runtime_tags(scalar.text))
    for deployment in job.deployments:
        for entry in deployment.role_entries:
            role_of = job.task_roles_by_name.get(entry.name)
            for scalar in _unseen(entry.value, seen):
                text = mapped(job.text, scalar)
                place = TemplatePlace.IDLE_DEPLOYMENT
                found += (_use(text, tag, place, role=role_of) for tag in tags(scalar.text)[0])
    for scalar in _unseen(job.root, seen):
        text = mapped(job.text, scalar)
        found += (_use(text, tag, TemplatePlace.LITERAL) for tag in tags(scalar.text)[0])
    return tuple(found)


def _in_definition(job: Job, definition: Definition, seen: set[int]) -> Iterator[TemplateUse]:
    if definition.type == "dockerimage":
        for scalar in _unseen(definition.node.get("auth"), seen):
            text = mapped(job.text, scalar)
            yield from (_use(text, tag, TemplatePlace.AUTH, definition=definition) for tag in tags(scalar.text)[0])
        return
    if definition.extended_plugin is None:
        return
    for scalar in _unseen(definition.node, seen):
        text = mapped(job.text, scalar)
        extended = tags(scalar.text)[0] if "this." in scalar.text else runtime_tags(scalar.text)
        yield from (_use(text, tag, TemplatePlace.DEFINITION, definition=definition) for tag in extended)


def _unseen(node: Node | None, seen: set[int]) -> Iterator[Scalar]:
    """The scalars below a node that hold a `<%` and were not handed out before."""
    for below in walk(node):
        if isinstance(below, Scalar) and "<%" in below.text and id(below) not in seen:
            seen.add(id(below))
            yield below


def _use(text: MappedText, tag: Tag, place: TemplatePlace, **owner: Any) -> TemplateUse:
    span = text.span(tag.span.start, tag.span.end)
    content = text.span(tag.content_span.start, tag.content_span.end)
    return TemplateUse(tag, span, content, place, text=text, **owner)
