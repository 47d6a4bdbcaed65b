"""What is filled in before a file is sent: `{name}`, `{{ name }}` of Jinja and Helm, `${NAME}` and `<name>`."""

from __future__ import annotations

from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span, start_of_line

# From the last opening before the end: thousands of openings in a line are not each followed to its end.
_PLACEHOLDER = lazy_pattern(
    r"\{\{(?:(?!\{\{|\}\}).)*\}\}|\{%(?:(?!\{%|%\}).)*%\}|\$?\{[A-Za-z_]\w*\}|\$[A-Z_][A-Z0-9_]+\b"
)
# What documentation writes for a value: `<PATH>`, `<your path>`.
_IN_ANGLES = lazy_pattern(r"(?<![^\s=:/\"'(])<[A-Za-z][\w ,.:/|'()-]{0,60}(?<![ ])>(?![>&(])")
PLACEHOLDER_ADVICE = "write the value, as bash reads '<' and '>' as redirections"


def angle_placeholder(text: str, at: int) -> Span | None:
    """The placeholder `<name>` of a script that ends last before `at`, on the same line or the one before it."""
    start = start_of_line(text, max(text.rfind("\n", 0, at), 0))
    found = [match.span() for match in _IN_ANGLES.finditer(text, start, min(at + 1, len(text)))]
    return Span(*found[-1]) if found else None


def placeholder_spans(text: str) -> tuple[Span, ...]:
    """All that may be a placeholder, in order; in a file that is not a template, bash and YAML mean something else."""
    return tuple(Span(*match.span()) for match in _PLACEHOLDER.finditer(text))


def is_placeholder(text: str) -> bool:
    """Whether a value is one placeholder and nothing else."""
    return _PLACEHOLDER.fullmatch(text.strip()) is not None
