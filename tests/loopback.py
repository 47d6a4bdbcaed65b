"""A marketplace server on this machine, as good or as bad as a test wants it."""

from __future__ import annotations

import base64
import gzip
import json
import re
import socket
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import yaml

from pai_lsp.web.fetching import Limits

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator

    import pytest

Reaction = Callable[["Request"], None]

PROTOCOL = """\
protocolVersion: 2
name: {name}
type: job
secrets:
  password: hunter2
  # an older one: hunter1
prerequisites:
  - name: {name}
    type: data
    template_variables: [{{name: dataPath}}]
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskStarts
        commands: ["wget -P {{{{ dataPath }}}} https://example.com/{name}.zip"]
taskRoles: {{}}
"""


def item(number: int, called: str, **more: Any) -> dict[str, Any]:
    """An item as the real server gives it, as far as anybody looks at it."""
    return {
        "id": f"00000000-0000-4000-8000-{number:012}",
        "name": f"The {called} dataset",
        "author": "somebody",
        "type": "data",
        "summary": f"All of {called}",
        "protocol": PROTOCOL.format(name=called),
        "status": "approved",
        "createdAt": f"2021-03-{number:02}T00:00:00.000Z",
        **more,
    }


@dataclass
class Request:
    """One request, and ways to answer it."""

    path: str
    headers: dict[str, str]
    handler: BaseHTTPRequestHandler
    server: Marketplace
    method: str = "GET"
    body: bytes = b""

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()
        if self.method != "HEAD":
            self.handler.wfile.write(body)


@dataclass
class Marketplace:
    """The server; `reaction` answers every request, and `requests` keeps what was asked."""

    url: str
    reaction: Reaction
    requests: list[Request] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)


def items(*given: dict[str, Any], etag: str = 'W/"1"', token: str | None = None) -> Reaction:
    """Answers like the real server."""

    def react(request: Request) -> None:
        if token is not None and request.headers.get("authorization") != f"Bearer {token}":
            request.send(401, b"Authentication token is missing or invalid", Content_Type="text/html")
        elif not request.path.endswith("/items"):
            request.send(404, b"Result not found", Content_Type="text/html")
        elif request.headers.get("if-none-match") == etag:
            request.handler.send_response(304)
            request.handler.end_headers()
        else:
            request.send(200, json.dumps(given).encode(), Content_Type="application/json", ETag=etag)

    return react


def answering(status: int, body: bytes = b"", **headers: str) -> Reaction:
    """Always answers the same."""
    return lambda request: request.send(status, body, **headers)


def held(reaction: Reaction, released: threading.Event) -> Reaction:
    """Answers when it is released."""

    def react(request: Request) -> None:
        released.wait(30)
        reaction(request)

    return react


def never(request: Request) -> None:
    """Takes the request, and sends nothing until the server ends."""
    request.server.ended.wait(30)


def half(request: Request) -> None:
    """Announces more than it sends."""
    request.handler.send_response(200)
    request.handler.send_header("Content-Length", "1000")
    request.handler.end_headers()
    request.handler.wfile.write(b'[{"id": "1", ')
    request.handler.wfile.flush()
    request.handler.connection.shutdown(socket.SHUT_RDWR)


def dripping(request: Request) -> None:
    """Sends a byte now and then, for ever."""
    request.handler.send_response(200)
    request.handler.end_headers()
    try:
        while not request.server.ended.wait(0.02):
            request.handler.wfile.write(b" ")
            request.handler.wfile.flush()
    except OSError:
        return


def limits_for(reaction: Reaction, size: int = Limits().size) -> Limits:
    """Limits of a request: a server that never ends its answer is left soon, all others have all the time they need.

    A busy machine takes its time with an answer; a short limit for all servers would fail there.
    """
    return Limits(silence=0.1, total=0.2, size=size) if reaction in {never, dripping} else Limits(size=size)


def endless(request: Request) -> None:
    """Sends a hundred megabytes, if anybody takes them."""
    request.handler.send_response(200)
    request.handler.end_headers()
    try:
        for _ in range(1600):
            request.handler.wfile.write(b"x" * 65536)
    except OSError:
        return


def web_token(user: str) -> str:
    """An access token of OpenPAI's form, which nobody has signed."""
    return f"e30.{base64.urlsafe_b64encode(json.dumps({'username': user}).encode()).decode().rstrip('=')}.signature"


@dataclass
class Shop:
    """Takes items as the real server does: openpaimarketplace, rest_server, src/controllers/item_controller.js.

    items: what is there, by id. lost: requests of these methods are carried out, but their answers are not sent.
    """

    tokens: dict[str, str]
    items: dict[str, dict[str, Any]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)

    def __call__(self, request: Request) -> None:
        status, answer = self._answer(request)
        if request.method in self.lost:
            request.handler.connection.shutdown(socket.SHUT_RDWR)
        elif isinstance(answer, str):
            request.send(status, answer.encode(), Content_Type="text/html; charset=utf-8")
        else:
            request.send(status, json.dumps(answer).encode(), Content_Type="application/json; charset=utf-8")

    def _answer(self, request: Request) -> tuple[int, Any]:
        user = self.tokens.get(request.headers.get("authorization", "").removeprefix("Bearer "))
        if user is None:
            return 401, "Authentication token is missing or invalid"
        path, _, query = request.path.partition("?")
        identifier = path.removeprefix("/items").lstrip("/")
        if request.method == "GET":
            author = query.removeprefix("author=")
            return 200, [one for one in self.items.values() if author in {"", one["author"]}]
        if len(request.body) > 100 * 1024:
            return 413, "request entity too large"
        given = json.loads(request.body or b"{}")
        if request.method == "POST":
            if given.get("author") != user:
                return 403, f"You are not allowed to create item with author {given.get('author')}"
            if not _is_taken(given["protocol"]):
                return 400, "The protocol is not valid"
            if max(len(given["name"]), len(given["summary"])) > 255:
                return 500, "Database error"
            number = len(self.items) + 1
            identifier = f"00000000-0000-4000-8000-{number:012}"
            made = {"id": identifier, "createdAt": f"2021-03-{number:02}T00:00:00.000Z"}
            self.items[identifier] = {**given, **made}
            return 201, {"id": identifier}
        if identifier not in self.items:
            return 500, "Unexpected internal error"
        if self.items[identifier]["author"] != user:
            return 403, f"The access to the item {identifier} is forbidden"
        if request.method == "DELETE":
            del self.items[identifier]
            return 200, "deleted"
        self.items[identifier] |= given
        return 200, "updated"


