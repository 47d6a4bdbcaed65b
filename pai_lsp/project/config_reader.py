"""Reads a `.pai-lsp.yaml`; apart from configuration.py because most runs find no such file.

schemas/configuration.schema.json defines the keys. Mistakes are reported at their places, and the rest of the
configuration applies. Only what a schema cannot express is checked here.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.catalog.setup import DirectorySource, Marketplace, ServerSource
from pai_lsp.findings.diagnostic import Consequence, Diagnostic, DiagnosticTag, Related, RuleStatus, Settings, Severity
from pai_lsp.findings.fixes import choice_fixes
from pai_lsp.platform.job_schema import published_schema, structure_errors
from pai_lsp.platform.platforms import platform_named
from pai_lsp.platform.structure_errors import StructureError
from pai_lsp.platform.tables import PLUGIN_PREFIX
from pai_lsp.project.configuration import Configuration, project_folder
from pai_lsp.project.exclusion import exclusion_of
from pai_lsp.rules import all_codes, codes_in, codes_named, families, family_names, known, name_meaning, renaming
from pai_lsp.source.files import UnreadableFile, decoded, full_path, is_in_folder, read_bytes
from pai_lsp.source.foreign import as_list
from pai_lsp.source.nodes import Scalar, entry_at, nodes_along, plain_value
from pai_lsp.source.spelling import nearest
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import visible
from pai_lsp.web.addresses import address_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeVar

    from pai_lsp.cluster.profile import Profile
    from pai_lsp.project.baseline import Baseline
    from pai_lsp.source.nodes import Node, SyntaxProblem

    Loaded = TypeVar("Loaded")

CODE = "invalid-configuration"
KEYS: tuple[str, ...] = tuple(published_schema("configuration")["properties"])
SEVERITIES: dict[str, Severity | None] = {**{severity.label: severity for severity in Severity}, "off": None}
# Kinds of errors: a folder that is not there now; a former code of a rule; and names that nothing has.
_HOME_FOLDER, _RENAMED_RULE = "home-folder", "renamed-rule"
_UNKNOWN_RULE, _OTHER_PLATFORM = "unknown-rule", "other-platform"
# What is written in spite of such an error counts.
_KEPT = frozenset({_HOME_FOLDER, _RENAMED_RULE})
_SHELLCHECK = ("auto", "off")
# No reason to let a build fail: a rule may have been retired.
_MILD = {
    _UNKNOWN_RULE: Severity.WARNING,
    _RENAMED_RULE: Severity.INFORMATION,
    _OTHER_PLATFORM: Severity.WARNING,
}


def load_configuration(path: str) -> Configuration:
    """Read a configuration file. Never raises."""
    folder = str(Path(full_path(path)).parent)
    source = decoded(path, read_bytes(path))
    if isinstance(source, UnreadableFile):
        fault = Diagnostic(CODE, Severity.ERROR, source.span, source.message, consequence=Consequence.IGNORED)
        return Configuration(path, folder, text=source.text, diagnostics=(fault,))
    return parse_configuration(source.text, path=path, folder=folder)


def parse_configuration(
    text: str, *, path: str | None = None, folder: str = "", is_users: bool = False
) -> Configuration:
    """The values of a configuration's text; wrong parts are reported and count as not written.

    is_users: whether it is the user's own, whose programs may be run.
    """
    syntax = parse(text)
    value = plain_value(syntax.root)
    errors = [*structure_errors(value, "configuration"), *_zero_bytes(value)]
    value = _without(value, errors)
    more = [*_wrong_rules(value), *_source_errors(value), *(() if is_users else _foreign_program(value))]
    value = _without(value, (error for error in more if error.kind not in _KEPT)) or {}
    marketplace = value.get("marketplace") or {}
    previews = value.get("preview") or False
    severities = _severities(value.get("rules") or {}, previews=previews)
    plugins = frozenset(name.removeprefix(PLUGIN_PREFIX) for name in _items(value, "plugins"))
    cluster = _loaded(value, "cluster", partial(_profile, folder=folder, is_users=is_users), more)
    baseline = _loaded(value, "baseline", partial(_baseline, folder=folder), more)
    platform = platform_named(value["platform"]) if value.get("platform") else None
    if cluster is not None:
        platform = platform or cluster.platform
        if platform.family != cluster.platform.family:
            more.append(_contradiction(platform.name, cluster))
    found = [_syntax_fault(problem) for problem in syntax.problems]
    found += (_finding(error, syntax.root) for error in (*errors, *more) if syntax.root is not None)
    sources = tuple(source for one in _items(marketplace, "sources") for source in _sources(one))
    file_ignores = value.get("per_file_ignores") or {}
    return Configuration(
        path, folder,
        Settings(severities, previews, plugins, cluster, platform=platform, shellcheck=value.get("shellcheck") or ""),
        exclusion_of(_items(value, "exclude")),
        tuple((exclusion_of([one]), codes_in(_items(file_ignores, one))) for one in file_ignores),
        Marketplace(sources, frozenset(_items(marketplace, "allowed_hosts"))),
        text, tuple(sorted(found, key=lambda one: (one.span, one.message))), baseline, value.get("cluster") or "",
    )  # fmt: skip


def _loaded(
    value: dict[str, Any], key: str, load: Callable[[str], Loaded], errors: list[StructureError]
) -> Loaded | None:
    """What the file that a key names has; None without the key, or if it cannot be used, which is an error."""
    try:
        return load(value[key]) if value.get(key) else None
    except ValueError as error:
        errors.append(StructureError(key, (key,), None, str(error)))
        return None


def _profile(name: str, folder: str, *, is_users: bool) -> Profile:
    """The profile that the configuration names: a JSON file of the project, or the name of one of the user's.

    Only the user's own configuration may name any other file, and none may name one of another machine.

    Raises:
        ValueError: if there is none, or it cannot be read.
    """
    from pai_lsp.cluster.profile import path_of_name, profile_named  # noqa: PLC0415 - few configurations name one

    if not name.endswith(".json"):
        path_of_name(name)
        return profile_named(name)
    if is_users and not (path := _beside(folder, name)).startswith(("//", "\\\\")):
        return profile_named(path)
    return profile_named(_in_project(name, folder, "copy it into the project, or make it one of your profiles"))


def _baseline(name: str, folder: str) -> Baseline:
    """The baseline that the configuration names, a file of the project.

    Raises:
        ValueError: if there is none, or it cannot be read.
    """
    from pai_lsp.project.baseline import read_baseline  # noqa: PLC0415 - few configurations name one

    return read_baseline(_in_project(name, folder, "a baseline belongs to the project's files"))


def _in_project(name: str, folder: str, advice: str) -> str:
    """The path of a file that the configuration in a folder names.

    Raises:
        ValueError: if it is outside of the project.
    """
    path, project = _beside(folder, name), project_folder(folder) or folder
    if not is_in_folder(path, project) or not is_in_folder(os.path.realpath(path), os.path.realpath(project)):
        raise ValueError(f"'{visible(name)}' is outside the project; {advice}")
    return path


def _beside(folder: str, name: str) -> str:
    """The path of a name that is written in a folder."""
    return os.path.normpath(os.path.join(folder, name))  # noqa: PTH118 - texts


def _contradiction(name: str, cluster: Profile) -> StructureError:
    """The platform is not the cluster's; it counts nevertheless, because a profile differs between machines."""
    own = cluster.platform
    message = f"the jobs are checked for '{name}', but the cluster '{visible(cluster.name)}' runs {own.title}"
    return StructureError(_OTHER_PLATFORM, ("platform",), None, message, (own.name,))


