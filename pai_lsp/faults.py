"""Describes failures of our own without what the user has written.

The text of an exception may quote a job, and a job may hold secrets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


def described(error: BaseException) -> str:
    """The kind of an exception and the place in the code where it was raised, without its text."""
    place: TracebackType | None = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None:
        return type(error).__name__
    return f"{type(error).__name__} in {place.tb_frame.f_globals.get('__name__')}, line {place.tb_lineno}"
