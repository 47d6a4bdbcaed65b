"""Rules about runtime plugins and their parameters."""

from __future__ import annotations

from pai_lsp.rules.plugins import plugin_entries, plugin_text, plugin_values, ssh, storage_rules

RULES = (
    *plugin_entries.RULES,
    *plugin_values.RULES,
    *ssh.RULES,
    *plugin_text.RULES,
    *storage_rules.RULES,
)
