"""Giving a task role another name, everywhere the job speaks of it.

A role is named as a key of `taskRoles`, of deployments and of `extras.hivedScheduler`, in the `taskroles` of plugins,
inside environment variables (schemas/environment.json) and in host names, `role-0`. Any other mention in a command is
text of the author's program, which nobody but the author can judge.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pai_lsp.content import mapped
from pai_lsp.definition import name_span
from pai_lsp.frozen import dataclass
from pai_lsp.nodes import Scalar, Style, walk
from pai_lsp.platform import environment_variables
from pai_lsp.symbols import command_scalars, role_keys
from pai_lsp.text import TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job


@dataclass(frozen=True, slots=True)
class RoleRenaming:
    """The edits that rename a role; `is_complete` unless its old name stands elsewhere in a command as well."""

    edits: tuple[TextEdit, ...]
    is_complete: bool


def rename_role(job: Job, name: str, new_name: str) -> RoleRenaming:
    """Rename the task role `name`; the names as the rest-server reads them."""
    edits = {_key_edit(scalar, new_name) for scalar in _names(job, name)}
    is_complete = True
    mention = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])|_{re.escape(name)}(?![A-Za-z0-9])")
    for scalar in _commands(job, name):
        known = {match.span(match.lastindex or 0) for match in _known_mentions(name).finditer(scalar.text)}
        others = [match for match in mention.finditer(scalar.text) if not any(_holds(match, span) for span in known)]
        text = mapped(job.text, scalar)
        spans = {text.span(*span) for span in known}
        written = {span for span in spans if job.text[span.start : span.end] == name}
        edits |= {TextEdit(span, new_name) for span in written}
        is_complete = is_complete and not others and written == spans
    return RoleRenaming(tuple(sorted(edits)), is_complete)


def _holds(match: re.Match[str], span: tuple[int, int]) -> bool:
    return match.start() <= span[0] and span[1] <= match.end()


def _key_edit(scalar: Scalar, new_name: str) -> TextEdit:
    """The edit of a name in its own quotes; what YAML 1.1 takes for a boolean or null gets quotes."""
    if scalar.style is Style.PLAIN and Scalar(scalar.span, new_name).runtime_value != new_name:
        return TextEdit(scalar.span, f"'{new_name}'")
    return TextEdit(name_span(scalar), new_name)


def _names(job: Job, name: str) -> Iterator[Scalar]:
    """Where the role is named as such."""
    for entry in (*(role.entry for role in job.task_roles), *role_keys(job)):
        if entry.name == name and isinstance(entry.key, Scalar):
            yield entry.key
    for plugin in job.plugins:
        yield from (scalar for scalar in plugin.task_roles or () if scalar.text == name)


def _commands(job: Job, name: str) -> Iterator[Scalar]:
    """The commands and parameters that mention the name, each once."""
    nodes = [scalar for scalar, _ in command_scalars(job) if name in scalar.text]
    for entry in job.parameters.values():
        nodes += (node for node in walk(entry.value) if isinstance(node, Scalar) and name in node.text)
    yield from dict.fromkeys(nodes)


@lru_cache(maxsize=64)
def _known_mentions(name: str) -> re.Pattern[str]:
    """A role's name in a host name or in a variable of the platform, as the one group that takes part."""
    role = f"({re.escape(name)})"
    found = [rf"(?<![\w.-]){role}-(?=[0-9$])"]
    for variable in environment_variables():
        before, place, after = variable.name.partition("{role}")
        if place:
            literal, _, rest = after.partition("{")
            end = r"(?=[0-9$])" if rest else r"(?!\w)"
            found.append(rf"(?<!\w){before}{role}{literal}{end}")
    return re.compile("|".join(found))
