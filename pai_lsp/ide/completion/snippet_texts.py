"""The texts of the pieces that completion inserts, with LSP's placeholders, indented from column 0.

Each number has one default; further places of the number (`$1`) repeat what is typed there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.ide.completion.suggestion import escaped
from pai_lsp.job.definition import CMD_PLUGIN
from pai_lsp.platform.tables import RUNTIME_PLUGIN
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.writing import entry_lines, scalar_line

if TYPE_CHECKING:
    from collections.abc import Iterable

_SEPARATOR = lazy_pattern(r"([\\,|])")


def place(number: int, names: Iterable[str]) -> str:
    """A placeholder for one of some names: a choice where there are several."""
    return _choice(number, map(scalar_line, names))


def _choice(number: int, texts: Iterable[str]) -> str:
    several = tuple(dict.fromkeys(texts))
    if len(several) == 1:
        return f"${{{number}:{escaped(several[0])}}}"
    choices = ",".join(_SEPARATOR.sub(r"\\\1", one) for one in several)
    return f"${{{number}|{choices}|}}"


def indented(snippet: str, pad: str = "  ") -> str:
    """The lines after the first one indented."""
    return snippet.replace("\n", f"\n{pad}")


def task_role(name: str, image: str, first: int = 1) -> str:
    """A task role; its places begin with number `first`, and `image` may be the one two after it."""
    return f"""\
${{{first}:{name}}}:
  instances: ${{{first + 1}:1}}
  dockerImage: {image}
  resourcePerInstance:
    cpu: ${{{first + 3}:4}}
    memoryMB: ${{{first + 4}:8192}}
    gpu: ${{{first + 5}:1}}
  commands:
    - ${{{first + 6}:python train.py}}"""


def master_and_worker(image: str, same_image: str, first: int = 2) -> str:
    """A task role that starts a Horovod program, and one that waits for it; their places begin with number `first`."""
    cpu, memory, gpu = first, first + 1, first + 2
    hosts = f"master-0:${gpu},worker-0:${gpu}"
    return f"""\
master:
  instances: 1
  completion:
    minSucceededInstances: 1
  dockerImage: {image}
  resourcePerInstance:
    cpu: ${{{cpu}:16}}
    memoryMB: ${{{memory}:32768}}
    gpu: ${{{gpu}:4}}
  commands:
    - mpirun --allow-run-as-root -np ${{{first + 3}:8}} -H {hosts} ${{{first + 4}:python train.py}}
worker:
  instances: ${{{first + 5}:1}}
  completion:
    minSucceededInstances: -1
  dockerImage: {same_image}
  resourcePerInstance:
    cpu: ${cpu}
    memoryMB: ${memory}
    gpu: ${gpu}
  commands:
    - sleep infinity"""


IMAGE = "openpai/standard:python_3.6-pytorch_1.2.0-gpu"


def prerequisite(kind: str, name: str, rest: str, number: int = 1) -> str:
    """A prerequisite of a type, with the keys below its name; `number` is that of the name's place."""
    return f"- type: {kind}\n  name: ${{{number}:{name}}}\n  {indented(rest)}"


def _callbacks(commands: dict[str, str]) -> str:
    """A command for each event."""
    return "\n".join(f"- event: {event}\n  commands:\n    - {command}" for event, command in commands.items())


def _running(commands: dict[str, str]) -> str:
    """The keys of a prerequisite that runs commands."""
    return f"plugin: {CMD_PLUGIN}\ncallbacks:\n  {indented(_callbacks(commands))}"


_INSTALL = "${2:pip install -r requirements.txt}"
# What it is called, what it is for, the key of a task role that names it, a name for it, the keys below its name.
PREREQUISITES = (
    ("docker image", "the image of a task role", "dockerImage", "image", f"uri: ${{2:{IMAGE}}}"),
    ("data", "addresses for <% $data.uri[0] %>", "data", "dataset", "uri:\n  - ${2:https://example.com/data.zip}"),
    ("script", "commands before the task's own", "script", "setup", _running({"taskStarts": _INSTALL})),
    ("output", "an address for <% $output.uri %>", "output", "results", "uri: ${2:/mnt/results}"),
)
CALLBACKS = _running({"taskStarts": "${3:echo starting}", "taskSucceeds": "${4:echo done}"})
CALLBACK = _callbacks({"${1|taskStarts,taskSucceeds|}": "${2:echo hello}"})


