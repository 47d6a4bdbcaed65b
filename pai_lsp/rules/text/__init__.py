"""Rules about the text as YAML and about its characters: what the two readers of a cluster make of them."""

from __future__ import annotations

from pai_lsp.rules.text import anchors, characters, two_readers, yaml_syntax

RULES = (
    *yaml_syntax.RULES,
    *characters.RULES,
    *two_readers.RULES,
    *anchors.RULES,
)
