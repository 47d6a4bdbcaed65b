"""Hover, definition, references, highlights and rename: every name, in every place."""

# ruff: noqa: E501 - a table reads best in long lines

from __future__ import annotations

import pytest
from budgets import some
from marks import read_cursor

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.ide.hover import hover
from pai_lsp.ide.navigation import RenameRefused, definitions, highlights, prepare, references, rename
from pai_lsp.platform.programs import nccl_variables, program
from pai_lsp.platform.tables import table
from pai_lsp.source.text import Span, apply_edits

JOB = """\
# 语😀
protocolVersion: 2
name: train
type: job
prerequisites:
  - type: dockerimage
    name: image
    uri: openpai/standard:python_3.6
  - type: script
    name: prepare
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskStarts
        commands: ["echo <% $parameters.rate %>"]
  - type: data
    name: dataset
    require: [prepare]
    uri: [https://example.com/a.zip]
parameters:
  rate: "0.1"
secrets:
  token: very-secret
taskRoles:
  master:
    instances: 1
    dockerImage: image
    data: dataset
    prerequisites: [prepare, dataset]
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2, ports: {sync: 1}}
    commands:
      - echo "语😀 <% $parameters.rate %> <% $data.uri[0] %> <% $secrets.token %>"
      - mpirun -H master-0:1,worker-1:1 hostname
      - echo $PAI_HOST_IP_worker_0 $PAI_PORT_LIST_master_0_sync $PAI_TASK_ROLE_TASK_COUNT_worker
      - exit 137
  worker:
    instances: 3
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0}
    commands: [&wait sleep infinity, *wait]
deployments:
  - name: prod
    taskRoles: {worker: {preCommands: [echo before]}}
defaults:
  deployment: prod
extras:
  com.microsoft.pai.runtimeplugin:
    - {plugin: ssh, taskroles: [master, worker], parameters: {jobssh: true}}
"""


def at(word: str, number: int = 1, text: str = JOB) -> int:
    """The offset inside the `number`th occurrence of a word."""
    offset = -1
    for _ in range(number):
        offset = text.index(word, offset + 1)
    return offset + 1


def words(document: Document, spans: list[Span]) -> list[tuple[int, str]]:
    """Lines (from 1) and texts of places."""
    return [(document.lines.line_of(span.start) + 1, document.text[span.start : span.end]) for span in spans]


@pytest.mark.parametrize(
    ("word", "number", "places"),
    [
        ("prepare", 2, [(10, "prepare"), (17, "prepare"), (28, "prepare")]),
        ("rate", 2, [(14, "rate"), (20, "rate"), (31, "rate")]),
        ("token", 2, [(22, "token"), (31, "token")]),
        (
            "worker", 2,
            [(32, "worker"), (33, "worker"), (33, "worker"), (35, "worker"), (42, "worker"), (47, "worker")],
        ),
        ("sync", 2, [(29, "sync"), (33, "sync")]),
        ("prod", 2, [(41, "prod"), (44, "prod")]),
        ("wait", 2, [(39, "wait"), (39, "wait")]),
        ("image", 4, [(7, "image"), (26, "image"), (37, "image")]),
    ],
)  # fmt: skip
def test_references_are_all_places(word: str, number: int, places: list[tuple[int, str]]) -> None:
    document = Document(JOB)
    offset = at(word, number)
    assert words(document, references(document, offset)) == places
    assert sorted(occurrence.span for occurrence in highlights(document, offset)) == references(document, offset)


@pytest.mark.parametrize(
    ("word", "number", "line"),
    [
        ("prepare", 3, 10),
        ("$parameters.rate %> <", 1, 20),
        ("worker-1", 1, 35),
        ("sync $PAI", 1, 29),
        ("deployment: prod", 1, None),
        ("uri[0]", 1, 18),
        ("$data", 1, 16),
        ("*wait", 1, 39),
    ],
)
def test_definition(word: str, number: int, line: int | None) -> None:
    document = Document(JOB)
    offset = at(word, number) + ("rate" in word) * len("$parameters.")
    found = definitions(document, offset)
    assert [document.lines.line_of(target.span.start) + 1 for target in found] == ([] if line is None else [line])


