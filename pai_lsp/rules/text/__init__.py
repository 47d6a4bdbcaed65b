"""Rules about YAML syntax and single characters, and how the two YAML parsers of a cluster read them."""

from __future__ import annotations

from pai_lsp.rules.text import characters, two_readers, yaml_syntax

RULES = (
    *yaml_syntax.RULES,
    *characters.RULES,
    *two_readers.RULES,
)
