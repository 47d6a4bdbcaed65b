"""Which line of a role's commands ended their script: bash itself keeps it, in traps of the script's header.

The header has as many lines as the runtime's, so messages of bash name the same lines as on a cluster. The traps change
neither the output nor the exit status of the commands, also with `set -x`. A script that could notice them runs without
them; then no line is known. Source: bash(1), ERR and EXIT below `trap`, BASH_COMMAND, BASH_LINENO.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.cluster.failure_report import HEADER_LINES, script_offset
from pai_lsp.source.foreign import number_of
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import LineIndex

if TYPE_CHECKING:
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole

OPTIONS = "set -o errexit\nset -o nounset\nset -o pipefail\n"
# The ending of the file beside a script with the report: the line on which a command failed that ends the script, or 0,
# and the command that ended it, as bash prints it.
REPORT = ".ended"
# Nothing is asked before each command: that would make loops many times slower. `[[ ]]` and `(( ))` leave `$_` alone;
# what they print with `set -x` is dropped. A command that fails in another file counts as the one that reads the file.
_TRAPS = (
    "_pai_error=0; set -o errtrace; "
    'trap \'{ [[ $- != *e* ]] || { [[ $BASH_SOURCE = "$0" ]] && ((_pai_error = LINENO)); } || '
    '[[ ${BASH_SOURCE[1]-} != "$0" ]] || ((_pai_error = BASH_LINENO[0])); } 2>/dev/null\' ERR; '
    'trap \'{ builtin echo "$_pai_error ${BASH_COMMAND//[[:space:]]/ }" >"$0'
    + REPORT
    + "\" || :; } 2>/dev/null' EXIT\n"
)
_NOTICES = lazy_pattern(
    r"\btrap\b|\bBASH_|\bLINENO\b|_pai_|\b(?:verbose|extdebug|functrace|errtrace|SHELLOPTS)\b|\$-"
    r"|\bset\s[^\n;&|]*-[a-zA-Z]*[vET]"
)
# A job could write a report of its own: it can be any text.
_ENDED = lazy_pattern(r"([0-9]{1,9}) (.*)")
# Of a command that is looked for, in characters.
_LONGEST = 500
_CONTINUED = lazy_pattern(r"(?<!\\)(?:\\\\)*\\\Z")
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
    error, command = number_of(found[1]) - HEADER_LINES, found[2].strip()
    if error > 0:
        # For a command of several lines this is the last of them: its first word is at or above it.
        # bash 5.3 has the trap's own command there after a subshell.
        word = "(" if command.startswith("((_pai_error") else command.partition(" ")[0]
        number = next((one for one in range(min(error, len(lines)), 0, -1) if word in lines[one - 1]), 0)
    else:
        # `exit`, an unset variable, or the last command: known where nothing else is written like it.
        number = _only_line_with(command, commands)
    while 1 < number <= len(lines) and _CONTINUED.search(lines[number - 2]):
        number -= 1
    return number if 0 < number <= len(lines) else None


def _only_line_with(command: str, commands: str) -> int:
    """The line where a command begins, from 1; 0 if it is written nowhere or more than once, apart from blanks."""
    if not command or len(command) > _LONGEST:
        return 0
    written = r"\s*".join(map(re.escape, command.replace(" ", "")))
    found = [one.start() for one in re.finditer(rf"(?<![\w.$/-]){written}(?![\w./-])", commands)]
    return commands.count("\n", 0, found[0]) + 1 if len(found) == 1 else 0


def line_in_job(job: Job, role: TaskRole, commands: str, number: int) -> int | None:
    """The line of the job, from 1, that has line `number` of the role's commands as they run.

    None if a value of several lines was inserted into the commands.
    """
    if job.command_text(role).text.count("\n") != commands.count("\n"):
        return None
    offset = script_offset(job, role, number)
    return None if offset is None else LineIndex(job.text).line_of(offset) + 1
