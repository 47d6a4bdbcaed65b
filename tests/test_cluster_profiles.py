"""Profiles that files and answers of a REST API give, to the letter; the rows are in tests/cluster/profiles.yaml."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from pai_lsp.cluster.cluster_access import ClusterAccess
from pai_lsp.cluster.profile import ProfileError, fault_in
from pai_lsp.cluster.profile_import import profile_of_cluster, profile_of_files
from pai_lsp.cluster.rest_server import ClusterConnection
from pai_lsp.web.fetching import HttpAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
CASES = yaml.safe_load((Path(__file__).parent / "cluster" / "profiles.yaml").read_text(encoding="utf-8"))


def answering(answers: dict[str, Any]) -> Callable[..., HttpAnswer]:
    """Sends the answers, by the path below `/api/v2/`; a number is the status of a refusal."""

    def send(_method: str, url: str, _headers: object, **_options: object) -> HttpAnswer:
        found = answers.get(url.removeprefix("https://a/api/v2/"), 404)
        if isinstance(found, int):
            return HttpAnswer(found, {}, b'{"code": "x"}')
        return HttpAnswer(200, {}, json.dumps(found).encode())

    return send


def answer_of(case: dict[str, Any]) -> Any:
    try:
        if "files" in case:
            found = profile_of_files(case["files"].items(), "lab", case.get("platform"), case.get("groups", []), NOW)
        else:
            access = ClusterAccess("https://a", platform=case.get("platform", "openpai"))
            cluster = ClusterConnection("lab", access, None, answering(case["answers"]))
            found = profile_of_cluster(cluster, case.get("user"), NOW)
    except ProfileError as error:
        return str(error)
    assert fault_in(found) is None
    return found


@pytest.mark.parametrize("case", [pytest.param(one, id=one["name"]) for one in CASES])
def test_the_profile(case: dict[str, Any]) -> None:
    assert answer_of(case) == case["profile"]
