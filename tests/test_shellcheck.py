"""ShellCheck: findings at their places in every style of scalar, and when it runs, with a stand-in for the program."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from server_client import codes, connected

from pai_lsp.cli.main import main
from pai_lsp.document import Document
from pai_lsp.lsp import shellchecks
from pai_lsp.project import shellcheck as shellcheck_module
from pai_lsp.project.shellcheck import ShellCheck, ShellCheckError, shellcheck_program

HEAD = "protocolVersion: 2\nname: train\ntype: job\ntaskRoles:\n  worker:\n    commands:\n"
# Finds each `unused` as SC2034 and each `echo` as SC2086, which is not shown; counts lines and columns as ShellCheck.
STAND_IN = """\
import json, sys
lines = sys.stdin.buffer.read().decode().split("\\n")
assert lines[:4] == ["#!/bin/bash", "set -o errexit", "set -o nounset", "set -o pipefail"], lines
comments = [
    {"code": code, "level": "warning", "message": f"{word} found", "line": row + 1, "endLine": row + 1,
     "column": line.index(word) + 1, "endColumn": line.index(word) + len(word) + 1}
    for row, line in enumerate(lines) for word, code in (("unused", 2034), ("echo", 2086)) if word in line
]
print(json.dumps({"comments": comments}))
"""
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-in is a script")


def program(folder: Path, code: str) -> str:
    path = folder / "stand-in"
    path.write_text(f"#!{sys.executable}\n{code}", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def check(
    capsys: pytest.CaptureFixture[str], folder: Path, commands: str, code: str = STAND_IN
) -> list[tuple[str, str]]:
    job = folder / "job.pai.yaml"
    job.write_text(HEAD + commands, encoding="utf-8")
    main(["check", str(job), "--format", "json", "--shellcheck", program(folder, code)])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    text = job.read_text(encoding="utf-8")
    return [(d["code"], text[d["start"]["offset"] : d["end"]["offset"]]) for d in found if d["code"].startswith("SC")]


@pytest.mark.parametrize(
    "commands",
    [
        "      - ls\n      - é=1; unused=2\n",
        "      - |\n        ls\n        é; unused=2\n",
        "      - >-\n        ls;\n        é; unused=2\n",
        "      - 'ls ''a''; unused=2'\n",
        '      - "ls \\t; unused=2"\n',
        "      - echo <% $parameters.x %>; unused=2\nparameters:\n  x: 1\n",
    ],
)
def test_the_place_of_a_finding(capsys: pytest.CaptureFixture[str], tmp_path: Path, commands: str) -> None:
    assert check(capsys, tmp_path, commands) == [("SC2034", "unused")]


def test_which_comments_are_shown_and_where(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def comment(code: object, level: str = "style", line: int = 5, column: int = 1, **end: Any) -> dict[str, Any]:
        place = {"line": line, "column": column, "endLine": line, "endColumn": column + 1, **end}
        return {"code": code, "level": level, "message": str(level), **place}

    comments = [
        *(comment(code) for code in (999, 1007, 2000, 2086, "2034", None)),
        comment(2034, line=4),
        comment(1000, "error"),
        comment(1999, "warning", column=2),
        comment(2031, "info", 6),
        comment(2318, "style", 6, 3),
        comment(1001, "loud", 6, 2, endLine=6, endColumn=1),
        {"code": 1002, "line": 5, "column": 0, "endLine": 99, "endColumn": 99},
    ]
    job = tmp_path / "job.pai.yaml"
    job.write_text(HEAD + "      - |\n        ab\n        cde\n", encoding="utf-8")
    answer = f"import sys; sys.stdin.read(); print({json.dumps({'comments': comments})!r})"
    main(["check", str(job), "--format", "json", "--shellcheck", program(tmp_path, answer)])
    found = [one for one in json.loads(capsys.readouterr().out)["diagnostics"] if one["code"].startswith("SC")]
    text = job.read_text(encoding="utf-8")
    shown = [
        (one["code"][2:], one["severity"], one["message"], text[one["start"]["offset"] : one["end"]["offset"]])
        for one in found
    ]
    assert sorted(shown) == [
        ("1000", "error", "error", "a"),
        ("1001", "warning", "loud", ""),
        ("1002", "warning", "no message", "ab\n        cde"),
        ("1999", "warning", "warning", "b"),
        ("2031", "information", "info", "c"),
        ("2318", "hint", "style", "e"),
    ]


def test_a_comment_silences_a_finding(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert check(capsys, tmp_path, "      - unused=2  # pai-lsp: ignore[SC2034] read by a file\n") == []


def test_a_comment_without_a_finding_is_no_mistake(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    job = tmp_path / "job.pai.yaml"
    job.write_text(HEAD + "      - ls  # pai-lsp: ignore[SC2034]\n", encoding="utf-8")
    main(["check", str(job), "--format", "json"])
    assert "unused-ignore" not in capsys.readouterr().out


def test_a_program_that_does_not_exist(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["check", str(tmp_path), "--shellcheck", "no-such-shellcheck"]) == 2
    assert "--shellcheck: no program 'no-such-shellcheck' was found" in capsys.readouterr().err


@pytest.mark.parametrize("code", ["print('no JSON')", "raise SystemExit(3)", "print('[]')"])
def test_a_program_with_another_answer(capsys: pytest.CaptureFixture[str], tmp_path: Path, code: str) -> None:
    job = tmp_path / "job.pai.yaml"
    job.write_text(HEAD + "      - ls\n", encoding="utf-8")
    assert main(["check", str(job), "--shellcheck", program(tmp_path, code)]) == 3
    assert "ShellCheck failed with code" in capsys.readouterr().err


def test_a_program_of_a_project_is_not_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "job.pai.yaml").write_text(HEAD + "      - unused=2\n", encoding="utf-8")
    configuration = tmp_path / ".pai-lsp.yaml"
    configuration.write_text(f"shellcheck: {program(tmp_path, STAND_IN)}\n", encoding="utf-8")
    main(["check", str(tmp_path), "--format", "json"])
    found = [one["code"] for one in json.loads(capsys.readouterr().out)["diagnostics"]]
    assert "invalid-configuration" in found
    assert "SC2034" not in found


@pytest.mark.parametrize(
    ("setting", "option", "is_run"), [("auto", "", True), ("off", "", False), ("auto", "off", False)]
)
def test_a_project_asks_for_the_installed_program(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    option: str,
    is_run: bool,
) -> None:
    Path(program(tmp_path, STAND_IN)).rename(tmp_path / "shellcheck")
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "job.pai.yaml").write_text(HEAD + "      - unused=2\n", encoding="utf-8")
    (tmp_path / ".pai-lsp.yaml").write_text(f"shellcheck: {setting}\n", encoding="utf-8")
    main(["check", str(tmp_path), "--format", "json", *(["--shellcheck", option] if option else [])])
    found = [one["code"] for one in json.loads(capsys.readouterr().out)["diagnostics"]]
    assert ("SC2034" in found) is is_run


def test_a_folder_of_path_that_is_not_absolute_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(program(tmp_path, STAND_IN)).rename(tmp_path / "shellcheck")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join((".", "")))
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert shellcheck_program("auto") == ""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shellcheck_program("auto") == str(tmp_path / "shellcheck")


@pytest.mark.asyncio
async def test_the_editor_shows_what_it_finds_when_nobody_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shellchecks, "PAUSE", 0.01)
    settings = {"shellcheck": program(tmp_path, STAND_IN)}
    answers = {"workspace/configuration": lambda parameters: [settings for _ in parameters["items"]]}
    async with connected(answers=answers) as client:
        client.open(HEAD + "      - unused=2\n")
        while "SC2034" not in codes(await client.published()):
            pass
        # A script that it knows is not read again.
        client.change({"text": "# a comment\n" + HEAD + "      - unused=2\n"}, version=2)
        (found,) = [one for one in await client.published(version=2) if one["code"] == "SC2034"]
        assert found["range"]["start"] == {"line": 7, "character": 8}


@pytest.mark.asyncio
async def test_a_finding_of_shellcheck_leads_to_its_page() -> None:
    async with connected() as client:
        page = await client.ask("workspace/executeCommand", command="pai-lsp.explain", arguments=["SC2034"])
        assert "https://www.shellcheck.net/wiki/SC2034" in page


@pytest.mark.asyncio
async def test_nothing_is_run_where_nothing_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shellchecks, "PAUSE", 0)
    marker = tmp_path / "was-run"
    own = {"shellcheck": program(tmp_path, f"open({str(marker)!r}, 'w')\n{STAND_IN}")}
    # A program that came with the workspace is not run either: settings can come with it too.
    workspace = {"workspaceFolders": [{"uri": tmp_path.as_uri(), "name": "jobs"}]}
    for settings, more in ({"trusted": False, **own}, {}), (own, workspace):
        parameters: dict[str, Any] = {"initializationOptions": settings, **more}
        async with connected(capabilities={}, **parameters) as client:
            client.open(HEAD + "      - unused=2\n")
            assert "SC2034" not in codes(await client.published())
            await client.settle()
    assert not marker.exists()


def test_a_read_that_is_not_wanted_any_more_is_ended(tmp_path: Path) -> None:
    stop = Event()
    stop.set()
    shellcheck = ShellCheck(program(tmp_path, "import time; time.sleep(60)"))
    document = Document(HEAD + "      - ls\n")
    shellcheck.read(shellcheck.unread(document), stop)
    assert shellcheck.unread(document) == ["ls"]


def test_a_program_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ShellCheckError, match=r"^ShellCheck could not be started: No such file or directory$"):
        ShellCheck(str(tmp_path / "absent")).read(["ls"])
    monkeypatch.setattr(shellcheck_module, "_LONGEST", -1)
    with pytest.raises(ShellCheckError, match=r"^ShellCheck did not end within -1 seconds$"):
        ShellCheck(program(tmp_path, "import time; time.sleep(60)")).read(["ls"])


def test_the_oldest_answers_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shellcheck_module, "_MOST_SCRIPTS", 2)
    shellcheck = ShellCheck(program(tmp_path, STAND_IN))
    shellcheck.read(["a", "b", "c"])
    roles = "".join(f"  w{number}:\n    commands:\n      - {name}\n" for number, name in enumerate("abca"))
    assert shellcheck.unread(Document(f"{HEAD.partition('  worker:')[0]}{roles}")) == ["a"]


def answered(*comments: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """The findings for comments of ShellCheck on the second line of two commands: code, severity, words, message."""
    text = HEAD + "      - 'ls'\n      - echo unused\n"
    document, shellcheck = Document(text), ShellCheck("")
    monkeypatched = {script: [*comments] for script in shellcheck.unread(document)}
    vars(shellcheck)["_comments"].update(monkeypatched)
    found = shellcheck.diagnostics(document)
    return [(one.code, one.severity.label, text[one.span.start : one.span.end], one.message) for one in found]


AT = {"line": 6, "column": 6, "endLine": 6, "endColumn": 12}


@pytest.mark.parametrize(
    ("comment", "found"),
    [
        ({**AT, "code": 2034, "level": "error", "message": "m"}, ("SC2034", "error", "unused", "m")),
        ({**AT, "code": 2034, "level": "info"}, ("SC2034", "information", "unused", "no message")),
        ({**AT, "code": 2034, "level": "style"}, ("SC2034", "hint", "unused", "no message")),
        ({**AT, "code": 2034, "level": 5, "message": 5}, ("SC2034", "warning", "unused", "no message")),
        ({**AT, "code": 1000}, ("SC1000", "warning", "unused", "no message")),
        ({**AT, "code": 1999}, ("SC1999", "warning", "unused", "no message")),
        ({**AT, "code": 1007}, None),
        ({**AT, "code": 999}, None),
        ({**AT, "code": 2000}, None),
        ({"code": 2034, "line": 5, "column": 1, "endLine": 5, "endColumn": 3},
         ("SC2034", "warning", "ls", "no message")),
        ({"code": 2034, "line": 4, "column": 1, "endLine": 4, "endColumn": 3}, None),
        ({"code": 2034, "line": 6, "column": 6}, ("SC2034", "warning", "", "no message")),
        ({"code": 2034, "line": 6, "column": 6, "endLine": 99, "endColumn": 99},
         ("SC2034", "warning", "unused", "no message")),
        ({"code": 2034, "line": 99, "column": 99}, ("SC2034", "warning", "", "no message")),
        ({"code": 2034, "line": 5, "column": -9, "endLine": 5, "endColumn": 99},
         ("SC2034", "warning", "ls", "no message")),
    ],
)  # fmt: skip
def test_what_a_comment_becomes(comment: dict[str, Any], found: tuple[str, str, str, str] | None) -> None:
    assert answered(comment, comment) == ([found] if found else [])


def test_which_program_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = program(tmp_path, "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert [shellcheck_program(one) for one in ("", "off", "auto", own, "stand-in", "absent", f"{own}s")] == [
        "", "", "", own, own, "", "",
    ]  # fmt: skip
    assert [shellcheck_program(own, folders) for folders in ((), [str(tmp_path)])] == [own, ""]
    (tmp_path / "shellcheck").symlink_to(own)
    assert shellcheck_program("auto") == str(tmp_path / "shellcheck")
    monkeypatch.setenv("PATH", "")
    assert shellcheck_program("auto") == str(tmp_path / "shellcheck")
    assert shellcheck_program("stand-in") == ""
    Path(own).chmod(0o600)
    assert (shellcheck_program("auto"), shellcheck_program(own)) == ("", "")
