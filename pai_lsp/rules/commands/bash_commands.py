"""Rules about commands to which YAML or the platform gives an unintended meaning in bash.

A task role's commands are one script: trimmed, joined by line ends, and run with errexit, nounset and pipefail. Each
callback is a separate script and process. Sources: rest-server, middlewares/v2/protocol.js, protocolRender;
openpai-runtime, src/runtime.d/runtime_entry.sh and src/plugins/plugin_utils.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.embedded.shell import read_script
from pai_lsp.findings.diagnostic import Finding, Fix, Related, Severity, rule
from pai_lsp.findings.fixes import choice_fixes
from pai_lsp.job.uses import command_lists
from pai_lsp.job.variable_places import ScriptPlace, callback_scripts
from pai_lsp.platform.launchers import OPERATOR_HOST_FILE
from pai_lsp.source.content import mapped
from pai_lsp.source.nodes import Scalar, ScalarStyle
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import nearest
from pai_lsp.source.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.shell_script import Script, VariableUse
    from pai_lsp.job.job import Job
    from pai_lsp.job.uses import PluginUse

# Minimum length of a line of prose that continues on the next line; a shorter line was ended on purpose.
_PROSE_WIDTH = 50
# What is in front of a file of hosts.
_HOST_FILE = lazy_pattern(r"(?:hostfile|machinefile)[ =]+[\"']?\Z")
# Lower-case variables that a container may have by default.
_PROXIES = frozenset({"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"})
_NEAR = 0.87
# Names that bash or images set: those of the system, and those of software with its own prefix.
_SET_BY_IMAGES = lazy_pattern(
    r"(?:HOME|PATH|PWD|OLDPWD|HOSTNAME|SHELL|TERM|SHLVL|E?UID|PPID|RANDOM|SECONDS|IFS|OPT(?:IND|ARG)|OSTYPE|MACHTYPE"
    r"|HOSTTYPE|LINENO|REPLY|TZ|TMP|TEMP|TMPDIR|MAIL|USER|LOGNAME|DISPLAY|PS1|EDITOR|GROUPS|SRANDOM|EPOCH\w*|COLUMNS"
    r"|LINES|WORKDIR|LANG|LANGUAGE|LD_LIBRARY_PATH|LD_PRELOAD|(?:LC|XDG|SSH|DEBIAN|BASH|FUNCNAME|PIPESTATUS|CUDA|CUDNN|NVIDIA|NV|NCCL|GLOO|PYTHON"
    r"|CONDA|MAMBA|VIRTUAL|PIP|TORCH|TF|KERAS|OMPI|OPAL|PMIX|MPI|HOROVOD|MKL|OMP|JAVA|JRE|HADOOP|SPARK|HDFS|NODE|NPM|GO"
    r"|GOPATH|CARGO|RUST|AZURE|AML|AWS|HF|ROS|INTEL|KUBERNETES|FRAMEWORK|TASK|MASTER|WORLD|RANK|LOCAL|CC|CXX|C|CPLUS"
    r"|LIBRARY|PKG|MAN|HTTPS?|NO|ALL|FTP)(?:_\w*|[A-Z]*PATH|[A-Z]*HOME)?|.*_(?:HOME|ROOT|VERSION|PATH))$"
)


@rule(Severity.WARNING)
def comment_in_folded_scalar(job: Job) -> Iterator[Finding]:
    """Comment that swallows the following commands, because YAML joins the lines.

    In a `>` block, and in an unquoted or quoted string over several lines, YAML replaces line ends with spaces. In bash
    the comment then extends to the end of the whole string. A `|` block keeps the lines.
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
        if "#" not in scalar.text or scalar.style is ScalarStyle.LITERAL:
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
            fixes = (Fix("Keep the lines with '|'", (edit,)),) if scalar.style is ScalarStyle.FOLDED else ()
            message = "YAML joins these lines, so bash reads the lines below as part of this comment"
            yield Finding(Span(span.start, span.start + len(first)), message, fixes)


