"""Rules about the callbacks of the `cmd` plugin, and `failurePolicy`: in prerequisites and in the plugins of `extras`.

Facts: openpai-runtime, src/plugins/cmd/init.py, src/plugins/plugin_utils.py and src/init.d/initializer.py.
"""

from __future__ import annotations

from pai_lsp.findings.diagnostic import Consequence, Finding, Fix, Fixes, Related, Severity, Stage, later, rule
from pai_lsp.findings.fixes import (
    change_fix,
    choice_fixes,
    first_of,
    fix_of,
    near_name_fixes,
    quote_fix,
    wrap_in_list_fix,
    wrap_mapping_fixes,
)
from pai_lsp.job.definition import SIMPLE_KEYS, Definition, name_span
from pai_lsp.job.require_graph import (
    CALLBACK_FORM,
    CALLBACK_NEEDS_COMMANDS,
    CALLBACK_NEEDS_EVENT,
    CALLBACKS_FORM,
    EVENT_FORM,
    command_is_no_text,
    no_event,
)
from pai_lsp.job.uses import callback_items, callbacks, command_entries, item_place
from pai_lsp.platform.tables import event_at, events, released_events
from pai_lsp.rules.plugins.plugin_entries import as_severe, is_ignored, never_runs, parameters_of, prepared
from pai_lsp.source.edits import append_item, insert_entry, line_span, remove_entry, remove_item
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Mapping, Scalar, ScalarStyle, Sequence
from pai_lsp.source.text import TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING
from pai_lsp.source.writing import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.uses import PluginUse
    from pai_lsp.source.nodes import Entry, Node


@rule(Severity.ERROR, stage=Stage.RUNTIME, consequence=Consequence.IGNORED, about=("cmd",))
def invalid_event(job: Job) -> Iterator[Finding]:
    """A callback waits for an event that does not exist.

    The runtime only knows `taskStarts` and `taskSucceeds`, in exactly this spelling. It silently ignores every other
    callback, so the commands never run. `taskFails` and `containerExit` belong to the extended protocol
    (`needs-expansion`). The rest-server accepts the job; this rule is stricter because the commands are meant to run.
    Source: openpai-runtime, src/plugins/cmd/init.py; docs/protocol.md, "Events".

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: TaskStart
                #      ^^^^^^^^^ error
                commands: ["echo hello"]

    Good:

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands: ["echo hello"]
    """
    for use in job.uses_of_plugin("cmd"):
        for callback in callbacks(use):
            entry = callback.entry("event")
            if entry is None or not isinstance(entry.value, Scalar) or entry.value.text in events():
                continue
            span, name = name_span(entry.value), entry.value.text
            if not name:
                yield Finding(entry.place, no_event(""))
                continue
            if callback.entry("commands") is None and name.split(None, 1)[0] in events():
                continue  # without the line 'commands:', its items are read as a part of the event
            fixes = first_of(near_name_fixes(span, name, events()), choice_fixes(span, released_events()))
            yield Finding(span, no_event(name), fixes)


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=("cmd",))
def callback_incomplete(job: Job) -> Iterator[Finding]:
    """A callback is not a mapping with an `event` and a list of `commands`.

    Each callback must be a mapping with an `event` and a list of `commands`. Otherwise the plugin fails while the task
    is prepared: the job ends before the user's commands, as if the platform had failed. With `failurePolicy: ignore`,
    the task starts without the callbacks, which is a warning.
    Source: openpai-runtime, src/plugins/cmd/init.py.

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - commands: ["echo hello"]
                #^^^^^^^^^^^^^^^^^^^^^^^ error
              - event: taskSucceeds
                #^^^^^^^^^^^^^^^^^^ error

    Good:

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands: ["echo hello"]
    """
    for use in job.uses_of_plugin("cmd"):
        for found in _incomplete_in(job, use):
            yield as_severe(use, replace(found, consequence=job.once(_of_wrong_commands)))


