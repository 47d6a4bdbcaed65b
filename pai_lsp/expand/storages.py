"""The storages that prerequisites need, and those of them that the job must mount.

Source of the forms: openpai, issues 5345 (`requireStorages`, the plugin `pvc_storage`) and 5145 (type `storage`).
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from pai_lsp.expand.callbacks import CANNOT_BE_EXPANDED, problem
from pai_lsp.expand.filling import step_text
from pai_lsp.findings.diagnostic import Diagnostic, Related
from pai_lsp.job.definition import STORAGE_PLUGINS
from pai_lsp.job.require_graph import mounted_already
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.expand.callbacks import Report
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.require_graph import ExpansionStep
    from pai_lsp.source.text import Span


@dataclass(frozen=True, slots=True, eq=False)
class Storage:
    """A storage that a prerequisite needs; `span` is its place, or the reference in the job that leads to its file."""

    name: str
    mount_path: str
    span: Span


def is_storage(definition: Definition) -> bool:
    """Whether a definition is a storage itself, and runs nothing."""
    plugin = definition.extended_plugin
    return plugin in STORAGE_PLUGINS or (definition.type == "storage" and plugin is None)


def needed_storages(step: ExpansionStep, where: Span | None, report: Report) -> Iterator[Storage]:
    """What a definition needs to be mounted; `where` is the place in the job of one in another file."""
    node = step.definition.node.get("requireStorages")
    for item in node.items if isinstance(node, Sequence) else ():
        name = item.get("name") if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or not isinstance(name, Scalar) or not name.text:
            report(CANNOT_BE_EXPANDED, where or item.span, "a storage needs a name")
            continue
        mount = item.get("mountPath")
        named = step_text(name.text, step)
        path = step_text(mount.text, step) if isinstance(mount, Scalar) and mount.text else f"/mnt/{named}"
        yield Storage(named, path, where or item.span)
    if is_storage(step.definition):
        yield _own_storage(step, where)


def _own_storage(step: ExpansionStep, where: Span | None) -> Storage:
    """The storage that a definition is."""
    definition = step.definition
    name = definition.parameter("config") or definition.parameter("name") or definition.node.entry("name")
    mount = definition.parameter("mountPath") or definition.parameter("mountPoint")
    named = step_text(name.value.text, step) if name and isinstance(name.value, Scalar) else definition.name
    path = step_text(mount.value.text, step) if mount and isinstance(mount.value, Scalar) else ""
    return Storage(named, path or f"/mnt/{named}", where or definition.name_span)


def merged_storages(job: Job, needed: Iterable[Storage]) -> tuple[tuple[Storage, ...], tuple[Diagnostic, ...]]:
    """The needed storages that the job does not mount yet, and the contradictions.

    One storage can be mounted at one path, and one path holds one storage.
    """
    by_name: dict[str, Storage] = {}
    by_path: dict[str, Storage] = {}
    new: list[Storage] = []
    problems: list[Diagnostic] = []
    for storage in _mounted(job):
        by_name.setdefault(storage.name, storage)
        by_path.setdefault(posixpath.normpath(storage.mount_path), storage)
    for storage in needed:
        path = posixpath.normpath(storage.mount_path)
        same_name, same_path = by_name.get(storage.name), by_path.get(path)
        if same_name is None and same_path is None:
            by_name[storage.name] = by_path[path] = storage
            new.append(storage)
        elif same_name is not None and posixpath.normpath(same_name.mount_path) != path:
            problems.append(_conflict(storage, same_name))
        elif same_name is None and same_path is not None:
            problems.append(_conflict(storage, same_path))
    return tuple(new), tuple(problems)


def _conflict(storage: Storage, other: Storage) -> Diagnostic:
    message = mounted_already(other.name, other.mount_path)
    related = (Related(other.span, "the other one"),) if other.span != storage.span else ()
    return problem("storage-conflict", storage.span, message, *related)


def _mounted(job: Job) -> Iterator[Storage]:
    """The entries of `extras.storages`. Source: rest-server, models/v2/job/k8s.js (the default path)."""
    node = job.extras.get("storages") if job.extras else None
    for item in node.items if isinstance(node, Sequence) else ():
        name = item.get("name") if isinstance(item, Mapping) else None
        if isinstance(item, Mapping) and isinstance(name, Scalar) and name.text:
            mount = item.get("mountPath")
            path = mount.text if isinstance(mount, Scalar) and mount.text else f"/mnt/{name.text}"
            yield Storage(name.text, path, item.span)
