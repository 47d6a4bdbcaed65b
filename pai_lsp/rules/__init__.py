"""The rules: one module is one family, one function is one rule.

`RULES` lists every rule in the order in which their findings are given for one place.
"""

from __future__ import annotations

from pai_lsp.rules import (
    completion,
    hived,
    images,
    names,
    notifications,
    references,
    resources,
    structure,
    suppression,
    syntax,
    values,
)

RULES = (
    *syntax.RULES,
    *structure.RULES,
    *values.RULES,
    *names.RULES,
    *references.RULES,
    *images.RULES,
    *resources.RULES,
    *completion.RULES,
    *hived.RULES,
    *notifications.RULES,
    *suppression.RULES,
)

BY_CODE = {rule.code: rule for rule in RULES}
