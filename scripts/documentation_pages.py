"""Pages of the documentation that come from the code: one for each rule, their index, the schemas and the playground.

A hook of MkDocs (https://www.mkdocs.org/user-guide/configuration/#hooks); nothing is written into docs/.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files

from pai_lsp.cluster.exit_code_text import retry_text
from pai_lsp.findings.diagnostic import RuleStatus, Stage
from pai_lsp.platform.job_schema import published_schema
from pai_lsp.platform.tables import exit_codes, table
from pai_lsp.rules import all_rules, families
from pai_lsp.rules.record import MEANINGS, facts, fix_kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig

    from pai_lsp.findings.diagnostic import Rule


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages to those in docs/."""
    for rule in all_rules():
        files.append(File.generated(config, f"rules/{rule.code}.md", content=_page(rule)))
        for former in rule.former:
            content = f"# {former}\n\nNow named [{rule.code}]({rule.code}.md); the former code still works.\n"
            files.append(File.generated(config, f"rules/{former}.md", content=content))
    files.append(File.generated(config, "rules/index.md", content=_index()))
    files.append(File.generated(config, "exit-codes.md", content=_exit_codes()))
    picture = (Path(config.docs_dir) / _STAGES).read_text(encoding="utf-8")
    for name, media in (("light", "not all"), ("dark", "all")):
        content = picture.replace("(prefers-color-scheme: dark)", media)
        files.append(File.generated(config, _STAGES.replace(".svg", f"-{name}.svg"), content=content))
    schemas = {
        "job": published_schema("job"),
        "definition": published_schema("definition"),
        "configuration": table("configuration.schema.json"),
    }
    for name, schema in schemas.items():
        content = json.dumps(schema, ensure_ascii=False, indent=2)
        files.append(File.generated(config, f"schemas/{name}.schema.json", content=content))
    for name, path in _playground(Path(config.config_file_path or "").parent / "build" / "playground"):
        files.append(File.generated(config, f"{_PLAYGROUND}/{name}", **path))
    return files


# The picture has the colors of the reader's system; the site has two, because its readers choose the colors themselves.
_STAGES = "images/job-stages.svg"
# Where the page "What happens to your job" describes who finds the mistakes of a rule.
_EXPLAINED = {
    Stage.SERVER: "the-rest-server",
    Stage.CLUSTER: "the-scheduler",
    Stage.RUNTIME: "the-runtime",
    Stage.COMMANDS: "the-container",
}
# The address of the page in the site; docs/playground.md, which links to it, is `playground/`.
_PLAYGROUND = "check"
_NOT_BUILT = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>pai-lsp playground</title>
<p>This site was built without the playground. <code>make playground docs</code> builds it with the playground.</p>
"""


def _playground(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The files of the page that checks jobs in the browser; without them, a page that reports this."""
    if not (folder / "index.html").exists():
        yield "index.html", {"content": _NOT_BUILT}
        return
    for path in folder.iterdir():
        yield path.name, {"abs_src_path": str(path)}


def on_page_markdown(markdown: str, *, page: object, config: object, files: Files) -> str:
    """Show each picture of the editor in the colors of the reader's choice; the pages name the light one."""
    del page, config

    def both(found: re.Match[str]) -> str:
        alt, shown = found.groups()
        if shown == _STAGES:
            light, dark = (shown.replace(".svg", f"-{name}.svg") for name in ("light", "dark"))
        else:
            light, dark = shown, f"{shown.removesuffix('.png')}-dark.png"
        if files.get_file_from_path(dark) is None:
            return found[0]
        return f"![{alt}]({light}#only-light)\n![{alt}]({dark}#only-dark)"

    return _PICTURE.sub(both, markdown)


_PICTURE = re.compile(r"!\[([^\]]*)\]\((images/(?:vscode/)?[\w-]+\.(?:png|svg))\)")


