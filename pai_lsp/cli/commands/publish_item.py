"""`pai-lsp marketplace publish` and `withdraw`: add, change and delete an item of a marketplace server.

Only a server that the configuration names is asked, with its token, if the configuration is trusted. A change is shown
and agreed to before it is sent, and sent once: where no answer comes, the server is asked whether it has the change.
"""

from __future__ import annotations

import sys
from difflib import unified_diff
from typing import TYPE_CHECKING

from pai_lsp.catalog.server_items import ServerError, server_access
from pai_lsp.cli import FINDINGS, CommandError
from pai_lsp.cli.commands.job_file import job_of, need_agreement, show_findings
from pai_lsp.cli.report.results import checked_file
from pai_lsp.document import check
from pai_lsp.expansion.published_item import PublishedItem, published_item
from pai_lsp.findings.diagnostic import Severity, limited
from pai_lsp.source.failures import OWN_FAILURE
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping

    from pai_lsp.catalog.catalog import Catalog
    from pai_lsp.catalog.server_items import ServerAccess, ServerItem
    from pai_lsp.catalog.setup import CatalogSetup, ServerSource
    from pai_lsp.catalog.store import Surroundings
    from pai_lsp.project.projects import Projects

# Findings about a job that is submitted as it is; an item is a source of other jobs.
_OF_SUBMISSION = frozenset({"refused-until-expanded", "needs-expansion"})


def run(arguments: argparse.Namespace, catalog: Catalog, surroundings: Surroundings, projects: Projects) -> int:
    """Run the action."""
    item: PublishedItem | None = None
    if arguments.action == "publish":
        item = _ready(arguments, projects)
        if arguments.dry_run:
            sys.stderr.write("".join(f"{line}\n" for line in _summary(item)))
            sys.stdout.write(item.protocol)
            return 0
    server = _server(catalog.setup, arguments.server, surroundings)
    try:
        folder = catalog.setup.folder_of_command(server)
        access = server_access(server, surroundings.environment, folder)
        own = access.own_items()
        return _withdraw(arguments, access, own) if item is None else _publish(arguments, access, own, item)
    except ServerError as error:
        if error.is_unsure:
            step = "look at the item's page before you repeat the command"
            message = f"it is not known whether the server has the change: {error}; {step}"
            raise CommandError(visible(message), OWN_FAILURE) from None
        raise CommandError(visible(f"nothing was changed: {error}"), FINDINGS) from None


def _ready(arguments: argparse.Namespace, projects: Projects) -> PublishedItem:
    """The item of a file.

    Raises:
        CommandError: if it cannot be published.
    """
    document = job_of(arguments.file, projects).as_definitions(is_wanted=True)
    findings = [one for one in check(document) if one.code not in _OF_SUBMISSION and one.severity <= Severity.WARNING]
    show_findings(checked_file(document, limited(findings)))
    if any(one.severity is Severity.ERROR for one in findings):
        raise CommandError("nothing was sent, because the file has errors", FINDINGS)
    item = published_item(document.job, arguments.title or "")
    if isinstance(item, PublishedItem):
        return item
    for refusal in item:
        line = document.lines.line_of(refusal.span.start) + 1
        sys.stderr.write(visible(f"{arguments.file}:{line}: {document.job.hidden.without(refusal.message)}") + "\n")
    raise CommandError("nothing was sent", FINDINGS)


def _server(setup: CatalogSetup, url: str | None, surroundings: Surroundings) -> ServerSource:
    """The server to change.

    Raises:
        CommandError: if there is none, or more than one.
    """
    servers = [one for one in setup.servers if url in {None, one.url}]
    if not setup.servers:
        raise CommandError("no server is configured; a folder in git is shared by a commit")
    if len(servers) != 1:
        raise CommandError(f"name one server with --server: {', '.join(visible(one.url) for one in setup.servers)}")
    if servers[0] not in surroundings.servers_of(setup):
        raise CommandError(f"the configuration of '{visible(setup.folder)}' is not trusted; run 'pai-lsp trust'")
    return servers[0]


