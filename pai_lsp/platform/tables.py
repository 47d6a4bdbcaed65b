"""OpenPAI itself as values: events, runtime plugins, environment variables and exit codes.

The facts are in the JSON tables of `schemas/`, each entry with its source.
"""

# ruff: noqa: PTH118, PTH120, PTH123 - importing pathlib takes a twentieth of the time that checking a file does
from __future__ import annotations

import json
import os
import re
from enum import Enum
from functools import cache
from types import MappingProxyType

from pai_lsp.source.foreign import number_of
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import free_name
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

# The key of `extras` that holds plugins; a prerequisite names one by this, a dot and the plugin's own name
# (openpai-runtime, src/init.d/initializer.py).
RUNTIME_PLUGIN = "com.microsoft.pai.runtimeplugin"
PLUGIN_PREFIX = f"{RUNTIME_PLUGIN}."
# The types of the prerequisites that a field of a task role names, besides its image.
ROLE_TYPES = ("data", "script", "output")
TYPES = (*ROLE_TYPES, "dockerimage")

# The rest-server's patterns of names (config/v2/protocol.js): prerequisites and deployments; task roles and ports.
PREREQUISITE_NAME = lazy_pattern(r"[a-zA-Z0-9_-]{1,255}")
ROLE_NAME = lazy_pattern(r"[a-zA-Z_][a-zA-Z0-9_]*")
_NOT_IN_NAME = lazy_pattern(r"[^a-zA-Z0-9_-]+")
# Leaves space for the number that makes a name unique.
_LONGEST_STEM = 249

_PLACE = lazy_pattern(r"@([A-Z_]+)@")
_EXIT_CODE = lazy_pattern(r"\s*[+-]?[0-9]{1,6}\s*")
_NOT_IN_CONVERTED_NAME = lazy_pattern("[^a-z0-9]")

# A role is matched in any spelling, so that a variable with the wrong one is distinguished from an unknown variable.
_PLACEHOLDERS = {
    "{role}": "(?P<role>[a-zA-Z0-9_]+?)",
    "{index}": "(?P<index>[0-9]+)",
    "{label}": "(?P<label>[a-zA-Z_][a-zA-Z0-9_]*)",
}


class Moment(Enum):
    """When commands run, as seen from the user's commands; the values are those of the table of events."""

    START = "before the commands"
    SUCCESS = "after the commands, when they succeeded"
    FAILURE = "after the commands, when they failed"
    EXIT = "after the commands, whether they succeeded or failed"


class EventForm(Enum):
    """What a released cluster can run at a moment; the values are those of the table of events."""

    CALLBACK = "callback"
    COMMANDS = "in the commands"


@dataclass(frozen=True, slots=True)
class Event:
    """When commands of a callback run.

    when: a sentence for people; `moment` is the same for programs.
    status: `released` (every cluster runs it), `extended` (needs expansion) or `superseded` (another spelling).
    released_form: what expansion makes of its commands.
    replacement: the event to write instead of a superseded one, else None.
    """

    name: str
    when: str
    status: str
    moment: Moment
    released_form: EventForm
    replacement: str | None
    source: str


