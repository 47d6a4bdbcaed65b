"""The lock file: its content, that it is used, and the messages when it does not match."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest
from loopback import alone, item, items, marketplace

from pai_lsp.catalog.catalog import Catalog
from pai_lsp.catalog.loading import load_catalog, load_lock, locked_entries, refreshed_catalog, uses_of
from pai_lsp.catalog.lock import LockedDefinition, definition_hash, lock_text, read_lock
from pai_lsp.catalog.setup import LOCK_NAME, CatalogSetup, Marketplace, ServerSource, catalog_setup
from pai_lsp.catalog.store import Surroundings
from pai_lsp.document import Document
from pai_lsp.ide.completion.complete import complete
from pai_lsp.job.definition import Definition, Origin, read_definitions
from pai_lsp.job.lookup import LookupState
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.syntax import parse

if TYPE_CHECKING:
    from pathlib import Path

MNIST = "marketplace://name/mnist"
FORGED = {"name": "mnist", "source": "s", "sha256": "0", "definition": {"name": "mnist"}}
JOB = f"""\
protocolVersion: 2
type: job
taskRoles: {{worker: {{prerequisites: [mine]}}}}
extras:
  reference_prerequisites:
    - name: mine
      require:
        - {{name: {MNIST}, template_variables: {{dataPath: /d}}}}
