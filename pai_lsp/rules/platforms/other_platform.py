"""The rule about jobs that look as if they were for another platform, and the one about comments that name none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Fix, Severity, rule
from pai_lsp.findings.fixes import near_name_fixes
from pai_lsp.platform.platforms import NAMES, Platform, may_be_marked, platform_comment, platform_named
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job


@rule(Severity.INFORMATION)
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
    if job.is_catalog or not may_be_marked(job.text) or _is_set(job.text):
        return
    for name in NAMES:
        other = platform_named(name)
        found = None if other is job.platform else _marked(job, other)
        if found is None:
            continue
        span, words = found
        line = f"# pai-lsp: platform={name}"
        at = 1 if job.text.startswith("\ufeff") else 0
        fixes: tuple[Fix, ...] = ()
        if not job.text.startswith("%", at):
            end = "\r\n" if "\r\n" in job.text else "\n"
            fixes = (Fix(f"Check this file for {other.title}", (TextEdit(Span(at, at), f"{line}{end}"),)),)
        message = f"{words} is for {other.title}; this file is checked for {job.platform.title}"
        yield Finding(span, f"{message} (see 'platform' in .pai-lsp.yaml)", fixes)
        return


def _is_set(text: str) -> bool:
    comment = platform_comment(text)
    return comment is not None and comment["name"] in NAMES


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
        text = uri.value.text if uri and isinstance(uri.value, Scalar) else ""
        if uri and text.startswith(other.own_registries):
            return uri.place, "the image"
    return None


@rule(Severity.WARNING)
def unknown_platform(job: Job) -> Iterator[Finding]:
    """A comment that sets a platform that does not exist.

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
    if comment is not None and comment["name"] not in NAMES:
        name, span = comment["name"], Span(*comment.span("name"))
        message = f"no platform is named '{name}'{did_you_mean(name, NAMES) or '; expected ' + ' or '.join(NAMES)}"
        yield Finding(span, message, near_name_fixes(span, name, NAMES))


RULES = (job_for_other_platform, unknown_platform)
