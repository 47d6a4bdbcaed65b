"""What a cluster makes of jobs, to the letter: each refusal, the wait, the SKUs, and the lines that a user reads.

The rows are in tests/cluster/fit_answers.yaml. `cluster` is a kind of cluster below, `changes` are keys of its profile;
`hived_vcs` are the virtual clusters that HiveD has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from job_text import ON_CLUSTER
from test_cluster_fit import NODES, NODES_OF_KUBERNETES, NOW, cluster

from pai_lsp.cluster.fit import fit
from pai_lsp.cluster.fit_answer import fit_answer, fit_lines
from pai_lsp.cluster.profile import Profile, fault_in
from pai_lsp.document import Document

PATH = Path(__file__).parent / "cluster" / "fit_answers.yaml"
BARE = {"profileVersion": 1, "name": "lab", "platform": "openpai"}
BY_THE_API = {
    "scheduler": "hived",
    "skuTypes": {"K80": {"gpu": 1, "cpu": 4, "memory": 8192}},
    "virtualClusters": {"default": {"skus": {"K80": 4}}},
}
KINDS: dict[str, dict[str, Any]] = {
    "hived": dict(cluster().document),
    "ltp": dict(cluster(platform="ltp").document),
    "nodes": {**BARE, "scheduler": "default", "nodes": NODES_OF_KUBERNETES},
    "default": {**BARE, "scheduler": "default"},
    "unknown": {**BARE, "scheduler": "unknown"},
    "api": {**BARE, **BY_THE_API},
}


def answer_of(case: dict[str, Any]) -> str:
    """The lines that a user reads; then what each server answers, with the rule that reports it, and the SKUs."""
    changes = dict(case.get("changes", {}))
    if "hived_vcs" in changes:
        changes["hived"] = {**NODES, "virtualClusters": changes.pop("hived_vcs")}
    profile = Profile({**KINDS[case.get("cluster", "hived")], **changes})
    assert not fault_in(profile.document), fault_in(profile.document)
    text = case["job"] if "protocolVersion" in case["job"] else ON_CLUSTER + case["job"]
    document = Document(text, path="job.pai.yaml")
    found, hidden = fit(document.job, profile, NOW), document.job.hidden
    shown = fit_answer(found, hidden)
    lines = fit_lines(found, profile, hidden)
    for one in found.refusals:
        told = f"{one.stage} {one.status} {one.code} {one.role}: {one.message}"
        lines.append(f"{told} ({one.rule}: {', '.join(one.choices)})" if one.rule else told)
    lines += [f"storages: {shown['storages']}"] if "storages" in shown else []
    lines += (
        [f"{shown['wait']['result']} {shown['wait']['role']}: {shown['wait']['reason']}"] if "wait" in shown else []
    )
    lines += [f"{name}: {list(sku.values())}" for name, sku in shown.get("skus", {}).items()]
    return "".join(f"{line}\n" for line in lines)


def cases() -> list[Any]:
    return [pytest.param(one, id=one["name"]) for one in yaml.safe_load(PATH.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("case", cases())
def test_the_answer(case: dict[str, Any]) -> None:
    assert answer_of(case) == case["answer"]
