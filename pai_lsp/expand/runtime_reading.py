"""The job as the released runtime knows it: read by PyYAML, from a text whose secrets the rest-server has masked.

Sources: rest-server, src/utils/protocolSecret.js, mask; openpai-runtime, src/init.d/initializer.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pai_lsp.expand.runtime_secrets import runtime_secrets
from pai_lsp.frozen import dataclass
from pai_lsp.masking import masked_span
from pai_lsp.nodes import Mapping
from pai_lsp.platform import converted_role_name
from pai_lsp.syntax import parse
from pai_lsp.tags import runtime_value

if TYPE_CHECKING:
    from pai_lsp.job import Job


class RuntimeStopError(Exception):
    """Something that ends the init container, and with it the task; the message says what, in words for a user."""


@dataclass(frozen=True, slots=True)
class RuntimeJob:
    """What the runtime knows: the job, and its secrets (None without any)."""

    values: dict[Any, Any]
    secrets: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class RuntimeRole:
    """A task role in the runtime; `name` is the one that the rest-server has made of the role's own."""

    job: RuntimeJob
    name: str
    values: dict[Any, Any]


def runtime_job(job: Job) -> RuntimeJob:
    """The job as the runtime reads it.

    Raises:
        RuntimeStopError: where PyYAML can not read what the runtime is given.
    """
    root = job.syntax.root
    masked = masked_text(job.text)
    if masked != job.text:
        syntax = parse(masked)
        if syntax.problems:
            raise RuntimeStopError("the runtime can not read the job once the rest-server has masked its secrets")
        root = syntax.root
    try:
        values = runtime_value(root)
    except ValueError:
        raise RuntimeStopError("the runtime's YAML reader fails on a value of the job") from None
    if not isinstance(values, dict):
        raise RuntimeStopError("the runtime finds no job in the text")
    secrets = job.plain.get("secrets") if isinstance(job.syntax.root, Mapping) else None
    if not isinstance(secrets, dict) or not secrets:
        return RuntimeJob(values, None)
    try:
        return RuntimeJob(values, runtime_secrets(secrets))
    except ValueError:
        raise RuntimeStopError(
            "the runtime's YAML reader fails on the secrets as the rest-server writes them"
        ) from None


def runtime_role(job: RuntimeJob, name: str) -> RuntimeRole:
    """The role of that name, which the runtime looks up by its converted name.

    Raises:
        RuntimeStopError: where it finds none.
    """
    converted = converted_role_name(name)
    roles = job.values.get("taskRoles")
    values = roles.get(converted) if isinstance(roles, dict) else None
    if not isinstance(values, dict):
        raise RuntimeStopError(f"the runtime looks for the task role under '{converted}', and does not find it")
    return RuntimeRole(job, converted, values)


def masked_text(text: str) -> str:
    """The job's text as the rest-server stores it."""
    span = masked_span(text)
    if not len(span):
        return text
    following = text[span.end :]
    return text[: span.start] + 'secrets: "******"' + (f"\n{following}" if following else "")
