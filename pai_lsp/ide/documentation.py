"""Markdown for people: a key of the schema, a definition, an event, a variable, a rule; for completion and hover."""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import TYPE_CHECKING

from pai_lsp.job.definition import scalars
from pai_lsp.platform.programs import option_help
from pai_lsp.platform.tables import EventForm, event_at
from pai_lsp.rules.record import facts
from pai_lsp.source.nodes import items_of, scalar_text, value_at
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.writing import entry_lines, flow_value, value_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.findings.diagnostic import Rule
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.lookup import SuggestedDefinition
    from pai_lsp.platform.job_schema import Field
    from pai_lsp.platform.programs import KnownLine
    from pai_lsp.platform.tables import EnvironmentVariable, Event, ExitCode, Plugin


_ENFORCED = {
    "rest-server": "checked by the rest-server when the job is submitted",
    "runtime": "read by the runtime when the container starts",
    "portal": "checked by the web portal only",
    "api-server": "checked by the Kubernetes API server",
    "operator": "checked by the MPI operator; after a refusal nothing starts",
    "expansion": "part of the extended protocol: expand the job for a released cluster",
}
_MOST_COMMANDS = 12


# What makes an image, a link or an HTML element of Markdown's text: GitHub Flavored Markdown, sections 6.4 to 6.10, and
# 4.7. A client may load an image when it shows it, which shows its owner who reads.
_LINKS = lazy_pattern(r"(!(?=\[)|\](?=[(\[:])|<(?=[A-Za-z/!?]))")
_FENCES = lazy_pattern(r"`{3,}|~{3,}")
_BACKQUOTES = lazy_pattern(r"`+")


def prose(text: str) -> str:
    """Text of somebody else as Markdown: no image, link, HTML element or block of code begins in it."""
    return _FENCES.sub(lambda fence: fence[0][:2], _LINKS.sub(r"\1 ", text))


def code(text: str) -> str:
    """A text of one line as Markdown's code, whatever it holds."""
    text = " ".join(text.splitlines())
    mark = "`" * _free(text, 1)
    return f"{mark} {text} {mark}" if "`" in text else f"{mark}{text}{mark}"


def block(language: str, text: str) -> str:
    """A text as Markdown's block of code, whatever it holds."""
    mark = "`" * _free(text, 3)
    return f"{mark}{language}\n{text}\n{mark}"


def _free(text: str, least: int) -> int:
    """How many backquotes in a row, at least `least`, are nowhere in a text."""
    return max(least, 1 + max((len(run[0]) for run in _BACKQUOTES.finditer(text)), default=0))


def paragraphs(*texts: str) -> str:
    """The texts that are not empty, with a blank line between them."""
    return "\n\n".join(filter(None, texts))


def field_documentation(field: Field) -> str:
    """What a key means, its type and default, and who looks at it."""
    default = f"default `{field.default}`" if field.default is not None else ""
    facts = filter(None, (field.type, "required" if field.required else "", default))
    lines = [f"**{field.title}** ({', '.join(facts)})", field.description]
    if len(field.values) > 1:
        lines.append("One of " + ", ".join(f"`{value}`" for value in field.values) + ".")
    elif field.examples and not field.values:
        lines.append(_examples(field))
    if enforced := _ENFORCED.get(field.enforced_by):
        lines.append(f"_{enforced[0].upper()}{enforced[1:]}._")
    return paragraphs(*lines)


def _examples(field: Field) -> str:
    """The examples of a key as YAML: short values in a sentence, the first list or mapping as a block with the key."""
    longer = next((one for one in field.examples if isinstance(one, (dict, list))), None)
    if longer is None:
        return "For example " + ", ".join(f"`{flow_value(example)}`" for example in field.examples) + "."
    lines = entry_lines(field.key, longer) if isinstance(field.key, str) else value_lines(longer)
    return "\n".join(["For example:", "```yaml", *lines, "```"])


def definition_documentation(definition: Definition, where: str = "") -> str:
    """What a definition is and runs; commands as written, so templates and secrets stay templates."""
    kind = definition.type or "prerequisite"
    lines = [f"**{prose(definition.name)}** ({prose(kind)}{', ' + where if where else ''})"]
    if description := scalar_text(definition.node.get("description")):
        lines.append(prose(description.strip()))
    uri = definition.node.get("uri")
    lines += map(code, filter(None, (scalar_text(uri), *(one.text for one in scalars(uri)))))
    if requirements := [requirement.reference.name for requirement in definition.requirements]:
        lines.append("requires " + ", ".join(map(code, requirements)))
    if path := scalar_text(definition.node.get("pathForUser")):
        lines.append(f"content at {code(path)}")
    if storages := list(_storages(definition)):
        lines.append("needs the storage " + ", ".join(storages))
    if variables := [variable.name for variable in definition.template_variables]:
        lines.append("to fill: " + ", ".join(map(code, variables)))
    for callback in definition.callbacks:
        commands = "\n".join(command.text.rstrip("\n") for command in callback.commands[:_MOST_COMMANDS])
        more = "\n…" if len(callback.commands) > _MOST_COMMANDS else ""
        lines.append(f"{prose(callback.event_name or 'commands')}:\n{block('sh', commands + more)}")
    return "\n\n".join(lines)