def _items(mapping: dict[str, Any], key: str) -> list[Any]:
    return [item for item in mapping.get(key) or () if item is not None]


def _sources(source: dict[str, Any]) -> Iterator[DirectorySource | ServerSource]:
    if directory := source.get("directory"):
        yield DirectorySource(directory)
    if url := source.get("url"):
        yield ServerSource(url, source.get("token_env"), tuple(_items(source, "token_command")))


def _severities(rules: dict[str, str | None], *, previews: bool) -> dict[str, Severity | None]:
    """The severity of each rule that is set: by its code, else by a former code, else by its family.

    The name of a family does not switch on its rules in preview.
    """
    found: dict[str, Severity | None] = {}
    words = {name: word for name, word in rules.items() if word is not None}
    for name in sorted(words, key=_rank):
        severity, codes = SEVERITIES[words[name]], codes_named(name)
        if name in family_names() and not previews and severity is not None:
            codes -= {code for code in codes if known(code).status is RuleStatus.PREVIEW}
        found.update(dict.fromkeys(codes, severity))
    return found


def _rank(name: str) -> int:
    """Names with a higher number overrule those with a lower one."""
    codes = codes_named(name)
    return 2 if name in codes else 1 if renaming(name) else 0


def _wrong_rules(value: Any) -> Iterator[StructureError]:
    """The names of rules and families that are unknown, and those of rules that have another name now."""
    value = value or {}
    for name in value.get("rules") or {}:
        yield from _wrong_rule(name, ("rules",), name)
    for pattern, ignored in (value.get("per_file_ignores") or {}).items():
        for number, name in enumerate(ignored or ()):
            if isinstance(name, str):
                yield from _wrong_rule(name, ("per_file_ignores", pattern, number), None)


