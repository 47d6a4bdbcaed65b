"""Pages of the documentation that come from the code: one for each rule, their index, and the schemas.

A hook of MkDocs (https://www.mkdocs.org/user-guide/configuration/#hooks); nothing is written into docs/.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files

from pai_lsp.platform.job_schema import published_schema
from pai_lsp.platform.tables import table
from pai_lsp.rules import all_rules

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

    from pai_lsp.findings.diagnostic import Rule


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages to those in docs/."""
    for rule in all_rules():
        files.append(File.generated(config, f"rules/{rule.code}.md", content=_page(rule)))
    files.append(File.generated(config, "rules/index.md", content=_index()))
    schemas = {
        "job": published_schema("job"),
        "definition": published_schema("definition"),
        "configuration": table("configuration.schema.json"),
    }
    for name, schema in schemas.items():
        content = json.dumps(schema, ensure_ascii=False, indent=2)
        files.append(File.generated(config, f"schemas/{name}.schema.json", content=content))
    return files


def _page(rule: Rule) -> str:
    """A rule's documentation; its examples are indented blocks of YAML there, and fenced ones here."""
    lines: list[str] = []
    in_example = False
    for line in f"{rule.documentation}\n".split("\n"):
        if line.startswith("    ") != in_example and (line or not in_example):
            lines.append("```" if in_example else "```yaml")
            in_example = not in_example
        lines.append(line.removeprefix("    ") if in_example else line)
    if in_example:
        lines.append("```")
    body = "\n".join(lines).replace("\n\n```\n", "\n```\n\n")
    silence = f"To ignore one finding, put `# pai-lsp: ignore[{rule.code}] reason` on its line or the line above."
    severity = rule.severity.label
    only = f" Only on {rule.platform.title}." if rule.platform else ""
    return f"# {rule.code}\n\nDefault severity: **{severity}**.{only} {silence}\n\n{body}\n\n[All rules](index.md)\n"


_INDEX = """\
# Rules

pai-lsp has {count} rules. *error*: the cluster rejects the job, or the job cannot do what it says. *warning*: the job
runs, but not as intended. *information*: useful to know. *hint*: unused or outdated.

| rule | severity | what is wrong |
|---|---|---|
{rows}
"""


def _index() -> str:
    rows = [f"| [{rule.code}]({rule.code}.md) | {rule.severity.label} | {rule.summary} |" for rule in all_rules()]
    return _INDEX.format(count=len(rows), rows="\n".join(rows))
