"""MPIJobs with small changes: what is found in each, and what each is converted to.

`python tests/recorded_manifests.py` writes the records `mpijob_findings.txt`, with words, messages and edits,
`mpijob_conversions.txt`, with what a result lacks, or why the conversion is refused, and `mpijob_keys.txt`. After a
change, read what `git diff` shows of them.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from recorded_findings import recorded

from pai_lsp.document import Document
from pai_lsp.mpijob.conversion import ConversionError
from pai_lsp.mpijob.converted_text import converted_text
from pai_lsp.mpijob.manifest import SERVED, TRAINING_OPERATOR
from pai_lsp.mpijob.structure import manifest_field, manifest_fields

FINDINGS = Path(__file__).parent / "mpijob_findings.txt"
KEYS = Path(__file__).parent / "mpijob_keys.txt"
CONVERSIONS = Path(__file__).parent / "mpijob_conversions.txt"
GOOD = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: train}
spec:
  slotsPerWorker: 2
  runPolicy: {cleanPodPolicy: Running}
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
            - name: launcher
              image: example/mpi:1
              command: [mpirun, --allow-run-as-root, -np, "4", --hostfile, /etc/mpi/hostfile, python, train.py]
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - name: worker
              image: example/mpi:1
"""
MANIFEST = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: train}
spec:
  slotsPerWorker: 2
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
            - name: launcher
              image: mpi:1
              command: [mpirun, -np, "4", --hostfile, /etc/mpi/hostfile, ./a]
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - name: worker
              image: mpi:1
