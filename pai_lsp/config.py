"""Reads `.pai-lsp.yaml`: which rules apply with which severity, what a site has added, what is left out.

The nearest file upwards from a job counts, and it alone. What is wrong in it is reported on its place in it, and the
rest of it applies. schemas/configuration.schema.json says the same to an editor; a test holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.config_marketplace import marketplace_in
from pai_lsp.config_values import CODE, is_empty, listed, mapping, strings, unknown_keys, wrong
from pai_lsp.diagnostic import Diagnostic, Related, Severity
from pai_lsp.exclusion import Exclusion, exclusion_of
from pai_lsp.files import UnreadableFile, decoded, read_bytes
from pai_lsp.settings import Marketplace, Settings
from pai_lsp.spelling import did_you_mean, nearest
from pai_lsp.syntax import Mapping, Scalar, parse
from pai_lsp.text import Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pai_lsp.syntax import Entry, SyntaxProblem

FILE_NAME = ".pai-lsp.yaml"

KEYS = ("rules", "exclude", "plugins", "marketplace")
OFF = "off"
SEVERITIES: dict[str, Severity | None] = {**{severity.label: severity for severity in Severity}, OFF: None}
_SEVERITY = listed(tuple(SEVERITIES), "or")

_PLUGIN_PREFIX = "com.microsoft.pai.runtimeplugin."


@dataclass(frozen=True, slots=True, eq=False)
class Configuration:
    """What one configuration file says; without a file, the default values.

    path: the file as the caller called it; None without a file.
    folder: the absolute path of the folder that `exclusion` counts from.
    text, diagnostics: the file's text and what is wrong in it.
    """

    path: str | None = None
    folder: str = ""
    settings: Settings = field(default_factory=Settings)
    exclusion: Exclusion = field(default_factory=Exclusion)
    marketplace: Marketplace = field(default_factory=Marketplace)
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
    found = [_syntax_fault(problem) for problem in syntax.problems]
    root = syntax.root
    if root is None or (isinstance(root, Scalar) and root.value is None):
        root = Mapping(Span(0, 0), ())
    if not isinstance(root, Mapping):
        found.append(wrong(root, f"a configuration is a mapping with the keys {listed(KEYS)}"))
        root = Mapping(Span(0, 0), ())
    found += unknown_keys(root, KEYS, "a configuration")
    severities = dict(_severities(root.entry("rules"), codes, found))
    plugins = frozenset(name.removeprefix(_PLUGIN_PREFIX) for name in strings(root.entry("plugins"), found))
    return Configuration(
        path,
        folder,
        Settings(severities, plugins),
        exclusion_of(strings(root.entry("exclude"), found)),
        marketplace_in(root.entry("marketplace"), found),
        text,
        tuple(sorted(found, key=lambda diagnostic: (diagnostic.span, diagnostic.message))),
    )


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
