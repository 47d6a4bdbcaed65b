"""What a released cluster runs when a job is submitted as it is: scripts before and after, and the command, by role.

The rest-server renders the commands, the runtime writes the scripts of the `cmd` plugin; both read the file in their
own way, and extended features are ignored as they ignore them. Only what ends the task is reported. References to
secrets stay as they are written unless the caller asks for their values.

The runtime reads the job with PyYAML, from a text in which the rest-server has masked the secrets. The secrets arrive
separately, see pai_lsp/platform/secrets_section.py.

In a job with secrets, the runtime renders the commands a second time: the rest-server leaves references to secrets as
they are, and pystache reads the whole script again with nothing but `$secrets`. It writes secrets as HTML, and every
other tag that is left becomes empty. Sections and changed marks can only come in with a parameter's value.

The runtime fills `<% $… %>` in the written text of all parameters of a plugin; what the plugins make of them is in
pai_lsp/expansion/plugin_scripts.py.

Sources: rest-server, src/middlewares/v2/protocol.js, src/utils/protocolSecret.js (mask); openpai-runtime,
src/init.d/initializer.py (replace_ref), user_command_renderer.py, src/common/utils.py (render_string_with_secrets);
pystache 0.5.4, parser.py, context.py.
"""

from __future__ import annotations

from functools import partial

from pai_lsp.embedded.server_rendering import member, rendered, trim
from pai_lsp.embedded.template import CLOSING, MISSING, OPENING, TemplateFault
from pai_lsp.expansion.plugin_scripts import plugin_scripts
from pai_lsp.job.plugin_parameters import NOT_PARAMETERS, runtime_round_trip
from pai_lsp.platform.secrets_section import masked_span, runtime_secrets
from pai_lsp.platform.tables import PLUGIN_PREFIX, ROLE_TYPES, RUNTIME_PLUGIN, converted_role_name
from pai_lsp.source.foreign import as_mapping, number_of
from pai_lsp.source.frozen import dataclass, field
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.syntax import parse
from pai_lsp.source.tags import runtime_value
from pai_lsp.source.text import Span, TextEdit, apply_edits
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole


class RuntimeStopError(Exception):
    """An error that ends the init container, and with it the task; the message is for the user."""


@dataclass(frozen=True, slots=True)
class RuntimeJob:
    """What the runtime knows: the job, and its secrets (None without any)."""

    values: dict[Any, Any]
    secrets: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class RuntimeRole:
    """A task role in the runtime; `name` is the name that the rest-server has converted from the role's own."""

    job: RuntimeJob
    name: str
    values: dict[Any, Any]


def runtime_job(job: Job) -> RuntimeJob:
    """The job as the runtime reads it.

    Raises:
        RuntimeStopError: if PyYAML cannot read the text.
    """
    root = job.syntax.root
    masked = masked_text(job.text)
    if masked != job.text:
        syntax = parse(masked, job.syntax.reader)
        if syntax.problems:
            raise RuntimeStopError("the runtime cannot read the job once the rest-server has masked its secrets")
        root = syntax.root
    try:
        values = runtime_value(root)
    except ValueError:
        raise RuntimeStopError("the runtime's YAML reader fails on a value of the job") from None
    if not isinstance(values, dict):
        raise RuntimeStopError("the runtime finds no job in the text")
    secrets = as_mapping(as_mapping(job.plain).get("secrets"))
    try:
        return RuntimeJob(values, runtime_secrets(secrets, job.platform.reader) if secrets else None)
    except ValueError:
        raise RuntimeStopError(
            "the runtime's YAML reader fails on the secrets as the rest-server writes them"
        ) from None


def runtime_role(job: RuntimeJob, name: str) -> RuntimeRole:
    """The role of that name, which the runtime looks up by its converted name.

    Raises:
        RuntimeStopError: if it does not find the role.
    """
    converted = converted_role_name(name)
    values = as_mapping(job.values.get("taskRoles")).get(converted)
    if not isinstance(values, dict):
        raise RuntimeStopError(f"the runtime looks for the task role under '{converted}', and does not find it")
    return RuntimeRole(job, converted, values)


def masked_text(text: str) -> str:
    """The job's text as the rest-server stores it."""
    span = masked_span(text)
    if not len(span):
        return text
    following = text[span.end :]
    return text[: span.start] + 'secrets: "******"' + (f"\n{following}" if following else "")


