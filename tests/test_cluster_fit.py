"""Jobs on clusters: what the server refuses, what is accepted and never starts."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

from pai_lsp.cli.main import main
from pai_lsp.cluster.fit import fit
from pai_lsp.cluster.hived_stage import Cells
from pai_lsp.cluster.profile import Profile, ProfileError, read_profile, sku_types_of
from pai_lsp.document import Document

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)

NODES = {
    "skuTypes": {"K80": {"gpu": 1, "cpu": 4, "memory": "8192Mi"}, "CPU": {"cpu": 4, "memory": "16Gi"}},
    "cellTypes": {
        "K80-NODE": {"childCellType": "K80", "childCellNumber": 4, "isNodeLevel": True},
        "K80-POOL": {"childCellType": "K80-NODE", "childCellNumber": 4},
        "CPU-NODE": {"childCellType": "CPU", "childCellNumber": 2, "isNodeLevel": True},
    },
    "physicalCells": [
        {"cellType": "K80-POOL", "cellChildren": [{}, {}, {}, {"pinnedCellId": "last"}]},
        {"cellType": "CPU-NODE"},
    ],
    "virtualClusters": {
        "default": {"virtualCells": [{"cellType": "K80-POOL.K80-NODE", "cellNumber": 2}]},
        "cards": {
            "virtualCells": [{"cellType": "K80-POOL.K80-NODE.K80", "cellNumber": 3}],
            "pinnedCells": [{"pinnedCellId": "last"}],
        },
        "mixed": {
            "virtualCells": [
                {"cellType": "CPU-NODE", "cellNumber": 1},
                {"cellType": "K80-POOL.K80-NODE", "cellNumber": 1},
            ]
        },
    },
}
USER = {"name": "ann", "virtualClusters": ["default", "cards", "mixed", "ghost"], "storages": ["data"]}


def cluster(**changes: Any) -> Profile:
    document = {
        "profileVersion": 1,
        "name": "lab",
        "platform": "openpai",
        "scheduler": "hived",
        "hived": NODES,
        "user": USER,
        "storages": {"data": {}},
    }
    return read_profile(json.dumps(document | changes))


def job(
    role: str = "instances: 1, resourcePerInstance: {gpu: 1, cpu: 1, memoryMB: 1024}",
    tail: str = "defaults: {virtualCluster: default}",
) -> str:
    return f"""\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {{name: image, type: dockerimage, uri: ubuntu}}
