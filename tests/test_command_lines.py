"""How commands depend on each other, against bash where there is one, and what the words of a command line are."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell_constructs import AROUND

from pai_lsp.cluster import failure_report
from pai_lsp.cluster.failure_report import read_report
from pai_lsp.document import Document
from pai_lsp.embedded.command_lines import CommandLine, Program, command_lines, parsed, quoted_words
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_structure import structure
from pai_lsp.ide.completion.complete import complete
from pai_lsp.ide.hover import hover
from pai_lsp.platform import programs
from pai_lsp.platform.command_files import made_files
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
from pai_lsp.platform.tables import table

ROOT = Path(__file__).parents[1]
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
    ("case $(fail) in *) x=1;; esac", False),
    ("for i in $(fail) 1; do x=1; done", False),
    ("x=$(if true; then fail; true; fi)", False),
    ("x=$(if true; then fail; fi)", True),
    ("x=$(for i in 1; do fail; true; done)", False),
    ("f() { fail; return 0; }; x=$(f)", False),
    ("g() { fail; true; }; f() { g; }; x=$(f)", False),
    ("f() { true; fail; }; x=$(f)", True),
    ("f() { y=$(fail); true; }; f", True),
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


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("outer", AROUND)
def test_bash_ends_what_is_said_to_end(outer: str) -> None:
    for inner in AROUND:
        text = outer.replace("COMMAND", inner.replace("COMMAND", "fail"))
        tree = structure(read_script(text))
        (step,) = tree.calls["fail"]
        script = f"set -euo pipefail\nfail() {{ return 1; }}\n{text}\necho reached"
        if tree.ends_script(step):
            run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
            assert not run.stdout.endswith("reached\n"), text


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


@pytest.mark.parametrize(
    ("written", "value", "place"),
    [
        ("--nnodes=2", "2", "2"),
        ('"--nnodes=2"', "2", "2"),
        ("--nnodes=$N", None, "$N"),
        ('"--nnodes=$N"', None, '"--nnodes=$N"'),
        ("--nnodes=", "", ""),
        ('"--nnodes="', "", '"--nnodes="'),
    ],
)
def test_the_place_of_a_value(written: str, value: str | None, place: str) -> None:
    known, text = program("torchrun"), f"torchrun {written} t.py"
    assert known is not None
    (found,) = parsed(line_of(text).arguments, known, text).options
    assert found.value_span is not None
    assert (found.value, text[found.value_span.start : found.value_span.end]) == (value, place)


# Options, operands, and what is unknown, by how a program reads its words; a `+` where it is open what else there is.
STYLES = {
    "--al x": {"argparse git": "--al | x |", "pflag popt": "| x | --al +"},
    "--alph x y": {"argparse git": "--alpha=x | y |", "pflag popt": "| x y | --alph +"},
    "--alpha=x y": {"argparse git pflag popt": "--alpha=x | y |"},
    "--alphas x": {"argparse git pflag popt": "| x | --alphas +"},
    "--no-alpha x": {"git popt": "--alpha=x | |", "argparse pflag": "| x | --no-alpha +"},
    "--no-x y": {"git popt": "--no-x | y |", "argparse pflag": "| y | --no-x +"},
    "-c": {"argparse git pflag popt": "-c ! -c | |"},
    "-cx y": {"argparse git pflag popt": "-c=x | y |"},
    "-ac x y": {"argparse git pflag popt": "--alps -c=x | y |"},
    "-xc y": {"argparse git pflag popt": "| y | -xc +"},
    "-ax y": {"argparse git pflag popt": "--alps | y | -x +"},
    "--beta -a": {"argparse": "--beta --alps | |", "git pflag popt": "--beta=-a | |"},
    "--beta x y": {"argparse git pflag popt": "--beta=x | y |"},
    "--two 1 2 3": {"argparse git pflag popt": "--two=1 | 3 |"},
    "--alpha -1 x": {"argparse git pflag popt": "--alpha=-1 | x |"},
    "--alpha -a": {"argparse": "--alpha --alps ! --alpha | |", "git pflag popt": "--alpha=-a | |"},
    "-- --alpha x": {"argparse git pflag popt": "| --alpha x |"},
    "-": {"argparse git pflag popt": "| - |"},
    "--alpha $X y": {"argparse git pflag popt": "--alpha | y | +"},
    '--alpha "$X" y': {"argparse git pflag popt": "--alpha | y |"},
    "$X y": {"argparse git pflag popt": "| y | +"},
}
OPTIONS: dict[str, tuple[tuple[str, ...], int | str]] = {
    "--alpha": (("--alpha",), 1), "--alps": (("--alps", "-a"), 0), "-a": (("--alps", "-a"), 0), "-c": (("-c",), 1),
    "--beta": (("--beta",), "?"), "--two": (("--two",), 2),
}  # fmt: skip


@pytest.mark.parametrize("words", STYLES)
def test_how_a_program_reads_its_words(words: str) -> None:
    for styles, expected in STYLES[words].items():
        for style in styles.split():
            text = f"run {words}"
            found = parsed(line_of(text).arguments, Program(style, False, OPTIONS), text)
            parts = [one.name if one.value is None else f"{one.name}={one.value}" for one in found.options]
            parts += ["!", *(one.name for one in found.without_value)] if found.without_value else []
            parts += ["|", *(word.text for word in found.operands), "|", *(name for name, _ in found.unknown)]
            assert " ".join([*parts, *("+" * found.is_open)]) == expected, style


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
    listed = hosts_of(line.host_lists[0], words) if line.host_lists else ()
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


@pytest.mark.parametrize(
    ("text", "wrappers", "variables"),
    [
        ("timeout 3600 mpirun -np 2 ./a", ("timeout",), ()),
        ("timeout -k 10 --signal TERM 1h mpirun -np 2 ./a", ("timeout",), ()),
        ("timeout --foreground -sTERM 1h mpirun -np 2 ./a", ("timeout",), ()),
        ("nice -n 5 mpirun -np 2 ./a", ("nice",), ()),
        ("nice -5 mpirun -np 2 ./a", ("nice",), ()),
        ("/usr/bin/nice --adjustment=5 mpirun -np 2 ./a", ("nice",), ()),
        ("stdbuf -oL -e 0 mpirun -np 2 ./a", ("stdbuf",), ()),
        ("sudo -u worker -E mpirun -np 2 ./a", ("sudo",), ()),
        ("sudo -Eu worker X=1 mpirun -np 2 ./a", ("sudo",), ("X",)),
        ("X=1 env -u HOME -i Y=2 mpirun -np 2 ./a", ("env",), ("X", "Y")),
        ("env -- mpirun -np 2 ./a", ("env",), ()),
        ("numactl --cpunodebind 0 -m 0 mpirun -np 2 ./a", ("numactl",), ()),
        ("numactl -N0 --membind=0 mpirun -np 2 ./a", ("numactl",), ()),
        ("taskset -c 0-3 mpirun -np 2 ./a", ("taskset",), ()),
        ("echo x | xargs -n 1 -P4 -I {} mpirun -np 2 ./a", ("xargs",), ()),
        ("exec tini -g -- nohup mpirun -np 2 ./a", ("exec", "tini", "nohup"), ()),
        ("sudo -u worker timeout 1h mpirun -np 2 ./a", ("sudo", "timeout"), ()),
    ],
)
def test_a_wrapper_runs_the_program_after_it(text: str, wrappers: tuple[str, ...], variables: tuple[str, ...]) -> None:
    found = command_lines(read_script(text)).all[-1]
    assert (found.program, found.texts, found.wrappers, found.variables) == (
        "mpirun", ("-np", "2", "./a"), wrappers, variables
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "user"),
    [
        ("mpirun ./a", ""), ("nice mpirun ./a", ""), ("sudo mpirun ./a", "root"), ("sudo -u me mpirun ./a", "me"),
        ("sudo -Eume mpirun ./a", "me"), ("sudo -Eu me mpirun ./a", "me"), ("sudo --user=me mpirun ./a", "me"),
        ("sudo --user me mpirun ./a", "me"), ("sudo -u $ME mpirun ./a", None), ("gosu me mpirun ./a", "me"),
        ("sudo -ume nice mpirun ./a", "me"),
    ],
)  # fmt: skip
def test_a_wrapper_may_change_the_user(text: str, user: str | None) -> None:
    assert command_lines(read_script(text)).all[0].user == user


@pytest.mark.parametrize("text", ["sudo -l", "command -v mpirun", "timeout 5", "env", "xargs"])
def test_a_wrapper_may_run_nothing(text: str) -> None:
    assert not command_lines(read_script(text)).all[0].wrappers


def test_words_know_their_quotes() -> None:
    line = command_lines(read_script("""run 'a b' "$X" "x${Y}" $Z ${Z} plain "p"q $'t'"""))
    (found,) = line.all
    kinds = [kind.value if (kind := found.quote(word)) else "" for word in found.arguments]
    assert kinds == ["'", '"', '"', "", "", "", "", "$'"]
    assert [found.variable(word) for word in found.arguments] == ["", "X", "", "Z", "Z", "", "", ""]
    inner = [found.script.text[found.inner(word).start : found.inner(word).end] for word in found.arguments]
    assert inner == ["a b", "$X", "x${Y}", "$Z", "${Z}", "plain", '"p"q', "t"]


def test_what_a_script_mentions() -> None:
    found = command_lines(read_script("# no chmod\ncat <<E > out.txt\nchmod\nE\nX=~/.ssh/config run -f=a/b"))
    assert [found.mentions(part) for part in ("chmod", "out.txt", ".ssh/config", "a/b", "X=")] == [
        False, True, True, True, True
    ]  # fmt: skip
    assert not found.mentions("a/b", before=found.all[-1].span.start)


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("run; cd a", ""),
        ("cd a\nrun", "a"),
        ("cd a && run", "a"),
        ("cd ./\nrun", ""),
        ("cd a\ncd ..\nrun", ""),
        ("cd a\ncd /b/c\nrun", "/b/c"),
        ("cd a\n(cd b; run)", "a/b"),
        ("(cd a)\nrun", ""),
        ("cd a &\nrun", ""),
        ("cd a | run", ""),
        ("if cd a; then run; fi", "a"),
        ("if x; then cd a; fi\nrun", None),
        ("f() { cd a; }\nrun", None),
        ("cd\nrun", None),
        ("cd -\nrun", None),
        ("cd ~\nrun", None),
        ("cd a b\nrun", None),
        ("pushd a\nrun", None),
        ("cd $X\ncd /b\nrun", None),
    ],
)
def test_the_folder_of_a_command(text: str, folder: str | None) -> None:
    found = command_lines(read_script(text))
    assert found.folder(found.by_program["run"][0]) == folder


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("touch -c a $X ./b", ["a", "b"]),
        ("echo x | tee -a log", ["log"]),
        ("echo > ./o 2>&1", ["o"]),
        ("echo >> $X", []),
        ("cat < in", []),
        ("cp a b", []),
        ("wget -O a/b https://h/x", ["a/b"]),
        ("wget 'https://h/d/x.zip?y=1'", ["x.zip"]),
        ("wget $URL", []),
        ("curl -O https://h/x.zip", ["x.zip"]),
        ("curl -o f https://h/x", ["f"]),
        ("curl https://h/x", []),
    ],
)
def test_which_files_a_command_surely_writes(text: str, files: list[str]) -> None:
    lines = command_lines(read_script(text)).all
    assert [name for line in lines for name in made_files(line)] == files


def test_values_of_variables() -> None:
    found = command_lines(read_script("A=1; A='b c'\nexport B=x\nC=$A D+=1 run\nE=(1 2)"))
    assert [found.value(name) for name in "ABCDE"] == ["b c", "x", None, None, None]


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_quoted_words_are_read_back(words: list[str]) -> None:
    (found,) = command_lines(read_script(quoted_words(words))).all
    assert [word.text for word in found.words] == words
    assert all(word.is_literal for word in found.words)


def test_a_launcher_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row more in the table of launchers, and everything that is about launchers knows it."""
    found = json.loads((ROOT / "schemas/launchers.json").read_text())
    found["programs"]["prun"] = ["Open MPI"]
    tables = {"launchers.json": found}
    monkeypatch.setattr("pai_lsp.platform.programs.table", lambda name: tables.get(name) or table(name))
    caches = (programs.launchers, programs._launchers_table)
    for one in caches:
        one.cache_clear()
    try:
        job = (ROOT / "tests/rules/mpi.yaml").read_text().split("taskRoles:")[0]
        text = job + ROLE.format(command="timeout 1h prun -np 8 ./a.out")
        codes = {one.code for one in Document(text).diagnostics}
        assert codes >= {"mpi-run-as-root", "mpi-too-many-processes"}
        manifest = MANIFEST.format(command='command: [stdbuf, -oL, prun, -np, "8", ./a.out]')
        codes = {one.code for one in Document(manifest).diagnostics}
        assert codes >= {"mpijob-np-over-slots", "mpijob-run-as-root"}
        at = text.index("-np")
        shown = hover(Document(text), at + 1)
        assert shown is not None
        assert "The number of processes on all hosts" in shown.markdown
        typed = f"{text[:at]}--al{text[at:]}"
        assert "--allow-run-as-root" in {one.label for one in complete(Document(typed), at + 4)}
        report = read_report("There are not enough slots available in the system", b"", 1)
        assert failure_report.line_of("mpi-slots", report, Document(text).job) == text.count("\n")
    finally:
        for one in caches:
            one.cache_clear()


