"""The server's commands: about rules, about whole jobs, and about the marketplace. Their table is in answers.py.

No answer reveals a secret: previews and graphs have none, and an expanded job has its `secrets` as the author wrote
them, because it is the text to submit.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from lsprotocol.converters import get_converter
from pygls.exceptions import JsonRpcInvalidParams

from pai_lsp.catalog.catalog import Catalog
from pai_lsp.catalog.loading import locked_states
from pai_lsp.catalog.store import Surroundings
from pai_lsp.cluster.profile import Profile
from pai_lsp.document import check_expanded
from pai_lsp.expansion.released_job import expanded
from pai_lsp.findings.diagnostic import SHELLCHECK_CODE, Severity, shellcheck_page
from pai_lsp.ide.completion.snippet_texts import JOBS
from pai_lsp.ide.completion.suggestion import plain_text
from pai_lsp.ide.documentation import rule_page
from pai_lsp.ide.marketplace_insertion import insertion
from pai_lsp.ide.prerequisite_graph import dot, mermaid, prerequisite_graph
from pai_lsp.ide.preview import preview, role_script
from pai_lsp.job.lookup import LookupState
from pai_lsp.lsp.convert import location, path_of
from pai_lsp.lsp.documents import CHECKED_BY_RULES, JOB_LANGUAGE, FileKind, file_at
from pai_lsp.lsp.features import CommandName
from pai_lsp.lsp.session import ARRIVED
from pai_lsp.lsp.worker_threads import in_thread
from pai_lsp.platform.tables import as_exit_code
from pai_lsp.rules import UnknownCodeError, known
from pai_lsp.rules.prerequisites.extension import ANSWERED_BY_EXPANSION

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any

    from pai_lsp.lsp.documents import OpenDocument
    from pai_lsp.lsp.session import Session
    from pai_lsp.project.configuration import Configuration
    from pai_lsp.source.text import Span

    Command = Callable[[Session, Sequence[Any]], Awaitable[Any]]


async def explain(_session: Session, arguments: Sequence[Any]) -> str:
    """The documentation of a rule as Markdown; the argument is its code."""
    return _page(arguments)[1]


async def open_rule(session: Session, arguments: Sequence[Any]) -> None:
    """Let the client show the documentation of a rule, from a file of the cache; the argument is its code."""
    code, page = _page(arguments)
    path = Surroundings().store.view(code, page, ".md")
    if path is not None and session.client.shows_documents:
        await session.server.window_show_document_async(lsp.ShowDocumentParams(Path(path).as_uri()))


def about_document(answer: Callable[[OpenDocument, Sequence[Any]], Any]) -> Command:
    """A command about an open document: the first argument is its URI; `answer` gets it and the other arguments.

    Without such a document the result is null.
    """

    async def run(session: Session, arguments: Sequence[Any]) -> Any:
        document = _document(arguments)
        if document is None:
            return None
        return await session.lane.run(partial(answer, document, arguments[1:]), is_request=True)

    return run


def _document(arguments: Sequence[Any]) -> OpenDocument | None:
    """The open document whose URI is the first argument."""
    return ARRIVED.get().get(str(arguments[0])) if arguments else None


def _expected(command: CommandName, what: str) -> JsonRpcInvalidParams:
    return JsonRpcInvalidParams(f"'{command.value}' expects {what}")


def _page(arguments: Sequence[Any]) -> tuple[str, str]:
    """A code, and its page as Markdown: of a rule, or where the page about a code of ShellCheck is."""
    code = str(arguments[0]) if arguments else ""
    if SHELLCHECK_CODE.fullmatch(code):
        return code, f"# {code}\n\nA finding of ShellCheck: [{shellcheck_page(code)}]({shellcheck_page(code)})\n"
    try:
        rule = known(code)
    except UnknownCodeError as error:
        raise JsonRpcInvalidParams(str(error)) from None
    return rule.code, rule_page(rule)


async def templates(session: Session, _arguments: Sequence[Any]) -> list[dict[str, str]]:
    """Job templates, each with its name, its purpose and its text; those of all marketplaces come last."""
    own = [{"name": name, "description": detail, "text": plain_text(snippet)} for name, detail, snippet in JOBS]
    found = dict.fromkeys(one for lookup in session.marketplaces.lookups() for one in lookup.job_templates())
    return [*own, *({"name": one.name, "description": one.summary, "text": one.text} for one in found)]


def _role(arguments: Sequence[Any], command: CommandName) -> str | None:
    """The task role that the second argument of a command names; None for all."""
    role = arguments[0] if arguments else None
    if role is not None and not isinstance(role, str):
        raise _expected(command, "a URI and the name of a task role, or null for all")
    return role


def scripted(document: OpenDocument, arguments: Sequence[Any]) -> list[dict[str, str]] | None:
    """The commands of task roles, `[{"role", "text"}]`, each as a script for a terminal.

    The arguments are the name of a role or null for all.
    """
    wanted = _role(arguments, CommandName.SCRIPT)
    if not _is_job(document):
        return None
    roles = (role for role in document.document.job.task_roles if wanted in {None, role.name})
    return [{"role": role.name, "text": role_script(document.document, role)} for role in roles]


def previewed(document: OpenDocument, arguments: Sequence[Any]) -> dict[str, Any] | None:
    """What a task role runs, as a text, and by the numbers of its lines, from 0, the locations that they come from.

    The arguments are the name of a role or null for all.
    """
    role = _role(arguments, CommandName.PREVIEW)
    if not _is_job(document):
        return None
    found = preview(document.document, role, document.context.folder)
    places = _locations(document, [(str(line), one.span, one.path) for line, one in found.sources.items()])
    return {"text": found.text, "languageId": "shellscript", "places": places}


def drawn(document: OpenDocument, _arguments: Sequence[Any]) -> dict[str, Any] | None:
    """The graph of prerequisites for Graphviz and Mermaid, and by its nodes' identifiers where each is defined."""
    if document.kind is not FileKind.JOB:
        return None
    graph = prerequisite_graph(document.document.job, document.context.folder)
    places = _locations(document, [(node.identifier, node.span, node.path) for node in graph.nodes])
    return {"dot": dot(graph), "mermaid": mermaid(graph), "places": places}


