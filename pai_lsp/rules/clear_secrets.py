"""Finding what looks like a password, token or key in a job, and moving it into `secrets`. No value is ever said."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.comments import comments, comments_within
from pai_lsp.definition import key_name_span, name_span
from pai_lsp.diagnostic import Fix
from pai_lsp.edits import cut_entry, keeping_comments, line_span, quoted
from pai_lsp.frozen import dataclass
from pai_lsp.masking import masked_span
from pai_lsp.nodes import Mapping, Scalar, Style, walk
from pai_lsp.rules.inserted_values import removable
from pai_lsp.rules.template_fixes import text_at
from pai_lsp.section_edits import add_to_section, written_key
from pai_lsp.spelling import free_name
from pai_lsp.template_uses import TemplatePlace, place_at
from pai_lsp.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job import Job
    from pai_lsp.nodes import Entry, Node

# What gives a token away: a text that every such token holds, its form, and what to call it.
_FORMS = (
    ("gh", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})"), "a GitHub token"),
    ("glpat-", re.compile(r"\bglpat-[\w-]{20,}"), "a GitLab token"),
    ("IA", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), "an AWS access key"),
    ("xox", re.compile(r"\bxox[abprs]-[0-9A-Za-z-]{10,}"), "a Slack token"),
    ("hf_", re.compile(r"\bhf_[A-Za-z0-9]{30,}"), "a Hugging Face token"),
    ("AccountKey=", re.compile(r"\bAccountKey=([A-Za-z0-9+/]{40,}=*)"), "an Azure storage key"),
    ("sig=", re.compile(r"[?&]sig=([A-Za-z0-9+/%]{30,}=*)"), "an Azure signature"),
    (
        "-----BEGIN ",
        re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----(?:(?:(?!-----)[\s\S])*-----END [A-Z ]*-----)?"),
        "a private key",
    ),
    ("://", re.compile(r"://(?:<%[^%]*%>|[^\s/:@'\"<>])*:([^\s/@'\"<>${}]+)@"), "a password in an address"),
)
# What stands for a secret rather than being one.
_PLACEHOLDER = re.compile(r"(?i)[*x.]+|[<\[{(].*[>\]})]|none|null")
_WORD_FOR_PASSWORD = re.compile(r"(?i)(?:your|my)?[ _-]?(?:user|pass(?:word|wd)?|pwd|token|secret|key)")
_NAME_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PASSWORDS = frozenset({"password", "passwd", "passphrase", "pwd"})
_TOKENS = frozenset({"token", "secret", "credential", "apikey", "accesskey", "secretkey", "privatekey"})
_KEY_OWNERS = frozenset({"api", "access", "secret", "private", "account", "storage", "auth", "encryption", "signing"})
_SHORTEST_TOKEN = 8
_OUTSIDE = re.compile(r"[./~$]|[a-z]+://|ssh-")


@dataclass(frozen=True, slots=True)
class ClearSecret:
    """A secret in clear: its place, what it is, and how to move it."""

    span: Span
    kind: str
    fixes: tuple[Fix, ...] = ()


def clear_secrets(job: Job) -> Iterator[ClearSecret]:
    """Every password, token or key outside `secrets`, each once, in no order."""
    found: list[Span] = []
    hidden = [masked_span(job.text)]
    if section := job.section("secrets"):
        hidden.append(section.value.span)

    def is_new(span: Span) -> bool:
        return not any(one.overlaps(span) for one in (*hidden, *found) if len(one))

    for entry, kind in _told_by_key(job):
        span = name_span(entry.value) if isinstance(entry.value, Scalar) else entry.value.span
        if is_new(span):
            found.append(span)
            yield ClearSecret(span, kind, moved_to_secrets(job, entry))
    for needle, form, kind in _FORMS:
        for match in form.finditer(job.text) if needle in job.text else ():
            group = 1 if form.groups else 0
            span = Span(*match.span(group))
            if (
                is_new(span)
                and not _PLACEHOLDER.fullmatch(match[group])
                and not _WORD_FOR_PASSWORD.fullmatch(match[group])
            ):
                found.append(span)
                yield ClearSecret(span, kind, _text_fixes(job, span))


def _told_by_key(job: Job) -> Iterator[tuple[Entry, str]]:
    """The entries whose key says that their value is a secret."""
    for definition in job.definitions:
        auth = definition.node.get("auth") if definition.type == "dockerimage" else None
        password = auth.entry("password") if isinstance(auth, Mapping) else None
        if password is not None and isinstance(password.value, Scalar) and _is_literal(password.value):
            yield password, "a registry's password"
    places: list[Node | None] = [job.mapping("parameters"), job.extras]
    places += [definition.node for definition in job.definitions]
    for place in places:
        for node in walk(place):
            if isinstance(node, Mapping):
                for entry in node.entries:
                    if isinstance(entry.value, Scalar) and (kind := _kind(entry.name, entry.value)):
                        yield entry, kind


def _kind(name: str, value: Scalar) -> str:
    """What a key says about its value; empty where it is no secret."""
    if not _is_literal(value):
        return ""
    words = [word.lower() for word in _NAME_WORD.findall(name)]
    if not words:
        return ""
    last = words[-1]
    if last in _PASSWORDS:
        return "" if isinstance(value.value, bool) else "a password"
    is_key = last == "key" and not _KEY_OWNERS.isdisjoint(words[:-1])
    if not (is_key or last in _TOKENS) or not isinstance(value.value, str) or _OUTSIDE.match(value.text):
        return ""
    is_long = len(value.text) >= _SHORTEST_TOKEN and not any(character.isspace() for character in value.text)
    return ("a key" if is_key else "a token") if is_long else ""


def _is_literal(value: Scalar) -> bool:
    text = value.text.strip()
    if value.value is None or not text or "<%" in text or text[0] == "$":
        return False
    return _PLACEHOLDER.fullmatch(text) is None


def moved_to_secrets(job: Job, entry: Entry) -> tuple[Fix, ...]:
    """Move a whole value: a parameter becomes a secret of the same name, any other value a reference to a new one."""
    value = entry.value
    if not isinstance(value, Scalar) or value.is_block or "\n" in job.text[value.span.start : value.span.end]:
        return ()
    written = job.text[value.span.start : value.span.end]
    if value.style is Style.PLAIN and (not value.is_string or value.tag is not None):
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
    return (Fix(f"Move it to the secret '{name}'", (edit, TextEdit(value.span, reference))),) if edit else ()


def _parameter_fixes(job: Job, entry: Entry, written: str) -> tuple[Fix, ...]:
    section = job.mapping("parameters")
    if section is None or entry not in section.entries or entry.name in job.secrets or "." in entry.name:
        return ()
    whole = job.root.own("parameters") if job.root else None
    moved: tuple[TextEdit, ...] = ()
    if whole and len(section.entries) == 1 and job.section("secrets") is None:
        # Nothing would be left of the section: it becomes the other one.
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
    return (Fix(f"Move it to the secret '{entry.name}'", (*moved, *sorted(roots))),)


def _moved_with_comment(job: Job, section: Mapping, entry: Entry, written: str) -> tuple[TextEdit, ...]:
    """Move a parameter behind the secrets, with the comment behind it where the secrets have a line each."""
    secrets = job.mapping("secrets")
    behind = ""
    if not section.is_flow and not (secrets and secrets.is_flow):
        scalars = [node for node in (entry.key, entry.value) if isinstance(node, Scalar)]
        found = comments_within(job.text, line_span(job.text, entry.key.span), scalars)
        behind = "".join(f"  {comment.text}" for comment in found)
    edit = add_to_section(job, "secrets", f"{written_key(entry.name)}: {written}{behind}")
    gone = removable(job, section, entry, "parameters")
    removal = cut_entry(job.text, *gone) if edit and gone else ()
    return keeping_comments(job.text, (edit, *removal), comments(job.syntax)) if edit and removal else ()


def _text_fixes(job: Job, span: Span) -> tuple[Fix, ...]:
    """Move a part of a text, where somebody fills templates."""
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
    return (Fix(f"Move it to the secret '{name}'", (edit, TextEdit(span, f"<% $secrets.{name} %>"))),) if edit else ()
