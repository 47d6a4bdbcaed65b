"""What a command does to the shell that runs it: whether it ends it, replaces it, or takes its EXIT trap.

Source: the bash reference manual, "Bourne Shell Builtins" (`exec`, `exit`, `return`, `trap`) and "Bash Builtin
Commands" (`command`, `builtin`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from pai_lsp.source.text import Span

# Builtins that end or replace the shell, or leave a trap in it.
_CHANGING = frozenset({"exit", "logout", "return", "exec", "trap"})
# How `trap` may name the end of the shell, in capital or small letters.
_EXIT = frozenset({"EXIT", "0"})


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command; `text` is the word without its quotes, expansions as they are written."""

    text: str
    span: Span
    is_literal: bool = True


def run_builtin(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words without `command` and `builtin` in front of them, which run a builtin as if they were not there."""
    at = 0
    while words[at].text in _NEUTRAL:
        after = at + 1
        while after < len(words) and words[after].text in _NEUTRAL[words[at].text]:
            after += 1
        if after == len(words) or words[after].text.startswith("-"):  # `command -v exec` only asks
            break
        at = after
    return words[at:]


# Options that change nothing about what a builtin does.
_NEUTRAL = {"command": {"-p", "--"}, "builtin": {"--"}}


def changes_process(words: tuple[Word, ...]) -> bool:
    """Whether a command ends or replaces the shell, or sets a trap, so that commands after it would notice."""
    return run_builtin(words)[0].text in _CHANGING


def taking_exit_trap(words: tuple[Word, ...]) -> Word | None:
    """The word `exec` or `trap` of a command after which an earlier EXIT trap does not run any more.

    `exec` with nothing but redirections only redirects.
    """
    words = run_builtin(words)
    name, arguments = words[0].text, [word.text for word in words[1:]]
    if name == "exec":
        return words[0] if _programs(arguments) else None
    if name != "trap" or arguments[:1] in (["-p"], ["-P"], ["-l"], ["-lp"]):
        return None
    if arguments[:1] == ["--"]:
        del arguments[0]
    # A single argument is a signal that gets its original meaning back.
    signals = arguments[1:] if len(arguments) > 1 else arguments
    return words[0] if any(signal.upper() in _EXIT for signal in signals) else None


def _programs(arguments: list[str]) -> list[str]:
    """What stands after the options of `exec`, of which `-a` has a value."""
    at = 0
    while at < len(arguments) and len(arguments[at]) > 1 and arguments[at].startswith("-"):
        option = arguments[at]
        at += 1
        if option == "--":
            break
        at += option.endswith("a")
    return arguments[at:]


def is_endless(words: tuple[Word, ...]) -> bool:
    """Whether a command waits for ever, as `sleep infinity` does."""
    texts = [word.text for word in words]
    if texts[0] == "exec" and len(texts) > 1:
        del texts[0]
    if texts[0] == "sleep":
        return texts[1:] in (["infinity"], ["inf"])
    return texts[0] == "tail" and "/dev/null" in texts and not {"-f", "-F", "--follow"}.isdisjoint(texts)
