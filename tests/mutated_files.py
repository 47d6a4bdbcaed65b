"""Every kind of file and answer that somebody else writes, mutated, and every command and the server that read it.

A `World` is a project, a home folder, and a server on this machine that is a cluster, a marketplace and a registry at
once. `faults` puts one mutated file into it and runs the commands that read this kind of file. The same seed gives the
same file.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import random
import shutil
import signal
import sys
import threading
import traceback
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import yaml
from job_mutations import bases, mutated
from loopback import answering, item, marketplace
from random_edits import random_edit
from server_client import CAPABILITIES, Client
from test_catalog_lock import MNIST
from test_cluster_import import HIVED, SERVICES
from test_cluster_pull import ANSWERS
from test_failure_logs import LOGS as LONG_LOGS
from test_foreign_files import CONFIGURATION, DEFINITIONS
from test_foreign_values import FULL, OLDER, OLDEST, OTHER, STORING
from test_images_asked import CONFIGURATION as IMAGE
from test_images_asked import INDEX, MANIFEST
from test_why import EVENTS, LOGS
from test_why import JOB as FAILING

from benchmarks.hostile import profile
from pai_lsp.cli.main import main
from pai_lsp.source.failures import PLEASE_REPORT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from loopback import Marketplace, Request

# CPU seconds. A file of this size takes milliseconds; what takes longer would be felt.
SLOW = 2.0
HANGS = 20.0
# Of so many files that the server reads, one is shown to it: that takes longer than all commands.
_IN_EDITOR = 8

JOB, USES, MANIFEST_FILE, DEFINITION = "job.pai.yaml", "uses.pai.yaml", "manifest.yaml", "marketplace/one.yaml"
OLD_JOB = json.dumps(
    {
        "jobName": "old", "image": "a/b:1", "virtualCluster": "default", "retryCount": 1, "jobEnvs": {"isDebug": True},
        "taskRoles": [
            {
                "name": "worker", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 1024, "gpuNumber": 0, "shmMB": 64,
                "portList": [{"label": "web", "beginAt": 0, "portNumber": 1}], "command": "echo $PAI_X",
            }
        ],
    },
    indent=1,
)  # fmt: skip
USING = """\
protocolVersion: 2
name: uses
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "HERE/team/image:v1"}
  - {type: script, name: own, require: ["marketplace://name/one", "marketplace://name/mnist"]}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [own]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [python train.py]
"""
LOCK = {
    "version": 1,
    "definitions": {
        MNIST: [
            {"name": "mnist", "source": "http://a/b", "sha256": "0", "definition": {"name": "mnist", "type": "data"}}
        ],
        "marketplace://name/one": [{"name": "one", "source": DEFINITION, "sha256": "0" * 64}],
    },
}
CLUSTERS = "lab: {url: 'http://HERE', user: ann, token_env: PAI_TOKEN, platform: openpai}\n"
ALL_OF_CLUSTERS = """\
lab:
  {url: 'http://HERE', user: ann, token_command: [print-token, lab], platform: ltp,
   portal: 'http://HERE', allow_http: true}
