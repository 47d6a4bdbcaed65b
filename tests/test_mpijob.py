"""MPIJob manifests: recognized, read as Kubernetes reads them, refusals and dropped keys at their places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from marks import as_marks, examples, read_marks
from recorded_manifests import FINDINGS, GOOD, recorded_findings

from pai_lsp.cli.main import main
from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.lsp.client import Client
from pai_lsp.lsp.documents import OpenDocument
from pai_lsp.mpijob.conversion import ConversionError, manifest_text, upgraded
from pai_lsp.mpijob.manifest import manifests, plain_value, quantity
from pai_lsp.mpijob.manifest_rules import MANIFEST_RULES
from pai_lsp.mpijob.structure import manifest_fields
from pai_lsp.source.syntax import parse

if TYPE_CHECKING:
    from pai_lsp.findings.diagnostic import Rule


def fields(text: str) -> list[tuple[str, str]]:
    return [(found.code, found.field) for found in Document(text).diagnostics if found.severity <= Severity.WARNING]


@pytest.mark.parametrize("rule", MANIFEST_RULES, ids=lambda rule: rule.code)
def test_documented_examples(rule: Rule) -> None:
    bad, good = examples(rule)
    assert "Source" in rule.documentation
    assert bad or rule.code == "mpijob-unreadable"
    for example in bad:
        text, marks = read_marks(example, rule.code)
        found = [one for one in Document(text).diagnostics if one.code == rule.code]
        assert as_marks(text, found, with_messages=marks) == marks
    for text in good:
        assert [one for one in Document(text).diagnostics if one.code == rule.code] == []


# What these find is read of the first container alone: of others, an operator knows nothing.
ABOUT_THE_FIRST = (
    "host-format", "horovodrun-no-hosts", "hostfile-implicit", "launcher-gpu", "launcher-without-mpi", "mount-taken",
    "np-over-slots", "np-under-slots", "option-unknown", "run-as-root", "slots-over-gpus", "slots-under-gpus",
    "sshd-background", "unknown-host", "wait-without-probe", "worker-without-sshd", "workers-stay", "env-overridden",
)  # fmt: skip


@pytest.mark.parametrize("name", ABOUT_THE_FIRST)
def test_of_the_second_container_nothing_is_told(name: str) -> None:
    rule = next(one for one in MANIFEST_RULES if one.code == f"mpijob-{name}")
    text, marks = read_marks(examples(rule)[0][0], rule.code)
    for first in ("containers: [{", "containers:\n            - "):
        other = first.replace("{", "{name: log, image: log}, {").replace(
            "- ", "- {name: log, image: log}\n            - "
        )
        text = text.replace(first, other)
    assert "log" in text
    assert marks
    assert [one.message for one in Document(text).diagnostics if one.code == rule.code] == []


@pytest.mark.parametrize("name", ["train.yaml", "train.pai.yaml"])
def test_a_good_manifest(name: str) -> None:
    assert Document(GOOD, path=name).diagnostics == ()
    assert not Document(GOOD, path=name).is_job


@pytest.mark.parametrize(
    ("text", "is_job"),
    [
        ("protocolVersion: 2\ntaskRoles: {}\n", True),
        ("protocolVersion: '2' # of OpenPAI\ntype: job\n", True),
        ("protocolVersion: 2\ntype: data\n", False),
        ("{protocolVersion: 2, type: job}", True),
        ("{protocolVersion: 2, type: data}", False),
        ("{protocolVersion: 2, type: data, taskRoles: {}}", True),
        ("{protocolVersion: 1, type: job}", False),
        ("{protocolVersion: [2], type: job}", False),
        ("- protocolVersion: 2\n", False),
        ("---\nprotocolVersion: 2\ntype: job\n", True),
        ("a: 1\n---\nprotocolVersion: 2\ntype: job\n", False),
        ("protocolVersion: 2\nspec: 1\n---\ntype: job\n", False),
    ],
)
def test_a_job_by_its_text(text: str, *, is_job: bool) -> None:
    assert Document(text, path="train.yaml").is_job == is_job


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: example.org/v1\nkind: MPIJob\nspec: {size: 3}\n",
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec: {}\n",
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    apiVersion: kubeflow.org/v2beta1\n    kind: MPIJob\n",
        "- apiVersion: kubeflow.org/v2beta1\n  kind: MPIJob\n",
    ],
)
def test_other_manifests_are_not_mpijobs(text: str) -> None:
    assert not Document(text).is_mpijob


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("slotsPerWorker: 2", 'slotsPerWorker: "2"', "spec.slotsPerWorker"),
        ("slotsPerWorker: 2", "slotsPerWorker: 1.5", "spec.slotsPerWorker"),
        ("slotsPerWorker: 2", "slotsPerWorker: -1", "spec.slotsPerWorker"),
        ("slotsPerWorker: 2", "slotsPerWorker: 3000000000", "spec.slotsPerWorker"),
        ("cleanPodPolicy: Running", "cleanPodPolicy: running", "spec.runPolicy.cleanPodPolicy"),
        ("name: train", "name: My_Train", "metadata.name"),
        ("name: train", "name: " + "a" * 55, "metadata.name"),
        ("replicas: 2", "replicas: 0", "spec.mpiReplicaSpecs.Worker.replicas"),
        ("      replicas: 2\n", "", "spec.mpiReplicaSpecs.Worker.replicas"),
        ("    Launcher:", "    launcher:", "spec.mpiReplicaSpecs.Launcher"),
        (
            '"4"',
            "4",
            "spec.mpiReplicaSpecs.Launcher.template.spec.containers[0].command[3]",
        ),
        (
            "- name: worker",
            "- env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: registry}}}]\n              name: worker",
            "spec.mpiReplicaSpecs.Worker.template.spec.containers[0].env[0].valueFrom.secretKeyRef.key",
        ),
        (
            "- name: worker",
            '- readinessProbe: {tcpSocket: {port: 22}, periodSeconds: "5"}\n              name: worker',
            "spec.mpiReplicaSpecs.Worker.template.spec.containers[0].readinessProbe.periodSeconds",
        ),
    ],
)
def test_refusals(old: str, new: str, field: str) -> None:
    assert ("mpijob-refused", field) in fields(GOOD.replace(old, new, 1))


PROBE = "- readinessProbe: {tcpSocket: {port: %s}}\n              name: worker"
OF_POD = "containers:\n            - name: worker"
POD = "spec.mpiReplicaSpecs.Worker.template.spec"


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        # A port is a number or a name.
        ("- name: worker", PROBE % "1.5", ("mpijob-refused", f"{POD}.containers[0].readinessProbe.tcpSocket.port")),
        ("- name: worker", PROBE % "ssh", None),
        ("- name: worker", PROBE % "22", None),
        # Seconds of these two are 64 bits wide, those of a probe 32.
        (OF_POD, f"terminationGracePeriodSeconds: 3000000000\n          {OF_POD}", None),
        ("- name: worker", PROBE % "22, host: a}, periodSeconds: 3000000000, exec: {",
         ("mpijob-refused", f"{POD}.containers[0].readinessProbe.periodSeconds")),
        # Below what pods have rarely.
        ("- name: worker", "- securityContext: {capabilities: {add: IPC_LOCK}}\n              name: worker",
         ("mpijob-refused", f"{POD}.containers[0].securityContext.capabilities.add")),
        ("- name: worker", "- securityContext: {capabilities: {adds: [IPC_LOCK]}}\n              name: worker",
         ("mpijob-dropped-key", f"{POD}.containers[0].securityContext.capabilities.adds")),
        (OF_POD, f"volumes: [{{name: data, configMap: {{names: data}}}}]\n          {OF_POD}",
         ("mpijob-dropped-key", f"{POD}.volumes[0].configMap.names")),
        (OF_POD, f"hostAliases: [{{ip: 10.0.0.1}}, {{ip: 10.0.0.1}}]\n          {OF_POD}",
         ("mpijob-refused", f"{POD}.hostAliases[1]")),
        # Names of annotations may have capitals, those of labels not.
        ("{name: train}", "{name: train, annotations: {Example.com/a: b}}", None),
        ("{name: train}", "{name: train, labels: {Example.com/a: b}}",
         ("mpijob-refused", "metadata.labels.Example.com/a")),
        ("{name: train}", "{generateName: train-}", None),
        ("{name: train}", "{generateName: t-}", None),
        ("{name: train}", "{generateName: '-'}", ("mpijob-refused", "metadata.generateName")),
        ("{name: train}", "{generateName: train.}", ("mpijob-refused", "metadata.generateName")),
        ("- name: worker", PROBE % "3000000000",
         ("mpijob-refused", f"{POD}.containers[0].readinessProbe.tcpSocket.port")),
        ("{name: train}", "{name: train, finalizers: [a b]}", ("mpijob-refused", "metadata.finalizers[0]")),
        ("{name: train}", "{name: train, ownerReferences: [{name: x}]}",
         ("mpijob-refused", "metadata.ownerReferences[0].uid")),
    ],
)  # fmt: skip
def test_what_the_definition_says(old: str, new: str, found: tuple[str, str] | None) -> None:
    text = GOOD.replace(old, new, 1)
    assert text != GOOD
    assert found in fields(text) if found else fields(text) == []


@pytest.mark.parametrize(
    ("new", "code"),
    [
        ("!!int 2", None),
        ('!!int "2"', None),
        ("!!null ''", None),
        ("!!float 2", None),
        ("!x 2", "mpijob-refused"),
        ("!", "mpijob-refused"),
        ("! 2", "mpijob-refused"),
        ("!!bool yes", "mpijob-refused"),
        ("!!timestamp 2020-01-01", "mpijob-refused"),
        ("!!int 2.0", "mpijob-unreadable"),
        ("!!int two", "mpijob-unreadable"),
        ("!!bool two", "mpijob-unreadable"),
        ("!!null two", "mpijob-unreadable"),
        ("!!binary '*'", "mpijob-unreadable"),
        ("!!timestamp two", "mpijob-unreadable"),
        (".inf", "mpijob-unreadable"),
    ],
)
def test_tags_as_kubectl_reads_them(new: str, code: str | None) -> None:
    found = fields(GOOD.replace("slotsPerWorker: 2", f"slotsPerWorker: {new}"))
    assert [one for one, _ in found if not one.startswith("mpijob-np")] == ([code] if code else [])


def test_an_invisible_character_is_named_beside_another_refusal() -> None:
    text = GOOD.replace("slotsPerWorker: 2", "slotsPerWorker: \xa02").replace("        spec:\n", "        specs:\n", 1)
    assert ("invisible-character", "") in fields(text)


def test_a_tag_is_no_reason_to_stop() -> None:
    text = GOOD.replace("image: example/mpi:1", "image: !x example/mpi:1").replace("Running", "running")
    assert fields(text) == [("mpijob-refused", "spec.runPolicy.cleanPodPolicy")]


def test_a_dropped_key_names_its_place() -> None:
    text = GOOD.replace("  runPolicy: {cleanPodPolicy: Running}\n", "  cleanPodPolicy: Running\n")
    found = next(one for one in Document(text).diagnostics if one.code == "mpijob-dropped-key")
    assert found.field == "spec.cleanPodPolicy"
    assert "spec.runPolicy.cleanPodPolicy" in found.message


def test_a_duplicate_key_is_read_last() -> None:
    text = GOOD.replace("  slotsPerWorker: 2\n", "  slotsPerWorker: x\n  slotsPerWorker: 2\n")
    assert fields(text) == [("mpijob-duplicate-key", "slotsPerWorker")]


@pytest.mark.parametrize(
    ("version", "severity"),
    [("kubeflow.org/v1", Severity.INFORMATION), ("kubeflow.org/v1alpha1", Severity.WARNING)],
)
def test_older_versions(version: str, severity: Severity) -> None:
    found = Document(GOOD.replace("kubeflow.org/v2beta1", version)).diagnostics
    assert [(one.code, one.severity) for one in found if one.code == "mpijob-unserved"] == [
        ("mpijob-unserved", severity)
    ]


def test_broken_yaml() -> None:
    assert [code for code, _ in fields(GOOD.replace("  slots", "\tslots"))] == ["mpijob-unreadable"]


@pytest.mark.parametrize(
    ("changes", "others"),
    [
        ([("slotsPerWorker: 2", "slotsPerWorker: {{ .Values.slots }}")], []),
        ([("slotsPerWorker: 2", "slotsPerWorker: ${SLOTS}"), ("replicas: 2", "replicas: ${WORKER_COUNT}")], []),
        ([("metadata: {name: train}", "metadata:\n  name: ${USER}-train")], []),
        ([("metadata: {name: train}", "metadata:\n  name: {name}")], []),
        ([("name: train", "name: '{{ name }}'"), ("slotsPerWorker: 2", "slotsPerWorker: two")], ["mpijob-refused"]),
    ],
)
def test_a_template_of_manifests(changes: list[tuple[str, str]], others: list[str]) -> None:
    text = GOOD
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    found = [(one.code, one.severity) for one in Document(text).diagnostics]
    assert found == [("mpijob-template", Severity.INFORMATION), *((code, Severity.ERROR) for code in others)]


@pytest.mark.parametrize(
    ("replica", "policy", "own", "is_changed"),
    [
        ("Launcher", "OnFailure", "", False),
        ("Launcher", "Never", "", True),
        ("Launcher", "Never", "Never", False),
        ("Worker", "Never", "", False),
        ("Worker", "OnFailure", "", True),
        ("Worker", "Never", "ExitCode", False),
        ("Worker", "OnFailure", "ExitCode", True),
        ("Worker", '""', "", False),
        ("Launcher", "OnFailure", '""', False),
    ],
)
def test_restart_policies_that_the_operator_changes(replica: str, policy: str, own: str, is_changed: bool) -> None:
    head, _, tail = GOOD.partition(f"    {replica}:\n")
    own = f"      restartPolicy: {own}\n" if own else ""
    tail = tail.replace("        spec:\n", f"        spec:\n          restartPolicy: {policy}\n", 1)
    found = [one.code for one in Document(f"{head}    {replica}:\n{own}{tail}").diagnostics]
    assert ("mpijob-restart-policy-ignored" in found) == is_changed


@pytest.mark.parametrize(
    ("text", "kind", "content"),
    [
        ("y", "boolean", True),
        ("off", "boolean", False),
        ("tRue", "string", "tRue"),
        ("1e3", "integer", 1000),
        ("08", "integer", 8),
        ("010", "integer", 8),
        ("0x1F", "integer", 31),
        ("1_000", "integer", 1000),
        ("1:30", "string", "1:30"),
        ("2020-01-01", "string", "2020-01-01"),
        ("9223372036854775807", "integer", 2**63 - 1),
        ("9223372036854775808", "number", 9223372036854775808.0),
        ("-9223372036854775808", "integer", -(2**63)),
        ("9223372036854775808.0", "number", 9223372036854775808.0),
        ("-9223372036854775809", "number", -(2.0**63)),
        ("18446744073709551615", "number", 2.0**64),
        ("-0b11", "integer", -3),
        ("0o17", "integer", 15),
        ("1_0.5_0", "number", 10.5),
        ("_1", "string", "_1"),
        ("1e400", "string", "1e400"),
        ("1e19", "number", 1e19),
        ("-.inf", "unsupported", None),
        (".inf", "unsupported", None),
        ("~", "null", None),
        ("1.5", "number", 1.5),
    ],
)
def test_plain_scalars(text: str, kind: str, content: object) -> None:
    assert plain_value(text) == (kind, content)


def test_quantities() -> None:
    assert [quantity(text) for text in ("0.5", "500m", "1e3", "1G", "16Gi")] == [0.5, 0.5, 1e3, 1e9, 16 * 1024**3]
    assert [quantity(text) for text in ("16GB", "1Gi ", "two", "", "1e.5")] == [None] * 5


LAUNCHER = "spec.mpiReplicaSpecs.Launcher.template.spec.containers[0]"
WORKER = "spec.mpiReplicaSpecs.Worker.template.spec.containers[0]"
WORKER_IMAGE = "worker\n              image: example/mpi:1\n"
LAUNCHER_IMAGE = "launcher\n              image: example/mpi:1\n"
PAD = "              "


@pytest.mark.parametrize(
    ("old", "new", "code", "field"),
    [
        ('"4"', '"5"', "mpijob-np-over-slots", f"{LAUNCHER}.command[3]"),
        ("slotsPerWorker: 2", "slotsPerWorker: 0", "mpijob-slots-zero", "spec.slotsPerWorker"),
        ("mpirun, --allow-run-as-root", "mpirun", "mpijob-run-as-root", f"{LAUNCHER}.command[0]"),
        ("-np", "--hosts, a, -np", "mpijob-option-unknown", f"{LAUNCHER}.command[2]"),
        ("-np", "-H, train-worker-9, -np", "mpijob-unknown-host", f"{LAUNCHER}.command[3]"),
        ("python, train.py", "python, $FILE", "mpijob-no-shell", f"{LAUNCHER}.command[7]"),
        ("[mpirun, --allow-run-as-root", "[python", "mpijob-launcher-without-mpi", f"{LAUNCHER}.command"),
        (
            "mpirun, --allow-run-as-root",
            "mpirun --allow-run-as-root",
            "mpijob-command-one-word",
            f"{LAUNCHER}.command[0]",
        ),
        (
            'mpirun, --allow-run-as-root, -np, "4", --hostfile, /etc/mpi/hostfile',
            'horovodrun, -np, "4"',
            "mpijob-horovodrun-no-hosts",
            f"{LAUNCHER}.command",
        ),
        (
            WORKER_IMAGE,
            WORKER_IMAGE + PAD + "args: [sleep, 1d]\n",
            "mpijob-worker-without-sshd",
            f"{WORKER}.args",
        ),
        (
            WORKER_IMAGE,
            WORKER_IMAGE + PAD + "command: [sshd]\n",
            "mpijob-sshd-background",
            f"{WORKER}.command",
        ),
        (WORKER_IMAGE, "worker\n", "mpijob-image-missing", WORKER),
        ("name: worker", "name: my.worker", "mpijob-container-name", f"{WORKER}.name"),
        (
            LAUNCHER_IMAGE,
            LAUNCHER_IMAGE + PAD + "resources: {limits: {nvidia.com/gpu: 1}}\n",
            "mpijob-launcher-gpu",
            f"{LAUNCHER}.resources.limits.nvidia.com/gpu",
        ),
        (
            LAUNCHER_IMAGE,
            LAUNCHER_IMAGE + PAD + "env: [{name: K_MPI_JOB_ROLE, value: a}]\n",
            "mpijob-env-overridden",
            f"{LAUNCHER}.env[0]",
        ),
        ("    Worker:", "    Workers:", "mpijob-unknown-replica", "spec.mpiReplicaSpecs.Workers"),
        ("    Worker:", "    Workers:", "mpijob-no-worker", "spec.mpiReplicaSpecs"),
        (
            "spec:\n  slots",
            "spec:\n  launcherCreationPolicy: AtStartUp\n  slots",
            "mpijob-unknown-policy",
            "spec.launcherCreationPolicy",
        ),
        ("spec:\n  slots", "spec:\n  sshAuthMountPath: ~/.ssh\n  slots", "mpijob-ssh-path", "spec.sshAuthMountPath"),
        ("spec:\n  slots", "spec:\n  sshAuthMountPath: /etc/mpi\n  slots", "mpijob-ssh-path", "spec.sshAuthMountPath"),
    ],
)
def test_semantic_mistakes(old: str, new: str, code: str, field: str) -> None:
    assert (code, field) in fields(GOOD.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (WORKER_IMAGE, WORKER_IMAGE + PAD + "command: [/usr/sbin/sshd, -De]\n"),
        (WORKER_IMAGE, WORKER_IMAGE + PAD + "command: [bash, -c, '/usr/sbin/sshd; sleep infinity']\n"),
        ("python, train.py", "python, $(FILE)"),
        ("python, train.py", "python, -c, 'import a; a.b > 3 | 4'"),
        ('"4"', '"0"'),
        ('mpirun, --allow-run-as-root, -np, "4", --hostfile, /etc/mpi/hostfile, python', "deepspeed"),
        ("mpirun, --allow-run-as-root", "/opt/my tools/mpirun, --allow-run-as-root"),
        ("-np", "-H, 'localhost:2,10.0.0.1:2', -np"),
        (
            "command: [mpirun, --allow",
            "securityContext: {runAsNonRoot: true}\n              command: [mpirun, --report-bindings, --allow",
        ),
        ("python, train.py", "./solver, -np, '64'"),
        ("    Worker:\n      replicas: 2\n", "    Worker:\n      replicas: 0b10\n"),
    ],
)
def test_what_runs_is_silent(old: str, new: str) -> None:
    assert fields(GOOD.replace(old, new, 1)) == []


OLD = GOOD.replace("kubeflow.org/v2beta1", "kubeflow.org/v1").replace(
    "  runPolicy: {cleanPodPolicy: Running}\n", "  cleanPodPolicy: Running\n  backoffLimit: 3\n"
)


TRAINING = OLD.replace("  backoffLimit: 3\n", "")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("slotsPerWorker: 2", 'slotsPerWorker: "2"', ("mpijob-refused", "spec.slotsPerWorker")),
        ("      replicas: 2", "      replicas: -1", None),
        ("cleanPodPolicy: Running", "cleanPodPolicy: running", None),
        ("    Launcher:", "    launcher:", ("mpijob-refused", "spec.mpiReplicaSpecs.launcher")),
        ("    Worker:", "    Workers:", ("mpijob-refused", "spec.mpiReplicaSpecs.Workers")),
        ("    Launcher:\n", "    Launcher:\n      replicas: 2\n",
         ("mpijob-refused", "spec.mpiReplicaSpecs.Launcher.replicas")),
        (LAUNCHER_IMAGE, "launcher\n", ("mpijob-refused", f"{LAUNCHER}.image")),
        ("name: worker", 'name: ""', ("mpijob-refused", f"{WORKER}.name")),
        ("  slots", "  mainContainer: launcher\n  slots", None),
        ("  slots", "  backoffLimit: 3\n  slots", ("mpijob-dropped-key", "spec.backoffLimit")),
        ("  slots", "  mpiImplementation: Intel\n  slots", ("mpijob-dropped-key", "spec.mpiImplementation")),
        ("  slots", "  mpiDistribution: Intel\n  slots", ("mpijob-dropped-key", "spec.mpiDistribution")),
        ("{name: train}", "{name: 1train}", None),
        ("{name: train}", "{name: My_Train}", ("mpijob-refused", "metadata.name")),
    ],
)  # fmt: skip
def test_what_the_training_operator_refuses_and_drops(old: str, new: str, found: tuple[str, str] | None) -> None:
    text = TRAINING.replace(old, new, 1)
    assert text != TRAINING
    assert fields(text) == ([found] if found else [])


def test_a_key_of_another_version_has_no_place_where_the_version_has_none() -> None:
    text = TRAINING.replace("  slots", "  mpiDistribution: Intel\n  slots", 1)
    (found,) = [one for one in Document(text).diagnostics if one.code == "mpijob-dropped-key"]
    assert "mpiImplementation" not in found.message


def plain(text: str) -> Any:
    return next(manifests(parse(text))).root.plain


def test_an_upgrade() -> None:
    old = OLD.replace("      replicas: 2\n", "      replicas: 2\n      restartPolicy: Always\n")
    found = upgraded(plain(old))
    assert found.result["spec"]["runPolicy"] == {"cleanPodPolicy": "Running", "backoffLimit": 3}
    assert found.result["spec"]["mpiReplicaSpecs"]["Worker"]["restartPolicy"] == "OnFailure"
    assert list(found.lost) == ["spec.mpiReplicaSpecs.Worker.restartPolicy"]
    text = manifest_text(found.result)
    assert plain(text) == found.result
    assert fields(text) == []


def test_an_upgrade_without_workers() -> None:
    with pytest.raises(ConversionError) as error:
        upgraded(plain(OLD.replace("      replicas: 2\n", "")))
    assert error.value.code == "worker-replicas-missing"


def test_a_written_manifest_is_read_back() -> None:
    value = {"kind": "MPIJob", "apiVersion": "a/b", "spec": {"a": ["y", "08", "1e3", "no", "a\nb", 2, True], "on": {}}}
    value["apiVersion"] = "kubeflow.org/v1"
    assert plain(manifest_text(value)) == value


def test_the_example_is_good() -> None:
    path = Path(__file__).parent.parent / "examples" / "mpijob" / "train.yaml"
    assert Document(path.read_text(encoding="utf-8")).diagnostics == ()


def test_an_editor_shows_the_findings() -> None:
    text = GOOD.replace("slotsPerWorker: 2", "slotsPerWorker: x")
    document = OpenDocument("file:///a/job.yaml", 1, "yaml", text, "/a/job.yaml", Client())
    assert [one.code for one in document.diagnostics] == ["mpijob-refused"]


def test_settings_and_sarif_know_the_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = tmp_path / "mpijob.yaml"
    job.write_text(GOOD.replace("slotsPerWorker: 2", "slotsPerWorker: 0"), encoding="utf-8")
    settings = tmp_path / ".pai-lsp.yaml"
    settings.write_text("rules: {mpijob-slots-zero: warning}\n", encoding="utf-8")
    assert main(["check", "--format", "sarif", str(job), str(settings)]) == 1
    run = json.loads(capsys.readouterr().out)["runs"][0]
    levels = {one["ruleId"]: one["level"] for one in run["results"]}
    assert "invalid-configuration" not in levels
    assert levels["mpijob-slots-zero"] == "warning"
    described = {one["id"]: "help" in one for one in run["tool"]["driver"]["rules"]}
    assert described["mpijob-slots-zero"]
    settings.write_text("rules: {mpijob-slot-zero: off}\n", encoding="utf-8")
    main(["check", "--format", "concise", str(settings)])
    assert "did you mean 'mpijob-slots-zero'?" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["mpirun", "-np", "9", "./a.out"],
        ["timeout", "60", "mpirun", "-np", "9", "./a.out"],
        ["mpirun", "--allow-run-as-root", "--nproc_per_node", "2", "./a.out"],
        ["mpirun", "--allow-run-as-root", "-H", "other-0:4", "-np", "4", "./a.out"],
        ["horovodrun", "-np", "9", "python", "train.py"],
        ["mpiexec", "-n", "1", "--allow-run-as-root", "-mca", "plm_rsh_agent", "/etc/mpi/kubexec.sh", "hostname"],
    ],
    ids=" ".join,
)
def test_words_alone_and_in_a_shell_have_the_same_findings(words: list[str]) -> None:
    command = '[mpirun, --allow-run-as-root, -np, "4", --hostfile, /etc/mpi/hostfile, python, train.py]'
    assert command in GOOD
    found = [
        sorted(
            (one.code, one.severity, one.message) for one in Document(GOOD.replace(command, str(written))).diagnostics
        )
        for written in (words, ["bash", "-c", " ".join(words)], ["sh", "-c", f"exec {' '.join(words)}"])
    ]
    assert found[0] == found[1] == found[2]
    assert found[0]


def test_findings_to_the_letter() -> None:
    assert recorded_findings() == FINDINGS.read_text(encoding="utf-8"), "python tests/recorded_manifests.py writes them"


@pytest.mark.parametrize(
    ("path", "required"),
    [
        ("containers", "name image"),
        ("containers.env", "name"),
        ("containers.env.valueFrom.secretKeyRef", "key"),
        ("containers.ports", "containerPort"),
        ("containers.volumeMounts", "mountPath name"),
        ("volumes", "name"),
        ("volumes.persistentVolumeClaim", "claimName"),
        ("tolerations", ""),
    ],
)
def test_the_keys_of_a_pod_that_kubernetes_requires(path: str, required: str) -> None:
    pod = ("spec", "mpiReplicaSpecs", "Worker", "template", "spec")
    assert [one.key for one in manifest_fields((*pod, *path.split("."))) if one.required] == required.split()
