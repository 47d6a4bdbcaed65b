"""`pai-lsp expand` as a user meets it: formats, files, exit statuses, and what goes to standard error."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from expansion import FOLDER

from pai_lsp.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

JOB = """\
protocolVersion: 2
name: train
type: job
secrets: {token: abcdef}
prerequisites:
  - {type: dockerimage, name: image, uri: "ubuntu:20.04"}
  - name: tools
    type: script
    callbacks:
      - {event: taskStarts, commands: [echo tools]}
      - {event: taskSucceeds, commands: [echo bye]}
      - {event: taskFails, commands: [echo sorry]}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [tools]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: ["echo run <% $secrets.token %>"]
  other:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [echo other]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.pai.yaml").write_text(JOB, encoding="utf-8")
    return tmp_path


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def run_in(folder: Path, *arguments: str, stdin: str = "") -> Ended:
    """Run the command line in a folder."""
    output, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(errors):
        patch.chdir(folder)
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        status = main(arguments)
    return Ended(status, *(read_back(stream) for stream in (output, errors)))


def read_back(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def expand(folder: Path, *arguments: str, stdin: str = "") -> Ended:
    return run_in(folder, "expand", *arguments, stdin=stdin)


def test_the_released_job_is_printed(folder: Path) -> None:
    run = expand(folder, "train.pai.yaml")
    assert (run.returncode, run.stderr) == (0, "")
    assert "pai_lsp_at_end 'taskFails of tools'" in run.stdout
    assert "event: taskFails" not in run.stdout
    again = expand(folder, "-", stdin=run.stdout)
    assert (again.returncode, again.stdout) == (0, run.stdout)


def test_json_is_what_the_runtime_runs(folder: Path) -> None:
    run = expand(folder, "train.pai.yaml", "--format", "json", "--task-role", "worker")
    roles = json.loads(run.stdout)["taskRoles"]
    assert list(roles) == ["worker"]
    assert (roles["worker"]["pre"], roles["worker"]["post"]) == ([], [])
    assert roles["worker"]["command"].endswith("echo tools\nPAI_LSP_END\necho run <% $secrets.token %>")


def test_the_script_tells_where_each_part_comes_from(folder: Path) -> None:
    run = expand(folder, "train.pai.yaml", "--format", "script", "--task-role", "worker")
    assert run.stdout == (
        "# --- before the commands: 'tools' (line 7) ---\n"
        "echo tools\n"
        "\n"
        "# --- the commands of 'worker' (line 19) ---\n"
        "echo run <% $secrets.token %>\n"
        "\n"
        "# --- after the commands, when they succeeded: 'tools' (line 7) ---\n"
        "echo bye\n"
        "\n"
        "# --- after the commands, when they failed: 'tools' (line 7) ---\n"
        "echo sorry\n"
    )


def test_all_task_roles_stand_below_each_other(folder: Path) -> None:
    run = expand(folder, "train.pai.yaml", "--as-is", "--format", "script")
    assert run.stdout == (
        "# === each task of 'worker' ===\n\n"
        "# --- the commands ---\necho run <% $secrets.token %>\n"
        "\n# === each task of 'other' ===\n\n"
        "# --- the commands ---\necho other\n"
    )


def test_as_is_shows_and_reports_that_the_extension_is_ignored(folder: Path) -> None:
    run = expand(folder, "train.pai.yaml", "--as-is")
    assert run.returncode == 0
    assert json.loads(run.stdout)["taskRoles"]["worker"]["pre"] == []
    assert "needs-expansion" in run.stderr
    assert "abcdef" not in run.stdout + run.stderr


def test_secrets_are_shown_to_who_asks_for_them(folder: Path) -> None:
    run = expand(folder, "train.pai.yaml", "--as-is", "--show-secrets")
    assert run.returncode == 0
    assert json.loads(run.stdout)["taskRoles"]["worker"]["command"] == "echo run abcdef"
    assert "abcdef" not in run.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("expand",),
        ("expand", "--inline"),
        ("expand", "--format", "script"),
        ("expand", "--format", "json"),
        ("expand", "--format", "json", "--inline"),
        ("expand", "--as-is"),
        ("expand", "--as-is", "--format", "script"),
        ("graph",),
        ("graph", "--format", "dot"),
    ],
)
def test_no_other_output_fills_a_secret_in(folder: Path, arguments: tuple[str, ...]) -> None:
    job = JOB.replace("echo tools", "curl <% $secrets.token %>").replace("echo sorry", "tell <% $secrets.token %>")
    (folder / "train.pai.yaml").write_text(job, encoding="utf-8")
    run = run_in(folder, *arguments, "train.pai.yaml")
    assert run.returncode == 0
    # The released job still declares its secrets.
    assert "abcdef" not in run.stdout.replace("secrets: {token: abcdef}", "") + run.stderr