far: {url: 'https://127.0.0.1:9', token_keyring: true, ca_file: ~/ca.pem}
"""
PODS = tuple(
    f"{before}{json.dumps(pod)}{after}"
    for before, after in (("PodFailed matched: ", "\nruntime: exitcode: 1\n"), ("matched:\n", ""))
    for pod in (
        {"name": "w-0", "reason": "Evicted", "message": "no disk", "containers": [{"name": "app", "code": 137}]},
        {
            "containers": [
                {"name": "init", "reason": "OOMKilled", "code": 1},
                {"name": "app", "reason": "Error", "code": 1},
            ]
        },
        {"containers": [{"name": "app", "reason": "ContainerCannotRun", "code": 127, "message": "no such file"}]},
    )
)
DOCKER = {
    "auths": {"http://HERE": {"auth": "YW5uOmdsdWU="}, "https://a": {"identitytoken": "x"}},
    "credHelpers": {"HERE": "c"},
}
COMMENTS = {
    "comments": [
        {"code": 2034, "level": "warning", "message": "unused", "line": 6, "endLine": 6, "column": 1, "endColumn": 3,
         "fix": {"replacements": [{"line": 6, "column": 1, "endLine": 6, "endColumn": 2, "replacement": "x"}]}},
    ]
}  # fmt: skip
ASKED = {name: value for name, value in ANSWERS.items() if "=" not in name}

# Where answers of the server and of programs are kept; the commands never see these names.
API, ITEMS, IMAGES, HELPER, CHECKER = "api.json", "items.json", "images.json", "helper.json", "checker.json"
ANSWERED = (API, ITEMS, IMAGES)
WORLD: dict[str, str] = {
    f"project/{JOB}": STORING,
    f"project/{USES}": USING,
    f"project/{MANIFEST_FILE}": FULL,
    f"project/{DEFINITION}": DEFINITIONS,
    "project/old.json": OLD_JOB,
    "project/lab.json": profile(),
    "project/.pai-lsp.lock": json.dumps(LOCK),
    "project/known.json": json.dumps({"version": 1, "files": {JOB: {"unknown-key": 2}, USES: {"unused-item": 1}}}),
    "project/.pai-lsp.yaml": "marketplace: {sources: [{directory: marketplace}, {url: 'http://HERE'}]}\n",
    "project/.gitignore": "*.tmp\n/build/\n!keep.yaml\n**/a/**/b\n[a-z]?.yaml\n\\#x\n",
    "project/end.log": LONG_LOGS[0][0],
    "project/services.yaml": SERVICES,
    "project/script.json": '{"id": 1, "script": "if true; then echo; fi"}\n',
    "home/.config/pai-lsp/clusters.yaml": CLUSTERS,
    "home/.config/pai-lsp/clusters/lab.json": profile(),
    "home/.docker/config.json": json.dumps(DOCKER),
    f"answers/{API}": json.dumps(ASKED),
    f"answers/{ITEMS}": json.dumps([item(1, "mnist"), item(2, "one", status="rejected")]),
    f"answers/{IMAGES}": json.dumps(
        {"index": INDEX, "manifest": MANIFEST, "image": IMAGE, "token": {"access_token": "t"}}
    ),
    f"answers/{HELPER}": json.dumps({"ServerURL": "r", "Username": "ann", "Secret": "glue"}),
    f"answers/{CHECKER}": json.dumps(COMMENTS),
}

RUN = ("run", "--container", "podman", "--all")
SUBMIT = ("submit", "--cluster", "lab", "--yes", "--force")
WHY = ("why", "--exit-code", "1", "--job")


class Turns(tuple[tuple[str, ...], ...]):
    """Ways to call one command, which the files take in turn: each of them runs one."""

    __slots__ = ()


def of_job(path: str, *conversions: tuple[str, ...]) -> tuple[tuple[str, ...] | Turns, ...]:
    """Every command on a job or a manifest; the one that changes the file is the last."""

    def turns(*ways: tuple[str, ...]) -> Turns:
        return Turns((*words, path) for words in ways)

    return (
        turns(
            ("check", "--severity", "hint"),
            ("check", "--format", "sarif", "--cluster", "lab"),
            ("check", "--diff"),
            ("check", "--baseline", "known.json", "--update-baseline"),
        ),
        turns(("expand", "--force"), ("expand", "--as-is")),
        turns(("graph",), ("graph", "--format", "dot")),
        ("fit", "--cluster", "lab", path),
        (*WHY, path, "end.log"),
        turns(("run", "--dry", "--format", "json"), RUN, ("run", "--container", "none")),
        (*SUBMIT, path),
        turns(("convert",), *conversions),
        ("check", "--fix", "--unsafe-fixes", path),
    )


@dataclass(frozen=True)
class Kind:
    """A kind of file: where it is, what is mutated, every command that reads it, and how often it is chosen.

    is_json: whether values are mutated, not only the text. in_editor: whether the server reads it.
    """

    path: str
    bases: tuple[str, ...]
    commands: tuple[tuple[str, ...] | Turns, ...]
    share: int = 2
    is_json: bool = False
    in_editor: bool = False
    forgets: tuple[str, ...] = ()


def _json(path: str, *commands: tuple[str, ...] | Turns, **more: Any) -> Kind:
    return Kind(path, (WORLD[path],), commands, is_json=True, **more)


KEPT_ANSWERS = ("home/.cache/pai-lsp/images",)
CHECKED = (("check", "--severity", "hint", USES),)
KINDS: dict[str, Kind] = {
    "job": Kind(f"project/{JOB}", (), of_job(JOB, ("convert", "--to", "mpijob")), 3, in_editor=True),
    "manifest": Kind(
        f"project/{MANIFEST_FILE}",
        (FULL, OLDER, OLDEST, OTHER),
        of_job(MANIFEST_FILE, ("convert", "--to", "pai"), ("convert", "--to", "v2beta1")),
        in_editor=True,
    ),
    "definitions": Kind(
        f"project/{DEFINITION}",
        (DEFINITIONS,),
        (
            *CHECKED,
            ("check", DEFINITION),
            ("graph", DEFINITION),
            ("expand", "--force", USES),
            (*RUN, USES),
            (*SUBMIT, USES),
            ("marketplace", "list"),
            ("marketplace", "show", "one"),
            ("marketplace", "lock"),
            ("check", "--fix", DEFINITION),
        ),
        in_editor=True,
    ),
    "old job": Kind(
        "project/old.json",
        (OLD_JOB,),
        (("convert", "old.json"), ("check", "old.json"), (*RUN, "old.json")),
        1,
        is_json=True,
    ),
    "profile": _json(
        "home/.config/pai-lsp/clusters/lab.json",
        ("fit", "--cluster", "lab", JOB),
        ("check", "--cluster", "lab", JOB, USES),
        (*SUBMIT, JOB),
        ("cluster", "list"),
        ("fit", "--cluster", "lab", "--format", "json", MANIFEST_FILE),
    ),
    "lock": _json(
        "project/.pai-lsp.lock",
        *CHECKED,
        ("expand", "--force", USES),
        ("marketplace", "lock", "--check"),
        (*RUN, USES),
        ("marketplace", "show", "mnist"),
        ("marketplace", "lock"),
        in_editor=True,
    ),
    "baseline": _json(
        "project/known.json",
        ("check", "--baseline", "known.json", JOB, USES),
        ("check", "--baseline", "known.json", "--update-baseline", JOB),
    ),
    "configuration": Kind(
        "project/.pai-lsp.yaml",
        (CONFIGURATION, "cluster: lab\nbaseline: known.json\nexclude: [x]\n" + WORLD["project/.pai-lsp.yaml"]),
        (
            Turns(((*CHECKED[0], JOB, ".pai-lsp.yaml"), ("check", "--only-jobs", "."))),
            ("fit", JOB),
            ("expand", USES),
            ("run", "--dry", JOB),
            ("marketplace", "list"),
            ("trust", "--list"),
            ("graph", USES),
        ),
        in_editor=True,
    ),
    "own configuration": Kind(
        "home/.config/pai-lsp/config.yaml", (CONFIGURATION,), (*CHECKED, ("marketplace", "list")), 1, in_editor=True
    ),
    "clusters": Kind(
        "home/.config/pai-lsp/clusters.yaml",
        (CLUSTERS, ALL_OF_CLUSTERS),
        ((*SUBMIT, JOB), ("cluster", "pull", "lab"), ("cluster", "list")),
        1,
    ),
    "log": Kind(
        "project/end.log",
        (*(str(log[0]) for log in (*LONG_LOGS, *LOGS, *EVENTS)), *PODS * 5),
        (
            ("why", "end.log"),
            ("why", "--job", JOB, "end.log"),
            ("why", "--platform-log", "end.log", "--exit-code", "1"),
            ("why", "--diagnostics", "end.log", "--format", "json", "end.log"),
        ),
        3,
    ),
    ".gitignore": Kind(
        "project/.gitignore",
        (WORLD["project/.gitignore"],),
        (Turns((("check", "--show-files", "."), ("check", "--only-jobs"))),),
        in_editor=True,
    ),
    "files of a cluster": Kind(
        "project/services.yaml",
        (SERVICES, HIVED),
        (
            ("cluster", "import", "services.yaml", "--name", "lab", "--group", "vision", "--output", "-"),
            ("check", "services.yaml"),
        ),
    ),
    "answers of a cluster": _json(f"answers/{API}", ("cluster", "pull", "lab"), (*SUBMIT, JOB)),
    "answers of a marketplace": _json(
        f"answers/{ITEMS}",
        ("marketplace", "refresh", "--trust"),
        *CHECKED,
        ("expand", "--force", USES),
        ("marketplace", "list"),
        ("marketplace", "show", "mnist"),
        forgets=("home/.cache",),
    ),
    "answers of a registry": _json(f"answers/{IMAGES}", ("check", "--images", USES), forgets=KEPT_ANSWERS),
    "accounts": _json("home/.docker/config.json", ("check", "--images", USES), share=1, forgets=KEPT_ANSWERS),
    "answers of a helper": _json(f"answers/{HELPER}", ("check", "--images", USES), share=1, forgets=KEPT_ANSWERS),
    "answers of ShellCheck": _json(f"answers/{CHECKER}", ("check", "--shellcheck", "shellcheck", JOB), share=1),
    "scripts": Kind("project/script.json", (WORLD["project/script.json"],), (("shell",),), 1, is_json=True),
    "kept files": Kind(
        "",
        (),
        (*CHECKED, ("marketplace", "list"), ("check", "--images", USES), ("trust", "--list"), (*RUN, USES), ("trust",)),
        2,
    ),
}
_CHOICES = [name for name, kind in KINDS.items() for _ in range(kind.share)]

_ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1e308,
    float("inf"),
    float("nan"),
    10**400,
    "",
    "x",
    "a b",
    "\x00",
    "\ud800",
    "é漢😀",
    "../..",
    "9" * 5_000,
    "-" * 300,
    "http://[bad",
    "http://127.0.0.1:99999999/",
    "\x1b[31m",
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"a": {"b": ["c"]}},
    [1, "a", {}, []],
    "sha256:" + "0" * 64,
    "<html>",
)


def _value_mutated(value: Any, source: random.Random) -> Any:
    """A JSON value with one place replaced, dropped, repeated or moved."""
    found: list[tuple[Any, Any]] = []

    def walk(one: Any) -> None:
        steps = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        for step, inner in list(steps):
            found.append((one, step))
            walk(inner)

    value = json.loads(json.dumps(value))
    walk(value)
    if not found or source.random() < 0.02:
        return source.choice(_ODD)
    holder, step = source.choice(found)
    kind = source.random()
    if kind < 0.7:
        holder[step] = source.choice(_ODD)
    elif kind < 0.8:
        del holder[step]
    elif kind < 0.9:
        other, at = source.choice(found)
        holder[step] = json.loads(json.dumps(other[at])) if not isinstance(other, list) or at < len(other) else None
    elif isinstance(holder, dict):
        holder[str(source.choice(_ODD))] = holder.pop(step)
    else:
        holder += [holder[step]] * source.choice((1, 2, 50))
    return value


def _json_mutated(text: str, source: random.Random) -> str:
    if source.random() < 0.2:
        return _text_mutated(text, source)
    value = json.loads(text)
    for _ in range(source.choice((1, 1, 1, 2, 3))):
        value = _value_mutated(value, source)
    written = json.dumps(value, ensure_ascii=source.random() < 0.5)
    if source.random() < 0.02:
        depth = source.choice((50, 1_000, 100_000))
        written = "[" * depth + written + "]" * depth
    return written


def _yaml_mutated(text: str, source: random.Random) -> str:
    """The text, or its values, which keeps the file readable; comments are lost then."""
    if source.random() < 0.3:
        with suppress(yaml.YAMLError, ValueError, TypeError):
            value = json.loads(json.dumps(yaml.safe_load(text)))
            for _ in range(source.choice((1, 1, 1, 2))):
                value = _value_mutated(value, source)
            return yaml.safe_dump(value, sort_keys=False, default_flow_style=source.random() < 0.2)
    return mutated(text, source)


def _text_mutated(text: str, source: random.Random) -> str:
    for _ in range(source.choice((1, 1, 2, 3, 8))):
        text = random_edit(text, source).applied(text)
    if source.random() < 0.05:
        start = source.randint(0, len(text))
        text = (
            text[:start]
            + source.choice(("9" * 5_000, "a" * 20_000, "**/" * 500, "\n" * 3_000, "[" * 2_000))
            + text[start:]
        )
    return text


def _log_mutated(text: str, source: random.Random) -> str:
    """A log; mostly the values of what is reported about a pod, where the log has that."""
    before, matched, pod = text.partition("matched:")
    start, end = pod.find("{"), pod.rfind("}") + 1
    if not matched or start < 0 or source.random() < 0.3:
        return _text_mutated(text, source)
    return f"{before}{matched}{pod[:start]}{_json_mutated(pod[start:end], source)}{pod[end:]}"


def _kept_files(home: Path) -> list[Path]:
    """What pai-lsp itself keeps for the user; others may have changed it."""
    folders = (home / ".cache", home / ".local")
    return sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())


def mutated_file(kind: Kind, text: str, source: random.Random) -> bytes:
    """The content of a file of this kind."""
    change = _json_mutated if kind.is_json else _yaml_mutated if kind.path.endswith(".yaml") else _log_mutated
    data = change(text, source).encode("utf-8", "surrogatepass")
    if source.random() < 0.02:
        at = source.randint(0, len(data))
        odd = (b"\xff", b"\x00", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\r")
        data = data[:at] + source.choice(odd) + data[at:]
    return data


class _HangsError(BaseException):
    """It takes too long; nothing of ours catches this."""


@dataclass
class World:
    """Everything that the commands read, below `folder`, and the server that they ask.

    wants_account: whether the registry gives the image only to the user's own account.
    """

    folder: Path
    server: Marketplace
    client: Client | None = None
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    answers: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    version: int = 1
    wants_account: bool = False

    def put(self, path: str, data: bytes) -> None:
        """Write a file, or change an answer of the server."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        if path.startswith("answers/"):
            self.answers[target.name] = data

    def reset(self, *, forgets: Sequence[str] = ()) -> None:
        """All files as they were."""
        for path in forgets:
            shutil.rmtree(self.folder / path, ignore_errors=True)
        for path, text in WORLD.items():
            data = text.replace("HERE", self.server.url.partition("//")[2]).encode()
            target = self.folder / path
            if not target.is_file() or target.read_bytes() != data:
                self.put(path, data)

    def react(self, request: Request) -> None:
        """The answers of a cluster, a marketplace and a registry."""
        path = request.path.partition("?")[0]
        if request.method == "POST" and path == "/api/v2/jobs":
            request.send(202, self.answers[API], Content_Type="application/json")
        elif path.startswith("/api/v2/"):
            self._send_part(request, API, path, is_missing=404)
        elif path.endswith("/items"):
            request.send(200, self.answers[ITEMS], Content_Type="application/json")
        elif path == "/token" and self.wants_account and "authorization" not in request.headers:
            request.send(401, b"")
        elif path == "/token":
            self._send_part(request, IMAGES, "token")
        elif not request.headers.get("authorization", "").startswith("Bearer"):
            challenge = f'Bearer realm="{self.server.url}/token",service="r",scope="repository:team/image:pull"'
            request.send(401, b"", Www_Authenticate=challenge)
        else:
            part = "image" if "/blobs/" in path else "manifest" if "sha256" in path else "index"
            self._send_part(request, IMAGES, part)

    def _send_part(self, request: Request, name: str, part: str, is_missing: int = 200) -> None:
        """One value of the answers, or all of them where they are no object."""
        data = self.answers[name]
        with suppress(ValueError, RecursionError):
            known = json.loads(data)
            if isinstance(known, dict):
                if part not in known:
                    request.send(is_missing, b"{}")
                    return
                data = json.dumps(known[part]).encode()
        request.send(200, data, Content_Type="application/json")

    def run(self, words: Sequence[str]) -> None:
        """Run a command; what is wrong with it is added to `faults`."""
        output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        began = process_time()
        try:
            given = self.folder / "project/script.json" if words == ("shell",) else os.devnull
            with redirect_stdout(output), redirect_stderr(output), open(given, encoding="utf-8") as sys.stdin:  # noqa: PTH123
                main(words)
            output.flush()
        except BaseException:  # noqa: BLE001 - whatever it is, it is what we look for
            self.faults.append(f"{' '.join(words)}\n{traceback.format_exc()}")
        printed = output.buffer.getvalue().decode("utf-8", "replace")
        if PLEASE_REPORT in printed:
            line = next(line for line in printed.splitlines() if PLEASE_REPORT in line)
            self.faults.append(f"{' '.join(words)}\n{line}")
        if (seconds := process_time() - began) > SLOW:
            self.faults.append(f"{' '.join(words)}\nCPU time: {seconds:.1f} s")

    def edit(self, kind: Kind, data: bytes) -> None:
        """Show the file to the server, and ask it what an editor asks."""
        self.loop.run_until_complete(self._edit(kind, data))

    async def _edit(self, kind: Kind, data: bytes) -> None:
        if self.client is None:
            self.client = Client()
            root = (self.folder / "project").as_uri()
            folders = [{"uri": root, "name": "project"}]
            await self.client.ask(
                "initialize", processId=None, rootUri=root, workspaceFolders=folders, capabilities=CAPABILITIES
            )
            self.client.send(self.client.notification("initialized"))
        client, self.version = self.client, self.version + 1
        path = self.folder / kind.path
        client.send(client.notification("workspace/didChangeWatchedFiles", changes=[{"uri": path.as_uri(), "type": 2}]))
        shown = path if kind.path.endswith(".yaml") and "project" in kind.path else self.folder / "project" / USES
        uri = shown.as_uri()
        text = data.decode("utf-8", "replace") if shown == path else shown.read_text(encoding="utf-8")
        client.open(text, uri=uri, version=self.version)
        place = {"line": self.version % (text.count("\n") + 1), "character": self.version % 23}
        methods = ("hover", "completion", "documentSymbol", "codeAction", "documentLink", "inlayHint", "definition")
        spans = {"start": {"line": 0, "character": 0}, "end": {"line": 10_000, "character": 0}}
        asked = [
            client.question(
                f"textDocument/{method}",
                textDocument={"uri": uri},
                position=place,
                range=spans,
                context={"diagnostics": [], "triggerKind": 1},
            )
            for method in methods
        ]
        client.send(*asked)
        for question in asked:
            answer = await client.answer(question)
            if "error" in answer:
                self.faults.append(f"{question['method']}: {answer['error']}")
        client.send(client.notification("textDocument/didClose", textDocument={"uri": uri}))
        await client.settle()
        client.received.clear()

    def close(self) -> None:
        """End the server."""
        if self.client is not None:
            self.loop.run_until_complete(self._end(self.client))
        self.loop.close()

    async def _end(self, client: Client) -> None:
        await client.ask("shutdown")
        client.send({"method": "exit"})
        await client.serving


