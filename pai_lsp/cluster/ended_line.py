"""Which line of a role's commands ended their script: bash itself keeps it, in traps of the script's header.

The header has as many lines as the runtime's, so messages of bash name the same lines as on a cluster. The traps change
neither the output nor the exit status of the commands, also with `set -x`. A script that could notice them runs without
them; then no line is known. Source: bash(1), DEBUG, ERR and EXIT below `trap`, LINENO and BASH_COMMAND.
"""

from __future__ import annotations

from pai_lsp.cluster.failure_report import HEADER_LINES, script_offset
from pai_lsp.source.foreign import number_of
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import LineIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole

OPTIONS = "set -o errexit\nset -o nounset\nset -o pipefail\n"
# The ending of the file beside a script with the report: two numbers of lines and the first word of the last command.
REPORT = ".ended"
# `(( ))` hides itself from `set -x` here, and leaves `$_` alone. Line 1 is that of the last trap itself. The first
# number is set where a command fails that ends the script: the line on which it ends; the second is that of the last
# command which began outside of functions and subshells.
_TRAPS = (
    "_pai_error=0 _pai_line=0; "
    f"trap '((LINENO > {HEADER_LINES} ? (_pai_line = LINENO, _pai_error = 0) : 0, 1)) 2>/dev/null' DEBUG; "
    f"trap '((LINENO > {HEADER_LINES} ? _pai_error = LINENO : 0, 1)) 2>/dev/null' ERR; "
    'trap \'{ builtin echo "$_pai_error $_pai_line ${BASH_COMMAND%%[[:space:]]*}" >"$0' + REPORT + '" || :; } '
    "2>/dev/null' EXIT\n"
)
_NOTICES = lazy_pattern(
    r"\btrap\b|\bBASH_|\bLINENO\b|_pai_|\b(?:verbose|extdebug|functrace|errtrace)\b|\bset\s[^\n;&|]*-[a-zA-Z]*[vET]"
)
_SUBSHELL = lazy_pattern(r"(?<![$(=<>])\((?![()])")
# A job could write a report of its own: it can be any text.
_ENDED = lazy_pattern(r"([0-9]{1,9}) ([0-9]{1,9})(?: (\S*))?")
_SYNTAX = lazy_pattern(r"syntax ([0-9]{1,9})")


def header(commands: str | None = None) -> str:
    """The header of a script of the runtime; with the traps if these `commands` are given and do not notice them."""
    traps = _TRAPS if commands is not None and not _NOTICES.search(commands) else "#\n"
    return "#!/bin/bash\n" + "#\n" * (HEADER_LINES - 5) + traps + OPTIONS


def ended_line(report: str, commands: str) -> int | None:
    """The line of `commands`, from 1, that ended them; None where bash does not know it.

    report: the content of `REPORT`; `syntax N` if bash cannot parse the script after line N.
    """
    lines = commands.split("\n")
    if found := _SYNTAX.fullmatch(report):
        number = min(number_of(found[1]) - HEADER_LINES, len(lines))
        return number if number > 0 else None
    if not (found := _ENDED.fullmatch(report)):
        return None
    error, last = (number_of(number) - HEADER_LINES for number in found.groups()[:2])
    first_word = found[3] or ""
    if error > 0:
        # For a command of several lines this is the last of them: its first word is at or above it.
        number = next((one for one in range(min(error, len(lines)), 0, -1) if first_word in lines[one - 1]), 0)
    else:
        # The line is an older command's if a subshell ran afterwards.
        number = last if first_word == "exit" or not _SUBSHELL.search(commands) else 0
    while 1 < number <= len(lines) and _is_continued(lines[number - 2]):
        number -= 1
    return number if 0 < number <= len(lines) else None


def _is_continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def line_in_job(job: Job, role: TaskRole, commands: str, number: int) -> int | None:
    """The line of the job, from 1, that has line `number` of the role's commands as they run.

    None if a value of several lines was inserted into the commands.
    """
    if job.command_text(role).text.count("\n") != commands.count("\n"):
        return None
    offset = script_offset(job, role, number)
    return None if offset is None else LineIndex(job.text).line_of(offset) + 1
