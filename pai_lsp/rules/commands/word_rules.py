"""Rules about words that bash reads in another way than they look: spaces, quotes, brackets, paths.

Source of the facts: the bash reference manual; every example was run with bash 5.2 after the platform's header.
"""

from __future__ import annotations

import re

from pai_lsp.embedded.command_lines import command_lines
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_expansions import NAME
from pai_lsp.embedded.shell_script import PartKind
from pai_lsp.embedded.shell_structure import structure
from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.platform.programs import known_line, launch_of, launchers
from pai_lsp.rules.commands.command_uses import CommandUse, all_uses, changed, quote_words_fix, scripts, uses
from pai_lsp.rules.commands.nounset_rules import hidden_assignments
from pai_lsp.rules.commands.scripts_in_yaml import joined_word
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.command_lines import CommandLine
    from pai_lsp.embedded.shell_script import Word
    from pai_lsp.job.job import Job

_NAME_OR_VALUE = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?(?:\+?=.*)?|[-+].*", re.DOTALL)
# Programs whose arguments are text.
_PRINTING = {"echo", "printf", ":", "logger", "export", "alias", "trap", "eval", "bash", "sh", "awk", "sed", "perl"}
_ON_FILES = {
    "ls", "cat", "cd", "cp", "mv", "rm", "mkdir", "touch", "tar", "unzip", "python", "source", ".", "head", "tail",
    "chmod",
}  # fmt: skip
_NUMERIC = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_TEST_OPERATORS = {"-eq": "=", "-ne": "!="}
_OPTION_AND_VALUE = lazy_pattern(r"--?[A-Za-z][\w-]*[ =].*\S|--?[A-Za-z][\w-]* \S.*")
_BRACES_OF_VARIABLES = lazy_pattern(r"\{(\w+)\.\.(\$\{?\w+\}?)\}|\{(\$\{?\w+\}?)\.\.(\w+|\$\{?\w+\}?)\}")
_BRACES = lazy_pattern(r"\{\w+\.\.\w+\}")
_MARKS = {PartKind.SINGLE_QUOTED: "'", PartKind.DOUBLE_QUOTED: '"'}


@rule(Severity.ERROR, spreads=True)
def spaces_around_equals(job: Job) -> Iterator[Finding]:
    """A space is beside the `=` of an assignment.

    Bash reads `NAME = value` as a program with the name NAME, code 127, and `export NAME = value` as three names, "not
    a valid identifier". `mpirun -x NAME = value` runs a program `=`.
    Source: the bash reference manual, "Shell Parameters"; Open MPI 4.1, by running it.

        taskRoles:
          worker:
            commands:
              - DATA = /data
              # ^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - DATA=/data
    """
    for use in all_uses(job):
        words = use.line.words
        if words[1:] and words[1].text[:1] == "=" and words[0].is_literal and NAME.fullmatch(words[0].text):
            if words[1].text.startswith("==") or words[0].text in {"expr", "test", "echo", "printf"}:
                continue
            last = words[2] if words[1].text == "=" and len(words) > 2 else words[1]
            if last is not words[-1] and words[1].text != "=":
                continue
            span = Span(words[0].span.start, last.span.end)
            new = re.sub(r"^([^=\s]*)\s*=\s*", r"\1=", use.written(span)) if last is words[-1] else None
            message = f"bash runs '{words[0].text}' as a program; remove the spaces around '='"
            # Whoever writes assignments in this way does so in the whole script.
            yield changed(use.place, span, message, new, cause=f"spaces in {use.place.span(Span(0, 0))}")
        elif words[0].text in {"export", "readonly", "declare", "local"}:
            yield from _declared(use, words)
        elif use.line.program in launchers():
            yield from _passed_on(use)
        elif use.line.step.assigned and use.line.step.assigned[-1].is_empty:
            yield from _assigned_apart(use, words)


