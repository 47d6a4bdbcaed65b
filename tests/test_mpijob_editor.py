"""MPIJobs in an editor: completion, hover, outline, code actions, and that other manifests get nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from marks import read_cursor
from recorded_manifests import KEYS, recorded_keys
from server_client import URI, connected

from pai_lsp.document import Document, check
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.ide.completion.complete import complete
from pai_lsp.ide.hover import hover
from pai_lsp.ide.outline import OutlineItem, outline
from pai_lsp.ide.refactorings import mpijob_conversion
from pai_lsp.source.text import Span, apply_edits

if TYPE_CHECKING:
    from server_client import Client

HEAD = "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: train}\n"
POD = "template: {spec: {containers: [{name: main, image: example/mpi:1, command: [mpirun, ./a]}]}}"
SPEC = f"spec:\n  mpiReplicaSpecs:\n    Launcher: {{{POD}}}\n"


def labels(text: str) -> list[str]:
    source, offset = read_cursor(text)
    return [one.label for one in complete(Document(source), offset)]


def accepted(text: str, label: str) -> str:
    source, offset = read_cursor(text)
    found = next(one for one in complete(Document(source), offset) if one.label == label)
    return apply_edits(source, (found.edit, *found.elsewhere))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\n$0\n", ["metadata", "spec"]),
        (f"{HEAD}spec:\n  $0\n", ["mpiReplicaSpecs", "slotsPerWorker", "runLauncherAsWorker"]),
        (f"{HEAD}spec:\n  slots$0\n", ["mpiReplicaSpecs", "slotsPerWorker"]),
        (f"{HEAD}spec:\n  runPolicy:\n    $0\n", ["cleanPodPolicy", "ttlSecondsAfterFinished"]),
        (f"{HEAD}spec:\n  runPolicy:\n    cleanPodPolicy: $0\n", ["None", "Running", "All"]),
        (f"{HEAD}spec:\n  runPolicy: {{cleanPodPolicy: R$0}}\n", ["None", "Running", "All"]),
        (f"{HEAD}spec:\n  runLauncherAsWorker: $0\n", ["true", "false"]),
        (f"{HEAD}spec:\n  mpiReplicaSpecs:\n    $0\n", ["Launcher", "Worker"]),
        (f"{HEAD}spec:\n  mpiReplicaSpecs:\n    Worker:\n      $0\n", ["replicas", "template", "restartPolicy"]),
        (f"{HEAD}spec:\n  mpiReplicaSpecs:\n    Worker:\n      restartPolicy: $0\n", ["Never", "OnFailure"]),
        (
            (
                f"{HEAD}spec:\n  mpiReplicaSpecs:\n    Worker:\n      template:\n        spec:\n          containers:\n"
                "            - name: main\n              $0\n"
            ),
            ["image", "command", "args"],
        ),
        (
            (
                f"{HEAD}spec:\n  mpiReplicaSpecs:\n    Worker:\n      template:\n        spec:\n          containers:\n"
                "            - name: main\n              resources:\n                limits:\n                  $0\n"
            ),
            ["nvidia.com/gpu", "rdma/hca", "cpu", "memory"],
        ),
        (f"kind: ConfigMap\napiVersion: v1\n---\n{HEAD}spec:\n  $0\n", ["mpiReplicaSpecs", "slotsPerWorker"]),
    ],
)
def test_completion(text: str, first: list[str]) -> None:
    assert labels(text)[: len(first)] == first


@pytest.mark.parametrize(
    "text",
    [
        f"kind: ConfigMap\napiVersion: v1\ndata:\n  $0\n---\n{HEAD}{SPEC}",
        f"{HEAD.replace('v2beta1', 'v1alpha2')}spec:\n  $0\n",
        "apiVersion: batch/v1\nkind: Job\nspec:\n  $0\n",
        (
            f"{HEAD}spec:\n  mpiReplicaSpecs:\n    Launcher:\n      template:\n        spec:\n          containers:\n"
            "            - command: [bash, -c, 'echo $PAI_$0']\n"
        ),
    ],
)
def test_no_completion(text: str) -> None:
    assert labels(text) == []


def test_completion_is_that_of_the_version() -> None:
    found = labels(f"{HEAD.replace('v2beta1', 'v1')}spec:\n  $0\n")
    assert {"mpiReplicaSpecs", "mainContainer", "cleanPodPolicy"} <= {*found}
    assert "runLauncherAsWorker" not in found


def test_a_whole_manifest_from_suggestions() -> None:
    text = accepted("apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmeta$0\n", "metadata")
    text = accepted(f"{text}$0", "spec")
    found = [(one.code, one.field) for one in Document(text).diagnostics if one.severity <= Severity.INFORMATION]
    assert found == []
    assert "name: train" in text
    assert "replicas: 2" in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{HEAD}spec:\n  slotsPer$0Worker: 2\n", "How many processes each worker runs"),
        (f"{HEAD}spec:\n  runPolicy: {{cleanPodPolicy: Run$0ning}}\n", "Which pods are deleted"),
        (f"{HEAD}spec:\n  mpiReplicaSpecs:\n    Wor$0ker: {{replicas: 2}}\n", "The pods that run the processes"),
        (f"{HEAD}{SPEC.replace('image', 'ima$0ge')}", "no pod can be created"),
        (f"a: b\n---\n{HEAD}spec:\n  slotsPer$0Worker: 2\n", "default `1`"),
        (f"{HEAD.replace('v2beta1', 'v1')}spec:\n  clean$0PodPolicy: Running\n", "Which pods are deleted"),
    ],
)
def test_hover(text: str, shown: str) -> None:
    source, offset = read_cursor(text)
    found = hover(Document(source), offset)
    assert found is not None
    assert shown in found.markdown


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}{SPEC.replace('mpirun', 'mpi$0run')}",
        f"{HEAD}spec:\n  sl$0ots: 2\n",
        f"{HEAD}spec:\n  clean$0PodPolicy: Running\n",
        f"{HEAD.replace('v2beta1', 'v1')}spec:\n  ssh$0AuthMountPath: /home/a/.ssh\n",
        f"kind: Pod\nspec:\n  sl$0otsPerWorker: 2\n---\n{HEAD}",
    ],
)
def test_no_hover(text: str) -> None:
    source, offset = read_cursor(text)
    assert hover(Document(source), offset) is None


def drawn(items: tuple[OutlineItem, ...], depth: int = 0) -> list[str]:
    lines: list[str] = []
    for item in items:
        lines += [f"{'  ' * depth}{item.name} {item.detail}".rstrip(), *drawn(item.children, depth + 1)]
    return lines


def test_outline() -> None:
    text = f"{HEAD}spec:\n  slotsPerWorker: 2\n  runPolicy: {{suspend: true}}\n  mpiReplicaSpecs:\n"
    text += f"    Launcher: {{{POD}}}\n    Worker: {{replicas: 3, template: {{spec: {{containers: 1}}}}}}\n"
    assert drawn(outline(Document(text))) == [
        "train MPIJob",
        "  slotsPerWorker 2",
        "  runPolicy",
        "    suspend true",
        "  mpiReplicaSpecs",
        "    Launcher",
        "      main example/mpi:1",
        "        command",
        "    Worker 3 pods",
        "      replicas 3",
    ]


OLD = """\
apiVersion: kubeflow.org/v1alpha2
kind: MPIJob
metadata: {name: train}
spec:
  slotsPerWorker: 2  # one for each GPU
  cleanPodPolicy: Running
  mpiReplicaSpecs:
    # It starts everything.
    Launcher:
      restartPolicy: Always
      template: {spec: {containers: [{name: main, image: example/mpi:1, command: [mpirun, --allow-run-as-root, ./a]}]}}
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - name: main
              image: example/mpi:1
              command: [sleep, infinity]
