"""What the runtime sees of the section `secrets`: asterisks in the job's text, and the values in a file of YAML.

Masking: before the rest-server stores a job it replaces the text of `secrets` by asterisks, and the runtime reads what
is stored. Source: rest-server, src/utils/protocolSecret.js, mask. A byte order mark is gone by then: body-parser,
lib/read.js, decodes what is submitted with iconv-lite, lib/index.js, getDecoder, which takes it away.

Values: the rest-server writes them with js-yaml, and PyYAML reads that. js-yaml quotes each string that it would itself
read as another type. PyYAML reads a few more strings as numbers, such as `1234_`, which then change on the way, and it
cannot read `=`, which js-yaml 4 quotes. Sources: rest-server, src/models/v2/job/k8s.js, getConfigSecretDef; js-yaml
3.13.1, lib/js-yaml/dumper.js, and 4.1.1, lib/dumper.js, writeScalar and isPlainSafeFirst; PyYAML, resolver.py.
"""

from __future__ import annotations

import math

from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Scalar, Syntax
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import Binary, Date, Reader, server_text, server_value
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

# A line begins where JavaScript's `^` matches, and its `\w` matches ASCII alone.
_LINE_ENDS = "\n\r\u2028\u2029"
_SECTION = lazy_pattern(rf"secrets:(?:(?<![^{_LINE_ENDS}]secrets:)|(?<=\A\ufeffsecrets:))")
_NEXT_WORD = lazy_pattern(f"[{_LINE_ENDS}][A-Za-z0-9_]")
# Booleans of YAML 1.1 and `<<`, which js-yaml quotes although it reads them as strings.
_QUOTED = frozenset(
    ["y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF", "<<"]
)
# js-yaml quotes a string that begins like this.
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
_NO_POINT = lazy_pattern(r"(-?[0-9]+)e")


def is_line_start(text: str, offset: int) -> bool:
    """Whether a line that the rest-server reads begins at an offset, perhaps after the byte order mark."""
    return offset == 0 or text[offset - 1] == "\n" or (offset == 1 and text[0] == "\ufeff")


def masked_span(text: str) -> Span:
    """The text that is replaced by `secrets: "******"` and a line end; empty where nothing is masked."""
    section = _SECTION.search(text)
    if section is None:
        return Span(0, 0)
    following = _NEXT_WORD.search(text, section.end())
    return Span(section.start(), following.end() - 1 if following else len(text))


def job_syntax(text: str, reader: Reader) -> Syntax:
    """A job's text, without the problems of what the runtime alone refuses and masking replaces."""
    syntax = parse(text, reader)
    if not any(problem.is_runtime_only for problem in syntax.problems):
        return syntax
    masked = masked_span(text)
    kept = (one for one in syntax.problems if not (one.is_runtime_only and one.span.start in masked))
    return replace(syntax, problems=tuple(kept))


def runtime_secrets(secrets: Any, reader: Reader) -> Any:
    """The secrets as Python values.

    secrets: a value as the rest-server reads it (see `pai_lsp.source.nodes.plain_value`). reader: its library.

    Raises:
        ValueError: if the runtime cannot read the YAML that the rest-server writes.
    """
    if isinstance(secrets, dict):
        # As a key, `=` is a string.
        return {
            "=" if key == "=" else runtime_secrets(key, reader): runtime_secrets(value, reader)
            for key, value in secrets.items()
        }
    if isinstance(secrets, list):
        return [runtime_secrets(item, reader) for item in secrets]
    if isinstance(secrets, str):
        return secrets if _is_quoted(secrets, reader) else _plain(secrets, reader)
    if isinstance(secrets, Date):
        return secrets.moment
    if isinstance(secrets, Binary):
        return secrets.content
    if isinstance(secrets, float) and not math.isfinite(secrets):
        return secrets
    if isinstance(secrets, (int, float)) and not isinstance(secrets, bool):
        text = server_text(secrets)
        # An integer keeps its exponent without a point, which PyYAML reads as a string.
        return _plain(text if float(secrets).is_integer() else _NO_POINT.sub(r"\1.e", text), reader)
    return secrets


def runtime_secret(secret: Scalar) -> Any:
    """What the runtime reads of one secret; a `ValueError` instance if it cannot read it."""
    try:
        return runtime_secrets(secret.value, secret.reader)
    except ValueError as error:
        return error


def _is_quoted(text: str, reader: Reader) -> bool:
    """Whether the rest-server writes a string in quotes or as a block, so that the runtime reads a string too."""
    if text in _QUOTED or text[:1] in _INDICATORS or "\n" in text:
        return True
    if text[:1] == "=" and reader is Reader.JS_YAML_4:
        return True
    return not isinstance(server_value(text), str)


def _plain(text: str, reader: Reader) -> Any:
    value = Scalar(Span(0, len(text)), text, reader=reader).runtime_value
    if isinstance(value, ValueError):
        raise value
    return value
