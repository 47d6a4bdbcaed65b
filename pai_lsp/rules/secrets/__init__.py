"""Rules about secrets."""

from __future__ import annotations

from pai_lsp.rules.secrets import masked_sections, secret_values, secrets_in_tasks

RULES = (
    *secret_values.RULES,
    *secrets_in_tasks.RULES,
    *masked_sections.RULES,
)
