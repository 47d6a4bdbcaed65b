"""Characters that nobody sees are named before anything else, with a fix, and once for each kind."""

from __future__ import annotations

import pytest
from test_odd_lines import JOB

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Diagnostic, Severity, causes
from pai_lsp.rules.text.characters import invisible_character
from pai_lsp.source.text import apply_edits


def _shown(text: str) -> list[Diagnostic]:
    return [one for one in causes(Document(text).diagnostics) if one.severity <= Severity.WARNING]


@pytest.mark.parametrize("character", ["\u00a0", "\u200b", "\u3000", "\ufeff", "\u202e", "\u2060"])
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("taskRoles:", "taskRoles@:"),
        ("    instances:", "    insta@nces:"),
        ("      gpu: 0", "      @gpu: 0"),
        ("- name: image", "- name: image@"),
        ("dockerImage: image", "dockerImage: @image"),
        ("instances: 2", "instances: 2@"),
        ("instances: 2", "instances:@2"),
        ("  worker:", "  worker@:"),
        ("name: train", "@name: train"),
        ("prerequisites: [setup]", "prerequisites: [@setup]"),
    ],
)
def test_the_character_is_the_only_finding(right: str, wrong: str, character: str) -> None:
    text = JOB.replace(right, wrong.replace("@", character), 1)
    (found,) = _shown(text)
    assert (found.code, found.severity) == ("invisible-character", Severity.ERROR)
    assert text[found.span.start : found.span.end] == character
    assert f"U+{ord(character):04X}" in found.message
    (fix,) = found.fixes
    assert fix.safe
    assert not _shown(apply_edits(text, fix.edits))


def test_a_warning_is_not_more_than_what_it_explains() -> None:
    (found,) = _shown(JOB.replace("plugin: com", "plugin: \u00a0com"))
    assert (found.code, found.severity) == ("invisible-character", Severity.WARNING)


def test_a_kind_is_one_finding_with_one_fix() -> None:
    text = JOB.replace("instances: 2", "instances\u200b: 2").replace("name: image", "name: image\u200b")
    text = text.replace("type: job", "type: job\u00a0")
    found = _shown(text)
    assert [one.code for one in found] == ["invisible-character"] * 2
    assert [len(one.related) for one in found] == [0, 1]
    for one in found:
        text = apply_edits(text, one.fixes[0].edits) if one.related else text
    assert [one.message for one in _shown(text)] == [found[0].message]


def test_other_findings_are_at_their_places() -> None:
    text = JOB.replace("name: train", "name: train\u200b").replace("dockerImage: image", "dockerImage: imag")
    found = _shown(text)
    assert [one.code for one in found] == ["invisible-character", "unknown-docker-image"]
    assert text[found[1].span.start : found[1].span.end] == "imag"
    fixed = apply_edits(text, found[1].fixes[0].edits)
    assert fixed == text.replace("dockerImage: imag\n", "dockerImage: image\n")


@pytest.mark.parametrize("text", ["echo 'a\u00a0b'", "echo caf\u00e9\u00a0!", "python a.py\u00a0", "echo 👩\u200d💻"])
def test_what_does_no_harm_is_not_reported(text: str) -> None:
    found = _shown(JOB.replace("python a.py", text))
    assert "invisible-character" not in [one.code for one in found]


def test_the_places_of_a_character_have_one_fix() -> None:
    """It changes all of them, so a thousand fixes would take the square of that."""
    job = Document("name: a\u200bb\u200bc\u200b\ntype: j\u00adob\n", path="a.pai.yaml").job
    found = list(invisible_character.check(job))
    assert [len(one.fixes[0].edits) for one in found] == [3, 3, 3, 1]
    assert len({id(one.fixes) for one in found}) == 2


def test_a_character_in_the_key_that_makes_a_plugin_optional_is_an_error() -> None:
    plugin = "{plugin: tensorboard, parameters: {port: 6006}, failure\ufeffPolicy: ignore}"
    found = _shown(f"{JOB}extras:\n  com.microsoft.pai.runtimeplugin:\n    - {plugin}\n")
    assert [(one.code, one.severity) for one in found] == [
        ("plugin-missing-parameter", Severity.WARNING),
        ("invisible-character", Severity.ERROR),
    ]
