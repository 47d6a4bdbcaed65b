"""What a plain scalar means: to the rest-server (js-yaml 3.13, or js-yaml 4.1 on some platforms) and to the runtime.

The rest-server reads the job with js-yaml's default safe schema and writes values into commands as JavaScript does;
the runtime reads the same text again with PyYAML's SafeLoader (YAML 1.1).
Sources: js-yaml 3.13.1, lib/js-yaml/type/{null,bool,int,float,timestamp,merge}.js; js-yaml 4.1.1, lib/type/int.js and
float.js; PyYAML, resolver.py, constructor.py.
"""

from __future__ import annotations

import binascii
import math
import re
from datetime import datetime, timedelta, timezone
from enum import Enum
from functools import lru_cache

from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_NULLS = frozenset({"~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}

_INTEGER = lazy_pattern(
    r"[-+]?(?:0|0b[01_]*[01]|0x[0-9a-fA-F_]*[0-9a-fA-F]|0[0-7_]*[0-7]"
    r"|[0-9][0-9_]*(?<!_)|[1-9][0-9_]*(?::[0-5]?[0-9])+)"
)
_FLOAT = lazy_pattern(
    r"[-+]?(?:0|[1-9][0-9_]*)(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9_]+(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_TIMESTAMP = lazy_pattern(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})(?:(?:[Tt]|[ \t]+)"
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]*))?"
    r"(?:[ \t]*(?:Z|(?P<sign>[-+])(?P<zone_hour>[0-9]{1,2})(?::(?P<zone_minute>[0-9]{2}))?))?)?"
)
# Without a time, month and day have two digits.
_LENGTH_OF_DATE = 10
# js-yaml 4: octal numbers begin with `0o`, a leading zero means nothing, and there is no base 60.
_INTEGER_4 = lazy_pattern(
    r"[-+]?(?:0|0b[01_]*[01]|0o[0-7_]*[0-7]|0x[0-9a-fA-F_]*[0-9a-fA-F]"
    r"|0[0-9](?:[0-9_]*[0-9])?|[1-9](?:[0-9_]*[0-9])?)"
)
_FLOAT_4 = lazy_pattern(
    r"[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9_]+(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_BEGIN_OF_NUMBERS = "-+.0123456789"
# How a plain scalar begins that may be something else than a text.
BEGIN_OF_VALUES = frozenset(f"{_BEGIN_OF_NUMBERS}~nNtTfF")

_SAFE_INTEGER = 2**53
_MOST_SAFE_DIGITS = 15
# The result of the readings below for a text that is not such a value.
REFUSED = object()
_BASE_64 = lazy_pattern(r"[A-Za-z0-9+/=\r\n]*")
_NOT_CODED = lazy_pattern(r"[\r\n=]")


class Reader(Enum):
    """The library that the rest-server reads YAML with; the values are its name and its first version number."""

    __hash__ = object.__hash__  # the one of Enum is many times slower

    JS_YAML_3 = "js-yaml 3"
    JS_YAML_4 = "js-yaml 4"


@dataclass(frozen=True, slots=True)
class Date:
    """A JavaScript Date: what js-yaml makes of `2020-01-01`; it is not a string, and schemas refuse it as one."""

    moment: datetime

    def __str__(self) -> str:
        return self.moment.strftime("%a %b %d %Y %H:%M:%S GMT+0000 (Coordinated Universal Time)")


@dataclass(frozen=True, slots=True)
class Binary:
    """What js-yaml makes of `!!binary aGk=`; it is not a string either.

    is_array: js-yaml 4 makes a Uint8Array of it; version 3 made a Buffer, which is a text.
    """

    content: bytes
    is_array: bool = False

    def __str__(self) -> str:
        if self.is_array:
            return ",".join(map(str, self.content))
        return self.content.decode("utf-8", "replace")


def is_plain_decimal(text: str) -> bool:
    """Whether every reader reads a plain scalar as the same whole number: `8192`, but not `010`, `1_000` or `1e3`."""
    is_number = text.isdecimal() and text.isascii() and (text[0] != "0" or text == "0")
    return is_number and len(text) <= _MOST_SAFE_DIGITS


@lru_cache(maxsize=4096)
def server_value(text: str, reader: Reader = Reader.JS_YAML_3) -> bool | int | float | str | Date | None:
    """The value that the rest-server reads in a plain scalar; whole numbers that a double holds exactly are ints."""
    if not text or text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if text[0] not in _BEGIN_OF_NUMBERS:
        return text
    if is_plain_decimal(text):
        return int(text)
    for kind in ("int", "float", "timestamp"):
        value = tagged_server_value(kind, text, reader)
        if value is not REFUSED:
            return value  # type: ignore[no-any-return]  # one of the above: not REFUSED, nor binary
    return text


def tagged_server_value(kind: str, text: str, reader: Reader = Reader.JS_YAML_3) -> Any:
    """The value that the rest-server reads in a scalar with the tag `!!kind`; REFUSED where it refuses the file.

    An empty plain scalar is not a string; see pai_lsp/source/tags.py.
    """
    reading = (_READINGS_4 if reader is Reader.JS_YAML_4 else _READINGS).get(kind)
    return REFUSED if reading is None else reading(text)


def _as_integer(text: str) -> Any:
    if not _INTEGER.fullmatch(text) or re.fullmatch(r"[-+]?0[0-7_]*[89][0-9_]*", text):
        return REFUSED
    return _number(_integer(text))


def _as_integer_4(text: str) -> Any:
    return _number(_integer(text, octal=10)) if _INTEGER_4.fullmatch(text) else REFUSED


def _as_float(text: str, pattern: re.Pattern[str] = _FLOAT) -> Any:
    return _number(_float(text)) if pattern.fullmatch(text) and not text.endswith("_") else REFUSED


def _as_timestamp(text: str) -> Any:
    match = _TIMESTAMP.fullmatch(text)
    if match is None or (match["hour"] is None and len(text) != _LENGTH_OF_DATE):
        return REFUSED
    names = ("year", "month", "day", "hour", "minute", "second", "zone_hour", "zone_minute")
    year, month, day, hour, minute, second, zone_hour, zone_minute = (int(match[name] or 0) for name in names)
    year += 1900 if year < 100 else 0  # as Date.UTC takes it
    clock = timedelta(hours=hour, minutes=minute, seconds=second)
    fraction = timedelta(milliseconds=int((match["fraction"] or "")[:3].ljust(3, "0")))
    zone = timedelta(hours=zone_hour, minutes=zone_minute)
    try:
        # Date.UTC carries what is out of range into the next unit: 2020-13-02 is the 2nd of January 2021.
        moment = datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 1, tzinfo=timezone.utc)
        moment += timedelta(days=day - 1) + clock + fraction
        return Date(moment - zone if match["sign"] == "+" else moment + zone)
    except (ValueError, OverflowError):
        return text


