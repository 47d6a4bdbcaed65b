"""A file that is open in the client, at one version: what every feature is asked about."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

from pai_lsp.config import FILE_NAME
from pai_lsp.lsp.convert import Places
from pai_lsp.settings import Settings

if TYPE_CHECKING:
    from pai_lsp.diagnostic import Diagnostic
    from pai_lsp.document import Document
    from pai_lsp.lsp.client import Client

JOB_LANGUAGE = "openpai-job"


class Kind(Enum):
    """What a file is to us; of all other YAML we say nothing."""

    JOB = "job"
    CONFIGURATION = "configuration"
    OTHER = "other"


@dataclass(frozen=True, eq=False)
class OpenDocument:
    """The text as the client has it in `version`.

    path: what reports and rules call the file.
    language: what the client calls its language.
    is_excluded: whether the configuration leaves this file out; then nothing is found in it.
    """

    uri: str
    version: int
    language: str
    text: str
    path: str
    client: Client
    settings: Settings = field(default_factory=Settings)
    is_excluded: bool = False

    def is_checked_like(self, other: OpenDocument) -> bool:
        """Whether the same settings hold for both."""
        return (self.settings, self.is_excluded) == (other.settings, other.is_excluded)

    @cached_property
    def document(self) -> Document:
        """The snapshot that the analysis is asked about."""
        from pai_lsp.document import Document  # noqa: PLC0415 - loaded when the client is connected

        return Document(self.text, self.settings, self.path)

    @cached_property
    def places(self) -> Places:
        """Translates between offsets and the client's positions."""
        return Places(self.document.lines, self.client.unit)

    @cached_property
    def kind(self) -> Kind:
        """A job is known by the language the editor gave it, its name or its root."""
        if PurePath(self.path).name == FILE_NAME:
            return Kind.CONFIGURATION
        return Kind.JOB if self.language == JOB_LANGUAGE or self.document.is_job else Kind.OTHER

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is found in it, by place; no message tells the value of a secret."""
        if self.kind is Kind.JOB and not self.is_excluded:
            return _without_secrets(self.document)
        if self.kind is Kind.CONFIGURATION:
            from pai_lsp.commands.known_rules import BY_CODE  # noqa: PLC0415 - loaded when the client is connected
            from pai_lsp.config_reader import parse_configuration  # noqa: PLC0415 - rarely open

            return parse_configuration(self.text, BY_CODE).diagnostics
        return ()


def _without_secrets(document: Document) -> tuple[Diagnostic, ...]:
    from pai_lsp.hidden_values import hidden_spans, without_hidden_words  # noqa: PLC0415 - loaded when the client is connected

    found = document.diagnostics
    hidden = hidden_spans(document, found) if found else ()
    return tuple(without_hidden_words(one, document.text, hidden) for one in found) if hidden else found