def _assigned_apart(use: CommandUse, words: tuple[Word, ...]) -> Iterator[Finding]:
    """`NAME= value`: bash runs the value with an empty variable, which a script does not read itself."""
    before, value = use.line.step.assigned[-1], words[0]
    gap, whole = Span(before.whole.end, value.span.start), Span(before.span.start, value.span.end)
    message = f"bash runs '{value.text}' as a program; remove the space"
    is_quoted_path = use.line.quote(value) and value.text[:1] in "/~."
    if is_quoted_path or (len(words) == 1 and value.text[:1] == "/"):
        later = (one for one in use.place.script.uses if one.name == before.name)
        if any(one.span.start > value.span.end for one in later):
            yield changed(use.place, gap, message, "", "Remove the space", at=whole)
    elif value.text[:1].isdigit() and value.text.replace(".", "").isdigit():
        yield changed(use.place, whole, message, f"{before.name}={value.text}", "Remove the space")


def _passed_on(use: CommandUse) -> Iterator[Finding]:
    """`-x NAME = value` of an MPI launcher, where the `=` is the program to run."""
    arguments = launch_of(use.line).arguments
    option, program = arguments.option("-x"), next(iter(arguments.operands), None)
    if option and option.value_span and program and program.text == "=":
        rest = arguments.operands[1:2]
        span = Span(option.value_span.start, (rest or [program])[0].span.end)
        new = f"{option.value}={use.line.written(rest[0]) if rest else ''}"
        message = f"'{use.line.program}' runs '=' as a program; remove the spaces around '='"
        yield changed(use.place, span, message, new)


def _declared(use: CommandUse, words: tuple[Word, ...]) -> Iterator[Finding]:
    """What `export` and its kind cannot read as a name."""
    joined = joined_word(use)
    for number, word in enumerate(words[1:], 1):
        if joined and word is joined[0]:
            return  # `folded_lines_joined` reports it
        written = use.line.written(word)
        if written.startswith(("$", '"', "'", "`")) and not re.match(r"\$\{?\w+\}?[:/]", written):
            continue
        if _NAME_OR_VALUE.fullmatch(word.text) or "<%" in written or "{{" in written:
            continue
        name, equals, _ = written.partition("=")
        if equals and name[:1] != "$" and any(mark in name for mark in "$`{"):
            continue  # bash makes the name, as in `export PORT_$i=1` and `export {http,https}_proxy=…`
        before = words[number - 1]
        start = before if number > 1 and (before.text.endswith("=") or NAME.fullmatch(before.text)) else word
        end = words[number + 1] if word.text == "=" and number + 1 < len(words) else word
        span = Span(words[0].span.start, end.span.end)
        is_simple = start is not word and start is words[1] and end is words[-1]
        value = use.line.written(end).removeprefix("=")
        new = f"{words[0].text} {start.text.rstrip('=')}={value}" if is_simple else None
        yield changed(use.place, span, f"'{word.text}' is not a name; write 'NAME=value' without spaces", new)
        return


@rule(Severity.WARNING)
def assignment_of_other_shell(job: Job) -> Iterator[Finding]:
    """An assignment has the form of another language.

    `$NAME=value` runs a program, or with `export` sets another variable; `set NAME=value` sets `$1`; `$env:NAME` is
    PowerShell, and `setenv` is csh.
    Source: the bash reference manual, "Shell Parameters" and "The Set Builtin".

        taskRoles:
          worker:
            commands:
              - set RATE=0.1
              # ^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - RATE=0.1
    """
    for use in all_uses(job):
        words = use.line.words
        first, name = words[0], words[0].text
        if name not in {"export", "set", "setenv"} and name[:1] != "$":
            continue
        written = use.line.written(first)
        dollar = Span(first.span.start, first.span.start + 1)
        if name == "setenv":
            if "setenv" not in use.place.script.functions:
                new = f"export {words[1].text}={use.line.written(words[2])}" if len(words) == 3 else None
                message = "this is csh; in bash it is 'export NAME=value'"
                yield changed(use.place, use.line.span, message, new, at=first.span)
        elif match := re.match(r"\$env:\w+", written):
            span = Span(first.span.start, first.span.start + match.end())
            yield Finding(use.span(span), "this is PowerShell; in bash it is 'export NAME=value'")
        elif len(words) > 2 and words[1].text == "=" and use.line.variable(first):
            span = Span(first.span.start, words[2].span.end)
            yield Finding(use.span(span), "this runs a program; an assignment is 'NAME=value', without '$' and spaces")
        elif match := _DOLLAR_NAME.match(written):
            message = f"this does not set '{match[1]}'; remove the '$'"
            yield changed(use.place, dollar, message, "", "Remove '$'", at=first.span)
        elif name == "export" and len(words) > 1:
            match = _DOLLAR_NAME.match(use.line.written(words[1]))
            # A loop or `read` gives the name, as in `while read -r key value; do export $key=$value; done`.
            is_named = match and match[1] in use.place.script.assigned_names and use.place.lines.value(match[1]) is None
            if match and not is_named:
                at = words[1].span.start
                message = f"this does not set '{match[1]}'; remove the '$'"
                yield changed(use.place, Span(at, at + 1), message, "", "Remove '$'", at=use.line.span)
        elif name == "set" and len(words) == 2 and re.match(r"[A-Za-z_]\w*=", words[1].text):
            span, new = Span(first.span.start, words[1].span.end), use.line.written(words[1])
            yield changed(use.place, span, "'set NAME=value' sets '$1' in bash; remove 'set'", new, "Remove 'set'")


