"""Findings as lines for programs: `concise` for editors and grep, `github` and `azure` for annotations; and JUnit.

Source of the workflow commands: docs.github.com, "Workflow commands for GitHub Actions"; the escapes are those of
actions/toolkit, packages/core/src/command.ts. GitHub shows ten annotations of each level for each step, and ignores the
columns of findings over several lines (https://docs.github.com/en/rest/checks/runs, `start_column`).

Source of the logging commands: learn.microsoft.com, "Logging commands", `task.logissue`; the escapes are those of
azure-pipelines-task-lib, taskcommand.ts.

JUnit's XML has no standard; the elements and attributes here are those of the schema of Jenkins' xunit plugin
(junit-10.xsd), which GitLab, Azure Pipelines and Jenkins read: a suite for each file, a failed case for each finding,
and one good case for a file without findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.cli.report.results import placed
from pai_lsp.cli.report.terminal import Style
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from pai_lsp.cli.report.results import PlacedDiagnostic, Results
    from pai_lsp.cli.report.terminal import Terminal

_GITHUB_LEVELS = dict(zip(Severity, ("error", "warning", "notice", "notice"), strict=True))


def concise(results: Results, terminal: Terminal) -> str:
    """One line for each finding, `path:line:column: severity[code] message`; empty without findings."""
    lines: list[str] = []
    for item in placed(results):
        diagnostic = item.diagnostic
        style = Style[diagnostic.severity.name]
        label = terminal.styled(diagnostic.severity.label, style)
        code = terminal.linked(diagnostic.code, diagnostic.url)
        where = f"{visible(item.path)}:{item.start.line}:{item.start.column}"
        lines.append(f"{terminal.styled(where, Style.STRONG)}: {label}[{code}] {visible(diagnostic.message)}\n")
    return "".join(lines)


def github(results: Results) -> str:
    """One workflow command for each finding; empty without findings."""
    return "".join(f"{_github_command(item)}\n" for item in placed(results))


def _github_command(item: PlacedDiagnostic) -> str:
    diagnostic = item.diagnostic
    properties = {"title": f"pai-lsp: {diagnostic.code}", "file": item.path, "line": str(item.start.line)}
    properties["endLine"] = str(item.end.line)
    if item.start.line == item.end.line:
        properties["col"] = str(item.start.column)
        properties["endColumn"] = str(max(item.end.column, item.start.column))
    listed = ",".join(f"{name}={visible(_escaped_property(value))}" for name, value in properties.items())
    message = f"{diagnostic.message} ({diagnostic.explained})"
    return f"::{_GITHUB_LEVELS[diagnostic.severity]} {listed}::{visible(_escaped(message))}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def azure(results: Results) -> str:
    """One logging command for each finding; empty without findings."""
    return "".join(f"{_azure_command(item)}\n" for item in placed(results))


def _azure_command(item: PlacedDiagnostic) -> str:
    diagnostic = item.diagnostic
    properties = {
        "type": "error" if diagnostic.severity is Severity.ERROR else "warning",
        "sourcepath": item.path,
        "linenumber": str(item.start.line),
        "columnnumber": str(item.start.column),
        "code": diagnostic.code,
    }
    listed = ";".join(f"{name}={_escaped_azure_property(value)}" for name, value in properties.items())
    message = _escaped_azure(f"{diagnostic.message} ({diagnostic.explained})")
    return f"##vso[task.logissue {listed};]{visible(message)}"


def _escaped_azure(text: str) -> str:
    return text.replace("%", "%AZP25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_azure_property(text: str) -> str:
    return visible(_escaped_azure(text).replace("]", "%5D").replace(";", "%3B"))


def junit(results: Results) -> str:
    """The XML document."""
    from xml.etree import ElementTree as ET  # noqa: PLC0415 - the other formats do not need it

    found: dict[str, list[PlacedDiagnostic]] = {file.path: [] for file in results.files}
    for item in placed(results):
        found[item.path].append(item)
    count = sum(map(len, found.values()))
    cases = sum(max(len(items), 1) for items in found.values())
    root = ET.Element("testsuites", name="pai-lsp", tests=str(cases), failures=str(count), errors="0")
    for path, items in found.items():
        name = visible(path)
        suite = ET.SubElement(root, "testsuite", name=name, tests=str(max(len(items), 1)), failures=str(len(items)))
        suite.set("errors", "0")
        if not items:
            ET.SubElement(suite, "testcase", name="pai-lsp", classname=name)
        for item in items:
            diagnostic, place = item.diagnostic, f"{item.start.line}:{item.start.column}"
            case = ET.SubElement(suite, "testcase", name=f"{diagnostic.code} at {place}", classname=name)
            message = visible(diagnostic.message)
            failure = ET.SubElement(case, "failure", type=diagnostic.severity.label, message=message)
            failure.text = f"{name}:{place}: {message} ({diagnostic.explained})"
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'
