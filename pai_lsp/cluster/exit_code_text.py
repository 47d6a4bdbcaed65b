"""What an exit code means: as the code of the commands, and as the code that the platform reports.

The two are different numbers for one failure. The runtime passes some on, and makes another of most: commands that end
with 1 are reported as 255. So a number that can be both has two readings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.platform.tables import CommandCode, command_codes, exit_codes
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from pai_lsp.platform.tables import ExitCode

# The platform's entries for all other codes. Source: rest-server, models/v2/job/k8s.js, generateExitSpec.
_NEGATIVE_FALLBACK, _POSITIVE_FALLBACK = -8000, 256
# A program ends with one byte.
_LARGEST_OF_COMMANDS = 255
# Below it the platform has no code of its own but 0.
_FIRST_OF_PLATFORM = 128

RETRIES = {"always": "always", "backoff": "always-with-pause", "limited": "limited", "never": "never"}
_RETRY_TEXTS = {
    "always": "retried without limit",
    "backoff": "retried without limit, with longer and longer pauses",
    "limited": "retried `jobRetryCount` times",
    "never": "not retried",
}


@dataclass(frozen=True, slots=True)
class CodeReadings:
    """The readings of one number: of the platform, and of the commands if it differs and is possible.

    is_commands_first: whether the reading of the commands is the more probable one.
    """

    platform: ExitCode
    commands: CommandCode | None
    is_commands_first: bool


def explained_code(code: int) -> ExitCode:
    """The entry of the platform's table for a code, whatever it is."""
    return exit_codes().get(code) or exit_codes()[_POSITIVE_FALLBACK if code > 0 else _NEGATIVE_FALLBACK]


def retry_text(code: ExitCode) -> str:
    """Whether the platform tries again, in words."""
    return _RETRY_TEXTS[code.retry]


def code_readings(code: int) -> CodeReadings:
    """The readings of a number; the runtime passes on signals, so those have one."""
    platform = explained_code(code)
    is_passed_on = any(pattern.exit_code == code and pattern.user_log is None for pattern in platform.patterns)
    if code == 0 or is_passed_on or not 0 < code <= _LARGEST_OF_COMMANDS:
        return CodeReadings(platform, None, is_commands_first=False)
    is_of_platform = platform.code == code
    commands = command_codes().get(code)
    if commands is None and not is_of_platform:
        commands = command_code(code)
    return CodeReadings(platform, commands, is_commands_first=code <= _FIRST_OF_PLATFORM or not is_of_platform)


def command_code(code: int) -> CommandCode:
    """What a code of the commands means, whatever it is."""
    if code in command_codes():
        return command_codes()[code]
    known = explained_code(code)
    if known.code == code and any(pattern.exit_code == code for pattern in known.patterns):
        return CommandCode(code, known.description, known.hint, known.source)
    text = "The program chose this number; it has no general meaning."
    return CommandCode(code, text, "Read the end of the log.", "")


def code_text(code: int) -> str:
    """What an exit code means, in lines; two paragraphs with titles where it can be of the commands or the platform."""
    found = code_readings(code)
    if found.commands is None:
        return _platform_text(code, found.platform)
    commands = f"{code} as the exit code of the commands\n\n{command_text(found.commands)}"
    platform = f"{code} as the code of the platform: {_platform_text(code, found.platform).partition(' ')[2]}"
    return f"{commands}\n{platform}" if found.is_commands_first else f"{platform}\n{commands}"


def command_text(code: CommandCode) -> str:
    """What a code of the commands means, in lines."""
    return f"{code.description}\n" + (f"{code.hint}\n" if code.hint else "")


def _platform_text(code: int, known: ExitCode) -> str:
    lines = [f"{code} {known.phrase} ({retry_text(known)})", "", known.description]
    lines += [known.hint] if known.hint else []
    lines += ["", f"Note: {known.trap}"] if known.trap else []
    return "\n".join(lines) + "\n"
