"""Words for what goes wrong in pai-lsp itself or on the machine, without anything that the user has written.

The text of an exception may quote a job, and a job may hold secrets: only its kind and its place are reported.
"""

from __future__ import annotations

# The exit status of every program of this package that fails itself.
OWN_FAILURE = 3

PLEASE_REPORT = "this is a bug in pai-lsp; please report it"

_PACKAGE = __name__.partition(".")[0]


def why(error: OSError | UnicodeDecodeError) -> str:
    """Why a file cannot be read or written, as the operating system says it, such as `permission denied`."""
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    if isinstance(error, IsADirectoryError):
        return "it is a folder, not a file"
    return (error.strerror or str(error) or type(error).__name__).lower()


def kind_and_place(error: BaseException) -> str:
    """The kind of an exception and the last line of pai-lsp that it came through."""
    from traceback import walk_tb  # noqa: PLC0415 - only for a failure

    places = [(str(frame.f_globals.get("__name__")), line) for frame, line in walk_tb(error.__traceback__)]
    ours = [place for place in places if place[0].partition(".")[0] == _PACKAGE]
    if not places:
        return type(error).__name__
    module, line = (ours or places)[-1]
    return f"{type(error).__name__} in {module}, line {line}"
