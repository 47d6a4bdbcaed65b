"""`pai-lsp check --fix` and `--diff`: what is fixed, and what is left as it was."""

from __future__ import annotations

import difflib
import io
import os
import random
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from job_text import HEAD
from test_calls import calls

from pai_lsp.cli.main import main
from pai_lsp.cli.report.terminal import Terminal
from pai_lsp.cli.report.text_report import styled_difference, unified_difference
from pai_lsp.document import Document, check
from pai_lsp.findings.diagnostic import Diagnostic, Fix, Severity
from pai_lsp.rules.structure.job_shape import MAX_BYTES
from pai_lsp.safe_fixes import MOST_ROUNDS, with_safe_fixes
from pai_lsp.source import files
from pai_lsp.source.files import SourceFile, write_text
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterable

BAD = """\
protocolVersion: 2
name: train      # keep me
type: job
prerequisites:
  - {name: 'justecho', type: script}
taskRoles:
  worker:
    prerequisites: [ "justecho_wrong" ]   # and me
  ps:
    prerequisites:
    - justechoo
"""
MENDED = BAD.replace("justecho_wrong", "justecho").replace("justechoo", "justecho")
RULE = ("--select", "unknown-prerequisite")


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["check", *RULE, *arguments])
    output, errors = capsys.readouterr()
    return status, output, errors


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_only_the_wrong_words_change(capsys: pytest.CaptureFixture[str], line_end: str, mark: bytes) -> None:
    file = Path("a.pai.yaml")
    file.write_bytes(mark + BAD.replace("\n", line_end).encode())
    file.chmod(0o640)
    assert run(capsys, "--fix") == (0, "fixed 2 findings; all good: 1 file checked\n", "")
    assert file.read_bytes() == mark + MENDED.replace("\n", line_end).encode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert os.listdir() == ["a.pai.yaml"]  # noqa: PTH208 - nothing temporary is left
    assert run(capsys, "--fix") == (0, "all good: 1 file checked\n", "")


def test_what_can_not_be_mended_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.pai.yaml").write_text(BAD.replace("justechoo", "something_else"))
    status, output, _ = run(capsys, "--fix", "--format", "concise")
    assert status == 1
    assert output == "a.pai.yaml:11:7: error[unknown-prerequisite] no prerequisite is named 'something_else'\n"
    assert Path("a.pai.yaml").read_text() == MENDED.replace("- justecho", "- something_else")


def test_only_what_is_asked_for_is_mended(capsys: pytest.CaptureFixture[str]) -> None:
    file = Path("a.pai.yaml")
    file.write_text(BAD)
    main(["check", "--fix", "--ignore", "unknown-prerequisite,instances-missing", "--format", "json"])
    main(["check", "--fix", "--select", "yaml-syntax"])
    assert "justecho_wrong" in file.read_text()
    Path(".pai-lsp.yaml").write_text("rules: {unknown-prerequisite: hint}\n")
    capsys.readouterr()
    assert run(capsys, "--fix")[0] == 0
    assert file.read_text() == BAD
    assert run(capsys, "--fix", "--severity", "hint")[0] == 0
    assert file.read_text() == MENDED


def test_a_file_without_findings_is_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    file = Path("a.pai.yaml")
    file.write_text(MENDED)
    before = file.stat()
    assert run(capsys, "--fix")[0] == 0
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_diff_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    file = Path("a.pai.yaml")
    file.write_text(BAD)
    status, output, errors = run(capsys, "--diff")
    assert status == 1
    assert file.read_text() == BAD
    assert output == (
        "--- a.pai.yaml\n"
        "+++ a.pai.yaml\n"
        "@@ -5,7 +5,7 @@\n"
        "   - {name: 'justecho', type: script}\n"
        " taskRoles:\n"
        "   worker:\n"
        '-    prerequisites: [ "justecho_wrong" ]   # and me\n'
        '+    prerequisites: [ "justecho" ]   # and me\n'
        "   ps:\n"
        "     prerequisites:\n"
        "-    - justechoo\n"
        "+    - justecho\n"
    )
    assert errors == "2 findings can be fixed (run with --fix); 1 file checked\n"
    file.write_text(MENDED)
    assert run(capsys, "--diff") == (0, "", "all good: 1 file checked\n")


