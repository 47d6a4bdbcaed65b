"""What the pages of the playground and the portal ask the checker; scripts/e2e_playground.sh tries the pages."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from live_cluster_server import FAILED, RUNNING, LiveCluster
from loopback import Request, answering, item, items, marketplace
from test_architecture import MODULES
from test_cluster_pull import react
from test_cluster_submit import JOB, error, server_with

import pai_lsp
from pai_lsp.web.fetching import FetchFailure, Limits, exchange

if TYPE_CHECKING:
    from types import ModuleType

    from loopback import Reaction

ROOT = Path(__file__).parent.parent
ANSWERS = ROOT / "docs" / "playground" / "browser_answers.py"
EXAMPLES = sorted([*(ROOT / "examples").glob("*.yaml"), *(ROOT / "docs" / "playground" / "examples").glob("*.yaml")])
# Those of pai-lsp, and of the two libraries that scripts/playground_packages.py takes.
PACKAGES = {"pai_lsp", "yaml", "ruamel", "jsonschema", "jsonschema_specifications", "referencing", "attr", "attrs"}


@cache
def answers() -> ModuleType:
    specification = spec_from_file_location("browser_answers", ANSWERS)
    assert specification is not None
    assert specification.loader is not None
    module = module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def ask(question: str, text: str, platform: str = "openpai", **more: Any) -> Any:
    return json.loads(answers().answer(json.dumps({"ask": question, "text": text, "platform": platform, **more})))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_finds_and_expands_what_the_command_line_does(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = [(one["code"], one["severity"], one["from"], one["to"]) for one in ask("check", text)["findings"]]
    assert found == [
        (one.code, one.severity, one.start.offset, one.end.offset) for one in pai_lsp.check(text, severity="hint")
    ]
    for question, inline in (("expand", False), ("inline", True)):
        try:
            expected = pai_lsp.expand(text, inline=inline)
        except pai_lsp.ExpansionError:
            expected = None
        answer = ask(question, text)
        assert answer["text"] == expected
        assert bool(answer["findings"]) == (expected is None)


def test_offsets_and_edits_count_as_javascript_does() -> None:
    job = "# 😀 ü\nname: x\ntaskRoles: {w: {prerequisites: [minst]}}\nprerequisites: [{name: mnist}]\n"
    finding = next(one for one in ask("check", job)["findings"] if one["code"] == "unknown-prerequisite")
    units = job.encode("utf-16-le")
    assert units[2 * finding["from"] : 2 * finding["to"]].decode("utf-16-le") == "minst"
    (edit,) = finding["fixes"][0]["edits"]
    assert units[2 * edit["from"] : 2 * edit["to"]].decode("utf-16-le") == "minst"
    assert edit["insert"] == "mnist"


def test_fixes_runs_and_graph() -> None:
    text = (ROOT / "examples" / "typo.pai.yaml").read_text(encoding="utf-8")
    fixed = ask("fix", text)
    assert fixed["fixed"] == ask("check", text)["fixable"] == 4
    assert ask("check", fixed["text"])["findings"] == []
    runs = ask("runs", fixed["text"])
    number = runs["text"].split("\n").index("python train.py")
    assert fixed["text"][dict(runs["lines"])[number] :].startswith("python train.py")
    graph = ask("graph", text)
    assert "digraph" in graph["dot"]
    assert all(text[at:].startswith(("worker", "pytorch", "mnist", "minst")) for at in graph["places"].values())


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("taskRoles:\n", "job"),
        ("kind: MPIJob\napiVersion: kubeflow.org/v2beta1\n", "MPIJob"),
        ("- {name: tools, type: script, callbacks: [{event: taskStarts, commands: [ls]}]}\n", "definitions"),
    ],
)
def test_every_kind_of_file(text: str, kind: str) -> None:
    assert ask("check", text)["kind"] == kind
    for question in ("fix", "runs", "expand", "inline", "graph"):
        ask(question, text)
    if kind != "job":
        assert ask("runs", text)["text"] is None
        assert ask("expand", text) == {"text": None, "findings": []}


def test_a_password_is_in_no_message() -> None:
    image = "{type: dockerimage, name: a, uri: b, auth: {username: u, password: hunter2x9}}"
    found = ask("check", f"prerequisites: [{image}]\nhunter2x9: 1\n")["findings"]
    assert "unknown-key" in {one["code"] for one in found}
    assert "hunter2x9" not in repr([one["message"] for one in found])


def test_completion_and_hover_count_as_javascript_does() -> None:
    job = "# 😀\nname: x\ntaskRoles: {w: {prerequisites: []}}\nprerequisites: [{name: mnist}]\n"
    at = job.index("[]") + 1
    (one,) = ask("complete", job, at=at + 1)
    assert (one["label"], one["kind"]) == ("mnist", "reference")
    assert one["edit"] == {"from": at + 1, "to": at + 1, "insert": "mnist"}
    assert one["places"] == []
    found = ask("hover", job, at=job.index("name") + 2)
    assert "**Job name**" in found["markdown"]
    assert (found["from"], found["to"]) == (job.index("name") + 1, job.index("name") + 5)
    assert ask("hover", job, at=0) is None
    assert ask("rule", job, code="unknown-prerequisite")["markdown"].startswith("# unknown-prerequisite")


def test_completion_says_which_places_are_to_be_filled() -> None:
    job = next(one for one in ask("complete", "", at=0) if one["label"] == "job")
    filled = [job["edit"]["insert"][start:end] for _, start, end in job["places"]]
    assert filled[:6] == ["my-job", "image", "openpai/standard:python_3.6-pytorch_1.2.0-gpu", "worker", "1", "image"]
    # The name of the image, which stands twice, is one place.
    assert [number for number, _, _ in job["places"]][:6] == [1, 2, 3, 4, 5, 2]


def test_where_only_the_expanded_job_is_sent_expansion_is_no_finding() -> None:
    text = (ROOT / "docs" / "playground" / "examples" / "extended.pai.yaml").read_text(encoding="utf-8")
    codes = {one["code"] for one in ask("check", text)["findings"]}
    sent = {one["code"] for one in ask("check", text, expands=True)["findings"]}
    assert codes - sent == {"needs-expansion", "refused-until-expanded"}
    # Of a job that cannot be expanded, the reason is found, and no advice to expand it.
    broken = ask("check", text + "secrets: {word: x, word: y}\n", expands=True)["findings"]
    assert [one["code"] for one in broken if one["severity"] == "error"] == ["duplicate-key"]


@pytest.fixture
def answers_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ANSWERS.parent))


def asked_of_cluster(question: str, url: str, text: str = JOB, **more: Any) -> Any:
    """Ask as the page does: send each request that the answer names, with the token, until there is an answer."""
    answers: list[dict[str, Any]] = []
    fields = {"server": url, "portal": url.removesuffix("/rest-server"), "user": "ann", "plugin": "", **more}
    while True:
        found = ask(question, text, answers=answers, **fields)
        assert "t0ken" not in repr(found)
        if "request" not in found:
            return found["answer"]
        request = found["request"]
        headers = {"Accept": "application/json"}
        if request["url"].startswith((f"{url}/api/v2/", more.get("marketplace", url))):
            headers["Authorization"] = "Bearer t0ken"
        if request["range"]:
            headers["Range"] = request["range"]
        answer = exchange(request["method"], request["url"], headers, body=request["body"].encode(), limits=Limits())
        if isinstance(answer, FetchFailure):
            answers.append({"failure": answer.note})
        else:
            answers.append({"status": answer.status, "headers": dict(answer.headers), "body": answer.body.decode()})


@pytest.mark.usefixtures("answers_folder")
def test_the_facts_of_the_cluster_decide_whether_a_job_fits() -> None:
    with marketplace(react) as server:
        found = asked_of_cluster("profile", server.url)
        assert {request.method for request in server.requests} == {"GET"}
    assert found["user"] == "ann"
    cluster = json.dumps(found["profile"])
    name = server.url.removeprefix("http://")
    fields: dict[str, Any] = {"server": server.url, "portal": server.url, "cluster": cluster, "answers": []}
    outcome, *_ = ask("fit", JOB, **fields)["answer"]["lines"]
    assert outcome == f"'{name}' accepts the job; the profile does not say whether it can start"
    other = JOB + "defaults: {virtualCluster: prod}\n"
    assert ask("fit", other, **fields)["answer"]["lines"][0] == f"'{name}' refuses the job"
    shown = [ask("submission", text, user="ann", plugin="", **fields)["answer"]["fits"] for text in (JOB, other)]
    assert shown == [True, False]
    assert "virtual-cluster-not-allowed" in {one["code"] for one in ask("check", other, cluster=cluster)["findings"]}
    assert ask("fit", "kind: MPIJob\napiVersion: kubeflow.org/v2beta1\n", **fields) == {"answer": {"lines": []}}
    with marketplace(answering(403, b"{}")) as server:
        assert "access is denied (403)" in asked_of_cluster("profile", server.url)["failure"]


@pytest.mark.usefixtures("answers_folder")
def test_the_portal_sends_the_expanded_job_that_it_shows() -> None:
    with marketplace(server_with(answering(202, b"{}"))) as server:
        shown = asked_of_cluster("submission", server.url, plugin="checked")
        assert server.requests == []
        sent = asked_of_cluster("submit", server.url, plugin="checked")
        (request,) = [one for one in server.requests if one.method == "POST"]
        assert asked_of_cluster("submit", server.url)["failure"].endswith("give the job another name")
    assert request.body.decode() == shown["text"]
    assert shown["text"] == pai_lsp.expand(JOB) + "extras:\n  submitFrom: checked\n"
    assert (shown["errors"], "paper-and-glue" in repr(shown["lines"])) == (0, False)
    assert any("worker: 2 tasks, each with gpu 1" in line for line in shown["lines"])
    assert sent == {
        "name": "train",
        "page": f"{server.url}/job-detail.html?username=ann&jobName=train",
        "note": "",
    }
    with marketplace(server_with(error(400, "InvalidProtocolError", "bad job"), keeps=False)) as server:
        assert "refuses the job (400): bad job" in asked_of_cluster("submit", server.url)["failure"]
    with marketplace(server_with(answering(503, b""))) as server:
        assert "but the cluster has the job" in asked_of_cluster("submit", server.url)["note"]
        assert sum(one.method == "POST" for one in server.requests) == 1
    broken = JOB.replace("[prepare]", "[nothing]")
    assert ask("submission", broken, server="http://a", portal="http://a", user="ann", plugin="", answers=[]) == {
        "answer": {"text": None, "lines": [], "errors": 0, "fit": [], "fits": None}
    }


@pytest.mark.usefixtures("answers_folder")
def test_the_definitions_of_the_marketplace() -> None:
    template = item(2, "finetune", type="template", name="Fine-tune", protocol=JOB)
    with marketplace(items(item(1, "mnist"), template, token="t0ken")) as server:  # noqa: S106 - of nobody
        api = f"{server.url}/marketplace/api"
        fields: dict[str, Any] = {"marketplace": api, "expands": True}
        text = JOB.replace("[prepare]", "[prepare, marketplace://name/mnit]")
        (early,) = [one for one in ask("check", text, **fields)["findings"] if one["code"] == "marketplace-not-asked"]
        assert "has not answered yet" in early["message"]
        assert asked_of_cluster("definitions", "http://cluster/rest-server", "", marketplace=api) == {}
        (request,) = server.requests
        assert (request.method, request.path) == ("GET", "/marketplace/api/items")
    (found,) = ask("check", text, **fields)["findings"]
    assert (found["code"], found["severity"]) == ("unknown-marketplace-item", "error")
    (edit,) = found["fixes"][0]["edits"]
    assert edit["insert"] == "marketplace://name/mnist"
    text = text.replace("mnit", "mnist")
    at = text.index("mnist")
    assert "marketplace://name/mnist" in {one["label"] for one in ask("complete", text, at=at, **fields)}
    assert "to fill: `dataPath`" in ask("hover", text, at=at, **fields)["markdown"]
    require = "require: [{name: marketplace://name/mnist, template_variables: {dataPath: /data}}]"
    extras = f"extras: {{reference_prerequisites: [{{name: data, {require}}}]}}\n"
    filled = JOB.replace("[prepare]", "[prepare, data]") + extras
    assert ask("check", filled, **fields)["findings"] == []
    assert "wget -P /data https://example.com/mnist.zip" in ask("runs", filled, **fields)["text"]
    assert "wget -P /data" in ask("expand", filled, **fields)["text"]
    jobs = {one["label"]: one["edit"]["insert"] for one in ask("complete", "", at=0, **fields)}
    assert "paper-and-glue" not in jobs["Fine-tune"]
    # Without that marketplace nothing of it is known.
    assert "Fine-tune" not in {one["label"] for one in ask("complete", "", at=0)}


@pytest.mark.usefixtures("answers_folder")
@pytest.mark.parametrize(
    ("reaction", "reason"),
    [
        (answering(404), "there is nothing at this address (404)"),
        (answering(200, b"<html>login"), "the answer is a web page, perhaps a login page, instead of JSON"),
        (answering(500, b"Database error"), "the server failed (500): 'Database error'"),
    ],
)
def test_a_marketplace_that_does_not_answer(reaction: Reaction, reason: str) -> None:
    with marketplace(reaction) as server:
        failure = asked_of_cluster("definitions", "http://cluster/rest-server", "", marketplace=server.url)["failure"]
    assert failure.startswith(reason)
    text = JOB.replace("[prepare]", "[prepare, marketplace://name/mnist]")
    findings = ask("check", text, marketplace=server.url, expands=True)["findings"]
    found = next(one for one in findings if one["code"] == "marketplace-not-asked")
    assert found["severity"] == "information"
    assert reason in found["message"]


@pytest.mark.usefixtures("answers_folder")
def test_a_job_of_the_cluster_and_why_it_failed() -> None:
    def logs_without_token(request: Request) -> None:
        assert request.path.startswith("/rest-server/") or "authorization" not in request.headers
        cluster(request)

    cluster = LiveCluster([FAILED])
    with marketplace(logs_without_token) as server:
        found = asked_of_cluster("submitted", f"{server.url}/rest-server", "", job="train")
        assert [one for one in server.requests if one.path.startswith("/log-manager/")]
        cluster.states = [RUNNING]
        running = asked_of_cluster("submitted", f"{server.url}/rest-server", "", job="train")
        missing = asked_of_cluster("submitted", f"{server.url}/rest-server", "", job="other")
    assert "- python train.py" in found["text"].splitlines()[found["line"] - 1]
    assert found["cause"].startswith("python-import: ")
    assert "module: torchx" in found["why"]
    assert found["hasSecrets"]
    assert "secrets" not in found["text"]
    assert {one["severity"] for one in ask("check", found["text"])["findings"]} <= {"hint", "information"}
    assert (running["why"], running["text"]) == (None, found["text"])
    assert missing["failure"] == "'ann' has no job named 'other'"


@pytest.mark.slow
def test_it_needs_only_pure_python_and_the_packed_libraries() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in [EXAMPLES[-1]])
    code = f"""
