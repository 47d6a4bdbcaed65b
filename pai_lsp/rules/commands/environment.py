"""Rules about environment variables: which ones OpenPAI sets in a task, deprecated ones, and those of NCCL and CUDA.

The commands of a task role run with `set -o nounset`: an undefined variable ends the task with exit code 1, "unbound
variable". A variable with a default (`${X:-}`), or one that the commands set themselves, is never reported. Facts:
schemas/environment.json; schemas/programs.json (NCCL); openpai-runtime, src/init.d/framework_parser.py; rest-server,
runtime-env.js.
"""

from __future__ import annotations

import re

from pai_lsp.findings.diagnostic import DiagnosticTag, Finding, Severity, rule
from pai_lsp.findings.fixes import change_fix, near_name_fixes
from pai_lsp.job.uses import command_lists
from pai_lsp.job.variable_places import Mention, callback_scripts, mentions, platform_names
from pai_lsp.platform.programs import nccl_variables
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.rules.commands.command_uses import edit_fix, scripts
from pai_lsp.source.spelling import did_you_mean, nearest
from pai_lsp.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.variable_places import ScriptPlace


# Placeholders in the documentation, as in PAI_HOST_IP_$taskRole_$taskIndex.
# Source: openpai, docs/manual/cluster-user/how-to-use-advanced-job-settings.md, "Environmental Variables".
_PLACEHOLDERS = {"taskRole": "a task role's name", "taskIndex": "a task's index", "portType": "a port's label"}
# Variables whose replacement contains the value among others.
_NOT_THE_SAME = ("PAI_RESOURCE_", "FC_")


@rule(Severity.WARNING)
def unknown_pai_variable(job: Job) -> Iterator[Finding]:
    """Unknown `PAI_...` variable.

    OpenPAI does not set it. A task role's commands stop there with "unbound variable"; in a callback it is empty.
    Source: rest-server, models/v2/job/runtime-env.js; openpai-runtime, framework_parser.py; openpai, issues 4339, 4240.

        taskRoles:
          worker:
            commands:
              - echo $PAI_CURRENT_TASK_INDEX
              #       ^^^^^^^^^^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - echo $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX
    """
    for mention in (*job.role_mentions, *_callback_mentions(job)):
        if mention.variable is not None:
            continue
        rest = mention.place.script.text[mention.use.span.end :]
        if mention.name.endswith("_") and rest.startswith("$"):
            if not any(rest[1:].startswith(name) for name in _PLACEHOLDERS):
                message = f"bash reads only '{mention.name}' as the name; assign the whole name to X and read ${{!X}}"
                yield Finding(mention.span, message)
            continue
        names = job.once(platform_names)
        message = f"OpenPAI does not set '{mention.name}'{did_you_mean(mention.name, names)}"
        yield Finding(mention.span, message, near_name_fixes(mention.span, mention.name, names, safe=False))


@rule(Severity.WARNING)
def removed_pai_variable(job: Job) -> Iterator[Finding]:
    """Variable that OpenPAI no longer sets.

    The variable was removed in OpenPAI 1.0. A task role's commands stop there with "unbound variable". Source: openpai,
    v0.9.1, docs/job_tutorial.md; rest-server, models/v2/job/runtime-env.js.

        taskRoles:
          worker:
            commands:
              - echo $PAI_TASK_ROLE_NAME
              #       ^^^^^^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - echo $PAI_CURRENT_TASK_ROLE_NAME
    """
    for mention in (*job.role_mentions, *_callback_mentions(job)):
        variable = mention.variable
        if variable is None or variable.status != "removed":
            continue
        message = f"OpenPAI no longer sets '{mention.name}'"
        if not variable.replacement or (mention.place.role is None and "{" in variable.replacement):
            yield Finding(mention.span, message)
            continue
        role = mention.place.role.name if mention.place.role else ""
        new = variable.replacement.replace("{role}", role)
        if new.startswith(_NOT_THE_SAME):
            yield Finding(mention.span, f"{message}; see '{new}'")
            continue
        fix = change_fix(mention.span, new, safe="{" not in variable.replacement)
        yield Finding(mention.span, f"{message}; use '{new}'", (fix,))


