"""docs/ci.md: its configurations are what CI systems read, and the commands in them do what the page describes."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from documentation_blocks import marked_blocks

from pai_lsp import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.repository

ROOT = Path(__file__).parent.parent
BLOCKS = marked_blocks("ci.md")
BASH = shutil.which("bash")
# What the systems' own tools leave, and where it is put here.
REPORTS = {
    "github": (),
    "github-sarif": ("pai-lsp.sarif",),
    "gitlab": ("gl-code-quality-report.json",),
    "azure": ("pai-lsp.sarif",),
}
INSTALL = (
    "pip install --require-hashes --only-binary :all: -r ci/server.txt",
    f"pip install --no-index --no-deps ci/pai_lsp-{__version__}-py3-none-any.whl",
)
ZIZMOR = shutil.which("zizmor", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
WHEELHOUSE = runpy.run_path(str(ROOT / "scripts" / "wheelhouse.py"))
needs_bash = pytest.mark.skipif(BASH is None, reason="needs bash")


def scripts(node: Any) -> Iterator[str]:
    """The shell lines of a pipeline, in their order: `run` and `script`, one line or several."""
    if isinstance(node, list):
        for one in node:
            yield from scripts(one)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in {"run", "script"}:
                yield from [value] if isinstance(value, str) else value
            else:
                yield from scripts(value)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a good job that takes definitions from a marketplace, the job expanded, and `pai-lsp`."""
    path = tmp_path_factory.mktemp("repository")
    (path / "bin").mkdir()
    command = path / "bin" / "pai-lsp"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pai_lsp "$@"\n')
    command.chmod(0o755)
    shutil.copytree(ROOT / "examples" / "marketplace", path / "marketplace")
    shutil.copy(ROOT / "examples" / "marketplace-job.pai.yaml", path / "train.pai.yaml")
    (path / ".pai-lsp.yaml").write_text(BLOCKS["expanded-jobs"])
    (path / "compose.yaml").write_text("services: {web: {image: nginx}}\n")
    (path / "released").mkdir()
    assert run("pai-lsp expand train.pai.yaml --output released/train.yaml", path)[0] == 0
    assert run("pai-lsp marketplace lock", path)[0] == 0
    return path


@pytest.fixture
def folder(repository: Path, tmp_path: Path) -> Path:
    """One that a test may change."""
    return shutil.copytree(repository, tmp_path / "repository")


