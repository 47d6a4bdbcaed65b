"""Classes of values: what they promise, and that they promise it as the standard library's do."""

from __future__ import annotations

import ast
import dataclasses
import pickle
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pai_lsp.source import frozen
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator


@frozen.dataclass(frozen=True, slots=True, order=True)
class Ours:
    """With a default and a list of its own."""

    a: int
    b: str = "b"
    c: list[int] = frozen.field(default_factory=list, repr=False)


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Standard:
    """The same, from the standard library."""

    a: int
    b: str = "b"
    c: list[int] = dataclasses.field(default_factory=list, repr=False)


@frozen.dataclass(frozen=True, eq=False)
class Open:
    """Without slots, so that a part can be made when it is first asked for."""

    a: int

    @cached_property
    def twice(self) -> int:
        return self.a * 2


@frozen.dataclass_of_many(frozen=True, slots=True, order=True)
class Many:
    """Without the guard."""

    a: int
    b: str = "b"


def test_a_class_of_many_is_made_and_compared_alike() -> None:
    made = [Many(number) for number in range(9)]
    assert [(one.a, one.b) for one in made] == [(number, "b") for number in range(9)]
    assert max(made) == made[-1]
    assert {*made} == {Many(number, "b") for number in range(9)}


@pytest.mark.parametrize("cls", [Ours, Standard])
def test_the_same_promises(cls: Any) -> None:
    one = cls(1)
    assert (one.a, one.b, one.c) == (1, "b", [])
    assert one.c is not cls(1).c
    assert one == cls(1, b="b") != cls(2)
    assert one != (1, "b", [])
    assert cls(1, "a") < cls(1, "b") < cls(2, "a")
    assert repr(one) == f"{cls.__name__}(a=1, b='b')"
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301 - our own bytes
    with pytest.raises(AttributeError):
        one.a = 2
    with pytest.raises(AttributeError):
        del one.a
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        cls()


def test_replacing() -> None:
    assert frozen.replace(Ours(1), b="c") == Ours(1, "c")


def test_values_hash_by_their_fields() -> None:
    assert len({Span(1, 2), Span(1, 2), Span(1, 3)}) == 2


def test_identity_and_cached_parts() -> None:
    one = Open(2)
    assert (one.twice, one == Open(2), one == one) == (4, False, True)  # noqa: PLR0124 - that is the question


# What changes while something is read, written or run; all other classes of values are frozen.
MUTABLE = {
    "Arguments", "Converted", "Pieces", "PluginScripts", "Step", "Tree", "_Frame",
    "_Level", "_OpenCollection", "_OpenStep", "_Pod", "_Run", "_Tag", "_UnfinishedCommand",
}  # fmt: skip
# Values with a part that is made when it is first asked for have no slots; these have none for other reasons.
OPEN = {"api.Related", "api.Diagnostic", "loading.RecordingLookup"}


def decorated_classes() -> Iterator[tuple[str, str, dict[str, bool], bool]]:
    """Module and name of each class of values, what its decorator asks for, and whether a part of it is made later."""
    for path in sorted((Path(__file__).parent.parent / "pai_lsp").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for one in node.decorator_list if isinstance(node, ast.ClassDef) else ():
                if isinstance(node, ast.ClassDef) and ast.unparse(one).startswith("dataclass"):
                    text = ast.unparse(node)
                    is_made_later = "@cached_property" in text or "@lazy" in text
                    options = {key.arg or "": ast.literal_eval(key.value) for key in getattr(one, "keywords", ())}
                    yield path.stem, node.name, options, is_made_later


def test_values_are_frozen_and_have_slots() -> None:
    found = list(decorated_classes())
    assert len(found) > 200
    assert {name for _, name, options, _ in found if not options.get("frozen")} == MUTABLE
    for module, name, options, is_made_later in found:
        assert options.get("slots", False) is not (is_made_later or f"{module}.{name}" in OPEN), name
