"""Completion for zsh: with descriptions, and either evaluated or put into a folder of `fpath` as `_pai-lsp`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.cli.commands.command_line import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pai_lsp.cli.commands.command_line import Argument, CommandDescription

_SCRIPT = """\
#compdef pai-lsp
# Completes pai-lsp in zsh. Printed by `pai-lsp completion zsh`.

_pai_lsp_codes() {{
  local -a codes=({codes})
  _values "$@" 'code of a rule' $codes
}}

_pai_lsp() {{
  local curcontext=$curcontext context state state_descr line
  typeset -A opt_args
{body}
}}

# Evaluated, it registers itself; found in fpath, this file is the function's body.
if [[ $funcstack[1] == _pai-lsp ]]; then
  _pai_lsp "$@"
else
  compdef _pai_lsp pai-lsp
fi
"""

# `*::` makes what is behind a command a command line of its own, which begins with the command.
_CHOICE = """\
{pad}_arguments -C {options} '1: :->command' '*:: :->rest' && return
{pad}case $state in
{pad}  command)
{pad}    local -a commands=(
{names}
{pad}    )
{pad}    _describe -t commands command commands
{pad}    ;;
{pad}  rest)
{pad}    case $words[1] in
{cases}
{pad}    esac
{pad}    ;;
{pad}esac"""

_TOP = r"'(- *)'{-h,--help}'[show help and exit]' '(- *)--version[show the version and exit]'"


def script(commands: Sequence[CommandDescription], codes: Sequence[str]) -> str:
    """The script; `codes` are those of the rules."""
    return _SCRIPT.format(codes=" ".join(codes), body=_choice(commands, _TOP, "  "))


def _choice(commands: Sequence[CommandDescription], options: str, pad: str) -> str:
    """Completes one of several commands, and what is behind it."""
    names = "\n".join(f"{pad}      {_quoted(_word(one) + ':' + _plain(one.summary))}" for one in commands)
    cases = "\n".join(
        f"{pad}      {_word(one)})\n{_command(one, pad + '        ')}\n{pad}        ;;" for one in commands
    )
    return _CHOICE.format(pad=pad, options=options, names=names, cases=cases)


def _command(command: CommandDescription, pad: str) -> str:
    options = [_option(option) for option in command.options]
    if command.parts:
        return _choice(command.parts, " ".join(options), pad)
    return f" \\\n{pad}  ".join([f"{pad}_arguments", *options, *(_positional(one) for one in command.positional)])


def _option(option: Argument) -> str:
    name = option.names[-1]
    told = f"[{_plain(option.help)}]"
    if option.kind is Kind.FLAG:
        if len(option.names) > 1:
            return f"'({' '.join(option.names)})'{{{','.join(option.names)}}}{_quoted(told)}"
        return _quoted(name + told)
    return _quoted(f"{name}=[{_plain(option.help)}]:{_plain(option.value)}:{_answer(option)}")


def _positional(argument: Argument) -> str:
    place = "*" if argument.repeats else "1" if argument.is_required else "::"
    separator = "" if place == "::" else ":"
    return _quoted(f"{place}{separator}{_plain(argument.help)}:{_answer(argument)}")


def _answer(argument: Argument) -> str:
    answers = {
        Kind.WORDS: f"({' '.join(argument.words)})",
        Kind.FILE: "_files",
        Kind.FOLDER: "_files -/",
        Kind.RULE: "_pai_lsp_codes",
        Kind.RULES: "_pai_lsp_codes -s ,",
    }
    return answers.get(argument.kind, " ")


def _word(command: CommandDescription) -> str:
    return command.name.rpartition(" ")[2]


def _plain(text: str) -> str:
    """A text without what means something inside a specification of `_arguments`."""
    for character in "\\:[]":
        text = text.replace(character, f"\\{character}")
    return text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
