"""Command lines, the model of a command that everything above asks: programs, wrappers, words and how they are quoted.

A word that bash expands (`$X`, `$(…)`, `*`) may be any number of words: nothing is concluded from it, nor about
positions after it. The words of a container's `command`, which no shell reads, are the script that has each of them
quoted (`quoted_words`). Sources: POSIX, "Utility Syntax Guidelines"; Python's argparse and optparse; getopt_long(3).
"""

from __future__ import annotations

import posixpath
import re
from functools import cached_property

from pai_lsp.embedded.shell_structure import is_one_word, structure
from pai_lsp.source.frozen import dataclass, dataclass_of_many, field
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.steps import counted
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pai_lsp.embedded.shell_script import PartKind, Script, Word
    from pai_lsp.embedded.shell_structure import Step


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program that runs the program after it.

    letters: its options of one letter that have a value; names: its long ones, which take it as the next word, too.
    operands: how many words of its own come before the program.
    user: the options that name the user who runs the program, or `operand` where the operand does.
    assigns: whether `NAME=value` before the program sets a variable.
    adds_words: whether it gives the program further words that are not written.
    """

    letters: str = ""
    names: tuple[str, ...] = ()
    operands: int = 0
    user: tuple[str, ...] = ()
    assigns: bool = False
    adds_words: bool = False


# Read from `--help` of coreutils 9.1, findutils 4.9, util-linux 2.38, numactl 2.0.16, time 1.9, gosu 1.14, tini 0.19,
# dumb-init 1.2.5 and strace 6.1 in Debian 12, from sudo(8) 1.9.13, and from bash 5.2 (`help exec`, `help command`).
WRAPPERS = {
    "sudo": Wrapper(
        "aCcDghpRrTtUu",
        ("--user", "--group", "--chdir", "--chroot", "--prompt", "--host", "--role", "--type", "--close-from"),
        user=("-u", "--user"),
        assigns=True,
    ),
    "env": Wrapper("uCS", ("--unset", "--chdir", "--split-string"), assigns=True),
    "exec": Wrapper("a"),
    "command": Wrapper(),
    "builtin": Wrapper(),
    "time": Wrapper("fo", ("--format", "--output")),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "nice": Wrapper("n", ("--adjustment",)),
    "ionice": Wrapper("cnpPu", ("--class", "--classdata", "--pid", "--pgid", "--uid")),
    "chrt": Wrapper("TPD", ("--sched-runtime", "--sched-period", "--sched-deadline"), 1),
    "taskset": Wrapper("", (), 1),
    "stdbuf": Wrapper("ioe", ("--input", "--output", "--error")),
    "timeout": Wrapper("ks", ("--kill-after", "--signal"), 1),
    "numactl": Wrapper(
        "ipPCNm",
        ("--interleave", "--preferred", "--preferred-many", "--physcpubind", "--cpunodebind", "--membind", "--cpubind"),
    ),
    "setpriv": Wrapper(
        "",
        ("--ambient-caps", "--inh-caps", "--bounding-set", "--ruid", "--euid", "--rgid", "--egid", "--reuid", "--regid",
         "--groups", "--securebits", "--pdeathsig", "--selinux-label", "--apparmor-profile"),
    ),
    "xargs": Wrapper(
        "adEILnPs",
        ("--arg-file", "--delimiter", "--max-args", "--max-procs", "--max-chars", "--process-slot-var"),
        adds_words=True,
    ),
    "gosu": Wrapper("", (), 1, ("operand",)),
    "tini": Wrapper("pe"),
    "dumb-init": Wrapper("r", ("--rewrite",)),
    "strace": Wrapper("abeEIoOpPsSuUX", ("--output", "--trace", "--user")),
}  # fmt: skip
PYTHON = lazy_pattern(r"python(?:[23](?:\.[0-9]+)?)?")
_PIP = lazy_pattern(r"pip(?:[23](?:\.[0-9]+)?)?")
# Modules of Python that start other programs, and the program that each is.
MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torch.distributed.launch",
    "accelerate.commands.launch": "accelerate launch",
    "deepspeed.launcher.runner": "deepspeed",
    "horovod.runner.launch": "horovodrun",
}
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*=")
_NUMBER = lazy_pattern(r"-[0-9.]+")


@dataclass_of_many(frozen=True, slots=True, eq=False)
class CommandLine:
    """A command of a script with the program that it runs.

    program: its name without a folder and a version (`pip`, `python`), or the module's for `python -m`.
    name: the word of the program, or of the module.
    arguments: the words after it.
    words: all words of the command, with those of the programs in front of it.
    wrappers: the names of the programs in front of it, such as `sudo`.
    variables: the names that are set for it alone: `X=1 program`, `env X=1 program`.
    user: who runs it, where a wrapper says so; None for a user that is not known before.
    is_module: whether it runs as `python -m MODULE`.
    """

    script: Script
    step: Step
    program: str
    name: Word
    arguments: tuple[Word, ...]
    words: tuple[Word, ...]
    wrappers: tuple[str, ...]
    variables: tuple[str, ...]
    user: str | None
    is_module: bool

    @property
    def is_other_user(self) -> bool:
        """Whether another user than root may run it, where root runs the script."""
        return self.user not in {"", "root", "0"}

    @property
    def texts(self) -> tuple[str, ...]:
        """The arguments without their quotes."""
        return tuple(word.text for word in self.arguments)

    @property
    def span(self) -> Span:
        """From the program to the end."""
        return Span(self.name.span.start, self.arguments[-1].span.end if self.arguments else self.name.span.end)

    @property
    def is_open(self) -> bool:
        """Whether the program gets words that are not written here."""
        return any(WRAPPERS[name].adds_words for name in self.wrappers)

    def written(self, word: Word) -> str:
        """A word with its quotes."""
        return self.script.text[word.span.start : word.span.end]

    def quote(self, word: Word) -> PartKind | None:
        """How a word is quoted as a whole; None where it has no quotes, or only around a part of it."""
        return self.script.quote(word.span)

    def inner(self, word: Word) -> Span:
        """The place of a word without the quotes around it."""
        return self.script.inner(word.span)

    def variable(self, word: Word) -> str:
        """The variable that a whole word is, in double quotes or without; empty for every other word."""
        if word.is_literal:
            return ""
        inner = self.inner(word)
        use = self.script.uses_by_start.get(inner.start)
        return use.name if use is not None and use.span.end == inner.end and not use.is_indirect else ""


@dataclass(frozen=True, slots=True)
class Program:
    """The options of a program.

    style: how it reads its words: `argparse`, `optparse`, `git`, `getopt`, `mpi`, or `pflag` (of Go) and `popt`, where
        no name may be shortened.
    takes_rest: whether everything after the first operand belongs to another program.
    options: by name, all names of the option and the number of its values, or `?` or `*`.
    is_partial: whether other versions have further options.
    launch: for a launcher, the options by what they say, in the terms that all launchers share: `nodes`, `rank`,
        `master`, `port`, `processes` (of a node), `total` (of all nodes), `hosts` and `host_files`.
    only: by option, the one implementation or version that has it.
    """

    style: str
    takes_rest: bool
    options: Mapping[str, tuple[tuple[str, ...], int | str]]
    is_partial: bool = False
    launch: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    only: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command line.

    name: its first name in the table; span: as it is written, without the value.
    value: None where it has none, or where bash makes it.
    """

    name: str
    span: Span
    value: str | None = None
    value_span: Span | None = None

    @property
    def end(self) -> int:
        """The end of the option with its value."""
        return (self.value_span or self.span).end


