"""The documentation of the keys of an MPIJob of kubeflow.org/v2beta1, as fields like those of a job."""

from __future__ import annotations

from functools import cache

from pai_lsp.mpijob.structure import MOVED, mpijob_table
from pai_lsp.platform.job_schema import Field
from pai_lsp.source.frozen import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_REPLICAS = ("spec", "mpiReplicaSpecs")


def manifest_field(path: Sequence[str | int]) -> Field | None:
    """The documentation of the key at `path`; of a key of an older version, that of its place today."""
    names = tuple(step for step in path if isinstance(step, str))
    if (moved := MOVED.get(".".join(names))) is not None:
        found = _field(tuple(moved.split(".")))
        note = f"Not a key here any more; its place is `{moved}`."
        return found and replace(found, description=f"{note} {found.description}", deprecated=True)
    return _field(names)


def manifest_fields(path: Sequence[str | int]) -> list[Field]:
    """The keys that an author may write in the mapping at `path`, documented ones first; of a list, in its items."""
    names = tuple(step for step in path if isinstance(step, str))
    known = [name for name in _keys(_wanted(names)) if name[0] not in "!*"]
    listed = mpijob_table()["keys"]["names"]
    known += [*listed.get(".".join(names), ()), *listed.get(_of_any_replica(names), ())]
    found = [one for name in dict.fromkeys(known) if (one := _field((*names, name)))]
    if names in {(), ("metadata",)}:
        found = [one for one in found if one.description]  # the others are the server's
    order = {text: number for number, text in enumerate(_documented())}
    return sorted(found, key=lambda one: (one.deprecated, not one.required, order.get(one.description, len(order))))


def _documented() -> list[str]:
    return [one["description"] for one in mpijob_table()["keys"]["documented"].values()]


@cache
def _field(names: tuple[str, ...]) -> Field | None:
    wanted = _wanted(names)
    if wanted is None or not names:
        return None
    keys = mpijob_table()["keys"]
    documented = keys["documented"]
    found: dict[str, Any] = documented.get(".".join(names)) or documented.get(_of_any_replica(names)) or {}
    types, words = _type(wanted)
    values = found.get("values") or (("true", "false") if words == "boolean" else ())
    return Field(
        key=names[-1],
        title=names[-1],
        description=found.get("description", ""),
        types=types,
        type=words,
        default=found.get("default"),
        values=tuple(values),
        examples=(),
        required=found.get("required", False) or names[-1] in _keys(_wanted(names[:-1])).get("!required", ()),
        source=keys["source"],
        enforced_by=found.get("by", ""),
        deprecated=found.get("deprecated", False),
    )


def _of_any_replica(names: tuple[str, ...]) -> str:
    """The path of a key that the launcher and the workers have."""
    is_replica = names[:2] == _REPLICAS and len(names) > len(_REPLICAS) + 1
    return ".".join((*_REPLICAS, "*", *names[3:]) if is_replica else names)


def _wanted(names: tuple[str, ...]) -> Any:
    """The part of the table at a path without indices; None if it is absent."""
    found = mpijob_table()["root"]
    for name in names:
        keys = _keys(found)
        found = keys.get(name, keys.get("*")) if name[:1] != "!" else None
    return found


def _keys(wanted: Any) -> dict[str, Any]:
    """The keys of a mapping, or of the items of a list."""
    if isinstance(wanted, list):
        wanted = wanted[0]
    return wanted if isinstance(wanted, dict) else {}


def _type(wanted: Any) -> tuple[tuple[str, ...], str]:
    """The types of JSON Schema, and the same in words."""
    if isinstance(wanted, list):
        of = {"string": "strings", "integer": "integers"}.get(str(wanted[0]), "mappings")
        return ("array",), f"list of {of}"
    if isinstance(wanted, dict):
        return (("string",), "string") if "!enum" in wanted else (("object",), "mapping")
    return {"open": ((), "any value"), "quantity": ((), "quantity")}.get(wanted, ((wanted,), wanted))
