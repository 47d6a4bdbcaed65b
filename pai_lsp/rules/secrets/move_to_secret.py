"""Fixes that move a plain-text password, token or key into `secrets`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Fix
from pai_lsp.job.definition import key_name_span
from pai_lsp.job.section_edits import add_to_section
from pai_lsp.job.template_uses import TemplatePlace, place_at
from pai_lsp.rules.templates.parameters import removable
from pai_lsp.rules.templates.template_fixes import text_at
from pai_lsp.source.comments import comments, comments_within
from pai_lsp.source.edits import cut_entry, keeping_comments, line_span
from pai_lsp.source.nodes import Mapping, Scalar, ScalarStyle
from pai_lsp.source.spelling import free_name
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.writing import quoted, written_key

if TYPE_CHECKING:
    from pai_lsp.job.clear_secrets import ClearSecret
    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Entry

_NAME_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def fixes_of(job: Job, secret: ClearSecret) -> tuple[Fix, ...]:
    """Move a plain-text secret into the section `secrets`."""
    return moved_to_secrets(job, secret.entry) if secret.entry else _text_fixes(job, secret.span)


def moved_to_secrets(job: Job, entry: Entry) -> tuple[Fix, ...]:
    """Move a whole value: a parameter becomes a secret of the same name, any other value refers to a new secret."""
    value = entry.value
    if not isinstance(value, Scalar) or value.is_block or "\n" in job.text[value.span.start : value.span.end]:
        return ()
    written = job.text[value.span.start : value.span.end]
    if value.style is ScalarStyle.PLAIN and (not value.is_string or value.tag is not None):
        written = quoted(value.text)
    if job.parameters.get(entry.name) is entry:
        return _parameter_fixes(job, entry, written)
    keys, _ = text_at(job, entry.key.span.start)
    if place_at(job, entry.key.span.start) is TemplatePlace.LITERAL:
        return ()
    name = free_name(
        "docker_password" if "auth" in keys else "_".join(_NAME_WORD.findall(entry.name)).lower(), job.secrets
    )
    edit = add_to_section(job, "secrets", f"{written_key(name)}: {written}")
    reference = f"<% $secrets.{name} %>"
    return (Fix(f"Move to the secret '{name}'", (edit, TextEdit(value.span, reference))),) if edit else ()


def _parameter_fixes(job: Job, entry: Entry, written: str) -> tuple[Fix, ...]:
    section = job.mapping("parameters")
    if section is None or entry not in section.entries or entry.name in job.secrets or "." in entry.name:
        return ()
    whole = job.root.own("parameters") if job.root else None
    moved: tuple[TextEdit, ...] = ()
    if whole and len(section.entries) == 1 and job.section("secrets") is None:
        # The section would become empty: rename it instead.
        moved = (TextEdit(key_name_span(whole), "secrets"), TextEdit(entry.value.span, written))
    else:
        moved = _moved_with_comment(job, section, entry, written)
    if not moved:
        return ()
    roots = {
        TextEdit(use.text.span(steps[0].span.start, steps[0].span.end), "$secrets")
        for use in job.template_uses
        if use.text and len(steps := use.tag.server_steps) > 1
        if (steps[0].name, steps[1].name) == ("$parameters", entry.name)
    }
    return (Fix(f"Move to the secret '{entry.name}'", (*moved, *sorted(roots))),)


def _moved_with_comment(job: Job, section: Mapping, entry: Entry, written: str) -> tuple[TextEdit, ...]:
    """Move a parameter to the end of the secrets, with its comment if every secret has a line of its own."""
    secrets = job.mapping("secrets")
    comment_after = ""
    if not section.is_flow and not (secrets and secrets.is_flow):
        scalars = [node for node in (entry.key, entry.value) if isinstance(node, Scalar)]
        found = comments_within(job.text, line_span(job.text, entry.key.span), scalars)
        comment_after = "".join(f"  {comment.text}" for comment in found)
    edit = add_to_section(job, "secrets", f"{written_key(entry.name)}: {written}{comment_after}")
    gone = removable(job, section, entry, "parameters")
    removal = cut_entry(job.text, *gone) if edit and gone else ()
    return keeping_comments(job.text, (edit, *removal), comments(job.syntax)) if edit and removal else ()


def _text_fixes(job: Job, span: Span) -> tuple[Fix, ...]:
    """Move a part of a string, if templates are filled there."""
    _, scalar = text_at(job, span.start)
    token = job.text[span.start : span.end]
    if (
        scalar is None
        or place_at(job, span.start) is TemplatePlace.LITERAL
        or "\n" in token
        or "\\" in token
        or "'" in token
    ):
        return ()
    name = free_name("token", job.secrets)
    edit = add_to_section(job, "secrets", f"{name}: {quoted(token)}")
    return (Fix(f"Move to the secret '{name}'", (edit, TextEdit(span, f"<% $secrets.{name} %>"))),) if edit else ()
