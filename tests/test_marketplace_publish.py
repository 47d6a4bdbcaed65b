"""`pai-lsp marketplace publish` and `withdraw`, against a server that takes and refuses what the real one does."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from loopback import Marketplace, Shop, alone, answering, marketplace, web_token

from pai_lsp.cli.main import main
from pai_lsp.document import Document
from pai_lsp.expansion.published_item import PublishedItem, published_item

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loopback import Request

EXAMPLES = Path(__file__).parent.parent / "examples"
ANN, BOB = web_token("ann"), web_token("bob")
FACES = """\
# Photographs of the team
name: faces
title: Team Faces 7
type: data
summary: faces of everybody
pathForUser: /data/faces
callbacks:
  - event: taskStarts
    commands:
      # the folder first
      - mkdir -p /data/faces
"""


WHOLE = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: ubuntu}
  - {type: data, name: disk}
  - name: setup
    type: script
    require: [disk]
taskRoles:
  worker:
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [echo]
"""


@pytest.fixture(autouse=True)
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    alone(monkeypatch, str(tmp_path / "cache"))
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("PAI_TOKEN", ANN)
    monkeypatch.setenv("PAI_LSP_TRUST", "1")
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "faces.yaml").write_text(FACES)
    return folder


@pytest.fixture
def shop() -> Shop:
    return Shop({ANN: "ann", BOB: "bob"})


@pytest.fixture
def server(project: Path, shop: Shop) -> Iterator[Marketplace]:
    with marketplace(shop) as found:
        (project / ".pai-lsp.yaml").write_text(
            f"marketplace: {{sources: [{{url: '{found.url}', token_env: PAI_TOKEN}}]}}\n"
        )
        yield found


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(("marketplace", *arguments))
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def published(text: str) -> PublishedItem:
    found = published_item(Document(text).as_definitions(is_wanted=True).job)
    assert isinstance(found, PublishedItem), found
    return found


def refused(text: str) -> list[str]:
    found = published_item(Document(text).as_definitions(is_wanted=True).job)
    assert isinstance(found, tuple), found
    return [f"{text[one.span.start : one.span.end].partition(chr(10))[0]}: {one.message}" for one in found]


