"""`check --show-settings` and `check --watch`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from job_text import SMALL

from pai_lsp.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

JOB = f"{SMALL}    instances: 1\n"
WRONG = JOB.replace("type: job", "type: jobb")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two jobs."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    for name in ("a.pai.yaml", "b.pai.yaml"):
        (project / name).write_text(JOB, encoding="utf-8")
    monkeypatch.chdir(project)
    return project


def run(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str, str]:
    status = main(line.split())
    return (status, *capsys.readouterr())


def test_without_a_configuration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = f"""\
a.pai.yaml
b.pai.yaml
  configuration  none: no .pai-lsp.yaml in the file's folder or above it, up to {folder}
  platform       openpai (default)
  shellcheck     off
"""
    assert run(capsys, "check --show-settings") == (0, shown, "")
    assert run(capsys, "check --show-settings --isolated a.pai.yaml --platform ltp")[1].splitlines()[1:3] == [
        "  configuration  none (--isolated)",
        "  platform       ltp (--platform)",
    ]


def test_a_configuration_and_its_effects(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "b.pai.yaml").write_text(f"# pai-lsp: platform=ltp\n{JOB}", encoding="utf-8")
    (folder / "marketplace").mkdir()
    (folder / ".pai-lsp.yaml").write_text(
        """\
rules: {unused-prerequisite: warning, unknown-rule: off}
per_file_ignores: {b.pai.yaml: [image-latest-tag]}
exclude: [a.pai.yaml]
plugins: [ours]
platform: ltp/1.2
cluster: lab
marketplace: {sources: [{directory: marketplace}, {url: "https://pai.example.com"}]}
""",
        encoding="utf-8",
    )
    status, output, _ = run(capsys, "check --show-settings a.pai.yaml b.pai.yaml --select unused-prerequisite")
    assert status == 0
    first, second = output.split("\n\n")
    common = f"""\
  rule           unused-prerequisite: warning (rules)
  plugins        ours
  shellcheck     off
  definitions    {folder}/marketplace
  definitions    https://pai.example.com, not trusted (pai-lsp trust)"""
    nearest = "the nearest .pai-lsp.yaml in the file's folder or above it"
    configuration = f"  configuration  .pai-lsp.yaml ({nearest}); wrong settings that do not apply: 2"
    assert (
        first
        == f"""\
a.pai.yaml
{configuration}
  excluded       by 'exclude' of the configuration; checked only because it is named
  platform       ltp/1.2 (configuration)
  cluster        lab (configuration), which cannot be read
{common}"""
    )
    assert (
        second
        == f"""\
b.pai.yaml
{configuration}
  platform       ltp (comment in the file)
  cluster        lab (configuration), which cannot be read
  rule           image-latest-tag: off (per_file_ignores)
{common}
"""
    )


def test_a_family_is_one_row(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / ".pai-lsp.yaml").write_text(
        """\
rules: {launchers: off, text: hint, yaml-syntax: error}
per_file_ignores: {a.pai.yaml: [commands]}
""",
        encoding="utf-8",
    )

    def rows(name: str) -> list[str]:
        found = run(capsys, f"check --show-settings {name}")[1].splitlines()
        return [line.strip() for line in found if line.startswith(("  family", "  rule"))]

    first, *others = rows("a.pai.yaml")
    assert first == "family         commands: off (per_file_ignores)"
    assert "rule           duplicate-key: hint (rules)" in others
    assert "yaml-syntax" not in "".join(others), "as without a configuration"
    assert rows("b.pai.yaml") == ["family         launchers: off (rules)", *others]


def test_what_git_ignores(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / ".gitignore").write_text("a.pai.yaml\n", encoding="utf-8")
    assert "by .gitignore; checked only because" in run(capsys, "check --show-settings a.pai.yaml")[1]


@pytest.mark.parametrize("name", [".pai-lsp.yaml", "a.pai.yaml", "marketplace/new.yaml"])
def test_a_change_is_checked(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "marketplace").mkdir()
    texts = iter(["rules: {unknown-key: off}\n", "", None])

    def change(_: float) -> None:
        if (text := next(texts)) is None:
            raise KeyboardInterrupt
        if text:
            (folder / name).write_text(text, encoding="utf-8")

    monkeypatch.setattr("pai_lsp.cli.commands.check_watch.sleep", change)
    status, output, errors = run(capsys, "check --watch a.pai.yaml")
    assert status == 130
    assert len(output.splitlines()) >= 2
    assert errors.count("--- changed: ") == 1


@pytest.mark.parametrize(
    "line", ["check --watch -", "check --watch --fix", "check --watch --baseline b.json --update-baseline"]
)
def test_what_cannot_be_watched(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del folder
    assert run(capsys, line)[:2] == (2, "")


def test_a_report_never_replaces_a_job(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = "pai-lsp check: --output names a file that is checked\n"
    assert run(capsys, "check -o ./a.pai.yaml") == (2, "", message)
    assert (folder / "a.pai.yaml").read_text(encoding="utf-8") == JOB


def test_statistics_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.pai.yaml").write_text(WRONG, encoding="utf-8")
    status, output, _ = run(capsys, "check --statistics --format json --severity error")
    assert (status, json.loads(output)) == (1, [{"code": "invalid-enum", "severity": "error", "count": 1}])


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_configuration_that_is_not_a_file_is_named(
    kind: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = folder / ".pai-lsp.yaml"
    place.mkdir() if kind == "folder" else place.symlink_to("nowhere")
    errors = run(capsys, "check")[2]
    assert errors == f"pai-lsp: '{place}' is not read, because it is not a plain file\n"
