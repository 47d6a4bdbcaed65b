"""`dataclass`, `field` and `replace` as in the standard library, for a fraction of what they cost at import.

The standard decorator compiles six functions for each class, about 0.4 ms on Python 3.11; with a hundred classes of
values that was half of the command line's start. Here only `__init__` is compiled, and only after a few instances;
everything else is shared by all classes. To type checkers these *are* the functions of `dataclasses`; what is not used
in this package is not here: no inheritance, no `__post_init__`, no class variables among the fields.
"""

# ruff: noqa: A002 - `repr` is the standard library's name
from __future__ import annotations

from _thread import RLock  # what `threading` gives; importing that takes longer than this module
from operator import attrgetter

from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass, field, replace
    from dataclasses import dataclass as dataclass_of_many
    from functools import cached_property as lazy
    from typing import Any

__all__ = ["dataclass", "dataclass_of_many", "field", "lazy", "replace"]

_MISSING = object()
_FIELDS = "__dataclass_values__"
_FEW = 4


class _FieldOptions:
    """A field with a default, with one that is made anew for each instance, or hidden from `repr` or equality."""

    def __init__(
        self, *, default: Any = _MISSING, default_factory: Any = None, repr: bool = True, compare: bool = True
    ) -> None:
        self.default, self.default_factory, self.in_repr, self.is_compared = default, default_factory, repr, compare


def _dataclass(
    *, frozen: bool = False, slots: bool = False, eq: bool = True, order: bool = False, is_guarded: bool = True
) -> Callable[[type[Any]], Any]:
    """A class of the annotated fields: `__init__`, `__repr__`, and as asked equality, hash and order.

    is_guarded: whether a frozen class refuses changes; else it is held to it by the type checker alone.
    """

    def make(cls: type[Any]) -> Any:
        # The annotations are of this very class; inherited ones are not looked for.
        fields = {name: _described(cls, name) for name in vars(cls).get("__annotations__", {})}
        replaced = {*fields, "__dict__", "__weakref__"}
        members = {name: value for name, value in vars(cls).items() if name not in replaced}
        if slots:
            members["__slots__"] = tuple(fields)
        members["__match_args__"] = tuple(fields)
        members[_FIELDS] = fields
        members.setdefault("__repr__", _repr)
        members["__reduce__"] = _reduce
        if frozen and is_guarded:
            members["__setattr__"] = members["__delattr__"] = _refuse
        if eq and fields:
            compared = (name for name, one in fields.items() if one.is_compared)
            members |= _comparisons(attrgetter(*compared), is_ordered=order)
        metaclass: Any = type(cls)
        made = metaclass(cls.__name__, cls.__bases__, members)
        made.__qualname__ = cls.__qualname__
        made.__init__ = _first_init(made, fields, is_guarded=frozen and is_guarded, has_slots=slots)
        return made

    return make


def _dataclass_of_many(**options: bool) -> Callable[[type[Any]], Any]:
    """The same for a class with thousands of instances for a text: without a guard, they are made twice as fast."""
    return _dataclass(**options, is_guarded=False)


def _replace(instance: Any, /, **changes: Any) -> Any:
    """A copy of an instance with some fields changed."""
    values = {name: getattr(instance, name) for name in getattr(instance, _FIELDS)}
    return type(instance)(**(values | changes))


def _described(cls: type[Any], name: str) -> _FieldOptions:
    default = vars(cls).get(name, _MISSING)
    return default if isinstance(default, _FieldOptions) else _FieldOptions(default=default)


def _first_init(cls: type[Any], fields: dict[str, _FieldOptions], *, is_guarded: bool, has_slots: bool) -> Any:
    """An `__init__` for the first few instances, without compiling anything, which replaces itself by the compiled one.

    Most classes have a few instances in a run. Wrong arguments are left to the compiled one as well.
    """
    made = 0

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - becomes the class's
        nonlocal made
        made += 1
        values = dict(zip(fields, args, strict=False))
        is_right = len(args) == len(values) and kwargs.keys() <= fields.keys() - values.keys()
        values |= kwargs
        for name, one in fields.items():
            if name not in values and one.default_factory is not None:
                values[name] = one.default_factory()
            elif name not in values:
                values[name] = one.default
        if made > _FEW or not is_right or _MISSING in values.values():
            cls.__init__ = _init(cls, fields, is_guarded=is_guarded, has_slots=has_slots)
            cls.__init__(self, *args, **kwargs)
            return
        for name, value in values.items():
            object.__setattr__(self, name, value)

    return __init__


def _init(cls: type[Any], fields: dict[str, _FieldOptions], *, is_guarded: bool, has_slots: bool) -> Any:
    """The class's `__init__`, which writes past the guard of a frozen class."""
    names: dict[str, Any] = {"_missing": _MISSING, "_write": object.__setattr__}
    parameters, lines = [], []
    for name, one in fields.items():
        value, parameter = name, name
        if one.default_factory is not None:
            names[f"_make_{name}"] = one.default_factory
            parameter = f"{name}=_missing"
            value = f"_make_{name}() if {name} is _missing else {name}"
        elif one.default is not _MISSING:
            names[f"_default_{name}"] = one.default
            parameter = f"{name}=_default_{name}"
        parameters.append(parameter)
        if not is_guarded:
            lines.append(f" self.{name} = {value}")
        elif has_slots:
            names[f"_write_{name}"] = vars(cls)[name].__set__
            lines.append(f" _write_{name}(self, {value})")
        else:
            lines.append(f" _write(self, {name!r}, {value})")
    source = f"def __init__({', '.join(['self', *parameters])}):\n" + "\n".join(lines or [" pass"])
    exec(source, names)  # noqa: S102 - made of this package's own field names, as dataclasses does
    return names["__init__"]


def _comparisons(key: attrgetter[Any], *, is_ordered: bool) -> dict[str, Any]:
    def equal(self: Any, other: Any) -> Any:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    def less(self: Any, other: Any) -> Any:
        return key(self) < key(other) if other.__class__ is self.__class__ else NotImplemented

    found = {"__eq__": equal, "__hash__": lambda self: hash(key(self))}
    return found | {"__lt__": less} if is_ordered else found


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name, one in getattr(self, _FIELDS).items() if one.in_repr)
    return f"{type(self).__qualname__}({shown})"


def _reduce(self: Any) -> tuple[type[Any], tuple[Any, ...]]:
    return type(self), tuple(getattr(self, name) for name in getattr(self, _FIELDS))


def _refuse(self: Any, name: str, *_value: Any) -> None:
    raise AttributeError(f"'{type(self).__name__}' does not change: '{name}'")


class _Lazy:
    """A property that is computed when first asked for, once per object, even by threads that ask at the same time.

    The value is kept in the object under the same name, where Python finds it first. `functools.cached_property` is not
    enough: up to Python 3.11 it holds one lock for all objects of a class, so that one slow text would hold up all
    others; since 3.12 it holds none, so that two threads would build two trees of one text.
    """

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
    dataclass, dataclass_of_many, field, replace, lazy = _dataclass, _dataclass_of_many, _FieldOptions, _replace, _Lazy
