"""The job as the released runtime knows it: read by PyYAML, from a text whose secrets the rest-server has masked.

Sources: rest-server, src/utils/protocolSecret.js, mask; openpai-runtime, src/init.d/initializer.py.

A job's secrets as they arrive in the container: the rest-server writes them as YAML, and the runtime reads that.

js-yaml quotes a text that it would read as something else itself; PyYAML reads a few more texts as numbers, `1234_` for
one, and those lose their form on the way.
Sources: rest-server, src/models/v2/job/k8s.js, getConfigSecretDef; js-yaml 3.13.1, lib/js-yaml/dumper.js, writeScalar;
openpai-runtime, src/init.d/user_command_renderer.py and initializer.py.
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
        RuntimeStopError: where PyYAML cannot read what the runtime is given.
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


# Booleans of older YAML, which js-yaml quotes though it reads them as texts.
_QUOTED = frozenset(["y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"])
_NO_POINT = re.compile(r"(-?[0-9]+)e")


def runtime_secrets(secrets: Any) -> Any:
    """The secrets as the runtime reads them: Python values.

    secrets: a value as the rest-server reads it (see `pai_lsp.source.nodes.plain_value`).

    Raises:
        ValueError: where the runtime cannot read what the rest-server writes.
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
        # A whole number keeps its exponent without a point, and is a text to PyYAML.
        return _plain(text if float(secrets).is_integer() else _NO_POINT.sub(r"\1.e", text))
    return secrets


def _plain(text: str) -> Any:
    value = Scalar(Span(0, len(text)), text).runtime_value
    if isinstance(value, ValueError):
        raise value
    return value
