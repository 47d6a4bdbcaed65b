"""The rules: one module is one family, one function is one rule.

`RULES` lists every rule in the order in which their findings are given for one place.
"""

from __future__ import annotations

from pai_lsp.rules import (
    characters,
    completion,
    definition_templates,
    definitions,
    environment,
    extension,
    hived,
    images,
    names,
    notifications,
    plugin_text,
    plugin_values,
    plugins,
    prerequisites,
    readers,
    references,
    require,
    resources,
    role_names,
    storages,
    structure,
    suppression,
    syntax,
    task_variables,
    values,
)

RULES = (
    *syntax.RULES,
    *characters.RULES,
    *readers.RULES,
    *structure.RULES,
    *values.RULES,
    *names.RULES,
    *references.RULES,
    *definitions.RULES,
    *role_names.RULES,
    *require.RULES,
    *prerequisites.RULES,
    *plugins.RULES,
    *plugin_values.RULES,
    *plugin_text.RULES,
    *storages.RULES,
    *extension.RULES,
    *definition_templates.RULES,
    *images.RULES,
    *resources.RULES,
    *completion.RULES,
    *hived.RULES,
    *notifications.RULES,
    *environment.RULES,
    *task_variables.RULES,
    *suppression.RULES,
)

BY_CODE = {rule.code: rule for rule in RULES}
