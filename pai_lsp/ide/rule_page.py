"""A rule's documentation as Markdown for an editor."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.diagnostic import Rule


def rule_page(rule: Rule) -> str:
    """The code as title, the usual severity, the documentation with its examples as YAML, the address of the page."""
    body = "\n\n".join(_blocks(rule.documentation))
    return f"# {rule.code}\n\n*{rule.severity.label}*\n\n{body}\n\n[{rule.url}]({rule.url})\n"


def _blocks(documentation: str) -> Iterator[str]:
    """The paragraphs; one that is indented is an example."""
    example: list[str] = []
    for block in documentation.split("\n\n"):
        if block.startswith("    "):
            example.append(block)
            continue
        yield from _fenced(example)
        example = []
        yield block
    yield from _fenced(example)


def _fenced(example: list[str]) -> Iterator[str]:
    if example:
        yield "```yaml\n" + textwrap.dedent("\n\n".join(example)).strip("\n") + "\n```"
