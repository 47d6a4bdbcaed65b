"""What is said of the answers of servers, and which values are still taken: limits at their exact values."""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import ssl
from threading import TIMEOUT_MAX

import httpx
import pytest

from pai_lsp.catalog.store import age
from pai_lsp.cli.arguments import address, seconds
from pai_lsp.web import fetching
from pai_lsp.web.access_token import AccessToken, NoTokenError, access_token, keeps_secrets
from pai_lsp.web.addresses import address_below, address_parts, host_and_port
from pai_lsp.web.fetching import FetchFailure, HttpAnswer, Limits, answer_of, message_in, unfollowed_redirect


@pytest.mark.parametrize(
    ("status", "wait", "body", "message"),
    [
        (401, "", b"", "the server requires a valid access token (401)"),
        (403, "", b'{"message": "not yours"}', "access is denied (403): 'not yours'"),
        (404, "", b'{"code": 7}', "there is nothing at this address (404): '{\"code\": 7}'"),
        (410, "", b"gone\n\n  for\x00 good", "there is nothing at this address (410): 'gone for good'"),
        (418, "", b"x" * 120, f"unexpected answer of the server (418): '{'x' * 120}'"),
        (499, "", b"x" * 121, f"unexpected answer of the server (499): '{'x' * 120}'"),
        (500, "", b"<html>", "the server failed (500)"),
        (503, "60", b"x" * 119 + b"<", "the server failed (503)"),
        (503, "60", b"x" * 120 + b"<", f"the server failed (503): '{'x' * 120}'"),
        (429, "", b"slow down", "the server refuses further requests for now (429); try again later"),
        (429, " 60 ", b"", "the server refuses further requests for now (429); try again in 60 seconds"),
        (429, "999999", b"", "the server refuses further requests for now (429); try again in 999999 seconds"),
        (429, "1000000", b"", "the server refuses further requests for now (429); try again later"),
        (429, "\u0663", b"", "the server refuses further requests for now (429); try again later"),
        (429, "-1", b"", "the server refuses further requests for now (429); try again later"),
    ],
)
def test_an_unsuccessful_answer(status: int, wait: str, body: bytes, message: str) -> None:
    answer = HttpAnswer(status, {"retry-after": wait} if wait else {}, body)
    assert answer.refusal == message
    assert answer_of(answer, Limits()) == FetchFailure(message, is_absent=status in {404, 410}, was_sent=True)


def test_a_successful_answer() -> None:
    for answer in (HttpAnswer(200, {"etag": "7"}, b"a"), HttpAnswer(304, {})):
        assert answer_of(answer, Limits()) is answer
    assert HttpAnswer(200, {"etag": "7"}).etag == "7"
    assert HttpAnswer(200, {}).etag == ""
    cut = answer_of(HttpAnswer(200, {}, b"a", is_cut=True), Limits(size=1000))
    assert cut == FetchFailure("the answer is larger than 1,000 bytes", is_absent=False, was_sent=True)
    assert message_in(b'{"message": 7}') == '{"message": 7}'


@pytest.mark.parametrize(
    ("url", "target", "is_followed", "where"),
    [
        ("https://a.example/items", "https://a.example/login", True, "'/login'"),
        ("https://a.example/items", "https://a.example:443/login", True, "another host, 'a.example',"),
        ("http://a.example/items", "https://a.example/items", True, "'/items'"),
        ("http://a.example:80/", "https://a.example:443/", True, "another host, 'a.example',"),
        ("http://a.example:8080/", "https://a.example/", False, "another host, 'a.example',"),
        ("https://a.example/", "http://a.example/", False, "http, where others can read it,"),
        ("https://a.example/", "https://b.example/", False, "another host, 'b.example',"),
        ("https://a.example/", "https://a.example:8443/", False, "another host, 'a.example',"),
        ("https://a.example/", "https://me@a.example/", False, "'/'"),
        ("https://a.example/", "ftp://a.example/", False, "http, where others can read it,"),
        ("https://a.example/", "", False, "another host, '',"),
    ],
)
def test_which_redirects_are_followed(url: str, target: str, *, is_followed: bool, where: str) -> None:
    assert fetching._is_same_host(url, target) is is_followed
    step = "is not followed; if that is a login page, the request needs a token"
    assert unfollowed_redirect(url, target) == f"a redirect to {where} {step}"


@pytest.mark.parametrize(
    ("url", "is_safe"),
    [
        ("https://a.example", True),
        ("http://a.example", False),
        ("http://localhost:8080", True),
        ("http://[::1]", True),
        ("http://127.0.0.1", True),
        ("http://127.255.1.2:80", True),
        ("http://127.0.0", False),
        ("http://128.0.0.1", False),
        ("http://127.0.0.1.example", False),
        ("http://localhost.example", False),
        ("", False),
    ],
)
def test_where_a_token_may_be_sent(url: str, *, is_safe: bool) -> None:
    assert keeps_secrets(url) is is_safe


