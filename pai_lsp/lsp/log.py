"""Logs failures of pai-lsp without any text of the user, as `pai_lsp.source.failures` describes them elsewhere.

The text of an exception may quote a job, and a job may hold secrets: only its kind and places in our code are logged.
"""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


class QuietFormatter(logging.Formatter):
    """Formats a record with the traceback of its exception and without the exception's text."""

    def format(self, record: logging.LogRecord) -> str:
        """The record; a traceback formatted by another formatter is not used."""
        kept, record.exc_text = record.exc_text, None
        try:
            return super().format(record)
        finally:
            record.exc_text = kept

    def formatException(  # noqa: N802 - the name is the base class'
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None],
    ) -> str:
        """One line for each frame, the innermost last, and the type of the exception."""
        kind, _, place = ei
        frames = traceback.extract_tb(place)
        return "\n".join([*(f"  {_place(frame)}" for frame in frames), kind.__name__ if kind else ""])


def log_to_stderr(level: int = logging.WARNING) -> None:
    """Let only our own loggers write to standard error, which editors show.

    pygls logs whole messages with the texts in them, on every level.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(QuietFormatter("%(levelname)s %(name)s: %(message)s"))
    ours = logging.getLogger("pai_lsp")
    ours.addHandler(handler)
    ours.setLevel(level)
    ours.propagate = False
    for name in ("pygls", "asyncio"):
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())
        logger.setLevel(logging.CRITICAL + 1)
        logger.propagate = False


def _place(frame: traceback.FrameSummary) -> str:
    name = frame.filename.replace("\\", "/")
    here = name.rfind("/pai_lsp/")
    return f"{name[here + 1 :] if here >= 0 else name.rsplit('/', 1)[-1]}:{frame.lineno} ({frame.name})"
