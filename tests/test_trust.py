"""To open a file runs nothing and sends nothing: what is done with the configuration of a folder, and when."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Marketplace, alone, item, items, marketplace
from server_client import Client, codes, connected

from pai_lsp.catalog import setup as catalog_setup
from pai_lsp.catalog.loading import load_catalog
from pai_lsp.catalog.setup import CatalogSetup, DirectorySource, ServerSource, SourceState
from pai_lsp.catalog.store import Surroundings
from pai_lsp.cli.main import main
from pai_lsp.lsp.marketplace_reports import DO_NOT_TRUST, TRUST
from pai_lsp.project.trust import TrustAnswers, fingerprint
from pai_lsp.source.frozen import replace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JOB = """\
protocolVersion: 2
type: job
name: train
taskRoles: {worker: {prerequisites: ["marketplace://name/mnist", nothing]}}
"""
COMPOSE = 'version: "3"\nservices: {}\n'
UNKNOWN = "unknown-prerequisite"
NOT_ASKED = "marketplace-not-asked"
COMMAND = [sys.executable, "-c", "open('ran', 'w').close(); print('t0ken')"]
QUESTION = "window/showMessageRequest"
in_a_loop = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    alone(monkeypatch, str(tmp_path / "cache"))
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("CLOUD_SECRET", "s3cr3t")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "jobs"
    folder.mkdir()
    return folder


@pytest.fixture
def server(folder: Path) -> Iterator[Marketplace]:
    """Somebody's folder: its configuration runs a command and sends an environment variable."""
    with marketplace(items(item(1, "mnist"))) as found:
        sources = [{"url": found.url, "token_command": COMMAND}, {"url": found.url, "token_env": "CLOUD_SECRET"}]
        (folder / ".pai-lsp.yaml").write_text(json.dumps({"marketplace": {"sources": sources}}))
        yield found


def at(folder: Path, *trusted: Any) -> dict[str, Any]:
    """A client that has opened a folder; `trusted` is its initialization option."""
    options = {"initializationOptions": {"trusted": trusted[0]}} if trusted else {}
    return {"workspaceFolders": [{"uri": folder.as_uri(), "name": "jobs"}], **options}


def answering(title: str | None) -> dict[str, Any]:
    """A client whose user gives this answer to the question."""
    return {"answers": {QUESTION: lambda _: title and {"title": title}}}


def questions(client: Client) -> list[dict[str, Any]]:
    return [one["params"] for one in client.received if one.get("method") == QUESTION]


def opened(client: Client, folder: Path, text: str = JOB, name: str = "job.pai.yaml") -> str:
    uri = (folder / name).as_uri()
    client.open(text, uri=uri)
    return uri


async def until_status(client: Client, state: str) -> None:
    await client.next(lambda one: one.get("method") == "pai-lsp/marketplaceStatus" and one["params"]["state"] == state)


async def refresh(client: Client) -> Any:
    return await client.ask("workspace/executeCommand", command="pai-lsp.marketplace.refresh", arguments=[])


def messages(client: Client) -> list[tuple[str, str]]:
    """The messages for the user, with the way in which they are shown."""
    return [
        (one["method"], one["params"]["message"])
        for one in client.received
        if one.get("method") in {"window/showMessage", "window/logMessage"}
    ]


@in_a_loop
@pytest.mark.parametrize("trusted", [(), (False,), (None,), (True,), (["~"],), ("yes",)], ids=str)
async def test_a_folder_without_an_answer_runs_and_sends_nothing(
    folder: Path, server: Marketplace, trusted: tuple[Any, ...]
) -> None:
    async with connected(**at(folder, *trusted)) as client:
        opened(client, folder, COMPOSE, "docker-compose.yml")
        uri = opened(client, folder)
        await until_status(client, "untrusted")
        assert codes(await client.published(uri)) >= {UNKNOWN, NOT_ASKED}, "the job itself is checked"
        assert (await refresh(client))["state"] == "untrusted"
        client.send(client.notification("workspace/didChangeConfiguration", settings=None))
        await client.settle()
        assert server.requests == []
        assert not (folder / "ran").exists()


