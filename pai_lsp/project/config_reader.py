"""Takes values of the right type out of a configuration's tree, and reports the others on their place.

Reads the section `marketplace` of a configuration: where definitions come from.

Reads the text of a `.pai-lsp.yaml`; apart from config.py because most runs find no such file.

What is wrong in it is reported on its place in it, and the rest of it applies. schemas/configuration.schema.json says
the same to an editor; a test holds the two together.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pai_lsp.catalog.settings import DirectorySource, Marketplace, ServerSource
from pai_lsp.findings.diagnostic import Diagnostic, Related, Settings, Severity
from pai_lsp.findings.fixes import choice_fixes
from pai_lsp.platform.tables import PLUGIN_PREFIX
from pai_lsp.project.configuration import Configuration
from pai_lsp.project.exclusion import exclusion_of
from pai_lsp.source.nodes import Mapping, Scalar, Sequence
from pai_lsp.source.spelling import did_you_mean, nearest
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pai_lsp.source.files import UnreadableFile
    from pai_lsp.source.nodes import Entry, Node, SyntaxProblem


CODE = "invalid-configuration"


def wrong(
    node: Node, message: str, replacements: tuple[str, ...] = (), severity: Severity = Severity.ERROR
) -> Diagnostic:
    """A finding on a node, with the names that may have been meant."""
    fixes = choice_fixes(node.span, replacements)
    return Diagnostic(CODE, severity, node.span, message, fixes)


def is_empty(node: Node) -> bool:
    """Whether nothing, or null, is written there."""
    return isinstance(node, Scalar) and node.value is None


def mapping(entry: Entry | None, found: list[Diagnostic], keys: tuple[str, ...] = ()) -> Mapping | None:
    """The mapping behind a key; with `keys`, all other keys in it are reported."""
    if entry is None or is_empty(entry.value):
        return None
    if not isinstance(entry.value, Mapping):
        found.append(wrong(entry.value, f"'{entry.name}' is a mapping"))
        return None
    if keys:
        found += unknown_keys(entry.value, keys, f"'{entry.name}'")
    return entry.value


def items(entry: Entry | None, found: list[Diagnostic], noun: str) -> tuple[Node, ...]:
    """The items of the list behind a key; `noun` says what it is a list of."""
    if entry is None or is_empty(entry.value):
        return ()
    if not isinstance(entry.value, Sequence):
        found.append(wrong(entry.value, f"'{entry.name}' is a list of {noun}"))
        return ()
    return entry.value.items


def strings(entry: Entry | None, found: list[Diagnostic]) -> Iterator[str]:
    """The strings in the list behind a key."""
    for item in items(entry, found, "strings"):
        if isinstance(item, Scalar) and item.is_string and item.text:
            yield item.text
        elif entry is not None:
            found.append(wrong(item, f"'{entry.name}' is a list of strings, and this is none"))


def string(entry: Entry | None, found: list[Diagnostic]) -> str | None:
    """The string behind a key."""
    if entry is None:
        return None
    if isinstance(entry.value, Scalar) and entry.value.is_string and entry.value.text:
        return entry.value.text
    found.append(Diagnostic(CODE, Severity.ERROR, entry.place, f"'{entry.name}' is a string"))
    return None


def unknown_keys(node: Mapping, keys: tuple[str, ...], noun: str) -> Iterator[Diagnostic]:
    """A finding for every key of a mapping that is not in `keys`; `noun` says what the mapping is."""
    for entry in node.effective_entries():
        if entry.name not in keys:
            near = nearest(entry.name, keys)
            rest = f"did you mean '{near[0]}'?" if near else f"it has {listed(keys)}"
            yield wrong(entry.key, f"'{entry.name}' is not a key of {noun}; {rest}", near[:1])


def listed(names: tuple[str, ...], word: str = "and") -> str:
    """The names in words."""
    quoted = [f"'{name}'" for name in names]
    return f"{', '.join(quoted[:-1])} {word} {quoted[-1]}"


_KEYS = ("sources", "allowed_hosts")
_SOURCE_KEYS = ("directory", "url", "token_env", "token_command")
_ADDRESS = ("http://", "https://")


def marketplace_in(entry: Entry | None, found: list[Diagnostic]) -> Marketplace:
    """The section as values; what is wrong goes to `found`, and the rest counts."""
    section = mapping(entry, found, _KEYS)
    if section is None:
        return Marketplace()
    sources = _sources(items(section.entry("sources"), found, "sources"), found)
    return Marketplace(tuple(sources), frozenset(strings(section.entry("allowed_hosts"), found)))


def _sources(nodes: tuple[Node, ...], found: list[Diagnostic]) -> Iterator[DirectorySource | ServerSource]:
    for node in nodes:
        if not isinstance(node, Mapping):
            found.append(wrong(node, "a source is a mapping with 'directory' or 'url'"))
            continue
        found += unknown_keys(node, _SOURCE_KEYS, "a source")
        directory, url = node.entry("directory"), node.entry("url")
        if (directory is None) == (url is None):
            found.append(wrong(node, "a source has either 'directory' or 'url'"))
        elif directory is not None:
            yield from _directory(node, directory, found)
        elif url is not None:
            yield from _server(node, url, found)


def _directory(node: Mapping, entry: Entry, found: list[Diagnostic]) -> Iterator[DirectorySource]:
    tokens = filter(None, (node.entry("token_env"), node.entry("token_command")))
    found += (
        wrong(token.key, f"'{token.name}' is for a source with 'url'; a folder needs no token") for token in tokens
    )
    if directory := string(entry, found):
        if os.path.expanduser(directory).startswith("~"):  # noqa: PTH111 - Path.expanduser() raises then
            user = directory.partition("/")[0]
            reason = f"'{user}' is not a home folder on this machine, so nothing is read from this 'directory'"
            found.append(wrong(entry.value, f"{reason}; write a path from the folder of this file"))
        yield DirectorySource(directory)


def _server(node: Mapping, entry: Entry, found: list[Diagnostic]) -> Iterator[ServerSource]:
    url = string(entry, found)
    if url is not None and not url.startswith(_ADDRESS):
        found.append(wrong(entry.value, "'url' begins with 'http://' or 'https://'"))
        url = None
    elif url is not None and "@" in url.split("/")[2]:
        found.append(wrong(entry.value, "'url' has no user's name or password in it; see 'token_env'"))
        url = None
    variable = string(node.entry("token_env"), found)
    command = tuple(strings(token_command := node.entry("token_command"), found))
    if token_command is not None and node.entry("token_env"):
        found.append(
            wrong(token_command.key, "the token comes from 'token_env' or from 'token_command', not from both")
        )
    elif token_command is not None and not command:
        found.append(wrong(token_command.key, "'token_command' is a command and its arguments, as a list"))
    if url is not None:
        yield ServerSource(url, variable, command)


KEYS = ("rules", "exclude", "plugins", "marketplace")
OFF = "off"
SEVERITIES: dict[str, Severity | None] = {**{severity.label: severity for severity in Severity}, OFF: None}
_SEVERITY = listed(tuple(SEVERITIES), "or")


def parse_configuration(
    text: str, codes: Collection[str], *, path: str | None = None, folder: str = ""
) -> Configuration:
    """What a configuration's text says; wrong parts are reported and passed over."""
    syntax = parse(text)
    found = [_syntax_fault(problem) for problem in syntax.problems]
    root = syntax.root
    if root is None or (isinstance(root, Scalar) and root.value is None):
        root = Mapping(Span(0, 0), ())
    if not isinstance(root, Mapping):
        found.append(wrong(root, f"a configuration is a mapping with the keys {listed(KEYS)}"))
        root = Mapping(Span(0, 0), ())
    found += unknown_keys(root, KEYS, "a configuration")
    severities = dict(_severities(root.entry("rules"), codes, found))
    plugins = frozenset(name.removeprefix(PLUGIN_PREFIX) for name in strings(root.entry("plugins"), found))
    return Configuration(
        path,
        folder,
        Settings(severities, plugins),
        exclusion_of(strings(root.entry("exclude"), found)),
        marketplace_in(root.entry("marketplace"), found),
        text,
        tuple(sorted(found, key=lambda diagnostic: (diagnostic.span, diagnostic.message))),
    )


