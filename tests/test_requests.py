"""What is said of the answers of servers, and which values are still taken: limits at their exact values."""

from __future__ import annotations

import argparse
import base64
import json
from threading import TIMEOUT_MAX

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
