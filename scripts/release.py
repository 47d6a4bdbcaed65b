"""release.py [--dry-run] FOLDER: makes the files of a release in FOLDER, from the commit that a tag vVERSION names.

They are the wheel, the sdist, the VS Code extension (for each platform that has all packages of the server with them,
for all others without), a section of the changelog (`release-notes.md`), what is inside of the wheel with its
dependencies and of the extension (`*.cdx.json`, in the CycloneDX format), and `SHA256SUMS`.
It stops if the versions in the repository do not agree with the tag, if the changelog has no date for it (a dry run
only mentions that), or if a file contains a path of this machine. docs/contributing.md has all steps.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

ROOT = Path(__file__).parent.parent
_HEADING = re.compile(r"^## (\S+) \((\d{4}-\d\d-\d\d|unreleased)\)$", re.MULTILINE)
_CHANGELOGS = ("CHANGELOG.md", "vscode-extension/CHANGELOG.md")
_VERSION_LINES = {
    "pai_lsp/version.py": r'^__version__ = "(.*)"$',
    "editors/mason/packages/pai-lsp/package.yaml": r"^  id: pkg:pypi/pai-lsp@(.*)$",
    "editors/zed/Cargo.toml": r'^version = "(.*)"$',
    "editors/zed/extension.toml": r'^version = "(.*)"$',
}


class ReleaseError(Exception):
    """The release cannot be made; the message has the reason."""


def versions(root: Path = ROOT) -> dict[str, str]:
    """The version that each file states, by its path; empty where it states none."""
    found: dict[str, str] = {}
    for path, pattern in _VERSION_LINES.items():
        match = re.search(pattern, (root / path).read_text(encoding="utf-8"), re.MULTILINE)
        found[path] = match[1] if match else ""
    for path in _CHANGELOGS:
        match = _HEADING.search((root / path).read_text(encoding="utf-8"))
        found[path] = match[1] if match else ""
    for path in ("vscode-extension/package.json", "vscode-extension/package-lock.json"):
        found[path] = json.loads((root / path).read_text(encoding="utf-8"))["version"]
    return found


def notes(version: str, root: Path = ROOT) -> tuple[str, bool]:
    """The section of a version in the changelog without its heading, and whether all changelogs have a date for it."""
    dates = [dict(_HEADING.findall((root / path).read_text(encoding="utf-8"))).get(version) for path in _CHANGELOGS]
    text = (root / _CHANGELOGS[0]).read_text(encoding="utf-8")
    sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    section = next((one for one in sections if one.startswith(f"## {version} ")), "")
    return section.partition("\n")[2].strip() + "\n", all(date not in {None, "unreleased"} for date in dates)


def paths_inside(name: str, data: bytes, paths: list[str]) -> Iterator[str]:
    """The members of an archive, and of archives in it, that contain one of the paths."""
    if name.endswith((".whl", ".vsix", ".zip")):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(one, archive.read(one)) for one in archive.namelist()]
    elif name.endswith(".tar.gz"):
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            files = [(one.name, archive.extractfile(one)) for one in archive.getmembers()]
            members = [(one, file.read()) for one, file in files if file is not None]
    else:
        members = []
        if any(path.encode() in data for path in paths):
            yield name
    for member, content in members:
        for found in paths_inside(member, content, paths):
            yield found if found == member else f"{member}: {found}"


def main(words: list[str]) -> int:
    """Make the files; returns the exit status."""
    folder = Path(next(word for word in words if word != "--dry-run")).absolute()
    try:
        sys.stdout.write(_made(folder, is_dry="--dry-run" in words))
    except ReleaseError as error:
        sys.stderr.write(f"release: {error}\n")
        return 1
    return 0


def _made(folder: Path, *, is_dry: bool) -> str:
    """Make the files; returns their checksums in the form of sha256sum."""
    version = _tagged_version()
    text, is_dated = notes(version)
    if not is_dated:
        message = f"the changelogs have no date for {version}: write '## {version} (YYYY-MM-DD)'"
        if not is_dry:
            raise ReleaseError(message)
        sys.stderr.write(f"before the release: {message}\n")
    folder.mkdir(parents=True, exist_ok=True)
    targets = _targets()
    steps = [["build_dist.sh", str(folder)], ["build_vsix.sh", "--no-wheelhouse", "--into", str(folder)]]
    steps += [["build_vsix.sh", "--target", target, "--into", str(folder)] for target in targets]
    for script, *words in steps:
        if subprocess.run([ROOT / "scripts" / script, *words], check=False).returncode:
            raise ReleaseError(f"scripts/{script} failed")
    (folder / "release-notes.md").write_text(text, encoding="utf-8")
    contents = {
        f"pai-lsp-{version}.cdx.json": python_contents(version),
        f"openpai-jobs-{version}.cdx.json": extension_contents(),
    }
    for name, listed in contents.items():
        (folder / name).write_text(json.dumps(listed, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    built = [f"pai_lsp-{version}-py3-none-any.whl", f"pai_lsp-{version}.tar.gz", f"openpai-jobs-{version}.vsix"]
    built += [f"openpai-jobs-{target}-{version}.vsix" for target in targets]
    sums = ""
    for name in sorted([*built, *contents, "release-notes.md"]):
        data = (folder / name).read_bytes()
        if found := next(paths_inside(name, data, [str(ROOT), *_origin()]), None):
            raise ReleaseError(f"{name} contains a path of this machine, in {found}")
        sums += f"{hashlib.sha256(data).hexdigest()}  {name}\n"
    (folder / "SHA256SUMS").write_text(sums, encoding="utf-8")
    return sums


def python_contents(version: str) -> dict[str, Any]:
    """What an installation of the wheel has in it: the packages of requirements/server.txt with their hashes."""
    text = (ROOT / "requirements" / "server.txt").read_text(encoding="utf-8")
    components = []
    for entry in re.split(r"\n(?=\w)", text):
        if match := re.match(r"([\w.-]+)==([^\s;]+)", entry):
            hashes = [{"alg": "SHA-256", "content": found} for found in re.findall(r"--hash=sha256:(\w+)", entry)]
            url = f"pkg:pypi/{match[1]}@{match[2]}"
            wheels = [{"type": "distribution", "url": url, "hashes": hashes}]
            component = {"type": "library", "name": match[1], "version": match[2], "purl": url, "bom-ref": url}
            components.append({**component, "externalReferences": wheels})
    product = {"type": "application", "name": "pai-lsp", "version": version, "purl": f"pkg:pypi/pai-lsp@{version}"}
    licence = {"licenses": [{"license": {"id": "MIT"}}]}
    head = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1}
    return {**head, "metadata": {"component": {**product, **licence}}, "components": components}


def extension_contents() -> dict[str, Any]:
    """The npm packages that are bundled into the extension, without what is new in each run."""
    command = ["npm", "sbom", "--sbom-format", "cyclonedx", "--omit", "dev", "--package-lock-only"]
    ended = subprocess.run(command, cwd=ROOT / "vscode-extension", stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(ended.stdout)
    del found["serialNumber"], found["metadata"]["timestamp"]
    return found


def _targets() -> list[str]:
    command = [sys.executable, str(ROOT / "scripts" / "wheelhouse.py"), "--targets"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def _tagged_version() -> str:
    """The version of the tag at the commit that is checked out."""
    tags = [one for one in _git("tag", "--points-at", "HEAD") if re.fullmatch(r"v\d+\.\d+\.\d+((a|b|rc)\d+)?", one)]
    if len(tags) != 1:
        raise ReleaseError("the commit that is checked out needs exactly one tag of the form v1.2.3")
    if changed := _git("status", "--porcelain", "--untracked-files=no"):
        raise ReleaseError(f"there are changes that are not committed: {changed[0].strip()}")
    version = tags[0].removeprefix("v")
    if wrong := {path: found for path, found in versions().items() if found != version}:
        listed = ", ".join(f"{path} has {found or 'none'}" for path, found in wrong.items())
        raise ReleaseError(f"the tag is {tags[0]}, but {listed}")
    return version


def _origin() -> list[str]:
    """The folder that this clone comes from, if it comes from this machine."""
    return [one for one in _git("config", "--get-all", "remote.origin.url") if one.startswith("/")]


def _git(*words: str) -> list[str]:
    ended = subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return ended.stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
