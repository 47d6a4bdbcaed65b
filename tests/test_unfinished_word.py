"""Half a word is not yet a mistake: findings that touch it wait for a pause, or until the user types elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from job_text import HEAD
from server_client import codes, connected, place

from pai_lsp.lsp import checks
from pai_lsp.lsp.checks import Publisher

if TYPE_CHECKING:
    from pai_lsp.lsp.documents import OpenDocument

pytestmark = pytest.mark.asyncio

JOB = (
    HEAD
    + """\
taskRoles:
  worker:
    instances: 1
    dockerImage: ima
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [sleep 1h]
"""
)
LINE = JOB[: JOB.index("ima\n")].count("\n")
END = len("    dockerImage: ima")


def edit(start: int, end: int, text: str, line: int = LINE) -> dict[str, Any]:
    return {"range": place((line, start), (line, end)), "text": text}


@pytest.fixture
def without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user never pauses."""
    monkeypatch.setattr(checks, "PAUSE", 10_000)


@pytest.mark.usefixtures("without_end")
@pytest.mark.parametrize(
    ("change", "is_told"),
    [
        (edit(END, END, "g"), False),
        (edit(END - 1, END, ""), False),
        (edit(END, END, " "), True),
        (edit(END, END, "gga"), True),
        (edit(4, 4, "# a", LINE + 2), True),
        ({"text": f"{JOB}# a"}, True),
    ],
)
async def test_a_finding_about_the_word_that_is_typed_waits(change: dict[str, Any], *, is_told: bool) -> None:
    async with connected() as client:
        client.open(JOB)
        assert "unknown-docker-image" in codes(await client.published())
        client.change(change, version=2)
        assert ("unknown-docker-image" in codes(await client.published(version=2))) == is_told


@pytest.mark.usefixtures("without_end")
async def test_it_is_told_when_the_user_types_elsewhere() -> None:
    async with connected() as client:
        client.open(JOB)
        client.change(edit(END, END, "g"), version=2)
        assert "unknown-docker-image" not in codes(await client.published(version=2))
        client.change(edit(14, 15, "2", LINE - 1), version=3)
        assert "unknown-docker-image" in codes(await client.published(version=3))


async def test_it_is_told_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "PAUSE", 0)
    async with connected() as client:
        client.open(JOB)
        client.change(edit(END, END, "g"), version=2)
        assert "unknown-docker-image" not in codes(await client.published(version=2))
        assert "unknown-docker-image" in codes(await client.published(version=2))


async def test_a_pause_that_ends_after_the_next_edit_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The findings of an older text never replace those of a newer one."""
    ended: list[OpenDocument] = []
    show = Publisher._show_after_pause

    def remembered(publisher: Publisher, document: OpenDocument, found: list[Any]) -> None:
        ended.append(document)
        show(publisher, document, found)

    monkeypatch.setattr(checks, "PAUSE", 10_000)
    monkeypatch.setattr(Publisher, "_show_after_pause", remembered)
    async with connected() as client:
        client.open(JOB)
        client.change(edit(END, END, "g"), version=2)
        await client.published(version=2)
        client.change(edit(END, END + 1, "ge"), version=3)
        assert "unknown-docker-image" not in codes(await client.published(version=3))
        await client.settle()
        assert not ended
