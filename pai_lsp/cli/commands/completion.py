"""`pai-lsp completion`: prints a script that lets a shell complete the command line, and answers that shell.

The shell code is argcomplete's: at a TAB it runs `pai-lsp` with `_ARGCOMPLETE` in the environment, and `complete`
answers from the parsers.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Values that only the user knows, by their names in the help. A value without choices that is not named here, nor in
# `completers`, is a file or folder.
FREE_VALUES = (
    "COMMIT", "HOST:PORT", "ID", "IMAGE", "N", "QUERY", "REF", "ROLE", "SECONDS", "TITLE", "TYPE", "URL", "WORDS"
)  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    from argcomplete.shell_integration import shellcode  # noqa: PLC0415 - only completion needs it

    sys.stdout.write(shellcode(["pai-lsp"], shell=arguments.shell))
    return 0


def complete(parser: argparse.ArgumentParser) -> None:
    """Print what can follow the text in COMP_LINE, in the form that argcomplete's shell code expects, and exit."""
    import argcomplete  # noqa: PLC0415 - as above

    _add_completers(parser, completers())
    argcomplete.autocomplete(parser, always_complete_options=False)


def completers() -> dict[str, Callable[..., Any]]:
    """What completes a value, by the value's name in the help."""
    from argcomplete.completers import DirectoriesCompleter, SuppressCompleter  # noqa: PLC0415 - as above

    free = dict.fromkeys(FREE_VALUES, SuppressCompleter())
    return {"CODE": _codes, "CODES": _listed_names, "FAMILY": _families, "FOLDER": DirectoriesCompleter(), **free}


def _codes(**_: object) -> list[str]:
    from pai_lsp.rules import all_rules  # noqa: PLC0415 - imports every rule, --help needs none

    return [rule.code for rule in all_rules()]


def _families(**_: object) -> list[str]:
    from pai_lsp.rules import family_names  # noqa: PLC0415 - as above

    return list(family_names())


def _listed_names(prefix: str, **_: object) -> list[str]:
    """The codes, families and consequences after those that are already in the list."""
    from pai_lsp.findings.diagnostic import Consequence  # noqa: PLC0415 - as above

    before = prefix[: prefix.rfind(",") + 1]
    return [before + name for name in (*_codes(), *_families(), *(one.value for one in Consequence))]


def _add_completers(parser: argparse.ArgumentParser, known: dict[str, Callable[..., Any]]) -> None:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            for part in action.choices.values():
                _add_completers(part, known)
        elif action.nargs != 0 and not action.choices:
            completer = known.get(str(action.metavar or action.dest.upper()))
            if completer:
                action.completer = completer  # type: ignore[attr-defined]  # where argcomplete looks for it
