"""Jobs that are typed by hand: Enter at the end of a line ends the line, whatever an editor shows meanwhile.

The client here behaves as VS Code does: it asks after each trigger character and when a word begins, asks again while
more is typed if the list is incomplete, and keeps what fits the word loosely. In most editors, Enter accepts what is
shown. In VS Code it accepts the selected suggestion, and the extension's defaults decide whether one is selected; so
there, a line is also typed while the answers are late and an older list is shown.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from budgets import some, stride
from job_text import HEAD
from marks import before, examples, is_catalog, read_marks
from server_client import URI, Client, connected

from pai_lsp.document import Document
from pai_lsp.ide.completion import TRIGGERS
from pai_lsp.ide.completion.complete import complete
from pai_lsp.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
EXTENSION = HERE.parent / "vscode-extension"
TYPED = {file.name: file.read_text("utf-8") for file in sorted((HERE / "typed").glob("*.yaml"))}
_LANGUAGE = json.loads((EXTENSION / "language-configuration.json").read_text("utf-8"))
_SETTINGS = json.loads((EXTENSION / "package.json").read_text("utf-8"))["contributes"]["configurationDefaults"]
_WORD = re.compile(_LANGUAGE["wordPattern"] + r"\Z")
_INVOKED, _CHARACTER, _INCOMPLETE = 1, 2, 3
in_a_loop = pytest.mark.asyncio
_CLIENT = {"textDocument": {"completion": {"completionItem": {"snippetSupport": True}, "contextSupport": True}}}


class Typist:
    """Types at the end of a line of a document; `shown` are the suggestions that the editor shows.

    settings: those of VS Code; without them, Enter accepts anything that is shown.
    """

    def __init__(self, client: Client, settings: dict[str, Any] | None = None) -> None:
        self.client = client
        self.settings = settings
        self.version = 1
        self.before, self.line, self.after = "", "", ""
        self.shown: list[dict[str, Any]] = []
        self._found: dict[str, Any] | None = None
        client.open("", language="openpai-job")

    def at(self, before: str, line: str, after: str = "") -> None:
        """Go to the end of an unfinished line between others."""
        self.before, self.line, self.after = before, line, after
        self.shown, self._found = [], None

    async def type(self, characters: str) -> None:
        for character in characters:
            self.line += character
            await self._typed(character)

    async def _typed(self, character: str) -> None:
        word = _WORD.search(self.line)
        if character in TRIGGERS:
            await self._ask(_CHARACTER, triggerCharacter=character)
        elif word is not None and self._found is not None and self._found["isIncomplete"]:
            await self._ask(_INCOMPLETE)
        elif word is not None and self._found is None and not word[0].isdigit():
            await self._ask(_INVOKED)
        self.shown = [item for item in (self._found or {"items": []})["items"] if self.fits(item)]
        if not self.shown:
            self._found = None

    async def ask(self) -> None:
        """Press Ctrl+Space."""
        await self._ask(_INVOKED)
        self.shown = [item for item in (self._found or {"items": []})["items"] if self.fits(item)]

    async def _ask(self, kind: int, **trigger: str) -> None:
        self.version += 1
        self.client.change({"text": self.text}, version=self.version)
        self._found = await self.client.ask(
            "textDocument/completion",
            textDocument={"uri": URI},
            position={"line": self.before.count("\n"), "character": len(self.line)},
            context={"triggerKind": kind, **trigger},
        )

    @property
    def text(self) -> str:
        return f"{self.before}{self.line}\n{self.after}"

    def fits(self, item: dict[str, Any]) -> bool:
        """Whether the editor keeps a suggestion for what is typed."""
        typed = self.line[item["textEdit"]["range"]["start"]["character"] :]
        return _is_within(typed, item.get("filterText") or item["label"])

    def taking_enter(self) -> list[str]:
        """What Enter accepts instead of ending the line."""
        settings = self.settings
        if settings is None:
            return [item["label"] for item in self.shown]
        if settings.get("editor.suggest.selectionMode", "always") == "never":
            return []
        is_smart = settings.get("editor.acceptSuggestionOnEnter", "on") == "smart"
        first = sorted(self.shown, key=self._rank)[:1]
        return [item["label"] for item in first if not is_smart or self._accepted(item) != self.line]

    def _rank(self, item: dict[str, Any]) -> tuple[bool, str]:
        typed = self.line[item["textEdit"]["range"]["start"]["character"] :]
        return not str(item["label"]).startswith(typed), str(item["sortText"])

    def _accepted(self, item: dict[str, Any]) -> str:
        start = item["textEdit"]["range"]["start"]["character"]
        return self.line[:start] + str(item["textEdit"]["newText"])


def typed_lines(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Each line that is not a comment: the text above it, its indentation, what is typed, the text below."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        rest = line.strip()
        if rest and not rest.startswith("#"):
            pad = line[: len(line) - len(line.lstrip())]
            yield "".join(lines[:number]), pad, line.rstrip("\n")[len(pad) :], "".join(lines[number + 1 :])


@pytest.mark.parametrize("name", some(TYPED))
@in_a_loop
async def test_enter_ends_every_line(name: str) -> None:
    changed: list[str] = []
    async with connected(capabilities=_CLIENT) as client:
        typist = Typist(client)
        for above, pad, line, below in [*typed_lines(TYPED[name])][:: stride(1)]:
            # Each of these asks anew, so that what is shown at the end depends on nothing before the last one.
            last = max(0, *(line.rfind(trigger) for trigger in TRIGGERS))
            for after in ("", below):
                typist.at(above, pad + line[:last], after)
                await typist.type(line[last:])
                changed += [f"{line} -> {label}" for label in typist.taking_enter()]
    assert changed == []


def texts_of_rules() -> dict[str, tuple[str, bool]]:
    """The examples of all rules, and their fixtures, each with whether a person would leave all of its words so."""
    found = {}
    for rule in RULES:
        for kind, own in zip(("bad", "good"), examples(rule), strict=True):
            for number, example in enumerate(own):
                found[f"{rule.code}-{kind}-{number}"] = (read_marks(example, rule.code)[0], kind == "good")
    fixtures = sorted((HERE / "rules").glob("*.yaml"))
    return found | {file.stem: (read_marks(before(file))[0], False) for file in fixtures}


def test_enter_ends_every_line_of_an_example() -> None:
    """Prompt answers alone: an editor that asks again shows nothing but the answer at the end of the line."""
    changed: list[str] = []
    for name, (text, is_good) in some(texts_of_rules().items()):
        for above, pad, line, below in typed_lines(text) if is_good else ():
            is_asked = line[-1] not in TRIGGERS
            if is_asked and not _WORD.search(line):
                continue
            for after in ("", below):
                document = Document(f"{above}{pad}{line}\n{after}", is_catalog=is_catalog(text))
                shown = complete(document, len(above) + len(pad) + len(line), is_asked=is_asked)
                changed += [
                    f"{name}: {line} -> {one.label}"
                    for one in shown
                    if _is_within((pad + line)[one.edit.span.start - len(above) :], one.label)
                ]
    assert changed == []


def _is_within(typed: str, offered: str) -> bool:
    """Whether an editor that compares loosely keeps a suggestion."""
    rest = iter(offered.lower())
    return all(character in rest for character in typed.lower())


LATE = {"typed": "\n".join(TYPED.values()), "rules": "\n".join(text for text, _ in texts_of_rules().values())}


@pytest.mark.parametrize("name", LATE)
@in_a_loop
async def test_a_late_answer_takes_no_enter_in_vs_code(name: str) -> None:
    """The list at the end of a line is one that was asked for anywhere in its last word."""
    changed: list[str] = []
    async with connected(capabilities=_CLIENT) as client:
        typist = Typist(client, _SETTINGS["[openpai-job]"])
        for line in [line for line in dict.fromkeys(LATE[name].splitlines()) if line.strip()][:: stride(40)]:
            word = _WORD.search(line)
            for end in range(word.start() if word else len(line), len(line) + 1):
                typist.at(COMMANDS, line[: max(end - 1, 0)])
                await typist.type(line[max(end - 1, 0) : end])
                typist.line = line
                changed += [f"{line} -> {label}" for label in typist.taking_enter()]
    assert changed == []


@pytest.mark.parametrize("name", some(TYPED))
@in_a_loop
async def test_a_word_leaves_an_older_list_with_its_last_character(name: str) -> None:
    """While the next answer is on its way, an editor shows that to the beginning of the word, or to all but its end."""
    kept: list[str] = []
    async with connected(capabilities=_CLIENT) as client:
        typist = Typist(client)
        for above, pad, line, below in [*typed_lines(TYPED[name])][:: stride(1)]:
            word = _WORD.search(line)
            for end in {word.start(), len(line) - 1} if word else ():
                typist.at(above, pad + line[:end], below)
                await typist.ask()
                typist.line = pad + line
                shown = [item for item in typist.shown if typist.fits(item)]
                kept += [line for item in shown if word and len(word[0]) > 1 and item["label"] == word[0]]
    assert kept == []


ROLE = (
    HEAD
    + """\
  - {type: script, name: prepare, plugin: com.microsoft.pai.runtimeplugin.cmd}
  - {type: script, name: prepare_more, plugin: com.microsoft.pai.runtimeplugin.cmd}
