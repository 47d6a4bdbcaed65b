"""Folders of definition files: what is read, what is passed over, and that nothing outside of them ever is."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from loopback import alone

from pai_lsp.catalog import loading
from pai_lsp.catalog.catalog import Catalog
from pai_lsp.catalog.definition_text import DefinitionText, read_definition_text
from pai_lsp.catalog.loading import load_catalog, overlaid_catalog, read_directory
from pai_lsp.catalog.lock import definition_hash
from pai_lsp.catalog.setup import CatalogSetup, DirectorySource, Marketplace, ServerSource, SourceState, catalog_setup
from pai_lsp.catalog.store import Store, Surroundings
from pai_lsp.document import Document
from pai_lsp.job.lookup import LookupState
from pai_lsp.job.require_graph import expansion
from pai_lsp.source.user_folders import user_cache_folder, user_config_folder, user_state_folder

MNIST = "name: mnist\ntype: data\nsummary: Digits\ntemplate_variables: [{name: dataPath}]\nrequire: [tools]\n"
STREAM = """\
# Two documents, one of them a list.
- &base
  name: base
  type: script
  description: |
    What all need.

    And more.
  callbacks:
    - event: taskStarts
      commands: [echo 😀]
- {name: tools, type: script, require: [base]}
---
name: last
type: script
callbacks:
  - event: taskStarts
    commands:
      - |
        a block

        at the end
"""
JOB = "protocolVersion: 2\ntype: job\nprerequisites: [{name: of_the_job, type: data}]\ntaskRoles: {}\n"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    alone(monkeypatch, str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder `marketplace`, its files as old as most files are."""
    made = tmp_path / "marketplace"
    made.mkdir()
    return made


def write(folder: Path, name: str, text: str | bytes, *, is_old: bool = True) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    if is_old:
        os.utime(file, (1_600_000_000, 1_600_000_000))
    return file


def catalog(folder: Path) -> Catalog:
    return load_catalog(catalog_setup(None, "", str(folder.parent), str(folder.parent)), Surroundings())


def names(folder: Path) -> list[str]:
    return [place.header.name for place in catalog(folder).entries()]


def test_one_definition_a_list_and_a_stream(folder: Path) -> None:
    write(folder, "mnist.yaml", MNIST)
    write(folder, "more/script.yml", STREAM)
    found = catalog(folder)
    assert [place.header.name for place in found.entries()] == ["base", "last", "mnist", "tools"]
    answer = found.find("marketplace://data/mnist")
    assert answer.state is LookupState.FOUND
    assert answer.path == str(folder / "mnist.yaml")
    # A file is an item: its name is the item's id.
    several = found.find("marketplace://prerequisites/itemId/script")
    assert [one.name for one in several.definitions] == ["base", "tools", "last"]
    assert found.suggestions("ba", 5)[0].summary == "What all need."
    assert found.text(str(folder / "mnist.yaml")) == MNIST


def test_definitions_have_their_places_in_the_file(folder: Path) -> None:
    write(folder, "script.yaml", STREAM)
    found = catalog(folder)
    whole = {one.name: one for one in Document(STREAM, is_catalog=True).job.definitions}
    for name, expected in whole.items():
        (definition,) = found.find(f"marketplace://name/{name}").definitions
        assert definition.node.span == expected.node.span
        assert definition.name_span == expected.name_span
        assert STREAM[definition.name_span.start : definition.name_span.end] == name
        assert definition_hash(definition) == definition_hash(expected)
        command = definition.callbacks[0].commands[0] if definition.callbacks else None
        if command and expected.callbacks:
            assert command.text == expected.callbacks[0].commands[0].text
            assert command.span == expected.callbacks[0].commands[0].span


def test_the_same_definition_is_the_same_object(folder: Path) -> None:
    write(folder, "script.yaml", STREAM)
    found = catalog(folder)
    (by_name,) = found.find("marketplace://name/tools").definitions
    assert found.find("marketplace://script/tools").definitions == (by_name,)
    assert by_name in found.find("marketplace://prerequisites/itemId/script").definitions


