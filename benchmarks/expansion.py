"""What it costs to expand jobs with long chains of `require`, from the text to the text, in this process."""

from __future__ import annotations

import gc
import json
import time
from typing import TYPE_CHECKING

from pai_lsp.document import Document
from pai_lsp.expansion.effective import effective_job
from pai_lsp.expansion.released_job import expanded
from pai_lsp.expansion.script import scripts

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5

_HEAD = """\
protocolVersion: 2
name: bench
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "example/image:1.0"}
"""

_DEFINITION = """\
  - name: {name}
    type: script
    require: [{required}]
    callbacks:
      - event: taskStarts
        commands:
          - echo {name}
"""

_TAIL = """\
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [first]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [echo hello]
"""


def measure() -> list[str]:
    """The table's lines, in Markdown."""
    lines = [
        "| required | read | yaml | yaml --inline | script | json | yaml, 2000 ÷ 500 |",
        "|---|---|---|---|---|---|---|",
    ]
    for label, deep, wide in (("1000 deep", 1, 0), ("1000 wide", 0, 1), ("1000 deep and 1000 wide", 1, 1)):
        text = _job(1000 * deep, 1000 * wide)
        figures = [_seconds(output, text) for output in (_read, _yaml, _inlined, _script, _json)]
        shown = " | ".join(f"{seconds * 1e3:.0f} ms" for seconds in figures)
        growth = _seconds(_yaml, _job(2000 * deep, 2000 * wide)) / _seconds(_yaml, _job(500 * deep, 500 * wide))
        lines.append(f"| {label} | {shown} | {growth:.1f} |")
    return lines


def _job(deep: int, wide: int) -> str:
    """A job with a chain of `deep` definitions, the last of which requires `wide` ones."""
    leaves = [f"leaf{number}" for number in range(wide)]
    chain = ["first", *(f"link{number}" for number in range(1, deep))]
    required = [*([name] for name in chain[1:]), leaves]
    return "".join(
        [
            _HEAD,
            *(
                _DEFINITION.format(name=name, required=", ".join(one))
                for name, one in zip(chain, required, strict=True)
            ),
            *(_DEFINITION.format(name=name, required="") for name in leaves),
            _TAIL,
        ]
    )


def _seconds(output: Callable[[str], object], text: str) -> float:
    """The processor time of the shortest of several turns: what the machine does beside only ever adds to one."""
    taken: list[float] = []
    for _ in range(ROUNDS):
        gc.collect()
        start = time.process_time()
        output(text)
        taken.append(time.process_time() - start)
    return min(taken)


def _read(text: str) -> object:
    return Document(text).job.prerequisites


def _yaml(text: str) -> object:
    return expanded(Document(text).job).text


def _inlined(text: str) -> object:
    job = Document(text).job
    return expanded(job, [role.name for role in job.task_roles]).text


def _script(text: str) -> object:
    job = Document(text).job
    return scripts(job, effective_job(job))


def _json(text: str) -> object:
    run = expanded(Document(text).job).run
    roles = run.roles if run else {}
    return json.dumps({name: [role.pre, role.command, role.post] for name, role in roles.items()})
