"""Rules about names that the rest-server reads as text and the runtime as something else.

The rest-server's js-yaml has two truth values, `true` and `false`; the runtime's PyYAML knows YAML 1.1, with more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.diagnostic import Finding, Related, Severity, rule
from pai_lsp.fixes import quote_fix
from pai_lsp.nodes import Scalar, Style
from pai_lsp.template_uses import RUNTIME_PLACES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job
    from pai_lsp.nodes import Node
    from pai_lsp.template_uses import TemplateUse

# Names that YAML 1.1 may take for something else than text.
_MAYBE_OTHERWISE = re.compile(r"(?:yes|no|on|off|true|false|null|~)?$|[-+.0-9]", re.IGNORECASE)


@rule(Severity.ERROR)
def runtime_reads_otherwise(job: Job) -> Iterator[Finding]:
    """A name is text to the rest-server and something else to the runtime, which then does not find what it names.

    `yes`, `no`, `on` and `off` are truth values in YAML 1.1, `1_` is a number, and the key `1` is no text. When a
    prerequisite is called so in quotes and named without them, or the other way round, or when `<% $parameters.on %>`
    stands in a plugin's commands, the init container dies with a KeyError. In quotes a name is text to both readers.
    Sources: PyYAML, resolver.py; openpai-runtime, src/init.d/initializer.py, collect_plugin_configs and replace_ref;
    src/init.d/image_checker.py.

        prerequisites:
          - name: "on"
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
        taskRoles:
          worker:
            prerequisites: [on]
            #               ^^ error

    Good:

        prerequisites:
          - name: "on"
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
        taskRoles:
          worker:
            prerequisites: ["on"]
    """
    if job.is_catalogue:
        return
    yield from _names_read_otherwise(job)
    yield from _parameters_read_otherwise(job)


def _names_read_otherwise(job: Job) -> Iterator[Finding]:
    for role in job.task_roles:
        image = role.typed_references.get("dockerImage")
        for reference in (*role.prerequisites, *((image,) if image else ())):
            definition = job.definitions_by_name.get(reference.name)
            if definition is None or definition.name_scalar is None:
                continue
            here, there = reference.scalar, definition.name_scalar
            if not (_is_read_otherwise(here) or _is_read_otherwise(there)) or here.runtime_value == there.runtime_value:
                continue
            odd = here if _is_read_otherwise(here) else there
            message = f"the runtime does not read '{odd.text}' as text, and finds no such prerequisite; quote it"
            yield Finding(odd.span, message, (quote_fix(odd),))


def _parameters_read_otherwise(job: Job) -> Iterator[Finding]:
    odd = {name: entry for name, entry in job.parameters.items() if _is_read_otherwise(entry.key)}
    if not odd:
        return
    reported: set[str] = set()
    for use in job.template_uses:
        steps = use.tag.steps
        if use.place not in RUNTIME_PLACES or len(steps) < 2:
            continue
        name = str(steps[1].name)
        if steps[0].name != "$parameters" or name not in odd or name in reported or not _runs(job, use):
            continue
        reported.add(name)
        key = odd[name].key
        message = f"the runtime does not read the key '{name}' as text, and finds no '$parameters.{name}'; quote it"
        fixes = (quote_fix(key),) if isinstance(key, Scalar) and key.text == name else ()
        yield Finding(key.span, message, fixes, (Related(use.span, "used here"),))


def _runs(job: Job, use: TemplateUse) -> bool:
    return use.definition is None or bool(job.roles_listing(use.definition))


def _is_read_otherwise(node: Node) -> bool:
    return (
        isinstance(node, Scalar)
        and node.style is Style.PLAIN
        and _MAYBE_OTHERWISE.match(node.text) is not None
        and not isinstance(node.runtime_value, (str, ValueError))
    )


@rule(Severity.WARNING)
def plugin_role_read_otherwise(job: Job) -> Iterator[Finding]:
    """A plugin's `taskroles` names a role that the runtime does not read as text, so the plugin never runs there.

    `yes`, `no`, `on` and `off` are truth values in YAML 1.1. The runtime compares them with the role's name, finds no
    match and leaves the plugin out without a word. In quotes a name is text to both readers.
    Sources: PyYAML, resolver.py; openpai-runtime, src/init.d/initializer.py, collect_plugin_configs.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              taskroles: [on]
              #           ^^ warning

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              taskroles: ["on"]
    """
    for plugin in job.plugins:
        for scalar in plugin.task_roles or ():
            if _is_read_otherwise(scalar) and isinstance(scalar.value, str):
                message = f"the runtime does not read '{scalar.text}' as text, and leaves the plugin out; quote it"
                yield Finding(scalar.span, message, (quote_fix(scalar),))


RULES = (runtime_reads_otherwise, plugin_role_read_otherwise)