def on_post_page(output: str, *, page: object, config: object) -> str:
    """Name the search for screen readers, and let the keyboard scroll tables that are wider than a phone."""
    del page, config
    search = 'data-md-component="search" role="dialog"'
    output = output.replace(search, f'{search} aria-label="Search"')
    return output.replace("</body>", f"<script>{_WIDE_TABLES}</script></body>")


# The theme puts each table into a region that scrolls, after the page is loaded.
_WIDE_TABLES = """
addEventListener("load", () => {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0
  }
})
"""


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
    head = f"Default severity: **{severity}**.{only} " + " ".join(facts(rule)[:2])
    more = "\n".join(f"* {fact}" for fact in facts(rule)[2:])
    where = f"#{_EXPLAINED[rule.stage]}" if rule.stage in _EXPLAINED else ""
    links = f"[What happens to your job](../what-happens.md{where}) · [All rules](index.md)"
    return f"# {rule.code}\n\n{head}\n\n{body}\n\n## Record\n\n{more}\n\n{silence}\n\n{links}\n"


_EXIT_CODES = """\
# Exit codes

The code that the platform reports for a task, and its reaction. A command that ends with another code is reported as
255, with its own code as `originUserExitCode`. [What happens to your job](what-happens.md#exit-codes-and-retries)
explains the order; `pai-lsp why CODE` prints the same.

| code | name | tried again | meaning | what to do |
|---|---|---|---|---|
"""


def _exit_codes() -> str:
    """All exit codes; the search of the site finds them."""
    rows = [
        f"| {one.code} | {one.phrase} | {retry_text(one)} | {one.description} | {one.hint} {one.trap} |\n"
        for _, one in sorted(exit_codes().items())
    ]
    return _EXIT_CODES + "".join(rows)


_INDEX = """\
# Rules

pai-lsp has {count} rules. *error*: the cluster rejects the job, or the job cannot work as written. *warning*: the job
runs, but not as intended. *information*: useful to know. *hint*: unused or outdated.

Fixes: *safe* ones are applied by `pai-lsp check --fix`; a *suggestion* is offered in the editor and applied with
`--unsafe-fixes`. The configuration, comments, `--select` and `--ignore` take the codes below and the names of families;
`commands` means the six families from `shell` to `programs`. `--select` and `--ignore` also take these consequences, so
that `--select refused` reports only what the platform refuses:

{consequences}

Rules in *preview* have found nothing in real jobs so far and are off; `--preview`, `preview: true` in the configuration
or their code in `rules` or `--select` switches them on.

[Versions](../versioning.md) says what a new version may change.
"""
_FAMILIES = {
    "text": "YAML syntax and characters",
    "structure": "Keys, values and names of a job",
    "prerequisites": "Prerequisites and the extended protocol",
    "plugins": "Runtime plugins",
    "platforms": "What differs between platforms",
    "templates": "Templates",
    "secrets": "Secrets",
    "resources": "Resources, images, scheduling and completion",
    "shell": "Commands as bash reads them",
    "packages": "Installing packages",
    "downloads": "Downloads and repositories",
    "launchers": "Launchers of many processes",
    "environment": "Environment variables",
    "programs": "Programs of a task",
    "cluster": "What fits a cluster",
    "mpijob": "MPIJob manifests",
    "files": "Files and comments",
}


def _index() -> str:
    consequences = "\n".join(f"* *{one.value}*: {meaning}." for one, meaning in MEANINGS.items())
    parts = [_INDEX.format(count=len(all_rules()), consequences=consequences)]
    for family, rules in families().items():
        parts.append(f"\n## {_FAMILIES[family]} {{#{family}}}\n\nFamily: `{family}`\n\n")
        parts.append("| rule | severity | consequence | fix | what is wrong |\n|---|---|---|---|---|\n")
        for rule in rules:
            fix = "" if (kind := fix_kind(rule)) == "none" else kind
            link = f"[{rule.code}]({rule.code}.md)" + (" (preview)" if rule.status is RuleStatus.PREVIEW else "")
            row = f"| {link} | {rule.severity.label} | {rule.consequence.value} | {fix} | {rule.summary} |\n"
            parts.append(row)
    return "".join(parts)
