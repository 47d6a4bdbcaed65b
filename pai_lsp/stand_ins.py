"""Characters that js-yaml takes as any other, and libyaml does not.

Libyaml ends lines at three of them, and refuses a byte order mark inside the text and a tab where a block begins.
They are read as characters for private use, and put back; for those the ones behind them are read. Escapes of
surrogates, which it refuses too, are replaced by recovery.py.
"""

from __future__ import annotations

import re

_OTHERWISE_READ = "\x85\u2028\u2029\ufeff\t"
_SHIFT = len(_OTHERWISE_READ)
# The characters for private use, from the first stand-in on, in one row.
_FIRST, _LAST = 0xE285, 0xF8FF
_HIGHER, _HIGHEST = 0xF0000, 0x10FFFF
_IN_ROW = _LAST - _FIRST + 1
_NUMBERS = _IN_ROW + _HIGHEST - _HIGHER + 1
_PRIVATE = f"{chr(_FIRST)}-{chr(_LAST)}{chr(_HIGHER)}-{chr(_HIGHEST)}"
# A tab is taken by libyaml nearly everywhere; recovery.py sees where it is not.
_TO_BE_READ = re.compile(f"[{_OTHERWISE_READ[:-1]}{_PRIVATE}]")
_TO_BE_PUT_BACK = re.compile(f"[{_PRIVATE}]")

# In double quotes, a pair of surrogates or one of them alone.
SURROGATE_ESCAPE = re.compile(
    r"\\(?:u|U0000)[dD][89abAB][0-9a-fA-F]{2}\\(?:u|U0000)[dD][c-fC-F][0-9a-fA-F]{2}|\\(?:u|U0000)[dD][89a-fA-F][0-9a-fA-F]{2}"
)

TAB_STAND_IN = chr(_FIRST + _OTHERWISE_READ.index("\t"))


def with_stand_ins(text: str) -> str:
    """The text with a stand-in for each such character, at the same place; `put_back` undoes it.

    The last five of all characters, which are for private use or for none, have nothing behind them and become one.
    """
    return _TO_BE_READ.sub(_stand_in, text)


def has_stand_ins(text: str) -> bool:
    """Whether something is to be put back in what is read of a text; an escape in quotes is no stand-in."""
    return not text.isascii() and _TO_BE_PUT_BACK.search(text) is not None


def put_back(text: str) -> str:
    """The text that stand-ins were put into."""
    return _TO_BE_PUT_BACK.sub(_original, text)


def joined_surrogates(escapes: str) -> str:
    """The character that `SURROGATE_ESCAPE` means to js-yaml; what the cluster makes of one alone is U+FFFD."""
    codes = [int(escape[-4:], 16) for escape in escapes.split("\\")[1:]]
    if len(codes) < 2:
        return "\ufffd"
    return chr(0x10000 + (codes[0] - 0xD800) * 0x400 + codes[1] - 0xDC00)


def _stand_in(match: re.Match[str]) -> str:
    character = match[0]
    number = _OTHERWISE_READ.find(character)
    return _private(number if number >= 0 else min(_number(character) + _SHIFT, _NUMBERS - 1))


def _original(match: re.Match[str]) -> str:
    number = _number(match[0])
    return _OTHERWISE_READ[number] if number < _SHIFT else _private(number - _SHIFT)


def _number(character: str) -> int:
    code = ord(character)
    return code - _FIRST if code <= _LAST else code - _HIGHER + _IN_ROW


def _private(number: int) -> str:
    return chr(_FIRST + number if number < _IN_ROW else _HIGHER + number - _IN_ROW)
