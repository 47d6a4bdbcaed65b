"""Rules about the runtime plugin `ssh`: SSH between tasks, the barrier that waits for it, and the user's key.

A value from a `<% %>` is not known here and not checked. Facts: openpai-runtime, src/plugins/ssh/init.py, sshd.sh and
sshbarrier.sh.
"""

from __future__ import annotations

from pai_lsp.findings.diagnostic import Consequence, Finding, Fixes, Severity, Stage, rule
from pai_lsp.findings.fixes import choice_fixes, fix_of, near_name_fixes
from pai_lsp.job.definition import Definition, name_span
from pai_lsp.rules.plugins.plugin_entries import misspelt_key, parameters_of
from pai_lsp.source.edits import insert_entry, remove_entry
from pai_lsp.source.nodes import Mapping, Scalar, scalar_text
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.uses import PluginUse

_WHOLE_NUMBER = lazy_pattern(r"[-+]?\d+")
_SWITCHES = ("true", "false")


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=("sshbarrierTimeout",))
def ssh_barrier_timeout_not_integer(job: Job) -> Iterator[Finding]:
    """The timeout of the SSH barrier is not an integer.

    The timeout is a number of minutes for a calculation in bash. With `0.5` or `30m` the script stops, and the task
    fails before the user's commands.
    Source: openpai-runtime, src/plugins/ssh/sshbarrier.sh.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true, sshbarrier: true, sshbarrierTimeout: 30m}
              #                                                               ^^^ error

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true, sshbarrier: true, sshbarrierTimeout: 30}
    """
    for use, entry in parameters_of(job, "ssh", "sshbarrierTimeout"):
        if not use.is_on("jobssh") or not use.is_on("sshbarrier") or not job.has_gang_allocation:
            continue
        written = str(entry.value.runtime_value) if isinstance(entry.value, Scalar) else ""
        if not _WHOLE_NUMBER.fullmatch(written.strip()) and "<%" not in written:
            message = "'sshbarrierTimeout' must be an integer number of minutes, or the task fails at start"
            yield Finding(entry.place, message)


@rule(Severity.WARNING, stage=Stage.RUNTIME, consequence=Consequence.IGNORED, about=("jobssh", "sshbarrier"))
def ssh_switch_not_boolean(job: Job) -> Iterator[Finding]:
    """`jobssh` or `sshbarrier` is neither `true` nor `false`.

    The plugin reads every other value as `false`.
    Source: openpai-runtime, src/plugins/ssh/init.py.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: 1}
              #                    ^ warning

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true}
    """
    for _, entry in parameters_of(job, "ssh", "jobssh", "sshbarrier"):
        if not isinstance(entry.value, Scalar) or not _is_switch(entry.value):
            fixes = choice_fixes(entry.value.span, _SWITCHES)
            yield Finding(entry.place, f"'{entry.name}' must be true or false; other values mean false", fixes)


def _is_switch(scalar: Scalar) -> bool:
    written = str(scalar.runtime_value)
    return written.lower() in _SWITCHES or "<%" in written


@rule(Severity.WARNING, stage=Stage.RUNTIME, consequence=Consequence.IGNORED, about=("sshbarrier",))
def ssh_barrier_without_jobssh(job: Job) -> Iterator[Finding]:
    """The SSH barrier is on, but `jobssh` is not.

    The barrier waits until the tasks can reach each other by SSH. Without `jobssh` they never can, and `sshbarrier` is
    ignored.
    Source: openpai-runtime, src/plugins/ssh/init.py.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: false, sshbarrier: true}
              #                           ^^^^^^^^^^ warning

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true, sshbarrier: true}
    """
    for use, entry in parameters_of(job, "ssh", "sshbarrier"):
        if not use.is_on("sshbarrier") or use.is_on("jobssh"):
            continue
        switch = use.entry("jobssh")
        if switch and isinstance(switch.value, Scalar) and (not _is_switch(switch.value) or "<%" in switch.value.text):
            continue
        fixes: Fixes = ()
        if switch is None and use.parameters is not None:
            fixes = fix_of("Add 'jobssh: true'", insert_entry, job.text, use.parameters, "jobssh: true")
        elif switch is not None:
            fixes = fix_of("Enable 'jobssh'", TextEdit, switch.value.span, "true")
        yield Finding(entry.key.span, "'sshbarrier' is ignored without 'jobssh: true'", fixes)


@rule(Severity.WARNING, stage=Stage.RUNTIME, consequence=Consequence.DIES, about=("sshbarrier",))
def ssh_barrier_unreachable_role(job: Job) -> Iterator[Finding]:
    """The SSH barrier waits for a task role that has no SSH.

    The barrier waits for every task of every task role. If one role does not have the ssh plugin with `jobssh`, the
    barrier waits for five hours, or the time in `sshbarrierTimeout`, and then the task fails.
    Source: openpai-runtime, src/plugins/ssh/sshbarrier.sh; k8s-job-exit-spec, code 249.

        taskRoles:
          server: {instances: 1}
          worker: {instances: 2}
        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              taskroles: [worker]
              parameters: {jobssh: true, sshbarrier: true}
              #                          ^^^^^^^^^^ warning

    Good:

        taskRoles:
          server: {instances: 1}
          worker: {instances: 2}
        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true, sshbarrier: true}
    """
    uses = [use for use in job.uses_of_plugin("ssh") if use.is_on("jobssh")]
    barriers = [use for use in uses if use.is_on("sshbarrier")]
    if not barriers or not job.has_gang_allocation:
        return
    reached = {role.name for use in uses for role in job.roles_of(use)}
    alone = [role.name for role in job.task_roles if role.name not in reached]
    for use in barriers if alone else ():
        entry = use.entry("sshbarrier")
        if entry is None or not job.roles_of(use):
            continue
        fixes: Fixes = ()
        if not isinstance(use.owner, Definition) and (filtered := use.owner.node.own("taskroles")):
            fixes = fix_of("Use ssh in all task roles", remove_entry, job.text, use.owner.node, filtered)
        verb = "have" if alone[1:] else "has"
        names = " and ".join(f"'{name}'" for name in alone[:2]) + (f" and {len(alone) - 2} more" if alone[2:] else "")
        message = f"the barrier waits for {names}, which {verb} no ssh plugin with 'jobssh', and then fails"
        yield Finding(entry.key.span, message, fixes)


