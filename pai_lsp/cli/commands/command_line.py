"""The command line as values, read from its parsers: what shell completion and the manual page are made of."""

from __future__ import annotations

import argparse
from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.cli.main import SUBCOMMANDS, parser_of
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator


class Kind(Enum):
    """What can be given for an argument, as far as a shell can help with it."""

    FLAG = "no value"
    WORDS = "one of some words"
    FILE = "a file or folder"
    FOLDER = "a folder"
    RULE = "the code of a rule"
    RULES = "codes of rules with commas between"
    OTHER = "something that only the user knows"


# What stands for a value in the help says what the value is; a test wants every one of them here.
KINDS = {
    "PATH": Kind.FILE,
    "JOB": Kind.FILE,
    "FILE": Kind.FILE,
    "NAME": Kind.FILE,
    "FOLDER": Kind.FOLDER,
    "CODE": Kind.RULE,
    "CODES": Kind.RULES,
    "HOST:PORT": Kind.OTHER,
    "N": Kind.OTHER,
    "QUERY": Kind.OTHER,
    "REF": Kind.OTHER,
    "ROLE": Kind.OTHER,
}


@dataclass(frozen=True, slots=True)
class Argument:
    """An option, or without `names` an argument that goes by its place.

    value: what stands for the value in the help, or for its words, `{a,b}`; empty for a flag.
    words: those that are allowed; empty unless `kind` is WORDS.
    repeats: whether several can be given one after the other.
    """

    names: tuple[str, ...]
    value: str
    help: str
    kind: Kind
    words: tuple[str, ...] = ()
    is_required: bool = False
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class CommandDescription:
    """A command, such as `check` or `marketplace list`; `name` holds the words behind `pai-lsp`.

    `parts` are the commands that its first argument chooses from.
    """

    name: str
    summary: str
    description: str
    epilog: str
    arguments: tuple[Argument, ...]
    parts: tuple[CommandDescription, ...] = ()

    @property
    def options(self) -> tuple[Argument, ...]:
        """The arguments that go by their names."""
        return tuple(argument for argument in self.arguments if argument.names)

    @property
    def positional(self) -> tuple[Argument, ...]:
        """The arguments that go by their places."""
        return tuple(argument for argument in self.arguments if not argument.names)


def commands() -> tuple[CommandDescription, ...]:
    """Every command, in the order of the help."""
    return tuple(_described(one.name, one.summary, parser_of(one)) for one in SUBCOMMANDS)


def with_parts(described: tuple[CommandDescription, ...]) -> Iterator[CommandDescription]:
    """The commands, each before those that it has inside."""
    for command in described:
        yield command
        yield from with_parts(command.parts)


def _described(name: str, summary: str, parser: argparse.ArgumentParser) -> CommandDescription:
    arguments: list[Argument] = []
    parts: list[CommandDescription] = []
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask for them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            told = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001 - as above
            parts += [_described(f"{name} {part}", told[part], inner) for part, inner in action.choices.items()]
        else:
            arguments.append(_argument(action))
    return CommandDescription(
        name, summary, parser.description or "", parser.epilog or "", tuple(arguments), tuple(parts)
    )


def _argument(action: argparse.Action) -> Argument:
    names, told = tuple(action.option_strings), action.help or ""
    is_positional = not names
    if action.nargs == 0:
        return Argument(names, "", told, Kind.FLAG)
    words = tuple(str(choice) for choice in action.choices or ())
    value = str(action.metavar) if action.metavar else "{" + ",".join(words) + "}" if words else action.dest.upper()
    return Argument(
        names,
        value,
        told,
        Kind.WORDS if words else KINDS.get(value, Kind.OTHER),
        words,
        is_required=is_positional and action.nargs not in {"?", "*"},
        repeats=action.nargs == "*",
    )