"""
JOB = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "mpi:1"}
taskRoles:
  master:
    dockerImage: image
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 0}
    commands:
      - mpirun -np 4 -H worker-0:2,worker-1:2 ./a
  worker:
    instances: 2
    dockerImage: image
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
    commands: [sleep infinity]
"""
OLDER = MANIFEST.replace("v2beta1", "v1")
OLDEST = """\
apiVersion: kubeflow.org/v1alpha1
kind: MPIJob
metadata: {name: train}
spec:
  gpus: 4
  gpusPerNode: 2
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "mpi:1", command: [mpirun, ./a], args: [b], resources: {limits: {cpu: 1}}}]
"""
OTHER = """\
apiVersion: batch.test.bdap.com/v1
kind: MPIJob
metadata: {name: train}
spec:
  numWorkers: 2
  launcherTemplate: {spec: {containers: [{name: main, image: "mpi:1", command: [mpirun, ./a]}]}}
  workerTemplate: {spec: {containers: [{name: main, image: "mpi:1", command: [sleep, infinity]}]}}
"""
_OTHER_ROLE = (
    "  other:\n    dockerImage: image\n    resourcePerInstance: {cpu: 1}\n    commands: [sleep 1d]\n  worker:\n"
)
_PAD = "\n              "
_LAUNCHER, _WORKER = "name: launcher", "name: worker"
_COMMAND = 'command: [mpirun, -np, "4", --hostfile, /etc/mpi/hostfile, ./a]'
_POD = "          containers:\n            - name: worker"
# What is converted, to what, and what is written in place of what, one pair after the other.
CASES: list[tuple[str, str, tuple[str, ...]]] = [
    (MANIFEST, "pai", ()),
    # --- names, policies, replicas ---
    (MANIFEST, "pai", ("{name: train}", "{name: train.a, labels: {a: b}}")),
    (MANIFEST, "pai", ("{name: train}", "{generateName: train-}")),
    (MANIFEST, "pai", ("metadata: {name: train}\n", "")),
    (MANIFEST, "pai", ("  slotsPerWorker: 2\n", "  runPolicy: {backoffLimit: 3, cleanPodPolicy: Running}\n")),
    (MANIFEST, "pai", ("  slotsPerWorker: 2\n", "  runPolicy: {suspend: true, ttlSecondsAfterFinished: 5}\n")),
    (MANIFEST, "pai", ("  slotsPerWorker: 2\n", "  slotsPerWorker: 4\n  runLauncherAsWorker: true\n")),
    (MANIFEST, "pai", ("  slotsPerWorker: 2\n", "  slotsPerWorker: 2\n  sshAuthMountPath: /root/.ssh\n")),
    (MANIFEST, "pai", ("  slotsPerWorker: 2\n", "  sshAuthMountPath: /home/a/.ssh\n  a: 1\n")),
    (MANIFEST, "pai", ("    Launcher:", "    Launcher:\n      restartPolicy: OnFailure")),
    (MANIFEST, "pai", ("    Launcher:", "    Launcher:\n      restartPolicy: Never")),
    (MANIFEST, "pai", ("replicas: 2", "replicas: 2\n      restartPolicy: Never")),
    (MANIFEST, "pai", ("replicas: 2", "replicas: 1")),
    (MANIFEST, "pai", ("replicas: 2", "replicas: 0")),
    (MANIFEST, "pai", ("replicas: 2", "replicas: 10001")),
    (MANIFEST, "pai", ("    Worker:\n", "    Other: {replicas: 1}\n    Worker:\n")),
    (MANIFEST, "pai", (MANIFEST[MANIFEST.index("    Worker:") :], "", "slots", "runLauncherAsWorker: true\n  slots")),
    (MANIFEST, "pai", (MANIFEST[MANIFEST.index("    Worker:") :], "")),
    (MANIFEST, "pai", ("    Launcher:", "    launcher:")),
    (MANIFEST, "pai", ("spec:\n", "specs:\n")),
    (MANIFEST, "pai", ("kind: MPIJob", "kind: Pod")),
    # --- what a container has ---
    (MANIFEST, "pai", (f"{_WORKER}{_PAD}image: mpi:1", f"{_WORKER}{_PAD}image: mpi:2")),
    (MANIFEST, "pai", (_WORKER, f"{_WORKER}{_PAD}resources: {{limits: {{cpu: 1500m, memory: 1025Ki}}}}")),
    (
        MANIFEST,
        "pai",
        (_WORKER, f"{_WORKER}{_PAD}resources: {{requests: {{cpu: 3, memory: 2G, nvidia.com/gpu: 1, amd.com/gpu: 1}}}}"),
    ),
    (
        MANIFEST,
        "pai",
        (_WORKER, f"{_WORKER}{_PAD}resources: {{requests: {{cpu: 3}}, limits: {{cpu: 0, memory: 0}}, claims: []}}"),
    ),
    (
        MANIFEST,
        "pai",
        (
            _WORKER,
            (
                f"{_WORKER}{_PAD}resources: {{limits: {{rdma/hca: 1}}}}"
                f"{_PAD}securityContext: {{capabilities: {{add: [IPC_LOCK]}}}}"
            ),
        ),
    ),
    (
        MANIFEST,
        "pai",
        (
            _WORKER,
            (
                f"{_WORKER}{_PAD}resources: {{limits: {{rdma/hca: 0}}}}"
                f"{_PAD}securityContext: {{capabilities: {{add: [IPC_LOCK]}}}}"
            ),
        ),
    ),
    (MANIFEST, "pai", (_POD, _POD.replace("  containers", "  nodeSelector: {a: b}\n          containers"))),
    (
        MANIFEST,
        "pai",
        ("replicas: 2\n      template:\n", "replicas: 2\n      template:\n        metadata: {name: a}\n"),
    ),
    (
        MANIFEST,
        "pai",
        (
            _POD,
            (
                "          volumes:\n"
                "            - {name: a, persistentVolumeClaim: {claimName: data}}\n"
                "            - {name: m, emptyDir: {medium: Memory, sizeLimit: 100Ki}}\n"
                f"{_POD}{_PAD}volumeMounts:"
                f"{_PAD}  - {{name: a, mountPath: /data}}{_PAD}  - {{name: a, mountPath: /data, readOnly: true}}"
                f"{_PAD}  - {{name: a}}{_PAD}  - {{name: b, mountPath: /b}}{_PAD}  - {{name: m, mountPath: /dev/shm}}"
            ),
        ),
    ),
    (
        MANIFEST,
        "pai",
        (_LAUNCHER, f"{_LAUNCHER}{_PAD}env: [{{name: A, value: \"it's\"}}, {{name: B, value: '$(A)\"`'}}]"),
    ),
    (
        MANIFEST,
        "pai",
        (
            _LAUNCHER,
            (
                f"{_LAUNCHER}{_PAD}env: [{{name: OMPI_ALLOW_RUN_AS_ROOT, value: '1'}}, "
                "{name: OMPI_ALLOW_RUN_AS_ROOT_CONFIRM, value: '1'}, {name: C}]"
            ),
        ),
    ),
    (MANIFEST, "pai", (_LAUNCHER, f"{_LAUNCHER}{_PAD}env: [{{name: OMPI_ALLOW_RUN_AS_ROOT, value: '1'}}]")),
    # --- launch lines ---
    (MANIFEST, "pai", ("command: [mpirun", "args: [mpirun")),
    (MANIFEST, "pai", ('-np, "4", --hostfile, /etc/mpi/hostfile, ', "")),
    (MANIFEST, "pai", ("mpirun", "mpirun, --allow-run-as-root")),
    (MANIFEST, "pai", ("mpirun", "mpirun, -H, 'train-worker-0:2,other'")),
    (MANIFEST, "pai", ("mpirun", "horovodrun", "slots", "mpiImplementation: MPICH\n  slots")),
    (MANIFEST, "pai", ("--hostfile", "-f", "mpirun", "mpiexec", "slots", "mpiImplementation: Intel\n  slots")),
    (MANIFEST, "pai", ("--hostfile, /etc/mpi/hostfile, ", "", "slots", "mpiImplementation: Intel\n  slots")),
    (
        MANIFEST,
        "pai",
        (
            "--hostfile, /etc/mpi/hostfile, ",
            "-ppn, '2', ",
            "mpi:1",
            "mpich:1",
            "slots",
            "mpiImplementation: MPICH\n  slots",
        ),
    ),
    (MANIFEST, "pai", (_COMMAND, "command: [bash, -c, 'mpirun ./a; cat /etc/mpi/hostfile']")),
    (MANIFEST, "pai", (_COMMAND, 'command: [/bin/bash, -euo, pipefail, -c, "mpirun ./a\\nmpirun -n 2 ./b  "]')),
    (MANIFEST, "pai", (_COMMAND, 'command: [bash, -c, "cat > a <<E\\nb\\nE\\n\\nmpirun ./a"]')),
    (MANIFEST, "pai", (_COMMAND, "command: [bash, -c, \"mpirun ./a 'b\\nc'\"]")),
    (MANIFEST, "pai", (_COMMAND, "command: [bash, -x, 'mpirun ./a']")),
    (MANIFEST, "pai", (_COMMAND, "command: [bash, run, -c, 'mpirun ./a']")),
    (MANIFEST, "pai", (_COMMAND, "command: [mpirun, './a b', $(HOME), \"$(HOME)'\"]")),
    (MANIFEST, "pai", (_WORKER, f"{_WORKER}{_PAD}command: [bash, -c, 'mkdir /run/sshd && /usr/sbin/sshd; sleep 1d']")),
    (MANIFEST, "pai", (_WORKER, f"{_WORKER}{_PAD}command: [bash, -c, 'a || b && service sshd start && sleep 1d']")),
    (MANIFEST, "pai", (_WORKER, f"{_WORKER}{_PAD}command: [bash, -c, '(cd a && ls) && env A=1 /usr/sbin/sshd -D']")),
    (MANIFEST, "pai", (_WORKER, f"{_WORKER}{_PAD}args: [service, ssh, stop]")),
    # --- jobs ---
    (JOB, "mpijob", ()),
    (JOB, "mpijob", ("name: train", "name: 1_Train.x", "type: job", "type: job\njobRetryCount: 2")),
    (JOB, "mpijob", ("name: train", f"name: {'t' * 49}-x")),
    (JOB, "mpijob", ("name: train\n", "")),
    (JOB, "mpijob", ("worker-0:2,worker-1:2", "worker-0:2,worker-1:2,master-0:2")),
    (JOB, "mpijob", ("worker-0:2,worker-1:2", "worker-0,worker-1")),
    (JOB, "mpijob", ("worker-0:2,worker-1:2", "localhost:2")),
    (JOB, "mpijob", ("worker-0:2,worker-1:2", "$HOSTS")),
    (JOB, "mpijob", ("worker-0:2,worker-1:2", "worker-0:x")),
    (JOB, "mpijob", ("worker-0:2,worker-1:2", "worker-0:2,worker-1:1")),
    (JOB, "mpijob", ("worker-0:2,worker-1:2", "worker-0:2,master-1:2")),
    (JOB, "mpijob", ("worker-0:2,worker-1:2", "worker:2")),
    (JOB, "mpijob", ("worker-0:2,worker-1:2", "worker-0:2")),
    (JOB, "mpijob", ("-H worker-0:2,worker-1:2 ", "")),
    (JOB, "mpijob", ("-np 4 -H worker-0:2,worker-1:2 ", "", "gpu: 0", "gpu: 3")),
    (JOB, "mpijob", ("-np 4 -H worker-0:2,worker-1:2 ", "")),
    (JOB, "mpijob", ("-H worker-0:2,worker-1:2", "--hostfile a")),
    (JOB, "mpijob", ("mpirun -np 4 -H", "mpiexec -n 4 -hosts")),
    (JOB, "mpijob", ("mpirun -np 4 -H", "mpiexec -n 4 -hosts", "mpi:1", "oneapi:1")),
    (JOB, "mpijob", ("./a", "./a\n      - mpirun -H worker-0:2 ./b | tee c")),
    (JOB, "mpijob", ("mpirun", "timeout 60 mpirun")),
    (JOB, "mpijob", ("./a", "'$(A) b'")),
    (JOB, "mpijob", ("./a", "$A")),
    (JOB, "mpijob", ("./a", "./a # b")),
    (JOB, "mpijob", ("./a", "<% $parameters.a %>")),
    (JOB, "mpijob", ("./a", "<% $parameters.a %>", "type: job", "type: job\nparameters: {a: 5}")),
    (JOB, "mpijob", ("./a", "<% $parameters.a.b.c %>", "type: job", "type: job\nparameters: {a: 5}")),
    (JOB, "mpijob", ("./a", "$PAI_JOB_NAME")),
    (JOB, "mpijob", ("    dockerImage: image\n", "    instances: 2\n    dockerImage: image\n")),
    (JOB, "mpijob", ("[sleep infinity]", "[mpirun ls]")),
    (JOB, "mpijob", ("[sleep infinity]", "[ls]")),
    (JOB, "mpijob", ("[sleep infinity]", "['  sleep 1d']")),
    (JOB, "mpijob", ("mpirun", "python")),
    (JOB, "mpijob", ("    instances: 2\n", "    instances: 2\n    taskRetryCount: 1\n")),
    (
        JOB,
        "mpijob",
        (
            "    instances: 2\n",
            "    instances: 2\n    taskRetryCount: 1\n",
            "type: job",
            "type: job\nextras: {gangAllocation: false}",
        ),
    ),
    (
        JOB,
        "mpijob",
        (
            "  master:\n",
            "  master:\n    taskRetryCount: 1\n",
            "type: job",
            "type: job\nextras: {gangAllocation: 'false', a: b}",
        ),
    ),
    (
        JOB,
        "mpijob",
        (
            "    instances: 2\n",
            (
                "    instances: 2\n    completion: {minFailedInstances: 1, minSucceededInstances: 1}\n"
                "    extraContainerOptions: {infiniband: true, shmMB: 4, a: b}\n    policy: a\n"
            ),
        ),
    ),
    (
        JOB,
        "mpijob",
        (
            "    instances: 2\n",
            "    instances: 2\n    completion: {minFailedInstances: -1, minSucceededInstances: -1}\n",
        ),
    ),
    (JOB, "mpijob", ("gpu: 2}", "gpu: 2, ports: {a: 1}, a: b}", "{cpu: 4, memoryMB: 8192, gpu: 0}", "{}")),
    (
        JOB,
        "mpijob",
        ('uri: "mpi:1"}', 'uri: "mpi:1", auth: {username: a, password: b, registryuri: c}}\n  - {type: data, name: d}'),
    ),
    (JOB, "mpijob", ("dockerImage: image", "dockerImage: other")),
    (
        JOB,
        "mpijob",
        ("type: job", "type: job\nextras:\n  storages: [{name: a}, {name: b, mountPath: /b, c: d}, {mountPath: /e}]"),
    ),
    (
        JOB,
        "mpijob",
        (
            "type: job",
            (
                "type: job\nextras:\n  com.microsoft.pai.runtimeplugin:\n"
                "    - {plugin: ssh, parameters: {jobssh: true, sshbarrier: 'true', userssh: {}}}\n"
                "    - {plugin: teamwise_storage, parameters: {storageConfigNames: [a, 5]}}\n    - {plugin: git}"
            ),
        ),
    ),
    (
        JOB,
        "mpijob",
        (
            "type: job",
            (
                "type: job\nextras:\n  storages: [{name: a}]\n  com.microsoft.pai.runtimeplugin:\n"
                "    - {plugin: ssh, parameters: {sshbarrier: false}}\n"
                "    - {plugin: teamwise_storage, parameters: {storageConfigNames: [a]}}"
            ),
        ),
    ),
    (
        JOB,
        "mpijob",
        (
            "worker-1:2",
            "worker-1:2,other-0:2",
            "  worker:\n",
            _OTHER_ROLE,
        ),
    ),
    (
        JOB,
        "mpijob",
        (
            "  worker:\n",
            _OTHER_ROLE,
            "type: job",
            "type: job\ndefaults: {deployment: a, virtualCluster: b}",
        ),
    ),
    (JOB, "mpijob", ("type: job\n", "type: job\njobName: a\n")),
    (JOB, "mpijob", ("type: job\n", "type: job\n'\n")),
    (JOB, "mpijob", ("type: job\n", "type: job # it trains\n", "protocolVersion", "# first\nprotocolVersion")),
    # --- older manifests ---
    (MANIFEST, "v2beta1", ()),
    (
        OLDER,
        "v2beta1",
        ("slots", "cleanPodPolicy: All\n  backoffLimit: 0\n  runPolicy: {cleanPodPolicy: None}\n  slots"),
    ),
    (OLDER, "v2beta1", ("slots", "runPolicy: {managedBy: kubeflow.org/training-operator}\n  slots")),
    (OLDER, "v2beta1", ("slots", "runPolicy: {managedBy: a/b}\n  slots")),
    (
        OLDER,
        "v2beta1",
        (
            "slots",
            "mainContainer: main\n  slots",
            f"            - {_WORKER}",
            f"            - {{name: log, image: log}}\n            - {_WORKER}",
            _WORKER,
            "name: main",
        ),
    ),
    (OLDER, "v2beta1", (_LAUNCHER, f"{_LAUNCHER}{_PAD}resources: {{limits: {{nvidia.com/gpu: 2}}}}")),
    (OLDER, "v2beta1", (_LAUNCHER, f"{_LAUNCHER}{_PAD}resources: {{limits: {{nvidia.com/gpu: 0}}}}")),
    (
        OLDER,
        "v2beta1",
        (
            "    Launcher:",
            "    Launcher:\n      restartPolicy: ExitCode",
            _POD,
            f"          restartPolicy: Never\n{_POD}",
        ),
    ),
    (OLDER, "v2beta1", ("replicas: 2", "replicas: 0")),
    (OLDER, "v2beta1", (MANIFEST[MANIFEST.index("    Worker:") :], "    Worker: 5\n")),
    (OLDER, "v2beta1", (_WORKER, f"{_WORKER}{_PAD}command: [sleep, infinity]{_PAD}args: []")),
    (OLDER, "v2beta1", (_WORKER, f"{_WORKER}{_PAD}command: [bash, -c]{_PAD}args: ['sleep 1d']")),
    (OLDER, "v2beta1", (_WORKER, f"{_WORKER}{_PAD}command: [bash, -c, './prepare; sleep infinity']")),
    (OLDER, "v2beta1", (_WORKER, f"{_WORKER}{_PAD}command: [bash, -c]{_PAD}args: ['./prepare; sleep infinity']")),
    (OLDER, "v2beta1", (_WORKER, f"{_WORKER}{_PAD}command: [./run]")),
    (OLDER, "v2beta1", (_WORKER, f"{_WORKER}{_PAD}args: [./run]")),
    (OLDER, "v2beta1", (_WORKER, f"{_WORKER}{_PAD}command: [bash, -c, './prepare; /usr/sbin/sshd -De']")),
    (OLDEST, "v2beta1", ()),
    (OLDEST, "v2beta1", ("  gpusPerNode: 2\n", "")),
    (OLDEST, "v2beta1", ("gpus: 4", "gpus: 1")),
    (OLDEST, "v2beta1", ("gpus: 4", "gpus: 2", "cpu: 1", "nvidia.com/gpu: 1")),
    (OLDEST, "v2beta1", ("gpus: 4", "gpus: 5")),
    (OLDEST, "v2beta1", ("gpus: 4", "gpus: -1")),
    (
        OLDEST,
        "v2beta1",
        ("gpus: 4\n  gpusPerNode", "processingResourceType: cpu\n  processingUnits: 8\n  processingUnitsPerNode"),
    ),
    (
        OLDEST,
        "v2beta1",
        ("  gpus: 4\n  gpusPerNode: 2\n", "  replicas: 3\n  launcherOnMaster: true\n  backoffLimit: 1\n"),
    ),
    (OLDEST, "v2beta1", ("  gpus: 4\n  gpusPerNode: 2\n", "  slotsPerWorker: 3\n", "{cpu: 1}", "{nvidia.com/gpu: 2}")),
    (OLDEST, "v2beta1", ("  gpus: 4\n  gpusPerNode: 2\n", "", "{cpu: 1}", "{nvidia.com/gpu: 2}")),
    (OLDEST, "v2beta1", ("v1alpha1", "v3")),
    (OTHER, "v2beta1", ()),
    (OTHER, "v2beta1", ("  numWorkers: 2\n", "", "{containers", "{restartPolicy: Never, containers")),
    (OTHER, "v2beta1", ("{containers", "{restartPolicy: Always, containers")),
    (OTHER, "v2beta1", ("workerTemplate: {spec: {c", "workerTemplate: {spec: {restartPolicy: Never, c")),
    (OLDEST, "pai", ()),
    (OTHER, "pai", ()),
]


