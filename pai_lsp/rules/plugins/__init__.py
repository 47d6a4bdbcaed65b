"""Rules about runtime plugins and their parameters."""

from __future__ import annotations

from pai_lsp.findings.diagnostic import rules_of
from pai_lsp.rules.plugins import plugin_entries, plugin_text, plugin_values, ssh, storage_rules

RULES = rules_of(plugin_entries, plugin_values, ssh, plugin_text, storage_rules)
