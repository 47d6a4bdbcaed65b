"""`pai-lsp check`: what it reads, what it reports, and how it ends."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from budgets import some

from pai_lsp import document
from pai_lsp.cli import processes
from pai_lsp.cli.commands import check_one
from pai_lsp.cli.main import main
from pai_lsp.cli.report import FORMATS
from pai_lsp.cli.subcommands import SUBCOMMANDS, parser_of
from pai_lsp.findings.diagnostic import Finding, Related, Rule, Severity
from pai_lsp.rules import GROUPS, RULES, all_rules, families
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pai_lsp.job.job import Job

GOOD = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - name: image
    type: dockerimage
    uri: example/train:1.0
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands:
      - echo hello
"""
BAD = GOOD.replace("    instances: 1\n", "    prerequisites: [imaje]\n")
# The rules of which these tests know the outcome; others may come and go.
KNOWN = ("--select", "unknown-prerequisite,unused-ignore,unreadable-file,invalid-configuration,yaml-syntax")


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)


def write(path: str, text: str | bytes) -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["check", *arguments])
    output, errors = capsys.readouterr()
    return status, output, errors


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[tuple[str, str]]]:
    """The exit status, and path and code of every finding."""
    status, output, _ = run(capsys, *KNOWN, "--format", "json", *arguments)
    return status, [(item["path"], item["code"]) for item in json.loads(output)["diagnostics"]]


def give_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_good_job(capsys: pytest.CaptureFixture[str]) -> None:
    write("train.pai.yaml", GOOD)
    assert run(capsys, "train.pai.yaml", *KNOWN) == (0, "all good: 1 file checked\n", "")


def test_a_bad_job(capsys: pytest.CaptureFixture[str]) -> None:
    write("train.pai.yaml", BAD)
    status, output, errors = run(capsys, *KNOWN)
    assert (status, errors) == (1, "")
    assert output.startswith("error[unknown-prerequisite]: no prerequisite is named 'imaje'")
    assert "  --> train.pai.yaml:10:21\n" in output
    assert "10 |     prerequisites: [imaje]\n   |                     ^^^^^\n" in output
    assert output.splitlines()[-1].startswith("1 error in 1 file (1 checked)")


def test_what_is_looked_at_in_folders(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = ["a.pai.yaml", "b.PAI.YML", "c/d/plain.yaml", "c/json.yml", "z.yaml"]
    for path in jobs:
        write(path, BAD)
    write("c/json.yml", '{"protocolVersion": 2, "type": "job", "taskRoles": {"a": {"prerequisites": ["x"]}}}')
    for path in (".hidden/a.pai.yaml", "node_modules/x/a.pai.yaml", "c/.git/a.yaml", "c/notes.txt", "c/job.json"):
        write(path, BAD)
    write("deployment.yaml", "apiVersion: v1\nkind: Service\nspec: {protocolVersion: 2, taskRoles: {}}\n")
    write("values.yaml", "protocolVersion: 2\n")
    write("broken.yaml", "a: [\n")
    Path("folder.yaml").mkdir()
    Path("loop").symlink_to(".", target_is_directory=True)
    Path("itself.yaml").symlink_to("itself.yaml")
    Path("long.yaml").symlink_to("x" * 300)
    expected = (1, [(path, "unknown-prerequisite") for path in sorted(jobs)])
    assert found(capsys) == expected
    assert found(capsys, ".") == expected
    assert found(capsys, "c", "c/d/plain.yaml", "./c") == (1, [p for p in expected[1] if p[0].startswith("c/")])


def test_a_hidden_folder_that_is_named_is_entered(capsys: pytest.CaptureFixture[str]) -> None:
    write(".hidden/a.pai.yaml", BAD)
    assert found(capsys, ".hidden") == (1, [(".hidden/a.pai.yaml", "unknown-prerequisite")])


def test_a_file_that_is_named_is_a_job(capsys: pytest.CaptureFixture[str]) -> None:
    write("part.txt", "prerequisites: []\ntaskRoles: {a: {prerequisites: [x]}}\n")
    assert found(capsys, "part.txt") == (1, [("part.txt", "unknown-prerequisite")])


def test_no_job_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys) == (0, "no job files found\n", "")


