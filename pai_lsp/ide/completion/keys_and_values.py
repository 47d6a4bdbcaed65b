"""Completion of keys, values and list items, in jobs and in MPIJobs.

Keys are those allowed here and not yet written, required ones first, each with the start of its value. Values are names
that are defined somewhere, and choices that the schema knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.ide.completion import snippets
from pai_lsp.ide.completion.snippet_texts import indented
from pai_lsp.ide.completion.suggestion import (
    Suggestion,
    SuggestionKind,
    escaped,
    inserted,
    scalar_suggestion,
    snippet_suggestion,
    written_scalar,
)
from pai_lsp.ide.cursor import Spot, schema_context
from pai_lsp.ide.documentation import (
    definition_documentation,
    event_documentation,
    field_documentation,
    offer_documentation,
    plugin_documentation,
)
from pai_lsp.ide.known_values import cluster_names
from pai_lsp.job.definition import TYPED_FIELDS
from pai_lsp.job.lookup import MARKETPLACE
from pai_lsp.job.template_uses import TemplatePlace
from pai_lsp.mpijob.manifest import SERVED, is_mpijob
from pai_lsp.mpijob.structure import documented_version, manifest_field, manifest_fields
from pai_lsp.platform.job_schema import Field, field, fields
from pai_lsp.platform.tables import RUNTIME_PLUGIN, converted_role_name, events
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Mapping, Scalar, if_scalar, items_of
from pai_lsp.source.text import TextEdit
from pai_lsp.source.writing import flow_scalar, scalar_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.ide.cursor import InsertionPoint
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.lookup import SuggestedDefinition

_INDENT = "  "
_EXTENSION_ORDER = 400


def complete_keys(point: InsertionPoint) -> list[Suggestion]:
    """The keys for the mapping at the point, or for the mapping that is expected there."""
    written = written_names(point)
    found: list[Suggestion] = []
    for described in _fields(point):
        if str(described.key) not in written:
            order = (0 if described.required else 100) + (_EXTENSION_ORDER if described.is_extension else 0)
            found.append(key_suggestion(point, described, snippets.value(point, str(described.key)), order))
    for name, detail, value in _free_names(point):
        if name not in written:
            snippet = _with_value(point, written_scalar(point, name), value)
            found.append(inserted(point.replace, name, SuggestionKind.KEY, snippet, detail))
    return [*found, *snippets.for_mapping(point)]


def written_names(point: InsertionPoint) -> set[str]:
    """The keys that the mapping at the point has already."""
    mapping = point.mapping if point.spot is Spot.KEY else None
    if mapping is None:
        return set()
    return {entry.name for entry in mapping.effective_entries() if entry.key is not point.scalar}


def _fields(point: InsertionPoint) -> list[Field]:
    context = schema_context(point.document, point.parents)
    found = fields(point.path, **context)
    return [one for one in found if not (context["prerequisite_type"] == "dockerimage" and one.is_extension)]


def key_suggestion(point: InsertionPoint, field: Field, value: str | None, order: int = 0) -> Suggestion:
    """Offer a key with the start of its value; `value` is that of a mapping, where it is known."""
    name = str(field.key)
    snippet = _with_value(point, name, _value_snippet(point, field, value))
    detail = field.type + (" (required)" if field.required else "")
    found = inserted(point.replace, name, SuggestionKind.KEY, snippet, detail, field_documentation(field), order)
    return replace(found, is_deprecated=True) if field.deprecated else found


def _with_value(point: InsertionPoint, name: str, value: str) -> str:
    """The key with the start of its value, indented under it; only the key if a colon follows already."""
    if point.line_after.lstrip().startswith(":"):
        return escaped(name)
    lead, pad = point.block_start()
    return f"{lead}{escaped(name)}:" + value.replace("\n", "\n" + pad)


def _value_snippet(point: InsertionPoint, field: Field, known: str | None) -> str:
    """What follows the colon: the value's default or first choice, or the keys or item that it must begin with."""
    if field.values:
        return f" ${{1|{','.join(field.values)}|}}"
    if "object" in field.types and field.type == "mapping":
        if point.is_flow:
            return " {$1}"
        return known if known is not None else f"\n{_INDENT}$1"
    if field.type.startswith("list"):
        if point.is_flow or (field.type == "list of strings" and field.key in {"prerequisites", "taskroles"}):
            return " [$1]"
        return f"\n{_INDENT}- $1"
    if field.default is not None and field.default not in {"{}", "[]", "null"}:
        return f" ${{1:{escaped(field.default.strip(chr(34)))}}}"
    return " $1"


