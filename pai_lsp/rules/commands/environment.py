"""Rules about environment variables: those that OpenPAI sets in a task, deprecated ones, and those of NCCL and CUDA.

The name of a variable of a task role, task or port has the role, task or port in it, which must exist. The commands of
a task role run with `set -o nounset`: an undefined variable ends the task with exit code 1, "unbound variable". A
variable with a default (`${X:-}`), or one that the commands set themselves, is never reported. Facts:
schemas/environment.json; schemas/programs.json (NCCL); openpai-runtime, src/init.d/framework_parser.py; rest-server,
runtime-env.js.
"""

from __future__ import annotations

import re
from itertools import pairwise, takewhile

from pai_lsp.embedded.placeholders import PLACEHOLDER_ADVICE
from pai_lsp.findings.diagnostic import DiagnosticTag, Finding, Fixes, Related, Severity, later, rule
from pai_lsp.findings.fixes import all_of, change_fix, fix_of, near_name_fixes
from pai_lsp.job.uses import command_lists
from pai_lsp.job.variable_places import Mention, callback_scripts, declared_ports, mentions, platform_names
from pai_lsp.platform.programs import nccl_variables, nccl_variables_of_others
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.rules.commands.command_uses import all_uses, changed, scripts
from pai_lsp.rules.resources.job_lifecycle import beyond_instances
from pai_lsp.source.foreign import number_of
from pai_lsp.source.nodes import Mapping
from pai_lsp.source.spelling import did_you_mean, nearest, plural
from pai_lsp.source.text import Span
from pai_lsp.source.tree_edits import insert_values
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pai_lsp.embedded.shell_script import Word
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.variable_places import ScriptPlace

# Placeholders in the documentation, as in PAI_HOST_IP_$taskRole_$taskIndex.
# Source: openpai, docs/manual/cluster-user/how-to-use-advanced-job-settings.md, "Environmental Variables".
PLACEHOLDER_VARIABLES = {"taskRole": "a task role's name", "taskIndex": "a task's index", "portType": "a port's label"}
# Variables whose replacement contains the value among others.
_NOT_THE_SAME = ("PAI_RESOURCE_", "FC_")


@rule(Severity.WARNING)
def unknown_pai_variable(job: Job) -> Iterator[Finding]:
    """OpenPAI does not set a variable of this name.

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
        following = next((one for one in mention.place.script.uses if one.span.start == mention.use.span.end), None)
        if mention.name.endswith("_") and following is not None:
            if not following.name.startswith(tuple(PLACEHOLDER_VARIABLES)):
                message = f"bash reads only '{mention.name}' as the name; assign the whole name to X and read ${{!X}}"
                yield Finding(mention.span, message)
            continue
        names = job.once(platform_names)
        message = f"OpenPAI does not set '{mention.name}'{did_you_mean(mention.name, names)}"
        yield Finding(mention.span, message, near_name_fixes(mention.span, mention.name, names, safe=False))


@rule(Severity.WARNING)
def removed_pai_variable(job: Job) -> Iterator[Finding]:
    """OpenPAI no longer sets a variable.

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
        role, new = mention.place.role, variable.replacement or ""
        if "{role}" in new:
            new = new.replace("{role}", role.name) if role else ""
        fixes: Fixes = ()
        advice = f"; see '{new}'" if new else ""
        if new and not new.startswith(_NOT_THE_SAME):
            fixes, advice = change_fix(mention.span, new, safe=new == variable.replacement), f"; use '{new}'"
        yield Finding(mention.span, f"OpenPAI no longer sets '{mention.name}'{advice}", fixes)