# What is checked, and what is written in place of what, one pair after the other.
_SLOTS, _WORKER_IMAGE = "  slotsPerWorker: 2\n", "name: worker\n              image: example/mpi:1\n"
_LAUNCHER_IMAGE = "name: launcher\n              image: example/mpi:1\n"
_LAUNCH = 'command: [mpirun, --allow-run-as-root, -np, "4", --hostfile, /etc/mpi/hostfile, python, train.py]'
_OF_POD = "          containers:\n            - name: worker"
_OF_LAUNCHER = "          containers:\n            - name: launcher"
_HOSTS = "--hostfile, /etc/mpi/hostfile"


def _worker(more: str) -> tuple[str, str]:
    return _WORKER_IMAGE, f"{_WORKER_IMAGE}              {more}\n"


def _launcher(more: str) -> tuple[str, str]:
    return _LAUNCHER_IMAGE, f"{_LAUNCHER_IMAGE}              {more}\n"


def _spec(more: str) -> tuple[str, str]:
    return _SLOTS, f"  {more}\n{_SLOTS}"


def _metadata(more: str) -> tuple[str, str]:
    return "{name: train}", f"{{{more}}}"


CHANGES: list[tuple[str, ...]] = [
    (
        " --allow-run-as-root,",
        "",
        "python, train.py]\n",
        (
            "python, train.py]\n              env:\n                - {name: OMPI_ALLOW_RUN_AS_ROOT, value: '1'}\n"
            "                - {name: OMPI_ALLOW_RUN_AS_ROOT_CONFIRM, value: '1'}\n"
            "            - {name: side, image: example/side:1}\n"
        ),
    ),
    # --- processes and slots ---
    ('"4"', '"1"'),
    ('"4"', '"3"'),
    ('"4"', '"5"'),
    ('"4"', '"5"', *_spec("runLauncherAsWorker: true")),
    ('"4"', '"7"', *_spec("runLauncherAsWorker: true")),
    ('"4"', '"5"', *_spec("mpiImplementation: MPICH"), "--allow-run-as-root, ", ""),
    ('"4"', '"0"'),
    (_SLOTS, "  slotsPerWorker: 0\n"),
    (_SLOTS, "  slotsPerWorker: -1\n"),
    (_SLOTS, "", '"4"', '"3"'),
    (_SLOTS, "  slotsPerWorker: ~\n", '"4"', '"3"'),
    (_SLOTS, "  slotsPerWorker: two\n", '"4"', '"3"'),
    ('"4"', '"5", --oversubscribe'),
    ('"4"', '"5", --map-by, ":OVERSUBSCRIBE"'),
    ('"4"', '"5"', *_launcher("env: [{name: OMPI_MCA_rmaps_base_oversubscribe, value: '1'}]")),
    ('"4"', '"5"', *_launcher("env: [{name: OMPI_MCA_rmaps_base_oversubscribe, value: '0'}]")),
    ('"4"', '"5"', *_launcher("env: [{name: OMPI_MCA_rmaps_base_oversubscribe}]")),
    (_HOSTS, "-H, 'train-worker-0:2,train-worker-1:3'"),
    (_HOSTS, "-H, 'train-worker-0,train-worker-1'"),
    (_HOSTS, "-H, $HOSTS"),
    (_LAUNCH, "command: [bash, -c, 'mpirun --allow-run-as-root -np $N -H $HOSTS ./a']"),
    (_LAUNCH, "command: [bash, -c, 'OMPI_MCA_rmaps_base_oversubscribe=1 mpirun --allow-run-as-root -np 5 ./a']"),
    # --- hosts ---
    (f'mpirun, --allow-run-as-root, -np, "4", {_HOSTS}', 'horovodrun, -np, "4"'),
    (f'mpirun, --allow-run-as-root, -np, "4", {_HOSTS}', 'horovodrun, -np, "4"', *_spec("mpiImplementation: MPICH")),
    ("mpirun, --allow-run-as-root", "horovodrun", *_spec("mpiImplementation: MPICH")),
    ("mpirun, --allow-run-as-root", "horovodrun", "/etc/mpi/hostfile", "hosts", *_spec("mpiImplementation: MPICH")),
    ("mpirun, --allow-run-as-root", "horovodrun"),
    (f'mpirun, --allow-run-as-root, -np, "4", {_HOSTS}', "horovodrun, -H, 'train-worker-0:2,train-worker-1', -np, '2'"),
    (_LAUNCH, "command: [bash, -c, 'horovodrun -np 4 python a.py']"),
    (_LAUNCH, 'command: [bash, -c, "\\x68orovodrun -np 4 python a.py"]'),
    (_LAUNCH, "args: [horovodrun, -np, '4', python, a.py]"),
    (_HOSTS, "-H, 'train-worker-1:2,train-worker-2:2'"),
    (_HOSTS, "-H, 'train-launcher:2,localhost:2'"),
    (_HOSTS, "-H, 'train-worker-0.train.default.svc:2,10.0.0.1:2'"),
    (_HOSTS, "-H, 'train-worker-x:2,launcher:2'"),
    (_HOSTS, "-H, 'other:4'", "metadata: {name: train}\n", "metadata: {generateName: train}\n"),
    # --- words and shells ---
    ("-np", "-hostfilee, a, -np"),
    ("-np", "--nproc_per_node, '4', -np"),
    ("-np", "-ppn, '2', -np"),
    (_LAUNCH, "command: [torchrun, a.py]"),
    (_LAUNCH, "command: [python3.10, a.py]"),
    (_LAUNCH, "command: [./a]"),
    (_LAUNCH, "command: [bash, -c, python a.py]"),
    (_LAUNCH, "args: [python, a.py]"),
    (_LAUNCH, "command: [python, a.py]\n            - {name: b, image: b, command: [mpirun, b]}"),
    (_LAUNCH, "command: ['sleep 5']"),
    (_LAUNCH, "command: [/bin/my program]"),
    (_LAUNCH, "command: [./a -b]"),
    (_LAUNCH, "command: [' sshd']"),
    (_LAUNCH, "args: [mpirun -np 2]"),
    ("--allow-run-as-root", "'--allow-run-as-root -v'"),
    ("python, train.py", "python, a.py, -x, '&&', ls"),
    ("python, train.py", "python, 'a | b', 'c;', '$1', '${A}', '$A', 'a > b'"),
    ("python, train.py", f"python, '${{A}}{'a' * 60}'"),
    ("python, train.py", "python, -c, '$A', --eval, '$A', -x, '$A'"),
    ("python, train.py", "sh, '$A'"),
    # --- root ---
    ("--allow-run-as-root, ", ""),
    ("--allow-run-as-root, ", "", *_launcher("securityContext: {runAsUser: 0}")),
    (
        "--allow-run-as-root, ",
        "",
        *_launcher("securityContext: {runAsUser: 7}"),
        *_spec("sshAuthMountPath: /home/a/.ssh"),
    ),
    (
        "--allow-run-as-root, ",
        "",
        *_launcher(
            "env: [{name: OMPI_ALLOW_RUN_AS_ROOT, value: '1'}, {name: OMPI_ALLOW_RUN_AS_ROOT_CONFIRM, value: '1'}]"
        ),
    ),
    ("--allow-run-as-root, ", "", *_launcher("env: [{name: OMPI_ALLOW_RUN_AS_ROOT, value: '1'}]")),
    (_LAUNCH, "command: [sudo, -u, a, mpirun, -np, '4', ./a]"),
    (_LAUNCH, "command: [bash, -c, 'sudo -u a mpirun -np 4 ./a; mpirun -np 4 ./b']"),
    (_LAUNCH, "command: [bash, -c, 'export OMPI_ALLOW_RUN_AS_ROOT=1; mpirun -np 4 ./a']"),
    # --- what workers run ---
    (
        *_spec("launcherCreationPolicy: WaitForWorkersReady"),
        *_worker("command: [bash, -c, './prepare; /usr/sbin/sshd -De']"),
    ),
    (
        *_spec("launcherCreationPolicy: WaitForWorkersReady"),
        *_worker("readinessProbe: {tcpSocket: {port: 22}}\n              command: [./prepare]"),
    ),
    (*_spec("launcherCreationPolicy: AtStartup"), *_worker("command: [./prepare]")),
    (*_spec("launcherCreationPolicy: ''"), *_worker("command: [./prepare]")),
    (*_spec("launcherCreationPolicy: Later"), *_worker("command: [./prepare]")),
    (*_spec("launcherCreationPolicy: WaitForWorkersReady"), *_worker("command: [/usr/sbin/sshd, -De]")),
    _worker("command: [sleep, infinity]"),
    _worker("command: [python3, a.py]"),
    _worker("command: [bash, -c]\n              args: ['apt-get install -y openssh-server; sleep 1d']"),
    _worker("command: [bash, -c]\n              args: ['apt-get update; sleep 1d']"),
    _worker("command: [bash, -c, 'ls; python a.py']"),
    _worker("args: [/usr/sbin/sshd]"),
    _worker("args: [/usr/sbin/sshd, -e, -D]"),
    _worker("args: [/usr/sbin/sshd, -eD]"),
    _worker("args: [service, ssh, start]"),
    _worker("args: [service, cron, start]"),
    _worker("args: [bash, -c, '/etc/init.d/sshd start']"),
    # --- containers ---
    ("image: example/mpi:1\n              command", "image: ''\n              command"),
    ("name: worker", f"name: {'w' * 63}"),
    ("name: worker", f"name: {'w' * 64}"),
    ("name: worker", "name: ''"),
    ("name: worker", "name: My.Worker"),
    _launcher("resources: {limits: {nvidia.com/gpu: 1}}"),
    _launcher("resources: {requests: {nvidia.com/gpu: '1'}}"),
    _launcher("resources: {limits: {nvidia.com/gpu: 0}}"),
    (*_launcher("resources: {limits: {nvidia.com/gpu: 1}}"), *_spec("runLauncherAsWorker: true"), '"4"', '"6"'),
    (_OF_LAUNCHER, _OF_LAUNCHER.replace("- name", "- {name: log, image: log}\n            - name")),
    (_WORKER_IMAGE, f"{_WORKER_IMAGE}            - {{name: ssh, image: ssh, command: [sshd, -D]}}\n"),
    _launcher("env: [{name: OMPI_MCA_orte_keep_fqdn_hostnames, value: a}, {name: I_MPI_HYDRA_HOST_FILE, value: a}]"),
    _launcher("env: [{name: NVIDIA_VISIBLE_DEVICES, value: a}, {name: 5}, {value: b}]"),
    (*_launcher("env: [{name: NVIDIA_VISIBLE_DEVICES, value: a}]"), *_spec("runLauncherAsWorker: true"), '"4"', '"6"'),
    _worker("env: [{name: A, value: a}, {name: K_MPI_JOB_ROLE, value: a}]"),
    _launcher("env: [{name: A, value: a}, {name: A, value: /etc/mpi/kubexec.sh}]"),
    ("python, train.py", "-mca, plm_rsh_agent, /etc/mpi/kubexec.sh, ./a"),
    # --- replicas ---
    ("    Worker:", "    Workers:"),
    ("    Worker:", "    worker:"),
    ("    Worker:", "    Evaluator: {}\n    Worker:"),
    (GOOD[GOOD.index("    Worker:") :], "", f'-np, "4", {_HOSTS}, ', ""),
    ("replicas: 2", "replicas: -1"),
    ("replicas: 2", "replicas: two"),
    ("    Launcher:\n", "    Launcher:\n      replicas: 1\n"),
    ("    Launcher:\n", "    Launcher:\n      replicas: 0\n"),
    ("    Launcher:\n", "    Launcher:\n      restartPolicy: ''\n"),
    ("    Launcher:\n", "    Launcher:\n      restartPolicy: Always\n"),
    (_OF_POD, f"          restartPolicy: Always\n{_OF_POD}"),
    (_OF_POD, f"          restartPolicy: OnFailure\n{_OF_POD}"),
    (_OF_POD, f"          restartPolicy: Always\n{_OF_POD}", "replicas: 2", "replicas: 2\n      restartPolicy: Never"),
    (_OF_LAUNCHER, f"          restartPolicy: Never\n{_OF_LAUNCHER}"),
    (_OF_POD + "\n              image: example/mpi:1\n", "          containers: []\n"),
    ("        spec:\n" + _OF_POD + "\n              image: example/mpi:1\n", "        spec: 5\n"),
    ("        spec:\n" + _OF_POD + "\n              image: example/mpi:1\n", "        metadata: {name: a}\n"),
    # --- slots and GPUs, policies ---
    _worker("resources: {limits: {nvidia.com/gpu: 1}}"),
    _worker("resources: {limits: {nvidia.com/gpu: 2}}"),
    _worker("resources: {limits: {nvidia.com/gpu: 4}}"),
    (*_worker("resources: {limits: {nvidia.com/gpu: 4}}"), _SLOTS, "", '"4"', '"2"'),
    (*_worker("resources: {limits: {nvidia.com/gpu: 2}}"), "{cleanPodPolicy: Running}", "{cleanPodPolicy: None}"),
    (*_worker("resources: {limits: {nvidia.com/gpu: 2}}"), "{cleanPodPolicy: Running}", "{}"),
    (*_worker("resources: {limits: {nvidia.com/gpu: 2}}"), "  runPolicy: {cleanPodPolicy: Running}\n", ""),
    (*_worker("resources: {limits: {nvidia.com/gpu: 2}}"), "{cleanPodPolicy: Running}", "{cleanPodPolicy: All}"),
    (*_worker("resources: {limits: {nvidia.com/gpu: 2}}"), "{cleanPodPolicy: Running}", "{cleanPodPolicy: {a: b}}"),
    (*_worker("resources: {limits: {nvidia.com/gpu: 2}}"), "{cleanPodPolicy: Running}", "{cleanPodPolicy: }"),
    (
        *_worker("resources: {limits: {nvidia.com/gpu: 2}}"),
        "{cleanPodPolicy: Running}",
        "\n    cleanPodPolicy: # all\n",
    ),
    (*_worker("resources: {limits: {nvidia.com/gpu: 2}}"), "{cleanPodPolicy: Running}", "&a {cleanPodPolicy: None}"),
    (*_worker("resources: {limits: {nvidia.com/gpu: 2}}"), "{cleanPodPolicy: Running}", "{<<: {backoffLimit: 1}}"),
    ("Running}", "None}"),
    ("cleanPodPolicy: Running", "schedulingPolicy: {minAvailable: 3}"),
    ("cleanPodPolicy: Running", "schedulingPolicy: {minAvailable: 4}"),
    ("cleanPodPolicy: Running", "cleanPodPolicy: running"),
    ("cleanPodPolicy: Running", "cleanPodPolicy: ''"),
    ("cleanPodPolicy: Running", "backoffLimit: -1"),
    ("cleanPodPolicy: Running", "backoffLimit: 0, ttlSecondsAfterFinished: 0, activeDeadlineSeconds: -1"),
    ("cleanPodPolicy: Running", "managedBy: me"),
    ("cleanPodPolicy: Running", "managedBy: kueue.x-k8s.io/multikueue"),
    _spec("launcherCreationPolicy: AtStartUp"),
    _spec("mpiImplementation: Intel"),
    (_SLOTS, "  slotsPerWorker: 1\n  mpiImplementation: MPICH\n"),
    # --- ssh, volumes, network ---
    _spec("sshAuthMountPath: ~/.ssh"),
    _spec("sshAuthMountPath: /home/me/.ssh"),
    (*_spec("sshAuthMountPath: /home/me/.ssh"), *_launcher("securityContext: {runAsUser: 0}")),
    (*_spec("sshAuthMountPath: /root/.ssh"), *_launcher("securityContext: {runAsUser: 0}")),
    (_OF_LAUNCHER, f"          securityContext: {{runAsUser: 7}}\n{_OF_LAUNCHER}"),
    (
        *_spec("sshAuthMountPath: /root/.ssh"),
        _OF_LAUNCHER,
        f"          securityContext: {{runAsUser: 7}}\n{_OF_LAUNCHER}",
    ),
    _worker("volumeMounts: [{name: a, mountPath: /root/.ssh/}, {name: b, mountPath: /etc/mpi}, {name: c}]"),
    _launcher("volumeMounts: [{name: b, mountPath: /etc/mpi/}, {name: a, mountPath: /root/.ssh}]"),
    (
        *_spec("sshAuthMountPath: /keys"),
        *_launcher("volumeMounts: [{name: b, mountPath: /keys}, {name: c, mountPath: /root/.ssh}]"),
    ),
    (_OF_POD, f"          volumes: [{{name: a}}, {{name: mpi-job-config}}, {{name: ssh-auth}}]\n{_OF_POD}"),
    (_OF_LAUNCHER, f"          volumes: [{{name: mpi-job-config}}, {{name: ssh-auth}}]\n{_OF_LAUNCHER}"),
    (_OF_POD, f"          hostNetwork: true\n{_OF_POD}"),
    (_OF_POD, f"          hostNetwork: true\n{_OF_POD}", *_worker("command: [/usr/sbin/sshd, -D]")),
    (_OF_POD, f"          hostNetwork: true\n{_OF_POD}", *_worker("command: [/usr/sbin/sshd, -Dp, '9']")),
    (_OF_POD, f"          hostNetwork: true\n{_OF_POD}", *_worker("command: [/usr/sbin/sshd, -D, -f, a]")),
    (_OF_POD, f"          hostNetwork: true\n{_OF_POD}", *_worker("command: [./run]")),
    (_OF_POD, f"          hostNetwork: false\n{_OF_POD}"),
    # --- Open MPI 5 ---
    ("example/mpi:1\n              command", "openmpi:5.0\n              command"),
    (f"{_HOSTS}, ", "", "example/mpi:1\n              command", "openmpi:5.0\n              command"),
    (f"{_HOSTS}, ", "", "example/mpi:1\n              command", "openmpi:4.1\n              command"),
    (
        f"{_HOSTS}, ",
        "",
        *_launcher("env: [{name: PRTE_MCA_prte_default_hostfile, value: /etc/mpi/hostfile}]"),
        "example/mpi:1\n              env",
        "openmpi:5.0\n              env",
    ),
    (_LAUNCH, "command: [bash, -c, 'export A_default_hostfile=a; mpirun --allow-run-as-root --prtemca a b ./a']"),
    (
        f'-np, "4", {_HOSTS}, ',
        "-H, 'train-worker-0:2', ",
        "example/mpi:1\n              command",
        "openmpi:5.0\n              command",
    ),
    # --- names ---
    _metadata("name: Train_"),
    _metadata("name: 1train"),
    _metadata(f"name: {'t' * 54}"),
    _metadata(f"name: {'t' * 55}"),
    (*_metadata(f"name: {'t' * 53}"), "replicas: 2", "replicas: 11", '"4"', '"22"'),
    _metadata(f"name: {'t' * 253}"),
    _metadata(f"name: {'t' * 254}"),
    _metadata("name: ''"),
    _metadata("name: 5"),
    _metadata("labels: {a: b}"),
    _metadata("generateName: train-"),
    _metadata("generateName: Train-"),
    _metadata("generateName: '-'"),
    _metadata(f"generateName: {'t' * 60}"),
    _metadata(f"name: train, namespace: {'n' * 63}"),
    _metadata(f"name: train, namespace: {'n' * 64}"),
    _metadata("name: train, namespace: A"),
    _metadata("name: train, namespace: ''"),
    _metadata("name: train, finalizers: [a b, a/b, A/b, 5]"),
    _metadata(f"name: train, labels: {{a: -b, {'a' * 63}: {'b' * 63}, c: ''}}, annotations: {{-b: a}}"),
    _metadata(f"name: train, labels: {{a: {'b' * 64}, {'a' * 64}: b}}"),
    _metadata(f"name: train, labels: {{{'a' * 253}/a: b}}, annotations: {{{'a' * 254}/a: b}}"),
    ("metadata: {name: train}\n", "metadata: []\n"),
    ("metadata: {name: train}\n", ""),
    # --- structure ---
    ("image: example/mpi:1\n              command", "image: 5\n              command"),
    ("command: [", "command: {a: ["),
    ("              command: [", "              command:\n                a: b\n              args: ["),
    _spec("suspend: 'true'"),
    _spec("runLauncherAsWorker: 'true'"),
    _spec("runLauncherAsWorker: 1"),
    _spec("slotPerWorker: 2"),
    _spec("replicas: 2"),
    _spec("launcherOnMaster: true"),
    _spec("backoffLimit: 2"),
    ("cleanPodPolicy: Running", "queue: a"),
    (_SLOTS, "  slotsPerWorker: 2147483647\n"),
    (_SLOTS, "  slotsPerWorker: 2147483648\n"),
    (_SLOTS, "  slotsPerWorker: .inf\n"),
    (_SLOTS, "  slotsPerWorker: 1.0\n"),
    _worker("resources: {limits: {cpu: two, memory: 1Gi, a/b: 1.5}}"),
    _worker("ports: [{containerPort: 1}, {containerPort: 1, protocol: TCP}, {containerPort: 1, protocol: UDP}]"),
    _worker("args: [a, ~]"),
    _worker("imagePullPolicy: always"),
    ("        spec:\n" + _OF_POD, "        specs:\n" + _OF_POD),
    (GOOD[GOOD.index("  mpiReplicaSpecs") :], ""),
    (GOOD[GOOD.index("spec:") :], ""),
    (GOOD[GOOD.index("spec:") :], "spec: 5\n"),
    # --- kinds, versions, keys ---
    ("kind: MPIJob", "kind: mpijob"),
    ("kind: MPIJob", "kind: mpijobs"),
    ("v2beta1", "v1alpha2"),
    ("v2beta1", "v1"),
    ("v2beta1", "v3"),
    ("kubeflow.org/v2beta1", "KubeFlow/v1"),
    ("kubeflow.org/v2beta1", "v1"),
    ("kubeflow.org/v2beta1", "''"),
    ("kubeflow.org/v2beta1", "[a]"),
    ("apiVersion: kubeflow.org/v2beta1\n", ""),
    (_SLOTS, "  slotsPerWorker: x\n  slotsPerWorker: 2\n  slotsPerWorker: 2\n"),
    ("spec:\n", "spec:\n  <<: {slotsPerWorker: 3, sshAuthMountPath: a}\n  yes: 1\n"),
]
_SLEEPS = "command: [sleep, infinity]"
OTHER_CHANGES: list[tuple[str, ...]] = [
    (),
    (_SLEEPS, "command: [bash, -c], args: [./prepare.sh]"),
    (_SLEEPS, "command: [bash, -c, ./prepare.sh; sleep 1d]"),
    ("{containers", "{restartPolicy: Never, containers"),
    ("[mpirun, ./a]", "[mpirun, -np, '3', ./a]"),
    ("  numWorkers: 2\n", "", "[mpirun, ./a]", "[mpirun, -np, '2', ./a]"),
]


