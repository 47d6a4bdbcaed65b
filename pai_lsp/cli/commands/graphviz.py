"""Pictures of graphs: drawn by Graphviz' program `dot`, where that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from pai_lsp.source.text import visible

_LONGEST = 60  # seconds
_PROGRAM = "dot.exe" if os.name == "nt" else "dot"


class NotDrawnError(Exception):
    """The picture was not drawn; the message is the reason."""


def drawn(description: str, form: str) -> bytes:
    """The picture of a graph in Graphviz' language; `form` is `svg`, `png` or another that Graphviz knows.

    Raises:
        NotDrawnError: Graphviz is not installed, or has failed.
    """
    program = _program()
    if program is None:
        message = f"{form} needs Graphviz, but its program 'dot' is not on PATH"
        raise NotDrawnError(f"{message}; install graphviz, or use --format mermaid")
    command = [program, f"-T{form}"]
    try:
        ended = subprocess.run(  # noqa: S603 - the user's own program, and the graph is its input only
            command, input=description.encode(), capture_output=True, timeout=_LONGEST, check=False
        )
    except OSError as error:
        raise NotDrawnError(f"{visible(program)}: {(error.strerror or str(error)).lower()}") from None
    except subprocess.TimeoutExpired:
        raise NotDrawnError(f"Graphviz did not finish in {_LONGEST} seconds; use --format mermaid") from None
    if ended.returncode:
        reason = ended.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise NotDrawnError(
            f"Graphviz could not draw the graph: {visible(reason) or f'exit status {ended.returncode}'}"
        )
    return ended.stdout


def _program() -> str | None:
    """`dot` on PATH. What PATH names by a relative folder, and on Windows the current folder, may be anybody's."""
    for folder in os.get_exec_path():
        if Path(folder).is_absolute() and (found := shutil.which(str(Path(folder, _PROGRAM)))):
            return found
    return None