@rule(Severity.HINT)
def deprecated_pai_variable(job: Job) -> Iterator[Finding]:
    """A variable is deprecated, and kept only for old jobs.

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
        fixes = change_fix(mention.span, new, safe=True) if is_certain else ()
        message = f"'{mention.name}' is deprecated; use '{new}'"
        yield Finding(mention.span, message, fixes, tags=(DiagnosticTag.DEPRECATED,))


@rule(Severity.ERROR, spreads=True)
def literal_placeholder(job: Job) -> Iterator[Finding]:
    """A command has a placeholder from the documentation, such as `$taskRole` or `<PATH>`.

    In the documentation, `PAI_HOST_IP_$taskRole_$taskIndex` is a pattern for names with a task role and an index. Bash
    reads `$taskRole_` as a variable, which is not set: the task ends there with "unbound variable". `<PATH>` is two
    redirections for bash: the task ends with "No such file or directory".
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
        ends = {one.span.end for one in script.uses if one.name.endswith("_")}
        for use in script.uses if not script.allows_unset else ():
            meaning = PLACEHOLDER_VARIABLES.get(use.name.rstrip("_"))
            # A sourced script may set any name; within a longer name it is still the placeholder.
            if script.is_open_ended and use.span.start not in ends:
                continue
            if meaning and not script.provides_for(use.name):
                message = f"'${use.name.rstrip('_')}' is a placeholder in the documentation; write {meaning} instead"
                yield Finding(place.span(use.name_span), message)
    for place in scripts(job):
        for step in place.lines.tree.all:
            for before, after in pairwise(step.redirections):
                if before.operator == "<" and after.operator == ">" and before.span.end == after.span.start:
                    if after.target.span.start == after.operator_span.end and after.target.text[:1].isalnum():
                        continue  # `sort <in.txt>out.txt`
                    span = Span(before.span.start, after.operator_span.end)
                    if before.target.is_literal and before.operator_span.end == before.target.span.start:
                        message = f"'{place.written(span)}' is a placeholder; {PLACEHOLDER_ADVICE}"
                        yield Finding(place.span(span), message, cause="<>")


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
    name = _filled(replacement, parts)
    return name.replace("{", "<").replace("}", ">"), "{" not in name


def _filled(name: str, parts: dict[str, str]) -> str:
    """The name of a variable of a family, such as `PAI_HOST_IP_{role}_{index}`, with these parts."""
    for part, value in parts.items():
        name = name.replace(f"{{{part}}}", value)
    return name


# How much of its letters a misspelt part of a name, such as IFACE, has in common with the right one.
_MISSPELT = 0.7


def _is_misspelt(name: str, known: str) -> bool:
    """Whether a name is a known one with a letter or two wrong in one of its parts, or other underscores."""
    if name.replace("_", "") == known.replace("_", ""):
        return True
    parts, known_parts = name.split("_"), known.split("_")
    wrong = [(one, right) for one, right in zip(parts, known_parts, strict=False) if one != right]
    return len(parts) == len(known_parts) and len(wrong) == 1 and bool(nearest(wrong[0][0], wrong[0][1:], _MISSPELT))


@rule(Severity.INFORMATION)
def unknown_nccl_variable(job: Job) -> Iterator[Finding]:
    """A variable looks like a misspelled one of NCCL.

    NCCL ignores unknown variables without a message. A name that is not close to one of NCCL's is not reported: tests,
    network plugins and builds have variables of their own with the same prefix.
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
    return _misspelled(job, _near_variables_of_nccl, "'{}' is not a variable of NCCL")


def _near_variables_of_nccl(name: str) -> tuple[str, ...]:
    """The variables of NCCL that a name is likely meant to be; none for its own names, and for others."""
    if not name.startswith("NCCL_") or name in nccl_variables() | nccl_variables_of_others():
        return ()
    return tuple(known for known in nearest(name, nccl_variables()) if _is_misspelt(name, known))


def _misspelled(job: Job, near_variables: Callable[[str], tuple[str, ...]], message: str) -> Iterator[Finding]:
    """The variables that a script only sets, where others are near; `message` has a place for the name."""
    for place in scripts(job, with_callbacks=True):
        slips = [(one, near) for one in place.script.assignments if (near := near_variables(one.name))]
        used = {use.name for use in place.script.uses} if slips else set()
        for one, near in slips:
            if one.name not in used:
                text = message.format(one.name) + did_you_mean(one.name, near)
                yield changed(place, one.span, text, near[0])


# Variables of many jobs. Source: CUDA C++ programming guide, "CUDA Environment Variables"; PyTorch, "CUDA semantics";
# OpenMP 5.2, "Environment Variables"; ld.so(8); python(1); huggingface_hub, "Environment variables".
_OF_MANY = (
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING", "PYTORCH_CUDA_ALLOC_CONF", "OMP_NUM_THREADS",
    "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONUNBUFFERED", "TOKENIZERS_PARALLELISM", "HF_HUB_OFFLINE",
)  # fmt: skip


@rule(Severity.WARNING)
def misspelled_variable(job: Job) -> Iterator[Finding]:
    """A variable that the script sets is a misspelled one of CUDA, PyTorch, OpenMP or Python.

    The program reads the right name only, so the setting has no effect and no message. A variable that the script uses
    itself is not reported.
    Source: CUDA C++ programming guide, "CUDA Environment Variables"; ld.so(8); python(1).

        taskRoles:
          worker:
            commands:
              - export CUDA_VISIBLE_DEVICE=0
              #        ^^^^^^^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - export CUDA_VISIBLE_DEVICES=0
    """
    return _misspelled(job, _near_variables, "no program reads '{}'")


def _near_variables(name: str) -> tuple[str, ...]:
    """The variables of many jobs that a name is surely meant to be; none for their own names, and for others."""
    return nearest(name, _OF_MANY, 0.92) if name.isupper() and name not in _OF_MANY else ()


@rule(Severity.WARNING)
def loopback_between_tasks(job: Job) -> Iterator[Finding]:
    """The loopback interface is used for communication between tasks.

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
        if value.text.removeprefix("=") == "lo" and place.role is not None and place.role.instances > 1:
            yield Finding(place.span(value.span), f"with '{name}=lo', tasks on different machines cannot connect")


