"""Completion for bash, from 3.2 on; it needs no package of completions.

Where the script has no answer, bash completes names of files (`complete -o default`): so it says nothing about them.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pai_lsp.cli.commands.command_line import Kind, with_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pai_lsp.cli.commands.command_line import Argument, CommandDescription

# bash takes '=' for a word of its own, so `--format=json` arrives as three words.
_SCRIPT = """\
# Completes pai-lsp in bash. Printed by `pai-lsp completion bash`.
_pai_lsp_codes={codes}

_pai_lsp() {{
  local IFS=$' \t\n' word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command='' words='' i
  if [ "$word" = '=' ]; then
    word=''
  elif [ "$previous" = '=' ]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${{COMP_WORDS[i]}}" in
      {steps}) command="${{command:+$command }}${{COMP_WORDS[i]}}" ;;
    esac
  done
  COMPREPLY=()
  case "$command $previous" in
{values}
  esac
  case "$word" in
    -*)
      case "$command" in
{options}
      esac
      ;;
    *)
      case "$command" in
{positional}
      esac
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}

complete -o default -F _pai_lsp pai-lsp
"""

# The codes that are given already stay in front of the one that is being typed.
_LIST = """\
      case "$word" in *,*) words=${word%,*}, ;; esac
      COMPREPLY=($(compgen -P "$words" -W "$_pai_lsp_codes" -- "${word##*,}"))
      return
      ;;"""


def script(commands: Sequence[CommandDescription], codes: Sequence[str]) -> str:
    """The script; `codes` are those of the rules."""
    described = list(with_parts(tuple(commands)))
    values = [_value(one.name, option) for one in described for option in one.options if option.kind is not Kind.FLAG]
    options = [_words(one.name, [name for option in one.options for name in option.names]) for one in described]
    positional = [_positional(one) for one in described if one.parts or one.positional]
    return _SCRIPT.format(
        codes=shlex.quote(" ".join(codes)),
        steps=" | ".join(f"'{_step(command.name)}'" for command in described),
        values="\n".join(values),
        options="\n".join([_words("", ["--help", "--version"]), *options]),
        positional="\n".join([_words("", [command.name for command in commands]), *positional]),
    )


def _step(name: str) -> str:
    """A command's name as the loop meets it: what came before, a space, the word."""
    before, _, word = name.rpartition(" ")
    return f"{before} {word}"


def _value(name: str, option: Argument) -> str:
    """What can follow an option that has a value."""
    patterns = " | ".join(f"'{name} {one}'" for one in option.names)
    if option.kind is Kind.RULES:
        return f"    {patterns})\n{_LIST}"
    if option.kind is Kind.WORDS:
        words = shlex.quote(" ".join(option.words))
        return f'    {patterns}) COMPREPLY=($(compgen -W {words} -- "$word")); return ;;'
    return f"    {patterns}) return ;;"


def _positional(command: CommandDescription) -> str:
    if any(argument.kind is Kind.RULE for argument in command.positional):
        return f"        '{command.name}') words=$_pai_lsp_codes ;;"
    words = [part.name.rpartition(" ")[2] for part in command.parts]
    return _words(command.name, words + [word for argument in command.positional for word in argument.words])


def _words(name: str, words: Sequence[str]) -> str:
    return f"        '{name}') words={shlex.quote(' '.join(words))} ;;"
