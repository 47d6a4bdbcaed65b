"""Convert an MPIJob to a job of OpenPAI, and a job with an MPI launcher to an MPIJob."""

from __future__ import annotations

from functools import partial

from pai_lsp.ide.refactorings.refactoring import Refactoring, RefactoringKind, line_edits, refused
from pai_lsp.platform.launchers import has_launcher
from pai_lsp.source.edits import line_end
from pai_lsp.source.nodes import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.source.text import Span

_TITLES = {"pai": "Convert to a PAI job", "mpijob": "Convert to an MPIJob"}
_REWRITE = RefactoringKind.REWRITE


def mpijob_conversion(document: Document, span: Span) -> Iterator[Refactoring]:
    """Offered at the keys of the root; the new text lists what it does not have at its top."""
    from pai_lsp.mpijob.conversion import ConversionError  # noqa: PLC0415 - few jobs are MPI programs
    from pai_lsp.mpijob.converted_text import converted_text  # noqa: PLC0415 - as above

    if document.is_catalog or not (document.is_mpijob or has_launcher(document.text)):
        return
    roots = (root for root in document.syntax.documents if isinstance(root, Mapping))
    if not any(entry.key.span.touches(span.start) for root in roots for entry in root.entries):
        return
    to = "pai" if document.is_mpijob else "mpijob"
    try:
        found = converted_text(document.job, to)
    except ConversionError as error:
        if error.code not in {"no-launcher", "not-a-job"}:
            yield refused(_TITLES[to], _REWRITE, str(error))
        return
    make = partial(line_edits, document.text, found.text_with_lost.replace("\n", line_end(document.text)))
    if document.path is not None and document.path.lower().endswith((".pai.yaml", ".pai.yml")):
        reason = "files named '.pai.yaml' are jobs; 'pai-lsp convert --to mpijob' writes another file"
        yield Refactoring(_TITLES[to], _REWRITE, None, reason, beside=to)
    else:
        yield Refactoring(_TITLES[to], _REWRITE, make, beside=to)
