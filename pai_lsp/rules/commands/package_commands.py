"""Rules about commands that install software: pip, apt-get and conda, as they behave without a terminal.

Every command that fails ends the task, because the commands run with errexit. Facts: pip 23.2, APT 2.6 and conda, run
after the platform's header.
"""

from __future__ import annotations

import re

from pai_lsp.embedded.command_lines import Arguments
from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.findings.fixes import near_name_fixes
from pai_lsp.platform.programs import program, subcommands
from pai_lsp.rules.commands.command_uses import CommandUse, changed, insert_fix, quote_words_fix, uses
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import did_you_mean, nearest
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.shell_script import Word
    from pai_lsp.job.job import Job

_REQUIREMENTS = lazy_pattern(r"(?:.*[/._-])?requirements?[^/]*\.(?:txt|in)|[^=<>@\[\]]*\.txt", re.IGNORECASE)
_GLUED = lazy_pattern(r"([A-Za-z][A-Za-z0-9._]*)(--[a-z][a-z-]+|-U)")
_REPOSITORY = lazy_pattern(r"(?:www\.)?(?:github|gitlab|bitbucket)\.(?:com|org)/[^/]+/[^/]+/?")
_ONE_EQUALS = lazy_pattern(r"([A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?)=([0-9][^=]*)")
_VERSION_START = lazy_pattern(r"=|[0-9]+(?:[.*]|$)")
_VERSION_ALONE = lazy_pattern(r"(?:[=~!<>]=|===)[0-9A-Za-z.*]+")
_PIP_ANSWERS = {"update": "install --upgrade", "upgrade": "install --upgrade", "remove": "uninstall -y"}
_APT_ANSWERS = {"search": "apt-cache search", "show": "apt-cache show", "policy": "apt-cache policy"}
_APT_CHANGING = {
    "install", "reinstall", "remove", "purge", "autoremove", "upgrade", "dist-upgrade", "full-upgrade", "build-dep",
}  # fmt: skip
_APT_YES = {"-y", "-s", "-h", "-v", "--force-yes", "--print-uris"}
_COMMAND = lazy_pattern(r"[a-z][a-z-]{2,}")
# They may have further commands, so that only a word that is like one of theirs is a mistake.
_WITH_OWN_COMMANDS = ("git", "conda", "azcopy", "jupyter")
# How alike it is.
_NEAR = 0.8


@rule(Severity.ERROR, about=("pip",))
def pip_requirements_without_r(job: Job) -> Iterator[Finding]:
    """A file of requirements for pip has no `-r` before it.

    pip treats the file's name as the name of a package: "Could not find a version that satisfies the requirement", or
    it installs a package of that name from the index, such as `requirements-dev.txt`.
    Source: pip, pip/_internal/req/constructors.py, install_req_from_line.

        taskRoles:
          worker:
            commands:
              - pip install requirements.txt
              #             ^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - pip install -r requirements.txt
    """
    for use, word in _pip_operands(job):
        if _REQUIREMENTS.fullmatch(word.text):
            message = f"pip treats '{word.text}' as the name of a package; add '-r'"
            yield changed(use.place, word.span, message, f"-r {use.line.written(word)}", "Add '-r'", safe=True)


@rule(Severity.ERROR, about=("pip",))
def pip_invalid_requirement(job: Job) -> Iterator[Finding]:
    """A word is not a requirement for pip.

    pip stops with "Invalid requirement": a version is written `==1.0` without a space before it, and a repository as
    `git+https://...`.
    Source: pip, pip/_internal/req/constructors.py, parse_req_from_line.

        taskRoles:
          worker:
            commands:
              - pip install six=1.16.0
              #             ^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - pip install six==1.16.0
    """
    for use, word in _pip_operands(job):
        if match := _ONE_EQUALS.fullmatch(word.text):
            message = "pip needs '==' before a version: 'name==version'"
            yield changed(use.place, word.span, message, f"{match[1]}=={match[2]}")
        elif _REPOSITORY.fullmatch(word.text):
            message = f"'{word.text}' is not a package; a repository is 'git+https://...'"
            yield changed(use.place, word.span, message, f"git+https://{word.text}")
        elif _VERSION_ALONE.fullmatch(word.text):
            gap = Span(use.line.words[use.line.words.index(word) - 1].span.end, word.span.start)
            message = "a version must follow its package without a space"
            yield changed(use.place, gap, message, "", "Remove the space", at=word.span)


# Packages that need nothing that the images of Debian and Ubuntu do not have, so that apt-get asks nothing.
# Source: apt-cache depends, Debian 12.
_ALONE = {
    "bzip2", "dos2unix", "less", "make", "net-tools", "ninja-build", "patch", "pigz", "psmisc", "pv", "retry", "time",
    "tree", "unzip", "xz-utils",
}  # fmt: skip


