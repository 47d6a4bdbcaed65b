"""`scripts/upstream_drift.py` on a small tree with the files that it reads."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pai_lsp.platform.platforms import OPENPAI, Platform, platform_named
from pai_lsp.platform.tables import exit_codes, table

pytestmark = pytest.mark.repository

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
    spec: list[dict[str, object]] = []
    for one in exit_codes().values():
        patterns: list[dict[str, Any]] = [
            {"exitCode": p.exit_code, "userLogRegex": p.user_log, "platformLogRegex": p.platform_log}
            for p in one.patterns
        ]
        patterns += [{"gpuInfo": {"nvidiaDoubleEccError": True}}] if one.code == 128 else []
        reaction, pattern = RETRIES[one.retry], {"runtimeContainerPatterns": patterns}
        spec.append({"code": one.code, "phrase": one.phrase, "reaction": reaction, "pattern": pattern})
    write(folder / "src/k8s-job-exit-spec/config/k8s-job-exit-spec.yaml", yaml.safe_dump({"spec": spec}))
    for name, plugin in platform.plugins.items():
        write(runtime / "plugins" / name / "desc.yaml", f"name: {name}\n")
        lines = "".join(f'parameters["{one.name}"]\n' for one in plugin.parameters)
        written = platform.plugin_table[name]["parameters"].values()
        lines += "".join(f'inner["{key}"]\n' for one in written for key in one.get("properties", ()))
        events = '"taskStarts" "taskSucceeds"\n' if name == "cmd" else ""
        write(runtime / "plugins" / name / "init.py", lines + events)


WRITERS = {
    "hivedscheduler": "src/hivedscheduler/src/hived.go",
    "frameworkcontroller": "src/frameworkcontroller/src/pkg/controller.go",
    "openpai-runtime": "src/openpai-runtime/src/src/init.d/messages.py",
    "rest-server": "src/rest-server/src/messages.js",
}


def with_sources(root: Path, repository: str) -> None:
    """The other files that our tables name as sources."""
    schemas = ROOT / "schemas"
    for file in (*schemas.glob("*.json"), *schemas.glob("platforms/*.json")):
        for path in re.findall(rf"{repository} (src/[\w./-]*\w)", file.read_text(encoding="utf-8")):
            if not (root / path).exists():
                write(root / path, "")


def custom_resource(ours: Any, parts: dict[str, Any]) -> dict[str, Any]:
    """A schema of the API server with the keys of our own, and no `$defs`."""
    if ours is True:
        return {"type": "object"}
    name = ours.get("$ref", "").rpartition("/")[2]
    if name in {"quantity", "port"}:
        return {"x-kubernetes-int-or-string": True, **({"pattern": "^[0-9]+$"} if name == "quantity" else {})}
    if name == "int32":
        return {"type": "integer", "format": "int32"}
    if name:
        return custom_resource(parts[name], parts)
    found = {"type": "object"} | {key: ours[key] for key in ("type", "enum", "required", KEYS) if key in ours}
    found |= {"items": custom_resource(ours["items"], parts)} if "items" in ours else {}
    if properties := ours.get("properties"):
        found["properties"] = {key: custom_resource(one, parts) for key, one in properties.items()}
    return found | {key: custom_resource(ours[key], parts) for key in ["additionalProperties"] if ours.get(key)}


def definition_of(version: str) -> str:
    """A custom resource definition with the keys of our own schema."""
    ours = table("mpijob.schema.json")
    ours["properties"]["spec"] = {"$ref": f"#/$defs/{version}"}
    schema = custom_resource(ours, ours["$defs"])
    # Its metadata are Kubernetes' own.
    schema["properties"]["metadata"] = {"type": "object"}
    return yaml.safe_dump({"spec": {"versions": [{"name": version, "schema": {"openAPIV3Schema": schema}}]}})


KEYS = "x-kubernetes-list-map-keys"


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trees = tmp_path_factory.mktemp("trees")
    checkout(trees / "pai", trees / "runtime" / "src", OPENPAI)
    checkout(trees / "ltp", trees / "ltp" / "src" / "openpai-runtime" / "src" / "src", LTP)
    patterns = table("failure_causes.json")["patterns"]
    for writer, path in WRITERS.items():
        examples = (one["example"] for one in patterns if one["source"].startswith(f"{writer},"))
        write(trees / "ltp" / path, "".join(f"{json.dumps(one)}\n" for one in examples))
    for folder, repository in (("pai", "pai"), ("runtime", "openpai-runtime"), ("ltp", "ltp-platform")):
        with_sources(trees / folder, f"microsoft/{repository}")
    write(trees / "mpi/manifests/base/kubeflow.org_mpijobs.yaml", definition_of("v2beta1"))
    write(trees / "ltp" / ".git" / "HEAD", "ref: refs/heads/dev\n")
    write(trees / "nccl" / "src" / "param.cc", 'NCCL_PARAM(Algo, "ALGO", -2);\n')
    write(trees / "launcher.py", 'parser.add_argument("-m", "--module")\nprint("--debug-me", file)\n')
    return trees


@pytest.fixture
def trees(unchanged: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(unchanged, tmp_path / "trees"))


def drift(folder: Path) -> tuple[int, list[str], str]:
    options = ("--pai", folder / "pai", "--runtime", folder / "runtime", "--ltp", folder / "ltp")
    more = (
        "--mpi-operator",
        folder / "mpi",
        "--nccl",
        folder / "nccl",
        "--program",
        "torchrun",
        folder / "launcher.py",
    )
    return command(*options, *more)


def command(*options: object) -> tuple[int, list[str], str]:
    called = [sys.executable, str(ROOT / "scripts" / "upstream_drift.py"), *map(str, options)]
    run = subprocess.run(called, capture_output=True, text=True, timeout=60, check=False)
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
    checker = "src/openpai-runtime/src/src/init.d/azure_blob_mount_checker.py"
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
    codes = ltp / "k8s-job-exit-spec/config/k8s-job-exit-spec.yaml"
    replaced(codes, "(?mi)importerror:.*", "(?i)importerror")
    replaced(codes, "nvidiaDoubleEccError", "nvidiaXid")
    replaced(ltp / "hivedscheduler/src/hived.go", "insufficient capacity", "no room")
    (trees / "ltp" / checker).unlink()
    mpijob = trees / "mpi/manifests/base/kubeflow.org_mpijobs.yaml"
    replaced(mpijob, "runLauncherAsWorker:\n", "launcherIsWorker:\n")
    replaced(mpijob, "- MPICH\n", "- JAX\n")
    write(trees / "nccl" / "src" / "new.cc", 'getenv("NCCL_NEW_THING");\n')
    write(trees / "launcher.py", 'parser.add_argument("--new-option", "--nnodes")\n')
    status, lines, errors = drift(trees)
    assert (status, errors) == (1, "")
    rest, folder, gpu = "src/rest-server/src", "src/openpai-runtime/src/src/plugins", "{'nvidiaDoubleEccError': True}"
    spec = "src/k8s-job-exit-spec/config/k8s-job-exit-spec.yaml"
    schema_file, crd = f"{rest}/config/v2/protocol.js", "manifests/base/kubeflow.org_mpijobs.yaml"
    variables = f"{rest}/models/v2/job/runtime-env.js"
    assert sorted(lines) == sorted([
        f"ltp (dev): {rest}/models/v2/job/k8s.js: defaults: shared memory is 32768 MiB, not 16384",
        f"ltp (dev): {variables}: environment: PAI_OWNER: not in our table",
        f"ltp (dev): {variables}: environment: PAI_USER_NAME: only in our table",
        f"ltp (dev): {spec}: exit codes: 128: asks the GPU for {{'nvidiaXid': True}}, not {gpu}",
        f"ltp (dev): {spec}: exit codes: 137: phrase 'Killed', not 'ContainerSigKillReceived'",
        f"ltp (dev): {spec}: exit codes: 232: pattern user log '(?i)importerror': not in our table",
        f"ltp (dev): {spec}: exit codes: 232: pattern user log '(?mi)importerror:.*': only in our table",
        f"ltp (dev): {folder}/cmd/init.py: plugins: cmd: events taskEnds, taskStarts, not taskStarts, taskSucceeds",
        f"ltp (dev): {folder}/dind: plugins: dind.version: not in our table",
        f"ltp (dev): {folder}/git: plugins: git.clone_dir: only in our table",
        f"ltp (dev): {folder}/rdma: plugins: rdma: not in our table",
        f"ltp (dev): {schema_file}: schema: jobPriority: not in our table",
        f"ltp (dev): {schema_file}: schema: taskRoles.*.completion.minPercentage: not in our table",
        f"ltp (dev): {schema_file}: schema: taskRoles.*.completion.minSucceededInstances: only in our table",
        f"ltp (dev): {schema_file}: schema: taskRoles.*.instances: required, not optional",
        f"ltp (dev): {schema_file}: schema: taskRoles.*.instances: type string, not integer",
        "ltp (dev): src/hivedscheduler/src: failures: no message of 'waits-capacity' is 'insufficient capacity'",
        f"ltp (dev): {checker}: sources: ltp.json names a file that is gone",
        f"mpi-operator: {crd}: spec.launcherIsWorker: not in our table",
        f"mpi-operator: {crd}: spec.runLauncherAsWorker: only in our table",
        f"mpi-operator: {crd}: spec.mpiImplementation: values OpenMPI, Intel, JAX, not OpenMPI, Intel, MPICH",
        "nccl: src/new.cc: nccl: NCCL_NEW_THING: not in our table",
        f"programs: {trees / 'launcher.py'}: torchrun: --new-option: not in our table",
    ])  # fmt: skip


@pytest.mark.slow
def test_what_is_not_the_right_checkout(trees: Path, tmp_path: Path) -> None:
    write(trees / "pai" / ".git" / "HEAD", "ref: refs/heads/main\n")
    cases: tuple[tuple[tuple[object, ...], str], ...] = (
        (("--pai", tmp_path / "none"), "has no src/rest-server/src/config/v2/protocol.js"),
        (("--ltp", trees / "pai"), "is on 'main' and has no src/openpai-runtime/src/src/plugins; name a checkout of "),
        (("--ltp", trees / "pai"), "of microsoft/ltp-platform, branch 'dev'"),
        (("--pai", trees / "ltp"), "holds LTP; name it with --ltp"),
        (("--mpi-operator", trees / "pai"), "name a checkout of kubeflow/mpi-operator"),
        (("--program", "no-such-program", trees / "launcher.py"), "has no program 'no-such-program'"),
    )
    for options, message in cases:
        status, lines, errors = command(*options)
        assert (status, lines) == (2, [])
        assert errors.startswith("upstream_drift: ")
        assert message in errors
        assert errors.count("\n") == 1


@pytest.mark.slow
def test_the_schema_of_an_mpijob_is_what_the_script_makes_of_the_definitions(tmp_path: Path) -> None:
    write(tmp_path / "mpi/manifests/base/kubeflow.org_mpijobs.yaml", definition_of("v2beta1"))
    write(tmp_path / "training/manifests/base/crds/kubeflow.org_mpijobs.yaml", definition_of("v1"))
    script = runpy.run_path(str(ROOT / "scripts" / "mpijob_schema.py"))
    made = script["schema"](str(tmp_path / "mpi"), str(tmp_path / "training"))
    assert made == table("mpijob.schema.json")
