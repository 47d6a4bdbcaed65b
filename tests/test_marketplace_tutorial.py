"""The page about the marketplace: its tutorial is done as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from loopback import alone

from pai_lsp.cli import main

if TYPE_CHECKING:
    import pytest

PAGE = Path(__file__).parent.parent / "docs" / "marketplace.md"
_BLOCK = re.compile(r'^```(yaml|console)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def steps() -> list[tuple[str, str, str]]:
    """The blocks of the tutorial: kind, file name, text."""
    text = PAGE.read_text(encoding="utf-8")
    tutorial = text[text.index("## Share a dataset") : text.index("## Where definitions")]
    return [(kind, name or "", body) for kind, name, body in _BLOCK.findall(tutorial)]


def test_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    alone(monkeypatch, str(tmp_path / "cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    done: dict[str, tuple[int, str]] = {}
    for kind, name, body in steps():
        if kind == "yaml":
            file = project / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(body)
            continue
        for session in body.split("$ pai-lsp ")[1:]:
            line, _, expected = session.partition("\n")
            status = main(shlex.split(line))
            printed = capsys.readouterr()
            done[line] = (status, printed.out)
            if expected:
                assert printed.out.strip() == expected.strip(), line
    assert {line: status for line, (status, _) in done.items()} == {
        "marketplace list": 0,
        "expand train.pai.yaml --format script": 0,
        "expand train.pai.yaml --output released.yaml": 0,
        "check released.yaml": 0,
        "check typo.pai.yaml --select unknown-marketplace-item --format concise": 1,
        "marketplace lock train.pai.yaml": 0,
        "marketplace lock train.pai.yaml --check": 0,
    }
    assert "tar -xzf /data/flowers/flowers.tgz -C /data/flowers" in done["expand train.pai.yaml --format script"][1]
    released = (project / "released.yaml").read_text(encoding="utf-8")
    assert "marketplace://" not in released.replace("# from marketplace://", "")
