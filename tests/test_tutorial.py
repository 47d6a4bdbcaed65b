"""The tutorial is done as its page describes it: files written, commands run, and what they print compared."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from loopback import alone

from pai_lsp.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).parent.parent / "docs"
_BLOCK = re.compile(r'^```(yaml|console)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_PROMPT = "$ pai-lsp "


def blocks() -> Iterator[tuple[str, str, str]]:
    """The blocks of the page: kind, file name, text."""
    yield from _BLOCK.findall((DOCS / "tutorial.md").read_text(encoding="utf-8"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    alone(monkeypatch, str(tmp_path / "cache"))
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_the_tutorial(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    statuses: dict[str, int] = {}
    for kind, name, body in blocks():
        if kind == "yaml":
            (project / name).parent.mkdir(exist_ok=True)
            (project / name).write_text(body, encoding="utf-8")
            continue
        assert body.startswith(_PROMPT)
        for session in body.split(_PROMPT)[1:]:
            line, _, expected = session.partition("\n")
            statuses[line] = main(shlex.split(line))
            printed = capsys.readouterr()
            assert printed.out + printed.err == expected, f"{line}\n{printed.out}{printed.err}"
    assert [line for line, status in statuses.items() if status] == [
        "check train.pai.yaml --format concise",
        "check mistakes.pai.yaml",
    ]
    released = (project / "released.yaml").read_text(encoding="utf-8")
    assert "    prerequisites: [install_wget, flowers]\n" in released
    assert main(["graph", "train.pai.yaml", "--format", "dot"]) == 0
    labels = re.findall(r' label="([^"]*)"', capsys.readouterr().out.replace("[", " "))
    picture = (DOCS / "images" / "flowers.svg").read_text(encoding="utf-8")
    lines = [line for label in labels for line in label.split(r"\n")]
    assert sorted(re.findall(r">([^<>]*)</text>", picture)) == sorted(lines)
