"""What the editor shows of a cluster: names to complete, and a lens with SKUs."""

from __future__ import annotations

import pytest
from test_cluster_check import HEAD, ROLE
from test_cluster_fit import cluster

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Settings
from pai_lsp.ide.completion.complete import complete
from pai_lsp.ide.hints_and_lenses import LensKind, lenses
from pai_lsp.ide.hover import hover

SETTINGS = Settings(cluster=cluster())
PLUGIN = """\
extras:
  com.microsoft.pai.runtimeplugin:
    - plugin: teamwise_storage
      parameters: {storageConfigNames: [$0]}
"""
HIVED = "extras:\n  hivedScheduler:\n    taskRoles:\n      worker:\n        {}: $0\n"


@pytest.mark.parametrize(
    ("tail", "names"),
    [
        ("defaults:\n  virtualCluster: $0\n", {"default", "cards", "mixed", "ghost"}),
        ("defaults:\n  virtualCluster: mixed\n" + HIVED.format("skuType"), {"CPU", "K80"}),
        (HIVED.format("skuType"), {"K80"}),
        ("defaults:\n  virtualCluster: cards\n" + HIVED.format("pinnedCellId"), {"last"}),
        ("extras:\n  storages:\n    - name: $0\n", {"data"}),
        (PLUGIN, {"data"}),
    ],
)
def test_names_are_completed(tail: str, names: set[str]) -> None:
    text = HEAD + ROLE + tail
    at = text.index("$0")
    document = Document(text.replace("$0", ""), SETTINGS)
    assert names <= {one.label for one in complete(document, at)}
    assert not names & {one.label for one in complete(Document(document.text), at)}


def test_the_details_have_numbers() -> None:
    text = HEAD + ROLE + HIVED.format("skuType").replace("$0\n", "")
    found = {one.label: one.detail for one in complete(Document(text, SETTINGS), len(text))}
    assert found["K80"] == "1 GPU, 4 CPU, 8192 MiB"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (HEAD + ROLE, "1 of 8 SKUs in default"),
        (HEAD + ROLE.replace("instances: 1", "instances: 9"), "9 of 8 SKUs in default"),
        (HEAD + ROLE.replace("gpu: 1, ", ""), None),
    ],
)
def test_the_lens(text: str, title: str | None) -> None:
    found = [one.title for one in lenses(Document(text, SETTINGS), frozenset({LensKind.TASKS}))]
    assert [one for one in found if "SKU" in one] == ([title] if title else [])
    assert not [one for one in lenses(Document(text)) if "SKU" in one.title]


@pytest.mark.parametrize(
    ("tail", "word", "text"),
    [
        ("defaults:\n  virtualCluster: mixed\n", "mixed", "**mixed**: 2 × CPU, 4 × K80"),
        (
            "defaults:\n  virtualCluster: nowhere\n",
            "nowhere",
            "does not have it, or you may not use it; known: `default`",
        ),
        (HIVED.format("skuType").replace("$0", "K80"), "K80", "**K80**: 1 GPU, 4 CPU, 8192 MiB"),
        ("extras:\n  storages:\n    - name: data\n", "data", "**data**: "),
        (PLUGIN.replace("$0", "data"), "data", "**data**: "),
    ],
)
def test_hovers(tail: str, word: str, text: str) -> None:
    job = HEAD + ROLE + tail
    found = hover(Document(job, SETTINGS), job.rindex(word) + 1)
    assert found is not None
    assert text in found.markdown
    assert "_cluster " in found.markdown
    without = hover(Document(job), job.rindex(word) + 1)
    assert without is None or "_cluster " not in without.markdown
