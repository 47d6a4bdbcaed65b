"""docs/editors.md in real editors at a terminal: with the page's own text as their configuration, somebody opens a job,
shows the findings, fixes one, completes, renames, expands it, and opens other YAML.

Run by scripts/e2e_editors.sh, which lists the available editors in E2E_EDITORS. What an editor shows is read from its
screen, and what it has done to the file from the disk, after saving.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from documentation_blocks import marked_blocks
from terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROOT = Path(__file__).parent.parent.parent.parent
BLOCKS = marked_blocks("editors.md")

GOOD = (ROOT / "examples" / "good.pai.yaml").read_text(encoding="utf-8")
BAD = GOOD.replace("[install-tools, mnist]", "[install-tools, minst]")
RENAMED = GOOD.replace("name: mnist\n", "name: digits\n").replace("[install-tools, mnist]", "[install-tools, digits]")
WRONG = "no prerequisite is named 'minst'"
FIX = "Change to 'mnist'"
# A released cluster needs the prerequisites of `fetch` in the task role: the expanded job has `[tools, fetch]`.
CHAIN = """\
protocolVersion: 2
name: train
type: job
taskRoles:
  worker:
    instances: 2
    dockerImage: python
    prerequisites: [fetch]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 1}
    commands: [python train.py]
prerequisites:
  - type: dockerimage
    name: python
    uri: python:3.10
  - type: script
    name: tools
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskStarts
        commands: [apt-get install -y wget]
  - type: script
    name: fetch
    plugin: com.microsoft.pai.runtimeplugin.cmd
    require: [tools]
    callbacks:
      - event: taskStarts
        commands: [wget example.com/digits]
