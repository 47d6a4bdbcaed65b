"""Which part of a job's text the runtime never sees.

Before the rest-server stores a job it replaces the text of `secrets` by asterisks, and the runtime reads what is
stored. Source: rest-server, src/utils/protocolSecret.js, mask. A byte order mark is gone by then: body-parser,
lib/read.js, decodes what is submitted with iconv-lite, lib/index.js, getDecoder, which takes it away.
"""

from __future__ import annotations

from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span

# A line begins where JavaScript's `^` matches, and its `\w` matches ASCII alone.
_SECRETS, _LINE_ENDS = "secrets:", "\n\r\u2028\u2029"
_NEXT_WORD = lazy_pattern(f"[{_LINE_ENDS}][A-Za-z0-9_]")


def is_line_start(text: str, offset: int) -> bool:
    """Whether a line that the rest-server reads begins at an offset, perhaps after the byte order mark."""
    return offset == 0 or text[offset - 1] == "\n" or (offset == 1 and text[0] == "\ufeff")


def masked_span(text: str) -> Span:
    """The text that is replaced by `secrets: "******"` and a line end; empty where nothing is masked."""
    start = text.find(_SECRETS)
    while start > 0 and text[start - 1] not in _LINE_ENDS and not (start == 1 and text[0] == "\ufeff"):
        start = text.find(_SECRETS, start + 1)
    if start < 0:
        return Span(0, 0)
    following = _NEXT_WORD.search(text, start + len(_SECRETS))
    return Span(start, following.end() - 1 if following else len(text))