@in_a_loop
async def test_the_server_asks_once_and_remembers_the_answer(folder: Path, server: Marketplace) -> None:
    async with connected(**at(folder), **answering(TRUST)) as client:
        for number in range(3):
            opened(client, folder, name=f"{number}.pai.yaml")
        await until_status(client, "ready")
        (question,) = questions(client)
        assert question["message"] == (
            f"Trust the marketplace configuration of '{folder}'? It would run `{shlex.join(COMMAND)}` "
            f"and send its output to {server.url}; send the environment variable CLOUD_SECRET to {server.url}."
        )
        assert [action["title"] for action in question["actions"]] == [TRUST, DO_NOT_TRUST]
        assert [one.headers["authorization"] for one in server.requests] == ["Bearer t0ken", "Bearer s3cr3t"]
        assert (folder / "ran").exists()
    async with connected(**at(folder)) as client:
        opened(client, folder)
        assert (await refresh(client))["state"] == "ready"
        assert questions(client) == []
        # Exactly what was shown is trusted: a section with one more source is asked about, and not used.
        asked = len(server.requests)
        file = folder / ".pai-lsp.yaml"
        section = json.loads(file.read_text())
        section["marketplace"]["allowed_hosts"] = ["evil.example"]
        file.write_text(json.dumps(section))
        client.send(client.notification("textDocument/didSave", textDocument={"uri": file.as_uri()}))
        await until_status(client, "untrusted")
        question = await client.next(lambda one: one.get("method") == QUESTION)
        assert "; request the addresses that jobs name on evil.example." in question["params"]["message"]
        assert len(server.requests) == asked


@in_a_loop
@pytest.mark.parametrize(("title", "is_remembered"), [(DO_NOT_TRUST, True), (None, False), ("Perhaps", False)])
async def test_every_other_answer_trusts_nothing(
    folder: Path, server: Marketplace, title: str | None, is_remembered: bool
) -> None:
    for number in range(2):
        async with connected(**at(folder), **answering(title)) as client:
            opened(client, folder)
            await until_status(client, "untrusted")
            await refresh(client)
            await client.settle()
            assert len(questions(client)) == (0 if number and is_remembered else 1)
    assert server.requests == []
    assert not (folder / "ran").exists()


@in_a_loop
async def test_a_client_that_cannot_ask_shows_the_command(folder: Path, server: Marketplace) -> None:
    async with connected(**at(folder)) as client:
        opened(client, folder)
        question = await client.next(lambda one: one.get("method") == QUESTION)
        error = {"code": -32601, "message": "no such method"}
        client.send({"id": question["id"], "error": error})
        shown = await client.next(lambda one: one.get("method") == "window/showMessage")
        assert shown["params"]["message"] == (
            f"the marketplace configuration of '{folder}' is not trusted; run 'pai-lsp trust {folder}' in a terminal"
        )
        logged = [text for method, text in messages(client) if method == "window/logMessage"]
        assert any("It would run" in text for text in logged)
        # The command is enough, and no restart is needed.
        assert main(["trust", str(folder)]) == 0
        assert (await refresh(client))["state"] == "ready"
        assert main(["trust", "--remove", str(folder)]) == 0
        asked = len(server.requests)
        assert (await refresh(client))["state"] == "untrusted"
        assert len(server.requests) == asked


@in_a_loop
async def test_a_client_can_refuse_trust(folder: Path, server: Marketplace) -> None:
    """As VS Code does in an untrusted workspace: it shows this itself."""
    assert main(["trust", str(folder)]) == 0
    async with connected(**at(folder, False)) as client:
        uri = opened(client, folder)
        await until_status(client, "untrusted")
        assert NOT_ASKED in codes(await client.published(uri))
        await client.settle()
        assert [how for how, _ in messages(client)] == ["window/logMessage"]
        assert questions(client) == []
        assert server.requests == []
        client.send(client.notification("pai-lsp/workspaceTrust", trusted=True))
        await until_status(client, "ready")
        asked = len(server.requests)
        assert asked == 2
        client.send(client.notification("pai-lsp/workspaceTrust", trusted=False))
        await until_status(client, "untrusted")
        await refresh(client)
        assert len(server.requests) == asked


@in_a_loop
async def test_settings_can_take_trust_away_and_not_give_it(folder: Path, server: Marketplace) -> None:
    sections: list[dict[str, Any]] = [{"trusted": True}]
    answers = {"workspace/configuration": lambda parameters: [sections[0] for _ in parameters["items"]]}
    async with connected(answers=answers, **at(folder)) as client:
        opened(client, folder)
        await until_status(client, "untrusted")
        assert server.requests == []
        assert main(["trust", str(folder)]) == 0
        sections[0] = {"trusted": False}
        client.send(client.notification("workspace/didChangeConfiguration", settings=None))
        await client.settle()
        assert (await refresh(client))["state"] == "untrusted"
        assert server.requests == []


