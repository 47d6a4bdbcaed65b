"""docs/editors.md and editors/: every configuration can be read and starts the server, also where no editor runs it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest
import yaml
from documentation_blocks import DOCUMENTATION, marked_blocks

from pai_lsp.lsp.documents import JOB_LANGUAGE
from pai_lsp.lsp.marketplace_reports import DO_NOT_TRUST, TRUST
from pai_lsp.project.configuration import FILE_NAME
from pai_lsp.source.files import JOB_ENDINGS
from pai_lsp.version import __version__

BLOCKS = marked_blocks("editors.md")
# These start the server; the others add commands and keys to one of them.
STARTING = [name for name in BLOCKS if not name.endswith(("-more", "-commands", "-keys"))]

ENTRIES = DOCUMENTATION.parent / "editors"
COMMAND = ["pai-lsp", "server"]


def entry(path: str) -> str:
    """An entry for a registry."""
    return (ENTRIES / path).read_text(encoding="utf-8")


def told_command(editor: str) -> list[str]:
    """The command that an editor starts."""
    block = BLOCKS[editor]
    if editor.startswith("neovim"):
        return re.findall(r"'([^']+)'", only(r"cmd = \{(.*?)\}", block))
    if editor.startswith("emacs"):
        return re.findall(r'"([^"]+)"', only(r"\. \(([^)]*)\)", block))
    if editor == "vim":
        configured = dict(re.findall(r"'(\w+)': '([^']*)'", block))
        return [word.replace("%e", configured["executable"]) for word in configured["command"].split()]
    if editor == "helix":
        configured = dict(re.findall(r"^(\w+) = (.*)$", block, re.MULTILINE))
        return [json.loads(configured["command"]), *json.loads(configured["args"])]
    content = json.loads(block)
    found: dict[str, Any] = {
        "kate": lambda: content["servers"]["yaml"]["command"],
        "sublime": lambda: content["clients"]["pai-lsp"]["command"],
        "zed": lambda: [content["lsp"]["yaml-language-server"]["binary"][key] for key in ("path", "arguments")],
        "jetbrains": lambda: shlex.split(content["programArgs"]["default"]),
    }
    return [word for part in found[editor]() for word in ([part] if isinstance(part, str) else part)]


def only(pattern: str, text: str) -> str:
    """The group of the one place that a pattern is found at."""
    (found,) = re.findall(pattern, text)
    assert isinstance(found, str)
    return found


@pytest.mark.parametrize("editor", STARTING)
def test_the_command_starts_the_server(editor: str) -> None:
    assert told_command(editor) == COMMAND


@pytest.mark.slow
def test_the_server_starts_by_that_command() -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": "exit"}).encode()
    ended = subprocess.run(
        [sys.executable, "-m", "pai_lsp", "server"],
        input=b"Content-Length: %d\r\n\r\n%b" % (len(body), body),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, b"")  # LSP: 1 without a shutdown before


def test_jobs_are_told_by_our_endings_and_language() -> None:
    template = json.loads(BLOCKS["jetbrains"])
    mapping = template["fileTypeMappings"][0]
    assert mapping["fileType"]["patterns"] == [f"*{ending}" for ending in JOB_ENDINGS]
    assert mapping["languageId"] == JOB_LANGUAGE
    for editor in ("neovim-0.11", "kate"):
        assert FILE_NAME in BLOCKS[editor]
    text = (DOCUMENTATION / "editors.md").read_text(encoding="utf-8")
    assert f"`{JOB_LANGUAGE}`" in text
    assert all(f"`*{ending}`" in text for ending in JOB_ENDINGS)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
def test_helix_can_read_its_languages() -> None:
    languages = import_module("tomllib").loads(BLOCKS["helix"])
    assert languages["language"][0]["name"] == "yaml"
    assert set(languages["language-server"]) < set(languages["language"][0]["language-servers"])


def test_the_page_shows_the_question_and_the_command() -> None:
    page = (DOCUMENTATION / "editors.md").read_text(encoding="utf-8")
    section = page.partition("\n## Trust\n")[2].partition("\n## ")[0]
    assert all(f"*{title}*" in section for title in (TRUST, DO_NOT_TRUST))
    assert "pai-lsp trust ~/jobs" in section


def test_every_editor_of_the_first_page_has_a_section() -> None:
    text = (DOCUMENTATION / "editors.md").read_text(encoding="utf-8")
    first_page = (DOCUMENTATION / "index.md").read_text(encoding="utf-8")
    for editor in only(r"\[Editors\]\(editors.md\)\*\*: (.*)", first_page).split(", "):
        assert f"\n## {editor}" in text


def test_entries_that_are_those_of_the_page() -> None:
    for path, block in (
        ("sublime/LSP.sublime-settings", "sublime"),
        ("jetbrains/pai-lsp/template.json", "jetbrains"),
    ):
        assert json.loads(entry(path)) == json.loads(BLOCKS[block])


def test_the_entry_of_nvim_lspconfig() -> None:
    lua = entry("nvim-lspconfig/lsp/pai_lsp.lua")
    # The registry makes its page of the comment at the top, and wants the type above the table.
    assert lua.startswith("---@brief\n---\n--- https://")
    assert "\n---@type vim.lsp.Config\nreturn {\n" in lua
    assert re.findall(r"'([^']+)'", only(r"cmd = \{(.*?)\}", lua)) == COMMAND
    for key in ("filetypes", "root_markers"):
        assert only(rf"{key} = (.*),\n", lua) == only(rf"{key} = (.*),\n", BLOCKS["neovim-0.11"])


def test_the_entry_of_mason() -> None:
    package = yaml.safe_load(entry("mason/packages/pai-lsp/package.yaml"))
    assert set(package) == {
        "name", "description", "homepage", "licenses", "languages", "categories", "source", "bin", "neovim",
    }  # fmt: skip
    # The folder is named like the package, and the source is a package URL with a version.
    assert package["name"] == "pai-lsp"
    assert package["source"] == {"id": f"pkg:pypi/pai-lsp@{__version__}"}
    assert package["bin"] == {"pai-lsp": "pypi:pai-lsp"}
    assert set(package["categories"]) <= {"Compiler", "DAP", "Formatter", "LSP", "Linter", "Runtime"}
    assert (ENTRIES / "nvim-lspconfig" / "lsp" / f"{package['neovim']['lspconfig']}.lua").is_file()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
def test_the_entry_of_helix_is_that_of_the_page() -> None:
    read = import_module("tomllib").loads
    assert read(entry("helix/languages.toml")) == read(BLOCKS["helix"])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
def test_the_extension_of_zed() -> None:
    read = import_module("tomllib").loads
    extension, crate, code = read(entry("zed/extension.toml")), read(entry("zed/Cargo.toml")), entry("zed/src/lib.rs")
    assert {"id", "name", "version", "schema_version", "authors", "description", "repository"} < set(extension)
    assert extension["schema_version"] == 1
    assert extension["version"] == crate["package"]["version"] == __version__
    assert crate["lib"]["crate-type"] == ["cdylib"]
    # The registry wants a license in the folder of the extension.
    assert entry("zed/LICENSE") == (ENTRIES.parent / "LICENSE").read_text(encoding="utf-8")
    (server,) = extension["language_servers"].values()
    assert server["languages"] == ["YAML"]
    assert [only(r'const PROGRAM: &str = "(.*)";', code), only(r'vec!\["(.*)"\.to_string', code)] == COMMAND
    assert "zed::register_extension!(" in code


def test_every_entry_is_in_the_table_and_the_source_distribution() -> None:
    table = entry("README.md")
    for folder in (path for path in ENTRIES.iterdir() if path.is_dir()):
        assert f"| `{folder.name}/" in table
    assert '"/editors"' in (ENTRIES.parent / "pyproject.toml").read_text(encoding="utf-8")