def test_a_token_of_a_variable() -> None:
    for name in ("A", "_", "a1_B", "_9"):
        assert access_token(name, (), {name: " x\n"}, "") == AccessToken("x")
    for name in ("1A", "A-B", "", "A=B", "\xc4"):
        with pytest.raises(NoTokenError, match="is not a name that a variable of the environment can have"):
            access_token(name, (), {name: "x"}, "")
    assert access_token("A", (), {"A": "x" * 8192}, "") == AccessToken("x" * 8192)
    for text in ("x" * 8193, "a b", "a\x7fb", "\xe4"):
        with pytest.raises(NoTokenError, match="the value of the environment variable 'A' is not a valid token"):
            access_token("A", (), {"A": text}, "")
    for environment in ({}, {"A": " \n"}):
        with pytest.raises(NoTokenError, match="variable 'A' is empty; set it to the access token"):
            access_token("A", (), environment, "")
    assert access_token(None, (), {"A": "x"}, "") is None


@pytest.mark.parametrize(
    ("content", "user"),
    [({"username": "ann"}, "ann"), ({"username": ""}, None), ({"username": 7}, None), ({}, None), ([], None)],
)
def test_the_user_of_a_token(content: object, user: str | None) -> None:
    part = base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")
    assert AccessToken(f"a.{part}.b").user == user
    assert AccessToken(f"a.{part}").user is AccessToken(f"a.{part}.b.c").user is AccessToken("a.?.b").user is None


def test_addresses() -> None:
    assert address_parts("http://a.example:65536").netloc == address_parts("http://[a").netloc == ""
    assert host_and_port("https://me:pw@a.example:8443/x") == "a.example:8443"
    assert host_and_port("https://me@you@a.example") == "a.example"
    assert address_below("https://a.example/b/c", "d") == "https://a.example/b/d"
    assert address_below("https://a.example/b", "http://[a") == ""


@pytest.mark.parametrize(
    ("since", "words"),
    [
        (0, "just now"),
        (59.9, "just now"),
        (60, "1 minute ago"),
        (3599, "59 minutes ago"),
        (3600, "1 hour ago"),
        (7200, "2 hours ago"),
        (86_399, "23 hours ago"),
        (86_400, "1 day ago"),
        (200_000, "2 days ago"),
    ],
)
def test_an_age(since: float, words: str) -> None:
    assert age(since) == words


def test_a_host_and_a_port_of_the_command_line() -> None:
    assert address("localhost:65535") == ("localhost", 65535)
    assert address("[::1]:0") == ("::1", 0)
    for wrong in ("localhost:65536", ":1", "localhost", "localhost:", "localhost:-1", "localhost:\u0663", "a:\xb2"):
        with pytest.raises(argparse.ArgumentTypeError, match="is not HOST:PORT with a port up to 65535"):
            address(wrong)


def test_seconds_of_the_command_line() -> None:
    assert seconds("0.1") == 0.1
    assert seconds(str(TIMEOUT_MAX - 1)) == TIMEOUT_MAX - 1
    for wrong in ("0", "-1", "nan", "inf", "x", "", str(TIMEOUT_MAX)):
        with pytest.raises(argparse.ArgumentTypeError, match="is not a number of seconds, such as 90"):
            seconds(wrong)


def received(limits: Limits, *answers: tuple[int, dict[str, str], bytes], url: str = "https://a.example/b") -> object:
    """What a GET request becomes, where the server gives one answer after the other."""
    left = [httpx.Response(status, headers=headers, content=body) for status, headers, body in answers]

    async def ask() -> object:
        transport = httpx.MockTransport(lambda _: left.pop(0))
        async with httpx.AsyncClient(transport=transport) as client:
            return await fetching._fetched(client, url, limits)

    return asyncio.run(ask())


