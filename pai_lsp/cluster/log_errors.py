"""Finds the error that ended a run among the messages of its log.

The last errors count, and of those the first that names a cause: an error that is followed by progress was survived,
and launchers, NCCL and Horovod report at the end that something failed before. A Python traceback is one error with all
exceptions that it chains; of equal ones the first is the cause.
"""

from __future__ import annotations

import re
from bisect import bisect
from functools import cache
from itertools import accumulate, islice, pairwise
from typing import TYPE_CHECKING

from pai_lsp.cluster.exception_origin import is_of_program
from pai_lsp.cluster.failure_causes import Weight, message_patterns
from pai_lsp.source.frozen import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    from pai_lsp.cluster.failure_causes import MessagePattern
    from pai_lsp.cluster.log_reading import Log, LogLine

    _Match: TypeAlias = tuple[MessagePattern, re.Match[str]]

# Errors with fewer lines between them belong together.
_GAP = 60
# A weak message counts only among so many last lines that say something.
_NEAR_END = 12
# The exception's own line, and so many after it, are its message.
_MESSAGE_LINES = 14
_LONGEST_TRACEBACK = 400
# Of a longer line, so much of the beginning and the end is matched: some patterns take time that grows with its square.
_MOST_CHARACTERS, _AT_BEGINNING = 1200, 800
# Of the lines that can be errors, so many first and last ones are looked at.
_FIRST_LOOKED_AT, _LAST_LOOKED_AT = 500, 4000

_CALM = re.compile(
    r"(?<!=)\b(?:WARN(?:ING)?|[Ww]arning|[Rr]etrying(?! \(Retry\(total=0)|[Rr]etry in|[Ii]gnor(?:ed|ing)|"
    r"[Ss]kipp(?:ed|ing)|[Ff]all(?:ing|s)? ?back|[Hh]andled|[Hh]andling passed|PASSED|SKIPPED|XFAIL|passed|"
    r"DEBUG|INFO|\w+Warning|"
    r"[Rr]ecovered|will be (?:ignored|skipped|retried)|attempt \d+|[Uu]s(?:e|ing) (?:the )?(?:CPU|cpu|defaults?)|"
    r"[Dd]efaulting to|[Cc]ontinuing)\b"
)
# What follows a message after which something is tried again.
_TRIED_AGAIN = re.compile(r"(?i)\b(?:will retry|retrying|try(?:ing)? again|retry in|sleeping .* before retry)\b")
# Open MPI puts long messages between rules; those of warnings say that the run goes on.
_RULE = re.compile(r"^-{30,}$")
_WARNING_IN_RULES = re.compile(
    r"(?i)\bwarning\b|silence this|disable this (?:warning|message)|degrad|lower performance|will continue|"
    r"will be ignored"
)
_LONGEST_IN_RULES = 40
_LOUD = re.compile(
    r"NCCL WARN|\*{4}Warning|^W: |UNPROTECTED|connection broken by|Could not fetch URL|Failed to open the file"
)
_PROGRESS = re.compile(
    r"\b(?:[Ee]poch|EPOCH|[Ss]tep|[Ii]ter(?:ation)?|[Bb]atch)s?\b\W{0,4}\d|\b(?:[Ll]oss|acc(?:uracy)?|lr)\b\s*[:=]\s*\d|"
    r"\d%\||\d(?:it/s|s/it)\b"
)
_SUCCESS = re.compile(
    r"\b(?:[Ss]uccessfully|[Ss]ucceeded|[Cc]ompleted?(?: successfully)?|[Ff]inished|[Dd]one)\b[\s.!]*$|"
    r"\b[Ss]uccessfully (?:installed|built|saved|loaded|wrote|downloaded|connected|uploaded)|"
    r"\b(?:[Tt]raining|[Jj]ob|[Rr]un|[Ee]valuation|[Tt]est(?:s|ing)?) (?:is |was |has )?(?:been )?"
    r"(?:finished|complete[d]?|done|successful)|"
    r"\b(?:[Ss]aved?|[Ss]aving) (?:the )?(?:final )?(?:model|checkpoint|weights|results)|"
    r"[Ee]xit(?:ed)?(?: with)?(?: code| status):? ?0\b|^\+? ?exit 0$|\b\d+ passed\b(?!.*\bfailed)"
)
_NEGATED = re.compile(r"(?i)\bnot\b|n't\b|\bno\b|(?<!x)fail|error|\bun")
_PYTHON_ERROR = "python-error"
_TRACEBACK = "Traceback (most recent call last)"
# What is before the traceback of an exception that does not end the program: those of threads, finalizers, logged.
_NOT_FATAL = re.compile(
    r"^Exception (?:ignored in|in thread|in callback)\b|^Task exception was never retrieved|^--- Logging error ---"
)
# Lines after an error that show that the run went on, and those that belong to its message or to the end of a run.
_ORDINARY = re.compile(r"^[^\W_].*[^\W\d_]{2}")
# After the message of a command, which a shell passes over, any output does.
_OUTPUT = re.compile(r"[^\W_]")
_OF_END = re.compile(
    r"(?i)error|fail|abort|exception|fatal|cannot|unable|denied|refused|kill|terminat|exit|shut|clean|clos|stop|leaked|"
    r"dump|warn|https?://|wandb:|^(?:real|user|sys)\s|elapsed|duration|traceback|rank|pid\b|elastic|\b(?:see|please|hint|"
    r"note|try|use|run|if|make sure|you|set|check|should|must|have|last|this|more)\b|:$|^[A-Z]\d{4} |^\w+: line \d+"
)
_LEVEL = re.compile(r"\b(?:ERROR|WARNING|WARN|INFO|DEBUG|CRITICAL)\b|^\[?[EWI][ \d]\d{3}")
_CHAINED = re.compile(r"^(?:The above exception was the direct cause of|During handling of the above exception)")
# Those of Python, of rich (in a box, without its border) and of IPython.
_FRAME = re.compile(
    r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)|'
    r"^\s*(?:File )?(?P<boxed>[~/<]\S+?)(?::(?P<at>\d+))?(?:,? in(?: |$)|\(\)$)"
)
# The line of the source that rich and IPython mark.
_MARKED = re.compile(r"^(?:❱|-+>) ?\d+ (?P<source>.*)$")
# The line of the exception in a traceback: it is not indented, and begins with a name.
_EXCEPTION = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?::(?:\s|$)|$|\()|^(?:[a-z_]\w*\.)+\w*(?:[Ee]rror|[Ee]xception)\b"
)
_JAVA_FRAME = re.compile(r"^\s+at [\w$<\[]")
_TYPED = "<string>"
_LIBRARY = re.compile(r"site-packages|dist-packages|/lib/python|<frozen|<string>|/usr/local/pai/|\.pyx$")
# What begins something else after the message of an exception: rules, log lines, messages of bash.
_OTHER = re.compile(r"^(?:\[|---|===|\*\*\*|\+ )|^\S+: line \d+: ")
_INFO = re.compile(
    r"^(?!.*(?:NCCL INFO|[Ww]orker|[Kk]ill|[Tt]erminat|[Ss]hut|[Aa]bort|[Ee]xit|[Ee]nded)).*(?:\bINFO\b|^\[I \d)"
)
# An exception that a program prints as a value, in a list or a mapping.
_VALUE = re.compile(r"^[\[({]+(?:[\w.'\"+-]+(?:, |: ))*[\w.]*(?:Error|Exception)\(")
_ECHO = re.compile(r"^\++ ")


