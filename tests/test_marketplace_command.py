"""`pai-lsp marketplace`, and what `check` and `expand` make of a project with a marketplace."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Marketplace, Reaction, Request, alone, answering, item, items, marketplace

from pai_lsp.catalog.setup import LOCK_NAME
from pai_lsp.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXAMPLES = Path(__file__).parent.parent / "examples"
TOKEN = "s3cr3t-t0ken"  # noqa: S105 - a made-up token
JOB = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: example/train:1.0}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [data]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [echo hello]
extras:
  reference_prerequisites:
    - name: data
      require:
        - {name: "marketplace://name/mnist", template_variables: {dataPath: /data}}
"""


@pytest.fixture(autouse=True)
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    alone(monkeypatch, str(tmp_path / "cache"))
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PAI_TOKEN", TOKEN)
    monkeypatch.setenv("PAI_LSP_TRUST", "1")  # see test_trust.py
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def server(project: Path) -> Iterator[Marketplace]:
    with marketplace(items(item(1, "mnist"), item(2, "cifar"), token=TOKEN)) as found:
        (project / ".pai-lsp.yaml").write_text(
            f"marketplace: {{sources: [{{url: '{found.url}', token_env: PAI_TOKEN}}]}}\n"
            "rules: {needs-expansion: off, refused-until-expanded: off}\n"
        )
        (project / "job.pai.yaml").write_text(JOB)
        yield found


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(arguments)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def codes(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    report = json.loads(run(capsys, "check", "--format", "json", *arguments)[1])
    return [one["code"] for one in report["diagnostics"]]


def with_examples(project: Path) -> None:
    shutil.copytree(EXAMPLES / "marketplace", project / "marketplace")
    shutil.copy(EXAMPLES / "marketplace-job.pai.yaml", project / "job.pai.yaml")


def test_the_examples_are_listed(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    with_examples(project)
    status, printed, errors = run(capsys, "marketplace", "list")
    assert (status, errors) == (0, "")
    lines = printed.splitlines()
    assert lines[0].split() == ["NAME", "TYPE", "TO", "FILL", "SUMMARY"]
    assert [line.split()[0] for line in lines[1:7]] == [
        "confignfs_pvc",
        "debug_hook",
        "imagenet",
        "imagenet_only_validation",
        "install_wget",
        "mnist",
    ]
    assert lines[-1] == "marketplace: 6 definitions"
    assert run(capsys, "marketplace", "list", "VALID")[1].count("imagenet") == 3
    status, printed, errors = run(capsys, "marketplace", "list", "nothing\x1b[31m")
    assert status == 1
    assert "\x1b" not in errors


def test_the_list_for_programs(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    with_examples(project)
    content = json.loads(run(capsys, "marketplace", "list", "mnist", "--format", "json")[1])
    assert content["version"] == 1
    assert content["sources"] == [
        {"source": "marketplace", "state": "ready", "note": "", "definitions": 6, "notRead": []}
    ]
    (definition,) = content["definitions"]
    assert definition["reference"] == "marketplace://name/mnist"
    assert (definition["variables"], definition["source"]) == (["dataPath"], "marketplace")


def test_one_definition_is_shown(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    with_examples(project)
    for reference in ("imagenet", "marketplace://data/imagenet"):
        status, printed, errors = run(capsys, "marketplace", "show", reference)
        assert (status, errors) == (0, "")
        assert "from:     marketplace/imagenet.yaml\n" in printed
        assert "\nname: imagenet\ntype: data\n" in printed, "from the left margin"
        assert "\n          - mkdir" not in printed
    shown: dict[str, Any] = json.loads(run(capsys, "marketplace", "show", "mnist", "--format", "json")[1])
    assert (shown["state"], shown["path"]) == ("found", "marketplace/mnist.yaml")
    assert shown["definitions"][0]["requires"] == ["marketplace://name/install_wget"]
    assert shown["definitions"][0]["text"].startswith("name: mnist\n")


def test_what_is_not_there(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    assert run(capsys, "marketplace", "list") == (
        0,
        "no marketplace is configured, and there is no folder 'marketplace'\n",
        "",
    )
    status, _, errors = run(capsys, "marketplace", "show", "mnist")
    assert (status, errors) == (
        1,
        "pai-lsp marketplace: 'marketplace://name/mnist' could not be looked up: no marketplace is configured\n",
    )
    with_examples(project)
    status, _, errors = run(capsys, "marketplace", "show", "mnits")
    meant = "did you mean 'marketplace://name/mnist'?"
    assert (status, errors) == (
        1,
        f"pai-lsp marketplace: the marketplace has no 'marketplace://name/mnits'; {meant}\n",
    )
    wrong = run(capsys, "marketplace", "show", "marketplace://mnist")[2]
    assert wrong.count("marketplace://name/mnist") == 1, "one message for one problem"
    (project / ".pai-lsp.lock").mkdir()
    status, _, errors = run(capsys, "marketplace", "lock")
    assert status == 3
    assert errors == f"pai-lsp: '{project / '.pai-lsp.lock'}': it is a folder, not a file\n"
    assert run(capsys, "marketplace", "show", "mnits", "--format", "json")[0] == 1
    assert run(capsys, "marketplace", "list", "--folder", "nowhere")[0] == 2
    assert run(capsys, "marketplace")[0] == 2


def test_a_server_is_asked_by_refresh_alone(capsys: pytest.CaptureFixture[str], server: Marketplace) -> None:
    assert codes(capsys) == ["marketplace-not-asked"]
    assert server.requests == []
    status, printed, errors = run(capsys, "marketplace", "refresh")
    assert (status, printed, errors) == (0, f"{server.url}: 2 definitions, updated just now\n", "")
    assert codes(capsys) == []
    status, printed, _ = run(capsys, "marketplace", "show", "mnist")
    assert f"from:     {server.url}/items/" in printed
    assert "state:    updated just now\n" in printed
    assert run(capsys, "expand", "job.pai.yaml")[0] == 0
    assert len(server.requests) == 1


def test_a_refresh_that_fails(capsys: pytest.CaptureFixture[str], server: Marketplace) -> None:
    server.reaction = answering(500, f"Database error {TOKEN}".encode())
    status, printed, errors = run(capsys, "marketplace", "refresh")
    assert (status, errors) == (1, "")
    assert printed == f"{server.url}: 0 definitions, the server failed (500): 'Database error ***'\n"


@pytest.mark.parametrize(
    ("reaction", "note"),
    [
        (answering(404, b"Result not found"), "there is nothing at this address (404): 'Result not found'"),
        (answering(401, b"Authentication token is missing"), "the server requires a valid access token (401)"),
        (answering(302, Location="https://login.example.com/"), "a redirect to another host, 'login.example.com'"),
        (answering(200, b"<!doctype html><title>Sign in</title>"), "the answer is a web page, perhaps a login page,"),
    ],
    ids=["absent", "refused", "redirected", "login-page"],
)
def test_a_check_after_a_failed_refresh_reports_the_same(
    capsys: pytest.CaptureFixture[str], server: Marketplace, reaction: Reaction, note: str
) -> None:
    server.reaction = reaction
    status, printed, _ = run(capsys, "marketplace", "refresh")
    assert status == 1
    assert f"{server.url}: 0 definitions, {note}" in printed
    checked = run(capsys, "check", "--severity", "hint", "job.pai.yaml")[1]
    assert note in checked
    assert "asked just now" in checked
    assert "not loaded yet" not in checked
    server.reaction = items(item(1, "mnist"), token=TOKEN)
    assert run(capsys, "marketplace", "refresh")[0] == 0
    assert codes(capsys) == []
    server.reaction = reaction
    assert run(capsys, "marketplace", "refresh")[0] == 1
    shown = run(capsys, "marketplace", "show", "mnist")[1]
    assert f"state:    {note}" in shown
    assert "; asked just now; last updated just now" in shown


def test_a_refresh_names_the_addresses_that_fail(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    def react(request: Request) -> None:
        if request.path == "/moved.yaml":
            request.send(302, b"", Location="https://login.example.com/")
        elif request.path == "/login.yaml":
            request.send(200, b"<html><body>Sign in</body></html>", Content_Type="text/html")
        else:
            request.send(404, b"")

    with marketplace(react) as server:
        (project / ".pai-lsp.yaml").write_text("marketplace: {allowed_hosts: [127.0.0.1]}\n")
        for name in ("moved", "login", "none"):
            address = f"{server.url}/{name}.yaml"
            (project / f"{name}.pai.yaml").write_text(JOB.replace("marketplace://name/mnist", address))
        (project / "other.pai.yaml").write_text(JOB.replace("marketplace://name/mnist", "http://localhost:1/x"))
        status, printed, _ = run(capsys, "marketplace", "refresh")
    assert status == 1
    login_page = "if that is a login page, the request needs a token"
    moved = f"a redirect to another host, 'login.example.com', is not followed; {login_page}"
    login = "the answer is a web page, perhaps a login page, instead of YAML"
    host = "add the host 'localhost' to 'allowed_hosts' under 'marketplace' in the configuration"
    assert set(printed.splitlines()) == {
        f"http://localhost:1/x: not asked; {host}",
        f"{server.url}/login.yaml: {login}",
        f"{server.url}/moved.yaml: {moved}",
        f"{server.url}/none.yaml: there is nothing at this address (404), updated just now",
    }
    assert (
        f"could not be looked up: {moved}; asked just now"
        in run(capsys, "check", "--severity", "hint", "moved.pai.yaml")[1]
    )
    assert (
        f"could not be looked up: {login}; asked just now"
        in run(capsys, "check", "--severity", "hint", "login.pai.yaml")[1]
    )
    assert (
        f"nothing is found at '{server.url}/none.yaml'"
        in run(capsys, "check", "--severity", "hint", "none.pai.yaml")[1]
    )


def test_with_folders_alone_there_is_nothing_to_refresh(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    with_examples(project)
    status, printed, _ = run(capsys, "marketplace", "refresh")
    assert (status, printed) == (
        0,
        "no server is configured; folders need no refresh\n",
    )


def test_addresses_in_jobs_are_refreshed(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    with marketplace(answering(200, b"name: mnist\ntype: data\ntemplate_variables: [dataPath]\n")) as server:
        (project / ".pai-lsp.yaml").write_text("marketplace: {allowed_hosts: [127.0.0.1]}\n")
        (project / "job.pai.yaml").write_text(JOB.replace("marketplace://name/mnist", f"{server.url}/mnist.yaml"))
        (project / "other.pai.yaml").write_text(JOB.replace("marketplace://name/mnist", "http://localhost:1/x"))
        assert codes(capsys, "job.pai.yaml").count("marketplace-not-asked") == 1
        assert server.requests == []
        status, printed, _ = run(capsys, "marketplace", "refresh")
        assert status == 0
        assert f"{server.url}/mnist.yaml: updated just now\n" in printed
        assert [request.path for request in server.requests] == ["/mnist.yaml"]
        assert "marketplace-not-asked" not in codes(capsys, "job.pai.yaml")


def test_a_lock_serves_a_machine_without_network(
    capsys: pytest.CaptureFixture[str], server: Marketplace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run(capsys, "marketplace", "refresh")
    status, printed, errors = run(capsys, "marketplace", "lock")
    assert (status, printed, errors) == (0, f"{LOCK_NAME} contains 1 definition\n", "")
    expanded = run(capsys, "expand", "job.pai.yaml")
    assert expanded[0] == 0
    alone(monkeypatch, str(tmp_path / "another"))
    assert codes(capsys) == []
    assert run(capsys, "expand", "job.pai.yaml")[:2] == expanded[:2]
    shown = run(capsys, "marketplace", "show", "mnist")[1]
    assert f"from:     {LOCK_NAME}\n" in shown
    assert "state:    locked\n" in shown
    assert len(server.requests) == 1


def test_lock_check(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    with_examples(project)
    lock = project / LOCK_NAME
    assert run(capsys, "marketplace", "lock", "--check") == (
        1,
        "".join(f"marketplace://name/{name}: new\n" for name in ("debug_hook", "install_wget", "mnist"))
        + f"{LOCK_NAME} is not up to date; run 'pai-lsp marketplace lock'\n",
        "",
    )
    assert not lock.exists()
    assert run(capsys, "marketplace", "lock") == (0, f"{LOCK_NAME} contains 3 definitions\n", "")
    before = lock.read_bytes()
    assert run(capsys, "marketplace", "lock", "--check")[:2] == (0, f"{LOCK_NAME} is up to date\n")
    assert run(capsys, "marketplace", "lock", ".")[0] == 0
    assert lock.read_bytes() == before
    lock.write_bytes(before.replace(b"\n", b"\r\n"))
    assert run(capsys, "marketplace", "lock", "--check")[0] == 0, "as git may have written it"
    tools = project / "marketplace" / "install_wget.yaml"
    tools.write_text(tools.read_text().replace("wget", "curl"))
    assert run(capsys, "marketplace", "lock", "--check")[0] == 1
    assert "locked-definition-changed" not in codes(capsys, "job.pai.yaml")
    assert "unknown-marketplace-item" in codes(capsys, "job.pai.yaml")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_lock_that_is_a_link_stays_one(capsys: pytest.CaptureFixture[str], project: Path, tmp_path: Path) -> None:
    with_examples(project)
    lock, shared = project / LOCK_NAME, tmp_path / "shared.lock"
    shared.write_text("{}", encoding="utf-8")
    shared.chmod(0o664)
    lock.symlink_to(shared)
    assert run(capsys, "marketplace", "lock")[0] == 0
    assert lock.is_symlink()
    assert "marketplace://name/mnist" in shared.read_text(encoding="utf-8")
    assert shared.stat().st_mode & 0o777 == 0o664


def with_team(root: Path) -> Path:
    """A project whose definitions lie beside it, locked."""
    team, project = root / "team" / "marketplace", root / "work" / "project"
    team.mkdir(parents=True)
    project.mkdir(parents=True)
    (team / "mnist.yaml").write_text("{name: mnist, type: data, template_variables: [{name: dataPath}]}\n")
    (project / ".pai-lsp.yaml").write_text(
        "marketplace: {sources: [{directory: ../../team/marketplace}]}\n"
        "rules: {needs-expansion: off, refused-until-expanded: off}\n"
    )
    (project / "job.pai.yaml").write_text(JOB)
    return project


def test_a_lock_holds_after_the_tree_was_copied(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project = with_team(tmp_path / "one")
    monkeypatch.chdir(project)
    assert run(capsys, "marketplace", "lock")[0] == 0
    text = (project / LOCK_NAME).read_text(encoding="utf-8")
    assert '"source": "../../team/marketplace/mnist.yaml"' in text
    assert str(tmp_path) not in text
    shutil.copytree(tmp_path / "one", tmp_path / "deep" / "er" / "two")
    copied = tmp_path / "deep" / "er" / "two" / "work" / "project"
    for folder, there in ((copied, "."), (copied.parent, "project"), (tmp_path, str(copied))):
        monkeypatch.chdir(folder)
        assert run(capsys, "marketplace", "lock", "--folder", there, "--check") == (
            0,
            f"{LOCK_NAME} is up to date\n",
            "",
        )


def test_a_lock_of_the_former_version_has_absolute_paths(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project = with_team(tmp_path)
    monkeypatch.chdir(project)
    run(capsys, "marketplace", "lock")
    lock = project / LOCK_NAME
    now = lock.read_text(encoding="utf-8")
    assert "../../team" in now
    lock.write_text(now.replace("../../team", (tmp_path / "team").as_posix()), encoding="utf-8")
    (tmp_path / "team" / "marketplace" / "mnist.yaml").rename(tmp_path / "mnist.yaml")
    assert codes(capsys) == [], "it is read"
    (tmp_path / "team" / "marketplace").rmdir()
    assert run(capsys, "marketplace", "lock")[0] == 1, "what cannot be asked stays as it was locked"
    assert lock.read_text(encoding="utf-8") == now


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda text: f"<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> theirs\n", "line 1: a merge conflict is left in"),
        (lambda text: text.replace('"sha256"', '\n<<<<<<< HEAD\n=======\n>>>>>>> x\n"sha256"'), "line 9: a merge"),
        (lambda text: text.rstrip("}\n"), "is never closed"),
        (lambda text: text.replace('"version"', '"definitions": {}, "version"'), "the key 'definitions' occurs twice"),
    ],
    ids=["conflict", "conflict inside", "cut off", "key twice"],
)
def test_a_broken_lock_is_refused(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    damage: Callable[[str], str],
    line: str,
) -> None:
    project = with_team(tmp_path)
    monkeypatch.chdir(project)
    run(capsys, "marketplace", "lock")
    lock, job = project / LOCK_NAME, project / "job.pai.yaml"
    lock.write_text(damage(lock.read_text(encoding="utf-8")), encoding="utf-8")
    # The definition is another one now: it counts, and what the lock holds does not.
    (tmp_path / "team" / "marketplace" / "mnist.yaml").write_text("{name: mnist, type: script}\n")
    job.write_text(JOB + '    - {name: other, require: ["marketplace://name/mnist"]}\n')
    message = (
        f"'{LOCK_NAME}' is ignored because it is broken; "
        "resolve the merge conflict, or run 'pai-lsp marketplace lock' ("
    )
    report = json.loads(run(capsys, "check", "--format", "json")[1])
    (finding,) = (one for one in report["diagnostics"] if one["code"] == "broken-lock-file")
    assert finding["message"].startswith(message)
    assert line in finding["message"]
    assert run(capsys, "marketplace", "list")[2].startswith(f"pai-lsp: {message}")
    for command in (["expand", "job.pai.yaml"], ["marketplace", "list"], ["marketplace", "lock", "--check"]):
        status, printed, errors = run(capsys, *command)
        assert errors.count(message) == 1, command
        assert message not in printed
        assert (status, printed == "") == (1, True) or command[1] != "job.pai.yaml", "nothing is expanded"
    assert status == 1
    status, _, errors = run(capsys, "graph", "job.pai.yaml")
    assert (status, errors.count(message)) == (1, 1)
    assert "type:     script\n" in run(capsys, "marketplace", "show", "mnist")[1]
    assert run(capsys, "marketplace", "lock") == (0, f"{LOCK_NAME} contains 1 definition\n", "")
    assert run(capsys, "marketplace", "lock", "--check")[0] == 0


def test_a_folder_of_a_user_that_there_is_not(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "job.pai.yaml").write_text(JOB)
    (project / ".pai-lsp.yaml").write_text("marketplace: {sources: [{directory: ~no-such-user/marketplace}]}\n")
    status, printed, errors = run(capsys, "check", "--format", "concise")
    assert (status, errors) == (1, "")
    assert ".pai-lsp.yaml:1:37: error[invalid-configuration] '~no-such-user' is not a home folder" in printed
    assert "job.pai.yaml:" in printed
    for command in ("list", "refresh", "lock"):
        assert "Traceback" not in run(capsys, "marketplace", command)[2]


@pytest.mark.parametrize("part", ["setup.catalog_setup", "loading.load_catalog"])
def test_a_marketplace_that_fails_takes_nothing_else_along(
    capsys: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("a text that may quote a file")

    with_examples(project)
    for number in range(3):
        (project / f"{number}.pai.yaml").write_text(JOB.replace("[data]", "[data, nothing]"))
    monkeypatch.setattr(f"pai_lsp.catalog.{part}", fail)
    assert codes(capsys, *(f"{number}.pai.yaml" for number in range(3))).count("unknown-prerequisite") == 3
    _, _, errors = run(capsys, "check")
    assert errors.count("\n") == 1
    assert errors.startswith("pai-lsp: the marketplace cannot be read: RuntimeError in ")
    assert "quote" not in errors


def test_a_configuration_of_another_user_is_not_read(
    capsys: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".pai-lsp.yaml").write_text("rules: {unknown-prerequisite: off}\n")
    for folder in ("jobs", "more"):
        (project / folder).mkdir()
        (project / folder / "job.pai.yaml").write_text(JOB.replace("[data]", "[nothing]"))
    assert "unknown-prerequisite" not in codes(capsys)
    monkeypatch.setattr("pai_lsp.project.projects.is_of_another_user", lambda _: True)
    assert codes(capsys).count("unknown-prerequisite") == 2
    _, _, errors = run(capsys, "check")
    assert errors == (
        f"pai-lsp: '{project / '.pai-lsp.yaml'}' is not read, because it belongs to another user; "
        "copy it to a file that belongs to you, or change its owner\n"
    )


def test_a_configuration_above_the_repository_is_not_read(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / ".pai-lsp.yaml").write_text("rules: {unknown-prerequisite: off}\n")
    (project / "inner" / "jobs").mkdir(parents=True)
    (project / "inner" / "jobs" / "job.pai.yaml").write_text(JOB.replace("[data]", "[nothing]"))
    assert "unknown-prerequisite" not in codes(capsys)
    (project / "inner" / ".git").mkdir()
    assert "unknown-prerequisite" in codes(capsys)


def test_a_reference_that_cannot_be_locked_is_reported(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    with_examples(project)
    (project / "job.pai.yaml").write_text(JOB.replace("name/mnist", "name/mnits"))
    status, printed, errors = run(capsys, "marketplace", "lock")
    assert (status, printed) == (1, f"{LOCK_NAME} contains 0 definitions\n")
    assert errors == "'marketplace://name/mnits' is not locked, not there\n"
    assert run(capsys, "marketplace", "lock", "nowhere.yaml")[0] == 2


def test_without_a_project_there_is_nothing_to_lock(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, errors = run(capsys, "marketplace", "lock")
    assert status == 2
    assert "no .pai-lsp.yaml and no folder 'marketplace' found" in errors


def test_definition_files_are_checked(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    with_examples(project)
    (project / "job.pai.yaml").unlink()
    assert run(capsys, "check")[0] == 0
    report = json.loads(run(capsys, "check", "--format", "json")[1])
    assert (report["files"], report["diagnostics"]) == (5, [])
    mnist = project / "marketplace" / "mnist.yaml"
    mnist.write_text(mnist.read_text().replace("name/install_wget", "name/install_wgte"))
    assert codes(capsys) == ["unknown-marketplace-item"]
    assert codes(capsys, "marketplace/mnist.yaml") == ["unknown-marketplace-item"]
    # Other people's YAML in a folder of that name is left alone, but for a configured one.
    (project / "marketplace" / "action.yml").write_text("name: Build it\nruns: {using: node}\n")
    assert codes(capsys) == ["unknown-marketplace-item"]
    (project / ".pai-lsp.yaml").write_text("marketplace: {sources: [{directory: marketplace}]}\n")
    assert sorted(codes(capsys)) == ["invalid-prerequisite-name", "unknown-marketplace-item"]


def test_related_places_are_shown_in_the_other_file(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    with_examples(project)
    imagenet = project / "marketplace" / "imagenet.yaml"
    imagenet.write_text(imagenet.read_text().replace("name/confignfs_pvc", "name/confignfs"))
    (project / "job.pai.yaml").write_text(JOB.replace("name/mnist", "name/imagenet"))
    _, printed, _ = run(capsys, "check", "job.pai.yaml")
    assert "marketplace://name/confignfs', which does not exist" in printed
    assert "--> marketplace/imagenet.yaml:6:" in printed


def imported(folder: Path, *arguments: str) -> set[str]:
    """The modules that a run of the command line loads."""
    code = (
        "import sys\nfrom pai_lsp.cli.main import main\n"
        "main(sys.argv[1:])\nprint('\\n'.join(sys.modules), file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(ended.stderr.split())


@pytest.mark.slow
def test_a_job_without_references_reads_no_catalog(project: Path) -> None:
    with_examples(project)
    (project / ".pai-lsp.yaml").write_text("marketplace: {sources: [{url: 'http://127.0.0.1:1'}]}\n")
    (project / "plain.pai.yaml").write_text(
        JOB.split("extras:", maxsplit=1)[0].replace("    prerequisites: [data]\n", "")
    )
    modules = imported(project, "check", "plain.pai.yaml")
    assert not modules & {"httpx", "asyncio", "pai_lsp.catalog.catalog", "pai_lsp.catalog.loading"}
    modules = imported(project, "check", "job.pai.yaml")
    assert "pai_lsp.catalog.catalog" in modules
    # On Python 3.10, jsonschema imports subprocess.
    assert not modules & ({"httpx", "asyncio"} if "jsonschema" in modules else {"httpx", "asyncio", "subprocess"})
