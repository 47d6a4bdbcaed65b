"""What programs fill in before a file is sent: `{name}`, `{{ name }}` of Jinja and Helm, `${NAME}` of envsubst."""

from __future__ import annotations

from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span

# From the last opening before the end: thousands of openings in a line are not each followed to its end.
_PLACEHOLDER = lazy_pattern(
    r"\{\{(?:(?!\{\{|\}\}).)*\}\}|\{%(?:(?!\{%|%\}).)*%\}|\$?\{[A-Za-z_]\w*\}|\$[A-Z_][A-Z0-9_]+\b"
)


def placeholder_spans(text: str) -> tuple[Span, ...]:
    """All that may be a placeholder, in order; in a file that is no template, bash and YAML mean something else."""
    return tuple(Span(*match.span()) for match in _PLACEHOLDER.finditer(text))


def is_placeholder(text: str) -> bool:
    """Whether a value is one placeholder and nothing else."""
    return _PLACEHOLDER.fullmatch(text.strip()) is not None