def _free_names(point: InsertionPoint) -> list[tuple[str, str, str]]:
    """Names that no schema lists, for mappings whose keys are names of the job: `(name, detail, value snippet)`."""
    path = point.path
    if path in {("parameters",), ("secrets",)}:
        root = "$" + str(path[0])
        return [(name, "used, not defined yet", " $1") for name in _undefined(point, root)]
    if path[-1:] == ("taskRoles",) and len(path) > 1:
        return [(role.name, "task role", f"\n{_INDENT}$1") for role in point.job.task_roles]
    if path[-1:] == ("template_variables",) and isinstance(point.mapping, Mapping):
        return [(name, "template variable", " $1") for name in _required_variables(point)]
    return []


def _undefined(point: InsertionPoint, root: str) -> Iterable[str]:
    known = point.job.parameters if root == "$parameters" else point.job.secrets
    uses = (use.tag.steps for use in point.job.template_uses if use.place is not TemplatePlace.LITERAL)
    names = dict.fromkeys(str(steps[1].name) for steps in uses if len(steps) > 1 and steps[0].name == root)
    return [name for name in names if name not in known and point.scalar.text not in name]


def _required_variables(point: InsertionPoint) -> Iterable[str]:
    """The template variables of the definition whose bindings the cursor is in."""
    holder = next((node for node in reversed(point.parents[:-1]) if isinstance(node, Mapping)), None)
    if point.spot is not Spot.KEY:
        holder = point.mapping
    name = holder.get("name") if holder else None
    if not isinstance(name, Scalar):
        return ()
    answer = point.job.resolve(name.text)
    return [variable.name for definition in answer.definitions for variable in definition.template_variables]


# So many of a large catalog are offered at once; an editor asks again when more is typed.
MOST_OFFERED = 50

_EXTRAS_PLUGINS = ("extras", RUNTIME_PLUGIN)
_EVENT_STATUS_ORDER = ("released", "extended", "superseded")


def complete_scalars(point: InsertionPoint) -> list[Suggestion]:
    """The names and choices that can follow the colon at the point."""
    return [*_names(point), *_choices(point)]


def complete_collections(point: InsertionPoint) -> list[Suggestion]:
    """The lists and mappings that can follow the colon at the cursor; such a value may begin on the next line."""
    items = list(_item_names(point, ()))
    if items:
        return [_as_list(point, item) for item in items]
    described = field(point.path, **schema_context(point.document, ()))
    if described is not None and described.type.startswith("list"):
        return snippets.for_list(point)
    return complete_keys(point) if point.path else []


def complete_items(point: InsertionPoint) -> list[Suggestion]:
    """What can be an item of the list at the cursor: names, or the first keys of a mapping."""
    items = items_of(point.sequence)
    written = tuple(item.text for item in items if isinstance(item, Scalar) and item is not point.scalar)
    found = list(_item_names(point, written))
    return [*found, *snippets.for_item(point), *([] if found and point.is_flow else complete_keys(point))]