def test_standard_input_is_mended_to_standard_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert run(capsys, "-", "--fix") == (0, MENDED, "fixed 2 findings; all good: 1 file checked\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + MENDED.encode())))
    assert run(capsys, "-", "--fix")[1] == "\ufeff" + MENDED


def test_standard_input_that_can_not_be_mended_is_not_lost(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = BAD.replace("justecho_wrong", "caf\xe9").encode("latin-1")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["check", "-", "--fix", "--format", "concise"]) == 1
    output, errors = capsysbinary.readouterr()
    assert output == text
    assert b"unreadable-file" in errors


def test_a_file_that_can_not_be_written(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(source: SourceFile, text: str) -> None:
        raise OSError(28, "No space left on device", source.path, len(text))

    monkeypatch.setattr("pai_lsp.cli.commands.check_one.write_text", no_room)
    Path("a.pai.yaml").write_text(BAD)
    status, output, errors = run(capsys, "--fix", "--format", "concise")
    assert status == 3
    assert len(output.splitlines()) == 2
    assert errors == "pai-lsp: a.pai.yaml: could not be written: no space left on device\n"


def test_a_link_stays_a_link() -> None:
    Path("real.yaml").write_text("a: 1\n")
    Path("link.yaml").symlink_to("real.yaml")
    write_text(SourceFile("link.yaml", "a: 1\n"), "a: 2\n")
    assert Path("link.yaml").is_symlink()
    assert Path("real.yaml").read_text() == "a: 2\n"


@pytest.mark.skipif(not Path(os.devnull).is_char_device(), reason="needs a device that reads as an empty file")
def test_only_regular_files_are_written() -> None:
    with pytest.raises(OSError, match="not a regular file"):
        write_text(SourceFile(os.devnull, ""), "a: 2\n")


@pytest.mark.skipif(not hasattr(os, "chown"), reason="needs owners")
def test_the_owner_is_kept_where_that_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[int, int]] = []

    def chown(path: Path, user: int, group: int) -> None:
        given.append((user, group))
        raise PermissionError(1, "Operation not permitted", str(path))

    file = Path("a.yaml")
    file.write_text("a: 1\n")
    monkeypatch.setattr(os, "chown", chown)
    write_text(SourceFile("a.yaml", "a: 1\n"), "a: 2\n")
    assert given == []
    owner = file.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    write_text(SourceFile("a.yaml", "a: 2\n"), "a: 3\n")
    assert given == [(owner, file.stat().st_gid)]
    assert file.read_text() == "a: 3\n"


def test_somebody_elses_change_is_not_lost() -> None:
    Path("a.yaml").write_text("a: 3\n")
    with pytest.raises(OSError, match="another program has changed the file"):
        write_text(SourceFile("a.yaml", "a: 1\n"), "a: 2\n")
    assert Path("a.yaml").read_text() == "a: 3\n"


def test_a_write_that_fails_leaves_the_file_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError("no")

    Path("a.yaml").write_text("a: 1\n")
    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="no"):
        write_text(SourceFile("a.yaml", "a: 1\n"), "a: 2\n")
    assert [(path.name, path.read_text()) for path in Path().iterdir()] == [("a.yaml", "a: 1\n")]


# The rules below find words in a text that is not a job; `with_safe_fixes` knows nothing of jobs.


def replacing(word: str, by: str, *, safe: bool = True) -> tuple[str, str, bool]:
    return word, by, safe


def fixed(text: str, *rules: tuple[str, str, bool], spoiled_by: str | None = None) -> tuple[str, int]:
    """What becomes of a text under rules that replace words; with `spoiled_by` in it, a text has an error more."""

    def check(document: Document) -> tuple[Diagnostic, ...]:
        found = []
        for word, by, safe in rules:
            start = document.text.find(word)
            if start >= 0:
                span = Span(start, start + len(word))
                fix = Fix(f"to {by}", (TextEdit(span, by),), safe=safe)
                found.append(Diagnostic("word", Severity.WARNING, span, f"not {word}", (fix,)))
        if spoiled_by is not None and spoiled_by in document.text:
            found.append(Diagnostic("spoiled", Severity.ERROR, Span(0, 0), "spoiled"))
        return tuple(found)

    result = with_safe_fixes(Document(text), check, lambda _diagnostic: True)
    return result.document.text, result.fixed


def test_one_fix_uncovers_the_next() -> None:
    assert fixed("a", replacing("a", "b"), replacing("b", "c"), replacing("c", "d")) == ("d", 3)


def test_only_safe_fixes_are_applied() -> None:
    assert fixed("a b", replacing("a", "x", safe=False), replacing("b", "y")) == ("a y", 1)


