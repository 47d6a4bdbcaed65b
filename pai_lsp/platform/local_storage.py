"""What a rest-server that mounts folders of the node refuses in `extras.enableLocalStorage`.

Source: ltp-platform, src/rest-server/src/models/v2/job/k8s.js.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_PATH = lazy_pattern(r"(?:/[a-zA-Z0-9._-]+)+/?")


@dataclass(frozen=True, slots=True)
class LocalStorageFault:
    """One reason for which the job is refused.

    code: the server's name of the error; None for status 500. response: the server's message.
    key: the key of `enableLocalStorage` that is wrong; None for the whole. message: for people.
    """

    code: str | None
    response: str
    key: str | None
    message: str


def local_storage_faults(local: Any) -> Iterator[LocalStorageFault]:
    """The faults of the value of `enableLocalStorage`, as js-yaml gives it; none unless `enabled` is true."""
    if not isinstance(local, dict) or local.get("enabled") is not True:
        return
    written = {key: local.get(key) for key in ("hostpath", "mntpath")}
    for key, value in written.items():
        if value in (None, "", False, 0):
            response = "Either hostpath or mntpath array is empty."
            text = f"'enableLocalStorage' needs '{key}', one absolute path or several with ':' between them"
            yield LocalStorageFault("MissingMountPathError", response, key if key in local else None, text)
            return
    for key, value in written.items():
        if not isinstance(value, str):
            response = f"config.extras.enableLocalStorage.{key}.split is not a function"
            yield LocalStorageFault(None, response, key, f"'{key}' must be a string")
            return
    hosts, mounts = str(written["hostpath"]).split(":"), str(written["mntpath"]).split(":")
    if len(hosts) != len(mounts):
        response = "The lengths of hostpath and mntpath arrays must be equal."
        text = f"'hostpath' has {len(hosts)} paths and 'mntpath' has {len(mounts)}; the numbers must be equal"
        yield LocalStorageFault("MountPathMismatchError", response, "mntpath", text)
        return
    for one, other in zip(hosts, mounts, strict=True):
        for key, path in (("hostpath", one), ("mntpath", other)):
            if not _PATH.fullmatch(path):
                response = f"Invalid Linux path provided for hostpath ({one}) or mntpath ({other})."
                text = f"'{path.strip()}' is not an absolute path of letters, digits, '.', '_' and '-'"
                if path != path.strip():
                    text = f"the path '{path.strip()}' has a blank or a line end before or after it"
                yield LocalStorageFault("InvalidPathError", response, key, text)
                return
