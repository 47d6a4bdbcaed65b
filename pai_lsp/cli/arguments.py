"""Makes the parsers of subcommands from their table, schemas/command_line.json.

They are apart from the code that runs a subcommand, so that --help and completion in a shell import none of it.
"""

from __future__ import annotations

import argparse
import os
from functools import partial

from pai_lsp.cli.report import FORMATS
from pai_lsp.findings.diagnostic import SEVERITIES
from pai_lsp.platform.platforms import ALL_NAMES, NAMES
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_CHOICES = {
    "report formats": FORMATS,
    "severities": list(SEVERITIES),
    "platforms": ALL_NAMES,
    "platforms without versions": NAMES,
}


def describe(parser: argparse.ArgumentParser, entry: dict[str, Any], shared: dict[str, dict[str, Any]]) -> None:
    """Give a parser what its entry in the table has: description, arguments, actions such as `list`, and epilog."""
    if "description" in entry:
        parser.description = "\n".join(entry["description"])
    if "epilog" in entry:
        parser.epilog = "\n".join(entry["epilog"])
    alternatives: dict[str, Any] = {}
    for names, found in entry.get("arguments", {}).items():
        options = dict(shared[found] if isinstance(found, str) else found)
        place = parser
        if group := options.pop("one of", ""):
            place = alternatives.get(group) or alternatives.setdefault(group, parser.add_mutually_exclusive_group())
        if reason := options.pop("reason", ""):
            parser.set_defaults(one_file=reason)
            options["type"] = partial(_one_file, reason)
        elif "type" in options:
            options["type"] = _TYPES[options["type"]]
        if isinstance(options.get("choices"), str):
            options["choices"] = _CHOICES[options["choices"]]
            options["help"] = options["help"].replace("{choices}", ", ".join(options["choices"]))
        if names.startswith("-") and options.keys().isdisjoint({"type", "metavar", "choices"}):
            options["action"] = "store_true"
        place.add_argument(*names.split(), **options)
    if "actions" in entry:
        parts = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
        for name, action in entry["actions"].items():
            summary = action["summary"]
            describe(parts.add_parser(name, help=summary, description=summary, allow_abbrev=False), action, shared)


def path(text: str) -> str:
    """A path. An empty one would mean the current folder, and is a mistake: `--fix "$UNSET"`.

    Raises:
        argparse.ArgumentTypeError: if it is empty.
    """
    if not text:
        raise argparse.ArgumentTypeError("the path is empty; is a variable of the shell not set?")
    return text


def _one_file(reason: str, text: str) -> str:
    """The job of a command that takes only one file, for a reason that its messages give."""
    if os.path.isdir(path(text)):
        raise argparse.ArgumentTypeError(f"'{text}' is a folder; {reason}")
    return text


def address(text: str) -> tuple[str, int]:
    """A host and a port; `[::1]:2087` for an IPv6 address.

    Raises:
        argparse.ArgumentTypeError: for anything else.
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is not HOST:PORT with a port up to 65535")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _process_count(text: str) -> int:
    """A number of processes, at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of processes, such as 4")
    return int(text)


def seconds(text: str) -> float:
    """A time that a thread can wait.

    Raises:
        argparse.ArgumentTypeError: for anything else.
    """
    from threading import TIMEOUT_MAX  # noqa: PLC0415 - few commands wait

    try:
        found = float(text)
    except ValueError:
        found = 0
    if not 0 < found < TIMEOUT_MAX:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds, such as 90")
    return found


_TYPES = {"path": path, "int": int, "address": address, "process count": _process_count, "seconds": seconds}