def _names(point: InsertionPoint) -> Iterator[Suggestion]:
    """Names for keys whose value is one name."""
    path = point.path
    key = path[-1] if path else ""
    if len(path) == 3 and path[0] == "taskRoles" and key in TYPED_FIELDS:
        kind = TYPED_FIELDS[str(key)]
        for definition in point.job.prerequisites:
            if definition.type == kind and definition.name:
                yield _definition(point, definition)
    elif path == ("defaults", "deployment"):
        for deployment in point.job.deployments:
            if deployment.name:
                yield scalar_suggestion(point, deployment.name, SuggestionKind.REFERENCE, "deployment")
    elif key == "plugin":
        yield from _plugins(point)
    elif key == "event":
        for event in events().values():
            documentation, order = event_documentation(event), _EVENT_STATUS_ORDER.index(event.status)
            yield scalar_suggestion(point, event.name, SuggestionKind.EVENT, event.when, documentation, order)
    elif key == "name" and "require" in path:
        yield from _item_names(point, ())
    yield from _cluster_names(point, path)


def _cluster_names(point: InsertionPoint, path: tuple[str | int, ...]) -> Iterator[Suggestion]:
    """The names of the cluster that the jobs are for."""
    for name, detail in cluster_names(point.job, point.document.settings.cluster, path):
        yield scalar_suggestion(point, name, SuggestionKind.REFERENCE, detail)


def _plugins(point: InsertionPoint) -> Iterator[Suggestion]:
    in_extras = point.path[:2] == _EXTRAS_PLUGINS
    if point.path[:1] not in {("prerequisites",), ("extras",)} and not point.document.is_catalog:
        return
    for plugin in point.document.platform.plugins.values():
        if plugin.deprecated:
            continue
        name = plugin.name if in_extras else plugin.full_name
        documentation = plugin_documentation(plugin)
        if in_extras and not (point.mapping and point.mapping.own("parameters")):
            yield from snippets.plugin_with_parameters(point, plugin.name, documentation)
        yield scalar_suggestion(point, name, SuggestionKind.PLUGIN, plugin.title, documentation)


def _choices(point: InsertionPoint) -> Iterator[Suggestion]:
    """The values of an enumeration, or true and false."""
    if point.path[-1:] in {("event",), ("plugin",)}:
        return
    described = field(point.path, **schema_context(point.document, ()))
    if described is not None:
        yield from value_suggestions(point, described)


def value_suggestions(point: InsertionPoint, field: Field) -> Iterator[Suggestion]:
    """The only values of a key, its default marked as such."""
    for value in field.values:
        detail = "default" if field.default in {value, f'"{value}"'} else ""
        edit = TextEdit(point.replace, point.missing + value)
        yield Suggestion(value, SuggestionKind.VALUE, edit, None, detail, field.description)


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
            yield scalar_suggestion(point, converted_role_name(role.name), SuggestionKind.ROLE, "task role")
    elif here == "storageConfigNames":
        yield from _cluster_names(point, path)


def _own_name(point: InsertionPoint) -> str | None:
    """The name of the definition whose `require` the cursor is in: it cannot require itself."""
    owners = (node for node in point.parents if isinstance(node, Mapping) and node.own("require"))
    names = (if_scalar(owner.get("name")) for owner in owners)
    return next((name.text for name in names if name), None)


def _prerequisites(point: InsertionPoint, written: Iterable[str], own: str | None) -> Iterator[Suggestion]:
    listed = set(written)
    for definition in point.job.definitions_by_name.values():
        if definition.type != "dockerimage" and definition.name != own:
            yield _definition(point, definition, int(definition.name in listed))
    for offer in _offers(point):
        yield _offered(point, offer)


def _offers(point: InsertionPoint) -> tuple[SuggestedDefinition, ...]:
    """What the catalog has: all of a small one, for the editor to choose; of a large one what fits what is typed."""
    typed, lookup = point.prefix, point.job.lookup
    if not typed.startswith(MARKETPLACE):
        every = lookup.suggestions("", MOST_OFFERED + 1)
        if len(every) <= MOST_OFFERED:
            return every
    return lookup.suggestions(typed, MOST_OFFERED)