"""


@pytest.mark.parametrize(
    ("text", "title", "old", "new"),
    [
        (f"{HEAD}{SPEC}  cleanPodPolicy: All\n", "Move to spec.runPolicy.cleanPodPolicy", "  c", "  runPolicy:\n    c"),
        (f"{HEAD}{SPEC}  slotPerWorker: 2\n", "Change to 'slotsPerWorker'", "slotPer", "slotsPer"),
        (f"{HEAD}{SPEC}  slotsPerWorker: '2'\n", "Remove the quotes", "'2'", "2"),
        (f"{HEAD}{SPEC}  mpiImplementation: openmpi\n", "Change to 'OpenMPI'", "openmpi", "OpenMPI"),
        (f"{HEAD}{SPEC}  runPolicy: {{cleanPodPolicy: all}}\n", "Change to 'All'", ": all", ": All"),
        (f"{HEAD}{SPEC}".replace("./a", "-np, 2, ./a"), "Quote it", "-np, 2", "-np, '2'"),
    ],
)  # fmt: skip
def test_fixes(text: str, title: str, old: str, new: str) -> None:
    fixes = [fix for one in Document(text).diagnostics for fix in one.fixes if fix.title == title]
    assert [apply_edits(text, fix.edits) for fix in fixes] == [text.replace(old, new)]


def test_a_key_moves_only_to_a_place_that_its_version_has() -> None:
    text = f"{HEAD}{SPEC}  mpiDistribution: OpenMPI\n"
    for version, titles in (("v2beta1", ["Move to spec.mpiImplementation"]), ("v1", [])):
        found = Document(text.replace("v2beta1", version)).diagnostics
        moves = [fix.title for one in found for fix in one.fixes if fix.title.startswith("Move to")]
        assert moves == titles, version


def test_an_upgrade_keeps_the_file_as_it_is_written() -> None:
    finding = next(one for one in Document(OLD).diagnostics if one.code == "mpijob-unserved")
    (fix,) = finding.fixes
    assert fix.title == "Upgrade to kubeflow.org/v2beta1 (not kept: spec.mpiReplicaSpecs.Launcher.restartPolicy)"
    assert not fix.safe
    after = OLD.replace("v1alpha2", "v2beta1").replace("Always", "OnFailure")
    after = after.replace("              command: [sleep, infinity]\n", "").replace("  cleanPodPolicy: Running\n", "")
    assert apply_edits(OLD, fix.edits) == f"{after}  runPolicy:\n    cleanPodPolicy: Running\n"


@pytest.mark.parametrize(
    "spec",
    [
        "spec: []\n",
        "spec: {mpiReplicaSpecs: [1], runPolicy: 3}\n",
        "spec: {mpiReplicaSpecs: {Launcher: 1, Worker: {replicas: x, template: {spec: {containers: [1]}}}}}\n",
        "spec: {gpus: a, gpusPerNode: b, template: {spec: {containers: [{resources: 1}]}}}\n",
        "spec: {replicas: [], template: 1}\n",
        "spec: {launcherTemplate: 1, workerTemplate: {spec: {containers: [{command: 1, args: {}}]}}}\n",
    ],
)
@pytest.mark.parametrize("version", ["kubeflow.org/v1", "kubeflow.org/v1alpha1", "batch.test.bdap.com/v1"])
def test_values_of_wrong_types(spec: str, version: str) -> None:
    faults: list[Exception] = []
    document = Document(HEAD.replace("kubeflow.org/v2beta1", version) + spec)
    check(document, lambda _, error: faults.append(error))
    assert faults == []


NAME = "file:///jobs/mpijob.yaml"
JOB = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "example/mpi:1"}
taskRoles:
  master:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 0}
    commands: ["mpirun --allow-run-as-root -np 2 -H worker-0:2 ./a"]
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
    commands: [sleep infinity]
extras: {hivedScheduler: {}}
"""


