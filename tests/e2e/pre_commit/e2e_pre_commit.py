"""The hooks in a real pre-commit on a real repository, with the configurations of docs/ci.md.

Run by scripts/e2e_pre_commit.sh. pre-commit installs the hooks from a clone of this work tree, and their dependencies
from the Python package index.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from documentation_blocks import marked_blocks

ROOT = Path(__file__).parent.parent.parent.parent
BLOCKS = marked_blocks("ci.md")
PRE_COMMIT = os.environ.get("E2E_PRE_COMMIT", "pre-commit")
PUBLISHED, RELEASE = "/path/to/pai-lsp", "v0.1.0"

GOOD = (ROOT / "examples" / "good.pai.yaml").read_text(encoding="utf-8")
BAD = GOOD.replace("prerequisites: [install-tools, mnist]", "prerequisites: [install-tools, minst]  # both")
WRONG = "no prerequisite is named 'minst'; did you mean 'mnist'?"


class Repository:
    """A git repository of somebody who uses the hooks."""

    def __init__(self, path: Path, home: Path) -> None:
        self.path = path
        self._environment = {
            "PATH": f"{Path(PRE_COMMIT).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "PRE_COMMIT_HOME": str(home / "pre-commit"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "A",
            "GIT_AUTHOR_EMAIL": "a@example.com",
            "GIT_COMMITTER_NAME": "A",
            "GIT_COMMITTER_EMAIL": "a@example.com",
        }
        # How this machine reaches the package index is its own business.
        self._environment |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        path.mkdir(parents=True, exist_ok=True)
        self.run("git", "init", "--quiet", "--initial-branch=main")

    def run(self, *command: str | Path, status: int = 0) -> str:
        """The output of a command, which must end as expected."""
        ended = subprocess.run(
            [str(word) for word in command],
            cwd=self.path,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=150,
            check=False,
        )
        assert ended.returncode == status, ended.stdout
        return ended.stdout

    def commit(self, *, is_refused: bool = False) -> str:
        self.run("git", "add", "--all")
        return self.run("git", "commit", "--message", "A commit", status=1 if is_refused else 0)

    def write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text, encoding="utf-8")

    def read(self, name: str) -> str:
        return (self.path / name).read_text(encoding="utf-8")

    def use_hooks(self, block: str, release: Path) -> None:
        """Configure the hooks as the page describes, with our clone where the page has the published one."""
        text = BLOCKS[block]
        assert f"repo: {PUBLISHED} " in text
        assert f"rev: {RELEASE} " in text
        self.write(".pre-commit-config.yaml", text.replace(PUBLISHED, str(release)))
        self.run(PRE_COMMIT, "install")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps what it has installed, for all tests together."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory, home: Path) -> Path:
    """A repository with what the work tree holds, tagged as a release."""
    repository = Repository(tmp_path_factory.mktemp("release"), home)
    for name in ("pyproject.toml", "README.md", "hatch_build.py", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, repository.path / name)
    for name in ("docs/pai-lsp.1", "docs/assistants.md", "docs/protocol.md"):  # what the wheel has beside the package
        repository.write(name, (ROOT / name).read_text(encoding="utf-8"))
    for name in ("pai_lsp", "schemas"):
        shutil.copytree(ROOT / name, repository.path / name, ignore=shutil.ignore_patterns("__pycache__"))
    repository.commit()
    repository.run("git", "tag", RELEASE)
    return repository.path


@pytest.fixture
def repository(tmp_path: Path, home: Path) -> Repository:
    return Repository(tmp_path / "jobs", home)


def test_a_bad_job_is_refused_with_the_message_and_a_good_one_passes(repository: Repository, release: Path) -> None:
    repository.use_hooks("pre-commit", release)
    repository.write("train.pai.yaml", BAD)
    repository.write("plain/job.yaml", BAD)
    repository.write("compose.yaml", "services: {web: {image: nginx, prerequisites: [minst]}}\n")
    output = repository.commit(is_refused=True)
    assert "check OpenPAI jobs" in output
    assert "Failed" in output
    assert output.count(f"error[unknown-prerequisite]: {WRONG}") == 2
    assert "  --> train.pai.yaml:" in output
    assert "  --> plain/job.yaml:" in output
    assert "compose.yaml" not in output
    assert repository.run("git", "log", "--oneline", "--all") == ""
    assert repository.read("train.pai.yaml") == BAD

    repository.write("train.pai.yaml", GOOD)
    repository.write("plain/job.yaml", GOOD)
    output = repository.commit()
    assert "Passed" in output
    assert "3 files changed" in output or "4 files changed" in output


def test_the_lines_of_the_readme_refuse_a_bad_job(repository: Repository, release: Path) -> None:
    lines = marked_blocks("../README.md")["pre-commit"]
    assert "/path/to/pai-lsp" in lines
    repository.write(".pre-commit-config.yaml", lines.replace("/path/to/pai-lsp", str(release)))
    repository.run(PRE_COMMIT, "install")
    repository.write("train.pai.yaml", BAD)
    assert WRONG in repository.commit(is_refused=True)
    repository.write("train.pai.yaml", GOOD)
    assert "Passed" in repository.commit()


def test_a_commit_that_breaks_a_job_which_it_does_not_touch_is_refused(repository: Repository, release: Path) -> None:
    repository.use_hooks("pre-commit-all", release)
    settings = BLOCKS["expanded-jobs"] + "marketplace:\n  sources:\n    - directory: marketplace\n"
    repository.write(".pai-lsp.yaml", settings)
    shutil.copytree(ROOT / "examples" / "marketplace", repository.path / "marketplace")
    shutil.copy(ROOT / "examples" / "marketplace-job.pai.yaml", repository.path / "train.pai.yaml")
    assert "Passed" in repository.commit()
    definition = repository.read("marketplace/mnist.yaml")

    (repository.path / "marketplace" / "mnist.yaml").unlink()  # a commit that only deletes
    output = repository.commit(is_refused=True)
    assert "check all OpenPAI jobs" in output
    assert "train.pai.yaml:" in output

    repository.write("marketplace/mnist.yaml", definition.replace("name: mnist", "name: mnist_2"))
    assert "train.pai.yaml:" in repository.commit(is_refused=True)

    repository.write("marketplace/mnist.yaml", definition)
    repository.write(".pai-lsp.yaml", settings.replace("refused-until-expanded: off", "refused-until-expanded: error"))
    assert "train.pai.yaml:" in repository.commit(is_refused=True)

    repository.write(".pai-lsp.yaml", settings)
    repository.write("README", "Only this changes.\n")
    assert "Passed" in repository.commit()


def test_excluded_jobs_are_left_out(repository: Repository, release: Path) -> None:
    repository.use_hooks("pre-commit", release)
    repository.write(".pai-lsp.yaml", "exclude:\n  - archive/\n")
    repository.write("archive/old.pai.yaml", BAD)
    assert "Passed" in repository.commit()


def test_fix_mends_the_job_and_then_it_passes(repository: Repository, release: Path) -> None:
    repository.use_hooks("pre-commit", release)
    configuration = repository.read(".pre-commit-config.yaml")
    repository.write(".pre-commit-config.yaml", configuration.replace("pai-lsp-check", "pai-lsp-fix"))
    repository.write("train.pai.yaml", BAD)
    output = repository.commit(is_refused=True)
    assert "files were modified by this hook" in output
    assert repository.read("train.pai.yaml") == BAD.replace("minst", "mnist")
    assert "Passed" in repository.commit()


def test_an_expanded_job_that_is_out_of_date_is_refused(repository: Repository, release: Path, home: Path) -> None:
    repository.use_hooks("pre-commit-expand", release)
    repository.write(".pai-lsp.yaml", BLOCKS["expanded-jobs"])
    shutil.copytree(ROOT / "examples" / "marketplace", repository.path / "marketplace")
    job = (ROOT / "examples" / "marketplace-job.pai.yaml").read_text(encoding="utf-8")
    repository.write("train.pai.yaml", job)
    output = repository.commit(is_refused=True)
    assert "released/train.yaml: no such file or directory" in output

    pai_lsp = next((home / "pre-commit").glob("repo*/py_env-*/bin/pai-lsp"))
    expand = (pai_lsp, "expand", "train.pai.yaml", "--output", "released/train.yaml")
    (repository.path / "released").mkdir()
    repository.run(*expand)
    assert "Passed" in repository.commit()

    repository.write("train.pai.yaml", job.replace("python train.py", "python train.py --epochs 20"))
    output = repository.commit(is_refused=True)
    assert "expanded OpenPAI job is up to date" in output
    assert "released/train.yaml is not up to date" in output
    repository.run(*expand)
    assert "Passed" in repository.commit()
    assert "--epochs 20" in repository.run("git", "show", "HEAD:released/train.yaml")


def test_a_hook_can_be_tried_without_a_configuration(repository: Repository, release: Path) -> None:
    line = next(
        line for line in (ROOT / "docs" / "ci.md").read_text(encoding="utf-8").splitlines() if "try-repo" in line
    )
    words = line.split("`")[1].replace("/path/to/clone", str(release)).split()
    repository.write("train.pai.yaml", BAD)
    repository.run("git", "add", "--all")
    assert WRONG in repository.run(PRE_COMMIT, *words[1:], status=1)