@pytest.mark.usefixtures("server")
def test_an_item_from_its_first_day_to_its_last(
    capsys: pytest.CaptureFixture[str], project: Path, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, printed, errors = run(capsys, "publish", "faces.yaml", "--yes")
    assert (status, printed) == (0, "marketplace://prerequisites/itemId/00000000-0000-4000-8000-000000000001\n")
    assert "new at" in errors
    (item,) = shop.items.values()
    words = ("name", "author", "type", "summary", "isPublic", "isPrivate", "status")
    assert [item[key] for key in words] == [
        "Team Faces 7", "ann", "data", "faces of everybody", True, False, "approved"
    ]  # fmt: skip
    job = yaml.safe_load(item["protocol"])
    assert job["prerequisites"][0] == yaml.safe_load(FACES)
    assert "# Photographs of the team\n" in item["protocol"]
    assert "# the folder first\n" in item["protocol"]
    assert job["taskRoles"]["taskrole"]["prerequisites"] == ["faces"]

    status, printed, _ = run(capsys, "publish", "faces.yaml", "--yes")
    assert (status, len(shop.items)) == (0, 1)
    assert "is published like this already" in printed

    item["name"], item["description"] = "Named on the page", "Written on the page"
    (project / "faces.yaml").write_text(FACES.replace("title: Team Faces 7\n", "").replace("mkdir -p", "mkdir"))
    status, printed, errors = run(capsys, "publish", "faces.yaml", "--yes")
    assert (status, len(shop.items)) == (0, 1)
    assert "          - mkdir /data/faces\n" in item["protocol"]
    assert (item["name"], item["description"]) == ("Named on the page", "Written on the page")
    assert errors.split("\n@@ ")[2].splitlines()[1:5] == [
        "           # the folder first", "-          - mkdir -p /data/faces", "+          - mkdir /data/faces",
        "   - name: default_image",
    ]  # fmt: skip

    monkeypatch.setenv("PAI_TOKEN", BOB)
    assert run(capsys, "withdraw", "faces", "--yes")[0] == 1
    assert run(capsys, "publish", "faces.yaml", "--yes", "--item", item["id"])[0] == 1
    assert len(shop.items) == 1
    monkeypatch.setenv("PAI_TOKEN", ANN)
    status, printed, _ = run(capsys, "withdraw", "named on the page", "--yes")
    assert status == 1
    status, printed, _ = run(capsys, "withdraw", "Named on the page", "--yes")
    assert (status, printed, shop.items) == (0, "withdrawn: Named on the page\n", {})


@pytest.mark.usefixtures("server")
def test_what_is_published_is_found_again(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("confignfs_pvc", "imagenet"):
        assert run(capsys, "publish", str(EXAMPLES / "marketplace" / f"{name}.yaml"), "--yes")[0] == 0
    assert run(capsys, "publish", "faces.yaml", "--yes", "--private")[0] == 0
    assert run(capsys, "refresh")[0] == 0
    printed = run(capsys, "list")[1]
    assert [line.split()[:2] for line in printed.splitlines()[1:7]] == [
        ["confignfs_pvc", "data"],
        ["confignfs_pvc_filled", "data"],
        ["faces", "data"],
        ["imagenet", "data"],
        ["imagenet_only_validation", "data"],
        ["default_image", "dockerimage"],
    ]
    assert "imagenet" not in run(capsys, "list", "--type", "script")[1]
    assert "Team Faces 7: faces of everybody" in run(capsys, "list", "team faces", "--type", "data")[1]
    assert "title:    Team Faces 7\n" in run(capsys, "show", "faces")[1]


@pytest.mark.parametrize(
    ("words", "summary", "description"),
    [("", "", ""), ("\ndescription: |\n  Trains.\n  For long.", "Trains.", "Trains.\nFor long.\n")],
)
def test_a_whole_job_is_a_template(words: str, summary: str, description: str) -> None:
    text = WHOLE.replace("    require: [disk]\n", "    plugin: cmd\n").replace("type: job", f"type: job{words}")
    assert published(text) == PublishedItem("train", "template", summary, description, text, "train", ("disk", "setup"))


@pytest.mark.usefixtures("server")
def test_a_dry_run_sends_nothing(capsys: pytest.CaptureFixture[str], server: Marketplace) -> None:
    status, printed, errors = run(capsys, "publish", "faces.yaml", "--dry-run", "--title", "Other")
    assert (status, server.requests) == (0, [])
    assert yaml.safe_load(printed)["prerequisites"][0]["name"] == "faces"
    assert errors.startswith("item      Other (data): faces of everybody\nshares    faces\n")


def test_nothing_is_sent_without_a_yes(capsys: pytest.CaptureFixture[str], server: Marketplace) -> None:
    status, _, errors = run(capsys, "publish", "faces.yaml")
    assert status == 2
    assert errors.endswith("pai-lsp marketplace publish: nothing was sent; give --yes\n")
    assert [request.method for request in server.requests] == ["GET"]


def test_nothing_is_sent_to_a_server_that_is_not_trusted(
    capsys: pytest.CaptureFixture[str], server: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PAI_LSP_TRUST")
    for words in (("publish", "faces.yaml"), ("withdraw", "faces")):
        status, _, errors = run(capsys, *words, "--yes")
        assert (status, server.requests) == (2, [])
        assert "is not trusted; run 'pai-lsp trust'" in errors


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("", "the environment variable 'PAI_TOKEN' is empty"),
        ("opaque", "the access token names no user"),
        (web_token("eve"), "the server requires a valid access token (401)"),
    ],
    ids=["none", "opaque", "unknown"],
)
@pytest.mark.usefixtures("server")
def test_a_token_that_is_no_use(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, token: str, reason: str
) -> None:
    monkeypatch.setenv("PAI_TOKEN", token)
    status, printed, errors = run(capsys, "publish", "faces.yaml", "--yes")
    assert (status, printed) == (1, "")
    assert reason in errors
    assert not token or token not in errors


def test_a_token_is_sent_only_over_https(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / ".pai-lsp.yaml").write_text(
        "marketplace: {sources: [{url: 'http://pai.example.com/marketplace/api', token_env: PAI_TOKEN}]}\n"
    )
    status, _, errors = run(capsys, "publish", "faces.yaml", "--yes")
    assert status == 1
    assert "a token is sent only over https" in errors


@pytest.mark.usefixtures("server")
def test_answers_that_are_lost(capsys: pytest.CaptureFixture[str], project: Path, shop: Shop) -> None:
    shop.lost = {"POST", "PUT", "DELETE"}
    assert run(capsys, "publish", "faces.yaml", "--yes")[0] == 0
    (item,) = shop.items.values()
    (project / "faces.yaml").write_text(FACES.replace("mkdir -p", "mkdir"))
    status, printed, _ = run(capsys, "publish", "faces.yaml", "--yes")
    assert (status, printed) == (0, f"marketplace://prerequisites/itemId/{item['id']}\n")
    assert run(capsys, "withdraw", "faces", "--yes")[0] == 0
    assert shop.items == {}


@pytest.mark.parametrize("answer", [b"<html>", b'{"a": 1}'], ids=["no JSON", "no list"])
def test_a_server_that_is_no_marketplace(
    capsys: pytest.CaptureFixture[str], server: Marketplace, answer: bytes
) -> None:
    server.reaction = answering(200, answer)
    status, printed, errors = run(capsys, "withdraw", "faces", "--yes")
    assert (status, printed) == (1, "")
    reason = "nothing was changed: the answer is not a list of items; check the server's address"
    assert errors == f"pai-lsp marketplace withdraw: {reason}\n"


@pytest.mark.parametrize("is_gone", [False, True], ids=["it answers again", "it is gone"])
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("publish", "faces.yaml"), FACES.replace("mkdir -p", "mkdir")),
        (("publish", "faces.yaml", "--title", "x"), FACES.replace("mkdir -p", "mkdir")),
        (("publish", "faces.yaml", "--title", "x"), FACES),
        (("withdraw", "faces"), FACES),
    ],
)
def test_a_change_that_the_server_does_not_have_yet(
    words: tuple[str, ...],
    text: str,
    is_gone: bool,
    capsys: pytest.CaptureFixture[str],
    project: Path,
    server: Marketplace,
    shop: Shop,
) -> None:
    assert run(capsys, "publish", "faces.yaml", "--yes")[0] == 0
    (item,) = shop.items.values()
    before = dict(item)
    (project / "faces.yaml").write_text(text)
    changes: list[str] = []

    def losing(request: Request) -> None:
        if request.method != "GET":
            changes.append(request.method)
        if request.method != "GET" or (changes and is_gone):
            request.handler.connection.shutdown(socket.SHUT_RDWR)
        else:
            shop(request)

    server.reaction = losing
    status, printed, errors = run(capsys, *words, "--yes")
    assert (status, printed, len(changes), item) == (3, "", 1, before)
    told = "it is not known whether the server has the change: the connection was lost"
    assert errors.endswith(
        f"pai-lsp marketplace {words[0]}: {told}; look at the item's page before you repeat the command\n"
    )