_DOLLAR_NAME = lazy_pattern(r"\$([A-Za-z_]\w*)=")


@rule(Severity.WARNING)
def test_brackets(job: Job) -> Iterator[Finding]:
    """A test does not test what it seems to.

    `[` is a program and needs spaces around itself and its words. `&&` ends its command; `>` writes a file; one word
    such as `"$A"=="1"` is always true; `-eq` compares numbers. Inside `if` the failure is not noticed: only the branch
    does not run.
    Source: the bash reference manual, "Bash Conditional Expressions"; test(1).

        taskRoles:
          worker:
            commands:
              - if [ -f data.zip]; then unzip data.zip; fi
              #         ^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - if [ -f data.zip ]; then unzip data.zip; fi
    """
    for use in all_uses(job):
        step, words = use.line.step, use.line.words
        name, last = words[0].text, words[-1]
        if name[:1] != "[" and name != "test":
            continue
        if re.match(r"\[\[?[-!$\w\"]", name) and name[-1:] != "]":
            at = words[0].span.start + (2 if name.startswith("[[") else 1)
            message = f"bash runs '{name}' as a program; add a space after the bracket"
            yield changed(use.place, Span(at - 1, at), message, "[ ", "Add a space", at=words[0].span)
        elif name in {"[", "[["} and last.text.endswith("]") and last.text not in {"]", "]]"}:
            at = last.span.end - (2 if last.text.endswith("]]") and name == "[[" else 1)
            end = Span(at, last.span.end)
            message = "a space is missing before the bracket, so the test fails"
            yield changed(use.place, end, message, f" {use.written(end)}", "Add a space", at=last.span)
        elif name == "[" and last.text != "]" and step.after in {"&&", "||"} and (following := step.following()):
            closing = following.command.words[-1] if following.command else None
            if closing is not None and closing.text == "]":
                start = (words[1] if len(words) > 1 else last).span.start
                inner = use.written(Span(start, closing.span.start)).rstrip()
                left, operator, right = inner.partition(step.after)
                new = f"{left.rstrip()} ] {operator} [ {right.lstrip()}"
                message = f"'{step.after}' ends the test; write two tests"
                yield changed(use.place, Span(start, start + len(inner)), message, new, "Split the test")
        elif name in {"[", "test"}:
            yield from _test_operators(use, words)