def _locations(document: OpenDocument, named: Sequence[tuple[str, Span, str | None]]) -> dict[str, Any]:
    """Spans in files as locations, by their names; without those whose file cannot be read."""
    files = {path: file_at(document, path) for path in {path for _, _, path in named}}
    found = ((name, span, files[path]) for name, span, path in named)
    convert = get_converter().unstructure
    return {name: convert(location(file.uri, span, file.places)) for name, span, file in found if file}


def expanded_job(document: OpenDocument, _arguments: Sequence[Any]) -> dict[str, Any] | None:
    """The expanded job with its findings, at the places in the source, or only the findings that prevent it."""
    if not _is_job(document):
        return None
    result = expanded(document.document.job)
    found = [*check_expanded(document.document, result), *result.problems] if result.text else result.problems
    convert = get_converter().unstructure
    findings = []
    for one in (one.without_secrets(document.document.job.hidden) for one in found):
        if one.severity <= Severity.WARNING and one.code not in ANSWERED_BY_EXPANSION:
            place, severity = convert(document.places.range(one.span)), one.severity.value
            findings.append({"code": one.code, "message": one.message, "range": place, "severity": severity})
    return {"findings": findings} if result.text is None else {"text": result.text, "findings": findings}


def described(document: OpenDocument, _arguments: Sequence[Any]) -> dict[str, Any] | None:
    """The platform that a job is checked for, and the name of its cluster or null."""
    if document.kind is not FileKind.JOB:
        return None
    cluster = document.context.settings.cluster
    name = cluster.name if isinstance(cluster, Profile) else None
    return {"platform": document.document.platform.title, "cluster": name}


def converted_file(document: OpenDocument, arguments: Sequence[Any]) -> dict[str, Any] | None:
    """The file in another format, with what could not be expressed as comments at its top, or why there is none.

    The argument is `pai`, `mpijob` or `v2beta1`, or null for the other one of the first two.
    """
    from pai_lsp.mpijob.conversion import ConversionError  # noqa: PLC0415 - few files are converted
    from pai_lsp.mpijob.converted_text import DIRECTIONS, MPIJOB, PAI, converted_text  # noqa: PLC0415 - as above

    if document.kind not in CHECKED_BY_RULES or document.document.is_catalog:
        return None
    to = (arguments and arguments[0]) or (PAI if document.kind is FileKind.MPIJOB else MPIJOB)
    if to not in DIRECTIONS:
        raise _expected(CommandName.CONVERT, f"a URI and one of {', '.join(DIRECTIONS)}")
    try:
        found = converted_text(document.document.job, to)
    except ConversionError as error:
        return {"error": error.code, "message": str(error)}
    lost = [{"field": path, "reason": reason} for path, reason in found.lost.items()]
    return {"text": found.text_with_lost, "languageId": JOB_LANGUAGE if to == PAI else "yaml", "lost": lost}


