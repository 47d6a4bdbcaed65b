"""Explains the log of a failure, the portal's diagnostics, or an event."""

from __future__ import annotations

import sys
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS, failed, write_answer
from pai_lsp.cli.commands.live_cluster import cluster_name
from pai_lsp.cluster.log_reading import read_log
from pai_lsp.cluster.why import NOT_KNOWN, failure, failure_answer, failure_text
from pai_lsp.project.targets import STANDARD_INPUT, missing, run_projects
from pai_lsp.source.failures import why
from pai_lsp.source.files import UnreadableFile, read_bytes
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse
    from typing import BinaryIO

    from pai_lsp.cluster.log_reading import Log
    from pai_lsp.job.job import Job


def explain_text(arguments: argparse.Namespace) -> int:
    """Explain a text; returns the exit status."""
    text = arguments.text
    if not text.strip():
        return failed("why", "the text is empty; give an exit code, a file or the end of a log")
    if _is_unknown_word(text):
        if (cluster := cluster_name(None, run_projects())) is not None:
            from pai_lsp.cli.commands.why_job import explain_job  # noqa: PLC0415 - a text needs no cluster

            return explain_job(arguments, cluster)
        message = "is neither an exit code, a file nor a known message; for a job on a cluster, give --cluster"
        return failed("why", f"'{visible(text)}' {message}")
    return _explain(text, arguments)


def _is_unknown_word(given: str) -> bool:
    """Whether a word is neither a file nor a message by itself, such as `OOMKilled`."""
    is_word = given != STANDARD_INPUT and "\n" not in given and " " not in given and missing([given])
    return bool(is_word) and failure(given).cause.name == NOT_KNOWN


def _explain(given: str, arguments: argparse.Namespace) -> int:
    job: Job | None = None
    if arguments.job is not None:
        from pai_lsp.cli.commands.job_file import job_file  # noqa: PLC0415 - a log alone needs no rules
        from pai_lsp.cli.report.results import CheckedFile  # noqa: PLC0415 - as above

        document = job_file(arguments.job, run_projects())
        if isinstance(document, CheckedFile):
            return failed("why", f"{visible(arguments.job)}: {document.diagnostics[0].message}")
        job = document.job
    more: list[str] = []
    for file in (arguments.platform_log, arguments.diagnostics):
        data = b"" if file is None else read_bytes(file)
        if isinstance(data, UnreadableFile):
            return failed("why", f"{visible(data.path)}: {data.message}")
        more.append(data.decode("utf-8", "replace"))
    try:
        found = failure(_text(given), job, arguments.exit_code, more[0], arguments.role, more[1])
    except OSError as error:
        return failed("why", f"{visible(given)}: {why(error)}")
    shown = failure_text(found, job, visible(arguments.job or ""))
    write_answer(failure_answer(found, job), shown, arguments.format)
    return FINDINGS if found.cause.name == NOT_KNOWN else 0


def _text(given: str) -> str | Log:
    """The log in a file or on standard input; what is not a file is a pasted text itself.

    Raises:
        OSError: if the file cannot be read.
    """
    if given == STANDARD_INPUT:
        return _log(sys.stdin.buffer)
    if missing([given]):
        return given
    with open(given, "rb") as file:  # noqa: PTH123 - importing pathlib takes a while
        return _log(file)


# A text up to this size is read as a whole: diagnostics have sections of several lines.
_MOST_BYTES_OF_TEXT = 256 * 1024
_PIECE = 1024 * 1024


def _log(file: BinaryIO) -> str | Log:
    first = file.read(_PIECE)
    if len(first) <= _MOST_BYTES_OF_TEXT:
        return first.decode("utf-8", "replace")
    return read_log(chain([first], iter(partial(file.read, _PIECE), b"")))