@pytest.mark.parametrize(("status", "exit_status"), [(500, 1), (503, 1), (502, 3), (504, 3)])
def test_a_change_is_open_where_a_gateway_has_no_answer(
    status: int, exit_status: int, capsys: pytest.CaptureFixture[str], server: Marketplace, shop: Shop
) -> None:
    server.reaction = lambda request: (shop if request.method == "GET" else answering(status))(request)
    found, _, errors = run(capsys, "publish", "faces.yaml", "--yes")
    assert (found, shop.items) == (exit_status, {})
    assert ("it is not known" in errors) == (exit_status == 3)


def test_a_question_leaves_nothing_open(capsys: pytest.CaptureFixture[str], server: Marketplace, shop: Shop) -> None:
    server.reaction = answering(500)
    status, _, errors = run(capsys, "publish", "faces.yaml", "--yes")
    assert (status, shop.items) == (1, {})
    assert "it is not known" not in errors


def test_a_server_that_fails(capsys: pytest.CaptureFixture[str], server: Marketplace, shop: Shop) -> None:
    def failing(request: object) -> None:
        assert hasattr(request, "method")
        (shop if request.method == "GET" else answering(500, f"Database error {ANN}".encode()))(request)  # type: ignore[arg-type]

    server.reaction = failing
    status, _, errors = run(capsys, "publish", "faces.yaml", "--yes")
    assert (status, shop.items) == (1, {})
    assert errors.endswith("publish: nothing was changed: the server failed (500): 'Database error ***'\n")


@pytest.mark.usefixtures("server")
def test_an_item_of_another_type_is_another_item(capsys: pytest.CaptureFixture[str], shop: Shop) -> None:
    assert run(capsys, "publish", "faces.yaml", "--yes")[0] == 0
    (first,) = shop.items.values()
    shop.items["other"] = {**first, "id": "other", "type": "old"}
    del shop.items[first["id"]]
    before = dict(shop.items["other"])
    assert run(capsys, "publish", "faces.yaml", "--yes", "--title", "New")[0] == 0
    assert shop.items["other"] == before
    assert [one["name"] for one in shop.items.values()] == ["Team Faces 7", "New"]


