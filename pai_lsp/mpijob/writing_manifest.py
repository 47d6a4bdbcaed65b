"""Writes a manifest as YAML that Kubernetes reads back as the same values, and a job for the readers of OpenPAI."""

from __future__ import annotations

from typing import Any

from pai_lsp.mpijob.kubernetes_values import plain_value
from pai_lsp.source.writing import entry_lines, quoted, scalar_line


def manifest_text(manifest: dict[str, Any]) -> str:
    """The manifest in block style."""
    return "".join(f"{line}\n" for line in _lines(manifest))


def job_text(job: dict[str, Any]) -> str:
    """An OpenPAI job in block style."""
    return "".join(f"{line}\n" for name, value in job.items() for line in entry_lines(name, value))


def _lines(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [line for name, one in value.items() for line in _entry(name, one)]
    found: list[str] = []
    for item in value:
        first, *rest = _lines(item) if isinstance(item, (dict, list)) and item else [_scalar(item)]
        found += [f"- {first}", *(f"  {line}" for line in rest)]
    return found


def _entry(name: str, value: Any) -> list[str]:
    if isinstance(value, (dict, list)) and value:
        return [f"{_scalar(name)}:", *(f"  {line}" for line in _lines(value))]
    return [f"{_scalar(name)}: {_scalar(value)}"]


def _scalar(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, str):
        return quoted(value) if "\n" in value or plain_value(value)[0] != "string" else scalar_line(value)
    return scalar_line(value)
