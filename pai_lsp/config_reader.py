"""Reads the text of a `.pai-lsp.yaml`; apart from config.py because most runs find no such file.

What is wrong in it is reported on its place in it, and the rest of it applies. schemas/configuration.schema.json says
the same to an editor; a test holds the two together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.config import Configuration
from pai_lsp.config_marketplace import marketplace_in
from pai_lsp.config_values import CODE, is_empty, listed, mapping, strings, unknown_keys, wrong
from pai_lsp.diagnostic import Diagnostic, Related, Severity
from pai_lsp.exclusion import exclusion_of
from pai_lsp.nodes import Mapping, Scalar
from pai_lsp.platform import PLUGIN_PREFIX
from pai_lsp.settings import Settings
from pai_lsp.spelling import did_you_mean, nearest
from pai_lsp.syntax import parse
from pai_lsp.text import Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pai_lsp.files import UnreadableFile
    from pai_lsp.nodes import Entry, SyntaxProblem

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