def deployment(roles: Iterable[str]) -> str:
    """Commands around those of a role."""
    return f"- name: ${{1:prod}}\n  taskRoles:\n    {indented(deployed_role(roles), ' ' * 4)}"


def deployed_role(roles: Iterable[str]) -> str:
    """The commands of a deployment for one role."""
    return f"""\
{place(2, roles)}:
  preCommands:
    - ${{3:echo before}}
  postCommands:
    - ${{4:echo after}}"""


STORAGE = """\
- name: ${1:confignfs}
  mountPath: ${2:/mnt/confignfs}"""

STORAGES = f"storages:\n  {indented(STORAGE)}"


def requirement(reference: str, variables: Iterable[str], first: int = 1) -> str:
    """A definition of the marketplace that is required, with its template variables."""
    places = "".join(
        f"\n    {escaped(scalar_line(name))}: ${{{number}:/dataset/mnist}}"
        for number, name in enumerate(variables, start=first + 1)
    )
    return f"- name: ${{{first}:{escaped(reference)}}}\n  template_variables:{places}"


def reference_to_marketplace(name: str, reference: str, variables: Iterable[str]) -> str:
    """A name for a definition of the marketplace with its template variables filled."""
    required = indented(requirement(reference, variables, 2), " " * 4)
    return f"- name: ${{1:{name}}}\n  require:\n    {required}"


def registry_login(secrets: Iterable[str]) -> str:
    """The account for a private registry."""
    return f"""\
username: ${{1:user}}
password: <% \\$secrets.{_choice(2, secrets)} %>
registryuri: ${{3:https://index.docker.io/v1/}}"""


_TENSORBOARD = "port: ${1:10000}\nlogdir:\n  ${2:path}: ${3:/mnt/tensorboard}"


def _plugin(name: str, purpose: str, parameters: str) -> tuple[str, str, str]:
    return name, purpose, f"- plugin: {name}\n  parameters:\n    {indented(parameters, ' ' * 4)}"


# Entries of `extras.com.microsoft.pai.runtimeplugin`: the plugin's name, what it is for, snippet.
PLUGINS = (
    _plugin("ssh", "ssh between all tasks", "jobssh: true\nsshbarrier: ${1|true,false|}"),
    _plugin("tensorboard", "TensorBoard in the first task", _TENSORBOARD),
    _plugin(
        "cmd",
        "commands before and after every task",
        f"callbacks:\n  {indented(_callbacks({'taskStarts': '${1:echo hello}'}))}",
    ),
    _plugin("git", "clone a repository first", "repo_uri: ${1:https://example.com/repo.git}"),
)
# What `extras` has in a job whose tasks are connected by ssh.
SSH = {RUNTIME_PLUGIN: [{"plugin": "ssh", "parameters": {"jobssh": True, "sshbarrier": True}}]}


def _job(name: str, roles: str, last: int, extras: str = "") -> str:
    """A job with an image; `last` is the number of its last place to fill, the virtual cluster."""
    return f"""\
protocolVersion: 2
name: ${{1:{name}}}
type: job
jobRetryCount: 0
prerequisites:
  {indented(prerequisite("dockerimage", "image", f"uri: ${{3:{IMAGE}}}", 2))}
taskRoles:
  {indented(roles)}
defaults:
  virtualCluster: ${{{last}:default}}
{extras}"""


_PYTORCH_ROLE = """\
worker:
  instances: ${4:2}
  dockerImage: $2
  resourcePerInstance:
    cpu: ${5:16}
    memoryMB: ${6:65536}
    gpu: ${7:8}
    ports:
      master: 1
  commands:
    - torchrun --nnodes=\\$PAI_TASK_ROLE_TASK_COUNT_worker --nproc_per_node=$7
      --node_rank=\\$PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX --master_addr=\\$PAI_HOST_IP_worker_0
      --master_port=\\$PAI_PORT_LIST_worker_0_master ${8:train.py}"""

# Jobs to start a new file from: name, what it is for, snippet.
JOBS = (
    ("job", "a job with one task role", _job("my-job", task_role("worker", "$2", 4), 11)),
    ("pytorch job", "PyTorch DDP: torchrun on each task", _job("my-pytorch-job", _PYTORCH_ROLE, 9)),
    (
        "distributed job",
        "Horovod: a master that starts, workers that wait, ssh between them",
        _job(
            "my-distributed-job",
            master_and_worker("$2", "$2", 4),
            10,
            "".join(f"{line}\n" for line in entry_lines("extras", SSH)),
        ),
    ),
)