_KINDS = frozenset("!>&/#^")
_INDEX = lazy_pattern(r"\[(\d+)\]")
_LINE_ENDS = ("", "\r", "\n")
# pystache calls itself a few times for each open section, and Python ends that at about this depth.
_DEEPEST = 300


def after_runtime(text: str, secrets: dict[str, Any] | None, *, shows_secrets: bool) -> str:
    """The commands as the runtime writes them into its script.

    secrets: as the runtime reads them; without any, the text does not change.
    shows_secrets: whether secrets are filled in, as the runtime does it. Without, what depends on a secret stays as it
        is written, and all other tags are emptied.

    Raises:
        RuntimeStopError: if the runtime cannot parse the text.
    """
    if not secrets or OPENING not in text:
        return text
    values = {"$secrets": {key: _by_position(value) for key, value in secrets.items()}}
    return "".join(_rendered(_parsed(text), text, [values], shows_secrets=shows_secrets))


def _by_position(value: Any) -> Any:
    """A list becomes a mapping of its positions; a list inside a list stays a list, into which no path leads."""
    if isinstance(value, list):
        return {str(number): item for number, item in enumerate(value)}
    return {key: _by_position(one) for key, one in value.items()} if isinstance(value, dict) else value


@dataclass(slots=True)
class _Tag:
    """A tag that writes a value, as HTML or as it is; or a section, whose `span` includes both of its tags.

    kind: nothing or `&` for a value; `#` or `^` for a section, of which `parts` is the content.
    """

    kind: str
    name: str
    span: Span
    parts: list[str | _Tag] = field(default_factory=list)


def _parsed(text: str) -> list[str | _Tag]:
    """The text in parts. If a section stays open, pystache loses everything in front of it.

    Raises:
        RuntimeStopError: for a section that ends before it begins, and for delimiters that are not two words.
    """
    marks = OPENING, CLOSING
    parts: list[str | _Tag] = []
    opened: list[tuple[_Tag, list[str | _Tag]]] = []
    at = 0
    while tag := _next_tag(text, at, *marks):
        start, end = tag.span.start, tag.span.end
        if tag.kind not in {"", "&"}:
            line_start = at + len(text[at:start].rstrip(" \t"))
            if text[line_start - 1 : line_start] in _LINE_ENDS and text[end : end + 1] in _LINE_ENDS:
                start = line_start
                end += text.startswith("\r", end)
                end += text.startswith("\n", end)
        parts.append(text[at:start])
        at = end
        if tag.kind in {"#", "^"}:
            opened.append((tag, parts))
            parts = tag.parts
            if len(opened) > _DEEPEST:
                raise RuntimeStopError("the runtime fails on the commands: sections are nested too deeply")
        elif tag.kind == "/":
            if not opened or opened[-1][0].name != tag.name:
                raise RuntimeStopError("the runtime fails on the commands: a section ends that has not begun")
            section, parts = opened.pop()
            section.span = Span(section.span.start, tag.span.end)
            parts.append(section)
        elif tag.kind == "=":
            words = tag.name.split()
            if len(words) < 2:
                raise RuntimeStopError("the runtime fails on the commands: a change of marks needs two of them")
            marks = words[0], words[1]
        elif tag.kind in {"", "&"}:
            parts.append(tag)
    for part in parts:
        if isinstance(part, _Tag) and not part.kind:
            # The runtime takes `[0]` for `.0` in names that are written as HTML outside of sections.
            part.name = _INDEX.sub(r".\1", part.name)
    return [*parts, text[at:]]