taskRoles:
  worker: {{dockerImage: image, commands: [echo], {role}}}
{tail}
"""


def sized(instances: int, gpu: int, cpu: int = 1, memory: int = 1024) -> str:
    return f"instances: {instances}, resourcePerInstance: {{gpu: {gpu}, cpu: {cpu}, memoryMB: {memory}}}"


def in_vc(name: str, extras: str = "{}") -> str:
    return f"defaults: {{virtualCluster: {name}}}\nextras: {extras}"


def hived(worker: str) -> str:
    return f"{{hivedScheduler: {{taskRoles: {{worker: {worker}}}}}}}"


CPU_SKU = "{skuType: CPU}"
REFUSED = [
    # stage, code, a part of the explanation, job
    ("protocol", "InvalidProtocolError", "gpu", job("resourcePerInstance: {cpu: 1, memoryMB: 1}")),
    ("protocol", "InvalidProtocolError", "nothing", job().replace("dockerImage: image", "dockerImage: nothing")),
    ("render", None, "", job().replace("[echo]", "['echo <% a']")),
    ("hived", None, "no SKU type 'k80'; did you mean 'K80'?", job(tail=in_vc("default", hived("{skuType: k80}")))),
    (
        "hived",
        "InvalidProtocolError",
        "has no SKU of type 'CPU'",
        job(sized(1, 0), in_vc("default", hived("{skuType: CPU}"))),
    ),
    ("hived", "InvalidProtocolError", "set 'skuType' to K80", job(tail=in_vc("mixed"))),
    ("hived", "InvalidProtocolError", "no virtual cluster 'defualt'; did you mean", job(tail=in_vc("defualt"))),
    ("hived", "InvalidProtocolError", "9 SKUs: 9 × 1 (worker); virtual cluster 'default' has 8", job(sized(9, 1))),
    ("hived", "InvalidProtocolError", "'memoryMB' decides", job(sized(3, 1, memory=25000))),
    ("hived", "InvalidProtocolError", "must be 'prod'", job(tail="extras: {hivedScheduler: {jobPriorityClass: x}}")),
    ("hived", None, "is empty", job(tail=in_vc("''"))),
    ("job", "ForbiddenUserError", "no virtual cluster 'Default'", job(sized(1, 0), in_vc("Default"))),
    ("job", "NoStorageError", "no storage is named 'dat'", job(tail="extras: {storages: [{name: dat}]}")),
    ("job", None, "must be a list", job(tail="extras: {storages: {name: data}}")),
    ("job", None, "no 'instances'", job("resourcePerInstance: {gpu: 1, cpu: 1, memoryMB: 1}")),
    (
        "job",
        "UnknownError",
        "no 'instances'",
        job("resourcePerInstance: {gpu: 0, cpu: 1, memoryMB: 1}", "extras: {gangAllocation: false}"),
    ),
    (
        "job",
        "UnknownError",
        "4800000000 GPUs, more than",
        job(sized(1200000000, 4), "extras: {gangAllocation: false}"),
    ),
]


@pytest.mark.parametrize("platform", ["openpai", "ltp"])
def test_a_role_without_instances_is_refused_everywhere(platform: str) -> None:
    text = job("resourcePerInstance: {gpu: 1, cpu: 1, memoryMB: 1}")
    document = {key: value for key, value in cluster().document.items() if key not in {"hived", "nodes"}}
    profile = read_profile(json.dumps(document | {"scheduler": "default", "platform": platform}))
    refusal = fit(Document(text).job, profile, NOW).refusals[0]
    assert (refusal.status, refusal.message) == (500, 'invalid input syntax for type integer: "NaN"')


@pytest.mark.parametrize(("stage", "code", "part", "text"), REFUSED)
def test_refused(stage: str, code: str | None, part: str, text: str) -> None:
    found = fit(Document(text).job, cluster(), NOW)
    assert found.outcome == "refused"
    first = found.refusals[0]
    assert (first.stage, first.code) == (stage, code)
    assert part in first.explanation


WAITS = [
    # role, a part of the reason, a part of the explanation, job
    ("worker", "insufficient capacity", "largest node of virtual cluster 'default' has 4", job(sized(1, 5))),
    ("worker", "insufficient capacity", "has 1", job(sized(1, 2), in_vc("cards"))),
    ("worker", "does not have pinned cell x", "it has last", job(tail=in_vc("cards", hived("{pinnedCellId: x}")))),
    (
        "worker",
        "VC ghost does not exists",
        "virtual cluster 'ghost', but the scheduler does not have it",
        job(sized(1, 0), in_vc("ghost")),
    ),
    ("worker", "LeafCellNumber", "requests no SKU", job(sized(1, 0, cpu=0, memory=0))),
    ("worker", "VirtualCluster is empty", "null", job(sized(1, 0), in_vc("null"))),
    (
        "worker",
        "CreateFrameworkPermanentFailed",
        "at most 10000 instances",
        job(sized(2147483647, 0), in_vc("default", "{hivedScheduler: {jobPriorityClass: oppo}}")),
    ),
]


@pytest.mark.parametrize(("role", "reason", "part", "text"), WAITS)
def test_accepted_but_never_starts(role: str, reason: str, part: str, text: str) -> None:
    found = fit(Document(text).job, cluster(), NOW)
    assert found.outcome == "waits-forever"
    assert found.wait is not None
    assert found.wait.role == role
    assert reason in found.wait.reason
    assert part in found.wait.explanation


OPPO = "{hivedScheduler: {jobPriorityClass: oppo, taskRoles: {worker: {skuType: K80}}}}"
FITS = [
    job(),
    job(sized(2, 4)),
    job(sized(20, 1), in_vc("default", "{gangAllocation: false}")),
    job(sized(1, 4), in_vc("cards", hived("{pinnedCellId: last}"))),
    job(
        sized(4, 4), in_vc("default", "{hivedScheduler: {jobPriorityClass: oppo, taskRoles: {worker: {skuType: K80}}}}")
    ),
    job(sized(1, 1), in_vc("mixed", hived("{skuType: K80}"))),
    job(tail="extras: {storages: [{name: data}, data]}"),
    job("script: toString, " + sized(1, 1)),
]


@pytest.mark.parametrize("text", FITS)
def test_fits(text: str) -> None:
    found = fit(Document(text).job, cluster(), NOW)
    assert (found.outcome, [one.explanation for one in found.refusals]) == ("runs", [])


def test_small_tasks_take_the_large_pieces_first() -> None:
    """The scheduler is greedy: 2 × 4 and 1 × 1 would fit 4, 4, 1 if the small task came last."""
    cells = {"virtualCells": [
        {"cellType": "K80-POOL.K80-NODE", "cellNumber": 2},
        {"cellType": "K80-POOL.K80-NODE.K80", "cellNumber": 1},
    ]}  # fmt: skip
    profile = cluster(hived=NODES | {"virtualClusters": {"default": cells}})
    two_roles = job(sized(2, 4)).replace(
        "\ndefaults:",
        f"\n  small: {{dockerImage: image, commands: [echo], {sized(1, 1)}}}\ndefaults:",
    )
    found = fit(Document(two_roles).job, profile, NOW)
    assert found.outcome == "waits-forever"
    assert fit(Document(job(sized(2, 4))).job, profile, NOW).outcome == "runs"


def test_every_refusal_is_reported_not_only_the_first() -> None:
    text = job(sized(9, 1), "defaults: {virtualCluster: default}\nextras: {storages: [{name: nothing}]}")
    codes = [one.code for one in fit(Document(text).job, cluster(), NOW).refusals]
    assert codes == ["InvalidProtocolError", "NoStorageError"]


NODES_OF_KUBERNETES = [
    {"name": "a", "cpu": 8, "memoryMB": 8192, "gpu": 2, "ready": True},
    {"name": "b", "cpu": 8, "memoryMB": 8192, "gpu": 4, "ready": True},
    {"name": "c", "cpu": 64, "memoryMB": 65536, "gpu": 8, "ready": True, "unschedulable": True},
]


@pytest.mark.parametrize(
    ("text", "outcome", "role"),
    [
        (job(sized(1, 5)), "waits-forever", "worker"),
        (job(sized(3, 2)), "runs", None),
        (job(sized(4, 2)), "waits-forever", None),
        (job(sized(4, 2), "extras: {gangAllocation: false}"), "runs", None),
        (job(tail="extras: {hivedScheduler: {jobPriorityClass: nothing}}"), "runs", None),
    ],
)
def test_without_hived_only_the_nodes_count(text: str, outcome: str, role: str | None) -> None:
    document = {"profileVersion": 1, "name": "k", "platform": "openpai", "scheduler": "default"}
    found = fit(Document(text).job, Profile(document | {"nodes": NODES_OF_KUBERNETES}), NOW)
    assert found.outcome == outcome
    assert (found.wait.role if found.wait else None) == role


LTP_USER = USER | {"jobPriority": 1, "jobExpiration": "2030-01-01T00:00:00.000Z"}
PROD = in_vc("default", "{hivedScheduler: {jobPriorityClass: prod}}")
RULE = {"virtualClusters": "other, Default", "gpus": 8, "repoInfra": "h/i.git", "repoModel": "h/m.git"}


@pytest.mark.parametrize(
    ("changes", "text", "code"),
    [
        ({"rules": {"imageRegex": "^debian"}}, job(), "InvalidImageError"),
        ({"rules": {"imageRegex": "bunt"}}, job(), None),
        ({}, job(tail=PROD), "NoJobPriorityError"),
        ({"user": LTP_USER | {"jobExpiration": "2020-01-01"}}, job(tail=PROD), "ExpiredJobPriorityExpirationError"),
        ({"user": LTP_USER | {"jobExpiration": "soon"}}, job(tail=PROD), "InvalidJobPriorityExpirationError"),
        ({"user": LTP_USER}, job(tail=PROD), None),
        ({"user": USER | {"quota": {"maxGpusPerJob": 7}}}, job(sized(2, 4)), None),
        (
            {"user": USER | {"quota": {"maxGpusPerJob": 7, "expiration": "2030-01-01"}}},
            job(sized(2, 4)),
            "NoEnoughQuotaError",
        ),
        ({"rules": {"code": RULE}}, job(sized(2, 4)), "ExpectedJobPriorityClassError"),
        ({"rules": {"code": RULE}, "user": LTP_USER}, job(sized(2, 4), PROD), "InvalidCommandError"),
        ({}, job(tail="extras: {enableLocalStorage: {enabled: true}}"), "MissingMountPathError"),
        ({}, job().replace("type: job", "type: job\njobType: inference"), "InvalidProtocolError"),
    ],
)
def test_ltp_has_limits_of_its_own(changes: dict[str, Any], text: str, code: str | None) -> None:
    refusals = fit(Document(text).job, cluster(platform="ltp", **changes), NOW).refusals
    assert (refusals[0].code if refusals else None) == code


def test_the_server_reads_units_in_its_own_way() -> None:
    written: dict[str, dict[str, Any]] = {
        "a": {"gpu": "2x", "memory": "2Gi"},
        "b": {"cpu": 1, "memory": "128G"},
        "c": {"memory": "2048Ki"},
    }
    assert sku_types_of(written) == {
        "a": {"gpu": 2, "cpu": 0, "memory": 2048},
        "b": {"gpu": 0, "cpu": 1, "memory": 0},
        "c": {"gpu": 0, "cpu": 0, "memory": 2},
    }


WITHOUT_CELL_TYPE = """\
{"profileVersion": 1, "name": "x", "platform": "openpai", "scheduler": "hived",
 "hived": {"skuTypes": {}, "cellTypes": {}, "physicalCells": [{}], "virtualClusters": {}}}