def test_a_path_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.pai.yaml", BAD)
    assert run(capsys, "a.pai.yaml", "gone.yaml") == (2, "", "pai-lsp check: no such file or folder: gone.yaml\n")


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    give_input(monkeypatch, BAD.encode())
    assert found(capsys, "-") == (1, [("<stdin>", "unknown-prerequisite")])
    write("jobs/.pai-lsp.yaml", "rules: {unknown-prerequisite: hint}\n")
    give_input(monkeypatch, BAD.encode())
    assert found(capsys, "-", "--stdin-filename", "jobs/a.yaml") == (0, [("jobs/a.yaml", "unknown-prerequisite")])
    give_input(monkeypatch, b"\xff\xfea\0")
    assert found(capsys, "-") == (1, [("<stdin>", "unreadable-file")])
    assert run(capsys, "-", "-")[0] == 2


@pytest.mark.parametrize(
    ("data", "message", "place"),
    [
        (b"name: caf\xe9 au lait\n", "this file is not UTF-8: byte 0xe9 cannot be read; OpenPAI reads UTF-8", (1, 10)),
        (
            "name: é\ntype: ".encode() + b"\xc3(",
            "this file is not UTF-8: byte 0xc3 cannot be read; OpenPAI reads UTF-8",
            (2, 7),
        ),
        (GOOD.encode("utf-16"), "this file is UTF-16; OpenPAI reads UTF-8, so save it as UTF-8", (1, 1)),
        (b"\x7fELF\0\0", "this is a binary file: it contains a NUL character", (1, 1)),
    ],
)
def test_a_file_that_is_no_text(
    capsys: pytest.CaptureFixture[str], data: bytes, message: str, place: tuple[int, int]
) -> None:
    write("a.pai.yaml", data)
    write("b.pai.yaml", BAD)
    _, output, _ = run(capsys, *KNOWN, "--format", "json")
    first, second = json.loads(output)["diagnostics"]
    assert (first["code"], first["message"]) == ("unreadable-file", message)
    assert (first["start"]["line"], first["start"]["column"]) == place
    assert second["path"] == "b.pai.yaml"


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that can be opened and not be read")
def test_a_file_that_can_not_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.pai.yaml", BAD)
    status, output, _ = run(capsys, "/proc/self/mem", "a.pai.yaml", *KNOWN, "--format", "concise")
    assert status == 1
    assert output.startswith(
        "/proc/self/mem:1:1: error[unreadable-file] this file cannot be read: input/output error\n"
    )
    assert "a.pai.yaml:10:21" in output


def test_a_folder_that_can_not_be_listed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    scan = os.scandir

    def scandir(path: str) -> Any:
        if path == "closed":
            raise PermissionError(13, "Permission denied")
        return scan(path)

    write("closed/a.pai.yaml", BAD)
    write("open/a.pai.yaml", BAD)
    monkeypatch.setattr(os, "scandir", scandir)
    status, output, _ = run(capsys, *KNOWN, "--format", "concise")
    assert status == 1
    assert output.splitlines()[0] == (
        "closed:1:1: error[unreadable-file] this folder cannot be listed: permission denied"
    )
    assert output.splitlines()[1].startswith("open/a.pai.yaml:10:21")
    write(".pai-lsp.yaml", "rules: {unreadable-file: off}\n")
    assert run(capsys, "--select", "unknown-prerequisite", "closed") == (0, "no job files found\n", "")


def test_a_file_that_is_far_too_large(capsys: pytest.CaptureFixture[str]) -> None:
    with Path("a.pai.yaml").open("wb") as file:
        file.truncate(20_000_001)
    _, output, _ = run(capsys, "--format", "concise")
    assert output == (
        "a.pai.yaml:1:1: error[unreadable-file] "
        "this file is larger than 20,000,000 bytes; OpenPAI accepts jobs of up to 102,400\n"
    )


def test_other_peoples_files_may_be_unreadable(capsys: pytest.CaptureFixture[str]) -> None:
    write("picture.yaml", b"\0\xff")
    write("latin.yaml", b"a: caf\xe9\n")
    assert found(capsys) == (0, [])


def test_a_byte_order_mark_is_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.pai.yaml", b"\xef\xbb\xbf" + BAD.replace("\n", "\r\n").encode())
    _, output, _ = run(capsys, *KNOWN, "--format", "json")
    start = json.loads(output)["diagnostics"][0]["start"]
    assert start == {"line": 10, "column": 21, "offset": BAD.replace("\n", "\r\n").index("imaje")}


