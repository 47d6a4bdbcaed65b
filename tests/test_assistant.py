"""The answers for assistants: right, short, below the allowed folders, without secrets, and as they are described."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from job_text import SMALL
from loopback import item
from test_cluster_fit import WAITS, cluster

import pai_lsp
from pai_lsp.assistant.allowed_files import AllowedFiles, AnswerError, folders_of
from pai_lsp.assistant.assistant_tools import answer, tools
from pai_lsp.assistant.resources import resource_text, resources
from pai_lsp.catalog.remote_sources import read_items, server_key
from pai_lsp.catalog.setup import ServerSource
from pai_lsp.catalog.store import LoadedSource, Store
from pai_lsp.ide.completion.snippet_texts import JOBS
from pai_lsp.platform.tables import table
from pai_lsp.rules import RULES
from pai_lsp.source.text import LineIndex
from pai_lsp.source.user_folders import user_cache_folder

ROOT = Path(__file__).parent.parent
HIDDEN = {path.name: path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parent / "hidden").iterdir())}
TYPO = (ROOT / "examples" / "typo.pai.yaml").read_text(encoding="utf-8")
GOOD = (ROOT / "examples" / "good.pai.yaml").read_text(encoding="utf-8")
NO_FILES = AllowedFiles()
JOB = f"{SMALL}    instances: 1\n"


def ask(tool: str, files: AllowedFiles = NO_FILES, **arguments: Any) -> dict[str, Any]:
    """The answer, which must be as the tool describes it."""
    found = answer(tool, arguments, files)
    jsonschema.validate(json.loads(json.dumps(found)), tools()[tool]["output"])
    return found


def refusal(tool: str, files: AllowedFiles = NO_FILES, **arguments: Any) -> str:
    with pytest.raises(AnswerError) as error:
        answer(tool, arguments, files)
    return str(error.value)


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    """The text after edits of whole lines, as a client makes them."""
    index = LineIndex(text)
    lines = [text[index.line_start(n) : index.line_start(n + 1)] for n in range(len(index))]
    for edit in reversed(edits):
        assert "".join(lines[edit["line"] - 1 : edit["end_line"]]) == edit["old"]
        lines[edit["line"] - 1 : edit["end_line"]] = [edit["new"]]
    return "".join(lines)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user with the profile of one cluster."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "pai-lsp" / "clusters"
    folder.mkdir(parents=True)
    (folder / "lab.json").write_text(json.dumps(cluster().document), encoding="utf-8")


def allowed(folder: Path) -> AllowedFiles:
    return AllowedFiles((os.path.realpath(folder),))


def test_each_finding_has_its_place_its_rule_and_the_edit_that_fixes_it() -> None:
    found = ask("check", text=TYPO)
    assert (found["clean"], found["errors"], found["warnings"], found["more"]) == (False, 4, 0, 0)
    first = found["findings"][0]
    assert (first["line"], first["column"], first["rule"], first["severity"]) == (14, 16, "invalid-event", "error")
    assert TYPO.split("\n")[13][first["column"] - 1 : first["end_column"] - 1] == "taskStart"
    text = TYPO
    for one in reversed(found["findings"]):
        text = edited(text, one["fix"]["edits"])
    assert ask("check", text=text)["clean"]


def test_the_findings_are_those_of_the_interface_for_programs() -> None:
    for text in (TYPO, GOOD, JOB.replace("echo hi", "pip instal x")):
        found = [(one["rule"], one["line"], one["message"]) for one in ask("check", text=text)["findings"]]
        assert found == [(one.code, one.start.line, one.message) for one in pai_lsp.check(text, path="job.pai.yaml")]


def test_a_severity_and_a_short_list() -> None:
    many = JOB + "    " + "\n    ".join(f"kye{number}: 1" for number in range(30)) + "\n"
    found = ask("check", text=many)
    assert (len(found["findings"]), found["errors"], found["more"]) == (20, 30, 10)
    assert len(ask("check", text=many, full=True)["findings"]) == 30
    hints = ask("check", text=JOB.replace("20.04", "latest"), severity="hint")
    assert (hints["clean"], [one["severity"] for one in hints["findings"]]) == (True, ["information"])


@pytest.mark.parametrize("text", [TYPO, JOB, TYPO.replace("\n", "\r\n"), JOB.replace("type: job\n", "")])
def test_the_edits_of_fix_give_what_the_command_line_writes(text: str) -> None:
    found = ask("fix", text=text, full=True)
    assert found["text"] == edited(text, found["edits"]) == pai_lsp.fix(text, path="job.pai.yaml")
    assert "text" not in ask("fix", text=text)


def test_what_cannot_be_fixed_is_left() -> None:
    found = ask("fix", text=TYPO.replace("minst", "qqqqqq"))
    assert (found["fixed"], [one["rule"] for one in found["left"]]) == (3, ["unknown-prerequisite"])


def test_a_secret_in_a_changed_line_is_masked() -> None:
    text = JOB.replace("taskRoles:", "secrets: {key: hunter2secret}\ntaskRoles:").replace(
        "echo hi", "echo <% $secret.key %>"
    )
    found = ask("fix", text=text.replace("type: job", "typ: job"), full=True)
    assert found["masked"]  # of the whole text; the edits show no secret
    assert "secrets: {key: *************}" in found["text"]
    assert not ask("fix", text=text.replace("type: job", "typ: job"))["masked"]
    quoted = ask(
        "fix", text=text.replace("{key: hunter2secret}", "{kéy: hunter2secret}").replace("type: job", "typ: job")
    )
    assert "hunter2secret" not in json.dumps(quoted)
    assert "hunter2secret" not in json.dumps(found)


def test_the_expanded_job() -> None:
    text = JOB.replace("taskRoles:", "  - {name: a, require: [b]}\n  - name: b\n    type: script\n    plugin: cmd\n"
                       "    callbacks: [{event: taskStarts, commands: [echo b]}]\ntaskRoles:")  # fmt: skip
    text = text.replace("    dockerImage", "    prerequisites: [a]\n    dockerImage")
    found = ask("expand", text=text)
    assert (found["expanded"], found["errors"]) == (True, [])
    assert found["text"] == pai_lsp.expand(text, path="job.pai.yaml")
    missing = ask("expand", text=text.replace("require: [b]", "require: [c]"))
    assert (missing["expanded"], "text" in missing, [one["rule"] for one in missing["errors"]][-1:]) == (
        False,
        False,
        ["unknown-required-prerequisite"],
    )
    assert not ask("expand", text="a: 1\n")["expanded"]


def test_what_runs() -> None:
    found = ask("what_runs", text=GOOD, role="worker")
    assert "python train.py --data /dataset/mnist --epochs 10 --lr 0.01" in found["text"]
    long = JOB.replace("[echo hi]", "[" + ", ".join(["echo hi"] * 300) + "]")
    assert ask("what_runs", text=long)["more"] > 190
    assert ask("what_runs", text=long, full=True)["more"] == 0
    assert refusal("what_runs", text=JOB, role="wroker") == (
        "no task role is named 'wroker' (worker); did you mean 'worker'?"
    )


@pytest.mark.parametrize(
    ("name", "kind", "part"),
    [
        ("unknown-prerequisite", "rule", "The rest-server refuses the job"),
        ("jobRetryCount", "key", "The number of retries"),
        ("taskRoles.worker.completion.minFailedInstances", "key", "The job fails when"),
        ("shmMB", "key", "`taskRoles.NAME.extraContainerOptions.shmMB`"),
        ("taskStarts", "event", "Before the user's commands"),
        ("com.microsoft.pai.runtimeplugin.ssh", "plugin", "jobssh"),
        ("$PAI_HOST_IP_worker_0", "variable", "host address"),
        ("137", "exit code", "SIGKILL"),
        ("-1203", "exit code", "-1203"),
    ],
)
def test_a_name_is_explained(name: str, kind: str, part: str) -> None:
    found = ask("explain", name=name)
    assert found["kind"] == kind
    assert part in found["text"]


def test_every_rule_is_explained_by_its_code() -> None:
    assert {ask("explain", name=rule.code)["kind"] for rule in RULES} == {"rule"}


def test_an_unknown_name() -> None:
    assert refusal("explain", name="jobRetryCont").endswith("did you mean 'jobRetryCount'?")


def test_completion() -> None:
    line = JOB.split("\n").index("    dockerImage: image") + 1
    text = JOB.replace("dockerImage: image", "dockerImage: ")
    assert [one["label"] for one in ask("complete", text=text, line=line)["suggestions"]] == ["image"]
    keys = ask("complete", text=f"{JOB}    c\n", line=JOB.count("\n") + 1)
    assert "completion:" in {one["insert"].partition("\n")[0] for one in keys["suggestions"]}
    assert "has 12 lines" in refusal("complete", text=JOB, line=13)
    assert "ends at 19" in refusal("complete", text=JOB, line=1, column=40)


@pytest.mark.usefixtures("lab")
def test_the_fit_to_a_cluster() -> None:
    found = ask("fit", text=JOB.replace("gpu: 0", "gpu: 1"), cluster="lab")
    assert (found["cluster"], found["outcome"], found["total"]) == ("lab", "runs", 1)
    never = JOB.replace("gpu: 0", "gpu: 99")
    assert ask("fit", AllowedFiles(cluster="lab"), text=never)["outcome"] == "refused"
    assert ask("check", text=never)["clean"]
    assert not ask("check", text=never, cluster="lab")["clean"]
    assert refusal("fit", text=JOB) == "give 'cluster', the name of a cluster; known clusters: lab"
    assert refusal("check", text=JOB, cluster="/etc/passwd").startswith("no cluster is named '/etc/passwd'")


def test_why_a_task_failed() -> None:
    assert "SIGKILL" in ask("why", text="137")["text"]
    assert "not found" in ask("why", exit_code=127)["text"]
    found = ask("why", text="bash: line 3: pythn: command not found", job=JOB.replace("echo hi", "pythn train.py"))
    assert (found["known"], found["line"]) == (True, 10)
    assert not ask("why", text="all is well, says nobody")["known"]
    assert "give 'text'" in refusal("why")
    token = "ghp_" + "x7Kq9ZbT3mWv5RcY8nLd2HsF6pJg4AeUwX1o"
    assert token not in json.dumps(ask("why", text=f"RuntimeError: refused {token}\n"))


@pytest.mark.parametrize("template", [name for name, _, _ in JOBS])
def test_a_new_job_is_clean_also_when_it_is_filled(template: str) -> None:
    assert ask("check", text=ask("new_job", template=template)["text"], severity="hint")["findings"] == []
    text = ask(
        "new_job", template=template, name="x", image="a/b:1", instances=3, cpu=8, memoryMB=4096, gpu=2, shmMB=1024,
        command="python train.py --lr <% $parameters.lr %>", setup=["pip install x==1"], virtualCluster="vc",
        jobRetryCount=1, storages={"data": "/data"}, parameters={"lr": 0.1}, ports={"http": 1},
        skuType="K80", priority="test",
    )["text"]  # fmt: skip
    assert ask("check", text=text)["findings"] == []
    for part in ("uri: a/b:1", "memoryMB: 4096", "shmMB: 1024", "mountPath: /data", "lr: 0.1", "skuType: K80"):
        assert part in text
    assert text.count("train.py --lr <% $parameters.lr %>") == text.count("pip install x==1") == 1


def test_the_launcher_gets_the_tasks() -> None:
    horovod = ask("new_job", template="distributed job", instances=3, gpu=2, command="python a.py")["text"]
    assert "-np 6 -H master-0:2,worker-0:2,worker-1:2 python a.py" in horovod
    torch = ask("new_job", template="pytorch job", instances=3, gpu=2, command="python -m pkg.train --x 1")["text"]
    assert "--nproc_per_node=2 " in torch
    assert "-m pkg.train --x 1" in torch
    assert "python" not in torch.partition("torchrun")[2].partition("\n")[0]
    assert refusal("new_job", template="distributed job", instances=1) == (
        "the argument 'instances' must be at least 2 for the template 'distributed job'"
    )


def test_tasks_are_retried_alone_where_they_do_not_need_each_other() -> None:
    text = ask("new_job", template="job", instances=8, taskRetryCount=2)["text"]
    assert ask("check", text=text, severity="hint")["findings"] == []
    assert "taskRetryCount: 2" in text
    assert "gangAllocation: false" in text
    assert "gangAllocation" not in ask("new_job", template="job", taskRetryCount=0)["text"]
    assert refusal("new_job", template="pytorch job", taskRetryCount=2).endswith("use jobRetryCount")


TEMPLATE = """\
# From the marketplace.
protocolVersion: 2
name: finetune
type: job
secrets: {word: paper-and-glue}
prerequisites:
  - {type: data, name: data, uri: [/data]}
  - {type: dockerimage, name: image, uri: "a/b:1"}
