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
    from collections.abc import Iterator, Mapping

    from pai_lsp.cli.report.results import PlacedDiagnostic, Results
    from pai_lsp.cli.report.terminal import Terminal
    from pai_lsp.findings.diagnostic import Diagnostic

_GITHUB_LEVELS = dict(zip(Severity, ("error", "warning", "notice", "notice"), strict=True))
_GITHUB = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_GITHUB_PROPERTY = _GITHUB | str.maketrans({":": "%3A", ",": "%2C"})
_AZURE = _GITHUB | str.maketrans({"%": "%AZP25"})
_AZURE_PROPERTY = _AZURE | str.maketrans({"]": "%5D", ";": "%3B"})


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
    commands: list[str] = []
    for item in placed(results):
        diagnostic = item.diagnostic
        properties = {"title": f"pai-lsp: {diagnostic.code}", "file": item.path, "line": item.start.line}
        properties["endLine"] = item.end.line
        if item.start.line == item.end.line:
            properties |= {"col": item.start.column, "endColumn": max(item.end.column, item.start.column)}
        listed = ",".join(_listed(properties, _GITHUB_PROPERTY))
        commands.append(f"::{_GITHUB_LEVELS[diagnostic.severity]} {listed}::{_message(diagnostic, _GITHUB)}\n")
    return "".join(commands)


def azure(results: Results) -> str:
    """One logging command for each finding; empty without findings."""
    commands: list[str] = []
    for item in placed(results):
        diagnostic = item.diagnostic
        properties = {
            "type": "error" if diagnostic.severity is Severity.ERROR else "warning",
            "sourcepath": item.path,
            "linenumber": item.start.line,
            "columnnumber": item.start.column,
            "code": diagnostic.code,
        }
        listed = ";".join(_listed(properties, _AZURE_PROPERTY))
        commands.append(f"##vso[task.logissue {listed};]{_message(diagnostic, _AZURE)}\n")
    return "".join(commands)


def _listed(properties: Mapping[str, object], escapes: dict[int, str]) -> Iterator[str]:
    return (f"{name}={visible(str(value).translate(escapes))}" for name, value in properties.items())


def _message(diagnostic: Diagnostic, escapes: dict[int, str]) -> str:
    return visible(f"{diagnostic.message} ({diagnostic.explained})".translate(escapes))


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
