"""Whole pieces of a job to start from: jobs, task roles, prerequisites, plugins; and the starts of values.

Their texts are in snippet_texts.py. A piece checks clean in its job when all its places keep their defaults: it uses
the images, roles and secrets of the job, gives names that are free, and brings along what it needs elsewhere.
"""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING

from pai_lsp.ide.completion import snippet_texts as texts
from pai_lsp.ide.completion.suggestion import Suggestion, SuggestionKind, inserted, snippet_suggestion
from pai_lsp.ide.cursor import Spot
from pai_lsp.ide.refactorings.refactoring import together
from pai_lsp.job.definition import TYPED_FIELDS
from pai_lsp.job.lookup import BY_NAME
from pai_lsp.platform.tables import RUNTIME_PLUGIN
from pai_lsp.source.edits import line_end
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Mapping, Sequence
from pai_lsp.source.text import Span, TextEdit, start_of_line
from pai_lsp.source.tree_edits import append_value, insert_values
from pai_lsp.source.writing import entry_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from pai_lsp.ide.cursor import InsertionPoint
    from pai_lsp.job.job import Job

_ORDER = 200
_MOST_SEARCHED = 50
_MOST_TEMPLATES = 50
_TEMPLATE_ORDER = 500
# What follows the colon of keys whose mapping has keys that must be there.
_VALUES = {
    "resourcePerInstance": "cpu: ${1:4}\nmemoryMB: ${2:8192}\ngpu: ${3:1}",
    "completion": "minFailedInstances: ${1:1}\nminSucceededInstances: ${2:-1}",
    "defaults": "virtualCluster: ${1:default}",
    "ports": "${1:sync}: ${2:1}",
}


def whole_jobs(point: InsertionPoint) -> list[Suggestion]:
    """The jobs, for a file that has nothing in it yet."""
    text, place = point.document.text, point.replace
    if text.strip() != text[place.start : place.end].strip():
        return []
    found = [snippet_suggestion(point, name, snippet, detail) for name, detail, snippet in texts.JOBS]
    for one in point.job.lookup.job_templates()[:_MOST_TEMPLATES]:
        edit, detail = TextEdit(point.replace, one.text), f"{one.summary or 'job'} (marketplace)"
        found.append(Suggestion(one.name, SuggestionKind.SNIPPET, edit, detail=detail, order=_TEMPLATE_ORDER))
    return found


def value(point: InsertionPoint, key: str) -> str | None:
    """What follows the colon of a key whose value is a mapping, as a snippet; None where nothing is known."""
    lines = _VALUES.get(key)
    job = point.job
    if key == "extraContainerOptions":
        lines = f"shmMB: ${{1:{job.platform.shared_memory}}}"
    elif key == "auth" and job.secrets:
        lines = texts.registry_login(job.secrets)
    elif key == "taskRoles" and not point.path and (images := _images(job)):
        lines = texts.task_role("worker", texts.place(3, images))
    elif key == "taskRoles" and point.path and job.task_roles:
        lines = texts.deployed_role(job.task_roles_by_name)
    return None if lines is None else f"\n  {texts.indented(lines)}"


def for_mapping(point: InsertionPoint) -> list[Suggestion]:
    """Pieces that begin with a key of the mapping at the point."""
    if point.is_flow:
        return []
    if point.path == ("taskRoles",):
        return _task_roles(point)
    has_storages = point.spot is Spot.KEY and point.mapping is not None and point.mapping.own("storages")
    if point.path == ("extras",) and not has_storages:
        return [_piece(point, "storages (with a mount path)", "mount a storage in every container", texts.STORAGES)]
    return []


def for_list(point: InsertionPoint) -> list[Suggestion]:
    """Pieces that are an item of the list which the key at the cursor expects."""
    return [] if point.is_flow else _items(point, point.path, dash=True)


def for_item(point: InsertionPoint) -> list[Suggestion]:
    """Pieces that are an item of the list at the point."""
    if point.is_flow:
        return []
    return _items(point, point.path[:-1], dash=point.missing == "- ")


def plugin_with_parameters(point: InsertionPoint, plugin: str, documentation: str) -> Iterator[Suggestion]:
    """A plugin's name with its first parameters below, for an entry that has none yet."""
    start = len(point.line_before) - len(point.line_before.lstrip(" -"))
    for name, detail, piece in texts.PLUGINS:
        if name == plugin:
            snippet = point.missing + texts.indented(_without_dash(piece).removeprefix("plugin: "), " " * start)
            label, kind = f"{plugin} with parameters", SuggestionKind.SNIPPET
            yield inserted(point.replace, label, kind, snippet, detail, documentation, _ORDER)


def _task_roles(point: InsertionPoint) -> list[Suggestion]:
    """Task roles, each with an image: one of the job's, or one that comes with it."""
    job = point.job
    images = _images(job)
    elsewhere = () if images else _added_image(point.document.job)
    if not images and not elsewhere:
        return []
    image = texts.place(3, images) if images else "image"
    role = texts.task_role(_free("worker", job.task_roles_by_name), image)
    pieces = [replace(_piece(point, "task role", "a new task role", role), elsewhere=elsewhere)]
    if not {"master", "worker"} & set(job.task_roles_by_name):
        ssh = () if any(plugin.plugin == "ssh" for plugin in job.plugins) else _added_ssh(point.document.job)
        roles = texts.master_and_worker(texts.place(1, images) if images else "image", "$1" if images else "image")
        both = _piece(point, "master and worker (Horovod)", "two task roles, connected by ssh", roles)
        pieces.append(replace(both, elsewhere=together(point.document.syntax, elsewhere + ssh)))
    return pieces


