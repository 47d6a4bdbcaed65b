"""docs/editors.md in the real Kate: with the page's own settings it starts the server, gets the findings, fixes,
completes, renames, and keeps silent about other YAML.

Run by scripts/e2e_editors.sh, which has the path of Kate in E2E_KATE, if it is installed. What its window shows cannot
be read: its messages to the server and from it are recorded on the way, and what it has done to the file is read from
the disk, after saving.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from documentation_blocks import marked_blocks
from window import Screen

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent.parent.parent
SETTINGS = marked_blocks("editors.md")["kate"]

GOOD = (ROOT / "examples" / "good.pai.yaml").read_text(encoding="utf-8")
BAD = GOOD.replace("[install-tools, mnist]", "[install-tools, minst]")
WRONG = "no prerequisite is named 'minst'; did you mean 'mnist'?"
COMPLETED = GOOD.replace("      gpu: 1\n", "      gpu: 1\n      ports:\n        sync: 1\n")
RENAMED = COMPLETED.replace("name: mnist\n", "name: digits\n").replace(
    "[install-tools, mnist]", "[install-tools, digits]"
)
COMPOSE = "# Not OpenPAI's.\nservices:\n  web:\n    prerequisites: [minst]\n"

QUESTION = "LSP server start requested"
# A menu of several entries is higher than this, in pixels, and one that waits for them is not.
SEVERAL_ENTRIES = 70
AN_ENTRY = 15
PROGRAM = os.environ.get("E2E_KATE", "")

pytestmark = pytest.mark.skipif(not PROGRAM, reason="there is no Kate")


class Recorded:
    """The messages of Kate and the server so far, in files that grow."""

    def __init__(self, folder: Path) -> None:
        self.sent_by_kate = folder / "sent-by-kate"
        self.sent_by_server = folder / "sent-by-server"

    def requests(self, method: str) -> list[Any]:
        """The parameters of Kate's requests and notifications of a method."""
        return [message["params"] for message in _messages(self.sent_by_kate) if message.get("method") == method]

    def answers(self, method: str) -> list[Any]:
        """The results that Kate has got for its requests of a method."""
        asked = {message.get("id") for message in _messages(self.sent_by_kate) if message.get("method") == method}
        return [
            message["result"]
            for message in _messages(self.sent_by_server)
            if "result" in message and message["id"] in asked
        ]

    def findings(self, name: str) -> list[str] | None:
        """The messages of the findings that Kate got last for a file; None if it got none."""
        received = [
            message["params"]["diagnostics"]
            for message in _messages(self.sent_by_server)
            if message.get("method") == "textDocument/publishDiagnostics"
            and message["params"]["uri"].endswith(f"/{name}")
        ]
        return [finding["message"] for finding in received[-1]] if received else None


def _messages(path: Path) -> Iterator[dict[str, Any]]:
    """The messages in a recording; what has come of the last one only in part is left out."""
    rest = path.read_bytes() if path.exists() else b""
    while (head := re.match(rb"(?:[^\r]+\r\n)*?Content-Length: (\d+)\r\n(?:[^\r]+\r\n)*\r\n", rest)) is not None:
        end = head.end() + int(head[1])
        if end > len(rest):
            return
        yield json.loads(rest[head.end() : end])
        rest = rest[end:]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "jobs"
    (path / ".git").mkdir(parents=True)
    (path / "train.pai.yaml").write_text(BAD, encoding="utf-8")
    (path / "plain.yaml").write_text(BAD, encoding="utf-8")
    (path / "compose.yaml").write_text(COMPOSE, encoding="utf-8")
    return path


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.fixture
def kate(tmp_path: Path, workspace: Path, recorded: Recorded) -> Iterator[Screen]:
    """Kate with train.pai.yaml, the cursor on what is wrong there, in a home with nothing but the page's settings."""
    home = tmp_path / "home"
    settings = home / ".config" / "kate" / "lspclient" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(SETTINGS, encoding="utf-8")
    server = home / "bin" / "pai-lsp"
    server.parent.mkdir()
    server.write_text(
        f"#!/bin/sh\ntee {shlex.quote(str(recorded.sent_by_kate))}"
        f' | {shlex.quote(str(Path(sys.executable).parent / "pai-lsp"))} "$@"'
        f" | tee {shlex.quote(str(recorded.sent_by_server))}\n",
        encoding="utf-8",
    )
    server.chmod(0o755)
    (home / "run").mkdir(mode=0o700)
    environment = {
        "PATH": f"{server.parent}{os.pathsep}/usr/local/bin{os.pathsep}/usr/bin{os.pathsep}/bin",
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(home / "run"),
        "LANG": "C.UTF-8",
    }
    line, column = _place(BAD, "minst")
    command = [PROGRAM, "--new", "--line", str(line), "--column", str(column), "train.pai.yaml"]
    screen = Screen(command, workspace, environment, "kate", tmp_path / "kate.log")
    try:
        yield screen
    finally:
        screen.close()


