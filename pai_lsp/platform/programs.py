"""Well-known programs in commands: their options, their subcommands, and the variables that NCCL reads.

The facts are in `schemas/programs.json`, each entry with its source. The table is read when a command line of such a
program is met for the first time.
"""

from __future__ import annotations

from functools import cache

from pai_lsp.embedded.command_lines import Program
from pai_lsp.platform.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pai_lsp.embedded.command_lines import CommandLine

_MODULES = {"accelerate.commands.launch": "accelerate launch"}
# Among so many words is a subcommand.
_MOST_WORDS = 3


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
    launch = {meaning: tuple(names) for meaning, names in entry.get("launch", {}).items()}
    return Program(entry["style"], entry["rest"], options, entry.get("partial", False), launch)


def program_of(line: CommandLine) -> tuple[str, int] | None:
    """The name in the table of what a command line runs, and the number of words before its arguments.

    A subcommand may come after options: `pip -q install`.
    """
    known, name = programs_table()["programs"], _MODULES.get(line.program, line.program)
    if name in known:
        return name, 0
    for number, word in enumerate(line.arguments[:_MOST_WORDS] if name in _with_subcommands() else ()):
        if word.is_literal and f"{name} {word.text}" in known:
            return f"{name} {word.text}", number + 1
    return None


@cache
def _with_subcommands() -> frozenset[str]:
    return frozenset(name.partition(" ")[0] for name in programs_table()["programs"] if " " in name)


@cache
def option_help(name: str) -> Mapping[str, str]:
    """What options of a program do, by their first names in the table."""
    found: dict[str, str] = table("program_help.json")["programs"].get(name, {})
    return found


def nccl_help() -> Mapping[str, str]:
    """What variables of NCCL do."""
    found: dict[str, str] = table("program_help.json")["nccl"]
    return found


@cache
def subcommands(name: str) -> tuple[str, ...]:
    """The subcommands of a program; empty where they are not known."""
    return tuple(programs_table()["commands"].get(name, {}).get("names", ()))


@cache
def nccl_variables() -> frozenset[str]:
    """The variables that NCCL, or PyTorch for it, reads."""
    return frozenset(programs_table()["nccl"]["names"])
