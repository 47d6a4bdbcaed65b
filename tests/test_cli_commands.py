"""The command line besides `check`: what it prints, and how it answers a mistake."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from budgets import some

from pai_lsp import __version__
from pai_lsp.cli.main import main
from pai_lsp.cli.report.terminal import bar, with_progress
from pai_lsp.cli.subcommands import SUBCOMMANDS
from pai_lsp.findings.diagnostic import RuleStatus
from pai_lsp.rules import all_rules, families
from pai_lsp.rules.record import facts, known_fixes, since

if TYPE_CHECKING:
    import types
    from collections.abc import Iterator
    from pathlib import Path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(arguments)
    output, errors = capsys.readouterr()
    return status, output, errors


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_version(capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert run(capsys, option) == (0, f"pai-lsp {__version__}\n", "")


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    status, output, _ = run(capsys, "--help")
    assert status == 0
    for one in SUBCOMMANDS:
        assert f"\n    {one.name}" in output
        assert one.summary in output
    assert "exit status:" in output
    assert "None" not in output
    assert run(capsys) == (2, "", output)


@pytest.mark.parametrize("name", [one.name for one in SUBCOMMANDS])
def test_every_command_has_help(capsys: pytest.CaptureFixture[str], name: str) -> None:
    status, output, _ = run(capsys, name, "--help")
    assert status == 0
    assert output.startswith(f"usage: pai-lsp {name} ")
    assert len(output.splitlines()) > 5
    assert [line for line in output.splitlines() if len(line) > 80] == []
    assert "None" not in output


def test_a_command_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    status, output, errors = run(capsys, "chekc", "x.yaml")
    assert (status, output) == (2, "")
    assert errors.startswith("pai-lsp: no command is named 'chekc'; did you mean 'check'?\n")
    assert run(capsys, "--no-such-option")[0] == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("check --formt json", "pai-lsp check: unknown option '--formt'; did you mean '--format'?"),
        ("check --severity=eror", "pai-lsp check: --severity: 'eror' is not known; did you mean 'error'?"),
        (
            "graph a.yaml --format x",
            "pai-lsp graph: --format: 'x' is not known; choose from mermaid, dot, svg, png, pdf",
        ),
        ("check --jobs abc", "pai-lsp check: --jobs: 'abc' is not a number of processes, such as 4"),
        ("explain", "pai-lsp explain: the following arguments are required: CODE"),
        ("explain a b", "pai-lsp explain: unknown argument 'b'"),
        ("--versoin", "pai-lsp: unknown option '--versoin'; did you mean '--version'?"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], line: str, message: str) -> None:
    status, output, errors = run(capsys, *line.split())
    assert (status, output) == (2, "")
    assert errors.splitlines()[0] == message
    assert errors.splitlines()[1:] == [f"see {message.partition(':')[0]} --help"]


def test_words_for_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "version") == run(capsys, "--version")
    assert run(capsys, "help") == run(capsys, "--help")
    assert run(capsys, "help", "graph") == run(capsys, "graph", "--help")


def test_rules(capsys: pytest.CaptureFixture[str]) -> None:
    status, output, _ = run(capsys, "rules")
    assert status == 0
    rows = [line.split(maxsplit=2) for line in output.splitlines() if line.startswith("  ")]
    assert sorted(row[0] for row in rows) == sorted(rule.code for rule in all_rules())
    assert [line for line in output.splitlines() if not line.startswith("  ")] == [f"{name}:" for name in families()]
    assert ["unknown-prerequisite", "error"] in [row[:2] for row in rows]
    assert len({rule.code for rule in all_rules()}) == len(all_rules())


def test_rules_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, output, _ = run(capsys, "rules", "--format", "json")
    assert status == 0
    rows = {row["code"]: row for row in json.loads(output)}
    assert rows["unreadable-file"] == {
        "code": "unreadable-file",
        "severity": "error",
        "summary": "The file or folder cannot be read, or is not UTF-8.",
        "family": "files",
        "since": "0.1.0",
        "status": "stable",
        "former": [],
        "stage": "server",
        "consequence": "refused",
        "fix": "none",
        "fixes": [],
        "subject": [],
        "platform": None,
        "url": None,
    }


def test_rules_of_a_family_with_a_fix_or_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    def codes(*arguments: str) -> set[str]:
        status, output, _ = run(capsys, "rules", *arguments)
        assert status == 0
        return {line.split()[0] for line in output.splitlines() if line.startswith("  ")}

    launchers = codes("launchers")
    assert launchers == {rule.code for rule in families()["launchers"]}
    assert launchers < codes("commands")
    assert "mpi-run-as-root" in codes("--search", "mpi-as-root") & codes("--search", "MPI ROOT")
    assert codes("--search", "no rule has these words") == set()
    fixable = codes("--fixable")
    assert "unknown-prerequisite" in fixable
    assert "image-latest-tag" not in fixable
    status, _, errors = run(capsys, "rules", "launcher")
    assert (status, errors) == (2, "pai-lsp rules: no family is named 'launcher'; did you mean 'launchers'?\n")


def test_the_record_of_a_rule_is_complete() -> None:
    for rule in all_rules():
        assert since(rule), f"'make rules' adds '{rule.code}'"
        assert all(fix.reason for fix in known_fixes(rule))
        assert {bool(line) for line in facts(rule)} == {True}


@pytest.mark.parametrize("rule", some(all_rules()), ids=lambda rule: rule.code)
def test_every_rule_can_be_explained(capsys: pytest.CaptureFixture[str], rule: types.SimpleNamespace) -> None:
    status, output, _ = run(capsys, "explain", rule.code)
    assert status == 0
    only = f" (only on {rule.platform.title})" if rule.platform else ""
    only += " (preview)" if rule.status is RuleStatus.PREVIEW else ""
    assert output.startswith(f"{rule.code} ({rule.severity.label}){only}\n\n{rule.summary}")
    assert "://pai-lsp" not in output, "its page does not exist yet"


def test_an_explanation_in_colours(capsys: pytest.CaptureFixture[str]) -> None:
    _, output, _ = run(capsys, "explain", "unreadable-file", "--color", "always")
    assert "\x1b[1mbodyParser.text\x1b[0m" in output
    _, output, _ = run(capsys, "explain", "unknown-prerequisite", "--color", "always")
    assert any(line.startswith("\x1b[1;31m") and "^" in line for line in output.splitlines())


def test_a_rule_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    status, output, errors = run(capsys, "explain", "unknown-prerequisites")
    assert (status, output) == (2, "")
    assert "no rule has the code 'unknown-prerequisites'; did you mean 'unknown-prerequisite'?" in errors


@pytest.mark.parametrize(
    ("name", "key"), [("job", "taskRoles"), ("configuration", "exclude"), ("definition", None), (None, "taskRoles")]
)
def test_schema(capsys: pytest.CaptureFixture[str], name: str | None, key: str | None) -> None:
    status, output, _ = run(capsys, "schema", *([name] if name else []))
    assert status == 0
    schema = json.loads(output)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert key is None or key in schema["properties"]


def test_a_schema_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "schema", "jobs")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], None),
        (["--stdio"], None),
        (["--tcp", "127.0.0.1:2087"], ("127.0.0.1", 2087)),
        (["--tcp", "[::1]:0"], ("::1", 0)),
        (["--tcp", "localhost:65535"], ("localhost", 65535)),
    ],
)
def test_server(arguments: list[str], expected: tuple[str, int] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int] | None] = []

    def serve(tcp: tuple[str, int] | None) -> int:
        asked.append(tcp)
        return 7

    monkeypatch.setattr("pai_lsp.lsp.language_server.main", serve)
    assert main(["server", *arguments]) == 7
    assert asked == [expected]


@pytest.mark.parametrize("address", ["2087", ":2087", "host:", "host:70000", "host:x", "host:²"])
def test_an_address_that_is_none(capsys: pytest.CaptureFixture[str], address: str) -> None:
    status, _, errors = run(capsys, "server", "--tcp", address)
    assert status == 2
    assert f"'{address}' is not HOST:PORT" in errors


def test_progress_shows_only_on_long_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("pai_lsp.cli.report.terminal.time.monotonic", lambda: now[0])

    def slowly(seconds: float) -> Iterator[int]:
        for number in range(4):
            now[0] += seconds
            yield number

    assert list(with_progress(slowly(0.01), 4, shown=True)) == [0, 1, 2, 3]
    assert capsys.readouterr().err == ""
    assert list(with_progress(slowly(0.3), 4, shown=True)) == [0, 1, 2, 3]
    drawn = capsys.readouterr().err
    assert drawn.startswith("\r\x1b[2K[###############---------------] 2 of 4 files\r")
    assert drawn.endswith("4 of 4 files\r\x1b[2K")
    assert list(with_progress(slowly(9), 4, shown=False)) == [0, 1, 2, 3]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("option", "is_terminal", "shown"),
    [((), True, True), ((), False, False), (("--no-progress",), True, False), (("--quiet",), True, False)],
)
def test_who_sees_progress(
    option: tuple[str, ...], is_terminal: bool, shown: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def recorded(outcomes: Iterator[object], _: int, *, shown: bool) -> Iterator[object]:
        asked.append(shown)
        return outcomes

    monkeypatch.setattr("pai_lsp.cli.commands.check.with_progress", recorded)
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    (tmp_path / "a.pai.yaml").write_text("type: job\n", encoding="utf-8")
    main(["check", *option, str(tmp_path)])
    assert asked == [shown]


def test_the_bar() -> None:
    assert bar(0, 3) == "-" * 30
    assert bar(1, 3) == "#" * 10 + "-" * 20
    assert bar(3, 3) == "#" * 30


def test_an_interrupted_run_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("pai_lsp.cli.commands.reference.list_rules", interrupted)
    assert main(["rules"]) == 130
