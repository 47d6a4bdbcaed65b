"""A job's secrets as they arrive in the container: the rest-server writes them as YAML, and the runtime reads that.

js-yaml quotes a text that it would read as something else itself; PyYAML reads a few more texts as numbers, `1234_` for
one, and those lose their form on the way.
Sources: rest-server, src/models/v2/job/k8s.js, getConfigSecretDef; js-yaml 3.13.1, lib/js-yaml/dumper.js, writeScalar;
openpai-runtime, src/init.d/user_command_renderer.py and initializer.py.
"""

from __future__ import annotations

import math
import re
from typing import Any

from pai_lsp.nodes import Scalar
from pai_lsp.scalar import Binary, Date, server_text, server_value
from pai_lsp.text import Span

# Booleans of older YAML, which js-yaml quotes though it reads them as texts.
_QUOTED = frozenset(["y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"])
_NO_POINT = re.compile(r"(-?[0-9]+)e")


def runtime_secrets(secrets: Any) -> Any:
    """The secrets as the runtime reads them: Python values.

    secrets: a value as the rest-server reads it (see `pai_lsp.nodes.plain_value`).

    Raises:
        ValueError: where the runtime can not read what the rest-server writes.
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