@rule(Severity.WARNING)
def crlf_in_commands(job: Job) -> Iterator[Finding]:
    r"""Windows line ends in a command.

    YAML converts the file's own line ends to `\n`, but keeps a `\r` that is written as an escape, as by programs that
    convert a script to YAML. Bash treats it as part of the last word of the line: "command not found", or a file whose
    name ends with it.
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
        yield Finding(
            edits[0].span, "this line ends with CRLF; bash treats the carriage return as part of the last word", fixes
        )


@rule(Severity.WARNING)
def export_in_callback(job: Job) -> Iterator[Finding]:
    """Variable exported in a callback but read in the task role's commands.

    Every callback runs in a separate process, so its variables, functions and working directory end with it. The
    commands stop at the variable: "unbound variable". Set it in the commands, or let the callback write a file that the
    commands `source`; `pai-lsp expand --inline` puts callbacks before the commands.
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
                    message = (
                        f"a callback runs in a separate process, so '{assignment.name}' is not set in the commands"
                    )
                    related = (Related(commands.span(use.span), "not set here"),)
                    yield Finding(place.span(assignment.span), message, related=related)


@rule(Severity.INFORMATION)
def unset_variable_in_commands(job: Job) -> Iterator[Finding]:
    """Variable that is not set in the commands.

    Commands run with `set -o nounset`, so the task ends there with "unbound variable" unless the image sets the
    variable. Names that images, bash or the platform set are not reported, unless they look like a misspelling of one
    that the commands set. Write `${X:-}` if the variable may be unset.
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
    for place in job.role_scripts:
        script = place.script
        if not script.uses or script.is_open_ended or script.allows_unset:
            continue
        for use in script.uses:
            if not _is_unset(script, use) or use.name in _PROXIES or use.name.startswith(("PAI_", "FC_")):
                continue
            if any(span.start <= use.span.start < span.end for span in script.bad_substitutions):
                continue
            if use.name == OPERATOR_HOST_FILE and _HOST_FILE.search(script.text, 0, use.span.start):
                continue  # `mpi_hostfile_missing` reports it
            if use.name.rstrip("_") in {"taskRole", "taskIndex", "portType"}:
                continue
            near = nearest(use.name, script.assigned_names, _NEAR)[:1]
            if not near and use.name.upper() == use.name and _SET_BY_IMAGES.match(use.name):
                continue
            if job.platform.environment_variable(use.name) is not None:
                continue
            exported = _exported_names(job) if exported is None else exported
            if use.name in exported:
                continue
            span = place.span(use.name_span)
            fixes = choice_fixes(span, near)
            guess = f"; did you mean '{near[0]}'?" if near else ""
            yield Finding(span, f"'{use.name}' is not set in these commands{guess}", fixes)


def _command_scalars(job: Job) -> Iterator[Scalar]:
    """The strings that the task roles run, each once."""
    seen: set[Scalar] = set()
    for role in job.task_roles:
        for scalar in job.command_parts(role):
            if scalar not in seen:
                seen.add(scalar)
                yield scalar


def _is_unset(script: Script, use: VariableUse) -> bool:
    return not script.provides_for(use.name)


def _first_reading(job: Job, plugin: PluginUse, name: str) -> tuple[ScriptPlace, VariableUse] | None:
    """The first use of an unset variable in the commands of a role for which the callbacks run."""
    roles = job.roles_of(plugin)
    for place in job.role_scripts:
        if place.role in roles:
            for use in place.script.uses:
                if use.name == name and _is_unset(place.script, use):
                    return place, use
    return None


def _exported_names(job: Job) -> set[str]:
    """The variables that callbacks export; `export_in_callback` reports those."""
    scripts = [place.script for place in callback_scripts(job, command_lists(job.uses_of_plugin("cmd")))]
    return {assignment.name for script in scripts for assignment in script.assignments if assignment.is_exported}


RULES = (comment_in_folded_scalar, crlf_in_commands, export_in_callback, unset_variable_in_commands)
