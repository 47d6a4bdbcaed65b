"""The line of the commands that ended them: bash knows it, and the commands do not notice that it is asked."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from programs import harmless_programs

from pai_lsp.cluster.ended_line import REPORT, ended_line, header, line_in_job
from pai_lsp.document import Document
from pai_lsp.expansion.released_run import server_command

if TYPE_CHECKING:
    from pathlib import Path

# Commands; the line with the mark is the one that ended them, and without a mark none is named.
SCRIPTS = (
    "echo start\necho middle\nbash -c 'exit 3'  # here",
    "echo a; exit 4  # here\necho b",
    "f() {\n  echo in\n  false  # here\n}\necho x\nf\necho y",
    "echo x\n( echo sub  # here\nexit 5 )\necho y",
    "echo x\n(  # here\n  false\n  echo c\n)\necho y",
    "echo x\necho $NOTHING  # here\necho y",
    "set -x\necho x\nfor i in 1 2 3; do\n  [ $i != 2 ] || bash -c 'exit 2'  # here\ndone",
    'echo hello there\necho "$_"\ntrue && false  # here\necho y',
    "set +e\nfalse\necho a\n(exit 9)  # here",
    "x=$(echo a; exit 6)  # here\necho no",
    "cat <<X\nhi\nX\ncat - nothing <<'P'  # here\nexit\n# more\nP\necho no",
    'while read -r l; do\n  echo "$l"\n  [[ $l != b ]]  # here\ndone < <(echo a; echo b)',
    "echo b\n{ echo c\n  false  # here\n}\necho d",
    "true || true; (( 0 ))  # here\necho c",
    "declare -a a=(1 2)\necho ${PIPESTATUS[@]}\n! true\necho $?\nfalse || { echo g; exit 2; }  # here",
    "echo a\n[ -e nothing ] && echo b  # here",
    "( exit 3 ) && echo y  # here",
    "echo a\n( exit 3 ) && echo y  # here",
    "! ( exit 0 )  # here",
    "f() {\n  exit   3  # here\n}\necho a\nf",
    "set -- 4\necho a\nexit $1  # here\nexit 44",
    "[ -e nothing ] || exit 4\nexit 4",
    "echo 'echo in; false' >other\nset -- x\n. ./other  # here\necho y",
    "echo 'exit 3' >other\nsource ./other  # here\n[ -z nothing ] && exit 3",
    "eval 'echo a; exit 2'  # here\necho b",
    "set +e; false; set -e\nexit 4  # here",
    "echo a\nexec bash -c 'exit 3'",
    "echo a\nkill -9 $$",
    "trap 'echo bye' EXIT\nfalse",
    "set -v\necho a\nfalse",
    "set -o verbose\nfalse",
    "echo a\nif true; then  # here\n  echo b",
    "echo a\necho b\nfi  # here",
    "echo all\necho good",
)
MARK = "  # here"
# A line that ends with a backslash has no room for a mark.
CONTINUED = (
    ("echo a\ncat <<X \\\n | false\nx\nX\necho d", 2),
    ("echo a\nno_such_program \\\n  x", 2),
    ("echo a\nf() {\n  false\n}\nf \\\n  x", 3),
)


def ran(folder: Path, text: str) -> tuple[int, str]:
    folder.mkdir()
    (folder / "user.sh").write_text(text, encoding="utf-8")
    environment = {"PATH": harmless_programs(), "LC_ALL": "C"}
    done = subprocess.run(
        ["bash", "./user.sh"], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        check=False, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stdout.decode()


def marked(script: str) -> tuple[str, int | None]:
    """The commands without the mark, and its line."""
    numbers = [number for number, line in enumerate(script.split("\n"), 1) if line.endswith(MARK)]
    return script.replace(MARK, ""), numbers[0] if numbers else None


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
@pytest.mark.parametrize(("commands", "line"), [*map(marked, SCRIPTS), *CONTINUED])
def test_bash_names_the_line_and_the_commands_do_not_notice(commands: str, line: int | None, tmp_path: Path) -> None:
    plain = ran(tmp_path / "plain", f"{header()}{commands}\n")
    watched = ran(tmp_path / "watched", f"{header(commands)}{commands}\n")
    assert watched == plain
    if "syntax error" in plain[1]:
        # The script that starts the commands asks bash for the place; see test_run_task.
        return
    report = tmp_path / "watched" / f"user.sh{REPORT}"
    assert (ended_line(report.read_text().strip(), commands) if plain[0] and report.exists() else None) == line


@pytest.mark.parametrize(
    ("report", "number"),
    [
        ("", None),
        ("x", None),
        ("0 ", None),
        ("syntax 26", 2),
        ("syntax 99", 2),
        ("26 b x", 2),
        ("0 b", 2),
        ("0 c", None),
        ("99 c", None),
        ("syntax 3", None),
        ("9" * 5000 + " 1", None),
    ],
)
def test_a_report(report: str, number: int | None) -> None:
    assert ended_line(report, "a\nb") == number


@pytest.mark.parametrize(
    ("commands", "report", "number"),
    [
        ("python \\\n  train.py\ntrue", "26 train.py", 1),
        ("true\npython \\\n  train.py \\\n  --fast\ntrue", "28 --fast", 2),
        ("echo a\\\\\nfalse", "26 false", 2),
        ("true\n(exit 1)", "26 ((_pai_error = LINENO))", 2),
        ("a b\nc a b", "0 a b", None),
        ("a  b\nc", "0 a b", 1),
        (f"true\n{'x' * 500}", f"0 {'x' * 500}", 2),
        (f"true\n{'x' * 501}", f"0 {'x' * 501}", None),
        ("a\nb", "syntax 24", None),
        ("a\nb", "syntax 25", 1),
        ("a\nb", "24 a", 1),
    ],
)
def test_the_line_of_a_report(commands: str, report: str, number: int | None) -> None:
    assert ended_line(report, commands) == number


JOB = """\
protocolVersion: 2
name: train
type: job
parameters: {a: VALUE}
taskRoles:
  worker:
    dockerImage: image
    commands:
      - COMMANDS
"""


def test_the_line_of_the_job_where_no_value_has_several_lines() -> None:
    text = JOB.replace("COMMANDS", "echo <% $parameters.a %>\n      - 'false'")
    for value, line in (("b", 10), ('"b\\nc"', None)):
        job = Document(text.replace("VALUE", value)).job
        commands = str(server_command(job, job.task_roles[0]))
        assert line_in_job(job, job.task_roles[0], commands, 2) == line
