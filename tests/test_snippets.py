"""The pieces that completion inserts, applied as an editor does it: nothing is wrong with them in their job."""

from __future__ import annotations

import re

import pytest
from budgets import some
from marks import read_cursor

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Settings, Severity
from pai_lsp.ide.completion import snippet_texts
from pai_lsp.ide.completion.complete import complete
from pai_lsp.ide.completion.suggestion import Suggestion, SuggestionKind, plain_text
from pai_lsp.job.lookup import JobTemplate, NoLookup, SuggestedDefinition
from pai_lsp.platform.platforms import OPENPAI
from pai_lsp.source.text import Span, TextEdit, apply_edits

HEAD = "protocolVersion: 2\nname: train\ntype: job\n"
IMAGE = "  - {type: dockerimage, name: pytorch, uri: 'openpai/standard:python_3.6-pytorch_1.2.0-gpu'}\n"
IMAGE_KEYS = "    type: dockerimage\n    uri: openpai/standard:python_3.6-pytorch_1.2.0-gpu\n"
OTHER_IMAGE = IMAGE.replace("pytorch,", "'on',")
PREPARE = """\
  - name: prepare
    type: script
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskStarts
        commands: [echo hello]
"""
ROLE = """\
  node:
    instances: 1
    dockerImage: pytorch
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [python train.py]
"""
IMAGES = f"{HEAD}prerequisites:\n{IMAGE}"
JOB = f"{IMAGES}{PREPARE}taskRoles:\n{ROLE}"
PLUGINS = "extras:\n  com.microsoft.pai.runtimeplugin:\n"
SSH = f"{PLUGINS}    - plugin: ssh\n      parameters: {{jobssh: true, sshbarrier: true}}\n"
# What a project that expands its jobs before it submits them switches off.
EXPANDED = Settings(severities={"needs-expansion": None, "refused-until-expanded": None})

# Where a piece can be inserted in jobs that have nothing wrong but what the piece adds, and the pieces.
PLACES = {
    "an empty file": ("$0", ["job", "pytorch job", "distributed job"]),
    "a job with an image": (f"{IMAGES}taskRoles:\n  $0\n", ["task role", "master and worker (Horovod)"]),
    "a job with two images": (f"{IMAGES}{OTHER_IMAGE}taskRoles:\n  $0\n", ["task role", "master and worker (Horovod)"]),
    "a job without prerequisites": (f"{HEAD}taskRoles:\n  $0", ["task role", "master and worker (Horovod)"]),
    "a job without image": (f"{HEAD}prerequisites:\n{PREPARE}taskRoles:\n  $0\n", ["task role"]),
    "a job with prerequisites in brackets": (f"{HEAD}prerequisites: []\ntaskRoles:\n  $0\n", ["task role"]),
    "a job with a role": (f"{JOB}  $0\n", ["task role", "master and worker (Horovod)"]),
    "a job with a worker": (f"{JOB}{ROLE.replace('node', 'worker')}  $0\n", ["task role"]),
    "a job with ssh": (f"{IMAGES}{SSH}taskRoles:\n  $0\n", ["master and worker (Horovod)"]),
    "a job with another plugin": (
        f"{IMAGES}taskRoles:\n  $0\n{PLUGINS}    - plugin: cmd\n      parameters: {{callbacks: []}}\n",
        ["master and worker (Horovod)"],
    ),
    "a job with extras": (f"{IMAGES}taskRoles:\n  $0\nextras: {{a: 1}}\n", ["master and worker (Horovod)"]),
    "the task roles themselves": (f"{IMAGES}$0", ["taskRoles"]),
    "the first prerequisite": (f"{HEAD}prerequisites:\n  - $0\ntaskRoles:\n{ROLE}", ["docker image"]),
    "a prerequisite": (
        f"{IMAGES}  - $0\ntaskRoles:\n{ROLE}",
        ["docker image", "data", "script", "output", "prerequisite with callbacks"],
    ),
    "a prerequisite on a line of its own": (f"{IMAGES}  $0\ntaskRoles:\n{ROLE}", ["docker image", "data", "script"]),
    "a prerequisite besides one of that name": (
        f"{JOB.replace('pytorch', 'image')}".replace("taskRoles:", "  - $0\ntaskRoles:"),
        ["docker image", "prerequisite with callbacks"],
    ),
    "a callback": (
        JOB.replace("event: taskStarts\n        commands: [echo hello]", "$0"),
        ["callback"],
    ),
    "a deployment": (f"{JOB}deployments:\n  - $0\n", ["deployment"]),
    "the roles of a deployment": (f"{JOB}deployments:\n  - name: prod\n    $0\n", ["taskRoles"]),
    "extras": (f"{JOB}extras:\n  $0\n", ["storages (with a mount path)"]),
    "a storage": (f"{JOB}extras:\n  storages:\n    - $0\n", ["storage"]),
    "a plugin": (f"{JOB}{PLUGINS}    - $0\n", ["ssh plugin", "tensorboard plugin", "cmd plugin", "git plugin"]),
    "the name of a plugin": (
        f"{JOB}{PLUGINS}    - plugin: $0\n",
        [f"{name} with parameters" for name in ("ssh", "tensorboard", "cmd", "git")],
    ),
    "a requirement": (
        JOB.replace("    callbacks:", "    require:\n      - $0\n    callbacks:"),
        ["requirement with template variables"],
    ),
    "a reference": (f"{JOB}extras:\n  reference_prerequisites:\n    - $0\n", ["reference to the marketplace"]),
    "resources": (
        JOB.replace("    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}\n", "    $0\n"),
        ["resourcePerInstance"],
    ),
    "a role": (f"{JOB}    $0\n", ["completion", "extraContainerOptions"]),
    "ports": (
        JOB.replace("{cpu: 1, memoryMB: 1024, gpu: 0}", "\n      cpu: 1\n      memoryMB: 1024\n      gpu: 0\n      $0"),
        ["ports"],
    ),
    "defaults": (f"{JOB}$0\n", ["defaults"]),
    "an account": (
        f"{HEAD}secrets: {{password: x}}\nprerequisites:\n  - name: pytorch\n    $0\n{IMAGE_KEYS}taskRoles:\n{ROLE}",
        ["auth"],
    ),
}
CASES = [
    pytest.param(text, label, id=f"{label} in {name}") for name, (text, labels) in PLACES.items() for label in labels
]

