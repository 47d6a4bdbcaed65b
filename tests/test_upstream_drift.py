"""`scripts/upstream_drift.py` on a small tree with the files that it reads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pai_lsp.platform.platforms import OPENPAI, Platform, platform_named
from pai_lsp.platform.tables import exit_codes

ROOT = Path(__file__).parent.parent
LTP = platform_named("ltp")
SCHEMA = """\
// comment
const baseSchema = {
  $id: 'base.json',
  properties: {
    name: {
      type: 'string',
      pattern: '^[a-zA-Z0-9_-]+$',
    },
  },
};

const protocolSchema = {
  type: 'object',
  properties: {
    name: {
      $ref: 'base.json#/properties/name',
    },
    taskRoles: {
      patternProperties: {
        '^[a-zA-Z_][a-zA-Z0-9_]*$': {
          type: 'object',
          properties: {
            // at least one
            instances: {
              type: 'integer',
            },
            completion: {
              properties: {
                minFailedInstances: {
                  type: ['integer', 'null'],
                },
                minSucceededInstances: {
                  type: ['integer', 'null'],
                },
              },
              additionalProperties: false,
            },
            commands: { type: 'array', items: { type: 'string' } },
          },
          required: ['commands'],
        },
      },
    },
  },
  required: ['name', 'taskRoles'],
};
"""
RETRIES = {
    "always": "ALWAYS_RETRY",
    "backoff": "ALWAYS_BACKOFF_RETRY",
    "limited": "RETRY_TO_MAX",
    "never": "NEVER_RETRY",
}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def checkout(folder: Path, runtime: Path, platform: Platform) -> None:
    """The files of a platform as our tables describe it."""
    sources = folder / "src" / "rest-server" / "src"
    write(sources / "config" / "v2" / "protocol.js", SCHEMA)
    write(sources / "models" / "v2" / "job" / "k8s.js", f"let shmMB = {platform.shared_memory};\n")
    names = (one.name.partition("{")[0] for one in platform.environment_variables)
    write(sources / "models" / "v2" / "job" / "runtime-env.js", "".join(f"{name}: 1,\n" for name in names))
    spec = []
    for one in exit_codes().values():
        patterns = [
            {"exitCode": p.exit_code, "userLogRegex": p.user_log, "platformLogRegex": p.platform_log}
            for p in one.patterns
        ]
        reaction, pattern = RETRIES[one.retry], {"runtimeContainerPatterns": patterns}
        spec.append({"code": one.code, "phrase": one.phrase, "reaction": reaction, "pattern": pattern})
    write(folder / "src/k8s-job-exit-spec/config/k8s-job-exit-spec.yaml", yaml.safe_dump({"spec": spec}))
    for name, plugin in platform.plugins.items():
        write(runtime / "plugins" / name / "desc.yaml", f"name: {name}\n")
        lines = "".join(f'parameters["{one.name}"]\n' for one in plugin.parameters)
        events = '"taskStarts" "taskSucceeds"\n' if name == "cmd" else ""
        write(runtime / "plugins" / name / "init.py", lines + events)


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    checkout(tmp_path / "pai", tmp_path / "runtime" / "src", OPENPAI)
    checkout(tmp_path / "ltp", tmp_path / "ltp" / "src" / "openpai-runtime" / "src" / "src", LTP)
    return tmp_path


def drift(folder: Path) -> tuple[int, list[str], str]:
    options = ("--pai", folder / "pai", "--runtime", folder / "runtime", "--ltp", folder / "ltp")
    command = [sys.executable, str(ROOT / "scripts" / "upstream_drift.py"), *map(str, options)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return run.returncode, run.stdout.splitlines(), run.stderr


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    write(path, text.replace(old, new, 1))


@pytest.mark.slow
def test_a_platform_that_has_not_changed(trees: Path) -> None:
    assert drift(trees) == (0, [], "")


@pytest.mark.slow
def test_every_difference_is_a_line(trees: Path) -> None:
    ltp = trees / "ltp" / "src"
    schema = ltp / "rest-server" / "src" / "config" / "v2" / "protocol.js"
    replaced(schema, "type: 'integer',", "type: 'string',")
    replaced(schema, "    name: {\n      $ref", "    jobPriority: {},\n    name: {\n      $ref")
    replaced(schema, "minSucceededInstances", "minPercentage")
    replaced(schema, "required: ['commands']", "required: ['instances', 'commands']")
    replaced(ltp / "rest-server/src/models/v2/job/k8s.js", "16384", "32768")
    replaced(ltp / "rest-server/src/models/v2/job/runtime-env.js", "PAI_USER_NAME: 1,", "PAI_OWNER: 1,")
    replaced(ltp / "k8s-job-exit-spec/config/k8s-job-exit-spec.yaml", "ContainerSigKillReceived", "Killed")
    plugins = ltp / "openpai-runtime" / "src" / "src" / "plugins"
    write(plugins / "dind" / "init.py", 'if "version" in parameters:\n    run(parameters["version"])\n')
    write(plugins / "rdma" / "desc.yaml", "name: rdma\n")
    replaced(plugins / "git" / "init.py", 'parameters["clone_dir"]', "")
    replaced(plugins / "cmd" / "init.py", '"taskSucceeds"', '"taskEnds"')
    status, lines, errors = drift(trees)
    assert (status, errors) == (1, "")
    assert sorted(lines) == [
        "ltp: defaults: shared memory is 32768 MiB, not 16384",
        "ltp: environment: PAI_OWNER: not in our table",
        "ltp: environment: PAI_USER_NAME: only in our table",
        "ltp: exit codes: 137: phrase 'Killed', not 'ContainerSigKillReceived'",
        "ltp: plugins: cmd: events taskEnds, taskStarts, not taskStarts, taskSucceeds",
        "ltp: plugins: dind.version: not in our table",
        "ltp: plugins: git.clone_dir: only in our table",
        "ltp: plugins: rdma: not in our table",
        "ltp: schema: jobPriority: not in our table",
        "ltp: schema: taskRoles.*.completion.minPercentage: not in our table",
        "ltp: schema: taskRoles.*.completion.minSucceededInstances: only in our table",
        "ltp: schema: taskRoles.*.instances: required, not optional",
        "ltp: schema: taskRoles.*.instances: type string, not integer",
    ]


def test_what_is_not_a_checkout(tmp_path: Path) -> None:
    status, lines, errors = drift(tmp_path)
    assert (status, lines) == (2, [])
    assert errors.startswith("upstream_drift: openpai: ")
    assert "No such file" in errors