async def images_checked(session: Session, arguments: Sequence[Any]) -> list[dict[str, str]] | None:
    """Ask the registries for the images of a job, and show what they say as findings; the argument is the job's URI.

    The result has the answer for each task role; null without such a job.
    """
    document = _document(arguments)
    if document is None:
        return None
    if session.trust.refuses_all:
        raise JsonRpcInvalidParams("registries are not asked, because the folder is not trusted")
    return await session.images.ask(document)


async def folder_checked(session: Session, arguments: Sequence[Any]) -> dict[str, int]:
    """Check all job files in a folder, and show what is found, also in files that are not open.

    The arguments are the folder's URI, or null for all folders of the workspace, and the token of the progress that the
    client shows, or null. The result has the numbers of `files`, `errors` and `warnings`.
    """
    uri, token = (*arguments, None, None)[:2]
    if not (uri is None or isinstance(uri, str)) or not (token is None or isinstance(token, (int, str))):
        raise _expected(CommandName.CHECK_FOLDER, "the URI of a folder or null, and a progress token or null")
    if session.client.pulls_diagnostics:
        raise JsonRpcInvalidParams("this client does not show findings in files that are not open")
    folders = session.folders if uri is None else (path_of(uri),)
    if not folders or not all(map(os.path.isdir, folders)):
        raise JsonRpcInvalidParams("there is no folder to check")

    def report(done: int, all_files: int) -> None:
        if token is not None:
            message = lsp.WorkDoneProgressReport(message=f"{done} of {all_files}", percentage=100 * done // all_files)
            session.server.work_done_progress.report(token, message)

    return await session.folder_checks.check(folders, report)


async def clusters(_session: Session, _arguments: Sequence[Any]) -> list[dict[str, str]]:
    """The user's own profiles of clusters, each with its name and a line about it."""
    from pai_lsp.cluster.profile import own_profiles  # noqa: PLC0415 - rarely asked for

    return [{"name": name, "description": summary} for name, summary in await in_thread(own_profiles)]


async def folders_cleared(session: Session, _arguments: Sequence[Any]) -> None:
    """Remove the findings of files that are not open."""
    session.folder_checks.clear()


def _is_job(document: OpenDocument) -> bool:
    return document.kind is FileKind.JOB and not document.document.is_catalog


# The end of a longer log is what matters.
_MOST_CHARACTERS = 200_000


async def failure_explained(session: Session, arguments: Sequence[Any]) -> dict[str, Any]:
    """Why a task failed: the arguments are an exit code or a pasted text, and the job's URI or null."""
    text, uri = (*arguments, None, None)[:2]
    if not isinstance(text, str):
        raise _expected(CommandName.WHY, "a text, and the URI of a job or null")
    document = ARRIVED.get().get(uri) if isinstance(uri, str) else None
    return await session.lane.run(partial(_explained_failure, text[-_MOST_CHARACTERS:], document), is_request=True)


def _explained_failure(text: str, document: OpenDocument | None) -> dict[str, Any]:
    from pai_lsp.cluster.exit_code_text import code_text  # noqa: PLC0415 - rarely asked for
    from pai_lsp.cluster.why import failure, failure_text  # noqa: PLC0415 - as above

    if (code := as_exit_code(text)) is not None:
        return {"text": code_text(code), "place": None}
    job = document.document.job if document is not None and _is_job(document) else None
    found = failure(text, job)
    place = None
    if document is not None and found.line is not None:
        span = document.lines.line_span(found.line - 1)
        place = get_converter().unstructure(location(document.uri, span, document.places))
    name = PurePath(document.path).name if document is not None else ""
    # The editor shows the first line as a title; there the name of the cause is for programs.
    return {"text": failure_text(found, job, name).removeprefix(f"{found.cause.name}: "), "place": place}


async def assistant_answered(session: Session, arguments: Sequence[Any]) -> list[str]:
    """The answer of a tool for assistants, in parts to read; the arguments are its name and an object with its own."""
    tool, given = (*arguments, None, None)[:2]
    if not isinstance(tool, str) or not isinstance(given, dict):
        raise _expected(CommandName.ASSISTANT, "the name of a tool and an object with its arguments")
    if session.trust.refuses_all:
        raise JsonRpcInvalidParams("assistants get no answers, because the folder is not trusted")
    opened = {one.path: one.document.text for one in ARRIVED.get().values()}
    work = partial(_answer_parts, tool, given, session.folders, session.projects.sections, opened)
    return await session.lane.run(work, is_request=True)


def _answer_parts(
    tool: str,
    given: dict[str, Any],
    folders: Sequence[str],
    sections: Mapping[str, Configuration],
    opened: Mapping[str, str],
) -> list[str]:
    from pai_lsp.assistant.allowed_files import AllowedFiles, AnswerError  # noqa: PLC0415 - rarely asked for
    from pai_lsp.assistant.assistant_tools import answer, answer_parts  # noqa: PLC0415 - as above

    texts = {os.path.realpath(path): text for path, text in opened.items()}
    try:
        files = AllowedFiles(tuple(map(os.path.realpath, folders)), opened=texts, sections=sections)
        return answer_parts(answer(tool, given, files))
    except AnswerError as error:
        raise JsonRpcInvalidParams(str(error)) from None


# An editor shows the definitions in one searchable list.
_MOST = 20_000


async def listed(session: Session, arguments: Sequence[Any]) -> list[dict[str, Any]]:
    """The definitions that a document's job can name; without the URI of one, those of any project."""
    document = _document(arguments)
    lookups = [document.context.lookup] if document is not None else session.marketplaces.lookups()
    offers = {offer.reference: offer for lookup in lookups for offer in lookup.suggestions("", _MOST)}
    return [
        {
            "reference": offer.reference,
            "name": offer.name,
            "title": offer.title,
            "type": offer.type,
            "summary": offer.summary,
            "variables": list(offer.variables),
        }
        for offer in offers.values()
    ]


async def locked(session: Session, arguments: Sequence[Any]) -> dict[str, Any] | None:
    """The entries of the lock file of a document's project, as it is on the disk, and its folder; None without one."""
    document = _document(arguments)
    marketplace = session.marketplaces.marketplace_of(document.path) if document is not None else None
    catalog = await marketplace.read_now() if marketplace is not None else None
    if catalog is None or catalog.lock is None:
        return None
    states = locked_states(catalog)
    entries = [{"reference": name, "state": state} for name, state in states.items()]
    return {"folder": catalog.setup.folder, "entries": entries}


def inserted(document: OpenDocument, arguments: Sequence[Any]) -> lsp.WorkspaceEdit | None:
    """The edit that puts a definition into a job.

    The arguments are a position, the definition's address, and the values of its template variables by name.
    """
    position, reference, *more = arguments if len(arguments) > 1 else (None, None)
    values = {} if not more or more[0] is None else more[0]
    if not isinstance(reference, str) or not isinstance(values, dict):
        raise _expected(CommandName.MARKETPLACE_INSERT, "a URI, a position, a reference and values")
    try:
        at = get_converter().structure(position, lsp.Position)
    except Exception as error:
        raise _expected(CommandName.MARKETPLACE_INSERT, "a position") from error
    answer = document.context.lookup.find(reference)
    if answer.state is not LookupState.FOUND or not answer.definitions:
        note = f": {answer.note}" if answer.note else ""
        raise JsonRpcInvalidParams(f"'{reference}' cannot be inserted, {answer.state.value}{note}")
    definition = answer.definitions[0]
    declared = {variable.name for variable in definition.template_variables}
    given = {name: value for name, value in values.items() if name in declared}
    offset = document.places.offset(at)
    edits = insertion(document.document.job, offset, reference, definition.name, given)
    return document.edit(edits) if edits else None


async def refreshed(session: Session, _arguments: Sequence[Any]) -> dict[str, str]:
    """Ask all servers again, and return the status of the marketplaces after that."""
    return await session.marketplaces.refresh()


async def text(session: Session, arguments: Sequence[Any]) -> str | None:
    """The text that the catalog keeps for an address, for a read-only view."""
    path = str(arguments[0]) if arguments else ""
    catalogs = [lookup for lookup in session.marketplaces.lookups() if isinstance(lookup, Catalog)]
    return next((found for catalog in catalogs if (found := catalog.text(path)) is not None), None)
