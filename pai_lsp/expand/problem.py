"""What keeps a job from being expanded: diagnostics, always errors, under the codes of the rules where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.diagnostic import Diagnostic, Related, Severity

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from pai_lsp.text import Span

    # Takes a problem: its code, its place in the job, and the message.
    Report: TypeAlias = Callable[[str, Span, str], None]

# Something is wrong or not known.
CANNOT_BE_EXPANDED = "cannot-be-expanded"
# All is known, and a released cluster has no form for it.
CANNOT_BE_EXPRESSED = "cannot-be-expressed"
# Nothing says which definitions are meant.
BROKEN_LOCK_FILE = "broken-lock-file"


def problem(code: str, span: Span, message: str, *related: Related) -> Diagnostic:
    """One problem."""
    return Diagnostic(code, Severity.ERROR, span, message, related=related)
