"""The part of rpds-py that jsonschema and referencing use, in plain Python.

rpds-py is compiled, and there is no wheel of it for the browser. Each change gives a new value, as there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class HashTrieMap(Mapping[K, V]):
    """A mapping that never changes."""

    def __init__(self, items: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        self._items: dict[K, V] = dict(items)

    @classmethod
    def convert(cls, value: Any) -> HashTrieMap[K, V]:
        """The value as such a mapping."""
        return value if isinstance(value, HashTrieMap) else cls(value)

    def insert(self, key: K, value: V) -> HashTrieMap[K, V]:
        """With one more entry."""
        return HashTrieMap({**self._items, key: value})

    def remove(self, key: K) -> HashTrieMap[K, V]:
        """Without an entry; KeyError if there is none."""
        items = dict(self._items)
        del items[key]
        return HashTrieMap(items)

    def update(self, *more: Any) -> HashTrieMap[K, V]:
        """With the entries of others."""
        items = dict(self._items)
        for one in more:
            items.update(one)
        return HashTrieMap(items)

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


class HashTrieSet(frozenset[K]):
    """A set that never changes."""

    def insert(self, one: K) -> HashTrieSet[K]:
        """With one more."""
        return HashTrieSet(self | {one})

    def discard(self, one: K) -> HashTrieSet[K]:
        """Without it."""
        return HashTrieSet(self - {one})

    def update(self, *more: Iterable[K]) -> HashTrieSet[K]:
        """With all of others."""
        return HashTrieSet(self.union(*more))


class List(Generic[V]):
    """A list that grows at its front."""

    def __init__(self, *items: Any) -> None:
        self._items: tuple[V, ...] = tuple(items[0]) if len(items) == 1 else items

    def push_front(self, one: V) -> List[V]:
        """With one more, the first."""
        return List((one, *self._items))

    def __iter__(self) -> Iterator[V]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)