def _incomplete_in(job: Job, use: PluginUse) -> Iterator[Finding]:
    entry = use.entry("callbacks")
    if entry and not isinstance(entry.value, Sequence):
        yield Finding(entry.place, CALLBACKS_FORM, wrap_mapping_fixes(entry.value, safe=True))
    for item in callback_items(use):
        if isinstance(item, Mapping):
            yield from _incomplete(job, item)
        else:
            yield Finding(item_place(job, item), CALLBACK_FORM)


def _incomplete(job: Job, callback: Mapping) -> Iterator[Finding]:
    event, commands = callback.entry("event"), callback.entry("commands")
    if event is None:
        fixes = fix_of("Add 'event: taskStarts'", insert_entry, job.text, callback, "event: taskStarts")
        yield Finding(callback.span, CALLBACK_NEEDS_EVENT, fixes)
    elif not isinstance(event.value, Scalar):
        yield Finding(event.value.span, EVENT_FORM)
    if commands is None:
        fixes = fix_of("Add 'commands'", insert_entry, job.text, callback, "commands: [echo hello]")
        yield Finding(callback.span, CALLBACK_NEEDS_COMMANDS, fixes)
    elif isinstance(commands.value, Scalar) and commands.value.runtime_value is None:
        yield Finding(commands.key.span, "'commands' must be a list of strings, but is empty")


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=("cmd",))
def callback_command_not_text(job: Job) -> Iterator[Finding]:
    """A command of the `cmd` plugin is not a string.

    `commands`, `preCommands` and `postCommands` are lists of strings. With a number, `yes`, a date, a list or a mapping
    (an unquoted `: ` makes one) the plugin fails, and the job ends before the user's commands; with
    `failurePolicy: ignore`, the task starts without them, which is a warning. An empty item runs `None`, and a string
    instead of a list runs letter by letter.
    Source: openpai-runtime, src/plugins/plugin_utils.py, inject_commands.

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands:
                  - yes
                  # ^^^ error
                  - echo note: done
                  # ^^^^^^^^^^^^^^^ error
              - event: taskSucceeds
                commands: echo bye
                #         ^^^^^^^^ error

    Good:

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands:
                  - "yes"
                  - "echo note: done"
              - event: taskSucceeds
                commands: [echo bye]
    """
    for use in job.uses_of_plugin("cmd"):
        for entry in command_entries(use):
            for found in _no_commands(job, entry):
                yield as_severe(use, replace(found, consequence=found.consequence or job.once(_of_wrong_commands)))


def _of_wrong_commands(job: Job) -> Consequence | None:
    """What becomes of the job where the plugin does not fail: it writes `inf`, or reads no callback."""
    from pai_lsp.expansion.released_run import released_run  # noqa: PLC0415 - most jobs have no such command

    return None if job.syntax.problems or released_run(job).stops else Consequence.FAILS


def _no_commands(job: Job, entry: Entry) -> Iterator[Finding]:
    if isinstance(entry.value, Sequence):
        for item in entry.value.items:
            yield from _not_text(job, entry.value, item)
    elif not isinstance(entry.value, Scalar):
        yield Finding(entry.value.span, f"'{entry.name}' must be a list of strings, not a mapping")
    elif entry.value.runtime_value is not None:
        is_text = isinstance(entry.value.runtime_value, str)
        message = f"'{entry.name}' must be a list{'; a string runs letter by letter' if is_text else ''}"
        yield Finding(entry.value.span, message, wrap_in_list_fix(job.text, entry.value))
    elif entry.name in SIMPLE_KEYS:
        yield Finding(entry.place, f"'{entry.name}' must be a list of strings, but is empty")


