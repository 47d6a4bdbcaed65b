"""Rules about programs, paths and hosts that a task does not have, and programs that wait for a terminal.

Among the paths are those where commands look for the content of a prerequisite that is at another path.
Sources: rest-server, models/v2/job/k8s.js (mounts); openpai-runtime, src/plugins/ssh; the programs' own manuals.
"""

from __future__ import annotations

import posixpath
import re
from itertools import islice, pairwise

from pai_lsp.findings.diagnostic import Finding, Related, Severity, rule
from pai_lsp.job.uses import command_entries
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.rules.commands.command_uses import (
    CommandUse,
    all_uses,
    changed,
    edit_fix,
    image_address,
    known_lines,
    scripts,
    uses,
)
from pai_lsp.rules.plugins.storage_rules import read_storage
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import nearest
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.command_lines import CommandLine, CommandLines
    from pai_lsp.embedded.shell_script import Word
    from pai_lsp.embedded.shell_structure import Step
    from pai_lsp.expansion.effective import EffectiveRole
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.variable_places import ScriptPlace

# Source: the Dockerfiles of docker-library (buildpack-deps, debian, python, ubuntu), nvidia/cuda, pytorch/pytorch and
# tensorflow/tensorflow: none of them installs sudo or Hadoop.
_BASIC_IMAGES = lazy_pattern(
    r"(?:docker\.io/)?(?:(?:library/)?(?:buildpack-deps|debian|python|ubuntu)|nvidia/cuda|pytorch/pytorch"
    r"|tensorflow/tensorflow)(?:[:@].*)?"
)
_WITHOUT_HDFS = "only OpenPAI releases before 1.0 have HDFS; else the image must have its client"
_MISSING = {
    "sudo": "commands already run as root, and images have no 'sudo'",
    "hdfs": _WITHOUT_HDFS, "hadoop": _WITHOUT_HDFS,
    "docker": "a task runs in a container and has no Docker", "nvidia-docker": "a task runs in a container already",
    "docker-compose": "a task runs in a container and has no Docker",
    "systemctl": "a container has no systemd",
}  # fmt: skip
_TERMINAL = frozenset({"vim", "vi", "emacs", "nano", "htop", "passwd", "watch", "screen", "nvtop", "gdb"})
# The words with which a program does not ask, or needs no terminal.
_LETTERS = r"-[A-Za-z0-9.]*[{}][A-Za-z0-9.]*"
_BATCH = "-c|-es|--batch|-batch|--script|-E|-s"
_UNATTENDED = {
    **dict.fromkeys(("vim", "vi"), lazy_pattern(rf"{_BATCH}|\+\w*q.*")), "emacs": lazy_pattern(_BATCH),
    "gdb": lazy_pattern(r"--?(?:batch|ex|x|command|eval-command)\b.*"), "read": lazy_pattern(r"-t.*|-u"),
    "screen": lazy_pattern(_LETTERS.format("dLbmXl")), "passwd": lazy_pattern(_LETTERS.format("dluSe")),
    "top": lazy_pattern(_LETTERS.format("b")), "tmux": lazy_pattern(_LETTERS.format("d")),
    "git": lazy_pattern(r"--(?:message|file|no-edit|amend).*|-[FC].*|-[a-ln-z]*m.*", re.DOTALL),
    "accelerate": lazy_pattern("default|update|--help|-h"),
}  # fmt: skip
# The commands of other programs that ask.
_ASKING = {"git": {"commit"}, "accelerate": {"config"}, "tmux": {"", "new", "new-session", "attach"}}
_INSTALLING = frozenset({"install", "add"})
_SHELLS = frozenset({"bash", "sh", "python", "zsh", "ipython", "mysql", "psql"})
# Programs that connect to another host by ssh, whose configuration knows the names of tasks; and others.
_BY_SSH = ("ssh", "scp", "sftp", "rsync")
_BY_ADDRESS = ("ping", "nc", "curl", "wget", "telnet")
_MOUNT = lazy_pattern(r"/mnt/([A-Za-z0-9][\w.-]*)")
_MAKING = {
    "mkdir", "ln", "sshfs", "blobfuse", "blobfuse2", "s3fs", "rclone", "install", "goofys", "gcsfuse", "git", "aws",
    "gsutil", "gcloud", "hf", "huggingface-cli", "modelscope", "venv", "virtualenv", "conda", "mamba",
}  # fmt: skip
# Programs that make the folder that is their last word, or the value of an option.
_MAKING_LAST = frozenset({"cp", "mv", "rsync"})
_MAKING_OPTION = {"wget": frozenset({"-P", "--directory-prefix"}), "unzip": frozenset({"-d"})}
_WITH_PATTERN = frozenset({"grep", "egrep", "fgrep", "awk", "sed"})
_FILE_TEST = lazy_pattern(r"-[defrsx]")
_ADDRESS_OPTION = lazy_pattern(r"--(?:master|main|server|head)[\w-]*(?:addr|address|host|ip|endpoint|url)")
_HOST = lazy_pattern(r"(?:[A-Za-z_][\w-]*@)?([a-z0-9]+)-([0-9]+)(?::.*)?")


