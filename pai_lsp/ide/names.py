"""The name at a cursor, and all its places: found without looking for every other name of a large job."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.definition import TYPED_FIELDS
from pai_lsp.ide.location import locate
from pai_lsp.nodes import Scalar
from pai_lsp.symbols import ALL_KINDS, SymbolKind, occurrence_at, occurrences

if TYPE_CHECKING:
    from pai_lsp.document import Document
    from pai_lsp.ide.location import Location
    from pai_lsp.symbols import Occurrence, Symbol

# Mappings whose keys are names, and keys whose values are.
_HOLDING_NAMES = frozenset({"parameters", "secrets", "taskRoles", "ports", "template_variables"})
_NAMING = frozenset({"name", "deployment", "taskroles", "template_variables"})
_NAMING_PREREQUISITES = frozenset({*TYPED_FIELDS, "prerequisites", "require"})
# What names stand in within a longer text.
_IN_TEXT = re.compile(r"<%|\{\{|PAI_|-[\d$]")


def name_at(document: Document, offset: int) -> Occurrence | None:
    """The name at a cursor."""
    kinds = _possible_kinds(document, locate(document, offset))
    return occurrence_at(_known(document, kinds), offset) if kinds else None


def places_of(document: Document, symbol: Symbol) -> list[Occurrence]:
    """Every place of a name, in the order of the text."""
    return [one for one in _known(document, frozenset({symbol.kind})) if one.symbol == symbol]


def _known(document: Document, kinds: frozenset[SymbolKind]) -> tuple[Occurrence, ...]:
    if kinds == ALL_KINDS or "occurrences" in vars(document):
        return document.occurrences
    return occurrences(document.job, kinds)


def _possible_kinds(document: Document, location: Location | None) -> frozenset[SymbolKind]:
    """What a place in the tree can name; all kinds where that is not plain to see."""
    if location is None or not isinstance(location.node, Scalar) or document.syntax.anchors:
        return ALL_KINDS
    path = [step for step in location.path if isinstance(step, str)]
    if _IN_TEXT.search(location.node.text) or not path:
        return ALL_KINDS
    if location.is_key:
        return ALL_KINDS if _HOLDING_NAMES.intersection(path[-2:-1]) else frozenset()
    if path[-1] in _NAMING_PREREQUISITES:
        return frozenset({SymbolKind.PREREQUISITE})
    return ALL_KINDS if path[-1] in _NAMING else frozenset()
