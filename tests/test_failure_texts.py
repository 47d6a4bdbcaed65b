"""What `why` answers about a job, to the letter: the rows are in tests/cluster/failure_texts.yaml.

`job` is the name of a job at the beginning of the file, `exit_code` that of the commands, and `diagnostics` is what the
portal shows beside a log. `{FILLER}` and `{12 LINES}` are parts of a log that mean nothing.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pai_lsp.cluster.exit_code_text import code_text
from pai_lsp.cluster.why import failure, failure_text
from pai_lsp.document import Document

ROWS = Path(__file__).parent / "cluster"
JOBS, *CASES = yaml.safe_load((ROWS / "failure_texts.yaml").read_text(encoding="utf-8"))
CODES = yaml.safe_load((ROWS / "exit_codes.yaml").read_text(encoding="utf-8"))


def answer_of(case: dict[str, Any]) -> str:
    job = Document(JOBS[case["job"]], path="job.pai.yaml").job if case["job"] else None
    text = case["text"].replace("{FILLER}", "".join(f"step {number}\n" for number in range(200)))
    text = re.sub(r"\{(\d+) LINES\}\n", lambda found: "a line\n" * int(found[1]), text)
    more = {key: case[key] for key in ("exit_code", "role", "diagnostics", "platform_log") if key in case}
    return failure_text(failure(text, job, **more), job, "job.pai.yaml")


@pytest.mark.parametrize("case", [pytest.param(one, id=one["name"]) for one in CASES])
def test_the_answer(case: dict[str, Any]) -> None:
    assert answer_of(case) == case["answer"]


@pytest.mark.parametrize(("code", "text"), CODES.items())
def test_what_a_code_means(code: int, text: str) -> None:
    assert code_text(code) == text
