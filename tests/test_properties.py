"""For every text the checker answers with places in the text, and editing ends where reading afresh does."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from budgets import budget, generated_cases, some
from hypothesis import given
from hypothesis import strategies as st
from random_edits import assert_sound, job_texts, no_failures, random_edit
from server_client import URI, Client

from pai_lsp.document import Document
from pai_lsp.lsp.checks import diagnostics_of
from pai_lsp.lsp.convert import path_of
from pai_lsp.lsp.documents import OpenDocument
from pai_lsp.source.text import ColumnUnit

TEXTS = job_texts()
NAMES = sorted(TEXTS)

# How many prefixes are checked in all; `make fuzz` looks at many more.
PREFIXES = budget(700)
STRIDE = sum(map(len, TEXTS.values())) // PREFIXES + 1


# Texts on which something of ours once failed.
FOUND = (
    "taskRoles:\n  a:\n    commands: [n: ]\n",
    ": \nprerequisites\n  - : \n   name: a\ntaskRoles\n o\n  prerequisites: [t:\n,a]",
    ": \ntaskRoles\n  ps:\n  ps\n   : \n   commands:\n   - $PAI_HOST_IP_ps_0\nextras\n gangAllocation: false",
)


@pytest.mark.parametrize("text", FOUND)
def test_what_once_failed(text: str) -> None:
    with no_failures():
        assert_sound(Document(text, path="a.pai.yaml"))


@pytest.mark.parametrize("name", some(NAMES, 2))
def test_every_prefix_is_answered(name: str) -> None:
    text = TEXTS[name]
    with no_failures():
        for end in range(len(name) % STRIDE, len(text), STRIDE):
            assert_sound(Document(text[:end]))


@generated_cases(150)
@given(st.sampled_from(NAMES), st.integers(0, 2**32), st.integers(1, 8))
def test_every_edited_text_is_answered(name: str, seed: int, count: int) -> None:
    source = random.Random(seed)  # noqa: S311 - nothing to keep secret
    text = TEXTS[name]
    with no_failures():
        for _ in range(count):
            text = random_edit(text, source).applied(text)
        assert_sound(Document(text))


@generated_cases(80)
@given(st.text(alphabet=" \n\t:-#'\"[]{}|>&*!%?ab01<~\\r\x85\u2028\ufeff😀", max_size=40))
def test_any_text_is_answered(text: str) -> None:
    with no_failures():
        assert_sound(Document(text, path="a.pai.yaml"))
        assert_sound(Document(f"protocolVersion: 2\ntype: job\nname: a\n{text}"))


@generated_cases(40)
@given(st.sampled_from(NAMES), st.integers(0, 2**32), st.sampled_from(ColumnUnit))
def test_edits_through_the_server_end_where_a_fresh_check_does(name: str, seed: int, unit: ColumnUnit) -> None:
    with no_failures():
        asyncio.run(_edit_through_the_server(TEXTS[name], random.Random(seed), unit))  # noqa: S311 - as above


async def _edit_through_the_server(text: str, source: random.Random, unit: ColumnUnit) -> None:
    client = Client()
    capabilities: dict[str, Any] = {"general": {"positionEncodings": [unit.value]}}
    await client.ask("initialize", processId=None, rootUri=None, capabilities=capabilities)
    client.send(client.notification("initialized"))
    client.open(text)
    version = 1
    for _ in range(source.randint(1, 4)):
        changes: list[dict[str, Any]] = []
        for _ in range(source.randint(1, 4)):
            edit = random_edit(text, source)
            changes.append(edit.change(text, unit))
            text = edit.applied(text)
        version += 1
        client.change(*changes, version=version)
        if source.random() < 0.3:
            await client.published(version=version)
    client.change(version=version + 1)
    published = await client.published(version=version + 1)
    session = client.server.protocol.session
    assert session.documents[URI].text == text
    fresh = OpenDocument(URI, version, "yaml", text, path_of(URI), session.client)
    converter = client.server.protocol._converter
    assert published == converter.unstructure(diagnostics_of(fresh))
