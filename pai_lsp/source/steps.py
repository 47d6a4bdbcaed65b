"""How many steps a rule may take: counted where rules pass, so that no clock and no machine decides what is found.

The cost of a loop over the parts of a job, or of a search for lines, is taken from the allowance of its caller.
"""

from __future__ import annotations

from _contextvars import ContextVar  # what `contextvars` gives; importing that takes longer

from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeVar

    Item = TypeVar("Item")


class OutOfSteps(Exception):  # noqa: N818 - nothing failed
    """The allowance is used up."""


class Allowance:
    """How many steps are left."""

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps


# Of the work that runs in this context; without one nothing is counted.
ALLOWANCE: ContextVar[Allowance | None] = ContextVar("steps that are left", default=None)


def spend(steps: int) -> None:
    """Take steps from the allowance of this context.

    Raises:
        OutOfSteps: if it has fewer.
    """
    allowance = ALLOWANCE.get()
    if allowance is not None:
        allowance.left -= steps
        if allowance.left < 0:
            raise OutOfSteps


# Rules begin a hundred loops in a job of 40 lines: to count those would take a tenth of its check.
FEW = 50


class _Counted(tuple[object, ...]):
    __slots__ = ()

    def __iter__(self) -> Iterator[object]:
        spend(len(self))
        return super().__iter__()


def counted(items: Iterable[Item]) -> tuple[Item, ...]:
    """A tuple of the items; of more than a few, each loop costs as many steps as there are items.

    Raises:
        OutOfSteps: by the loop, not here.
    """
    found = tuple(items)
    return found if len(found) <= FEW else _Counted(found)  # type: ignore[return-value]  # holds what it is given
