"""Reads `.pai-lsp.yaml`: which rules apply with which severity, what a site has added, what is left out.

The nearest file upwards from a job counts, and it alone. What is wrong in it is reported on its place in it, and the
rest of it applies. schemas/configuration.schema.json says the same to an editor; a test holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pai_lsp.diagnostic import Diagnostic, Fix, Severity
from pai_lsp.exclusion import Exclusion, exclusion_of
from pai_lsp.files import UnreadableFile, decoded, read_bytes
from pai_lsp.settings import Settings
from pai_lsp.spelling import did_you_mean, nearest
from pai_lsp.syntax import Mapping, Scalar, Sequence, parse, plain_value
from pai_lsp.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from collections.abc import Mapping as MappingOf

    from pai_lsp.syntax import Entry, Node

FILE_NAME = ".pai-lsp.yaml"
CODE = "invalid-configuration"

KEYS = ("rules", "exclude", "plugins", "marketplace")
OFF = "off"
SEVERITIES: dict[str, Severity | None] = {**{severity.label: severity for severity in Severity}, OFF: None}

_PLUGIN_PREFIX = "com.microsoft.pai.runtimeplugin."


@dataclass(frozen=True, slots=True, eq=False)
class Configuration:
    """What one configuration file says; without a file, the default values.

    path: the file as the caller called it; None without a file.
    folder: the absolute path of the folder that `exclusion` counts from.
    marketplace: the section of that name as plain values, for who reads marketplaces.
    text, diagnostics: the file's text and what is wrong in it.
    """

    path: str | None = None
    folder: str = ""
    settings: Settings = field(default_factory=Settings)
    exclusion: Exclusion = field(default_factory=Exclusion)
    marketplace: MappingOf[str, Any] = field(default_factory=dict)
    text: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()

    def excludes(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether the file or folder, an absolute path or one from the working directory, is left out."""
        if not self.exclusion.patterns:
            return False
        try:
            below = Path(path).absolute().relative_to(self.folder)
        except ValueError:
            return False
        return bool(below.parts) and self.exclusion.excludes(below.as_posix(), is_folder=is_folder)


def find_configuration(folder: str) -> str | None:
    """The path of the nearest configuration file in `folder`, an absolute path, or above it."""
    here = Path(folder)
    for candidate in (here, *here.parents):
        if (candidate / FILE_NAME).is_file():
            return str(candidate / FILE_NAME)
    return None


def load_configuration(path: str, codes: Collection[str]) -> Configuration:
    """Read a configuration file; `codes` are those of the rules that there are. Never raises."""
    folder = str(Path(path).absolute().parent)
    data = read_bytes(path)
    source = data if isinstance(data, UnreadableFile) else decoded(path, data)
    if isinstance(source, UnreadableFile):
        unreadable = Diagnostic(CODE, Severity.ERROR, source.span, source.message)
        return Configuration(path, folder, text=source.text, diagnostics=(unreadable,))
    return parse_configuration(source.text, codes, path=path, folder=folder)


def parse_configuration(
    text: str, codes: Collection[str], *, path: str | None = None, folder: str = ""
) -> Configuration:
    """What a configuration's text says; wrong parts are reported and passed over."""
    syntax = parse(text)
    found = [Diagnostic(CODE, Severity.ERROR, problem.span, problem.message) for problem in syntax.problems]
    root = syntax.root
    if root is None or (isinstance(root, Scalar) and root.value is None):
        root = Mapping(Span(0, 0), ())
    if not isinstance(root, Mapping):
        found.append(_wrong(root, f"a configuration is a mapping with the keys {_listed(KEYS)}"))
        root = Mapping(Span(0, 0), ())
    found += _unknown_keys(root)
    severities = dict(_severities(root.entry("rules"), codes, found))
    plugins = frozenset(name.removeprefix(_PLUGIN_PREFIX) for name in _strings(root.entry("plugins"), found))
    return Configuration(
        path,
        folder,
        Settings(severities, plugins),
        exclusion_of(_strings(root.entry("exclude"), found)),
        _marketplace(root.entry("marketplace"), found),
        text,
        tuple(sorted(found, key=lambda diagnostic: (diagnostic.span, diagnostic.message))),
    )


def _unknown_keys(root: Mapping) -> Iterator[Diagnostic]:
    for entry in root.effective_entries():
        if entry.name not in KEYS:
            message = f"'{entry.name}' is not a key of a configuration, which has {_listed(KEYS)}"
            if near := nearest(entry.name, KEYS):
                message = f"'{entry.name}' is not a key of a configuration; did you mean '{near[0]}'?"
            yield _wrong(entry.key, message, near[:1])


def _severities(
    entry: Entry | None, codes: Collection[str], found: list[Diagnostic]
) -> Iterator[tuple[str, Severity | None]]:
    if entry is None:
        return
    if not isinstance(entry.value, Mapping):
        if not _is_empty(entry.value):
            found.append(_wrong(entry.value, "'rules' is a mapping of rule codes to severities"))
        return
    for one in entry.value.effective_entries():
        if one.name not in codes:
            # Not an error: a rule may have been retired, and that is no reason to let a build fail.
            near = nearest(one.name, codes)
            message = f"no rule has the code '{one.name}'{did_you_mean(one.name, codes)}"
            found.append(_wrong(one.key, message, near[:1], Severity.WARNING))
            continue
        word = one.value.text if isinstance(one.value, Scalar) else None
        if word in SEVERITIES:
            yield one.name, SEVERITIES[word]
            continue
        said = f"'{word}'" if word else "this"
        near = nearest(word or "", SEVERITIES)
        place = one.key if _is_empty(one.value) else one.value
        fixed = near[:1] if place is one.value else ()
        found.append(_wrong(place, f"{said} is no severity; expected {_listed(tuple(SEVERITIES), 'or')}", fixed))


def _strings(entry: Entry | None, found: list[Diagnostic]) -> Iterator[str]:
    """The strings of a list; anything else is reported."""
    if entry is None or _is_empty(entry.value):
        return
    if not isinstance(entry.value, Sequence):
        found.append(_wrong(entry.value, f"'{entry.name}' is a list of strings"))
        return
    for item in entry.value.items:
        if isinstance(item, Scalar) and item.is_string and item.text:
            yield item.text
        else:
            found.append(_wrong(item, f"'{entry.name}' is a list of strings, and this is none"))


def _marketplace(entry: Entry | None, found: list[Diagnostic]) -> dict[str, Any]:
    if entry is None or _is_empty(entry.value):
        return {}
    if not isinstance(entry.value, Mapping):
        found.append(_wrong(entry.value, "'marketplace' is a mapping"))
        return {}
    value = plain_value(entry.value)
    return value if isinstance(value, dict) else {}


def _wrong(
    node: Node, message: str, replacements: tuple[str, ...] = (), severity: Severity = Severity.ERROR
) -> Diagnostic:
    fixes = tuple(Fix(f"replace by '{name}'", (TextEdit(node.span, name),)) for name in replacements)
    return Diagnostic(CODE, severity, node.span, message, fixes)


def _is_empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def _listed(names: tuple[str, ...], word: str = "and") -> str:
    quoted = [f"'{name}'" for name in names]
    return f"{', '.join(quoted[:-1])} {word} {quoted[-1]}"