@dataclass(slots=True)
class Arguments:
    """The words of a command line by what they are.

    values: the words that are values of options, of an option with several values too.
    unknown: options that the table does not have, with their names.
    without_value: options whose value is missing.
    is_open: a word may be any number of words, so that options and operands may be missing here.
    programs: how many programs an MPI launcher starts: `:` separates them, and the options are those of all.
    """

    options: list[Option] = field(default_factory=list)
    operands: list[Word] = field(default_factory=list)
    values: list[Word] = field(default_factory=list)
    unknown: list[tuple[str, Span]] = field(default_factory=list)
    without_value: list[Option] = field(default_factory=list)
    is_open: bool = False
    programs: int = 1

    def option(self, *names: str) -> Option | None:
        """The last option with one of the names; each name is the first one of the table."""
        return next((one for one in reversed(self.options) if one.name in names), None)

    def has(self, *names: str) -> bool:
        """Whether there is an option with one of the names."""
        return self.option(*names) is not None


class CommandLines:
    """The command lines of a script, by program."""

    def __init__(self, script: Script) -> None:
        self.by_program: dict[str, list[CommandLine]] = {}
        self._first: dict[str, int | None] = {}
        self.tree = structure(script)
        steps = ((step, step.command) for step in self.tree.all)
        self.all = counted(_line(script, step, command.words) for step, command in steps if command is not None)
        for line in self.all:
            self.by_program.setdefault(line.program, []).append(line)

    def word_after(self, at: int) -> Span | None:
        """The first word that ends after a place: the one that holds it, else the next one."""
        return next((word for word in self._words if word.end > at), None)

    @cached_property
    def _words(self) -> Sequence[Span]:
        """The words of all commands in their order."""
        return counted(sorted(word.span for line in self.all for word in line.words))

    def mentions(self, part: str, before: int | None = None) -> bool:
        """Whether a word, a value or a file of the commands has a text; `before` leaves out what begins there or later.

        Comments and here-documents are no words.
        """
        if part not in self._first:  # a rule asks for each of its findings
            self._first[part] = next(self.all_with(part), None)
        at = self._first[part]
        return at is not None and (before is None or at < before)

    def all_with(self, part: str) -> Iterator[int]:
        """Where the words begin that have a text, in their order."""
        return (at for at, text in self._texts if part in text)

    @property
    def texts(self) -> list[str]:
        """The texts in which `mentions` looks."""
        return [text for _, text in self._texts]

    @cached_property
    def _texts(self) -> tuple[tuple[int, str], ...]:
        """The texts of all words, of the variables that are set, and of the targets of redirections, in their order."""
        found: list[tuple[int, str]] = []
        for step in self.tree.all:
            words = step.command.words if step.command is not None else ()
            found += [(word.span.start, word.text) for word in words]
            found += [(one.span.start, f"{one.name}={one.value.text if one.value else ''}") for one in step.assigned]
            found += [(one.span.start, one.target.text) for one in step.redirections]
        found += [(word.span.start, word.text) for word in self.tree.script.loop_words]
        return tuple(sorted(found))

    def folder(self, line: CommandLine) -> str | None:
        """The working folder of a command: "" where the script begins, a path from there, None if it is not known."""
        step = line.step
        ancestors = set(step.ancestors)
        around = {None, *(one for one in (step, *ancestors) if one.is_process)}
        folder = ""
        for process, change in self._folder_changes:
            if change.step.span.start >= step.span.start:
                break
            if process in around:
                is_sure = change.step.parent is self.tree.root or change.step.parent in ancestors
                if not is_sure or change.program != "cd" or len(change.arguments) != 1:
                    return None
                word = change.arguments[0]
                if not word.is_literal or word.text in {"-", "~"}:
                    return None
                folder = posixpath.normpath(posixpath.join(folder, word.text))
        return "" if folder == "." else folder

    @cached_property
    def _folder_changes(self) -> Sequence[tuple[Step | None, CommandLine]]:
        """The commands that change the working folder, each with its process, in the order in which they begin."""
        changes = (line for line in self.all if line.program in {"cd", "pushd", "popd"})
        return counted((one.step.process, one) for one in sorted(changes, key=lambda one: one.step.span.start))

    def value(self, name: str) -> str | None:
        """The last value that is written for a variable, if it is a plain one."""
        return self._last_values.get(name)

    @cached_property
    def _last_values(self) -> dict[str, str | None]:
        assignments = sorted(self.tree.script.assignments, key=lambda one: one.span)
        return {one.name: one.plain_value for one in assignments}