@pytest.mark.usefixtures("server")
def test_several_items_share_a_definition(capsys: pytest.CaptureFixture[str], shop: Shop) -> None:
    assert run(capsys, "publish", "faces.yaml", "--yes")[0] == 0
    (first,) = shop.items.values()
    shop.items["other"] = {**first, "id": "other"}
    status, _, errors = run(capsys, "publish", "faces.yaml", "--yes", "--title", "New")
    assert status == 1
    assert f"give one: --item {first['id']}, other\n" in errors
    assert run(capsys, "publish", "faces.yaml", "--yes", "--title", "New", "--item", "other")[0] == 0
    assert [one["name"] for one in shop.items.values()] == ["Team Faces 7", "New"]
    assert run(capsys, "withdraw", "faces", "--yes")[0] == 1
    assert run(capsys, "withdraw", "marketplace://prerequisites/itemId/other", "--yes")[0] == 0


def test_where_nothing_can_be_published(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    assert "no server is configured" in run(capsys, "publish", "faces.yaml", "--yes")[2]
    (project / ".pai-lsp.yaml").write_text(
        "marketplace: {sources: [{url: 'https://a.example.com'}, {url: 'https://b.example.com'}]}\n"
    )
    assert "name one server with --server: https://a.example.com, " in run(capsys, "publish", "faces.yaml")[2]
    status, _, errors = run(capsys, "publish", "faces.yaml", "--server", "https://a.example.com")
    assert "the server needs an access token" in errors
    assert run(capsys, "publish", "missing.yaml")[0] == 2
    (project / "wrong.yaml").write_text(FACES.replace("taskStarts", "taskBegins"))
    status, _, errors = run(capsys, "publish", "wrong.yaml", "--dry-run")
    assert status == 1
    assert errors.endswith("nothing was sent, because the file has errors\n")


def test_a_definition_without_a_type() -> None:
    item = published("- name: tools\n  callbacks: [{event: taskStarts, commands: [echo tools]}]\n")
    assert yaml.safe_load(item.protocol)["prerequisites"][0]["type"] == "script"
    assert item.notes == ("'tools' is published as 'type: script'; the server refuses it without a type",)


def test_a_storage() -> None:
    item = published("name: nfs\ntype: storage\nmountPath: /mnt/nfs\n")
    stored = yaml.safe_load(item.protocol)["prerequisites"][0]
    assert stored == {"name": "nfs", "type": "data", "plugin": "pvc_storage", "mountPath": "/mnt/nfs"}
    assert item.notes == ("'nfs' is published as 'type: data'; the server refuses 'type: storage'",)


def test_values_for_what_is_required_are_filled_in() -> None:
    item = published(
        """\
- name: nfs
  type: storage
  template_variables: [{name: path}]
  plugin_params: {mountPath: "{{ path }}", depth: "{{ path }}/a"}
- name: photos
  type: data
  require: [{name: nfs, template_variables: {path: /a}}, {name: tools}]
- name: films
  type: data
  require:
    - name: nfs
      template_variables: {path: /a}  # the same
    - name: nfs
      template_variables: {path: /b}
- {name: tools, type: script}
"""
    )
    found = {one["name"]: one for one in yaml.safe_load(item.protocol)["prerequisites"]}
    assert found["photos"]["require"] == ["nfs_filled", "tools"]
    assert found["films"]["require"] == ["nfs_filled", "nfs_filled_2"]
    assert found["nfs_filled_2"] == {
        "name": "nfs_filled_2",
        "type": "data",
        "plugin": "pvc_storage",
        "plugin_params": {"mountPath": "/b", "depth": "/b/a"},
    }
    assert item.names == ("nfs", "photos", "films", "tools", "nfs_filled", "nfs_filled_2")


@pytest.mark.parametrize(
    "text",
    [
        (
            "# one\nname: a\ntype: data\n---\n# two\n- name: b\n  type: script\n  callbacks:\n    - event: taskStarts\n"
            "      commands:\n        - |\n          cat <<E\n            x\n          E\n...\n# the end\n"
        ),
        "[{name: a, type: data}, {name: b, type: script}]\n",
        "--- {name: a,\n type: data}\n",
        "{\n  name: a,\n  type: data\n}\n",
        "- &a\n  name: a\n  type: data\n  uri: &u [x]\n- {name: b, type: data, uri: *u}",
        "name: a\r\ntype: data\r\ndescription: |\r\n  one\r\n\r\n  two\r\n",
        "- name: a\n  type: data\n  description: |+\n    x\n\n\n- name: b\n  type: data\n  summary: 'a\n\n    b'\n",
    ],
)
def test_each_form_of_a_file_keeps_its_values(text: str) -> None:
    wanted = [
        one
        for document in yaml.safe_load_all(text)
        for one in (document if isinstance(document, list) else [document])
        if one
    ]
    assert yaml.safe_load(published(text).protocol)["prerequisites"][: len(wanted)] == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ("name: a\ntype: data\ntemplate_variables: [{name: p}]\nrequire:\n"
            "  - {name: b, template_variables: {q: '{{ p }}'}}\n"),
            ("b: the server refuses 'require' with a mapping, and these values depend on variables of 'a'; "
            "share the file as a folder in git instead, which takes every form"),
        ),
        (
            "name: a\ntype: data\nrequire:\n  - {name: b, template_variables: {q: 1}}\n",
            ("b: the server refuses 'require' with a mapping, and 'b' is not found, which could be published with its "
            "values; share the file as a folder in git instead, which takes every form"),
        ),
        (
            ("name: a\ntype: script\ncallbacks:\n  - event: taskStarts\n"
            "    commands: ['curl -u me:hunter2hunter2 https://example.com/x']\n"),
            "hunter2hunter2: an item shows everybody what looks like a password or token; publish the file without it",
        ),
        ("name: a\ntype: data\ntitle: " + "x" * 256, ": the server takes a title of at most 255 characters"),
        ("name: a\ntype: data\ndescription: " + "x " * 60_000, ": the server takes an item of at most 100 KiB"),
        ("# nothing\n", ": the file has no definition"),
        (
            "- {name: b, type: data}\n- {name: a, type: data, uri: {x: 1}}\n",
            "{x: 1}: the server refuses this: 'uri' must be a list, not a mapping; share the file as a folder in git",
        ),
        (
            "- {name: b, type: data}\n- {name: 'c d', type: data}\n",
            "'c d': the server refuses this: 'name' may contain only letters, digits, '_' and '-', unlike 'c d'; share",
        ),
        (WHOLE.replace("gpu: 0", "gpu: none"), "none: the server refuses this: 'gpu' must be an integer"),
        (WHOLE.replace("name: train\n", ""), "protocolVersion: 2: the server refuses this: a job needs the key 'name'"),
        (
            WHOLE.replace("type: data", "type: storage"),
            ("disk: the server refuses a prerequisite of type 'storage'; publish what 'pai-lsp expand' prints, or "
            "share the definitions of the job as a file of their own"),
        ),
        (
            WHOLE.replace("require: [disk]", "require: [{name: disk, template_variables: {a: 1}}]"),
            "disk: the server refuses 'require' with a mapping; publish what 'pai-lsp expand' prints, or share the",
        ),
    ],
)  # fmt: skip
def test_what_the_server_would_not_take(text: str, message: str) -> None:
    (found,) = refused(text)
    assert found.startswith(message)


def test_the_longest_title_and_summary() -> None:
    item = published(f"name: a\ntype: data\ntitle: {'x' * 255}\nsummary: {'y' * 300}\n")
    assert item.title == "x" * 255
    assert len(item.summary) == 200, "as lists show it"


def test_a_whole_job(capsys: pytest.CaptureFixture[str], server: Marketplace, shop: Shop) -> None:
    path = EXAMPLES / "marketplace-job.pai.yaml"
    assert run(capsys, "publish", str(path), "--title", "MNIST for beginners", "--yes")[0] == 0
    (item,) = shop.items.values()
    assert (item["type"], item["name"]) == ("template", "MNIST for beginners")
    assert item["protocol"] == path.read_text()
    assert run(capsys, "publish", str(path), "--yes")[1].endswith("is published like this already\n")
    status, _, errors = run(capsys, "publish", str(EXAMPLES / "good.pai.yaml"), "--yes")
    assert (status, len(shop.items)) == (1, 1)
    assert "what looks like a password or token" in errors
    assert json.loads(server.requests[1].body)["author"] == "ann"