@rule(Severity.WARNING, stage=Stage.RUNTIME, consequence=Consequence.IGNORED, about=("jobssh",))
def ssh_needs_gang(job: Job) -> Iterator[Finding]:
    """A job without gang allocation has SSH between its tasks.

    With `gangAllocation: false` a task does not wait for the others, so the plugin disables `jobssh`.
    Source: openpai-runtime, src/plugins/ssh/init.py.

        extras:
          gangAllocation: false
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true}
              #            ^^^^^^ warning

    Good:

        extras:
          gangAllocation: true
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true}
    """
    for use, entry in parameters_of(job, "ssh", "jobssh") if not job.has_gang_allocation else ():
        if use.is_on("jobssh") and not (job.platform.ssh_without_gang and use.is_off("sshbarrier")):
            yield Finding(entry.key.span, "'jobssh' is disabled by 'gangAllocation: false'")


@rule(Severity.WARNING, stage=Stage.RUNTIME, consequence=Consequence.IGNORED, about=("ssh",))
def ssh_without_effect(job: Job) -> Iterator[Finding]:
    """The ssh plugin has neither `jobssh` nor `userssh`, so it does nothing.

    Without `jobssh: true` (SSH between tasks) and without `userssh` (SSH for the user) it starts no SSH server.
    Source: openpai-runtime, src/plugins/ssh/init.py.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              #       ^^^ warning

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true}
    """
    for use in job.uses_of_plugin("ssh"):
        if use.entry("jobssh") is None and use.entry("userssh") is None and not _has_other_fault(use):
            fixes: Fixes = ()
            if use.parameters is not None:
                fixes = fix_of("Add 'jobssh: true'", insert_entry, job.text, use.parameters, "jobssh: true")
            elif not isinstance(use.owner, Definition) and use.owner.node.entry("parameters") is None:
                line = "parameters: {jobssh: true}"
                fixes = fix_of(f"Add '{line}'", insert_entry, job.text, use.owner.node, line)
            yield Finding(use.name_span, "the plugin 'ssh' has no effect without 'jobssh' or 'userssh'", fixes)


def _has_other_fault(use: PluginUse) -> bool:
    """Whether another rule reports parameters that may be meant to start an SSH server."""
    if use.is_on("sshbarrier"):
        return True
    if use.parameters is None and use.owner.parameters:
        return isinstance(use.owner.parameters, Scalar) and use.owner.parameters.value is not None
    names = [entry.name for entry in use.parameters.effective_entries()] if use.parameters else []
    if any(misspelt_key(name, ("jobssh", "userssh")) for name in names):
        return True
    known = {parameter.name for parameter in use.plugin.parameters}
    return not isinstance(use.owner, Definition) and not known.issuperset(names)


@rule(Severity.WARNING, stage=Stage.RUNTIME, about=("userssh",))
def userssh_type_unknown(job: Job) -> Iterator[Finding]:
    """The user's SSH key has an unknown type, or null.

    The plugin supports the type `custom`; for any other type it starts an SSH server without the key. A null key
    becomes the string `None`. Omit `value`, or leave it empty, to use the keys of your profile page.
    Source: openpai-runtime, src/plugins/ssh/init.py, sshd.sh.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters:
                jobssh: true
                userssh: {type: customm, value: ""}
                #               ^^^^^^^ warning

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters:
                jobssh: true
                userssh: {type: custom, value: ""}
    """
    for _, user in parameters_of(job, "ssh", "userssh"):
        if not isinstance(user.value, Mapping):
            continue
        kind, key = user.value.entry("type"), user.value.entry("value")
        if kind and not (isinstance(kind.value, Scalar) and (kind.value.text in _KEY_TYPES or "<%" in kind.value.text)):
            span = name_span(kind.value) if isinstance(kind.value, Scalar) and kind.value.text else kind.place
            text = scalar_text(kind.value)
            fixes = near_name_fixes(span, text, ("custom",)) if text else ()
            yield Finding(span, f"'{text}' is not a key type; expected 'custom'", fixes)
        if kind and key and isinstance(key.value, Scalar) and key.value.runtime_value is None:
            fixes = fix_of("Remove 'value'", remove_entry, job.text, user.value, key, safe=True)
            yield Finding(key.place, "a null key becomes the string 'None'; omit 'value'", fixes)


# `system` is an old type that no cluster writes any longer; the script still supports it.
_KEY_TYPES = ("custom", "system")