ROLE = """\
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {{cpu: 1, memoryMB: 8192, gpu: 0}}
    commands:
      - sleep 1
      - {command}
"""
MANIFEST = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {{name: train}}
spec:
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
            - name: main
              image: mpi
              {command}
    Worker:
      replicas: 2
      template: {{spec: {{containers: [{{name: main, image: mpi}}]}}}}
"""
_WRAPPED = st.lists(
    st.sampled_from(
        [
            ["timeout", "3600"], ["nice", "-n", "5"], ["stdbuf", "-oL"], ["env", "A=1"], ["numactl", "-N", "0"],
            ["sudo", "-u", "root"], ["/usr/bin/nohup"], ["env", "OMPI_ALLOW_RUN_AS_ROOT=1"], ["taskset", "-c", "0"],
        ]
    ),
    max_size=3,
)  # fmt: skip
_LAUNCHED = st.lists(
    st.sampled_from(
        [
            ["-np", "2"], ["-np", "8"], ["-n", "4"], ["--allow-run-as-root"], ["-H", "other-worker-0"], ["-ppn", "2"],
            ["-H", "train-worker-0:4,train-worker-1:4"], ["--hostfile", "/etc/mpi/hostfile"], ["--oversubscribe"],
            ["-hosts", "a"], ["-x", "PATH"], ["--mca", "plm_rsh_args", "-p 22"], ["-mca", "orte_default_hostfile", "h"],
        ]
    ),
    max_size=4,
)  # fmt: skip


@given(_WRAPPED, st.sampled_from(["mpirun", "mpiexec", "/usr/bin/mpirun", "horovodrun", "orterun"]), _LAUNCHED)
def test_words_of_a_container_and_a_script_are_the_same(
    wrapped: list[list[str]], launcher: str, options: list[list[str]]
) -> None:
    """An MPIJob in exec form and the same words in `bash -c` give the same findings."""
    words = [*chain(*wrapped), launcher, *chain(*options), "./a.out"]
    script = ["bash", "-c", shlex.join(words)]

    def codes(command: list[str]) -> list[tuple[str, str]]:
        found = Document(MANIFEST.format(command=f"command: {json.dumps(command)}")).diagnostics
        return sorted((one.code, one.message) for one in found)

    assert codes(words) == codes(script)


def test_all_who_ask_about_a_script_get_the_same_steps() -> None:
    script = read_script("(set +e; grep loss train.log)")
    lines = command_lines(script)
    for number in range(300):
        structure(read_script(f"echo {number}"))
    assert lines.tree is structure(script)
    assert command_lines(script) is lines
