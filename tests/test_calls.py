"""The rules of commands cost little beside reading the commands: calls are counted, which no load changes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from job_text import HEAD

from benchmarks.jobs import job as benchmark_job
from pai_lsp.document import Document, check
from pai_lsp.findings.diagnostic import Settings
from pai_lsp.rules import codes_named
from pai_lsp.rules.commands.command_uses import known_lines

if TYPE_CHECKING:
    from collections.abc import Callable

WITHOUT_RULES = Settings(dict.fromkeys(codes_named("commands")))
LINES = """\
apt-get update && apt-get install -y htop
pip install -r requirements.txt
export NCCL_DEBUG=INFO
mkdir -p data/raw
wget -O data/raw/x.tgz https://example.com/x.tgz
tar xf data/raw/x.tgz -C data
if [ -f data/list ]; then cat data/list; fi
python train.py --lr 0.1 --data data --out "$PAI_JOB_NAME" | tee train.log
for i in 1 2 3; do echo $i; done
cp -r out result
""".splitlines()


def job(lines: int, run: int) -> str:
    """A job with so many lines of commands; each `run` is another text, because scripts that were read are kept."""
    script = [LINES[n % len(LINES)].replace("data", f"data{n // len(LINES)}") for n in range(lines)]
    role = "taskRoles:\n  worker:\n    instances: 1\n    dockerImage: image\n"
    resources = "    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 1}\n    commands:\n      - |\n"
    return HEAD + role + resources + "".join(f"        {line}\n" for line in (*script, f"echo {'x' * run}"))


def calls(work: Callable[[], object]) -> int:
    """How many functions a piece of work calls."""
    counted = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


def read(document: Document) -> None:
    """Check a job without the rules of commands, and read its commands by the tables of their programs."""
    check(document)
    known_lines(document.job)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="comprehensions are calls before Python 3.12")
@pytest.mark.parametrize("lines", [10, 28, 188])
def test_rules_of_commands_cost_little_beside_reading(lines: int) -> None:
    for run in (1, 2):  # the first one loads what is loaded once
        everything = calls(lambda run=run: check(Document(job(lines, run))))  # type: ignore[misc]
        without = calls(lambda run=run: read(Document(job(lines, run + 2), WITHOUT_RULES)))  # type: ignore[misc]
    assert everything - without < 400 + 38 * lines


@pytest.mark.skipif(sys.version_info < (3, 12), reason="comprehensions are calls before Python 3.12")
def test_a_valid_job_of_40_lines_is_checked_in_a_few_thousand_calls() -> None:
    counts = []
    for run in (1, 2):  # the first one loads what is loaded once
        text = benchmark_job(40).replace("bench-job", f"job-{run}").replace("train.py", f"train_{run}.py")
        counts.append(calls(lambda text=text: check(Document(text, path="train.pai.yaml"))))  # type: ignore[misc]
    assert counts[-1] < 4_600