def _place(text: str, part: str) -> tuple[int, int]:
    """The line and the column, from 1, at which a part of a text begins."""
    before = text[: text.index(part)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def test_the_page_in_kate(kate: Screen, workspace: Path, recorded: Recorded) -> None:
    job = workspace / "train.pai.yaml"

    def saved(text: str) -> None:
        def is_so() -> bool:
            kate.keys(job.name, "ctrl+s")
            return job.exists() and job.read_text(encoding="utf-8") == text

        kate.until(is_so, f"{job.name} is what it should be")

    def go_to(line: int) -> None:
        kate.keys(job.name, "ctrl+g")
        kate.type(job.name, str(line))
        kate.keys(job.name, "Return")

    def open_file(name: str, shown: str) -> None:
        kate.keys_until(lambda: kate.shows("Open File"), "a file is asked for", shown, "ctrl+o")
        kate.type("Open File", str(workspace / name))
        kate.keys("Open File", "Return")
        kate.until_shown(name)

    # Kate asks whether the server may be started.
    kate.until_shown(QUESTION)
    kate.keys_until(lambda: not kate.shows(QUESTION), "the question is answered", QUESTION, "Return")
    kate.until(lambda: recorded.findings(job.name) is not None, "there are findings")
    assert WRONG in (recorded.findings(job.name) or ())
    assert [request["rootUri"] for request in recorded.requests("initialize")] == [workspace.as_uri()]

    kate.keys_until(lambda: kate.shows_list(SEVERAL_ENTRIES), "fixes are offered", job.name, "alt+Return")
    kate.keys(job.name, "Down", "Return")
    saved(GOOD)
    kate.until(lambda: recorded.findings(job.name) == [], "nothing is wrong any more")

    # Kate offers the words of the file as well, and at the third letter unasked; the file has no such word.
    go_to(_place(GOOD, "gpu: 1")[0])
    kate.keys(job.name, "End", "Return")
    kate.type(job.name, "po")
    kate.keys(job.name, "ctrl+space")
    kate.until(lambda: "ports" in str(recorded.answers("textDocument/completion")), "the server offers it")
    kate.until(lambda: kate.shows_list(AN_ENTRY), "it is listed")
    kate.keys(job.name, "Return")
    saved(COMPLETED)

    go_to(_place(COMPLETED, "[install-tools")[0])
    kate.keys(job.name, "End", "Left", "Left")
    kate.keys_until(lambda: kate.shows("Rename"), "a new name is asked for", job.name, "F2")
    kate.keys("Rename", "ctrl+a")
    kate.type("Rename", "digits")
    kate.keys("Rename", "Return")
    saved(RENAMED)

    open_file("compose.yaml", job.name)
    # The server has looked at the first file when it has found something in the second.
    open_file("plain.yaml", "compose.yaml")
    kate.until(lambda: recorded.findings("plain.yaml") is not None, "there are findings")
    assert WRONG in (recorded.findings("plain.yaml") or ())
    opened = [
        request["textDocument"]["uri"].rpartition("/")[2] for request in recorded.requests("textDocument/didOpen")
    ]
    assert opened == [job.name, "compose.yaml", "plain.yaml"]
    assert not recorded.findings("compose.yaml")
