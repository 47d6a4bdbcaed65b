"""Completion of values and list items: names that are defined somewhere, and choices that the schema knows."""

from __future__ import annotations

from pai_lsp.ide.completion import snippets
from pai_lsp.ide.completion.completion_keys import complete_keys
from pai_lsp.ide.completion.suggestion import Suggestion, SuggestionKind, escaped, scalar_suggestion, snippet_suggestion
from pai_lsp.ide.cursor import Spot
from pai_lsp.ide.documentation import (
    definition_documentation,
    event_documentation,
    offer_documentation,
    plugin_documentation,
)
from pai_lsp.job.definition import TYPED_FIELDS
from pai_lsp.job.lookup import MARKETPLACE
from pai_lsp.platform.job_schema import Kind as SchemaKind
from pai_lsp.platform.job_schema import field
from pai_lsp.platform.tables import RUNTIME_PLUGIN, converted_role_name, events
from pai_lsp.source.nodes import Mapping, Scalar
from pai_lsp.source.text import TextEdit
from pai_lsp.source.writing import flow_scalar, scalar_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.ide.cursor import InsertionPoint
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.lookup import SuggestedDefinition
    from pai_lsp.platform.job_schema import Field

# So many of a large catalog are offered at once; an editor asks again when more is typed.
MOST_OFFERED = 50

_EXTRAS_PLUGINS = ("extras", RUNTIME_PLUGIN)
_EVENT_STATUS_ORDER = {"released": 0, "extended": 100, "superseded": 200}


def complete_scalars(point: InsertionPoint) -> list[Suggestion]:
    """The names and choices that can follow the colon at the point."""
    return [*_names(point), *_choices(point)]


def complete_collections(point: InsertionPoint) -> list[Suggestion]:
    """The lists and mappings that can follow the colon at the cursor; such a value may begin on the next line."""
    items = list(_item_names(point, ()))
    if items:
        return [_as_list(point, item) for item in items]
    described = field(point.path, kind=_schema_kind(point), platform=point.document.platform)
    if described is not None and described.type.startswith("list"):
        return snippets.for_list(point)
    return complete_keys(point) if point.path else []


def complete_items(point: InsertionPoint) -> list[Suggestion]:
    """What can be an item of the list at the cursor: names, or the first keys of a mapping."""
    sequence = point.sequence
    written = tuple(
        item.text
        for item in (sequence.items if sequence else ())
        if isinstance(item, Scalar) and item is not point.scalar
    )
    found = list(_item_names(point, written))
    return [*found, *snippets.for_item(point), *([] if found and point.is_flow else complete_keys(point))]


def _schema_kind(point: InsertionPoint) -> SchemaKind:
    return "definition" if point.document.is_catalog else "job"


def _names(point: InsertionPoint) -> Iterator[Suggestion]:
    """Names for keys whose value is one name."""
    path = point.path
    key = path[-1] if path else ""
    if len(path) == 3 and path[0] == "taskRoles" and key in TYPED_FIELDS:
        kind = TYPED_FIELDS[str(key)]
        for number, definition in enumerate(point.job.prerequisites):
            if definition.type == kind and definition.name:
                yield _definition(point, definition, number)
    elif path == ("defaults", "deployment"):
        for deployment in point.job.deployments:
            if deployment.name:
                yield scalar_suggestion(point, deployment.name, SuggestionKind.REFERENCE, detail="deployment")
    elif key == "plugin":
        yield from _plugins(point)
    elif key == "event":
        for event in events().values():
            order = _EVENT_STATUS_ORDER[event.status]
            documentation = event_documentation(event)
            yield scalar_suggestion(
                point, event.name, SuggestionKind.EVENT, detail=event.when, documentation=documentation, order=order
            )
    elif key == "name" and "require" in path:
        yield from _item_names(point, ())
    yield from _cluster_names(point, path)


def _cluster_names(point: InsertionPoint, path: tuple[str | int, ...]) -> Iterator[Suggestion]:
    """The names of the cluster that the jobs are for."""
    if point.document.settings.cluster is not None:
        from pai_lsp.ide.known_values import cluster_names  # noqa: PLC0415 - few projects name a cluster

        for number, (name, detail) in enumerate(cluster_names(point.job, point.document.settings.cluster, path)):
            yield scalar_suggestion(point, name, SuggestionKind.REFERENCE, detail=detail, order=number)


def _plugins(point: InsertionPoint) -> Iterator[Suggestion]:
    in_extras = point.path[:2] == _EXTRAS_PLUGINS
    if point.path[:1] not in {("prerequisites",), ("extras",)} and not point.document.is_catalog:
        return
    for number, plugin in enumerate(point.document.platform.plugins.values()):
        if plugin.deprecated:
            continue
        name = plugin.name if in_extras else plugin.full_name
        documentation = plugin_documentation(plugin)
        if in_extras and not _has_sibling(point, "parameters"):
            yield from snippets.plugin_with_parameters(point, plugin.name, documentation)
        yield scalar_suggestion(
            point, name, SuggestionKind.PLUGIN, detail=plugin.title, documentation=documentation, order=number
        )


