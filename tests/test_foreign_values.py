"""Every value and every key of manifests and jobs, replaced by values of each other type: nothing of ours fails."""

from __future__ import annotations

import pytest
from budgets import shared_places
from hypothesis import given
from hypothesis import strategies as st
from random_edits import no_failures
from test_mpijob_conversion import JOB, MANIFEST

from pai_lsp.document import Document
from pai_lsp.mpijob.conversion import ConversionError
from pai_lsp.mpijob.converted_text import DIRECTIONS, converted_text
from pai_lsp.mpijob.manifest import plain_value, quantity
from pai_lsp.source.foreign import (
    as_list,
    as_mapping,
    as_number,
    as_text,
    as_whole,
    json_beginning,
    json_mapping,
    json_value,
    mappings_in,
    number_of,
    texts_in,
    whole_number,
)
from pai_lsp.source.nodes import Mapping, walk
from pai_lsp.source.syntax import parse
from pai_lsp.web.addresses import address_below, address_parts, host_and_port

FULL = (
    MANIFEST.replace("spec:\n", "spec:\n  runPolicy: {cleanPodPolicy: Running, backoffLimit: 2, managedBy: x}\n", 1)
    .replace("resources: {limits:", "resources: {requests: {cpu: 1}, limits:")
    .replace("  slotsPerWorker", "  ttlSecondsAfterFinished: 5\n  mpiImplementation: Intel\n  slotsPerWorker")
    .replace(
        "              image: example/mpi:1\n              env",
        "              image: example/mpi:1\n"
        "              securityContext: {runAsUser: 0}\n"
        "              volumeMounts: [{name: v, mountPath: /v}, {name: s, mountPath: /dev/shm}]\n"
        "              env",
    )
    .replace(
        "          containers:\n",
        "          restartPolicy: Never\n"
        "          volumes: [{name: v, persistentVolumeClaim: {claimName: c}},"
        " {name: s, emptyDir: {medium: Memory, sizeLimit: 1Gi}}]\n"
        "          containers:\n",
        1,
    )
    .replace("      replicas: 2\n", "      replicas: 2\n      restartPolicy: Never\n")
)
OLDER = FULL.replace("v2beta1", "v1").replace("  slotsPerWorker", "  cleanPodPolicy: None\n  slotsPerWorker")
OLDEST = """\
apiVersion: kubeflow.org/v1alpha1
kind: MPIJob
metadata: {name: train}
spec:
  gpus: 4
  gpusPerNode: 2
  backoffLimit: 1
  template:
    spec:
      containers:
        - {name: main, image: example/mpi:1, command: [mpirun, a], resources: {limits: {nvidia.com/gpu: 2}}}
"""
OTHER = """\
apiVersion: batch.test.bdap.com/v1
kind: MPIJob
metadata: {name: train}
spec:
  numWorkers: 2
  launcherTemplate: {spec: {restartPolicy: Never, containers: [{name: main, image: a/b:1, command: [mpirun, a]}]}}
  workerTemplate: {spec: {restartPolicy: Never, containers: [{name: main, image: a/b:1, command: [sleep, infinity]}]}}
"""
STORING = JOB.replace(
    "extras:\n",
    "jobRetryCount: 1\nextras:\n  gangAllocation: false\n  storages: [{name: nfs, mountPath: /a}]\n",
).replace("instances: 2\n", "instances: 2\n    taskRetryCount: 1\n    extraContainerOptions: {shmMB: 5}\n")

ODD = (
    *("", "true", "text", "''", "-1", "1.5", "[[a], {b: c}, 5, ~]", "{}", "{a: b}", "{a: [b]}", ".inf"),
    *("9" * 5_000, "1e400", "0x" + "f" * 400, "'" + "9" * 5_000 + "'", "'" + "9" * 400 + "Gi'"),
)


def changed(text: str) -> list[str]:
    """The text with each value, and each key, written otherwise."""
    found: list[str] = []
    for node in walk(parse(text).root):
        keys = [entry.key.span for entry in node.entries] if isinstance(node, Mapping) else []
        for span in (node.span, *keys):
            found += (text[: span.start] + odd + text[span.end :] for odd in ODD)
    return found


@pytest.mark.parametrize("text", [FULL, OLDER, OLDEST, OTHER, STORING], ids=["now", "v1", "v1alpha1", "other", "job"])
def test_any_value_in_any_place(text: str) -> None:
    assert all(one.code != "mpijob-unreadable" for one in Document(text).diagnostics)
    for other in shared_places(changed(text), 3):
        with no_failures():
            document = Document(other, path="a.pai.yaml" if text == STORING else "a.yaml")
            for one in document.diagnostics:
                assert one.fixes is not None
            for to in DIRECTIONS:
                try:
                    converted_text(document.job, to)
                except ConversionError:
                    continue