"""


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    alone(monkeypatch, str(tmp_path / "cache"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "marketplace").mkdir(parents=True)
    (folder / "marketplace" / "mnist.yaml").write_text(
        "name: mnist\ntype: data\nrequire: [tools]\ntemplate_variables: [{name: dataPath}]\n"
    )
    (folder / "marketplace" / "tools.yaml").write_text("name: tools\ntype: script\n")
    (folder / "marketplace" / "other.yaml").write_text("name: other\ntype: script\n")
    return folder


def catalog(project: Path, *servers: ServerSource) -> Catalog:
    setup = catalog_setup(Marketplace(servers), str(project), str(project), str(project))
    return load_catalog(setup, Surroundings())


def lock(project: Path, catalog: Catalog) -> None:
    entries = locked_entries(catalog, uses_of([Document(JOB).job], catalog))
    (project / LOCK_NAME).write_text(lock_text(entries), encoding="utf-8")


def found(catalog: Catalog, code: str = "locked-definition-changed") -> list[str]:
    return [one.message for one in Document(JOB, lookup=catalog).diagnostics if one.code == code]


def definition(text: str) -> Definition:
    (one,) = read_definitions(parse(text).root, Origin.CATALOG)
    return one


def test_the_hash_is_of_what_is_said_and_not_of_how() -> None:
    plain = definition("name: a\ntype: data\nuri: ['x y']\n")
    assert definition_hash(plain) == definition_hash(definition('# hello\n{"type": "data", uri: [x y], name: a}'))
    assert definition_hash(plain) != definition_hash(definition("name: a\ntype: data\nuri: [x, y]\n"))
    assert definition_hash(definition("a: 1")) != definition_hash(definition("a: '1'"))
    # The normal form is part of the file's format: it must not change by itself.
    normal = b'{"name":"a","type":"data","uri":["x y"]}'
    assert definition_hash(plain) == hashlib.sha256(normal).hexdigest()


@pytest.mark.parametrize(
    "value",
    [
        *("yes", "'yes'", "0o17", "1e3", "1.0", "-0", ".inf", ".nan", "2020-01-01", "~", "''", "true"),
        '"\\u2028\\x85😀\\t"',
        "|\n  a\n  b",
    ],
)
def test_a_locked_definition_is_the_same_when_it_is_read_again(value: str) -> None:
    one = definition(f"name: a\ntype: data\nx: {value}\n")
    text = lock_text({"marketplace://name/a": [LockedDefinition("a", "https://x/1", definition_hash(one), one)]})
    again = read_lock("/p/.pai-lsp.lock", text)
    assert again.fault == ""
    (locked,) = again.entries["marketplace://name/a"]
    assert locked.definition is not None
    assert definition_hash(locked.definition) == definition_hash(one)
    assert lock_text({"marketplace://name/a": [locked]}) == text
    assert len(text.splitlines()) == text.count("\n"), "no line ends but ours"


def test_only_what_is_used_is_locked(project: Path) -> None:
    lock(project, catalog(project))
    content = json.loads((project / LOCK_NAME).read_text(encoding="utf-8"))
    assert sorted(content["definitions"]) == [MNIST, "marketplace://name/tools"]
    (record,) = content["definitions"][MNIST]
    assert sorted(record) == ["name", "sha256", "source"], "what lies in the project is not repeated"
    assert record["source"] == "marketplace/mnist.yaml"
    assert found(catalog(project)) == []


def test_a_definition_that_was_changed(project: Path) -> None:
    lock(project, catalog(project))
    file = project / "marketplace" / "mnist.yaml"
    file.write_text("# only a comment\n" + file.read_text())
    assert found(catalog(project)) == []
    file.write_text(file.read_text() + "description: new\n")
    assert found(catalog(project)) == [
        f"'{MNIST}': it differs from '.pai-lsp.lock'; run 'pai-lsp marketplace lock' to accept the change"
    ]
    lock(project, catalog(project))
    assert found(catalog(project)) == []


def test_what_is_required_was_changed(project: Path) -> None:
    lock(project, catalog(project))
    (project / "marketplace" / "tools.yaml").write_text("name: tools\ntype: data\n")
    read = catalog(project)
    (message,) = found(read)
    assert message.startswith(f"'{MNIST}' requires 'tools': it differs from")


def test_what_a_server_gave_is_in_the_lock(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "marketplace" / "mnist.yaml").unlink()
    with marketplace(items(item(1, "mnist"))) as server:
        source = ServerSource(server.url)
        surroundings = Surroundings()
        asked = refreshed_catalog(catalog(project, source), surroundings)
        lock(project, asked)
        # The server has something else now; the lock counts.
        server.reaction = items(item(1, "mnist", protocol="prerequisites: [{name: mnist, type: script}]"), etag='"2"')
        asked = refreshed_catalog(catalog(project, source), surroundings)
        assert asked.find(MNIST).definitions[0].type == "data"
        assert asked.find("marketplace://script/mnist").definitions[0].type == "script"
        assert asked.names()[0] == MNIST
        assert asked.suggestions("mnist", 9)[0].type == "data"
    # Another machine, without network and cache.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    monkeypatch.setenv("HOME", str(tmp_path / "other"))
    elsewhere = catalog(project, source)
    answer = elsewhere.find(MNIST)
    assert (answer.state, answer.path) == (LookupState.FOUND, str(project / LOCK_NAME))
    text = (project / LOCK_NAME).read_text(encoding="utf-8")
    span = answer.definitions[0].name_span
    assert text[span.start : span.end] == "mnist"
    assert elsewhere.find("marketplace://name/other2").state is LookupState.UNKNOWN
    # It is offered as what the project's own folder holds is.
    assert [one.reference for one in elsewhere.suggestions("", 9)] == [
        MNIST, "marketplace://name/other", "marketplace://name/tools"
    ]  # fmt: skip
    (offer,) = elsewhere.suggestions("mni", 9)
    assert (offer.name, offer.type, offer.variables) == ("mnist", "data", ("dataPath",))
    assert elsewhere.suggestions("marketplace://data/", 9) == (), "under no address that is not locked"
    before = JOB[: JOB.index(MNIST)]
    labels = [one.label for one in complete(Document(JOB, lookup=elsewhere), len(before))]
    assert MNIST in labels
    assert [one.code for one in Document(JOB, lookup=elsewhere).diagnostics if "marketplace" in one.code] == []


def test_an_unreachable_source_stays_locked(project: Path) -> None:
    (project / "marketplace" / "mnist.yaml").unlink()
    with marketplace(items(item(1, "mnist"))) as server:
        source = ServerSource(server.url)
        lock(project, refreshed_catalog(catalog(project, source), Surroundings()))
    gone = catalog(project, ServerSource(server.url, token_env="OTHER"))  # noqa: S106 - the name of a variable
    uses = uses_of([Document(JOB).job], Catalog(gone.setup, gone.sources))
    assert uses.missing[MNIST].state is LookupState.UNKNOWN
    assert MNIST in locked_entries(gone, uses)
    assert MNIST not in locked_entries(Catalog(gone.setup, gone.sources), uses)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "'.pai-lsp.lock' is not a lock file of this version of pai-lsp"),
        ("[]", "'.pai-lsp.lock' is not a lock file of this version of pai-lsp"),
        ('{"version": 2, "definitions": {}}', "'.pai-lsp.lock' is not a lock file of this version of pai-lsp"),
        (
            f'{{"version": 1, "definitions": {{"{MNIST}": [{{"name": "mnist"}}]}}}}',
            f"'{MNIST}' in '.pai-lsp.lock' was edited by hand; run 'pai-lsp marketplace lock'",
        ),
        (
            f'{{"version": 1, "definitions": {{"{MNIST}": [], "marketplace://name/b": 7}}}}',
            f"'{MNIST}' and 1 more in '.pai-lsp.lock' was edited by hand; run 'pai-lsp marketplace lock'",
        ),
        (
            json.dumps({"version": 1, "definitions": {MNIST: [FORGED]}}),
            f"'{MNIST}' in '.pai-lsp.lock' was edited by hand; run 'pai-lsp marketplace lock'",
        ),
    ],
)
def test_a_damaged_lock(project: Path, text: str, fault: str) -> None:
    (project / LOCK_NAME).write_text(text)
    read = catalog(project)
    assert read.find(MNIST).state is LookupState.FOUND
    assert found(read, "broken-lock-file") == [fault], "once in a job"


def test_a_lock_that_is_no_text(project: Path) -> None:
    (project / LOCK_NAME).write_bytes(b"\xff\xfe\x00")
    assert "cannot be used: this file is UTF-16" in found(catalog(project), "broken-lock-file")[0]


def test_without_a_project_there_is_no_lock() -> None:
    assert CatalogSetup().lock == ""
    assert plain_value(None) is None


@pytest.mark.parametrize("kind", ["folder", "dangling", "device"])
def test_a_lock_that_is_not_a_plain_file_is_reported(tmp_path: Path, kind: str) -> None:
    path = tmp_path / LOCK_NAME
    assert load_lock(str(path)) is None
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere" if kind == "dangling" else "/dev/null")
    lock = load_lock(str(path))
    assert lock is not None
    assert lock.fault == "'.pai-lsp.lock' cannot be used: it is not a plain file"