def _wrong_rule(name: str, path: tuple[str | int, ...], key: str | None) -> Iterator[StructureError]:
    meaning = name_meaning(name)
    if meaning.message:
        kind = _RENAMED_RULE if meaning.codes else _UNKNOWN_RULE
        choices = tuple(meaning.codes - {name}) if meaning.codes else nearest(name, (*all_codes(), *families()))[:1]
        yield StructureError(kind, path, key, meaning.message, choices)


def _zero_bytes(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[StructureError]:
    """The texts with a zero byte: the system takes none in a path, a word of a program or an address."""
    if isinstance(value, str) and "\0" in value:
        yield StructureError("zero-byte", path, None, "a path, a word of a program or an address has no zero byte")
    for key, one in value.items() if isinstance(value, dict) else enumerate(as_list(value)):
        yield from _zero_bytes(one, (*path, key))


def _foreign_program(value: Any) -> Iterator[StructureError]:
    """A program in a file that may be somebody else's: it is not run."""
    setting = (value or {}).get("shellcheck")
    if isinstance(setting, str) and setting not in _SHELLCHECK:
        message = "a path is accepted only in the settings of the editor and on the command line; write 'auto' or 'off'"
        yield StructureError("program", ("shellcheck",), None, message, _SHELLCHECK)


def _source_errors(value: Any) -> Iterator[StructureError]:
    """The errors in sources that are not about the type of a value."""
    for number, source in enumerate(((value or {}).get("marketplace") or {}).get("sources") or ()):
        path = ("marketplace", "sources", number)
        if source is None:
            continue
        directory, url = source.get("directory"), source.get("url")
        if ("directory" in source) == ("url" in source):
            yield StructureError("missing-key", path, None, "a source has either 'directory' or 'url'")
        elif "directory" in source:
            for key in {"token_env", "token_command"} & source.keys():
                message = f"'{key}' works only with 'url'; a folder needs no token"
                yield StructureError("unknown-key", path, key, message)
        elif {"token_env", "token_command"} <= source.keys():
            message = "the token comes from 'token_env' or from 'token_command', not from both"
            yield StructureError("unknown-key", path, "token_command", message)
        if directory and os.path.expanduser(directory).startswith("~"):
            user = directory.partition("/")[0]
            message = f"'{user}' is not a home folder on this machine, so nothing is read from this 'directory'"
            message += "; write a path from the folder of this file"
            yield StructureError(_HOME_FOLDER, (*path, "directory"), None, message)
        if url and not url.startswith(("http://", "https://")):
            yield StructureError("address", (*path, "url"), None, "'url' must begin with 'http://' or 'https://'")
        elif url and not address_parts(url).hostname:
            yield StructureError("address", (*path, "url"), None, "'url' is not a valid web address")
        elif url and "@" in url.split("/")[2]:
            message = "'url' must not contain a user name or a password; see 'token_env'"
            yield StructureError("address", (*path, "url"), None, message)


def _without(value: Any, errors: Iterable[StructureError]) -> Any:
    """The value with null in place of everything that is wrong."""
    wrong = {error.path if error.key is None else (*error.path, error.key) for error in errors}

    def right(value: Any, path: tuple[str | int, ...]) -> Any:
        if path in wrong:
            return None
        if isinstance(value, dict):
            return {key: right(one, (*path, key)) for key, one in value.items()}
        if isinstance(value, list):
            return [right(one, (*path, number)) for number, one in enumerate(value)]
        return value

    return right(value, ())


def _finding(error: StructureError, root: Node) -> Diagnostic:
    """The error at its key, or at its value; at the value's key where the value is empty."""
    path = error.path if error.key is None else (*error.path, error.key)
    nodes = nodes_along(root, path)
    node = nodes[-1]
    entry = entry_at(nodes[-2], str(path[len(nodes) - 2])) if nodes[1:] else None
    is_empty = error.kind == "empty-section" or (isinstance(node, Scalar) and node.value is None)
    span = node.span if entry is None or (error.key is None and not is_empty) else entry.key.span
    fixes = () if error.key is None and is_empty else choice_fixes(span, error.expected)
    # Not an error: a rule may have been removed, which must not break a build.
    severity = _MILD.get(error.kind, Severity.ERROR)
    tags = (DiagnosticTag.DEPRECATED,) if error.kind == _RENAMED_RULE else ()
    return Diagnostic(CODE, severity, span, error.message, fixes, tags=tags, consequence=Consequence.IGNORED)


def _syntax_fault(problem: SyntaxProblem) -> Diagnostic:
    related = () if problem.other is None else (Related(problem.other, "the other one is here"),)
    ignored = Consequence.IGNORED
    return Diagnostic(CODE, Severity.ERROR, problem.span, problem.message, related=related, consequence=ignored)
