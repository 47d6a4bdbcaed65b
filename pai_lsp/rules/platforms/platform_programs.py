"""The rule about programs that a platform puts into each container."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.platform.platforms import NAMES, may_be_marked, platform_named
from pai_lsp.rules.commands.command_uses import edit_fix, uses
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job

_SHELLS = ("bash", "sh")


@rule(Severity.ERROR)
def platform_program(job: Job) -> Iterator[Finding]:
    """A program of the platform that is run through a shell, or that only another platform has.

    LTP has the program `/usr/local/pai/runtime.d/barrier`, which waits for all tasks. It is compiled, so `bash` ends
    with exit code 126 and `sh` with 2. On OpenPAI the program does not exist (127).
    Source: ltp-platform, src/openpai-runtime/src/go/cmd/barrier.

        # pai-lsp: platform=ltp
        taskRoles:
          worker:
            commands:
              - bash /usr/local/pai/runtime.d/barrier --timeout=500
              # ^^^^ error

    Good:

        # pai-lsp: platform=ltp
        taskRoles:
          worker:
            commands:
              - /usr/local/pai/runtime.d/barrier --timeout=500
    """
    if not may_be_marked(job.text):
        return
    owners = {path: platform_named(name) for name in NAMES for path in platform_named(name).programs}
    for path, owner in owners.items():
        is_there = path in job.platform.programs
        for use in uses(job, *_SHELLS, path.rpartition("/")[2]):
            name, words = use.line.name, use.line.arguments
            is_in_shell = use.line.program in _SHELLS and bool(words) and words[0].text == path
            if not is_there and (is_in_shell or name.text == path):
                word = words[0] if is_in_shell else name
                message = f"only {owner.title} has '{path}'; {job.platform.title} does not"
                yield Finding(use.word(word), message)
            elif is_there and is_in_shell:
                fixes = edit_fix(use.place, f"Remove '{name.text}'", Span(name.span.start, words[0].span.start), "")
                message = f"'{path}' is no script, so '{name.text}' fails on it; call it directly"
                yield Finding(use.word(name), message, fixes)


RULES = (platform_program,)
