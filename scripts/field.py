"""Runs all rules over folders of real jobs, MPIJob manifests and shell scripts, to judge how often each rule is right.

    python scripts/field.py FOLDER... [--out FILE] [--before FILE] [--sample N] [--only CODE,...] [--severity NAME]

Prints for each rule the files in which it found something, its causes (one a finding), its findings (with the related
places of each), and a sample of them, each with its line. `--out` keeps all findings, one JSON object a line.
`--before` names those that another version kept: what was added and taken away since is printed. A rule that is off by
default is asked as well, and marked "preview". A shell script is checked as the commands of a task role with 8 GPUs,
and with nine arguments. Nothing is run, no configuration is read, nothing is requested, and values of secrets are
hidden.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import textwrap
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pai_lsp.cli.report.results import checked_file
from pai_lsp.document import Document, check
from pai_lsp.findings.diagnostic import RuleStatus, Settings, Severity
from pai_lsp.rules import all_rules
from pai_lsp.source.text import LineIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

RULES = {rule.code: rule for rule in all_rules()}
PREVIEWS = {code for code, rule in RULES.items() if rule.status is RuleStatus.PREVIEW}
# The lines of a job before those of a script.
JOB = """\
protocolVersion: 2
name: script
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: registry.example.com/image:1.0}
taskRoles:
  script:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 8, memoryMB: 65536, gpu: 8}
    commands:
      - set -- a b c d e f g h i
      - |2-
"""
# What depends on the instances and GPUs of that job, of which the script says nothing.
ASSUMED = frozenset({"launch-nodes-mismatch", "cuda-devices", "processes-exceed-gpu", "mpi-too-many-processes"})
# A script that bash does not run.
OTHER_SHELL = re.compile(r"#!.*\b(?:zsh|fish|t?csh)\b")
# Of all that was added or taken away, so many are printed.
MOST_SHOWN = 60


def main() -> None:
    """Print the table, and the difference to another version."""
    arguments = _arguments()
    lowest = next(one for one in Severity if one.label == arguments.severity)
    counts: Counter[str] = Counter()
    found: list[dict[str, Any]] = []
    for path in _files(arguments.folders):
        document = _document(path)
        counts["files"] += 1
        if document is None:
            continue
        counts["checked"] += 1
        found += [one for one in _findings(path, document) if Severity[one["severity"].upper()] <= lowest]
    found = [one for one in found if not arguments.only or one["code"] in arguments.only.split(",")]
    print(f"{counts['files']} files, {counts['checked']} of them jobs, manifests or scripts; {len(found)} findings")
    _print_table(found, arguments.sample)
    if arguments.before and Path(arguments.before).exists():
        _print_difference(Path(arguments.before), found)
    if arguments.out:
        Path(arguments.out).write_text("".join(f"{json.dumps(one)}\n" for one in found), encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--out", metavar="FILE")
    parser.add_argument("--before", metavar="FILE")
    parser.add_argument("--sample", type=int, default=2, metavar="N")
    parser.add_argument("--only", default="", metavar="CODES")
    parser.add_argument("--severity", choices=[one.label for one in Severity], default="hint")
    return parser.parse_args()


def _files(folders: list[str]) -> Iterator[Path]:
    for folder in map(Path, folders):
        inside = sorted(folder.rglob("*")) if folder.is_dir() else [folder]
        yield from (path for path in inside if path.suffix in {".yaml", ".yml", ".sh"} and path.is_file())


def _document(path: Path) -> Document | None:
    """A file as a document; None if it is neither a job, a manifest nor a script."""
    text = path.read_bytes().decode(errors="replace")
    if path.suffix == ".sh":
        if OTHER_SHELL.match(text):
            return None
        text = JOB + textwrap.indent(text, " " * 8, lambda _: True)
    document = Document(text, Settings(previews=True), path.name)
    return document if document.is_job or document.is_mpijob else None


def _findings(path: Path, document: Document) -> Iterator[dict[str, Any]]:
    """The findings of a file, as they are kept: with the line of the file, and no value of a secret."""
    before = JOB.count("\n") if path.suffix == ".sh" else 0
    file = checked_file(document, check(document))
    lines = LineIndex(file.text)
    for one in file.diagnostics:
        if path.suffix == ".sh" and one.code in ASSUMED:
            continue
        line = document.lines.line_of(one.span.start)
        yield {
            "path": str(path),
            "line": line + 1 - before,
            "code": one.code,
            "severity": one.severity.label,
            "message": one.message,
            "places": 1 + len(one.related),
            "source": lines.line_text(line).strip()[:200],
        }


def _print_table(found: list[dict[str, Any]], sample: int) -> None:
    by_rule: dict[tuple[Severity, str], list[dict[str, Any]]] = defaultdict(list)
    for one in found:
        by_rule[Severity[one["severity"].upper()], one["code"]].append(one)
    print(f"{'rule':<40} {'severity':<12} {'files':>6} {'causes':>7} {'findings':>9}")
    for (severity, code), ones in sorted(by_rule.items(), key=lambda row: (row[0][0], -len(row[1]), row[0][1])):
        files, places = len({one["path"] for one in ones}), sum(one["places"] for one in ones)
        mark = " preview" if code in PREVIEWS else ""
        print(f"{code:<40} {severity.label:<12} {files:>6} {len(ones):>7} {places:>9}{mark}")
        # The same sample in each run, and of many files.
        for one in random.Random(code).sample(ones, min(sample, len(ones))):  # noqa: S311 - nothing secret
            _print_one("   ", one)
    silent = len(RULES) - len({code for _, code in by_rule})
    print(f"{silent} of {len(RULES)} rules found nothing")


def _print_one(mark: str, one: dict[str, Any]) -> None:
    print(f"{mark} {one['path']}:{one['line']}: {one['code']}: {one['message']}\n{' ' * len(mark)}   | {one['source']}")


def _print_difference(before: Path, found: list[dict[str, Any]]) -> None:
    """What another version found and this one does not, and the other way round; moved lines are the same finding."""
    old = [json.loads(line) for line in before.read_text(encoding="utf-8").splitlines()]
    for title, mark, here, there in (("added", "+", found, old), ("taken away", "-", old, found)):
        known = Counter(map(_identity, there))
        rest = [one for one in here if _is_left(known, _identity(one))]
        print(f"\n{title}: {len(rest)}")
        for code, number in Counter(one["code"] for one in rest).most_common():
            print(f"  {mark}{number} {code}")
        for one in rest[:MOST_SHOWN]:
            _print_one(f"  {mark}", one)


def _identity(one: dict[str, Any]) -> tuple[str, ...]:
    return one["path"], one["code"], one["severity"], one["message"], one["source"]


def _is_left(known: Counter[tuple[str, ...]], key: tuple[str, ...]) -> bool:
    known[key] -= 1
    return known[key] < 0


if __name__ == "__main__":
    main()
