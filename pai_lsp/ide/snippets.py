"""Whole pieces of a job to start from: jobs, task roles, prerequisites, plugins.

Each is written once, indented from column 0, with LSP's placeholders; `suggestion.snippet_suggestion` puts it in place.
A piece must check clean as soon as its placeholders keep their defaults.
"""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING

from pai_lsp.ide.cursor import Spot
from pai_lsp.ide.suggestion import Kind, Suggestion, plain_text, snippet_suggestion
from pai_lsp.platform import RUNTIME_PLUGIN
from pai_lsp.text import TextEdit

if TYPE_CHECKING:
    from pai_lsp.ide.cursor import Cursor
    from pai_lsp.platform import Plugin, PluginParameter

_ORDER = 200

_ROLE_BODY = """\
  instances: ${2:1}
  dockerImage: ${3:image}
  resourcePerInstance:
    cpu: ${4:4}
    memoryMB: ${5:8192}
    gpu: ${6:1}
  commands:
    - ${7:python train.py}"""

_ROLE = f"${{1:worker}}:\n{_ROLE_BODY}"

_HOROVOD = """\
master:
  instances: 1
  completion:
    minSucceededInstances: 1
  dockerImage: ${1:image}
  resourcePerInstance:
    cpu: ${2:16}
    memoryMB: ${3:32768}
    gpu: ${4:4}
  commands:
    - mpirun --allow-run-as-root -np ${5:8} -H master-0:${4:4},worker-0:${4:4} ${6:python train.py}
worker:
  instances: ${7:1}
  completion:
    minSucceededInstances: -1
  dockerImage: ${1:image}
  resourcePerInstance:
    cpu: ${2:16}
    memoryMB: ${3:32768}
    gpu: ${4:4}
  commands:
    - sleep infinity"""

_IMAGE = """\
- type: dockerimage
  name: ${1:image}
  uri: ${2:openpai/standard:python_3.6-pytorch_1.2.0-gpu}"""

_CALLBACKS = """\
- type: ${1|script,data,output|}
  name: ${2:prepare}
  plugin: com.microsoft.pai.runtimeplugin.cmd
  callbacks:
    - event: taskStarts
      commands:
        - ${3:echo starting}
    - event: taskSucceeds
      commands:
        - ${4:echo done}"""

_DATA = """\
- type: data
  name: ${1:dataset}
  uri:
    - ${2:https://example.com/data.zip}"""

_SCRIPT = """\
- type: script
  name: ${1:setup}
  plugin: com.microsoft.pai.runtimeplugin.cmd
  callbacks:
    - event: taskStarts
      commands:
        - ${2:pip install -r requirements.txt}"""

_OUTPUT = """\
- type: output
  name: ${1:results}
  uri: ${2:/mnt/results}"""

_CALLBACK = """\
- event: ${1|taskStarts,taskSucceeds|}
  commands:
    - ${2:echo hello}"""

_DEPLOYMENT = """\
- name: ${1:prod}
  taskRoles:
    ${2:worker}:
      preCommands:
        - ${3:echo before}
      postCommands:
        - ${4:echo after}"""

_STORAGE = """\
- name: ${1:confignfs}
  mountPath: ${2:/mnt/confignfs}"""

_STORAGES = "storages:\n  " + _STORAGE.replace("\n", "\n  ")

_REQUIRE = """\
- name: ${1:marketplace://name/mnist}
  template_variables:
    ${2:dataPath}: ${3:/dataset/mnist}"""

_REFERENCE = """\
- name: ${1:mnist}
  require:
    - name: ${2:marketplace://name/mnist}
      template_variables:
        ${3:dataPath}: ${4:/dataset/mnist}"""