def command_lines(script: Script) -> CommandLines:
    """The command lines of a script; found once for each."""
    found: CommandLines | None = script.derived.get(CommandLines)
    if found is None:
        found = script.derived[CommandLines] = CommandLines(script)
    return found


def _line(script: Script, step: Step, words: tuple[Word, ...]) -> CommandLine:
    at, wrappers, variables = 0, [], [one.name for one in step.assigned]
    user: str | None = ""
    while (wrapper := WRAPPERS.get(starter := words[at].text.rpartition("/")[2])) is not None:
        after = _after_options(words, at + 1, wrapper) + wrapper.operands
        while wrapper.assigns and after < len(words) and (match := _ASSIGNMENT.match(words[after].text)):
            variables.append(match[0][:-1])
            after += 1
        if after >= len(words) or (starter == "command" and words[at + 1].text.startswith("-")):
            break
        wrappers.append(starter)
        if wrapper.user:
            user = _user(words[at + 1 : after], wrapper)
        at = after
    name, is_module = starter if words[at].is_literal else "", False
    if PYTHON.fullmatch(name):
        name = "python"
        for number, word in enumerate(words[at + 1 : -1], at + 2):
            if word.text == "-m":
                at, is_module = number, True
                name = MODULES.get(words[at].text, words[at].text)
                break
            if not word.text.startswith("-") or word.text in {"-c", "-"}:
                break
    elif _PIP.fullmatch(name):
        name = "pip"
    rest = words[at + 1 :]
    return CommandLine(script, step, name, words[at], rest, words, tuple(wrappers), tuple(variables), user, is_module)


