"""Rules about the runtime plugin `teamwise_storage`, which `extras.storages` has superseded.

Facts: openpai-runtime, src/plugins/teamwise_storage; rest-server, src/models/v2/job/k8s.js.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.definition import name_span
from pai_lsp.diagnostic import Finding, Fix, Related, Severity, Tag, rule
from pai_lsp.edits import remove_entry, remove_item
from pai_lsp.fixes import fix_of
from pai_lsp.nodes import Mapping, Scalar, Sequence
from pai_lsp.platform import RUNTIME_PLUGIN
from pai_lsp.rules.value_edits import insert_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job
    from pai_lsp.nodes import Entry, Node


@rule(Severity.INFORMATION)
def teamwise_storage_deprecated(job: Job) -> Iterator[Finding]:
    """The plugin `teamwise_storage` is superseded by `extras.storages`.

    The runtime's plugin does nothing; the rest-server translates it where the job has no `extras.storages`.
    Source: rest-server, src/models/v2/job/k8s.js; openpai-runtime, src/plugins/teamwise_storage.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: teamwise_storage
              #       ^^^^^^^^^^^^^^^^ information
              parameters: {storageConfigNames: [confignfs]}

    Good:

        extras:
          storages:
            - name: confignfs
    """
    for use in job.uses_of_plugin("teamwise_storage"):
        message = "'teamwise_storage' is superseded by 'extras.storages'"
        yield Finding(use.name_span, message, _as_storages(job, use.owner), tags=(Tag.DEPRECATED,))


def _as_storages(job: Job, owner: object) -> tuple[Fix, ...]:
    """Write `extras.storages` in place of the only runtime plugin, or beside the others."""
    extras = job.extras
    section = extras.own(RUNTIME_PLUGIN) if extras else None
    plugin = next((one for one in job.plugins if one is owner), None)
    if extras is None or section is None or plugin is None or not isinstance(section.value, Sequence):
        return ()
    if extras.is_flow or extras.entry("storages") or sum(one.plugin == plugin.plugin for one in job.plugins) > 1:
        return ()
    names = plugin.parameter("storageConfigNames")
    items = names.value.items if names and isinstance(names.value, Sequence) else ()
    if any(not isinstance(item, Scalar) for item in items):
        return ()
    storages = [{"name": item.text} for item in items if isinstance(item, Scalar)]
    return _instead(job, extras, section, plugin.node, storages)


def _instead(job: Job, extras: Mapping, section: Entry, item: Node, storages: list[dict[str, str]]) -> tuple[Fix, ...]:
    plugins = section.value
    if not isinstance(plugins, Sequence):
        return ()
    is_only = len(plugins.items) == 1
    if is_only and len(extras.entries) == 1:
        return ()
    removal = remove_entry(job.text, extras, section) if is_only else remove_item(job.text, plugins, item)
    edits = (*removal, insert_values(job.text, extras, {"storages": storages}))
    return (Fix("Write 'extras.storages'", edits),) if removal else ()


@rule(Severity.WARNING)
def storages_and_teamwise(job: Job) -> Iterator[Finding]:
    """The plugin `teamwise_storage` stands beside `extras.storages`, and is then ignored.

    Source: rest-server, src/models/v2/job/k8s.js.

        extras:
          storages:
            - name: confignfs
          com.microsoft.pai.runtimeplugin:
            - plugin: teamwise_storage
              #       ^^^^^^^^^^^^^^^^ warning
              parameters: {storageConfigNames: [datanfs]}

    Good:

        extras:
          storages:
            - name: confignfs
            - name: datanfs
    """
    storages, entry = job.extras_entry("storages"), job.extras_entry(RUNTIME_PLUGIN)
    section = entry.value if entry else None
    if storages is None:
        return
    for plugin in job.plugins:
        if plugin.plugin == "teamwise_storage" and plugin.plugin_scalar and isinstance(section, Sequence):
            removal = remove_item(job.text, section, plugin.node) if len(section.items) > 1 else ()
            fixes = fix_of("Remove 'teamwise_storage'", removal)
            related = (Related(storages.key.span, "'extras.storages' stands here"),)
            message = "'teamwise_storage' is ignored beside 'extras.storages'"
            yield Finding(name_span(plugin.plugin_scalar), message, fixes, related)


RULES = (
    teamwise_storage_deprecated,
    storages_and_teamwise,
)
