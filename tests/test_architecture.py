"""The layout: imports only go down, modules have no cycles, and the command line stays light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from job_text import SMALL

PACKAGE = Path(__file__).parent.parent / "pai_lsp"
EXAMPLES = PACKAGE.parent / "examples"

# Each package, or module beside the packages, imports only from itself and from those above it in this list.
LAYERS = (
    "version",
    "source",
    "web",
    "embedded",
    "platform",
    "job",
    "findings",
    "catalog",
    "expansion",
    "cluster",
    "mpijob",
    "rules",
    "document",
    "safe_fixes",
    "project",
    "api",
    "ide",
    "assistant",
    "lsp",
    "cli",
    "__main__",
)

# Every module that may import PyYAML, the library that reads YAML; the others have it from the first one.
YAML_READERS = {"source.libyaml", "source.building", "source.recovery"}


def name_of(path: Path) -> str:
    """The name of a module without `pai_lsp.`; empty for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


@cache
def import_statements(name: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """All imports of a module, those only for types and inside functions included."""
    found: list[ast.Import | ast.ImportFrom] = []
    waiting: list[ast.AST] = [tree(name)]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                found.append(node)
            elif isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                waiting.append(node)
    return tuple(found)


@cache
def imports(name: str) -> set[str]:
    """The modules of the package that a module imports."""
    found: set[str] = set()
    for node in import_statements(name):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return {one for one in (module.removeprefix("pai_lsp.") for module in found) if one in MODULES and one != name}


def layer(name: str) -> int:
    return LAYERS.index(name.partition(".")[0])


@pytest.mark.repository
def test_imports_only_go_down() -> None:
    pairs = [(name, other) for name in MODULES if name for other in imports(name) if other]
    assert [(name, other) for name, other in pairs if layer(other) > layer(name)] == []


def cycles() -> list[list[str]]:
    """Groups of modules that import each other."""
    reached: dict[str, set[str]] = {}
    for name in MODULES:
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            for other in imports(waiting.pop()) - seen:
                seen.add(other)
                waiting.append(other)
        reached[name] = seen
    groups = {
        tuple(sorted({name, *(o for o in seen if name in reached[o])}))
        for name, seen in reached.items()
        if name in seen
    }
    return [list(group) for group in sorted(groups)]


@pytest.mark.repository
def test_no_module_imports_itself_through_others() -> None:
    assert cycles() == []


@pytest.mark.repository
def test_a_file_name_occurs_once() -> None:
    names = Counter(path.name for path in MODULES.values() if path.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.repository
def test_a_class_name_occurs_once() -> None:
    """But in the interface for programs, whose names are its own, and in code that the build makes."""
    names: dict[str, set[str]] = {}
    for module in MODULES:
        if module != "api" and "._job_validator" not in module:
            for node in tree(module).body:
                if isinstance(node, ast.ClassDef):
                    names.setdefault(node.name.lstrip("_"), set()).add(module)
    assert {name: sorted(found) for name, found in names.items() if len(found) > 1} == {}


@pytest.mark.repository
def test_every_module_says_why_it_exists() -> None:
    assert [name for name in MODULES if not ast.get_docstring(tree(name))] == []


def defined_in(module: ast.Module | ast.ClassDef) -> dict[str, ast.AST]:
    return {
        node.name: node
        for node in module.body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }


@pytest.mark.repository
def test_what_the_page_about_the_architecture_names_exists() -> None:
    """`name` (`package/module`), and every path below a package or a folder beside it."""
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w.]+)`(?: and `([\w.]+)`)?\s+\(`([\w/]+)`\)", page)
    assert len(named) > 25
    for first, second, module in named:
        for name in filter(None, (first, second)):
            scope: ast.AST = tree(module.removesuffix("/__init__").replace("/", "."))
            for part in name.split("."):
                assert isinstance(scope, (ast.Module, ast.ClassDef)), (name, module)
                assert part in defined_in(scope), (name, module)
                scope = defined_in(scope)[part]
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()} | {"schemas", "docs", "tests"}
    for path in re.findall(r"`((?:\w+/)+[\w.]*)`", page):
        if path.partition("/")[0] in folders:
            below = PACKAGE.parent if path.startswith(("schemas", "docs", "tests")) else PACKAGE
            assert (below / path).exists() or (below / f"{path}.py").exists(), path


# Files of other projects, which are sources of facts, and of users.
FOREIGN_FILES = {
    *("composer.py", "constructor.py", "context.py", "framework_parser.py", "image_checker.py", "initializer.py"),
    *("parser.py", "program.py", "reader.py", "resolver.py", "scanner.py", "serverapp.py", "user_command_renderer.py"),
    *("prepare.py", "run.py", "t.py", "train.py"),
}


@pytest.mark.repository
def test_no_sentence_names_a_module_that_does_not_exist() -> None:
    """In the package, and on the pages."""
    root = PACKAGE.parent
    ours = (path for name in ("pai_lsp", "scripts", "tests", "docs") for path in (root / name).rglob("*.py"))
    known = FOREIGN_FILES | {path.name for path in (*ours, *root.glob("*.py"))}
    texts = [
        (path.name, path.read_text(encoding="utf-8")) for path in (*(root / "docs").glob("*.md"), *MODULES.values())
    ]
    named = [(file, name) for file, text in texts for name in re.findall(r"(?<![\w/.-])[a-z_]\w*\.py\b", text)]
    assert [(file, name) for file, name in named if name not in known] == []


@pytest.mark.repository
def test_only_the_reader_imports_yaml() -> None:
    found = {
        name
        for name in MODULES
        for node in import_statements(name)
        if isinstance(node, ast.Import) and any(alias.name == "yaml" for alias in node.names)
    }
    assert found <= YAML_READERS


# What the check of a valid job has no use for, or what takes longer to import than the check takes.
NOT_FOR_A_VALID_JOB = (
    *("pygls", "lsprotocol", "jsonschema", "ruamel", "httpx", "mcp"),
    *(
        "typing",
        "dataclasses",
        "pathlib",
        "threading",
        "subprocess",
        "shutil",
        "tempfile",
        "shlex",
        "weakref",
        "locale",
    ),
    *(f"pai_lsp.{name}" for name in ("cluster", "expansion", "catalog", "ide", "mpijob", "project.exclusion")),
    *("pai_lsp.rules.structure.structure_fixes", "pai_lsp.platform.structure_errors", "pai_lsp.platform.local_storage"),
    *("pai_lsp.embedded.shell_syntax", "pai_lsp.embedded.shell_arithmetic"),
)


def loaded_by_check(job: Path) -> list[str]:
    """The modules that the check of one valid job loads."""
    code = (
        "import argparse, sys; argparse.ArgumentParser(); before = set(sys.modules); "  # 3.14's loads dataclasses
        "from pai_lsp.cli.main import main; assert main(sys.argv[1:]) == 0; "
        "print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-c", code, "check", str(job)], capture_output=True, text=True, check=True)
    said, *_, loaded = run.stdout.splitlines()
    assert said.startswith("all good: 1 file checked")
    return loaded.split()


@pytest.mark.slow
def test_the_check_of_a_valid_job_loads_only_what_it_needs(tmp_path: Path) -> None:
    job = tmp_path / "job.pai.yaml"
    job.write_text(f"{SMALL}    instances: 1\n", encoding="utf-8")
    assert [name for name in loaded_by_check(job) if name.startswith(NOT_FOR_A_VALID_JOB)] == []


@pytest.mark.slow
def test_only_what_the_check_of_valid_jobs_loads_spares_the_import_of_typing() -> None:
    jobs = [EXAMPLES / "good.pai.yaml", *sorted(EXAMPLES.glob("mpijob/*.pai.yaml"))]
    loaded = {name.removeprefix("pai_lsp").lstrip(".") for job in jobs for name in loaded_by_check(job)}
    sparing, importing = (
        {
            name
            for name in MODULES
            for node in tree(name).body
            if isinstance(node, ast.ImportFrom) and node.module == home
            if any(one.name == "TYPE_CHECKING" for one in node.names)
        }
        for home in ("pai_lsp.source.type_checking", "typing")
    )
    assert len(sparing) > 100
    assert (sparing - loaded, importing & loaded) == (set(), set())


@pytest.mark.slow
def test_the_server_answers_before_it_loads_the_analysis() -> None:
    code = (
        "import sys; from pai_lsp.lsp.language_server import Server; Server(); names = ('yaml', 'jsonschema'); "
        "parts = ('pai_lsp.embedded', 'pai_lsp.rules', 'pai_lsp.source.nodes'); "
        "print([m for m in sys.modules if m in names or m.startswith(parts)])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.repository
def test_no_name_of_a_file_stops_a_command() -> None:
    """pathlib's questions raise for a name that is too long or a link to itself; those of os.path answer no."""
    raising = {"exists", "expanduser", "is_dir", "is_file", "resolve"}
    found = [
        f"{name}:{node.lineno}: {node.func.attr}"
        for name in MODULES
        for node in ast.walk(tree(name))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in raising
        # os.path.exists(path) is asked of a module, Path(path).exists() has nothing in its brackets
        if not node.args and not node.keywords
    ]
    assert found == []


@pytest.mark.repository
def test_foreign_json_has_one_reader() -> None:
    """`json_value` bounds numbers and depth; files of ours, and the protocol that answers a fault, need no bounds."""
    reading = {
        name
        for name in MODULES
        for node in ast.walk(tree(name))
        if isinstance(node, ast.Attribute) and node.attr in {"load", "loads", "JSONDecoder"}
        if isinstance(node.value, ast.Name) and node.value.id == "json"
    }
    assert reading == {"source.foreign", "platform.tables", "platform.job_schema", "lsp.protocol"}


@pytest.mark.repository
def test_no_rule_reads_the_text_of_a_script() -> None:
    """Rules about commands ask the model of a command: its words, values, files; never the text of the script."""
    found = []
    for path in (*sorted((PACKAGE / "rules/commands").glob("*.py")), *sorted((PACKAGE / "mpijob").glob("*_rules.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in {"text", "whole"}:
                owner = node.value.value if isinstance(node.value, ast.Subscript) else node.value
                owner = node.value.target if isinstance(node.value, ast.NamedExpr) else owner
                if getattr(owner, "attr", getattr(owner, "id", "")) in {"script", "scripts"}:
                    found.append(f"{path.name}:{node.lineno}")
    # What bash refuses is about the text, whose tags are filled there.
    assert {place.partition(":")[0] for place in found} <= {"shell_syntax_rules.py"}