def _test_operators(use: CommandUse, words: tuple[Word, ...]) -> Iterator[Finding]:
    inner = words[1:-1] if words[0].text == "[" else words[1:]
    for one in use.line.step.redirections:
        if one.operator in {">", "<"} and not one.descriptor and one.span.start < words[-1].span.end:
            new = "-gt" if one.operator == ">" else "-lt"
            message = f"'{one.operator}' is a redirection here; use '{new}'"
            yield changed(use.place, one.operator_span, message, new, at=one.span)
            return
    if len(inner) == 1 and _has_equals(use.line.written(inner[0])):
        yield Finding(use.word(inner[0]), "this is one word, so the test is always true; add spaces around '='")
    for number, word in enumerate(inner):
        name = use.line.variable(word) if len(inner) == 3 and use.line.quote(word) is None else ""
        value = use.place.lines.value(name) if name else None
        if value is not None and " " in value.lstrip():
            message = "the value has a space, so the test fails; quote the variable"
            yield changed(use.place, word.span, message, f'"{use.line.written(word)}"', "Quote it")
        sides = [inner[at] for at in (number - 1, number + 1) if 0 <= at < len(inner)]
        if word.text in _NUMERIC and any(one.is_literal and not re.fullmatch(r"[-+]?\d+", one.text) for one in sides):
            better = _TEST_OPERATORS.get(word.text)
            message = f"'{word.text}' compares numbers; use '{better or '='}' for text"
            yield changed(use.place, word.span, message, better)


def _has_equals(written: str) -> bool:
    """Whether a word has a `=` that bash does not read for an expansion."""
    outside = re.sub(r"\$\{[^{}]*\}", "x", written)
    return not re.search(r"`|\$[({]", outside) and re.search(r"[^=!<>]==?[^=]", outside) is not None


@rule(Severity.WARNING)
def quotes_keep_literal(job: Job) -> Iterator[Finding]:
    """Quotes keep bash from expanding a word, or make one word of several.

    Inside quotes `~` and braces are plain characters, inside single quotes `$` too, and an option with its value is one
    word for the program. Another script may split such a word, and a program may expand `~` after `=` itself: the first
    is not reported, the second is an information.
    Source: the bash reference manual, "Quoting", "Tilde Expansion" and "Brace Expansion".

        taskRoles:
          worker:
            commands:
              - ls "~/data"
              #    ^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - ls ~/data
    """
    for use in all_uses(job):
        line = use.line
        if line.program in _PRINTING or "ssh" in line.program or line.program in use.place.script.functions:
            continue
        for number, word in enumerate(line.arguments):
            if not word.is_quoted and "=~/" not in word.text:
                continue
            quote = _MARKS.get(line.quote(word) or PartKind.EXPANSION, "")
            written = line.written(word)
            if name := line.variable(word):
                value = None if _is_value(line, number) else use.place.lines.value(name)
                if value is not None and value.startswith("-") and " " in value and not _is_for_script(line):
                    message = f"the program receives '{value}' as one word; remove the quotes"
                    yield changed(use.place, word.span, message, written[1:-1], "Remove the quotes")
                continue
            bare = use.written(line.inner(word))
            before = line.arguments[number - 1].text if number else ""
            if quote and re.fullmatch(r"~/[\w./-]*", bare) and line.program in _ON_FILES | {"wget", "git", "unzip"}:
                yield changed(use.place, word.span, "bash does not expand '~' in quotes", bare, "Remove the quotes")
            elif not quote and re.fullmatch(r"--[\w-]+=~/[\w./-]*", bare):
                at = word.span.start + written.index("~")
                message = "bash does not expand '~' after '='; not every program does"
                yield changed(
                    use.place, Span(at, at + 1), message, "$HOME", at=word.span, severity=Severity.INFORMATION
                )
            elif quote == "'" and re.fullmatch(r"\$\{?[A-Za-z_]\w*\}?(?:/[\w.*/-]*)?", bare):
                is_path = "/" in bare or line.program != "python"
                if is_path and line.program in _ON_FILES and before not in {"-c", "-e"}:
                    message = "bash does not expand variables in single quotes"
                    yield changed(use.place, word.span, message, f'"{bare}"', "Use double quotes")
            elif quote and _OPTION_AND_VALUE.fullmatch(bare) and " " in bare and not _is_value(line, number):
                others = {"git", "docker", "pip", "grep", "find"}
                if "=" in bare.partition(" ")[0] or line.program in others or _is_for_script(line):
                    continue
                message = f"the program receives '{bare}' as one word; remove the quotes"
                yield changed(use.place, word.span, message, None if "$" in bare else bare, "Remove the quotes")
        program = line.name
        is_command = program is line.words[0] and not line.step.assigned and program.is_literal
        if is_command and program.is_quoted and line.quote(program) and _WORDS.fullmatch(program.text):
            message = f"bash looks for a program named '{program.text}'; remove the quotes"
            yield Finding(use.word(program), message)