def _next_tag(text: str, at: int, opening: str, closing: str) -> _Tag | None:
    """The next closed tag; an open one ends the search."""
    start = text.find(opening, at)
    if start < 0:
        return None
    inner = _after_space(text, start + len(opening))
    kind = text[inner : inner + 1]
    if kind in {"=", "{"} and (end := text.find(closing, inner + 2)) >= 0:
        content = text[inner + 1 : end].rstrip()
        is_whole = content.endswith("=" if kind == "=" else "}") and "\n" not in (name := content[:-1].strip())
        if is_whole and name:
            return _Tag("&" if kind == "{" else kind, name, Span(start, end + len(closing)))
    kind = kind if kind in _KINDS else ""
    first = _after_space(text, inner + len(kind))
    end = text.find(closing, first + 1)
    name = text[first:end].rstrip()
    if end < 0:
        # The last tag may hold nothing but blanks, or nothing but its kind, which is a name then.
        end, name = text.find(closing, first), text[first - 1 : first]
        kind = kind if first > inner + 1 else ""
        if end <= start + len(opening):
            return None
    return _Tag(kind, name, Span(start, end + len(closing)))


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _rendered(parts: list[str | _Tag], text: str, stack: list[Any], *, shows_secrets: bool) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
            continue
        value = _found(part.name, stack)
        if isinstance(value, bytes):
            value = _decoded(value)
        if value is not MISSING and not shows_secrets:
            yield text[part.span.start : part.span.end]
            continue
        value = "" if value is MISSING else value
        if part.kind in {"", "&"}:
            from html import escape  # noqa: PLC0415 - only for a secret among commands

            yield str(value) if part.kind else escape(str(value))
        elif part.kind == "^":
            yield from () if value else _rendered(part.parts, text, stack, shows_secrets=shows_secrets)
        else:
            for item in value if isinstance(value, list) else [value] if value else []:
                yield from _rendered(part.parts, text, [*stack, item], shows_secrets=shows_secrets)


def _decoded(value: bytes) -> str:
    """What `!!binary` holds, as pystache writes it."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise RuntimeStopError("a secret that is used in the commands is not text: its bytes are not UTF-8") from None


def _found(name: str, stack: list[Any]) -> Any:
    """The value that pystache finds for a name, or `MISSING`; the first step is searched in all open sections."""
    if name == ".":
        return stack[-1]
    first, *steps = name.split(".")
    value = next((one[first] for one in reversed(stack) if isinstance(one, dict) and first in one), MISSING)
    for step in steps:
        value = value.get(step, MISSING) if isinstance(value, dict) else MISSING
    return value


_OPENING = lazy_pattern(r"<%\s*\$")
_SERVER_INDEX = lazy_pattern(r"\[\s*([0-9]+)\s*\]")
_INDEXES = lazy_pattern(r"([\s\S]*?)\[(\s*)([0-9]+)(\s*)\]")


def with_references_filled(text: str, role: RuntimeRole, *, shows_secrets: bool) -> str:
    """The text with its references replaced.

    shows_secrets: whether secrets are filled in too, as the runtime does it. Without, references to secrets stay as
        they are written.

    Raises:
        RuntimeStopError: if a reference finds nothing, or something that is not text.
    """
    edits: list[TextEdit] = []
    for reference in references(text):
        value = _value_at(reference.path, role)
        if value is not None and not isinstance(value, str):
            raise RuntimeStopError(
                f"'${reference.path}' is not text, and the runtime fills only text into plugin parameters"
            )
        if value is None or shows_secrets or not reference.names_secret:
            edits.append(TextEdit(reference.span, value or ""))
    return apply_edits(text, edits)


@dataclass(frozen=True, slots=True)
class RuntimeReference:
    """One `<% $… %>` of a text: its place, and its path without the `$`."""

    span: Span
    path: str

    @property
    def names_secret(self) -> bool:
        """Whether it refers to a secret."""
        return self.path.split(".")[0] == "secrets"

    @property
    def server_path(self) -> str:
        """The path as the rest-server looks it up in commands, with `$` and with indexes after dots."""
        return "$" + _SERVER_INDEX.sub(r".\1", self.path)

    @property
    def for_server(self) -> str:
        """The reference as the rest-server reads it in commands."""
        return f"<% {self.server_path} %>"


def references(text: str) -> Iterator[RuntimeReference]:
    """The references of a text that the runtime fills: from a `<% $` to the next `%>`, whatever is between them."""
    at = 0
    while (opening := _OPENING.search(text, at)) and (end := text.find(CLOSING, opening.end())) >= 0:
        at = end + len(CLOSING)
        path = _OPENING.sub("", text[opening.start() : end]).rstrip()
        yield RuntimeReference(Span(opening.start(), at), path)


def names_secret(text: str) -> bool:
    """Whether the text contains a reference to a secret."""
    return "secrets" in text and any(reference.names_secret for reference in references(text))


def _value_at(path: str, role: RuntimeRole) -> Any:
    root, *steps = path.split(".")
    try:
        value = _root(root, role)
        for step in steps:
            indexes = _INDEXES.findall(step)
            if not indexes:
                value = value[step]
            for name, _, index, _ in indexes:
                if name:
                    value = value[name]
                value = value[number_of(index)]
    except (LookupError, TypeError):
        raise RuntimeStopError(f"'${path}' finds nothing in the runtime") from None
    return value


def _root(name: str, role: RuntimeRole) -> Any:
    if name == "parameters":
        return role.job.values[name]
    if name == "secrets":
        return role.job.secrets
    if name in ROLE_TYPES:
        for prerequisite in role.job.values["prerequisites"]:
            if prerequisite["type"] == name and prerequisite["name"] == role.values[name]:
                return prerequisite
    raise LookupError(name)


@dataclass(frozen=True, slots=True)
class RoleRun:
    """What runs in each task of a role: one script for each plugin that has commands, in order, around the command.

    platform: the names of the other plugins, whose scripts only the platform knows; they run among the first scripts.
    """

    pre: tuple[str, ...]
    command: str
    post: tuple[str, ...]
    platform: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a role never starts: the rest-server fails to render it, or the task ends before its first command."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class ReleasedRun:
    """What runs, by task role in written order; a role that never starts is among the stops instead."""

    roles: dict[str, RoleRun]
    stops: tuple[Stop, ...] = ()


def released_run(job: Job, *, shows_secrets: bool = False) -> ReleasedRun:
    """What a released cluster runs for the job, which must have been read without syntax problems.

    shows_secrets: whether secrets are filled in as the runtime does it. The scripts hold their values then; the stops
        never do.
    """
    try:
        known = runtime_job(job)
    except RuntimeStopError as error:
        return ReleasedRun({}, (Stop(Span(0, 0), str(error)),))
    found = {role.name: _role_run(job, role, known, shows_secrets=shows_secrets) for role in job.task_roles}
    runs = {name: run for name, run in found.items() if isinstance(run, RoleRun)}
    return ReleasedRun(runs, tuple(stop for stop in found.values() if isinstance(stop, Stop)))


def command_source(job: Job, role: TaskRole) -> str:
    """The text that the rest-server renders for a role: each command trimmed, those of the deployment around them."""
    return "\n".join(trim(scalar.text) for scalar in job.command_parts(role))


def server_command(job: Job, role: TaskRole) -> str | TemplateFault:
    """The command of a role as the rest-server passes it on, or where it answers 500."""
    return rendered(command_source(job, role), server_values(job, role), job.platform.mustache)


def server_values(job: Job, role: TaskRole) -> dict[str, Any]:
    """What the tags of a role's commands may name, by root. A role without `data` looks for one named 'undefined'."""
    values: dict[str, Any] = {}
    if isinstance(parameters := job.plain.get("parameters"), dict):
        values["$parameters"] = parameters
    for kind in ROLE_TYPES:
        reference = role.typed_references.get(kind)
        name = reference.name if reference else "undefined"
        definition = job.find_typed(kind, name)
        value = plain_value(definition.node) if definition else member({}, name)
        if value is not MISSING:
            values[f"${kind}"] = value
    return values


