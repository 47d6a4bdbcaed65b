"""Rules about storages and their mount paths: `extras.storages`, `requireStorages` and `teamwise_storage`.

The runtime plugin `teamwise_storage` is superseded by `extras.storages`.

Facts: openpai-runtime, src/plugins/teamwise_storage; rest-server, src/models/v2/job/k8s.js.
"""

from __future__ import annotations

import posixpath

from pai_lsp.findings.diagnostic import (
    Consequence,
    DiagnosticTag,
    Finding,
    Fix,
    Fixes,
    Related,
    Severity,
    Stage,
    later,
    rule,
)
from pai_lsp.findings.fixes import change_fix, fix_of
from pai_lsp.job.definition import key_name_span, name_span
from pai_lsp.job.require_graph import expansion, mounted_already
from pai_lsp.platform.tables import RUNTIME_PLUGIN
from pai_lsp.source.edits import remove_entry, remove_item
from pai_lsp.source.nodes import Scalar, Sequence, items_of, value_at
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.tree_edits import insert_values
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import PluginEntry
    from pai_lsp.source.nodes import Node
    from pai_lsp.source.text import Span


# Paths that the platform mounts in every task. Source: rest-server, src/models/v2/job/k8s.js, generateTaskRole.
_TAKEN = ("/dev/shm", "/usr/local/pai", "/usr/local/pai/logs", "/usr/local/pai/ssh-secret")  # noqa: S108 - no file


@rule(Severity.ERROR, stage=Stage.CLUSTER, about=("storages",))
def storage_mount_conflict(job: Job) -> Iterator[Finding]:
    """Two storages share a mount path, or a storage is mounted twice.

    Two storages have the same mount path, a storage is mounted twice, or the platform already uses the path. Kubernetes
    refuses a task with two volumes of one name or two mounts at one path, so the job ends with exit code -200. The
    default `mountPath` is `/mnt/` and the storage's name.
    Source: rest-server, src/models/v2/job/k8s.js; Kubernetes, ValidateVolumeMounts ("must be unique").

        extras:
          storages:
            - name: confignfs
              mountPath: /data
            - name: datanfs
              mountPath: /data
              #          ^^^^^ error

    Good:

        extras:
          storages:
            - name: confignfs
              mountPath: /data
            - name: datanfs
              mountPath: /more
    """
    names: dict[str, Span] = {}
    paths: dict[str, Span] = {}
    for name, path, name_place, path_place in filter(None, map(read_storage, job.storages)):
        if name in names:
            yield Finding(name_place, f"the storage '{name}' is mounted twice", related=(Related(names[name], "here"),))
        elif path in paths:
            related = (Related(paths[path], "here"),)
            yield Finding(path_place, f"another storage is already mounted at '{path}'", related=related)
        elif path in _TAKEN:
            yield Finding(path_place, f"the platform already uses the path '{path}'")
        names.setdefault(name, name_place)
        paths.setdefault(path, path_place)


@rule(Severity.ERROR, stage=Stage.CLUSTER, about=("storages", "requireStorages"))
def storage_invalid(job: Job) -> Iterator[Finding]:
    """Kubernetes refuses the name or the mount path of a storage.

    The volume of a storage is named after it, so the name may contain only lower-case letters, digits and `-`; a mount
    path must not contain `:`. Otherwise Kubernetes refuses the task, and the job ends with exit code -200. The storages
    that a used definition requires are checked, too.
    Source: rest-server, src/models/v2/job/k8s.js (`NAME-volume`); Kubernetes, ValidateVolumes, ValidateVolumeMounts.

        extras:
          storages:
            - name: config_nfs
              #     ^^^^^^^^^^ error

    Good:

        extras:
          storages:
            - name: confignfs
    """
    used = (one for one in job.definitions if job.is_catalog or job.is_used(one))
    items = (*job.storages, *(item for definition in used for item in _required(definition)))
    for name, path, name_place, path_place in filter(None, map(read_storage, items)):
        if not _VOLUME_NAME.fullmatch(name) and "{{" not in name:
            message = "a storage name may contain only lower-case letters, digits and '-'"
            yield Finding(name_place, f"{message}, or Kubernetes refuses the task")
        elif ":" in path:
            yield Finding(path_place, "a mount path cannot contain ':'; Kubernetes refuses the task")


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.IGNORED, about=("storageConfigNames",))
def storage_names_in_extras(job: Job) -> Iterator[Finding]:
    """`storageConfigNames` is directly under `extras`, where nothing reads it.

    Nothing reads it there, so no storage is mounted. The storages of a job are listed in `extras.storages`.
    Source: rest-server, src/models/v2/job/k8s.js, put.

        extras:
          storageConfigNames: [confignfs]
          #^^^^^^^^^^^^^^^^^ warning

    Good:

        extras:
          storages:
            - name: confignfs
    """
    entry = job.extras_entry("storageConfigNames")
    if entry is not None:
        yield Finding(key_name_span(entry), "'storageConfigNames' has no effect here; list the storages in 'storages'")