@pytest.mark.parametrize(
    ("word", "number", "parts"),
    [
        ("dockerImage", 1, ["required"]),
        ("prepare", 3, ["script", "taskStarts", "echo <% $parameters.rate %>", "used 2 times"]),
        ("$parameters.rate %> <", 1, ["0.1"]),
        ("$data.uri", 1, ["https://example.com/a.zip"]),
        ("$secrets", 1, ["never shown"]),
        ("taskStarts", 1, ["Before the user's commands"]),
        ("PAI_TASK_ROLE_TASK_COUNT_worker", 1, ["`3`"]),
        ("worker", 3, ["TASK_COUNT", "`3`"]),
        ("master:", 1, ["1 task", "2 GPU, 4 CPU, 8 GiB"]),
        ("137", 1, ["exit 137", "ContainerSigKillReceived"]),
        ("memoryMB", 1, ["integer", "required"]),
        ("ssh", 1, ["jobssh"]),
        ("taskRoles", 1, ["`worker`: 3 tasks", "```yaml\ntaskRoles:\n  worker:\n    instances: 1\n"]),
        ("name: ", 1, ["For example `mnist_training`."]),
    ],
)
def test_hover(word: str, number: int, parts: list[str]) -> None:
    found = hover(Document(JOB), at(word, number))
    assert found is not None
    assert [part for part in parts if part not in found.markdown] == []
    assert JOB[found.span.start : found.span.end] != ""


def test_no_hover_shows_a_secret() -> None:
    document = Document(JOB)
    for offset in range(len(JOB)):
        found = hover(document, offset)
        # The cursor may be on the value itself; the answer must not repeat it.
        assert found is None or "very-secret" not in found.markdown


RENAMES = [
    ("prepare", 2, "set-up", {10: "    name: set-up", 17: "    require: [set-up]", 28: "    prerequisites: [set-up, dataset]"}),
    ("rate", 2, "learningRate", {20: '  learningRate: "0.1"', 14: '        commands: ["echo <% $parameters.learningRate %>"]'}),
    ("worker", 2, "node", {
        32: "      - mpirun -H master-0:1,node-1:1 hostname",
        33: "      - echo $PAI_HOST_IP_node_0 $PAI_PORT_LIST_master_0_sync $PAI_TASK_ROLE_TASK_COUNT_node",
        35: "  node:", 42: "    taskRoles: {node: {preCommands: [echo before]}}",
        47: "    - {plugin: ssh, taskroles: [master, node], parameters: {jobssh: true}}"}),
    ("sync", 1, "rpc", {33: "      - echo $PAI_HOST_IP_worker_0 $PAI_PORT_LIST_master_0_rpc $PAI_TASK_ROLE_TASK_COUNT_worker"}),
    ("wait", 1, "idle", {39: "    commands: [&idle sleep infinity, *idle]"}),
    ("prod", 1, "yes", {41: "  - name: 'yes'", 44: "  deployment: 'yes'"}),
]  # fmt: skip


@pytest.mark.parametrize(("word", "number", "new_name", "lines"), RENAMES, ids=[row[0] for row in RENAMES])
def test_rename_changes_every_place(word: str, number: int, new_name: str, lines: dict[int, str]) -> None:
    document = Document(JOB)
    after = apply_edits(JOB, rename(document, at(word, number), new_name))
    changed = {
        n: new for n, (old, new) in enumerate(zip(JOB.split("\n"), after.split("\n"), strict=True), 1) if old != new
    }
    assert {n: changed.get(n) for n in lines} == lines
    assert {(d.code, d.message) for d in Document(after).diagnostics if d.severity == 1} <= {
        (d.code, d.message) for d in document.diagnostics
    }


