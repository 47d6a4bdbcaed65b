"""Hover: what the word under the pointer means, in Markdown; a secret's value is never part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.catalog.remote_sources import item_page
from pai_lsp.embedded.command_lines import command_lines
from pai_lsp.embedded.shell import read_script
from pai_lsp.ide.cursor import Cursor, schema_context
from pai_lsp.ide.documentation import (
    block,
    code,
    definition_documentation,
    event_documentation,
    exit_code_documentation,
    field_documentation,
    option_documentation,
    paragraphs,
    plugin_documentation,
    prose,
    variable_documentation,
)
from pai_lsp.ide.known_values import cluster_name_documentation, resources_sentence, template_value, variable_value
from pai_lsp.ide.navigation import places_of
from pai_lsp.job.lookup import LookupState
from pai_lsp.job.symbols import Occurrence, SymbolKind, meant_prerequisite
from pai_lsp.platform.job_schema import field
from pai_lsp.platform.programs import known_line, nccl_help, nccl_variables
from pai_lsp.platform.tables import PLUGIN_PREFIX, events, exit_codes
from pai_lsp.source.content import mapped
from pai_lsp.source.foreign import number_of
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import plural

if TYPE_CHECKING:
    from pai_lsp.document import Document
    from pai_lsp.ide.cursor import Location
    from pai_lsp.source.content import MappedText
    from pai_lsp.source.text import Span

_VARIABLE = lazy_pattern(r"(?<!\w)[A-Z]+_\w+")
_EXIT = lazy_pattern(r"(?<!\w)exit[ \t]+(\d+)")


@dataclass(frozen=True, slots=True)
class Hover:
    """Markdown, and the place that it speaks of."""

    markdown: str
    span: Span


def hover(document: Document, offset: int) -> Hover | None:
    """The description of what is at an offset; None without one."""
    found = _found(document, offset)
    return Hover(document.job.hidden.without(found.markdown), found.span) if found else None


def _found(document: Document, offset: int) -> Hover | None:
    cursor = Cursor(document, offset)
    location = cursor.location
    if location is None:
        return None
    if document.is_mpijob:
        return _in_manifest(location)
    if cursor.template is not None:
        use = cursor.template
        filled = f"{code(f'<% {use.tag.content} %>')}\n\n{template_value(document.job, use)}"
        return Hover(filled, use.span)
    node = location.node
    if isinstance(node, Scalar) and not location.is_key and (found := _in_text(document, location, node, offset)):
        return found
    if cursor.name is not None:
        if cursor.name.symbol.kind is SymbolKind.ANCHOR and document.job.hidden.holds(cursor.name.span):
            return None  # a value that begins with '&' or '*', rather than a name
        return Hover(_symbol(document, cursor.name), cursor.name.span)
    if location.is_key:
        documentation = _key(document, location)
    else:
        documentation = _value(document, location, node) if isinstance(node, Scalar) else ""
    return Hover(documentation, node.span) if documentation else None


def _in_manifest(location: Location) -> Hover | None:
    """A key of an MPIJob, or one of the only values of a key."""
    from pai_lsp.mpijob.manifest import is_mpijob  # noqa: PLC0415 - most files are jobs of OpenPAI
    from pai_lsp.mpijob.structure import documented_version, manifest_field  # noqa: PLC0415 - as above

    root = location.parents[0] if location.parents else None
    if not is_mpijob(root):
        return None
    version = documented_version(root)
    found = manifest_field(location.path, version) if version is not None else None
    is_choice = found is not None and isinstance(location.node, Scalar) and location.node.text in found.values
    if found is None or not (location.is_key or is_choice) or not isinstance(location.path[-1], str):
        return None
    return Hover(field_documentation(found), location.node.span)


def _in_text(document: Document, location: Location, node: Scalar, offset: int) -> Hover | None:
    """A variable or an exit code in a command."""
    text = mapped(document.text, node)
    for match in _VARIABLE.finditer(node.text):
        span = text.span(*match.span())
        variable = document.job.platform.environment_variable(match[0]) if span.touches(offset) else None
        if variable is not None:
            value = variable_value(document.job, location.task_role, variable, match[0])
            return Hover(variable_documentation(variable, match[0], value), span)
        if span.touches(offset) and match[0] in nccl_variables():
            meaning = nccl_help().get(match[0], "")
            read_by = "" if meaning.startswith("PyTorch") else "_read by NCCL_"
            return Hover(paragraphs(f"**{match[0]}**", meaning, read_by), span)
    if location.is_command and (option := _option(text, node.text, offset)) is not None:
        return option
    for match in _EXIT.finditer(node.text):
        span = text.span(*match.span(1))
        if span.touches(offset):
            return Hover(exit_code_documentation(number_of(match[1]), exit_codes().get(number_of(match[1]))), span)
    return None


def _option(text: MappedText, script: str, offset: int) -> Hover | None:
    """The option of a well-known program at an offset of the file."""
    for line in command_lines(read_script(script.rstrip())).all:
        words = (text.span(word.span.start, word.span.end) for word in line.arguments)
        if any(span.touches(offset) for span in words) and (known := known_line(line)) is not None:
            for option in known.arguments.options:
                span = text.span(option.span.start, option.span.end)
                if span.touches(offset) and option.name in known.program.options:
                    return Hover(option_documentation(known, option.name), span)
    return None


def _symbol(document: Document, here: Occurrence) -> str:
    """A name: what it means, and how often it is used."""
    title = f"**{prose(here.symbol.name)}**"
    job, symbol = document.job, here.symbol
    uses = sum(not one.is_definition for one in places_of(document, symbol))
    used = f"_used {plural(uses, 'time')} in this file_"
    if symbol.kind is SymbolKind.PREREQUISITE:
        definition = meant_prerequisite(job, here)
        if definition is not None:
            return f"{definition_documentation(definition, definition.origin.value)}\n\n{used}"
        return f"no prerequisite is named {code(symbol.name)}"
    if symbol.kind is SymbolKind.TASK_ROLE:
        role = job.task_roles_by_name.get(symbol.name)
        return f"{title} (task role)\n\n{resources_sentence(role) if role else 'not defined'}\n\n{used}"
    if symbol.kind is SymbolKind.SECRET:
        return f"{title} (secret; its value is not shown)\n\n{used}"
    if symbol.kind is SymbolKind.PARAMETER:
        entry = job.parameters.get(symbol.name)
        written = document.text[entry.value.span.start : entry.value.span.end] if entry else ""
        return f"{title} (parameter)" + (f"\n\n{block('yaml', written)}" if written else "") + f"\n\n{used}"
    scope = f" of role {prose(str(symbol.scope))}" if symbol.kind is SymbolKind.PORT else ""
    return f"{title} ({symbol.kind.value}{scope})\n\n{used}"


def _key(document: Document, location: Location) -> str:
    roles = document.job.task_roles if location.path == ("taskRoles",) else ()
    totals = (f"{code(role.name)}: {resources_sentence(role)}" for role in roles)
    return "\n\n".join([_described(document, location), *totals]).strip()


def _described(document: Document, location: Location) -> str:
    found = field(location.path, **schema_context(document, location.parents))
    return field_documentation(found) if found is not None and isinstance(found.key, str) else ""


def _value(document: Document, location: Location, node: Scalar) -> str:
    key = location.path[-1] if location.path else ""
    if key == "event" and node.text in events():
        return event_documentation(events()[node.text])
    if key == "plugin" and (plugin := document.platform.plugins.get(node.text.removeprefix(PLUGIN_PREFIX))):
        return plugin_documentation(plugin)
    if found := cluster_name_documentation(document.job, document.settings.cluster, location.path, node.text):
        return found
    keys = [step for step in location.path if isinstance(step, str)]
    if "://" in node.text and (keys[-1:] in (["require"], ["prerequisites"]) or keys[-2:] == ["require", "name"]):
        return _address(document, node.text)
    return _described(document, location) if isinstance(key, str) else ""


def _address(document: Document, reference: str) -> str:
    answer = document.job.lookup.find(reference)
    if answer.state is LookupState.FOUND:
        found = "\n\n---\n\n".join(definition_documentation(one, "marketplace") for one in answer.definitions)
        found = f"**{prose(answer.title)}** (item of the marketplace)\n\n{found}" if answer.title else found
        page = item_page(answer.path or "")
        return f"{found}\n\n[Open the page in the marketplace]({page})" if page else found
    note = f" ({prose(answer.note)})" if answer.note else ""
    return f"{code(reference)}: {answer.state.value}{note}"
