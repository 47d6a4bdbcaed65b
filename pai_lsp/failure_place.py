"""What a failure of our own says: the kind of the exception and where it was raised.

The text of an exception may quote a job, and a job may hold secrets, so it is left out, in logs as in answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


def kind_and_place(error: BaseException) -> str:
    """The kind of an exception and the place where it was raised."""
    last: TracebackType | None = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return type(error).__name__
    code = last.tb_frame.f_code
    return f"{type(error).__name__} in {code_place(code.co_filename, last.tb_lineno, code.co_name)}"


def code_place(file: str, line: int | None, function: str) -> str:
    """A place in the code, from the package on."""
    name = file.replace("\\", "/")
    here = name.rfind("/pai_lsp/")
    return f"{name[here + 1 :] if here >= 0 else name.rsplit('/', 1)[-1]}:{line} ({function})"