def _publish(
    arguments: argparse.Namespace, access: ServerAccess, own: tuple[ServerItem, ...], item: PublishedItem
) -> int:
    known = [one for one in own if one.id == arguments.item or (not arguments.item and _is_same(one, item))]
    if arguments.item and not known:
        raise CommandError(f"you have no item '{visible(arguments.item)}' at '{visible(access.url)}'", FINDINGS)
    if len(known) > 1:
        step = f"give one: --item {', '.join(one.id for one in known)}"
        raise CommandError(visible(f"several of your items share '{item.job}'; {step}"), FINDINGS)
    before = known[0] if known else None
    fields: dict[str, object] = {
        "name": item.title,
        "type": item.type,
        "summary": item.summary,
        "description": item.description,
        "protocol": item.protocol,
    }
    if before is not None:
        # What was written on the item's page stays, where the file says nothing else.
        fields = {key: value for key, value in fields.items() if value or key == "protocol"}
        if not arguments.title and item.title in {*item.names, item.job}:
            del fields["name"]
        if _is_as_sent(before, fields):
            sys.stdout.write(visible(f"{_address(before.id)}: '{before.title}' is published like this already") + "\n")
            return 0
    lines = _summary(item, access, before, is_private=arguments.private)
    sys.stderr.write("".join(f"{visible(line)}\n" for line in lines))
    if not arguments.yes:
        need_agreement("Publish it?", "nothing was sent", arguments.file)
    if before is not None:
        _sure(lambda: access.change(before.id, fields), lambda: _has(access, before.id, fields))
        sys.stdout.write(f"{_address(before.id)}\n")
        return 0
    added: list[str] = []
    # The page's own form sends the same status and visibility. Source: webportal, create_item/create_item.jsx.
    fields |= {"source": "marketplace", "status": "approved", "isPrivate": arguments.private}
    fields["isPublic"] = not arguments.private
    _sure(lambda: added.append(access.add(fields)), lambda: _found(access, own, item, added))
    sys.stdout.write(f"{_address(added[0])}\n")
    return 0


def _withdraw(arguments: argparse.Namespace, access: ServerAccess, own: tuple[ServerItem, ...]) -> int:
    wanted = arguments.reference.rpartition("/")[2]
    found = [one for one in own if wanted in {one.id, one.title, *one.names}]
    if len(found) != 1:
        several = f"several of your items are '{wanted}'; give the id of one: {', '.join(one.id for one in found)}"
        reason = several if found else f"you have no item '{wanted}'"
        raise CommandError(visible(f"{reason} at '{access.url}'"), FINDINGS)
    item = found[0]
    what = f"{item.title} ({item.id}) of {access.url}, with {', '.join(item.names)}"
    sys.stderr.write(visible(f"item      {what}") + "\n")
    sys.stderr.write("jobs that use it can no longer be expanded, unless a lock file pins what it holds\n")
    if not arguments.yes:
        need_agreement("Withdraw it?", "nothing was sent")
    _sure(lambda: access.withdraw(item.id), lambda: all(one.id != item.id for one in access.own_items()))
    sys.stdout.write(visible(f"withdrawn: {item.title}") + "\n")
    return 0


def _is_same(known: ServerItem, item: PublishedItem) -> bool:
    """Whether an item is an earlier version of another: its job has the same name, or it shares the same definition."""
    if known.type != item.type:
        return False
    return known.job == item.job or (item.type == "data" and bool(item.names) and known.names[:1] == item.names[:1])


def _has(access: ServerAccess, identifier: str, fields: Mapping[str, object]) -> bool:
    return any(one.id == identifier and _is_as_sent(one, fields) for one in access.own_items())


def _is_as_sent(one: ServerItem, fields: Mapping[str, object]) -> bool:
    return (one.protocol, one.title) == (fields["protocol"], fields.get("name", one.title))


def _found(access: ServerAccess, before: tuple[ServerItem, ...], item: PublishedItem, added: list[str]) -> bool:
    known = {one.id for one in before}
    added += [one.id for one in access.own_items() if one.id not in known and one.protocol == item.protocol]
    return bool(added)


def _sure(change: Callable[[], None], is_done: Callable[[], bool]) -> None:
    """Send a change; where it is not known whether the server has it, ask."""
    try:
        change()
    except ServerError as error:
        if not error.is_unsure:
            raise
        try:
            is_there = is_done()
        except ServerError:
            raise error from None
        if not is_there:
            raise (ServerError(str(error)) if error.has_ended else error) from None


def _summary(
    item: PublishedItem,
    access: ServerAccess | None = None,
    before: ServerItem | None = None,
    *,
    is_private: bool = False,
) -> Iterator[str]:
    """What is sent where, and who sees it."""
    title = item.title if before is None or item.title not in {*item.names, item.job} else before.title
    yield f"item      {title} ({item.type}): {item.summary}"
    yield f"shares    {', '.join(item.names) or 'a job to begin new ones with'}"
    for note in item.notes:
        yield f"note      {note}"
    if access is None:
        return
    if before is None:
        yield f"new at    {access.url} as {access.user}, {'for you alone' if is_private else 'for everybody there'}"
        return
    yield f"changes   {before.id} of {access.url}"
    yield from list(unified_diff(before.protocol.splitlines(), item.protocol.splitlines(), n=1, lineterm=""))[2:]


def _address(identifier: str) -> str:
    return f"marketplace://prerequisites/itemId/{identifier}"