def _offered(point: InsertionPoint, offer: SuggestedDefinition) -> Suggestion:
    """A definition of the catalog; in a `require`, with the variables that are to be filled."""
    documentation = offer_documentation(offer)
    detail = f"{offer.title and f'{offer.title}: '}{offer.type or 'prerequisite'}, marketplace"
    is_new_item = point.spot is Spot.ITEM and point.path[-2:-1] == ("require",)
    if is_new_item and offer.variables and not point.is_flow and not point.quote:
        places = "".join(f"\n  {scalar_line(name)}: ${{{one}}}" for one, name in enumerate(offer.variables, start=1))
        snippet = f"name: {escaped(offer.reference)}\ntemplate_variables:{places}"
        kind = SuggestionKind.REFERENCE
        return snippet_suggestion(point, offer.reference, snippet, detail, documentation, 2, kind)
    return scalar_suggestion(point, offer.reference, SuggestionKind.REFERENCE, detail, documentation, 2)


def _definition(point: InsertionPoint, definition: Definition, order: int = 0) -> Suggestion:
    detail, documentation = definition.type or "prerequisite", definition_documentation(definition)
    return scalar_suggestion(point, definition.name, SuggestionKind.REFERENCE, detail, documentation, order)


def _as_list(point: InsertionPoint, item: Suggestion) -> Suggestion:
    """A name offered where its list is not begun yet: as a list of one."""
    on_own_line = not point.line_before.strip()
    text = f"- {scalar_line(item.label)}" if on_own_line else f"[{flow_scalar(item.label)}]"
    edit = TextEdit(point.replace, point.missing + text)
    return Suggestion(item.label, item.kind, edit, None, item.detail, item.documentation, item.order)


_LAUNCHER = """\
template:
  spec:
    containers:
      - name: launcher
        image: ${1:image}
        command: [mpirun, --allow-run-as-root, --hostfile, /etc/mpi/hostfile, ${2:./program}]"""
_WORKER = """\
replicas: ${3:2}
template:
  spec:
    containers:
      - name: worker
        image: ${4:image}"""
_BOTH = f"Launcher:\n  {indented(_LAUNCHER)}\nWorker:\n  {indented(_WORKER)}"
# By the end of a key's path, what its value begins with.
_VALUES = {
    "metadata": "name: ${1:train}",
    "spec": f"slotsPerWorker: ${{5:1}}\nrunPolicy:\n  cleanPodPolicy: Running\nmpiReplicaSpecs:\n  {indented(_BOTH)}",
    "mpiReplicaSpecs": _BOTH,
    "Launcher": _LAUNCHER,
    "Worker": _WORKER,
    "runPolicy": "cleanPodPolicy: ${1|Running,None,All|}",
    "template": "spec:\n  containers:\n    - name: ${1:main}\n      image: ${2:image}",
    "resources": "limits:\n  $1",
}


def complete_manifest(point: InsertionPoint) -> list[Suggestion]:
    """What can be typed in an MPIJob, if an operator serves its version; nothing in other documents of the file."""
    root = point.parents[0] if point.parents else None
    if not is_mpijob(root):
        return []
    path = point.path
    version = SERVED if path == ("apiVersion",) else documented_version(root)
    if version is None:
        return []
    if point.spot is Spot.VALUE and (described := manifest_field(path, version)) is not None and described.values:
        return list(value_suggestions(point, described))
    written = written_names(point)
    offered = [one for one in manifest_fields(path, version) if one.key not in written]
    return [key_suggestion(point, one, _value(point, str(one.key))) for one in offered]


def _value(point: InsertionPoint, key: str) -> str | None:
    """What follows the colon of a key whose value is a mapping; None where nothing is known."""
    if key == "spec" and point.path:
        return "\n  containers:\n    - name: ${1:main}\n      image: ${2:image}"
    lines = _VALUES.get(key)
    return None if lines is None or (key == "metadata" and point.path) else f"\n  {indented(lines)}"
