"""Every `<% … %>` of a job, and which component fills it: that decides which names work there.

Sources: rest-server, middlewares/v2/protocol.js (commands, auth); openpai-runtime, initializer.py (plugin parameters).
"""

from __future__ import annotations

from enum import Enum

from pai_lsp.embedded.template import OPENING, TemplateTag, runtime_tags, tags, tags_without_dollar
from pai_lsp.job.plugin_parameters import NOT_PARAMETERS
from pai_lsp.source.content import MappedText, mapped
from pai_lsp.source.frozen import dataclass_of_many
from pai_lsp.source.nodes import Node, Scalar, entries_of, scalars_below
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from pai_lsp.job.definition import Definition
    from pai_lsp.job.parts import PluginEntry, TaskRole
    from pai_lsp.job.tree import JobTree
    from pai_lsp.source.text import Span


class TemplatePlace(Enum):
    """Who fills the `<% %>` of a place."""

    __hash__ = object.__hash__  # the one of Enum is many times slower

    COMMANDS = "commands"  # the rest-server, then the runtime for $secrets
    IDLE_DEPLOYMENT = "deployment"  # not filled, unless `defaults.deployment` names it
    AUTH = "auth"  # the rest-server, $secrets only
    DEFINITION = "definition"  # the runtime, as a prerequisite's plugin parameter
    PLUGIN = "plugin"  # the runtime, as a parameter of an extras plugin
    LITERAL = "literal"  # never filled


RUNTIME_PLACES = frozenset({TemplatePlace.DEFINITION, TemplatePlace.PLUGIN})
COMMAND_PLACES = frozenset({TemplatePlace.COMMANDS, TemplatePlace.IDLE_DEPLOYMENT})


@dataclass_of_many(frozen=True, slots=True, eq=False)
class TemplateUse:
    """One `<% %>`; spans are places in the file. Its role, definition or plugin is set according to its place."""

    tag: TemplateTag
    text: MappedText
    place: TemplatePlace
    role: TaskRole | None = None
    definition: Definition | None = None
    plugin: PluginEntry | None = None

    @property
    def span(self) -> Span:
        """The place of the tag with its delimiters."""
        return self.text.span(self.tag.span.start, self.tag.span.end)

    @property
    def content_span(self) -> Span:
        """The place of what is between the delimiters, without blanks."""
        return self.text.span(self.tag.content_span.start, self.tag.content_span.end)

    def step_span(self, number: int) -> Span:
        """The place of one step of the path."""
        step = self.tag.steps[number]
        return self.text.span(step.span.start, step.span.end)


def template_uses(job: JobTree) -> tuple[TemplateUse, ...]:
    """Every `<% %>` of the file; one in an alias or a shared deployment can occur several times."""
    found: list[TemplateUse] = []
    waiting = dict.fromkeys(scalar for scalar in job.syntax.scalars if OPENING in scalar.text)
    if not waiting:
        return ()
    for role in job.task_roles:
        if role.name in job.command_templates:
            text, role_tags, _ = job.command_templates[role.name]
            found += [TemplateUse(tag, text, TemplatePlace.COMMANDS, role) for tag in role_tags]
        for scalar in job.command_parts(role):
            waiting.pop(scalar, None)
    for place, node, owner in _filled_nodes(job) if waiting else ():
        for scalar in scalars_below(node) if place is not TemplatePlace.COMMANDS else ():
            if scalar in waiting:
                del waiting[scalar]
                found += _in_scalar(job, scalar, place, **owner)
    for scalar in waiting if job.root else ():
        found += _in_scalar(job, scalar, TemplatePlace.LITERAL)
    return tuple(found)


def place_at(job: JobTree, offset: int) -> TemplatePlace:
    """Which component fills, or would fill, a `<% %>` at an offset of the file."""
    for place, node, _ in _filled_nodes(job):
        if node is not None and node.span.touches(offset):
            return place
    return TemplatePlace.LITERAL


def _filled_nodes(job: JobTree) -> Iterator[tuple[TemplatePlace, Node | None, dict[str, Any]]]:
    """The nodes in which templates have a meaning, each with its owner; the innermost first.

    Definitions outside `prerequisites`, and those with a short plugin name or none, are filled once they are expanded.
    """
    for role in job.task_roles:
        yield TemplatePlace.COMMANDS, role.get("commands"), {"role": role}
        for scalar in job.command_parts(role):
            yield TemplatePlace.COMMANDS, scalar, {"role": role}
    for definition in job.definitions:
        owner = {"definition": definition}
        if definition.type == "dockerimage":
            for entry in entries_of(definition.node.get("auth")):
                yield TemplatePlace.AUTH, entry.value, owner
        elif _is_filled(job, definition):
            for key in NOT_PARAMETERS:
                yield TemplatePlace.LITERAL, definition.node.get(key), owner
            yield TemplatePlace.DEFINITION, definition.node, owner
        else:  # only `this`, by expansion
            yield TemplatePlace.LITERAL, definition.node, owner
    for plugin in job.plugins:
        yield TemplatePlace.PLUGIN, plugin.parameters, {"plugin": plugin}
    for deployment in job.deployments:
        for entry in deployment.role_entries:
            yield TemplatePlace.IDLE_DEPLOYMENT, entry.value, {"role": job.task_roles_by_name.get(entry.name)}


def _is_filled(job: JobTree, definition: Definition) -> bool:
    """Whether the runtime fills the prerequisite, as it is or once it is expanded: it is of a runtime plugin."""
    if definition.runtime_plugin is not None:
        return True
    name = definition.extended_plugin
    return name in job.platform.plugins or name in job.site_plugins


def _in_scalar(job: JobTree, scalar: Scalar, place: TemplatePlace, **owner: Any) -> list[TemplateUse]:
    found: Iterable[TemplateTag] = tags(scalar.text)[0]
    if place in RUNTIME_PLACES:
        found = sorted((*runtime_tags(scalar.text), *tags_without_dollar(scalar.text)), key=lambda tag: tag.span)
    text = mapped(job.text, scalar)
    return [TemplateUse(tag, text, place, **owner) for tag in found]
