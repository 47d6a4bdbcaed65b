"""The sources of a marketplace as the command line prints them: the number of definitions and their state."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from pai_lsp.catalog.catalog import Catalog


def print_sources(catalog: Catalog) -> None:
    """Print one line for each source: number of definitions, state, and skipped items."""
    if not catalog.sources:
        sys.stdout.write("no marketplace is configured, and there is no folder 'marketplace'\n")
    for source in catalog.sources:
        noun = "definition" if source.count == 1 else "definitions"
        note = f", {source.note}" if source.note else ""
        sys.stdout.write(visible(f"{catalog.displayed(source.label)}: {source.count} {noun}{note}") + "\n")
        for skipped in source.skipped:
            sys.stdout.write(visible(f"  skipped: {skipped}") + "\n")
    for page in catalog.pages.values():
        if page.text is not None:
            sys.stdout.write(visible(f"{page.text.path}: {page.note}") + "\n")


def report_lock_fault(catalog: Catalog) -> None:
    """Print on standard error why the lock file is not used, if so."""
    if catalog.lock is not None and catalog.lock.fault:
        sys.stderr.write(f"pai-lsp: {visible(catalog.lock.fault)}\n")


def sources_as_json(catalog: Catalog) -> list[dict[str, Any]]:
    """The sources, for programs."""
    return [
        {
            "source": catalog.displayed(source.label),
            "state": source.state.value,
            "note": source.note,
            "definitions": source.count,
            "notRead": list(source.skipped),
        }
        for source in catalog.sources
    ]
