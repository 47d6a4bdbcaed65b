"""Rules about names: their form, and what refers to a task role or deployment."""

from __future__ import annotations

from pai_lsp.rules.names import invalid_names, role_names

RULES = (
    *invalid_names.RULES,
    *role_names.RULES,
)