@dataclass(frozen=True, slots=True)
class LogError:
    """An error in a log.

    line: the one that names the cause. names: what it names, by kind, such as `module`. is_survived: whether the run
    went on after it. is_traceback: whether a Python program ended with it. end: the number of the last line of its
    message. is_caught: whether the program logged the exception, or only a thread ended with it. is_explained: False
    for an exception without a known message that is about something outside of the program. is_inferred: as in the
    pattern.
    """

    line: LogLine
    cause: str
    weight: Weight
    names: tuple[tuple[str, str], ...]
    is_survived: bool = False
    is_traceback: bool = False
    end: int = 0
    is_caught: bool = False
    is_explained: bool = True
    is_inferred: bool = False


@dataclass(frozen=True, slots=True)
class LogVerdict:
    """What a log says about its end.

    error: the one that ended the run; None without one. is_success: whether the end reports a success.
    worth_reading: the last lines that complain, or else the last ones, at most three.
    """

    error: LogError | None
    is_success: bool
    worth_reading: tuple[LogLine, ...]


def verdict(log: Log) -> LogVerdict:
    """The error that ended a run, as far as its log shows it."""
    lines = [line for line in log.lines if line.text.strip() and not _ECHO.match(line.text)]
    positions = {line.number: at for at, line in enumerate(lines)}
    found = sorted(_errors(lines), key=lambda error: error.line.number)
    failing = {error.line.number for error in found}
    rest = [(at, line.text) for at, line in enumerate(lines) if line.number not in failing]
    progress = [at for at, text in rest if _PROGRESS.search(text) or _INFO.search(text)]
    success = [at for at, text in rest if _SUCCESS.search(text) and not _NEGATED.search(text)]
    errors = [_judged(error, positions[error.line.number], progress, success) for error in found]
    alive = [error for error in errors if not error.is_survived]
    near = {line.number for line in _telling(lines, _NEAR_END)}
    error = _decisive(alive, near) or _decisive([one for one in errors if one.is_survived], near)
    if error is not None and _is_doubtful(error, lines[positions[error.line.number] + 1 :], alive):
        error = replace(error, is_survived=True)
    is_doubtful = bool(alive) or any(one.weight >= Weight.GENERAL and one.line.number in near for one in errors)
    ended_well = bool(success) and len(lines) - 1 - success[-1] <= _NEAR_END and not is_doubtful
    is_success = ended_well and not any(_COMPLAINT.search(one.text) for one in lines[success[-1] + 1 :])
    return LogVerdict(error, is_success, _worth_reading(lines, error))


