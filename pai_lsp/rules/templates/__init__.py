"""Rules about templates (`<% %>` and `{{ }}`) and the values that they insert."""

from __future__ import annotations

from pai_lsp.rules.templates import definition_templates, parameters, template_names, template_syntax

RULES = (
    *definition_templates.RULES,
    *template_syntax.RULES,
    *template_names.RULES,
    *parameters.RULES,
)
