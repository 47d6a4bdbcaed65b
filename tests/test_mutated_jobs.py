"""Odd jobs: nothing crashes, and check, fix, expansion and graph agree; `make fuzz` tries many more."""

from __future__ import annotations

import pytest
from budgets import shared, shared_places, some
from expansion import marketplace
from job_mutations import SOUND, assert_all_holds, errors, mutated_job
from test_expand_round_trip import ANSWERED

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Severity

# The texts that are tried, and in how many tests.
TEXTS = shared(5_000)
TESTS = 20

# The share of wrong indentations that may give several errors; it was a quarter once.
MOST_WITH_SEVERAL = 0.1

# Texts for which something did not hold once.
FOUND = {
    "no-task-roles": """\
protocolVersion: 2
name: a
type: job
prerequisites:
  - name: base
    type: script
    callbacks: [{event: taskFails, commands: [echo failed]}]
""",
    "two-comments-at-one-token": """\
parameters:
  # of the team
  |\t# c
   password
: 123456  # soon another one
""",
    "name-of-a-required-definition-missing": """\
protocolVersion: 2
name: a
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: "ubuntu:20.04"}
  - {type: script, callbacks: [{event: taskStarts, commands: [echo a]}]}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [one]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [echo run]
""",
    "empty-name-in-a-role": """\
protocolVersion: 2
name: a
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: "ubuntu:20.04"}
  - {name: one, type: script, callbacks: [{event: taskStarts, commands: [echo a]}]}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [one, ""]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [echo run]
""",
    "key-that-is-an-alias": """\
taskRoles:
  worker: &role
    commands: [&key echo run]
  server: {<<: *role, instances: 1, *key: []}
""",
    "plugin-that-only-expansion-names": """\
protocolVersion: 2
name: a
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: "ubuntu:20.04"}
  - {name: a, type: script, callbacks: [{event: taskStarts, commands: [echo a]}]}
  - {name: b, type: script, require: [a], plugin: mkdir, callbacks: [{event: taskStarts, commands: [echo b]}]}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [b]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [echo run]
""",
}


@pytest.mark.parametrize("text", SOUND)
def test_what_is_mutated_is_sound(text: str) -> None:
    assert errors(Document(text, path="a.pai.yaml", lookup=marketplace())) == set()
    assert_all_holds(text)


@pytest.mark.slow
def test_one_wrong_indentation_mostly_gives_one_error() -> None:
    counts: list[int] = []
    for text in SOUND:
        lines = text.split("\n")
        for number, line in shared_places(list(enumerate(lines)), 1):
            depth = len(line) - len(line.lstrip())
            for by in (-2, -1, 1, 2):
                if line and depth + by >= 0:
                    changed = "\n".join([*lines[:number], " " * (depth + by) + line.lstrip(), *lines[number + 1 :]])
                    found = Document(changed, path="a.pai.yaml", lookup=marketplace()).diagnostics
                    wrong = [one for one in found if one.severity is Severity.ERROR and one.code not in ANSWERED]
                    counts.append(len(wrong))
    several = sum(count > 1 for count in counts)
    assert several / sum(count > 0 for count in counts) < MOST_WITH_SEVERAL, several


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_what_was_found(text: str) -> None:
    assert_all_holds(text)


@pytest.mark.parametrize("part", some(range(TESTS)))
def test_all_holds_for_odd_jobs(part: int) -> None:
    for seed in TEXTS[part::TESTS]:
        text = mutated_job(seed)
        try:
            assert_all_holds(text, is_fixed=seed % 10 == 0)
        except Exception:  # noqa: BLE001 - whatever it is, the text is what we need
            pytest.fail(f"seed {seed}\n{text}")
