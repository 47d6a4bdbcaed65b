"""Which part of a job's text the runtime never sees.

Before the rest-server stores a job it replaces the text of `secrets` by asterisks, and the runtime reads what is
stored. Source: rest-server, src/utils/protocolSecret.js, mask.
"""

from __future__ import annotations

import re

from pai_lsp.text import Span

# A line begins where JavaScript's `^` says so, and its `\w` is ASCII's.
_SECRETS = re.compile("(?:^|(?<=[\n\r\u2028\u2029]))secrets:")
_NEXT_WORD = re.compile("(?<=[\n\r\u2028\u2029])[A-Za-z0-9_]")


def masked_span(text: str) -> Span:
    """The text that is replaced by `secrets: "******"` and a line end; empty where nothing is masked."""
    found = _SECRETS.search(text) if "secrets:" in text else None
    if found is None:
        return Span(0, 0)
    following = _NEXT_WORD.search(text, found.end())
    return Span(found.start(), following.start() if following else len(text))
