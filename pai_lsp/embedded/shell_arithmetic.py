"""The value of simple arithmetic in bash, as far as it is known before the script runs.

Source: the bash reference manual, "Shell Arithmetic".
"""

from __future__ import annotations

import re
from operator import add, eq, ge, gt, le, lt, mod, mul, ne, neg, sub
from typing import TYPE_CHECKING

from pai_lsp.source.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pai_lsp.embedded.shell_structure import Step, Structure

_CHANGE = lazy_pattern(r"([A-Za-z_]\w*)[ ]*(\+\+|--)")
_CHANGE_BEFORE = lazy_pattern(r"\A([-+])\1[ ]*([A-Za-z_]\w*)\Z")
_SET = lazy_pattern(r"\A([A-Za-z_]\w*)[ ]*([-+*]?)=(?!=)[ ]*([^ ].*)")
_ALLOWED = lazy_pattern(r"[0-9A-Za-z_ +\-*%()<>=!]+")
# By the names of Python's syntax tree.
_OPERATIONS: dict[str, Callable[..., int]] = {
    "Add": add, "Sub": sub, "Mult": mul, "Mod": mod, "USub": neg,
    "Eq": eq, "NotEq": ne, "Lt": lt, "LtE": le, "Gt": gt, "GtE": ge,
}  # fmt: skip


def learn(tree: Structure, step: Step, known: dict[str, int]) -> None:
    """Keep the values of variables that are surely known after a step."""
    for assignment in step.assigned:
        value = assignment.plain_value
        if value is not None and re.fullmatch(r"-?[0-9]{1,9}", value) and step.kind == "assignment":
            known[assignment.name] = int(value)
        else:
            known.pop(assignment.name, None)
    if step.kind == "arithmetic" or (step.command is not None and step.command.name in {"let", "read"}):
        changed = tree.script.text[step.span.start : step.span.end]
        for name in [name for name in known if name in changed]:
            del known[name]


def value_of(expression: str, names: dict[str, int]) -> int | None:
    """The value of simple arithmetic with known variables; None where it is not known."""
    if match := _CHANGE.fullmatch(expression):
        return names.get(match[1])
    if (match := _SET.match(expression)) and not match[2]:
        return value_of(match[3], names)
    # These give what the variable is afterwards; `expr` compares with one sign.
    expression = _SET.sub(r"\1 \2 (\3)", _CHANGE_BEFORE.sub(r"\2 \1 1", expression))
    expression = re.sub(r"(?<![<>=!])=(?!=)", "==", expression)
    if len(expression) > 60 or not _ALLOWED.fullmatch(expression):
        return None
    import ast  # noqa: PLC0415 - most scripts have no arithmetic

    try:
        return _evaluated(ast.parse(expression.strip(), mode="eval").body, names)
    except (SyntaxError, LookupError, ArithmeticError, ValueError, TypeError):
        return None


def _evaluated(node: Any, names: dict[str, int]) -> int:
    """The value of a node of Python's syntax tree; fails where it is not known."""
    kind = type(node).__name__
    if kind == "Constant":
        return int(node.value)
    if kind == "Name":
        return names[node.id]
    if kind == "UnaryOp":
        operation, values = node.op, [node.operand]
    elif kind == "BinOp":
        operation, values = node.op, [node.left, node.right]
    elif kind == "Compare" and len(node.ops) == 1:
        operation, values = node.ops[0], [node.left, node.comparators[0]]
    else:
        raise LookupError(kind)
    return int(_OPERATIONS[type(operation).__name__](*(_evaluated(one, names) for one in values)))


def as_assignment(expression: str) -> str:
    """An assignment that does the same as a change of a variable."""
    if match := _CHANGE.fullmatch(expression):
        return f"{match[1]}=$(({match[1]}{match[2][0]}1))"
    if match := re.fullmatch(r"([A-Za-z_]\w*)([-+*])=([0-9A-Za-z_]+)", expression):
        return f"{match[1]}=$(({match[1]}{match[2]}{match[3]}))"
    return ""
