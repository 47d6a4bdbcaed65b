"""The objects of an edit are freed at once: the pauses of Python's collector would be felt while typing."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
from budgets import some

from pai_lsp.document import Document, check
from pai_lsp.ide.completion.complete import complete
from pai_lsp.ide.hints_and_lenses import inlay_hints, lenses
from pai_lsp.ide.hover import hover
from pai_lsp.ide.navigation import definitions, links, references
from pai_lsp.ide.outline import folds, outline
from pai_lsp.ide.semantic_tokens import semantic_tokens
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Callable

ROLES = "".join(
    f"  worker{number}:\n    instances: 1\n    dockerImage: image\n    prerequisites: [prepare]\n"
    "    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}\n"
    f"    commands:\n      - echo <% $parameters.rate %> $PAI_HOST_IP_worker{number}_0\n"
    for number in range(12)
)
JOB = f"""\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {{type: dockerimage, name: image, uri: "example/image:1.0"}}
  - type: script
    name: prepare
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks: [{{event: taskStarts, commands: [echo prepare]}}]
parameters:
  rate: 0.1
taskRoles:
{ROLES}"""
AT = JOB.index("    dockerImage: image") + 8
EVERYWHERE = Span(0, 200)

ASKED: dict[str, Callable[[Document], object]] = {
    "reading": lambda document: document.syntax,
    "checking": check,
    "completion": lambda document: complete(document, AT),
    "hover": lambda document: hover(document, AT),
    "definition": lambda document: definitions(document, AT + 12),
    "references": lambda document: references(document, AT + 12),
    "outline": outline,
    "inlay hints": lambda document: inlay_hints(document, EVERYWHERE),
    "lenses": lenses,
    "links": links,
    "tokens": semantic_tokens,
    "folding": folds,
}


@pytest.mark.parametrize(
    "typed", [("    dockerImage: image", "    dockerImage: image "), ("    dockerIma", "    dockerIm")]
)
@pytest.mark.parametrize("asked", some(ASKED))
def test_an_edit_leaves_no_garbage(asked: str, typed: tuple[str, str]) -> None:
    def edit(line: str) -> None:
        text = JOB.replace("    dockerImage: image", line, 1)
        ASKED[asked](Document(text, path="train.pai.yaml"))

    # Only what comes from here on is looked through.
    gc.freeze()
    edit(typed[0])
    edit(typed[1])
    gc.collect()
    gc.disable()
    try:
        for line in (*typed, *typed):
            edit(line)
        assert gc.collect() == 0
    finally:
        gc.enable()
