"""From a name to its places: definition, references, highlights, renaming, who needs whom, and links to the web.

A rename is refused if the new name would break the job. Who needs whom follows the roles' lists and `require`, in the
catalog as well. Links lead to images on Docker Hub, data and repositories on the web, and items of a marketplace. They
are made from the text and the catalog alone, without asking whether they lead anywhere. An address with a template, a
variable or a password in it is not a link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pai_lsp.catalog.remote_sources import item_page
from pai_lsp.ide.cursor import Cursor
from pai_lsp.job.definition import Definition, name_span
from pai_lsp.job.lookup import LookupState
from pai_lsp.job.symbols import Symbol, SymbolKind, meant_prerequisite, rename_prerequisite, renaming_edits
from pai_lsp.job.this_lookup import is_this, this_answer
from pai_lsp.job.variable_places import RESERVED_PORTS
from pai_lsp.platform.image_addresses import image_page
from pai_lsp.safe_fixes import new_errors
from pai_lsp.source.content import mapped
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import plural
from pai_lsp.source.text import apply_edits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.document import Document
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.symbols import Occurrence
    from pai_lsp.job.template_uses import TemplateUse
    from pai_lsp.source.text import Span, TextEdit


@dataclass(frozen=True, slots=True)
class DefinitionPlace:
    """A place to go to: `span` is what to select, `whole` all that belongs to it; `path` is None for the same file.

    `origin` is the word in this file that leads there.
    """

    span: Span
    whole: Span
    origin: Span
    path: str | None = None


def definitions(document: Document, offset: int) -> list[DefinitionPlace]:
    """Where the name at a cursor is defined."""
    cursor = Cursor(document, offset)
    here = cursor.name
    if here is not None:
        places = (one.span for one in places_of(document, here.symbol) if one.is_definition)
        return [DefinitionPlace(span, _whole(document, span), here.span) for span in places]
    if cursor.template is not None:
        return list(_bound_prerequisite(document.job, cursor.template, offset))
    return list(_outside(cursor))


def references(document: Document, offset: int, *, with_definition: bool = True) -> list[Span]:
    """Every place of the name at a cursor."""
    return [one.span for one in highlights(document, offset) if with_definition or not one.is_definition]


def highlights(document: Document, offset: int) -> list[Occurrence]:
    """The places of the name at a cursor; the definition among them is the one that is written to."""
    here = Cursor(document, offset).name
    return places_of(document, here.symbol) if here is not None else []


def _whole(document: Document, span: Span) -> Span:
    """The entry or definition that a defining name belongs to."""
    for definition in document.job.definitions:
        if definition.name_scalar and definition.name_span == span:
            return definition.node.span
    location = Cursor(document, span.start).location
    return location.entry.span if location and location.is_key and location.entry else span


def _bound_prerequisite(job: Job, use: TemplateUse, offset: int) -> Iterator[DefinitionPlace]:
    """`$data` leads to the prerequisite that the role's field names, `this.x` to the key that it finds."""
    steps = use.tag.steps
    if not steps:
        return
    member = str(steps[1].name) if len(steps) > 1 and use.step_span(0).end < offset else ""
    if is_this(use.tag) and use.definition is not None:
        answer = this_answer(job.require_graph, use.definition, use.tag)
        if answer.node is not None and answer.holder is not None:
            place = answer.entry.key.span if answer.entry else answer.node.span
            whole = answer.entry.span if answer.entry else answer.node.span
            yield DefinitionPlace(place, whole, use.content_span, job.require_graph.path(answer.holder))
        return
    field = str(steps[0].name).removeprefix("$")
    roles = (use.role,) if use.role else job.roles_listing(use.definition) if use.definition else job.task_roles
    for role in roles:
        definition = job.named_by(role, field)
        if definition is not None:
            entry = definition.node.entry(member) if member else None
            span = entry.key.span if entry else definition.name_span
            yield DefinitionPlace(span, entry.span if entry else definition.node.span, use.content_span)


def _outside(cursor: Cursor) -> Iterator[DefinitionPlace]:
    """`marketplace://…` leads into the catalog's file."""
    location = cursor.location
    if location is None or not isinstance(location.node, Scalar) or "://" not in location.node.text:
        return
    answer = cursor.document.job.lookup.find(location.node.text)
    if answer.state is LookupState.FOUND and answer.path is not None:
        for definition in answer.definitions:
            yield DefinitionPlace(definition.name_span, definition.node.span, location.node.span, answer.path)


def places_of(document: Document, symbol: Symbol) -> list[Occurrence]:
    """Every place of a name, in the order of the text."""
    return [one for one in document.occurrences if one.symbol == symbol]


_IN_TEMPLATE = lazy_pattern(r"[^\s.\[\]<>%{}'\"#:&*!|,\\]+")


class RenameRefused(Exception):  # noqa: N818 - the editor shows it as an answer, not as a fault
    """A rename that would break the job; its text is the reason."""


def prepare(document: Document, offset: int) -> Occurrence:
    """The name that a rename at the cursor would change.

    Raises:
        RenameRefused: without a name at the cursor, or if this file does not define it.
    """
    here = Cursor(document, offset).name
    if here is None:
        raise RenameRefused("only names that a job defines can be renamed, such as task roles and parameters")
    if not any(one.is_definition for one in places_of(document, here.symbol)):
        raise RenameRefused(f"this file does not define '{document.job.hidden.without(here.symbol.name)}'")
    return here