def _is_taken(protocol: str) -> bool:
    """What the rest-server's schema says of prerequisites. Source: src/utils/protocol.js."""
    job = yaml.safe_load(protocol)
    if not {"protocolVersion", "name", "type", "taskRoles"} <= set(job) or not job["taskRoles"]:
        return False
    return all(
        re.fullmatch("[a-zA-Z0-9_-]+", one["name"])
        and one.get("type") in {"data", "script", "output", "dockerimage"}
        and all(isinstance(required, str) for required in one.get("require", ()))
        for one in job["prerequisites"]
    )


def cut(request: Request) -> None:
    """Ends the connection without a word."""
    request.handler.connection.shutdown(socket.SHUT_RDWR)


def no_http(request: Request) -> None:
    """Answers in another protocol."""
    request.handler.wfile.write(b"220 mail.example.com ESMTP ready\r\n")
    request.handler.connection.shutdown(socket.SHUT_RDWR)


def many_headers(request: Request) -> None:
    """Sends more headers than any server has."""
    request.handler.send_response(200)
    for number in range(1_000):
        request.handler.send_header(f"X-{number}", "a")
    request.handler.end_headers()


HTML = "text/html; charset=utf-8"
# What no client may take for an answer about what it asked for.
FAULTS: dict[str, Reaction] = {
    "cut": cut,
    "half": half,
    "no HTTP": no_http,
    "many headers": many_headers,
    "204": answering(204),
    "299": answering(299, b"{}"),
    "304 to nothing": answering(304),
    "400": answering(400, b"bad"),
    "402": answering(402, b"pay"),
    "403": answering(403, b"{}"),
    "407": answering(407),
    "418": answering(418),
    "429": answering(429, Retry_After="60"),
    "429 with a date": answering(429, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"),
    "451": answering(451, b"{}"),
    "500": answering(500, b'{"errors": [{"message": "\x1b[2Jno"}]}'),
    "502": answering(502, b"<html><h1>Bad Gateway</h1></html>", Content_Type=HTML),
    "503": answering(503, Retry_After="-1"),
    "599": answering(599),
    "999": answering(999),
    "empty": answering(200),
    "a web page": answering(200, b"<html>Sign in</html>", Content_Type=HTML),
    "a web page as JSON": answering(200, b"<html>Sign in</html>", Content_Type="application/json"),
    "half of JSON": answering(200, b'{"a": [{'),
    "deep JSON": answering(200, b"[" * 100_000),
    "JSON of another kind": answering(200, b"[[5]]", Content_Type="application/json"),
    "a number": answering(200, b"5" * 5_000),
    "null": answering(200, b"null"),
    "Latin-1": answering(200, b'{"a": "\xe9"}'),
    "zero bytes": answering(200, b"\0" * 1_000),
    "no gzip": answering(200, b"no gzip", Content_Encoding="gzip"),
    "gzip that ends early": answering(200, gzip.compress(b"{}" * 1_000)[:20], Content_Encoding="gzip"),
    "an unknown encoding": answering(200, b"\x8b\x02\x80", Content_Encoding="br, zstd"),
    "a gzip bomb": answering(200, gzip.compress(gzip.compress(b" " * 80_000_000)), Content_Encoding="gzip"),
    "elsewhere": answering(302, Location="http://example.com/items"),
    "another port": answering(302, Location="http://127.0.0.1:1/items"),
    "a file": answering(301, Location="file:///etc/passwd"),
    "nowhere": answering(302),
    "no address": answering(302, Location="http://[::1"),
    "in a cycle": lambda request: request.send(307, b"", Location=request.path),
    "300": answering(300, b"{}", Location="/a"),
}


@contextmanager
def marketplace(reaction: Reaction, context: ssl.SSLContext | None = None) -> Iterator[Marketplace]:
    """A server at a free port, over TLS with a `context`."""
    found: list[Marketplace] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0)))
            request = Request(self.path, headers, self, found[0], self.command, body)
            found[0].requests.append(request)
            found[0].asked.set()
            try:
                found[0].reaction(request)
            except OSError:  # the client has gone
                return

        do_POST = do_HEAD = do_PUT = do_DELETE = do_OPTIONS = do_GET  # noqa: N815 - the names that the base class calls

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "http" if context is None else "https"
    found.append(Marketplace(f"{scheme}://127.0.0.1:{server.server_address[1]}", reaction))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield found[0]
    finally:
        found[0].ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


def alone(monkeypatch: pytest.MonkeyPatch, cache: str) -> None:
    """No proxy, no certificates, and nothing of the user's but in this folder."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    for name in ("LOCALAPPDATA", "APPDATA"):
        monkeypatch.setenv(name, cache)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "PAI_LSP_TRUST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", cache)