def _has_sibling(point: InsertionPoint, key: str) -> bool:
    return point.mapping is not None and point.mapping.own(key) is not None


def _choices(point: InsertionPoint) -> Iterator[Suggestion]:
    """The values of an enumeration, or true and false."""
    if point.path[-1:] in {("event",), ("plugin",)}:
        return
    described = field(point.path, kind=_schema_kind(point), platform=point.document.platform)
    if described is not None:
        yield from value_suggestions(point, described)


def value_suggestions(point: InsertionPoint, field: Field) -> Iterator[Suggestion]:
    """The only values of a key, its default marked as such."""
    for number, value in enumerate(field.values):
        detail = "default" if field.default in {value, f'"{value}"'} else ""
        edit = TextEdit(point.replace, point.missing + value)
        yield Suggestion(value, SuggestionKind.VALUE, edit, None, detail, field.description, number)


def _item_names(point: InsertionPoint, written: Iterable[str]) -> Iterator[Suggestion]:
    """Names for lists of names; those that are in the list already come last."""
    path = point.path if point.spot is not Spot.ITEM else point.path[:-1]
    here = path[-1] if path else ""
    if here == "name" and "require" in path:
        here = "require"
    if here == "prerequisites" and path[:1] == ("taskRoles",):
        yield from _prerequisites(point, written, None)
    elif here == "require":
        yield from _prerequisites(point, written, _own_name(point))
    elif here == "taskroles" and path[:2] == _EXTRAS_PLUGINS:
        for role in point.job.task_roles:
            yield scalar_suggestion(point, converted_role_name(role.name), SuggestionKind.ROLE, detail="task role")
    elif here == "storageConfigNames":
        yield from _cluster_names(point, path)


def _own_name(point: InsertionPoint) -> str | None:
    """The name of the definition whose `require` the cursor is in: it cannot require itself."""
    for node in point.parents:
        if isinstance(node, Mapping) and node.own("require") and isinstance(name := node.get("name"), Scalar):
            return name.text
    return None


def _prerequisites(point: InsertionPoint, written: Iterable[str], own: str | None) -> Iterator[Suggestion]:
    listed = set(written)
    for number, definition in enumerate(point.job.definitions_by_name.values()):
        if definition.type != "dockerimage" and definition.name != own:
            order = number + (1000 if definition.name in listed else 0)
            yield _definition(point, definition, order)
    for number, offer in enumerate(_offers(point)):
        yield _offered(point, offer, 2000 + number)


def _offers(point: InsertionPoint) -> tuple[SuggestedDefinition, ...]:
    """What the catalog has: all of a small one, for the editor to choose; of a large one what fits what is typed."""
    typed, lookup = point.prefix, point.job.lookup
    if not typed.startswith(MARKETPLACE):
        every = lookup.suggestions("", MOST_OFFERED + 1)
        if len(every) <= MOST_OFFERED:
            return every
    return lookup.suggestions(typed, MOST_OFFERED)


def _offered(point: InsertionPoint, offer: SuggestedDefinition, order: int) -> Suggestion:
    """A definition of the catalog; in a `require`, with the variables that are to be filled."""
    documentation = offer_documentation(offer)
    detail = f"{offer.type or 'prerequisite'}, marketplace"
    is_new_item = point.spot is Spot.ITEM and point.path[-2:-1] == ("require",)
    if is_new_item and offer.variables and not point.is_flow and not point.quote:
        places = "".join(f"\n  {scalar_line(name)}: ${{{one}}}" for one, name in enumerate(offer.variables, start=1))
        snippet = f"name: {escaped(offer.reference)}\ntemplate_variables:{places}"
        return snippet_suggestion(
            point,
            offer.reference,
            snippet,
            detail=detail,
            documentation=documentation,
            order=order,
            kind=SuggestionKind.REFERENCE,
        )
    return scalar_suggestion(
        point, offer.reference, SuggestionKind.REFERENCE, detail=detail, documentation=documentation, order=order
    )


def _definition(point: InsertionPoint, definition: Definition, order: int) -> Suggestion:
    detail = definition.type or "prerequisite"
    documentation = definition_documentation(definition)
    return scalar_suggestion(
        point, definition.name, SuggestionKind.REFERENCE, detail=detail, documentation=documentation, order=order
    )


def _as_list(point: InsertionPoint, item: Suggestion) -> Suggestion:
    """A name offered where its list is not begun yet: as a list of one."""
    on_own_line = not point.line_before.strip()
    text = f"- {scalar_line(item.label)}" if on_own_line else f"[{flow_scalar(item.label)}]"
    edit = TextEdit(point.replace, point.missing + text)
    return Suggestion(item.label, item.kind, edit, None, item.detail, item.documentation, item.order)
