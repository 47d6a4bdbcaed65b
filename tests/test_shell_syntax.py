"""The syntax of scripts as bash judges it, against bash where there is one, and `pai-lsp shell`."""

from __future__ import annotations

import io
import json
import shutil
import subprocess

import pytest

from pai_lsp.cli.main import main
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_syntax import syntax_problem

# Scripts, and the line at which bash stops; 0 where it reads all.
SCRIPTS = [
    ("echo ok", 0),
    ("for i in a; do (( x++ )) done", 0),
    ("for ((i=0; i<3; i++)); do echo; done", 0),
    ("a[x y]=1", 0),
    ("cat <<< x", 0),
    ("echo 'a;b' > f;", 0),
    ("echo ok\necho >", 2),
    ("for ((i=0; i<3)); do echo; done", 1),
    ("e[cho a", 1),
    ("if true; then\necho\n", 3),
    ("echo 'a\nb", 1),
    ("true\nfi", 2),
    ("echo a;;", 1),
    ("echo (x)", 1),
    ("f() { }", 1),
    ("echo a |", 2),
    ("coproc a", 0),
    ("coproc", 1),
    ("!", 0),
    ("time", 0),
    *((f"{'( ' * depth}a{' )' * depth}", line) for depth, line in ((4990, 0), (5000, 1))),
    *((f"{'{ ' * depth}a{'; }' * depth}", line) for depth, line in ((4990, 0), (5000, 1))),
]


SHORT = [script[:20] for script, _ in SCRIPTS]


@pytest.mark.parametrize(
    "text",
    [
        "[[ @]]",
        "[[ -f @]]",
        "[[ ( -f a @]]",
        "[[ ( a @]]",
        "[[ a @) ]]",
        "[[ a == @]]",
        "[[ ( a ) @b ]]",
        "[[ a && @]]",
    ],
)
def test_where_a_conditional_expression_ends_too_early(text: str) -> None:
    fault = read_script(text.replace("@", "")).fault
    assert fault is not None
    assert fault.start == text.index("@")


@pytest.mark.parametrize("text", ["[[ ( a ) ]]", "[[ ! a ]]", "[[ -f a ]]", "[[ ( a && b ) || c == d ]]"])
def test_a_whole_conditional_expression(text: str) -> None:
    assert read_script(text).fault is None


@pytest.mark.parametrize(("script", "line"), SCRIPTS, ids=SHORT)
def test_the_line_that_bash_names(script: str, line: int) -> None:
    problem = syntax_problem(read_script(script))
    assert (problem.line if problem else 0) == line


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo a )", "this ')' closes nothing; quote it if it is text"),
        ("{ echo a )", "bash does not expect ')' here"),
        ("echo (x)", "bash does not expect '(' here; quote it if it is text"),
        ("echo a;;", "';;' is only allowed in 'case'"),
    ],
)
def test_the_reason(script: str, message: str) -> None:
    problem = syntax_problem(read_script(script))
    assert problem
    assert problem.message == message


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(("script", "line"), SCRIPTS, ids=SHORT)
def test_bash_agrees(script: str, line: int) -> None:
    run = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert bool(run.stderr) == bool(line)


def shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    status = main(["shell"])
    return status, *capsys.readouterr()


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [{"id": "a", "script": "echo ("}, {"id": 2, "script": "echo"}, {"id": 3, "script": "cat <<X\na"}]
    text = "\n".join(map(json.dumps, asked))
    status, output, _ = shell(capsys, monkeypatch, text)
    answers = [json.loads(line) for line in output.splitlines()]
    assert status == 1
    assert [(answer["id"], answer["status"], answer["line"]) for answer in answers] == [
        ("a", "error", 1),
        (2, "ok", None),
        (3, "warning", 2),
    ]
    assert answers[1]["message"] is None


def test_bytes_that_are_no_text(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"id": 1, "script": "\xff"\n'), encoding="utf-8"))
    assert main(["shell"]) == 2
    assert "line 1 is not an object" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["no JSON", "[]", '{"id": 1}', '{"id": 1, "script": 2}'])
def test_a_line_of_another_shape(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    status, output, errors = shell(capsys, monkeypatch, line)
    assert (status, output) == (2, "")
    assert errors == 'pai-lsp shell: line 1 is not an object with "id" and "script"\n'
