"""The images of open jobs: registries are asked on request, and when a job is saved if the user's settings say so."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from pygls.exceptions import JsonRpcException

from pai_lsp.lsp.documents import FileKind
from pai_lsp.lsp.worker_threads import in_thread
from pai_lsp.source.foreign import as_mapping

if TYPE_CHECKING:
    from pai_lsp.cluster.image_check import RegistryAccount
    from pai_lsp.lsp.connection import Connection
    from pai_lsp.lsp.documents import OpenDocument
    from pai_lsp.project.image_answers import AskedImages, ImageAnswers


_PATIENCE = 10.0  # seconds for the client's answer
# The client's answer is the user's account at a registry: `{"name": ..., "password": ...}`, or null without one.
_ACCOUNT = "pai-lsp/registryAccount"


class ImageChecks:
    """What has been asked; nothing is loaded before the first question."""

    def __init__(self, connection: Connection) -> None:
        self.asked: AskedImages | None = None
        self._connection = connection

    async def ask(self, document: OpenDocument) -> list[dict[str, str]] | None:
        """Ask for the images of a job, and check its documents again; None for another file."""
        from pai_lsp.project.image_answers import AskedImages, answers_of_network  # noqa: PLC0415 - only to ask

        if self.asked is None:
            self.asked = AskedImages()
        answers = answers_of_network(await self._accounts(document))
        found = await in_thread(partial(_asked, document, self.asked, answers))
        if found is not None:
            self._connection.check_again(document.uri)
        return found

    async def _accounts(self, document: OpenDocument) -> dict[str, RegistryAccount]:
        """The user's accounts that the client keeps, by registry; asked each time, and not kept here."""
        from pai_lsp.cluster.image_check import RegistryAccount  # noqa: PLC0415 - only to ask
        from pai_lsp.project.image_answers import asked_registries  # noqa: PLC0415 - as above

        found: dict[str, RegistryAccount] = {}
        keeps_accounts = as_mapping(self._connection.client.options).get("registryAccounts") is True
        if not keeps_accounts or document.kind is not FileKind.JOB:
            return found
        for registry in await in_thread(partial(asked_registries, document.document)):
            try:
                asked = self._connection.server.protocol.send_request_async(_ACCOUNT, {"registry": registry})
                answer = await asyncio.wait_for(asked, _PATIENCE)
            except (JsonRpcException, asyncio.TimeoutError):
                continue
            name, password = getattr(answer, "name", None), getattr(answer, "password", None)
            if isinstance(name, str) and isinstance(password, str):
                found[registry] = RegistryAccount(name, password)
        return found


def _asked(document: OpenDocument, asked: AskedImages, answers: ImageAnswers) -> list[dict[str, str]] | None:
    if document.kind is not FileKind.JOB or document.document.is_catalog:
        return None
    clean = document.document.job.hidden.without
    return [
        {
            "role": role,
            "image": clean(verdict.image),
            "answer": "refused" if verdict.is_refused else verdict.presence.value,
            "explanation": clean(verdict.explanation),
        }
        for role, verdict in asked.ask(document.document, answers).items()
    ]