def _is_doubtful(error: LogError, after: Sequence[LogLine], alive: Sequence[LogError]) -> bool:
    """Whether the run may have gone on after an error: what follows it is neither its message nor an end.

    A later report that something failed, or the line of a shell that names the program, leaves no doubt.
    """
    last = max([error.line.number, error.end, *(max(one.line.number, one.end) for one in alive)])
    if any(one.weight is Weight.FOLLOWS and one.line.number > error.line.number for one in alive):
        return False
    if error.line.text[0].isspace() and not error.is_traceback:  # a part of something else
        return True
    rest = [line for line in after if line.number > last and line.writer == error.line.writer]
    ordinary = _ORDINARY if error.weight >= Weight.GENERAL else _OUTPUT
    went_on = any(ordinary.search(line.text) and not _OF_END.search(line.text) for line in rest)
    return went_on or (error.is_caught and bool(rest))


def _judged(error: LogError, at: int, progress: Sequence[int], success: Sequence[int]) -> LogError:
    """The error, marked if the run went on after it."""
    after = sum(1 for one in progress if one > at)
    went_on = after > 2 or any(one > at for one in success) or (after > 0 and not error.is_traceback)
    return replace(error, is_survived=True) if went_on else error


def _decisive(errors: Sequence[LogError], near: set[int]) -> LogError | None:
    strong = [error for error in errors if error.weight >= Weight.GENERAL]
    if strong:
        numbers = [error.line.number for error in strong]
        starts = [at for at in range(1, len(strong)) if numbers[at] - numbers[at - 1] > _GAP]
        return max(
            strong[max(starts, default=0) :], key=lambda error: (error.weight, error.is_explained, error.is_traceback)
        )
    weak = [error for error in errors if error.weight is Weight.WEAK and error.line.number in near]
    follows = [error for error in errors if error.weight is Weight.FOLLOWS]
    naming = [error for error in follows if error.cause not in {"child-failed", "stopped"}]
    return next(iter((*weak, *naming, *follows)), None)


def _errors(lines: Sequence[LogLine]) -> Iterator[LogError]:
    """All errors in the lines: those of tracebacks, for each process, and single messages."""
    by_writer: dict[str, list[LogLine]] = {}
    for line in lines:
        by_writer.setdefault(line.writer, []).append(line)
    matches = _matches(lines)
    for own in by_writer.values():
        at = 0
        while at < len(own):
            start = at if _TRACEBACK in own[at].text else at - 1
            if start == at or _is_rest_of_traceback(own, at):
                end, error = _traceback(own, start, matches)
                if error is not None:
                    yield error
                at = max(end, at + 1)
                continue
            found = matches.get(own[at].number)
            if (
                found
                and not _is_of_other_language(own, at, found)
                and not any(_TRIED_AGAIN.search(line.text) for line in own[at + 1 : at + 3])
            ):
                yield _error(own[at], found, is_traceback=False)
            at += 1


def _is_rest_of_traceback(lines: Sequence[LogLine], at: int) -> bool:
    """Whether a traceback without its first line starts here, as in the end of a log."""
    frame = _FRAME.match(lines[at].text)
    if frame is None or not frame["file"]:
        return False
    after = next((line for line in lines[at + 1 : at + _LONGEST_TRACEBACK] if not line.text[0].isspace()), None)
    return after is not None and _EXCEPTION.match(after.text) is not None


