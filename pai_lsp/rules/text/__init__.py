"""Rules about YAML syntax and single characters, and how the two YAML parsers of a cluster read them."""

from __future__ import annotations

from pai_lsp.findings.diagnostic import rules_of
from pai_lsp.rules.text import characters, two_readers, yaml_syntax

RULES = rules_of(yaml_syntax, characters, two_readers)