# What follows the colon of keys whose mapping has keys that must be there.
VALUES = {
    "resourcePerInstance": "\n  cpu: ${1:4}\n  memoryMB: ${2:8192}\n  gpu: ${3:1}",
    "completion": "\n  minFailedInstances: ${1:1}\n  minSucceededInstances: ${2:-1}",
    "taskRoles": "\n  " + _ROLE.replace("\n", "\n  "),
    "extraContainerOptions": "\n  shmMB: ${1:512}",
    "defaults": "\n  virtualCluster: ${1:default}",
    "auth": (
        "\n  username: ${1:user}\n  password: <% \\$secrets.${2:dockerPassword} %>\n"
        "  registryuri: ${3:https://index.docker.io/v1/}"
    ),
    "ports": "\n  ${1:sync}: ${2:1}",
}

_WHOLE_JOB = f"""\
protocolVersion: 2
name: ${{10:my-job}}
type: job
jobRetryCount: 0
prerequisites:
  {_IMAGE.replace("${1:image}", "image").replace(chr(10), chr(10) + "  ")}
taskRoles:
  {_ROLE.replace("${3:image}", "image").replace(chr(10), chr(10) + "  ")}
defaults:
  virtualCluster: ${{11:default}}
"""

_DISTRIBUTED_JOB = f"""\
protocolVersion: 2
name: ${{10:my-distributed-job}}
type: job
jobRetryCount: 0
prerequisites:
  {_IMAGE.replace("${1:image}", "image").replace("${2:", "${12:").replace(chr(10), chr(10) + "  ")}
taskRoles:
  {_HOROVOD.replace("${1:image}", "image").replace(chr(10), chr(10) + "  ")}
defaults:
  virtualCluster: ${{11:default}}
extras:
  com.microsoft.pai.runtimeplugin:
    - plugin: ssh
      parameters:
        jobssh: true
        sshbarrier: true
"""

# Jobs to start a new file from: name, what it is for, snippet.
JOBS = (
    ("job", "a job with one task role", _WHOLE_JOB),
    ("distributed job", "Horovod: a master that starts, workers that wait, ssh between them", _DISTRIBUTED_JOB),
)


def whole_jobs(cursor: Cursor) -> list[Suggestion]:
    """The jobs, for a file that has nothing in it yet."""
    if cursor.document_text.strip() != (cursor.prefix + cursor.suffix).strip():
        return []
    return [
        snippet_suggestion(cursor, name, snippet, detail=detail, kind=Kind.SNIPPET) for name, detail, snippet in JOBS
    ]


def for_mapping(cursor: Cursor) -> list[Suggestion]:
    """Pieces that begin with a key of the mapping at the cursor."""
    if cursor.is_flow:
        return []
    if cursor.path == ("taskRoles",):
        taken = set(cursor.job.task_roles_by_name)
        name = next(name for name in chain(["worker"], map("worker{}".format, count(2))) if name not in taken)
        pieces = [_piece(cursor, "task role", "a new task role", _ROLE.replace("worker", name, 1))]
        if not taken & {"master", "worker"}:
            pieces.append(_piece(cursor, "master and worker (Horovod)", "two task roles joined by ssh", _HOROVOD))
        return pieces
    if cursor.path == ("extras",) and not _has(cursor, "storages"):
        return [_piece(cursor, "storages (with a mount path)", "mount a storage in every container", _STORAGES)]
    return []


def for_list(cursor: Cursor) -> list[Suggestion]:
    """Pieces that are an item of the list which the key at the cursor expects."""
    return [] if cursor.is_flow else _items(cursor, cursor.path, dash=True)


def for_item(cursor: Cursor) -> list[Suggestion]:
    """Pieces that are an item of the list at the cursor."""
    if cursor.is_flow or (cursor.sequence is not None and cursor.sequence.is_flow):
        return []
    return _items(cursor, cursor.path[:-1], dash=cursor.missing == "- ")


