"""Passwords, tokens and keys in commands and other texts: found and hidden by one answer; look-alikes are neither.

In each line of `tests/secret_texts`, what is a secret stands between « and »; ⏎ is the end of a line.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Settings
from pai_lsp.job.secret_forms import secrets_in

FOLDER = Path(__file__).parent / "secret_texts"
SECRETS = (FOLDER / "secrets.txt").read_text(encoding="utf-8")
LOOK_ALIKES = (FOLDER / "look-alikes.txt").read_text(encoding="utf-8")
_BRACES = re.compile("[«»]")


def lines(text: str) -> list[str]:
    return [line.replace("⏎", "\n") for line in text.splitlines() if line]


def found_in(text: str) -> list[str]:
    return [text[span.start : span.end] for span, _ in secrets_in(text)]


@pytest.mark.parametrize("line", lines(SECRETS))
def test_a_secret_is_found_whole(line: str) -> None:
    text = _BRACES.sub("", line)
    expected = re.findall("«(.*?)»", line)
    found = found_in(text)
    assert all(any(one in whole for whole in found) for one in expected), found
    assert all(any(one in whole or whole in one for one in expected) for whole in found), found


@pytest.mark.parametrize("line", lines(LOOK_ALIKES))
def test_a_look_alike_is_not_one(line: str) -> None:
    assert not found_in(line)


def job_of(line: str) -> str:
    body = textwrap.indent(line, "        ")
    return f"protocolVersion: 2\nname: a\ntype: job\ntaskRoles:\n  worker:\n    commands:\n      - |\n{body}\n"


@pytest.mark.parametrize("line", lines(SECRETS)[::6])
def test_what_is_reported_is_hidden_and_the_other_way_round(line: str) -> None:
    document = Document(job_of(_BRACES.sub("", line)), Settings(), "a.pai.yaml")
    reported = [one for one in document.diagnostics if one.code == "secret-in-clear"]
    (secret,) = re.findall("«(.*?)»", line)
    assert len(reported) == 1
    assert secret not in document.job.hidden.without(document.text)
