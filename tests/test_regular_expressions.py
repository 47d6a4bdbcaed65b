"""No regular expression of the package lets two repetitions share the same characters."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from regular_expressions import shared_runs

import pai_lsp
from pai_lsp.embedded.placeholders import placeholder_spans
from pai_lsp.platform.tables import table
from pai_lsp.source.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

_LAZY = type(lazy_pattern(""))
PACKAGE = Path(pai_lsp.__file__).parent
_READERS = {"match", "search", "fullmatch", "sub", "split", "findall", "finditer", "compile"}


def of_modules() -> Iterator[tuple[str, str, int, bool]]:
    """The expressions at the top of modules, also in tables: where, text, flags, and whether whole texts must match."""
    texts = "".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py"))
    whole = set(re.findall(r"(\w+)\.fullmatch", texts))
    for module in pkgutil.walk_packages(pai_lsp.__path__, "pai_lsp."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            for number, one in enumerate(in_tables(value)):
                place = f"{module.name}.{name}" + (f" {number}" if number else "")
                if isinstance(one, _LAZY):  # a Pattern to type checkers
                    yield place, vars(one)["_expression"], vars(one)["_flags"], name in whole
                elif isinstance(one, re.Pattern) and isinstance(one.pattern, str):
                    yield place, one.pattern, one.flags, name in whole


def in_tables(value: object) -> Iterator[object]:
    """A value, or what is in a table of values."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        for one in value:
            yield from in_tables(one)
    else:
        yield value


def of_functions() -> Iterator[tuple[str, str, int, bool]]:
    """The expressions that are written where they are used, without those that are put together there."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            called, first = node.func, node.args[0]
            is_re = isinstance(called.value, ast.Name) and called.value.id == "re" and called.attr in _READERS
            if is_re and isinstance(first, ast.Constant) and isinstance(first.value, str):
                flags = re.DOTALL if "DOTALL" in ast.unparse(node) else 0
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", first.value, flags, called.attr == "fullmatch"


def of_tables() -> Iterator[tuple[str, str, int, bool]]:
    """The expressions in the tables of the package."""
    for entry in table("failure_causes.json")["patterns"]:
        yield f"failure_causes.json: {entry['cause']}", entry["pattern"], 0, False


@pytest.mark.repository
def test_no_repetitions_share_characters() -> None:
    found = (*of_functions(), *of_modules(), *of_tables())
    expressions = {(text, flags): (place, whole) for place, text, flags, whole in found}
    assert len(expressions) > 300
    shared = {
        place: (text, "".join(sorted(characters))[:8])
        for (text, flags), (place, whole) in expressions.items()
        if (characters := shared_runs(text, flags, is_whole=whole))
    }
    assert shared == {}


@pytest.mark.parametrize(
    ("expression", "is_linear"),
    [
        ("(a+)+b", False),
        ("(a|a*c)*b", False),
        ("a+a*b", False),
        ("a*b?a*c", False),
        (r"\s*\w*\s*;", False),
        (r"\s*\w+\s*;", True),
        ("(a+b)*c", True),
        ("(ba*)*c", True),
        ("a*b*c", True),
        ("a*aa*", True),
        ("(a|b)*c", True),
        (r"(?:[^\\]|\\.)*c", True),
        ("(?i)a+A+b", False),
        ("[^b]+a*b", False),
        (r"\d+\.?\d*e", False),
    ],
)
def test_what_is_found(expression: str, *, is_linear: bool) -> None:
    assert (not shared_runs(expression, 0, is_whole=False)) is is_linear


def test_a_placeholder_begins_at_the_last_opening() -> None:
    # Each opening of a long line would be followed to its end otherwise.
    text = "{{ " * 30_000 + "a }} {% if {% b %}"
    assert [text[span.start : span.end] for span in placeholder_spans(text)] == ["{{ a }}", "{% b %}"]