def test_aliases_between_definitions(folder: Path) -> None:
    write(
        folder,
        "a.yaml",
        "- {name: a, type: data, callbacks: &c [{event: taskStarts, commands: [x]}]}\n"
        "- {name: b, type: data, callbacks: *c}\n",
    )
    (definition,) = catalog(folder).find("marketplace://name/b").definitions
    assert definition.callbacks[0].event_name == "taskStarts"


def test_a_role_is_expanded_through_the_folder(folder: Path) -> None:
    write(folder, "mnist.yaml", MNIST)
    write(folder, "script.yaml", STREAM)
    job = Document("taskRoles: {worker: {prerequisites: ['marketplace://name/mnist']}}\n", lookup=catalog(folder)).job
    steps = expansion(job.require_graph, job.task_roles[0].prerequisites).steps
    assert [step.definition.name for step in steps] == ["base", "tools", "mnist"]
    assert steps[0].path == str(folder / "script.yaml")


@pytest.mark.parametrize(
    "reference",
    [
        "marketplace://name/../../secret",
        "marketplace://name/..",
        "marketplace://prerequisites/itemId/../secret",
        "marketplace://data/../secret",
        "marketplace://name/%2e%2e/secret",
        "marketplace:///etc/passwd",
    ],
)
def test_no_reference_reaches_outside(folder: Path, reference: str) -> None:
    write(folder, "mnist.yaml", MNIST)
    write(folder.parent, "secret.yaml", "name: secret\ntype: data\n")
    assert catalog(folder).find(reference).state is LookupState.ABSENT


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_are_followed_inside_of_the_folder_only(folder: Path, tmp_path: Path) -> None:
    write(folder, "mnist.yaml", MNIST)
    outside = write(tmp_path / "outside", "secret.yaml", "name: secret\ntype: data\n")
    (folder / "file.yaml").symlink_to(outside)
    (folder / "folder").symlink_to(outside.parent)
    (folder / "gone.yaml").symlink_to(tmp_path / "nothing.yaml")
    (folder / "inside.yaml").symlink_to(folder / "mnist.yaml")
    found = catalog(folder)
    assert {place.header.name for place in found.entries()} == {"mnist"}
    assert "'file.yaml' is a link to a file outside the folder" in found.sources[0].skipped
    assert found.find("marketplace://prerequisites/itemId/inside").state is LookupState.FOUND


def test_an_item_of_a_list_needs_only_a_name(folder: Path) -> None:
    write(folder, "paths.yaml", "- name: models\n  mountPath: /mnt/models\n- name: Say hello\n  hosts: all\n")
    assert names(folder) == ["models"]


def test_what_is_no_definition_is_passed_over(folder: Path) -> None:
    write(folder, "mnist.yaml", MNIST)
    write(folder, "job.pai.yaml", JOB)
    write(folder, "action.yml", "name: Build\ndescription: Builds\nruns: {using: node}\n")
    write(folder, "empty.yaml", "")
    write(folder, "number.yaml", "7\n")
    write(folder, ".hidden.yaml", "name: hidden\ntype: data\n")
    write(folder, ".git/config.yaml", "name: hidden\ntype: data\n")
    write(folder, "notes.txt", "name: notes\ntype: data\n")
    assert names(folder) == ["mnist"]


def test_a_broken_file_leaves_the_others_alone(folder: Path) -> None:
    write(folder, "mnist.yaml", MNIST)
    write(folder, "broken.yaml", "- name: half\n  type: data\n  require: [a\n- name: second\n  type: data\n")
    write(folder, "binary.yaml", b"\xff\xfe\x00")
    found = catalog(folder)
    assert {"half", "mnist"} <= {place.header.name for place in found.entries()}
    binary, broken = found.sources[0].skipped
    assert binary.startswith("'binary.yaml': this file is UTF-16")
    assert broken.startswith("'broken.yaml', line ")
    absent = found.find("marketplace://name/nothing")
    assert (absent.state, absent.note) == (LookupState.ABSENT, f"{binary}, and 1 more")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files there")
