"""Passwords, tokens and keys in clear, outside a job's `secrets`; their values are never shown."""

from __future__ import annotations

from bisect import insort
from itertools import chain

from pai_lsp.job.definition import name_span
from pai_lsp.job.secret_forms import is_placeholder, kind_of_name, secrets_in
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Scalar, entries_below, entry_at
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span, any_overlaps
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.tree import JobTree
    from pai_lsp.source.nodes import Entry

# A token or key: a long word that is not a path, an address, a variable or a public key.
_TOKEN = lazy_pattern(r"(?![./~$]|[a-z]+://|ssh-)\S{8,}")


@dataclass(frozen=True, slots=True, eq=False)
class ClearSecret:
    """A secret in clear: its place, its kind, and the entry whose value it is if the key identified it."""

    span: Span
    kind: str
    entry: Entry | None = None


def clear_secrets(job: JobTree) -> tuple[ClearSecret, ...]:
    """Every password, token or key outside `secrets`, each once, in no particular order."""
    section = job.section("secrets")
    found: dict[Span, ClearSecret] = {}
    for entry, kind in _named_by_key(job):
        span = name_span(entry.value) if isinstance(entry.value, Scalar) else entry.value.span
        found.setdefault(span, ClearSecret(span, kind, entry))
    taken = sorted(found)
    for span, kind in secrets_in(job.text):
        if not any_overlaps(taken, span):
            found[span] = ClearSecret(span, kind)
            insort(taken, span)
    hidden = section.value.span if section else Span(0, 0)
    return tuple(one for one in found.values() if not (len(hidden) and hidden.overlaps(one.span)))


def _named_by_key(job: JobTree) -> Iterator[tuple[Entry, str]]:
    """The entries whose key names a secret."""
    for definition in job.definitions:
        auth = definition.node.get("auth") if definition.type == "dockerimage" else None
        password = entry_at(auth, "password")
        if password is not None and isinstance(password.value, Scalar) and _is_literal(password.value):
            yield password, "a registry's password"
    places = (job.mapping("parameters"), job.extras, *(definition.node for definition in job.definitions))
    for entry in chain.from_iterable(map(entries_below, places)):
        if isinstance(entry.value, Scalar) and (kind := _kind(entry.name, entry.value)):
            yield entry, kind


def _kind(name: str, value: Scalar) -> str:
    """What kind of secret a key names; empty where its value is not a secret."""
    kind = kind_of_name(name)
    if not kind or not _is_literal(value):
        return ""
    if kind == "a password":
        return "" if isinstance(value.value, bool) else kind
    return kind if value.is_string and _TOKEN.fullmatch(value.text) else ""


def _is_literal(value: Scalar) -> bool:
    text = value.text.strip()
    return value.value is not None and bool(text) and "<%" not in text and text[0] != "$" and not is_placeholder(text)
