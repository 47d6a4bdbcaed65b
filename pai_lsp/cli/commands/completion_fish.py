"""Completion for fish: one `complete` a command, option or value, each with the place that it is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.cli.commands.command_line import Kind, with_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pai_lsp.cli.commands.command_line import Argument, CommandDescription

_SCRIPT = """\
# Completes pai-lsp in fish. Printed by `pai-lsp completion fish`.
function __pai_lsp_is_at -d 'Whether the cursor is behind this command, given in words'
    set -l at ''
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case {steps}
                set at (string trim -- "$at $word")
        end
    end
    test "$at" = "$argv"
end

function __pai_lsp_codes -d 'The codes of the rules, behind those that are given already'
    set -l given (string match -r '^(?:--[a-z]+=)?(.*,)?' -- (commandline -ct))[2]
    for code in {codes}
        echo "$given$code"
    end
end

complete -c pai-lsp -f
complete -c pai-lsp -n '__pai_lsp_is_at' -s h -l help -d 'show help and exit'
complete -c pai-lsp -n '__pai_lsp_is_at' -l version -d 'show the version and exit'
{completions}
"""


def script(commands: Sequence[CommandDescription], codes: Sequence[str]) -> str:
    """The script; `codes` are those of the rules."""
    described = list(with_parts(tuple(commands)))
    lines = [line for one in commands for line in _choice("", one)]
    for command in described:
        lines += [line for part in command.parts for line in _choice(command.name, part)]
        lines += [_option(command.name, option) for option in command.options]
        lines += [line for one in command.positional for line in _positional(command.name, one)]
    steps = " ".join(_quoted(" ".join(_before_and_word(command.name))) for command in described)
    return _SCRIPT.format(steps=steps, codes=" ".join(codes), completions="\n".join(lines))


def _choice(before: str, command: CommandDescription) -> Iterator[str]:
    word = _before_and_word(command.name)[1]
    yield f"{_at(before)} -a {word} -d {_quoted(command.summary)}"


def _option(name: str, option: Argument) -> str:
    line = _at(name)
    for one in option.names:
        line += f" -l {one[2:]}" if one.startswith("--") else f" -s {one[1:]}"
    return f"{line}{_answer(option, 'x')} -d {_quoted(option.help)}"


def _positional(name: str, argument: Argument) -> Iterator[str]:
    answer = _answer(argument, "")
    if answer:
        yield f"{_at(name)}{answer}"


def _answer(argument: Argument, needed: str) -> str:
    """What to offer; `needed` is the flag that says that an option's value is not left out."""
    flag = f" -{needed}" if needed else ""
    answers = {
        Kind.FLAG: "",
        Kind.WORDS: f"{flag} -a {_quoted(' '.join(argument.words))}",
        Kind.FILE: " -r -F" if needed else " -F",
        Kind.FOLDER: f"{flag} -a '(__fish_complete_directories (commandline -ct))'",
        Kind.RULE: f"{flag} -a '(__pai_lsp_codes)'",
        Kind.RULES: f"{flag} -a '(__pai_lsp_codes)'",
    }
    return answers.get(argument.kind, flag)


def _at(name: str) -> str:
    return f"complete -c pai-lsp -n {_quoted(' '.join(['__pai_lsp_is_at', *name.split()]))}"


def _before_and_word(name: str) -> tuple[str, str]:
    before, _, word = name.rpartition(" ")
    return before, word


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
