"""`pai-lsp image-check`: checks the images of a job as the runtime does before a task starts."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pai_lsp.cli import FINDINGS, WRONG_USAGE
from pai_lsp.cli.commands.job_file import failed, job_of
from pai_lsp.cluster.image_check import (
    DockerAccounts,
    ImageVerdict,
    NetworkRegistry,
    RecordedRegistry,
    Registry,
    image_verdict,
    no_account,
)
from pai_lsp.source.failures import why
from pai_lsp.source.foreign import json_value, mappings_in
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any


def run(arguments: argparse.Namespace) -> int:
    """Check the image of one task role, or of all."""
    document = job_of("image-check", arguments.job, arguments.platform)
    if isinstance(document, int):
        return document
    roles = [role.name for role in document.job.task_roles]
    if not roles:
        return failed(
            "image-check", f"{visible(document.path or '')} has no task roles, so no image to check", FINDINGS
        )
    if arguments.role is not None and arguments.role not in roles:
        message = f"the job has no task role '{visible(arguments.role)}'{did_you_mean(arguments.role, roles)}"
        return failed("image-check", message, WRONG_USAGE)
    try:
        registry = _registry(arguments.answers)
    except (OSError, ValueError) as error:
        reason = why(error) if isinstance(error, OSError) else "not a list of recorded requests"
        return failed("image-check", f"{visible(arguments.answers)}: {reason}", WRONG_USAGE)
    wanted = roles if arguments.role is None else [arguments.role]
    clean = document.job.hidden.without
    account_at = DockerAccounts(os.environ).at if arguments.answers is None else no_account
    verdicts = {role: image_verdict(document.job, role, registry, account_at) for role in wanted}
    if arguments.format == "json":
        answers = [{"role": role, **_as_json(verdict, clean)} for role, verdict in verdicts.items()]
        answer = answers[0] if arguments.role is not None else answers
        sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False) + "\n")
    else:
        for role, verdict in verdicts.items():
            word = "refused" if verdict.is_refused else verdict.presence.value
            text = f"{role}: {verdict.image or 'image'}: {word}: {verdict.explanation}"
            sys.stdout.write(f"{visible(clean(text))}\n")
            for line in _configuration_lines(verdict):
                sys.stdout.write(f"  {visible(clean(line))}\n")
    return FINDINGS if any(_is_bad(verdict) for verdict in verdicts.values()) else 0


def _is_bad(verdict: ImageVerdict) -> bool:
    return verdict.is_refused or verdict.presence.value == "not there"


def _configuration_lines(verdict: ImageVerdict) -> list[str]:
    """How the image runs, in words."""
    found = verdict.configuration
    if found is None:
        return []
    lines = [f"for {', '.join(found.architectures)}"] if found.architectures else []
    lines += [f"its user is '{found.user}'"] if found.user else []
    lines += [f"its entry point is not run: {' '.join(found.entrypoint)}"] if found.entrypoint else []
    return lines


def _as_json(verdict: ImageVerdict, clean: Any) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "image": clean(verdict.image),
        "verdict": "refused" if verdict.is_refused else "passed",
        "presence": verdict.presence.value,
        "explanation": clean(verdict.explanation),
    }
    if (found := verdict.configuration) is not None:
        answer["configuration"] = {
            "architectures": list(found.architectures),
            "user": clean(found.user),
            "entrypoint": [clean(word) for word in found.entrypoint],
        }
    return answer


def _registry(answers: str | None) -> Registry:
    """Recorded answers, or the network.

    Raises:
        OSError, ValueError: if the file with the answers cannot be read.
    """
    if answers is None:
        return NetworkRegistry()
    found = json_value(Path(answers).read_text(encoding="utf-8"))
    if not isinstance(found, list) or len(recorded := mappings_in(found)) < len(found):
        raise ValueError
    return RecordedRegistry(recorded)