def _not_text(job: Job, commands: Sequence, item: Node) -> Iterator[Finding]:
    if not isinstance(item, Scalar):
        kind = "mapping" if isinstance(item, Mapping) else "list"
        written = job.text[item.span.start : item.span.end]
        is_line = isinstance(item, Mapping) and not item.is_flow and "\n" not in written
        fixes = fix_of("Quote it", TextEdit, item.span, quoted(written), safe=True) if is_line else ()
        yield Finding(item.span, command_is_no_text(kind), fixes)
        return
    value = item.runtime_value
    if isinstance(value, (str, ValueError)):
        return  # unreadable_value reports what the runtime cannot read at all
    if value is None and not item.text:
        removal = fix_of("Remove it", remove_item, job.text, commands, item)
        yield Finding(item_place(job, item), "an empty command runs 'None'", removal)
        return
    kind = _KINDS.get(type(value).__name__, "a date")
    message = f"a command must be a string; the runtime reads '{item.text}' as {kind}"
    yield Finding(item.span, message, quote_fix(item) if item.style is ScalarStyle.PLAIN else ())


_KINDS = {"int": "a number", "float": "a number", "bool": "true or false", "NoneType": "null", "bytes": "binary"}


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=("cmd",))
def callbacks_with_pre_post_commands(job: Job) -> Iterator[Finding]:
    """A prerequisite has both `callbacks` and `preCommands` or `postCommands`.

    The `cmd` plugin accepts one form or the other. With both it fails while the task is prepared, and the job ends
    before the user's commands. `preCommands` is the same as a callback for `taskStarts`, `postCommands` for
    `taskSucceeds`.
    Source: openpai-runtime, src/plugins/cmd/init.py (`assert "preCommands" not in parameters`).

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: cmd
              parameters:
                callbacks:
                  - event: taskSucceeds
                    commands: [echo bye]
                preCommands: [echo hello]
                #^^^^^^^^^^ error

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: cmd
              parameters:
                callbacks:
                  - event: taskSucceeds
                    commands: [echo bye]
                  - event: taskStarts
                    commands: [echo hello]
    """
    for use, entry in parameters_of(job, "cmd", *SIMPLE_KEYS):
        if together := use.entry("callbacks"):
            related = (Related(together.key.span, "'callbacks' is here"),)
            message = f"'{entry.name}' cannot be used together with 'callbacks'; the task dies before it starts"
            yield Finding(entry.key.span, message, _merge(job, use, together, entry), related)


@later
def _merge(job: Job, use: PluginUse, together: Entry, entry: Entry) -> Fixes:
    """Convert simple commands to a callback, if they can be moved as they are written."""
    holder = use.parameters
    commands, first = entry.value, next(iter(callback_items(use)), None)
    if not isinstance(commands, Sequence) or not isinstance(together.value, Sequence) or not isinstance(first, Mapping):
        return ()
    if not isinstance(holder, Mapping) or entry not in holder.entries or together.value.is_flow or first.is_flow:
        return ()
    written = [job.text[item.span.start : item.span.end] for item in commands.items if isinstance(item, Scalar)]
    is_lossy = "#" in _between(job, entry, commands)  # a comment
    if is_lossy or len(written) < len(commands.items) or any("\n" in text or not text for text in written):
        return ()
    event = event_at(SIMPLE_KEYS[entry.name])
    item = "\n".join([f"event: {event}", "commands:", *(f"  - {text}" for text in written)])
    edits = (*remove_entry(job.text, holder, entry), append_item(job.text, together.value, item))
    return (Fix("Convert to a callback", edits, safe=True),)


def _between(job: Job, entry: Entry, commands: Sequence) -> str:
    """The text in the lines of some commands that is not part of them."""
    places = [entry.key.span.end, *(at for item in commands.items for at in (item.span.start, item.span.end))]
    places.append(line_span(job.text, entry.span).end)
    return "".join(job.text[start:end] for start, end in zip(places[::2], places[1::2], strict=True))


_POLICIES = ("fail", "ignore")


