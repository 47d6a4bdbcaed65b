"""docs/idea-to-job.md: its commands print what the page shows."""

from __future__ import annotations

import re
import shlex
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from documentation_blocks import marked_blocks
from programs import harmless_programs
from test_cluster_import import SERVICES

from pai_lsp.cli.main import main
from pai_lsp.cluster.rest_server import ApiAnswer, ClusterConnection

if TYPE_CHECKING:
    from pathlib import Path

BLOCKS = marked_blocks("idea-to-job.md")
CLUSTERS = "lab: {url: 'https://pai.example.com/rest-server', user: ann, token_env: PAI_TOKEN}\n"
LOG = "I am task 0\n/usr/local/pai/runtime.d/user.sh: line 26: python3: command not found\n"


def answer(_: ClusterConnection, method: str, place: str, __: str = "") -> ApiAnswer:
    if place == "tokens/check":
        return ApiAnswer(200, {"username": "ann"})
    return ApiAnswer(202, {}) if method == "POST" else ApiAnswer(404, {}, "NoJobError")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page's job and log, the cluster 'lab', which accepts it, and a person who says yes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "config"))
    monkeypatch.setenv("PAI_TOKEN", "t0ken")
    (tmp_path / "train.pai.yaml").write_text(BLOCKS["train.pai.yaml"], encoding="utf-8")
    (tmp_path / "end.log").write_text(LOG, encoding="utf-8")
    (tmp_path / "services-configuration.yaml").write_text(SERVICES, encoding="utf-8")
    assert main(["cluster", "import", "services-configuration.yaml", "--name", "lab"]) == 0
    (tmp_path / "config" / "pai-lsp" / "clusters.yaml").write_text(CLUSTERS, encoding="utf-8")
    monkeypatch.setattr(ClusterConnection, "send", answer)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True, readline=lambda: "y\n"))
    return tmp_path


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("name", ["fit", "submit", "why"])
def test_the_page_shows_what_is_printed(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    command, _, shown = BLOCKS[name].partition("\n")
    capfd.readouterr()
    assert main(shlex.split(command)[2:]) == 0
    printed = capfd.readouterr()
    assert (printed.err + printed.out).replace("[y/N] ", "[y/N] y\n") == shown


@pytest.mark.usefixtures("place")
@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_the_run_of_the_page(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    command, _, shown = BLOCKS["run"].partition("\n")
    monkeypatch.setenv("PATH", harmless_programs())
    capfd.readouterr()
    assert main(shlex.split(command)[2:]) == 2
    printed = capfd.readouterr()
    before, _, rest = printed.err.partition("\n\n")
    # The names of the folder and of the interpreter, and the places of programs, are this machine's.
    before = re.sub(r"/\S+/(bash|python3)", r"/usr/bin/\1", before)
    output = re.sub(r".*( can't open file ').*(/work/train.py')", r"python3:\1/tmp/pai-lsp-run-1\2", printed.out)
    assert f"{before}\n{output}\n{rest}" == shown
