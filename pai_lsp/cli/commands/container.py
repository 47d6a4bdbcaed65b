"""Containers of podman or docker: made, filled through standard input, started, and removed with all that is in them.

No text of a job is in the engine's arguments but three, and each of them is checked first: the name of the image, the
path of a storage, and numbers. Scripts, variables and secrets go through standard input, so neither process lists nor
the engine's description of a container have them, and a container sees no folder of this machine but those that the
user names.
Sources: podman-create(1), docker/cli, docs/reference/commandline/container_create.md; containers/image, transports.
"""

from __future__ import annotations

import io
import posixpath
import re
import subprocess
import tarfile
from time import time
from typing import TYPE_CHECKING

from pai_lsp.expansion.plugin_scripts import HOME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from pai_lsp.cluster.task_plan import TaskPlan

# Of those that a container has by default, jobs need the rest: apt-get changes users and owners. The first process of
# an image that is not root's has none of them, so they are dropped one by one: an added one would be given to it.
_DROPPED = ("AUDIT_WRITE", "MKNOD", "NET_BIND_SERVICE", "NET_RAW", "SETFCAP", "SETPCAP")
_ONLY_FOR_SSH = "SYS_CHROOT"
_IMAGE = re.compile(
    r"(?:[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]+)?/)?[a-z0-9][a-z0-9._-]*(?:/[a-z0-9][a-z0-9._-]*)*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]*)?(?:@sha256:[0-9a-f]{64})?"
)
# What podman reads from this machine's files instead of asking a registry.
_TRANSPORT = re.compile(
    r"(?:containers-storage|dir|docker|docker-archive|docker-daemon|oci|oci-archive|ostree|sif|tarball):"
)
_PATH = re.compile(r"/[^\x00-\x1f,:\"\\]*")


def image_fault(image: str) -> str:
    """Why the engine does not get this name of an image; empty if it does."""
    is_name = _IMAGE.fullmatch(image) and not _TRANSPORT.match(image)
    return "" if is_name else f"'{image}' is not the name of an image in a registry"


def mount_fault(path: str) -> str:
    """Why a folder is not mounted at this path of a job; empty if it is.

    The files of the task would be written into a folder that is mounted at, above or below their own.
    """
    places = (f"{posixpath.normpath('/' + path.lstrip('/')).rstrip('/')}/", f"{HOME}/")
    if not _PATH.fullmatch(path) or places[0].startswith(places[1]) or places[1].startswith(places[0]):
        return f"a storage cannot be mounted at '{path}'"
    return ""


def create(
    engine: str,
    name: str,
    image: str,
    command: Sequence[str],
    *,
    plan: TaskPlan | None = None,
    network: str = "",
    ports: Iterable[str] = (),
    mounts: Iterable[tuple[str, str]] = (),
    has_ssh: bool = False,
) -> bool:
    """Create a container, which removes itself at its end; False if that fails.

    The engine shows how it pulls the image.

    command: the arguments of its bash. plan: the task that runs in it. network: the container whose network it shares;
    without one it gets a network of its own. ports: those that this machine reaches, on its own address. mounts:
    folders of this machine and their paths in the container.
    """
    arguments = [
        *(engine, "create", "--rm", "--interactive", f"--name={name}"),
        *([f"--shm-size={plan.shared_memory}m"] if plan is not None else []),
        *([f"--memory={plan.memory}m"] if plan is not None and plan.memory is not None else []),
        *([f"--network=container:{network}"] if network else []),
        *(f"--publish=127.0.0.1:{port}:{port}" for port in ports),
        *(f"--cap-drop={one}" for one in (*_DROPPED, *(() if has_ssh else (_ONLY_FOR_SSH,)))),
        *(f"--mount=type=bind,source={source},target={target}" for source, target in mounts),
        *("--entrypoint=/bin/bash", image, *command),
    ]
    return _is_done(arguments, stderr=None)


def fill(engine: str, name: str, files: Mapping[str, str]) -> bool:
    """Write files, by their paths below `HOME`, into a container that has not started."""
    archive, now = io.BytesIO(), int(time())
    with tarfile.open(fileobj=archive, mode="w") as tar:
        # As on a cluster, everybody may write there: the image may have a user of its own.
        folders = {"", *(parent for path in files for parent in _parents(path))}
        for path in sorted(folders):
            entry = tarfile.TarInfo(f"{HOME}/{path}".strip("/"))
            entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, 0o777, now
            tar.addfile(entry)
        for path, text in files.items():
            data = text.encode("utf-8", "replace")
            entry = tarfile.TarInfo(f"{HOME}/{path}".strip("/"))
            entry.size, entry.mode, entry.mtime = len(data), 0o755, now
            tar.addfile(entry, io.BytesIO(data))
    return _is_done([engine, "cp", "-", f"{name}:/"], input=archive.getvalue(), stderr=None)


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def copy_folder(engine: str, source: str, target: str, path: str) -> bool:
    """Copy a folder below `HOME` from one container into another, without unpacking it on this machine."""
    folder = path.rpartition("/")[0]
    with subprocess.Popen(  # noqa: S603 - words of our own
        [engine, "cp", f"{source}:{HOME}/{path}", "-"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as reader:
        words = [engine, "cp", "-", f"{target}:{HOME}/{folder}".rstrip("/")]
        is_written = _is_done(words, stdin=reader.stdout, stdout=None, stderr=None)
    return reader.returncode == 0 and is_written


# The command of a container that says that it runs and does nothing: it ends some seconds after its standard input. By
# then those are gone that share its network, without which it could not be removed.
HOLDS = ("-c", "echo; read -r; exec {never}<> <(:); read -r -t 10 -u $never")


def held(engine: str, name: str) -> subprocess.Popen[bytes] | None:
    """Start a container that does nothing as long as this process lives, also if it is killed; None if that fails.

    The answer holds it: at the end of its standard input, the container ends. The engine passes on that end from before
    the container starts: one that starts first, and is held then, stays for ever if this process is killed in between.
    """
    holder = subprocess.Popen(  # noqa: S603 - words of our own
        [engine, "start", "--attach", "--interactive", name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    if holder.stdout is not None and holder.stdout.readline():
        return holder
    with holder:  # it has ended
        return None


def ran(engine: str, name: str, script: str) -> bool:
    """Run a script of bash in a container that is held; False if it fails."""
    return _is_done([engine, "exec", name, "/bin/bash", script], stdout=None, stderr=None)


def ask_to_end(engine: str, name: str) -> bool:
    """Send SIGTERM to the task in a container; False if it does not run."""
    return _is_done([engine, "kill", "--signal=TERM", name])


def remove(engine: str, name: str) -> None:
    """End and remove a container, and what it has written; one that is gone already is fine."""
    _is_done([engine, "kill", name])
    _is_done([engine, "rm", "--force", "--volumes", name])


def _is_done(words: list[str], **given: Any) -> bool:
    """Run the engine; without other options it reads, prints and complains nothing."""
    null = subprocess.DEVNULL
    options = {"stdout": null, "stderr": null, **({} if "input" in given else {"stdin": null}), **given}
    return subprocess.run(words, check=False, **options).returncode == 0  # noqa: S603 - words of our own