class _Gatherer(logging.Handler):
    """What pai-lsp logs as an error: a rule that failed, or an answer in the server."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._faults = faults

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._faults.append(record.getMessage() + "".join(traceback.format_exception(error) if error else ()))


def environment(folder: Path) -> dict[str, str]:
    """Variables with which the commands see the world alone; its programs leave a file if they are started."""
    programs = folder / "bin"
    programs.mkdir()
    for name in ("podman", "git", "less", "bash", "dot"):
        _program(programs / name, f"touch {folder}/STARTED-{name}")
    _program(programs / "shellcheck", f"/bin/cat {folder}/answers/{CHECKER}; /bin/cat >/dev/null")
    _program(programs / "docker-credential-c", f"/bin/cat {folder}/answers/{HELPER}")
    home = str(folder / "home")
    return {"PATH": str(programs), "HOME": home, "PAI_TOKEN": "t0ken", "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8"}


def _program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def faults(first: int, count: int, folder: Path, only: str | None = None) -> tuple[dict[str, int], list[str]]:
    """Mutate `count` files from the seed `first` on: how many of each kind, and what of ours failed."""
    counts: dict[str, int] = {}
    found: list[str] = []
    before = dict(os.environ), Path.cwd(), sys.stdin
    os.environ.clear()
    os.environ.update(environment(folder))
    (folder / "project" / ".git").mkdir(parents=True)
    os.chdir(folder / "project")
    with marketplace(answering(404)) as server:
        world = World(folder, server)
        server.reaction = world.react
        gatherer = _Gatherer(world.faults)
        loggers = [logging.getLogger(name) for name in ("pai_lsp", "pygls", "asyncio")]
        hook = threading.excepthook
        threading.excepthook = lambda failed: world.faults.append(f"in a thread: {failed.exc_value!r}")
        for logger in loggers:
            logger.addHandler(gatherer)
            logger.propagate = False
        try:
            world.reset()
            for seed in range(first, first + count):
                name = _one(seed, world, only)
                counts[name] = counts.get(name, 0) + 1
                started = [path.name for path in folder.glob("STARTED-*")]
                world.faults += [f"a program was started: {one}" for one in started]
                if world.faults:
                    found += (f"seed {seed} ({name}): {one}\n" for one in world.faults)
                    world.faults.clear()
                    for path in started:
                        (folder / path).unlink()
        finally:
            world.close()
            threading.excepthook = hook
            for logger in loggers:
                logger.removeHandler(gatherer)
                logger.propagate = True
            os.environ.clear()
            os.environ.update(before[0])
            os.chdir(before[1])
    sys.stdin = before[2]
    return counts, found


def _one(seed: int, world: World, only: str | None) -> str:
    """Mutate the file of a seed, and run everything that reads it; returns the name of its kind."""
    source = random.Random(seed)  # noqa: S311 - nothing to keep secret
    name = only or source.choice(_CHOICES)
    kind = KINDS[name]
    path = kind.path
    if not path:
        kept = _kept_files(world.folder / "home")
        chosen = source.choice(kept) if kept else world.folder / "home" / ".cache" / "pai-lsp" / "nothing"
        path = str(chosen.relative_to(world.folder))
        text = chosen.read_text(encoding="utf-8", errors="replace") if kept else ""
        with suppress(ValueError, RecursionError):  # what is kept may be nested deeply
            text = _json_mutated(text, source) if source.random() < 0.7 and len(text) < 100_000 else text
        data = _text_mutated(text, source).encode("utf-8", "surrogatepass")
    else:
        chosen_from = kind.bases or bases()
        base = (
            source.choice(chosen_from) if name != "job" or source.random() < 0.9 else source.choice((STORING, FAILING))
        )
        text = base.replace("HERE", world.server.url.partition("//")[2])
        data = mutated_file(kind, text, source)
    world.put(path, data)
    world.wants_account = name in {"accounts", "answers of a helper"}
    with _limited():
        for command in kind.commands:
            words = command[seed % len(command)] if isinstance(command, Turns) else command
            world.run(words)
            if path.endswith(".lock") or "--fix" in words:
                world.put(path, data)
        if kind.in_editor and seed % _IN_EDITOR == 0:
            world.edit(kind, data)
    world.reset(forgets=kind.forgets)
    if name == "own configuration":
        (world.folder / path).unlink()
    return name


class _limited:  # noqa: N801 - used as a function
    """A guard against work that does not end, measured in CPU time."""

    def __enter__(self) -> None:
        self._former = signal.signal(signal.SIGPROF, _hangs)
        signal.setitimer(signal.ITIMER_PROF, HANGS)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, self._former)


def _hangs(_number: int, _frame: FrameType | None) -> None:
    raise _HangsError
