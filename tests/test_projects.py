"""Which configuration and which definitions a file has: the same on the command line and in an editor."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import pytest
from budgets import some
from server_client import connected

import pai_lsp
from pai_lsp.cli.main import main
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.lsp.workspace_settings import section_configuration
from pai_lsp.project.projects import Projects

if TYPE_CHECKING:
    from pathlib import Path

FILE = ".pai-lsp.yaml"
CODE = "unknown-prerequisite"
JOB = """\
protocolVersion: 2
type: job
name: train
extras: {reference_prerequisites: ["marketplace://name/mnist"]}
taskRoles: {worker: {prerequisites: [nothing]}}
"""
DEFINITION = "name: mnist\ntype: script\n"
# What may be in a folder: the path of each file and its text.
PARTS = {
    "rules": {FILE: f"rules: {{{CODE}: warning}}\n"},
    "exclude": {FILE: "exclude: [train.pai.yaml]\n"},
    "marketplace": {"marketplace/data.yaml": DEFINITION},
    "other marketplace": {FILE: "marketplace: {sources: [{directory: shared}]}\n", "shared/data.yaml": DEFINITION},
    "repository": {".git": ""},
}


def projects(**sections: object) -> Projects:
    """Projects that must not report anything, with the settings of an editor for files in no folder."""

    def fail(message: object) -> str:
        raise AssertionError(message)

    found = Projects(fail, fail)
    if sections:
        found.sections = {"": section_configuration(sections)}
    return found


def written(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("file", "editor", "both"),
    [("", {"rules": {}}, "auto"), ("shellcheck: off\n", {"rules": {}}, "off"),
     ("shellcheck: off\n", {"shellcheck": "auto"}, "off"), ("shellcheck: auto\n", {"shellcheck": "off"}, "off"),
     ("", {"shellcheck": "off"}, "off"),
     ("shellcheck: auto\n", {"shellcheck": "/opt/shellcheck"}, "/opt/shellcheck")],
)  # fmt: skip
def test_a_folder_can_refuse_shellcheck(file: str, editor: dict[str, object], both: str, tmp_path: Path) -> None:
    written(tmp_path, {".pai-lsp.yaml": file or "rules: {}\n"})
    assert projects(**editor).settings_of(str(tmp_path / "a.pai.yaml")).settings.shellcheck == both


async def in_editor(folder: Path, file: Path) -> list[tuple[str, str]]:
    async with connected(workspaceFolders=[{"uri": folder.as_uri(), "name": "jobs"}]) as client:
        client.open(JOB, uri=file.as_uri())
        published = await client.published(file.as_uri())
        return sorted((one["code"], Severity(one["severity"]).label) for one in published)


def on_command_line(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    main(["check", "--format", "json", "--force-exclude"])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    return sorted((one["code"], one["severity"]) for one in found)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("above", "here"),
    some([*itertools.permutations(PARTS, 2), *((part, part) for part in PARTS)]),
)
async def test_a_folder_has_the_same_answers_in_an_editor_and_on_the_command_line(
    above: str, here: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "team" / "jobs"
    written(tmp_path / "team", PARTS[above])
    written(folder, {**PARTS[here], "train.pai.yaml": JOB})
    monkeypatch.chdir(folder)
    assert await in_editor(folder, folder / "train.pai.yaml") == on_command_line(capsys)


def test_file_and_editor_together(tmp_path: Path) -> None:
    written(tmp_path, {FILE: f"rules: {{{CODE}: warning}}\nplugins: [b]\nexclude: [x.yaml]\n"})
    found = projects(rules={CODE: "off", "yaml-syntax": "hint"}, plugins=["a"])
    both = found.settings_of(str(tmp_path / "x.yaml"))
    assert both.settings.severities == {CODE: Severity.WARNING, "yaml-syntax": Severity.HINT}
    assert both.settings.plugins == {"a", "b"}
    assert both.is_excluded
    assert not found.settings_of(str(tmp_path / "y.yaml")).is_excluded


def test_rules_in_preview_are_on_where_the_file_or_the_editor_asks_for_them(tmp_path: Path) -> None:
    job = str(tmp_path / "x.yaml")
    assert not projects(preview=False).settings_of(job).settings.previews
    assert projects(preview=True).settings_of(job).settings.previews
    written(tmp_path, {FILE: "preview: true\n"})
    assert projects(preview=False).settings_of(job).settings.previews


def test_a_document_that_is_not_a_file_has_the_editors_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, {FILE: f"rules: {{{CODE}: warning}}\n"})
    monkeypatch.chdir(tmp_path)
    found = projects(plugins=["a"])
    assert found.settings_of("Untitled-1").settings.severities == {}
    assert found.settings_of("Untitled-1").settings.plugins == {"a"}
    assert found.settings_of(str(tmp_path / "job.yaml")).settings.severities == {CODE: Severity.WARNING}


def test_a_marketplace_is_found_up_to_the_root_of_the_repository(tmp_path: Path) -> None:
    jobs = tmp_path / "repository" / "team" / "jobs"
    written(jobs, {"train.pai.yaml": JOB})
    written(tmp_path, {"marketplace/data.yaml": DEFINITION})
    file, base = str(jobs / "train.pai.yaml"), str(jobs)
    assert projects().setup_of(file, base).sources == ()
    written(tmp_path / "repository", {"marketplace/data.yaml": DEFINITION})
    assert projects().setup_of(file, base).sources == ()
    written(tmp_path / "repository", {".git": ""})
    assert projects().setup_of(file, base).found == str(tmp_path / "repository" / "marketplace")


def test_a_job_beside_the_current_folder_has_not_the_settings_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("here", "beside"):
        (tmp_path / name).mkdir()
    (tmp_path / "here" / FILE).write_text(f"cluster: lab\nrules: {{{CODE}: off}}\n", encoding="utf-8")
    (tmp_path / "beside/train.pai.yaml").write_text(JOB, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "here")
    job = "../beside/train.pai.yaml"
    assert CODE in [one.code for one in pai_lsp.check(JOB, path=job)]
    assert main(["expand", job]) == 1
    assert CODE in capsys.readouterr().err
    assert main(["check", "--show-settings", job]) == 0
    assert "lab" not in capsys.readouterr().out


def test_files_are_read_again_after_they_were_forgotten(tmp_path: Path) -> None:
    file = str(tmp_path / "job.yaml")
    found = projects()
    assert found.settings_of(file).settings.severities == {}
    written(tmp_path, {FILE: f"rules: {{{CODE}: off}}\n"})
    assert found.settings_of(file).settings.severities == {}
    found.forget_files()
    assert found.settings_of(file).settings.severities == {CODE: None}
