"""Rules about prerequisites: definitions, references, requirements, callbacks, and the extended protocol."""

from __future__ import annotations

from pai_lsp.findings.diagnostic import rules_of
from pai_lsp.rules.prerequisites import callback_rules, extension, references, require, typed_references

RULES = rules_of(references, typed_references, require, callback_rules, extension)