# With `-volume` at its end, at most 63 characters.
_VOLUME_NAME = lazy_pattern(r"[a-z0-9][-a-z0-9]{0,55}")


def read_storage(node: Node) -> tuple[str, str, Span, Span] | None:
    """A storage's name and absolute mount path, with the spans of both; None without a name."""
    name = value_at(node, "name")
    path = value_at(node, "mountPath")
    if not isinstance(name, Scalar) or not name.text or (path is not None and not isinstance(path, Scalar)):
        return None
    written, place = (path.text, name_span(path)) if path and path.text else (f"/mnt/{name.text}", name_span(name))
    return name.text, "/" + posixpath.normpath(written).strip("/"), name_span(name), place


@rule(Severity.WARNING, stage=Stage.CLUSTER, about=("storages", "requireStorages"))
def storage_path_relative(job: Job) -> Iterator[Finding]:
    """The mount path of a storage is relative.

    It is relative to the root directory, not to a working directory.
    Source: Kubernetes, pkg/kubelet/kubelet_pods.go, makeMounts.

        extras:
          storages:
            - name: confignfs
              mountPath: data
              #          ^^^^ warning

    Good:

        extras:
          storages:
            - name: confignfs
              mountPath: /data
    """
    required = (item for definition in job.definitions for item in _required(definition))
    for item in (*job.storages, *required):
        path = value_at(item, "mountPath")
        if isinstance(path, Scalar) and path.is_string and path.text[:1] not in {"", "/", "{", "<", "$"}:
            fixes = change_fix(name_span(path), f"/{path.text}", safe=True)
            message = f"'{path.text}' is not an absolute path; it becomes '/{path.text}'"
            yield Finding(name_span(path), message, fixes)


def _required(definition: Definition) -> tuple[Node, ...]:
    """The storages that a definition requires."""
    return items_of(definition.node.get("requireStorages"))


@rule(Severity.ERROR, stage=Stage.EXPANSION, about=("requireStorages",))
def storage_conflict(job: Job) -> Iterator[Finding]:
    """A storage that a prerequisite requires conflicts with another one.

    Expansion merges `requireStorages` of all prerequisites that the task roles need into `extras.storages`. One storage
    at two paths, or two storages at one path, cannot be merged.
    Source: docs/protocol.md, "Expansion of a task role"; openpai, issue 5345.

        prerequisites:
          - name: imagenet
            type: data
            requireStorages:
              - name: confignfs
                mountPath: /imagenet
                #          ^^^^^^^^^ error
        taskRoles:
          worker:
            prerequisites: [imagenet]
        extras:
          storages:
            - name: confignfs
              mountPath: /data

    Good:

        prerequisites:
          - name: imagenet
            type: data
            requireStorages:
              - name: confignfs
                mountPath: /data
        taskRoles:
          worker:
            prerequisites: [imagenet]
        extras:
          storages:
            - name: confignfs
              mountPath: /data
    """
    graph, mounts = job.require_graph, _Mounts()
    for item in job.storages:
        mounts.add(item, "'extras.storages'", None)
    # As expansion mounts them: what is required first, so that both report the same place.
    steps = [step.definition for role in job.task_roles for step in expansion(graph, role.prerequisites).steps]
    for definition in dict.fromkeys((*steps, *graph.definitions)):
        if job.is_catalog:
            mounts = _Mounts()  # only a job knows which definitions it combines
        elif not job.is_used(definition):
            continue
        path = graph.path(definition)
        for item in _required(definition):
            conflict = mounts.add(item, f"'{definition.name}'", path)
            if conflict is not None and not graph.is_outside(definition):
                yield conflict
            elif conflict and (entry := next((one for one in graph.entries if definition in graph.reached(one)), None)):
                message = f"'{entry.reference.name}' cannot be used here: {conflict.message}"
                related = (Related(conflict.span, "required here", path), *conflict.related)
                yield Finding(entry.reference.span, message, related=related)


