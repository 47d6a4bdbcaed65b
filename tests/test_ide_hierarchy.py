"""Who needs whom: task roles and prerequisites, in the job and in a catalog."""

from __future__ import annotations

import pytest

from pai_lsp.document import Document
from pai_lsp.ide.navigation import Call, members_at, needed_by, needs
from pai_lsp.job.definition import Origin, read_definitions
from pai_lsp.job.lookup import LookupAnswer, LookupState, NoLookup
from pai_lsp.source.syntax import parse

CATALOG = """\
- name: wget
  type: script
- name: mnist
  type: data
  require: [wget, marketplace://name/wget]
"""
PATH = "/work/marketplace/mnist.yaml"

JOB = """\
# 漢字😀
prerequisites:
  - {type: dockerimage, name: image}
  - {type: script, name: install}
  - {type: script, name: prepare, require: [install, install]}
  - {type: data, name: dataset, require: [{name: marketplace://name/mnist}, nothing]}
  - {type: script, name: dataset}
taskRoles:
  master:
    instances: 2
    dockerImage: image
    data: dataset
    prerequisites: [prepare, dataset]
  worker:
    dockerImage: image
"""


class Catalog(NoLookup):
    """One file of definitions."""

    def __init__(self) -> None:
        self.definitions = read_definitions(parse(CATALOG).root, Origin.CATALOG)

    def find(self, reference: str) -> LookupAnswer:
        name = reference.rpartition("/")[2]
        found = tuple(one for one in self.definitions if one.name == name)
        return LookupAnswer(LookupState.FOUND if found else LookupState.ABSENT, found, path=PATH)


def document(end: str = "\n") -> Document:
    return Document(JOB.replace("\n", end), lookup=Catalog())


def summary(calls: list[Call], text: str) -> list[tuple[str, str | None, list[tuple[int, str]]]]:
    """Each member's name and file, and the lines and words of the references."""
    return [
        (
            call.member.name,
            call.member.path,
            [
                (source[: span.start].count("\n") + 1, source[span.start : span.end])
                for span in call.places
                for source in (text if call.path is None else CATALOG,)
            ],
        )
        for call in calls
    ]


def key_at(one: Document, word: str) -> str:
    (member,) = members_at(one, one.text.index(word))
    return member.key


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_what_a_role_needs(end: str) -> None:
    one = document(end)
    assert summary(needs(one, key_at(one, "master:")), one.text) == [
        ("prepare", None, [(13, "prepare")]),
        ("dataset", None, [(13, "dataset")]),
        ("image", None, [(11, "image")]),
        ("dataset", None, [(12, "dataset")]),
    ]


def test_what_a_prerequisite_needs() -> None:
    one = document()
    assert summary(needs(one, key_at(one, "prepare,")), JOB) == [("install", None, [(5, "install"), (5, "install")])]
    assert summary(needs(one, key_at(one, "dataset, require")), JOB) == [
        ("mnist", PATH, [(6, "marketplace://name/mnist")]),
    ]


def test_what_a_definition_of_the_catalog_needs() -> None:
    one = document()
    (call,) = needs(one, key_at(one, "dataset, require"))
    assert call.member.detail == "data"
    assert CATALOG[call.member.name_span.start : call.member.name_span.end] == "mnist"
    assert summary(needs(one, call.member.key), JOB) == [
        ("wget", PATH, [(5, "wget"), (5, "marketplace://name/wget")]),
    ]


def test_who_needs_a_prerequisite() -> None:
    one = document()
    assert summary(needed_by(one, key_at(one, "install}")), JOB) == [
        ("prepare", None, [(5, "install"), (5, "install")])
    ]
    assert summary(needed_by(one, key_at(one, "image}")), JOB) == [
        ("master", None, [(11, "image")]),
        ("worker", None, [(15, "image")]),
    ]
    assert needed_by(one, key_at(one, "master:")) == []


def test_who_needs_a_definition_of_the_catalog() -> None:
    one = document()
    (mnist,) = needs(one, key_at(one, "dataset, require"))
    assert summary(needed_by(one, mnist.member.key), JOB) == [("dataset", None, [(6, "marketplace://name/mnist")])]
    (wget,) = needs(one, mnist.member.key)
    assert summary(needed_by(one, wget.member.key), JOB) == [
        ("mnist", PATH, [(5, "wget"), (5, "marketplace://name/wget")])
    ]


def test_of_two_with_one_name_the_one_at_the_cursor_is_meant() -> None:
    one = document()
    assert [member.detail for member in members_at(one, JOB.index("dataset, require"))] == ["data"]
    assert [member.detail for member in members_at(one, JOB.index("dataset}"))] == ["script"]


@pytest.mark.parametrize("word", ["漢字", "type", "instances", "nothing"])
def test_where_there_is_nothing_to_ask(word: str) -> None:
    one = document()
    assert members_at(one, JOB.index(word)) == []


def test_a_key_of_a_text_that_has_changed() -> None:
    changed = Document("\n\n" + JOB.replace("    instances: 2\n", ""), lookup=Catalog())
    assert needs(changed, key_at(document(), "master:"))[0].member.name == "prepare"
    assert needs(changed, "definition  script gone") == []


def test_a_circle_ends() -> None:
    text = "prerequisites:\n  - {name: a, type: script, require: [b]}\n  - {name: b, type: script, require: [a]}\n"
    one = Document(text)
    key = key_at(one, "a,")
    assert [call.member.name for call in needs(one, key)] == ["b"]
    assert [call.member.name for call in needed_by(one, key)] == ["b"]
