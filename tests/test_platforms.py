"""Platforms: the tables, what chooses one, and what holds for the one at hand."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from job_text import HEAD

from pai_lsp.cli.main import main
from pai_lsp.document import Document
from pai_lsp.expansion.released_run import released_run
from pai_lsp.findings.diagnostic import Settings
from pai_lsp.ide.completion.complete import complete
from pai_lsp.ide.hover import hover
from pai_lsp.platform.job_schema import field
from pai_lsp.platform.platforms import ALL_NAMES, NAMES, OPENPAI, Platform, may_be_marked, platform_named
from pai_lsp.platform.tables import table
from pai_lsp.project.config_reader import parse_configuration
from pai_lsp.source.scalar import Reader, server_value, tagged_server_value
from pai_lsp.source.text import apply_edits

ROOT = Path(__file__).parent.parent
LTP = platform_named("ltp")
JOB = (
    HEAD
    + """\
taskRoles:
  worker:
    instances: %s
    dockerImage: image
    commands: [sleep 1]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
"""
)


def wrong(text: str, settings: Settings | None = None) -> set[str]:
    return {one.code for one in Document(text, settings or Settings()).diagnostics if one.severity == 1}


@pytest.mark.parametrize(("platform", "text"), [(OPENPAI, "echo 8 hi"), (LTP, "echo 10 104,105")])
def test_commands_are_filled_with_what_the_server_of_the_platform_reads(platform: Platform, text: str) -> None:
    job = (JOB % 1).replace("sleep 1", "echo <% $parameters.n %> <% $parameters.b %>")
    document = Document(f"parameters: {{n: 010, b: !!binary aGk=}}\n{job}", Settings(platform=platform))
    assert released_run(document.job).roles["worker"].command == text


def test_lists_of_rules_say_what_holds_on_one_platform_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    lines = {line.split(maxsplit=1)[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["force-nodes-not-string"].endswith("(only on LTP)")
    assert not lines["unknown-platform"].endswith(")")
    assert not lines["missing-key"].endswith(")")


def test_parameters_that_an_inference_job_must_have_are_used() -> None:
    written = "jobType: inference\nparameters: {API_KEY: a, INTERNAL_SERVER_IP: b, INTERNAL_SERVER_PORT: c, lr: d}\n"
    document = Document(written + JOB % 1, Settings(platform=LTP))
    unused = [one.message for one in document.diagnostics if one.code == "unused-parameter"]
    assert unused == ["no template uses the parameter 'lr'"]


def test_every_row_has_a_source() -> None:
    for name in NAMES[1:]:
        for row in table(f"platforms/{name}.json")["rows"]:
            assert {"subject", "point", "openpai", "here", "source"} <= row.keys(), row
            assert row.keys() <= {
                "subject", "point", "openpai", "here", "source", "answers", "schema", "plugins", "environment",
                "since",
            }  # fmt: skip


def test_the_configuration_knows_every_platform() -> None:
    assert tuple(table("configuration.schema.json")["properties"]["platform"]["enum"]) == ALL_NAMES


def test_every_mark_is_a_word_that_makes_the_table_read() -> None:
    for platform in map(platform_named, NAMES):
        plugins = platform.plugins.keys() - OPENPAI.plugins.keys()
        words = (*platform.programs, *platform.marked_keys, *platform.marked_extras, *platform.own_registries, *plugins)
        for mark in words:
            assert may_be_marked(mark), mark


def test_the_page_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "platform_page.py"), "--check"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (0, "")


def test_a_job_for_openpai_reads_no_table_of_another_platform() -> None:
    code = (
        "import sys, pai_lsp.document as d, pai_lsp.platform.platforms as p\n"
        f"found = d.check(d.Document({JOB % 1!r}))\n"
        "print(p.platform_named.cache_info().currsize)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "0\n"


# js-yaml 4.1.1, lib/type/int.js and float.js, and js-yaml 3.13.1.
@pytest.mark.parametrize(
    ("text", "openpai", "ltp"),
    [
        ("0123", 83, 123), ("-010", -8, -10), ("+010", 8, 10), ("08", "08", 8), ("089", "089", 89),
        ("0o17", "0o17", 15), ("+0o17", "+0o17", 15), ("0O17", "0O17", "0O17"), ("0o8", "0o8", "0o8"),
        ("0b11", 3, 3), ("0x1F", 31, 31), ("0x", "0x", "0x"), ("0b2", "0b2", "0b2"),
        ("1_000", 1000, 1000), ("1__0", 10, 10), ("0_1", 1, 1), ("0x_1", 1, 1), ("0b1_1", 3, 3),
        ("0o1_7", "0o1_7", 15), ("1_", "1_", "1_"), ("_1", "_1", "_1"), ("1:30", 90, "1:30"),
        ("190:20:30", 685230, "190:20:30"), ("190:20:30.15", 685230.15, "190:20:30.15"), ("1:60", "1:60", "1:60"),
        ("01.5", "01.5", 1.5), ("01e3", "01e3", 1000), ("089e1", "089e1", 890), ("1e3", 1000, 1000),
        ("1.e3", 1000, 1000), (".5", 0.5, 0.5), ("1.", 1, 1), ("1_0.5", 10.5, 10.5), ("0._5", 0.5, 0.5),
        ("+.5", "+.5", "+.5"), ("1e1_0", "1e1_0", "1e1_0"), (".inf", float("inf"), float("inf")), ("-", "-", "-"),
        ("0", 0, 0), ("-0", 0, 0), ("00", 0, 0), ("." , ".", "."),
    ],
)  # fmt: skip
def test_numbers(text: str, openpai: Any, ltp: Any) -> None:
    assert server_value(text) == openpai
    assert server_value(text, Reader.JS_YAML_4) == ltp


@pytest.mark.parametrize("text", ["._e1", "._e+1"])
def test_a_number_without_a_digit_is_not_a_number(text: str) -> None:
    assert all(str(server_value(text, reader)) == "nan" for reader in Reader)


def test_tagged_numbers() -> None:
    assert [tagged_server_value("int", text, Reader.JS_YAML_4) for text in ("010", "0o10", "1_0")] == [10, 8, 10]
    assert wrong("# pai-lsp: platform=ltp\n" + JOB % '!!int "1:30"')


def test_keys_are_read_as_values_are() -> None:
    text = JOB % 1 + "parameters:\n  8: a\n  010: b\n"
    assert "duplicate-key" in wrong(text)
    assert "duplicate-key" not in wrong("# pai-lsp: platform=ltp\n" + text)


def test_a_text_with_a_fault_is_read_for_its_platform() -> None:
    text = "# pai-lsp: platform=ltp\n" + JOB % "0o2" + "extras: [\n"
    assert "type-mismatch" not in wrong(text)


def test_what_chooses_the_platform(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def errors(*options: str, configuration: str = "", comment: str = "") -> bool:
        (tmp_path / ".pai-lsp.yaml").write_text(configuration)
        (tmp_path / "a.pai.yaml").write_text(comment + JOB % "0o2")
        status = main(["check", *options, "--format", "json", str(tmp_path / "a.pai.yaml")])
        found = json.loads(capsys.readouterr().out)["diagnostics"]
        assert bool([one for one in found if one["severity"] == "error"]) == (status == 1)
        return status == 1

    for_ltp, for_openpai = "# pai-lsp: platform=ltp\n", "# pai-lsp: platform=openpai\n"
    assert errors()
    assert not errors(configuration="platform: ltp\n")
    assert not errors(comment=for_ltp)
    assert errors(configuration="platform: ltp\n", comment=for_openpai)
    assert not errors("--platform", "ltp", comment=for_openpai)
    assert errors("--platform", "openpai", configuration="platform: ltp\n", comment=for_ltp)


def test_a_wrong_platform_in_the_configuration() -> None:
    found = parse_configuration("platform: lpt\n")
    assert found.settings.platform is None
    names = f"{', '.join(map(repr, ALL_NAMES[:-1]))} or {ALL_NAMES[-1]!r}"
    message = f"'platform' must be {names}, not the string 'lpt'; did you mean 'ltp'?"
    assert [one.message for one in found.diagnostics] == [message]


def test_the_fix_of_the_hint_sets_the_platform() -> None:
    document = Document(JOB % 1 + "jobType: training\n")
    assert {"unknown-key", "job-for-other-platform"} <= {one.code for one in document.diagnostics}
    (hint,) = (one for one in document.diagnostics if one.code == "job-for-other-platform")
    after = Document(apply_edits(document.text, hint.fixes[0].edits))
    assert after.platform is LTP
    assert not {"unknown-key", "job-for-other-platform"} & {one.code for one in after.diagnostics}


def test_what_openpai_answers() -> None:
    """Everything that another platform may have besides is off."""
    answers = {name: getattr(OPENPAI, name) for name in Platform.__match_args__}
    assert {name: answer for name, answer in answers.items() if answer} == {
        "name": "openpai", "title": "OpenPAI", "reader": Reader.JS_YAML_3, "takes_infinite_integers": True, "node": 10,
        "mustache": 2, "shared_memory": 512,
    }  # fmt: skip


def test_hover_and_completion_know_the_platform() -> None:
    path = ("taskRoles", "worker", "extraContainerOptions", "shmMB")
    found = [field(path, platform=platform) for platform in (OPENPAI, LTP)]
    assert [one.default for one in found if one] == ["512", "16384"]
    assert [str(platform.shared_memory) for platform in (OPENPAI, LTP)] == ["512", "16384"]
    role = (JOB % 1).replace("    commands:", "    extra\n    commands:")
    for settings, snippet in ((Settings(), "${1:512}"), (Settings(platform=LTP), "${1:16384}")):
        pieces = [one.snippet or "" for one in complete(Document(role, settings), role.index("extra") + 5)]
        assert any(snippet in one for one in pieces)
    text = JOB % 1 + "jobType: training\nextras:\n  com.microsoft.pai.runtimeplugin:\n    - plugin: \n"
    for settings, is_known in ((Settings(), False), (Settings(platform=LTP), True)):
        document = Document(text, settings)
        shown = hover(document, text.index("jobType"))
        assert ("model proxy" in repr(shown)) == is_known
        labels = [one.label for one in complete(document, len(text) - 1)]
        assert ("dind" in labels, "ssh" in labels) == (is_known, True)


@pytest.mark.parametrize(
    ("version", "is_known"),
    [("1.0", ()), ("1.1", ("number",)), ("1.3", ("number", "dind")), ("1.5", ("number", "dind", "jobType"))],
)
def test_an_older_version_has_less(version: str, is_known: tuple[str, ...]) -> None:
    job = JOB % "0o2" + "extras:\n  com.microsoft.pai.runtimeplugin:\n    - plugin: dind\njobType: training\n"
    platform = platform_named(f"ltp/{version}")
    errors = wrong(job, Settings(platform=platform))
    found = {"number": "type-mismatch", "dind": "unknown-plugin", "jobType": "unknown-key"}
    assert {name for name, code in found.items() if code not in errors} == set(is_known)
    assert platform.title == f"LTP {version}"


def test_a_job_with_a_newer_part_is_for_a_newer_version() -> None:
    (found,) = (
        one
        for one in Document(JOB % 1 + "jobType: training\n", Settings(platform=platform_named("ltp/1.3"))).diagnostics
        if one.code == "job-for-other-platform"
    )
    assert found.message == ("'jobType' is for LTP; this file is checked for LTP 1.3 (see 'platform' in .pai-lsp.yaml)")


def test_the_cluster_of_the_configuration_sets_the_platform(tmp_path: Path) -> None:
    profile = {"profileVersion": 1, "name": "lab", "platform": "ltp", "scheduler": "default"}
    (tmp_path / "lab.json").write_text(json.dumps(profile))
    found = parse_configuration("cluster: lab.json\n", folder=str(tmp_path))
    assert (found.settings.platform, found.diagnostics) == (LTP, ())


def test_a_platform_that_is_not_the_clusters(tmp_path: Path) -> None:
    profile = {"profileVersion": 1, "name": "lab", "platform": "ltp", "scheduler": "default"}
    (tmp_path / "lab.json").write_text(json.dumps(profile))
    text = "cluster: lab.json\nplatform: openpai\n"
    found = parse_configuration(text, folder=str(tmp_path))
    assert found.settings.platform is OPENPAI
    (one,) = found.diagnostics
    assert one.message == "the jobs are checked for 'openpai', but the cluster 'lab' runs LTP"
    assert apply_edits(text, one.fixes[0].edits) == "cluster: lab.json\nplatform: ltp\n"
    for version in ("ltp", "ltp/1.3"):
        assert not parse_configuration(f"cluster: lab.json\nplatform: {version}\n", folder=str(tmp_path)).diagnostics


def test_a_valid_job_for_ltp_is_checked_without_jsonschema() -> None:
    job = JOB % 1 + "jobType: training\nextras: {enableLocalStorage: {enabled: true, hostpath: /a, mntpath: /b}}\n"
    code = (
        "import sys, pai_lsp.document as d\n"
        "from pai_lsp.findings.diagnostic import Settings\n"
        "from pai_lsp.platform.platforms import platform_named\n"
        f"found = d.check(d.Document({job!r}, Settings(platform=platform_named('ltp'))))\n"
        "print([one.code for one in found if one.severity == 1], 'jsonschema' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "[] False\n"


def test_a_variable_of_the_platform_is_described_and_completed() -> None:
    text = (JOB % 1).replace("sleep 1", "echo $AZCOPY_AUTO_LOGIN_TYPE") + "extras: {allowAzCopy: true}\n"
    at = text.index("AZCOPY") + 3
    assert "allowAzCopy" in repr(hover(Document(text, Settings(platform=LTP)), at))
    assert hover(Document(text), at) is None
    for settings, is_offered in ((Settings(platform=LTP), True), (Settings(), False)):
        labels = [one.label for one in complete(Document(text.replace("_AUTO_LOGIN_TYPE", ""), settings), at + 3)]
        assert ("AZCOPY_MSI_CLIENT_ID" in labels) == is_offered


def test_expand_as_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (JOB % 1).replace("sleep 1", "echo <% $parameters.p %>") + "parameters: {p: 0123}\n"
    text += "extras:\n  com.microsoft.pai.runtimeplugin:\n    - plugin: dind\n"
    path = tmp_path / "a.pai.yaml"
    path.write_text(text)
    main(["expand", "--as-is", "--platform", "ltp", str(path)])
    assert re.search('"command": "echo 123"', capsys.readouterr().out)
    path.write_text(text.replace("dind", "ssh\n      parameters: {jobssh: true}"))
    main(["expand", "--as-is", str(path)])
    assert re.search('"command": "echo 83"', capsys.readouterr().out)


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ("{options: [--config, a]}", ["--config"]),
        ("{repo_uri: [a], options: [--config, a]}", ["--config"]),
        ("{repo_uri: 'ext::sh', options: [--depth=1]}", ["'ext::sh'"]),
        ("{repo_uri: {a: b}}", []),
    ],
)
def test_a_git_plugin_without_half_of_its_parameters(parameters: str, refused: list[str]) -> None:
    plugin = f"    - plugin: git\n      parameters: {parameters}\n"
    text = f"{JOB % 1}extras:\n  com.microsoft.pai.runtimeplugin:\n{plugin}"
    found = Document(text, Settings(platform=LTP)).diagnostics
    assert [text[one.span.start : one.span.end] for one in found if one.code == "git-option-refused"] == refused