@pytest.mark.parametrize("value", [None, True, 5, 1.5, "text", ["a"], {"a": "b"}])
def test_values_are_read_as_the_type_that_is_asked_for(value: object) -> None:
    is_whole = isinstance(value, int) and value is not True
    assert as_mapping(value) == (value if isinstance(value, dict) else {})
    assert as_list(value) == (value if isinstance(value, list) else [])
    assert as_text(value) == (value if isinstance(value, str) else None)
    assert as_whole(value) == (value if is_whole else None)


@given(st.text(alphabet=st.sampled_from("htps:/[]@.?#%:0aA \x00\ud800"), max_size=30))
def test_addresses_of_any_form(text: str) -> None:
    base = "https://example.com/folder/"
    assert isinstance(address_parts(f"http://{text}").netloc, str)
    assert isinstance(address_below(base, text), str)
    assert "@" not in host_and_port(f"http://{text}")


def test_json_that_is_nested_deeply_is_not_read() -> None:
    """What is nested deeper than the depth of calls cannot be shown, compared or copied."""
    assert json_value("[" * 100 + "]" * 100)
    assert json_value(f"[{'[], ' * 500}[]]")
    for depth in (102, 900, 5_000, 200_000):
        for text in ("[" * depth + "]" * depth, '{"a": ' * depth + "1" + "}" * depth):
            with pytest.raises(ValueError, match="too deep"):
                json_value(text)


def test_numbers_of_any_length() -> None:
    assert [whole_number(text) for text in ("12", "007", "", "-1", "1.5", "٣", "a")] == [
        12,
        7,
        None,
        None,
        None,
        None,
        None,
    ]
    assert whole_number("9" * 5_000) == int("9" * 400)
    assert quantity("1e999") == 2**63


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("9" * 309, "string"),
        ("1e400", "string"),
        ("0x" + "f" * 16, "number"),
        ("0x" + "f" * 17, "string"),
        ("0" + "7" * 30, "number"),
        ("1e-400", "integer"),
    ],
)
def test_numbers_that_no_double_holds_are_texts_for_kubectl(text: str, kind: str) -> None:
    assert plain_value(text)[0] == kind


@pytest.mark.parametrize(
    "line",
    [
        "mpirun -np # -H worker-0:#,worker-#:2 a",
        "torchrun --nnodes # --nproc_per_node # --node_rank # t.py",
        "deepspeed --num_gpus # --num_nodes # a.py",
        "CUDA_VISIBLE_DEVICES=#,# a",
        "echo $PAI_HOST_IP_worker_# $PAI_PORT_LIST_worker_#_p",
        "echo <% $data.uri[#] %> <% $parameters.a[#] %> <% this.a[#] %> <% $secrets.#.# %>",
        "exit #",
    ],
)
def test_numbers_of_any_length_in_commands(line: str) -> None:
    text = JOB.replace("sleep infinity", "'" + line.replace("#", "9" * 5_000) + "'").replace("gpu: 2", "gpu: 1")
    with no_failures():
        assert Document(text, path="a.pai.yaml").diagnostics


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud800a"', "?a"),
        (r'"\uDC00"', "?"),
        (r'"\uD83D\uDE00"', "😀"),
        (b"\xef\xbb\xbf[1]", [1]),
        ("[1e999, -1e999, 1.5]", [1.7e308, -1.7e308, 1.5]),
        ("1" * 401, int("9" * 400)),
        ("-" + "1" * 401, -int("9" * 400)),
        ("1" * 400, int("1" * 400)),
    ],
)
def test_json_that_python_reads_otherwise(text: str | bytes, value: object) -> None:
    assert json_value(text) == value


def test_how_deep_json_is_read() -> None:
    for opening, closing in (("[", "]"), ('{"a": ', "}")):
        assert json_value(f"{opening * 101}1{closing * 101}")
        for depth in (102, 100_000):
            with pytest.raises(ValueError, match="too deep"):
                json_value(f"{opening * depth}1{closing * depth}")
    assert json_value(f"[{'[], ' * 200}[]]")
    for text in ("NaN", "[Infinity]", "", "{]"):
        with pytest.raises(ValueError, match=r"JSON|Expecting"):
            json_value(text)


def test_values_of_another_type_are_none() -> None:
    assert [json_mapping(text) for text in ('{"a": 1}', "[1]", "x")] == [{"a": 1}, {}, {}]
    assert [json_beginning(text) for text in ('{"a": 1} and more', "[1] x", "x", "")] == [{"a": 1}, {}, {}, {}]
    assert [as_number(one) for one in (1, 1.5, True, "1", 10**400, float("inf"))] == [1, 1.5, None, None, None, None]
    assert [as_whole(one) for one in (1, 1.0, True, "1")] == [1, None, None, None]
    assert (texts_in(["a", 1, []]), texts_in("ab"), mappings_in([{}, 1, {"a": 1}])) == (["a"], [], [{}, {"a": 1}])
    assert [whole_number(text) for text in ("007", "0", "", "-1", "٣", "1.0")] == [7, 0, None, None, None, None]
    assert (number_of("-12"), number_of("+3")) == (-12, 3)
