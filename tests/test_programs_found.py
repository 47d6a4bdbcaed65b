"""Programs of other people's folders are not run, whatever PATH, a setting or a link says."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from pai_lsp.project.shellcheck import shellcheck_program
from pai_lsp.source.files import program_on_path, repository_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="programs are scripts here")


def program(folder: Path, name: str = "shellcheck") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, with the working folder in it."""
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    (folder / "jobs").mkdir()
    monkeypatch.chdir(folder / "jobs")
    return folder


def test_a_program_of_the_repository_is_not_found(repository: Path, tmp_path: Path) -> None:
    own, foreign = program(tmp_path / "bin"), program(repository / "bin")
    assert program_on_path("shellcheck", str(foreign.parent)) == ""
    assert program_on_path("shellcheck", f"{foreign.parent}{os.pathsep}{own.parent}") == str(own)


def test_a_link_to_a_program_of_the_repository_is_not_found(repository: Path, tmp_path: Path) -> None:
    foreign = program(repository / "bin")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "shellcheck").symlink_to(foreign)
    (tmp_path / "folder").symlink_to(repository / "bin")
    assert program_on_path("shellcheck", f"{tmp_path / 'links'}{os.pathsep}{tmp_path / 'folder'}") == ""


def test_a_link_in_the_repository_to_a_program_outside_is_found(repository: Path, tmp_path: Path) -> None:
    own = program(tmp_path / "bin")
    (repository / "shellcheck").symlink_to(own)
    assert program_on_path("shellcheck", str(repository)) == str(repository / "shellcheck")


def test_the_setting_of_an_editor_names_no_program_of_its_folders(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    foreign = program(repository / "bin")
    (tmp_path / "opened").symlink_to(repository / "jobs")
    monkeypatch.setenv("PATH", str(foreign.parent))
    for setting in (str(foreign), "shellcheck"):
        assert shellcheck_program(setting, [str(tmp_path / "opened")]) == ""
    assert shellcheck_program("auto", [str(repository / "jobs")]) in {"", str(program_beside())}
    own = program(tmp_path / "bin")
    assert shellcheck_program(str(own), [str(repository)]) == str(own)


def program_beside() -> str:
    return os.path.join(os.path.dirname(sys.executable), "shellcheck")  # noqa: PTH118, PTH120 - as the program does


def test_the_users_own_choice_counts(repository: Path) -> None:
    foreign = program(repository / "bin")
    assert shellcheck_program(str(foreign)) == str(foreign)


def test_a_repository_around_the_home_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert repository_of(str(tmp_path)) is None
    (tmp_path / "inner" / ".git").mkdir(parents=True)
    assert repository_of(str(tmp_path / "inner")) == str(tmp_path / "inner")
