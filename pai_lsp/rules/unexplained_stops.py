"""The rule about task roles that never start although no other rule finds an error.

`check` asks it last, and only about jobs without errors: `as_is.released_run` knows what a released cluster does with a
job, in every detail, and the other rules say why in the author's words.
"""

from __future__ import annotations

from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.platform.tables import RUNTIME_PLUGIN
from pai_lsp.rules.structure.structure_places import line_of_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job


@rule(Severity.ERROR, is_last=True)
def task_never_starts(job: Job) -> Iterator[Finding]:
    """A task role never starts, for a reason that no other rule reports.

    The rest-server refuses the job, or the runtime fails while it prepares the task. `pai-lsp expand --as-is` shows the
    same. Reported only if there is no other error in the file.
    Source: rest-server, src/middlewares/v2/protocol.js; openpai-runtime, src/init.d/initializer.py.
    """
    if RUNTIME_PLUGIN not in job.text and "secrets" not in job.text:
        return  # the runtime has nothing to prepare, and other rules report what the rest-server refuses
    if job.root is None or job.syntax.problems:
        return
    from pai_lsp.expansion.as_is.released_run import released_run  # noqa: PLC0415 - many jobs need none of it

    for stop in released_run(job).stops:
        span = stop.span if len(stop.span) else line_of_content(job.text)
        yield Finding(span, f"the task never starts: {stop.message}")


RULES = (task_never_starts,)