def test_of_two_fixes_in_one_place_the_first_wins() -> None:
    assert fixed("ab", replacing("ab", "x"), replacing("b", "y")) == ("x", 1)
    assert fixed("ab", replacing("a", "x"), replacing("b", "y")) == ("xy", 2)


def test_a_fix_that_brings_an_error_is_dropped() -> None:
    assert fixed("a b", replacing("a", "bad"), replacing("b", "good"), spoiled_by="bad") == ("a good", 1)
    assert fixed("a", replacing("a", "bad"), spoiled_by="bad") == ("a", 0)


def test_fixes_that_only_together_bring_an_error() -> None:
    assert fixed("a b", replacing("a", "x"), replacing("b", "y"), spoiled_by="x y") == ("x b", 1)


def test_an_error_that_was_there_before_stops_nothing() -> None:
    assert fixed("bad a", replacing("a ", "x"), replacing("a", "y"), spoiled_by="d") == ("byd y", 2)


def test_fixes_that_go_round_in_circles_end() -> None:
    text, count = fixed("a", replacing("a", "b"), replacing("b", "a"))
    assert (text, count) == ("b", 1)
    text, count = fixed("a", replacing("a", "aa"))
    assert count <= MOST_ROUNDS
    assert text == "a" * (count + 1)


def test_a_fix_that_contradicts_itself_is_dropped() -> None:
    broken = Fix("both", (TextEdit(Span(0, 2), "x"), TextEdit(Span(1, 3), "y")), safe=True)
    found = Diagnostic("word", Severity.WARNING, Span(0, 1), "no", (broken,))
    result = with_safe_fixes(Document("abc"), lambda _document: (found,), lambda _diagnostic: True)
    assert (result.document.text, result.fixed) == ("abc", 0)


RUNNING = (
    HEAD
    + """\
  - type: script
    name: setup
    callbacks:
      - event: taskStarts
        commands: [echo start]
      - event: taskSucceeds
        command: [echo end]
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [setup]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [echo hi]
"""
)


@pytest.mark.parametrize("plugin", ["", "    plugin: cmd\n"])
def test_a_fix_after_which_a_running_job_dies_is_dropped(plugin: str) -> None:
    """The runtime ignores callbacks without its plugin, and dies of a broken one with it."""
    text = RUNNING.replace("    name: setup\n", f"    name: setup\n{plugin}")
    result = with_safe_fixes(Document(text), lambda document: document.diagnostics, lambda _diagnostic: True)
    assert (result.document.text, result.fixed) == (text, 0)
    whole = text.replace("command: [echo end]", "commands: [echo end]")
    result = with_safe_fixes(Document(whole), lambda document: document.diagnostics, lambda _diagnostic: True)
    assert "plugin: com.microsoft.pai.runtimeplugin.cmd\n" in result.document.text


def test_a_diff_of_texts_without_a_last_line_end_and_with_odd_ones() -> None:
    assert unified_difference("a", "x\u2028y\rb", "x\u2028y\rc") == (
        "--- a\n+++ a\n@@ -1,2 +1,2 @@\n x\u2028y\r-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
    )
    assert unified_difference("a", "x", "x") == ""


@pytest.mark.parametrize("changed", [[3, 9], [3, 10], [3, 11], [3, 8, 14], [3, 10, 17, 25], [0, 1, 29], [7], range(30)])
def test_changes_are_joined_as_other_diffs_join_them(changed: Iterable[int]) -> None:
    before = [f"line {number}\n" for number in range(30)]
    after = [f"new {line}" if number in changed else line for number, line in enumerate(before)]
    other = "".join(difflib.unified_diff(before, after, "a", "a"))
    assert unified_difference("a", "".join(before), "".join(after)) == other


