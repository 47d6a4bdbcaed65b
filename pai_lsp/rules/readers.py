"""Rules about the two readers of a job: what the rest-server's js-yaml takes and the runtime's PyYAML does not.

The rest-server stores the text of the job, and the runtime's init container reads that text again, so a job can be
accepted and then die before its first command. Single characters that do so are the business of characters.py, anchors
of anchors.py, and names of readings.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.diagnostic import Finding, Fix, Severity, rule
from pai_lsp.fixes import quote_fix
from pai_lsp.masking import masked_span
from pai_lsp.nodes import Mapping, Scalar, Sequence, Style, walk
from pai_lsp.text import TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job
    from pai_lsp.nodes import Entry, Node

# Plain scalars of which PyYAML may fail to make a value: the two special ones, numbers without digits, wrong dates.
_MAYBE_UNREADABLE = re.compile(r"=|<<|[-+]?0[bx]_+|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*", re.DOTALL)
_FIRST_CHARACTERS = frozenset("=<+-0123456789")
# Where a key may be a list or a mapping: explicit, an alias, in front of a colon, or alone in braces.
_MAYBE_COLLECTION_KEY = re.compile(r"[\]}][ \t]*:|\?\s|\*|[{,]\s*[\[{]")


@rule(Severity.ERROR)
def unreadable_value(job: Job) -> Iterator[Finding]:
    """A value is text to the rest-server, and nothing at all to the runtime's reader.

    YAML 1.1 gives `=` and `<<` a meaning that PyYAML does not support, takes `0x_` for a number without digits, and
    refuses a date that is in no calendar: every task dies in its init container. In quotes they are text to both.
    Source: PyYAML, resolver.py and constructor.py (SafeLoader).

        parameters:
          operator: =
          #         ^ error
          deadline: 2024-02-30
          #         ^^^^^^^^^^ error

    Good:

        parameters:
          operator: "="
          deadline: "2024-02-30"
    """
    if job.is_catalogue:
        return
    suspects = [
        scalar
        for scalar in job.syntax.scalars
        if scalar.text[:1] in _FIRST_CHARACTERS
        and scalar.style is Style.PLAIN
        and scalar.tag is None
        and _MAYBE_UNREADABLE.fullmatch(scalar.text)
        and isinstance(scalar.runtime_value, ValueError)
    ]
    if not suspects:
        return
    masked = masked_span(job.text)
    # As a key `=` is text, and `<<` takes over another mapping's keys.
    keys = {id(entry.key) for entry in _entries(job.syntax.root)}
    for scalar in suspects:
        if scalar.span.start not in masked and not (id(scalar) in keys and scalar.text in {"=", "<<"}):
            yield Finding(
                scalar.span, f"the runtime's YAML reader fails on {_kind(scalar)}; quote it", (quote_fix(scalar),)
            )


def _kind(scalar: Scalar) -> str:
    """The sort of value that was found; never the value itself, which may be a secret."""
    if scalar.text in {"=", "<<"}:
        return f"a bare '{scalar.text}'"
    return "a number without digits" if scalar.text.endswith("_") else "a date that is in no calendar"


@rule(Severity.ERROR)
def unquoted_question_mark(job: Job) -> Iterator[Finding]:
    """Unquoted text in `[ ]` or `{ }` holds a `?`.

    Inside brackets the runtime's reader takes every `?` for the mark of a key, and refuses the file: every task dies in
    its init container. Addresses with a query and shell patterns are the usual victims. In quotes, or outside of
    brackets, they are text to both readers.
    Source: PyYAML, scanner.py, scan_plain.

        prerequisites:
          - name: cifar10
            type: data
            uri: [https://example.com/cifar10?raw=true]
            #     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error

    Good:

        prerequisites:
          - name: cifar10
            type: data
            uri: ["https://example.com/cifar10?raw=true"]
    """
    if "?" not in job.text or job.is_catalogue:
        return
    suspects = [scalar for scalar in job.syntax.scalars if "?" in scalar.text and scalar.style is Style.PLAIN]
    if not suspects:
        return
    masked = masked_span(job.text)
    flow = [node.span for node in walk(job.syntax.root) if isinstance(node, (Mapping, Sequence)) and node.is_flow]
    for scalar in suspects:
        if scalar.span.start not in masked and any(scalar.span.start in span for span in flow):
            message = "the runtime's YAML reader takes '?' in brackets for the mark of a key; quote the text"
            yield Finding(scalar.span, message, (quote_fix(scalar),))


@rule(Severity.ERROR)
def collection_key(job: Job) -> Iterator[Finding]:
    """The key of a mapping is a list or a mapping itself.

    The rest-server makes a text of it, `a,b` or `[object Object]`. The runtime's reader refuses the file, so every
    task dies in its init container: "found unhashable key". Text in brackets or braces must be quoted.
    Source: PyYAML, constructor.py, construct_mapping.

        parameters:
          [a, b]: 1
          #^^^^^ error

    Good:

        parameters:
          "[a, b]": 1
    """
    if job.is_catalogue or not _MAYBE_COLLECTION_KEY.search(job.text):
        return
    masked = masked_span(job.text)
    seen: set[int] = set()
    for entry in _entries(job.syntax.root):
        key = entry.key
        if isinstance(key, Scalar) or key.span.start in masked or id(key) in seen:
            continue
        seen.add(id(key))
        kind = "list" if isinstance(key, Sequence) else "mapping"
        message = f"the runtime's YAML reader refuses a {kind} as a key; quote it if it is text"
        written = job.text[key.span.start : key.span.end]
        is_plain = "\n" not in written and "'" not in written and key.is_flow and entry.value.span.start >= key.span.end
        quoted = Fix("Quote it", (TextEdit(key.span, f"'{written}'"),))
        yield Finding(key.span, message, (quoted,) if is_plain else ())


def _entries(node: Node | None) -> Iterator[Entry]:
    for below in walk(node):
        if isinstance(below, Mapping):
            yield from below.entries


RULES = (unreadable_value, unquoted_question_mark, collection_key)
