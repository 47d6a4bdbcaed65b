"""Rules about git, as it behaves without a terminal and without keys.

Facts: git 2.39, run after the platform's header.
"""

from __future__ import annotations

import re

from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.rules.commands.command_uses import CommandUse, edit_fix, uses
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.command_lines import Arguments
    from pai_lsp.job.job import Job

_ADDRESS_FOR_SSH = lazy_pattern(r"(?:ssh://)?git@([\w.-]+)[:/](.+)")
_ADDRESS_OF_PAGE = lazy_pattern(r"(https?://git(?:hub|lab)\.com/[^/]+/[^/]+?)(?:/-)?/(?:tree|blob)/.*")


@rule(Severity.ERROR, about=("git",))
def git_clone_operands(job: Job) -> Iterator[Finding]:
    """`git clone` with more than an address and a folder.

    git stops with "Too many arguments".
    Source: git, builtin/clone.c, cmd_clone.

        taskRoles:
          worker:
            commands:
              - git clone git clone https://github.com/microsoft/pai.git
              #           ^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - git clone https://github.com/microsoft/pai.git
    """
    for use, arguments in _git_clones(job):
        operands = arguments.operands
        if len(operands) < 3 or arguments.is_open:
            continue
        if [one.text for one in operands[:2]] == ["git", "clone"]:
            span = Span(operands[0].span.start, operands[1].span.end)
            fixes = edit_fix(use.place, "Remove it", Span(span.start, span.end + 1), "")
            yield Finding(use.span(span), "'git clone' is written twice", fixes)
        else:
            span = Span(operands[2].span.start, operands[-1].span.end)
            yield Finding(use.span(span), "'git clone' takes only an address and a folder")


@rule(Severity.ERROR, about=("git",))
def git_clone_page(job: Job) -> Iterator[Finding]:
    """Address of a page instead of a repository.

    `https://github.com/OWNER/NAME/tree/BRANCH` shows a folder in a browser; git cannot clone it. Clone the repository,
    with `--branch` for another branch.
    Source: git, git-clone(1), "Git URLs".

        taskRoles:
          worker:
            commands:
              - git clone https://github.com/microsoft/pai/tree/master
              #           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - git clone https://github.com/microsoft/pai
    """
    for use, arguments in _git_clones(job):
        for word in arguments.operands[:1]:
            match = _ADDRESS_OF_PAGE.fullmatch(word.text) if word.text.startswith("http") else None
            if match and word.is_literal:
                fixes = edit_fix(use.place, f"Change to '{match[1]}'", word.span, match[1])
                yield Finding(use.word(word), "this is the address of a page, which git cannot clone", fixes)


@rule(Severity.WARNING, about=("git",))
def git_clone_without_key(job: Job) -> Iterator[Finding]:
    """`git clone` by ssh without a key.

    A container has no ssh key: "Permission denied (publickey)". Clone by https.
    Source: git, git-clone(1), "Git URLs".

        taskRoles:
          worker:
            commands:
              - git clone git@github.com:microsoft/pai.git
              #           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - git clone https://github.com/microsoft/pai.git
    """
    keys = ("ssh-add", ".ssh", "id_rsa", "GIT_SSH", "ssh-keygen", "insteadOf")
    for use, arguments in _git_clones(job):
        for word in arguments.operands[:1] if use.role is not None else ():
            match = _ADDRESS_FOR_SSH.fullmatch(word.text) if "git@" in word.text else None
            if match and word.is_literal and not any(part in use.place.script.text for part in keys):
                new = f"https://{match[1]}/{match[2]}"
                fixes = edit_fix(use.place, f"Change to '{new}'", word.span, new)
                yield Finding(use.word(word), "a container has no ssh key, so git cannot clone this; use https", fixes)


@rule(Severity.WARNING, about=("git",))
def git_outside_repository(job: Job) -> Iterator[Finding]:
    """Git command beside the folder that was just cloned.

    `git clone` does not change the folder: "fatal: not a git repository".
    Source: git, git-clone(1).

        taskRoles:
          worker:
            commands:
              - git clone https://github.com/microsoft/pai.git
              - git checkout v1.8.0
              # ^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - git clone https://github.com/microsoft/pai.git
              - cd pai
              - git checkout v1.8.0
    """
    inside = {"checkout", "switch", "pull", "reset", "submodule", "log", "apply", "am", "commit", "add", "fetch", "lfs"}
    for use in uses(job, "git", with_callbacks=False):
        word = next(iter(use.line.arguments), None)
        if word is None or word.text not in inside or not use.ends_script or not use.follows("git clone"):
            continue
        before = use.place.script.text[: use.line.span.start]
        if re.search(r"\b(?:cd|pushd|git init|WORKDIR)\b|\.git\b[^ \n]*[ \t]+\.(?:\s|$)|GIT_", before):
            continue
        if word.text == "lfs" and any(one.text == "install" for one in use.line.arguments):
            continue
        span = Span(use.line.name.span.start, word.span.end)
        yield Finding(use.span(span), "this does not run in the cloned repository; use 'cd' first")


def _git_clones(job: Job) -> tuple[tuple[CommandUse, Arguments], ...]:
    return job.once(_found_clones)


def _found_clones(job: Job) -> tuple[tuple[CommandUse, Arguments], ...]:
    return tuple(_clones(job))


def _clones(job: Job) -> Iterator[tuple[CommandUse, Arguments]]:
    for use in uses(job, "git"):
        for number, word in enumerate(use.line.arguments):
            if word.text == "clone":
                arguments = use.arguments("git clone", number + 1)
                if arguments is not None and not arguments.unknown:
                    yield use, arguments
                break
            is_value = number > 0 and use.line.arguments[number - 1].text in {"-C", "-c"}
            if not word.text.startswith("-") and not is_value:
                break


RULES = (
    git_clone_operands,
    git_clone_page,
    git_clone_without_key,
    git_outside_repository,
)
