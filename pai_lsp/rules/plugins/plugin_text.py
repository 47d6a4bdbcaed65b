"""Rules about strings that do not reach a plugin as they are written.

The runtime formats a plugin's parameters in Python syntax and parses that text as YAML;
pai_lsp/job/plugin_parameters.py computes the result. `pai-lsp expand` writes the job so that the strings arrive
unchanged.
"""

from __future__ import annotations

from pai_lsp.findings.diagnostic import Consequence, Finding, Fixes, Severity, Stage, later, rule
from pai_lsp.findings.fixes import fix_of
from pai_lsp.job.definition import CALLBACK_KEYS, COMMAND_KEYS, TEXT_KEYS
from pai_lsp.job.plugin_parameters import NOT_PARAMETERS, Damage, damages
from pai_lsp.job.uses import command_entries
from pai_lsp.rules.prerequisites.extension import uses_extended_protocol
from pai_lsp.source.edits import line_end
from pai_lsp.source.nodes import Mapping, Scalar, Sequence
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span, TextEdit, column
from pai_lsp.source.type_checking import TYPE_CHECKING
from pai_lsp.source.writing import flow_scalar, scalar_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Entry, Node

# What expansion writes so that the runtime does not change it.
_REPAIRED_KEYS = COMMAND_KEYS | TEXT_KEYS
_COMMENT = lazy_pattern(r"[|>][-+0-9]*([ \t]+#[^\r\n]*)")
_HEADER = lazy_pattern(r"([|>])([1-9]?)([+-]?)([1-9]?)")


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=("plugin",))
def quotes_in_plugin_command(job: Job) -> Iterator[Finding]:
    """A string of a runtime plugin has both `'` and `"`.

    The runtime formats the parameters in Python syntax and parses them as YAML. For a string with both kinds of quotes
    the result is not valid YAML: the init container fails, and the job ends before the user's commands. This applies to
    every key of a prerequisite that a task role lists, even `description`. Use one kind of quotes, move the string into
    the task role's `commands`, or submit the output of `pai-lsp expand`.
    Source: openpai-runtime, src/init.d/initializer.py, init_plugins.

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands:
                  - echo "it's on"
                  # ^^^^^^^^^^^^^^ error
        taskRoles:
          worker:
            prerequisites: [setup]

    Good:

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands:
                  - echo "it is on"
        taskRoles:
          worker:
            prerequisites: [setup]
    """
    for scalar in _damaged(job, Damage.QUOTES):
        message = "the runtime cannot pass on a string with both ' and \"; the task dies before it starts"
        yield Finding(scalar.span, message)


@rule(Severity.ERROR, stage=Stage.RUNTIME, consequence=Consequence.FAILS, about=("plugin",))
def multiline_plugin_command(job: Job) -> Iterator[Finding]:
    r"""A string of a runtime plugin has several lines, or ends with a line end.

    The plugin receives two characters, a backslash and an n, instead of each line end: `cd x` and `make` become one
    broken command, `cd x\nmake`. (Line ends only survive in a string with a `'` and without a `"`.) All commands of a
    callback run in one script, so write each line as an item. A folded block (`>-`) has no line ends.
    Source: openpai-runtime, src/init.d/initializer.py, init_plugins.

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands:
                  - |
                  # ^ error
                    cd /root
                    make
        taskRoles:
          worker:
            prerequisites: [setup]

    Good:

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands:
                  - cd /root
                  - make
        taskRoles:
          worker:
            prerequisites: [setup]
    """
    damaged = [one for one in _damaged(job, Damage.LINE_BREAK) if "\n" in one.text]
    lists = {item: commands for commands in _command_lists(job) for item in commands.items} if damaged else {}
    for scalar in damaged:
        lines = scalar.text.rstrip("\r\n").split("\n")
        message = "the runtime adds the two characters backslash and n to this line, so bash runs a broken line"
        if len(lines) > 1:
            how = "with the two characters backslash and n"
            message = f"the runtime joins these lines {how}, so bash runs one broken line"
        yield Finding(scalar.span, message, _line_fixes(job, scalar, lines, lists.get(scalar)))


@later
def _line_fixes(job: Job, scalar: Scalar, lines: list[str], commands: Sequence | None) -> Fixes:
    header = _HEADER.match(job.text, scalar.span.start) if scalar.is_block else None
    if len(lines) == 1 and header:
        written = f"{header[1]}{header[2] or header[4]}-"
        return fix_of(f"Remove the line end with '{written}'", TextEdit, Span(*header.span()), written, safe=True)
    if commands is None:
        return ()
    if commands.is_flow:
        text = ", ".join(map(flow_scalar, lines))
    else:
        pad = " " * column(job.text, job.text.rfind("-", 0, scalar.span.start))
        comment = _COMMENT.match(job.text, scalar.span.start) if scalar.is_block else None
        first, *rest = map(scalar_line, lines)
        text = f"{line_end(job.text)}{pad}- ".join([first + comment[1] if comment else first, *rest])
    return fix_of("Write each line as an item", TextEdit, scalar.span, text, safe=True)


