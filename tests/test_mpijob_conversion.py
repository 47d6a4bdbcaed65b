"""MPIJob manifests as OpenPAI jobs, and jobs as MPIJobs: what the result is, what it does not have, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from recorded_manifests import CONVERSIONS, recorded_conversions

from pai_lsp.cli.main import main
from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.mpijob.conversion import ConversionError, Converted, kept_comments, manifest_text
from pai_lsp.mpijob.converted_text import converted_text
from pai_lsp.mpijob.job_to_manifest import job_to_manifest
from pai_lsp.mpijob.manifest import manifests
from pai_lsp.mpijob.manifest_to_job import manifest_to_job
from pai_lsp.source.syntax import parse

MANIFEST = """\
# Trains the model.
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: train}
spec:
  slotsPerWorker: 2  # one for each GPU
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
            - name: main
              image: example/mpi:1
              env: [{name: DATA, value: /mnt/data}]
              command: [mpirun, -np, "4", --hostfile, /etc/mpi/hostfile, python, train.py, $(DATA)]
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - name: main
              image: example/mpi:1
              resources: {limits: {cpu: 1500m, memory: 1Gi, nvidia.com/gpu: 2}}
"""
JOB = """\
protocolVersion: 2
name: My_Train
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "example/mpi:1"}
parameters: {epochs: 3}
taskRoles:
  master:
    instances: 1
    completion: {minSucceededInstances: 1}
    dockerImage: image
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 0}
    commands:
      - mpirun --allow-run-as-root -np 4 -H worker-0:2,worker-1:2 python train.py <% $parameters.epochs %>
  worker:
    instances: 2
    dockerImage: image
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
    commands: [sleep infinity]
extras:
  com.microsoft.pai.runtimeplugin:
    - {plugin: ssh, parameters: {jobssh: true, sshbarrier: true}}
