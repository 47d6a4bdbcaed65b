"""The files of tasks that run here: `python tests/recorded_tasks.py` writes them to the letter to `task_files.txt`.

After a change, read what `git diff` shows of it.
"""

from __future__ import annotations

from pathlib import Path

from job_text import HEAD

from pai_lsp.cluster.task_files import TaskHome, published_ports, task_files
from pai_lsp.cluster.task_plan import task_plan
from pai_lsp.document import Document

RECORD = Path(__file__).parent / "task_files.txt"
JOB = (
    HEAD
    + """\
parameters: {rate: 0.1}
secrets: {word: paper-and-glue}
taskRoles:
  ps:
    dockerImage: image
    resourcePerInstance: {gpu: 0, cpu: 1, memoryMB: 512, ports: {grpc: 2, none: 0}}
    commands: [echo ps]
  worker:
    instances: 2
    completion: {minFailedInstances: 2}
    extraContainerOptions: {shmMB: 2048}
    dockerImage: image
    resourcePerInstance: {gpu: 1, cpu: 2, memoryMB: 1024}
    commands:
      - echo <% $parameters.rate %> <% $secrets.word %>
      - cd /usr/local/pai
extras:
  storages: [{name: data}, {name: home, mountPath: /home/me}]
  com.microsoft.pai.runtimeplugin:
    - plugin: cmd
      parameters: {callbacks: [{event: taskStarts, commands: [echo first]}]}
    - plugin: ssh
      parameters: {jobssh: true, sshbarrier: true, sshbarrierTimeout: 3}
    - plugin: git
      parameters: {repo_uri: "https://git.example.com/a.git", options: [--depth 1], clone_dir: code}
    - plugin: tensorboard
      parameters: {port: 6006, logdir: {a: /a, b: "/b/$PAI_TASK_INDEX"}}
    - plugin: cmd
      failurePolicy: ignore
      parameters: {preCommands: [echo second], postCommands: [echo last]}
"""
)
_PREPARED = JOB.replace(
    "parameters: {rate: 0.1}\n",
    """\
  - name: first
    type: script
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks: [{event: taskStarts, commands: [echo early]}]
  - name: second
    type: script
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks: [{event: taskSucceeds, commands: [echo late]}]
parameters: {rate: 0.1}
""",
).replace("  ps:\n", "  ps:\n    prerequisites: [first, second]\n")
_PORTS = {
    ("ps", 0): {"ssh": "1", "http": "2", "grpc": "3,4", "none": ""},
    ("worker", 0): {"ssh": "5", "http": "6,7"},
}
CASES = (
    (JOB, "ps", TaskHome("/home/here", is_container=False)),
    (JOB, "worker", TaskHome("/in", is_container=True, clones=True)),
    (JOB.replace("port: 6006", 'port: "$A"').replace("{a: /a, b", "{b"), "worker", TaskHome("/in", is_container=True)),
    (JOB.replace("extras:\n", "extras:\n  gangAllocation: false\n"), "ps", TaskHome("/a", is_container=False)),
    (JOB.partition("extras:")[0], "worker", TaskHome("/home/here", is_container=False, clones=True)),
    (_PREPARED, "ps", TaskHome("/in", is_container=True)),
)


def recorded() -> str:
    """The plans, the files and the published ports of all cases."""
    parts: list[str] = []
    for text, role, home in CASES:
        plan = task_plan(Document(text).job, role, 0, "ann", shows_secrets=True)
        parts += [f"######## {role} {home}", f"{plan.image} {plan.shared_memory} {plan.memory} {plan.failed_step}"]
        parts += [f"{place} {volume}" for place, volume in plan.mounts]
        parts += [f"{name}={value}" for name, value in sorted((plan.environment | plan.later).items())]
        parts += [*plan.order, *(f"{path}: {source}" for path, source in plan.sources.items())]
        parts += [f"clones {words} {source}" for words, source in zip(plan.clones, plan.clone_sources, strict=True)]
        skipped = ["runtime.d/plugin_pre1.sh"] if home.is_container else []
        for path, content in task_files(plan, home, _PORTS, "TOKEN", skipped).items():
            parts += [f"==== {path}", content]
        parts.append(f"published: {published_ports(plan, _PORTS)}")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    RECORD.write_text(recorded(), encoding="utf-8")