async def converted(client: Client, *arguments: Any) -> Any:
    return await client.ask("workspace/executeCommand", command="pai-lsp.convert", arguments=list(arguments))


@pytest.mark.asyncio
async def test_the_server_answers_in_manifests() -> None:
    async with connected() as client:
        client.open(f"{HEAD}{SPEC}  slotPerWorker: 2\n", uri=NAME)
        found = next(one for one in await client.published(NAME) if one["code"] == "mpijob-dropped-key")
        document, line = {"uri": NAME}, found["range"]["start"]["line"]
        at = {"line": line, "character": 4}
        items = await client.ask("textDocument/completion", textDocument=document, position=at)
        assert "slotsPerWorker" in [item["label"] for item in items["items"]]
        above = {"line": line - 1, "character": 6}
        shown = await client.ask("textDocument/hover", textDocument=document, position=above)
        assert "mpirun or horovodrun" in shown["contents"]["value"]
        symbols = await client.ask("textDocument/documentSymbol", textDocument=document)
        assert symbols[0]["name"] == "train"
        context: dict[str, Any] = {"diagnostics": []}
        place = {"start": at, "end": at}
        actions = await client.ask("textDocument/codeAction", textDocument=document, range=place, context=context)
        titles = [action["title"] for action in actions]
        assert titles[:3] == ["Change to 'slotsPerWorker'", "Fix 1 problem", "Ignore 'mpijob-dropped-key' on this line"]