"""


def to_job(text: str) -> Converted:
    return manifest_to_job(next(manifests(parse(text))).root.plain)


def to_manifest(text: str) -> Converted:
    return job_to_manifest(Document(text).job)


def launcher(text: str) -> list[str]:
    commands: list[str] = to_job(text).result["taskRoles"]["launcher"]["commands"]
    return commands


def container(manifest: Converted, name: str) -> dict[str, Any]:
    found: dict[str, Any] = manifest.result["spec"]["mpiReplicaSpecs"][name]["template"]["spec"]["containers"][0]
    return found


def lost(converted: Converted) -> list[str]:
    return sorted(converted.lost)


def test_a_manifest_as_a_job() -> None:
    found = to_job(MANIFEST)
    roles = found.result["taskRoles"]
    assert roles["launcher"]["commands"] == [
        "export DATA=/mnt/data",
        'mpirun --allow-run-as-root -np 4 -H worker-0:2,worker-1:2 python train.py "${DATA}"',
    ]
    assert roles["worker"]["commands"] == ["sleep infinity"]
    assert roles["worker"]["resourcePerInstance"] == {"cpu": 2, "memoryMB": 1024, "gpu": 2}
    assert found.lost == {}
    text = manifest_text(found.result)
    assert Document(text).job.plain == found.result
    assert [one.code for one in Document(text).diagnostics if one.severity.label in {"error", "warning"}] == []


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("-np, ", "-c, ", "mpirun --allow-run-as-root -c 4 -H worker-0:2,worker-1:2 python train.py"),
        ('-np, "4", ', "", "mpirun -np 4 -H worker-0:2,worker-1:2 --allow-run-as-root python train.py"),
        ("[mpirun", "[horovodrun", "horovodrun -np 4 -H worker-0:2,worker-1:2 python train.py"),
        (
            "--hostfile, /etc/mpi/hostfile",
            "-H, 'train-launcher.train:2,train-worker-1.train.default.svc:2'",
            "mpirun --allow-run-as-root -np 4 -H launcher-0:2,worker-1:2 python train.py",
        ),
    ],
)
def test_hosts_of_the_launch_line(old: str, new: str, line: str) -> None:
    assert launcher(MANIFEST.replace(old, new))[-1] == f'{line} "${{DATA}}"'


def test_mpich_has_other_options() -> None:
    text = MANIFEST.replace("  slotsPerWorker", "  mpiImplementation: MPICH\n  slotsPerWorker")
    text = text.replace("--hostfile, /etc/mpi/hostfile, ", "")
    assert launcher(text)[-1] == 'mpirun -np 4 -hosts worker-0:2,worker-1:2 python train.py "${DATA}"'
    job = converted_text(Document(text).job, "pai").text
    assert "# pai-lsp: ignore-file[mpi-option-unknown] the image has MPICH\n" in job
    named = converted_text(Document(text.replace("example/mpi:1", "example/mpich:4")).job, "pai").text
    assert "ignore-file" not in named
    assert [[one.code for one in Document(found).diagnostics] for found in (job, named)] == [[], []]


def test_a_script_stays_a_script() -> None:
    words = MANIFEST.index("command: [mpirun"), MANIFEST.index("    Worker:")
    script = 'command: [bash, -c, "cd $(pwd)/$(DATA)\\nmpirun -np 4 ./a | tee log"]\n'
    assert launcher(MANIFEST[: words[0]] + script + MANIFEST[words[1] :])[1:] == [
        "cd $(pwd)/${DATA}",
        "mpirun --allow-run-as-root -np 4 -H worker-0:2,worker-1:2 ./a | tee log",
    ]


@pytest.mark.parametrize(
    ("script", "commands"),
    [
        ("pip install a && exec /usr/sbin/sshd -De", ["pip install a", "sleep infinity"]),
        (
            "if [ -x a ]; then ./a && ./b; fi && /usr/sbin/sshd -De",
            ["if [ -x a ]; then ./a && ./b; fi && sleep infinity"],
        ),
        ("service ssh start\\nsleep infinity", ["sleep infinity"]),
        ("/usr/sbin/sshd -De &\\nwait", ["sleep infinity &", "wait"]),
    ],
)
def test_a_worker_prepares_and_starts_ssh(script: str, commands: list[str]) -> None:
    command = f'command: [sh, -c, "{script}"]\n              resources'
    found = to_job(MANIFEST.replace("resources", command))
    assert found.result["taskRoles"]["worker"]["commands"] == commands


@pytest.mark.parametrize(
    ("place", "source", "options"),
    [
        ("dev/shm", "{medium: Memory, sizeLimit: 2Gi}", {"shmMB": 2048}),
        ("cache", "{medium: Memory, sizeLimit: 2Gi}", {}),
        ("dev/shm", "{medium: Memory}", {}),
        ("dev/shm", "{sizeLimit: 2Gi}", {}),
    ],
)
def test_only_sized_shared_memory_is_an_option_of_the_container(
    place: str, source: str, options: dict[str, int]
) -> None:
    text = MANIFEST.replace(
        "              resources",
        f"              volumeMounts: [{{name: memory, mountPath: /{place}}}]\n              resources",
    )
    text += f"          volumes: [{{name: memory, emptyDir: {source}}}]\n"
    found = to_job(text)
    assert found.result["taskRoles"]["worker"].get("extraContainerOptions", {}) == options
    is_lost = "spec.mpiReplicaSpecs.Worker.template.spec.containers[0].volumeMounts[0]" in lost(found)
    assert is_lost is not bool(options)


def test_what_a_job_cannot_have_is_listed() -> None:
    text = MANIFEST.replace("replicas: 2", "replicas: 2\n      restartPolicy: OnFailure")
    text = text.replace("{name: train}", "{name: train, namespace: a}")
    text = text.replace("  slotsPerWorker", "  runPolicy: {cleanPodPolicy: None, suspend: false}\n  slotsPerWorker")
    text = text.replace("value: /mnt/data}", "value: /mnt/data}, {name: KEY, valueFrom: {fieldRef: {}}}")
    text = text.replace("              resources", "              livenessProbe: {}\n              resources")
    text = text.replace("cpu: 1500m", "cpu: 1500m, amd.com/gpu: 1")
    text = text.replace("    Worker:\n", "            - {name: log, image: b}\n    Worker:\n")
    pod = "spec.mpiReplicaSpecs.{}.template.spec.containers"
    assert lost(to_job(text)) == [
        "metadata.namespace",
        f"{pod.format('Launcher')}[0].env[1]",
        f"{pod.format('Launcher')}[1]",
        "spec.mpiReplicaSpecs.Worker.restartPolicy",
        f"{pod.format('Worker')}[0].livenessProbe",
        f"{pod.format('Worker')}[0].resources.limits.amd.com/gpu",
        "spec.runPolicy.cleanPodPolicy",
    ]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("[mpirun, ", "[", "no-starter"),
        # a file of this name, and what the file `run.sh` makes of its arguments
        ("[mpirun, ", "[bash, -x, mpirun] # ", "no-starter"),
        ("[mpirun, ", "[bash, run.sh, -c, mpirun] # ", "no-starter"),
        ("command: [mpirun", "ports: [mpirun", "launcher-without-command"),
        ("resources", "command: [sleep, infinity]\n              resources", "worker-without-sshd"),
        ("replicas: 2", "replicas: 3000000000", "too-many-workers"),
        ("replicas: 2", "restartPolicy: Never", "worker-replicas-missing"),
        ("image: example/mpi:1\n              env", "env", "image-missing"),
    ],
)
def test_manifests_that_are_refused(old: str, new: str, code: str) -> None:
    with pytest.raises(ConversionError) as error:
        to_job(MANIFEST.replace(old, new))
    assert error.value.code == code


def test_a_job_as_a_manifest() -> None:
    found = to_manifest(JOB)
    assert found.result["metadata"] == {"name": "my-train"}
    words = "mpirun --allow-run-as-root -np 4 --hostfile /etc/mpi/hostfile python train.py 3"
    assert container(found, "Launcher")["command"] == words.split()
    assert "command" not in container(found, "Worker")
    limits = {"cpu": 4, "memory": "8192Mi", "nvidia.com/gpu": 2}
    assert container(found, "Worker")["resources"] == {"limits": limits}
    spec = found.result["spec"]
    assert (spec["slotsPerWorker"], spec.get("runLauncherAsWorker")) == (2, None)
    assert spec["launcherCreationPolicy"] == "WaitForWorkersReady"
    assert found.lost == {}
    text = manifest_text(found.result)
    assert next(manifests(parse(text))).root.plain == found.result
    assert [one.code for one in Document(text).diagnostics if one.severity.label in {"error", "warning"}] == []


def test_there_and_back() -> None:
    back = to_job(manifest_text(to_manifest(JOB).result)).result["taskRoles"]
    assert back["launcher"]["commands"] == [
        "mpirun --allow-run-as-root -np 4 -H worker-0:2,worker-1:2 python train.py 3"
    ]
    assert back["worker"]["instances"] == 2


def test_what_needs_a_shell_runs_in_one() -> None:
    found = to_manifest(JOB.replace("[sleep infinity]", "[pip install a, sleep 1d]").replace(" <% $", " > log-<% $"))
    script = "mpirun --allow-run-as-root -np 4 --hostfile /etc/mpi/hostfile python train.py > log-3"
    assert container(found, "Launcher")["command"] == ["/bin/bash", "-euo", "pipefail", "-c"]
    assert container(found, "Launcher")["args"] == [script]
    assert container(found, "Worker")["args"] == ["pip install a\nexec /usr/sbin/sshd -De"]


def test_intel_mpi_is_recognized() -> None:
    text = JOB.replace("--allow-run-as-root -np 4 -H", "-np 4 -hosts").replace("example/mpi:1", "intel/oneapi:1")
    found = to_manifest(text)
    assert found.result["spec"]["mpiImplementation"] == "Intel"
    assert container(found, "Launcher")["command"][3:5] == ["-f", "/etc/mpi/hostfile"]


def test_storages_are_mounted() -> None:
    found = to_manifest(f"{JOB}    - {{plugin: teamwise_storage, parameters: {{storageConfigNames: [data]}}}}\n")
    assert container(found, "Worker")["volumeMounts"][1] == {"name": "storage-0", "mountPath": "/mnt/data"}
    assert found.lost == {}


def test_what_an_mpijob_cannot_have_is_listed() -> None:
    text = JOB.replace("type: job", "type: job\ndescription: a\ndefaults: {virtualCluster: a}\nsecrets: {a: b}")
    text = text.replace("gpu: 2}", "gpu: 2, ports: {a: 1}}\n    completion: {minFailedInstances: 1}")
    text = text.replace("[sleep infinity]", "[echo $PAI_JOB_NAME, sleep infinity]\n    taskRetryCount: 1")
    text = text.replace("sshbarrier: true", "sshbarrier: true, userssh: {}") + "  hivedScheduler: {}\n"
    text = text.replace("parameters:", '  - {type: data, name: a, uri: ["b"]}\nparameters:', 1)
    assert lost(to_manifest(text)) == [
        "defaults.virtualCluster",
        "description",
        "extras.com.microsoft.pai.runtimeplugin[0].parameters.userssh",
        "extras.hivedScheduler",
        "prerequisites[1]",
        "secrets",
        "taskRoles.worker.commands",
        "taskRoles.worker.completion.minFailedInstances",
        "taskRoles.worker.resourcePerInstance.ports",
        "taskRoles.worker.taskRetryCount",
    ]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("mpirun ", "python ", "no-launcher"),
        ("[sleep infinity]", "[mpirun ls]", "several-launchers"),
        ("instances: 1\n", "instances: 2\n", "launcher-instances"),
        ("worker-1:2", "worker-1:1", "unequal-slots"),
        ("worker-1:2", "worker-2:2", "unknown-host"),
        ("-H worker-0:2,worker-1:2", "--hostfile hosts", "unknown-host"),
        (",worker-1:2", "", "not-all-workers-listed"),
        ("[sleep infinity]", "[sleep infinity, ls]", "worker-ends"),
        ("taskRoles:", "jobName:", "not-a-job"),
        ("type: job\n", "type: job\ntype: job\n", "not-a-job"),
    ],
)
def test_jobs_that_are_refused(old: str, new: str, code: str) -> None:
    with pytest.raises(ConversionError) as error:
        to_manifest(JOB.replace(old, new))
    assert error.value.code == code


def test_comments_are_kept() -> None:
    text = MANIFEST.replace("    Worker:", "    # Two are enough.\n    # pai-lsp-ignore\n    Worker:")
    assert kept_comments(parse(text)) == [
        "# Trains the model.",
        "# slotsPerWorker: one for each GPU",
        "# Worker: Two are enough.",
    ]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mpijob.yaml"
    path.write_text(MANIFEST.replace("{name: train}", "{name: train, namespace: a}"), encoding="utf-8")
    assert main(["convert", "--to", "pai", str(path)]) == 0
    output, errors = capsys.readouterr()
    assert output.startswith("# Trains the model.\n# slotsPerWorker: one for each GPU\nprotocolVersion: 2\n")
    assert errors == "pai-lsp convert: not converted: metadata.namespace: an OpenPAI job has no such key\n"
    assert main(["convert", "--to", "mpijob", "--format", "json", str(path)]) == 1
    assert json.loads(capsys.readouterr().out)["error"] == "not-a-job"


EXAMPLES = Path(__file__).parent.parent / "examples" / "mpijob"


@pytest.mark.parametrize(
    ("source", "to", "result", "missing"),
    [
        ("train.yaml", "pai", "train.pai.yaml", []),
        ("horovod.pai.yaml", "mpijob", "horovod.yaml", ["extras.hivedScheduler"]),
        ("old.yaml", "v2beta1", "upgraded.yaml", ["spec.mpiReplicaSpecs.Worker.restartPolicy"]),
    ],
)
def test_the_examples(
    source: str, to: str, result: str, missing: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", "--to", to, str(EXAMPLES / source)]) == 0
    output, errors = capsys.readouterr()
    assert output == (EXAMPLES / result).read_text(encoding="utf-8")
    assert [line.split(": ")[2] for line in errors.splitlines()] == missing
    assert [one.code for one in Document(output).diagnostics if one.severity <= Severity.WARNING] == []


@pytest.mark.parametrize("to", ["pai", "v2beta1"])
def test_wrong_types_are_refused(to: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mpijob.yaml"
    path.write_text(MANIFEST.replace("image: example/mpi:1", "image: [1]", 1), encoding="utf-8")
    assert main(["convert", "--to", to, "--format", "json", str(path)]) == 1
    expected = {"pai": "wrong-type", "v2beta1": "not-an-older-version"}
    assert json.loads(capsys.readouterr().out)["error"] == expected[to]


def test_other_documents_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mpijob.yaml"
    path.write_text(f"kind: ConfigMap\n---\n{MANIFEST}", encoding="utf-8")
    assert main(["convert", "--to", "pai", "--format", "json", str(path)]) == 0
    assert [one["field"] for one in json.loads(capsys.readouterr().out)["lost"]] == ["documents[0]"]


def test_conversions_to_the_letter() -> None:
    found = recorded_conversions()
    assert found == CONVERSIONS.read_text(encoding="utf-8"), "python tests/recorded_manifests.py writes them"
