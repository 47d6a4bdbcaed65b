"""Rules about access to nodes: `extras.enableLocalStorage` and `extras.forceNodes`, on platforms that read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.platform.local_storage import local_storage_faults
from pai_lsp.source.nodes import Mapping, plain_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job


@rule(Severity.ERROR)
def local_storage_invalid(job: Job) -> Iterator[Finding]:
    """Paths of local storage that the rest-server refuses.

    With `enabled: true`, `hostpath` and `mntpath` must have the same number of absolute paths, with `:` between them.
    A path may contain letters, digits, `.`, `_` and `-`.
    Source: ltp-platform, src/rest-server/src/models/v2/job/k8s.js.

        # pai-lsp: platform=ltp
        extras:
          enableLocalStorage:
            enabled: true
            hostpath: /mnt/nvme
            mntpath: data
            #        ^^^^ error

    Good:

        # pai-lsp: platform=ltp
        extras:
          enableLocalStorage:
            enabled: true
            hostpath: /mnt/nvme
            mntpath: /data
    """
    section = job.extras_entry("enableLocalStorage")
    if not job.platform.mounts_local_storage or section is None:
        return
    for fault in local_storage_faults(plain_value(section.value)):
        entry = section.value.entry(fault.key) if fault.key and isinstance(section.value, Mapping) else None
        yield Finding(entry.place if entry else section.key.span, f"{fault.message}; the rest-server refuses the job")


@rule(Severity.WARNING)
def local_storage_not_enabled(job: Job) -> Iterator[Finding]:
    """Local storage with an `enabled` that is not the boolean `true`.

    Only the boolean `true` mounts the folders. Any other value, such as `yes` or `"true"`, mounts nothing, without a
    message.
    Source: ltp-platform, src/rest-server/src/models/v2/job/k8s.js.

        # pai-lsp: platform=ltp
        extras:
          enableLocalStorage:
            enabled: yes
            #        ^^^ warning
            hostpath: /mnt/nvme
            mntpath: /data

    Good:

        # pai-lsp: platform=ltp
        extras:
          enableLocalStorage:
            enabled: true
            hostpath: /mnt/nvme
            mntpath: /data
    """
    section = job.extras_entry("enableLocalStorage")
    if not job.platform.mounts_local_storage or section is None or not isinstance(section.value, Mapping):
        return
    entry = section.value.entry("enabled")
    if entry is not None and not isinstance(plain_value(entry.value), bool):
        yield Finding(entry.place, "'enabled' must be true; with any other value no folder is mounted")


@rule(Severity.ERROR)
def force_nodes_not_string(job: Job) -> Iterator[Finding]:
    """`extras.forceNodes` that is not a string with names of nodes.

    The rest-server splits the string at its commas. For a list or another value, and for a string that begins with a
    comma, it responds with status 500.
    Source: ltp-platform, src/rest-server/src/models/v2/job/k8s.js.

        # pai-lsp: platform=ltp
        extras:
          forceNodes: [node-1, node-2]
          #           ^^^^^^^^^^^^^^^^ error

    Good:

        # pai-lsp: platform=ltp
        extras:
          forceNodes: node-1,node-2
    """
    section = job.extras_entry("forceNodes")
    if not job.platform.forces_nodes or section is None:
        return
    value = plain_value(section.value)
    if value is None or (isinstance(value, (str, bool, int)) and not value):
        return
    if not isinstance(value, str):
        yield Finding(section.place, "'forceNodes' must be a string: names of nodes with ',' between them")
    elif not value.split(",")[0].strip():
        yield Finding(section.place, "'forceNodes' must begin with the name of a node")


RULES = (local_storage_invalid, local_storage_not_enabled, force_nodes_not_string)
