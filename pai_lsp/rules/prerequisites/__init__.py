"""Rules about prerequisites: definitions, references, requirements, callbacks, and the extended protocol."""

from __future__ import annotations

from pai_lsp.rules.prerequisites import callback_rules, extension, references, require, typed_references

RULES = (
    *references.RULES,
    *typed_references.RULES,
    *require.RULES,
    *callback_rules.RULES,
    *extension.RULES,
)
