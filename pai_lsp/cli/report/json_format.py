"""The findings as one JSON object, for programs. Its `version` changes when a reader would have to.

Lines and columns count from 1, offsets from 0, all in code points (a byte order mark is not counted);
`end` is the place after the last character. `start` and `end` of a related place in a file that could not be read
are null. Everything outside ASCII is escaped, so that no pipe's encoding can spoil it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pai_lsp.cli.report.results import placed

if TYPE_CHECKING:
    from pai_lsp.cli.report.results import Place, Placed, Results

VERSION = 1


def render(results: Results) -> str:
    """The object, with one diagnostic a line so that two reports can be compared by line."""
    diagnostics = [json.dumps(_diagnostic(item)) for item in placed(results)]
    body = "".join(f"\n{text}," for text in diagnostics).removesuffix(",") + ("\n" if diagnostics else "")
    return f'{{"version": {VERSION}, "files": {len(results.files)}, "diagnostics": [{body}]}}\n'


def _diagnostic(item: Placed) -> dict[str, Any]:
    diagnostic = item.diagnostic
    return {
        "path": item.path,
        "code": diagnostic.code,
        "severity": diagnostic.severity.label,
        "message": diagnostic.message,
        "start": _place(item.start),
        "end": _place(item.end),
        "url": diagnostic.url,
        "fixable": any(fix.safe for fix in diagnostic.fixes),
        "related": [
            {
                "path": related.path,
                "message": related.message,
                "start": _place(related.start),
                "end": _place(related.end),
            }
            for related in item.related
        ],
    }


def _place(place: Place | None) -> dict[str, int] | None:
    return None if place is None else {"line": place.line, "column": place.column, "offset": place.offset}