# A program with an argument.
_WORDS = lazy_pattern(r"[a-z][\w.-]* [\w./-].*")


@rule(Severity.WARNING)
def braces_not_expanded(job: Job) -> Iterator[Finding]:
    """Bash does not expand a range in braces.

    `{1..$N}` with a variable and `"{1..3}"` in quotes stay as they are. Use `$(seq 1 $N)`.
    Source: the bash reference manual, "Brace Expansion".

        taskRoles:
          worker:
            commands:
              - N=3; for i in {1..$N}; do echo $i; done
              #               ^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - N=3; for i in $(seq 1 $N); do echo $i; done
    """
    for place in scripts(job, with_callbacks=True):
        words = [word for line in place.lines.all if line.program != "eval" for word in line.words]
        for word in (*words, *place.script.loop_words):
            if ".." in word.text and (match := _BRACES_OF_VARIABLES.fullmatch(place.written(word.span))):
                new = f"$(seq {match[1] or match[3]} {match[2] or match[4]})"
                yield changed(place, word.span, "bash expands braces before variables; use 'seq'", new, "Use 'seq'")
        for word in place.script.loop_words:
            if place.script.quote(word.span) and _BRACES.fullmatch(word.text):
                yield changed(place, word.span, "bash does not expand braces in quotes", word.text, "Remove the quotes")


@rule(Severity.WARNING, about=("find",))
def pattern_without_quotes(job: Job) -> Iterator[Finding]:
    """Bash expands a pattern that is meant for find.

    When files in the current folder match, bash replaces the pattern by their names, and find stops with "paths must
    precede expression".
    Source: find(1), "-name pattern"; the bash reference manual, "Filename Expansion".

        taskRoles:
          worker:
            commands:
              - find . -name *.py
              #              ^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - find . -name "*.py"
    """
    for use in uses(job, "find"):
        for number, word in enumerate(use.line.arguments[1:], 1):
            option = use.line.arguments[number - 1].text
            written = use.line.written(word)
            if option in {"-name", "-iname", "-path", "-ipath"} and "*" in written and written == word.text:
                message = "bash expands this pattern before find sees it; quote it"
                yield Finding(use.word(word), message, quote_words_fix(use.place, word.span))


@rule(Severity.WARNING, spreads=True)
def interactive_only(job: Job) -> Iterator[Finding]:
    """A script uses an alias or history expansion.

    Bash only expands aliases, `!!` and `!$` in interactive shells: "command not found".
    Source: the bash reference manual, "Aliases" and "History Interaction".

        taskRoles:
          worker:
            commands:
              - alias ll='ls -l'
              - ll
              # ^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - ll() { ls -l "$@"; }
              - ll
    """
    for place in scripts(job, with_callbacks=True):
        aliases: dict[str, str] = {}
        expands = place.mentions("expand_aliases")
        for line in place.lines.all:
            name = line.name.text
            if name == "alias":
                for word in line.arguments:
                    key, equals, value = word.text.partition("=")
                    if equals and not expands:
                        aliases[key] = value
            elif name in aliases and name not in place.script.functions and not line.wrappers:
                message = f"bash does not expand the alias '{name}' in scripts"
                yield changed(place, line.name.span, message, aliases[name])
            elif name in {"!!", "!$"}:
                yield Finding(place.span(line.name.span), f"bash does not expand '{name}' in scripts")


@rule(Severity.WARNING)
def comment_of_other_language(job: Job) -> Iterator[Finding]:
    """A comment has the form of another language.

    Bash runs `//` as a program, "Is a directory", code 126, which ends the task. A comment begins with `#`.
    Source: the bash reference manual, "Comments".

        taskRoles:
          worker:
            commands:
              - // start the training
              # ^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - |
                # start the training
                python train.py
    """
    for use in all_uses(job):
        name = use.line.words[0]
        if name.text[:1] == "/" and name.is_literal and re.fullmatch(r"//\W*\w*|/\*+", name.text):
            start = Span(name.span.start, name.span.start + 2)
            is_line = use.line.step.before in {"", "\n"} and name.text.startswith("//")
            message = f"bash runs '{name.text}' as a program; a comment begins with '#'"
            yield changed(use.place, start, message, "#" if is_line else None, at=name.span)