@rule(Severity.WARNING, spreads=True)
def program_not_in_container(job: Job) -> Iterator[Finding]:
    """Containers do not have a program.

    The task ends with code 127, "command not found". Commands run as root, so `sudo` is not needed: it is a warning for
    images that are known to have none, and one hint a job for others. A task without GPUs has no `nvidia-smi`.
    Source: the official images; openpai, docs/manual/cluster-user; rest-server, models/v2/job/k8s.js (GPUs).

        taskRoles:
          worker:
            commands:
              - docker run example.com/image
              # ^^^^^^ warning
              - sudo apt-get update
              # ^^^^ hint

    Good:

        taskRoles:
          worker:
            commands:
              - apt-get update
    """
    is_hinted = False
    has_docker = any(job.uses_of_plugin("dind"))
    known: dict[tuple[ScriptPlace, str], tuple[bool, set[Step | None]]] = {}
    for use in _named(job, *_MISSING, "nvidia-smi"):
        place = use.place
        word = use.line.step.command.words[0] if use.line.step.command else use.line.name
        name = word.text
        gpu = use.role.amount("gpu") if use.role else None
        why = _MISSING.get(name, "")
        if use.line.program == "nvidia-smi" and gpu == 0:
            name, word, why = "nvidia-smi", use.line.name, "the task has no GPU"
        if not why or not use.ends_script or (has_docker and name.startswith("docker")):
            continue
        is_guess = name == "sudo" and not _is_of_basic_image(job, use.role)
        if is_guess and is_hinted:
            continue
        if (place, name) not in known:
            known[place, name] = _may_be_there(use, name), _questions(place, name)
        is_there, questions = known[place, name]
        # `if systemctl is-active x; then systemctl stop x; fi`
        if is_there or (questions and not questions.isdisjoint(use.line.step.ancestors)):
            continue
        rest = use.line.step.command.words[1:2] if use.line.step.command and name == "sudo" else ()
        is_plain = bool(rest) and not rest[0].text.startswith("-")
        fixes = edit_fix(place, "Remove 'sudo'", Span(word.span.start, rest[0].span.start), "") if is_plain else ()
        is_hinted = is_hinted or is_guess
        if is_guess:
            why = "commands already run as root, and many images have no 'sudo'"
            yield Finding(place.span(word.span), f"'{name}' is not needed: {why}", fixes, severity=Severity.HINT)
        else:
            is_known = why != _WITHOUT_HDFS or _is_of_basic_image(job, use.role)
            severity = None if is_known else Severity.INFORMATION
            yield Finding(place.span(word.span), f"'{name}' does not work here: {why}", fixes, severity=severity)


def _is_of_basic_image(job: Job, role: TaskRole | None) -> bool:
    """Whether the image of a task role is known to have neither sudo nor Hadoop."""
    return _BASIC_IMAGES.fullmatch(image_address(job, role)) is not None


