"""`.pai-lsp.yaml`: what it may say, what is reported in it, and which paths its patterns leave out."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import jsonschema
import pytest
from test_calls import calls

from pai_lsp.catalog.setup import DirectorySource, Marketplace, ServerSource
from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.platform.tables import table
from pai_lsp.project.config_reader import SEVERITIES, load_configuration, parse_configuration
from pai_lsp.project.configuration import FILE_NAME, ConfigurationSearch, is_of_another_user, project_folder
from pai_lsp.project.exclusion import IgnoredByGit, exclusion_of
from pai_lsp.rules import REMOVED
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.syntax import parse

if TYPE_CHECKING:
    from pathlib import Path

    from pai_lsp.project.configuration import Configuration

SEVERITY = "'error', 'warning', 'information', 'hint' or 'off'"


def read(text: str) -> Configuration:
    return parse_configuration(text, folder="/project")


def faults(text: str) -> list[tuple[str, str]]:
    """The words that are wrong, each with its message."""
    return [(text[d.span.start : d.span.end], d.message) for d in read(text).diagnostics]


def test_everything_it_can_say() -> None:
    configuration = read(
        """\
rules:
  unused-prerequisite: warning
  image-latest-tag: off
exclude: [generated/, "*.draft.yaml"]
plugins:
  - our_plugin
  - com.microsoft.pai.runtimeplugin.other
marketplace:
  sources:
    - directory: market
    - url: https://pai.example.com/marketplace/api
      token_env: TOKEN
    - {url: "http://pai.example.com", token_command: [pass, show, pai]}
  allowed_hosts: [raw.example.com]