@rule(Severity.WARNING)
def path_replaced(job: Job) -> Iterator[Finding]:
    """`PATH` no longer contains the system's folders.

    Bash then finds no program: "command not found".
    Source: the bash reference manual, "Command Search and Execution".

        taskRoles:
          worker:
            commands:
              - export PATH=/opt/tools
              #        ^^^^^^^^^^^^^^^ warning
              - python train.py

    Good:

        taskRoles:
          worker:
            commands:
              - export PATH=/opt/tools:$PATH
              - python train.py
    """
    for place in scripts(job):
        hidden: set[int] | None = None
        for one in place.script.assignments:
            value = one.plain_value if one.name == "PATH" else None
            if value is None or one.value is None or not _FOLDERS.fullmatch(value) or _SYSTEM.search(value):
                continue
            if hidden is None:
                hidden = hidden_assignments(structure(place.script))
            if one.span.start in hidden:
                continue  # for one program, or in a process of its own
            at = place.inner(one.value).end
            last = Span(at - 1, at)
            message = "this removes the folders with all programs of the system; add ':$PATH'"
            yield changed(place, last, message, f"{place.written(last)}:$PATH", "Add ':$PATH'", at=one.whole)


_FOLDERS = lazy_pattern(r"[\w./:-]+")
_SYSTEM = lazy_pattern(r"(?:^|:)(?:/usr)?/bin\b")


@rule(Severity.WARNING, about=("sh", "dash"))
def source_in_sh(job: Job) -> Iterator[Finding]:
    """A script for `sh` uses `source`.

    In Debian and Ubuntu images `sh` is dash, which has no `source`: "source: not found". Use `bash -c` or `.`.
    Source: dash(1); Debian Policy, 10.4.

        taskRoles:
          worker:
            commands:
              - sh -c "source env.sh"
              #       ^^^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - bash -c "source env.sh"
    """
    for use in uses(job, "sh", "dash"):
        words = use.line.arguments
        runs = command_lines(read_script(words[1].text)).by_program if len(words) > 1 and words[0].text == "-c" else ()
        if "source" in runs:
            message = "'sh' has no 'source' in Debian and Ubuntu images; use 'bash'"
            yield changed(use.place, use.line.name.span, message, "bash", at=words[1].span)


_WINDOWS_PATH = lazy_pattern(r"(?:\.{1,2}|[A-Za-z]:)(?:\\[A-Za-z][\w.-]*)+")


@rule(Severity.WARNING)
def windows_path(job: Job) -> Iterator[Finding]:
    r"""A path has backslashes.

    Outside quotes bash removes backslashes: `.\run.sh` is `.run.sh`.
    Source: the bash reference manual, "Escape Character".

        taskRoles:
          worker:
            commands:
              - bash .\run.sh
              #      ^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - bash ./run.sh
    """
    for use in all_uses(job):
        for word in (use.line.name, *use.line.arguments):
            written = use.line.written(word) if word.is_quoted else ""
            if "\\" in written[:-1] and _WINDOWS_PATH.fullmatch(written):
                new = None if ":" in written else written.replace("\\", "/")
                yield changed(use.place, word.span, "bash removes the backslashes; use '/'", new)


def _is_for_script(line: CommandLine) -> bool:
    """Whether a script of somebody's own may get the words, which can split them."""
    return any(word.text.endswith((".sh", ".bash")) for word in (line.name, *line.arguments))


def _is_value(line: CommandLine, number: int) -> bool:
    """Whether a word may be the value of the option before it."""
    before = line.arguments[number - 1].text if number else ""
    if before.startswith("-") and "=" not in before:
        return True
    known = known_line(line)
    return known is not None and any(word is line.arguments[number] for word in known.arguments.values)