def _items(cursor: Cursor, path: tuple[str | int, ...], *, dash: bool) -> list[Suggestion]:
    key = path[-1] if path else ""
    pieces: tuple[tuple[str, str, str], ...] = ()
    if path == ("prerequisites",):
        pieces = (
            ("docker image", "the image of a task role", _IMAGE),
            ("data", "addresses for <% $data.uri[0] %>", _DATA),
            ("script", "commands before the task's own", _SCRIPT),
            ("output", "an address for <% $output.uri %>", _OUTPUT),
            ("prerequisite with callbacks", "commands before and after the task's own", _CALLBACKS),
        )
    elif key == "callbacks":
        pieces = (("callback", "commands on an event", _CALLBACK),)
    elif path == ("deployments",):
        pieces = (("deployment", "commands around the roles' own", _DEPLOYMENT),)
    elif path == ("extras", RUNTIME_PLUGIN):
        pieces = tuple((f"{name} plugin", detail, snippet) for name, detail, snippet in _PLUGINS)
    elif key == "require":
        pieces = (("requirement with template variables", "fill what the definition declares", _REQUIRE),)
    elif key == "reference_prerequisites":
        pieces = (("reference to the marketplace", "a name for a definition and its variables", _REFERENCE),)
    elif key in {"storages", "requireStorages"}:
        pieces = (("storage", "a storage and where it is mounted", _STORAGE),)
    return [_piece(cursor, label, detail, snippet, without_dash=not dash) for label, detail, snippet in pieces]


def _piece(cursor: Cursor, label: str, detail: str, snippet: str, *, without_dash: bool = False) -> Suggestion:
    if cursor.missing == "- " or without_dash:
        # The dash stands in front already, or comes with what is missing.
        first, _, rest = snippet.removeprefix("- ").partition("\n")
        snippet = first + ("\n" + "\n".join(line.removeprefix("  ") for line in rest.split("\n")) if rest else "")
    return snippet_suggestion(cursor, label, snippet, detail=detail, order=_ORDER, kind=Kind.SNIPPET)


def _has(cursor: Cursor, key: str) -> bool:
    return cursor.spot is Spot.KEY and cursor.mapping is not None and cursor.mapping.own(key) is not None


_PLUGINS = (
    (
        "ssh",
        "ssh between all tasks",
        "- plugin: ssh\n  parameters:\n    jobssh: true\n    sshbarrier: ${1|true,false|}",
    ),
    (
        "tensorboard",
        "TensorBoard in the first task",
        (
            "- plugin: tensorboard\n  parameters:\n    port: ${1:10000}\n    logdir:\n"
            "      ${2:path}: ${3:/mnt/tensorboard}"
        ),
    ),
    (
        "cmd",
        "commands before and after every task",
        (
            "- plugin: cmd\n  parameters:\n    callbacks:\n      - event: taskStarts\n        commands:\n"
            "          - ${1:echo hello}"
        ),
    ),
    (
        "git",
        "clone a repository first",
        "- plugin: git\n  parameters:\n    repo_uri: ${1:https://example.com/repo.git}",
    ),
)


def plugin_with_parameters(cursor: Cursor, plugin: Plugin, documentation: str, order: int) -> Suggestion:
    """A plugin's name with its required parameters below, for an entry that has none yet."""
    wanted = [parameter for parameter in plugin.parameters if parameter.required] or list(plugin.parameters[:1])
    lines = "".join(f"\n  {line}" for parameter in wanted for line in _parameter(parameter).split("\n"))
    start = len(cursor.line_before) - len(cursor.line_before.lstrip(" -"))
    snippet = f"{plugin.name}\nparameters:{lines}".replace("\n", "\n" + " " * start)
    text = cursor.missing + snippet
    edit = TextEdit(cursor.replace, plain_text(text))
    return Suggestion(plugin.name, Kind.PLUGIN, edit, None, plugin.title, documentation, order)


def _parameter(parameter: PluginParameter) -> str:
    if parameter.type == "boolean":
        return f"{parameter.name}: true"
    if parameter.type == "array" or parameter.type.startswith("array"):
        return f"{parameter.name}:\n  - "
    if parameter.type == "object":
        return f"{parameter.name}:\n  "
    default = parameter.default if parameter.default is not None else ""
    return f"{parameter.name}: {default}"
