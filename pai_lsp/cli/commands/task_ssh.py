"""The plugin ssh in a run on this machine.

Each task with that plugin has an ssh server, and a key pair for this run alone. The servers listen on the loopback
address of the task's network only, accept only that key, and read nothing of the user's. A task finds `ssh`, `scp` and
`sftp` that know the other tasks by name, as on a cluster. Keys of `userssh` get no access.
Sources: openpai-runtime, src/plugins/ssh/init.py, sshd.sh and sshbarrier.sh; sshd_config(5).
"""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import TYPE_CHECKING

from pai_lsp.cluster.task_files import ADDRESS
from pai_lsp.expansion.plugin_scripts import HOME
from pai_lsp.platform.tables import converted_role_name, shell_text
from pai_lsp.source.files import program_on_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pai_lsp.cluster.task_files import TaskHome
    from pai_lsp.cluster.task_plan import TaskPlan

_PLUGIN = f"{HOME}/plugins/ssh/"
_IS_ON = f"{_PLUGIN}sshd.sh true"
_CLIENTS = ("ssh", "scp", "sftp")
# Servers are usually in folders that PATH of a user does not have.
_FOLDERS_OF_SERVERS = ("/usr/sbin", "/usr/local/sbin", "/sbin")
_INSTALLS = "apt-get update;"


def ssh_scripts(plan: TaskPlan) -> list[str]:
    """The scripts of the plugin ssh in a plan."""
    return [path for path, text in plan.files.items() if _PLUGIN in text]


def left_out(plan: TaskPlan, *, is_contained: bool) -> str | None:
    """Why the plugin ssh is left out of a run; empty if it is not, None without the plugin."""
    scripts = ssh_scripts(plan)
    if not scripts:
        return None
    if not any(_IS_ON in plan.files[path] for path in scripts):
        return "keys of 'userssh' get no access to this machine"
    if os.name == "nt" and not is_contained:
        return "on Windows it needs a container"
    absent = [name for name in ("ssh-keygen", *(() if is_contained else ("ssh", "sshd"))) if not _program(name)]
    return f"'{absent[0]}' is not installed on this machine" if absent else ""


def _program(name: str) -> str:
    return program_on_path(name, os.pathsep.join([os.environ.get("PATH", ""), *_FOLDERS_OF_SERVERS]))


def make_keys(folder: Path) -> None:
    """Make the key pair of a run, and that of its servers.

    Raises:
        OSError: if that fails.
    """
    for name in ("job", "server"):
        words = ["-q", "-t", "ed25519", "-N", "", "-C", "pai-lsp-run", "-f", str(folder / name)]
        command = [_program("ssh-keygen"), *words]
        if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode:  # noqa: S603 - our own words
            raise OSError(f"ssh-keygen failed in '{folder}'")


def script_here(text: str, *, is_contained: bool) -> str:
    """The plugin's script for a run here: only what is missing in the image is installed, and nothing without one."""
    lines = text.split("\n")
    if not is_contained:
        return "\n".join(line for line in lines if not line.startswith(_INSTALLS))
    found = "command -v ssh >/dev/null && [ -x /usr/sbin/sshd ]"
    return "\n".join(f"{found} || {{ {line} }}" if line.startswith(_INSTALLS) else line for line in lines)


def ssh_files(plan: TaskPlan, place: TaskHome, keys: Path, ports: Mapping[tuple[str, int], str]) -> dict[str, str]:
    """The texts of the files that the scripts of the plugin run and read, by their paths below the task's home.

    ports: of the servers, by role and index of the tasks that run.
    """
    home = place.home
    names = {f"{converted_role_name(role)}-{index}": port for (role, index), port in ports.items()}
    own = f"{converted_role_name(plan.role.name)}-{plan.index}"
    others = [name for name in names if name != own]
    server = "/usr/sbin/sshd" if place.is_container else _program("sshd")
    hosts = "".join(_host(name, home, f"  Port {port}\n") for name, port in names.items())
    files = {
        "ssh-secret/ssh-privatekey": keys.joinpath("job").read_text(),
        "ssh-secret/ssh-publickey": keys.joinpath("job.pub").read_text(),
        "ssh/server-key": keys.joinpath("server").read_text(),
        "ssh/config": hosts + _host(ADDRESS, home),
        "ssh/sshd_config": shell_text("sshd_config", HOME=home, PORT=names[own], ADDRESS=ADDRESS),
        "ssh/session.sh": shell_text("ssh_session.sh", HOME=home),
        "plugins/ssh/sshd.sh": shell_text("sshd.sh", HOME=home, SERVER=shlex.quote(server)),
        "plugins/ssh/sshbarrier.sh": shell_text("sshbarrier.sh", OTHERS=" ".join(others)),
    }
    for name in _CLIENTS:
        program = f"/usr/bin/{name}" if place.is_container else _program(name)
        if program:
            files[f"bin/{name}"] = f'#!/bin/sh\nexec {shlex.quote(program)} -F {home}/ssh/config "$@"\n'
    return files


def _host(name: str, home: str, port: str = "") -> str:
    return (
        f"Host {name}\n  HostName {ADDRESS}\n{port}  StrictHostKeyChecking no\n"
        f"  UserKnownHostsFile /dev/null\n  IdentityFile {home}/ssh-secret/ssh-privatekey\n  IdentitiesOnly yes\n"
    )


def path_line(home: str) -> str:
    """The line that makes a task find the clients."""
    return f"export PATH={shlex.quote(f'{home}/bin')}:$PATH"
