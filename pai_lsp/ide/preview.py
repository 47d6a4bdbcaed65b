"""What task roles run, as a text to read beside the job: with everything that they require, and no secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.embedded.template import TemplateFault
from pai_lsp.expansion.effective import effective_job
from pai_lsp.expansion.released_run import command_source, server_command
from pai_lsp.expansion.script import script_lines
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pai_lsp.document import Document
    from pai_lsp.expansion.script import ScriptLine
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.job.parts import TaskRole


# Source: openpai-runtime, src/runtime.d/user.sh.
_HEADER = "#!/bin/bash\nset -o errexit\nset -o nounset\nset -o pipefail\n\n"


@dataclass(frozen=True, slots=True)
class Preview:
    """A text, and by the numbers of its lines, from 0, their sources."""

    text: str
    sources: Mapping[int, ScriptLine]


def preview(document: Document, role: str | None = None, folder: str = "") -> Preview:
    """What a task role runs, or without a name what each one runs, as far as it is known.

    Problems that prevent expansion come first, as comments. Values of secrets stay references; what looks like a
    password in clear is shown as asterisks. Paths below `folder` are shown relative to it.
    """
    job = document.job
    effective = effective_job(job)
    lines: list[tuple[str, ScriptLine | None]] = [(one, None) for one in _problems(document, effective.problems)]
    if role is None or role in job.task_roles_by_name:
        lines += script_lines(job, effective, role, folder)
    else:
        lines.append((f"# no task role is named '{role}'", None))
    text = "".join(f"{line}\n" for line, _ in lines)
    shown = job.hidden.without(text)
    has_same_lines = shown.count("\n") == text.count("\n")
    sources = enumerate(source for line, source in lines for _ in line.split("\n")) if has_same_lines else ()
    return Preview(shown, {number: source for number, source in sources if source is not None})


def role_script(document: Document, role: TaskRole) -> str:
    """The commands of a task role as a script to run or check elsewhere, with what the platform sets in front of them.

    Templates of parameters are filled in, as the rest-server does; values of secrets are not.
    """
    job = document.job
    text = server_command(job, role)
    commands = command_source(job, role) if isinstance(text, TemplateFault) else text
    return job.hidden.without(f"{_HEADER}{commands}\n")


def _problems(document: Document, problems: Sequence[Diagnostic]) -> Iterator[str]:
    """The problems, a line each."""
    for problem in (one.without_secrets(document.job.hidden) for one in problems):
        yield f"# line {document.lines.line_of(problem.span.start) + 1}: {' '.join(problem.message.split())}"