@rule(Severity.HINT)
def deprecated_pai_variable(job: Job) -> Iterator[Finding]:
    """Deprecated variable, kept only for old jobs.

    Source: openpai, docs/manual/cluster-user/how-to-use-advanced-job-settings.md; runtime-env.js ("backward
    compatibility").

        taskRoles:
          worker:
            commands:
              - echo $PAI_USERNAME
              #       ^^^^^^^^^^^^ hint

    Good:

        taskRoles:
          worker:
            commands:
              - echo $PAI_USER_NAME
    """
    for mention in (*job.role_mentions, *_callback_mentions(job)):
        variable = mention.variable
        if variable is None or variable.status not in {"legacy", "deprecated"} or not variable.replacement:
            continue
        if "role" in mention.parts and mention.named_role is None:
            continue
        new, is_certain = _successor(mention, variable.replacement)
        fixes = (change_fix(mention.span, new, safe=True),) if is_certain else ()
        yield Finding(
            mention.span, f"'{mention.name}' is deprecated; use '{new}'", fixes, tags=(DiagnosticTag.DEPRECATED,)
        )


@rule(Severity.ERROR)
def literal_placeholder(job: Job) -> Iterator[Finding]:
    """Placeholder from the documentation, such as `$taskRole`.

    In the documentation, `PAI_HOST_IP_$taskRole_$taskIndex` is a pattern for names with a task role and an index. Bash
    reads `$taskRole_` as a variable, which is not set: the task ends there with "unbound variable".
    Source: openpai, docs/manual/cluster-user/how-to-use-advanced-job-settings.md; issue 4240.

        taskRoles:
          worker:
            instances: 1
            commands:
              - ping -c 1 $PAI_HOST_IP_$taskRole_$taskIndex
              #                         ^^^^^^^^^ error
              #                                   ^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            instances: 1
            commands:
              - ping -c 1 $PAI_HOST_IP_worker_0
    """
    for place in job.role_scripts:
        script = place.script
        for use in script.uses if not script.allows_unset else ():
            meaning = _PLACEHOLDERS.get(use.name.rstrip("_"))
            # A sourced script may set any name; within a longer name it is still the placeholder.
            if script.is_open_ended and not script.text.endswith("_", 0, use.span.start):
                continue
            if meaning and not script.provides_for(use.name):
                message = f"'${use.name.rstrip('_')}' is a placeholder in the documentation; write {meaning} instead"
                yield Finding(place.span(use.name_span), message)


def _callback_mentions(job: Job) -> Iterator[Mention]:
    return mentions(callback_scripts(job, command_lists(job.uses_of_plugin("cmd"), "PAI_")), job.platform)


def _successor(mention: Mention, replacement: str) -> tuple[str, bool]:
    """The replacement of a variable, and whether it is certain for every task that reads it."""
    role = mention.place.role
    parts = dict(mention.parts)
    if role is not None:
        parts.setdefault("role", converted_role_name(role.name))
        if role.instances == 1:
            parts.setdefault("index", "0")
    name = replacement
    for part, value in parts.items():
        name = name.replace(f"{{{part}}}", value)
    is_certain = "{" not in name
    return name.replace("{role}", "<role>").replace("{index}", "<index>").replace("{label}", "<label>"), is_certain


@rule(Severity.INFORMATION)
def unknown_nccl_variable(job: Job) -> Iterator[Finding]:
    """Variable that NCCL does not read.

    NCCL ignores unknown variables without a message.
    Source: NVIDIA/nccl, src, NCCL_PARAM and ncclGetEnv; schemas/programs.json lists the names.

        taskRoles:
          worker:
            commands:
              - export NCCL_IB_DISABLED=1
              #        ^^^^^^^^^^^^^^^^ information

    Good:

        taskRoles:
          worker:
            commands:
              - export NCCL_IB_DISABLE=1
    """
    if "NCCL_" not in job.text:
        return
    for place in scripts(job, with_callbacks=True):
        for one in place.script.assignments:
            if not one.name.startswith("NCCL_") or one.name in nccl_variables() or "PLUGIN" in one.name:
                continue
            if any(use.name == one.name for use in place.script.uses):
                continue
            near = nearest(one.name, nccl_variables())
            if near:
                fixes = edit_fix(place, f"Change to '{near[0]}'", one.span, near[0])
                message = f"'{one.name}' is not a variable of NCCL{did_you_mean(one.name, near)}"
                yield Finding(place.span(one.span), message, fixes)


