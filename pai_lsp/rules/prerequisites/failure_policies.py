"""Rules about `failurePolicy`, in prerequisites and in the runtime plugins of `extras`.

Facts: openpai-runtime, src/plugins/plugin_utils.py and src/init.d/initializer.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.findings.fixes import change_fix, choice_fixes, near_name_fixes
from pai_lsp.job.definition import name_span
from pai_lsp.source.nodes import Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Entry

_POLICIES = ("fail", "ignore")


@rule(Severity.WARNING)
def invalid_failure_policy(job: Job) -> Iterator[Finding]:
    """Unknown failure policy.

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
            fix = change_fix(span, lower, safe=True)
            yield Finding(span or entry.key.span, f"write '{lower}' in lower case", (fix,))
            continue
        fixes = near_name_fixes(span, scalar.text, _POLICIES) if scalar.text else ()
        message = f"'{scalar.text}' is not a failure policy and means 'fail'; expected 'fail' or 'ignore'"
        yield Finding(span if scalar.text else entry.place, message, fixes)


@rule(Severity.ERROR)
def failure_policy_not_text(job: Job) -> Iterator[Finding]:
    """Failure policy that is not a string.

    With null, a number or `yes` the plugin fails while the task is prepared, and the job ends before the user's
    commands.
    Source: openpai-runtime, src/plugins/plugin_utils.py, inject_commands (`self._failure_policy.lower()`).

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            failurePolicy: no
            #              ^^ error

    Good:

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            failurePolicy: fail
    """
    for entry in _failure_policies(job):
        if not isinstance(entry.value, Scalar) or not isinstance(entry.value.runtime_value, str):
            yield Finding(
                entry.place,
                "'failurePolicy' must be 'fail' or 'ignore', or the task dies before it starts",
                choice_fixes(entry.value.span, _POLICIES),
            )


def _failure_policies(job: Job) -> Iterator[Entry]:
    """Every `failurePolicy` that a plugin reads."""
    for definition in job.definitions:
        entry = definition.node.entry("failurePolicy")
        if entry and definition.extended_plugin is not None and definition.type != "dockerimage":
            yield entry
    for plugin in job.plugins:
        entry = plugin.node.entry("failurePolicy")
        if entry:
            yield entry


RULES = (
    invalid_failure_policy,
    failure_policy_not_text,
)
