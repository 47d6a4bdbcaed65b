"""The value of simple arithmetic in bash, as far as it is known before the script runs.

Source: the bash reference manual, "Shell Arithmetic".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.source.patterns import lazy_pattern

if TYPE_CHECKING:
    import ast

    from pai_lsp.embedded.shell_structure import Step, Structure

_CHANGE = lazy_pattern(r"([A-Za-z_]\w*)[ ]*(\+\+|--)")
_CHANGE_BEFORE = lazy_pattern(r"(\+\+|--)[ ]*([A-Za-z_]\w*)")
_SET = lazy_pattern(r"([A-Za-z_]\w*)[ ]*([-+*]?)=(?!=)[ ]*([^ ].*)")
_ALLOWED = lazy_pattern(r"[0-9A-Za-z_ +\-*%()<>=!]+")


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
    if match := _CHANGE_BEFORE.fullmatch(expression):
        value = names.get(match[2])
        return None if value is None else value + (1 if match[1] == "++" else -1)
    if match := _SET.fullmatch(expression):
        value = value_of(match[3], names)
        before = names.get(match[1])
        if match[2] and (before is None or value is None):
            return None
        return _computed(f"{before} {match[2]} {value}", {}) if match[2] else value
    return _computed(expression, names)


def _computed(expression: str, names: dict[str, int]) -> int | None:
    if len(expression) > 60 or not _ALLOWED.fullmatch(expression) or "**" in expression:
        return None
    import ast  # noqa: PLC0415 - most scripts have no arithmetic

    expression = re.sub(r"(?<![<>=!])=(?!=)", "==", expression)
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return None
    return _evaluated(tree.body, names)


def _evaluated(node: ast.expr, names: dict[str, int]) -> int | None:
    import ast  # noqa: PLC0415 - as above

    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _evaluated(node.operand, names)
        return None if value is None else -value
    if isinstance(node, ast.BinOp):
        kind: type[ast.AST] = type(node.op)
        operands = node.left, node.right
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        kind, operands = type(node.ops[0]), (node.left, node.comparators[0])
    else:
        return None
    left, right = (_evaluated(operand, names) for operand in operands)
    if left is None or right is None:
        return None
    results: dict[type[ast.AST], int | None] = {
        ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right, ast.Mod: left % right if right else None,
        ast.Eq: left == right, ast.NotEq: left != right, ast.Lt: left < right, ast.LtE: left <= right,
        ast.Gt: left > right, ast.GtE: left >= right,
    }  # fmt: skip
    result = results.get(kind)
    return None if result is None else int(result)


def as_assignment(expression: str) -> str:
    """An assignment that does the same as a change of a variable."""
    if match := _CHANGE.fullmatch(expression):
        return f"{match[1]}=$(({match[1]}{match[2][0]}1))"
    if match := re.fullmatch(r"([A-Za-z_]\w*)([-+*])=([0-9A-Za-z_]+)", expression):
        return f"{match[1]}=$(({match[1]}{match[2]}{match[3]}))"
    return ""
