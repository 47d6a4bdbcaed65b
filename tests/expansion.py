"""Support for the tests of expansion: a marketplace in memory, and running what a released cluster would run."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from programs import harmless_programs

from pai_lsp.expansion.released_run import RoleRun, released_run
from pai_lsp.job.definition import Definition, Origin, read_definitions
from pai_lsp.job.job import Job
from pai_lsp.job.lookup import JobTemplate, LookupAnswer, LookupState, SuggestedDefinition
from pai_lsp.source.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Iterator


FOLDER = Path(__file__).parent / "expand"

# What the runtime writes in front of the user's commands (openpai-runtime, src/init).
_USER_OPTIONS = "set -o errexit\nset -o nounset\nset -o pipefail\n"


class MemoryLookup:
    """A marketplace of the definitions in a text."""

    def __init__(self, text: str, path: str = "marketplace/all.yaml") -> None:
        self._path = path
        self._found: dict[str, Definition] = {}
        for document in parse(text).documents:
            for definition in read_definitions(document, Origin.CATALOG):
                self._found[f"marketplace://name/{definition.name}"] = definition

    def find(self, reference: str) -> LookupAnswer:
        definition = self._found.get(reference)
        if definition is None:
            return LookupAnswer(LookupState.ABSENT)
        return LookupAnswer(LookupState.FOUND, (definition,), path=self._path)

    def names(self) -> tuple[str, ...]:
        return tuple(self._found)

    def suggestions(self, typed: str, most: int) -> tuple[SuggestedDefinition, ...]:
        del typed, most
        return ()

    def job_templates(self) -> tuple[JobTemplate, ...]:
        return ()


@cache
def marketplace() -> MemoryLookup:
    return MemoryLookup((FOLDER / "marketplace.yaml").read_text(encoding="utf-8"))


def job_of(text: str) -> Job:
    return Job(parse(text), lookup=marketplace())


def run_of(text: str, role: str = "worker") -> RoleRun:
    """What a released cluster runs for a job's text."""
    run = released_run(job_of(text))
    assert run.stops == ()
    return run.roles[role]


@dataclass(frozen=True)
class Ended:
    """How a task ended: what it printed, and its exit code."""

    printed: str
    status: int


def run_task(run: RoleRun, folder: Path, secrets: dict[str, str] | None = None) -> Ended:
    """Run a task's scripts with bash in the runtime's order, each in its own process; the first failure ends it."""
    printed: list[str] = []
    for script in (*run.pre, _USER_OPTIONS + run.command, *run.post):
        filled = script
        for name, value in (secrets or {}).items():
            filled = filled.replace(f"<% $secrets.{name} %>", value)
        one = subprocess.run(
            ["/bin/bash", "-c", filled], cwd=folder, capture_output=True, text=True, timeout=20, check=False,
            env={"PATH": harmless_programs()},
        )  # fmt: skip
        printed.append(one.stdout)
        if one.returncode:
            # A shell reports a program that a signal has ended with 128 and the number of the signal.
            status = one.returncode if one.returncode > 0 else 128 - one.returncode
            return Ended("".join(printed), status)
    return Ended("".join(printed), 0)


def cases(name: str) -> Iterator[tuple[str, str]]:
    """The fixtures of a folder: a job, a line of `=====`, and what it becomes."""
    for path in sorted((FOLDER / name).glob("*.yaml")):
        before, _, after = path.read_text(encoding="utf-8").partition("=====\n")
        yield before, after
