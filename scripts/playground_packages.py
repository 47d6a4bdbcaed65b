"""playground_packages.py FOLDER: the Python files that the playground runs, as packages in FOLDER.

pai-lsp comes from this checkout, the libraries from PyPI with the hashes of requirements/server.txt. Of a library with
compiled parts only the Python files are taken: PyYAML works without them. docs/playground/rpds.py stands for rpds-py.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from wheelhouse import ROOT, requirements_for

# The names of packages in requirements/server.txt, each with the folders in its wheel that are taken.
LIBRARIES = {
    "pyyaml": ("yaml/",),
    "ruamel-yaml": ("ruamel/yaml/",),
    "jsonschema": ("jsonschema/",),
    "jsonschema-specifications": ("jsonschema_specifications/",),
    "referencing": ("referencing/",),
    "attrs": ("attr/", "attrs/"),
}
FOLDERS = tuple(folder for folders in LIBRARIES.values() for folder in folders)
# What only the command line and the servers use.
LEFT_OUT = ("__pycache__", "assistant", "cli", "lsp")


def main(folder: Path) -> int:
    """Fill the folder; returns the exit status of pip."""
    shutil.copytree(ROOT / "pai_lsp", folder / "pai_lsp", ignore=shutil.ignore_patterns(*LEFT_OUT))
    shutil.copytree(ROOT / "schemas", folder / "pai_lsp" / "schemas")
    for name in ("browser_answers.py", "cluster_answers.py", "rpds.py"):
        shutil.copy(ROOT / "docs" / "playground" / name, folder)
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
    """Whether a file of a wheel is taken: Python and schemas, without tests, or a license."""
    is_used = name.startswith(FOLDERS) and "/tests/" not in name and "/benchmarks/" not in name
    return (is_used and (name.endswith(".py") or "/schemas/" in name)) or "/licenses/" in name


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