class _Mounts:
    """The mounts so far: by storage its path, and by path its storage, each with its location in the file."""

    def __init__(self) -> None:
        self._by_name: dict[str, tuple[str, Related]] = {}
        self._by_path: dict[str, tuple[str, Related]] = {}

    def add(self, node: Node, owner: str, path: str | None) -> Finding | None:
        """Add a mount; returns the conflict, if any, on its mount path."""
        read = read_storage(node)
        if read is None or any("{{" in text or "<%" in text for text in read[:2]):
            return None
        name, mount, _, place = read
        here = Related(place, f"mounted by {owner}", path)
        named = self._by_name.setdefault(name, (mount, here))
        taken = self._by_path.setdefault(mount, (name, here))
        if named[0] != mount:
            return Finding(place, mounted_already(name, named[0]), related=(named[1],))
        if taken[0] != name:
            return Finding(place, mounted_already(taken[0], mount), related=(taken[1],))
        return Finding(place, f"the platform already uses the path '{mount}'") if mount in _TAKEN else None


@rule(Severity.INFORMATION, stage=Stage.SERVER, about=("teamwise_storage",))
def teamwise_storage_deprecated(job: Job) -> Iterator[Finding]:
    """The plugin `teamwise_storage` is deprecated.

    Use `extras.storages` instead. The plugin itself does nothing in the runtime; the rest-server translates it if the
    job has no `extras.storages`.
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
    found = [one for one in job.plugins if one.plugin == "teamwise_storage"]
    for use in job.uses_of_plugin("teamwise_storage"):
        message = "'teamwise_storage' is deprecated; use 'extras.storages'"
        is_only = len(found) == 1 and found[0] is use.owner
        fixes = _as_storages(job, found[0]) if is_only else ()
        yield Finding(use.name_span, message, fixes, tags=(DiagnosticTag.DEPRECATED,))


@later
def _as_storages(job: Job, plugin: PluginEntry) -> Fixes:
    """Write `extras.storages` instead of the only runtime plugin, or next to the others."""
    extras, names = job.extras, plugin.parameter("storageConfigNames")
    section = extras.own(RUNTIME_PLUGIN) if extras else None
    plugins = section.value if section else None
    if extras is None or section is None or not isinstance(plugins, Sequence):
        return ()
    is_only = len(plugins.items) == 1
    items = items_of(names.value) if names else ()
    storages = [{"name": item.text} for item in items if isinstance(item, Scalar)]
    has_no_place = extras.is_flow or extras.entry("storages") or (is_only and len(extras.entries) == 1)
    if has_no_place or len(storages) < len(items):
        return ()
    removal = remove_entry(job.text, extras, section) if is_only else remove_item(job.text, plugins, plugin.node)
    edits = (*removal, insert_values(job.text, extras, {"storages": storages}))
    return (Fix("Convert to 'extras.storages'", edits),) if removal else ()


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.IGNORED, about=("storages",))
def storages_and_teamwise(job: Job) -> Iterator[Finding]:
    """The plugin `teamwise_storage` is ignored, because the job also has `extras.storages`.

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
            removal = fix_of("Remove 'teamwise_storage'", remove_item, job.text, section, plugin.node)
            related = (Related(storages.key.span, "'extras.storages' is here"),)
            message = "'teamwise_storage' is ignored because of 'extras.storages'"
            yield Finding(name_span(plugin.plugin_scalar), message, removal if section.items[1:] else (), related)