def _after_options(words: tuple[Word, ...], at: int, wrapper: Wrapper) -> int:
    """The number of the first word after the options of a wrapper."""
    while at < len(words) and words[at].text.startswith("-") and len(words[at].text) > 1:
        text = words[at].text
        at += 1
        if text == "--":
            break
        if text.startswith("--"):
            at += text in wrapper.names
        else:
            at += _letter_with_value(text, wrapper) == len(text) - 1
    return at


def _letter_with_value(text: str, wrapper: Wrapper) -> int:
    """The place of the first letter among joined ones, as in `-Eu`, that has a value; the length where none has one."""
    return next((at for at, letter in enumerate(text) if letter in wrapper.letters), len(text))


def _user(words: tuple[Word, ...], wrapper: Wrapper) -> str | None:
    """The user that a wrapper with these words runs its program as; without any, root, as sudo does."""
    if wrapper.user == ("operand",):
        return words[-1].text if words[-1].is_literal else None
    for number, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        if not name.startswith("--"):
            at = _letter_with_value(name, wrapper)
            name, equals, value = f"-{word.text[at : at + 1]}", word.text[at + 1 :], word.text[at + 1 :]
        if name in wrapper.user:
            named = word if equals else words[number + 1]
            return (value or named.text) if named.is_literal else None
    return "root"


def quoted_words(words: Iterable[str | None]) -> str:
    """The script in which bash runs exactly these words; None is a word that is not known before it runs."""
    return " ".join('"$UNKNOWN"' if word is None else "'" + word.replace("'", "'\\''") + "'" for word in words)


def parsed(words: Sequence[Word], program: Program, text: str) -> Arguments:
    """The words after a program as it reads them; `text` is their script, "" for words that no shell reads."""
    return _Parser(words, program, text).parse()