@rule(Severity.WARNING, about=("pip",))
def pip_glued_option(job: Job) -> Iterator[Finding]:
    """An option is part of a package's name, because the space before it is missing.

    pip looks for a package of the whole name: "No matching distribution found".
    Source: pip, pip/_internal/req/constructors.py.

        taskRoles:
          worker:
            commands:
              - pip install six--user
              #             ^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - pip install six --user
    """
    for use, word in _pip_operands(job):
        match, known = _GLUED.fullmatch(word.text), program("pip install")
        if match and known and match[2] in known.options:
            message = f"a space is missing before '{match[2]}'"
            yield changed(use.place, word.span, message, f"{match[1]} {match[2]}", "Add a space")


@rule(Severity.WARNING, about=("pip", "conda", "mamba"))
def version_redirected(job: Job) -> Iterator[Finding]:
    """A version after `>` or `<` has no quotes, so bash redirects the output or input.

    Bash reads `>` and `<` as redirections: `six>=1.0` installs any version of `six` and writes a file named `=1.0`;
    `six<2` reads a file named `2`.
    Source: the bash reference manual, "Redirections".

        taskRoles:
          worker:
            commands:
              - pip install six>=1.0
              #             ^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - pip install "six>=1.0"
    """
    for use in uses(job, "pip", "conda", "mamba"):
        words = use.line.arguments
        for one in use.line.step.redirections:
            operator, start = one.operator, one.span.start
            if operator not in {"<", ">"} or not _VERSION_START.match(one.target.text):
                continue  # `pip freeze>requirements.txt`
            package = next((word for word in words if word.span.end == start), None)
            number = next((word for word in words if one.target.text == "=" and word.span.start > start), None)
            if number is not None:  # `pip install six >= 1.0`
                package = next((word for word in reversed(words) if word.span.end < start), None)
            elif one.target.span.start - start > 2:
                continue
            if package is None or package.text.isdigit():
                continue
            span = Span(package.span.start, number.span.end if number is not None else one.span.end)
            written = use.written(span)
            if any(mark in written for mark in "\"'$"):
                continue
            message = f"bash reads '{operator}' as a redirection; quote '{written}'"
            yield Finding(use.span(span), message, quote_words_fix(use.place, span))


@rule(Severity.ERROR, about=("pip", "apt-get", "accelerate", *_WITH_OWN_COMMANDS))
def unknown_subcommand(job: Job) -> Iterator[Finding]:
    """pip, apt-get or accelerate does not have a subcommand, or one of git, conda, azcopy or jupyter is misspelled.

    The program stops with "unknown command" or "Invalid operation".
    Source: pip, pip/_internal/commands/__init__.py; APT, cmdline/apt-get.cc; schemas/programs.json for the others.

        taskRoles:
          worker:
            commands:
              - pip instal six
              #     ^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - pip install six
    """
    for use in uses(job, "pip", "apt-get", "accelerate", *_WITH_OWN_COMMANDS):
        program, names, word = use.line.program, subcommands(use.line.program), _subcommand(use)
        if word is None or word.text in names:
            continue
        message = f"'{program}' has no command '{word.text}'"
        if program in _WITH_OWN_COMMANDS:
            is_first = word is use.line.arguments[0] and _COMMAND.fullmatch(word.text)
            names = nearest(word.text, names, _NEAR) if is_first else ()
        elif answer := (_PIP_ANSWERS if program == "pip" else _APT_ANSWERS).get(word.text):
            span = word.span if program == "pip" else Span(use.line.name.span.start, word.span.end)
            yield changed(use.place, span, f"{message}; use '{answer}'", answer, at=word.span)
            continue
        if names:
            fixes = near_name_fixes(use.word(word), word.text, names, safe=False)
            yield Finding(use.word(word), message + did_you_mean(word.text, names), fixes)


@rule(Severity.WARNING, about=("apt-get", "apt", "pip"))
def asks_for_confirmation(job: Job) -> Iterator[Finding]:
    """A command asks a question that nobody can answer.

    A task has no terminal and its input is empty: apt-get answers itself with "Abort." as soon as more packages would
    change than those that are named, and `pip uninstall` fails. `DEBIAN_FRONTEND=noninteractive` does not answer this
    question.
    Source: APT, apt-private/private-install.cc; pip, pip/_internal/utils/misc.py, ask; openpai-runtime, src/runtime.d.

        taskRoles:
          worker:
            commands:
              - apt-get update
              - apt-get install build-essential
              #         ^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - apt-get update
              - apt-get install -y build-essential
    """
    found = tuple(uses(job, "apt-get", "apt", "pip"))
    removing = {use.place for use in found if {"remove", "purge"} & {*use.line.texts}}
    answering = {place for place in {use.place for use in found} if place.mentions("Assume-Yes")}
    for use in found:
        word = _subcommand(use)
        if word is None or use.place in answering:
            continue
        if use.line.program == "pip":
            arguments = use.arguments("pip uninstall", 1) if word.text == "uninstall" else Arguments()
            asks = arguments.operands and not arguments.is_open and not arguments.has("-y", "--yes", "-h")
        else:
            asks = word.text in _APT_CHANGING and not _says_yes(use) and not _installs_alone(use.line.texts)
        if not asks or use.line.step.has_piped_input:
            continue
        if word.text == "autoremove" and use.place not in removing:
            continue  # without anything to remove it asks nothing
        message = f"'{use.line.program} {word.text}' asks for confirmation, which ends it here; add '-y'"
        yield Finding(use.word(word), message, insert_fix(use.place, word.span.end, " -y", safe=True))


