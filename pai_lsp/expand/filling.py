"""Filling what the extended protocol fills in a definition: `{{ variable }}` and `<% this.key %>`.

Source of the semantics: docs/protocol.md, "Template variables" and "Expansion of a task role". Everything is filled
once: what is put in is not read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pai_lsp.embedded.template import MISSING, filled
from pai_lsp.job.this_lookup import looked_up, this_tags, with_required
from pai_lsp.source.nodes import Mapping, Node, Scalar, Sequence, plain_value
from pai_lsp.source.scalar import server_text

if TYPE_CHECKING:
    from pai_lsp.embedded.template import TemplateTag
    from pai_lsp.job.require_graph import Step


def step_text(text: str, step: Step) -> str:
    """A text of a step's definition with everything filled that can be."""
    parts: list[str] = []
    at = 0
    for tag in this_tags(step.definition, text):
        value = _this(tag, step)
        if value is not MISSING:
            parts += (_as_text(filled(text[at : tag.span.start], step.values)), server_text(value))
            at = tag.span.end
    return "".join([*parts, _as_text(filled(text[at:], step.values))])


def step_value(node: Node, step: Step) -> Any:
    """A node of a step's definition as a plain value, its strings filled; a text that is one variable is its value."""
    if isinstance(node, Mapping):
        return {entry.name: step_value(entry.value, step) for entry in node.effective_entries()}
    if isinstance(node, Sequence):
        return [step_value(item, step) for item in node.items]
    if not node.is_string:
        return node.value
    return step_text(node.text, step) if this_tags(step.definition, node.text) else filled(node.text, step.values)


def is_filled(scalar: Scalar, step: Step) -> bool:
    """Whether filling changes the scalar."""
    return ("{{" in scalar.text or "<%" in scalar.text) and scalar.is_string and step_value(scalar, step) != scalar.text


def _this(tag: TemplateTag, step: Step) -> Any:
    """What a tag finds, with the variables of its definition filled."""
    steps = tuple(with_required(step, lambda one: one.required))
    answer = looked_up(tag, (one.definition for one in steps))
    if answer.node is None:
        return MISSING
    holder = next(one for one in steps if one.definition is answer.holder)
    return filled(plain_value(answer.node), holder.values)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else server_text(value)