def _as_binary(text: str, *, is_array: bool = False) -> Any:
    """Four characters of base 64 are three bytes; js-yaml ignores the places of `=`.

    Source: js-yaml 3.13.1, lib/js-yaml/type/binary.js.
    """
    if not _BASE_64.fullmatch(text) or len(re.sub(r"[\r\n]", "", text)) % 4:
        return REFUSED
    coded = _NOT_CODED.sub("", text)
    coded = coded[: len(coded) - (len(coded) % 4 == 1)]
    return Binary(binascii.a2b_base64(coded + "=" * (-len(coded) % 4)), is_array)


_READINGS: dict[str, Callable[[str], Any]] = {
    "null": lambda text: None if text in _NULLS else REFUSED,
    "bool": lambda text: _BOOLEANS.get(text, REFUSED),
    "int": _as_integer,
    "float": _as_float,
    "timestamp": _as_timestamp,
    "binary": _as_binary,
    "str": str,
    "merge": lambda text: text if text == "<<" else REFUSED,
}
_READINGS_4: dict[str, Callable[[str], Any]] = {
    **_READINGS,
    "int": _as_integer_4,
    "float": lambda text: _as_float(text, _FLOAT_4),
    "binary": lambda text: _as_binary(text, is_array=True),
}


def _number(value: float) -> int | float:
    """A double as JavaScript holds it, written as an int where it is one exactly."""
    try:
        double = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    if math.isfinite(double) and double.is_integer() and abs(double) <= _SAFE_INTEGER:
        return int(double)
    return double


def _integer(text: str, octal: int = 8) -> float:
    """The number; `octal` is the base of digits after a leading zero."""
    text = text.replace("_", "")
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-")
    if digits[1:2] in {"b", "o", "x"}:
        return sign * int(digits, 0)
    if ":" in digits:
        return sign * _sixties(digits)
    base = octal if digits[0] == "0" else 10
    digits = digits.lstrip("0") or "0"
    return sign * int(digits, base) if len(digits) < 400 else sign * 10**400


def _sixties(text: str) -> float:
    """As js-yaml adds it up: a number too long for a double is Infinity, or NaN where a part of it is 0."""
    value, base = 0.0, 1.0
    for part in reversed(text.split(":")):
        value += float(part or 0) * base
        base *= 60
    return value


def _float(text: str) -> float:
    text = text.replace("_", "").lower()
    sign = -1.0 if text[0] == "-" else 1.0
    digits = text.lstrip("+-")
    if digits == ".inf":
        return sign * math.inf
    if digits == ".nan":
        return math.nan
    if ":" in digits:
        return sign * _sixties(digits)
    # `._e1` was read as a number, and parseFloat finds no digit in it.
    return sign * (float(digits) if digits.partition("e")[0] != "." else math.nan)


def is_whole(value: float) -> bool:
    """Whether ajv takes the number for an integer: it asks for no remainder, and infinities have none."""
    return value.is_integer() or math.isinf(value)


def is_finite_whole(value: float) -> bool:
    """Whether a newer ajv takes the number for an integer: no infinity is one."""
    return value.is_integer()


def counts_as_false(value: Any) -> bool:
    """Whether a condition of JavaScript takes the value for false: null, `false`, 0, NaN or an empty string."""
    if isinstance(value, float) and math.isnan(value):
        return True
    return value is None or (isinstance(value, (int, float, str)) and not value)


def server_text(value: Any) -> str:
    """How JavaScript writes a value into a string: what a `<% %>` in a command becomes.

    `value` is made of what `server_value` gives, lists and dicts. Source: ECMAScript, Number::toString,
    Array.prototype.join.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number_text(value)
    if isinstance(value, list):
        return ",".join("" if item is None else server_text(item) for item in value)
    if isinstance(value, dict):
        return "[object Object]"
    return str(value)


def _number_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    from decimal import Decimal  # noqa: PLC0415 - few jobs have such a number

    _, every_digit, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits = "".join(map(str, every_digit))
    # The decimal point comes after `point` digits, counted from the first one that is not 0.
    point = len(digits) + int(exponent)
    sign = "-" if value < 0 else ""
    if 0 < point <= 21:
        return sign + (digits.ljust(point, "0") if len(digits) <= point else f"{digits[:point]}.{digits[point:]}")
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = point - 1
    shown = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{sign}{shown}e{'+' if power >= 0 else '-'}{abs(power)}"
