"""What the page of the playground asks the checker; scripts/e2e_playground.sh tries the page itself."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from test_architecture import MODULES

import pai_lsp

ROOT = Path(__file__).parent.parent
ANSWERS = ROOT / "docs" / "playground" / "browser_answers.py"
EXAMPLES = sorted([*(ROOT / "examples").glob("*.yaml"), *(ROOT / "docs" / "playground" / "examples").glob("*.yaml")])
# Those of pai-lsp, and of the two libraries that scripts/playground_packages.py takes.
PACKAGES = {"pai_lsp", "yaml", "ruamel", "jsonschema", "jsonschema_specifications", "referencing", "attr", "attrs"}


def ask(question: str, text: str, platform: str = "openpai") -> Any:
    specification = spec_from_file_location("browser_answers", ANSWERS)
    assert specification is not None
    assert specification.loader is not None
    module = module_from_spec(specification)
    specification.loader.exec_module(module)
    return json.loads(module.answer(json.dumps({"ask": question, "text": text, "platform": platform})))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_finds_and_expands_what_the_command_line_does(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = [(one["code"], one["severity"], one["from"], one["to"]) for one in ask("check", text)["findings"]]
    assert found == [
        (one.code, one.severity, one.start.offset, one.end.offset) for one in pai_lsp.check(text, severity="hint")
    ]
    for question, inline in (("expand", False), ("inline", True)):
        try:
            expected = pai_lsp.expand(text, inline=inline)
        except pai_lsp.ExpansionError:
            expected = None
        answer = ask(question, text)
        assert answer["text"] == expected
        assert bool(answer["findings"]) == (expected is None)


def test_offsets_and_edits_count_as_javascript_does() -> None:
    job = "# 😀 ü\nname: x\ntaskRoles: {w: {prerequisites: [minst]}}\nprerequisites: [{name: mnist}]\n"
    finding = next(one for one in ask("check", job)["findings"] if one["code"] == "unknown-prerequisite")
    units = job.encode("utf-16-le")
    assert units[2 * finding["from"] : 2 * finding["to"]].decode("utf-16-le") == "minst"
    (edit,) = finding["fixes"][0]["edits"]
    assert units[2 * edit["from"] : 2 * edit["to"]].decode("utf-16-le") == "minst"
    assert edit["insert"] == "mnist"


def test_fixes_runs_and_graph() -> None:
    text = (ROOT / "examples" / "typo.pai.yaml").read_text(encoding="utf-8")
    fixed = ask("fix", text)
    assert fixed["fixed"] == ask("check", text)["fixable"] == 4
    assert ask("check", fixed["text"])["findings"] == []
    runs = ask("runs", fixed["text"])
    number = runs["text"].split("\n").index("python train.py")
    assert fixed["text"][dict(runs["lines"])[number] :].startswith("python train.py")
    graph = ask("graph", text)
    assert "digraph" in graph["dot"]
    assert all(text[at:].startswith(("worker", "pytorch", "mnist", "minst")) for at in graph["places"].values())


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("taskRoles:\n", "job"),
        ("kind: MPIJob\napiVersion: kubeflow.org/v2beta1\n", "MPIJob"),
        ("- {name: tools, type: script, callbacks: [{event: taskStarts, commands: [ls]}]}\n", "definitions"),
    ],
)
def test_every_kind_of_file(text: str, kind: str) -> None:
    assert ask("check", text)["kind"] == kind
    for question in ("fix", "runs", "expand", "inline", "graph"):
        ask(question, text)
    if kind != "job":
        assert ask("runs", text)["text"] is None
        assert ask("expand", text) == {"text": None, "findings": []}


def test_a_password_is_in_no_message() -> None:
    image = "{type: dockerimage, name: a, uri: b, auth: {username: u, password: hunter2x9}}"
    found = ask("check", f"prerequisites: [{image}]\nhunter2x9: 1\n")["findings"]
    assert "unknown-key" in {one["code"] for one in found}
    assert "hunter2x9" not in repr([one["message"] for one in found])


@pytest.mark.slow
def test_it_needs_only_pure_python_and_the_packed_libraries() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in [EXAMPLES[-1]])
    code = f"""
import sys, json
sys.modules["yaml._yaml"] = None
sys.path.insert(0, {str(ANSWERS.parent)!r})
started = set(sys.modules)
import browser_answers
for ask in browser_answers._ANSWERS:
    browser_answers.answer(json.dumps({{"ask": ask, "text": {text!r} + "x: [", "platform": "ltp"}}))
    browser_answers.answer(json.dumps({{"ask": ask, "text": {text!r}, "platform": "openpai"}}))
new = {{name for name in set(sys.modules) - started if "." not in name and name not in sys.stdlib_module_names}}
print(json.dumps(sorted(new)))
print(json.dumps(sorted(name for name in sys.modules if name.startswith("pai_lsp."))))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    libraries, modules = map(json.loads, run.stdout.splitlines())
    # typing_extensions is for Python before 3.13, jsonschema uses idna where it is there, and docs/playground/rpds.py
    # stands for a compiled library.
    here = {"browser_answers", "rpds", "typing_extensions", "idna", "_ruamel_yaml"}
    assert set(libraries) <= PACKAGES | here
    # The build leaves out these packages.
    assert [name for name in modules if name.split(".")[1] in {"cli", "lsp"}] == []
    assert len(modules) < len(MODULES)
