"""What the runtime's `cmd` plugin makes of its parameters: a script before and one after the user's command.

It takes what it is given without a look: a text for a list gives one character a line, and what is no text ends it.
Sources: openpai-runtime, src/plugins/cmd/init.py; src/plugins/plugin_utils.py, inject_commands.
"""

from __future__ import annotations

from typing import Any

from pai_lsp.frozen import dataclass, field


@dataclass(slots=True)
class CmdScripts:
    """The two scripts, empty where there is nothing to run, and whether the plugin failed behind writing them."""

    pre: str = ""
    post: str = ""
    fails: bool = field(default=False)


def cmd_scripts(parameters: Any, failure_policy: Any = "fail") -> CmdScripts:
    """The scripts for the parameters as the plugin gets them, after the runtime's round trip."""
    scripts = CmdScripts()
    if not parameters:
        return scripts
    try:
        _write(parameters, failure_policy, scripts)
    except (TypeError, LookupError, AttributeError):
        # Whatever Python says of a value of the wrong kind ends the plugin's process the same way.
        scripts.fails = True
    return scripts


def _write(parameters: Any, failure_policy: Any, scripts: CmdScripts) -> None:
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
        scripts.pre = _script(pre, failure_policy)
        scripts.post = _script(post, failure_policy)
        return
    if "preCommands" in parameters:
        scripts.pre = _script(parameters["preCommands"], failure_policy)
    if "postCommands" in parameters:
        scripts.post = _script(parameters["postCommands"], failure_policy)


def _script(commands: Any, failure_policy: Any) -> str:
    if not commands:
        return ""
    body = "".join([command + "\n" for command in commands])
    if failure_policy.lower() == "ignore":
        return f"set +o errexit\n{body}set -o errexit\n"
    return f"set -o errexit\n{body}"