def run(line: str, folder: Path) -> tuple[int, str]:
    """The status and the output of a line, run as a pipeline runs it."""
    environment = {
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(folder / ".cache"),
    }
    ended = subprocess.run(
        [BASH or "bash", "--norc", "--noprofile", "-eo", "pipefail", "-c", line],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.stderr == "" or ended.returncode == 1, ended.stderr
    return ended.returncode, ended.stdout


def pipeline(name: str, folder: Path) -> list[tuple[int, str]]:
    """What becomes of a configuration's commands; installing pai-lsp is taken as done."""
    lines = [line for script in scripts(yaml.safe_load(BLOCKS[name])) for line in script.splitlines()]
    assert tuple(lines[:2]) == INSTALL
    return [run(line.replace("$(Build.ArtifactStagingDirectory)", "."), folder) for line in lines[2:]]


@pytest.mark.slow
@needs_bash
@pytest.mark.parametrize("name", REPORTS)
def test_a_good_repository_passes(name: str, folder: Path) -> None:
    assert {status for status, _ in pipeline(name, folder)} == {0}
    for report in REPORTS[name]:
        content = json.loads((folder / report).read_text())
        assert content == [] or content["runs"][0]["results"] == []


@pytest.mark.slow
@needs_bash
@pytest.mark.parametrize("name", REPORTS)
def test_a_bad_job_is_reported(name: str, folder: Path) -> None:
    (folder / "typo.pai.yaml").write_bytes((ROOT / "examples" / "typo.pai.yaml").read_bytes())
    ended = pipeline(name, folder)
    for report in REPORTS[name]:
        assert "no prerequisite is named 'minst'" in (folder / report).read_text()
    if name == "github-sarif":  # code scanning decides what becomes of the pull request
        assert [status for status, _ in ended] == [0]
    else:
        assert ended[-1][0] == 1
        assert "no prerequisite is named 'minst'" in ended[-1][1]


@pytest.mark.slow
@needs_bash
def test_a_failure_of_ours_ends_the_job_before_the_upload(folder: Path) -> None:
    line = next(line for line in scripts(yaml.safe_load(BLOCKS["github-sarif"])) if "sarif" in line)
    (folder / "bin" / "pai-lsp").write_text("#!/bin/sh\nexit 3\n")
    assert run(line, folder) == (1, "")


@pytest.mark.slow
@needs_bash
def test_the_lines_for_anywhere(folder: Path) -> None:
    lines = BLOCKS["anywhere"].splitlines()
    assert [run(line, folder)[0] for line in lines] == [0, 0, 0, 0]
    with (folder / "train.pai.yaml").open("a") as job:
        job.write("# a comment that the expanded job has not\n")
    assert [run(line, folder)[0] for line in lines] == [0, 0, 1, 0]


def test_github_takes_the_workflows() -> None:
    for name in ("github", "github-sarif"):
        workflow = yaml.safe_load(BLOCKS[name])
        # YAML 1.1 reads the key `on` as true.
        assert workflow[True] == ["push", "pull_request"]
        steps = workflow["jobs"]["check"]["steps"]
        assert all(("uses" in step) != ("run" in step) for step in steps)
        assert workflow["jobs"]["check"]["permissions"]["contents"] == "read"
    uploads = [step for step in steps if "upload-sarif" in step.get("uses", "")]
    assert uploads[0]["with"]["sarif_file"] == "pai-lsp.sarif"


def test_gitlab_and_azure_find_the_reports() -> None:
    gitlab = yaml.safe_load(BLOCKS["gitlab"])["pai-lsp"]
    assert gitlab["artifacts"]["reports"]["codequality"] in gitlab["script"][2]
    assert gitlab["artifacts"]["when"] == "always"
    steps = yaml.safe_load(BLOCKS["azure"])["steps"]
    published = next(step["publish"] for step in steps if "publish" in step)
    assert any(f"{published}/pai-lsp.sarif" in step.get("script", "") for step in steps)


def test_everything_that_can_be_pinned_is() -> None:
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    assert re.findall(r"uses: (?!\S+@[0-9a-f]{40} # v\d)\S+", text) == []
    assert re.findall(r"image: (?!\S+@sha256:[0-9a-f]{64}\n)\S+:\S+", text) == []
    # Nothing is installed by a name that somebody else could register.
    assert not re.search(r"pip(?:x)? install (?:[\w=.-]+ )*pai-lsp", text)
    assert "https://github.com/pai-lsp" not in text
    for name in ("github", "github-sarif"):
        workflow = yaml.safe_load(BLOCKS[name])
        assert workflow["permissions"] == {}
        checkout = workflow["jobs"]["check"]["steps"][0]
        assert checkout["with"] == {"persist-credentials": False}


@pytest.mark.skipif(ZIZMOR is None, reason="needs zizmor")
@pytest.mark.parametrize("name", ["github", "github-sarif"])
def test_zizmor_finds_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    (tmp_path / ".github" / "workflows" / "openpai.yml").write_text(BLOCKS[name], encoding="utf-8")
    ended = subprocess.run(
        [ZIZMOR or "zizmor", "--offline", "--no-progress", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout


def test_the_workflows_of_the_project_name_what_there_is() -> None:
    """Scripts, files and targets of make; actions are pinned; the container has what the tests would install."""
    targets = set(
        re.findall(r"^([a-z.-]+(?:/\.ready)?):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    files = [*(ROOT / ".github").rglob("*.*"), ROOT / "docs" / "writing-rules.md", ROOT / "docs" / "contributing.md"]
    for path in files:
        text = path.read_text(encoding="utf-8")
        named = re.findall(r"\b(?:scripts|tests|pai_lsp|docs)/[\w./-]*\w|\.ci/\w+", text)
        assert [name for name in named if not (ROOT / name).exists() and not (ROOT / f"{name}.py").exists()] == []
        assert set(re.findall(r"\bmake ([a-z]+(?:-[a-z]+)*)\b", text)) <= targets, path
        assert re.findall(r"uses: (?!\S+@[0-9a-f]{40} # v\d)\S+", text) == []
    installed = (ROOT / ".ci" / "Containerfile").read_text(encoding="utf-8").split()
    for path in (ROOT / "scripts").glob("e2e_*.sh"):
        wanted = re.findall(
            r"(?<=[\w.-]=)[a-z][\w.-]+",
            " ".join(re.findall(r"apt_packages\.sh ((?:.*\\\n)*.*)", path.read_text(encoding="utf-8"))),
        )
        assert [name for name in wanted if name not in {*installed, "neovim", "yes"}] == [], path


def test_the_list_of_packages_has_all_that_the_server_needs_for_every_python() -> None:
    text = (ROOT / "requirements" / "server.txt").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = project.partition("\ndependencies = [")[2].partition("\n]")[0]
    needed = {name.lower().replace(".", "-") for name in re.findall(r'^  "([\w.-]+)', block, re.MULTILINE)}
    assert len(needed) > 5
    tested = (ROOT / "requirements" / "test.txt").read_text(encoding="utf-8")
    for version in WHEELHOUSE["supported_pythons"]():
        entries = list(WHEELHOUSE["requirements_for"](version, text))
        names = [entry.partition("==")[0] for entry in entries]
        assert len(set(names)) == len(names)
        assert needed <= set(names)
        assert all("--hash=sha256:" in entry and " ; " not in entry for entry in entries)
        assert all(entry.partition(" ")[0] in tested for entry in entries), "the tests run with the same versions"


def test_the_hooks_of_the_page_are_those_there_are() -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    text = (ROOT / "docs" / "ci.md").read_text()
    assert all(f"| `{name}` |" in text for name in hooks)
    assert {hook["language"] for hook in hooks.values()} == {"python"}
    named = {
        hook["id"]
        for block in ("pre-commit", "pre-commit-all", "pre-commit-expand")
        for repository in yaml.safe_load(BLOCKS[block])["repos"]
        for hook in repository["hooks"]
    }
    assert named | {"pai-lsp-check-all"} == set(hooks)  # the page shows that one in its table only
