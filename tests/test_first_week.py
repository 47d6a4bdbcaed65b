"""The first week of a team is done as its page describes it: files, commands, and what they print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from loopback import Shop, alone, marketplace, web_token

from pai_lsp.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parent.parent / "docs" / "first-week.md"
_BLOCK = re.compile(r'^```(yaml|diff|console)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_SERVER = "https://pai.example.com/marketplace/api"
ANN = web_token("ann")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    alone(monkeypatch, str(tmp_path / "cache"))
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PAI_TOKEN", ANN)
    for name, value in {"NAME": "Ann", "EMAIL": "ann@example.com", "DATE": "2026-01-05T09:00:00Z"}.items():
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    found = tmp_path / "streets"
    (found / "marketplace").mkdir(parents=True)
    monkeypatch.chdir(found)
    return found


@pytest.fixture
def shop() -> Shop:
    return Shop({ANN: "ann"})


@pytest.fixture
def server(shop: Shop) -> Iterator[str]:
    with marketplace(shop) as found:
        yield found.url


def printed(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    program, *words = shlex.split(line)
    if program == "git":
        subprocess.run([program, *words], check=True)
    else:
        assert program == "pai-lsp"
        main(words)
    found = capsys.readouterr()
    return found.out + found.err


@pytest.mark.slow
def test_the_week(folder: Path, server: str, shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    written, done = "", 0
    for match in _BLOCK.finditer(page):
        kind, name, body = match.groups()
        body = body.replace(_SERVER, server)
        if kind == "diff":
            before, after = (line[1:] for line in body.splitlines(keepends=True))
            text = (folder / name).read_text()
            assert before in text
            (folder / name).write_text(text.replace(before, after))
        elif kind == "yaml":
            (folder / name).write_text(body)
        else:
            found = ""
            for session in body.split("$ ")[1:]:
                line = session.partition("\n")[0]
                found += f"$ {line}\n" + printed(line, capsys)
            found = found.replace(server, _SERVER).replace(str(folder), "/home/ann/streets")
            written += page[done : match.start(3)] + found
            done = match.end(3)
    written += page[done:]
    if os.environ.get("PAI_LSP_WRITE_PAGES"):
        PAGE.write_text(written, encoding="utf-8")
    assert written == page
    assert [item["name"] for item in shop.items.values()] == ["Streets of our town"]