@dataclass(frozen=True, slots=True)
class PluginParameter:
    """One key that a runtime plugin reads; `type` is JSON Schema's name of its type, or several with ` or ` between."""

    name: str
    type: str
    required: bool
    description: str


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin of the released runtime, by its short name (`cmd`)."""

    name: str
    title: str
    description: str
    deprecated: bool
    parameters: tuple[PluginParameter, ...]

    @property
    def full_name(self) -> str:
        """How a prerequisite names it."""
        return PLUGIN_PREFIX + self.name


@dataclass(frozen=True, slots=True)
class EnvironmentVariable:
    """An environment variable of the containers, or a family of them.

    name: as it is, or with the places `{role}`, `{index}` (of a task, from 0) and `{label}` (of a port).
    status: `current`; `legacy` (works, kept for old jobs); `deprecated`; `internal` (the platform's own business);
        `removed` (not there since 1.0).
    replacement: what to use instead, in the same form, or None.
    role_spelling: how `{role}` is spelt: `raw` (as in the job), `converted` (see `converted_role_name`), or None.
    available: `everywhere`, `task` (only in the commands' container), `init` (only in the platform's) or `nowhere`.
    extra: the key of `extras` that must be `true`, or the variable is not set; empty for none.
    """

    name: str
    description: str
    status: str
    replacement: str | None
    role_spelling: str | None
    available: str
    source: str
    extra: str = ""

    def match(self, name: str) -> Mapping[str, str] | None:
        """The `role`, `index` and `label` in `name` if it is of this family, in any spelling of the role; else None."""
        stem, brace, _ = self.name.partition("{")
        if not brace:
            return {} if name == stem else None
        found = _pattern(self.name).fullmatch(name) if name.startswith(stem) else None
        return None if found is None else found.groupdict()

    def places(self, name: str) -> Mapping[str, Span]:
        """The places of `role`, `index` and `label` in `name`; empty if it is another variable or has no such parts."""
        found = _pattern(self.name).fullmatch(name)
        return {key: Span(*found.span(key)) for key in found.groupdict()} if found else {}


@dataclass(frozen=True, slots=True)
class ExitPattern:
    """What the runtime recognizes an end by; all that is not None must hold.

    exit_code: of the user's commands. user_log, platform_log: regular expressions of Go, searched in the logs.
    """

    exit_code: int | None = None
    user_log: str | None = None
    platform_log: str | None = None


@dataclass(frozen=True, slots=True)
class ExitCode:
    """How a task can end.

    code: as the portal shows it; -8000 and 256 mean all codes that are not listed.
    phrase: the platform's name for it; empty when it is not known.
    cause: `user`, `platform`, `stop` (on request), `resources`, `unknown` or `success`.
    retry: `always` and `backoff` (whatever the retry counts say), `limited` (as often as they say) or `never`.
    hint: what to do about it; empty when there is nothing.
    trap: what is easily misunderstood about it; empty when there is nothing.
    patterns: one of them must match; the runtime takes the first code in ascending order that matches.
    """

    code: int
    phrase: str
    cause: str
    retry: str
    description: str
    hint: str
    trap: str
    patterns: tuple[ExitPattern, ...]
    source: str


@dataclass(frozen=True, slots=True)
class CommandCode:
    """What a program means by its exit code. hint: what to do about it; empty when there is nothing."""

    code: int
    description: str
    hint: str
    source: str


@cache
def events() -> Mapping[str, Event]:
    """All events by name, released ones first."""
    found: dict[str, Event] = {}
    for entry in table("events.json"):
        columns = {"moment": Moment(entry["moment"]), "released_form": EventForm(entry["released_form"])}
        found[entry["name"]] = Event(**entry | columns)
    return MappingProxyType(found)


def released_events() -> tuple[str, ...]:
    """The events that every cluster runs."""
    return tuple(event.name for event in events().values() if event.status == "released")


def moments_with(form: EventForm) -> tuple[Moment, ...]:
    """The moments at which a released cluster runs commands in a form, in their order."""
    found = {event.moment for event in events().values() if event.released_form is form}
    return tuple(moment for moment in Moment if moment in found)


def event_at(moment: Moment) -> str:
    """The event that names a moment: the released one, where there is one."""
    return next(event.name for event in events().values() if event.moment is moment and event.status != "superseded")


def plugins_in(entries: Mapping[str, Any]) -> Mapping[str, Plugin]:
    """The plugins of a table like schemas/plugins.json, by short name."""
    found: dict[str, Plugin] = {}
    for name, entry in entries.items():
        columns = {key: entry[key] for key in ("title", "description", "deprecated")}
        parameters = tuple(
            PluginParameter(key, _types(one), key in entry["required"], one["description"])
            for key, one in entry["parameters"].items()
        )
        found[name] = Plugin(name=name, parameters=parameters, **columns)
    return MappingProxyType(found)


def _types(parameter: Mapping[str, Any]) -> str:
    return parameter["type"] if isinstance(parameter["type"], str) else " or ".join(parameter["type"])


@cache
def exit_codes() -> Mapping[int, ExitCode]:
    """The exit codes of tasks, in ascending order."""
    found: dict[int, ExitCode] = {}
    for entry in table("exit_codes.json"):
        patterns = (ExitPattern(p.get("exitCode"), p.get("userLog"), p.get("platformLog")) for p in entry["patterns"])
        found[entry["code"]] = ExitCode(**entry | {"patterns": tuple(patterns)})
    return MappingProxyType(found)


@cache
def command_codes() -> Mapping[int, CommandCode]:
    """The exit codes that programs and bash give the same meaning, in ascending order; signals are in `exit_codes`."""
    return MappingProxyType({entry["code"]: CommandCode(**entry) for entry in table("command_codes.json")})


def as_exit_code(text: str) -> int | None:
    """The exit code that is all of a text, such as `-1203`; None for any other text."""
    return number_of(text) if _EXIT_CODE.fullmatch(text) else None


def converted_role_name(name: str) -> str:
    """A task role's name as the runtime and host names have it: lower case, only `a` to `z` and digits.

    Source: rest-server, src/utils/name.js, convertName.
    """
    lower = name.lower()
    return lower if lower.isascii() and lower.isalnum() else _NOT_IN_CONVERTED_NAME.sub("", lower)


def as_name(text: str, otherwise: str) -> str:
    """The text as the name of a job or a prerequisite; `otherwise` where no character of it can be in one."""
    return _NOT_IN_NAME.sub("-", text)[:_LONGEST_STEM].strip("-") or otherwise


def free_prerequisite_name(wanted: str, taken: Collection[str]) -> str:
    """A name that no prerequisite has yet, near to the wanted one."""
    return free_name(as_name(wanted, "prerequisite"), taken)


def table(name: str) -> Any:
    """One of the shipped JSON files, such as `job.schema.json`, read anew.

    Raises:
        OSError: if the installation is broken and the file is not there.
    """
    return json.loads(_shipped(name))


def shell_text(name: str, **values: str) -> str:
    """A script of schemas/shell with a value in place of each `@NAME@`.

    Raises:
        OSError: as `table`.
    """
    return _PLACE.sub(lambda place: values[place[1]], _shipped(os.path.join("shell", name)))


def page_text(name: str) -> str:
    """A page of docs/ that is shipped, in Markdown; `pyproject.toml` lists these.

    Raises:
        OSError: as `table`.
    """
    return _shipped(name, "docs")


def _shipped(name: str, beside: str = "schemas") -> str:
    package = os.path.dirname(os.path.dirname(__file__))
    # An installed package contains the folder; in a checkout it is beside the package.
    shipped = os.path.join(package, "schemas")
    folder = shipped if os.path.isdir(shipped) else os.path.join(os.path.dirname(package), beside)
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


@cache
def _pattern(name: str) -> re.Pattern[str]:
    for placeholder, pattern in _PLACEHOLDERS.items():
        name = name.replace(placeholder, pattern)
    return re.compile(name)