def test_a_pipe_does_not_stop_the_reading(folder: Path) -> None:
    write(folder, "mnist.yaml", MNIST)
    os.mkfifo(folder / "pipe.yaml")
    assert names(folder) == ["mnist"]
    assert catalog(folder).sources[0].skipped == ("'pipe.yaml' is not a regular file",)


def test_the_largest_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file.yaml"
    file.write_text("name: a\ntype: script\n", encoding="utf-8")
    monkeypatch.setattr(loading, "MOST_BYTES", file.stat().st_size)
    assert read_directory(str(tmp_path)).skipped == ()
    monkeypatch.setattr(loading, "MOST_BYTES", file.stat().st_size - 1)
    assert read_directory(str(tmp_path)).skipped == ("'file.yaml' is larger than 20 bytes",)


def test_names_that_no_address_can_hold(folder: Path) -> None:
    write(folder, "a.b.yaml", "- {name: two words, type: data}\n- {name: fine, type: data}\n")
    assert catalog(folder).names() == ("marketplace://name/fine", "marketplace://data/fine")


def test_only_changed_files_are_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, "mnist.yaml", MNIST)
    changing = write(folder, "script.yaml", STREAM)
    before = catalog(folder)
    read: list[str] = []

    def counted(path: str, text: str, *, item: str) -> DefinitionText:
        read.append(Path(path).name)
        return read_definition_text(path, text, item=item)

    monkeypatch.setattr(loading, "read_definition_text", counted)
    changing.write_text("name: other\ntype: data\n")
    after = load_catalog(before.setup, Surroundings(), before)
    assert read == ["script.yaml"]
    assert [place.header.name for place in after.entries()] == ["mnist", "other"]
    assert after.find("marketplace://name/mnist").definitions == before.find("marketplace://name/mnist").definitions
    # It was changed a moment ago, so it may change again without a new time stamp.
    again = load_catalog(before.setup, Surroundings(), after)
    assert read == ["script.yaml", "script.yaml"]
    assert again.has_same_answers(after)
    assert not again.has_same_answers(before)


