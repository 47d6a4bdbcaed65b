"""Completion of keys: those allowed here and not yet written, required ones first, each with the start of its value."""

from __future__ import annotations

from pai_lsp.ide.completion import snippets
from pai_lsp.ide.completion.suggestion import Suggestion, SuggestionKind, escaped, plain_text, written_scalar
from pai_lsp.ide.cursor import Spot
from pai_lsp.ide.documentation import field_documentation
from pai_lsp.job.template_uses import TemplatePlace
from pai_lsp.platform.job_schema import Field, fields
from pai_lsp.platform.job_schema import Kind as SchemaKind
from pai_lsp.platform.tables import PLUGIN_PREFIX, TYPES
from pai_lsp.source.nodes import Mapping, Scalar
from pai_lsp.source.text import TextEdit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from pai_lsp.ide.cursor import InsertionPoint

_INDENT = "  "
_EXTENSION_ORDER = 400


def complete_keys(point: InsertionPoint) -> list[Suggestion]:
    """The keys for the mapping at the point, or for the mapping that is expected there."""
    written = written_names(point)
    found: list[Suggestion] = []
    for number, field in enumerate(_fields(point)):
        if str(field.key) not in written:
            order = number + (0 if field.required else 100) + (_EXTENSION_ORDER if field.is_extension else 0)
            found.append(key_suggestion(point, field, order, snippets.value(point, str(field.key))))
    names = _free_names(point)
    found += (
        _plain_key(point, name, detail, value, number)
        for number, (name, detail, value) in enumerate(names)
        if name not in written
    )
    return [*found, *snippets.for_mapping(point)]


def written_names(point: InsertionPoint) -> set[str]:
    """The keys that the mapping at the point has already."""
    mapping = point.mapping if point.spot is Spot.KEY else None
    if mapping is None:
        return set()
    return {entry.name for entry in mapping.effective_entries() if entry.key is not point.scalar}


def _fields(point: InsertionPoint) -> list[Field]:
    kind_of, plugin = _context(point)
    kind: SchemaKind = "definition" if point.document.is_catalog else "job"
    found = fields(point.path, prerequisite_type=kind_of, plugin=plugin, kind=kind, platform=point.document.platform)
    if kind_of == "dockerimage":
        found = [field for field in found if not field.is_extension]
    return found


def _context(point: InsertionPoint) -> tuple[str | None, str | None]:
    """The `type` and `plugin` of the definition or plugin entry around the point."""
    depth = 2 if point.path[:1] == ("prerequisites",) else 3 if point.path[:1] == ("extras",) else 1
    holder = point.parents[depth] if len(point.parents) > depth else point.mapping
    if not isinstance(holder, Mapping):
        return None, None
    kind, plugin = holder.get("type"), holder.get("plugin")
    kind_of = kind.text if isinstance(kind, Scalar) and kind.text in TYPES else None
    name = plugin.text.removeprefix(PLUGIN_PREFIX) if isinstance(plugin, Scalar) and plugin.text else None
    return kind_of, name


def key_suggestion(point: InsertionPoint, field: Field, order: int, value: str | None) -> Suggestion:
    """Offer a key with the start of its value; `value` is that of a mapping, where it is known."""
    name = str(field.key)
    snippet = _with_value(point, name, _value_snippet(point, field, value))
    plain = plain_text(snippet)
    return Suggestion(
        name,
        SuggestionKind.KEY,
        TextEdit(point.replace, plain),
        snippet if snippet != plain else None,
        field.type + (" (required)" if field.required else ""),
        field_documentation(field),
        order,
        field.deprecated,
    )


def _plain_key(point: InsertionPoint, name: str, detail: str, value: str, order: int) -> Suggestion:
    snippet = _with_value(point, written_scalar(point, name), value)
    plain = plain_text(snippet)
    edit = TextEdit(point.replace, plain)
    return Suggestion(name, SuggestionKind.KEY, edit, snippet if snippet != plain else None, detail, "", order)


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
    names: dict[str, None] = {}
    for use in point.job.template_uses:
        steps = use.tag.steps
        if use.place is not TemplatePlace.LITERAL and len(steps) > 1 and steps[0].name == root:
            name = str(steps[1].name)
            if name not in known and point.scalar.text not in name:
                names[name] = None
    return names


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
