"""`lazy`: a property that is computed when first asked for, once per object, even by threads that ask at the same time.

`functools.cached_property` is not enough here. Up to Python 3.11 it holds one lock for all objects of a class, so that
one slow text would hold up all others; since 3.12 it holds none, so that two threads would build two trees of one text.
"""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from functools import cached_property as lazy

__all__ = ["lazy"]


class _Lazy:
    """The property; what it has computed is kept in the object under the same name, where Python finds it first."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        if instance is None:
            return self
        kept = vars(instance)
        with kept.setdefault(f"_lock_of_{self._name}", RLock()):
            if self._name not in kept:
                kept[self._name] = self._compute(instance)
        return kept[self._name]


if not TYPE_CHECKING:
    lazy = _Lazy