def test_a_large_folder_is_kept(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filler = "#" * 1000
    for number in range(250):
        write(folder, f"{number}.yaml", f"name: n{number}\ntype: data\n{filler}\n")
    store = Store(tmp_path / "cache")
    first = read_directory(str(folder), store)
    assert first.count == 250

    read: list[str] = []

    def counted(path: str, text: str, *, item: str) -> DefinitionText:
        read.append(Path(path).name)
        return read_definition_text(path, text, item=item)

    monkeypatch.setattr(loading, "read_definition_text", counted)
    assert read_directory(str(folder), store).count == 250
    (folder / "7.yaml").unlink()
    for _ in range(2):
        assert read_directory(str(folder), store).count == 249
        kept = store.load(str(folder))
        assert kept is not None
        assert kept.count == 249
    assert read == []
    write(folder, "8.yaml", f"name: changed\ntype: data\n{filler}\n")
    for _ in range(2):
        assert "changed" in [one.headers[0].name for one in read_directory(str(folder), store).texts]
        assert read == ["8.yaml"]


def test_what_is_being_written_counts_as_if_it_were_saved(folder: Path) -> None:
    write(folder, "a.yaml", "name: a\ntype: data\n")
    write(folder, "b.yaml", "- {name: b, type: data}\n- [\n")
    found = catalog(folder)
    assert "'b.yaml', line" in found.find("marketplace://name/x").note
    a, b, new = (str(folder / name) for name in ("a.yaml", "b.yaml", "new/c.yml"))
    written = {a: "# moved\nname: z\ntype: data\n", b: "- {name: b, type: data}\n", new: "{name: c, type: data}\n"}
    after = overlaid_catalog(found, {**written, str(folder / "notes.txt"): "{name: d, type: data}"})
    assert [one.header.name for one in after.entries()] == ["b", "c", "z"]
    answer = after.find("marketplace://name/z")
    assert (answer.path, answer.definitions[0].name_span.start) == (a, len("# moved\nname: "))
    assert after.text(a) == written[a]
    assert after.find("marketplace://name/x").note == "", "the fault is fixed"
    assert after.find("marketplace://prerequisites/itemId/c").state is LookupState.FOUND
    again = overlaid_catalog(found, {**written, a: "{name: [\n"}, after)
    assert again.sources[0].texts[1] is after.sources[0].texts[1], "what has not changed is not read again"
    assert "'a.yaml', line" in again.find("marketplace://name/x").note
    assert [one.header.name for one in found.entries()] == ["a", "b"]


def test_what_is_open_and_unchanged_changes_nothing(folder: Path, tmp_path: Path) -> None:
    write(folder, "a.yaml", "name: a\ntype: data\n")
    found = catalog(folder)
    elsewhere = {str(tmp_path / "x.yaml"): "name: x\ntype: data\n"}
    assert overlaid_catalog(found, {}) is overlaid_catalog(found, elsewhere) is found
    assert overlaid_catalog(found, {str(folder / "a.yaml"): "name: a\ntype: data\n"}) is found


def test_the_first_definition_of_a_folder_counts_before_it_is_saved(folder: Path) -> None:
    found = catalog(folder)
    assert found.find("marketplace://name/a").state is LookupState.UNKNOWN
    after = overlaid_catalog(found, {str(folder / "a.yaml"): "name: a\ntype: data\n"})
    assert after.find("marketplace://name/a").state is LookupState.FOUND
    assert overlaid_catalog(found, {str(folder / "a.yaml"): "on: push\n"}).find("marketplace://name/a").note == (
        "no marketplace is configured"
    )


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    setup = CatalogSetup(sources=(DirectorySource(str(tmp_path / "nothing")),))
    found = load_catalog(setup, Surroundings())
    assert found.state is SourceState.UNREACHABLE
    assert found.find("marketplace://name/x").state is LookupState.UNKNOWN
    assert found.find("marketplace://name/x").note.endswith("nothing' is not a folder")


def test_too_many_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MOST_FILES", 3)
    for number in range(9):
        write(folder, f"{number}.yaml", f"name: n{number}\ntype: data\n")
    shelf = read_directory(str(folder))
    assert shelf.count == 3
    assert shelf.skipped == ("more than 3 files; the rest is not read",)
    for number in range(3, 9):
        (folder / f"{number}.yaml").unlink()
    assert read_directory(str(folder)).skipped == ()


def test_where_the_folder_is_found(tmp_path: Path) -> None:
    top, jobs = tmp_path / "project", tmp_path / "project" / "jobs" / "deep"
    jobs.mkdir(parents=True)
    (top / "marketplace").mkdir()

    def found(folder: Path, *, base: str = "", marketplace: Marketplace | None = None) -> list[str]:
        setup = catalog_setup(marketplace, base, str(folder), str(top))
        return [Path(one).relative_to(tmp_path).as_posix() for one in setup.directories]

    assert found(jobs) == ["project/marketplace"]
    assert found(top) == ["project/marketplace"]
    assert found(tmp_path) == [], "above the workspace nothing is searched"
    elsewhere = tmp_path / "other" / "marketplace"
    (elsewhere / "images").mkdir(parents=True)
    for folder in (elsewhere.parent, elsewhere, elsewhere / "images"):
        assert found(folder) == ["other/marketplace"], "beside a job, or around a definition file"
    assert found(jobs, base=str(top / "jobs")) == [], "beside a configuration only its own counts"
    assert found(jobs, base=str(top)) == ["project/marketplace"]
    configured = Marketplace((DirectorySource("../shared"), DirectorySource(str(tmp_path / "abs"))))
    assert found(jobs, base=str(top), marketplace=configured) == ["shared", "abs"]
    server = Marketplace((ServerSource("https://pai.example.com"),))
    assert found(jobs, base=str(top), marketplace=server) == ["project/marketplace"]
    (jobs / "marketplace").mkdir()
    assert found(jobs) == ["project/jobs/deep/marketplace"]


def test_the_first_source_counts(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, "x.yaml", f"name: x\ntype: data\nsummary: of {name}\n")
    setup = CatalogSetup(sources=(DirectorySource(str(tmp_path / "two")), DirectorySource(str(tmp_path / "one"))))
    assert load_catalog(setup, Surroundings()).suggestions("x", 1)[0].summary == "of two"


def test_offers_are_few_and_the_best() -> None:
    assert Catalog().suggestions("", 9) == ()
    assert Catalog().find("marketplace://name/x").note == "no marketplace is configured"


def test_offers_of_many(folder: Path) -> None:
    kinds = ("data", "script")
    lines = (f"- {{name: set_{number:03}, type: {kinds[number % 2]}}}\n" for number in range(300))
    write(folder, "all.yaml", "".join(lines))
    found = catalog(folder)

    def offered(typed: str, most: int = 3) -> list[str]:
        return [offer.reference for offer in found.suggestions(typed, most)]

    assert offered("") == [f"marketplace://name/set_00{number}" for number in range(3)]
    assert offered("marketplace:") == offered("")
    assert offered("SET_29") == [f"marketplace://name/set_29{number}" for number in range(3)]
    assert offered("29", 99)[:2] == ["marketplace://name/set_029", "marketplace://name/set_129"]
    assert offered("marketplace://data/set_01") == [f"marketplace://data/set_01{number}" for number in (0, 2, 4)]
    assert offered("marketplace://pre") == ["marketplace://prerequisites/itemId/all"]
    assert offered("nothing") == []


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"HOME": "/home/me"}, "/home/me/.cache/pai-lsp"),
        ("linux", {"HOME": "/home/me", "XDG_CACHE_HOME": "/fast"}, "/fast/pai-lsp"),
        ("linux", {"HOME": "/home/me", "XDG_CACHE_HOME": "relative"}, "/home/me/.cache/pai-lsp"),
        ("darwin", {"HOME": "/Users/me", "XDG_CACHE_HOME": "/fast"}, "/Users/me/Library/Caches/pai-lsp"),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/pai-lsp/Cache"),
        ("win32", {"HOME": "/h"}, "/h/AppData/Local/pai-lsp/Cache"),
    ],
)
def test_where_things_are_kept(platform: str, environment: dict[str, str], expected: str) -> None:
    assert user_cache_folder(environment, platform).as_posix() == expected