def _role_run(job: Job, role: TaskRole, known: RuntimeJob, *, shows_secrets: bool) -> RoleRun | Stop:
    source = command_source(job, role)
    command = server_command(job, role)
    if isinstance(command, TemplateFault):
        text = job.command_text(role)
        is_same = text.text == source
        return Stop(text.span(command.span.start, command.span.end) if is_same else role.name_span, command.message)
    pre: list[str] = []
    post: list[str] = []
    platform: list[str] = []
    plugin: PluginRun | None = None
    try:
        runtime = runtime_role(known, role.name)
        for plugin in plugin_runs(runtime):
            scripts = _plugin_scripts(
                plugin, job, runtime, job.site_plugins.union(job.platform.plugins), shows_secrets=shows_secrets
            )
            if scripts is None:
                platform.append(str(plugin.name))
                continue
            pre += filter(None, scripts[:1])
            post += filter(None, scripts[1:])
        plugin = None
        command = after_runtime(command, known.secrets, shows_secrets=shows_secrets)
    except RuntimeStopError as error:
        return Stop(plugin.span(job, role) if plugin else role.name_span, str(error))
    return RoleRun(tuple(pre), command, tuple(reversed(post)), tuple(platform))


@dataclass(frozen=True, slots=True)
class PluginRun:
    """A plugin that the runtime prepares for a role; `number` counts in the list that names it."""

    name: Any
    failure_policy: Any
    parameters: Any
    number: int
    is_prerequisite: bool

    def span(self, job: Job, role: TaskRole) -> Span:
        """Where the job names it."""
        if self.is_prerequisite:
            references = role.prerequisites
            return references[self.number].span if self.number < len(references) else role.name_span
        return job.plugins[self.number].node.span if self.number < len(job.plugins) else role.name_span