"""
EXPANDED, PREVIEWED, DRAWN = "prerequisites: [tools, fetch]", "before the commands: 'tools'", "flowchart LR"
COMPOSE = "# Not OpenPAI's.\nservices:\n  web:\n    prerequisites: [minst]\n"


class Editor(Protocol):
    """What a user does in an editor, which shows one file at a time."""

    terminal: Terminal

    def open(self, path: str) -> None:
        """Open a file."""

    def go_to(self, text: str) -> None:
        """Put the cursor on the first place of a text."""

    def show_finding(self) -> None:
        """Have the finding under the cursor on the screen, where it is not there by itself."""

    def apply_fix(self, fix: str) -> None:
        """Choose a fix for what is under the cursor."""

    def complete(self, start: str) -> None:
        """Replace everything from the cursor to the end of the line by what completion makes of a start."""

    def rename(self, name: str) -> None:
        """Give what is under the cursor another name."""

    def count_findings(self) -> int:
        """How many findings there are in the shown file."""

    def save(self) -> None:
        """Write the shown file."""

    def show(self, what: str) -> None:
        """Press the keys or call the command for `expand`, `preview` or `graph`."""

    def close_shown(self) -> None:
        """Go back to the job from what `show` shows."""


class Vi:
    """What Neovim and Vim have in common."""

    COUNT = ""
    CHOICE = re.compile("")
    PROMPT = ""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._asked = 0

    def open(self, path: str) -> None:
        self._command(f"edit {path}")

    def go_to(self, text: str) -> None:
        self._command(rf"call cursor(1, 1) | call search('\V{text}', 'c')")

    def show_finding(self) -> None:
        """The finding is shown without being asked for."""

    def apply_fix(self, fix: str) -> None:
        self.terminal.type("gra")
        self.terminal.until_shown(fix)
        self.terminal.until_shown("Type number and <Enter>")
        numbers = {match["title"].strip(): match["number"] for match in self.CHOICE.finditer(self.terminal.screen)}
        self.terminal.type(numbers[fix])
        self.terminal.keys("Enter")

    def complete(self, start: str) -> None:
        self.terminal.type(f"C{start}")
        self.terminal.until_line_ends(start)
        self.terminal.keys("C-x", "C-o")

    def rename(self, name: str) -> None:
        self.terminal.type("grn")
        self.terminal.until_shown(self.PROMPT)
        self.terminal.keys("C-u")
        self.terminal.type(name)
        self.terminal.keys("Enter")

    def count_findings(self) -> int:
        self._asked += 1
        # In the status line it stays until it is read.
        self._command(f"set laststatus=2 | let &statusline = 'findings({self._asked}): ' . {self.COUNT}")
        return told_count(self.terminal, self._asked)

    def save(self) -> None:
        self._command("silent write")

    def show(self, what: str) -> None:
        self._command(f"Pai{what.capitalize()}")

    def close_shown(self) -> None:
        self._command("close")

    def _command(self, command: str) -> None:
        self.terminal.keys("Escape")
        self.terminal.type(f":{command}")
        self.terminal.keys("Enter")


class Neovim(Vi):
    COUNT = "luaeval('#vim.diagnostic.get(0)')"
    CHOICE = re.compile(r"^(?P<number>\d+): (?P<title>.*)$", re.MULTILINE)
    PROMPT = "New Name: "


class Vim(Vi):
    COUNT = "ale#statusline#Count(bufnr('')).total"
    CHOICE = re.compile(r"^(?P<number>\d+)\) (?P<title>.*)$", re.MULTILINE)
    PROMPT = "New name: "


class Emacs:
    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._asked = 0

    def open(self, path: str) -> None:
        self.terminal.keys("C-x", "C-f")
        self.terminal.type(path)
        self.terminal.keys("Enter")

    def go_to(self, text: str) -> None:
        self._evaluate(f'(progn (goto-char 1) (search-forward "{text}") (goto-char (match-beginning 0)))')

    def show_finding(self) -> None:
        self.terminal.keys("C-b", "C-c", "n")

    def apply_fix(self, fix: str) -> None:
        self.terminal.keys("C-c", "a")
        self.terminal.until_shown("[eglot]")
        self.terminal.type(fix)
        self.terminal.keys("Enter")

    def complete(self, start: str) -> None:
        self.terminal.keys("C-k")
        self.terminal.type(start)
        self.terminal.until_line_ends(start)
        self.terminal.keys("C-M-i")

    def rename(self, name: str) -> None:
        self.terminal.keys("C-c", "r")
        self.terminal.until_shown("Rename")
        self.terminal.keys("C-a", "C-k")
        self.terminal.type(name)
        self.terminal.keys("Enter")

    def count_findings(self) -> int:
        self._asked += 1
        self._evaluate(f'(message "findings(%d): %d" {self._asked} (length (flymake-diagnostics)))')
        return told_count(self.terminal, self._asked)

    def save(self) -> None:
        self.terminal.keys("C-x", "C-s")

    def show(self, what: str) -> None:
        self.terminal.keys("C-c", {"expand": "x", "preview": "p", "graph": "g"}[what])

    def close_shown(self) -> None:
        self.terminal.keys("C-x", "1")

    def _evaluate(self, expression: str) -> None:
        self.terminal.keys("M-:")
        self.terminal.until_shown("Eval:")
        self.terminal.type(expression)
        self.terminal.keys("Enter")


class Helix:
    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal

    def open(self, path: str) -> None:
        self._command(f"open {path}")

    def go_to(self, text: str) -> None:
        self._end_inserting()
        self.terminal.type("gg/" + re.escape(text))
        self.terminal.until_shown(f"search:{re.escape(text)}")
        self.terminal.keys("Enter")
        self.terminal.until_gone("search:")
        self.terminal.keys("M-;")

    def show_finding(self) -> None:
        """The finding is shown without being asked for."""

    def apply_fix(self, fix: str) -> None:
        self.terminal.type(" a")
        self.terminal.until_shown(fix)
        self.terminal.keys("Enter")

    def complete(self, start: str) -> None:
        # What was searched for is selected, and reaches to the end of the line.
        self.terminal.type(f"c{start}")
        self.terminal.keys("C-x")
        # Each offer is followed by what it is.
        offer = re.compile(rf" {re.escape(start.rsplit(maxsplit=1)[-1])}\w* reference ")
        self.terminal.until(lambda: offer.search(self.terminal.screen) is not None, "the offers are listed")
        self.terminal.keys("C-n", "Enter")

    def rename(self, name: str) -> None:
        self.terminal.type(" r")
        self.terminal.until_shown("rename-to:")
        self.terminal.keys("C-u")
        self.terminal.type(name)
        self.terminal.until_shown(f"rename-to:{name}")
        self.terminal.keys("Enter")

    def count_findings(self) -> int:
        self._end_inserting()
        self.terminal.type(" d")
        counted = re.compile(r" \d+/(\d+) ")
        self.terminal.until(lambda: counted.search(self.terminal.screen) is not None, "the findings are listed")
        shown = counted.search(self.terminal.screen)
        self.terminal.keys("Escape")
        self.terminal.until(lambda: counted.search(self.terminal.screen) is None, "the list is closed")
        assert shown is not None
        return int(shown[1])

    def save(self) -> None:
        self._command("write")

    def show(self, what: str) -> None:
        self.terminal.type(" o" + {"expand": "x", "preview": "p", "graph": "g"}[what])

    def close_shown(self) -> None:
        self._command("quit!")

    def _command(self, command: str) -> None:
        self._end_inserting()
        self.terminal.type(f":{command}")
        self.terminal.keys("Enter")

    def _end_inserting(self) -> None:
        # What follows an Escape at once would be taken for a key that is pressed with Alt.
        if " INS " in self.terminal.screen:
            self.terminal.keys("Escape")
            self.terminal.until_shown(" NOR ")


def told_count(terminal: Terminal, asked: int) -> int:
    """The number in the answer to a question of ours."""
    answer = re.compile(rf"findings\({asked}\): (\d+)")
    terminal.until(lambda: answer.search(terminal.screen) is not None, "the findings are counted")
    shown = answer.search(terminal.screen)
    assert shown is not None
    return int(shown[1])


# Emacs 28 may compile its own parts at their first use, and reports that in a window of its own.
QUIET_EMACS = "(setq inhibit-startup-screen t native-comp-async-report-warnings-errors nil)\n"

# Each editor, by its name in E2E_EDITORS: the block of the page that configures it, where that goes, what has to stand
# before it, and what drives the editor.
EDITORS: dict[str, tuple[str, str, str, Callable[[Terminal], Editor]]] = {
    "neovim-0.11": ("neovim-0.11", ".config/nvim/init.lua", "", Neovim),
    "neovim-0.7": ("neovim-0.7", ".config/nvim/init.lua", "", Neovim),
    "emacs": ("emacs", ".emacs.d/init.el", QUIET_EMACS, Emacs),
    "vim": ("vim", ".vimrc", "set nocompatible\npackadd! ale\n", Vim),
    "helix": ("helix", ".config/helix/languages.toml", "", Helix),
}
# What else the page offers for an editor: the blocks and the files that they are added to.
MORE = {
    "neovim-0.11": {".config/nvim/init.lua": "neovim-more", ".config/nvim/plugin/pai-lsp.vim": "vim-commands"},
    "neovim-0.7": {".config/nvim/plugin/pai-lsp.vim": "vim-commands"},
    "emacs": {".emacs.d/init.el": "emacs-commands"},
    "vim": {".vim/plugin/pai-lsp.vim": "vim-commands"},
    "helix": {".config/helix/config.toml": "helix-keys"},
}
OPTIONS = {"neovim-0.11": ("-i", "NONE", "-n"), "neovim-0.7": ("-i", "NONE", "-n"), "emacs": ("-nw",), "vim": ("-n",)}
# `neovim-0.7=/usr/bin/nvim emacs=/usr/bin/emacs`: the editors that there are.
PROGRAMS = dict(pair.split("=", 1) for pair in os.environ.get("E2E_EDITORS", "").split())


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "jobs"
    path.mkdir()
    (path / "train.pai.yaml").write_text(BAD, encoding="utf-8")
    (path / "plain.yaml").write_text(BAD, encoding="utf-8")
    (path / "compose.yaml").write_text(COMPOSE, encoding="utf-8")
    return path


def started(name: str, block: str, workspace: Path, more: Mapping[str, str] | None = None) -> Terminal:
    """An editor that shows train.pai.yaml, in a home with nothing but its configuration.

    more: further blocks of the page, by the file that each is added to.
    """
    _, file, before, _ = EDITORS[name]
    home = workspace.parent / "home"
    for path, text in [(file, before + BLOCKS[block]), *((path, BLOCKS[key]) for path, key in (more or {}).items())]:
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        with (home / path).open("a", encoding="utf-8") as stream:
            stream.write(text)
    # Of the environment that the tests run in, the editor sees pai-lsp alone, and no other tool for YAML.
    (home / "bin").mkdir()
    (home / "bin" / "pai-lsp").symlink_to(Path(sys.executable).parent / "pai-lsp")
    environment = {
        "PATH": f"{home / 'bin'}{os.pathsep}/usr/local/bin{os.pathsep}/usr/bin{os.pathsep}/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
    }
    command = [PROGRAMS[name], *OPTIONS.get(name, ()), "train.pai.yaml"]
    return Terminal(command, workspace, environment, home / "tmux")


@pytest.fixture
def editor(name: str, workspace: Path) -> Iterator[Editor]:
    block, _, _, driver = EDITORS[name]
    terminal = started(name, block, workspace)
    yield driver(terminal)
    terminal.close()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_page_in_an_editor(editor: Editor, workspace: Path) -> None:
    terminal, job = editor.terminal, workspace / "train.pai.yaml"

    def saved(text: str) -> None:
        def is_so() -> bool:
            editor.save()
            try:
                return job.read_text(encoding="utf-8") == text
            except FileNotFoundError:  # an editor puts the new file in the old one's place
                return False

        terminal.until(is_so, f"{job.name} is what it should be")

    def finding_shown() -> None:
        def is_so() -> bool:
            editor.go_to("minst")
            editor.show_finding()
            return terminal.shows_soon(WRONG)

        terminal.until(is_so, "the finding is shown")

    terminal.until_shown("mnist-train")
    finding_shown()

    editor.go_to("minst")
    editor.apply_fix(FIX)
    saved(GOOD)
    terminal.until_gone(WRONG)

    editor.go_to("dockerImage: pytorch")
    editor.complete("dockerImage: py")
    terminal.until_shown("dockerImage: pytorch")
    saved(GOOD)

    editor.go_to("mnist]")
    editor.rename("digits")
    saved(RENAMED)

    # The server has looked at the first file when it has found something in the second.
    editor.open("compose.yaml")
    terminal.until_shown("Not OpenPAI")
    editor.open("plain.yaml")
    terminal.until_shown("mnist-train")
    finding_shown()
    assert editor.count_findings() > 0
    editor.open("compose.yaml")
    terminal.until_shown("Not OpenPAI")
    assert editor.count_findings() == 0


@pytest.mark.skipif("emacs" not in PROGRAMS, reason="there is no Emacs")
def test_jobs_in_a_mode_of_their_own(workspace: Path) -> None:
    terminal = started("emacs", "emacs-own-mode", workspace)
    try:
        # Flymake shows the number of errors.
        terminal.until_shown("(OpenPAI Flymake[1 ")
        Emacs(terminal).open("compose.yaml")
        terminal.until_shown("(YAML)")
    finally:
        terminal.close()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_commands_of_the_page(name: str, workspace: Path) -> None:
    (workspace / "train.pai.yaml").write_text(CHAIN, encoding="utf-8")
    block, _, _, driver = EDITORS[name]
    terminal = started(name, block, workspace, MORE[name])
    try:
        editor = driver(terminal)
        terminal.until_shown("name: train")
        if name == "emacs":
            terminal.until_shown("eglot:jobs")  # the keys are those of a file that the server looks after
        for what, shown in (("expand", EXPANDED), ("preview", PREVIEWED), ("graph", DRAWN)):
            editor.show(what)
            terminal.until_shown(shown)
            editor.close_shown()
            terminal.until_gone(shown)
    finally:
        terminal.close()
    assert (workspace / "train.pai.yaml").read_text(encoding="utf-8") == CHAIN


@pytest.mark.skipif("neovim-0.11" not in PROGRAMS, reason="there is no Neovim 0.11")
def test_hints_and_lenses_in_neovim(workspace: Path) -> None:
    (workspace / "train.pai.yaml").write_text(CHAIN, encoding="utf-8")
    terminal = started("neovim-0.11", "neovim-0.11", workspace, MORE["neovim-0.11"])
    try:
        editor = Neovim(terminal)
        terminal.until_shown("[2. fetch]")
        terminal.until_shown("preview what runs")
        editor.go_to("worker:")
        terminal.type("grl")
        terminal.until_shown(PREVIEWED)
    finally:
        terminal.close()


@pytest.mark.skipif("neovim-0.11" not in PROGRAMS, reason="there is no Neovim 0.11")
def test_a_job_is_written_in_neovim(workspace: Path) -> None:
    """Every line by hand, while offers open by themselves: the file is what was typed, and they still open."""
    terminal = started("neovim-0.11", "neovim-0.11", workspace, MORE["neovim-0.11"])
    written = workspace / "written.pai.yaml"
    try:
        editor = Neovim(terminal)
        # Offers open from the moment on when the server has started.
        terminal.until_shown("preview what runs")
        editor.open(written.name)
        # Neovim's own indentation of YAML is not the subject, and hints would stand within what is typed.
        editor._command("lua vim.lsp.inlay_hint.enable(false)")
        editor._command("setlocal noautoindent indentexpr= formatoptions= | startinsert")
        terminal.until_shown("-- INSERT --")
        for line in GOOD.splitlines():
            terminal.type(line)
            terminal.until_shown(line)
            terminal.keys("Enter")
        terminal.keys("BSpace")
        editor.save()
        terminal.until(lambda: written.exists() and written.stat().st_size > 0, "the file is written")
        assert written.read_text(encoding="utf-8") == GOOD
        editor.go_to("dockerImage: pytorch")
        terminal.type("CdockerImage: ")
        offer = re.compile(r"pytorch +Reference")
        terminal.until(lambda: offer.search(terminal.screen) is not None, "the offers are listed")
    finally:
        terminal.close()


@pytest.mark.skipif("neovim-0.11" not in PROGRAMS, reason="there is no Neovim 0.11")
@pytest.mark.parametrize(("key", "value"), [("dockerImage", "pytorch"), ("event", "taskSucceeds")])
def test_completion_while_typing_in_neovim(workspace: Path, key: str, value: str) -> None:
    job = workspace / "train.pai.yaml"
    job.write_text(GOOD, encoding="utf-8")
    terminal = started("neovim-0.11", "neovim-0.11", workspace, MORE["neovim-0.11"])
    # In the list, each offer is followed by its kind.
    offer = re.compile(rf"{value} +[A-Z]\w+")
    listed = re.compile(r" \w+ +(?:Event|Reference) \w")
    start = value[:-4]
    try:
        editor = Neovim(terminal)
        terminal.until_shown("preview what runs")
        editor.go_to(f"{key}: {value}")
        terminal.type(f"C{key}: ")
        terminal.until(lambda: offer.search(terminal.screen) is not None, "the offers are listed")
        terminal.type(start)
        terminal.until(lambda: f"{key}: {start}" in terminal.screen, "the start is typed")
        terminal.until(lambda: len(listed.findall(terminal.screen)) == 1, "only the offer that fits is listed")
        terminal.keys("C-n", "C-y")
        terminal.until_line_ends(f"{key}: {value}")
        terminal.keys("Escape")
        terminal.type("A # chosen")
        editor.save()
        chosen = GOOD.replace(f"{key}: {value}\n", f"{key}: {value} # chosen\n")
        terminal.until(lambda: job.read_text(encoding="utf-8") == chosen, "the file has the choice")
    finally:
        terminal.close()


@pytest.mark.skipif("neovim-0.11" not in PROGRAMS, reason="there is no Neovim 0.11")
def test_the_entry_for_nvim_lspconfig(workspace: Path) -> None:
    home = workspace.parent / "home"
    home.mkdir()
    commands = (
        "lua vim.lsp.enable('pai_lsp')",
        "edit train.pai.yaml",
        "lua vim.wait(30000, function() return #vim.diagnostic.get(0) > 0 end)",
        "lua for _, found in ipairs(vim.diagnostic.get(0)) do io.write(found.message, '\\n') end",
        "qa!",
    )
    options = [word for command in commands for word in ("-c", command)]
    entries = f"set runtimepath^={ROOT / 'editors' / 'nvim-lspconfig'}"
    ran = subprocess.run(
        [PROGRAMS["neovim-0.11"], "--clean", "--headless", "-n", "--cmd", entries, *options],
        cwd=workspace,
        env={"HOME": str(home), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert WRONG in ran.stdout
