"""Values that somebody else wrote, such as the content of a manifest or the answer of a server, each read as a type.

A value of another type is read as if there were none, so that no list where a text belongs can raise. Read a value with
these functions before anything is done with it, also before it is looked up in a set or a dict.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# More digits than any amount, index or size has. Python refuses to read a number of 4,300.
_MOST_DIGITS = 400


def as_mapping(value: object) -> dict[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str | None:
    """The value if it is a text."""
    return value if isinstance(value, str) else None


def as_whole(value: object) -> int | None:
    """The value if it is a whole number; true and false are none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number_of(digits: str) -> int:
    """The number that decimal digits mean, also with a sign; one of 400 digits stands for any longer one."""
    return int(digits if len(digits) <= _MOST_DIGITS else f"{digits[:1].rstrip('0123456789')}{'9' * _MOST_DIGITS}")


def whole_number(text: str) -> int | None:
    """The number that decimal digits mean, and None for any other text; one of 400 digits stands for any longer one."""
    if not (text.isascii() and text.isdecimal()):
        return None
    return number_of(text.lstrip("0") or "0")