@rule(Severity.WARNING)
def cuda_devices(job: Job) -> Iterator[Finding]:
    """`CUDA_VISIBLE_DEVICES` has GPUs that the task does not have, or a space.

    A task numbers its GPUs from 0; CUDA ends the list at the first number that does not exist. After a space, bash
    reads the rest as the program to run.
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
    for use in all_uses(job, with_callbacks=False):
        for before in use.line.step.assigned[-1:]:
            value, numbers = before.plain_value or "", list(takewhile(_is_gpu_number, use.line.words))
            if before.name == "CUDA_VISIBLE_DEVICES" and before.value and value.endswith(",") and numbers:
                span = Span(before.value.span.start, numbers[-1].span.end)
                text = use.written(Span(numbers[0].span.start, span.end))
                new = value + "".join(word.text for word in numbers)
                yield changed(use.place, span, f"bash runs '{text}' as a program; remove the space", new)
    for place, _, one in _values(job, ("CUDA_VISIBLE_DEVICES",)):
        gpu = place.role.amount("gpu") if place.role else None
        if gpu and one.is_literal and re.fullmatch(r"[0-9]+(?:,[0-9]+)*", one.text):
            given = [number_of(number) for number in one.text.split(",")]
            if max(given) >= gpu:
                new = ",".join(str(number) for number in range(min(gpu, len(given))))
                yield changed(place, place.inner(one), f"the task has {plural(gpu, 'GPU')}, numbered from 0", new)


def _is_gpu_number(word: Word) -> bool:
    return re.fullmatch(r"[0-9]+(?:,[0-9]+)*,?", word.text) is not None


def _values(job: Job, names: tuple[str, ...]) -> Iterator[tuple[ScriptPlace, str, Word]]:
    """The values that scripts give to some variables."""
    for place in scripts(job):
        for one in place.script.assignments:
            if one.name in names and one.value is not None and one.value.span:
                yield place, one.name, one.value


@rule(Severity.ERROR, spreads=True)
def undeclared_port(job: Job) -> Iterator[Finding]:
    """A variable names a port that is not declared.

    A role has the ports that it declares under `resourcePerInstance.ports`, and always `ssh` and `http`. Variables for
    other labels do not exist: the task ends there with "unbound variable".
    Source: openpai-runtime, src/init.d/framework_parser.py, generate_runtime_env; openpai, issue 4339.

        taskRoles:
          worker:
            instances: 1
            resourcePerInstance:
              ports:
                web: 1
            commands:
              - python serve.py --port $PAI_PORT_LIST_worker_0_wbe
              #                         ^^^^^^^^^^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            instances: 1
            resourcePerInstance:
              ports:
                web: 1
            commands:
              - python serve.py --port $PAI_PORT_LIST_worker_0_web
    """
    for mention in _fatal_mentions(job):
        label = mention.parts.get("label")
        role = mention.named_role if "role" in mention.parts else mention.place.role
        labels = declared_ports(role) if role else None
        if label is None or role is None or labels is None or label in labels:
            continue
        related = (Related(role.name_span, "the task role"),)
        renaming = change_fix(mention.span, *(_renamed(mention, label=near) for near in nearest(label, labels)))
        message = f"'{role.name}' has no port '{label}', so this variable is not set{did_you_mean(label, labels)}"
        yield Finding(mention.span, message, all_of(renaming, _declare_port(job, role, label)), related)


@rule(Severity.ERROR)
def env_unknown_role(job: Job) -> Iterator[Finding]:
    """A variable names a task role that does not exist.

    The variable does not exist: the task ends there with "unbound variable".
    Source: openpai-runtime, src/init.d/framework_parser.py; rest-server, models/v2/job/runtime-env.js.

        taskRoles:
          worker:
            commands:
              - ping -c 1 $PAI_HOST_IP_wroker_0
              #            ^^^^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - ping -c 1 $PAI_HOST_IP_worker_0
    """
    for mention in _fatal_mentions(job):
        variable, spelt = mention.variable, mention.parts.get("role")
        if variable is None or spelt is None or mention.named_role is not None or mention.right_role_name is not None:
            continue
        names = tuple(mention.place.spellings.of(variable))
        fixes = change_fix(mention.span, *(_renamed(mention, role=near) for near in nearest(spelt, names)))
        message = f"no task role is named '{spelt}', so this variable is not set{did_you_mean(spelt, names)}"
        yield Finding(mention.span, message, fixes)


@rule(Severity.ERROR)
def env_role_spelling(job: Job) -> Iterator[Finding]:
    """A variable has a wrong spelling of a task role.

    Variables from the runtime (`PAI_HOST_IP_`, `PAI_PORT_LIST_`, ...) contain the role's name in lower case and without
    `_`; those from the rest-server (`PAI_TASK_ROLE_TASK_COUNT_`, `PAI_RESOURCE_`, ...) contain it as it is written in
    the job. With the other spelling, the task ends there with "unbound variable".
    Source: rest-server, utils/name.js, convertName, and models/v2/job/runtime-env.js; framework_parser.py.

        taskRoles:
          ps_server:
            commands:
              - ping -c 1 $PAI_HOST_IP_ps_server_0
              #            ^^^^^^^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          ps_server:
            commands:
              - ping -c 1 $PAI_HOST_IP_psserver_0
    """
    for mention in _fatal_mentions(job):
        right = mention.right_role_name if mention.named_role is None else None
        if right is not None:
            new = _renamed(mention, role=right)
            message = f"this variable is not set; here the task role is spelled '{right}': '{new}'"
            yield Finding(mention.span, message, change_fix(mention.span, new, safe=True))


@rule(Severity.ERROR, spreads=True)
def env_index_out_of_range(job: Job) -> Iterator[Finding]:
    """A variable has a task index that is out of range.

    Task indices are 0 to `instances` - 1. Other variables do not exist: the task ends there with "unbound variable".
    Source: openpai-runtime, src/init.d/framework_parser.py.

        taskRoles:
          worker:
            instances: 2
            commands:
              - ping -c 1 $PAI_HOST_IP_worker_2
              #            ^^^^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - ping -c 1 $PAI_HOST_IP_worker_1
    """
    for mention in _fatal_mentions(job):
        role, index = mention.named_role, mention.parts.get("index")
        fault = beyond_instances(role, number_of(index)) if role and index is not None else None
        if fault is not None:
            message, related = fault
            yield Finding(mention.span, message, related=related)


@rule(Severity.WARNING, about=("gangAllocation",))
def host_ip_without_gang(job: Job) -> Iterator[Finding]:
    """A job without gang allocation uses the address of another task.

    With `gangAllocation: false` a task starts without waiting for the others. Addresses that are not yet known are not
    set: the task ends with "unbound variable", and lists of hosts are incomplete.
    Source: openpai-runtime, src/init.d/framework_parser.py ("current ip maybe None for non-gang-allocation").

        taskRoles:
          worker:
            instances: 2
            commands:
              - ping -c 1 $PAI_HOST_IP_worker_0
              #            ^^^^^^^^^^^^^^^^^^^^ warning
        extras:
          gangAllocation: false

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - ping -c 1 $PAI_HOST_IP_worker_0
    """
    gang = job.extras_entry("gangAllocation")
    if gang is None or job.has_gang_allocation:
        return
    for mention in job.role_mentions:
        is_list = mention.name.endswith("_HOST_LIST") and mention.name.startswith("PAI_TASK_ROLE_")
        role = mention.named_role
        if role is None or (role is mention.place.role and role.instances == 1):
            continue
        if is_list or mention.name.startswith("PAI_HOST_IP_"):
            wait = "list does not contain tasks that have not" if is_list else "is not set until that task has"
            related = (Related(gang.value.span, "tasks do not wait for each other"),)
            yield Finding(mention.span, f"without gang allocation this {wait} started", related=related)


def _fatal_mentions(job: Job) -> Iterator[Mention]:
    """The mentions in scripts that surely stop at an unset variable."""
    return (mention for mention in job.role_mentions if not mention.place.script.allows_unset)


def _renamed(mention: Mention, **changes: str) -> str:
    """The same variable of another role, or of another port."""
    return _filled(mention.variable.name if mention.variable else mention.name, mention.parts | changes)


@later
def _declare_port(job: Job, role: TaskRole, label: str) -> Fixes:
    resources = role.resources
    ports = resources.get("ports") if resources else None
    if resources is None or (ports is not None and not isinstance(ports, Mapping)):
        return ()
    holder, value = (resources, {"ports": {label: 1}}) if ports is None else (ports, {label: 1})
    return fix_of(f"Declare the port '{label}'", insert_values, job.text, holder, value)
