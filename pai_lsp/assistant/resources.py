"""What an assistant can read: the pages, the schema, the rules and the profile of its cluster."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pai_lsp.assistant.allowed_files import AnswerError
from pai_lsp.assistant.job_answers import chosen_cluster
from pai_lsp.ide.documentation import rule_page
from pai_lsp.platform.job_schema import published_schema
from pai_lsp.platform.tables import page_text, table
from pai_lsp.rules import RULES, UnknownCodeError, known

if TYPE_CHECKING:
    from pai_lsp.assistant.allowed_files import AllowedFiles

_RULES = "pai-lsp://rules"
_CLUSTER = "pai-lsp://cluster"
_SUMMARY = re.compile(r"^## The protocol on one screen\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def resources(files: AllowedFiles) -> dict[str, dict[str, str]]:
    """The resources by URI: `name`, `description` and `mimeType`; a cluster is among them if one is chosen."""
    found: dict[str, dict[str, str]] = table("assistant_tools.json")["resources"]
    return {uri: one for uri, one in found.items() if uri != _CLUSTER or files.cluster}


def resource_text(uri: str, files: AllowedFiles) -> tuple[str, str]:
    """The text of a resource, or of the page of a rule, and its MIME type.

    Raises:
        AnswerError: if there is none.
    """
    offered = resources(files)
    if uri.startswith(f"{_RULES}/"):
        try:
            return rule_page(known(uri.removeprefix(f"{_RULES}/"))), "text/markdown"
        except UnknownCodeError as error:
            raise AnswerError(str(error)) from None
    if uri not in offered:
        raise AnswerError(f"there is no such resource; the resources are {', '.join(offered)} and {_RULES}/CODE")
    return _text(uri, files), offered[uri]["mimeType"]


def _text(uri: str, files: AllowedFiles) -> str:
    if uri == _RULES:
        return "".join(f"{rule.code} ({rule.severity.label}): {rule.summary}\n" for rule in RULES)
    if uri == _CLUSTER:
        profile: Any = chosen_cluster(files.cluster)
        return json.dumps(profile.document, indent=1, ensure_ascii=False)
    if uri == "pai-lsp://schema":
        return json.dumps(published_schema("job"), ensure_ascii=False)
    return summary() if uri == "pai-lsp://summary" else page_text("protocol.md")


def summary() -> str:
    """The protocol of jobs on one screen, from docs/assistants.md."""
    found = _SUMMARY.search(page_text("assistants.md"))
    return found[1].strip() + "\n" if found else ""
