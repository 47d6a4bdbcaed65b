"""What `why` makes of the logs of the tests: `python tests/recorded_failures.py` writes it to `failure_answers.txt`.

Each log is read alone, with the exit codes of the commands 1 and 139, and with progress after it. After a change, read
what `git diff` shows of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from test_failure_logs import (
    BOXED,
    DOUBTFUL,
    ELASTIC,
    HARMLESS,
    IN_FRONT,
    JOB,
    LOGS,
    MPIRUN,
    NAMED,
    NOTEBOOK,
    OF_OUTSIDE,
    OF_PROGRAM,
    PROGRESS,
    WATCHDOG,
)

from pai_lsp.cluster.why import failure
from pai_lsp.document import Document
from pai_lsp.platform.tables import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.cluster.why import Failure

RECORD = Path(__file__).parent / "failure_answers.txt"
_FAR = "shutting down worker pool\n" * 70


def _logs() -> Iterator[str]:
    yield from (log for log, *_ in (*LOGS, *DOUBTFUL))
    yield from (*OF_PROGRAM, *OF_OUTSIDE, *HARMLESS, *IN_FRONT, BOXED, NAMED, NOTEBOOK, WATCHDOG, MPIRUN)
    for first, second in ((OF_PROGRAM[0], OF_OUTSIDE[1]), (OF_OUTSIDE[1], OF_PROGRAM[0]), (WATCHDOG, OF_OUTSIDE[0])):
        yield from (first + second, first + _FAR + second, first + PROGRESS + second, first + ELASTIC + second)


def _line(found: Failure) -> str:
    names = " ".join(f"{name}={value!a}" for name, value in found.names)
    evidence = "" if found.evidence is None else f" {found.evidence.number} {found.evidence.text[:60]!a} {names}"
    worth = ",".join(str(one.number) for one in found.worth_reading)
    return f"{found.code} {found.cause.name} {found.sureness.value} line {found.line}{evidence} [{worth}]"


def recorded() -> str:
    """The answers, for logs in several ways, for the messages of the table as the log of a task that failed."""
    job = Document(JOB).job
    parts: list[str] = []
    for number, log in enumerate(_logs()):
        parts += [
            f"==== {number} {log.strip()[-70:]!a}",
            _line(failure(log)),
            _line(failure(log, job, 1)),
            _line(failure(log, None, 139)),
            _line(failure(f"{log}\n{PROGRESS}", job, 1)),
            _line(failure(f"{PROGRESS}{log}\n{ELASTIC}", job)),
        ]
    parts += [_line(failure(one["example"], job, 1)) for one in table("failure_causes.json")["patterns"]]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    RECORD.write_text(recorded(), encoding="utf-8")
