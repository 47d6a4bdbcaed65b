"""`pai-lsp trust`: the user's answers about the configurations of folders."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS, failed
from pai_lsp.project.configuration import FILE_NAME
from pai_lsp.project.projects import Projects
from pai_lsp.project.targets import report_faults, run_projects
from pai_lsp.project.trust import TrustAnswer, TrustAnswers, wanted
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse

    from pai_lsp.catalog.setup import CatalogSetup


def run(arguments: argparse.Namespace) -> int:
    """Trust the configuration of a folder, or list or forget the answers."""
    answers = TrustAnswers(os.environ)
    if arguments.list:
        return _list(answers)
    if arguments.remove or arguments.remove_all:
        return _forget(answers, arguments.folder, forgets_all=arguments.remove_all)
    folder = os.path.realpath(arguments.folder)
    if not os.path.isdir(folder):
        return failed("trust", f"no such folder: {visible(arguments.folder)}")
    projects = run_projects()
    setup = _setup(projects, folder)
    report_faults(projects)
    lines = wanted(setup, ())
    if not lines:
        sys.stdout.write(
            f"nothing to trust: no configuration of '{visible(folder)}' runs a command or contacts a server\n"
        )
        return 0
    answers.remember(setup, setup.folder, is_trusted=True)
    sys.stdout.write("\n  ".join([f"'{visible(setup.folder)}' is trusted; its configuration may", *lines]) + "\n")
    return 0


def _forget(answers: TrustAnswers, named: str, *, forgets_all: bool) -> int:
    known = answers.all()
    folder = os.path.realpath(named)
    if folder not in known:
        folder = _setup(run_projects(), folder).folder or folder
    forgotten = [one for one in (list(known) if forgets_all else [folder]) if answers.forget(one)]
    for one in forgotten:
        sys.stdout.write(f"'{visible(one)}' is no longer trusted\n")
    if not forgotten:
        return failed("trust", f"there is no answer for '{visible(folder)}'; see 'pai-lsp trust --list'", FINDINGS)
    return 0


def _list(answers: TrustAnswers) -> int:
    known = answers.all()
    if not known:
        sys.stdout.write("no folder is trusted\n")
    for answer in known.values():
        state = _state(answer, answers)
        sys.stdout.write("\n  ".join([f"{visible(answer.folder)}: {state}", *map(visible, answer.wanted)]) + "\n")
    return 0


def _state(answer: TrustAnswer, answers: TrustAnswers) -> str:
    if not answer.is_trusted:
        return "not trusted"
    setup = _setup(Projects(lambda _: None, str), answer.folder)
    return "trusted" if answers.about(setup, answer.folder) else "no longer trusted, because the configuration changed"


def _setup(projects: Projects, folder: str) -> CatalogSetup:
    return projects.setup_of(str(Path(folder, FILE_NAME)), folder)
