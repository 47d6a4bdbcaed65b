"""How commands depend on each other, against bash where there is one, and what the words of a command line are."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from pai_lsp.embedded.command_lines import CommandLine, command_lines, parsed
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_structure import structure
from pai_lsp.platform.programs import (
    HOROVOD,
    HYDRA,
    OPEN_MPI,
    foreign_option,
    hosts_of,
    launch_line,
    program,
    subcommands,
)

# Scripts with one call of `fail`, which returns 1, and whether that ends the script.
FAILING = [
    ("fail", True),
    ("if fail; then :; fi", False),
    ("while fail; do :; done", False),
    ("until ! fail; do :; done", False),
    ("if true; then fail; fi", True),
    ("fail || true", False),
    ("fail && true", False),
    ("true && fail", True),
    ("! fail", False),
    ("fail | cat", True),
    ("true | fail | cat", True),
    ("set +o pipefail; fail | cat", False),
    ("{ fail || true; } | cat", False),
    ("{ fail; } | cat", True),
    ("(fail)", True),
    ("(fail) || true", False),
    ("(set +e; fail; true)", False),
    ("set +e; fail; set -e", False),
    ("set +e; set -e; fail", True),
    ("x=$(fail)", True),
    ("x=$(fail; true)", False),
    ("export x=$(fail)", False),
    ("echo $(fail)", False),
    ("echo `fail`", False),
    ("cat <(fail)", False),
    ("cat <<E\n$(fail)\nE", False),
    ("f() { fail; }; f", True),
    ("f() { fail; }; f || true", False),
    ("f() { fail; }; if f; then :; fi", False),
    ("f() { fail; }", False),
    ("fail & wait $! || true", False),
    ("for i in 1 2; do fail; done", True),
    ("case a in a) fail;; esac", True),
    ("case $(fail) in *) :;; esac", False),
    ("[[ a == a ]] && fail", True),
]


@pytest.mark.parametrize(("text", "ends"), FAILING)
def test_what_a_failing_command_ends(text: str, ends: bool) -> None:
    tree = structure(read_script(text))
    (step,) = tree.calls["fail"]
    assert tree.ends_script(step) is ends


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(("text", "ends"), FAILING)
def test_bash_ends_it_as_well(text: str, ends: bool) -> None:
    script = f"set -euo pipefail\nfail() {{ return 1; }}\n{text}\necho reached"
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert run.stdout.endswith("reached\n") is not ends


def line_of(text: str) -> CommandLine:
    return command_lines(read_script(text)).all[-1]


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("sudo -E /opt/conda/bin/pip3.10 install six", "pip", ["install", "six"]),
        ("A=1 env B=2 timeout -k 5 10 python3 t.py", "python", ["t.py"]),
        ("python -u -m torch.distributed.run t.py", "torchrun", ["t.py"]),
        ("command -v pip", "command", ["-v", "pip"]),
        ("exec nohup mpirun -np 2", "mpirun", ["-np", "2"]),
        ("$RUN pip install", "", ["pip", "install"]),
    ],
)
def test_which_program_runs(text: str, name: str, arguments: list[str]) -> None:
    line = line_of(text)
    assert (line.program, list(line.texts)) == (name, arguments)


@pytest.mark.parametrize(
    ("text", "options", "operands", "unknown", "is_open"),
    [
        ("torchrun --nproc-per-node=4 t.py --lr 1", ["--nproc-per-node"], ["t.py", "--lr", "1"], [], False),
        ("torchrun --nnod 2 t.py", ["--nnodes"], ["t.py"], [], False),
        ("torchrun --gpus 2 t.py", [], [], ["--gpus"], True),
        ("torchrun --nnodes $N t.py", ["--nnodes"], ["t.py"], [], True),
        ("torchrun --nnodes $PAI_TASK_ROLE_TASK_COUNT_a t.py", ["--nnodes"], ["t.py"], [], False),
        ("torchrun $OPTIONS --gpus 2 t.py", [], [], [], True),
        ('torchrun "$SCRIPT" --gpus 2', [], ["$SCRIPT", "--gpus", "2"], [], False),
    ],
)
def test_options(text: str, options: list[str], operands: list[str], unknown: list[str], is_open: bool) -> None:
    known = program("torchrun")
    assert known is not None
    found = parsed(line_of(text).arguments, known, text)
    assert [one.name for one in found.options] == options
    assert [word.text for word in found.operands] == operands
    assert ([name for name, _ in found.unknown], found.is_open) == (unknown, is_open)


def test_letters_after_one_dash() -> None:
    known = program("pip install")
    assert known is not None
    text = "pip install -qUr requirements.txt six -ihttps://example.com -r"
    found = parsed(line_of(text).arguments[1:], known, text)
    values = [(one.name, one.value) for one in found.options]
    assert values == [
        ("-q", None),
        ("-U", None),
        ("-r", "requirements.txt"),
        ("-i", "https://example.com"),
        ("-r", None),
    ]
    assert [one.name for one in found.without_value] == ["-r"]


# A launch line, its implementation, whether that is certain, its processes and hosts, and an option of another MPI.
LAUNCHES = [
    ("mpirun -np 4 python a.py -np 8", OPEN_MPI, False, 4, [], None),
    ("mpirun --np=4 ./a", OPEN_MPI, False, 4, [], None),
    ("mpirun -x A=1 -c 2 ./a", OPEN_MPI, True, 2, [], None),
    ("mpiexec -mca btl tcp -host a:2,b -n 3 ./a", OPEN_MPI, True, 3, [("a", 2), ("b", None)], None),
    ("mpiexec -n 2 -hosts a,b ./a", HYDRA, True, 2, [("a", None), ("b", None)], None),
    ("mpiexec.hydra -n 2 -x A ./a", HYDRA, True, 2, [], "-x"),
    ("orterun -np 2 -ppn 1 ./a", OPEN_MPI, True, 2, [], "-ppn"),
    ("mpirun -np 2 ./a : -np 3 ./b", OPEN_MPI, False, 5, [], None),
    ("mpirun $OPTIONS -np 2 -H a:1 ./a", OPEN_MPI, True, 2, [("a", 1)], None),
    ("mpirun -np $N ./a", OPEN_MPI, False, None, [], None),
    ("mpirun -np 2 -H $HOSTS ./a", OPEN_MPI, True, 2, None, None),
    ('mpirun -np 2 -H "a:2,b:2" ./a', OPEN_MPI, True, 2, [("a", 2), ("b", 2)], None),
    ("horovodrun -np 4 -H a:2,b:2 python a.py -np 9", HOROVOD, True, 4, [("a", 2), ("b", 2)], None),
]


@pytest.mark.parametrize(("text", "implementation", "certain", "processes", "hosts", "foreign"), LAUNCHES)
def test_launch_lines(
    text: str,
    implementation: str,
    certain: bool,
    processes: int | None,
    hosts: list[tuple[str, int | None]] | None,
    foreign: str | None,
) -> None:
    words = line_of(text)
    line = launch_line(words.program, words.arguments, text)
    assert (line.implementation, line.is_certain, line.processes) == (implementation, certain, processes)
    listed = hosts_of(line.host_lists[0], text) if line.host_lists else ()
    assert (None if listed is None else [(host.name, host.slots) for host in listed]) == hosts
    assert all(text[host.span.start : host.span.end] == host.name for host in listed or ())
    found = foreign_option(line)
    assert (found[0] if found else None) == foreign


def test_every_option_has_a_number_of_values() -> None:
    for name in ("torchrun", "deepspeed", "accelerate launch", "pip install", "git clone", "wget", "curl", "apt-get"):
        known = program(name)
        assert known is not None
        assert all(takes in {0, 1, "?", "*"} for _, takes in known.options.values()), name
        assert all(option.startswith("-") for option in known.options), name
    assert "install" in subcommands("pip")
    assert program("ls") is None
