"""Every value of profiles, lock files, configurations and definitions, of another type: nothing of ours fails."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from budgets import shared_places
from job_text import HEAD
from test_foreign_values import changed

from benchmarks.hostile import job, profile
from pai_lsp.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

CONFIGURATION = """\
rules: {unknown-key: warning, image-latest-tag: off}
plugins: [own]
exclude: ["a/*.yaml", "!b"]
per_file_ignores: {"x.yaml": [unknown-key]}
platform: ltp/1.5
cluster: lab.json
shellcheck: auto
baseline: known.json
preview: true
marketplace:
  sources:
    - {directory: defs}
    - {directory: ~/shared/marketplace}
    - {url: "http://127.0.0.1:9/api", token_env: TOKEN}
    - {url: "http://127.0.0.1:9/other", token_command: [print-token, ./token]}
  allowed_hosts: [127.0.0.1, example.com]
"""
DEFINITIONS = """\
- name: one
  type: script
  description: does something
  template_variables: [{name: a, default: b}]
  require: [two, {name: two, template_variables: {a: b}}]
  requireStorages: [{name: s, mountPath: /s}]
  callbacks: [{event: taskStarts, commands: ["echo {{ a }} <% this.k %>"]}]
  k: 5
- {name: two, type: data, uri: [http://a/b]}
"""
LOCK = json.dumps(
    {"version": 1, "definitions": {"marketplace://name/one": {"source": "defs/one.yaml", "sha256": "0" * 64}}}
)
USES = (
    HEAD
    + """\
  - {type: script, name: own, require: ["marketplace://name/one"]}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [own]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [echo]
"""
)


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("lab.json", profile(), ["fit", "--cluster", "lab.json", "job.pai.yaml"]),
        ("lab.json", profile(), ["check", "--cluster", "lab.json", "job.pai.yaml"]),
        (".pai-lsp.yaml", CONFIGURATION, ["check", "--severity", "hint", "job.pai.yaml", ".pai-lsp.yaml"]),
        ("defs/one.yaml", DEFINITIONS, ["check", "uses.pai.yaml", "defs/one.yaml"]),
        ("defs/one.yaml", DEFINITIONS, ["expand", "--force", "uses.pai.yaml"]),
        (".pai-lsp.lock", LOCK, ["check", "uses.pai.yaml"]),
    ],
    ids=["profile", "profile of a check", "configuration", "definitions", "expanded definitions", "lock"],
)
def test_any_value_in_any_place(
    name: str,
    text: str,
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "defs").mkdir()
    files = {"job.pai.yaml": job(), "uses.pai.yaml": USES, "lab.json": profile(), "defs/one.yaml": DEFINITIONS}
    if name != ".pai-lsp.yaml":
        files[".pai-lsp.yaml"] = "marketplace: {sources: [{directory: defs}]}\n"
    for path, content in files.items():
        (tmp_path / path).write_text(content, encoding="utf-8")
    for other in shared_places(changed(text), 7):
        (tmp_path / name).write_text(other, encoding="utf-8")
        main(command)
        printed = capsys.readouterr()
        assert "bug in pai-lsp" not in printed.err + printed.out, other