def _matches(lines: Sequence[LogLine]) -> dict[int, _Match]:
    """The heaviest message in each line that has one, by the line's number."""
    calm = _in_warnings(lines)
    suspicious = [line for line in _with_words(lines) if line.number not in calm]
    if len(suspicious) > _FIRST_LOOKED_AT + _LAST_LOOKED_AT:
        suspicious = [*suspicious[:_FIRST_LOOKED_AT], *suspicious[-_LAST_LOOKED_AT:]]
    seen: dict[str, _Match | None] = {}
    for line in suspicious:
        if line.text not in seen:
            seen[line.text] = _matched(line.text)
    return {line.number: found for line in suspicious if (found := seen[line.text]) is not None}


def _is_of_other_language(lines: Sequence[LogLine], at: int, found: _Match) -> bool:
    """Whether the name of an exception is that of a stack trace of Java or JavaScript, which may be caught."""
    after = lines[at + 1 : at + 3]  # a message can have two lines
    return found[0].cause == _PYTHON_ERROR and any(_JAVA_FRAME.match(line.text) for line in after)


def _in_warnings(lines: Sequence[LogLine]) -> set[int]:
    """The numbers of the lines of messages between rules that are only warnings."""
    rules = [at for at, line in enumerate(lines) if _RULE.match(line.text)]
    found: set[int] = set()
    for start, end in pairwise(rules):
        inside = lines[start + 1 : end]
        if len(inside) <= _LONGEST_IN_RULES and any(_WARNING_IN_RULES.search(line.text) for line in inside):
            found.update(line.number for line in inside)
    return found


def _traceback(lines: Sequence[LogLine], start: int, matches: dict[int, _Match]) -> tuple[int, LogError | None]:
    """The index after a traceback and those that it chains, and its error."""
    best: LogError | None = None
    place = frame_file = source = ""
    at = last = start
    is_handled = False
    while at < len(lines) and at - start < _LONGEST_TRACEBACK:
        at += 1
        while at < len(lines) and not _EXCEPTION.match(lines[at].text) and at - start < _LONGEST_TRACEBACK:
            if _TRACEBACK in lines[at].text and at > start + 1:
                break
            if frame := _FRAME.match(lines[at].text):
                frame_file, source = frame["file"] or frame["boxed"], lines[at + 1].text if at + 1 < len(lines) else ""
                number = frame["line"] or frame["at"]
                if number and not _LIBRARY.search(frame_file):
                    place = f"{frame_file}:{number}"
            elif marked := _MARKED.match(lines[at].text):
                source = marked["source"].lstrip("│ ")
            at += 1
        if at >= len(lines):
            break
        first = last = at
        while at < len(lines) and at - first < _MESSAGE_LINES:
            text = lines[at].text
            if _TRACEBACK in text or _CHAINED.match(text):
                break
            found = matches.get(lines[at].number)
            if at == first and (found is None or found[0].cause == _PYTHON_ERROR):
                found = _matched(f"{text} @ {frame_file}") or found
            is_new = is_handled and at == first and found is not None and found[0].weight is Weight.ROOT
            if found and (best is None or is_new or _is_stronger(found[0], best)):
                best = _error(lines[at], found, is_traceback=True, place=place)
            elif best is None and at == first:
                best = LogError(lines[at], _PYTHON_ERROR, Weight.GENERAL, _places(place), is_traceback=True)
            if best is not None and best.line is lines[at] and best.cause == _PYTHON_ERROR:
                best = _with_origin(best, lines[at + 1 : at + 4], frame_file, source)
            at += 1
            if at < len(lines) and (_OTHER.search(lines[at].text) or _PROGRESS.search(lines[at].text)):
                break
        if at < len(lines) and _CHAINED.match(lines[at].text):
            is_handled = lines[at].text.startswith("During")
            while at < len(lines) and _TRACEBACK not in lines[at].text:
                at += 1
            continue
        break
    if best is None:
        return at, None
    if not frame_file:  # a quoted one
        return start, None
    before = lines[start - 1].text if start > 0 else ""
    is_caught = _NOT_FATAL.search(before) is not None or _LEVEL.search(before) is not None
    return at, replace(best, end=lines[last].number, is_caught=is_caught)


def _with_origin(error: LogError, after: Sequence[LogLine], frame_file: str, source: str) -> LogError:
    """An exception without a known message, with what its last frame and its words say of where it comes from."""
    text = error.line.text
    if text.endswith(":"):
        text += " " + next((line.text for line in after if any(char.isalpha() for char in line.text)), "")
    is_library = _LIBRARY.search(frame_file) is not None and frame_file != _TYPED
    return replace(error, is_explained=is_of_program(text, is_library=is_library, source=source))


