"""The scripts that the runtime's `cmd` plugin writes from its parameters: one before and one after the user's command.

The plugin does not check its parameters: a string in place of a list gives one character per line, and an item that is
not text ends the plugin. Before that, the runtime fills `<% $… %>` in the written text of all parameters.

Sources: openpai-runtime, src/plugins/cmd/init.py; src/plugins/plugin_utils.py, inject_commands;
src/init.d/initializer.py, replace_ref.
"""

from __future__ import annotations

from pai_lsp.embedded.template import CLOSING
from pai_lsp.expansion.as_is.runtime_reading import RuntimeStopError
from pai_lsp.platform.tables import ROLE_TYPES
from pai_lsp.source.frozen import dataclass, field
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pai_lsp.expansion.as_is.runtime_reading import RuntimeRole


@dataclass(slots=True)
class CmdScripts:
    """The two scripts, empty if there is nothing to run, and whether the plugin failed after it wrote them."""

    pre: str = ""
    post: str = ""
    fails: bool = field(default=False)


def cmd_scripts(parameters: Any, failure_policy: Any = "fail") -> CmdScripts:
    """The scripts for the parameters as the plugin gets them, after the runtime's round trip."""
    scripts = CmdScripts()
    if not parameters:
        return scripts
    try:
        _write(parameters, failure_policy, scripts)
    except (TypeError, LookupError, AttributeError):
        # Any exception for a value of a wrong type ends the plugin's process in the same way.
        scripts.fails = True
    return scripts


def _write(parameters: Any, failure_policy: Any, scripts: CmdScripts) -> None:
    if "callbacks" in parameters:
        if "preCommands" in parameters or "postCommands" in parameters:
            raise LookupError
        pre: list[Any] = []
        post: list[Any] = []
        for callback in parameters["callbacks"]:
            if callback["event"] == "taskStarts":
                pre.extend(callback["commands"])
            elif callback["event"] == "taskSucceeds":
                post.extend(callback["commands"])
        scripts.pre = _script(pre, failure_policy)
        scripts.post = _script(post, failure_policy)
        return
    if "preCommands" in parameters:
        scripts.pre = _script(parameters["preCommands"], failure_policy)
    if "postCommands" in parameters:
        scripts.post = _script(parameters["postCommands"], failure_policy)


def _script(commands: Any, failure_policy: Any) -> str:
    if not commands:
        return ""
    body = "".join([command + "\n" for command in commands])
    if failure_policy.lower() == "ignore":
        return f"set +o errexit\n{body}set -o errexit\n"
    return f"set -o errexit\n{body}"


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
    parts: list[str] = []
    at = 0
    for reference in references(text):
        value = _found(reference.path, role)
        if value is not None and not isinstance(value, str):
            raise RuntimeStopError(
                f"'${reference.path}' is not text, and the runtime fills only text into plugin parameters"
            )
        parts.append(text[at : reference.span.start])
        at = reference.span.end
        is_left = value is not None and reference.names_secret and not shows_secrets
        parts.append(text[reference.span.start : at] if is_left else value or "")
    return "".join([*parts, text[at:]])


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


def _found(path: str, role: RuntimeRole) -> Any:
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
                value = value[int(index)]
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
