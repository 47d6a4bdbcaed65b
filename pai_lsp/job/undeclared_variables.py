"""The `{{ name }}` of a definition that it does not declare under `template_variables`.

Source of the semantics: docs/protocol.md, "Template variables".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.embedded.template import variables
from pai_lsp.job.definition import Origin
from pai_lsp.source.nodes import Scalar, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.template import Variable
    from pai_lsp.job.definition import Definition

# Other template languages put dots and blanks between the same braces; a template variable is one word.
_WORD = re.compile(r"[A-Za-z_][\w-]*")
# The declarations themselves, and what only people read.
_NOT_FILLED = frozenset({"template_variables", "description", "title", "summary"})


def filled_texts(definition: Definition) -> Iterator[Scalar]:
    """The texts of a definition that may hold a template variable."""
    for entry in definition.node.effective_entries():
        if entry.name not in _NOT_FILLED:
            yield from (node for node in walk(entry.value) if isinstance(node, Scalar) and "{{" in node.text)


def undeclared_variables(definition: Definition) -> Iterator[tuple[Scalar, Variable]]:
    """The variables that nothing can fill, in a definition that is written to be required.

    Such a definition is in a catalog or in `extras.reference_prerequisites`, or has `template_variables` or
    `plugin_params`; in any other one braces mean nothing.
    """
    node = definition.node
    if definition.origin is Origin.JOB and not (node.entry("template_variables") or node.entry("plugin_params")):
        return
    declared = {variable.name for variable in definition.template_variables}
    for scalar in filled_texts(definition):
        for variable in variables(scalar.text):
            if variable.name not in declared and _WORD.fullmatch(variable.name):
                yield scalar, variable