@rule(Severity.WARNING, about=(*_TERMINAL, "top", "tmux", "read", "git", "accelerate"), spreads=True)
def needs_terminal(job: Job) -> Iterator[Finding]:
    """A program needs a terminal or an answer.

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
    for use in uses(job, *_TERMINAL, "top", "tmux", "read", "git", "accelerate"):
        line, texts = use.line, use.line.texts
        if line.program in _ASKING and next(iter(texts), "") not in _ASKING[line.program]:
            continue
        unattended = _UNATTENDED.get(line.program)
        if line.step.has_piped_input or not use.ends_script or (unattended and any(map(unattended.fullmatch, texts))):
            continue
        if line.program == "read" and any(step.defines for step in line.step.ancestors):
            continue  # it reads what the function's caller gives
        if line.program in _TERMINAL and ("--version" in texts or "--help" in texts):
            continue
        what = "there is nothing to read" if line.program == "read" else "a task has no terminal"
        yield Finding(use.word(line.name), f"'{line.program}' fails here: {what}")


@rule(Severity.INFORMATION, about=_SHELLS)
def reads_empty_input(job: Job) -> Iterator[Finding]:
    """A shell or interpreter is started without a script.

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
        if use.line.arguments or use.line.step.has_piped_input or use.line.wrappers or use.line.is_module:
            continue
        parent = use.line.step.parent
        if use.line.step.after != "|" and parent is not None and not parent.is_substitution:
            yield Finding(use.word(use.line.name), f"'{use.line.program}' reads a program from its empty input")


@rule(Severity.WARNING, spreads=True)
def path_without_storage(job: Job) -> Iterator[Finding]:
    """No storage is mounted to a path under `/mnt`.

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
        made = [word.text for line in place.lines.all for word in _made_by(line)]
        asked = _asked_paths(place.lines)
        for use in (CommandUse(place, line) for line in place.lines.all):
            if not use.ends_script or use.line.program in _NO_READERS:
                continue
            for word in use.line.arguments:
                match = _MOUNT.search(word.text)
                if match is None or not word.is_literal or any(match[0] in one for one in made):
                    continue
                is_searched_for = " " in word.text and use.line.program in _WITH_PATTERN
                is_file_of_image = match.end() == len(word.text) and "." in match[1]  # in `/mnt` itself
                is_asked_for = any(path.startswith(match[0]) for path in asked)
                is_mounted = any(path in {match[0], "/mnt"} or path.startswith(f"{match[0]}/") for path in mounted)
                found = re.search(r"/mnt/[\w./-]+", use.line.written(word))
                if found and not (is_searched_for or is_file_of_image or is_asked_for or is_mounted):
                    span = Span(word.span.start + found.start(), word.span.start + found.end())
                    known = f"; mounted are {', '.join(sorted(mounted))}" if mounted else ""
                    yield Finding(use.span(span), f"no storage is mounted at '{match[0]}'{known}")


# Programs that read no storage; those of `_MISSING` are reported by `program_not_in_container`.
_NO_READERS = {"echo", "printf", "export", "mkdir", "ln", "mount", "rsync", "test", "[", *_MISSING}


@rule(Severity.WARNING, about=(*_BY_SSH, *_BY_ADDRESS, "python", "deepspeed"))
def ssh_without_plugin(job: Job) -> Iterator[Finding]:
    """A command uses ssh to another task without the ssh plugin, or a name instead of an address.

    Names such as `worker-0` only exist in the configuration that the plugin `ssh` with `jobssh: true` writes for ssh.
    Other programs need `$PAI_HOST_IP_ROLE_INDEX`. With a file of several hosts, deepspeed starts its processes by ssh.
    Source: openpai-runtime, src/plugins/ssh/sshd.sh; deepspeed/launcher/runner.py, main.

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
    roles = {converted_role_name(role.name) for role in job.task_roles}
    has_ssh = any(use.is_on("jobssh") for use in job.uses_of_plugin("ssh"))
    for use in uses(job, "python", with_callbacks=False):
        for before, word in pairwise(use.line.arguments):
            if before.text[:2] != "--" or not _ADDRESS_OPTION.fullmatch(before.text):
                continue
            match = _HOST.fullmatch(word.text if word.text not in roles else f"{word.text}-0")
            if match and match[1] in roles:
                end = min(word.span.start + len(f"{match[1]}-{match[2]}"), word.span.end)
                yield _not_an_address(use, Span(word.span.start, end), match)
    for use, _, _, arguments in known_lines(job, ("deepspeed",)):
        is_alone = use.role is None or use.role.instances < 2 or not arguments.has("-H")
        is_other = arguments.is_open or arguments.has("--launcher", "--no_ssh")
        if not (has_ssh or is_alone or is_other or use.place.mentions("sshd") or use.place.mentions("ssh_config")):
            message = "deepspeed reaches other hosts by ssh, and the plugin 'ssh' with 'jobssh: true' is missing"
            yield Finding(use.word(use.line.name), message)
    for use in uses(job, *_BY_SSH, *_BY_ADDRESS, with_callbacks=False):
        for word in use.line.arguments:
            match = _HOST.fullmatch(word.text.removeprefix("http://"))
            if match is None or match[1] not in roles or not word.is_literal:
                continue
            if use.line.program in _BY_SSH:
                if not has_ssh and not use.place.mentions("ssh_config") and use.ends_script:
                    related = (Related(use.word(word), "the name of a task"),)
                    message = "tasks can use ssh between them only with the plugin 'ssh' and 'jobssh: true'"
                    yield Finding(use.word(use.line.name), message, related=related)
            elif not use.place.mentions("/etc/hosts"):
                start = word.span.start + use.line.written(word).find(f"{match[1]}-{match[2]}")
                yield _not_an_address(use, Span(start, start + len(f"{match[1]}-{match[2]}")), match)
            break