def _is_stronger(found: MessagePattern, best: LogError) -> bool:
    """Whether another message of a traceback says more: also a general one does than an exception without a cause."""
    is_open = not best.is_explained and found.cause != _PYTHON_ERROR
    return found.weight > best.weight or (is_open and found.weight >= Weight.WEAK)


def _places(place: str) -> tuple[tuple[str, str], ...]:
    return (("at", place),) if place else ()


def _error(line: LogLine, found: _Match, *, is_traceback: bool, place: str = "") -> LogError:
    pattern, match = found
    named = tuple((name, value) for name, value in match.groupdict().items() if value)
    writer = (("process", line.writer),) if line.writer else ()
    weight = pattern.weight
    is_calm = weight >= Weight.WEAK and not _LOUD.search(line.text) and _CALM.search(line.text) is not None
    if is_traceback:
        weight = Weight.GENERAL if weight is Weight.WEAK else weight  # the program ended with it
    elif is_calm or _VALUE.match(line.text):
        weight = Weight.CALM
    is_explained = pattern.cause != _PYTHON_ERROR or is_of_program(line.text, is_library=True, source="")
    found_error = LogError(line, pattern.cause, weight, (*named, *_places(place), *writer), is_traceback=is_traceback)
    return replace(found_error, is_explained=is_explained, is_inferred=pattern.is_inferred)


def _with_words(lines: Sequence[LogLine]) -> list[LogLine]:
    """The lines that have a word of a message, so that its patterns are worth a try."""
    words, without_words = _words()
    text = "\n".join(line.text for line in lines)
    starts = [0, *accumulate(len(line.text) + 1 for line in lines)]
    found = {at for at, line in enumerate(lines) if any(pattern.search(line.text) for pattern in without_words)}
    for word in words:
        place = text.find(word)
        while place >= 0:
            at = bisect(starts, place) - 1
            found.add(at)
            place = text.find(word, starts[at + 1])
    return [lines[at] for at in sorted(found)]


@cache
def _words() -> tuple[tuple[str, ...], tuple[MessagePattern, ...]]:
    """The shortest words of which each match of a pattern has one, and the patterns without such words."""
    patterns = [pattern for pattern in message_patterns("log") if pattern.weight is not Weight.HARMLESS]
    words = {word for pattern in patterns for word in pattern.needles}
    shortest = (word for word in words if not any(other != word and other in word for other in words))
    return tuple(sorted(shortest)), tuple(pattern for pattern in patterns if not pattern.needles)


def _matched(text: str) -> _Match | None:
    """The heaviest message in a line, the first of equal ones; None also for a harmless line."""
    if len(text) > _MOST_CHARACTERS:
        text = f"{text[:_AT_BEGINNING]} … {text[_AT_BEGINNING - _MOST_CHARACTERS :]}"
    best = None
    for pattern in message_patterns("log"):
        is_better = best is None or _may_replace(best[0], pattern)
        if (is_better or pattern.weight is Weight.HARMLESS) and (found := pattern.search(text)):
            if pattern.weight is Weight.HARMLESS:
                return None
            best = (pattern, found)
    return best


def _may_replace(found: MessagePattern, other: MessagePattern) -> bool:
    """Whether another message of the same line counts instead.

    A heavier one does, but a general error is not more than what it follows. The name of an exception says less than
    its message.
    """
    if (found.cause == _PYTHON_ERROR) is not (other.cause == _PYTHON_ERROR):
        return found.cause == _PYTHON_ERROR and other.weight >= Weight.WEAK
    return found.weight < other.weight and (found.weight is Weight.WEAK or other.weight is Weight.ROOT)


_COMPLAINT = re.compile(r"(?i)error|fail|abort|exception|fatal|cannot|unable|denied|refused|killed|not found|nan\b")


def _telling(lines: Sequence[LogLine], most: int) -> list[LogLine]:
    """The last lines with letters, which are not rules of dashes."""
    readable = (line for line in reversed(lines) if any(char.isalpha() for char in line.text))
    return list(islice(readable, most))[::-1]


def _worth_reading(lines: Sequence[LogLine], error: LogError | None) -> tuple[LogLine, ...]:
    harmless = [pattern for pattern in message_patterns("log") if pattern.weight is Weight.HARMLESS]
    last = [line for line in _telling(lines, _AT_END) if not any(one.search(line.text) for one in harmless)]
    complaining = [line for line in last if _COMPLAINT.search(line.text)]
    worth = (complaining or last)[-3:]
    if error is not None and error.line not in worth:
        worth = [error.line, *worth[-2:]]
    return tuple(worth)


_AT_END = 60
