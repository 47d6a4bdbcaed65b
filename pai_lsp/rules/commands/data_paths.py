"""The rule about commands that look for the content of a prerequisite at another path."""

from __future__ import annotations

import posixpath
from itertools import islice

from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.rules.commands.command_uses import all_uses, edit_fix
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import nearest
from pai_lsp.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.expansion.effective import EffectiveRole
    from pai_lsp.job.job import Job
    from pai_lsp.rules.commands.command_uses import CommandUse

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
    graph = job.require_graph
    has_path = any(definition.node.get("pathForUser") for definition in job.definitions)
    if not has_path and not any(map(graph.is_outside, graph.definitions)):
        return
    from pai_lsp.expansion.effective import (  # noqa: PLC0415 - few jobs have prerequisites with a path
        effective_job,
        mounted_storages,
    )

    mounted = tuple(storage.mount_path for storage in mounted_storages(job))

    for role in effective_job(job).roles:
        yield from _of_role(job, role, mounted)


def _of_role(job: Job, role: EffectiveRole, mounted: tuple[str, ...]) -> Iterator[Finding]:
    homes = {path: one for one in role.prerequisites if (path := _normal(one.path_for_user))}
    if not homes:
        return
    used = [(path, span, use) for use in all_uses(job) if use.role is role.role for path, span in _paths(use)]
    unused = [home for home in homes if not any(_is_within(path, home) or _is_within(home, path) for path, *_ in used)]
    if not unused:
        return
    others = (*homes, *mounted, *(storage.mount_path for one in role.prerequisites for storage in one.storages))
    made = "\n".join(item.text for one in role.prerequisites for commands in one.commands for item in commands.items)
    for path, span, use in used:
        if any(_is_within(path, other) for other in others) or path in made or _is_made(path, used):
            continue
        meant = ((part, home) for part in _folders(path) for home in unused if _is_meant(part, home))
        for part, home in islice(meant, 1):
            place = Span(span.start, span.start + len(part))
            fixes = edit_fix(use.place, f"Replace by '{home}'", place, home)
            message = f"'{homes[home].definition.name}' has its content at '{home}', not here"
            yield Finding(use.span(place), message, fixes)


def _paths(use: CommandUse) -> Iterator[tuple[str, Span]]:
    """The absolute paths among the arguments, and their places in the script."""
    text = use.place.script.text
    for word in use.line.arguments:
        written = text[word.span.start : word.span.end]
        match = _PATH.fullmatch(written) if word.is_literal else None
        if match and (path := _normal(match["path"])):
            start = word.span.start + match.start("path")
            yield path, Span(start, start + len(match["path"]))


# Programs that make, mount or fill the paths in their arguments.
_MAKERS = frozenset(
    {"azcopy", "blobfuse", "cp", "curl", "git", "ln", "mkdir", "mount", "mv", "rsync", "tar", "tee", "unzip", "wget"}
)


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


RULES = (path_without_content,)
