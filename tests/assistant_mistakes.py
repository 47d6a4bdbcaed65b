"""Mistakes that assistants make in jobs, because they remember other platforms, other spellings and older versions."""

from __future__ import annotations

import random
import re
from typing import NamedTuple

# A pattern of a right job, and what is written instead of it; of several, one is taken.
_MISTAKES: dict[str, tuple[tuple[str, str], ...]] = {
    "an address for the name of an image": (
        (r"(?<=dockerImage: )[\w-]+$", "pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime"),
    ),
    "keys with underscores": (
        (r"resourcePerInstance", "resource_per_instance"),
        (r"dockerImage(?=:)", "docker_image"),
        (r"jobRetryCount", "job_retry_count"),
        (r"memoryMB", "memory_mb"),
        (r"virtualCluster", "virtual_cluster"),
        (r"protocolVersion", "protocol_version"),
        (r"minFailedInstances", "min_failed_instances"),
    ),
    "singular and plural": (
        (r"(?<=^    )commands(?=:)", "command"),
        (r"instances(?=:)", "instance"),
        (r"taskRoles(?=:\n)", "taskRole"),
        (r"^prerequisites", "prerequisite"),
        (r"^parameters", "params"),
        (r"^secrets", "secret"),
        (r"^defaults", "default"),
        (r"callbacks", "callback"),
    ),
    "names of other platforms": (
        (r"resourcePerInstance", "resources"),
        (r"(?<=[ {])gpu(?=: \d)", "gpus"),
        (r"(?<=[ {])cpu(?=: \d)", "cpus"),
        (r"memoryMB(?=: \d)", "memory"),
        (r"instances(?=: \d)", "replicas"),
        (r"dockerImage(?=:)", "image"),
        (r"(?<=type: )dockerimage", "docker"),
    ),
    "numbers in quotes": (
        (r"(?<=[ {]gpu: )(\d+)", r'"\1"'),
        (r"(?<=[ {]cpu: )(\d+)", r"'\1'"),
        (r"(?<=memoryMB: )(\d+)", r'"\1"'),
        (r"(?<=instances: )(\d+)", r'"\1"'),
        (r"(?<=jobRetryCount: )(\d+)", r'"\1"'),
    ),
    "amounts with units": (
        (r"(?<=memoryMB: )\d+", "16Gi"),
        (r"(?<=memoryMB: )\d+", "8192MB"),
        (r"(?<=memoryMB: )\d+", "32 GB"),
    ),
    "another version": (
        (r"(?<=protocolVersion: )2", "2.0"),
        (r"(?<=protocolVersion: )2", '"2.0"'),
        (r"(?<=protocolVersion: )2", "v2"),
        (r"(?<=protocolVersion: )2", '"2"'),
    ),
    "a key that is left out": (
        (r"^type: job\n", ""),
        (r"^protocolVersion: 2\n", ""),
        (r"^    instances: \d+\n", ""),
        (r"(?<=\d), gpu: \d+(?=[,}])", ""),
        (r"^      gpu: \d+\n", ""),
        (r"^  - type: dockerimage\n    name", "  - name"),
    ),
    "one text for a list": (
        (r"(?<=^    commands:\n)      - (?=[^\n]*\n(?!      - ))", "      "),
        (r"(?<=^    commands:)\n      - ([^\n]*)\n(?!      - )", r" \1\n"),
        (r"(?<=prerequisites: )\[([\w-]+)\]", r"\1"),
        (r"(?<=prerequisites: )\[([\w-]+), ([\w-]+)\]", r"\1, \2"),
    ),
    "events by other names": (
        (r"taskStarts", "taskStart"),
        (r"taskStarts", "task_starts"),
        (r"taskStarts", "onTaskStarts"),
        (r"taskStarts", "taskStarted"),
        (r"taskSucceeds", "taskSucceeded"),
        (r"taskSucceeds", "taskSuccess"),
    ),
    "templates in other forms": (
        (r"<% \$parameters\.", "<% parameters."),
        (r"<% \$parameters\.(\w+) %>", r"{{ parameters.\1 }}"),
        (r"<% \$parameters\.(\w+) %>", r"${{ parameters.\1 }}"),
        (r"<% \$parameters\.", "<% $parameter."),
        (r"<% \$secrets\.", "<% $secret."),
        (r"<% \$parameters\.(\w+) %>", r"<% $parameters.\1 >"),
    ),
    "names that are almost right": (
        (r"(?<=prerequisites: \[)(\w)", r"\1\1"),
        (r"(?<=\$parameters\.)(\w+)", r"\1s"),
        (r"(?<=dockerImage: )([\w]+)$", r"\1-image"),
        (r"PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", "PAI_CURRENT_TASK_INDEX"),
        (r"PAI_HOST_IP_worker_0", "PAI_HOST_IP_WORKER_0"),
        (r"PAI_TASK_ROLE_TASK_COUNT_(\w+)", r"PAI_TASK_COUNT_\1"),
    ),
    "plugins by other names": (
        (r"com\.microsoft\.pai\.runtimeplugin\.cmd", "com.microsoft.pai.runtimeplugin.command"),
        (r"com\.microsoft\.pai\.runtimeplugin\.cmd", "com.microsoft.pai.plugin.cmd"),
        (r"com\.microsoft\.pai\.runtimeplugin(?=:)", "com.microsoft.pai.runtimeplugins"),
        (r"(?<=plugin: )ssh", "SSH"),
    ),
    "a section in the wrong place": (
        (r"^defaults:\n  (virtualCluster: \w+\n)", r"\1"),
        (r"^jobRetryCount: \d+\n", "retryCount: 2\n"),
    ),
    "names that are not allowed": (
        (r"(?<=^  )worker(?=:)", "worker-node"),
        (r"(?<=^name: )([\w-]+)$", r"My Job: \1"),
        (r"(?<=^name: )([\w-]+)$", r"\1 v2"),
    ),
    "signs of a word processor": ((r'"', "\u201c"), (r"(?<=:) (?=\w)", "\u00a0"), (r"(?<=- )--(?=\w)", "\u2014")),
    "layout": (
        (r"^    (?=instances)", "\t"),
        (r"^    (?=commands:\n)", "   "),
        (r"(?<=jobRetryCount:) ", ""),
        (r"(?<=^name:) ", ""),
    ),
    "another platform's secret": ((r"<% \$secrets\.(\w+) %>", r"${\1}"),),
}


class Broken(NamedTuple):
    """A job with mistakes: their names, the text, and the text that was meant."""

    mistakes: tuple[str, ...]
    text: str
    meant: str


def broken_job(seed: int, bases: tuple[str, ...]) -> Broken:
    """A job with one to three mistakes; the same seed gives the same one."""
    source = random.Random(seed)  # noqa: S311 - nothing to keep secret
    meant = source.choice(bases)
    text = meant
    made: list[str] = []
    kinds = list(_MISTAKES)
    wanted = 1 + seed % 3
    while len(made) < wanted:
        kind = kinds[seed % len(kinds)] if not made else source.choice([one for one in kinds if one not in made])
        pattern, new = source.choice(_MISTAKES[kind])
        found = list(re.finditer(pattern, text, re.MULTILINE))
        if found:
            match = source.choice(found)
            text = text[: match.start()] + match.expand(new) + text[match.end() :]
            made.append(kind)
        elif not made:
            meant = text = source.choice(bases)
            seed += 1
    return Broken(tuple(made), text, meant)