def recorded_findings() -> str:
    """All findings of the cases."""
    cases = [*((GOOD, pairs) for pairs in CHANGES), *((OTHER, pairs) for pairs in OTHER_CHANGES)]
    return "".join(
        f"==== {', '.join(map(repr, pairs))}\n" + "".join(f"{one}\n" for one in recorded(changed(text, pairs)))
        for text, pairs in cases
    )


def changed(text: str, pairs: tuple[str, ...]) -> str:
    """The text with the first place of each old part written anew."""
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def converted(text: str, to: str) -> str | ConversionError:
    """The result with what it lacks, or the refusal."""
    try:
        return converted_text(Document(text).job, to).text_with_lost
    except ConversionError as error:
        return error


def recorded_conversions() -> str:
    """All cases: of the plain ones the whole result, of others how it differs from that, or from the older version."""
    parts: list[str] = []
    plain: dict[tuple[str, str], str] = {}
    for text, to, pairs in CASES:
        source = changed(text, pairs)
        found = converted(source, to)
        parts.append(f"==== {text.split()[1]} to {to}: {', '.join(map(repr, pairs))}")
        if isinstance(found, ConversionError):
            parts.append(f"{found.code}: {found}")
            continue
        first = plain.setdefault((text, to), found)
        before = source if to == "v2beta1" else first if pairs else ""
        lines = difflib.unified_diff(before.splitlines(), found.splitlines(), n=0, lineterm="")
        parts += [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    return "\n".join(parts) + "\n"


def recorded_keys() -> str:
    """The documented keys of both versions as an editor offers them, each with what is known about it."""
    parts: list[str] = []

    def visit(path: tuple[str | int, ...], version: str) -> None:
        for one in manifest_fields(path, version):
            if one.description:
                below = (*path, str(one.key))
                shown = f"{'.'.join(map(str, below))}: {one.type} {one.types} {one.default} {one.values} {one.required}"
                parts.append(f"{shown} {one.enforced_by} {one.deprecated} {one.description[:40]!a}")
                assert manifest_field(below, version) == one
                visit(below if one.types != ("array",) else (*below, 0), version)

    for version in (SERVED, TRAINING_OPERATOR):
        parts.append(f"==== {version}")
        visit((), version)
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    KEYS.write_text(recorded_keys(), encoding="utf-8")
    FINDINGS.write_text(recorded_findings(), encoding="utf-8")
    CONVERSIONS.write_text(recorded_conversions(), encoding="utf-8")
