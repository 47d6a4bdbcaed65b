"""Rules about the text of commands as bash reads it, where YAML or the platform gives it another meaning than intended.

A task role's commands are one script: each trimmed, joined by line ends, run with errexit, nounset and pipefail. Each
callback is a script and a process of its own. Sources: rest-server, middlewares/v2/protocol.js, protocolRender;
openpai-runtime, src/runtime.d/runtime_entry.sh and src/plugins/plugin_utils.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.embedded.shell import read_script
from pai_lsp.findings.diagnostic import Finding, Fix, Related, Severity, rule
from pai_lsp.findings.fixes import choice_fixes
from pai_lsp.job.uses import command_lists
from pai_lsp.job.variable_places import ScriptPlace, callback_scripts, role_scripts
from pai_lsp.source.content import mapped
from pai_lsp.source.nodes import Scalar, Style
from pai_lsp.source.spelling import nearest
from pai_lsp.source.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.shell_script import Script, VariableUse
    from pai_lsp.job.job import Job
    from pai_lsp.job.uses import PluginUse

# A line of prose that goes on in the next one is at least this long; a shorter one ends where its author ended it.
_PROSE_WIDTH = 50
# Variables with small letters that a container has without anybody's doing.
_PROXIES = frozenset({"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"})
_NEAR = 0.87


@rule(Severity.WARNING)
def comment_in_folded_scalar(job: Job) -> Iterator[Finding]:
    """A comment swallows the commands that follow it, because YAML makes one line of them.

    In a `>` block, as in a plain or quoted text over several lines, a line end means a blank. For bash the comment then
    reaches to the end of it all. In a `|` block lines stay lines.
    Source: YAML 1.2, 8.1.3 (folding); the bash reference manual, "Comments".

        taskRoles:
          worker:
            commands:
              - >-
                cd /data
                # unpack
                #^^^^^^^ warning
                tar xf train.tar

    Good:

        taskRoles:
          worker:
            commands:
              - |-
                cd /data
                # unpack
                tar xf train.tar
    """
    for scalar in _command_scalars(job):
        if "#" not in scalar.text or scalar.style is Style.LITERAL:
            continue
        if "\n" not in job.text[scalar.span.start : scalar.span.end]:
            continue
        place = mapped(job.text, scalar)
        for comment in read_script(scalar.text).comments:
            span = place.span(comment.start, comment.end)
            first, *others = job.text[span.start : span.end].splitlines()
            swallowed = [line.strip() for line in others]
            is_prose = not scalar.text[: comment.start].strip() and len(first) >= _PROSE_WIDTH
            if is_prose or all(not line or line.startswith("#") for line in swallowed):
                continue
            edit = TextEdit(Span(scalar.span.start, scalar.span.start + 1), "|")
            fixes = (Fix("Keep the lines apart with '|'", (edit,)),) if scalar.style is Style.FOLDED else ()
            message = "this comment swallows the lines below it: YAML makes one line of them"
            yield Finding(Span(span.start, span.start + len(first)), message, fixes)


@rule(Severity.WARNING)
def crlf_in_commands(job: Job) -> Iterator[Finding]:
    r"""A command holds the line ends of Windows.

    YAML makes `\n` of a file's own line ends, but keeps a `\r` that is written as an escape, as programs do that turn a
    script into YAML. To bash it belongs to the last word of its line: "command not found", or a file whose name ends
    with it.
    Source: openpai, issue 1897; the bash reference manual, "Definitions" (blank, word).

        taskRoles:
          worker:
            commands:
              - "cd /data\r\nls"
              #          ^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - "cd /data\nls"
    """
    for scalar in _command_scalars(job):
        if "\r\n" not in scalar.text.strip():
            continue
        place = mapped(job.text, scalar)
        ends = [
            at for at, character in enumerate(scalar.text) if character == "\r" and scalar.text[at + 1 : at + 2] == "\n"
        ]
        edits = tuple(TextEdit(place.span(at, at + 1), "") for at in ends)
        is_certain = all(job.text[edit.span.start : edit.span.end] == "\\r" for edit in edits)
        fixes = (Fix("Remove the carriage returns", edits, safe=True),) if is_certain else ()
        yield Finding(edits[0].span, "bash takes the carriage return for a part of the word before it", fixes)


@rule(Severity.WARNING)
def export_in_callback(job: Job) -> Iterator[Finding]:
    """A callback exports a variable that the task role's commands read.

    Every callback runs in a process of its own, so its variables, functions and working directory end with it. The
    commands stop at the variable: "unbound variable". Set it in the commands themselves, or let the callback write a
    file that the commands `source`; `pai-lsp expand --inline` puts callbacks in front of the commands.
    Source: openpai-runtime, src/runtime.d/runtime_entry.sh (precommands.sh and user.sh are siblings); openpai, issue
    5145, whose own example has this mistake.

        prerequisites:
          - name: mnist
            type: data
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands: [export DATA_DIR=/mnt/mnist]
                #                 ^^^^^^^^ warning
        taskRoles:
          worker:
            prerequisites: [mnist]
            commands: [ls $DATA_DIR]

    Good:

        prerequisites:
          - name: mnist
            type: data
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands: [mkdir -p /mnt/mnist]
        taskRoles:
          worker:
            prerequisites: [mnist]
            commands: [export DATA_DIR=/mnt/mnist, ls $DATA_DIR]
    """
    for plugin in job.uses_of_plugin("cmd"):
        for place in callback_scripts(job, command_lists([plugin], "export")):
            for assignment in place.script.assignments:
                if not assignment.is_exported:
                    continue
                reading = _first_reading(job, plugin, assignment.name)
                if reading is not None:
                    commands, use = reading
                    message = f"a callback runs in a process of its own; the commands do not get '{assignment.name}'"
                    related = (Related(commands.span(use.span), "not set here"),)
                    yield Finding(place.span(assignment.span), message, related=related)


@rule(Severity.INFORMATION)
def unset_variable_in_commands(job: Job) -> Iterator[Finding]:
    """Commands read a variable that they never set.

    They run with `set -o nounset`, so that the task ends there with "unbound variable" unless the image sets the
    variable. Only names with small letters are reported, which images hardly set, and names that look like a slip of
    one that the commands do set. `${X:-}` says that the variable may be missing.
    Source: openpai-runtime, src/runtime.d/runtime_entry.sh (`set -o nounset`).

        taskRoles:
          worker:
            commands:
              - MODEL_DIR=/models
              - ls $MODELS_DIR $epoch
              #     ^^^^^^^^^^ information
              #                 ^^^^^ information

    Good:

        taskRoles:
          worker:
            commands:
              - MODEL_DIR=/models
              - ls $MODEL_DIR ${epoch:-1}
    """
    exported: set[str] | None = None
    for place in role_scripts(job):
        script = place.script
        if not script.uses or script.is_open_ended or script.allows_unset:
            continue
        for use in script.uses:
            if not _is_unset(script, use) or use.name in _PROXIES or use.name.startswith(("PAI_", "FC_")):
                continue
            if use.name.rstrip("_") in {"taskRole", "taskIndex", "portType"}:
                continue
            near = nearest(use.name, script.assigned_names, _NEAR)[:1]
            if not near and use.name.upper() == use.name:
                continue
            exported = _exported_names(job) if exported is None else exported
            if use.name in exported:
                continue
            span = place.span(use.name_span)
            fixes = choice_fixes(span, near)
            guess = f"; did you mean '{near[0]}'?" if near else ""
            yield Finding(span, f"nothing sets '{use.name}' in these commands{guess}", fixes)


def _command_scalars(job: Job) -> Iterator[Scalar]:
    """The texts that the task roles run, each once."""
    seen: set[int] = set()
    for role in job.task_roles:
        for scalar in job.command_parts(role):
            if id(scalar) not in seen:
                seen.add(id(scalar))
                yield scalar


def _is_unset(script: Script, use: VariableUse) -> bool:
    return not script.provides_for(use.name)


def _first_reading(job: Job, plugin: PluginUse, name: str) -> tuple[ScriptPlace, VariableUse] | None:
    """Where the commands of a role for which the callbacks run read a variable that they do not set."""
    roles = set(map(id, job.roles_of(plugin)))
    for place in role_scripts(job):
        if place.role is not None and id(place.role) in roles:
            for use in place.script.uses:
                if use.name == name and _is_unset(place.script, use):
                    return place, use
    return None


def _exported_names(job: Job) -> set[str]:
    """What any callback exports: `export_in_callback` speaks of those."""
    scripts = [place.script for place in callback_scripts(job, command_lists(job.uses_of_plugin("cmd")))]
    return {assignment.name for script in scripts for assignment in script.assignments if assignment.is_exported}


RULES = (comment_in_folded_scalar, crlf_in_commands, export_in_callback, unset_variable_in_commands)
