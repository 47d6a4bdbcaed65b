"""Rules about templates (`<% %>` and `{{ }}`) and the values that they insert."""

from __future__ import annotations

from pai_lsp.findings.diagnostic import rules_of
from pai_lsp.rules.templates import definition_templates, parameters, template_names, template_syntax

RULES = rules_of(definition_templates, template_syntax, template_names, parameters)