@in_a_loop
async def test_what_the_editors_settings_name_is_asked_about_too(folder: Path, server: Marketplace) -> None:
    (folder / ".pai-lsp.yaml").unlink()
    section = {"marketplace": {"sources": [{"url": server.url, "token_env": "CLOUD_SECRET"}]}}
    async with connected(capabilities={}, **{**at(folder), "initializationOptions": section}) as client:
        opened(client, folder)
        question = await client.next(lambda one: one.get("method") == QUESTION)
        assert question["params"]["message"].startswith(
            "Trust the marketplace in the editor's settings? It would send "
        )
        assert server.requests == []
        client.send({"id": question["id"], "result": {"title": TRUST}})
        await until_status(client, "ready")
        assert len(server.requests) == 1


def test_what_an_agreement_is_about() -> None:
    """Another folder, server or host is asked about anew; the user's own are not."""
    source, server = DirectorySource("//far/a"), ServerSource("https://a.example")
    setup = CatalogSetup("/jobs", (source, server), frozenset({"a.example"}))
    others = [
        replace(setup, sources=(DirectorySource("//far/b"), server)),
        replace(setup, sources=(source, DirectorySource("//far/b"), server)),
        replace(setup, sources=(source, replace(server, token_env="TOKEN"))),  # noqa: S106 - a name
        replace(setup, sources=(source, replace(server, token_command=("echo",)))),
        replace(setup, allowed_hosts=frozenset({"b.example"})),
    ]
    assert len({fingerprint(one) for one in (setup, *others)}) == 6
    more = DirectorySource("/home/me/own")
    own = replace(setup, sources=(*setup.sources, more), own=catalog_setup.Marketplace(sources=(more,)))
    assert fingerprint(own) == fingerprint(setup)


@pytest.mark.skipif(sys.platform == "win32", reason="two slashes begin the name of another machine")
def test_a_folder_of_another_machine_is_read_once_it_is_trusted(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "mnist.yaml").write_text("{name: mnist, type: data}\n")
    job = folder / "train.pai.yaml"
    job.write_text(JOB)
    sources = [{"directory": f"/{tmp_path}/far"}]  # which Linux takes for one of its own
    (folder / ".pai-lsp.yaml").write_text(json.dumps({"marketplace": {"sources": sources}}))
    for trusted, found in (("", {NOT_ASKED, UNKNOWN}), ("1", {UNKNOWN})):
        monkeypatch.setenv("PAI_LSP_TRUST", trusted)
        main(["check", "--format", "ndjson", "--select", f"{UNKNOWN},{NOT_ASKED}", str(job)])
        assert {json.loads(line)["code"] for line in capsys.readouterr().out.splitlines()} == found


@in_a_loop
async def test_a_folder_outside_the_workspace_is_not_read(tmp_path: Path, folder: Path) -> None:
    for name in ("outside", "jobs/linked", "jobs/inside"):
        (tmp_path / name).mkdir()
    (tmp_path / "outside" / "mnist.yaml").write_text("{name: mnist, type: data}\n")
    (folder / "linked").rmdir()
    (folder / "linked").symlink_to(tmp_path / "outside", target_is_directory=True)
    (folder / "inside" / "cifar.yaml").write_text("{name: cifar, type: data}\n")
    for directory in ("../outside", str(tmp_path / "outside"), "~/outside", "linked"):
        sources = [{"directory": directory}, {"directory": "inside"}]
        (folder / ".pai-lsp.yaml").write_text(json.dumps({"marketplace": {"sources": sources}}))
        async with connected(**at(folder)) as client:
            uri = opened(client, folder, JOB.replace("nothing", '"marketplace://name/cifar"'))
            question = await client.next(lambda one: one.get("method") == QUESTION)
            assert "It would read the folder '" in question["params"]["message"]
            found = codes(await client.published(uri))
            assert NOT_ASKED in found
            client.send({"id": question["id"], "result": {"title": TRUST}})
            await until_status(client, "ready")
        assert main(["trust", "--remove", str(folder)]) == 0


