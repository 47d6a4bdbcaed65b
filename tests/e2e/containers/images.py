"""Makes the images of the tests from programs of this machine, with the libraries that they need.

Run by scripts/e2e_containers.sh with a folder for the files and the engine: `pai-lsp-tools` has bash, busybox, git, and
ssh if this machine has it; `pai-lsp-small` bash and busybox, a user of its own and a working directory; `pai-lsp-bare`
has no bash.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

_SSH = ("ssh", "ssh-keygen", "scp", "sftp", "/usr/sbin/sshd")
_USERS = (
    "root:x:0:0:root:/root:/bin/bash\nsshd:x:105:65534::/run/sshd:/bin/false\nann:x:1000:1000::/home/ann:/bin/bash\n"
)


def main(root: Path, engine: str) -> None:
    bare, small, tools = root / "bare", root / "small", root / "tools"
    _put_busybox(bare)
    _imported(engine, bare, "pai-lsp-bare:1")
    _put_busybox(small)
    _put_program(small, "bash")
    home = small / "home" / "ann"
    home.mkdir(parents=True)
    _imported(engine, small, "pai-lsp-small:1", "USER ann", "WORKDIR /home/ann")
    _put_busybox(tools)
    for name in ("bash", "git", *(name for name in _SSH if shutil.which(name))):
        _put_program(tools, name)
    git = Path(subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip())
    for name in ("git", "git-upload-pack"):
        target = tools / git.relative_to("/") / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to("/usr/bin/git")
    # `git` finds this one on PATH.
    (tools / "usr/bin/git-upload-pack").symlink_to("git")
    (tools / "run/sshd").mkdir(parents=True)
    (tools / "etc/nsswitch.conf").write_text("passwd: files\ngroup: files\n", encoding="utf-8")
    for library in Path("/lib").glob("*-linux-gnu/libnss_files*"):
        _copied(tools, library)
    _imported(engine, tools, "pai-lsp-tools:1", "WORKDIR /srv")


def _put_busybox(root: Path) -> None:
    for name in ("tmp", "root", "srv", "bin", "etc"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    (root / "etc/passwd").write_text(_USERS, encoding="utf-8")
    (root / "etc/group").write_text("root:x:0:\nann:x:1000:\nnogroup:x:65534:\n", encoding="utf-8")
    _put_program(root, "busybox")
    program = str(shutil.which("busybox"))
    names = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for name in names:
        if not (root / "bin" / name).is_symlink() and name not in {"busybox", "bash"}:
            (root / "bin" / name).symlink_to(program)


def _put_program(root: Path, name: str) -> None:
    program = Path(str(shutil.which(name)))
    _copied(root, program)
    (root / "bin").mkdir(exist_ok=True)
    if name == "bash" and program != Path("/bin/bash"):
        _copied(root, program, Path("/bin/bash"))
    listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout
    for library in re.findall(r"(/\S+) \(0x", listed):
        _copied(root, Path(library))


def _copied(root: Path, file: Path, to: Path | None = None) -> None:
    target = root / (to or file).relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    shutil.copy2(file, target)


def _imported(engine: str, root: Path, name: str, *changes: str) -> None:
    options = [f"--change={change}" for change in ("ENV PATH=/usr/bin:/usr/sbin:/bin", *changes)]
    archive = root.with_suffix(".tar")
    with tarfile.open(archive, "w") as tar:
        tar.add(root, ".", filter=_owned)
    prefix = "localhost/" if engine == "docker" else ""
    subprocess.run([engine, "import", *options, str(archive), f"{prefix}{name}"], check=True)
    archive.unlink()


def _owned(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """As in an image, whoever makes it: all of it belongs to root, and a home to its user."""
    entry.uid = entry.gid = 1000 if entry.name.startswith("./home/ann") else 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
