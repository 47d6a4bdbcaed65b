"""What somebody else has written is shown as text: showing it loads nothing and links to nothing."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from budgets import stride

from pai_lsp.document import Document
from pai_lsp.ide.completion.complete import complete
from pai_lsp.ide.documentation import code, offer_documentation, prose
from pai_lsp.ide.hover import hover
from pai_lsp.job.lookup import SuggestedDefinition

if TYPE_CHECKING:
    from collections.abc import Iterator

IMAGE = "![x](https://evil.example/track.png)"
HOSTILE = [
    IMAGE,
    "[a](command:x)",
    "![x][r]\n\n[r]: https://evil.example/track.png",
    "<img src=https://evil.example/track.png>",
    "<https://evil.example>",
    f"`\n\n{IMAGE}",
    f"```\n\n{IMAGE}",
    f"````\n```\n{IMAGE}",
    f"~~~\n{IMAGE}",
    f"**`{IMAGE}",
    f"- a\n\n      {IMAGE}",
]
_BLOCK = re.compile(r"^(`{3,})[a-z]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
_LIVE = re.compile(r"!\[|\][(\[:]|<[A-Za-z/!?]|~~~|```")


def live(markdown: str) -> list[str]:
    """The marks of images, links, elements and open blocks, outside of code."""
    return _LIVE.findall(_SPAN.sub("", _BLOCK.sub("", markdown)))


def shown(text: str) -> Iterator[str]:
    """Every hover and every documentation of a completion in a job."""
    document = Document(text)
    for offset in range(0, len(text), stride(1)):
        if found := hover(document, offset):
            yield found.markdown
    for at in (match.end() for match in re.finditer(r"prerequisites: \[|params: <% ", text)):
        yield from (one.documentation for one in complete(document, at))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_definition_loads_nothing(hostile: str) -> None:
    quoted = json.dumps(hostile)
    definition = {
        "name": hostile,
        "type": "script",
        "description": hostile,
        "uri": [hostile],
        "plugin": "com.microsoft.pai.runtimeplugin.cmd",
        "template_variables": [{"name": hostile}],
        "callbacks": [{"event": "taskStarts", "commands": [hostile]}],
    }
    text = (
        f"protocolVersion: 2\nname: a\ntype: job\nparameters: {{p: {quoted}}}\n"
        f"prerequisites: [{json.dumps(definition)}]\n"
        f"taskRoles: {{{quoted}: {{prerequisites: [{quoted}], commands: ['<% $parameters.p %>']}}}}\n"
    )
    found = [*dict.fromkeys(shown(text))]
    assert sum("evil.example" in one or "command:x" in one for one in found) > 2
    assert [one for one in found if live(one)] == []
    offer = SuggestedDefinition(hostile, hostile, hostile, hostile, (hostile,))
    assert live(offer_documentation(offer)) == []


def test_ordinary_text_stays_as_it_is() -> None:
    for text in ("All of **MNIST**, see `mnist.sh` (60,000 images)", "a < b, a[0], 3 > 2, wow!", "$(cat x) [note]"):
        assert prose(text) == text
    assert (code("a b"), code("a`b"), code("a\nb")) == ("`a b`", "`` a`b ``", "`a b`")
