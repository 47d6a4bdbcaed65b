"""What a run starts, in full, as the user sees it before anything starts, with what is new since the last agreement.

An agreement is remembered in the user's state folder: a hash of each line, and no text.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from pai_lsp.cluster.task_plan import SCRIPTS
from pai_lsp.embedded.command_lines import command_lines
from pai_lsp.embedded.shell import read_script
from pai_lsp.source.files import program_on_path, write_at_once
from pai_lsp.source.line_changes import changed_lines
from pai_lsp.source.nodes import Scalar, walk
from pai_lsp.source.text import LineIndex, visible
from pai_lsp.source.user_folders import user_state_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pai_lsp.cluster.task_plan import PartSource, TaskPlan
    from pai_lsp.job.job import Job

# Characters with which a value among commands is more than a word.
_SHELL = frozenset("$`;&|<>(){}\n\\\"'")


def listing(plans: Sequence[TaskPlan], job: Job, path: str) -> str:
    """All scripts in the order in which they run, with the lines of the job that they come from.

    plans: with references to secrets as they are written. path: of the job, as the user named it.
    """
    lines: list[str] = []
    groups: dict[tuple[object, ...], list[TaskPlan]] = {}
    for plan in plans:
        key = (plan.role.name, plan.image, plan.clones, tuple(plan.files.items()), plan.tensorboard)
        groups.setdefault(key, []).append(plan)
    for tasks in groups.values():
        plan = tasks[0]
        numbers = _numbers([one.index for one in tasks])
        what = f"task {numbers}" if len(tasks) == 1 else f"tasks {numbers}"
        lines += [f"{what} of '{visible(plan.role.name)}', image {visible(plan.image)}", *_parts(plan, job, path)]
    return "\n".join(lines) + "\n" + _about_secrets(job, path)


def _numbers(indexes: Sequence[int]) -> str:
    is_range = len(indexes) > 1 and indexes[-1] - indexes[0] == len(indexes) - 1
    return f"{indexes[0]} to {indexes[-1]}" if is_range else ", ".join(map(str, indexes))


def _parts(plan: TaskPlan, job: Job, path: str) -> Iterator[str]:
    index = LineIndex(job.text)

    def place(source: PartSource) -> str:
        return f"{visible(source.title)} ({visible(path)}:{index.line_of(source.offset) + 1})"

    def section(title: str, text: str) -> Iterator[str]:
        yield f"  {title}"
        yield from (f"    {visible(line)}" for line in job.hidden.without(text).rstrip("\n").split("\n"))

    for words, source in zip(plan.clones, plan.clone_sources, strict=True):
        yield from section(f"first, {place(source)}", f"git clone {' '.join(words)}")
    before, after = ([one for one in plan.files if one.startswith(f"{SCRIPTS}/plugin_{kind}")] for kind in _KINDS)
    for one in before:
        yield from section(f"before the commands, {place(plan.sources[one])}", plan.files[one])
    if plan.tensorboard is not None:
        yield from section("TensorBoard", plan.tensorboard[0])
    commands = plan.role.get("commands")
    line = index.line_of(commands.span.start) + 1 if commands is not None else 0
    yield from section(f"commands ({visible(path)}:{line})", plan.files[f"{SCRIPTS}/user.sh"])
    for one in reversed(after):
        yield from section(f"after the commands, {place(plan.sources[one])}", plan.files[one])


_KINDS = ("pre", "post")


# Those of bash 5.2 (`compgen -b`), and `[[`: no program of these names runs.
_OF_BASH = frozenset({
    ".", ":", "[", "[[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command", "compgen", "complete",
    "compopt", "continue", "declare", "dirs", "disown", "echo", "enable", "eval", "exec", "exit", "export", "false",
    "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout", "mapfile", "popd",
    "printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend",
    "test", "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
})  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9_./+@-]+")


def programs(plans: Sequence[TaskPlan], path: str) -> tuple[dict[str, str], list[str]]:
    """The programs that the scripts name, with their places in `path`, a value of PATH; and those that are not there.

    Names that a script makes as it runs are not known, nor are those in a text that it gives to another program.
    """
    shown = (f"{SCRIPTS}/user.sh", *(f"{SCRIPTS}/plugin_{kind}" for kind in _KINDS))
    names = {"bash"}
    for plan in plans:
        names.update(["git"] if plan.clones else [])
        texts = [text for file, text in plan.files.items() if file.startswith(shown)]
        for text in [*texts, plan.tensorboard[0]] if plan.tensorboard is not None else texts:
            script = read_script(text)
            for line in command_lines(script).all:
                words = {line.words[0].text, *line.wrappers, *([] if line.is_module else [line.name.text])}
                names.update(words - _OF_BASH - script.functions)
    names = {name for name in names if _NAME.fullmatch(name)}
    found = {name: place for name in sorted(names) if (place := shutil.which(name, path=path))}
    return found, sorted(names - found.keys())


def _about_secrets(job: Job, path: str) -> str:
    """A line about secrets that the shell would read as more than one word in the commands; they are hidden here."""
    entry = job.section("secrets")
    values = (node for node in walk(entry.value if entry else None) if isinstance(node, Scalar))
    if entry is None or not any(_SHELL & set(one.text) for one in values):
        return ""
    line = LineIndex(job.text).line_of(entry.key.span.start) + 1
    return f"note: a value below 'secrets' ({visible(path)}:{line}) has characters that bash obeys; it is not shown\n"


_PLACE = re.compile(r":\d+\)$")


def with_marks(text: str, path: str) -> str:
    """A listing with `+` before the lines that are new since the user agreed to the last one of this job."""
    try:
        former = _agreement(path).read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return text
    lines = text.splitlines()
    changes = list(changed_lines(former, _hashes(text)))
    if not changes:
        return f"{text}note: this is what you agreed to last time\n"
    new = {number for _, _, start, end in changes for number in range(start, end)}
    gone = sum(end - start for start, end, _, _ in changes)
    marked = "".join(f"{'+' if number in new else ' '} {line}\n" for number, line in enumerate(lines))
    return f"{marked}note: lines with '+' are new since you agreed last; {gone} earlier lines are gone\n"


def remember(text: str, path: str) -> None:
    """Remember that the user agrees to a listing; without a folder for that, nothing is marked next time."""
    with suppress(OSError):
        file = _agreement(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_at_once(file, ["\n".join(_hashes(text)).encode("ascii")], 0o600)


def _agreement(path: str) -> Path:
    name = hashlib.sha256(os.path.realpath(path).encode("utf-8", "surrogateescape")).hexdigest()
    return user_state_folder(os.environ) / "runs" / name


def _hashes(text: str) -> list[str]:
    """A hash of each line; the number of a line of the job does not count."""
    lines = (_PLACE.sub(")", line) for line in text.splitlines())
    return [hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:32] for line in lines]


def show(text: str, *, is_asked: bool) -> None:
    """Print a text for the user; before a question, `less` shows one that is longer than the screen, if it is there."""
    is_read = is_asked and sys.stdin.isatty() and sys.stderr.isatty()
    is_long = is_read and text.count("\n") > shutil.get_terminal_size().lines - 2
    if pager := program_on_path("less", os.environ.get("PATH", "")) if is_long else "":
        secure, given = {**os.environ, "LESSSECURE": "1"}, text.encode("utf-8", "replace")
        # -X leaves the text on the screen.
        if subprocess.run([pager, "-X"], input=given, stdout=sys.stderr, env=secure, check=False).returncode == 0:  # noqa: S603 - words of our own
            return
    sys.stderr.write(text)
    sys.stderr.flush()