def _not_an_address(use: CommandUse, span: Span, host: re.Match[str]) -> Finding:
    new = f"$PAI_HOST_IP_{host[1]}_{host[2]}"
    return changed(use.place, span, f"this is only a name for ssh, not an address; use {new}", new)


def _made_by(line: CommandLine) -> tuple[Word, ...]:
    """The words with paths that a command may make or mount."""
    if line.program in _MAKING or line.program.startswith(("mount", "az")):
        return line.words
    if line.program in _MAKING_LAST:
        return line.arguments[-1:]
    options = _MAKING_OPTION.get(line.program, frozenset())
    return tuple(word for before, word in pairwise(line.arguments) if before.text in options)


def _asked_paths(lines: CommandLines) -> frozenset[str]:
    """The paths of which the script asks whether they are there."""
    tests = (line for name in ("[", "[[", "test") for line in lines.by_program.get(name, ()))
    pairs = (pair for line in tests for pair in pairwise(line.arguments))
    return frozenset(path.text for option, path in pairs if _FILE_TEST.fullmatch(option.text))


def _named(job: Job, *names: str) -> Iterator[CommandUse]:
    """The command lines of some programs, and those with sudo in front."""
    yield from uses(job, *names)
    if "sudo" in job.text:
        yield from (use for use in all_uses(job) if use.line.wrappers[:1] == ("sudo",))


def _may_be_there(use: CommandUse, name: str) -> bool:
    """Whether the script installs a program, defines it or asks for it."""
    lines = use.place.lines
    asking = (line for one in ("which", "type", "hash", "alias", "command") for line in lines.by_program.get(one, ()))
    installing = (line for line in lines.all if _INSTALLING.intersection(line.texts))
    return (
        (name.startswith("docker") and "dockerd" in lines.by_program)
        or name in use.place.script.functions
        or any(name in word.text for line in (*asking, *installing) for word in line.arguments)
    )


def _questions(place: ScriptPlace, name: str) -> set[Step | None]:
    """The `if` and `while` that run a program in their condition."""
    asking = place.lines.by_program.get(name, ())
    return {step.parent for line in asking for step in line.step.around if step.part == "condition"}


def _mount_paths(job: Job) -> set[str] | None:
    """Where storages are mounted; None where that is not known."""
    storages = [read_storage(node) for node in job.storages]
    paths = {one[1] for one in storages if one}
    is_open = "storageConfigNames" in job.text or "enableLocalStorage" in job.text
    return None if is_open or None in storages or any("<%" in path for path in paths) else paths


# An absolute path that is a whole word, or the value of an option in it.
_PATH = lazy_pattern(r"(?:--?[\w-]+=)?(?P<quote>[\"']?)(?P<path>/[\w./-]+)(?P=quote)")
# How alike two paths must be where their last parts differ.
_NEAR = 0.8


