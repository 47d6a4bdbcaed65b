"""What a marketplace server stores of a file: an item with a whole job; and what the server would refuse of it.

The server holds an item's job to the JSON schema of the rest-server, and looks up no reference in it. What it refuses
of a definition is published in a form that it takes, where there is one. Source: openpaimarketplace, rest_server,
src/utils/protocol.js, src/controllers/item_controller.js (`create`), src/models/marketplace_item.js.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pai_lsp.catalog.definition_text import header_of
from pai_lsp.embedded.template import filled, variables
from pai_lsp.job.definition import STORAGE_PLUGINS, Definition
from pai_lsp.job.job import Job
from pai_lsp.job.lookup import BY_NAME, LookupState, looks_like_address
from pai_lsp.platform.job_schema import structure_errors
from pai_lsp.platform.tables import free_prerequisite_name
from pai_lsp.source.edits import insert_entry
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.nodes import Mapping, Scalar, Sequence, nodes_along, plain_value
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span, TextEdit, apply_edits, column, next_line
from pai_lsp.source.writing import indented, item_lines, scalar_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pai_lsp.job.definition import Requirement

# The columns of the server's table, in characters, and the limit of its body parser, in bytes of JSON.
MAX_NAME = 255
MAX_BYTES = 100 * 1024
# The image of the server's own examples, for a file without one: the rest-server runs no job without an image.
_IMAGE = "openpai/standard:python_3.6-pytorch_1.2.0-gpu"
_FOLDER = "share the file as a folder in git instead, which takes every form"


@dataclass(frozen=True, slots=True)
class ItemRefusal:
    """What the server would refuse, or what must not be shown to everybody: its place in the file, and why."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class PublishedItem:
    """An item of a server.

    type: `data` for definitions, `template` for a whole job; the pages of the server know no other.
    protocol: the text of the job; `job`: its name.
    names: those of the definitions that it shares.
    notes: what is published in another form than it is written in.
    """

    title: str
    type: str
    summary: str
    description: str
    protocol: str
    job: str
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def published_item(job: Job, title: str = "") -> PublishedItem | tuple[ItemRefusal, ...]:
    """The item of a file of definitions or of a whole job; or everything that keeps it from being published.

    title: the item's name on the server's pages; empty for the one in the file.
    """
    if job.hidden.spans:
        message = "an item shows everybody what looks like a password or token; publish the file without it"
        return tuple(ItemRefusal(span, message) for span in job.hidden.spans)
    if not job.is_catalog:
        found = _whole_job(job)
    elif job.definitions:
        found = _Wrapping(job).item()
    else:
        return (ItemRefusal(Span(0, 0), "the file has no definition"),)
    if isinstance(found, PublishedItem):
        title = title or found.title
        if len(title) > MAX_NAME:
            return (ItemRefusal(Span(0, 0), f"the server takes a title of at most {MAX_NAME} characters"),)
        found = replace(found, title=title, summary=found.summary[:MAX_NAME])
        if len(json.dumps([title, found.summary, found.description, found.protocol]).encode()) > MAX_BYTES - 1024:
            return (ItemRefusal(Span(0, 0), f"the server takes an item of at most {MAX_BYTES // 1024} KiB; {_FOLDER}"),)
    return found


def _whole_job(job: Job) -> PublishedItem | tuple[ItemRefusal, ...]:
    if refusals := (*_schema_refusals(job), *_extended_refusals(job)):
        return refusals
    plain = job.plain
    names = tuple(one.name for one in job.prerequisites if one.type != "dockerimage")
    description = str(plain.get("description") or "")
    summary = description.strip().split("\n")[0]
    name = str(plain.get("name"))
    return PublishedItem(name, "template", summary, description, job.text, name, names)


