"""Rules about secrets."""

from __future__ import annotations

from pai_lsp.findings.diagnostic import rules_of
from pai_lsp.rules.secrets import masked_sections, secret_values

RULES = rules_of(secret_values, masked_sections)
