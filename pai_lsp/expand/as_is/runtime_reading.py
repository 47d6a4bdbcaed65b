"""The job and its secrets as the released runtime reads them.

The runtime reads the job with PyYAML, from a text in which the rest-server has masked the secrets. The secrets arrive
separately: the rest-server writes them as YAML, and the runtime reads that. js-yaml quotes each string that it would
itself read as another type; PyYAML reads a few more strings as numbers, such as `1234_`, and these change on the way.

Sources: rest-server, src/utils/protocolSecret.js, mask, and src/models/v2/job/k8s.js, getConfigSecretDef; js-yaml
3.13.1, lib/js-yaml/dumper.js, writeScalar; openpai-runtime, src/init.d/initializer.py and user_command_renderer.py.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from pai_lsp.platform.masking import masked_span
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Scalar
from pai_lsp.source.scalar import Binary, Date, server_text, server_value
from pai_lsp.source.syntax import parse
from pai_lsp.source.tags import runtime_value
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from pai_lsp.job.job import Job


class RuntimeStopError(Exception):
    """An error that ends the init container, and with it the task; the message is for the user."""


@dataclass(frozen=True, slots=True)
class RuntimeJob:
    """What the runtime knows: the job, and its secrets (None without any)."""

    values: dict[Any, Any]
    secrets: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class RuntimeRole:
    """A task role in the runtime; `name` is the name that the rest-server has converted from the role's own."""

    job: RuntimeJob
    name: str
    values: dict[Any, Any]


def runtime_job(job: Job) -> RuntimeJob:
    """The job as the runtime reads it.

    Raises:
        RuntimeStopError: if PyYAML cannot read the text.
    """
    root = job.syntax.root
    masked = masked_text(job.text)
    if masked != job.text:
        syntax = parse(masked)
        if syntax.problems:
            raise RuntimeStopError("the runtime cannot read the job once the rest-server has masked its secrets")
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
        RuntimeStopError: if there is none.
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


# Booleans of YAML 1.1, which js-yaml quotes although it reads them as strings.
_QUOTED = frozenset(["y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"])
_NO_POINT = re.compile(r"(-?[0-9]+)e")


def runtime_secrets(secrets: Any) -> Any:
    """The secrets as the runtime reads them: Python values.

    secrets: a value as the rest-server reads it (see `pai_lsp.source.nodes.plain_value`).

    Raises:
        ValueError: if the runtime cannot read the YAML that the rest-server writes.
    """
    if isinstance(secrets, dict):
        return {runtime_secrets(key): runtime_secrets(value) for key, value in secrets.items()}
    if isinstance(secrets, list):
        return [runtime_secrets(item) for item in secrets]
    if isinstance(secrets, str):
        is_quoted = secrets in _QUOTED or secrets.startswith("-") or not isinstance(server_value(secrets), str)
        return secrets if is_quoted else _plain(secrets)
    if isinstance(secrets, Date):
        return secrets.moment
    if isinstance(secrets, Binary):
        return secrets.content
    if isinstance(secrets, float) and not math.isfinite(secrets):
        return secrets
    if isinstance(secrets, (int, float)) and not isinstance(secrets, bool):
        text = server_text(secrets)
        # An integer keeps its exponent without a point, which PyYAML reads as a string.
        return _plain(text if float(secrets).is_integer() else _NO_POINT.sub(r"\1.e", text))
    return secrets


def _plain(text: str) -> Any:
    value = Scalar(Span(0, len(text)), text).runtime_value
    if isinstance(value, ValueError):
        raise value
    return value
