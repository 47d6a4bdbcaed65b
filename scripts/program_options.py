"""Compares the options in schemas/programs.json with programs that are installed, by asking the programs.

    python scripts/program_options.py "Open MPI" /opt/openmpi-4.1/bin/mpirun /opt/openmpi-5.0/bin/mpirun
    python scripts/program_options.py torchrun torch-1.13/distributed/run.py torch-2.9/distributed/run.py

Each program is asked for its help and then for each option alone, with a program that does nothing; its message says
whether it knows the option. Of a Python file, the calls of `add_argument` are read, and nothing of it is run. A line of
the output is an option that the table lacks, that no program knows, or that only some of the programs know.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

TABLE = Path(__file__).parent.parent / "schemas/programs.json"
# What programs say about an option that they do not have.
UNKNOWN = re.compile(
    r"unknown option|unrecogni[sz]ed (?:option|argument)|no such option|invalid option|option \S+ is unknown"
    r"|unknown switch",
    re.IGNORECASE,
)
# An option in a help text: at the start of a line, or after another name of it.
OPTION = re.compile(r"(?:^|[\s,|/\[])(--?[A-Za-z][\w-]*)(?=[\s,=|/<\[\]\n]|$)")
HELP = {"Open MPI": ["--help", "full"], "Hydra": ["-help"], "curl": ["--help", "all"], "git clone": ["clone", "-h"]}


def main(name: str, *programs: str) -> None:
    """Print the differences."""
    table = json.loads(TABLE.read_text(encoding="utf-8"))["programs"][name]
    listed = {one for names in table["options"] for one in names.split()}
    takes = {one: count for names, count in table["options"].items() for one in names.split()}
    named = {program: options_of(name, program) for program in programs}
    every = sorted(listed | {one for options in named.values() for one in options})
    knowing: dict[str, list[str]] = {}
    for option in every:
        knowing[option] = [
            program
            for program in programs
            if option in named[program] or (not program.endswith(".py") and knows(name, program, option, takes))
        ]
    for option in every:
        if option not in listed and f"-{option.lstrip('-')}" not in listed:
            print(f"{option}: not in the table; {', '.join(knowing[option])} has it")
        elif not knowing[option]:
            print(f"{option}: no program knows it")
        elif len(knowing[option]) < len(programs):
            print(f"{option}: only {', '.join(knowing[option])}")


def options_of(name: str, program: str) -> set[str]:
    """The options that a program names itself."""
    if program.endswith(".py"):
        return set(_arguments(Path(program)))
    found = _run([program, *HELP.get(name, ["--help"])])
    lines = [line for line in found.splitlines() if line.lstrip().startswith("-")]
    return {match[1] for line in lines for match in OPTION.finditer(line)}


def knows(name: str, program: str, option: str, takes: dict[str, int | str]) -> bool:
    """Whether a program takes an option, by its message."""
    count = takes.get(option, 0)
    # A launcher asks ssh for any other host.
    value = "localhost" if option == "-H" or "host" in option else "1"
    values = [value] * (count if isinstance(count, int) else 1)
    before = ["clone"] if name == "git clone" else []
    return UNKNOWN.search(_run([program, *before, option, *values, "/bin/true"])) is None


def _arguments(path: Path) -> list[str]:
    calls = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
    words = (call.args for call in calls if getattr(call.func, "attr", "") == "add_argument")
    texts = (one.value for args in words for one in args if isinstance(one, ast.Constant))
    return [text for text in texts if isinstance(text, str) and text.startswith("-")]


def _run(words: list[str]) -> str:
    """What a program prints; after 20 seconds it is ended with all that it has started."""
    out = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(words, start_new_session=True, **out) as process:
        try:
            found, _ = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            found = b""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return found.decode(errors="replace")


if __name__ == "__main__":
    main(*sys.argv[1:])
