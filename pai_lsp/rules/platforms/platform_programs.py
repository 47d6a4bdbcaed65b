"""Rules about programs and environment variables that only some platforms have in their containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.platform.platforms import MARK_WORDS, NAMES, platform_named
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

        taskRoles:
          worker:
            commands:
              - bash /usr/local/pai/runtime.d/barrier --timeout=500
              #      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error

    Good:

        # pai-lsp: platform=ltp
        taskRoles:
          worker:
            commands:
              - /usr/local/pai/runtime.d/barrier --timeout=500
    """
    if MARK_WORDS.search(job.text) is None:
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


@rule(Severity.ERROR)
def platform_variable_not_set(job: Job) -> Iterator[Finding]:
    """A variable of the platform that is only set with a key of `extras`.

    LTP sets AZCOPY_AUTO_LOGIN_TYPE and AZCOPY_MSI_CLIENT_ID only if `extras.allowAzCopy` is the boolean `true`.
    Otherwise the task ends with "unbound variable" where commands read one of them.
    Source: ltp-platform, src/rest-server/src/models/v2/job/k8s.js.

        # pai-lsp: platform=ltp
        taskRoles:
          worker:
            commands:
              - azcopy login --identity --identity-client-id $AZCOPY_MSI_CLIENT_ID
              #                                              ^^^^^^^^^^^^^^^^^^^^^ error

    Good:

        # pai-lsp: platform=ltp
        extras:
          allowAzCopy: true
        taskRoles:
          worker:
            commands:
              - azcopy login --identity --identity-client-id $AZCOPY_MSI_CLIENT_ID
    """
    if not job.platform.changes:
        return
    missing = {
        variable.name: variable.extra
        for variable in job.platform.environment_variables
        if variable.extra and not job.has_extra(variable.extra)
    }
    for place in job.role_scripts if missing else ():
        for use in place.script.uses:
            if use.name in missing and not place.script.allows_unset and not place.script.provides_for(use.name):
                message = f"'{use.name}' is only set with 'extras.{missing[use.name]}: true'; the task ends here"
                yield Finding(place.span(use.span), message)


RULES = (platform_program, platform_variable_not_set)