NOT_FOLLOWED = "is not followed; if that is a login page, the request needs a token"
NEEDS_LOGIN = "the proxy requires a user name and a password (407); set them in HTTPS_PROXY"
TO_C = (302, {"location": "/c"}, b"")


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ([(200, {"ETag": "7"}, b"x" * 100)], HttpAnswer(200, {"etag": "7", "content-length": "100"}, b"x" * 100)),
        ([(200, {}, b"x" * 101)], "the answer is larger than 100 bytes"),
        ([TO_C, TO_C, TO_C, (304, {}, b"")], HttpAnswer(304, {})),
        ([TO_C, TO_C, TO_C, TO_C], "too many redirects"),
        ([TO_C, (302, {"location": "//b.example/"}, b"")],
         f"a redirect to another host, 'b.example', {NOT_FOLLOWED}"),
        *(([(moved, {"location": "/c"}, b""), (304, {}, b"")], HttpAnswer(304, {})) for moved in (301, 303, 307, 308)),
        ([(302, {}, b"")], "unexpected answer of the server (302)"),
        ([(304, {"location": "/c"}, b"")], HttpAnswer(304, {"location": "/c"})),
        ([(201, {"location": "/c"}, b"")], "unexpected answer of the server (201)"),
        ([(407, {}, b"")], NEEDS_LOGIN),
    ],
)  # fmt: skip
def test_what_a_request_becomes(answers: list[tuple[int, dict[str, str], bytes]], found: HttpAnswer | str) -> None:
    is_proxy = isinstance(found, str) and "proxy" in found
    expected = FetchFailure(found, was_sent=not is_proxy) if isinstance(found, str) else found
    assert received(Limits(size=100), *answers) == expected


@pytest.mark.parametrize("status", [200, 206, 404])
def test_how_much_of_an_answer_is_read(status: int) -> None:
    body = b"x" * 70_000

    async def ask() -> HttpAnswer | FetchFailure:
        transport = httpx.MockTransport(lambda _: httpx.Response(status, content=body))
        async with httpx.AsyncClient(transport=transport) as client:
            return await fetching._received(client, "GET", "https://a.example/", Limits(size=80_000))

    found = asyncio.run(ask())
    assert isinstance(found, HttpAnswer)
    assert (len(found.body), found.is_cut) == ((65_536, True) if status == 404 else (70_000, False))


CHECK = "check the variables HTTPS_PROXY, HTTP_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError("no")
    error.verify_message = "self-signed"
    return error


@pytest.mark.parametrize(
    ("error", "note", "was_sent"),
    [
        (httpx.ConnectTimeout("x"), "the server did not answer in time", False),
        (httpx.ReadTimeout("x"), "the server did not answer in time", True),
        (asyncio.TimeoutError(), "the server did not answer in time", True),
        (
            httpx.ProxyError("407 Needed"),
            "the proxy requires a user name and a password (407); set them in HTTPS_PROXY",
            False,
        ),
        (httpx.ProxyError("503 No"), "the proxy refused the connection (503); check HTTPS_PROXY and NO_PROXY", False),
        (httpx.ProxyError("no"), "the proxy refused the connection; check HTTPS_PROXY and NO_PROXY", False),
        (httpx.ConnectError("[Errno 111] Connection refused"), "connection refused", False),
        (caused(httpx.ConnectError("x"), ConnectionRefusedError()), "connection refused", False),
        (httpx.ConnectError("x"), "no connection can be made", False),
        (caused(httpx.ConnectError("x"), ssl.SSLError("x")), "no TLS connection can be made", False),
        (
            caused(httpx.ConnectError("x"), untrusted()),
            "the certificate is not trusted: self-signed; set SSL_CERT_FILE to the file of your CA",
            False,
        ),
        (httpx.DecodingError("x"), "the answer cannot be decompressed", True),
        (httpx.InvalidURL("x"), "this is not a valid web address", False),
        (UnicodeError("x"), "this is not a valid web address", False),
        (httpx.ReadError("x"), "the connection was lost", True),
        (OSError("x"), f"the request failed (OSError); {CHECK}", True),
        (KeyError("x"), f"the request failed (KeyError); {CHECK}", True),
    ],
)
def test_why_a_request_failed(error: Exception, note: str, *, was_sent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)

    async def fail(_client: object) -> HttpAnswer:
        raise error

    assert asyncio.run(fetching._within("https://a.example/", {}, Limits(), fail)) == FetchFailure(
        note, was_sent=was_sent
    )


@pytest.mark.parametrize(
    "url", ["", "a.example", "ftp://a.example/", "https://", "https://a.example:0/", "https://a:x/"]
)
def test_what_is_not_an_address(url: str) -> None:
    absent = FetchFailure("this is not a valid web address", was_sent=False)
    assert fetching.fetch(url, accept="*/*", limits=None) == absent
    assert fetching.exchange("POST", url, {}, limits=Limits()) == absent


@pytest.mark.parametrize(
    ("proxy", "url", "host"),
    [
        ("http://me:pw@p.example:3128", "https://a.example/", "p.example:3128"),
        ("p.example:3128", "https://a.example/", "p.example:3128"),
        ("http://p.example", "https://b.example/", ""),
        ("http://[", "https://a.example/", ""),
        ("", "https://a.example/", ""),
    ],
)
def test_the_proxy_that_is_named(proxy: str, url: str, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "all_proxy", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    monkeypatch.setenv("no_proxy", "b.example")
    assert fetching._proxy_of(url) == host
