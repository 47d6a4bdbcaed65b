"""Rules about programs and paths that a task does not have, and servers in a task.

Sources: rest-server, models/v2/job/k8s.js (host network, mounts, GPUs); openpai-runtime, src/plugins/ssh;
the programs' own manuals.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Related, Severity, rule
from pai_lsp.job.parts import whole_number
from pai_lsp.job.uses import command_entries
from pai_lsp.platform.programs import nccl_variables
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.rules.commands.command_uses import CommandUse, all_uses, edit_fix, insert_fix, programs_of, scripts, uses
from pai_lsp.source.nodes import Mapping, Scalar
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import did_you_mean, nearest
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.variable_places import ScriptPlace

_MISSING = {
    "sudo": "commands already run as root, and images have no 'sudo'",
    "hdfs": "HDFS belongs to releases before 1.0", "hadoop": "HDFS belongs to releases before 1.0",
    "docker": "a task runs in a container and has no Docker", "nvidia-docker": "a task runs in a container already",
    "docker-compose": "a task runs in a container and has no Docker",
    "systemctl": "a container has no systemd", "nano": "it needs a terminal", "htop": "it needs a terminal",
}  # fmt: skip
_TERMINAL = frozenset({"vim", "vi", "emacs", "nano", "htop", "passwd", "watch", "screen", "nvtop", "gdb"})
_SHELLS = frozenset({"bash", "sh", "python", "zsh", "ipython", "mysql", "psql"})
_SERVERS = (
    "tensorboard",
    "jupyter",
    "jupyter-notebook",
    "jupyter-lab",
    "http.server",
    "gunicorn",
    "flask",
    "streamlit",
)
_LISTENING = frozenset({*_SERVERS, "uvicorn"})
_JUPYTER = frozenset({"notebook", "lab", "server"})
_PORT = lazy_pattern(r"[1-9][0-9]{1,4}")
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_MOUNT = lazy_pattern(r"/mnt/([A-Za-z0-9][\w.-]*)")
_MAKING = lazy_pattern(
    r"(?:^|[;&|(])[ \t]*(?:sudo )?(?:mkdir|mount\S*|ln|sshfs|blobfuse2?|s3fs|rclone|install|goofys|gcsfuse|az\w*|git)\b"
)
_ADDRESS_OPTION = lazy_pattern(r"--(?:master|main|server|head)[\w-]*")
_HOST = lazy_pattern(r"(?:[A-Za-z_][\w-]*@)?([a-z0-9]+)-([0-9]+)(?::.*)?")


@rule(Severity.WARNING)
def program_not_in_container(job: Job) -> Iterator[Finding]:
    """Program that containers do not have.

    The task ends with code 127, "command not found". Commands run as root, so `sudo` is not needed. A task without GPUs
    has no `nvidia-smi`.
    Source: the official images; openpai, docs/manual/cluster-user; rest-server, models/v2/job/k8s.js (GPUs).

        taskRoles:
          worker:
            commands:
              - sudo apt-get update
              # ^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - apt-get update
    """
    for use in _named(job, *_MISSING, "nvidia-smi"):
        place = use.place
        word = use.line.step.command.words[0] if use.line.step.command else use.line.name
        name = word.text
        gpu = use.role.amount("gpu") if use.role else None
        why = _MISSING.get(name, "")
        if use.line.program == "nvidia-smi" and gpu == 0:
            name, word, why = "nvidia-smi", use.line.name, "the task has no GPU"
        if not why or not use.ends_script or _may_be_there(place.script.text, name):
            continue
        fixes = edit_fix(place, "Remove 'sudo'", Span(word.span.start, word.span.end + 1), "") if name == "sudo" else ()
        if any(one.startswith("-") for one in use.line.starters) or place.script.text[word.span.end + 1 :][:1] == "-":
            fixes = ()
        yield Finding(place.span(word.span), f"'{name}' does not work here: {why}", fixes)


@rule(Severity.WARNING)
def needs_terminal(job: Job) -> Iterator[Finding]:
    """Program that needs a terminal or an answer.

    A task has no terminal and its input is empty: editors stop with an error, `read` returns code 1, `git commit`
    without a message fails.
    Source: openpai-runtime, src/runtime.d/runtime_entry.sh (started in the background, output to a pipe).

        taskRoles:
          worker:
            commands:
              - vim train.py
              # ^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - sed -i 's/lr=1/lr=0.1/' train.py
    """
    for use in uses(job, *_TERMINAL, "top", "tmux", "read", "git", with_callbacks=False):
        line, texts = use.line, use.line.texts
        if line.program == "git" and not (texts[:1] == ("commit",) and not _has_message(texts)):
            continue
        if line.step.has_piped_input or not use.ends_script:
            continue
        short = "".join(text[1:] for text in texts if re.fullmatch(r"-[A-Za-z0-9.]+", text))
        if line.program in _MISSING and line.program not in {"nano", "htop"}:
            continue
        if line.program == "top" and "b" in short:
            continue
        if line.program == "tmux" and ("d" in short or (texts and texts[0] not in {"new", "new-session", "attach"})):
            continue
        if line.program in {"vim", "vi", "emacs"} and {"-c", "-es", "--batch", "-E", "-s", "--version"} & set(texts):
            continue
        if line.program in {"gdb", "screen"} and (texts and short and set("dLbm") & set(short)):
            continue
        if line.program == "read" and any(text in {"-t", "-u"} or text.startswith("-t") for text in texts):
            continue
        if line.program in _TERMINAL and ("--version" in texts or "--help" in texts):
            continue
        what = "there is nothing to read" if line.program == "read" else "a task has no terminal"
        yield Finding(use.word(line.name), f"'{line.program}' fails here: {what}")


@rule(Severity.INFORMATION)
def reads_empty_input(job: Job) -> Iterator[Finding]:
    """Shell or interpreter without a script.

    Its input is empty, so it ends at once with code 0 and does nothing.
    Source: openpai-runtime, src/runtime.d/runtime_entry.sh.

        taskRoles:
          worker:
            commands:
              - python
              # ^^^^^^ information
              - python train.py

    Good:

        taskRoles:
          worker:
            commands:
              - python train.py
    """
    for use in uses(job, *_SHELLS, with_callbacks=False):
        if use.line.arguments or use.line.step.has_piped_input or use.line.starters or use.line.is_module:
            continue
        parent = use.line.step.parent
        if use.line.step.after != "|" and parent is not None and not parent.is_substitution:
            yield Finding(use.word(use.line.name), f"'{use.line.program}' reads a program from its empty input")


@rule(Severity.ERROR)
def jupyter_as_root(job: Job) -> Iterator[Finding]:
    """Jupyter started by root without `--allow-root`.

    Containers run as root, and Jupyter refuses that: "Running as root is not recommended".
    Source: jupyter_server, serverapp.py, init_webapp.

        taskRoles:
          worker:
            commands:
              - jupyter lab --ip 0.0.0.0
              # ^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - jupyter lab --allow-root --ip 0.0.0.0
    """
    for use, end in _jupyters(job):
        texts = use.line.texts
        if any("allow-root" in text or "allow_root" in text for text in texts) or "allow_root" in use.place.script.text:
            continue
        span = Span(use.line.name.span.start, end)
        fixes = insert_fix(use.place, end, " --allow-root", safe=True)
        yield Finding(use.span(span), "'jupyter' refuses to run as root; add '--allow-root'", fixes)


@rule(Severity.WARNING)
def server_on_localhost(job: Job) -> Iterator[Finding]:
    """Server that only listens on localhost.

    Nothing outside of the task's machine reaches it. TensorBoard and Jupyter do this by default.
    Source: TensorBoard, program.py, `--bind_all`; jupyter_server, `ServerApp.ip`.

        taskRoles:
          worker:
            commands:
              - tensorboard --logdir /tmp/log --port $PAI_PORT_LIST_worker_0_http
              # ^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - tensorboard --bind_all --logdir /tmp/log --port $PAI_PORT_LIST_worker_0_http
    """
    if programs_of(job).isdisjoint(_LISTENING):
        return
    jupyters = [use for use, _ in _jupyters(job)]
    others = uses(job, "tensorboard", "http.server", "flask", "gunicorn", "uvicorn", "streamlit", with_callbacks=False)
    for use in (*jupyters, *others):
        found = _host(use)
        is_jupyter = use in jupyters
        if found is not None:
            span, host = found
            if host in _LOCAL:
                at = Span(use.place.script.text.rfind(host, span.start, span.end), span.end)
                fixes = edit_fix(use.place, "Change to '0.0.0.0'", Span(at.start, at.start + len(host)), "0.0.0.0")  # noqa: S104
                yield Finding(use.span(span), f"on '{host}' nothing outside of the task reaches it", fixes)
        elif is_jupyter or use.line.program == "tensorboard":
            if any(text in {"--bind_all", "--version", "--help", "-h", "--inspect", "--db"} for text in use.line.texts):
                continue
            if any("config" in text or ".ip" in text for text in use.line.texts) or any(
                not word.is_literal and not use.line.written(word).startswith(("$PAI_", "${PAI_", '"'))
                for word in use.line.arguments
            ):
                continue
            option = "--ip 0.0.0.0" if is_jupyter else "--bind_all"
            end = (
                use.line.arguments[0].span.end
                if is_jupyter and use.line.program == "jupyter"
                else use.line.name.span.end
            )
            fixes = insert_fix(use.place, end, f" {option}")
            message = f"this listens on localhost only, where nothing reaches it; add '{option}'"
            yield Finding(use.word(use.line.name), message, fixes)


@rule(Severity.INFORMATION)
def fixed_port(job: Job) -> Iterator[Finding]:
    """Fixed port of a server.

    Tasks share the network of their machine: another task may use the port already. Declare a port and use
    `$PAI_PORT_LIST_ROLE_INDEX_LABEL`; `http` always exists.
    Source: rest-server, models/v2/job/k8s.js (`hostNetwork: true`).

        taskRoles:
          worker:
            commands:
              - tensorboard --bind_all --logdir /tmp/log --port 6006
              #                                                 ^^^^ information

    Good:

        taskRoles:
          worker:
            commands:
              - tensorboard --bind_all --logdir /tmp/log --port $PAI_PORT_LIST_worker_0_http
    """
    names = ("torchrun", "torch.distributed.launch", "accelerate", "deepspeed", "uvicorn", *_SERVERS)
    for use in uses(job, *names, with_callbacks=False):
        distributed = use.line.program in {"torchrun", "torch.distributed.launch", "accelerate", "deepspeed"}
        role = use.role
        if role is None or (distributed and role.instances < 2):
            continue
        for span in _ports(use, distributed=distributed):
            own = f"$PAI_PORT_LIST_{converted_role_name(role.name)}_0_http"
            fixes = edit_fix(use.place, f"Change to '{own}'", span, own) if role.instances == 1 else ()
            port = use.place.script.text[span.start : span.end]
            message = f"another task on the same machine may use port {port}; use a port of the platform"
            yield Finding(use.span(span), message, fixes)


@rule(Severity.ERROR)
def port_list_as_port(job: Job) -> Iterator[Finding]:
    """Several ports where a program wants one.

    A port that is declared with a count above 1 gives a list such as `31002,31900`: "invalid int value". Use the first
    one, `${NAME%%,*}`.
    Source: openpai-runtime, src/init.d/framework_parser.py, generate_runtime_env.

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0, ports: {web: 2}}
            commands:
              - python -m http.server $PAI_PORT_LIST_worker_0_web
              #                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0, ports: {web: 2}}
            commands:
              - python -m http.server ${PAI_PORT_LIST_worker_0_web%%,*}
    """
    if "PAI_PORT_LIST" not in job.text:
        return
    roles = {converted_role_name(role.name): role for role in job.task_roles}
    counts = {
        name: {entry.name: whole_number(entry.value) or 1 for entry in role.port_labels} for name, role in roles.items()
    }
    if not any(count > 1 for labels in counts.values() for count in labels.values()):
        return
    for use in all_uses(job, with_callbacks=False):
        if use.line.program in {"echo", "read", "printf", "export", "for", "IFS", "["}:
            continue
        for number, word in enumerate(use.line.arguments):
            written = use.line.written(word)
            match = re.fullmatch(
                r"\"?(?:--?[\w-]+=)?(?:[\w.]+:|\$\{?\w+\}?:)?(\$\{?(PAI_PORT_LIST_\w+?)\}?)\"?", written
            )
            before = use.line.arguments[number - 1].text if number else ""
            name = written.partition("=")[0] if written.startswith("-") else before
            is_port = re.fullmatch(r"--?[\w-]*port", name.lower()) is not None or ":" in written
            if match is None or not (is_port or use.line.program == "http.server" or before in {"-p", "-l"}):
                continue
            variable = job.platform.environment_variable(match[2])
            parts = dict(variable.match(match[2]) or {}) if variable else {}
            if counts.get(parts.get("role", ""), {}).get(parts.get("label", ""), 1) < 2:
                continue
            at = word.span.start + match.start(1)
            span = Span(at, at + len(match[1]))
            new = f"${{{match[2]}%%,*}}"
            fixes = edit_fix(use.place, f"Change to '{new}'", span, new)
            yield Finding(use.span(span), f"this is a list of ports; the first one is '{new}'", fixes)


@rule(Severity.WARNING)
def path_without_storage(job: Job) -> Iterator[Finding]:
    """Path under `/mnt` that no storage is mounted to.

    Only the storages under `extras.storages`, or of the plugin teamwise_storage, are mounted; other folders under
    `/mnt` do not exist: "No such file or directory".
    Source: rest-server, models/v2/job/k8s.js (storages, `mountPath` defaults to `/mnt/NAME`).

        taskRoles:
          worker:
            commands:
              - cp -r /mnt/data/train .
              #       ^^^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - cp -r /mnt/data/train .
        extras:
          storages:
            - name: data
              mountPath: /mnt/data
    """
    if "/mnt/" not in job.text or any(job.uses_of_plugin("teamwise_storage")):
        return
    mounted = _mount_paths(job)
    if mounted is None or any(list(command_entries(use)) for use in job.uses_of_plugin("cmd")):
        return
    for place in scripts(job):
        made = [line for line in place.script.text.split("\n") if "/mnt/" in line and _MAKING.search(line)]
        for use in all_uses(job, with_callbacks=False) if "/mnt/" in place.script.text else ():
            if use.place.script is not place.script or use.role is not place.role or not use.ends_script:
                continue
            if use.line.program in {"echo", "printf", "export", "mkdir", "ln", "mount", "rsync", "test", "["}:
                continue
            for word in use.line.arguments:
                match = _MOUNT.search(word.text)
                if match is None or not word.is_literal or any(match[0] in line for line in made):
                    continue
                if re.search(rf"(?:\[|test) (?:! )?-[defrsx] [\"']?{re.escape(match[0])}", place.script.text):
                    continue  # the script asks whether it is there
                if any(match[0] == path or path.startswith(f"{match[0]}/") or path == "/mnt" for path in mounted):
                    continue
                written = use.line.written(word)
                found = re.search(r"/mnt/[\w./-]+", written)
                if found is None:
                    continue
                span = Span(word.span.start + found.start(), word.span.start + found.end())
                known = f"; mounted are {', '.join(sorted(mounted))}" if mounted else ""
                yield Finding(use.span(span), f"no storage is mounted at '{match[0]}'{known}")


@rule(Severity.WARNING)
def ssh_without_plugin(job: Job) -> Iterator[Finding]:
    """Ssh to another task without the ssh plugin, or the name of a task where an address is needed.

    Names such as `worker-0` only exist in the configuration that the plugin `ssh` with `jobssh: true` writes for ssh.
    Other programs need `$PAI_HOST_IP_ROLE_INDEX`.
    Source: openpai-runtime, src/plugins/ssh/sshd.sh.

        taskRoles:
          worker:
            instances: 2
            commands:
              - scp train.py worker-1:/tmp/
              # ^^^ warning

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - scp train.py worker-1:/tmp/
        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true}
    """
    programs = ("ssh", "scp", "sftp", "rsync", "ping", "nc", "curl", "wget", "telnet")
    connecting = list(uses(job, *programs, with_callbacks=False))
    roles = {converted_role_name(role.name) for role in job.task_roles}
    has_ssh = any(use.is_on("jobssh") for use in job.uses_of_plugin("ssh"))
    for use in uses(job, "python", with_callbacks=False):
        for before, word in pairwise(use.line.arguments):
            if not before.text.startswith("--") or not _ADDRESS_OPTION.fullmatch(before.text):
                continue
            match = _HOST.fullmatch(word.text)
            if match and match[1] in roles:
                new = f"$PAI_HOST_IP_{match[1]}_{match[2]}"
                span = Span(word.span.start, word.span.start + len(f"{match[1]}-{match[2]}"))
                fixes = edit_fix(use.place, f"Change to '{new}'", span, new)
                yield Finding(use.span(span), f"this is a name for ssh only, not an address; use {new}", fixes)
    for use in connecting:
        for word in use.line.arguments:
            match = _HOST.fullmatch(word.text.removeprefix("http://"))
            if match is None or match[1] not in roles or not word.is_literal:
                continue
            if use.line.program in {"ssh", "scp", "sftp", "rsync"}:
                if not has_ssh and "ssh_config" not in use.place.script.text and use.ends_script:
                    related = (Related(use.word(word), "the name of a task"),)
                    message = "tasks only reach each other by ssh with the plugin 'ssh' and 'jobssh: true'"
                    yield Finding(use.word(use.line.name), message, related=related)
            elif "/etc/hosts" not in use.place.script.text:
                new = f"$PAI_HOST_IP_{match[1]}_{match[2]}"
                start = use.place.script.text.find(f"{match[1]}-{match[2]}", word.span.start)
                span = Span(start, start + len(match[1]) + 1 + len(match[2]))
                fixes = edit_fix(use.place, f"Change to '{new}'", span, new)
                yield Finding(use.span(span), f"this is a name for ssh only, not an address; use {new}", fixes)
            break


@rule(Severity.INFORMATION)
def unknown_nccl_variable(job: Job) -> Iterator[Finding]:
    """Variable that NCCL does not read.

    NCCL ignores unknown variables without a message.
    Source: NVIDIA/nccl, src, NCCL_PARAM and ncclGetEnv; schemas/programs.json lists the names.

        taskRoles:
          worker:
            commands:
              - export NCCL_IB_DISABLED=1
              #        ^^^^^^^^^^^^^^^^ information

    Good:

        taskRoles:
          worker:
            commands:
              - export NCCL_IB_DISABLE=1
    """
    if "NCCL_" not in job.text:
        return
    for place in scripts(job, with_callbacks=True):
        for one in place.script.assignments:
            if not one.name.startswith("NCCL_") or one.name in nccl_variables() or "PLUGIN" in one.name:
                continue
            if any(use.name == one.name for use in place.script.uses):
                continue
            near = nearest(one.name, nccl_variables())
            if near:
                fixes = edit_fix(place, f"Change to '{near[0]}'", one.span, near[0])
                message = f"'{one.name}' is not a variable of NCCL{did_you_mean(one.name, near)}"
                yield Finding(place.span(one.span), message, fixes)


@rule(Severity.WARNING)
def loopback_between_tasks(job: Job) -> Iterator[Finding]:
    """Loopback interface for communication between tasks.

    `lo` only reaches the same machine, so several tasks do not find each other.
    Source: NCCL, environment variables, `NCCL_SOCKET_IFNAME`; PyTorch, `GLOO_SOCKET_IFNAME`.

        taskRoles:
          worker:
            instances: 2
            commands:
              - export NCCL_SOCKET_IFNAME=lo
              #                           ^^ warning

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - export NCCL_SOCKET_IFNAME=eth0
    """
    for place, name, value in _values(job, ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")):
        text = place.script.text[value.start : value.end].strip("\"'=")
        if text == "lo" and place.role is not None and place.role.instances > 1:
            yield Finding(place.span(value), f"'{name}=lo' only reaches the same machine")


@rule(Severity.WARNING)
def cuda_devices(job: Job) -> Iterator[Finding]:
    """`CUDA_VISIBLE_DEVICES` with GPUs that the task does not have, or with a space.

    A task numbers its GPUs from 0; CUDA ends the list at the first number that does not exist. After a space, bash
    takes the rest for the program to run.
    Source: the CUDA C++ Programming Guide, "CUDA Environment Variables".

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
            commands:
              - CUDA_VISIBLE_DEVICES=0,1,2,3 python train.py
              #                      ^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
            commands:
              - CUDA_VISIBLE_DEVICES=0,1 python train.py
    """
    for place, _, value in _values(job, ("CUDA_VISIBLE_DEVICES",)):
        text = place.script.text[value.start : value.end].strip("\"'")
        gpu = place.role.amount("gpu") if place.role else None
        if text.endswith(",") and (
            match := re.compile(r"[ \t]+([0-9, ]*[0-9])(?=[ \t])").match(place.script.text, value.end)
        ):
            span = Span(value.start, match.end())
            new = re.sub(r"[ \t]+", "", place.script.text[span.start : span.end])
            fixes = edit_fix(place, f"Change to '{new}'", span, new)
            yield Finding(place.span(span), f"bash runs '{match[1]}' as a program; remove the space", fixes)
        elif gpu and re.fullmatch(r"[0-9]+(?:,[0-9]+)*", text):
            numbers = [int(one) for one in text.split(",")]
            if max(numbers) >= gpu:
                new = ",".join(str(one) for one in range(min(gpu, len(numbers))))
                start = place.script.text.find(text, value.start)
                span = Span(start, start + len(text))
                fixes = edit_fix(place, f"Change to '{new}'", span, new)
                count = f"{gpu} GPU{'s' * (gpu != 1)}"
                yield Finding(place.span(span), f"the task has {count}, numbered from 0", fixes)


def _named(job: Job, *names: str) -> Iterator[CommandUse]:
    """The command lines of some programs, and those with sudo in front."""
    yield from uses(job, *names, with_callbacks=False)
    if "sudo" in job.text:
        yield from (use for use in all_uses(job, with_callbacks=False) if use.line.starters[:1] == ("sudo",))


@lru_cache(maxsize=64)
def _may_be_there(text: str, name: str) -> bool:
    """Whether a script installs a program, defines it or asks for it."""
    asks = rf"(?:\b(?:install|add|which|type|hash|alias|function)|-v)\b[^\n]*\b{name}\b|\b{name}\s*\(\)"
    return re.search(asks, text) is not None


def _has_message(texts: tuple[str, ...]) -> bool:
    return any(
        text.startswith(("--message", "--file", "--no-edit", "--amend", "-F", "-C"))
        or re.fullmatch(r"-[a-z]*m.*", text)
        for text in texts
    )


def _jupyters(job: Job) -> Iterator[tuple[CommandUse, int]]:
    """The commands that start Jupyter, each with the end of its name."""
    for use in uses(job, "jupyter", "jupyter-notebook", "jupyter-lab", with_callbacks=False):
        words = use.line.arguments
        texts = use.line.texts
        if any(
            text in {"--version", "--help", "-h", "--generate-config", "list", "stop", "password"} for text in texts
        ):
            continue
        if use.line.program != "jupyter":
            yield use, use.line.name.span.end
        elif words and words[0].text in _JUPYTER:
            yield use, words[0].span.end


def _host(use: CommandUse) -> tuple[Span, str] | None:
    """The option of a server for its address, and the value."""
    words = use.line.arguments
    for number, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        if name in {"--host", "--ip", "--bind", "-b", "--server.address", "--ServerApp.ip", "--NotebookApp.ip"}:
            if equals:
                return word.span, value.strip("'\"").partition(":")[0]
            if number + 1 < len(words):
                span = Span(word.span.start, words[number + 1].span.end)
                return span, words[number + 1].text.partition(":")[0]
    return None


def _ports(use: CommandUse, *, distributed: bool) -> Iterator[Span]:
    """The fixed numbers of ports of a command line."""
    names = {"--port", "--server.port", "--http-port"}
    if distributed:
        names = {"--master_port", "--master-port", "--main_process_port", "--main-process-port"}
    words = use.line.arguments
    for number, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        at = word.span.end - len(value)
        if name in names and not equals and number + 1 < len(words):
            value, at = words[number + 1].text, words[number + 1].span.start
        elif use.line.program == "http.server" and number == 0:
            value, at = word.text, word.span.start
        elif name not in names:
            continue
        span = Span(at, at + len(value))
        if _PORT.fullmatch(value) and use.place.script.text[span.start : span.end] == value:
            yield span
        if distributed and not word.text.startswith("-"):
            return


def _mount_paths(job: Job) -> set[str] | None:
    """Where storages are mounted; None where that is not known."""
    found: set[str] = set()
    for node in job.storages:
        if not isinstance(node, Mapping):
            return None
        path, name = node.get("mountPath"), node.get("name")
        value = path if path is not None else name
        if not isinstance(value, Scalar) or "<%" in value.text:
            return None
        found.add(value.text.rstrip("/") if path is not None else f"/mnt/{value.text}")
    options = job.text
    return None if "storageConfigNames" in options or "enableLocalStorage" in options else found


def _values(job: Job, names: tuple[str, ...]) -> Iterator[tuple[ScriptPlace, str, Span]]:
    """The values that scripts give to some variables."""
    if not any(name in job.text for name in names):
        return
    for place in scripts(job):
        text = place.script.text
        for one in place.script.assignments:
            if one.name in names and text.startswith("=", one.span.end):
                match = re.compile(r"[^\s;&|]*").match(text, one.span.end + 1)
                if match:
                    yield place, one.name, Span(*match.span())


RULES = (
    program_not_in_container,
    needs_terminal,
    reads_empty_input,
    jupyter_as_root,
    server_on_localhost,
    fixed_port,
    port_list_as_port,
    path_without_storage,
    ssh_without_plugin,
    unknown_nccl_variable,
    loopback_between_tasks,
    cuda_devices,
)