@in_a_loop
async def test_the_users_own_configuration_needs_no_answer(
    tmp_path: Path, folder: Path, server: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "config" / "pai-lsp"
    own.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "config"))
    section = json.loads((folder / ".pai-lsp.yaml").read_text())
    (own / "config.yaml").write_text(json.dumps({"rules": {UNKNOWN: "off"}, **section}))
    async with connected(**at(folder)) as client:
        uri = opened(client, folder)
        await until_status(client, "ready")
        assert UNKNOWN in codes(await client.published(uri)), "rules are the project's business"
        assert questions(client) == []
    # A command of the user's runs in the user's folder, although the project names it too.
    assert (own / "ran").exists()
    assert not (folder / "ran").exists()
    # What only the project names is asked about, and the user's own sources are used meanwhile.
    server.requests.clear()
    section["marketplace"]["sources"].insert(0, {"url": f"{server.url}/evil", "token_env": "CLOUD_SECRET"})
    (folder / ".pai-lsp.yaml").write_text(json.dumps(section))
    async with connected(**at(folder)) as client:
        opened(client, folder)
        question = await client.next(lambda one: one.get("method") == QUESTION)
        assert question["params"]["message"].endswith(f"variable CLOUD_SECRET to {server.url}/evil.")
        await refresh(client)
    assert [one.path for one in server.requests] == ["/items"] * 2


def test_a_script_of_the_folder_is_part_of_the_answer(folder: Path, server: Marketplace) -> None:
    (folder / "token.sh").write_text("echo t0ken\n")
    source = {"url": server.url, "token_command": ["sh", "./token.sh"]}
    (folder / ".pai-lsp.yaml").write_text(json.dumps({"marketplace": {"sources": [source]}}))
    assert main(["trust", str(folder)]) == 0
    assert main(["marketplace", "refresh", "--folder", str(folder)]) == 0
    (folder / "token.sh").write_text("touch stolen; echo t0ken\n")
    assert main(["marketplace", "refresh", "--folder", str(folder)]) == 1
    assert len(server.requests) == 1
    assert not (folder / "stolen").exists()


