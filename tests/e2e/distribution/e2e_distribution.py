"""The sdist and the wheel: built, looked into, installed from a folder of wheels without an index, and used.

Run by scripts/e2e_distribution.sh, which fills the folder of wheels.
"""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from pai_lsp import __version__

ROOT = Path(__file__).parent.parent.parent.parent
# Nothing of the surroundings may help: neither the work tree nor a configured index.
BARE = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
WHEN = {"SOURCE_DATE_EPOCH": "1767225600"}


def run(*command: str | Path, folder: Path, environment: dict[str, str] | None = None) -> str:
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=150, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


# The structure is wrong, so that jsonschema and its compiled part are used.
WRONG = "protocolVersion: 2\nname: a\ntype: job\ntaskRoles: {a: {}}\n"
PYTHONS = subprocess.run(
    [ROOT / "scripts" / "pythons.sh"], capture_output=True, text=True, check=True
).stdout.splitlines()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(ROOT / "scripts" / "build_dist.sh", folder, folder=ROOT, environment={**BARE, **WHEN})
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return built / f"pai_lsp-{__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of the newest Python in which pip has installed the wheel from folders alone."""
    environment = tmp_path_factory.mktemp("environment")
    run(PYTHONS[-1], "-m", "venv", environment, folder=environment)
    pip = (environment / "bin" / "python", "-m", "pip", "--isolated", "--disable-pip-version-check")
    folders = ("--find-links", os.environ["E2E_WHEELHOUSE"], "--find-links", built)
    run(*pip, "install", "--no-index", *folders, "pai-lsp", folder=environment, environment=BARE)
    return environment


def test_the_wheel_holds_the_package_and_its_schemas_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"pai_lsp", f"pai_lsp-{__version__}.dist-info", f"pai_lsp-{__version__}.data"}
    schemas = {name.removeprefix("pai_lsp/") for name in names if name.startswith("pai_lsp/schemas/")}
    tables = {path.relative_to(ROOT).as_posix() for path in (ROOT / "schemas").rglob("*") if path.is_file()}
    pages = {"schemas/assistants.md", "schemas/protocol.md"}  # which `pai-lsp mcp` offers to read
    assert schemas == tables | pages
    assert {"pai_lsp/py.typed", "pai_lsp/platform/_job_validator.py"} <= set(names)
    assert f"pai_lsp-{__version__}.data/data/share/man/man1/pai-lsp.1" in names
    assert not [name for name in names if "test" in Path(name).name.lower() or name.endswith(".pyc")]


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = Parser().parsestr(archive.read(f"pai_lsp-{__version__}.dist-info/METADATA").decode())
        licence = archive.read(f"pai_lsp-{__version__}.dist-info/licenses/LICENSE").decode()
    assert (metadata["Name"], metadata["Version"], metadata["License-Expression"]) == ("pai-lsp", __version__, "MIT")
    assert metadata["Requires-Python"] == ">=3.10"
    assert licence == (ROOT / "LICENSE").read_text()
    assert "pai-lsp check" in str(metadata.get_payload())


def test_the_sdist_has_what_building_and_testing_needs(built: Path) -> None:
    with tarfile.open(built / f"pai_lsp-{__version__}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = ["pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md", "Makefile", "docs/editors.md", "docs/pai-lsp.1"]
    wanted += ["tests/test_rules.py", "scripts/man_page.py", "requirements/test.txt", "examples/good.pai.yaml"]
    assert {*wanted, "hatch_build.py"} <= names
    assert "pai_lsp/platform/_job_validator.py" not in names
    assert not [name for name in names if "node_modules" in name or name.startswith(("vscode-extension", "build/"))]


def test_the_sdist_gives_the_same_wheel_again(built: Path, wheel: Path, tmp_path: Path) -> None:
    name = f"pai_lsp-{__version__}"
    run("tar", "-xzf", built / f"{name}.tar.gz", folder=tmp_path)
    build = (ROOT / ".venvs" / "dist" / "bin" / "python", "-m", "build", "--no-isolation", "--wheel")
    run(*build, "--outdir", tmp_path, tmp_path / name, folder=tmp_path, environment={**BARE, **WHEN})
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


@pytest.mark.parametrize(
    ("installer", "python"), [("pip", PYTHONS[0]), *((name, python) for name in ("pipx", "uv") for python in PYTHONS)]
)
def test_every_installer_installs_it_on_every_python_without_an_index(
    python: str, installer: str, built: Path, tmp_path: Path
) -> None:
    tools = ROOT / ".venvs" / "dist" / "bin"
    folders = f"{os.environ['E2E_WHEELHOUSE']} {built}"
    bare = BARE | {"HOME": str(tmp_path), "PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    bare |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": folders, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    bare |= {"UV_OFFLINE": "1", "UV_NO_INDEX": "1", "UV_FIND_LINKS": folders.replace(" ", ","), "UV_NO_CONFIG": "1"}
    bare |= {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    if installer == "pip":
        run(python, "-m", "venv", tmp_path, folder=tmp_path, environment=bare)
        run(tmp_path / "bin" / "python", "-m", "pip", "install", "pai-lsp", folder=tmp_path, environment=bare)
    elif installer == "pipx":
        run(tools / "pipx", "install", "--python", python, "pai-lsp", folder=tmp_path, environment=bare)
    else:
        run(tools / "uv", "tool", "install", "--python", python, "pai-lsp", folder=tmp_path, environment=bare)
    (tmp_path / "job.pai.yaml").write_text(WRONG)
    command = [str(tmp_path / "bin" / "pai-lsp"), "check", "job.pai.yaml"]
    ended = subprocess.run(command, cwd=tmp_path, env=bare, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "missing-key" in ended.stdout


def test_what_is_installed_checks(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "typo.pai.yaml").write_bytes((ROOT / "examples" / "typo.pai.yaml").read_bytes())
    (tmp_path / "wrong.pai.yaml").write_text(WRONG)
    command = [str(installed / "bin" / "pai-lsp"), "check", "--format", "concise"]
    ended = subprocess.run(command, cwd=tmp_path, env=BARE, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "typo.pai.yaml:24:21: error[unknown-prerequisite] no prerequisite is named 'minst'" in ended.stdout
    assert "error[missing-key]" in ended.stdout


def test_what_is_installed_has_its_schemas_and_manual(installed: Path, tmp_path: Path) -> None:
    pai_lsp = installed / "bin" / "pai-lsp"
    assert run(pai_lsp, "--version", folder=tmp_path, environment=BARE) == f"pai-lsp {__version__}\n"
    assert '"taskRoles"' in run(pai_lsp, "schema", "job", folder=tmp_path, environment=BARE)
    assert (installed / "share" / "man" / "man1" / "pai-lsp.1").read_bytes() == (
        ROOT / "docs" / "pai-lsp.1"
    ).read_bytes()


def test_the_installed_server_answers(installed: Path, tmp_path: Path) -> None:
    parameters: dict[str, object] = {"processId": None, "rootUri": None, "capabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters}).encode()
    ended = subprocess.run(
        [installed / "bin" / "pai-lsp", "server"],
        cwd=tmp_path,
        env=BARE,
        input=b"Content-Length: %d\r\n\r\n%b" % (len(body), body),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert b'"serverInfo":{"name":"pai-lsp"' in ended.stdout.replace(b": ", b":").replace(b", ", b",")