_PLACE = re.compile(
    r"\\(?P<escaped>.)"
    r"|\$\{(?P<choice>\d+)\|(?P<choices>(?:\\.|[^|\\])+)\|\}"
    r"|\$\{(?P<number>\d+):(?P<default>(?:\\.|[^}\\])*)\}"
    r"|\$(?:\{(?P<braced>\d+)\}|(?P<bare>\d+))"
)


def places(snippet: str) -> list[tuple[int, str | None]]:
    """The places of a snippet in their order in the text: the number, and the default where it has one."""
    found: list[tuple[int, str | None]] = []
    for match in _PLACE.finditer(snippet):
        if match["choice"]:
            found.append((int(match["choice"]), unescaped(re.findall(r"(?:\\.|[^,\\])+", match["choices"])[0])))
        elif match["number"]:
            found.append((int(match["number"]), unescaped(match["default"])))
        elif not match["escaped"]:
            found.append((int(match["braced"] or match["bare"]), None))
    return found


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def applied(snippet: str) -> str:
    """The text after a snippet was inserted and left as it is: places of one number have its first default."""
    defaults: dict[int, str] = {}
    for number, default in places(snippet):
        if default is not None:
            defaults.setdefault(number, default)
    numbers = iter(places(snippet))
    return _PLACE.sub(lambda match: match["escaped"] or defaults.get(next(numbers)[0], ""), snippet)


def offered(text: str) -> tuple[str, list[Suggestion]]:
    plain, offset = read_cursor(text)
    return plain, complete(Document(plain), offset)


def is_piece(one: Suggestion) -> bool:
    """Whether a suggestion is more than a name, or a key whose value is left to type."""
    if one.kind is SuggestionKind.SNIPPET:
        return True
    snippet = one.snippet or ""
    return "\n" in one.edit.new_text.strip() and "$1" not in snippet


def accepted(plain: str, one: Suggestion) -> str:
    inserted = TextEdit(one.edit.span, applied(one.snippet) if one.snippet is not None else one.edit.new_text)
    return apply_edits(plain, [inserted, *one.elsewhere])


@pytest.mark.parametrize(("text", "label"), CASES)
def test_a_piece_checks_clean(text: str, label: str) -> None:
    plain, found = offered(text)
    after = accepted(plain, next(one for one in found if one.label == label))
    findings = [
        f"{one.code}: {one.message}"
        for one in Document(after, EXPANDED).diagnostics
        if one.severity <= Severity.WARNING
    ]
    assert findings == [], after