def unreadable_configuration(file: UnreadableFile, *, folder: str = "") -> Configuration:
    """The default values, and why the file could not be read."""
    fault = Diagnostic(CODE, Severity.ERROR, file.span, file.message)
    return Configuration(file.path, folder, text=file.text, diagnostics=(fault,))


def _syntax_fault(problem: SyntaxProblem) -> Diagnostic:
    related = () if problem.other is None else (Related(problem.other, "the other one is here"),)
    return Diagnostic(CODE, Severity.ERROR, problem.span, problem.message, related=related)


def _severities(
    entry: Entry | None, codes: Collection[str], found: list[Diagnostic]
) -> Iterator[tuple[str, Severity | None]]:
    section = mapping(entry, found)
    for one in section.effective_entries() if section else ():
        if one.name not in codes:
            # Not an error: a rule may have been retired, and that is no reason to let a build fail.
            near = nearest(one.name, codes)
            message = f"no rule has the code '{one.name}'{did_you_mean(one.name, codes)}"
            found.append(wrong(one.key, message, near[:1], Severity.WARNING))
            continue
        word = one.value.text if isinstance(one.value, Scalar) else None
        if word in SEVERITIES:
            yield one.name, SEVERITIES[word]
            continue
        if is_empty(one.value):
            found.append(wrong(one.key, f"'{one.name}' has no severity; it must be {_SEVERITY}"))
            continue
        said = f"'{word}'" if word else "this"
        near = nearest(word or "", SEVERITIES)
        rest = f"did you mean '{near[0]}'?" if near else f"it must be {_SEVERITY}"
        found.append(wrong(one.value, f"{said} is no severity; {rest}", near[:1]))
