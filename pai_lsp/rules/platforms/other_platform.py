"""Rules about jobs for another platform: its keys, its programs, and comments that name no platform."""

from __future__ import annotations

from pai_lsp.findings.diagnostic import Consequence, Finding, Severity, Stage, rule
from pai_lsp.findings.fixes import fix_of, near_name_fixes
from pai_lsp.platform.platforms import ALL_NAMES, NAMES, Platform, may_be_marked, platform_comment, platform_named
from pai_lsp.rules.commands.command_uses import changed, uses
from pai_lsp.source.edits import line_end
from pai_lsp.source.nodes import scalar_text
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job

_SHELLS = ("bash", "sh")


@rule(Severity.INFORMATION, stage=Stage.CHECKER)
def job_for_other_platform(job: Job) -> Iterator[Finding]:
    """The job has a part that only another platform reads.

    Files are judged for OpenPAI unless `platform` in `.pai-lsp.yaml`, `--platform`, the setting of the editor or a
    comment in the file names another platform. The platform is never guessed.
    Source: ltp-platform, src/rest-server/src/config/v2/protocol.js.

        extras:
          enableLocalStorage: {enabled: true, hostpath: /mnt/nvme, mntpath: /data}
          #^^^^^^^^^^^^^^^^^ information

    Good:

        # pai-lsp: platform=ltp
        extras:
          enableLocalStorage: {enabled: true, hostpath: /mnt/nvme, mntpath: /data}
    """
    if job.is_catalog or not job.once(_may_be_marked) or _is_set(job.text):
        return
    for name in NAMES:
        other = platform_named(name)
        found = None if other is job.platform else _marked(job, other)
        if found is None:
            continue
        span, words = found
        line = f"# pai-lsp: platform={name}"
        at = 1 if job.text.startswith("\ufeff") else 0
        fixes = fix_of(f"Check this file for {other.title}", TextEdit, Span(at, at), f"{line}{line_end(job.text)}")
        fixes = () if job.text.startswith("%", at) else fixes
        message = f"{words} is for {other.title}; this file is checked for {job.platform.title}"
        yield Finding(span, f"{message} (see 'platform' in .pai-lsp.yaml)", fixes)
        return


def _may_be_marked(job: Job) -> bool:
    return may_be_marked(job.text)


def _is_set(text: str) -> bool:
    comment = platform_comment(text)
    return comment is not None and comment["name"] in ALL_NAMES


def _marked(job: Job, other: Platform) -> tuple[Span, str] | None:
    """The first part of the job that marks it as one for this platform, and what to call it."""
    for key in other.marked_keys:
        if key not in job.platform.marked_keys and (entry := job.section(key)):
            return entry.key.span, f"'{key}'"
    for key in other.marked_extras:
        if key not in job.platform.marked_extras and (entry := job.extras_entry(key)):
            return entry.key.span, f"'extras.{key}'"
    for plugin in job.plugins:
        if plugin.plugin in other.plugins and plugin.plugin not in {*job.platform.plugins, *job.site_plugins}:
            return plugin.plugin_scalar.span if plugin.plugin_scalar else plugin.node.span, f"'{plugin.plugin}'"
    for image in job.prerequisites:
        uri = image.node.entry("uri") if image.type == "dockerimage" else None
        if uri and scalar_text(uri.value).startswith(other.own_registries):
            return uri.place, "the image"
    return None


@rule(Severity.WARNING, stage=Stage.CHECKER, consequence=Consequence.IGNORED)
def unknown_platform(job: Job) -> Iterator[Finding]:
    """A comment sets a platform that does not exist.

    The file is then checked as if the comment were not there.
    Source: docs/platforms.md.

        # pai-lsp: platform=lpt
        #                   ^^^ warning
        protocolVersion: 2

    Good:

        # pai-lsp: platform=ltp
        protocolVersion: 2
    """
    comment = platform_comment(job.text)
    if comment is not None and comment["name"] not in ALL_NAMES:
        name, span = comment["name"], Span(*comment.span("name"))
        message = f"no platform is named '{name}'{did_you_mean(name, ALL_NAMES) or '; expected ' + ' or '.join(NAMES)}"
        yield Finding(span, message, near_name_fixes(span, name, ALL_NAMES))


@rule(Severity.ERROR)
def platform_program(job: Job) -> Iterator[Finding]:
    """A program of the platform is started with a shell, or only another platform has it.

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
    if not job.once(_may_be_marked):
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
                removed = Span(name.span.start, words[0].span.start)
                message = f"'{path}' is not a script, so '{name.text}' cannot run it; remove '{name.text}'"
                yield changed(use.place, removed, message, "", f"Remove '{name.text}'", at=name.span)


@rule(Severity.ERROR)
def platform_variable_not_set(job: Job) -> Iterator[Finding]:
    """A variable of the platform is only set with a key of `extras` that the job does not have.

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
