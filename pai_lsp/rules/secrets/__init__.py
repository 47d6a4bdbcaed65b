"""Rules about secrets."""

from __future__ import annotations

from pai_lsp.rules.secrets import masked_sections, secret_values

RULES = (
    *secret_values.RULES,
    *masked_sections.RULES,
)
