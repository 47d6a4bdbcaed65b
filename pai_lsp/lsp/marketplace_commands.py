"""The server's commands about the marketplace: list, insert, refresh, and the text behind an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from lsprotocol.converters import get_converter
from pygls.exceptions import JsonRpcInvalidParams

from pai_lsp.catalog.catalog import Catalog
from pai_lsp.ide.marketplace_insertion import insertion
from pai_lsp.lookup import LookupState
from pai_lsp.lsp.commands import about_document
from pai_lsp.lsp.convert import workspace_edit
from pai_lsp.lsp.features import MARKETPLACE_INSERT
from pai_lsp.lsp.session import ARRIVED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pai_lsp.lsp.open_document import OpenDocument
    from pai_lsp.lsp.session import Session

# An editor shows them in one list that a person searches.
_MOST = 20_000


async def listed(session: Session, arguments: Sequence[Any]) -> list[dict[str, Any]]:
    """The definitions that a document's job can name; without the URI of one, those of any project."""
    uri = str(arguments[0]) if arguments else ""
    documents = ARRIVED.get()
    lookups = [documents[uri].lookup] if uri in documents else session.marketplaces.lookups()
    offers = {offer.reference: offer for lookup in lookups for offer in lookup.offers("", _MOST)}
    return [
        {
            "reference": offer.reference,
            "name": offer.name,
            "type": offer.type,
            "summary": offer.summary,
            "variables": list(offer.variables),
        }
        for offer in offers.values()
    ]


def _inserted(document: OpenDocument, arguments: Sequence[Any]) -> lsp.WorkspaceEdit | None:
    position, reference, *more = arguments if len(arguments) > 1 else (None, None)
    values = {} if not more or more[0] is None else more[0]
    if not isinstance(reference, str) or not isinstance(values, dict):
        raise JsonRpcInvalidParams(f"'{MARKETPLACE_INSERT}' expects a URI, a position, a reference and values")
    try:
        at = get_converter().structure(position, lsp.Position)
    except Exception as error:
        raise JsonRpcInvalidParams(f"'{MARKETPLACE_INSERT}' expects a position") from error
    answer = document.lookup.find(reference)
    if answer.state is not LookupState.FOUND or not answer.definitions:
        note = f": {answer.note}" if answer.note else ""
        raise JsonRpcInvalidParams(f"'{reference}' can not be inserted, {answer.state.value}{note}")
    definition = answer.definitions[0]
    declared = {variable.name for variable in definition.template_variables}
    given = {name: value for name, value in values.items() if name in declared}
    offset = document.places.offset(at)
    edits = insertion(document.document.job, offset, reference, definition.name, given)
    if not edits:
        return None
    return workspace_edit(edits, document.uri, document.version, document.places, document.client)


# The edit that puts a definition into a job: the arguments are its URI, a position, the definition's address, and the
# values of its template variables by name.
inserted = about_document(_inserted)


async def refreshed(session: Session, arguments: Sequence[Any]) -> dict[str, str]:
    """Ask all servers again; how the marketplaces are then."""
    del arguments
    status = await session.marketplaces.refresh()
    return {"state": status.state, "note": status.note}


async def text(session: Session, arguments: Sequence[Any]) -> str | None:
    """The text that the catalogue keeps for an address, for a view that nobody can write in."""
    path = str(arguments[0]) if arguments else ""
    catalogs = [lookup for lookup in session.marketplaces.lookups() if isinstance(lookup, Catalog)]
    return next((found for catalog in catalogs if (found := catalog.text(path)) is not None), None)
