"""What a change of a definition does: `marketplace diff`, and the lock of single definitions."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from loopback import alone

from pai_lsp.cli.main import main

EXAMPLES = Path(__file__).parent.parent / "examples"
LINE = "wget -q https://example.com/datasets/mnist.tar.gz"


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    alone(monkeypatch, str(tmp_path / "cache"))
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    folder = tmp_path / "project"
    shutil.copytree(EXAMPLES / "marketplace", folder / "marketplace")
    shutil.copy(EXAMPLES / "marketplace-job.pai.yaml", folder / "train.pai.yaml")
    text = (EXAMPLES / "marketplace-job.pai.yaml").read_text()
    start, end = text.index("    - name: mnist"), text.index("    - name: debug_hook")
    other = text[:start] + text[end:]
    other = other.replace("prerequisites: [mnist, debug_hook]", "prerequisites: [debug_hook]")
    (folder / "other.pai.yaml").write_text(other)
    monkeypatch.chdir(folder)
    return folder


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def commit(folder: Path) -> None:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z"}
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "The definitions"]):
        subprocess.run(["git", *who, *words], cwd=folder, check=True, env={**os.environ, **own})


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(("marketplace", *arguments))
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_only_the_jobs_that_change_are_shown(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    text = (project / "marketplace" / "mnist.yaml").read_text()
    (project / "marketplace" / "a-mnist.yaml.orig").write_text(text.replace(LINE, "true"))  # no file of definitions
    commit(project)
    assert run(capsys, "diff") == (0, "changed jobs: 0 of 2\n", "")
    change(project / "marketplace" / "mnist.yaml", LINE, LINE.replace("-q", "-nv"))
    change(project / "marketplace" / "imagenet.yaml", "mkdir -p", "mkdir")  # no job uses it
    change(project / "marketplace" / "debug_hook.yaml", "Keeps", "# a comment\n  Holds")  # the same commands
    expected = """\
train.pai.yaml: changes by marketplace://name/mnist
  @@ -4,5 +4,5 @@
   # --- before the commands: 'mnist' (marketplace://name/mnist) ---
   mkdir -p /dataset/mnist
  -wget -q https://example.com/datasets/mnist.tar.gz -O /dataset/mnist/mnist.tar.gz
  +wget -nv https://example.com/datasets/mnist.tar.gz -O /dataset/mnist/mnist.tar.gz
   tar -xzf /dataset/mnist/mnist.tar.gz -C /dataset/mnist
   rm /dataset/mnist/mnist.tar.gz

