"""Links to what a job names elsewhere: images on Docker Hub, data and repositories on the web, items of a marketplace.

Links are made from the text and the catalog alone, without asking whether they lead anywhere. An address with a
template, a variable or a password in it is not a link.
"""

from __future__ import annotations

from pai_lsp.catalog.remote_sources import item_page
from pai_lsp.job.definition import name_span
from pai_lsp.platform.image_addresses import image_page
from pai_lsp.source.content import mapped
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.patterns import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.document import Document
    from pai_lsp.source.text import Span

# An address in a sentence or a command ends before these characters.
_ADDRESS = lazy_pattern(r"(?<![\w+.-])(?:https?|git|ssh)://[^\s'\"<>`\\^{}|;,\]]+")
_GIT = lazy_pattern(r"(?<![\w./@:-])git@([\w.-]+\.[a-z]{2,}):([\w./~-]+)")
_TRAILING = ".,;:!?)&"
_UNFILLED = lazy_pattern(r"\$|<%|\{\{")


@dataclass(frozen=True, slots=True)
class WebLink:
    """A place, the address that it leads to, and words for it."""

    span: Span
    address: str
    tooltip: str


def links(document: Document) -> list[WebLink]:
    """The links of a document, by place."""
    hidden = document.job.hidden
    found: dict[Span, WebLink] = {}
    for link in (*_images(document), *_items(document), *_addresses(document)):
        if not hidden.holds(link.span) and not hidden.shows(link.address):
            found.setdefault(link.span, link)
    return sorted(found.values(), key=lambda link: link.span)


def _images(document: Document) -> Iterator[WebLink]:
    for definition in document.job.definitions:
        uri = definition.node.get("uri")
        if definition.type == "dockerimage" and isinstance(uri, Scalar):
            page = image_page(uri.text)
            if page:
                yield WebLink(name_span(uri), page, "Open the image on Docker Hub")


def _items(document: Document) -> Iterator[WebLink]:
    """The references to what a marketplace server has."""
    job = document.job
    required = (one.reference for definition in job.definitions for one in definition.requirements)
    for reference in (*(one for role in job.task_roles for one in role.prerequisites), *required):
        if reference.is_address and (page := item_page(job.lookup.find(reference.name).path or "")):
            yield WebLink(reference.span, page, "Open the page in the marketplace")


def _addresses(document: Document) -> Iterator[WebLink]:
    """The addresses in all scalars; `marketplace://` is followed by going to the definition."""
    for scalar in document.syntax.scalars:
        if "://" not in scalar.text and "git@" not in scalar.text:
            continue
        text = mapped(document.text, scalar)
        for start, end, address in _in_text(scalar.text):
            yield WebLink(text.span(start, end), address, "Open the address")


def _in_text(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and meaning of each address in a text."""
    for match in _ADDRESS.finditer(text):
        written = match[0].rstrip(_TRAILING)
        end = match.start() + len(written)
        host = written.partition("://")[2].partition("/")[0]
        goes_on = _UNFILLED.match(text, end) or _UNFILLED.search(written)
        is_account = "@" in host and not host.startswith("git@")
        if host.strip("/") and not goes_on and not is_account:
            yield match.start(), end, _page(written)
    for match in _GIT.finditer(text):
        if not _UNFILLED.match(text, match.end()):
            yield match.start(), match.end(), f"https://{match[1]}/{match[2]}"


def _page(address: str) -> str:
    """What a browser can open: a repository's page for what only git understands."""
    scheme, _, rest = address.partition("://")
    if scheme not in {"git", "ssh"}:
        return address
    host, slash, path = rest.removeprefix("git@").partition("/")
    return f"https://{host.partition(':')[0]}{slash}{path}"
