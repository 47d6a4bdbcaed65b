"""wheelhouse.py FOLDER: downloads the wheels of requirements/server.txt for this platform and every supported Python.

Each is compared with its hash, and nothing is built. pip evaluates markers for the Python that it runs in, so they are
evaluated here.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pip._vendor.packaging.markers import Marker

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent


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


def main(folder: str) -> int:
    """Download all of them; returns the exit status of pip."""
    text = (ROOT / "requirements" / "server.txt").read_text(encoding="utf-8")
    for version in supported_pythons():
        with tempfile.TemporaryDirectory() as temporary:
            wanted = Path(temporary, "requirements.txt")
            wanted.write_text("\n".join(requirements_for(version, text)) + "\n", encoding="utf-8")
            pip = [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check"]
            pinned = ["--require-hashes", "--only-binary", ":all:", "--no-deps", "--python-version", version]
            ended = subprocess.run([*pip, *pinned, "--dest", folder, "-r", str(wanted)], check=False)
            if ended.returncode:
                return ended.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
