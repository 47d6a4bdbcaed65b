"""Well-known programs in commands: their options, their subcommands, and the variables that NCCL reads.

The facts are in `schemas/programs.json`, each entry with its source. The table is read when a command line of such a
program is met for the first time.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pai_lsp.embedded.command_lines import Program
from pai_lsp.platform.tables import table


@cache
def programs_table() -> dict[str, Any]:
    """The whole table."""
    found: dict[str, Any] = table("programs.json")
    return found


@cache
def program(name: str) -> Program | None:
    """The options of a program, or of a subcommand such as `pip install`; None where they are not known."""
    entry = programs_table()["programs"].get(name)
    if entry is None:
        return None
    options = {one: (tuple(names.split()), takes) for names, takes in entry["options"].items() for one in names.split()}
    return Program(entry["style"], entry["rest"], options, entry.get("partial", False))


@cache
def subcommands(name: str) -> tuple[str, ...]:
    """The subcommands of a program; empty where they are not known."""
    return tuple(programs_table()["commands"].get(name, {}).get("names", ()))


@cache
def nccl_variables() -> frozenset[str]:
    """The variables that NCCL, or PyTorch for it, reads."""
    return frozenset(programs_table()["nccl"]["names"])