@pytest.mark.parametrize("name", PLACES)
def test_every_place_of_a_number_has_the_same_default(name: str) -> None:
    for one in offered(PLACES[name][0])[1]:
        every = {int(number) for number, _ in places(one.snippet or "")}
        # The first name is given at times, and that of an image has no place of its own in a task role.
        assert set(range(1, max(every, default=0))) - every <= {1, 3, 6}, one.snippet
        numbers = [number for number, default in places(one.snippet or "") if default is not None]
        assert len(numbers) == len(set(numbers)), one.snippet
        assert applied(one.snippet or "") == (one.edit.new_text if one.snippet else "")


@pytest.mark.parametrize("name", some(PLACES, 4))
def test_no_piece_is_left_out(name: str) -> None:
    text, labels = PLACES[name]
    tried = {label for _, labels in PLACES.values() for label in labels}
    assert {one.label for one in offered(text)[1] if is_piece(one)} <= tried
    assert set(labels) <= {one.label for one in offered(text)[1]}


def test_every_plugin_has_its_piece() -> None:
    assert {name for name, _, _ in snippet_texts.PLUGINS} == {
        one.name for one in OPENPAI.plugins.values() if not one.deprecated
    }


@pytest.mark.parametrize("job", snippet_texts.JOBS, ids=lambda job: job[0])
def test_the_name_of_a_job_comes_first(job: tuple[str, str, str]) -> None:
    assert re.search(r"^name: \$\{1:", job[2], re.MULTILINE)
    numbers = [number for number, default in places(job[2]) if default is not None]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize(
    ("text", "label", "snippet"),
    [
        (PLACES["a job with two images"][0], "task role", "dockerImage: ${3|pytorch,'on'|}"),
        (PLACES["a job with a worker"][0], "task role", "${1:worker2}:"),
        (PLACES["the first prerequisite"][0], "docker image", "name: ${1:pytorch}"),
        (PLACES["a deployment"][0], "deployment", "${2:node}:"),
        (PLACES["an account"][0], "auth", "<% \\$secrets.${2:password} %>"),
    ],
)
def test_a_piece_uses_the_names_of_its_job(text: str, label: str, snippet: str) -> None:
    assert snippet in next(str(one.snippet) for one in offered(text)[1] if one.label == label)


def test_a_piece_brings_along_what_it_needs() -> None:
    plain, found = offered(PLACES["a job without prerequisites"][0])
    after = accepted(plain, next(one for one in found if one.label == "master and worker (Horovod)"))
    assert after.startswith(f"{HEAD}prerequisites:\n  - type: dockerimage\n    name: image\n")
    assert "\nextras:\n  com.microsoft.pai.runtimeplugin:\n    - plugin: ssh\n" in after
    assert offered(f"{HEAD}prerequisites: later\ntaskRoles:\n  $0\n")[1] == []


class Catalog(NoLookup):
    """A catalog with one definition, which has template variables."""

    def job_templates(self) -> tuple[JobTemplate, ...]:
        return (JobTemplate("Couplet Training", "trains a $model", "protocolVersion: 2\nname: couplet  # ${1:x}\n"),)

    def suggestions(self, typed: str, most: int) -> tuple[SuggestedDefinition, ...]:
        del typed, most
        return (SuggestedDefinition("marketplace://name/images", "images", variables=("folder", "yes")),)


@pytest.mark.parametrize("typed", ["", "coup"])
def test_a_template_of_the_catalog_in_an_empty_file(typed: str) -> None:
    document = Document(typed, path="a.pai.yaml", lookup=Catalog())
    one = next(one for one in complete(document, len(typed)) if one.label == "Couplet Training")
    assert (one.detail, one.snippet) == ("trains a $model (marketplace)", None)
    assert one.edit == TextEdit(Span(0, len(typed)), "protocolVersion: 2\nname: couplet  # ${1:x}\n")


def test_a_requirement_of_the_catalog() -> None:
    plain, offset = read_cursor(PLACES["a reference"][0])
    one = next(one for one in complete(Document(plain, lookup=Catalog()), offset) if one.label.startswith("reference"))
    assert "marketplace://name/images}\n" in str(one.snippet)
    assert re.search(r"folder: \$\{3:.*\n +'yes': \$\{4:", str(one.snippet))


@pytest.mark.parametrize(
    ("snippet", "text"),
    [
        ("${1:a} $1 ${2|b,c|} $2 $3", "a a b b "),
        ("$1 ${1:a}", "a a"),
        ("\\$1 ${1:\\}\\$} \\\\", "$1 }$ \\"),
        (snippet_texts.place(1, ["a,b|c", "d"]), "a,b|c"),
    ],
)
def test_a_snippet_without_an_editor_that_knows_snippets(snippet: str, text: str) -> None:
    assert plain_text(snippet) == applied(snippet) == text