@pytest.mark.parametrize(
    ("platform", "environment", "state", "config"),
    [
        ("linux", {"HOME": "/h"}, "/h/.local/state/pai-lsp", "/h/.config/pai-lsp"),
        ("linux", {"HOME": "/h", "XDG_STATE_HOME": "/s", "XDG_CONFIG_HOME": "/c"}, "/s/pai-lsp", "/c/pai-lsp"),
        ("linux", {"HOME": "/h", "XDG_STATE_HOME": "s"}, "/h/.local/state/pai-lsp", "/h/.config/pai-lsp"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Application Support/pai-lsp", "/h/.config/pai-lsp"),
        ("win32", {"LOCALAPPDATA": "/l", "APPDATA": "/a"}, "/l/pai-lsp", "/a/pai-lsp"),
        ("win32", {"HOME": "/h"}, "/h/AppData/Local/pai-lsp", "/h/AppData/Roaming/pai-lsp"),
    ],
)
def test_where_answers_and_settings_are_kept(
    platform: str, environment: dict[str, str], state: str, config: str
) -> None:
    assert user_state_folder(environment, platform).as_posix() == state
    assert user_config_folder(environment, platform).as_posix() == config


def test_a_thousand_finds_are_quick(folder: Path) -> None:
    write(folder, "all.yaml", "".join(f"- {{name: n{number}, type: data}}\n" for number in range(2000)))
    found = catalog(folder)
    found.names()
    begin = time.process_time()
    for number in range(1000):
        assert found.find(f"marketplace://name/n{number}").state is LookupState.FOUND
    assert time.process_time() - begin < 2