def plugin_runs(role: RuntimeRole) -> Iterator[PluginRun]:
    """The plugins of a role in the order in which they are prepared.

    Raises:
        RuntimeStopError: if the runtime fails to collect them.
    """
    try:
        yield from _prerequisites(role)
        yield from _extras(role)
    except (LookupError, TypeError, AttributeError):
        raise RuntimeStopError("the runtime cannot collect the plugins of this task role") from None


def _prerequisites(role: RuntimeRole) -> Iterator[PluginRun]:
    job = role.job.values
    if "prerequisites" not in role.values or "prerequisites" not in job:
        return
    by_name = {definition["name"]: definition for definition in job["prerequisites"]}
    for number, name in enumerate(role.values["prerequisites"]):
        definition = by_name[name]
        if "plugin" in definition and definition["plugin"].startswith(RUNTIME_PLUGIN):
            parameters = {key: value for key, value in definition.items() if key not in NOT_PARAMETERS}
            plugin = definition["plugin"][len(PLUGIN_PREFIX) :]
            yield PluginRun(plugin, definition.get("failurePolicy", "fail"), parameters, number, is_prerequisite=True)


def _extras(role: RuntimeRole) -> Iterator[PluginRun]:
    job = role.job.values
    if "extras" not in job or RUNTIME_PLUGIN not in job["extras"]:
        return
    for number, entry in enumerate(job["extras"][RUNTIME_PLUGIN]):
        if "taskroles" in entry and role.name not in entry["taskroles"]:
            continue
        # An absent value is written as nothing, null as the word that Python has for it.
        parameters = entry["parameters"] if entry.get("parameters") is not None else str(entry.get("parameters", ""))
        yield PluginRun(entry["plugin"], entry.get("failurePolicy", "fail"), parameters, number, is_prerequisite=False)


def _plugin_scripts(
    plugin: PluginRun, job: Job, role: RuntimeRole, known: frozenset[str], *, shows_secrets: bool
) -> tuple[str, str] | None:
    """The script before and the one after that the plugin writes; None for plugins other than `cmd`.

    Raises:
        RuntimeStopError: if the task ends here.
    """
    parameters = passed_parameters(plugin.parameters, role, shows_secrets=shows_secrets)
    name = plugin_folder(str(plugin.name), known)
    if name is None:
        raise RuntimeStopError(f"the runtime has no plugin '{plugin.name}'")
    scripts = filled = plugin_scripts(job, name, parameters, plugin.failure_policy, role=role.name)
    if not shows_secrets and names_secret(str(plugin.parameters)):
        # A secret may change the structure of the parameters.
        with_secrets = passed_parameters(plugin.parameters, role, shows_secrets=True)
        filled = plugin_scripts(job, name, with_secrets, plugin.failure_policy, role=role.name)
    if filled.fails and plugin.failure_policy != "ignore":
        raise RuntimeStopError(f"the plugin '{name}' cannot read its parameters")
    return (scripts.pre, scripts.post) if name == "cmd" else None


def passed_parameters(parameters: Any, role: RuntimeRole, *, shows_secrets: bool) -> Any:
    """The parameters as the plugin gets them, with the references to secrets filled or left as they are.

    Raises:
        RuntimeStopError: if a reference or the runtime's parser fails.
    """
    written = str(parameters)
    fillers = [partial(with_references_filled, role=role, shows_secrets=True)]
    if not shows_secrets and names_secret(written):
        # A secret may break the text, so the filled text is parsed as well.
        fillers.append(partial(with_references_filled, role=role, shows_secrets=False))
    found = [runtime_round_trip(parameters, fill if OPENING in written else None) for fill in fillers]
    if any(isinstance(value, ValueError) for value in found):
        raise RuntimeStopError("the runtime's YAML reader fails on the plugin's parameters as it writes them")
    return found[-1]


def plugin_folder(name: str, known: Collection[str]) -> str | None:
    """The plugin whose folder the name finds: the runtime takes it for a path below the folder of all plugins."""
    place = ["plugins"]
    for part in name.split("/"):
        if part in {"", "."}:
            continue
        if part == "..":
            if not place:
                return None
            place.pop()
        elif (not place and part == "plugins") or (place == ["plugins"] and part in known):
            place.append(part)
        else:
            return None
    return place[1] if len(place) == 2 else None
