"""`make field`: what the rules find in real files, and what a change of them adds and takes away."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT = Path(__file__).parent.parent / "scripts/field.py"
TOKEN = "ghp_" + "Ab1" * 12
JOB = f"""\
protocolVersion: 2
name: train
type: job
prerequisites: [{{type: dockerimage, name: image, uri: example.com/image}}]
taskRoles:
  worker:
    dockerImage: imag
    instances: 1
    resourcePerInstance: {{cpu: 1, memoryMB: 1024, gpu: 0}}
    commands:
      - export GITHUB_TOKEN={TOKEN}
"""
SCRIPT_TEXT = """\
set -x
cd $1
docker pull example.com/image
"""


@pytest.fixture
def field(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    def run(*words: object) -> str:
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, words)])
        runpy.run_path(str(SCRIPT), run_name="__main__")
        return capsys.readouterr().out

    return run


def test_a_table_and_the_difference_to_the_run_before(field: Callable[..., str], tmp_path: Path) -> None:
    folder, kept = tmp_path / "real", tmp_path / "found.ndjson"
    folder.mkdir()
    (folder / "train.yaml").write_text(JOB, encoding="utf-8")
    (folder / "train.sh").write_text(SCRIPT_TEXT, encoding="utf-8")
    (folder / "values.yaml").write_text("image: train\n", encoding="utf-8")
    before = field(folder, "--out", kept, "--sample", 9)
    assert "3 files, 2 of them jobs, manifests or scripts" in before
    assert f"{folder}/train.sh:3: program-not-in-container: 'docker'" in before
    assert f"{folder}/train.yaml:7: unknown-docker-image" in before
    assert TOKEN not in before + kept.read_text(encoding="utf-8")
    (folder / "train.yaml").write_text(JOB.replace("imag\n", "image\n"), encoding="utf-8")
    (folder / "train.sh").write_text("systemctl start train\n" + SCRIPT_TEXT, encoding="utf-8")
    after = field(folder, "--before", kept, "--severity", "warning")
    _, _, changes = after.partition("added: ")
    added, _, gone = changes.partition("taken away: ")
    assert "'systemctl'" in added
    assert "'docker'" not in changes
    assert "unknown-docker-image" in gone