@pytest.mark.asyncio
async def test_the_server_converts() -> None:
    async with connected() as client:
        client.open(f"{HEAD}spec:\n  sshAuthMountPath: /a\n{SPEC[6:]}", uri=NAME)
        found = await converted(client, NAME, None)
        assert found["languageId"] == "openpai-job"
        assert found["lost"] == [{"field": "spec.sshAuthMountPath", "reason": "an OpenPAI job has no such key"}]
        first, second, *_ = found["text"].splitlines()
        assert first == "# Not converted: spec.sshAuthMountPath: an OpenPAI job has no such key"
        assert second == "protocolVersion: 2"
        assert (await converted(client, NAME, "mpijob"))["error"] == "not-a-job"
        client.open(JOB)
        found = await converted(client, URI)
        assert found["languageId"] == "yaml"
        assert [one["field"] for one in found["lost"]] == ["extras.hivedScheduler"]
        assert [one.code for one in Document(found["text"]).diagnostics] == []
        client.open("a: b\n", uri="file:///jobs/other.yaml")
        assert await converted(client, "file:///jobs/other.yaml") is None
        wrong = {"command": "pai-lsp.convert", "arguments": [URI, "xml"]}
        assert (await client.ask_in_vain("workspace/executeCommand", **wrong))["code"] == -32602


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("text", "title", "to"),
    [(HEAD + SPEC, "Convert to a PAI job", "pai"), (JOB, "Convert to an MPIJob", "mpijob")],
)
async def test_a_code_action_converts(text: str, title: str, to: str) -> None:
    at = {"start": {"line": 0, "character": 2}, "end": {"line": 0, "character": 2}}
    asked = {"textDocument": {"uri": NAME}, "range": at, "context": {"diagnostics": [], "only": ["refactor.rewrite"]}}
    async with connected() as client:
        client.open(text, uri=NAME)
        (action,) = await client.ask("textDocument/codeAction", **asked)
        assert action["title"] == title
        after = await client.ask("codeAction/resolve", **action) if "edit" not in action else action
        assert after["edit"]
    async with connected(initializationOptions={"commands": ["openpai.convert"]}) as client:
        client.open(text, uri=NAME)
        (action,) = await client.ask("textDocument/codeAction", **asked)
        assert "edit" not in action
        assert action["command"]["command"] == "pai-lsp.convert"
        assert action["command"]["arguments"] == [NAME, to]