def test_a_file_of_definitions_is_no_job(folder: Path) -> None:
    (folder / "marketplace").mkdir()
    (folder / "marketplace" / "tools.yaml").write_text("name: tools\ntype: script\n", encoding="utf-8")
    run = expand(folder, "marketplace/tools.yaml")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == (
        "pai-lsp expand: marketplace/tools.yaml contains definitions, not a job; expand a job that uses them\n"
    )


def test_what_inlining_cures_is_no_finding(folder: Path) -> None:
    text = JOB.replace("[echo tools]", "[export TOOLS=/tools]").replace("echo run <%", "echo $TOOLS <%")
    (folder / "train.pai.yaml").write_text(text, encoding="utf-8")
    assert "export-in-callback" in expand(folder, "train.pai.yaml").stderr
    assert expand(folder, "train.pai.yaml", "--inline").stderr == ""


def test_inline_puts_the_commands_into_the_role(folder: Path) -> None:
    run = expand(folder, "train.pai.yaml", "--inline", "--format", "json")
    role = json.loads(run.stdout)["taskRoles"]["worker"]
    assert (role["pre"], role["post"]) == ([], [])
    assert role["command"].endswith(
        "\npai_lsp_commands\n# taskStarts of 'tools'\necho tools\necho run <% $secrets.token %>"
    )


