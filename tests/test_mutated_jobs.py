"""Odd jobs: nothing crashes, and check, fix, expansion and graph agree; `make fuzz` tries many more."""

from __future__ import annotations

import os
import sys

import pytest
from budgets import budget, some
from job_mutations import assert_all_holds, mutated_job

# How many texts are tried, and in how many tests; several Pythons (scripts/test_pythons.sh) share them.
TEXTS = budget(5_000 // int(os.environ.get("TESTED_PYTHONS", "1")))
TESTS = 20
FIRST = sys.version_info.minor * 100_000

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


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_what_was_found(text: str) -> None:
    assert_all_holds(text)


@pytest.mark.parametrize("part", some(range(TESTS)))
def test_all_holds_for_odd_jobs(part: int) -> None:
    for seed in range(FIRST + part, FIRST + TEXTS, TESTS):
        text = mutated_job(seed)
        try:
            assert_all_holds(text, is_fixed=seed % 10 == 0)
        except Exception:  # noqa: BLE001 - whatever it is, the text is what we need
            pytest.fail(f"seed {seed}\n{text}")
