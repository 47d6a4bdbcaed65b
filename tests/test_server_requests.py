"""Requests that are slow, broken, cancelled or out of date never hold up or harm the others."""

from __future__ import annotations

import asyncio
import logging
import threading
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from lsprotocol import types as lsp
from server_client import TIMEOUT, URI, Client, codes, connected, place

from pai_lsp import document as document_module
from pai_lsp.findings.diagnostic import Finding, Rule, Severity
from pai_lsp.lsp import answers, checks, protocol, worker_threads
from pai_lsp.lsp.commands import about_document
from pai_lsp.lsp.features import CommandName, DocumentFeature
from pai_lsp.lsp.language_server import QuietFormatter

if TYPE_CHECKING:
    from pai_lsp.job.job import Job
    from pai_lsp.lsp.documents import OpenDocument

pytestmark = pytest.mark.asyncio

JOB = "protocolVersion: 2\ntype: job\nname: train\ntaskRoles: {worker: {prerequisites: [nothing]}}\n"
PASSWORD = "hunter2"  # noqa: S105 - not a real one
CANCELLED = -32800

# A method that the server itself does not offer, so that these tests decide what it does.
METHOD = lsp.TEXT_DOCUMENT_MONIKER


class Work:
    """What the tests' own feature does at each line of the text: tell that it began, and wait, fail or answer."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.has_begun = threading.Event()
        self.may_end = threading.Event()

    def __call__(self, document: OpenDocument, params: lsp.MonikerParams) -> Any:
        line = params.position.line
        self.begun.append(line)
        self.has_begun.set()
        if line == SLOW:
            assert self.may_end.wait(TIMEOUT)
        if line == BROKEN:
            raise ValueError(f"cannot read {document.text}")
        if line == EMPTY:
            next(iter(()))
        if line == UNWRITABLE:
            return threading.Lock()
        return [lsp.Moniker(scheme=str(document.version), identifier=str(line), unique=lsp.UniquenessLevel.Document)]


QUICK, SLOW, BROKEN, EMPTY, UNWRITABLE = range(5)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    work = Work()
    monkeypatch.setattr(protocol, "DOCUMENT_FEATURES", (DocumentFeature(METHOD),))
    monkeypatch.setattr(answers, "DOCUMENT_ANSWERS", {METHOD: work})
    return work


def about(client: Client, line: int) -> dict[str, Any]:
    position = {"line": line, "character": 0}
    return client.question(METHOD, textDocument={"uri": URI}, position=position)


def cancellation(question: dict[str, Any]) -> dict[str, Any]:
    return {"method": "$/cancelRequest", "params": {"id": question["id"]}}


async def begun(work: Work) -> None:
    assert await asyncio.to_thread(work.has_begun.wait, TIMEOUT)


async def test_a_request_cancelled_in_the_same_write_is_not_run(work: Work) -> None:
    async with connected() as client:
        client.open(JOB)
        kept, dropped = about(client, QUICK), about(client, SLOW)
        client.send(kept, dropped, cancellation(dropped))
        assert (await client.answer(dropped))["error"]["code"] == CANCELLED
        assert "result" in await client.answer(kept)
        await client.settle()
        assert work.begun == [QUICK]


async def test_a_request_cancelled_while_it_waits_is_not_run(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_threads, "PATIENCE", TIMEOUT)
    async with connected() as client:
        client.open(JOB)
        slow, waiting = about(client, SLOW), about(client, QUICK)
        client.send(slow, waiting)
        await begun(work)
        client.send(cancellation(waiting))
        assert (await client.answer(waiting))["error"]["code"] == CANCELLED
        work.may_end.set()
        assert "result" in await client.answer(slow)
        assert work.begun == [SLOW]


async def test_a_running_request_is_cancelled_at_once(work: Work) -> None:
    async with connected() as client:
        client.open(JOB)
        slow = about(client, SLOW)
        client.send(slow)
        await begun(work)
        client.send(cancellation(slow))
        assert (await client.answer(slow))["error"]["code"] == CANCELLED
        work.may_end.set()


async def test_a_slow_request_holds_up_nobody(work: Work) -> None:
    async with connected() as client:
        client.open(JOB)
        slow = about(client, SLOW)
        client.send(slow)
        await begun(work)
        quick = about(client, QUICK)
        client.send(quick)
        assert "result" in await client.answer(quick)
        client.change({"range": place((0, 0)), "text": "'"}, version=2)
        assert "yaml-syntax" in codes(await client.published(version=2))
        work.may_end.set()
        assert "result" in await client.answer(slow)


async def test_more_slow_requests_than_threads_are_all_answered(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_threads, "PATIENCE", 0.001)
    async with connected() as client:
        client.open(JOB)
        questions = [about(client, SLOW) for _ in range(worker_threads.MOST_THREADS + 3)]
        client.send(*questions)
        await begun(work)
        work.may_end.set()
        for question in questions:
            assert "result" in await client.answer(question)


@pytest.mark.parametrize("line", [BROKEN, EMPTY, UNWRITABLE])
async def test_a_broken_request_is_an_error_and_no_more(
    work: Work, line: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected() as client:
        client.open(JOB + f"secrets: {{password: {PASSWORD}}}\n")
        broken, sound = about(client, line), about(client, QUICK)
        client.send(broken, sound)
        error = (await client.answer(broken))["error"]
        assert error["code"] == -32603
        assert METHOD in error["message"] or line == UNWRITABLE
        assert "result" in await client.answer(sound)
        assert work.begun == [line, QUICK]
        formatter = QuietFormatter()
        logged = [formatter.format(record) for record in caplog.records if record.name.startswith("pai_lsp")]
        assert any(__name__ in one or "protocol" in one for one in logged)
        assert PASSWORD not in str(error)
        assert not any(PASSWORD in one for one in logged)


async def test_a_request_means_the_text_that_it_was_asked_in(work: Work) -> None:
    async with connected() as client:
        client.open(JOB)
        early, late = about(client, QUICK), about(client, QUICK)
        client.send(early, client.changed({"text": JOB + "\n"}, version=2), late)
        assert (await client.answer(early))["result"][0]["scheme"] == "1"
        assert (await client.answer(late))["result"][0]["scheme"] == "2"
        assert work.begun == [QUICK, QUICK]


@pytest.mark.usefixtures("work")
async def test_a_request_comes_before_the_check() -> None:
    async with connected() as client:
        client.open(JOB)
        await client.published(version=1)
        question = about(client, QUICK)
        client.send(client.changed({"text": JOB + "\n"}, version=2), question)
        await client.published(version=2)
        assert any(message.get("id") == question["id"] for message in client.received)


async def test_a_question_about_something_that_names_its_document(monkeypatch: pytest.MonkeyPatch) -> None:
    method = lsp.COMPLETION_ITEM_RESOLVE
    feature = DocumentFeature(method, otherwise=lambda params: params)

    def resolve(document: OpenDocument, params: lsp.CompletionItem) -> lsp.CompletionItem:
        return lsp.CompletionItem(params.label, detail=document.text)

    monkeypatch.setattr(protocol, "DOCUMENT_FEATURES", (feature,))
    monkeypatch.setattr(answers, "DOCUMENT_ANSWERS", {method: resolve})
    async with connected() as client:
        client.open(JOB)
        assert await client.ask(method, label="a", data={"uri": URI}) == {"label": "a", "detail": JOB}
        assert await client.ask(method, label="a", data={"uri": "file:///b"}) == {
            "label": "a",
            "data": {"uri": "file:///b"},
        }
        assert await client.ask(method, label="a") == {"label": "a"}


async def test_a_command_about_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    command = about_document(lambda document, arguments: [document.version, *arguments])
    monkeypatch.setattr(answers, "COMMANDS", {CommandName.STATUS: command})
    async with connected() as client:
        client.open(JOB)
        run = "workspace/executeCommand"
        assert await client.ask(run, command="pai-lsp.status", arguments=[URI, {"a": 1}]) == [1, {"a": 1}]
        assert await client.ask(run, command="pai-lsp.status", arguments=["file:///b"]) is None
        assert await client.ask(run, command="pai-lsp.status") is None


async def test_shutdown_cancels_what_is_asked(work: Work) -> None:
    client = Client()
    await client.ask("initialize", processId=None, rootUri=None, capabilities={})
    client.open(JOB)
    slow = about(client, SLOW)
    client.send(slow)
    await begun(work)
    await client.ask("shutdown")
    assert (await client.answer(slow))["error"]["code"] == CANCELLED
    work.may_end.set()


async def test_a_check_that_takes_too_long_is_given_up(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary, given_up, logged = checks.diagnostics_of, asyncio.Event(), []

    def log(text: str, *values: object) -> None:
        logged.append(text % values)
        given_up.set()

    def endless(document: OpenDocument) -> Any:
        if document.version == 1:
            work.may_end.wait(TIMEOUT)
        return ordinary(document)

    monkeypatch.setattr(checks, "diagnostics_of", endless)
    monkeypatch.setattr(checks, "LONGEST_CHECK", 0.05)
    monkeypatch.setattr(logging.getLogger(checks.__name__), "warning", log)
    async with connected(capabilities={}) as client:
        client.open(JOB)
        await asyncio.wait_for(given_up.wait(), TIMEOUT)  # maybe before it began
        monkeypatch.setattr(checks, "LONGEST_CHECK", TIMEOUT)
        client.change({"range": place((0, 0)), "text": "'"}, version=2)
        assert "yaml-syntax" in codes(await client.published(version=2))
        assert logged[0].startswith(f"a check of {len(JOB)} characters was given up")
        work.may_end.set()


async def test_a_slow_check_holds_up_no_request(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary = checks.diagnostics_of

    def slow(document: OpenDocument) -> Any:
        work.has_begun.set()
        work.may_end.wait(TIMEOUT)
        return ordinary(document)

    monkeypatch.setattr(checks, "diagnostics_of", slow)
    monkeypatch.setattr(worker_threads, "PATIENCE", 0.001)
    async with connected(capabilities={}) as client:
        client.open(JOB)
        await begun(work)
        question = about(client, QUICK)
        client.send(question)
        assert "result" in await client.answer(question)
        work.may_end.set()
        await client.published(version=1)


async def test_the_check_of_a_former_text_is_abandoned(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    newer, checked = JOB + "\n", []

    def waits(job: Job) -> tuple[Finding, ...]:
        if job.text == JOB:
            work.has_begun.set()
            work.may_end.wait(TIMEOUT)
        return ()

    def comes_next(job: Job) -> tuple[Finding, ...]:
        checked.append(job.text)
        return ()

    rules = tuple(Rule(check.__name__, Severity.ERROR, check, "") for check in (waits, comes_next))
    monkeypatch.setattr(document_module, "RULES", rules)
    monkeypatch.setattr(worker_threads, "PATIENCE", 0.001)
    async with connected(capabilities={}) as client:
        client.open(JOB)
        await begun(work)
        question = about(client, QUICK)
        client.send(client.changed({"text": newer}, version=2), question)
        await client.answer(question)
        work.may_end.set()
        await client.published(version=2)
        assert checked == [newer]


async def test_the_former_version_is_freed_only_after_the_diagnostics_of_the_newer_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_threads, "PATIENCE", TIMEOUT)
    async with connected() as client:
        client.open(JOB)
        await client.published(version=1)
        former = weakref.ref(client.server.protocol.session.documents[URI])
        freed_at: list[bool] = []
        write = client.write

        def noticing(data: bytes) -> None:
            freed_at.append(former() is None)
            write(data)

        monkeypatch.setattr(client, "write", noticing)
        client.change({"text": JOB + "\n"}, version=2)
        await client.published(version=2)
        assert freed_at == [False]
        assert former() is None