@rule(Severity.HINT, about=("pathForUser",))
def path_without_content(job: Job) -> Iterator[Finding]:
    """A command reads a path that is similar to the path of a prerequisite's content.

    A definition states with `pathForUser` where the commands of a task role find its content. Reported only if no
    command of the role uses that path, and nothing in the role creates the other one.
    Source: openpai, issue 5345; docs/protocol.md, "Definitions".

        prerequisites:
          - name: mnist
            type: data
            pathForUser: /dataset/mnist
            callbacks:
              - {event: taskStarts, commands: [wget -P /dataset/mnist https://example.com/mnist.zip]}
        taskRoles:
          worker:
            prerequisites: [mnist]
            commands:
              - python train.py --data /data/mnist
              #                        ^^^^^^^^^^^ hint

    Good:

        prerequisites:
          - name: mnist
            type: data
            pathForUser: /dataset/mnist
            callbacks:
              - {event: taskStarts, commands: [wget -P /dataset/mnist https://example.com/mnist.zip]}
        taskRoles:
          worker:
            prerequisites: [mnist]
            commands:
              - python train.py --data /dataset/mnist
    """
    from pai_lsp.expansion.effective import (  # noqa: PLC0415 - few jobs have prerequisites with a path
        effective_job,
        mounted_storages,
    )

    mounted = tuple(storage.mount_path for storage in mounted_storages(job))

    for role in effective_job(job).roles:
        yield from _of_role(job, role, mounted)


def _of_role(job: Job, role: EffectiveRole, mounted: tuple[str, ...]) -> Iterator[Finding]:
    homes = {path: one for one in role.prerequisites if (path := _normal(one.path_for_user))}
    used = [(path, span, use) for use in all_uses(job) if use.role is role.role for path, span in _paths(use)]
    unused = [home for home in homes if not any(_is_within(path, home) or _is_within(home, path) for path, *_ in used)]

    others = (*homes, *mounted, *(storage.mount_path for one in role.prerequisites for storage in one.storages))
    made = "\n".join(item.text for one in role.prerequisites for commands in one.commands for item in commands.items)
    for path, span, use in used:
        if any(_is_within(path, other) for other in others) or path in made or _is_made(path, used):
            continue
        meant = ((part, home) for part in _folders(path) for home in unused if _is_meant(part, home))
        for part, home in islice(meant, 1):
            place = Span(span.start, span.start + len(part))
            message = f"'{homes[home].definition.name}' has its content at '{home}', not here"
            yield changed(use.place, place, message, home)


def _paths(use: CommandUse) -> Iterator[tuple[str, Span]]:
    """The absolute paths among the arguments, and their places in the script."""
    for word in use.line.arguments:
        match = _PATH.fullmatch(use.line.written(word)) if word.is_literal else None
        if match and (path := _normal(match["path"])):
            start = word.span.start + match.start("path")
            yield path, Span(start, start + len(match["path"]))


# Programs that make, mount or fill the paths in their arguments.
_MAKERS = {
    "azcopy", "blobfuse", "cp", "curl", "git", "ln", "mkdir", "mount", "mv", "rsync", "tar", "tee", "unzip", "wget",
}  # fmt: skip


def _is_made(path: str, used: list[tuple[str, Span, CommandUse]]) -> bool:
    """Whether a command of the role itself may put something there."""
    return any(_is_within(path, other) for other, _, use in used if use.line.program in _MAKERS)


def _folders(path: str) -> Iterator[str]:
    """The path, and the folders that it is in, the longest first."""
    while path.count("/") > 1:
        yield path
        path = posixpath.dirname(path)


def _normal(path: str) -> str:
    """A path without doubled and trailing slashes; empty for none that is absolute and known before the job runs."""
    is_known = path.startswith("/") and "<%" not in path and "{{" not in path and "$" not in path
    found = posixpath.normpath(path) if is_known else ""
    return "" if found in {"/", "//"} else found


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _is_meant(path: str, home: str) -> bool:
    """Whether a path is likely a mistaken form of another: with the same name in another folder, or misspelled."""
    return posixpath.basename(path) == posixpath.basename(home) or bool(nearest(path, [home], _NEAR))
