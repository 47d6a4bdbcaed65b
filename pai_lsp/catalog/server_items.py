"""Changing the items of a marketplace server: which are the user's own, and adding, changing and withdrawing one.

Each change is sent once, and no redirect is followed. A token goes only over https or to this machine. Source:
openpaimarketplace, rest_server: `POST /items` takes only items whose author is the token's user; only an item's author
and administrators may change it; `PUT` and `DELETE` answer 500 to an unknown id; errors are plain text.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from pai_lsp.catalog.definition_text import read_definition_text
from pai_lsp.source.foreign import as_text, json_mapping, json_value, mappings_in
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import scalar_text, value_at
from pai_lsp.source.syntax import parse
from pai_lsp.web.access_token import NoTokenError, access_token, keeps_secrets
from pai_lsp.web.fetching import GATEWAY_FAILURES, FetchFailure, Limits, exchange

if TYPE_CHECKING:
    from collections.abc import Mapping as MappingOf

    from pai_lsp.catalog.setup import ServerSource
    from pai_lsp.web.access_token import AccessToken
    from pai_lsp.web.fetching import HttpAnswer


class ServerError(Exception):
    """A request failed; the message has the reason, without the token.

    is_unsure: whether the server may have done what was asked. has_ended: whether it does nothing more about it.
    """

    def __init__(self, message: str, *, is_unsure: bool = False, has_ended: bool = True) -> None:
        super().__init__(message)
        self.is_unsure = is_unsure
        self.has_ended = has_ended


@dataclass(frozen=True, slots=True)
class ServerItem:
    """An item as the server has it; `names` are those of its definitions, `job` that of its job."""

    id: str
    title: str
    type: str
    protocol: str
    job: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """A server, the token for it, and the name of the token's user."""

    url: str
    token: AccessToken
    user: str

    def own_items(self) -> tuple[ServerItem, ...]:
        """The items whose author is the token's user.

        Raises:
            ServerError: if the server does not give its list.
        """
        found = self._send("GET", f"items?author={quote(self.user, safe='')}", None)
        try:
            answer = json_value(found.body)
        except ValueError:
            answer = None
        if not isinstance(answer, list):
            raise ServerError("the answer is not a list of items; check the server's address")
        read = (_item(one) for one in mappings_in(answer) if one.get("author") == self.user)
        return tuple(one for one in read if one is not None)

    def add(self, fields: MappingOf[str, object]) -> str:
        """Add an item; returns its id.

        Raises:
            ServerError: if the server refuses it, or does not answer.
        """
        found = self._send("POST", "items", {"author": self.user, **fields})
        identifier = as_text(json_mapping(found.body).get("id"))
        if not identifier:
            raise ServerError("the answer is not that of a marketplace server", is_unsure=True)
        return identifier

    def change(self, identifier: str, fields: MappingOf[str, object]) -> None:
        """Change some fields of an item.

        Raises:
            ServerError: if the server refuses it, or does not answer.
        """
        self._send("PUT", f"items/{quote(identifier, safe='')}", fields)

    def withdraw(self, identifier: str) -> None:
        """Delete an item.

        Raises:
            ServerError: if the server refuses it, or does not answer.
        """
        self._send("DELETE", f"items/{quote(identifier, safe='')}", None)

    def _send(self, method: str, place: str, fields: MappingOf[str, object] | None) -> HttpAnswer:
        headers = {"Accept": "application/json", "Authorization": f"Bearer {self.token.secret}"}
        body = b""
        if fields is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(fields).encode()
        found = exchange(method, f"{self.url.rstrip('/')}/{place}", headers, body=body, limits=Limits())
        is_change = method != "GET"
        if isinstance(found, FetchFailure):
            note = self.token.hidden_in(found.note)
            raise ServerError(note, is_unsure=is_change and found.was_sent, has_ended=False)
        if not 200 <= found.status < 300:
            has_ended = found.status not in GATEWAY_FAILURES
            is_unsure = is_change and found.status >= 500
            raise ServerError(self.token.hidden_in(found.refusal), is_unsure=is_unsure, has_ended=has_ended)
        return found


def server_access(server: ServerSource, environment: MappingOf[str, str], folder: str) -> ServerAccess:
    """How to change a server's items; runs a token command in `folder`.

    Raises:
        ServerError: if there is no token, it has no user, or must not be sent to the server's address.
    """
    if not keeps_secrets(server.url):
        raise ServerError(f"a token is sent only over https; '{server.url}' begins with 'http://'")
    try:
        token = access_token(server.token_env, server.token_command, environment, folder)
    except NoTokenError as error:
        raise ServerError(str(error)) from None
    if token is None:
        raise ServerError("the server needs an access token: set 'token_env' or 'token_command' beside its address")
    if token.user is None:
        raise ServerError("the access token names no user; a token of OpenPAI's portal does")
    return ServerAccess(server.url, token, token.user)


def _item(item: MappingOf[str, object]) -> ServerItem | None:
    identifier, title, kind, protocol = (as_text(item.get(key)) or "" for key in ("id", "name", "type", "protocol"))
    if not identifier:
        return None
    headers = read_definition_text("", protocol, reads_jobs=True).headers
    names = tuple(one.name for one in headers if one.type != "dockerimage")
    name = scalar_text(value_at(parse(protocol).root, "name"))
    return ServerItem(identifier, title, kind, protocol, name, names)
