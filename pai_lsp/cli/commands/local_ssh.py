"""The plugin ssh in a run on this machine: an ssh server for each task, and a key pair for this run alone.

The servers listen on this machine's own address only, accept only that key, and read nothing of the user's. A task
finds `ssh`, `scp` and `sftp` that know the other tasks by name, as on a cluster. Keys of `userssh` get no access.
Sources: openpai-runtime, src/plugins/ssh/init.py, sshd.sh and sshbarrier.sh; sshd_config(5).
"""

from __future__ import annotations

import getpass
import os
import shlex
import subprocess

from pai_lsp.cluster.task_plan import HOME
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.files import program_on_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pai_lsp.cluster.task_plan import TaskPlan

_ADDRESS = "127.0.0.1"
_PLUGIN = f"{HOME}/plugins/ssh/"
_IS_ON = f"{_PLUGIN}sshd.sh true"
_CLIENTS = ("ssh", "scp", "sftp")
# Servers are usually in folders that PATH of a user does not have.
_FOLDERS_OF_SERVERS = ("/usr/sbin", "/usr/local/sbin", "/sbin")
_SECONDS_TO_START = 20


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
        command = [
            _program("ssh-keygen"),
            "-q",
            "-t",
            "ed25519",
            "-N",
            "",
            "-C",
            "pai-lsp-run",
            "-f",
            str(folder / name),
        ]
        if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode:  # noqa: S603 - our own words
            raise OSError(f"ssh-keygen failed in '{folder}'")


def script_here(lines: list[str], *, is_contained: bool) -> list[str]:
    """The lines of the plugin's script for a run here: without a container, nothing is installed."""
    return [line for line in lines if is_contained or not line.startswith("apt-get update;")]


def write_ssh(plan: TaskPlan, folder: Path, home: str, keys: Path, ports: Mapping[tuple[str, int], str]) -> None:
    """Write what the scripts of the plugin run and read.

    home: the path of `folder` as the task sees it. ports: of the servers, by role and index of the tasks that run.
    """
    is_contained = home == HOME
    user = "root" if is_contained else getpass.getuser()
    names = {f"{converted_role_name(role)}-{index}": port for (role, index), port in ports.items()}
    own = f"{converted_role_name(plan.role.name)}-{plan.index}"
    server = "/usr/sbin/sshd" if is_contained else _program("sshd")
    hosts = "".join(_host(name, home, user, f"  Port {port}\n") for name, port in names.items())
    files = {
        "ssh-secret/ssh-privatekey": keys.joinpath("job").read_text(),
        "ssh-secret/ssh-publickey": keys.joinpath("job.pub").read_text(),
        "ssh/server-key": keys.joinpath("server").read_text(),
        "ssh/config": hosts + _host(_ADDRESS, home, user),
        "ssh/sshd_config": _SERVER.format(home=home, port=names[own], address=_ADDRESS),
        "ssh/session.sh": _SESSION.format(home=home, work="$PAI_WORK_DIR"),
        "plugins/ssh/sshd.sh": _START.format(home=home, server=shlex.quote(server), tries=_SECONDS_TO_START * 10),
        "plugins/ssh/sshbarrier.sh": _BARRIER.format(others=" ".join(name for name in names if name != own)),
    }
    for name in _CLIENTS:
        program = f"/usr/bin/{name}" if is_contained else _program(name)
        if program:
            files[f"bin/{name}"] = f'#!/bin/sh\nexec {shlex.quote(program)} -F {home}/ssh/config "$@"\n'
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
        # A program, or a key, which ssh refuses if others can read it.
        target.chmod(0o600 if "key" in target.name or "config" in target.name else 0o700)


def _host(name: str, home: str, user: str, port: str = "") -> str:
    return (
        f"Host {name}\n  HostName {_ADDRESS}\n{port}  User {user}\n  StrictHostKeyChecking no\n"
        f"  UserKnownHostsFile /dev/null\n  IdentityFile {home}/ssh-secret/ssh-privatekey\n  IdentitiesOnly yes\n"
    )


def path_line(home: str) -> str:
    """The line that makes a task find the clients."""
    return f"export PATH={shlex.quote(f'{home}/bin')}:$PATH"


_SERVER = """\
ListenAddress {address}
Port {port}
HostKey {home}/ssh/server-key
AuthorizedKeysFile {home}/ssh-secret/ssh-publickey
AuthenticationMethods publickey
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
LogLevel ERROR
ForceCommand /bin/bash {home}/ssh/session.sh
Subsystem sftp internal-sftp
"""
# A session has the environment of the task, and begins in its folder, not in the user's home.
_SESSION = """\
source {home}/ssh/environment
cd "{work}"
case "${{SSH_ORIGINAL_COMMAND:-}}" in
  '') exec /bin/bash ;;
  internal-sftp)
    for program in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec; do
      [ -x $program/sftp-server ] && exec $program/sftp-server
    done
    exit 127 ;;
  *) exec /bin/bash -c "$SSH_ORIGINAL_COMMAND" ;;
esac
"""
_START = """\
#!/bin/bash
set -o errexit -o nounset -o pipefail
export -p >{home}/ssh/environment
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
{server} -D -e -f {home}/ssh/sshd_config 2>{home}/ssh/server.log &
for ((tries = 0; tries < {tries}; tries++)); do
  (exec 3<>"/dev/tcp/127.0.0.1/$PAI_CONTAINER_SSH_PORT") 2>/dev/null && exit 0
  kill -0 $! 2>/dev/null || break
  sleep 0.1
done
echo "the ssh server did not start" >&2
cat {home}/ssh/server.log >&2
exit 1
"""
_BARRIER = """\
#!/bin/bash
tries=$((${{1:-300}} * 60))
for name in {others}; do
  until ssh -q -o BatchMode=yes "$name" true; do
    ((tries-- > 0)) || {{ echo "no ssh connection to $name" >&2; exit 10; }}
    sleep 1
  done
done
echo "All ssh connections are established"
"""
