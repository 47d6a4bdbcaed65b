"""Shared code of the rules about templates: the consequence of an unresolved template, and its fixes."""

from __future__ import annotations

from pai_lsp.embedded.template import ROOTS
from pai_lsp.findings.diagnostic import Consequence, Finding, Fix, Fixes, Related, later
from pai_lsp.job.definition import TYPED_FIELDS
from pai_lsp.job.template_answers import followed
from pai_lsp.job.template_uses import TemplatePlace
from pai_lsp.source.edits import add_to_section, insert_entry
from pai_lsp.source.nodes import Mapping, Scalar, ScalarStyle, Sequence
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import server_text
from pai_lsp.source.spelling import nearest
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING
from pai_lsp.source.writing import quoted, scalar_line, written_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.template_answers import TemplateAnswer
    from pai_lsp.job.template_uses import TemplateUse
    from pai_lsp.source.nodes import Node

_SENSIBLE_NAME = lazy_pattern(r"[\w-]+(?: [\w-]+)*")
_LAST_ROOT = lazy_pattern(r"[^\w$]+(\$\w+)")
# Characters that mean the same in every YAML style and context.
_HARMLESS = lazy_pattern(r"[\w./@+-]+")


def consequence(job: Job, answer: TemplateAnswer) -> str:
    """The consequence of an unresolved template.

    Sources: rest-server, middlewares/v2/protocol.js, render (it keeps the template text); openpai-runtime,
    src/init.d/user_command_renderer.py (in a job with secrets every other template becomes empty) and initializer.py,
    replace_ref.
    """
    if answer.in_plugin:
        return "the task dies before it starts"
    if answer.use.place is TemplatePlace.AUTH:
        return "the registry receives the template text unchanged"
    return "the command receives an empty string" if job.secrets else "bash receives the template text unchanged"


def unresolved(
    answer: TemplateAnswer, message: str, fixes: Fixes = (), related: tuple[Related, ...] = (), span: Span | None = None
) -> Finding:
    """The finding about a name in a template, or about another part of it; a task with a plugin dies of it."""
    dies = Consequence.DIES if answer.in_plugin else None
    return Finding(span or answer.span, message, fixes, related, consequence=dies)


def definition_place(answer: TemplateAnswer) -> tuple[Related, ...]:
    """The definition of the prerequisite that a path leads into."""
    definition = answer.field_value
    return (Related(definition.name_span, f"{answer.root} is '{definition.name}'"),) if definition else ()


@later
def add_name_fix(job: Job, section: str, name: str) -> Fixes:
    """Define a parameter or secret with an empty value."""
    if not _SENSIBLE_NAME.fullmatch(name):
        return ()
    edit = add_to_section(job.text, job.root, section, f"{written_key(name)}: ''")
    return (Fix(f"Add the {section.removesuffix('s')} '{name}'", (edit,)),) if edit else ()


@later
def add_field_fix(job: Job, field: str, roles: tuple[TaskRole, ...]) -> Fixes:
    """Name the only prerequisite of a type in the field, in all roles without that field."""
    fitting = [one for one in job.prerequisites if one.type == TYPED_FIELDS[field] and one.name]
    if len(fitting) != 1:
        return ()
    edits: list[TextEdit] = []
    for role in roles:
        if role.node is None or not role.node.entries or role.node.is_flow:
            return ()
        edits.append(insert_entry(job.text, role.node, f"{field}: {fitting[0].name}", role.node.own("dockerImage")))
    return (Fix(f"Add '{field}: {fitting[0].name}'", tuple(dict.fromkeys(edits))),)


def quote_insertions(scalar: Node | None) -> tuple[TextEdit, ...]:
    """Quote a plain scalar by two insertions, so that a secret's value is not part of the edit."""
    if not isinstance(scalar, Scalar) or scalar.style is not ScalarStyle.PLAIN or "'" in scalar.text or not scalar.text:
        return ()
    span = scalar.span
    return (TextEdit(Span(span.start, span.start), "'"), TextEdit(Span(span.end, span.end), "'"))