@pytest.mark.parametrize("seed", range(8))
def test_git_applies_each_diff(seed: int) -> None:
    """Lines repeat, move, come and go, and the last one may have no end."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    before = [f"{chance.choice('abcdefgh')}{chance.choice(['', chance.randrange(40)])}\n" for _ in range(60)]
    after = list(before)
    for _ in range(chance.randrange(1, 12)):
        at = chance.randrange(len(after))
        after[at : at + chance.randrange(4)] = chance.sample(before, chance.randrange(4))
    texts = ["".join(lines).removesuffix(chance.choice(["", "\n"])) for lines in (before, after)]
    Path("a.txt").write_text(texts[0], encoding="utf-8")
    difference = unified_difference("a.txt", *texts)
    git = ("git", "apply", "-p0", "--allow-empty", "-")
    subprocess.run(git, input=difference, text=True, check=True, env={**os.environ, "GIT_DIR": os.devnull})
    assert Path("a.txt").read_text(encoding="utf-8") == texts[1]


def test_a_diff_of_many_changes_takes_linear_time() -> None:
    """Each change is between lines that are all alike."""

    def compared(changes: int) -> int:
        before = "".join(f"w{number}:\n  image: i{number}\n  commands: [a]\n" for number in range(changes))
        return calls(lambda: unified_difference("a", before, before.replace("image:", "dockerImage:")))

    assert compared(800) < 5 * compared(200)


def test_a_diff_in_colours() -> None:
    shown = styled_difference(unified_difference("a", "x\n", "y\n"), Terminal(colour=True))
    assert "\x1b[31m-x\x1b[0m\n\x1b[32m+y\x1b[0m\n" in shown


@pytest.mark.skipif(os.name == "nt", reason="Windows has other modes and links")
def test_a_read_only_file_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """Root could write it, and so could everybody who may replace files of its folder."""
    file = Path("a.pai.yaml")
    file.write_text(BAD)
    file.chmod(0o444)
    status, _, errors = run(capsys, "--fix")
    assert (status, file.read_text()) == (3, BAD)
    assert "a.pai.yaml: could not be written: this file is read-only" in errors
    assert stat.S_IMODE(file.stat().st_mode) == 0o444


@pytest.mark.skipif(not hasattr(os, "link"), reason="needs hard links")
def test_hard_links_stay_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    file = Path("a.pai.yaml")
    file.write_text(BAD + "# a longer text than the new one\n" * 2)
    os.link(file, "same.txt")
    assert run(capsys, "--fix", "a.pai.yaml")[0] == 0
    assert file.samefile("same.txt")
    assert Path("same.txt").read_text() == MENDED + "# a longer text than the new one\n" * 2


def test_a_hard_link_keeps_its_text_when_the_disk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path("a.pai.yaml")
    file.write_text(BAD)
    os.link(file, "same.txt")
    write, calls = files._write_whole, 0

    def full(target: object, data: bytes) -> None:
        nonlocal calls
        calls += 1
        write(target, data[:9] if calls == 1 else data)  # type: ignore[arg-type]
        if calls == 1:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_write_whole", full)
    with pytest.raises(OSError, match="No space left"):
        write_text(SourceFile("a.pai.yaml", BAD), MENDED)
    assert Path("same.txt").read_text() == BAD


def test_several_anchors_of_one_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Each alias keeps meaning the anchor before it."""
    text = BAD + "extras:\n  one: &a 1\n  two: *a\n  three: &a 3\n  four: *a\n  five: &a 5\n"
    file = Path("a.pai.yaml")
    file.write_text(text)
    main(["check", "--fix", "a.pai.yaml"])
    capsys.readouterr()
    after = Document(file.read_text())
    assert not after.syntax.problems
    assert plain_value(after.job.mapping("extras")) == plain_value(Document(text).job.mapping("extras"))


def test_fixes_make_no_job_larger_than_the_rest_server_accepts() -> None:
    command = "      - apt-get update\n      - apt-get install x\n      - apt-get install y\n"
    text = f"{HEAD}taskRoles:\n  w:\n    commands:\n{command}#".ljust(MAX_BYTES - len(" -y"), "#")
    for_one, too_small = (with_safe_fixes(Document(one), check, _asks) for one in (text, f"{text}#"))
    assert (for_one.fixed, len(for_one.document.text), too_small.fixed) == (1, MAX_BYTES, 0)


def _asks(diagnostic: Diagnostic) -> bool:
    return diagnostic.code == "asks-for-confirmation"


@pytest.mark.slow
def test_a_file_with_thousands_of_mistakes_is_fixed_in_several_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Each round takes as long as a check, so a run ends with the one that reaches the limit."""
    file = Path("a.pai.yaml")
    file.write_text("protocolVersion: 2\nname: a\ntype: job\nextras:\n" + "\ta: 1\n" * 2_500)
    lefts = []
    for _ in range(2):
        main(["check", "--fix", "a.pai.yaml"])
        lefts.append(file.read_text().count("\t"))
    capsys.readouterr()
    assert lefts == [1_500, 500]
