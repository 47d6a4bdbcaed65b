"""wheelhouse.py FOLDER [TARGET]: downloads the wheels of requirements/server.txt for every supported Python.

TARGET is a platform as VS Code names it; without one, the wheels are for this platform. `--targets` lists the targets:
those for which every package that is not pure Python has wheels. Each wheel is compared with its
hash, and nothing is built. pip evaluates markers for the Python that it runs in, so they are evaluated here.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.markers import Marker

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
# The platforms of wheels that a platform of VS Code can install, the best first.
TARGETS = {
    "linux-x64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "linux-arm64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "darwin-x64": ("macosx_10_13_x86_64",),
    "darwin-arm64": ("macosx_11_0_arm64",),
    "win32-x64": ("win_amd64",),
}


def supported_pythons() -> list[str]:
    """The versions in the classifiers of pyproject.toml, such as 3.10."""
    return re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def requirements_for(version: str, text: str) -> Iterator[str]:
    """The entries of a requirements file that are for a Python, without their markers."""
    for entry in re.split(r"\n(?=\S)", text.strip()):
        head, backslash, hashes = entry.partition(" \\\n")
        name, _, marker = head.partition(" ; ")
        environment = {"python_version": version, "python_full_version": f"{version}.0"}
        if not marker or Marker(marker).evaluate(environment):
            yield f"{name}{backslash}{hashes}"


def main(folder: str, target: str | None = None) -> int:
    """Download all of them; returns the exit status of pip."""
    platforms = [word for name in TARGETS[target] for word in ("--platform", name)] if target else []
    text = (ROOT / "requirements" / "server.txt").read_text(encoding="utf-8")
    for version in supported_pythons():
        with tempfile.TemporaryDirectory() as temporary:
            wanted = Path(temporary, "requirements.txt")
            wanted.write_text("\n".join(requirements_for(version, text)) + "\n", encoding="utf-8")
            pip = [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check"]
            pinned = ["--require-hashes", "--only-binary", ":all:", "--no-deps", "--python-version", version]
            ended = subprocess.run([*pip, *pinned, *platforms, "--dest", folder, "-r", str(wanted)], check=False)
            if ended.returncode:
                return ended.returncode
    return 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--targets"]:
        sys.stdout.write("\n".join(TARGETS) + "\n")
    else:
        sys.exit(main(*sys.argv[1:]))
