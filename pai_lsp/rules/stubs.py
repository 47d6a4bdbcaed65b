"""Fixes that create what a name stands for: a first prerequisite or deployment, which the author then fills."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pai_lsp.definition import CMD_PLUGIN
from pai_lsp.diagnostic import Fix
from pai_lsp.nodes import Sequence
from pai_lsp.rules.value_edits import append_value, insert_values
from pai_lsp.schema import field

if TYPE_CHECKING:
    from pai_lsp.job import Job

# The rest-server's pattern of names (config/v2/protocol.js).
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,255}")


def prerequisite_stub(job: Job, kind: str, name: str) -> tuple[Fix, ...]:
    """Create a prerequisite with an address, as the fields `dockerImage`, `data`, `script` and `output` take it."""
    documented = field(("prerequisites", 0, "uri"), prerequisite_type=kind)
    value: dict[str, Any] = {"type": kind, "name": name}
    if kind != "output" and documented and documented.examples:
        value["uri"] = documented.examples[0]
    return _created(job, kind, name, value)


def callback_stub(job: Job, name: str) -> tuple[Fix, ...]:
    """Create a prerequisite that runs commands, as a task role's `prerequisites` takes it."""
    callbacks = [{"event": "taskStarts", "commands": [f"echo {name}"]}]
    value = {"type": "script", "name": name, "plugin": CMD_PLUGIN, "callbacks": callbacks}
    return _created(job, "script", name, value)


def _created(job: Job, kind: str, name: str, value: dict[str, Any]) -> tuple[Fix, ...]:
    if not _NAME.fullmatch(name) or job.root is None or not job.root.entries:
        return ()
    title = f"Create the {kind} prerequisite '{name}'"
    entry = job.section("prerequisites")
    if entry is None:
        return (Fix(title, (insert_values(job.text, job.root, {"prerequisites": [value]}),)),)
    if not isinstance(entry.value, Sequence) or entry not in job.root.entries:
        return ()
    return (Fix(title, (append_value(job.text, entry.value, value),)),)