changed jobs: 1 of 2
"""
    assert run(capsys, "diff") == (1, expected, "")
    assert run(capsys, "diff", "--base", "HEAD") == (1, expected, "")
    assert run(capsys, "diff", "other.pai.yaml") == (0, "changed jobs: 0 of 1\n", "")
    status, _, errors = run(capsys, "diff", "--base", "nowhere")
    assert status == 2
    assert errors.startswith("pai-lsp marketplace diff: git cannot read ")
    assert run(capsys, "diff", "--base", "--output=x")[0] == 2
    assert not (project / "x").exists()


def test_a_job_that_can_no_longer_be_expanded_changes(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    commit(project)
    (project / "marketplace" / "mnist.yaml").unlink()
    status, printed, _ = run(capsys, "diff")
    assert status == 1
    assert "train.pai.yaml: changes by marketplace://name/mnist" in printed
    assert "  +cannot be expanded: the marketplace has no 'marketplace://name/mnist'" in printed


def test_a_storage_that_changes(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    file = project / "marketplace" / "mnist.yaml"
    change(file, "template_variables", "requireStorages: [{name: nfs, mountPath: /a}]\ntemplate_variables")
    commit(project)
    change(file, "mountPath: /a", "mountPath: /b")
    printed = run(capsys, "diff")[1]
    assert "mountPath: /b" in printed
    assert printed.endswith("changed jobs: 1 of 2\n")


def test_without_git_the_lock_file_is_compared(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    status, _, errors = run(capsys, "diff")
    assert status == 2
    assert errors.startswith("pai-lsp marketplace diff: nothing to compare with: git cannot read ")
    team = project.parent / "team"
    shutil.move(project / "marketplace", team)
    (project / ".pai-lsp.yaml").write_text("marketplace: {sources: [{directory: ../team}]}\n")
    assert run(capsys, "lock")[0] == 0
    assert run(capsys, "diff")[1] == "changed jobs: 0 of 2\n"
    change(team / "mnist.yaml", "mkdir -p", "mkdir")
    assert run(capsys, "diff")[1].startswith("train.pai.yaml: changes by marketplace://name/mnist\n")
    status, printed, _ = run(capsys, "lock", "--diff")
    assert status == 1
    assert printed.startswith("marketplace://name/mnist: changed\n  @@ -")
    assert "- mkdir -p {{ dataPath }}\n  +          - mkdir {{ dataPath }}\n" in printed


def test_the_former_text_of_a_definition_in_the_project_is_the_committed_one(
    capsys: pytest.CaptureFixture[str], project: Path
) -> None:
    assert run(capsys, "lock")[0] == 0
    file = project / "marketplace" / "mnist.yaml"
    change(file, "mkdir -p", "mkdir")
    assert "its former text is in the project's history" in run(capsys, "lock", "--diff")[1]
    change(file, "mkdir", "mkdir -p")
    commit(project)
    change(file, "mkdir -p", "mkdir")
    status, printed, _ = run(capsys, "lock", "--diff")
    assert status == 1
    assert printed.startswith("marketplace://name/mnist: changed\n  @@ -")
    assert "- mkdir -p {{ dataPath }}\n  +          - mkdir {{ dataPath }}\n" in printed


def test_a_project_beside_the_current_folder_is_locked(
    capsys: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.parent / "elsewhere").mkdir()
    monkeypatch.chdir(project.parent / "elsewhere")
    assert run(capsys, "lock", "--folder", str(project))[1] == ".pai-lsp.lock contains 3 definitions\n"
    assert run(capsys, "lock", "--folder", "../project", "--check")[0] == 0


def test_one_definition_is_locked(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    assert run(capsys, "lock")[0] == 0
    before = (project / ".pai-lsp.lock").read_text()
    change(project / "marketplace" / "mnist.yaml", "mkdir -p", "mkdir")
    change(project / "marketplace" / "debug_hook.yaml", "sleep", "/bin/sleep")
    named = "marketplace://name/debug_hook: changed\nmarketplace://name/mnist: changed\n"
    last = ".pai-lsp.lock is not up to date; run 'pai-lsp marketplace lock'\n"
    assert run(capsys, "lock", "--check") == (1, named + last, "")
    assert (project / ".pai-lsp.lock").read_text() == before
    assert run(capsys, "lock", "mnist")[0] == 0
    assert run(capsys, "lock", "--check")[1] == "marketplace://name/debug_hook: changed\n" + last
    assert run(capsys, "lock", "marketplace://name/debug_hook", "--check")[0] == 1
    assert run(capsys, "lock", "marketplace://name/debug_hook")[0] == 0
    assert run(capsys, "lock", "--check") == (0, ".pai-lsp.lock is up to date\n", "")
    status, _, errors = run(capsys, "lock", "debug_hok")
    assert status == 2
    assert errors.endswith("is named 'debug_hok'; did you mean 'debug_hook'?\n")
    assert run(capsys, "lock", "nowhere.yaml")[2].endswith("no such file or folder: nowhere.yaml\n")
    (project / "train.pai.yaml").unlink()
    printed = run(capsys, "lock", "--diff")[1]
    assert printed.startswith("marketplace://name/install_wget: not used any more\nmarketplace://name/mnist: not used")
    assert run(capsys, "lock", "mnist")[0] == 0
    assert run(capsys, "lock", "--check")[1].startswith("marketplace://name/install_wget: not used any more\n.pai")
