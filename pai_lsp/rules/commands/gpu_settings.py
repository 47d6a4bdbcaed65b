"""Rules about the variables that NCCL and CUDA read."""

from __future__ import annotations

import re

from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.platform.programs import nccl_variables
from pai_lsp.rules.commands.command_uses import edit_fix, scripts
from pai_lsp.source.spelling import did_you_mean, nearest
from pai_lsp.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.variable_places import ScriptPlace


@rule(Severity.INFORMATION)
def unknown_nccl_variable(job: Job) -> Iterator[Finding]:
    """Variable that NCCL does not read.

    NCCL ignores unknown variables without a message.
    Source: NVIDIA/nccl, src, NCCL_PARAM and ncclGetEnv; schemas/programs.json lists the names.

        taskRoles:
          worker:
            commands:
              - export NCCL_IB_DISABLED=1
              #        ^^^^^^^^^^^^^^^^ information

    Good:

        taskRoles:
          worker:
            commands:
              - export NCCL_IB_DISABLE=1
    """
    if "NCCL_" not in job.text:
        return
    for place in scripts(job, with_callbacks=True):
        for one in place.script.assignments:
            if not one.name.startswith("NCCL_") or one.name in nccl_variables() or "PLUGIN" in one.name:
                continue
            if any(use.name == one.name for use in place.script.uses):
                continue
            near = nearest(one.name, nccl_variables())
            if near:
                fixes = edit_fix(place, f"Change to '{near[0]}'", one.span, near[0])
                message = f"'{one.name}' is not a variable of NCCL{did_you_mean(one.name, near)}"
                yield Finding(place.span(one.span), message, fixes)


@rule(Severity.WARNING)
def loopback_between_tasks(job: Job) -> Iterator[Finding]:
    """Loopback interface for communication between tasks.

    `lo` only reaches the same machine, so several tasks do not find each other.
    Source: NCCL, environment variables, `NCCL_SOCKET_IFNAME`; PyTorch, `GLOO_SOCKET_IFNAME`.

        taskRoles:
          worker:
            instances: 2
            commands:
              - export NCCL_SOCKET_IFNAME=lo
              #                           ^^ warning

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - export NCCL_SOCKET_IFNAME=eth0
    """
    for place, name, value in _values(job, ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")):
        text = place.script.text[value.start : value.end].strip("\"'=")
        if text == "lo" and place.role is not None and place.role.instances > 1:
            yield Finding(place.span(value), f"'{name}=lo' only reaches the same machine")


@rule(Severity.WARNING)
def cuda_devices(job: Job) -> Iterator[Finding]:
    """`CUDA_VISIBLE_DEVICES` with GPUs that the task does not have, or with a space.

    A task numbers its GPUs from 0; CUDA ends the list at the first number that does not exist. After a space, bash
    takes the rest for the program to run.
    Source: the CUDA C++ Programming Guide, "CUDA Environment Variables".

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
            commands:
              - CUDA_VISIBLE_DEVICES=0,1,2,3 python train.py
              #                      ^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
            commands:
              - CUDA_VISIBLE_DEVICES=0,1 python train.py
    """
    for place, _, value in _values(job, ("CUDA_VISIBLE_DEVICES",)):
        text = place.script.text[value.start : value.end].strip("\"'")
        gpu = place.role.amount("gpu") if place.role else None
        if text.endswith(",") and (
            match := re.compile(r"[ \t]+([0-9, ]*[0-9])(?=[ \t])").match(place.script.text, value.end)
        ):
            span = Span(value.start, match.end())
            new = re.sub(r"[ \t]+", "", place.script.text[span.start : span.end])
            fixes = edit_fix(place, f"Change to '{new}'", span, new)
            yield Finding(place.span(span), f"bash runs '{match[1]}' as a program; remove the space", fixes)
        elif gpu and re.fullmatch(r"[0-9]+(?:,[0-9]+)*", text):
            numbers = [int(one) for one in text.split(",")]
            if max(numbers) >= gpu:
                new = ",".join(str(one) for one in range(min(gpu, len(numbers))))
                start = place.script.text.find(text, value.start)
                span = Span(start, start + len(text))
                fixes = edit_fix(place, f"Change to '{new}'", span, new)
                count = f"{gpu} GPU{'s' * (gpu != 1)}"
                yield Finding(place.span(span), f"the task has {count}, numbered from 0", fixes)


def _values(job: Job, names: tuple[str, ...]) -> Iterator[tuple[ScriptPlace, str, Span]]:
    """The values that scripts give to some variables."""
    if not any(name in job.text for name in names):
        return
    for place in scripts(job):
        text = place.script.text
        for one in place.script.assignments:
            if one.name in names and text.startswith("=", one.span.end):
                match = re.compile(r"[^\s;&|]*").match(text, one.span.end + 1)
                if match:
                    yield place, one.name, Span(*match.span())


RULES = (
    unknown_nccl_variable,
    loopback_between_tasks,
    cuda_devices,
)
