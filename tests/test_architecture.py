"""The house: imports only go down, and the command line stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "pai_lsp"

# Each floor may import from the floors above it in this list, and within itself.
FLOORS = (
    ("text", "spelling", "scalar", "frozen", "failures", "stand_ins"),
    ("embedded",),
    ("nodes",),
    ("tags",),
    ("building",),
    ("relocation",),
    ("recovery",),
    ("pieces",),
    ("syntax",),
    ("diagnostic", "files", "settings", "marketplace_settings", "content", "template", "template_variables",
     "schema", "platform", "_job_validator", "structure", "shipped_schemas"),
    ("job", "job_parts", "definition", "addresses", "lookup", "template_uses", "template_lookup", "template_answers",
     "clear_secrets", "hidden", "requirements", "requirement_words", "plugin_parameters", "plugin_uses",
     "prerequisite_uses", "comments", "undeclared_variables", "edits", "section_edits", "fixes", "this_lookup",
     "masking", "symbols"),
    ("catalog", "expand", "renaming"),
    ("rules",),
    ("document",),
    ("graph",),
    ("ide", "report", "config", "config_marketplace", "config_reader", "config_values", "exclusion",
     "processes", "safe_fixes", "written_comments"),
    ("lsp", "commands", "cli", "__main__"),
)  # fmt: skip


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def floor(name: str) -> int:
    top = name.split(".")[1] if "." in name else "__init__"
    return next((number for number, names in enumerate(FLOORS) if top in names), -1)


def imported(path: Path) -> list[str]:
    """Modules of the package that a file imports, except those that only type checkers read."""
    found: list[str] = []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pai_lsp"):
            found += [node.module] if node.module != "pai_lsp" else [f"pai_lsp.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith("pai_lsp")]
    return found


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_every_module_has_a_floor(path: Path) -> None:
    name = name_of(path)
    assert name == "pai_lsp" or floor(name) >= 0, f"{name} is on no floor"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_only_go_down(path: Path) -> None:
    name = name_of(path)
    if name == "pai_lsp":
        return
    upward = [other for other in imported(path) if other != "pai_lsp" and floor(other) > floor(name)]
    assert upward == []


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_every_module_says_why_it_exists(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_only_the_reader_imports_yaml() -> None:
    readers = {f"pai_lsp.{name}" for name in ("nodes", "building", "recovery", "pieces", "syntax", "plugin_parameters")}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import) and any(alias.name == "yaml" for alias in node.names):
                assert name_of(path) in readers


def test_the_checker_does_not_load_the_server() -> None:
    code = (
        "import sys, pai_lsp.document; "
        "print([m for m in ('pygls', 'lsprotocol', 'jsonschema', 'ruamel', 'httpx') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
