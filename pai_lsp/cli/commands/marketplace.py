"""`pai-lsp marketplace`: lists, shows and refreshes definitions, and locks those that the jobs use."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pai_lsp.catalog.lock import definition_hash
from pai_lsp.catalog.sources import Surroundings, load_catalog
from pai_lsp.cli.commands.job_file import failed
from pai_lsp.cli.commands.marketplace_sources import print_sources, report_lock_fault, sources_as_json
from pai_lsp.cli.main import FINDINGS, WRONG_USAGE
from pai_lsp.document import Document
from pai_lsp.job.addresses import looks_like_address
from pai_lsp.job.lookup import LookupState
from pai_lsp.job.require_graph import not_looked_up, nothing_at
from pai_lsp.project.targets import Configurations, path_argument
from pai_lsp.rules import BY_CODE
from pai_lsp.source.edits import column
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pai_lsp.catalog.catalog import Catalog
    from pai_lsp.catalog.index import Place
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.lookup import LookupAnswer


_VERSION = 1
_STATES = {LookupState.FOUND: "found", LookupState.ABSENT: "absent", LookupState.UNKNOWN: "unknown"}
_WIDEST = 32

_DESCRIPTION = """\
List, show, refresh and lock the definitions that jobs refer to by marketplace:// and http(s):// addresses.

Sources are configured under 'marketplace' in .pai-lsp.yaml; a folder 'marketplace' needs no configuration.
Only 'refresh' uses the network. All other commands, including 'check' and 'expand', use folders and cached results.
"""

_EPILOG = """\
exit status:
  0  success      1  not found, not reachable, or not locked      2  wrong usage
  3  pai-lsp failed, or the lock file could not be written