@rule(Severity.WARNING)
def loopback_between_tasks(job: Job) -> Iterator[Finding]:
    """Loopback interface for communication between tasks.

    `lo` only reaches the same machine, so several tasks do not find each other.
    Source: NCCL, environment variables, `NCCL_SOCKET_IFNAME`; PyTorch, `GLOO_SOCKET_IFNAME`.

        taskRoles:
          worker:
            instances: 2
            commands:
              - export NCCL_SOCKET_IFNAME=lo
              #                           ^^ warning

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - export NCCL_SOCKET_IFNAME=eth0
    """
    for place, name, value in _values(job, ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")):
        text = place.script.text[value.start : value.end].strip("\"'=")
        if text == "lo" and place.role is not None and place.role.instances > 1:
            yield Finding(place.span(value), f"with '{name}=lo', tasks on different machines cannot connect")


@rule(Severity.WARNING)
def cuda_devices(job: Job) -> Iterator[Finding]:
    """`CUDA_VISIBLE_DEVICES` with GPUs that the task does not have, or with a space.

    A task numbers its GPUs from 0; CUDA ends the list at the first number that does not exist. After a space, bash
    takes the rest for the program to run.
    Source: the CUDA C++ Programming Guide, "CUDA Environment Variables".

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
            commands:
              - CUDA_VISIBLE_DEVICES=0,1,2,3 python train.py
              #                      ^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
            commands:
              - CUDA_VISIBLE_DEVICES=0,1 python train.py
    """
    for place, _, value in _values(job, ("CUDA_VISIBLE_DEVICES",)):
        text = place.script.text[value.start : value.end].strip("\"'")
        gpu = place.role.amount("gpu") if place.role else None
        if text.endswith(",") and (
            match := re.compile(r"[ \t]+([0-9, ]*[0-9])(?=[ \t])").match(place.script.text, value.end)
        ):
            span = Span(value.start, match.end())
            new = re.sub(r"[ \t]+", "", place.script.text[span.start : span.end])
            fixes = edit_fix(place, f"Change to '{new}'", span, new)
            yield Finding(place.span(span), f"bash runs '{match[1]}' as a program; remove the space", fixes)
        elif gpu and re.fullmatch(r"[0-9]+(?:,[0-9]+)*", text):
            numbers = [int(one) for one in text.split(",")]
            if max(numbers) >= gpu:
                new = ",".join(str(one) for one in range(min(gpu, len(numbers))))
                start = place.script.text.find(text, value.start)
                span = Span(start, start + len(text))
                fixes = edit_fix(place, f"Change to '{new}'", span, new)
                count = f"{gpu} GPU{'s' * (gpu != 1)}"
                yield Finding(place.span(span), f"the task has {count}, numbered from 0", fixes)


def _values(job: Job, names: tuple[str, ...]) -> Iterator[tuple[ScriptPlace, str, Span]]:
    """The values that scripts give to some variables."""
    if not any(name in job.text for name in names):
        return
    for place in scripts(job):
        text = place.script.text
        for one in place.script.assignments:
            if one.name in names and text.startswith("=", one.span.end):
                match = re.compile(r"[^\s;&|]*").match(text, one.span.end + 1)
                if match:
                    yield place, one.name, Span(*match.span())


RULES = (
    unknown_pai_variable,
    removed_pai_variable,
    deprecated_pai_variable,
    literal_placeholder,
    unknown_nccl_variable,
    loopback_between_tasks,
    cuda_devices,
)