def test_an_output_file_is_written_and_compared(folder: Path) -> None:
    arguments = ("train.pai.yaml", "--output", "released.yaml")
    missing = expand(folder, *arguments, "--check")
    assert missing.returncode == 1
    assert "released.yaml: no such file or directory" in missing.stderr
    assert expand(folder, *arguments).returncode == 0
    assert expand(folder, *arguments, "--check").returncode == 0
    (folder / "released.yaml").write_text("old", encoding="utf-8")
    changed = expand(folder, *arguments, "--check")
    assert changed.returncode == 1
    assert "released.yaml is not up to date; run the same command without --check" in changed.stderr
    assert (folder / "released.yaml").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--as-is", "--inline"), "--as-is and --inline cannot be combined"),
        (("--as-is", "--format", "yaml"), "--as-is does not support --format yaml"),
        (("--show-secrets",), "--show-secrets works only with --as-is and --format json"),
        (("--format", "json", "--show-secrets"), "--show-secrets works only with --as-is and --format json"),
        (
            ("--as-is", "--format", "script", "--show-secrets"),
            "--show-secrets works only with --as-is and --format json",
        ),
        (("--check",), "--check needs --output, the file to compare with"),
        (("--task-role", "worker"), "--task-role works only with"),
        (("--format", "json", "--task-role", "workr"), "the job has no task role 'workr'; did you mean 'worker'?"),
        (("--output", "train.pai.yaml"), "--output names the job itself"),
    ],
)
def test_wrong_usage_is_reported(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    run = expand(folder, "train.pai.yaml", *arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert message in run.stderr


def test_a_job_that_cannot_be_expanded_gives_its_line_and_no_output(folder: Path) -> None:
    broken = JOB.replace("[tools]", "[tols]")
    (folder / "train.pai.yaml").write_text(broken, encoding="utf-8")
    run = expand(folder, "train.pai.yaml", "--output", "released.yaml")
    assert (run.returncode, run.stdout) == (1, "")
    assert "error[unknown-prerequisite]: no prerequisite is named 'tols'; did you mean 'tools'?" in run.stderr
    assert "train.pai.yaml:17:21" in run.stderr
    assert not (folder / "released.yaml").exists()


def test_a_job_with_errors_is_printed_only_with_force(folder: Path) -> None:
    (folder / "train.pai.yaml").write_text(JOB.replace("cpu: 1,", "cpu: many,", 1), encoding="utf-8")
    run = expand(folder, "train.pai.yaml", "--output", "released.yaml")
    assert (run.returncode, run.stdout) == (1, "")
    assert "error[type-mismatch]" in run.stderr
    assert "train.pai.yaml:18:32" in run.stderr
    assert "the expanded job has errors; --force prints it anyway" in run.stderr
    assert not (folder / "released.yaml").exists()
    run = expand(folder, "train.pai.yaml", "--force")
    assert run.returncode == 1
    assert "cpu: many" in run.stdout


@pytest.mark.parametrize(
    ("definition", "finding", "line"),
    [
        ("{name: tools, plugin: git, plugin_params: {repo: a}}", "plugin-missing-parameter", 17),
        ("{name: tools, plugin: cmd, callbacks: [{event: taskFails, commands: ['echo )']}]}", "shell-syntax", 17),
        (f"{{name: tools, plugin: cmd, preCommands: ['echo {'x' * 102_400}']}}", "job-too-large", None),
    ],
)
def test_errors_of_the_expanded_job_are_shown_at_the_reference(
    folder: Path, definition: str, finding: str, line: int | None
) -> None:
    (folder / "marketplace").mkdir()
    (folder / "marketplace" / "tools.yaml").write_text(definition, encoding="utf-8")
    text = JOB.replace("[tools]", '["marketplace://name/tools"]')
    (folder / "train.pai.yaml").write_text(text, encoding="utf-8")
    run = expand(folder, "train.pai.yaml")
    assert (run.returncode, run.stdout) == (1, "")
    assert f"error[{finding}]" in run.stderr
    assert line is None or f"train.pai.yaml:{line}:22" in run.stderr


def test_what_expansion_repairs_is_no_finding(folder: Path) -> None:
    text = JOB.replace("[echo tools]", '["echo a\\necho b"]')
    (folder / "train.pai.yaml").write_text(text, encoding="utf-8")
    run = expand(folder, "train.pai.yaml")
    assert (run.returncode, run.stderr) == (0, "")


def test_a_role_that_never_starts_has_no_scripts_to_show(folder: Path) -> None:
    (folder / "train.pai.yaml").write_text(JOB.replace("  other:", "  my_other:"), encoding="utf-8")
    run = expand(folder, "train.pai.yaml", "--format", "json")
    assert (run.returncode, run.stdout) == (1, "")
    assert "train.pai.yaml:20:3" in run.stderr


def test_an_unreadable_file_is_a_finding(folder: Path) -> None:
    (folder / "broken.yaml").write_bytes(b"name: \xff\n")
    run = expand(folder, "broken.yaml")
    assert (run.returncode, run.stdout) == (1, "")
    assert "this file is not UTF-8" in run.stderr


def test_the_marketplace_of_the_project_is_asked(folder: Path) -> None:
    (folder / "marketplace").mkdir()
    definitions = (FOLDER / "marketplace.yaml").read_text(encoding="utf-8")
    (folder / "marketplace" / "all.yaml").write_text(definitions, encoding="utf-8")
    job = JOB.replace("[tools]", '["marketplace://name/install_wget", tools]').replace("taskFails", "taskStarts")
    (folder / "train.pai.yaml").write_text(job, encoding="utf-8")
    run = expand(folder, "train.pai.yaml")
    assert run.returncode == 0, run.stderr
    assert "  # from marketplace://name/install_wget\n  - name: install_wget\n" in run.stdout
    assert "prerequisites: [install_wget, tools]" in run.stdout
    shown = expand(folder, "train.pai.yaml", "--format", "script", "--task-role", "worker").stdout
    assert "'install_wget' (marketplace://name/install_wget in marketplace/all.yaml) ---\n" in shown


def test_what_is_printed_about_a_job_with_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    role = "{instances: 1, dockerImage: j, commands: [a], resourcePerInstance: {gpu: 1, cpu: 1, memoryMB: 1024}}"
    (tmp_path / "a.pai.yaml").write_text(
        "protocolVersion: 2\nname: a\ntype: job\nprerequisites: [{name: i, type: dockerimage, uri: u}]\n"
        f"taskRoles: {{w: {role}}}\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["expand", "a.pai.yaml"]) == 1
    assert capsys.readouterr() == (
        "",
        f"""\
error[unknown-docker-image]: no dockerimage prerequisite is named 'j'
  --> a.pai.yaml:5:44
   |
 4 | prerequisites: [{{name: i, type: dockerimage, uri: u}}]
 5 | taskRoles: {{w: {role}}}
   |                                            ^

pai-lsp expand: no output, because the expanded job has errors; --force prints it anyway
""",
    )
    assert main(["expand", "a.pai.yaml", "--task-role", "v", "--inline"]) == 2
    assert capsys.readouterr() == ("", "pai-lsp expand: the job has no task role 'v'\n")