def _items(point: InsertionPoint, path: tuple[str | int, ...], *, dash: bool) -> list[Suggestion]:
    key = path[-1] if path else ""
    job = point.job
    taken = job.definitions_by_name
    pieces: Iterable[tuple[str, str, str]] = ()
    if path == ("prerequisites",):
        name = _free("prepare", taken)
        both = texts.prerequisite("${1|script,data,output|}", name, texts.CALLBACKS, 2)
        pieces = [
            (label, detail, texts.prerequisite(TYPED_FIELDS[field], _wanted(job, field, otherwise), rest))
            for label, detail, field, otherwise, rest in texts.PREREQUISITES
        ]
        pieces.append(("prerequisite with callbacks", "commands before and after the task's own", both))
    elif key == "callbacks":
        pieces = (("callback", "commands on an event", texts.CALLBACK),)
    elif path == ("deployments",) and job.task_roles:
        deployment = texts.deployment(job.task_roles_by_name)
        pieces = (("deployment", "commands around the roles' own", deployment),)
    elif path == ("extras", RUNTIME_PLUGIN):
        pieces = ((f"{name} plugin", detail, snippet) for name, detail, snippet in texts.PLUGINS)
    elif key == "require":
        requirement = texts.requirement(*_required(point))
        pieces = (("requirement with template variables", "fill what the definition declares", requirement),)
    elif key == "reference_prerequisites":
        reference = texts.reference_to_marketplace(_free("mnist", taken), *_required(point))
        pieces = (("reference to the marketplace", "a name for a definition and its variables", reference),)
    elif key in {"storages", "requireStorages"}:
        pieces = (("storage", "a storage and where it is mounted", texts.STORAGE),)
    return [_piece(point, label, detail, snippet, without_dash=not dash) for label, detail, snippet in pieces]


def _piece(point: InsertionPoint, label: str, detail: str, snippet: str, *, without_dash: bool = False) -> Suggestion:
    if point.missing == "- " or without_dash:
        # The dash is there already, or is part of what is missing.
        snippet = _without_dash(snippet)
    return snippet_suggestion(point, label, snippet, detail, order=_ORDER)


def _without_dash(snippet: str) -> str:
    return snippet.removeprefix("- ").replace("\n  ", "\n")


def _images(job: Job) -> list[str]:
    return [one.name for one in job.prerequisites if one.type == "dockerimage" and one.name]


def _free(name: str, taken: Collection[str]) -> str:
    return next(one for one in chain([name], map(f"{name}{{}}".format, count(2))) if one not in taken)


def _wanted(job: Job, field: str, otherwise: str) -> str:
    """A name that a role uses in one of its fields and that nothing has yet; else a free name."""
    used = (role.typed_references.get(field) for role in job.task_roles)
    taken = job.definitions_by_name
    wanted = (one.name for one in used if one and one.name not in taken)
    return next(wanted, None) or _free(otherwise, taken)


def _required(point: InsertionPoint) -> tuple[str, tuple[str, ...]]:
    """A definition of the catalog with template variables, and their names; without one, an example."""
    offers = point.job.lookup.suggestions("", _MOST_SEARCHED)
    found = next((offer for offer in offers if offer.variables), None)
    return (found.reference, found.variables) if found else (f"{BY_NAME}mnist", ("dataPath",))


def _added_image(job: Job) -> tuple[TextEdit, ...]:
    """Add an image to a job that has none; nothing where its `prerequisites` is something else than a list."""
    entry = job.section("prerequisites")
    image = {"type": "dockerimage", "name": "image", "uri": texts.IMAGE}
    if entry is None:
        return _above_task_roles(job, entry_lines("prerequisites", [image]))
    return (append_value(job.text, entry.value, image),) if isinstance(entry.value, Sequence) else ()


def _added_ssh(job: Job) -> tuple[TextEdit, ...]:
    """Add the plugin for ssh between the tasks."""
    extras = job.section("extras")
    if extras is None:
        return _above_task_roles(job, entry_lines("extras", texts.SSH))
    plugins = job.extras_entry(RUNTIME_PLUGIN)
    if plugins is not None and isinstance(plugins.value, Sequence):
        return (append_value(job.text, plugins.value, texts.SSH[RUNTIME_PLUGIN][0]),)
    if plugins is None and isinstance(extras.value, Mapping):
        return (insert_values(job.text, extras.value, texts.SSH),)
    return ()


def _above_task_roles(job: Job, lines: Iterable[str]) -> tuple[TextEdit, ...]:
    """Add a section where it does not touch the task role that is being written."""
    roles = job.section("taskRoles")
    if roles is None:
        return ()
    at = start_of_line(job.text, roles.key.span.start)
    return (TextEdit(Span(at, at), "".join(line + line_end(job.text) for line in lines)),)
