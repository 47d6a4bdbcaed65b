"""Semantic tokens: names and their uses, templates, and variables in commands, for an editor to color.

The YAML itself is colored by the editor's grammar; the tokens add only what a grammar cannot know.
"""

from __future__ import annotations

from itertools import chain, groupby
from typing import TYPE_CHECKING

from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.template import ROOTS, TagKind, variables
from pai_lsp.ide.token_types import TokenModifier, TokenType
from pai_lsp.job.definition import SIMPLE_KEYS
from pai_lsp.job.symbols import SymbolKind
from pai_lsp.job.template_uses import TemplatePlace
from pai_lsp.job.uses import command_lists
from pai_lsp.source.content import mapped
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.nodes import Scalar, walk
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.document import Document
    from pai_lsp.job.job import Job
    from pai_lsp.job.template_uses import TemplateUse
    from pai_lsp.platform.tables import EnvironmentVariable


@dataclass(frozen=True, slots=True)
class SemanticToken:
    """One word; tokens never overlap."""

    span: Span
    type: TokenType
    modifiers: tuple[TokenModifier, ...] = ()


_SYMBOLS = {
    SymbolKind.PREREQUISITE: TokenType.PREREQUISITE,
    SymbolKind.TASK_ROLE: TokenType.TASK_ROLE,
    SymbolKind.DEPLOYMENT: TokenType.DEPLOYMENT,
    SymbolKind.PARAMETER: TokenType.PARAMETER,
    SymbolKind.SECRET: TokenType.PARAMETER,
    SymbolKind.PORT: TokenType.PORT,
    SymbolKind.TEMPLATE_VARIABLE: TokenType.TEMPLATE_VARIABLE,
}


def semantic_tokens(document: Document, span: Span | None = None) -> list[SemanticToken]:
    """The tokens of the document, or those that touch a span, in the order of the text."""
    found = [*_variables(document), *_templates(document), *_braces(document), *_names(document)]
    if span is not None:
        found = [token for token in found if token.span.overlaps(span)]
    return list(_side_by_side(found))


def _names(document: Document) -> Iterator[SemanticToken]:
    for one in document.occurrences:
        kind = _SYMBOLS.get(one.symbol.kind)
        if kind is not None:
            declared = (TokenModifier.DECLARATION,) if one.is_definition else ()
            secret = (TokenModifier.SECRET,) if one.symbol.kind is SymbolKind.SECRET else ()
            yield SemanticToken(one.span, kind, declared + secret)


def _templates(document: Document) -> Iterator[SemanticToken]:
    """The parts of each `<% %>` that somebody fills; what stays as it is looks like the text around it."""
    for use in document.job.template_uses:
        if use.place is not TemplatePlace.LITERAL and use.tag.kind is TagKind.NAME and not use.tag.in_section:
            yield SemanticToken(Span(use.span.start, use.span.start + 2), TokenType.DELIMITER)
            yield SemanticToken(Span(use.span.end - 2, use.span.end), TokenType.DELIMITER)
            yield from _path(use)


def _path(use: TemplateUse) -> Iterator[SemanticToken]:
    for number, step in enumerate(use.tag.steps):
        is_root = number == 0 and step.name in {*ROOTS, "this"}
        yield SemanticToken(use.step_span(number), TokenType.ROOT if is_root else TokenType.MEMBER)


def _braces(document: Document) -> Iterator[SemanticToken]:
    """The `{{` and `}}` of declared template variables; the name between them has its own token."""
    for definition in document.job.definitions:
        declared = {variable.name for variable in definition.template_variables}
        for node in walk(definition.node) if declared else ():
            if not isinstance(node, Scalar) or "{{" not in node.text:
                continue
            text = mapped(document.text, node)
            for variable in variables(node.text):
                if variable.name in declared:
                    start, end = variable.span.start, variable.span.end
                    yield SemanticToken(text.span(start, start + 2), TokenType.DELIMITER)
                    yield SemanticToken(text.span(end - 2, end), TokenType.DELIMITER)


def _variables(document: Document) -> Iterator[SemanticToken]:
    """Every variable that commands read."""
    for scalar in _commands(document.job):
        if "$" in scalar.text:
            text = mapped(document.text, scalar)
            for use in read_script(scalar.text.rstrip()).uses:
                known = document.job.platform.environment_variable(use.name)
                yield SemanticToken(text.span(use.span.start, use.span.end), TokenType.VARIABLE, _modifiers(known))


def _commands(job: Job) -> Iterator[Scalar]:
    for role in job.task_roles:
        yield from role.commands
    for deployment in job.deployments:
        for entry in deployment.role_entries:
            for key in SIMPLE_KEYS:
                yield from deployment.commands(entry.name, key)
    yield from chain.from_iterable(command_lists(job.plugin_uses))


def _modifiers(known: EnvironmentVariable | None) -> tuple[TokenModifier, ...]:
    if known is None:
        return ()
    is_old = known.status in {"deprecated", "removed"}
    return (TokenModifier.PLATFORM, TokenModifier.DEPRECATED) if is_old else (TokenModifier.PLATFORM,)


def _side_by_side(tokens: Iterable[SemanticToken]) -> Iterator[SemanticToken]:
    """The tokens cut so that none overlaps: one inside another takes its part of it.

    Of two on one place the last counts.
    """
    owners: dict[int, SemanticToken] = {}
    for token in sorted(tokens, key=lambda one: -len(one.span)):
        owners |= dict.fromkeys(range(token.span.start, token.span.end), token)
    # By its distance from its number in the order, each run of neighbors is one group.
    places = enumerate(sorted(owners))
    for (token, _), found in groupby(places, key=lambda place: (owners[place[1]], place[1] - place[0])):
        run = [offset for _, offset in found]
        yield replace(token, span=Span(run[0], run[-1] + 1))