"""


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{", "not JSON"),
        ("{}", "'profileVersion'"),
        ('{"profileVersion": 2}', "cannot read"),
        ('{"profileVersion": 1, "name": "x", "platform": "other", "scheduler": "hived"}', "platform"),
        (WITHOUT_CELL_TYPE, "cellType"),
    ],
)
def test_what_is_not_a_profile(text: str, part: str) -> None:
    with pytest.raises(ProfileError, match=part):
        read_profile(text)


def test_a_number_of_cells_that_no_cluster_has() -> None:
    cells = [{"cellType": "node", "cellNumber": 10**number} for number in (2, 300, 300)]
    found = Cells({"cellTypes": {}, "physicalCells": [], "virtualClusters": {"a": {"virtualCells": cells}}}).chains("a")
    assert [len(one.sizes) for one in found] == [100_000]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "pai-lsp" / "clusters"
    folder.mkdir(parents=True)
    (folder / "lab.json").write_text(json.dumps(cluster().document), encoding="utf-8")
    good, bad = tmp_path / "good.pai.yaml", tmp_path / "bad.pai.yaml"
    good.write_text(job(), encoding="utf-8")
    bad.write_text(job(sized(9, 1)), encoding="utf-8")
    assert main(["fit", "--cluster", "lab", str(good)]) == 0
    assert capsys.readouterr().out.endswith("fits 'lab' when it is empty\n  SKUs: 1 (worker 1 × 1)\n")
    assert main(["fit", "--cluster", "lab", "--format", "json", str(bad)]) == 1
    (answer,) = json.loads(capsys.readouterr().out)
    assert (answer["outcome"], answer["stage"], answer["total"]) == ("refused", "hived", 9)
    unread = tmp_path / "utf16.pai.yaml"
    unread.write_bytes("a".encode("utf-16"))
    message = "this file is UTF-16; OpenPAI reads UTF-8, so save it as UTF-8"
    assert main(["fit", "--cluster", "lab", str(unread)]) == 1
    assert capsys.readouterr().out == f"{unread}: refused\n  {message}\n"
    assert main(["fit", "--cluster", "lab", "--format", "json", str(unread)]) == 1
    refused = {"job": str(unread), "outcome": "refused", "stage": "protocol", "code": None, "message": message}
    assert json.loads(capsys.readouterr().out) == [refused]
    assert main(["fit", "--cluster", "lab", str(tmp_path / "none.pai.yaml")]) == 2
    assert capsys.readouterr().err == f"pai-lsp fit: no such file or folder: {tmp_path / 'none.pai.yaml'}\n"
    assert main(["fit", str(good)]) == 2
    step = "give --cluster NAME, or write 'cluster: NAME' into .pai-lsp.yaml; known clusters: lab"
    assert capsys.readouterr().err == f"pai-lsp fit: {good}: {step}\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "lob",
            None,
            "no file and no profile is named 'lob' (profiles: lab); 'pai-lsp cluster list' shows how to make one",
        ),
        ("./lob.json", None, "no such file: ./lob.json"),
        ("lob", b"\xff", "{file}: not UTF-8"),
        ("lob", b"{", "{file}: not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("lob", b"[" + b" " * 16_000_000, "{file}: too large for a cluster's profile"),
        ("lob", b'{"profileVersion": 2}', "{file}: 'profileVersion' is not 1; this version of pai-lsp cannot read it"),
    ],
    ids=["absent", "no file", "bytes", "JSON", "size", "version"],
)
def test_a_profile_that_cannot_be_used(
    name: str,
    content: bytes | None,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "pai-lsp" / "clusters"
    folder.mkdir(parents=True)
    (folder / "lab.json").write_text(json.dumps(cluster().document), encoding="utf-8")
    if content is not None:
        (folder / f"{name}.json").write_bytes(content)
    (tmp_path / "a.pai.yaml").write_text(job(), encoding="utf-8")
    assert main(["fit", "--cluster", name, str(tmp_path / "a.pai.yaml")]) == 2
    assert capsys.readouterr().err == f"pai-lsp fit: {message.format(file=folder / f'{name}.json')}\n"


def profile_of(facts: dict[str, Any], platform: str) -> Profile:
    """The profile for facts about a cluster as an administrator would list them.

    facts: `scheduler`, `imageRegex`, `user` and `restriction` as in a profile; `nodes` with the GPUs of each node, and
        `closed`, those of them that take no jobs of others.
    """
    document: dict[str, Any] = {"profileVersion": 1, "name": "lab", "platform": platform}
    document["scheduler"] = facts.get("scheduler", "default")
    document["user"] = {"virtualClusters": ["default", "big"]} | facts.get("user", {})
    rules = {"imageRegex": facts.get("imageRegex"), "code": facts.get("restriction")}
    document["rules"] = {key: rule for key, rule in rules.items() if rule is not None}
    if "nodes" in facts:
        document["machines"] = {name: {"type": "gpu", "count": gpus} for name, gpus in facts["nodes"].items()}
        document["nodes"] = [
            {"name": name, "cpu": 8, "memoryMB": 65536, "gpu": gpus, "ready": True, "unschedulable": name in closed}
            for closed in [facts.get("closed", ())]
            for name, gpus in facts["nodes"].items()
        ]
    return read_profile(json.dumps(document))


FORCED = {"nodes": {"open-1": 8, "closed-1": 8, "closed-2": 0}, "closed": ["closed-1", "closed-2"]}
BRANCHES = {
    "virtualClusters": "big",
    "branchInfra": "main",
    "branchModel": "dev",
    "scriptPrefix": "scripts",
    "scriptName": "train",
}
RESTRICTED = {
    "restriction": RULE | BRANCHES,
    "user": {"jobPriority": 1, "jobExpiration": "2030-01-01"},
}
ALLOWED = """['export WANDB_API_KEY="a1"', 'git clone https://u:t@h/i.git -b main',
    'git  clone https://u:t@h/m.git -b dev', cp -r m/* i/, cd i, 'bash scripts/train-1.sh ']"""
PROD_IN_BIG = PROD.replace("virtualCluster: default", "virtualCluster: big")
QUOTA = {"maxGpusPerJob": 8, "expiration": "2030-01-01"}


@pytest.mark.parametrize(
    ("facts", "text", "message"),
    [
        (FORCED, job(tail="extras: {forceNodes: 'closed-1, closed-2,'}"), None),
        (FORCED, job(tail="extras: {forceNodes: closed-1}\ndefaults: {virtualCluster: big}"), None),
        (FORCED, job(tail="extras: {forceNodes: 'closed-1, open-1'}"), "nodes are schedulable: open-1"),
        (FORCED, job(tail="extras: {forceNodes: ' '}"), "reading 'machine-type'"),
        (FORCED, job(tail="extras: {forceNodes: 'nothing,closed-1'}"), "reading 'machine-type'"),
        ({"imageRegex": r"^[a-z0-9]+\.azurecr\.io/|^ubuntu"}, job(), None),
        ({"imageRegex": "debian"}, job(), "The image ubuntu is not allowed."),
        ({"imageRegex": "("}, job(), 'The provided imageRegex pattern "(" is invalid.'),
        ({"imageRegex": "a)"}, job(), "is invalid."),
        ({"imageRegex": r"^(?<name>ubuntu|[^\S])"}, job(), None),  # only JavaScript knows what it means
        ({"imageRegex": "[]|ubuntu"}, job(), None),
        ({"imageRegex": "debian"}, job().replace("uri: ubuntu", "uri: ''"), "No valid docker image found"),
        ({"user": {"jobPriority": 1}}, job(tail=PROD), "expiration date has expired"),
        ({"user": {"jobPriority": 1, "jobExpiration": "soon"}}, job(tail=PROD), "expiration date is invalid"),
        ({"user": {"jobPriority": 1, "jobExpiration": "2030-01-01"}}, job(tail=PROD), None),
        ({"user": {}}, job(tail=PROD.replace("prod", "oppo")), None),
        ({"user": {"quota": QUOTA}}, job(sized(2, 4)), None),
        ({"user": {"quota": QUOTA}}, job(sized(3, 3)), "maximum number of GPUs"),
        ({"user": {"quota": QUOTA | {"expiration": None}}}, job(sized(3, 3)), None),
        ({"user": {"quota": QUOTA | {"maxGpusPerJob": 0}}}, job(sized(1, 0)), None),
        (RESTRICTED, job(sized(2, 4)), None),
        # Names are case-sensitive.
        (RESTRICTED, job(sized(1, 7), in_vc("BIG")), "User ... is not allowed to do operation in BIG"),
        (RESTRICTED, job(sized(1, 7), in_vc("big")), None),
        (RESTRICTED, job(sized(1, 8), in_vc("big")), "Only prod priority job"),
        (RESTRICTED, job(sized(1, 8), PROD_IN_BIG), "contains invalid command"),
        (RESTRICTED, job(sized(1, 8), PROD_IN_BIG).replace("[echo]", ALLOWED), None),
    ],
)
def test_facts_of_an_ltp_cluster_decide(facts: dict[str, Any], text: str, message: str | None) -> None:
    found = fit(Document(text).job, profile_of(facts, "ltp"), NOW)
    assert [message in one.message for one in found.refusals] == [True] if message else not found.refusals


def test_amounts_of_sku_types_are_read_as_the_server_reads_them() -> None:
    amounts = {
        "2Ti": 2 << 20,
        "3Gi": 3072,
        "5Mi": 5,
        "4096Ki": 4,
        "3145728": 3,
        "1Gi5": 1024,
        "8 Gi": 0,
        "Gi": 0,
        "": 0,
    }
    skus = sku_types_of({name or "none": {"gpu": "2 of 8", "memory": name} for name in amounts})
    assert [sku["memory"] for sku in skus.values()] == list(amounts.values())
    assert {sku["gpu"] for sku in skus.values()} == {2}


def test_an_amount_of_thousands_of_digits_is_only_large() -> None:
    skus = sku_types_of({"K80": {"gpu": "9" * 5000, "memory": f"{'9' * 5000}Gi"}})
    assert skus["K80"]["gpu"] > 10**300 < skus["K80"]["memory"]


def test_answers_to_the_letter() -> None:
    from recorded_fits import RECORD, recorded  # noqa: PLC0415 - it has the tables of this module

    assert recorded() == RECORD.read_text(encoding="utf-8"), "python tests/recorded_fits.py writes the record"
