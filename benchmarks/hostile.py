"""`make bench-hostile`: CPU time, memory and output for texts made to be slow, each just below the limit of a cluster.

`--write` puts the table into docs/reliability.md. The exit status is 1 if a text takes more than a limit below.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PAGE = Path("docs/reliability.md")
BEGIN, END = "<!-- hostile -->\n", "<!-- /hostile -->\n"
# The rest-server refuses longer jobs (openpai, rest-server, express' body-parser: 100 kB).
MOST_BYTES = 102_400
MOST_SECONDS, MOST_MEBIBYTES = 1.0, 150
KILLED_AFTER = 30
# Above so many seconds after the start of the program, the growth from half of the text is of interest.
_SLOW = 0.2
COMMANDS = {
    "check": ("check",),
    "expand": ("expand",),
    "check --fix": ("check", "--fix"),
    "graph": ("graph", "--format", "dot"),
}

_JOB = """\
protocolVersion: 2
name: hostile
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "a/b:1"}
"""
_ROLES = """\
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
"""


def _job(
    *, prerequisites: str = "", listed: Iterable[str] = (), commands: str = "      - echo hi\n", rest: str = ""
) -> str:
    names = f"    prerequisites: [{', '.join(listed)}]\n"
    return f"{_JOB}{prerequisites}{_ROLES}{names}    commands:\n{commands}{rest}"


def _requiring(count: int, required: Callable[[int], Iterable[str]]) -> str:
    plugin = "plugin: com.microsoft.pai.runtimeplugin.cmd"
    lines = (
        f"  - {{type: script, name: s{number}, {plugin}, require: [{', '.join(required(number))}], "
        f"callbacks: [{{event: taskStarts, commands: [echo {number}]}}]}}\n"
        for number in range(count)
    )
    return _job(prerequisites="".join(lines), listed=["s0"])


def _lines(line: str, count: int) -> str:
    return "".join(line.replace("#", str(number)) for number in range(count))


def _long_names(count: int) -> str:
    definitions = "".join(f"  - {{type: script, name: {'n' * 150}{number}}}\n" for number in range(count))
    return _job(prerequisites=definitions, listed=["m" * 150 + str(number) for number in range(count)])


GENERATORS: dict[str, Callable[[int], str]] = {
    "unknown required names": lambda n: _requiring(n, lambda number: [f"x{number}"]),
    "prerequisites that all require each other": lambda n: _requiring(
        n, lambda one: [f"s{i}" for i in range(n) if i != one]
    ),
    "a chain of requirements": lambda n: _requiring(n, lambda one: [f"s{one + 1}"] if one + 1 < n else []),
    "a long list of requirements": lambda n: _requiring(2, lambda one: ["s1"] * n if one == 0 else []),
    "long similar names": _long_names,
    "misspelled parameters": lambda n: _job(
        commands=f"      - echo{_lines(' <% $parameters.q# %>', n)}\n", rest="parameters:\n" + _lines("  p#: 1\n", n)
    ),
    "one unknown template": lambda n: _job(commands=f"      - echo{' <% $parameters.a %>' * n}\n"),
    "templates that never close": lambda n: _job(commands=f"      - echo{' <% $parameters.a' * n}\n"),
    "equal anchors": lambda n: _job(rest="extras:\n" + _lines("  a#: &x 1\n", n)),
    "equal keys": lambda n: _job(rest="extras:\n" + "  a: 1\n" * n),
    "unknown keys": lambda n: _job(rest=_lines("comands#: 1\n", n)),
    "many documents": lambda n: _job(rest="---\n" * n),
    "aliases of aliases": lambda n: _job(
        rest="extras:\n  a0: &a0 [x]\n" + "".join(f"  a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, n))
    ),
    "deep lists": lambda n: _job(rest=f"extras: {'[' * n}{']' * n}\n"),
    "open brackets": lambda n: _job(rest=f"extras: {'[' * n}\n"),
    "merge conflicts": lambda n: _job(rest="<<<<<<< a\n=======\n>>>>>>> b\n" * n),
    "a number of many parts": lambda n: _job(rest=f"parameters: {{b: 1{':59' * n}}}\n"),
    "quotes and backquotes": lambda n: _job(commands=f"      - |\n        {'echo `b` ${a} $PAI_X ' * n}\n"),
    "mixed quotes": lambda n: _job(commands="      - |\n        " + "echo '\"' $PAI_X ${a} `b` " * n + "\n"),
    "open arithmetic": lambda n: _job(commands=f"      - |\n        {'$((' * n}\n"),
    "open substitutions": lambda n: _job(commands=f"      - |\n        {'$(a ' * n}\n"),
    "here-documents": lambda n: _job(commands=f"      - |\n        {'cat <<a ' * n}\n"),
    "short commands": lambda n: _job(commands="      - sudo apt install x\n" * n),
    "MPI launches": lambda n: _job(commands="      - mpirun -n 2 ./a.out\n" * n),
    "launches on several nodes": lambda n: _job(commands="      - torchrun --standalone --nnodes 2 train.py\n" * n),
    "variables set for one command": lambda n: _job(commands="      - B=1 echo $B\n" * n),
    "variables of other processes": lambda n: _job(commands="      - (export B=1; echo $B)\n" * n),
    "paths of mounts": lambda n: _job(commands="      - python train.py --data /mnt/blob/x\n" * n),
    "passwords": lambda n: _job(commands=_lines("      - export PASSWORD=hunter#secretX\n", n)),
    "secrets": lambda n: _job(rest="secrets:\n" + _lines("  k#: hunter#secretX\n", n)),
    "task roles": lambda n: _job(rest=_lines("  r#: {dockerImage: image, commands: [a]}\n", n)),
    "tabs": lambda n: _job(rest="extras:\n" + "\ta: 1\n" * n),
}


@dataclass(frozen=True)
class Figures:
    """CPU seconds, peak memory in MiB and bytes of output of one run."""

    seconds: float
    mebibytes: int
    output: int


def main() -> int:
    """Measure, print, write when asked to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help=f"write the table to {PAGE} too")
    parser.add_argument("names", nargs="*", metavar="NAME", help="texts whose name contains one of these; default: all")
    arguments = parser.parse_args()
    chosen = {
        name: generate
        for name, generate in GENERATORS.items()
        if not arguments.names or any(one in name for one in arguments.names)
    }
    beyond: list[str] = []
    lines = [
        f"| text | {' | '.join(f'`{name}`: s' for name in COMMANDS)} | most MiB | most output, kB | growth |",
        f"|---|{'---|' * (len(COMMANDS) + 3)}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    for line in _measured(chosen, beyond):
        lines.append(line)
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    if arguments.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(before + BEGIN + "\n".join(["", *lines, "", ""]) + END + after, encoding="utf-8")
    for one in beyond:
        sys.stderr.write(f"above {MOST_SECONDS} s or {MOST_MEBIBYTES} MiB: {one}\n")
    return 1 if beyond else 0


def _measured(chosen: dict[str, Callable[[int], str]], beyond: list[str]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start = _run(folder, _job(), COMMANDS["check"]).seconds
        for title, generate in chosen.items():
            count = _largest(generate)
            text = generate(count)
            figures = {command: _run(folder, text, words) for command, words in COMMANDS.items()}
            whole = figures["check"].seconds - start
            half = _run(folder, generate(count // 2), COMMANDS["check"]).seconds - start if whole > _SLOW else 0.0
            growth = f"{whole / half:.1f}" if half > 0 else "-"
            beyond += (
                f"{title}, {command}"
                for command, one in figures.items()
                if one.seconds > MOST_SECONDS or one.mebibytes > MOST_MEBIBYTES
            )
            seconds = " | ".join(f"{one.seconds:.2f}" for one in figures.values())
            memory, output = (
                max(one.mebibytes for one in figures.values()),
                max(one.output for one in figures.values()),
            )
            yield f"| {title} (× {count:,}) | {seconds} | {memory} | {output // 1000} | {growth} |"


def _largest(generate: Callable[[int], str]) -> int:
    """The largest count whose text the cluster takes."""
    low, high = 1, 2
    while len(generate(high)) < MOST_BYTES:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if len(generate(middle)) < MOST_BYTES else (low, middle)
    return low


def _run(folder: Path, text: str, words: Iterable[str]) -> Figures:
    file, output = folder / "hostile.pai.yaml", folder / "output"
    file.write_text(text, encoding="utf-8")
    program = str(Path(sys.executable).parent / "pai-lsp")
    limit = ("prlimit", f"--cpu={KILLED_AFTER}") if sys.platform == "linux" else ()
    with output.open("wb") as stream:
        process = subprocess.Popen([*limit, program, *words, str(file)], stdout=stream, stderr=stream)
        _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0  # it has been waited for
    return Figures(usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024, output.stat().st_size)


if __name__ == "__main__":
    sys.exit(main())
