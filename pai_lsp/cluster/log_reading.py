"""Reads the log of a task, whatever its size: the lines that can tell why it ended, and which process wrote them.

Of a long log the end is kept, and the surroundings of the first and the last errors before it. Lines lose what
programs put in front of them: colors, times, and the names of processes (mpirun, horovodrun, torchrun, srun, Ray,
kubectl, docker).
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

# What is kept of a log, in bytes and in lines.
_END = 384 * 1024
_PIECE = 4 * 1024 * 1024
_AROUND = 40
_FIRST_ERRORS, _LAST_ERRORS = 60, 200
# The runtime searches this much of the end for its patterns (openpai-runtime, go/cmd/exithandler).
_SEARCHED = 10 * 1024 * 1024
_LONGEST_LINE = 4000
# Words that begin the message of an error; they are looked for in the part of a log that is not kept.
_MARKS = (b"Traceback (most recent call last)", b"rror:", b"FATAL", b"Killed", b"out of memory", b"Segmentation fault")

_COLORS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f]")
_TIME = re.compile(
    r"^(?:\[(?:task )?)?\d{4}[-/]\d\d[-/]\d\d[T_ ]\d\d:\d\d:\d\d(?:[.,]\d+)?"
    r"(?:Z|[+-]\d\d:?\d\d)?\]?:?[ \t]?(?:\[\d+\][ \t]?)?(?=.*\S)"
)
# What Python puts in front of the tracebacks in a group of exceptions.
_IN_GROUP = re.compile(r"^(?: {2})+(?:\| |\+ (?=Exception Group Traceback))(?=.)")
# A name that a program puts in front of all lines of a process: in front of a traceback or its frames.
_NAMED = re.compile(r'^(?P<name>[\w.-][\w .-]{0,60}): ?(?:Traceback \(most recent call last\)|  File ")')
_WRITERS = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\[(?P<name>\d+,\d+)\] ?<std(?:out|err)>: ?",  # mpirun --tag-output, horovodrun
        r"^\[(?P<name>\d+)\]<std(?:out|err)>: ?",  # horovodrun with Gloo
        r"^\[(?P<name>rank ?\d+|default\d+|Rank ?\d+)\]: ?",  # PyTorch, torchrun --tee
        r"^\((?P<name>[\w.:()<>-]* ?pid=\d+(?:, ip=[\d.]+)?)\) ?",  # Ray
        r"^\[pod/(?P<name>[\w.-]+)/[\w.-]+\] ?",  # kubectl logs --prefix
        r"^(?P<name>[\w.-]+-\d+) +\| ?",  # docker compose
        r"^(?P<name>#\d+) \d+\.\d+ ",  # docker buildx
        r"^(?P<name>\d{1,4}): (?=\S|  )",  # srun --label
    )
)


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a log. number: from 1. text: without prefixes and colors. writer: of the process; empty if unknown."""

    number: int
    text: str
    writer: str = ""


@dataclass(frozen=True, slots=True)
class Log:
    """What is kept of a log.

    lines: in their order; numbers are left out where lines are. end: the part that the runtime searches.
    """

    lines: tuple[LogLine, ...]
    end: bytes


def log_of(text: str) -> Log:
    """The log in a text."""
    return read_log((text.encode("utf-8", "replace"),))


def read_log(pieces: Iterable[bytes]) -> Log:
    """The log in pieces of any length, which are not kept."""
    passed_lines = 0
    first: list[tuple[int, bytes]] = []
    last: deque[tuple[int, bytes]] = deque(maxlen=_LAST_ERRORS)
    waiting, searched = bytearray(), bytearray()
    for piece in pieces:
        waiting += piece
        searched += piece
        if len(searched) > _SEARCHED + _PIECE:
            del searched[:-_SEARCHED]
        if len(waiting) >= _PIECE + _END:
            passed_lines += _passed(waiting, passed_lines, first, last)
    passed_lines += _passed(waiting, passed_lines, first, last)
    kept = ((number, enumerate(piece.split(b"\n")[:_AROUND])) for number, piece in (*first, *last))
    numbered = {number + offset: raw for number, lines in kept for offset, raw in lines}
    numbered.update(enumerate(bytes(waiting).split(b"\n"), passed_lines + 1))
    found = _without_names(tuple(_line(number, numbered[number]) for number in sorted(numbered)))
    return Log(found, bytes(searched[-_SEARCHED:]))


def _passed(
    waiting: bytearray, lines_before: int, first: list[tuple[int, bytes]], last: deque[tuple[int, bytes]]
) -> int:
    """Note the surroundings of errors in all but the end of what waits, with their first line's number, and drop it.

    Returns how many lines that were.
    """
    cut = waiting.rfind(b"\n", 0, max(len(waiting) - _END, 0)) + 1
    passed = bytes(waiting[:cut])
    del waiting[:cut]
    counted, number = 0, lines_before + 1
    for start in _error_starts(passed):
        number += passed.count(b"\n", counted, start)
        counted = end = start
        for _ in range(_AROUND):
            end = passed.find(b"\n", end) + 1 or len(passed)
        target = first if len(first) < _FIRST_ERRORS else last
        target.append((number, passed[start : min(end, start + 20_000)]))
    return passed.count(b"\n")


def _error_starts(piece: bytes) -> list[int]:
    """The beginnings of lines with marks of errors, not too near to each other, at most some hundreds."""
    starts: set[int] = set()
    for mark in _MARKS:
        at, count = piece.find(mark), 0
        while at >= 0 and count < _FIRST_ERRORS + _LAST_ERRORS:
            starts.add(piece.rfind(b"\n", 0, at) + 1)
            at, count = piece.find(mark, at + 1000), count + 1
    return sorted(starts)


def _line(number: int, raw: bytes) -> LogLine:
    if b"\r" in raw:  # a progress bar writes over itself
        raw = next((part for part in reversed(raw.split(b"\r")) if part.strip()), b"")
    text = raw[:_LONGEST_LINE].decode("utf-8", "replace")
    text = _TIME.sub("", _COLORS.sub("", text))
    for pattern in _WRITERS:
        if found := pattern.match(text):
            return LogLine(number, _unframed(_TIME.sub("", text[found.end() :])), found["name"])
    return LogLine(number, _unframed(text))


def _without_names(lines: tuple[LogLine, ...]) -> tuple[LogLine, ...]:
    """The lines without names in front of them, such as those of pdsh: tracebacks show which words are names."""
    names = {found["name"] for line in lines if (found := _NAMED.match(line.text))}
    if not names:
        return lines
    return tuple(
        LogLine(line.number, _unframed(text[1:] if text[:1] == " " else text), line.writer or name)
        if name in names and sign
        else line
        for line in lines
        for name, sign, text in [line.text.partition(":")]
    )


def _unframed(text: str) -> str:
    """A line without what is drawn around tracebacks."""
    if text.startswith("│"):  # the border of the boxes in which rich draws
        text = text[1:].removeprefix(" ").rstrip().removesuffix("│")
    elif text.startswith("╭"):
        text = text.strip("╭─╮ ")
    return _IN_GROUP.sub("", text).rstrip()
