"""What the scripts of `make` print on a machine that lacks something: what is there, and what is needed."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pai_lsp import __version__

ROOT = Path(__file__).parent.parent
BASH, MAKE = shutil.which("bash"), shutil.which("make")
USUAL = (
    "bash",
    "sh",
    "cat",
    "cksum",
    "dirname",
    "env",
    "grep",
    "id",
    "make",
    "mktemp",
    "nice",
    "realpath",
    "rm",
    "sed",
    "tail",
    "tee",
    "uname",
)
pytestmark = [pytest.mark.skipif(BASH is None, reason="scripts for bash"), pytest.mark.repository]
needs_make = pytest.mark.skipif(MAKE is None, reason="needs make")


class Machine:
    """A copy of the scripts, and the only programs that they find."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._programs = folder / "programs"
        self._programs.mkdir()
        for name in USUAL:
            if found := shutil.which(name):
                (self._programs / name).symlink_to(found)
        shutil.copytree(ROOT / "scripts", folder / "scripts")
        shutil.copytree(ROOT / "requirements", folder / "requirements")
        (folder / "schemas").mkdir()
        for name in ("Makefile", "pyproject.toml", "hatch_build.py", "schemas/job.schema.json"):
            shutil.copy(ROOT / name, folder / name)

    def program(self, name: str, script: str) -> None:
        """Add a program."""
        path = self._programs / name
        path.write_text(f"#!{BASH}\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    def python(self, name: str, version: str, *, has_venv: bool = False) -> None:
        """Add an interpreter that answers what the scripts ask; it can do nothing else."""
        able = "yes" if has_venv else "no"
        self.program(name, f"case $2 in *ensurepip*) echo {version} {able} {self._programs / name} ;; esac")

    def run(self, *command: str) -> tuple[int, str, str]:
        """The status, the output and the messages of a command."""
        ended = subprocess.run(
            [shutil.which(command[0]) or command[0], *command[1:]],
            cwd=self.folder,
            env={"PATH": str(self._programs), "HOME": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return ended.returncode, ended.stdout, ended.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("script", ["build_vsix.sh", "e2e_vscode.sh"])
@pytest.mark.parametrize(
    ("programs", "message"),
    [
        ({"node": "v18.20.0", "npm": "10.0.0"}, "needs Node.js 20 or newer; {}/programs/node is v18.20.0"),
        ({"node": "v22.1.0"}, "needs Node.js 20 or newer with npm; 'npm' was not found"),
        ({}, "needs Node.js 20 or newer with npm; 'node' was not found"),
    ],
)
def test_node_is_missing_or_too_old(script: str, programs: dict[str, str], message: str, machine: Machine) -> None:
    for name, version in programs.items():
        machine.program(name, f"echo {version}")
    status, output, errors = machine.run("bash", f"scripts/{script}")
    what = {"build_vsix.sh": "packing the VS Code extension", "e2e_vscode.sh": "testing in VS Code"}[script]
    assert (output, errors) == ("", f"{what} {message.format(machine.folder)}\n")
    assert status == {"build_vsix.sh": 1, "e2e_vscode.sh": 77}[script]


def test_node_that_is_new_enough(machine: Machine) -> None:
    machine.program("node", "echo v20.0.0")
    machine.program("npm", "echo 10.0.0")
    assert machine.run("bash", "scripts/node.sh", "packing") == (0, "", "")


NO_PYTHON = [
    ({"python3": "3.13", "python3.13": "3.13"},
     "Python 3.13 is installed, but its venv module is not: sudo apt-get install python3-venv\n"),
    ({"python3": "3.12"},
     "Python 3.12 is installed, but its venv module is not: sudo apt-get install python3-venv\n"),
    ({"python3": "3.15", "python3.12": "3.12"},
     "Python 3.12 is installed, but its venv module is not: sudo apt-get install python3.12-venv\n"),
    ({"python3": "3.15", "python3.15": "3.15"}, "pai-lsp needs Python 3.10 to 3.14, and python3 is 3.15\n"),
    ({"python3": "3.9"}, "pai-lsp needs Python 3.10 to 3.14, and python3 is 3.9\n"),
    ({}, "pai-lsp needs Python 3.10 to 3.14, and none was found: sudo apt-get install python3 python3-venv\n"),
]  # fmt: skip


@pytest.mark.parametrize(("pythons", "message"), NO_PYTHON)
def test_no_python_can_be_used(pythons: dict[str, str], message: str, machine: Machine) -> None:
    for name, version in pythons.items():
        machine.python(name, version)
    assert machine.run("bash", "scripts/pythons.sh") == (1, "", message)


@needs_make
@pytest.mark.parametrize("target", ["demo", "python-tests", "lint", "dist"])
def test_make_reports_it_once(target: str, machine: Machine) -> None:
    (pythons, message), *_ = NO_PYTHON
    for name, version in pythons.items():
        machine.python(name, version)
    status, _, errors = machine.run("make", target)
    assert status == 2
    assert [line for line in errors.splitlines() if not line.startswith("make: ")] == [message.strip()]


def test_pythons_that_can_be_used_are_printed_the_oldest_first(machine: Machine) -> None:
    for name, version in {"python3": "3.12", "python3.10": "3.10", "python3.13": "3.13", "python3.15": "3.15"}.items():
        machine.python(name, version, has_venv=name != "python3.13")
    programs = machine.folder / "programs"
    assert machine.run("bash", "scripts/pythons.sh") == (0, f"{programs}/python3.10\n{programs}/python3\n", "")


def test_the_end_to_end_tests_sum_up_what_was_not_run(machine: Machine) -> None:
    for part in (machine.folder / "scripts").glob("e2e_*.sh"):
        part.unlink()
    lacks = 'scripts/apt_packages.sh "completion in zsh" no-such-shell=zsh'
    parts = {"editors": f'{lacks}\nscripts/not_run.sh "Kate needs X"', "good": "exit 0", "shells": lacks}
    for name, script in parts.items():
        path = machine.folder / "scripts" / f"e2e_{name}.sh"
        path.write_text(f"#!{BASH}\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
    status, output, errors = machine.run("bash", "scripts/e2e.sh")
    assert status == 0
    assert "== scripts/e2e_good.sh: passed in " in output
    shell = "  completion in zsh: this machine lacks no-such-shell; install it by hand, there is no apt-get here"
    shell += " (Debian calls it zsh)\n"
    assert errors.partition("== not run, ")[2] == (
        f"and what this machine lacks:\nscripts/e2e_editors.sh\n{shell}  Kate needs X\nscripts/e2e_shells.sh\n{shell}"
    )


def test_only_the_tests_that_have_failed_are_run_once_more(machine: Machine) -> None:
    machine.program(
        "try", 'echo "$1"; [ "$1" = good ] || { [ "$1" = shaky ] && [ -e again ]; } || { : >again; exit 1; }'
    )
    status, output, _ = machine.run("bash", "scripts/once_more.sh", "try", "--", "shaky", "good")
    assert status == 0
    assert output.splitlines() == [
        "shaky", "good",
        "-- shaky has failed; once more", "shaky",
        "-- once more:", "-- shaky: failed, then passed",
    ]  # fmt: skip
    status, output, _ = machine.run("bash", "scripts/once_more.sh", "try", "--", "bad", "good")
    assert status == 1
    assert output.splitlines()[-1] == "-- bad: failed twice"
    assert machine.run("bash", "scripts/once_more.sh", "try", "--", "good") == (0, "good\n", "")


def test_all_tests_are_run_and_all_failures_are_listed_at_the_end(machine: Machine) -> None:
    parts = {
        "test_pythons": "[ $# -eq 0 ] || exit 0; echo 'FAILED tests/test_x.py::test_y'; "
        "echo '== tests on Python 3.10: failed' >&2; exit 1",
        "e2e": "echo '== scripts/e2e_vscode.sh: failed after 3 s' >&2; echo 'passed'; exit 1",
    }
    for name, script in parts.items():
        (machine.folder / f"scripts/{name}.sh").write_text(f"#!{BASH}\n{script}\n", encoding="utf-8")
    status, _, errors = machine.run("bash", "scripts/all_tests.sh")
    assert status == 1
    assert errors.splitlines() == [
        "== failures:",
        "== scripts/e2e_vscode.sh: failed after 3 s",
        "== scripts/e2e.sh: failed",
        "== scripts/test_pythons.sh: failed",
        "FAILED tests/test_x.py::test_y",
        "== tests on Python 3.10: failed",
    ]
    for name in parts:
        (machine.folder / f"scripts/{name}.sh").write_text(
            f"#!{BASH}\n[ $# -eq 0 ] && echo passed || true\n", encoding="utf-8"
        )
    assert machine.run("bash", "scripts/all_tests.sh") == (0, "passed\npassed\n", "")


@pytest.mark.slow
def test_the_table_of_rules_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "rules_table.py"), "--check"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (0, "")


RELEASE = runpy.run_path(str(ROOT / "scripts" / "release.py"))


def test_all_files_state_the_same_version() -> None:
    assert set(RELEASE["versions"](ROOT).values()) == {__version__}


def test_the_notes_of_a_release(tmp_path: Path) -> None:
    (tmp_path / "vscode-extension").mkdir()
    text = "# Changelog\n\n## 1.1.0 (2026-11-22)\n\n* New.\n\n## 1.0.0 (unreleased)\n\n* Old.\n"
    for path in ("CHANGELOG.md", "vscode-extension/CHANGELOG.md"):
        (tmp_path / path).write_text(text, encoding="utf-8")
    assert RELEASE["notes"]("1.1.0", tmp_path) == ("* New.\n", True)
    assert RELEASE["notes"]("1.0.0", tmp_path) == ("* Old.\n", False)
    assert RELEASE["notes"]("2.0.0", tmp_path) == ("\n", False)


def test_the_notes_of_this_release_are_one_page() -> None:
    """Grouped by what a user does; a merge that keeps both sides of the changelog brings back what was taken out."""
    text, _ = RELEASE["notes"](__version__)
    assert len(text.splitlines()) <= 150
    assert text.startswith("The first version.")
    titles = re.findall(r"^### .*", text, re.MULTILINE)
    assert len(titles) == len(set(titles)) > 5


def test_a_path_of_this_machine_in_a_release(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner.whl", tmp_path / "outer.vsix"
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("good.py", "x = 1")
        archive.writestr("bad.py", f"x = {str(tmp_path)!r}")
    with zipfile.ZipFile(outer, "w") as archive:
        archive.write(inner, "wheels/inner.whl")
    found = list(RELEASE["paths_inside"]("outer.vsix", outer.read_bytes(), [str(tmp_path)]))
    assert found == ["wheels/inner.whl: bad.py"]


def test_a_release_lists_what_it_contains() -> None:
    """As the CycloneDX format has it; every package with a version and the hashes of its files."""
    listed = RELEASE["python_contents"](__version__)
    assert (listed["bomFormat"], listed["metadata"]["component"]["version"]) == ("CycloneDX", __version__)
    packages = listed["components"]
    assert {"pygls", "lsprotocol", "pyyaml", "ruamel-yaml", "jsonschema"} <= {one["name"] for one in packages}
    text = (ROOT / "requirements" / "server.txt").read_text(encoding="utf-8")
    assert {one["bom-ref"] for one in packages} == {
        f"pkg:pypi/{one.replace('==', '@')}" for one in re.findall(r"\S+==\S+", text)
    }
    assert {found["content"] for one in packages for found in one["externalReferences"][0]["hashes"]} == set(
        re.findall(r"\b\w{64}\b", text)
    )


def test_a_release_has_an_extension_for_each_platform_with_wheels() -> None:
    assert RELEASE["_targets"]() == ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64"]


def test_options_of_programs_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The help of a program, its message about an option, and the calls of `add_argument` in a Python file."""
    program = tmp_path / "wget"
    program.write_text(
        '#!/bin/sh\ncase "$1" in\n--help) echo "  -q, --quiet  say nothing"; echo "  --brand-new=X  as it says";;\n'
        '-q|--quiet|--brand-new) ;;\n*) echo "unrecognized option $1" >&2; exit 2;;\nesac\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    module = tmp_path / "wget.py"
    module.write_text("parser.add_argument('-q', '--quiet')\nparser.add_argument('url')\n", encoding="utf-8")
    main = runpy.run_path(str(ROOT / "scripts/program_options.py"))["main"]
    main("wget", str(program), str(module))
    lines = capsys.readouterr().out.splitlines()
    assert f"--brand-new: not in the table; {program} has it" in lines
    assert "--no-clobber: no program knows it" in lines
    assert not any(line.startswith("--quiet:") for line in lines)