def _nodes_at(job: Job, offset: int) -> Iterator[tuple[str, Node]]:
    """The nodes below the root that a place in the file is in, the innermost last, each with its key; none for an item.

    Of a mapping, what its entry holds, also for a place in the key.
    """
    node: Node | None = job.root
    while node is not None and not isinstance(node, Scalar):
        if isinstance(node, Mapping):
            inner = ((one.name, one.value) for one in node.entries if offset in one.span)
        else:
            inner = (("", one) for one in node.items if offset in one.span)
        key, node = next(inner, ("", None))
        if node is not None:
            yield key, node


def text_at(job: Job, offset: int) -> tuple[tuple[str, ...], Scalar | None]:
    """The keys that lead to a place in the file (list items as empty names), and the scalar there."""
    found = [*_nodes_at(job, offset)]
    last = found[-1][1] if found else None
    return tuple(key for key, _ in found), last if isinstance(last, Scalar) and offset in last.span else None


def may_hold_brackets(job: Job, offset: int) -> bool:
    """Whether brackets at a place are part of a string; in a plain scalar inside `[ ]` or `{ }` they are syntax."""
    nodes: list[Node | None] = [job.root, *(node for _, node in _nodes_at(job, offset))]
    is_flow = any(isinstance(node, (Mapping, Sequence)) and node.is_flow for node in nodes)
    return isinstance(nodes[-1], Scalar) and not (is_flow and nodes[-1].style is ScalarStyle.PLAIN)


@later
def inlined(job: Job, use: TemplateUse, scalar: Scalar | None) -> Fixes:
    """Write a parameter's value instead of a template that is never filled."""
    root = str(use.tag.server_steps[0].name)
    section = job.mapping("parameters")
    if root != "$parameters" or section is None or scalar is None or scalar.is_block:
        return ()
    node = followed(use.tag, section, None, in_plugin=False).node
    if not isinstance(node, Scalar) or node.value is None:
        return ()
    value = server_text(node.value)
    is_harmless = _HARMLESS.fullmatch(value) is not None
    if scalar.style is not ScalarStyle.PLAIN:
        return (Fix(f"Write '{value}'", (TextEdit(use.span, value),)),) if is_harmless else ()
    if "\n" in job.text[scalar.span.start : scalar.span.end]:
        return ()
    text = scalar.text.replace(job.text[use.span.start : use.span.end], value)
    return (Fix(f"Write '{value}'", (TextEdit(scalar.span, scalar_line(text) if is_harmless else quoted(text)),)),)


@later
def secret_instead(job: Job, answer: TemplateAnswer) -> Fixes:
    """Use a secret of the same name and value instead of a parameter."""
    steps = answer.steps
    if answer.root != "$parameters" or len(steps) != 2:
        return ()
    name = str(steps[1].name)
    edits = [TextEdit(answer.step_span(0), "$secrets")]
    if name not in job.secrets:
        entry = job.parameters.get(name)
        written = job.text[entry.value.span.start : entry.value.span.end] if entry else "\n"
        edit = add_to_section(job.text, job.root, "secrets", f"{written_key(name)}: {written}")
        if edit is None or "\n" in written:
            return ()
        edits.append(edit)
    return (Fix(f"Use the secret '{name}'", tuple(edits)),)


def meant_root(job: Job, answer: TemplateAnswer) -> str:
    """What an unknown root surely means: one of the five, or one with a name after it; empty if unknown."""
    root = answer.root.strip()
    if root in {*ROOTS, "this"}:
        return root
    if root.startswith("$"):
        near = nearest(root, ROOTS)
        return near[0] if near else ""
    if (last := _LAST_ROOT.fullmatch(root)) and last[1] in ROOTS:
        return last[1]
    for known in ROOTS:
        if root.lower().rstrip("s") == known[1:].rstrip("s"):
            return known
    alone = len(answer.steps) == 1
    if alone and root in job.parameters:
        return f"$parameters.{root}"
    return f"$secrets.{root}" if alone and root in job.secrets else ""
