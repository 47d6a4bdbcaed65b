"""Rules about prerequisites: definitions, references, requirements, callbacks, and the extended protocol."""

from __future__ import annotations

from pai_lsp.rules.prerequisites import (
    callback_rules,
    definitions,
    extension,
    failure_policies,
    references,
    require,
    typed_references,
)

RULES = (
    *references.RULES,
    *typed_references.RULES,
    *definitions.RULES,
    *require.RULES,
    *callback_rules.RULES,
    *failure_policies.RULES,
    *extension.RULES,
)
