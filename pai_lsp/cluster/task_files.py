"""The files with which a task runs here: the scripts of its plan, and one that runs them in the runtime's order.

That script reports on the task's own output which part starts, and which one has ended the task: lines that begin with
a token that is made for the run.
Sources: openpai-runtime, src/runtime.d/runtime_entry.sh, src/plugins/git/check_clone_dir.sh.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pai_lsp.cluster.ended_line import OPTIONS, REPORT, header
from pai_lsp.cluster.task_environment import port_counts
from pai_lsp.cluster.task_plan import SCRIPTS
from pai_lsp.expansion.plugin_scripts import GIT_CHECK, HOME
from pai_lsp.platform.tables import converted_role_name, shell_text
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    from pai_lsp.cluster.task_plan import TaskPlan

# By role and index of a task, and label: numbers of ports, joined by commas.
Ports: TypeAlias = "dict[tuple[str, int], dict[str, str]]"

ADDRESS = "127.0.0.1"
CLONE = "clone.sh"
_PHASES = ("precommands.sh", "user.sh", "postcommands.sh")
# The parts of a task by their scripts, as a user calls them.
TITLES = {
    CLONE: "git clone",
    "precommands.sh": "commands of plugins",
    "user.sh": "commands",
    "postcommands.sh": "last commands of plugins",
}
ENTRY = f"{SCRIPTS}/entry.sh"


@dataclass(frozen=True, slots=True)
class TaskHome:
    """Where a task runs.

    home: the folder that stands for `HOME`. clones: whether the task itself clones its repositories.
    """

    home: str
    is_container: bool
    clones: bool = False


def task_files(plan: TaskPlan, place: TaskHome, ports: Ports, token: str, left_out: Iterable[str]) -> dict[str, str]:
    """The texts of the files by their paths below the home of the task.

    left_out: paths of scripts that are neither written nor called.
    """
    skipped = set(left_out)
    not_called = {f"/bin/bash {HOME}/{path}" for path in skipped}
    files: dict[str, str] = {}
    for path, text in plan.files.items():
        name = path.rpartition("/")[2]
        if path.endswith("/") or path in skipped:
            continue
        called = "\n".join(line for line in text.split("\n") if line not in not_called) if name in _PHASES else text
        files[path] = (header(called) if name in _PHASES else "") + called + "\n"
        if name != "user.sh":
            files[path] = files[path].replace(f"{HOME}/", f"{place.home}/")
    if plan.tensorboard is not None:
        called = plan.tensorboard[0].replace(f"{HOME}/", f"{place.home}/")
        # In a container on all its addresses: only published ports can be reached from outside.
        called += f" --host={'0.0.0.0' if place.is_container else ADDRESS} &"  # noqa: S104 - of the container
        files["plugins/tensorboard/tensorboard.sh"] = f"#!/bin/bash\n{OPTIONS}{called}\n"
    if plan.clones:
        files[GIT_CHECK] = shell_text("git_check.sh")
    if place.clones and plan.clones:
        files[f"{SCRIPTS}/{CLONE}"] = clone_script(plan)
    exports = [f"export {name}={shlex.quote(value)}" for name, value in _values(plan, ports).items()]
    files[f"{SCRIPTS}/runtime_env.sh"] = "\n".join(exports) + "\n"
    parts = [CLONE] if f"{SCRIPTS}/{CLONE}" in files else []
    parts += [one for one in _PHASES if one == "user.sh" or plan.files[f"{SCRIPTS}/{one}"]]
    calls = "".join(f"part {one}\n" for one in parts)
    scripts = f"{place.home}/{SCRIPTS}"
    files[ENTRY] = shell_text("entry.sh", OPTIONS=OPTIONS, SCRIPTS=scripts, TOKEN=token, REPORT=REPORT) + calls
    return files


def clone_script(plan: TaskPlan) -> str:
    """Clones the repositories of the plugin git to where its script looks for them, with the git of the container."""
    calls = [f"git clone {shlex.join((*words, f'{HOME}/code'))}" for words in plan.clones]
    return "\n".join([*shell_text("clone.sh").splitlines(), *calls, ""])


def _values(plan: TaskPlan, allocated: Ports) -> dict[str, str]:
    """All variables with values: this machine's address, and the ports of the tasks that run."""
    found = dict(plan.environment)
    ports = allocated[plan.role.name, plan.index]
    by_name: dict[str, str] = {}
    hosts: dict[str, list[str]] = {}
    for (role, index), labels in allocated.items():
        name = converted_role_name(role)
        by_name |= {f"PAI_PORT_LIST_{name}_{index}_{label}": numbers for label, numbers in labels.items()}
        by_name |= {f"PAI_{name}_{index}_{label}_PORT": numbers for label, numbers in labels.items()}
        host = f"{ADDRESS}:{labels['http'].partition(',')[0]}"
        hosts.setdefault(f"PAI_TASK_ROLE_{name}_HOST_LIST", []).append(host)
    by_name |= {f"PAI_CONTAINER_HOST_{label}_PORT_LIST": numbers for label, numbers in ports.items()}
    by_name["PAI_CONTAINER_SSH_PORT"] = ports["ssh"].partition(",")[0]
    by_name |= dict.fromkeys(("PAI_CURRENT_CONTAINER_PORT", "PAI_CONTAINER_HOST_PORT"), ports["http"].partition(",")[0])
    for name, kind in plan.later.items():
        if kind == "host-address":
            found[name] = ADDRESS
        elif kind.startswith("port"):
            # The ports of tasks that do not run here only have to be numbers.
            found[name] = by_name.get(name) or ",".join(["1"] * int(kind.partition(":")[2] or 1))
        elif kind == "labels-and-ports":
            found[name] = "".join(f"{label}:{numbers};" for label, numbers in ports.items())
        elif kind == "addresses-and-http-ports":
            found[name] = ",".join(hosts.get(name, [f"{ADDRESS}:{ports['http'].partition(',')[0]}"]))
        elif kind == "controller":
            found[name] = "0"
    return found


def published_ports(plan: TaskPlan, allocated: Ports) -> list[str]:
    """The ports that the job asks for by name, and TensorBoard's: those that this machine must reach."""
    asked = {label.name for label in plan.role.port_labels} & port_counts(plan.role).keys()
    labels = allocated[plan.role.name, plan.index]
    found = [number for label in sorted(asked) for number in labels[label].split(",") if number]
    return found + ([plan.tensorboard[1]] if plan.tensorboard is not None and plan.tensorboard[1].isdecimal() else [])