@rule(Severity.WARNING, stage=Stage.RUNTIME, about=("plugin",))
def backslash_in_plugin_command(job: Job) -> Iterator[Finding]:
    r"""A command of a runtime plugin has a backslash, which the runtime doubles.

    Backslashes are only kept in a string with a `'` and without a `"`.
    Source: openpai-runtime, src/init.d/initializer.py, init_plugins.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: cmd
              parameters:
                preCommands:
                  - grep -c \d+ log
                  # ^^^^^^^^^^^^^^^ warning

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: cmd
              parameters:
                preCommands:
                  - grep -c '\d+' log
    """
    for scalar in _damaged(job, Damage.BACKSLASH):
        yield Finding(scalar.span, "the runtime doubles every backslash in this string")


@rule(Severity.WARNING, stage=Stage.RUNTIME, about=("plugin",))
def tab_in_plugin_command(job: Job) -> Iterator[Finding]:
    r"""A command of a runtime plugin has a tab, which reaches the plugin as a backslash and a t.

    Tabs are only kept in a string with a `'` and without a `"`.
    Source: openpai-runtime, src/init.d/initializer.py, init_plugins.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: cmd
              parameters:
                preCommands:
                  - "printf a\tb"
                  # ^^^^^^^^^^^^^ warning

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: cmd
              parameters:
                preCommands:
                  - "printf 'a\tb'"
    """
    for scalar in _damaged(job, Damage.TAB):
        message = "the runtime replaces the tab in this string with the two characters backslash and t"
        yield Finding(scalar.span, message)


@rule(Severity.WARNING, stage=Stage.RUNTIME, about=("plugin",))
def invisible_character_in_plugin_command(job: Job) -> Iterator[Finding]:
    r"""A command of a runtime plugin has an invisible character, which becomes an escape sequence.

    A no-break space, copied from a web page, becomes the four characters `\xa0`. Such characters are only kept in a
    string with a `'` and without a `"`.
    Source: openpai-runtime, src/init.d/initializer.py, init_plugins.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: cmd
              parameters:
                preCommands:
                  - "echo\_hello"
                  # ^^^^^^^^^^^^^ warning

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: cmd
              parameters:
                preCommands:
                  - "echo hello"
    """
    for scalar in _damaged(job, Damage.UNPRINTABLE):
        character = next(one for one in scalar.text if not one.isprintable() and one not in "\n\r\t")
        message = f"the runtime replaces U+{ord(character):04X} in this string with an escape sequence"
        yield Finding(scalar.span, message)


def _damaged(job: Job, damage: Damage) -> Iterator[Scalar]:
    """The strings that suffer this damage on a released cluster.

    For QUOTES, every string of a plugin's parameters counts; otherwise only those that the plugin uses.
    """
    is_any = damage is Damage.QUOTES
    found = (one for entry in _parameters(job, every=is_any) for one in _scalars(entry, every=is_any))
    damaged = dict.fromkeys(one for one in found if damage in damages(one.text))
    return (one for one in damaged if isinstance(one.runtime_value, str))


def _parameters(job: Job, *, every: bool) -> Iterator[Entry]:
    """The parameters that the runtime passes to plugins, for definitions that a task role lists.

    Without those that expansion writes otherwise, if the job needs expansion.
    """
    repaired = _REPAIRED_KEYS if uses_extended_protocol(job) else frozenset[str]()
    for definition in job.prerequisites:
        name = definition.runtime_plugin
        if name is not None and job.roles_listing(definition):
            for entry in definition.node.effective_entries():
                if entry.name in repaired and (name == "cmd" or entry.name not in COMMAND_KEYS):
                    continue
                if entry.name not in NOT_PARAMETERS and (every or _is_used(job, name, entry)):
                    yield entry
    for plugin in job.plugins:
        if isinstance(plugin.parameters, Mapping):
            for entry in plugin.parameters.effective_entries():
                if plugin.plugin == "cmd" and entry.name in repaired & COMMAND_KEYS:
                    continue
                if every or _is_used(job, plugin.plugin, entry):
                    yield entry


def _is_used(job: Job, plugin: str, entry: Entry) -> bool:
    # The script of `ssh` interprets escapes in the user's key, its only string.
    known = job.platform.plugins.get(plugin) if plugin != "ssh" else None
    return known is not None and any(parameter.name == entry.name for parameter in known.parameters)


def _scalars(entry: Entry, *, every: bool) -> Iterator[Scalar]:
    """The scalars of a parameter; of callbacks only those that the plugin reads, unless `every` one is wanted."""
    is_any_key_read = every or entry.name != "callbacks"
    waiting: list[Node] = [entry.value, entry.key]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Scalar):
            yield node
        elif isinstance(node, Mapping):
            read = (one for one in node.effective_entries()[::-1] if is_any_key_read or one.name in CALLBACK_KEYS)
            waiting += (one for below in read for one in (below.value, below.key))
        else:
            waiting += reversed(node.items)


def _command_lists(job: Job) -> Iterator[Sequence]:
    """The lists of commands, where each line can be an item."""
    for use in job.uses_of_plugin("cmd"):
        yield from (entry.value for entry in command_entries(use) if isinstance(entry.value, Sequence))