def rename(document: Document, offset: int, new_name: str) -> tuple[TextEdit, ...]:
    """The edits that give the thing at the cursor another name.

    Raises:
        RenameRefused: where there is nothing to rename, or the job would have an error that it does not have now.
    """
    here = prepare(document, offset)
    symbol = here.symbol
    if new_name == symbol.name:
        return ()
    _check(document, symbol, new_name)
    if symbol.kind is SymbolKind.PREREQUISITE and (meant := meant_prerequisite(document.job, here)):
        edits = rename_prerequisite(document.job, meant, new_name)
    else:
        edits = renaming_edits(document.job, places_of(document, symbol), new_name)
    renamed = replace(document, text=apply_edits(document.text, edits))
    if errors := new_errors(document.diagnostics, renamed.diagnostics):
        raise RenameRefused(f"'{new_name}' cannot name this {symbol.kind.value}: {errors[0].message}")
    return edits


def _check(document: Document, symbol: Symbol, new_name: str) -> None:
    """Refuse what no rule calls an error: names that a template can hardly hold, and those that mean another thing."""
    kind = symbol.kind.value
    is_in_templates = symbol.kind in {SymbolKind.PARAMETER, SymbolKind.SECRET, SymbolKind.TEMPLATE_VARIABLE}
    if not new_name.isprintable() or (is_in_templates and not _IN_TEMPLATE.fullmatch(new_name)):
        raise RenameRefused(f"'{new_name}' cannot name a {kind}: use a word without spaces, dots, brackets and quotes")
    if symbol.kind is SymbolKind.PORT and new_name in RESERVED_PORTS:
        raise RenameRefused(f"every task already has a port '{new_name}'")
    if symbol.kind is SymbolKind.ANCHOR:
        return
    wanted = replace(symbol, name=new_name)
    if any(one.is_definition and one.symbol == wanted for one in document.occurrences):
        raise RenameRefused(f"there is already a {kind} '{new_name}'")


@dataclass(frozen=True, slots=True)
class Member:
    """A task role or a prerequisite: all of it, its name's place in that, and the file, None for the document's own.

    key: finds it again in a later version of the text.
    """

    name: str
    detail: str
    span: Span
    name_span: Span
    key: str
    path: str | None = None
    is_role: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A member that needs, or is needed by, the one asked about.

    places: the references; path: the file that they are in, None for the document's own.
    """

    member: Member
    places: tuple[Span, ...]
    path: str | None = None


def members_at(document: Document, offset: int) -> list[Member]:
    """The task role or the prerequisites of the name at a cursor."""
    here = Cursor(document, offset).name
    if here is None:
        return []
    job, name = document.job, here.symbol.name
    if here.symbol.kind is SymbolKind.TASK_ROLE:
        return [_role(role) for role in job.task_roles if role.name == name]
    if here.symbol.kind is not SymbolKind.PREREQUISITE:
        return []
    exact = [one for one in job.definitions if one.name_scalar and one.name_span == here.span]
    found = exact or [one for one in (job.definitions_by_name.get(name),) if one]
    return [_definition(job, one) for one in found]


def needs(document: Document, key: str) -> list[Call]:
    """What a member needs: what a role lists and names, what a definition requires."""
    job = document.job
    member = _found(job, key)
    return _grouped((_definition(job, one.target), one.span, one.path) for one in _uses(job) if one.by is member)


def needed_by(document: Document, key: str) -> list[Call]:
    """Who needs a prerequisite: the roles that list or name it, the definitions that require it."""
    job = document.job
    member = _found(job, key)
    return _grouped(
        (_definition(job, one.by) if isinstance(one.by, Definition) else _role(one.by), one.span, one.path)
        for one in _uses(job)
        if isinstance(member, Definition) and one.target.node is member.node
    )


class _Use(NamedTuple):
    """A reference at a place of a file, None for the document's own, of a task role or definition to a definition."""

    by: TaskRole | Definition
    target: Definition
    span: Span
    path: str | None = None


def _uses(job: Job) -> Iterator[_Use]:
    graph = job.require_graph
    for role in job.task_roles:
        for reference in role.prerequisites:
            yield from (_Use(role, target, reference.span) for target in graph.link(reference).targets)
        for field, reference in role.typed_references.items():
            if typed := job.named_by(role, field):
                yield _Use(role, typed, reference.span)
    for definition in graph.definitions:
        for link in graph.links(definition):
            yield from (_Use(definition, target, link.reference.span, link.path) for target in link.targets)


def _grouped(calls: Iterable[tuple[Member, Span, str | None]]) -> list[Call]:
    places: dict[tuple[Member, str | None], dict[Span, None]] = {}
    for member, place, path in calls:
        places.setdefault((member, path), {})[place] = None
    return [Call(member, tuple(found), path) for (member, path), found in places.items()]


def _role(role: TaskRole) -> Member:
    tasks = f"task role, {plural(role.instances, 'task')}"
    return Member(role.name, tasks, role.entry.span, role.name_span, f"role {role.name}", is_role=True)


def _definition(job: Job, definition: Definition) -> Member:
    path = job.require_graph.path(definition)
    name = definition.name or "(no name)"
    key = " ".join(("definition", path or "", definition.type, name))
    return Member(name, definition.type or "prerequisite", definition.node.span, definition.name_span, key, path)


def _found(job: Job, key: str) -> TaskRole | Definition | None:
    roles = (role for role in job.task_roles if _role(role).key == key)
    definitions = (one for one in job.require_graph.definitions if _definition(job, one).key == key)
    return next(roles, None) or next(definitions, None)


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
        if definition.type == "dockerimage" and isinstance(uri, Scalar) and (page := image_page(uri.text)):
            yield WebLink(name_span(uri), page, "Open the image on Docker Hub")


def _items(document: Document) -> Iterator[WebLink]:
    """The references to what a marketplace server has."""
    job = document.job
    for reference in job.listed_references:
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
