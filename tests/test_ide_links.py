"""Document links: what of a job can be opened in a browser."""

from __future__ import annotations

import pytest

from pai_lsp.catalog.remote_sources import item_page
from pai_lsp.document import Document
from pai_lsp.ide.hover import hover
from pai_lsp.ide.navigation import links
from pai_lsp.job.definition import Origin, read_definitions
from pai_lsp.job.lookup import LookupAnswer, LookupState, NoLookup
from pai_lsp.platform.image_addresses import image_page
from pai_lsp.source.frozen import replace
from pai_lsp.source.syntax import parse

JOB = """\
protocolVersion: 2
name: 训练😀
prerequisites:
  - type: dockerimage
    name: image
    uri: "openpai/standard:python_3.6"
    auth: {username: me, password: https://example.com/secret, registryuri: https://index.docker.io/v1/}
  - type: data
    name: dataset
    uri:
      - https://example.com/漢字/a.zip?x=1&y=2
      - https://example.com/<% $parameters.name %>.zip
      - https://example.com/{{ name }}.zip
      - https://me:hunter2@example.com/a.zip
  - {type: output, name: out, uri: "hdfs://example.com/out"}
secrets: {address: https://example.com/hidden}
taskRoles:
  worker:
    dockerImage: image
    prerequisites: [marketplace://name/mnist]
    commands:
      - git clone https://github.com/microsoft/pai.git && cd pai
      - |
        wget -q "https://example.com/b.zip", curl (see http://example.com/c).
        git clone git@github.com:microsoft/openpai-runtime.git; echo me@example.com
        git clone ssh://git@example.com:22/team/repo.git
        curl https://$HOST/x https://example.com/$FILE https://
"""

FOUND = [
    (6, "openpai/standard:python_3.6", "https://hub.docker.com/r/openpai/standard"),
    (7, "https://index.docker.io/v1/", "https://index.docker.io/v1/"),
    (11, "https://example.com/漢字/a.zip?x=1&y=2", "https://example.com/漢字/a.zip?x=1&y=2"),
    (22, "https://github.com/microsoft/pai.git", "https://github.com/microsoft/pai.git"),
    (24, "https://example.com/b.zip", "https://example.com/b.zip"),
    (24, "http://example.com/c", "http://example.com/c"),
    (25, "git@github.com:microsoft/openpai-runtime.git", "https://github.com/microsoft/openpai-runtime.git"),
    (26, "ssh://git@example.com:22/team/repo.git", "https://example.com/team/repo.git"),
]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_the_links_of_a_job(end: str) -> None:
    document = Document(JOB.replace("\n", end))
    shown = [
        (document.lines.line_of(link.span.start) + 1, document.text[link.span.start : link.span.end], link.address)
        for link in links(document)
    ]
    assert shown == FOUND


@pytest.mark.parametrize(
    ("image", "page"),
    [
        ("ubuntu", "https://hub.docker.com/_/ubuntu"),
        ("ubuntu:20.04", "https://hub.docker.com/_/ubuntu"),
        ("library/ubuntu", "https://hub.docker.com/_/ubuntu"),
        ("docker.io/library/ubuntu:20.04", "https://hub.docker.com/_/ubuntu"),
        ("openpai/standard", "https://hub.docker.com/r/openpai/standard"),
        ("docker.io/openpai/standard:x", "https://hub.docker.com/r/openpai/standard"),
        ("openpai/standard@sha256:0123", "https://hub.docker.com/r/openpai/standard"),
        ("example.azurecr.io/team/image:1", ""),
        ("localhost/image", ""),
        ("localhost:5000/image", ""),
        ("<% $parameters.image %>", ""),
        ("", ""),
        ("a b", ""),
    ],
)
def test_pages_of_images(image: str, page: str) -> None:
    assert image_page(image) == page


def test_hostile_text_costs_little() -> None:
    text = "taskRoles: {a: {commands: ['" + "https://" * 2000 + "git@" * 2000 + "a.b" * 2000 + "']}}"
    assert len(links(Document(text))) < 10


class Server(NoLookup):
    """A marketplace server behind a cluster's gateway, with one item."""

    def find(self, reference: str) -> LookupAnswer:
        if not reference.endswith("/mnist"):
            return super().find(reference)
        return LookupAnswer(LookupState.FOUND, path="https://pai.example.com/marketplace/api/items/12-ab")


def test_references_lead_to_the_page_of_their_item() -> None:
    text = """\
protocolVersion: 2
taskRoles:
  worker:
    prerequisites: [marketplace://name/mnist, "marketplace://name/other", own]
extras:
  reference_prerequisites:
    - name: own
      require: [{name: "marketplace://data/mnist"}]
"""
    found = links(Document(text, lookup=Server()))
    page = "https://pai.example.com/plugin.html?index=0#/market_detail?itemId=12-ab"
    assert [(text[one.span.start : one.span.end], one.address) for one in found] == [
        ("marketplace://name/mnist", page),
        ("marketplace://data/mnist", page),
    ]


@pytest.mark.parametrize(
    "path",
    ["marketplace/mnist.yaml", "http://127.0.0.1:9292/items/1", "https://a@b.example.com/marketplace/api/items/1"],
)
def test_other_places_have_no_page(path: str) -> None:
    assert item_page(path) == ""


def test_a_hover_shows_where_the_content_is_and_leads_to_the_page() -> None:
    definition = """\
name: mnist
type: data
pathForUser: /dataset/mnist
requireStorages: [{name: nfs, mountPath: /mnt/x}, {name: other}]
"""

    class OneItem(Server):
        def find(self, reference: str) -> LookupAnswer:
            definitions = read_definitions(parse(definition).root, Origin.CATALOG)
            return replace(super().find(reference), definitions=tuple(definitions))

    text = "protocolVersion: 2\ntaskRoles:\n  worker:\n    prerequisites: [marketplace://name/mnist]\n"
    found = hover(Document(text, path="a.pai.yaml", lookup=OneItem()), text.index("marketplace"))
    assert found is not None
    assert found.markdown.split("\n\n") == [
        "**mnist** (data, marketplace)",
        "content at `/dataset/mnist`",
        "needs the storage `nfs` at `/mnt/x`, `other` at `/mnt/other`",
        "[Open the page in the marketplace](https://pai.example.com/plugin.html?index=0#/market_detail?itemId=12-ab)",
    ]