def test_the_command_line(
    tmp_path: Path,
    folder: Path,
    server: Marketplace,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        return main([*arguments]), *capsys.readouterr()

    refresh_it = ("marketplace", "refresh", "--folder", str(folder))
    wanted = (
        f"  run `{shlex.join(COMMAND)}` and send its output to {server.url}\n"
        f"  send the environment variable CLOUD_SECRET to {server.url}\n"
    )
    status, _, errors = run(*refresh_it)
    assert status == 1
    assert errors == (
        f"pai-lsp marketplace refresh: the configuration of '{folder}' is not trusted; it would\n{wanted}"
        "run 'pai-lsp trust' to trust it, or repeat the command with --trust\n"
    )
    assert server.requests == []
    assert run("trust", "--list") == (0, "no folder is trusted\n", "")
    no_answer = f"pai-lsp trust: there is no answer for '{folder}'; see 'pai-lsp trust --list'\n"
    assert run("trust", "--remove", str(folder)) == (1, "", no_answer)
    # For one run, as CI does it.
    assert run(*refresh_it, "--trust")[::2] == (0, "")
    monkeypatch.setenv("PAI_LSP_TRUST", "1")
    assert run(*refresh_it)[::2] == (0, "")
    monkeypatch.setenv("PAI_LSP_TRUST", "0")
    assert run(*refresh_it)[0] == 1
    monkeypatch.delenv("PAI_LSP_TRUST")
    # For good, until the section changes.
    (tmp_path / "link").symlink_to(folder, target_is_directory=True)
    assert run("trust", str(tmp_path / "link")) == (0, f"'{folder}' is trusted; its configuration may\n{wanted}", "")
    assert run(*refresh_it)[::2] == (0, "")
    assert run("trust", "--list") == (0, f"{folder}: trusted\n{wanted}", "")
    file = folder / ".pai-lsp.yaml"
    file.write_text("# only a comment\n" + file.read_text())
    assert run(*refresh_it)[0] == 0
    file.write_text(file.read_text().replace("CLOUD_SECRET", "OTHER_SECRET"))
    assert run(*refresh_it)[0] == 1
    state = "no longer trusted, because the configuration changed"
    assert run("trust", "--list") == (0, f"{folder}: {state}\n{wanted}", "")
    (folder / "jobs").mkdir()
    assert run("trust", "--remove", str(folder / "jobs")) == (0, f"'{folder}' is no longer trusted\n", "")
    assert run("trust", "--remove-all")[0] == 1
    file.unlink()
    nothing = f"nothing to trust: no configuration of '{folder}' runs a command or contacts a server\n"
    assert run("trust", str(folder)) == (0, nothing, "")
    assert run("trust", str(tmp_path / "gone")) == (2, "", f"pai-lsp trust: no such folder: {tmp_path / 'gone'}\n")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_answers_are_the_users_own_and_survive_damage(
    tmp_path: Path, folder: Path, server: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    del server
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    kept = tmp_path / "state" / "pai-lsp" / "trust.json"
    assert main(["trust", str(folder)]) == 0
    assert oct(kept.stat().st_mode)[-3:] == "600"
    assert oct(kept.parent.stat().st_mode)[-3:] == "700"
    assert [one.name for one in kept.parent.iterdir()] == [kept.name]
    folders = ('{"/a": 1}', '{"/a\\u0000": {"sha256": "0", "trusted": true}}')
    damaged = ["", "[]", "{", '{"version": 2, "folders": {}}', "[" * 10**5]
    for damage in (*damaged, *(f'{{"version": 1, "folders": {one}}}' for one in folders)):
        kept.write_text(damage)
        assert TrustAnswers(os.environ).all() == {}
    assert main(["trust", str(folder)]) == 0
    assert [*TrustAnswers(os.environ).all()] == [str(folder)]
    kept.unlink()
    kept.mkdir()
    assert main(["trust", str(folder)]) == 3


@in_a_loop
async def test_a_configuration_above_the_workspace_is_asked_about_by_its_name(
    folder: Path, server: Marketplace
) -> None:
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    async with connected(**at(folder / "a")) as client:
        opened(client, inner)
        question = await client.next(lambda one: one.get("method") == QUESTION)
        assert f"configuration of '{folder}'?" in question["params"]["message"]
        assert server.requests == []


@in_a_loop
async def test_a_file_outside_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    (tmp_path / ".pai-lsp.yaml").write_text(f"rules: {{{UNKNOWN}: off}}\n")
    async with connected() as client:
        (tmp_path / "jobs").mkdir()
        assert UNKNOWN not in codes(await client.published(opened(client, tmp_path / "jobs")))
        assert UNKNOWN not in codes(await client.published(opened(client, tmp_path)))
    async with connected() as client:
        (tmp_path / "jobs" / ".git").mkdir()
        assert UNKNOWN in codes(await client.published(opened(client, tmp_path / "jobs")))


@in_a_loop
async def test_a_folder_of_a_user_that_there_is_not(folder: Path) -> None:
    file = folder / ".pai-lsp.yaml"
    file.write_text("marketplace: {sources: [{directory: ~no-such-user/marketplace}]}\n")
    async with connected(**at(folder)) as client:
        uri = opened(client, folder)
        assert codes(await client.published(uri)) >= {UNKNOWN, NOT_ASKED}
        client.open(file.read_text(), uri=file.as_uri())
        (finding,) = await client.published(file.as_uri())
        assert finding["message"].startswith("'~no-such-user' is not a home folder on this machine")


@in_a_loop
@pytest.mark.parametrize("part", ["pai_lsp.catalog.setup.catalog_setup", "pai_lsp.catalog.loading.load_catalog"])
async def test_a_marketplace_that_fails_takes_nothing_else_along(
    folder: Path, server: Marketplace, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("a text that may quote a file")

    monkeypatch.setattr(part, fail)
    async with connected(**at(folder)) as client:
        uris = [opened(client, folder, name=f"{number}.pai.yaml") for number in range(3)]
        for uri in uris:
            assert UNKNOWN in codes(await client.published(uri))
        await client.settle()
        ((_, message),) = [one for one in messages(client) if one[0] == "window/showMessage"]
        assert message.startswith("the marketplace cannot be read: RuntimeError in ")
        assert "quote" not in message
        assert server.requests == []


def test_a_folder_on_another_machine_is_asked_too() -> None:
    setup = CatalogSetup("/jobs", (DirectorySource("//host.invalid/share"), DirectorySource(r"\\host.invalid\share")))
    catalog = load_catalog(setup, Surroundings(is_trusted=False))
    assert [shelf.state for shelf in catalog.sources] == [SourceState.UNTRUSTED] * 2
