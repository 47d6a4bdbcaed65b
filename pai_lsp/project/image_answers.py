"""Whether the images of a job are there: the answers of registries, kept in the user's cache, and findings about them.

A registry is asked only because the user asks for it. That an image is there is believed for a day; that it is not is
always asked again. If a registry cannot be asked, the last answer is reported with its age.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pai_lsp.catalog.store import age
from pai_lsp.cluster.image_check import (
    ImageConfiguration,
    ImageVerdict,
    Presence,
    RegistryAccount,
    asked_registry,
    image_verdict,
)
from pai_lsp.findings.diagnostic import Diagnostic, Finding
from pai_lsp.job.definition import name_span
from pai_lsp.rules.command_rules import image_architecture, image_not_asked, image_not_found, image_user
from pai_lsp.source.files import write_at_once
from pai_lsp.source.foreign import json_value
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.nodes import Scalar, scalar_text, value_at
from pai_lsp.source.text import visible
from pai_lsp.source.user_folders import user_cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pai_lsp.cluster.image_check import Ask
    from pai_lsp.document import Document
    from pai_lsp.findings.diagnostic import Rule
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job

_FORM = "2"
_BELIEVED = 86_400.0  # seconds
# Nearly all clusters have x86-64 nodes alone.
_ARCHITECTURE = "amd64"


@dataclass(frozen=True, slots=True)
class ImageAnswers:
    """The answers of registries, with a folder that keeps them; `now` in seconds since 1970.

    ask, account_at: see `image_verdict`.
    """

    ask: Ask
    folder: Path
    now: Callable[[], float] = time.time
    account_at: Callable[[str], RegistryAccount | None] = lambda _: None

    def verdict(self, job: Job, role: str) -> ImageVerdict:
        """The verdict about the image of a task role, asked now or kept from before."""
        known = job.task_roles_by_name.get(role)
        image = job.image_of(known) if known is not None else None
        file = self.folder / f"{_key(job, image)}.json" if image is not None else None
        kept, asked = _loaded(file) if file is not None else (None, 0.0)
        if kept is not None and kept.presence is Presence.THERE and 0 <= self.now() - asked < _BELIEVED:
            return kept
        found = image_verdict(job, role, self.ask, self.account_at)
        if found.presence is not Presence.UNKNOWN and file is not None:
            _save(file, found, self.now())
        elif kept is not None and not found.is_refused:
            note = f"{found.explanation}; {age(self.now() - asked)}, the answer was '{kept.presence.value}'"
            return replace(found, explanation=note)
        return found


def answers_of_network(own: Mapping[str, RegistryAccount] | None = None) -> ImageAnswers:
    """The answers of the registries themselves, kept in the user's cache.

    own: accounts of the user by registry, which count before those of docker's configuration.
    """
    from pai_lsp.cluster.image_check import ask_registry, docker_account  # noqa: PLC0415 - only to ask

    given = own or {}
    folder = user_cache_folder(os.environ) / "images"

    def account_at(registry: str) -> RegistryAccount | None:
        return given.get(registry) or docker_account(registry, os.environ)

    return ImageAnswers(ask_registry, folder, account_at=account_at)


def asked_registries(document: Document) -> frozenset[str]:
    """The registries that are asked for the images of a job, by host and port."""
    roles = document.job.task_roles
    return frozenset(one for role in roles if (one := asked_registry(document.job, role.name)) is not None)


class AskedImages:
    """What has been asked about images in this session; it holds for every document that names them."""

    def __init__(self) -> None:
        self._known: dict[str, ImageVerdict] = {}

    def ask(self, document: Document, answers: ImageAnswers) -> dict[str, ImageVerdict]:
        """Ask for the images of all task roles; the verdicts by role."""
        found: dict[str, ImageVerdict] = {}
        for role in document.job.task_roles:
            image = document.job.image_of(role)
            if image is not None:  # otherwise rules report it
                found[role.name] = self._known[_key(document.job, image)] = answers.verdict(document.job, role.name)
        return found

    def diagnostics(self, document: Document) -> tuple[Diagnostic, ...]:
        """The findings about the images that have been asked for, each image once."""
        found: list[Diagnostic] = []
        for role in document.job.task_roles if self._known else ():
            image = document.job.image_of(role)
            verdict = self._known.get(_key(document.job, image)) if image is not None else None
            for rule, finding in _findings(image, verdict) if image is not None and verdict is not None else ():
                severity, consequence = document.settings.severity_of(rule), rule.consequence
                if severity is not None:
                    found.append(
                        Diagnostic(rule.code, severity, finding.span, finding.message, consequence=consequence)
                    )
        return tuple(dict.fromkeys(found))


def image_diagnostics(document: Document, answers: ImageAnswers) -> tuple[Diagnostic, ...]:
    """The findings about the images of all task roles, each image once."""
    asked = AskedImages()
    asked.ask(document, answers)
    return asked.diagnostics(document)


def _findings(image: Definition, verdict: ImageVerdict) -> Iterator[tuple[Rule, Finding]]:
    uri = image.node.entry("uri")
    span = name_span(uri.value) if uri is not None and isinstance(uri.value, Scalar) else image.node.span
    if verdict.is_refused or verdict.presence is Presence.ABSENT:
        yield image_not_found, Finding(span, verdict.explanation)
    elif verdict.presence is Presence.UNKNOWN:
        yield image_not_asked, Finding(span, verdict.explanation)
    elif verdict.configuration is not None:
        known, user = verdict.configuration.architectures, verdict.configuration.user
        if user.partition(":")[0] not in {"", "0", "root"}:
            message = f"the user of the image is '{visible(user)}', so tasks fail; add 'USER root' to its Dockerfile"
            yield image_user, Finding(span, message)
        if known and _ARCHITECTURE not in known:
            message = f"the image is for {', '.join(known)}; on nodes with {_ARCHITECTURE} it does not start"
            yield image_architecture, Finding(span, message)


def _key(job: Job, image: Definition) -> str:
    """A name for the image as it is asked for; it has the account's name, and no password."""
    auth = image.node.get("auth")
    asked = ((image.node, "uri"), (auth, "registryuri"), (auth, "username"))
    parts = (scalar_text(value_at(node, key)) for node, key in asked)
    return hashlib.sha256("\0".join((job.platform.name, *parts)).encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _loaded(file: Path) -> tuple[ImageVerdict | None, float]:
    try:
        image, refused, presence, explanation, own, asked = json_value(file.read_bytes())[_FORM]
        configuration = own and ImageConfiguration(tuple(own["architectures"]), own["user"])
        return ImageVerdict(image, refused, Presence(presence), explanation, configuration), asked
    except (OSError, ValueError, TypeError, LookupError):  # there is none, or one of another version
        return None, 0.0


def _save(file: Path, verdict: ImageVerdict, now: float) -> None:
    own = verdict.configuration
    configuration = own and {"architectures": own.architectures, "user": own.user}
    stored = (verdict.image, verdict.is_refused, verdict.presence.value, verdict.explanation, configuration, now)
    with suppress(OSError):  # it is asked again next time
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_at_once(file, [json.dumps({_FORM: stored}).encode()], 0o600)
