"""The reader of bash against bash itself: what changes the process of a script, and whether a script is complete."""

from __future__ import annotations

import subprocess

import pytest
from budgets import generated_cases, some, stride
from hypothesis import given
from hypothesis import strategies as st
from job_text import HEAD
from random_edits import job_texts
from shell_constructs import AROUND

from pai_lsp.document import Document
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_arithmetic import value_of
from pai_lsp.embedded.shell_structure import structure
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.job.uses import command_lists
from pai_lsp.job.variable_places import callback_scripts

# Scripts, and the words that keep an earlier EXIT trap from running: `exec`, `trap` or nothing.
EXIT_TRAPS = [
    ("exec true", "exec"),
    ("exec -a name true", "exec"),
    ("exec -c -- true", "exec"),
    ("true && exec true", "exec"),
    ("false || exec true", "exec"),
    ("if true; then exec true; fi", "exec"),
    ("if exec true; then :; fi", "exec"),
    ("if false; then :; elif true; then exec true; fi", "exec"),
    ("if false; then :; else\n  exec true\nfi", "exec"),
    ("while true; do exec true; done", "exec"),
    ("until false; do exec true; done", "exec"),
    ("for i in 1 2; do exec true; done", "exec"),
    ("for ((i = 0; i < 2; i++)); do exec true; done", "exec"),
    ("case a in b) ;; a) exec true;; esac", "exec"),
    ("case a in\n  (a)\n    exec true\nesac", "exec"),
    ("{ exec true; }", "exec"),
    ("X=1 exec true", "exec"),
    ("> /dev/null exec true", "exec"),
    ("command exec true", "exec"),
    ("command -p -- exec true", "exec"),
    ("builtin exec true", "exec"),
    ("command builtin exec true", "exec"),
    ("time exec true", "exec"),
    ("! exec true", "exec"),
    ("'exec' true", "exec"),
    ("\\exec true", "exec"),
    ("exec \\\n  true", "exec"),
    ("f() { exec true; }; f", "exec"),
    ("function f { exec true; }\ng() { f; }\ng", "exec"),
    ("[[ -d / ]] && exec true", "exec"),
    ("echo $(date) && exec true", "exec"),
    ("exec > /dev/null", ""),
    ("exec 3< /dev/null", ""),
    ("exec {log}> /dev/null", ""),
    ("exec 2>&1", ""),
    ("exec", ""),
    ("command -v exec", ""),
    ("command -V exec true", ""),
    ("type exec", ""),
    ("( exec true )", ""),
    ("x=$(exec true)", ""),
    ("x=`exec true`", ""),
    ("cat <(exec true)", ""),
    ("exec true | cat", ""),
    ("true | exec cat", ""),
    ("{ exec true; } | cat", ""),
    ("true | while true; do exec true; done", ""),
    ("exec true & wait", ""),
    ("true && exec true &\nwait", ""),
    ("{ exec true; } & wait", ""),
    ("f() { exec true; }", ""),
    ("f() ( exec true ); f", ""),
    ("f() { exec true; }; f | cat", ""),
    ("echo exec true", ""),
    ("echo 'first make; exec later'", ""),
    ('echo "a; exec true"', ""),
    ("# exec true\n: # ; exec true", ""),
    ("cat <<EOF\nexec true\nEOF", ""),
    ("cat <<'EOF' > /dev/null\ntrap : EXIT\nEOF", ""),
    ("bash -c 'exec true'", ""),
    ("for exec in true; do :; done", ""),
    ("case exec in exec) :;; esac", ""),
    ("x=(exec true)", ""),
    ("trap : EXIT", "trap"),
    ("trap : 0", "trap"),
    ("trap : exit", "trap"),
    ("trap : SIGEXIT", ""),
    ("trap : INT EXIT", "trap"),
    ("trap -- : EXIT", "trap"),
    ("trap - EXIT", "trap"),
    ("trap EXIT", "trap"),
    ("trap '' EXIT", "trap"),
    ("command trap : EXIT", "trap"),
    ("if true; then trap : EXIT; fi", "trap"),
    ("while true; do trap : EXIT; break; done", "trap"),
    ("trap 'echo EXIT' INT", ""),
    ("trap : INT", ""),
    ("trap -p EXIT", ""),
    ("trap -l", ""),
    ("trap", ""),
    ("( trap : EXIT )", ""),
    ("echo trap : EXIT", ""),
]


