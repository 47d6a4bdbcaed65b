"""A reason for which a cluster refuses a job, or never starts it."""

from __future__ import annotations

from enum import Enum

from pai_lsp.source.frozen import dataclass


class Stage(Enum):
    """Where the rest-server refuses a job, in the order in which it looks.

    Source: rest-server, controllers/v2/job.js and middlewares/v2/protocol.js, protocolSubmitMiddleware.
    """

    PROTOCOL = "protocol"
    RENDER = "render"
    HIVED = "hived"
    QUOTA = "quota"
    JOB = "job"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One refusal.

    code: the rest-server's error code; None where its own program fails, which it answers with status 500.
    message: what the rest-server answers.
    explanation: what is wrong in the words of the job's author, with numbers.
    path: the keys that lead to the place in the job; the last one may be missing there.
    rule: the code of the rule that reports it; None if a rule that needs no cluster does.
    role: the task role that the message names.
    choices: names that would be right in this place; empty if the value is not a name.
    """

    stage: Stage
    status: int
    code: str | None
    message: str
    explanation: str
    path: tuple[str | int, ...]
    rule: str | None = None
    role: str | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """Why an accepted job never starts.

    role: the task role of the first task that gets no place; None if each fits alone and all together do not.
    reason: what the scheduler reports.
    is_refused: whether the scheduler calls it an error of the user.
    """

    role: str | None
    reason: str
    explanation: str
    path: tuple[str | int, ...]
    is_refused: bool = False
