"""The scripts that the released runtime's plugins write for one task: one before the user's commands, one after them.

A plugin does not check its parameters. It gets them after the runtime's round trip (`job/plugin_parameters`), and looks
for its keys with `in`, which finds words in a text as well; any exception ends it. The plugin `cmd` takes a string in
place of a list as one character per line, and an item that is not text ends it.

Sources: openpai-runtime, src/plugins/*/init.py and src/plugins/plugin_utils.py (inject_commands).
"""

from __future__ import annotations

from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pai_lsp.job.job import Job

HOME = "/usr/local/pai"
# The script with which the plugin git looks whether it may move what it has cloned.
GIT_CHECK = "plugins/git/check_clone_dir.sh"


@dataclass(slots=True)
class PluginScripts:
    """The two scripts, empty if there is nothing to run, and whether the plugin failed, perhaps after it wrote them."""

    pre: str = ""
    post: str = ""
    fails: bool = False


def plugin_scripts(
    job: Job, name: str, parameters: Any, failure_policy: Any = "fail", *, role: str = "", index: int = 0
) -> PluginScripts:
    """The scripts of a plugin of the runtime; none for one that only this cluster has.

    Args:
        job: the job, for its platform, its first task role, and whether its tasks wait for one another.
        name: the plugin's short name.
        parameters: as the plugin gets them, after the runtime's round trip.
        failure_policy: as it is written; a plugin with commands fails for one that is not a string.
        role: the task role, as the job or as the runtime names it; empty for the first one.
        index: the number of the task in it.
    """
    scripts = PluginScripts()
    try:
        if name == "cmd":
            _write_cmd(parameters, failure_policy, scripts)
        elif name in _COMMANDS and not (name == "tensorboard" and (index or not _is_first(role, job))):
            scripts.pre = _script(_COMMANDS[name](job, parameters), failure_policy)
    except (TypeError, LookupError, AttributeError, ValueError):
        # Any exception for a value of a wrong type ends the plugin's process in the same way.
        scripts.fails = True
    return scripts


def _is_first(role: str, job: Job) -> bool:
    names = [converted_role_name(one.name) for one in job.task_roles[:1]]
    return not role or names == [converted_role_name(role)]


def _write_cmd(parameters: Any, failure_policy: Any, scripts: PluginScripts) -> None:
    if not parameters:
        return
    if "callbacks" in parameters:
        if "preCommands" in parameters or "postCommands" in parameters:
            raise LookupError
        pre: list[Any] = []
        post: list[Any] = []
        for callback in parameters["callbacks"]:
            if callback["event"] == "taskStarts":
                pre.extend(callback["commands"])
            elif callback["event"] == "taskSucceeds":
                post.extend(callback["commands"])
    else:
        pre = parameters["preCommands"] if "preCommands" in parameters else []  # noqa: SIM401 - a text has no 'get'
        post = parameters["postCommands"] if "postCommands" in parameters else []  # noqa: SIM401 - as above
    scripts.pre = _script(pre, failure_policy)
    scripts.post = _script(post, failure_policy)


def _script(commands: Any, failure_policy: Any) -> str:
    if not commands:
        return ""
    body = "".join([command + "\n" for command in commands])
    if failure_policy.lower() == "ignore":
        return f"set +o errexit\n{body}set -o errexit\n"
    return f"set -o errexit\n{body}"


def _ssh_commands(job: Job, parameters: Any) -> list[str]:
    """Keys of the user's account are not known here."""
    if not parameters:
        return []
    folder = f"{HOME}/plugins/ssh"
    is_on = "false"
    if job.has_gang_allocation:
        is_on = _lower(parameters, "jobssh", "false")
    elif (
        job.platform.ssh_without_gang
        and _lower(parameters, "sshbarrier") == "false"
        and _lower(parameters, "jobssh") == "true"
    ):
        is_on = "true"
    arguments = [is_on]
    if "userssh" in parameters:
        user = parameters["userssh"]
        key = user["value"] if "value" in user else ""  # noqa: SIM401 - a text has no 'get'
        if key != "" and "type" in user:
            arguments += [str(user["type"]), f"'{_text(key)}'"]
    commands: list[str] = []
    if arguments != ["false"]:
        commands.append("apt-get update;apt-get install -y openssh-client openssh-server;")
        commands.append(f"{folder}/sshd.sh {' '.join(arguments)}\n")
    if is_on == "true" and _lower(parameters, "sshbarrier") == "true":
        timeout = str(parameters["sshbarrierTimeout"]) if "sshbarrierTimeout" in parameters else ""
        commands.append(f"{folder}/sshbarrier.sh {timeout}\n")
    return commands


def _lower(parameters: Any, key: str, default: str = "") -> str:
    return str(parameters[key]).lower() if key in parameters else default


def _tensorboard_commands(_job: Job, parameters: Any) -> list[str]:
    """It runs in the first task of the first role only."""
    if not parameters:
        return []
    if not parameters["logdir"].items():
        raise LookupError
    parameters["port"]
    program = f"{HOME}/plugins/tensorboard/tensorboard.sh"
    return [f"chmod u+x {program}", program]


def _git_commands(_job: Job, parameters: Any) -> list[str]:
    """The repository itself is cloned while the task is prepared."""
    _text(parameters["repo_uri"])
    " ".join(parameters["options"] or "" if "options" in parameters else "")  # as GitPython: it fails for other values
    if "clone_dir" not in parameters:
        return []
    folder = parameters["clone_dir"]
    code = f"{HOME}/plugins/git/../../code"
    return [f"{HOME}/{GIT_CHECK} {folder}", f"mkdir -p {folder}", f"mv -f {code}/* {folder}"]


def _docker_commands(_job: Job, _parameters: Any) -> list[str]:
    program = f"{HOME}/plugins/dind/install_docker.sh"
    return [f"chmod +x {program}", f"bash {program}"]


_COMMANDS: dict[str, Callable[[Job, Any], list[str]]] = {
    "ssh": _ssh_commands,
    "tensorboard": _tensorboard_commands,
    "git": _git_commands,
    "dind": _docker_commands,
}


def _text(value: Any) -> str:
    """The value, which has to be text where Python joins texts."""
    if not isinstance(value, str):
        raise TypeError
    return value
