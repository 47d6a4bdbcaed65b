"""playground_packages.py FOLDER: the Python files that the playground runs, as packages in FOLDER.

pai-lsp comes from this checkout, the libraries from PyPI with the hashes of requirements/server.txt. Of a library with
compiled parts only the Python files are taken: PyYAML works without them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from wheelhouse import ROOT, requirements_for

# The names of packages in requirements/server.txt, each with the folder in its wheel that is taken.
LIBRARIES = {"pyyaml": "yaml/", "ruamel-yaml": "ruamel/yaml/"}
# What only the command line and the server use.
LEFT_OUT = ("__pycache__", "cli", "lsp")


def main(folder: Path) -> int:
    """Fill the folder; returns the exit status of pip."""
    shutil.copytree(ROOT / "pai_lsp", folder / "pai_lsp", ignore=shutil.ignore_patterns(*LEFT_OUT))
    shutil.copytree(ROOT / "schemas", folder / "pai_lsp" / "schemas")
    shutil.copy(ROOT / "docs" / "playground" / "browser_answers.py", folder)
    text = (ROOT / "requirements" / "server.txt").read_text(encoding="utf-8")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    with tempfile.TemporaryDirectory() as temporary:
        wanted = Path(temporary, "requirements.txt")
        entries = [one for one in requirements_for(version, text) if one.partition("==")[0] in LIBRARIES]
        wanted.write_text("\n".join(entries) + "\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check", "--require-hashes"]
        pinned = ["--only-binary", ":all:", "--no-deps", "--dest", temporary, "-r", str(wanted)]
        ended = subprocess.run([*pip, *pinned], check=False)
        if ended.returncode:
            return ended.returncode
        for wheel in Path(temporary).glob("*.whl"):
            with zipfile.ZipFile(wheel) as packed:
                kept = [name for name in packed.namelist() if is_kept(name)]
                packed.extractall(folder, kept)
    return 0


def is_kept(name: str) -> bool:
    """Whether a file of a wheel is taken: Python, or a license."""
    return (name.endswith(".py") and name.startswith(tuple(LIBRARIES.values()))) or "/licenses/" in name


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
