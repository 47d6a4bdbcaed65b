"""Questions to a registry: over the network, or to recorded answers.

Only HEAD and GET without a body, over https or to this machine; no redirects. An account is sent only to the registry
and the token service that the check of the runtime would send it to.
"""

from __future__ import annotations

import json

from pai_lsp.catalog.fetching import keeps_secrets
from pai_lsp.cluster.image_check import CouldNotAskError, Reply
from pai_lsp.version import USER_AGENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# How long an answer may take.
SECONDS = 10.0
_MOST_BYTES = 1024 * 1024


class RecordedRegistry:
    """Answers from a list of requests with what came back, each used once, in order."""

    def __init__(self, answers: Sequence[Mapping[str, Any]]) -> None:
        self._answers = list(answers)

    def ask(
        self, method: str, url: str, authorization: str | None, parameters: Mapping[str, str], accept: str = "*/*"
    ) -> Reply:
        """The recorded answer; see `Registry`."""
        del authorization, parameters, accept
        for number, one in enumerate(self._answers):
            if (one.get("method"), one.get("url")) == (method, url):
                del self._answers[number]
                if "error" in one:
                    raise CouldNotAskError(str(one["error"]))
                return Reply(one["status"], one.get("headers", {}), one.get("body"))
        raise CouldNotAskError("no answer is recorded")


class NetworkRegistry:
    """Answers from the registry itself."""

    def ask(
        self, method: str, url: str, authorization: str | None, parameters: Mapping[str, str], accept: str = "*/*"
    ) -> Reply:
        """The registry's answer; see `Registry`."""
        import httpx  # noqa: PLC0415 - slow to import

        if not keeps_secrets(url):
            raise CouldNotAskError("only https is used, except on this machine")
        headers = {"User-Agent": USER_AGENT, "Accept": accept}
        if authorization is not None:
            headers["Authorization"] = authorization
        try:
            with (
                httpx.Client(timeout=SECONDS, follow_redirects=False) as client,
                client.stream(method, url, headers=headers, params=dict(parameters) or None) as reply,
            ):
                body = b""
                for chunk in reply.iter_bytes():
                    body += chunk
                    if len(body) > _MOST_BYTES:
                        raise CouldNotAskError("the answer is too large")
                return Reply(reply.status_code, dict(reply.headers), _as_json(body))
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            raise CouldNotAskError(type(error).__name__) from None


def _as_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
