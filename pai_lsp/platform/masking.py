"""Which part of a job's text the runtime never sees.

Before the rest-server stores a job it replaces the text of `secrets` by asterisks, and the runtime reads what is
stored. Source: rest-server, src/utils/protocolSecret.js, mask. A byte order mark is gone by then: body-parser,
lib/read.js, decodes what is submitted with iconv-lite, lib/index.js, getDecoder, which takes it away.
"""

from __future__ import annotations

from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span

# A line begins where JavaScript's `^` says so, and its `\w` is ASCII's.
_SECRETS = lazy_pattern("(?:^|(?<=^\ufeff)|(?<=[\n\r\u2028\u2029]))secrets:")
_NEXT_WORD = lazy_pattern("(?<=[\n\r\u2028\u2029])[A-Za-z0-9_]")


def is_line_start(text: str, offset: int) -> bool:
    """Whether a line that the rest-server reads begins at an offset, be it behind the byte order mark."""
    return offset == 0 or text[offset - 1] == "\n" or (offset == 1 and text[0] == "\ufeff")


def masked_span(text: str) -> Span:
    """The text that is replaced by `secrets: "******"` and a line end; empty where nothing is masked."""
    found = _SECRETS.search(text) if "secrets:" in text else None
    if found is None:
        return Span(0, 0)
    following = _NEXT_WORD.search(text, found.end())
    return Span(found.start(), following.start() if following else len(text))