class _Parser:
    def __init__(self, words: Sequence[Word], program: Program, text: str) -> None:
        self._words, self._program, self._text = words, program, text
        self._is_mpi = program.style == "mpi"
        self._at = 0
        self._found = Arguments()

    def parse(self) -> Arguments:
        found = self._found
        while self._at < len(self._words):
            word = self._words[self._at]
            self._at += 1
            if word.text == "--":
                found.operands += self._words[self._at :]
                break
            name, equals, _ = word.text.partition("=")
            is_option = name.startswith("-") and len(name) > 1 and not any(mark in name for mark in "$`*?<")
            if not word.is_literal and not (is_option and equals):
                if not is_one_word(self._text, word):
                    found.is_open = True
                    if self._program.takes_rest and not self._holds_options():
                        break
                    continue
                is_option = False
            if not is_option:
                found.operands.append(word)
                if self._program.takes_rest:
                    rest = self._words[self._at :]
                    colon = next((n for n, one in enumerate(rest) if one.text == ":"), -1) if self._is_mpi else -1
                    found.operands += rest if colon < 0 else rest[:colon]
                    if colon >= 0:
                        # The options of the next program.
                        found.programs += 1
                        self._at += colon + 1
                        continue
                    break
            elif not self._option(word, name, has_value=bool(equals)):
                break
        return found

    def _holds_options(self) -> bool:
        """Whether a word that bash makes holds options of an MPI launcher: one of its options comes after it."""
        following = self._words[self._at] if self._is_mpi and self._at < len(self._words) else None
        return following is not None and following.is_literal and self._known(following.text) is not None

    def _option(self, word: Word, name: str, *, has_value: bool) -> bool:
        """Read an option; whether the words after it can be read."""
        found = self._found
        if self._is_mpi and has_value and not name.startswith("--"):
            # Open MPI and Hydra split only `--name=value`.
            name, has_value = word.text, False
        known = self._known(name)
        if known is None and not name.startswith("--") and not self._is_mpi:
            return self._letters(word)
        if known is None:
            found.unknown.append((name, Span(word.span.start, self._name_end(word, name))))
            # An unknown option of an MPI launcher counts as one without a value.
            found.is_open = found.is_open or not self._is_mpi
            return self._is_mpi or not self._program.takes_rest
        names, takes = known
        span = Span(word.span.start, self._name_end(word, name))
        if has_value:
            value = word.text[len(name) + 1 :] if word.is_literal else None
            found.options.append(Option(names[0], span, value, self._joined(word, span.end, value)))
        else:
            self._value(names[0], span, takes)
        return True

    def _name_end(self, word: Word, name: str) -> int:
        is_plain = self._text.startswith(name, word.span.start)
        return word.span.start + len(name) if is_plain else word.span.end

    def _joined(self, word: Word, end: int, value: str | None) -> Span:
        """The place of the value of `--name=value`: in quotes, or where no shell reads it, as near as it is known."""
        if end < word.span.end:
            return Span(end + 1, word.span.end)
        at = self._text.rfind(value, word.span.start, word.span.end) if value and self._text else -1
        return Span(at, at + len(value or "")) if at >= 0 else word.span

    def _value(self, name: str, span: Span, takes: int | str) -> None:
        following = self._words[self._at] if self._at < len(self._words) else None
        is_argparse = self._program.style == "argparse"
        is_next_option = (
            is_argparse and following is not None and re.match(r"-[A-Za-z-]", following.text) and following.is_literal
        )
        if takes == 0 or (takes in {"?", "*"} and (following is None or is_next_option)):
            self._found.options.append(Option(name, span))
        elif following is None or (is_next_option and not _NUMBER.fullmatch(following.text)):
            option = Option(name, span)
            self._found.options.append(option)
            self._found.without_value.append(option)
        else:
            after = self._at + (1 if isinstance(takes, str) else takes)
            self._found.values += self._words[self._at : after]
            self._at = after
            self._found.is_open |= not is_one_word(self._text, following)
            value = following.text if following.is_literal else None
            self._found.options.append(Option(name, span, value, following.span))

    def _letters(self, word: Word) -> bool:
        """Read letters after one dash: each an option, the last one with its value."""
        text, program, found = word.text, self._program, self._found
        for number, letter in enumerate(text[1:], 1):
            known = program.options.get(f"-{letter}")
            if known is None:
                found.unknown.append((text if number == 1 else f"-{letter}", word.span))
                found.is_open = True
                return not program.takes_rest
            names, takes = known
            if takes == 0:
                found.options.append(Option(names[0], word.span))
            elif number + 1 < len(text):
                found.options.append(Option(names[0], word.span, text[number + 1 :], word.span))
                return True
            else:
                self._value(names[0], word.span, takes)
        return True

    def _known(self, name: str) -> tuple[tuple[str, ...], int | str] | None:
        """The option of that name, or of which it is the begin."""
        program = self._program
        if name in program.options:
            return program.options[name]
        if self._is_mpi:
            # `-host` and `--host` are one option.
            return program.options.get(f"-{name.lstrip('-')}")
        if program.style in {"git", "popt"} and name.startswith("--no-"):
            return program.options.get(f"--{name[5:]}", ((name,), 0))
        if not name.startswith("--") or program.style in {"pflag", "popt"}:
            return None
        begun = {names: (names, takes) for key, (names, takes) in program.options.items() if key.startswith(name)}
        if name[:-1] in program.options:  # a letter too many, and not the begin of what only some versions have
            begun = {names: one for names, one in begun.items() if program.only.keys().isdisjoint(names)}
        if begun and len(name) > 2:
            # Where it is the begin of several, the versions of a program differ; it counts as known.
            return next(iter(begun.values())) if len(begun) == 1 else ((name,), 0)
        return None