import sys, json
sys.modules["yaml._yaml"] = None
sys.path.insert(0, {str(ANSWERS.parent)!r})
started = set(sys.modules)
import browser_answers
for ask in ("check", *browser_answers._ANSWERS):
    browser_answers.answer(json.dumps({{"ask": ask, "text": {text!r} + "x: [", "platform": "ltp"}}))
    browser_answers.answer(json.dumps({{"ask": ask, "text": {text!r}, "platform": "openpai"}}))
import cluster_answers
new = {{name for name in set(sys.modules) - started if "." not in name and name not in sys.stdlib_module_names}}
print(json.dumps(sorted(new)))
print(json.dumps(sorted(name for name in sys.modules if name.startswith("pai_lsp."))))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    libraries, modules = map(json.loads, run.stdout.splitlines())
    # typing_extensions is for Python before 3.13, jsonschema uses idna where it is there, and docs/playground/rpds.py
    # stands for a compiled library.
    here = {"browser_answers", "cluster_answers", "rpds", "typing_extensions", "idna", "_ruamel_yaml"}
    assert set(libraries) <= PACKAGES | here
    # The build leaves out these packages.
    assert [name for name in modules if name.split(".")[1] in {"assistant", "cli", "lsp"}] == []
    assert len(modules) < len(MODULES)