examples:
  pai-lsp marketplace list mnist
  pai-lsp marketplace show marketplace://name/mnist
  pai-lsp marketplace refresh
  pai-lsp marketplace lock --check      in a build: is the lock file up to date?
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp marketplace`."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parts = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)

    def part(name: str, summary: str) -> argparse.ArgumentParser:
        added = parts.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        added.add_argument("--folder", type=path_argument, default=os.curdir, help="the project (default: this folder)")
        return added

    listing = part("list", "list the definitions, or those with a text in their name, type or summary")
    listing.add_argument("query", nargs="?", default="", metavar="QUERY", help="text to search for (default: list all)")
    showing = part("show", "show a definition and its source")
    showing.add_argument("reference", metavar="REF", help="an address or a name")
    for one in (listing, showing):
        one.add_argument("--format", choices=("text", "json"), default="text", help="output format (default: text)")
    part("refresh", "fetch definitions from the servers and from the web addresses that jobs use")
    locking = part("lock", "pin the definitions that the jobs use in .pai-lsp.lock")
    locking.add_argument(
        "paths", nargs="*", type=path_argument, metavar="PATH", help="job files or folders (default: the project)"
    )
    locking.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if the file is not up to date"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the action."""
    if not Path(arguments.folder).is_dir():
        return failed("marketplace", f"no such folder: {visible(arguments.folder)}", WRONG_USAGE)
    if arguments.action in {"refresh", "lock"}:
        from pai_lsp.cli.commands import marketplace_project  # noqa: PLC0415 - reads every job of the project

        return marketplace_project.run(arguments)
    setup = Configurations(BY_CODE).setup_of(arguments.folder)
    catalog = load_catalog(setup, Surroundings(base=str(Path.cwd())))
    report_lock_fault(catalog)
    return _show(catalog, arguments) if arguments.action == "show" else _list(catalog, arguments)


def _list(catalog: Catalog, arguments: argparse.Namespace) -> int:
    query = arguments.query.lower()
    places = [
        place
        for place in catalog.places()
        if any(query in words.lower() for words in (place.card.name, place.card.type, place.card.summary))
    ]
    if arguments.format == "json":
        _print_json(
            {"sources": sources_as_json(catalog), "definitions": [_place_as_json(catalog, place) for place in places]}
        )
    else:
        _print_table(places)
        print_sources(catalog)
    if query and not places:
        sys.stderr.write(f"no definition in the marketplace contains '{visible(arguments.query)}'\n")
        return FINDINGS
    return 0


def _show(catalog: Catalog, arguments: argparse.Namespace) -> int:
    reference = arguments.reference
    if not looks_like_address(reference):
        reference = f"marketplace://name/{reference}"
    answer = catalog.find(reference)
    if arguments.format == "json":
        _print_json(
            {
                "reference": reference,
                "state": _STATES[answer.state],
                "note": answer.changed or answer.note,
                "path": answer.path,
                "definitions": [_definition_as_json(catalog, answer, one) for one in answer.definitions],
            }
        )
    elif answer.state is LookupState.FOUND:
        for number, definition in enumerate(answer.definitions):
            sys.stdout.write("\n" if number else "")
            _print_definition(catalog, answer, definition)
    if answer.state is LookupState.FOUND:
        return 0
    if answer.state is LookupState.UNKNOWN:
        return failed("marketplace", visible(not_looked_up(reference, answer.note)), FINDINGS)
    message = nothing_at(reference, catalog.names())
    note = f" ({answer.note})" if answer.note not in message else ""
    return failed("marketplace", visible(message + note), FINDINGS)


def _print_table(places: Sequence[Place]) -> None:
    rows = [("NAME", "TYPE", "TO FILL", "SUMMARY")]
    rows += [
        (place.card.name, place.card.type or "-", ", ".join(place.card.variables) or "-", place.card.summary)
        for place in places
    ]
    if not places:
        return
    shown = [tuple(map(visible, row)) for row in rows]
    widths = [min(_WIDEST, max(len(row[column]) for row in shown)) for column in range(3)]
    for row in shown:
        line = "  ".join([*(word.ljust(width) for word, width in zip(row, widths, strict=False)), row[3]])
        sys.stdout.write(line.rstrip() + "\n")
    sys.stdout.write("\n")


def _place_as_json(catalog: Catalog, place: Place) -> dict[str, Any]:
    card = place.card
    return {
        "reference": place.reference,
        "name": card.name,
        "type": card.type,
        "summary": card.summary,
        "variables": list(card.variables),
        "item": place.text.item,
        "source": catalog.told(place.shelf.label),
    }


def _definition_as_json(catalog: Catalog, answer: LookupAnswer, definition: Definition) -> dict[str, Any]:
    return {
        "name": definition.name,
        "type": definition.type,
        "variables": [variable.name for variable in definition.template_variables],
        "requires": [requirement.reference.name for requirement in definition.requirements],
        "sha256": definition_hash(definition),
        "text": _written(catalog, answer, definition),
    }


def _print_definition(catalog: Catalog, answer: LookupAnswer, definition: Definition) -> None:
    facts = [
        ("name", definition.name),
        ("type", definition.type),
        ("from", answer.path or ""),
        ("state", answer.changed or answer.note),
        ("to fill", ", ".join(variable.name for variable in definition.template_variables)),
        ("requires", ", ".join(requirement.reference.name for requirement in definition.requirements)),
        ("sha256", definition_hash(definition)),
    ]
    for label, fact in facts:
        if fact:
            sys.stdout.write(f"{label + ':':<10}{visible(fact)}\n")
    text = _written(catalog, answer, definition)
    sys.stdout.write("\n" + "".join(f"{visible(line)}\n" for line in text.splitlines()))


def _written(catalog: Catalog, answer: LookupAnswer, definition: Definition) -> str:
    """The text of a definition without indentation and without passwords; for a locked one, its values as JSON."""
    text = catalog.text(answer.path or "")
    span = definition.node.span
    if text is None or span.end > len(text):
        written = json.dumps(plain_value(definition.node), indent=2, ensure_ascii=False, default=str)
    else:
        margin = column(text, span.start)
        lines = text[span.start : span.end].rstrip().splitlines()
        written = "\n".join([*lines[:1], *(line[margin:] if not line[:margin].strip() else line for line in lines[1:])])
    return Document(written).as_definitions(is_wanted=True).job.hidden.without(written)


def _print_json(content: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"version": _VERSION, **content}, indent=1, default=str) + "\n")