def test_select_and_ignore(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.pai.yaml", BAD)

    def codes(*arguments: str) -> set[str]:
        _, output, _ = run(capsys, "--format", "json", *arguments)
        return {item["code"] for item in json.loads(output)["diagnostics"]}

    assert "unknown-prerequisite" in codes()
    assert "unknown-prerequisite" not in codes("--ignore", "yaml-syntax, unknown-prerequisite")
    assert codes("--select", "unknown-prerequisite") == {"unknown-prerequisite"}
    assert codes("--select", "yaml-syntax", "--select", "unknown-prerequisite") == {"unknown-prerequisite"}
    assert codes("--select", "unknown-prerequisite", "--ignore", "unknown-prerequisite") == set()


def test_former_codes_work_and_the_new_ones_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    job = BAD.replace("- echo", "- mpirun -np 2 --oversubscribe hostname\n      - echo")
    write("a.pai.yaml", job)
    new, old = "mpi-run-as-root", "mpi-as-root"
    note = f"the rule '{old}' is now '{new}'\n"
    status, output, errors = run(capsys, "--select", old, "--format", "concise")
    assert (status, errors) == (1, f"pai-lsp check: {note}")
    assert f"warning[{new}]" in output
    write(".pai-lsp.yaml", f"rules:\n  {old}: off\n")
    status, output, errors = run(capsys, "--format", "concise")
    assert errors == f"pai-lsp: .pai-lsp.yaml:2: {note}"
    assert new not in output
    write("a.pai.yaml", f"# pai-lsp: ignore-file[{old}]\n{job}")
    status, output, errors = run(capsys, "--isolated", "--severity", "hint", "--format", "concise")
    assert f"warning[{new}]" not in output
    assert f"a.pai.yaml:1:24: hint[unused-ignore] {note}" in output
    assert main(["explain", old]) == 0
    output, errors = capsys.readouterr()
    assert output.startswith(f"{new} (warning)")
    assert errors == f"pai-lsp explain: {note}"


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_a_rule_that_there_is_not(capsys: pytest.CaptureFixture[str], option: str) -> None:
    status, output, errors = run(capsys, option, "unknown-prerequisit")
    assert (status, output) == (2, "")
    assert "no rule or family is named 'unknown-prerequisit'; did you mean 'unknown-prerequisite'?" in errors


def test_findings_below_the_threshold(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.pai.yaml", "# pai-lsp: ignore[yaml-syntax] once needed\n" + GOOD)
    status, output, _ = run(capsys, *KNOWN)
    assert status == 0
    assert output == "all good: 1 file checked; 1 finding below the threshold, shown with --severity hint\n"
    assert run(capsys, *KNOWN, "--format", "concise") == (0, "", "")
    assert found(capsys) == (0, [("a.pai.yaml", "unused-ignore")])
    assert found(capsys, "--severity", "information") == (0, [])
    assert found(capsys, "--severity", "hint") == (1, [("a.pai.yaml", "unused-ignore")])
    status, output, _ = run(capsys, *KNOWN, "--severity", "hint", "--format", "concise")
    assert status == 1
    assert output.startswith("a.pai.yaml:1:19: hint[unused-ignore]")


def test_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    write(".pai-lsp.yaml", "rules: {unknown-prerequisite: warning}\nexclude: [drafts/, /b.pai.yaml]\n")
    write("a.pai.yaml", BAD)
    write("b.pai.yaml", BAD)
    write("drafts/c.pai.yaml", BAD)
    write("inner/d.pai.yaml", BAD)
    write("inner/.pai-lsp.yaml", "rules: {unknown-prerequisite: off}\n")
    assert found(capsys) == (
        1,
        [(path, "unknown-prerequisite") for path in ("a.pai.yaml", "inner/d.pai.yaml")],
    )
    status, output, _ = run(capsys, "--format", "json", "--ignore", "yaml-syntax")
    reported = [i for i in json.loads(output)["diagnostics"] if i["code"] == "unknown-prerequisite"]
    assert [(item["path"], item["severity"]) for item in reported] == [("a.pai.yaml", "warning")]
    assert status == 1
    assert found(capsys, "--severity", "error", "a.pai.yaml") == (0, [])
    assert found(capsys, "b.pai.yaml")[1] == [("b.pai.yaml", "unknown-prerequisite")]
    assert found(capsys, "--force-exclude", "b.pai.yaml", "drafts/c.pai.yaml") == (0, [])


def test_only_jobs_are_checked_of_many_named_files(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.pai.yaml", "taskRoles: {worker: {prerequisites: [imaje]}}\n")
    write("plain.yaml", BAD)
    write("compose.yaml", "services: {web: {image: nginx}}\n")
    write("binary.yml", b"\0\1\2")
    write("marketplace/data.yaml", "- {name: data, type: data, plugin: 7}\n")
    write(".pai-lsp.yaml", "rules: {no-such-rule: off}\n")
    names = ["a.pai.yaml", "plain.yaml", "compose.yaml", "binary.yml", "marketplace/data.yaml", ".pai-lsp.yaml"]
    reported = found(capsys, "--only-jobs", *names)[1]
    assert {path for path, _ in reported} == {"a.pai.yaml", "plain.yaml", ".pai-lsp.yaml"}
    assert found(capsys, "--only-jobs", "compose.yaml", "binary.yml") == (
        1,
        [(".pai-lsp.yaml", "invalid-configuration")],
    )
    assert ("binary.yml", "unreadable-file") in found(capsys, *names)[1]


def test_a_faulty_configuration_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    write("jobs/.pai-lsp.yaml", "rules:\n  no-such-rule: off\n  yaml-syntax: loud\n")
    write("jobs/a.pai.yaml", GOOD)
    write("jobs/b/c.pai.yaml", GOOD)
    config = ("jobs/.pai-lsp.yaml", "invalid-configuration")
    assert found(capsys) == (1, [config, config])
    assert found(capsys, "jobs", "jobs/.pai-lsp.yaml") == (1, [config, config])
    status, output, _ = run(capsys, "jobs/.pai-lsp.yaml", "--format", "concise")
    assert status == 1
    assert (
        output.splitlines()[0]
        == "jobs/.pai-lsp.yaml:2:3: warning[invalid-configuration] no rule or family is named 'no-such-rule'"
    )


def test_a_right_configuration_can_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    write(".pai-lsp.yaml", "rules: {}\n")
    assert run(capsys, ".pai-lsp.yaml") == (0, "all good: 1 file checked\n", "")


HIDING = """\
protocolVersion: 2
name: train
type: job
prerequisites: []
secrets:
  password: hunter2secret
  # hunter2secret is not to be shown
  list: [hunter2secret, {deep: hunter2secret}]
taskRoles:
  worker:
    prerequisites: [nothing]
"""


@pytest.mark.parametrize("name", some(FORMATS))
@pytest.mark.parametrize(
    "text",
    [
        HIDING,
        HIDING.replace("taskRoles:\n  worker:\n", "taskRoles: {worker: {\n"),
        HIDING.replace("  list: [", "  list: [[").replace("# hunter2secret is", "# it is"),
        HIDING.replace("secrets:", '"secrets": # here'),
        HIDING.replace("  password: hunter2secret\n", "  password: hunter2secret\n  password: hunter2secret\n"),
        HIDING.replace("  password: hunter2secret\n", "  password: |\n    hunter2secret\n   hunter2secret: x\n"),
        HIDING.replace("  password: hunter2secret\n", "  password: a\n   hunter2secret" + "x" * 99 + ": y\n"),
        '{"taskRoles": {"a": {"prerequisites": ["nothing"]}},\n "secrets": {"a": "hunter2secret"},\n "type": [}\n',
        HIDING.replace("taskRoles", "[x").replace("\n", "\n  "),
    ],
    ids=[
        "right",
        "broken after",
        "broken inside",
        "quoted key",
        "twice",
        "broken block",
        "long",
        "broken JSON",
        "indented",
    ],
)
def test_no_report_shows_a_secret(capsys: pytest.CaptureFixture[str], name: str, text: str) -> None:
    write("a.pai.yaml", text.replace("  # hunter2secret is not to be shown\n", ""))
    status, output, errors = run(capsys, "--format", name, "--severity", "hint")
    assert status == 1
    assert "hunter2" not in output + errors
    assert "hunter2" not in "".join(run(capsys, "--diff", "--severity", "hint")[1:])


def test_a_fault_of_ours_does_not_stop_the_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.pai.yaml", GOOD)
    write("b.pai.yaml", BAD)

    def faulty(checked: Any, *others: Any) -> Any:
        if checked.path == "a.pai.yaml":
            raise KeyError("hunter2")
        return document.check(checked, *others)

    monkeypatch.setattr(check_one, "check", faulty)
    status, output, errors = run(capsys, *KNOWN, "--format", "concise")
    assert status == 3
    assert output.startswith("b.pai.yaml:10:21: error[unknown-prerequisite]")
    assert errors.startswith("pai-lsp: a.pai.yaml: KeyError in ")
    assert "hunter2" not in errors
    assert "please report it" in errors
    status, output, _ = run(capsys, "--format", "sarif")
    assert status == 3
    assert json.loads(output)["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_a_faulty_rule_does_not_silence_the_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(job: Job) -> Iterator[Finding]:
        yield from ()
        raise ValueError(job.syntax.text)

    write("a.pai.yaml", BAD.replace("hello", "hunter2"))
    broken = Rule("broken-rule", Severity.ERROR, check, "Never mind.")
    monkeypatch.setattr(document, "RULES", (broken, *RULES))
    status, output, errors = run(capsys, *KNOWN, "--format", "concise")
    assert status == 3
    assert output.startswith("a.pai.yaml:10:21: error[unknown-prerequisite]")
    assert "pai-lsp: a.pai.yaml: rule broken-rule failed: ValueError in " in errors
    assert "hunter2" not in errors


def test_wrong_usage_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--no-such-option")[0] == 2
    assert run(capsys, "--format", "xml")[0] == 2
    for number in ("0", "-1", "abc", "²", ""):
        status, _, errors = run(capsys, f"--jobs={number}")
        assert status == 2
        assert errors.startswith(f"pai-lsp check: --jobs: '{number}' is not a number of processes, such as 4\n")
    assert run(capsys, "--fix", "--diff")[0] == 2
    status, output, _ = run(capsys, "--help")
    assert status == 0
    for part in ("examples:", "exit status:", "--stdin-filename", "NO_COLOR"):
        assert part in output


def test_colours_on_demand(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.pai.yaml", BAD)
    assert "\x1b" not in run(capsys)[1]
    assert "\x1b[1;31m" in run(capsys, "--color", "always")[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1;31m" in run(capsys)[1]
    assert "\x1b" not in run(capsys, "--color", "never")[1]


def test_a_place_in_another_file_is_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def check(job: Job) -> Iterator[Finding]:
        del job
        places = ((Span(6, 10), "market/b.yaml"), (Span(0, 1), "gone.yaml"), (Span(0, 1), "marketplace://c/d"))
        yield Finding(Span(0, 4), "look there", related=tuple(Related(span, "there", path) for span, path in places))

    write("a.pai.yaml", GOOD)
    write("market/b.yaml", "name: here\n")
    monkeypatch.setattr(document, "RULES", (Rule("pointing", Severity.ERROR, check, "Never mind."),))
    _, output, _ = run(capsys, "--format", "json")
    starts = [related["start"] for related in json.loads(output)["diagnostics"][0]["related"]]
    assert starts == [{"line": 1, "column": 7, "offset": 6}, None, None]
    assert " 1 | name: here\n   |       ----\n" in run(capsys)[1]


def test_a_file_for_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    write("job.yaml", BAD)
    assert main(["check", "--format", "concise", "-o", "report.txt", *KNOWN]) == 1
    assert capsys.readouterr().out == ""
    assert Path("report.txt").read_text(encoding="utf-8").startswith("job.yaml:10:21: error[unknown-prerequisite]")
    assert main(["check", "-o", "no/such/folder.txt", *KNOWN]) == 3
    assert "no/such/folder.txt: no such file or directory" in capsys.readouterr().err


def test_statuses_and_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    write("job.yaml", BAD)
    assert main(["check", "--exit-zero", *KNOWN]) == 0
    assert "1 error in 1 file" in capsys.readouterr().out
    assert main(["check", "-q", *KNOWN]) == 1
    quiet = capsys.readouterr().out
    assert "unknown-prerequisite" in quiet
    assert "in 1 file" not in quiet
    write("job.yaml", GOOD)
    assert main(["check", "--quiet", *KNOWN]) == 0
    assert capsys.readouterr().out == ""


def test_statistics(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.yaml", BAD)
    write("b.yaml", BAD + "owner: me\n")
    assert main(["check", "--statistics", "--select", "unknown-prerequisite,unknown-key"]) == 1
    assert [line.split()[:3] for line in capsys.readouterr().out.splitlines()] == [
        ["2", "error", "unknown-prerequisite"],
        ["1", "error", "unknown-key"],
    ]
    assert main(["check", "--statistics", "--format", "sarif"]) == 2


def test_which_files_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    write("job.yaml", BAD)
    write("other.yaml", "a: b\n")
    write("drafts/job.yaml", BAD)
    write(".pai-lsp.yaml", "exclude: [drafts/]\n")
    assert main(["check", "--show-files"]) == 0
    assert capsys.readouterr().out == "job.yaml\n"


def test_families_of_rules(capsys: pytest.CaptureFixture[str]) -> None:
    write("job.yaml", BAD + "owner: me\n")
    assert main(["check", "--format", "concise", "--select", "prerequisites"]) == 1
    assert "unknown-key" not in capsys.readouterr().out
    assert (
        main(["check", "--format", "concise", "--select", "structure,prerequisites", "--ignore", "prerequisites"]) == 1
    )
    shown = capsys.readouterr().out
    assert "unknown-key" in shown
    assert "unknown-prerequisite" not in shown
    assert main(["check", "--select", "structur"]) == 2
    assert "no rule or family is named 'structur'; did you mean 'structure'?" in capsys.readouterr().err


def test_findings_are_selected_by_what_becomes_of_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    write("job.yaml", BAD + "owner: me\nextras: {hivedscheduler: {}}\n")

    def found(*arguments: str) -> set[tuple[str, str]]:
        main(["check", "--format", "json", *arguments])
        return {(one["code"], one["consequence"]) for one in json.loads(capsys.readouterr().out)["diagnostics"]}

    everything = found()
    refused = {("unknown-key", "refused"), ("unknown-prerequisite", "refused")}
    assert refused <= everything
    assert ("hived-key-misspelled", "ignored") in everything
    assert {consequence for _, consequence in found("--select", "refused")} == {"refused"}
    assert found("--select", "refused", "--ignore", "unknown-key,ignored") >= refused - {("unknown-key", "refused")}
    assert found("--ignore", "refused,ignored,fails,dies") == {one for one in everything if one[1] == "style"}


def test_a_rule_in_preview_is_off_until_it_is_switched_on(capsys: pytest.CaptureFixture[str]) -> None:
    code = "python-code-unquoted"
    write("job.yaml", GOOD.replace("echo hello", "python -c import torch"))

    def severity(configuration: str, *arguments: str) -> str:
        write(".pai-lsp.yaml", configuration)
        main(["check", "--format", "json", *arguments])
        found = [one for one in json.loads(capsys.readouterr().out)["diagnostics"] if one["code"] == code]
        return found[0]["severity"] if found else "off"

    assert severity("") == "off"
    assert severity("", "--preview") == "error"
    assert severity("", "--select", code) == "error"
    assert severity("", "--select", "commands,downloads,fails") == "off"
    assert severity("", "--select", "downloads", "--preview") == "error"
    assert severity("preview: true") == "error"
    assert severity("preview: false", "--preview") == "error"
    assert severity(f"rules: {{{code}: hint}}") == "hint"
    assert severity("rules: {downloads: hint, commands: hint}") == "off"
    assert severity("rules: {downloads: hint}\npreview: true") == "hint"
    assert severity(f"rules: {{{code}: off}}\npreview: true", "--preview") == "off"


def test_reports_and_the_record_know_a_rule_in_preview(capsys: pytest.CaptureFixture[str]) -> None:
    code = "python-code-unquoted"
    write("job.yaml", GOOD.replace("echo hello", "python -c import torch"))
    main(["check", "--preview", "--select", f"{code},program-not-in-container", "--format", "sarif"])
    (rule,) = json.loads(capsys.readouterr().out)["runs"][0]["tool"]["driver"]["rules"]
    assert (rule["id"], rule["properties"]["status"]) == (code, "preview")
    assert rule["defaultConfiguration"] == {"enabled": False, "level": "error"}
    main(["rules", "downloads"])
    shown = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert shown[code].endswith("(preview)")
    assert sum(line.endswith("(preview)") for line in shown.values()) == 1
    main(["explain", code])
    assert "in preview: off without `--preview`" in capsys.readouterr().out


def test_a_family_leaves_rules_off_that_the_configuration_turns_off() -> None:
    write("job.yaml", BAD)
    write(".pai-lsp.yaml", "rules: {unknown-prerequisite: off}\n")
    assert main(["check", "--select", "prerequisites"]) == 0
    assert main(["check", "--select", "unknown-prerequisite"]) == 1


def test_the_help_names_every_family() -> None:
    text = " ".join(parser_of(next(one for one in SUBCOMMANDS if one.name == "check")).format_help().split())
    names = list(families())
    assert f"The families are {', '.join(names[:-1])} and {names[-1]}; " in text
    (first, *_, last) = GROUPS["commands"]
    assert f'"commands" means the six from {first} to {last}.' in text
    assert len(GROUPS["commands"]) == 6
    assert sorted(rule.code for rules in families().values() for rule in rules) == sorted(
        rule.code for rule in all_rules()
    )


def test_rules_that_some_files_ignore(capsys: pytest.CaptureFixture[str]) -> None:
    write("job.yaml", BAD)
    write("legacy/old/job.yaml", BAD)
    write(".pai-lsp.yaml", "per_file_ignores:\n  legacy/: [unknown-prerequisite]\n")
    assert main(["check", "--format", "concise", *KNOWN]) == 1
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == ["job.yaml"]


def test_another_configuration_or_none(capsys: pytest.CaptureFixture[str]) -> None:
    write("jobs/job.yaml", BAD)
    write("jobs/.pai-lsp.yaml", "rules: {unknown-prerequisite: off}\n")
    write("strict.yaml", "rules: {unknown-prerequisite: warning}\n")
    assert main(["check", *KNOWN[:1], "unused-ignore"]) == 0
    capsys.readouterr()
    assert main(["check", "--isolated", "--format", "concise", "--ignore", "commands"]) == 1
    assert "error[unknown-prerequisite]" in capsys.readouterr().out
    assert main(["check", "--config", "strict.yaml", "--format", "concise", "--ignore", "commands"]) == 1
    assert "warning[unknown-prerequisite]" in capsys.readouterr().out
    assert main(["check", "--config", "none.yaml"]) == 2
    write("strict.yaml", "rule: {}\n")
    assert main(["check", "--config", "strict.yaml", "--format", "concise", *KNOWN]) == 1
    assert "strict.yaml:1:1: error[invalid-configuration]" in capsys.readouterr().out


def test_ndjson_has_the_findings_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(4):
        write(f"{number}.yaml", BAD.replace("imaje", f"imaje{number}"))
    write("compose.yaml", "services: {}\n")
    write(".pai-lsp.yaml", "rule: {}\n")
    assert main(["check", "--format", "json", *KNOWN]) == 1
    expected = json.loads(capsys.readouterr().out)["diagnostics"]
    assert main(["check", "--format", "ndjson", *KNOWN]) == 1
    streamed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert streamed == expected[1:] + expected[:1]
    assert [one["path"] for one in streamed] == [*(f"{number}.yaml" for number in range(4)), ".pai-lsp.yaml"]


def test_findings_of_several_processes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def mapped(work: Callable[[Any], Any], items: list[Any], count: int) -> Iterator[Any]:
        assert (len(items), count) == (4, 3)
        lost = processes.LostItem("the process was ended by signal 9")
        return (lost if number == 2 else work(item) for number, item in enumerate(items))

    monkeypatch.setattr(processes, "mapped", mapped)
    monkeypatch.setattr(processes, "can_fork", lambda: True)
    for number in range(5):
        write(f"{number}.yaml", BAD.replace("imaje", f"imaje{number}"))
    names = [f"{number}.yaml" for number in (4, 0, 3, 1, 2)]
    for form, listed in (("concise", "01234"), ("ndjson", "40312")):
        assert main(["check", "--jobs", "3", "--format", form, *KNOWN, *names]) == 3
        output, errors = capsys.readouterr()
        assert re.findall("imaje([0-9])'", output) == [one for one in listed if one != "1"]
        assert errors.startswith("pai-lsp: 1.yaml: the process was ended by signal 9\n")


def test_how_many_processes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []

    def mapped(work: Callable[[Any], Any], items: list[Any], count: int) -> Iterator[Any]:
        counts.append(count)
        return map(work, items)

    monkeypatch.setattr(processes, "mapped", mapped)
    monkeypatch.setattr(processes, "available_processors", lambda: 8)
    monkeypatch.setattr(processes, "can_fork", lambda: True)
    for number in range(72):
        write(f"{number:02}.yaml", "a: 1\n")
    names = [f"{number:02}.yaml" for number in range(72)]
    for arguments in ((*names[:47],), (*names[:48],), (*names,), ("--jobs=1", *names), ("--jobs=2", *names[:2])):
        assert main(["check", *KNOWN, *arguments]) == 0
        counts.append(-len(arguments))
    assert counts == [-47, 2, -48, 3, -72, -73, 2, -3]
    monkeypatch.setattr(processes, "can_fork", lambda: False)
    assert main(["check", "--jobs=2", *KNOWN, *names]) == 0
    assert len(counts) == 8
    capsys.readouterr()


def test_comments_that_ignore_what_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    write("job.yaml", BAD)
    assert main(["check", "--add-ignore", *KNOWN]) == 0
    assert "ignored 1 finding; all good: 1 file checked" in capsys.readouterr().out
    assert "    prerequisites: [imaje]  # pai-lsp: ignore[unknown-prerequisite]\n" in Path("job.yaml").read_text(
        "utf-8"
    )


def test_comments_that_ignore_are_added_to_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = BAD.replace("    commands:", "    commands:\n      - >-\n        pip install $1\n        --user", 1)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(bad.encode())))
    assert main(["check", "--add-ignore", "-", "--select", "unknown-prerequisite,unset-positional"]) == 1
    output, errors = capsys.readouterr()
    assert output == bad.replace("[imaje]", "[imaje]  # pai-lsp: ignore[unknown-prerequisite]")
    assert "ignored 1 finding; 1 warning in 1 file" in errors
    assert "a comment is not possible on these lines" in errors


def test_a_job_of_version_1_gets_one_finding_and_is_not_fixed(capsys: pytest.CaptureFixture[str]) -> None:
    role = '{"name":"A_b","taskNumber":1,"cpuNumber":1,"command":"echo $PAI_HOST_IP_A_b_0"}'
    texts = {
        "v1.json": f'{{"jobName":"x","image":"a/b","taskRoles":[{role}]}}\n',
        "commented.json": f'// of the team\n{{\n  "jobName": "x",  // a name\n  "taskRoles": [{role}]\n}}\n',
        "v1.yaml": f"image: a/b\ntaskRoles:\n  - {role}\n",
    }
    for name, text in texts.items():
        write(name, text)
        assert main(["check", "--fix", "--format", "concise", name]) == 1
        output = capsys.readouterr().out
        assert output.count("error[") == 1, output
        assert "error[v1-job] this is a job of protocol version 1; 'pai-lsp convert'" in output
        assert Path(name).read_text("utf-8") == text


def test_fixes_that_may_be_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    write("job.yaml", GOOD.replace("    commands:", "    prerequisites: [image, missing]\n    commands:"))
    assert main(["check", "--fix", "--select", "unknown-prerequisite"]) == 1
    assert main(["check", "--fix", "--unsafe-fixes", "--select", "unknown-prerequisite"]) == 0
    assert main(["check", "--unsafe-fixes"]) == 2
    assert "--unsafe-fixes works only with --fix or --diff" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_files_that_git_ignores(capsys: pytest.CaptureFixture[str]) -> None:
    """What is found in folders is what git would not ignore; git itself is asked."""
    git = shutil.which("git") or "git"
    subprocess.run([git, "init", "-q"], check=True)
    files = [
        "a.yaml",
        "venv/a.yaml",
        "jobs/build/a.yaml",
        "jobs/keep.yaml",
        "jobs/b.tmp.yaml",
        "out/a.yaml",
        "# x.yaml",
    ]
    for path in (*files, "# x.yaml", "jobs/sub/keep.yaml", "private/a.yaml", "end .yaml"):
        write(path, GOOD)
    write(".gitignore", "# comment\n/venv\nbuild/\n*.tmp.yaml   \n\\# x.yaml\nend\\ .yaml\n")
    write("jobs/.gitignore", "/keep.yaml\n!*.tmp.yaml\n")
    write("out/.gitignore", "*\n")
    write(".git/info/exclude", "private/\n")
    assert main(["check", "--show-files"]) == 0
    shown = capsys.readouterr().out.splitlines()
    run = subprocess.run(
        [git, "ls-files", "--others", "--exclude-standard", "*.yaml"], check=True, capture_output=True, text=True
    )
    assert shown == sorted(run.stdout.splitlines()) == ["a.yaml", "jobs/b.tmp.yaml", "jobs/sub/keep.yaml"]
    assert main(["check", "--show-files", "out/a.yaml", "venv"]) == 0
    assert capsys.readouterr().out.splitlines() == ["out/a.yaml", "venv/a.yaml"]
    assert main(["check", "--show-files", "--no-gitignore"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 10


@pytest.mark.parametrize(
    ("files", "options", "asked"),
    [
        (3, ["--jobs", "2"], [(2, 2)]),
        (3, ["--jobs", "9"], [(2, 3)]),
        (3, ["--jobs", "1"], []),
        (3, [], []),
        (47, [], []),
        (48, [], [(47, 2)]),
        (72, [], [(71, 3)]),
    ],
)
def test_how_many_processes_share_the_files(
    files: int, options: list[str], asked: list[tuple[int, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[int, int]] = []

    def mapped(work: Callable[[Any], Any], items: list[Any], processes: int) -> Iterator[Any]:
        found.append((len(items), processes))
        return map(work, items)

    monkeypatch.setattr("pai_lsp.cli.processes.mapped", mapped)
    monkeypatch.setattr("pai_lsp.cli.processes.can_fork", lambda: True)
    monkeypatch.setattr("pai_lsp.cli.processes.available_processors", lambda: 8)
    for number in range(files):
        (tmp_path / f"{number}.yaml").write_text("protocolVersion: 1\n", encoding="utf-8")
    main(["check", *options, str(tmp_path)])
    assert found == asked