@rule(Severity.WARNING, stage=Stage.RUNTIME, about=("failurePolicy",))
def invalid_failure_policy(job: Job) -> Iterator[Finding]:
    """A failure policy is neither `ignore` nor `fail`.

    The runtime reads every string other than `ignore` as `fail`. With a capital letter, `Ignore` works for commands in
    the task, but not while the plugin itself is prepared.
    Source: openpai-runtime, src/plugins/plugin_utils.py, inject_commands; src/init.d/initializer.py, run_script.

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            failurePolicy: ignored
            #              ^^^^^^^ warning

    Good:

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            failurePolicy: ignore
    """
    for entry in _failure_policies(job):
        scalar = entry.value
        if not isinstance(scalar, Scalar) or not isinstance(scalar.runtime_value, str) or scalar.text in _POLICIES:
            continue
        span = name_span(scalar)
        lower = scalar.text.strip().lower()
        if lower in _POLICIES:
            yield Finding(span, f"write '{lower}' in lower case", change_fix(span, lower, safe=True))
        else:
            fixes = near_name_fixes(span, scalar.text, _POLICIES) if scalar.text else ()
            message = f"'{scalar.text}' is not a failure policy and means 'fail'; expected 'fail' or 'ignore'"
            yield Finding(span if scalar.text else entry.place, message, fixes)


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=("failurePolicy",))
def failure_policy_not_text(job: Job) -> Iterator[Finding]:
    """A failure policy is not a string.

    With null, a number or `yes` the plugin fails while the task is prepared, and the job ends before the user's
    commands. Where the plugin has no commands to run, nothing happens, which is a warning.
    Source: openpai-runtime, src/plugins/plugin_utils.py, inject_commands (`self._failure_policy.lower()`).

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            failurePolicy: no
            #              ^^ error
            callbacks: [{event: taskStarts, commands: [echo hello]}]

    Good:

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            failurePolicy: fail
            callbacks: [{event: taskStarts, commands: [echo hello]}]
    """
    for entry in _failure_policies(job):
        if isinstance(entry.value, Scalar) and isinstance(entry.value.runtime_value, str | bytes):
            continue
        uses = [use for use in job.plugin_uses if use.owner.node.entry("failurePolicy") is entry]
        is_expanded = any(isinstance(one.owner, Definition) and one.owner.runtime_plugin is None for one in uses)
        consequence = Consequence.FAILS if is_expanded else None
        is_unread = any(_is_never_run(job, use) or _has_no_commands(job, use) for use in uses)
        happens, severity = ("", Severity.WARNING) if is_unread else (", or the task dies before it starts", None)
        message = f"'failurePolicy' must be 'fail' or 'ignore'{happens}"
        fixes = choice_fixes(entry.value.span, _POLICIES)
        yield Finding(entry.place, message, fixes, severity=severity, consequence=consequence)


def _is_never_run(job: Job, use: PluginUse) -> bool:
    return never_runs(job, use.owner) if isinstance(use.owner, Definition) else is_ignored(job, use)


def _has_no_commands(job: Job, use: PluginUse) -> bool:
    """Whether a plugin surely writes no script, so that it does not read its failure policy."""
    if use.plugin.name == "ssh" and use.entry("userssh"):
        return False  # the keys of the user's account count as well
    found = prepared(job, use)
    return not (found.fails or found.pre or found.post)


def _failure_policies(job: Job) -> Iterator[Entry]:
    """Every `failurePolicy` that a plugin reads, some of them only in an expanded job."""
    known = {*job.platform.plugins, *job.site_plugins}
    for definition in job.definitions:
        entry = definition.node.entry("failurePolicy")
        is_plugin = definition.runtime_plugin is not None or definition.extended_plugin in known
        if entry and is_plugin and definition.type != "dockerimage":
            yield entry
    for plugin in job.plugins:
        if entry := plugin.node.entry("failurePolicy"):
            yield entry
