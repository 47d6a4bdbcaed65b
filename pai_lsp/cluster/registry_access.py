"""Questions to a registry, over the network or to recorded answers, and the user's own accounts as docker keeps them.

Only HEAD and GET, and a form to a token service, over https or to this machine; no redirects. An account is sent only
to its registry and to the token service that this registry names.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from urllib.parse import urlencode

from pai_lsp.catalog.fetching import FetchFailure, Limits, ProgramError, exchange, keeps_secrets, program_output
from pai_lsp.cluster.image_check import CouldNotAskError, RegistryAccount, Reply
from pai_lsp.source.failures import why
from pai_lsp.source.files import program_on_path
from pai_lsp.source.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# The names of Docker Hub; the first is that of its accounts. Source: docker/cli, cli/registry/client.
_DOCKER_HUB = ("https://index.docker.io/v1/", "index.docker.io", "docker.io", "registry-1.docker.io")
_HELPER = re.compile(r"[A-Za-z0-9._-]+")
LIMITS = Limits(connect=10.0, silence=10.0, total=20.0, size=1024 * 1024)


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
        if not keeps_secrets(url):
            raise CouldNotAskError("only https is used, except on this machine")
        headers = {"Accept": accept}
        if authorization is not None:
            headers["Authorization"] = authorization
        body = b""
        if method == "POST":
            body = urlencode(parameters).encode()
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        elif parameters:
            url += ("&" if "?" in url else "?") + urlencode(parameters)
        found = exchange(method, url, headers, body=body, limits=LIMITS)
        if isinstance(found, FetchFailure):
            raise CouldNotAskError(found.note)
        if found.is_cut:
            raise CouldNotAskError("the answer is too large")
        return Reply(found.status, found.headers, _as_json(found.body))


class DockerAccounts:
    """The user's accounts in docker's own configuration, each read when its registry is asked.

    A credential helper that this file names is run, as docker does; a job or a project has no part in that.
    Sources: docker/cli, cli/config/configfile/file.go and cli/config/credentials/native_store.go.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        folder = environment.get("DOCKER_CONFIG") or Path(environment.get("HOME") or Path.home(), ".docker")
        self._file = Path(folder, "config.json")
        self._path = environment.get("PATH", "")

    def at(self, registry: str) -> RegistryAccount | None:
        """The account at a registry, which is named by host and port; None without one.

        Raises:
            CouldNotAskError: if the file cannot be read, or its credential helper fails.
        """
        try:
            text = self._file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            reason = why(error) if isinstance(error, OSError) else "not UTF-8"
            raise CouldNotAskError(f"{visible(str(self._file))}: {reason}") from None
        known = _as_json(text.encode())
        if not isinstance(known, dict):
            raise CouldNotAskError(f"{visible(str(self._file))}: not a JSON object")
        names = _DOCKER_HUB if registry in _DOCKER_HUB else (registry,)
        helpers = known.get("credHelpers")
        own = next((helpers[name] for name in names if name in helpers), None) if isinstance(helpers, dict) else None
        helper = own or known.get("credsStore")
        if isinstance(helper, str) and helper and (found := self._from_helper(helper, names[0])) is not None:
            return found
        entries = known.get("auths")
        for address, entry in entries.items() if isinstance(entries, dict) else ():
            host = (address.partition("://")[2] or address).partition("/")[0]
            if isinstance(entry, dict) and {address, host} & set(names) and (found := _written_account(entry)):
                return found
        return None

    def _from_helper(self, name: str, registry: str) -> RegistryAccount | None:
        """What a credential helper answers. Source: docker/docker-credential-helpers, README.md, "Development"."""
        program = program_on_path(f"docker-credential-{name}", self._path) if _HELPER.fullmatch(name) else ""
        shown = f"the credential helper 'docker-credential-{visible(name)}'"
        if not program:
            raise CouldNotAskError(f"{shown} is not installed")
        try:
            status, printed = program_output([program, "get"], shown, told=registry.encode())
        except ProgramError as error:
            raise CouldNotAskError(str(error)) from None
        if status:
            if b"credentials not found" in printed:
                return None
            raise CouldNotAskError(f"{shown} failed with status {status}")
        found = _as_json(printed)
        user, secret = (found.get("Username"), found.get("Secret")) if isinstance(found, dict) else (None, None)
        if not isinstance(user, str) or not isinstance(secret, str):
            raise CouldNotAskError(f"the answer of {shown} is not understood")
        if user == "<token>":
            return RegistryAccount("", identity_token=secret)
        return RegistryAccount(user, secret) if user else None


def _written_account(entry: Mapping[str, Any]) -> RegistryAccount | None:
    """The account of an entry of docker's file; None if it has none."""
    name, password, token = (entry.get(key) or "" for key in ("username", "password", "identitytoken"))
    if isinstance(encoded := entry.get("auth"), str) and encoded:
        try:
            name, _, password = base64.b64decode(encoded).decode("utf-8").partition(":")
        except ValueError:
            return None
    if isinstance(token, str) and token:
        return RegistryAccount("", identity_token=token)
    return RegistryAccount(str(name), str(password).rstrip("\0")) if name and password else None


def _as_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
