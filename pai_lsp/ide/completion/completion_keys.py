"""Completion of keys: those allowed here and not yet written, required ones first, each with the start of its value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.ide.completion import snippets
from pai_lsp.ide.completion.suggestion import Suggestion, SuggestionKind, escaped, plain_text, written_scalar
from pai_lsp.ide.cursor import Spot
from pai_lsp.ide.documentation import field_documentation
from pai_lsp.job.definition import LEGACY_TYPES
from pai_lsp.job.template_uses import TemplatePlace
from pai_lsp.platform.job_schema import Field, fields
from pai_lsp.platform.job_schema import Kind as SchemaKind
from pai_lsp.platform.tables import PLUGIN_PREFIX
from pai_lsp.source.nodes import Mapping, Scalar
from pai_lsp.source.text import TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pai_lsp.ide.cursor import Cursor

_INDENT = "  "
_EXTENSION_ORDER = 400


def complete_keys(cursor: Cursor) -> list[Suggestion]:
    """The keys for the mapping at the cursor, or for the mapping that is expected there."""
    written = _written_names(cursor)
    found: list[Suggestion] = []
    for number, field in enumerate(_fields(cursor)):
        if str(field.key) not in written:
            order = number + (0 if field.required else 100) + (_EXTENSION_ORDER if field.is_extension else 0)
            found.append(_key(cursor, field, order))
    names = _free_names(cursor)
    found += (
        _plain_key(cursor, name, detail, value, number)
        for number, (name, detail, value) in enumerate(names)
        if name not in written
    )
    return [*found, *snippets.for_mapping(cursor)]


def _written_names(cursor: Cursor) -> set[str]:
    mapping = cursor.mapping if cursor.spot is Spot.KEY else None
    if mapping is None:
        return set()
    return {entry.name for entry in mapping.effective_entries() if entry.key is not cursor.scalar}


def _fields(cursor: Cursor) -> list[Field]:
    kind_of, plugin = _context(cursor)
    kind: SchemaKind = "definition" if cursor.document.is_catalog else "job"
    found = fields(cursor.path, prerequisite_type=kind_of, plugin=plugin, kind=kind)
    if kind_of == "dockerimage":
        found = [field for field in found if not field.is_extension]
    return found


def _context(cursor: Cursor) -> tuple[str | None, str | None]:
    """The `type` and `plugin` of the definition or plugin entry around the cursor."""
    depth = 2 if cursor.path[:1] == ("prerequisites",) else 3 if cursor.path[:1] == ("extras",) else 1
    holder = cursor.parents[depth] if len(cursor.parents) > depth else cursor.mapping
    if not isinstance(holder, Mapping):
        return None, None
    kind, plugin = holder.get("type"), holder.get("plugin")
    kind_of = kind.text if isinstance(kind, Scalar) and kind.text in LEGACY_TYPES else None
    name = plugin.text.removeprefix(PLUGIN_PREFIX) if isinstance(plugin, Scalar) and plugin.text else None
    return kind_of, name


def _key(cursor: Cursor, field: Field, order: int) -> Suggestion:
    name = str(field.key)
    snippet = _with_value(cursor, name, _value_snippet(cursor, field))
    plain = plain_text(snippet)
    return Suggestion(
        name,
        SuggestionKind.KEY,
        TextEdit(cursor.replace, plain),
        snippet if snippet != plain else None,
        field.type + (" (required)" if field.required else ""),
        field_documentation(field),
        order,
        field.deprecated,
    )


def _plain_key(cursor: Cursor, name: str, detail: str, value: str, order: int) -> Suggestion:
    snippet = _with_value(cursor, written_scalar(cursor, name), value)
    plain = plain_text(snippet)
    edit = TextEdit(cursor.replace, plain)
    return Suggestion(name, SuggestionKind.KEY, edit, snippet if snippet != plain else None, detail, "", order)


def _with_value(cursor: Cursor, name: str, value: str) -> str:
    """The key with the start of its value, indented under it; only the key where a colon stands behind it already."""
    if cursor.line_behind.lstrip().startswith(":"):
        return escaped(name)
    lead, pad = cursor.block_start()
    return f"{lead}{escaped(name)}:" + value.replace("\n", "\n" + pad)


def _value_snippet(cursor: Cursor, field: Field) -> str:
    """What follows the colon: the value's default or first choice, or the keys or item that it must begin with."""
    if field.values:
        return f" ${{1|{','.join(field.values)}|}}"
    if "object" in field.types and field.type == "mapping":
        if cursor.is_flow:
            return " {$1}"
        known = snippets.value(cursor, str(field.key))
        return known if known is not None else f"\n{_INDENT}$1"
    if field.type.startswith("list"):
        if cursor.is_flow or (field.type == "list of strings" and field.key in {"prerequisites", "taskroles"}):
            return " [$1]"
        return f"\n{_INDENT}- $1"
    if field.default is not None and field.default not in {"{}", "[]", "null"}:
        return f" ${{1:{escaped(field.default.strip(chr(34)))}}}"
    return " $1"


def _free_names(cursor: Cursor) -> list[tuple[str, str, str]]:
    """Names that no schema lists, for mappings whose keys are names of the job: `(name, detail, value snippet)`."""
    path = cursor.path
    if path in {("parameters",), ("secrets",)}:
        root = "$" + str(path[0])
        return [(name, "used, not defined yet", " $1") for name in _undefined(cursor, root)]
    if path[-1:] == ("taskRoles",) and len(path) > 1:
        return [(role.name, "task role", f"\n{_INDENT}$1") for role in cursor.job.task_roles]
    if path[-1:] == ("template_variables",) and isinstance(cursor.mapping, Mapping):
        return [(name, "template variable", " $1") for name in _required_variables(cursor)]
    return []


def _undefined(cursor: Cursor, root: str) -> Iterable[str]:
    known = cursor.job.parameters if root == "$parameters" else cursor.job.secrets
    names: dict[str, None] = {}
    for use in cursor.job.template_uses:
        steps = use.tag.steps
        if use.place is not TemplatePlace.LITERAL and len(steps) > 1 and steps[0].name == root:
            name = str(steps[1].name)
            if name not in known and cursor.scalar.text not in name:
                names[name] = None
    return names


def _required_variables(cursor: Cursor) -> Iterable[str]:
    """The template variables of the definition whose bindings the cursor stands in."""
    holder = next((node for node in reversed(cursor.parents[:-1]) if isinstance(node, Mapping)), None)
    if cursor.spot is not Spot.KEY:
        holder = cursor.mapping
    name = holder.get("name") if holder else None
    if not isinstance(name, Scalar):
        return ()
    answer = cursor.job.resolve(name.text)
    return [variable.name for definition in answer.definitions for variable in definition.template_variables]
