"""Commands that take several jobs and folders, and those that say why they take one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from job_text import SMALL

from pai_lsp.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

JOB = f"{SMALL}    instances: 1\n"
NEEDS_FOLDER = "several jobs, or those of a folder, need --output FOLDER"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two jobs, and a file that is not one."""
    for name in ("jobs/a.pai.yaml", "jobs/deep/b.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(JOB, encoding="utf-8")
    (tmp_path / "jobs" / "values.yaml").write_text("a: 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str, str]:
    status = main(line.split())
    return (status, *capsys.readouterr())


def made(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file())


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("expand jobs -o out", ["a.pai.yaml", "deep/b.yaml"]),
        ("expand jobs/a.pai.yaml jobs/deep/b.yaml -o out", ["a.pai.yaml", "b.yaml"]),
        ("expand --format json jobs -o out", ["a.json", "deep/b.json"]),
        ("graph jobs -o out", ["a.mmd", "deep/b.mmd"]),
        ("graph --format dot jobs -o out", ["a.dot", "deep/b.dot"]),
        ("convert --to mpijob --format json jobs/a.pai.yaml jobs/deep/b.yaml -o out", ["a.json", "b.json"]),
    ],
)
def test_several_jobs_go_to_a_folder(line: str, names: list[str], folder: Path) -> None:
    status = main(line.split())
    assert status == (1 if line.startswith("convert") else 0)  # these jobs have no launcher of MPI
    assert made(folder / "out") == names


def test_the_only_job_of_a_folder_goes_to_a_folder(folder: Path) -> None:
    assert main(["expand", "jobs/deep", "-o", "out/new"]) == 0
    assert made(folder / "out" / "new") == ["b.yaml"]


def test_one_job_goes_to_a_folder_that_exists(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "out").mkdir()
    assert run(capsys, "expand jobs/a.pai.yaml -o out") == (0, "", "")
    assert made(folder / "out") == ["a.pai.yaml"]
    assert run(capsys, "expand jobs -o out --check")[0] == 1
    assert made(folder / "out") == ["a.pai.yaml"]
    assert run(capsys, "expand jobs -o out")[0] == 0
    assert run(capsys, "expand jobs -o out --check") == (0, "", "")


def test_every_job_of_a_folder_is_fitted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile = '{"profileVersion": 1, "name": "lab", "platform": "openpai", "scheduler": "default"}'
    (folder / "lab.json").write_text(profile, encoding="utf-8")
    _, output, _ = run(capsys, "fit --cluster lab.json jobs")
    assert [line.partition(":")[0] for line in output.splitlines() if line.startswith("jobs")] == [
        "jobs/a.pai.yaml",
        "jobs/deep/b.yaml",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "expand jobs -o out",
        "graph jobs -o out",
        "fit --cluster lab.json jobs",
        "run --dry jobs/a.pai.yaml",
        "convert --to mpijob jobs/a.pai.yaml jobs/deep/b.yaml -o out",
        "marketplace publish --dry-run jobs/a.pai.yaml",
    ],
)
def test_a_mistake_of_the_configuration_is_said_once(
    line: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = '{"profileVersion": 1, "name": "lab", "platform": "openpai", "scheduler": "default"}'
    (folder / "lab.json").write_text(profile, encoding="utf-8")
    (folder / ".pai-lsp.yaml").write_text("rules: {}\nrulez: {}\n", encoding="utf-8")
    errors = run(capsys, line)[2].splitlines()
    assert [one for one in errors if "rulez" in one] == [
        "pai-lsp: .pai-lsp.yaml:2: 'rulez' is not a key of a configuration"
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("expand jobs", NEEDS_FOLDER),
        ("expand jobs -o -", NEEDS_FOLDER),
        ("expand jobs -o jobs/values.yaml", NEEDS_FOLDER),
        ("expand jobs -o jobs", "--output names the job itself"),
        ("expand jobs jobs/a.pai.yaml -o out", "several of these jobs would be written to out/a.pai.yaml"),
        ("expand jobs - -o out", "standard input cannot be combined with other jobs or a folder"),
        ("expand nothing jobs -o out", "no such file or folder: nothing"),
        ("graph empty -o out", "no jobs in empty"),
        ("convert jobs -o out", "jobs is a folder; name the files to convert"),
        ("run jobs", "JOB: 'jobs' is a folder; give one job: you agree to all that it runs"),
        (
            "run jobs/a.pai.yaml jobs/deep/b.yaml",
            "unknown argument 'jobs/deep/b.yaml'; give one job: you agree to all that it runs",
        ),
        ("submit jobs", "JOB: 'jobs' is a folder; give one job: you agree to each"),
        ("marketplace publish jobs", "FILE: 'jobs' is a folder; give one file: each is an item of its own"),
        ("marketplace publish a b", "unknown argument 'b'; give one file: each is an item of its own"),
    ],
)
def test_why_not(line: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "empty").mkdir()
    before = made(folder)
    status, output, errors = run(capsys, line)
    assert (status, output) == (2, "")
    command = line.partition(" jobs" if "publish jobs" in line else " ")[0]
    assert errors.splitlines()[0] == f"pai-lsp {command}: {message}"
    assert made(folder) == before


def test_submit_needs_a_cluster(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    how = "give --cluster NAME, or write 'cluster: NAME' into .pai-lsp.yaml; 'pai-lsp cluster list' lists yours"
    give = f"pai-lsp submit: {how}\n"
    assert run(capsys, "submit jobs/a.pai.yaml") == (2, "", give)
    (folder / ".pai-lsp.yaml").write_text("cluster: lab.json\n", encoding="utf-8")  # a project names no address
    assert run(capsys, "submit jobs/a.pai.yaml") == (2, "", give)
    (folder / ".pai-lsp.yaml").write_text("cluster: lab\n", encoding="utf-8")
    status, _, errors = run(capsys, "submit jobs/a.pai.yaml")
    assert status == 2
    path = folder / "config" / "pai-lsp" / "clusters.yaml"
    assert errors.startswith(f"pai-lsp submit: {path}: no such file or directory; write the address")
    assert "\n      url: https://" in errors