parameters: {rate: 0.1}
taskRoles:
  worker:
    instances: 1
"""
)
COMMANDS = f"{ROLE}    commands:\n"


@pytest.mark.parametrize(
    ("above", "line", "shown"),
    [
        (ROLE, "    d", ["dockerImage"]),
        (ROLE, "    dockerImage", ["dockerImage"]),
        (ROLE, "    dockerImage: ", ["image"]),
        (ROLE, "    dockerImage: i", ["image"]),
        (ROLE, "    dockerImage: image", []),
        (ROLE, "    prerequisites:", []),
        (ROLE, "    prerequisites: ", []),
        (ROLE, "    prerequisites: p", ["prepare", "prepare_more"]),
        (ROLE, "    prerequisites: [", []),
        (ROLE, "    prerequisites: [p", ["prepare", "prepare_more"]),
        (ROLE, "    completion:", []),
        (ROLE, "    completion: ", []),
        (ROLE, "    ", []),
        (f"{ROLE}    prerequisites:\n", "      - ", ["prepare", "prepare_more"]),
        (f"{ROLE}    prerequisites:\n", "      - prep", ["prepare", "prepare_more"]),
        (f"{ROLE}    prerequisites:\n", "      - prepare", []),
        (f"{ROLE}    prerequisites:\n", "      - prepare_m", ["prepare_more"]),
        (COMMANDS, "      - echo $", ["PAI_JOB_NAME", "<% $parameters.rate %>"]),
        (COMMANDS, "      - echo $PAI_JOB_N", ["PAI_JOB_NAME"]),
        (COMMANDS, "      - echo $pa", ["<% $parameters.rate %>"]),
        (COMMANDS, "      - echo $PAI_JOB_NAME", []),
        (COMMANDS, "      - echo <% $p", ["$parameters.rate"]),
        (COMMANDS, "      - echo <% $parameters.rate %>", []),
        (COMMANDS, "      - python", []),
        ("", "p", ["protocolVersion"]),
        ("", "protocolVersion: ", ["2"]),
        ("", "protocolVersion: 2", []),
        ("", "taskRoles:", []),
    ],
)
@in_a_loop
async def test_what_is_shown_while_a_line_is_typed(above: str, line: str, shown: list[str]) -> None:
    async with connected(capabilities=_CLIENT) as client:
        typist = Typist(client)
        typist.at(above, line[:-1])
        await typist.type(line[-1])
        labels = [item["label"] for item in typist.shown]
        assert [label for label in labels if label in shown] == sorted(shown, key=labels.index)
        assert bool(labels) is bool(shown)


def test_a_bracket_that_the_editor_has_closed_asks() -> None:
    text = f"{ROLE}    prerequisites: []\n"
    found = complete(Document(text), text.index("]", len(ROLE)), is_asked=False)
    assert [one.label for one in found] == ["prepare", "prepare_more"]


@pytest.mark.parametrize(
    ("above", "line", "shown"),
    [
        (ROLE, "    ", "dockerImage"),
        (ROLE, "    prerequisites:", "prepare"),
        (ROLE, "    prerequisites: ", "prepare"),
        (ROLE, "    prerequisites: [", "prepare"),
        (ROLE, "    completion:", "minFailedInstances"),
        (ROLE, "  ", "task role"),
        (COMMANDS, "      - echo $", "PAI_JOB_NAME"),
        ("", "", "job"),
    ],
)
@in_a_loop
async def test_what_is_shown_when_it_is_asked_for(above: str, line: str, shown: str) -> None:
    async with connected(capabilities=_CLIENT) as client:
        typist = Typist(client)
        typist.at(above, line)
        await typist.ask()
        assert shown in [item["label"] for item in typist.shown]