def test_conversions_that_are_not_offered() -> None:
    def offered(text: str, path: str = "train.yaml", at: int = 0) -> list[str]:
        found = mpijob_conversion(Document(text, path=path), Span(at, at))
        return [one.disabled_reason if one.make is None else one.title for one in found]

    assert offered(JOB) == ["Convert to an MPIJob"]
    assert offered(JOB, at=JOB.index("instances")) == []
    assert offered(JOB.replace("mpirun", "python")) == []
    assert "writes another file" in offered(JOB, "train.pai.yaml")[0]
    assert offered(JOB.replace("sleep infinity", "ls")) == [
        "'worker' does not end with 'sleep infinity', so its tasks would end before the launcher"
    ]


SCRIPT = """\
    Launcher:
      template:
        spec:
          containers:
            - name: main
              image: example/mpi:1
              command: [bash, -c]
              args:
                - |
                  cd /data
                  mpirun -np 2 ./a
"""
WORKERS = "    Worker: {replicas: 2, template: {spec: {containers: [{name: main, image: example/mpi:1}]}}}\n"


@pytest.mark.parametrize(
    ("code", "old", "new"),
    [
        ("mpijob-run-as-root", "mpirun -np", "mpirun --allow-run-as-root -np"),
        ("mpijob-hostfile-implicit", "mpirun -np", "mpirun --hostfile /etc/mpi/hostfile -np"),
    ],
)
def test_fixes_in_scripts(code: str, old: str, new: str) -> None:
    text = f"{HEAD}spec:\n  mpiReplicaSpecs:\n{SCRIPT}{WORKERS}".replace("example/mpi", "example/openmpi5")
    found = next(one for one in Document(text).diagnostics if one.code == code)
    assert text[found.span.start : found.span.end] == "mpirun"
    (fix,) = found.fixes
    assert apply_edits(text, fix.edits) == text.replace(old, new)


@pytest.mark.parametrize(
    ("code", "text", "old", "new"),
    [
        ("mpijob-run-as-root", HEAD + SPEC, "mpirun,", "mpirun, --allow-run-as-root,"),
        ("mpijob-unknown-replica", f"{HEAD}{SPEC}{WORKERS.replace('Worker', 'workers')}", "workers", "Worker"),
        ("mpijob-unknown-policy", f"{HEAD}{SPEC}  launcherCreationPolicy: a\n", "Policy: a", "Policy: AtStartup"),
        (
            "mpijob-worker-without-sshd",
            f"{HEAD}{SPEC}{WORKERS.replace('mpi:1', 'mpi:1, command: [sleep, 1d]')}",
            ", command: [sleep, 1d]",
            "",
        ),
        (
            "mpijob-restart-policy-ignored",
            f"{HEAD}{SPEC}{WORKERS.replace('{containers', '{restartPolicy: OnFailure, containers')}",
            f"{WORKERS.replace('{containers', '{restartPolicy: OnFailure, containers')}",
            f"{WORKERS[:-2]}, restartPolicy: OnFailure}}\n",
        ),
        (
            "mpijob-workers-stay",
            f"{HEAD}{SPEC}{WORKERS.replace('mpi:1', 'mpi:1, resources: {limits: {nvidia.com/gpu: 1}}')}",
            "gpu: 1}}}]}}}\n",
            "gpu: 1}}}]}}}\n  runPolicy:\n    cleanPodPolicy: Running\n",
        ),
    ],
)
def test_fixes_of_rules(code: str, text: str, old: str, new: str) -> None:
    found = next(one for one in Document(text).diagnostics if one.code == code)
    assert apply_edits(text, found.fixes[0].edits) == text.replace(old, new, 1)


@pytest.mark.slow
def test_half_typed_manifests_are_answered() -> None:
    text = f"{HEAD}spec:\n  runPolicy: {{cleanPodPolicy: Running}}\n  mpiReplicaSpecs:\n{SCRIPT}{WORKERS}"
    for end in range(0, len(text), 7):
        document = Document(text[:end])
        complete(document, end)
        hover(document, max(end - 3, 0))
        outline(document)
        check(document)


def test_keys_to_the_letter() -> None:
    assert recorded_keys() == KEYS.read_text(encoding="utf-8"), "python tests/recorded_manifests.py writes the record"
