"""The rules: one folder is a subject, one module a family, one function a rule.

`RULES` lists every rule, in the order in which findings at one place are shown.
"""

from __future__ import annotations

from pai_lsp.findings import suppression
from pai_lsp.rules import commands, names, plugins, prerequisites, resources, secrets, structure, templates, text

RULES = (
    *text.RULES,
    *structure.RULES,
    *names.RULES,
    *prerequisites.RULES,
    *plugins.RULES,
    *templates.RULES,
    *secrets.RULES,
    *resources.RULES,
    *commands.RULES,
    *suppression.RULES,
)

BY_CODE = {rule.code: rule for rule in RULES}