"""
    )
    assert configuration.diagnostics == ()
    assert configuration.settings.severities == {"unused-prerequisite": Severity.WARNING, "image-latest-tag": None}
    assert configuration.settings.plugins == {"our_plugin", "other"}
    assert configuration.marketplace == Marketplace(
        (
            DirectorySource("market"),
            ServerSource("https://pai.example.com/marketplace/api", "TOKEN"),
            ServerSource("http://pai.example.com", None, ("pass", "show", "pai")),
        ),
        frozenset({"raw.example.com"}),
    )
    assert configuration.excludes("/project/a/generated", is_folder=True)
    assert configuration.excludes("/project/a/generated/x.yaml")
    assert configuration.excludes("/project/x.draft.yaml")
    assert not configuration.excludes("/project/x.yaml")
    assert not configuration.excludes("/elsewhere/x.draft.yaml")
    assert not configuration.excludes("/project", is_folder=True)


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "~\n", "{}\n", "rules:\nexclude:\nplugins:\nmarketplace:\n"])
def test_an_empty_one_changes_nothing(text: str) -> None:
    configuration = read(text)
    assert configuration.diagnostics == ()
    assert configuration.settings.severities == {}
    assert not configuration.excludes("/project/x.yaml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rule: {}\n", [("rule", "'rule' is not a key of a configuration; did you mean 'rules'?")]),
        ("zebra: {}\n", [("zebra", "'zebra' is not a key of a configuration")]),
        ("url: {}\n", [("url", "'url' is not a key of a configuration but of a source")]),
        ("[a]\n", [("[a]", "a configuration must be a mapping, not a list")]),
        ("rules: [a]\n", [("[a]", "'rules' must be a mapping, not a list")]),
        (
            "rules: {unused-prerequsite: off}\n",
            [
                (
                    "unused-prerequsite",
                    "no rule or family is named 'unused-prerequsite'; did you mean 'unused-prerequisite'?",
                )
            ],
        ),
        (
            "rules: {image-latest-tag: warn}\n",
            [("warn", f"'image-latest-tag' must be {SEVERITY}, not the string 'warn'; did you mean 'warning'?")],
        ),
        ("rules: {image-latest-tag: 3}\n", [("3", f"'image-latest-tag' must be {SEVERITY}, not the number 3")]),
        (
            "rules: {image-latest-tag: }\n",
            [("image-latest-tag", f"'image-latest-tag' has no value; it must be {SEVERITY}")],
        ),
        ("exclude: x\n", [("x", "'exclude' must be a list, not the string 'x'")]),
        (
            "exclude: [1, a, '']\n",
            [
                ("1", "item 1 of 'exclude' must be a string, not the number 1; quote it"),
                ("''", "item 3 of 'exclude' is empty"),
            ],
        ),
        ("plugins: {a: b}\n", [("{a: b}", "'plugins' must be a list, not a mapping")]),
        ("marketplace: x\n", [("x", "'marketplace' must be a mapping, not the string 'x'")]),
        (
            "marketplace: {source: []}\n",
            [("source", "'source' is not a key of 'marketplace'; did you mean 'sources'?")],
        ),
        ("marketplace: {sources: x}\n", [("x", "'sources' must be a list, not the string 'x'")]),
        ("marketplace: {sources: [x]}\n", [("x", "a source must be a mapping, not the string 'x'")]),
        ("marketplace: {sources: [{}]}\n", [("{}", "a source has either 'directory' or 'url'")]),
        (
            "marketplace: {sources: [{directory: a, url: 'http://b'}]}\n",
            [("{directory: a, url: 'http://b'}", "a source has either 'directory' or 'url'")],
        ),
        (
            "marketplace: {sources: [{directory: 1}]}\n",
            [("1", "'directory' must be a string, not the number 1; quote it")],
        ),
        (
            "marketplace: {sources: [{directory: a, token_env: B}]}\n",
            [("token_env", "'token_env' works only with 'url'; a folder needs no token")],
        ),
        (
            "marketplace: {sources: [{url: 'ftp://b'}]}\n",
            [("'ftp://b'", "'url' must begin with 'http://' or 'https://'")],
        ),
        (
            "marketplace: {sources: [{url: 'https://[b'}]}\n",
            [("'https://[b'", "'url' is not a valid web address")],
        ),
        (
            "marketplace: {sources: [{url: 'https://me:word@b/api'}]}\n",
            [("'https://me:word@b/api'", "'url' must not contain a user name or a password; see 'token_env'")],
        ),
        (
            "marketplace: {sources: [{url: 'http://b', token_env: A, token_command: [b]}]}\n",
            [("token_command", "the token comes from 'token_env' or from 'token_command', not from both")],
        ),
        (
            "marketplace: {sources: [{url: 'http://b', token_command: []}]}\n",
            [("token_command", "'token_command' is empty; it needs at least one item")],
        ),
        *(
            (
                text,
                [('"a\\0b"', "a path, a word of a program or an address has no zero byte")],
            )
            for text in (
                'marketplace: {sources: [{directory: "a\\0b"}]}\n',
                'marketplace: {sources: [{url: "http://b", token_command: [cat, "a\\0b"]}]}\n',
                'cluster: "a\\0b"\n',
                'exclude: ["a\\0b"]\n',
            )
        ),
        ("plugins: []\nplugins: [a]\n", [("plugins", "the key 'plugins' occurs twice in one mapping")]),
        (
            "plugins: []\nexclude: []\nplugins: []\nexclude: []\n",
            [("plugins", "the keys 'plugins' and 'exclude' occur twice in one mapping")],
        ),
        (
            "plugins: []\nexclude: []\nrules: {}\nplugins: []\nexclude: []\nrules: {}\n",
            [("plugins", "the keys 'plugins' and 2 more occur twice in one mapping")],
        ),
    ],
)
def test_what_is_wrong_is_said_on_the_very_words(text: str, expected: list[tuple[str, str]]) -> None:
    assert faults(text) == expected
    assert {d.code for d in read(text).diagnostics} == {"invalid-configuration"}


def test_a_home_folder_that_this_machine_does_not_have() -> None:
    text = "marketplace: {sources: [{directory: ~no-such-user/marketplace}, {directory: ~/mine}]}\n"
    reason = "'~no-such-user' is not a home folder on this machine, so nothing is read from this 'directory'"
    assert faults(text) == [("~no-such-user/marketplace", f"{reason}; write a path from the folder of this file")]
    assert len(read(text).marketplace.sources) == 2  # type: ignore[union-attr]  # there is one


@pytest.mark.parametrize("text", ["exclude: !!pairs [a: 1]\n", "rules: &a {b: *a}\n", "plugins: !!binary aGk=\n"])
def test_values_that_no_schema_expects(text: str) -> None:
    assert {d.code for d in read(text).diagnostics} == {"invalid-configuration"}


def test_the_rest_of_a_faulty_one_applies() -> None:
    configuration = read(
        "rules:\n  image-latest-tag: off\n  unused-prerequisite: loud\nexclude: [[a], b]\nplugins: 1\n"
    )
    assert configuration.settings.severities == {"image-latest-tag": None}
    assert configuration.excludes("/project/b")
    assert len(configuration.diagnostics) == 3


def test_an_unknown_rule_is_only_a_warning() -> None:
    severities = [d.severity for d in read("rules: {retired-rule: off, image-latest-tag: loud}\n").diagnostics]
    assert severities == [Severity.WARNING, Severity.ERROR]


def test_a_pattern_of_a_folder_is_for_no_file() -> None:
    configuration = read("per_file_ignores: {old/: [missing-key]}\n")
    assert configuration.ignored_in("/project/old/a.yaml") == {"missing-key"}
    assert configuration.ignored_in("/project/old") == configuration.ignored_in("/elsewhere/old/a.yaml") == set()


def test_a_former_code_keeps_its_settings_and_names_the_new_one() -> None:
    configuration = read("rules: {mpi-as-root: off}\nper_file_ignores: {a.yaml: [mpi-foreign-host]}\n")
    assert configuration.settings.severities == {"mpi-run-as-root": None}
    assert configuration.ignored_in("/project/a.yaml") == {"mpi-unknown-host"}
    assert [(one.severity, one.message, one.fixes[0].edits[0].new_text) for one in configuration.diagnostics] == [
        (Severity.INFORMATION, "the rule 'mpi-as-root' is now 'mpi-run-as-root'", "mpi-run-as-root"),
        (Severity.INFORMATION, "the rule 'mpi-foreign-host' is now 'mpi-unknown-host'", "mpi-unknown-host"),
    ]


def test_the_code_of_a_removed_rule_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REMOVED, "old-rule", "0.3.0: the platform accepts it now")
    configuration = read("rules: {old-rule: off}\nper_file_ignores: {a.yaml: [old-rule]}\n")
    message = "the rule 'old-rule' was removed in 0.3.0: the platform accepts it now"
    assert [(one.severity, one.message, tuple(one.fixes)) for one in configuration.diagnostics] == [
        (Severity.INFORMATION, message, ())
    ] * 2
    (unused,) = Document("# pai-lsp: ignore-file[old-rule]\ntype: job\nprotocolVersion: 2\n").diagnostics[:1]
    assert unused.message == message


def test_a_code_overrules_a_former_one_and_that_its_family() -> None:
    text = "rules: {mpi-run-as-root: error, mpi-as-root: hint, mpi-foreign-host: hint, commands: off, secrets: off}\n"
    severities = read(text).settings.severities
    assert severities["mpi-run-as-root"] is Severity.ERROR
    assert severities["mpi-unknown-host"] is Severity.HINT
    assert severities["source-in-sh"] is severities["secret-in-clear"] is None
    assert "unknown-prerequisite" not in severities


@pytest.mark.parametrize("text", ["rules: {a: [\n", "\t\n- :", '"open\n', "a: *b\n", "rules:\n  - : : :\n ]"])
def test_a_text_that_is_no_yaml_is_reported_and_never_raises(text: str) -> None:
    configuration = read(text)
    assert configuration.diagnostics
    assert all(0 <= d.span.start <= d.span.end <= len(text) for d in configuration.diagnostics)


SCHEMA_CASES = [
    ("", True),
    ("rules: {image-latest-tag: off}", True),
    ("rules: {image-latest-tag: loud}", False),
    ("rules: [a]", False),
    ("rules: ~", True),
    ("exclude: [a, b]", True),
    ("exclude: a", False),
    ("exclude: [1]", False),
    ("exclude: ['']", False),
    ("plugins: [a]", True),
    ("plugins: [[a]]", False),
    ("unknown: 1", False),
    ("- a", False),
    ("marketplace: {}", True),
    ("marketplace: {sources: [{directory: a}], allowed_hosts: [h]}", True),
    ("marketplace: {sources: [{directory: a, url: 'http://b'}]}", False),
    ("marketplace: {sources: [{}]}", False),
    ("marketplace: {sources: [{directory: ''}]}", False),
    ("marketplace: {sources: [{url: 'ftp://b'}]}", False),
    ("marketplace: {sources: [{url: 'https://me:word@b'}]}", False),
    ("marketplace: {sources: [{url: 'https://b', token_env: A}]}", True),
    ("marketplace: {sources: [{url: 'https://b', token_command: [a, b]}]}", True),
    ("marketplace: {sources: [{url: 'https://b', token_command: []}]}", False),
    ("marketplace: {sources: [{url: 'https://b', token_command: [a], token_env: B}]}", False),
    ("marketplace: {sources: [{directory: a, token_env: B}]}", False),
    ("marketplace: {sources: [{directory: a, more: b}]}", False),
    ("marketplace: {more: b}", False),
    ("marketplace: {allowed_hosts: h}", False),
]


@pytest.mark.parametrize(("text", "is_right"), SCHEMA_CASES)
def test_the_schema_says_the_same(text: str, is_right: bool) -> None:
    schema = jsonschema.Draft202012Validator(table("configuration.schema.json"))
    assert (not read(text).diagnostics) is is_right
    assert schema.is_valid(plain_value(parse(text).root)) is is_right


def test_the_schema_has_the_same_severities() -> None:
    schema = table("configuration.schema.json")
    assert tuple(schema["properties"]["rules"]["additionalProperties"]["enum"]) == tuple(SEVERITIES)


def test_the_nearest_one_upwards_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / FILE_NAME).write_text("rules: {}\n")
    assert nearest(inner) == str(tmp_path / FILE_NAME)
    (tmp_path / "a" / FILE_NAME).write_text("")
    assert nearest(inner) == str(tmp_path / "a" / FILE_NAME)


def nearest(folder: Path) -> str | None:
    return ConfigurationSearch().nearest(str(folder))


@pytest.mark.parametrize("kind", ["folder", "dangling", "device"])
def test_what_is_not_a_plain_file_is_no_configuration_and_reported(tmp_path: Path, kind: str) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / FILE_NAME).write_text("rules: {}\n")
    odd = inner / FILE_NAME
    if kind == "folder":
        odd.mkdir()
    else:
        odd.symlink_to("nowhere" if kind == "dangling" else "/dev/null")
    messages: list[str] = []
    search = ConfigurationSearch(messages.append)
    assert search.nearest(str(inner)) == search.nearest(str(inner)) == str(tmp_path / FILE_NAME)
    assert messages == [f"'{odd}' is not read, because it is not a plain file"]


def test_above_a_repository_nothing_is_searched(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / FILE_NAME).write_text("rules: {}\n")
    (tmp_path / "a" / ".git").mkdir()
    assert nearest(inner) is None
    assert nearest(tmp_path / "a") is None
    assert nearest(tmp_path) == str(tmp_path / FILE_NAME)


def test_a_folder_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [tmp_path]
    for _ in range(50):
        folders.append(folders[-1] / "d")
    looked = 0

    def isfile(_: str) -> bool:
        nonlocal looked
        looked += 1
        return False

    monkeypatch.setattr(os.path, "isfile", isfile)
    search = ConfigurationSearch()
    assert {search.nearest(str(folder)) for folder in folders} == {None}
    assert looked == len(folders[-1].parents) + 1


@pytest.mark.parametrize("mark", [".git/", ".git"], ids=["a clone", "a worktree"])
def test_a_project_ends_at_its_repository_or_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    repository, other = tmp_path / "home" / "me" / "repository", tmp_path / "home" / "me" / "other"
    for folder in (repository / "jobs", other, tmp_path / "elsewhere"):
        folder.mkdir(parents=True)
    if mark.endswith("/"):
        (repository / mark).mkdir()
    else:
        (repository / mark).write_text("gitdir: elsewhere\n")
    assert project_folder(str(repository / "jobs")) == project_folder(str(repository)) == str(repository)
    assert project_folder(str(other)) == project_folder(str(tmp_path / "home")) == str(tmp_path / "home")
    assert project_folder(str(tmp_path / "elsewhere")) is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no such owners")
@pytest.mark.parametrize(("owner", "user", "is_of_another"), [(1, 1, False), (0, 1, False), (2, 1, True), (2, 0, True)])
def test_whose_a_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: int, user: int, is_of_another: bool
) -> None:
    status = list((tmp_path).stat())
    status[4] = owner
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "stat", lambda _: os.stat_result(status))
    monkeypatch.setattr(os, "lstat", lambda _: os.stat_result(status))
    assert is_of_another_user("file") is is_of_another
    monkeypatch.delattr(os, "geteuid")
    assert not is_of_another_user("file")


def test_one_that_can_not_be_read_is_reported(tmp_path: Path) -> None:
    file = tmp_path / FILE_NAME
    file.write_bytes(b"rules: {}\n# caf\xe9\n")
    configuration = load_configuration(str(file))
    assert [d.message for d in configuration.diagnostics] == [
        "this file is not UTF-8: byte 0xe9 cannot be read; OpenPAI reads UTF-8"
    ]
    gone = load_configuration(str(tmp_path / "gone"))
    assert [d.message for d in gone.diagnostics] == ["this file cannot be read: no such file or directory"]


def test_patterns_count_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / FILE_NAME).write_text("exclude: [/x.yaml, sub/y.yaml]\n")
    configuration = load_configuration(str(tmp_path / FILE_NAME))
    monkeypatch.chdir(tmp_path / "sub")
    assert configuration.excludes("y.yaml")
    assert not configuration.excludes("x.yaml")
    assert configuration.excludes(str(tmp_path / "x.yaml"))
    assert not configuration.excludes(os.path.join("..", "..", "x.yaml"))  # noqa: PTH118 - as a user writes it


# The answers of git check-ignore for the same patterns and paths; a path with a slash at its end is a folder.
@pytest.mark.parametrize(
    ("patterns", "excluded", "kept"),
    [
        (["a"], ["a", "a/", "x/a", "a/b.yaml", "x/a/b/c.yaml"], ["ab", "b/ab"]),
        (["a/"], ["a/", "x/a/", "a/b.yaml"], ["a", "x/a"]),
        (["/a"], ["a", "a/b"], ["x/a"]),
        (["a/b"], ["a/b", "a/b/c"], ["x/a/b", "b"]),
        (["*.yaml"], ["a.yaml", "x/a.yaml", ".yaml"], ["a.yml", "a.yaml.x"]),
        (["x*z"], ["xz", "xyz"], ["x/z", "xyza"]),
        (["?.yaml"], ["a.yaml"], ["ab.yaml", ".yaml"]),
        (["[ab].yaml"], ["a.yaml", "b.yaml"], ["c.yaml"]),
        (["[!ab].yaml"], ["c.yaml"], ["a.yaml"]),
        (["[a-c]x"], ["bx"], ["dx"]),
        (["[]a]x"], ["]x", "ax"], ["bx"]),
        (["**/a/b"], ["a/b", "x/a/b", "x/y/a/b"], ["a/x/b"]),
        (["a/**/b"], ["a/b", "a/x/b", "a/x/y/b"], ["x/a/b"]),
        (["a/**"], ["a/b", "a/b/c"], ["a", "a/"]),
        (["a/*"], ["a/b", "a/b/c"], ["a", "x/a/b"]),
        (["*.yaml", "!keep.yaml"], ["a.yaml"], ["keep.yaml", "x/keep.yaml"]),
        (["a/", "!a/keep.yaml"], ["a/keep.yaml"], []),
        (["!a", "a"], ["a"], []),
        ([r"\!a"], ["!a"], ["a"]),
        (["a.b+(c)"], ["a.b+(c)"], ["axb+(c)", "a.bb(c)"]),
        (["", "/", "!"], [], ["a", "a/"]),
        (["[z-a]"], ["z"], ["a", "[z-a]"]),
        (["[^a-]"], ["b", "x/]"], ["a", "-"]),
        (["[--b]x"], ["-x", "ax", "bx"], ["cx", "+x"]),
        ([r"[\]b]"], ["]", "b"], ["\\"]),
        (["x[!-z]y"], ["x+y", "x0y"], ["x-y", "xzy", "x/y"]),
        (["*", "!*.yaml"], ["a", "a/"], ["a.yaml"]),
        (["a/**/b/c/**/d"], ["a/b/b/c/d", "a/x/b/c/b/d"], ["a/b/x/c/d"]),
        ([r"a\/b"], ["a/b"], ["x/a/b"]),
        (["[a/]b"], ["ab"], ["x/ab", "a/b"]),
        (["*a*b*"], ["ab", "xaybz"], ["ba", "a/b"]),
        (["a/**/b/**/c"], ["a/b/c", "a/b/x/b/y/c"], ["a/c/b"]),
        (["*a" * 14 + "b"], ["a" * 120 + "b"], ["a" * 120]),
        (["**/a/" * 14 + "b"], ["a/" * 120 + "b"], ["a/" * 120]),
    ],
)
def test_patterns(patterns: list[str], excluded: list[str], kept: list[str]) -> None:
    exclusion = exclusion_of(patterns)
    assert [path for path in excluded if not exclusion.excludes(path, is_folder=path.endswith("/"))] == []
    assert [path for path in kept if exclusion.excludes(path, is_folder=path.endswith("/"))] == []


def test_a_deep_folder_costs_no_more_than_a_shallow_one(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text(("**/a" * 30 + "b\n") * 20 + "c/\n")
    ignored, folder, counts = IgnoredByGit(), str(tmp_path), []
    for _ in range(120):
        folder += "/a"
        counts.append(calls(partial(ignored.excludes, folder, is_folder=True)))
        assert not ignored.excludes(folder, is_folder=True)
    assert ignored.excludes(f"{folder}/c", is_folder=True)
    assert not ignored.excludes(f"{folder}/c", is_folder=False)
    assert max(counts[60:]) <= 1.2 * max(counts[30:60])


@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_a_gitignore_that_is_not_a_plain_file_is_not_opened(tmp_path: Path, kind: str) -> None:
    (tmp_path / ".git").mkdir()
    path = tmp_path / ".gitignore"
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        (tmp_path / "other").write_text("a\n")
        path.symlink_to("other")
    else:
        if not hasattr(os, "mkfifo"):
            pytest.skip("no named pipes here")
        os.mkfifo(path)
    messages: list[str] = []
    ignored = IgnoredByGit(messages.append)
    assert not ignored.excludes(str(tmp_path / "a"), is_folder=False)
    assert messages == [f"'{path}' is not read, because it is not a plain file"]
