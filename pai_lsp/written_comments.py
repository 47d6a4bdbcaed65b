"""The comments of a YAML text, as ruamel.yaml's scanner finds them: a second opinion on what a fix leaves behind."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def written_comments(text: str) -> Counter[str]:
    """Each comment with how often it stands there; of a text that is no YAML, those before it breaks off."""
    if "#" not in text:
        return Counter()
    from ruamel.yaml import YAML  # noqa: PLC0415 - only mending asks for it
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - as above

    found: Counter[str] = Counter()
    try:
        # js-yaml takes a tab in front of a comment, at which ruamel.yaml would stop.
        for token in YAML().scan(text.replace("\t", " ")):
            found.update(_lines(getattr(token, "_comment", None)))
    except (YAMLError, RecursionError, ValueError):
        return found
    return found


def _lines(comments: Any) -> Iterator[str]:
    """The lines of what ruamel.yaml hangs on a token: one comment behind it, and a list of those above.

    A comment behind the sign of a block is a bare string.
    """
    if comments is None:
        return
    for one in comments if isinstance(comments, list) else [comments]:
        if isinstance(one, list):
            yield from _lines(one)
        elif one is not None:
            text = one if isinstance(one, str) else one.value
            yield from (line.strip() for line in text.splitlines() if line.strip())
