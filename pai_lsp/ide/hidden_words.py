"""Keeps passwords, tokens and keys that stand in clear out of everything that is told about a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.rules.clear_secrets import clear_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pai_lsp.document import Document
    from pai_lsp.job import Job

_STAND_IN = "***"


def hidden_words(document: Document) -> tuple[str, ...]:
    """What looks like a secret in the document, outside of `secrets`; the longest first."""
    return _ordered(document.text[span.start : span.end] for span in document.clear_secrets)


def hidden_words_of(job: Job) -> tuple[str, ...]:
    """The same for a job that was read by itself."""
    return _ordered(job.text[secret.span.start : secret.span.end] for secret in clear_secrets(job))


def without(words: Iterable[str], told: str) -> str:
    """A text in which something else stands for each of the words."""
    for word in words:
        told = told.replace(word, _STAND_IN)
    return told


def _ordered(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({word for word in words if word}, key=len, reverse=True))
