"""`pai-lsp completion`: prints what completes the command line in a shell."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

_SHELLS = ("bash", "zsh", "fish")

_DESCRIPTION = """\
Print a shell script that completes commands, options, their values, files and codes of rules.
"""

_EPILOG = """\
to install it:
  bash   echo 'eval "$(pai-lsp completion bash)"' >> ~/.bashrc
  zsh    echo 'eval "$(pai-lsp completion zsh)"' >> ~/.zshrc        after 'compinit'
  fish   pai-lsp completion fish > ~/.config/fish/completions/pai-lsp.fish
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp completion`."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.add_argument("shell", choices=_SHELLS, help="the shell")


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    from pai_lsp.cli.commands.command_line import commands  # noqa: PLC0415 - imports every command, --help needs none
    from pai_lsp.rules.known_rules import KNOWN_RULES  # noqa: PLC0415 - as above

    codes = tuple(rule.code for rule in KNOWN_RULES)
    sys.stdout.write(import_module(f"pai_lsp.cli.commands.completion_{arguments.shell}").script(commands(), codes))
    return 0