def _extended_refusals(job: Job) -> Iterator[ItemRefusal]:
    """The forms of the extended protocol that its schema accepts, and the server's does not."""
    step = "; publish what 'pai-lsp expand' prints, or share the definitions of the job as a file of their own"
    for definition in job.prerequisites:
        if definition.type == "storage":
            yield ItemRefusal(definition.name_span, f"the server refuses a prerequisite of type 'storage'{step}")
        for requirement in definition.requirements:
            if isinstance(requirement.node, Mapping):
                yield ItemRefusal(requirement.reference.span, f"the server refuses 'require' with a mapping{step}")


def _schema_refusals(job: Job) -> Iterator[ItemRefusal]:
    for error in structure_errors(job.plain):
        yield ItemRefusal(nodes_along(job.content, error.path)[-1].span, f"the server refuses this: {error.message}")


class _Wrapping:
    """Makes a job of definitions: their text with its comments, and a task role that uses them."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.names = [definition.name for definition in job.definitions]
        self.notes: list[str] = []
        self.refusals: list[ItemRefusal] = []
        self.copies: dict[str, tuple[str, dict[str, Any]]] = {}

    def item(self) -> PublishedItem | tuple[ItemRefusal, ...]:
        """The item, or what the server would refuse."""
        first = self.job.definitions[0]
        edits = [edit for definition in self.job.definitions for edit in self._edits(definition)]
        if self.refusals:
            return tuple(self.refusals)
        lines = [line for text in _documents(apply_edits(self.job.text, edits)) for line in text]
        for name, copy in self.copies.values():
            lines += item_lines({"name": name, **copy})
        protocol = self._job_text(first.name, lines)
        if found := structure_errors(Job(parse(protocol)).plain):
            for error in found:
                number = next((one for one in error.path[1:2] if isinstance(one, int)), 0)
                part = self.job.definitions[min(number, len(self.job.definitions) - 1)].node
                where = nodes_along(part, error.path[2:])[-1].span
                self.refusals.append(ItemRefusal(where, f"the server refuses this: {error.message}; {_FOLDER}"))
            return tuple(dict.fromkeys(self.refusals))
        titled = _text(first, "title") or first.name
        header = header_of(first)
        names, notes = tuple(self.names), tuple(dict.fromkeys(self.notes))
        return PublishedItem(
            titled, "data", header.summary or titled, _text(first, "description"), protocol, first.name, names, notes
        )

    def _edits(self, definition: Definition) -> Iterator[TextEdit]:
        """What changes a definition into a form that the server takes."""
        name, kind = definition.name, definition.node.get("type")
        if kind is None:
            yield insert_entry(self.job.text, definition.node, "type: script", definition.node.own("name"))
            self.notes.append(f"'{name}' is published as 'type: script'; the server refuses it without a type")
        elif definition.type == "storage":
            yield TextEdit(kind.span, "data")
            if definition.extended_plugin not in STORAGE_PLUGINS:
                line = f"plugin: {STORAGE_PLUGINS[0]}"
                yield insert_entry(self.job.text, definition.node, line, definition.node.own("type"))
            self.notes.append(f"'{name}' is published as 'type: data'; the server refuses 'type: storage'")
        for requirement in definition.requirements:
            if isinstance(requirement.node, Mapping):
                wanted = self._without_mapping(definition, requirement)
                if wanted is not None:
                    yield TextEdit(requirement.node.span, scalar_line(wanted))

    def _without_mapping(self, definition: Definition, requirement: Requirement) -> str | None:
        """The name to require in place of a mapping; None, and a refusal, where there is none."""
        values, name = requirement.values(), requirement.reference.name
        if not values:
            return name
        declared = {variable.name for variable in definition.template_variables}
        written = json.dumps(values, default=str)
        refused = "the server refuses 'require' with a mapping"
        if any(one.name in declared for one in variables(written)):
            message = f"{refused}, and these values depend on variables of '{definition.name}'; {_FOLDER}"
            self.refusals.append(ItemRefusal(requirement.reference.span, message))
            return None
        key = f"{name} {written}"
        if key in self.copies:
            return self.copies[key][0]
        found = self._required(name)
        if len(found) != 1:
            message = f"{refused}, and '{name}' is not found, which could be published with its values; {_FOLDER}"
            self.refusals.append(ItemRefusal(requirement.reference.span, message))
            return None
        copied = free_prerequisite_name(f"{found[0].name}_filled", set(self.names))
        self.names.append(copied)
        self.notes.append(f"'{name}' with its values is published as '{copied}'; {refused}")
        self.copies[key] = copied, {}  # a cycle ends here
        self.copies[key] = copied, self._copy(found[0], values)
        return copied

    def _required(self, name: str) -> tuple[Definition, ...]:
        own = tuple(one for one in self.job.definitions if one.name == name)
        if own or (not looks_like_address(name) and name in self.names):
            return own
        answer = self.job.lookup.find(name if looks_like_address(name) else BY_NAME + name)
        return answer.definitions if answer.state is LookupState.FOUND else ()

    def _copy(self, definition: Definition, values: dict[str, Any]) -> dict[str, Any]:
        """A definition without its name, its variables filled."""
        plain = filled(plain_value(definition.node), values)
        copy = {key: value for key, value in plain.items() if key not in {"name", "template_variables", "require"}}
        if (kind := copy.get("type")) in {None, "storage"}:
            copy["type"] = "data" if kind else "script"
            if kind and definition.extended_plugin not in STORAGE_PLUGINS:
                copy["plugin"] = STORAGE_PLUGINS[0]
        required = []
        for requirement in definition.requirements:
            name: str | None = requirement.reference.name
            if isinstance(requirement.node, Mapping):
                name = self._without_mapping(definition, requirement)
            required += [name] if name else []
        return {**copy, "require": required} if required else copy

    def _job_text(self, name: str, lines: list[str]) -> str:
        usable = [one for one in self.job.definitions if not one.template_variables and one.type != "dockerimage"]
        image = next((one.name for one in self.job.definitions if one.type == "dockerimage"), "")
        if not image:
            image = free_prerequisite_name("default_image", set(self.names))
            lines += [f"- name: {image}", "  type: dockerimage", f"  uri: {_IMAGE}"]
        names = ", ".join(one.name for one in usable)
        return "\n".join(
            [
                "protocolVersion: 2",
                f"name: {scalar_line(name)}",
                "type: job",
                "prerequisites:",
                *indented(lines, "  "),
                "taskRoles:",
                "  taskrole:",
                "    instances: 1",
                f"    dockerImage: {scalar_line(image)}",
                *([f"    prerequisites: [{names}]"] if names else []),
                "    resourcePerInstance: {cpu: 1, memoryMB: 2048, gpu: 0}",
                "    commands:",
                *(f"      - {scalar_line(_command(one))}" for one in usable or self.job.definitions[:1]),
                "",
            ]
        )


def _command(definition: Definition) -> str:
    where = _text(definition, "pathForUser") if not definition.template_variables else ""
    return f"ls -l {where}" if where else f"echo {definition.name}"


def _documents(text: str) -> Iterator[list[str]]:
    """The lines of each document of definitions, as items of a list, with the comments before and in it."""
    at = 0
    for node in parse(text).documents:
        if node is None:
            continue
        start, end = node.span.start, node.span.end
        before = [line.strip() for line in text[at:start].splitlines() if line.lstrip().startswith("#")]
        margin = column(text, start)
        at = next_line(text, end - 1)
        # A list's lines begin with its own dash.
        body = (" " * margin + text[start:at]).splitlines()
        body = [line[margin:] if not line[:margin].strip() else line for line in body]
        while body and not body[-1].strip():
            body.pop()
        if isinstance(node, Sequence) and not node.is_flow:
            yield before + body
        elif isinstance(node, Sequence):
            yield before + [line for item in node.items for line in item_lines(plain_value(item))]
        else:
            yield [*before, f"- {body[0]}", *indented(body[1:], "  ")]


def _text(definition: Definition, key: str) -> str:
    node = definition.node.get(key)
    return node.text.strip() if isinstance(node, Scalar) else ""