def _storages(definition: Definition) -> Iterator[str]:
    """The storages that it needs, with their mount paths. Source of the default path: docs/protocol.md."""
    for item in items_of(definition.node.get("requireStorages")):
        if name := scalar_text(value_at(item, "name")):
            yield f"{code(name)} at {code(scalar_text(value_at(item, 'mountPath')) or f'/mnt/{name}')}"


def offer_documentation(offer: SuggestedDefinition) -> str:
    """What a catalog knows of a definition without reading it."""
    title = f"**{prose(offer.title)}** (item of the marketplace)" if offer.title else ""
    name = f"**{prose(offer.name)}** ({prose(offer.type or 'prerequisite')}, marketplace)"
    to_fill = f"to fill: {', '.join(map(code, offer.variables))}" if offer.variables else ""
    return paragraphs(title, name, prose(offer.summary), to_fill)


def event_documentation(event: Event) -> str:
    """When an event's commands run, and what a released cluster makes of it."""
    note = f"Outdated; write `{event.replacement}` instead." if event.replacement else ""
    if not note and event.status == "extended":
        is_callback = event.released_form is EventForm.CALLBACK
        form = (
            f"a callback for `{event_at(event.moment)}`" if is_callback else "moved into the commands of the task role"
        )
        note = f"_Part of the extended protocol_; when expanded: {form}."
    return paragraphs(f"**{event.name}**", event.when, note)


def plugin_documentation(plugin: Plugin) -> str:
    """What a runtime plugin does, and its parameters."""
    rows = (
        f"* `{one.name}` ({one.type}{', required' if one.required else ''}): {one.description}"
        for one in plugin.parameters
    )
    return paragraphs(f"**{plugin.title}**", plugin.description, "\n".join(rows))


def variable_documentation(variable: EnvironmentVariable, name: str, value: str = "") -> str:
    """What an environment variable holds; `value` where it is known before the job runs."""
    title = f"**{name}**" + (f" = {code(value)}" if value else "")
    instead = f"; use `{variable.replacement}`" if variable.replacement else ""
    is_old = variable.status in {"deprecated", "legacy", "removed"}
    return paragraphs(title, variable.description, f"_{variable.status}{instead}_" if is_old else "")


def option_documentation(line: KnownLine, name: str) -> str:
    """What an option of a known program means; `name` is its first name in the table."""
    names, takes = line.program.options[name]
    value = {0: "no value", 1: "with a value", "?": "with or without a value"}.get(takes, "with values")
    also = ", ".join(f"`{one}`" for one in names if one != name)
    only = f", only in {line.program.only[names[0]]}" if names[0] in line.program.only else ""
    facts = f"_option of {line.name}{only}, {value}{'; also ' + also if also else ''}_"
    return paragraphs(f"**{name}**", option_help(line.name).get(name, ""), facts)


def exit_code_documentation(code: int, known: ExitCode | None) -> str:
    """What the platform makes of a command's exit code.

    Source: openpai-runtime, exithandler: a code without a pattern of its own is reported as 255.
    """
    if known is None:
        return f"**exit {code}**: reported as 255; the portal shows {code} as the code of your command"
    return paragraphs(f"**exit {code}** ({known.phrase})", known.description, known.hint, known.trap)


def rule_page(rule: Rule) -> str:
    """The code as title, the usual severity, the documentation with its examples as YAML, its record, its address."""
    body = "\n\n".join((*_blocks(rule.documentation), "\n".join(f"* {fact}" for fact in facts(rule))))
    page = f"\n[{rule.url}]({rule.url})\n" if rule.url else ""
    return f"# {rule.code}\n\n*{rule.severity.label}*\n\n{body}\n{page}"


def _blocks(documentation: str) -> Iterator[str]:
    """The paragraphs; one that is indented is an example."""
    for is_example, found in groupby(documentation.split("\n\n"), lambda block: block.startswith("    ")):
        if is_example:
            yield "```yaml\n" + textwrap.dedent("\n\n".join(found)).strip("\n") + "\n```"
        else:
            yield from found