parameters: {lr: 0.1, epochs: 3}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [data]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 1, ports: {http: 1}}
    commands: ["tune --lr <% $parameters.lr %> --key <% $secrets.word %>"]
extras:
  hivedScheduler: {jobPriorityClass: test, taskRoles: {worker: {skuNum: 1}}}
  storages: [{name: home, mountPath: /home}, {name: old}]
"""


def test_a_template_of_the_marketplace_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    parts = TEMPLATE.replace("worker", "other").partition("taskRoles:\n")[2].partition("extras")[0]
    two = TEMPLATE.replace("extras:\n", f"{parts}extras:\n")
    server = ServerSource("https://m.example.com")
    templates = [
        item(number, f"t{number}", name=name, type="template", protocol=text)
        for number, (name, text) in enumerate({"one": TEMPLATE, "two": two, "odd": "type: job\n"}.items())
    ]
    texts, _ = read_items(json.dumps(templates).encode(), server.url)
    Store(user_cache_folder(os.environ)).save(server_key(server), LoadedSource(texts=texts))
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / ".pai-lsp.yaml").write_text(f"marketplace: {{sources: [{{url: '{server.url}'}}]}}\n", encoding="utf-8")
    files = allowed(folder)
    unfilled = ask("new_job", files, template="one")["text"]
    assert unfilled == TEMPLATE.replace(" {word: paper-and-glue}", '\n  word: ""')
    given: dict[str, Any] = {
        "name": "x", "image": "c/d:2", "instances": 2, "gpu": 4, "setup": ["ls"], "ports": {"ssh": 1}, "shmMB": 64,
        "parameters": {"lr": 1}, "storages": {"old": "/old"}, "skuType": "V100", "virtualCluster": "vc",
        "taskRetryCount": 1,
    }  # fmt: skip
    found = yaml.safe_load(ask("new_job", files, template="one", **given)["text"])
    assert found["secrets"]["word"] == ""
    assert [one.get("uri") for one in found["prerequisites"]] == [["/data"], "c/d:2"]
    assert list(found).index("parameters") < list(found).index("taskRoles")
    assert found["parameters"] == {"lr": 1, "epochs": 3}
    assert found["defaults"] == {"virtualCluster": "vc"}
    assert found["taskRoles"] == {
        "worker": {
            "instances": 2,
            "dockerImage": "image",
            "prerequisites": ["data"],
            "resourcePerInstance": {"cpu": 1, "memoryMB": 1024, "gpu": 4, "ports": {"http": 1, "ssh": 1}},
            "commands": ["ls", "tune --lr <% $parameters.lr %> --key <% $secrets.word %>"],
            "taskRetryCount": 1,
            "extraContainerOptions": {"shmMB": 64},
        }
    }
    assert found["extras"] == {
        "hivedScheduler": {"jobPriorityClass": "test", "taskRoles": {"worker": {"skuNum": 1, "skuType": "V100"}}},
        "storages": [{"name": "home", "mountPath": "/home"}, {"name": "old", "mountPath": "/old"}],
        "gangAllocation": False,
    }
    assert "name: y" in ask("new_job", files, template="two", name="y", image="c/d:2")["text"]
    assert ask("new_job", files, template="odd", name="y")["text"] == "type: job\nname: y\n"
    for template, arguments, message in (
        ("one", {"command": "x"}, "this template has commands of its own: leave out command, change its text"),
        ("two", {"gpu": 1, "command": "x"}, "this template has 2 task roles: leave out command, gpu, change its text"),
        ("odd", {"image": "a"}, "the task roles of this template have no image in common"),
    ):
        assert refusal("new_job", files, template=template, **arguments).startswith(message)


def test_the_templates() -> None:
    names = [one["name"] for one in ask("new_job")["templates"]]
    assert names == [name for name, _, _ in JOBS]
    assert refusal("new_job", template="jobb").endswith("did you mean 'job'?")
    assert "'template' is missing" in refusal("new_job", name="x")
    files = allowed(ROOT / "examples")
    assert len(ask("new_job", files)["templates"]) >= len(names)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("chek", {}, f"no tool is named 'chek' ({', '.join(tools())}); did you mean 'check'?"),
        ("check", {"txt": "x"}, "no argument is named 'txt'"),
        ("check", {"text": ["hunter2"]}, "the argument 'text' must be a string"),
        ("check", {"text": JOB, "full": "yes"}, "the argument 'full' must be true or false"),
        ("check", {"text": JOB, "severity": "bad"}, "'severity' must be one of error, warning, information, hint"),
        ("check", {"text": JOB, "platform": "k8s"}, "no platform is named 'k8s'"),
        ("check", {}, "give 'text', the text of a job, or 'path', its file"),
        ("complete", {"text": JOB}, "the argument 'line' is missing"),
        ("complete", {"text": JOB, "line": 0}, "the argument 'line' must be at least 1"),
        ("complete", {"text": JOB, "line": True}, "the argument 'line' must be an integer"),
        ("new_job", {"template": "job", "setup": [1]}, "the argument 'setup' must be a list, each with a string"),
        ("new_job", {"template": "job", "storages": {"a": 1}}, "must be an object, each with a string"),
        ("why", {"text": "x", "job": JOB, "role": "nobody"}, "no task role is named 'nobody'"),
    ],
)
def test_wrong_arguments(tool: str, arguments: dict[str, Any], message: str) -> None:
    found = refusal(tool, **arguments)
    assert message in found
    assert "hunter2" not in found


def test_files_below_the_folders_alone(tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "outside.pai.yaml").write_text(JOB, encoding="utf-8")
    (folder / "sub" / "a.pai.yaml").write_text(TYPO, encoding="utf-8")
    (folder / "link.pai.yaml").symlink_to(tmp_path / "outside.pai.yaml")
    (folder / "up").symlink_to(tmp_path)
    (folder / "notes.txt").write_text("x: 1\n", encoding="utf-8")
    (folder / "other.yaml").write_text("token: x\n", encoding="utf-8")
    os.mkfifo(folder / "pipe.yaml")
    files = allowed(folder)
    for path in ("sub/a.pai.yaml", str(folder / "sub" / "a.pai.yaml"), "sub/../sub/a.pai.yaml"):
        assert ask("check", files, path=path)["errors"] == 4
    for path in ("../outside.pai.yaml", "link.pai.yaml", "up/outside.pai.yaml", str(tmp_path / "outside.pai.yaml"),
                 "/etc/passwd", "../jobs2/a.pai.yaml"):  # fmt: skip
        assert " is not below " in refusal("check", files, path=path)
        assert " is not below " in refusal("why", files, path=path)
        assert " is not below " in refusal("why", files, text="x", job_path=path)
        assert " is not below " in refusal("check", files, text=JOB, path=path)
    assert "must end with .yaml" in refusal("check", files, path="notes.txt")
    assert "is not a file" in refusal("check", files, path="pipe.yaml")
    assert "is not a file" in refusal("check", files, path="none.yaml")
    assert "cannot be the path" in refusal("check", files, path="a\0.yaml")
    assert "'other.yaml' is not a job" in refusal("fix", files, path="other.yaml", full=True)
    assert "names no folder" in refusal("check", path="sub/a.pai.yaml")


@pytest.mark.slow
def test_long_files_and_long_lines_give_short_answers(tmp_path: Path) -> None:
    (tmp_path / "task.log").write_bytes(b"\xff epoch\n" * 3_000_000 + b"bash: line 3: pythn: command not found\n")
    assert "pythn" in ask("why", allowed(tmp_path), path="task.log", exit_code=127)["text"]
    keys = ", ".join(f"mintFailedInstances{number}: 1" for number in range(1_000))
    line = JOB.replace("    instances: 1\n", f"    instances: '1'\n    completion: {{minFailedInstance: 1, {keys}}}\n")
    assert len(json.dumps(ask("check", text=line, full=True))) < 200_000


def test_a_configuration_applies_and_definitions_of_other_folders_are_not_read(tmp_path: Path) -> None:
    folder, outside = tmp_path / "jobs", tmp_path / "outside"
    for one in (folder, outside):
        one.mkdir()
    (outside / "a.yaml").write_text("- {name: far, type: script, plugin: cmd, callbacks: "
                                    "[{event: taskStarts, commands: [echo far]}]}\n", encoding="utf-8")  # fmt: skip
    (folder / ".pai-lsp.yaml").write_text(
        "rules: {image-latest-tag: error}\nmarketplace: {sources: [{directory: ../outside}]}\n", encoding="utf-8"
    )
    text = JOB.replace("20.04", "latest").replace(
        "    dockerImage", '    prerequisites: ["marketplace://name/far"]\n    dockerImage'
    )
    (folder / "a.pai.yaml").write_text(text, encoding="utf-8")
    found = ask("check", allowed(folder), path="a.pai.yaml")
    assert "image-latest-tag" in [one["rule"] for one in found["findings"]]
    assert "echo far" not in ask("what_runs", allowed(folder), path="a.pai.yaml")["text"]
    assert "echo far" in ask("what_runs", allowed(tmp_path), path="jobs/a.pai.yaml")["text"]
    (folder / ".pai-lsp.yaml").write_text("rules: {no-such: error}\nplatform: nowhere\n", encoding="utf-8")
    assert "'no-such'" in refusal("check", allowed(folder), path="a.pai.yaml")


def test_the_roots_of_a_client(tmp_path: Path) -> None:
    folder, other = tmp_path / "with blank", tmp_path / "50%20"
    for one in (folder, other):
        one.mkdir()
    uris = (folder.as_uri(), "https://example.com/x", "file://elsewhere/share", (tmp_path / "none").as_uri())
    assert folders_of((*uris, f"https://localhost{other}")) == (os.path.realpath(folder),)
    assert folders_of([other.as_uri().replace("file://", "file://localhost")]) == (os.path.realpath(other),)


def questions(text: str) -> list[tuple[str, dict[str, Any]]]:
    """What each tool is asked about a job."""
    lines = text.split("\n")
    places = [{"line": number + 1} for number in range(0, len(lines), 7)]
    return [
        ("check", {"severity": "hint", "full": True}),
        ("fix", {"full": True}),
        ("fix", {"unsafe": True, "full": True}),
        ("expand", {"full": True}),
        ("expand", {"inline": True, "full": True}),
        ("what_runs", {"full": True}),
        ("what_runs", {"role": "nobody"}),
        ("fit", {"cluster": "lab"}),
        *(("complete", {**place, "full": True}) for place in places),
    ]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("name", HIDDEN)
def test_no_answer_shows_a_secret(name: str, tmp_path: Path) -> None:
    text = HIDDEN[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    files = allowed(tmp_path)
    said = []
    for tool, more in questions(text):
        for given in ({"text": text}, {"path": name}):
            try:
                said.append(json.dumps(answer(tool, {**given, **more}, files)))
            except AnswerError as error:
                said.append(str(error))
    log = "\n".join(text.split("\n"))
    said.append(json.dumps(answer("why", {"text": log, "job_path": name}, files)))
    shown = [re.findall(r".{0,40}zq.{0,20}", one, re.IGNORECASE) for one in said]
    assert [one for one in shown if one] == []


DEEP = "[" * 5_000
HOSTILE = {
    "brackets": DEEP,
    "braces in a job": JOB.replace("echo hi", "{" * 5_000),
    "aliases": "a: &a [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1 or ''}, *a{n - 1 or ''}]\n" for n in range(1, 40)),
    "quotes": JOB.replace("echo hi", '"' * 20_001),
    "one long line": JOB.replace("echo hi", "echo " + "$(" * 5_000),
    "control characters": JOB.replace("echo hi", "\x00\x1b[31m\u202e"),
    "colons": ":\n" * 20_000,
    "odd blanks": "\u00a0\u200b\ufeff" * 5_000,
    "templates": JOB.replace("echo hi", "<% $parameters.a %>" * 2_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_answered(name: str) -> None:
    for tool in ("check", "fix", "expand", "what_runs"):
        ask(tool, text=HOSTILE[name])
    ask("complete", text=HOSTILE[name], line=1)
    ask("why", text=HOSTILE[name])


def test_the_descriptions_name_arguments_and_fields_that_exist() -> None:
    read = table("assistant_tools.json")
    shared = {
        value for tool in read["tools"].values() for value in tool["arguments"].values() if isinstance(value, str)
    }
    assert shared == set(read["shared"])
    for name, tool in tools().items():
        assert set(read["tools"][name]["always"]) <= set(tool["output"]["properties"])
        jsonschema.Draft202012Validator.check_schema(tool["input"])
        jsonschema.Draft202012Validator.check_schema(tool["output"])
        known = {*tool["input"]["properties"], *tool["output"]["properties"], *tools(), "line"}
        words = [tool["description"], *(one["description"] for one in tool["input"]["properties"].values())]
        words += [one["description"] for one in tool["output"]["properties"].values()]
        assert {word for text in words for word in re.findall(r"`(\w+)`", text)} <= known, name
        assert len(tool["description"]) < 400


@pytest.mark.usefixtures("lab")
def test_every_field_that_is_promised_comes() -> None:
    refused, never = (
        JOB.replace("gpu: 0", "gpu: 99"),
        WAITS[0][3],
    )
    asked: dict[str, list[dict[str, Any]]] = {
        "check": [{"text": TYPO}],
        "fix": [{"text": TYPO.replace("minst", "qqqqqq"), "full": True}],
        "expand": [{"text": JOB}],
        "what_runs": [{"text": JOB}],
        "explain": [{"name": "137"}],
        "complete": [{"text": JOB, "line": 1}],
        "fit": [{"text": text, "cluster": "lab"} for text in (JOB.replace("gpu: 0", "gpu: 1"), refused, never)],
        "why": [{"text": "137"}],
        "new_job": [{}, {"template": "job"}],
    }
    for tool, calls in asked.items():
        came = {name for arguments in calls for name in ask(tool, **arguments)}
        assert came == set(tools()[tool]["output"]["properties"]), tool
        parts = {name for arguments in calls for one in ask(tool, **arguments).get("findings", ()) for name in one}
        if tool == "check":
            assert parts == set(tools()[tool]["output"]["properties"]["findings"]["items"]["properties"])


@pytest.mark.usefixtures("lab")
def test_the_resources() -> None:
    assert "pai-lsp://cluster" not in resources(NO_FILES)
    files = AllowedFiles(cluster="lab")
    texts = {uri: resource_text(uri, files)[0] for uri in resources(files)}
    assert json.loads(texts["pai-lsp://cluster"])["name"] == "lab"
    assert json.loads(texts["pai-lsp://schema"])["properties"]["taskRoles"]
    assert texts["pai-lsp://protocol"].startswith("# The extended protocol")
    assert len(texts["pai-lsp://rules"].splitlines()) == len(RULES)
    assert resource_text("pai-lsp://rules/unknown-key", files)[0].startswith("# unknown-key")
    for uri in ("pai-lsp://rules/x", "file:///etc/passwd", "pai-lsp://clusters"):
        with pytest.raises(AnswerError):
            resource_text(uri, files)


def test_the_summary_is_right_and_fits_a_screen() -> None:
    summary = resource_text("pai-lsp://summary", NO_FILES)[0]
    job = summary.partition("```yaml\n")[2].partition("```")[0]
    assert ask("check", text=job, severity="hint")["findings"] == []
    assert len(summary.splitlines()) <= 60
    assert len(summary) < 2_600  # 680 tokens, as the page says
    tasks = {"TASK_COUNT_ROLE": "TASK_COUNT_worker", "IP_ROLE_N": "IP_worker_0", "LIST_ROLE_N": "LIST_worker_0"}
    summary = re.sub("|".join(tasks), lambda part: tasks[part[0]], summary)
    names = set(re.findall(r"PAI_\w+", summary))
    assert all(ask("explain", name=name)["kind"] == "variable" for name in names)


def test_the_end_of_a_log_has_as_many_bytes_as_are_asked(tmp_path: Path) -> None:
    (tmp_path / "task.log").write_bytes(b"abcdef")
    assert [allowed(tmp_path).end_of("task.log", most) for most in (1, 3, 6, 7)] == ["f", "def", "abcdef", "abcdef"]


def test_what_keeps_a_job_from_being_expanded_comes_without_fixes() -> None:
    found = ask("expand", text=TYPO)
    assert found["errors"]
    assert not [one for one in found["errors"] if "fix" in one]


ANSWERS = Path(__file__).parent / "everywhere" / "tools.txt"
BROKEN = (Path(__file__).parent / "everywhere" / "broken.pai.yaml").read_text(encoding="utf-8")
EXTENDED = (Path(__file__).parent / "everywhere" / "extended.pai.yaml").read_text(encoding="utf-8")
# What is asked, with the names of jobs instead of their texts.
TEXTS = {"typo": TYPO, "good": GOOD, "broken": BROKEN, "extended": EXTENDED, "other": "a: 1\n"}
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("check", {"text": name}) for name in TEXTS),
    ("check", {"text": "broken", "full": True, "severity": "hint"}),
    ("check", {"text": "extended", "severity": "error"}),
    *(("fix", {"text": name}) for name in TEXTS),
    ("fix", {"text": "broken", "unsafe": True, "full": True}),
    ("fix", {"text": "other", "full": True}),
    *(("expand", {"text": name}) for name in TEXTS),
    *(("what_runs", {"text": name}) for name in TEXTS),
    ("what_runs", {"text": "good", "role": "nobody"}),
    *(
        ("explain", {"name": name})
        for name in ("137", "taskFails", "git", "$PAI_JOB_NAME", "memoryMB", "unused-ignore")
    ),
    *(("explain", {"name": name}) for name in ("taskRoles.NAME.commands", "taskRoles.NAME", "prerequisites.0.uri")),
    *(
        ("explain", {"name": name})
        for name in ("memoryMb", "name", "platform", "", "com.microsoft.pai.runtimeplugin.ssh")
    ),
    *(("complete", {"text": "good", "line": line}) for line in (1, 8, 12, 500)),
    *(("complete", {"text": "good", "line": 8, "column": column}) for column in (1, 5, 500)),
    ("fit", {"text": "good"}),
    *(("why", {"text": text}) for text in ("137", "", "CUDA out of memory", "nothing that is known")),
    *(("why", {"exit_code": code}) for code in (0, 1, 137, 255, 300, -1)),
    ("why", {"text": "bash: line 2: pyton: command not found", "exit_code": 127, "job": "good"}),
    ("why", {"exit_code": 127, "job": "good", "role": "nobody"}),
    *(("new_job", {"template": name, "gpu": gpu}) for name, _, _ in JOBS for gpu in (0, 1, 2)),
    *(("new_job", {"template": name, "instances": count}) for name, _, _ in JOBS for count in (1, 2, 3)),
    *(("new_job", {"template": name, "taskRetryCount": count}) for name, _, _ in JOBS for count in (0, 1)),
    *(
        ("new_job", {"template": "pytorch job", "command": command})
        for command in ("python3 a.py --x 1", "python -m a", "a.py", "./run", "-m a", "python -c 'x'", "bash a.py b")
    ),
    ("new_job", {"template": "job", "command": "./run", "setup": ["a", "b"], "name": "x", "image": "ubuntu"}),
    (
        "new_job",
        {"template": "job", "virtualCluster": "vc", "jobRetryCount": 2, "shmMB": 64, "cpu": 1, "memoryMB": 512},
    ),
    ("new_job", {"template": "job", "ports": {"web": 1}, "storages": {"data": "/mnt"}, "parameters": {"lr": 0.1}}),
    ("new_job", {"template": "job", "skuType": "K80", "priority": "prod"}),
    ("new_job", {"template": "distributed job", "command": "./a", "parameters": {"lr": 0.1}, "priority": "prod"}),
    ("new_job", {"template": "no such"}),
)


def answered(tool: str, given: dict[str, Any]) -> str:
    arguments = {key: TEXTS.get(one, one) if key in {"text", "job"} else one for key, one in given.items()}
    try:
        found = json.dumps(answer(tool, arguments, NO_FILES), ensure_ascii=False)
    except AnswerError as error:
        found = str(error)
    return f"{tool} {json.dumps(given)}: {found}"


@pytest.mark.parametrize("tool", tools())
def test_the_answers_are_those_that_are_recorded(tool: str) -> None:
    recorded = [line for line in ANSWERS.read_text(encoding="utf-8").splitlines() if line.partition(" ")[0] == tool]
    assert [answered(asked, given) for asked, given in ASKED if asked == tool] == recorded


if __name__ == "__main__":  # writes the answers anew, to be read before they are kept
    ANSWERS.write_text("".join(f"{answered(*asked)}\n" for asked in ASKED), encoding="utf-8")
