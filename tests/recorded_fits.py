"""What clusters make of jobs: `python tests/recorded_fits.py` writes the answers to the letter to `cluster_fits.txt`.

After a change, read what `git diff` shows of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from test_cluster_fit import (
    ALLOWED,
    BRANCHES,
    FORCED,
    LTP_USER,
    NODES,
    NODES_OF_KUBERNETES,
    NOW,
    OPPO,
    PROD,
    PROD_IN_BIG,
    QUOTA,
    RESTRICTED,
    RULE,
    USER,
    cluster,
    hived,
    in_vc,
    job,
    profile_of,
    sized,
    test_accepted_but_never_starts,
    test_facts_of_an_ltp_cluster_decide,
    test_fits,
    test_ltp_has_limits_of_its_own,
    test_refused,
)

from pai_lsp.cluster.fit import fit
from pai_lsp.cluster.fit_answer import fit_answer, fit_lines
from pai_lsp.cluster.profile import Profile
from pai_lsp.document import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RECORD = Path(__file__).parent / "cluster_fits.txt"


def _rows(test: Callable[..., None]) -> Any:
    return test.pytestmark[0].args[1]  # type: ignore[attr-defined]  # of `parametrize`


def _two(first: str, second: str, tail: str) -> str:
    other = f"\n  other: {{dockerImage: image, commands: [echo], {second}}}\n{tail}"
    return job(first, tail).replace(f"\n{tail}", other)


def _hived(first: str, second: str, more: str = "") -> str:
    return f"{{hivedScheduler: {{taskRoles: {{worker: {first}, other: {second}}}{more}}}}}"


_BARE = {"profileVersion": 1, "name": "lab", "platform": "openpai", "scheduler": "default"}
_SKUS = {"A": {"gpu": 2, "cpu": 8, "memory": 8192}, "B": {"gpu": 0, "cpu": 4, "memory": 4096}}
_PULLED = {**_BARE, "scheduler": "hived", "skuTypes": _SKUS}
_OF_VC = {"virtualClusters": {"default": {"skus": {"A": 2, "B": 1, "C": 5}}, "other": {}}}
_LOCAL = "extras: {enableLocalStorage: {enabled: true, %s}}"
_IN_NODES = [dict(zip(("name", "cpu", "memoryMB", "gpu", "ready"), (n, c, m, g, True), strict=True)) for n, c, m, g in (
    ("a", 4, 4096, 2), ("b", 4, 4096, 2), ("c", 8, 1024, 0),
)]  # fmt: skip


def _cases() -> Iterator[tuple[Profile, str]]:
    """The cluster and the job of each case: those of the tables, and those for numbers at their limits."""
    for table in (test_refused, test_accepted_but_never_starts):
        yield from ((cluster(), row[-1]) for row in _rows(table))
    yield from ((cluster(), text) for text in _rows(test_fits))
    yield from (
        (cluster(platform="ltp", **changes), text) for changes, text, _ in _rows(test_ltp_has_limits_of_its_own)
    )
    yield from ((profile_of(facts, "ltp"), text) for facts, text, _ in _rows(test_facts_of_an_ltp_cluster_decide))
    # --- HiveD: SKUs, groups, pinned cells, order ---
    for text in (
        job(sized(1, 1, cpu=4, memory=8192)),
        job(sized(1, 1, cpu=5, memory=8192)),
        job(sized(1, 1, cpu=4, memory=8193)),
        job(sized(8, 1)),
        job(sized(2, 4)),
        job(sized(3, 3)),
        job(sized(1, 4), in_vc("cards", hived("{pinnedCellId: last}"))),
        job(sized(1, 5), in_vc("cards", hived("{pinnedCellId: last}"))),
        job(sized(2, 4), in_vc("cards", hived("{pinnedCellId: last}"))),
        job(sized(1, 4), in_vc("default", OPPO.replace("skuType: K80", "pinnedCellId: last"))),
        job(sized(1, 4), in_vc("cards", OPPO.replace("skuType: K80", "pinnedCellId: last"))),
        job(sized(1, 0), in_vc("cards", OPPO.replace("skuType: K80", "pinnedCellId: last"))),
        job(sized(4, 4), in_vc("default", OPPO)),
        job(sized(5, 4), in_vc("default", OPPO)),
        job(sized(1, 0, cpu=9), in_vc("mixed", hived("{skuType: CPU}"))),
        job(sized(1, 0, cpu=8), in_vc("mixed", hived("{skuType: CPU}"))),
        job(sized(1, 1), in_vc("mixed", hived("{skuType: CPU}"))),
        job(sized(1, 0), in_vc("mixed")),
        job(sized(1, 0), in_vc("cards", hived("{skuType: CPU}"))),
        job(sized(2, 4), in_vc("default", hived("{affinityGroupName: a}"))),
        job(sized(2, 4), in_vc("default", "{gangAllocation: false, hivedScheduler: {}}")),
        job(sized(3, 4), in_vc("default", "{gangAllocation: false}")),
        job(sized(3, 4), in_vc("default", "{gangAllocation: 'false'}")),
        job(sized(9, 1), in_vc("default", "{gangAllocation: 'true'}")),
        job(sized(10000, 0), in_vc("default", OPPO)),
        job(sized(10001, 0), in_vc("default", OPPO)),
        job(sized(536870912, 4), "extras: {gangAllocation: false}"),
        job(sized(-1, 1)),
        job(sized(0, 1)),
        job(sized(1, 0).replace("gpu: 0, ", "gpu: .inf, ")),
        job(sized(1, 1).replace("memoryMB: 1024", "memoryMB: .inf")),
        job(tail=in_vc("5")),
        job(tail=in_vc("other")),
        job(tail="defaults: {}\nextras: {hivedScheduler: 5}"),
        job(tail="extras: {hivedScheduler: {taskRoles: {}}}"),
        job(tail="extras: {hivedScheduler: {taskRoles: {'a b': {}, worker: 5, w~: {skuType: 5, pinnedCellId: []}}}}"),
        job(tail="extras: {hivedScheduler: {taskRoles: {wrker: {}, worker: {skuType: K80, pinnedCellId: last}}}}"),
        job(tail="extras: {hivedScheduler: {taskRoles: {worker: {affinityGroupName: toString}}}}"),
        job(tail="extras: {hivedScheduler: {taskRoles: [a]}}"),
        job(tail="extras: {hivedScheduler: {taskRoles: ab}}"),
        _two(sized(1, 4), sized(1, 4), "defaults: {virtualCluster: default}"),
        _two(sized(1, 4), sized(1, 5), "defaults: {virtualCluster: default}"),
        _two(sized(2, 4), sized(1, 1), in_vc("default", OPPO.replace("worker", "other"))),
        _two(sized(1, 4), sized(1, 4), in_vc("default", _hived("{affinityGroupName: a}", "{affinityGroupName: b}"))),
        _two(sized(2, 4), sized(1, 1), in_vc("default", _hived("{affinityGroupName: a}", "{}"))),
        _two(sized(1, 4), sized(2, 4), in_vc("default", _hived("{affinityGroupName: a}", "{}"))),
        _two(
            sized(1, 1),
            sized(1, 1),
            in_vc("default", _hived("{affinityGroupName: a, skuType: K80}", "{affinityGroupName: a}")),
        ),
        _two(sized(2, 4), sized(1, 1), in_vc("default", _hived("{}", "{}")[:-1] + ", gangAllocation: false}")),
        _two(sized(1, 1), sized(9, 1), "defaults: {virtualCluster: default}"),
    ):
        yield cluster(), text
    cells: Any
    for cells in ({"virtualCells": []}, {"pinnedCells": [{"pinnedCellId": "other"}]}):
        yield cluster(hived=NODES | {"virtualClusters": {"default": cells}}), job(sized(1, 1))
    pinned = {"default": {"pinnedCells": [{"pinnedCellId": "last"}]}}
    yield cluster(hived=NODES | {"virtualClusters": pinned}), job(sized(1, 1))
    yield (
        cluster(hived=NODES | {"virtualClusters": pinned}),
        job(sized(1, 1), in_vc("default", hived("{skuType: K80}"))),
    )
    # --- a profile that was pulled ---
    for text in (
        job(sized(1, 2)),
        job(sized(1, 0)),
        job(sized(1, 3), in_vc("default", hived("{skuType: A}"))),
        job(sized(1, 5), in_vc("default", hived("{skuType: A}"))),
        job(sized(1, 0, cpu=5), in_vc("default", hived("{skuType: B}"))),
        job(sized(1, 1), in_vc("default", hived("{skuType: B}"))),
        job(sized(1, 1), in_vc("default", hived("{skuType: D}"))),
        job(sized(99, 2), in_vc("other", hived("{skuType: A}"))),
    ):
        yield Profile({**_PULLED, **_OF_VC}), text
    yield Profile({**_PULLED, "platform": "ltp"}), job(tail=in_vc("default", hived("{skuType: D}")))
    yield Profile({**_BARE, "scheduler": "hived"}), job(tail=in_vc("default", hived("{skuType: D}")))
    yield Profile(_BARE), job()
    # --- nodes of Kubernetes ---
    for nodes in (NODES_OF_KUBERNETES, _IN_NODES, [{**_IN_NODES[0], "ready": False}]):
        for text in (
            job(sized(1, 2, cpu=4, memory=4096)),
            job(sized(2, 2, cpu=4, memory=4096)),
            job(sized(3, 2)),
            job(sized(4, 2)),
            job(sized(4, 1, memory=2048)),
            job(sized(5, 1, memory=2048)),
            job(sized(4, 2), "extras: {gangAllocation: false}"),
            job(sized(1, 1, cpu=5)),
            job(sized(1, 0, memory=8193)),
            _two(sized(2, 1, memory=3072), sized(2, 1), "defaults: {}"),
            _two(sized(2, 1, memory=3072), sized(3, 1), "defaults: {}"),
        ):
            yield Profile({**_BARE, "nodes": nodes}), text
    # --- rights, storages, limits ---
    for text in (
        job(tail="extras: {storages: []}"),
        job(tail="extras: {storages: [{name: data}, {name: 5}, {name: {}}, {name: ''}, {mountPath: /a}]}"),
        job(tail="extras: {storages: all}"),
        job(tail="extras: {com.microsoft.pai.runtimeplugin: [{plugin: teamwise_storage}]}"),
        job(
            tail="extras: {com.microsoft.pai.runtimeplugin: [{plugin: ssh},"
            " {plugin: teamwise_storage, parameters: {storageConfigNames: [dat, secret]}}]}"
        ),
        job(tail="extras: {storages: ~}\ndefaults: {virtualCluster: Cards}"),
    ):
        yield cluster(user=USER | {"defaultStorages": ["data"]}, storages={"data": {}, "secret": {}}), text
    yield cluster(user={"virtualClusters": []}), job(tail="extras: {storages: [{name: data}, {name: other}]}")
    for local in (
        "hostpath: /a, mntpath: ''", "mntpath: 5", "hostpath: 5, mntpath: /a", "hostpath: '/a:/b', mntpath: /c",
        "hostpath: '/a:b', mntpath: '/c:/d'", "hostpath: '/a: /b', mntpath: '/c:/d'",
        "hostpath: /a/, mntpath: /b.c-d_e",
    ):  # fmt: skip
        yield cluster(platform="ltp"), job(tail=_LOCAL % local)
    yield cluster(platform="ltp"), job(tail="extras: {enableLocalStorage: {enabled: 'true'}}")
    limited = {"user": {"quota": QUOTA | {"maxGpusPerJob": 8}}}
    for text in (job(sized(1, 8)), job(sized(1, 9)), job("resourcePerInstance: {gpu: 1, cpu: 1, memoryMB: 1}")):
        yield profile_of(limited, "ltp"), text
    yield profile_of({"user": {"quota": QUOTA | {"maxGpusPerJob": 0}}}, "ltp"), job(sized(1, 1))
    for facts in (RESTRICTED, {"restriction": RULE | BRANCHES}, {"restriction": RULE, "user": LTP_USER}):
        for text in (
            job(sized(1, 7), PROD_IN_BIG), job(sized(1, 8), PROD_IN_BIG), job(sized(1, 8), PROD),
            job(sized(1, 8), in_vc("5")),
            job(sized(1, 8), PROD_IN_BIG).replace("[echo]", ALLOWED),
            job(sized(1, 8), PROD_IN_BIG).replace("[echo]", ALLOWED.replace("cd i, ", "")),
            job(sized(1, 8), "extras: {}"),
        ):  # fmt: skip
            yield profile_of(facts, "ltp"), text
    for names in ("5", "''", "closed-2", "open-1, closed-1, open-1", "'nothing'"):
        yield profile_of(FORCED, "ltp"), job(sized(1, 99), f"extras: {{forceNodes: {names}}}")
    # --- the file itself ---
    for text in (
        "",
        "5",
        "a: [",
        job().replace("worker:", "wor-ker:"),
        job().replace("type: dockerimage", "type: other"),
        job().replace("taskRoles:", "  - {name: image, type: dockerimage, uri: b}\ntaskRoles:"),
        job().replace("taskRoles:", "  - {name: image, type: data, uri: b}\ntaskRoles:"),
        job().replace("uri: ubuntu", "uri: ubuntu, auth: {username: '<% $secrets.a.b %>', password: 5}"),
        job().replace("uri: ubuntu", "uri: ubuntu, auth: {username: '<% a', password: 0}"),
        job("prerequisites: [image, other], script: image, data: other, " + sized(1, 1)),
        job("output: constructor, " + sized(1, 1)),
        job(tail="deployments: [{name: a, taskRoles: {}}, {name: a, taskRoles: {}}]\ndefaults: {deployment: b}"),
        job(tail="defaults: {deployment: a}"),
        job("extraContainerOptions: {a: b}, " + sized(1, 1)),
        job(sized(1, 1).replace("gpu: 1", "gpu: 1, ports: 5")),
        job().replace("type: job", "type: job\njobType: inference"),
        job().replace("type: job", "type: job\njobType: inference\nparameters: {INTERNAL_SERVER_IP: a}"),
        job().replace("type: job", "type: job\nunknown: 5"),
        job(tail="secrets: {a: '1'}\nparameters: {a: b}\nextras: {unknown: 5}"),
    ):
        for platform in ("openpai", "ltp"):
            yield cluster(platform=platform), text


def recorded() -> str:
    """The answers, each with what the profile and the job have of their own."""
    parts: list[str] = []
    usual, profile = set(job().splitlines()), cluster().document
    for own, text in _cases():
        read = Document(text).job
        found = fit(read, own, NOW)
        facts = {key: value for key, value in own.document.items() if profile.get(key) != value}
        parts += [f"==== {json.dumps(facts)}", *(f"  | {line}" for line in text.splitlines() if line not in usual)]
        parts += fit_lines(found, own, read.hidden)
        answer = fit_answer(found, read.hidden)
        parts += [f"    {json.dumps(one, ensure_ascii=False)}" for one in (answer, *answer.pop("also", ()))]
        parts += [f"  {one.rule}: {', '.join(one.choices)}" for one in found.refusals if one.rule or one.choices]
        if found.wait:
            parts.append(f"  at {found.wait.path}, {found.wait.is_of_all_clusters}")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    RECORD.write_text(recorded(), encoding="utf-8")
