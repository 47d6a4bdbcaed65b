"""Values that somebody else wrote, such as the content of a manifest or the answer of a server, each read as a type.

A value of another type is read as if there were none, so that no list where a text belongs can raise. Read a value with
these functions before anything is done with it, also before it is looked up in a set or a dict.
"""

from __future__ import annotations

import json
from math import copysign, isfinite

from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, NoReturn

# More digits than any amount, index or size has. Python refuses to read a number of 4,300.
_MOST_DIGITS = 400
# The levels of lists and mappings in lists and mappings that are read, of YAML as well.
MAX_DEPTH = 100


def json_value(text: str | bytes) -> Any:
    """The value of a JSON text; bytes are UTF-8, perhaps with a byte order mark.

    All numbers are finite, no whole number has more than 400 digits, and half a surrogate pair is a question mark.

    Raises:
        ValueError: if it is not JSON, or nested deeper than 100 levels.
    """
    text = text.decode("utf-8-sig") if isinstance(text, bytes) else text
    try:
        value = json.loads(text, parse_int=number_of, parse_float=_finite, parse_constant=_not_json)
        if "\\ud" in text or "\\uD" in text:
            written = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
            value = json.loads(written, parse_int=number_of)
    except RecursionError:
        raise ValueError("too deep") from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deep(value):
        raise ValueError("too deep")
    return value


def json_mapping(text: str | bytes) -> dict[str, Any]:
    """The mapping of a JSON text; an empty one if it is anything else."""
    try:
        return as_mapping(json_value(text))
    except ValueError:
        return {}


def json_beginning(text: str) -> dict[str, Any]:
    """The mapping that a text begins with, in JSON, whatever follows; an empty one if it begins with anything else."""
    try:
        _, end = json.JSONDecoder(parse_int=number_of).raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return json_mapping(text[:end])


def _is_deep(value: object) -> bool:
    """Whether lists and mappings are nested deeper than is read: much deeper ones cannot even be shown."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        within = (part for one in level for part in (one.values() if isinstance(one, dict) else as_list(one)))
        level = [part for part in within if isinstance(part, dict | list)]
        if not level:
            return False
    return True


def _finite(digits: str) -> float:
    number = float(digits)
    return number if isfinite(number) else copysign(1.7e308, number)


def _not_json(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def as_mapping(value: object) -> dict[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str | None:
    """The value if it is a text."""
    return value if isinstance(value, str) else None


def texts_in(value: object) -> list[str]:
    """The texts in a list; what is something else is left out."""
    return [one for one in as_list(value) if isinstance(one, str)]


def mappings_in(value: object) -> list[dict[str, Any]]:
    """The mappings in a list; what is something else is left out."""
    return [one for one in as_list(value) if isinstance(one, dict)]


def as_whole(value: object) -> int | None:
    """The value if it is a whole number; true and false are not numbers."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_number(value: object) -> float | None:
    """The value if it is a number that a float can hold; true and false are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if isfinite(value) else None
    except OverflowError:
        return None


def number_of(digits: str) -> int:
    """The number that decimal digits mean, also with a sign; one of 400 digits stands for any longer one."""
    return int(digits if len(digits) <= _MOST_DIGITS else f"{digits[:1].rstrip('0123456789')}{'9' * _MOST_DIGITS}")


def whole_number(text: str) -> int | None:
    """The number that decimal digits mean, and None for any other text; one of 400 digits stands for any longer one."""
    if not (text.isascii() and text.isdecimal()):
        return None
    return number_of(text.lstrip("0") or "0")