def _installs_alone(texts: tuple[str, ...]) -> bool:
    operands = {text for text in texts if not text.startswith("-")}
    return "install" in operands and operands - {"install"} <= _ALONE


@rule(Severity.INFORMATION, about=("apt-get", "apt"))
def apt_install_without_update(job: Job) -> Iterator[Finding]:
    """Packages are installed without `apt-get update`.

    Official images contain no list of packages, so `apt-get install` fails with "Unable to locate package".
    Source: APT, apt-get(8), update; the official images remove /var/lib/apt/lists.

        taskRoles:
          worker:
            commands:
              - apt-get install -y htop
              #         ^^^^^^^ information

    Good:

        taskRoles:
          worker:
            commands:
              - apt-get update
              - apt-get install -y htop
    """
    for use in uses(job, "apt-get", "apt", with_callbacks=False):
        word = _subcommand(use)
        if word is None:
            continue
        following = use.line.step.following() if word.text == "update" and use.line.step.after == "&" else None
        command = following.command if following is not None else None
        if command is not None and command.name in {"apt-get", "apt"} and "install" in command.arguments:
            yield Finding(use.word(word), "'&' does not wait for the update; write '&&'", severity=Severity.WARNING)
        if word.text != "install" or use.mentioned("update") or use.mentioned("PAI_"):
            continue
        if not any("/" in one.text for one in use.line.arguments):
            yield Finding(use.word(word), "no 'apt-get update' before this; official images have no package lists")


@rule(Severity.ERROR, about=("apt-get", "apt"))
def apt_version_like_pip(job: Job) -> Iterator[Finding]:
    """A version for apt-get has `==`, but needs a single `=`.

    apt-get stops with "Unable to locate package" or "Version ... was not found".
    Source: APT, apt-get(8), install.

        taskRoles:
          worker:
            commands:
              - apt-get update
              - apt-get install -y htop==3.2.2-2
              #                    ^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - apt-get update
              - apt-get install -y htop=3.2.2-2
    """
    for use in uses(job, "apt-get", "apt"):
        word = _subcommand(use)
        for one in use.line.arguments if word is not None and word.text == "install" else ():
            if one.is_literal and "==" in one.text and not one.text.startswith("-"):
                new = one.text.replace("==", "=")
                yield changed(use.place, one.span, "apt-get needs a single '=' before a version", new, safe=True)


@rule(Severity.ERROR, about=("conda", "mamba", "micromamba"), spreads=True)
def conda_activate_without_hook(job: Job) -> Iterator[Finding]:
    """`conda activate` runs in a shell that conda has not prepared.

    It stops with "Run 'conda init' before 'conda activate'", also after `conda init`, which only changes files that
    interactive shells read.
    Source: conda, conda/cli/main_mock_activate.py.

        taskRoles:
          worker:
            commands:
              - conda activate train
              # ^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - eval "$(conda shell.bash hook)"
              - conda activate train
    """
    for use in uses(job, "conda", "mamba", "micromamba", with_callbacks=False):
        words = use.line.arguments
        if not words or words[0].text not in {"activate", "deactivate"}:
            continue
        if use.line.step.after == "||" or use.line.step.part == "condition":
            continue
        if use.earlier("source", ".", "module", "ml") or "conda" in use.place.script.functions:
            continue
        # `$CONDA_EXE shell.bash hook`, `micromamba shell hook`
        if use.mentioned("shell.") or use.mentioned("hook"):
            continue
        span = Span(use.line.name.span.start, words[0].span.end)
        new = "source activate" if words[0].text == "activate" and use.line.program == "conda" else None
        message = f"'conda {words[0].text}' needs 'eval \"$(conda shell.bash hook)\"' before it"
        yield changed(use.place, span, message, new, cause="hook")


def _subcommand(use: CommandUse) -> Word | None:
    """The subcommand: the first word that is not an option; None where a word before it is not known."""
    if use.line.arguments and use.line.arguments[0].is_literal and use.line.arguments[0].text[:1] != "-":
        return use.line.arguments[0]
    name = "pip check" if use.line.program == "pip" else "apt-get"
    arguments = use.arguments(name)
    if not arguments.operands or (name == "pip check" and arguments.has("-h", "-V")):
        return None
    word = arguments.operands[0]
    unknown = [one for one in use.line.arguments if not one.is_literal and one.span.start <= word.span.start]
    return None if unknown else word


def _says_yes(use: CommandUse) -> bool:
    """Whether apt-get needs no answer."""
    names = [one.name for one in use.arguments("apt-get").options]
    is_quiet = names.count("-q") > 1 or not _APT_YES.isdisjoint(names)
    return is_quiet or bool([word for word in use.line.arguments if not word.is_literal])


def _pip_operands(job: Job) -> Iterator[tuple[CommandUse, Word]]:
    """The packages that `pip install` is asked for."""
    for use in uses(job, "pip"):
        if use.line.texts[:1] == ("install",):
            yield from ((use, one) for one in use.arguments("pip install", 1).operands if one.is_literal)