@pytest.mark.parametrize(("script", "word"), some(EXIT_TRAPS), ids=[script for script, _ in some(EXIT_TRAPS)])
def test_an_exit_trap_runs_unless_the_reader_finds_what_takes_it(script: str, word: str) -> None:
    assert structure(read_script(script)).changes_process or not word
    run = subprocess.run(
        ["bash", "-c", f"exec 9>&1; trap 'echo TRAP-RAN >&9' EXIT\n{script}\n:"],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert ("TRAP-RAN\n" in run.stdout) == (not word), run.stderr


# Whether a script ends everything that it begins, beside what `bash -n` takes: the end of the text ends a
# here-document, and a line that continues.
SCRIPTS = [
    "", "echo done", "echo 'done'", "echo if you like", "echo }", "echo [[", "echo $((1 + 2))", "echo 'a (b'",
    "echo \\(",
    "case $x in a) ls ;; esac", "case $x in (a|b) ls ;; *) esac", "case $x in a) ls", "case $x in a ls;; esac",
    "for i in 1 2; do echo $i; done", "for i do echo $i; done", "for i in 1 2; do echo $i", "for i in 1; ; do a; done",
    "for ((i = 0; i < 3; i++)) do ls; done", "for i in 1; { ls; }", "select i in 1; do ls; done", "select",
    "if a; then b; fi", "if a; then b", "if a; then fi", "if a then b; fi", "if (a) then b; fi", "if a; then b; fi; fi",
    "if a; then b; else c; fi > f", "if a; then b; fi f", "then", "fi", "in x", "while read x; do a; done < f",
    "while a; b; done", "until a; do b; done", "cd /d && if x; then y; fi", "{ ls; }", "{ ls }", "{ }", "{ ls; } }",
    "( ls )", "( ls", "ls )", "( )", "f() { ls; }", "f() ls", "f()", "function f { ls; }", "function f () ( ls )",
    "cat <<EOF\nif\nEOF", "cat <<'E F'\nif (\nE F\nls", "cat <<EOF\n$(if\nEOF", "cat <<-EOF\n\tif\n\tEOF", "cat <<",
    "x=$(cat <<EOF\nif )\nEOF\n)", "echo a |", "echo a &&", "echo a ||\n", "echo a &", "echo a & ;", "echo a;;", "| a",
    "&& a", "! a", "a | ! b", "time a", "time", "echo '", 'echo "', "echo `date`", "echo `date", "echo `if`",
    "echo ${x:-'a b'}", "echo ${x#*(}", "echo ${x", "echo $(", "echo $(ls", "echo $(if)", 'echo "$(if a; then b; fi)"',
    'echo "$(ls)', "echo $(case a in a) b;; esac)", "echo 'it'\\''s'", 'python -c "\nif x:\n  pass\n"', "ls # if (",
    "x=(1 2 # three\n3)", "x=(1 2", "x=(1; 2)", "echo x=(1)", "export x=(1)", "echo a(b)", "[[ a == b ]]", "[[ a == b",
    "[[ a b ]]", "[[ -f ]]", "[[ ! -f x && ( a || b ) ]]", "[[ $x =~ ^(a|b)$ ]]", "[[ a ]]; [[", "((1 + 1))",
    "((a); b)",
    "echo >", "> f", "2>&1 ls", "ls 2> &1", "ls <(a) >(b)", "ls <(a", "echo $'it\\'s'", "echo $'it\\'s", "coproc a",
    "coproc X { a; }", "{ a; } 2>&1 | b", "X=1 if a; then b; fi", "echo a \\\n b", "shopt -s extglob\nls !(a)",
]  # fmt: skip


def bash_accepts(script: str) -> bool:
    run = subprocess.run(["bash", "-n", "-c", script], capture_output=True, check=False)
    return run.returncode == 0 and not run.stderr


@pytest.mark.parametrize("script", some(SCRIPTS))
def test_a_script_is_complete_where_bash_accepts_it(script: str) -> None:
    # Bash does not run `shopt` when it only reads, but does before it reads the next line.
    accepted = bash_accepts(script) or "extglob" in script
    assert read_script(script).is_complete == accepted


def fixture_scripts() -> list[str]:
    """What roles and callbacks run in the examples and the fixtures of the rules but not templates and NUL."""
    found: dict[str, None] = {}
    for text in job_texts().values():
        job = Document(text).job
        places = [*job.role_scripts, *callback_scripts(job, command_lists(job.uses_of_plugin("cmd")))]
        found |= dict.fromkeys("\n".join(scalar.text.strip() for scalar in one.parts) for one in places)
    return [script for script in found if not any(mark in script for mark in ("<%", "%>", "\0"))]


def test_the_scripts_of_the_fixtures_are_complete_where_bash_accepts_them() -> None:
    scripts = fixture_scripts()
    assert len(scripts) > 30
    for script in scripts[:: stride(1)]:
        assert read_script(script).is_complete == bash_accepts(script), script


def test_what_a_script_leaves_open() -> None:
    for script, openers in {
        "if a; then\n  echo 'b": ["if", "'"],
        "while a; do case b in c) ( echo": ["while", "case", "("],
        'echo "$(ls ${x': ['"', "$(", "${"],
        "cat <<EOF\na": ["<<"],
        "a && b |": ["|"],
        "a \\": ["\\"],
        "a \\\n": ["\\"],
        "f()": ["function"],
        "echo a # \\": [],
    }.items():
        unclosed = read_script(script).unclosed
        assert [one.opener for one in unclosed] == openers
        for one in unclosed:
            assert script[one.span.start : one.span.end] in {one.opener, "f"}


def test_where_bash_stops() -> None:
    for script, at in {"ls; fi": 4, "a\nb )": 4, "if a; then; fi": 10, "echo a(b)": 6, "for i in 1; doo": 12}.items():
        fault = read_script(script).fault
        assert fault is not None
        assert fault.start == at


SIMPLE = st.sampled_from(
    [
        "echo a",
        "ls",
        "x=1",
        "exec",
        "[[ a ]]",
        "((1))",
        "echo 'b c'",
        'echo "$X"',
        "cat <<E\nif (\nE\n",
        "echo ${x:-y}",
        "",
    ]
)
BLOCKS = st.sampled_from(
    [
        "if {}; then {}; fi", "if {}; then {}; else {}\nfi", "while {}; do {}; done", "( {} )", "{{ {}; }}", "{}\n{}",
        "case x in a) {};; (b|c) {} ;; esac", "for i in a; do {}; done", "f() {{ {}; }}", "{} && {}", "{} | {}", "! {}",
        "echo $({})", "{} & {}", 'echo "$({})" {}', "x=1 {}", "{} > f",
    ]
)  # fmt: skip
NESTED = st.recursive(
    SIMPLE,
    lambda inner: st.builds(lambda block, parts: block.format(*parts), BLOCKS, st.lists(inner, min_size=3, max_size=3)),
    max_leaves=8,
)
TOKENS = st.lists(
    st.sampled_from(
        [
            "if a", "then", "elif a", "else", "fi", "while a", "do", "done", "{", "}", "(", ")", "echo a", "\n", ";",
            "&",
            "&&", "||", "|", "case x in", "a)", ";;", "esac", "'", '"', "$(", "`", "f()", "for i in a", "!", "[[ a",
            "]]",
            "x=1", "a=(1)", ">f", "# c", "${x", "((1))",
        ]
    ),
    max_size=8,
).map(" ".join)  # fmt: skip


@generated_cases(250)
@given(NESTED | TOKENS)
def test_generated_scripts_are_complete_where_bash_accepts_them(script: str) -> None:
    assert read_script(script).is_complete == bash_accepts(script)


JOB = f"""\
{HEAD}taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {{cpu: 1, memoryMB: 1024, gpu: 0}}
    commands:
      - |
"""
# Rules that say that a command ends the task, and commands of which they say it where nothing catches the failure.
ENDING = frozenset({"arithmetic-is-zero", "command-finds-nothing", "last-and-list", "needs-terminal", "pipe-cut-short"})
FAILING = (
    "[ -f /missing ] && echo there", "i=0; ((i++))", "echo a | grep -c b", "which missing_program", "read answer",
    "yes | head -1", "f() { [ -f /missing ] && echo there; }; f", "x=$(ps | grep missing_program | grep -v grep)",
)  # fmt: skip


@pytest.mark.parametrize("command", FAILING)
def test_what_is_said_to_end_the_task_ends_it(command: str) -> None:
    for around in ("COMMAND", *AROUND):
        for script in (around.replace("COMMAND", command), f"{around.replace('COMMAND', command)}\necho reached"):
            text = JOB + "".join(f"        {line}\n" for line in script.splitlines())
            found = [one for one in Document(text).diagnostics if one.code in ENDING]
            if any(one.severity <= Severity.WARNING for one in found):
                words = ["bash", "-c", f"set -euo pipefail\n{script}"]
                run = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
                assert run.returncode, script


@pytest.mark.parametrize(
    "expression",
    [
        "n", "m", "n++", "m--", "++n", "--n", "n - 3", "n * m", "n % 3", "-m", "(n - 3) * 2",
        "n == 3", "n != 3", "n < 3", "n <= 3", "n > 3", "n >= 3", "n < m",
        "n = 0", "n += 2", "n += -3", "n -= 3", "n -= 2", "n *= m", "n *= 2", "k = n - 3",
    ],
)  # fmt: skip
def test_the_value_of_arithmetic_is_that_of_bash(expression: str) -> None:
    printed = subprocess.run(
        ["bash", "-c", f"n=3 m=0; echo $(({expression}))"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert value_of(expression, {"n": 3, "m": 0}) == int(printed)


@pytest.mark.parametrize("expression", ["1 < 2 < 3", "x", "n / 2", "n << 1", "n ? 1 : 2", "n && m", "n[0]", "1 +"])
def test_other_arithmetic_is_not_known(expression: str) -> None:
    assert value_of(expression, {"n": 3, "m": 0}) is None