@pytest.mark.parametrize(
    ("word", "number", "new_name", "reason"),
    [
        ("worker", 2, "Worker", "use only lower-case letters and digits"),
        ("worker", 2, "master", "there is already a task role 'master'"),
        ("prepare", 1, "dataset", "there is already a prerequisite 'dataset'"),
        ("prepare", 1, "two words", "only letters, digits, '_' and '-'"),
        ("rate", 2, "a.b", "a word without spaces, dots"),
        ("token", 1, "two\nlines", "a word without spaces, dots"),
        ("sync", 1, "ssh", "every task already has a port 'ssh'"),
        ("sync", 1, "__proto__", "the port label '__proto__' is lost"),
        ("wait", 1, "a.b", "an anchor or alias can only have"),
        ("wait", 1, "two\nlines", "a word without spaces"),
        ("protocolVersion", 1, "x", "only names that a job defines can be renamed"),
    ],
)
def test_a_rename_that_would_break_the_job_is_refused(word: str, number: int, new_name: str, reason: str) -> None:
    with pytest.raises(RenameRefused, match=reason):
        rename(Document(JOB), at(word, number), new_name)


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "A_b",
        "a-b",
        "a.b",
        "日本",
        "12",
        "0x1f",
        "on",
        "null",
        "=",
        "~",
        "-",
        "__proto__",
        "constructor",
        "a\\b",
        "x" * 64,
    ],
)
def test_no_rename_makes_an_error(name: str) -> None:
    document = Document(JOB)
    known = {one.code for one in document.diagnostics if one.severity is Severity.ERROR}
    for one in some([one for one in document.occurrences if one.is_definition], len(name)):
        try:
            edits = rename(document, one.span.start, name)
        except RenameRefused:
            continue
        found = Document(apply_edits(JOB, edits)).diagnostics
        assert {one.code for one in found if one.severity is Severity.ERROR} <= known


def test_a_name_that_nothing_defines_is_not_renamed() -> None:
    text, offset = read_cursor(JOB.replace("data: dataset", "data: no$0where"))
    with pytest.raises(RenameRefused, match="this file does not define 'nowhere'"):
        prepare(Document(text), offset)


def test_names_are_found_in_text_with_a_fault_elsewhere() -> None:
    broken = JOB.replace("parameters:\n", "para [\nparameters:\n")
    document = Document(broken)
    assert len(references(document, at("worker", 2, broken))) == 6


def test_this_leads_to_the_key_that_expansion_takes() -> None:
    text = (
        "prerequisites:\n"
        "  - {name: base, folder: {path: /x}}\n"
        "  - name: two\n    plugin: cmd\n    require: [base]\n    folder:\n    path: /wrong\n"
        "    callbacks: [{event: taskStarts, commands: [ls <% this.folder.path %>]}]\n"
    )
    (target,) = definitions(Document(text), text.index("folder.path"))
    assert text[target.whole.start : target.whole.end] == "path: /x"


COMMANDS = """\
taskRoles:
  worker:
    commands:
      - cd /work && torchrun --nnodes=2 --nproc-per-node gpu train.py --nnodes 3
      - export NCCL_DEBUG=INFO; mpirun --hostfile hosts -np 2 ./a.out -np
      - |-
        ls -la
        pip -q install "--no-cache-dir" numpy
"""


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("--nno$0des=2", "The number of nodes"),
        ("--nproc$0-per-node", "`--nproc_per_node`"),
        ("NCCL_$0DEBUG", "read by NCCL"),
        ("--host$0file", "option of Open MPI"),
        ("-n$0p 2", "The number of processes on all hosts"),
        ("--no-$0cache-dir", "Keeps no downloads"),
        ("--nno$0des 3", ""),
        (" -n$0p\n", ""),
        ("-l$0a", ""),
        ("tor$0chrun", ""),
    ],
)
def test_hover_on_a_word_of_a_command(words: str, shown: str) -> None:
    plain = words.replace("$0", "")
    assert plain in COMMANDS
    found = hover(Document(COMMANDS), COMMANDS.index(plain) + words.index("$0"))
    assert (found is not None) is bool(shown)
    assert found is None or shown in found.markdown


def test_every_explained_option_is_in_the_table() -> None:
    explained = table("program_help.json")
    for name, options in explained["programs"].items():
        known = program(name)
        assert known is not None
        assert set(options) <= {names[0] for names, _ in known.options.values()}, name
    assert set(explained["nccl"]) <= nccl_variables()
