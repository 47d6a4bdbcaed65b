"""What the runtime makes of the rendered commands when the job has secrets: the second reader of `<% %>`.

pystache reads the whole script again with nothing but `$secrets`. Every other tag that is left becomes empty; secrets
are filled in, which is not done here: they stay as the rest-server left them, for their values must not be shown.
Sources: openpai-runtime, src/common/utils.py, render_string_with_secrets; pystache 0.5.4, parser.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pai_lsp.template import MISSING, server_path

if TYPE_CHECKING:
    from collections.abc import Mapping

_TAG = re.compile(r"(?P<blank>[ \t]*)<%\s*(?:\{\s*(?P<raw>.+?)\s*\}|(?P<kind>[!>&/#^]?)\s*(?P<name>[\s\S]+?))\s*%>")


def with_secrets_left(text: str, secrets: Mapping[str, Any]) -> str:
    """The text with every tag emptied that names no secret; those that do are left as they are.

    secrets: as the rest-server reads them. Without any the runtime leaves the text alone, and so does this.
    Sections and changed marks can only come in with a parameter's value; a section of anything but a secret is dropped.
    """
    if not secrets or "<%" not in text:
        return text
    parts: list[str] = []
    at = 0
    hidden: list[str] = []  # names of the open sections whose content is dropped
    while match := _TAG.search(text, at):
        kind, name = match["kind"] or "", match["raw"] or match["name"]
        start = match.start() + len(match["blank"])
        end = match.end()
        if kind in {"!", ">", "/", "#", "^"}:
            begins_line = match.start() == 0 or text[match.start() - 1] in "\r\n"
            if begins_line and text[end : end + 1] in {"", "\r", "\n"}:
                start = match.start()
                end += text.startswith("\r", end)
                end += text.startswith("\n", end)
        if not hidden:
            parts.append(text[at:start])
        if kind == "#" and not _is_secret(name, secrets):
            hidden.append(name)
        elif kind == "/" and hidden and hidden[-1] == name:
            hidden.pop()
        elif not hidden and _is_secret(name, secrets):
            parts.append(text[start:end])
        at = end
    return "".join(parts) if hidden else "".join([*parts, text[at:]])


def _is_secret(name: str, secrets: Mapping[str, Any]) -> bool:
    """Whether pystache finds something under the name; lists right below `$secrets` are mappings to it, others not."""
    root, *steps = server_path(name).split(".")
    if root != "$secrets":
        return False
    value: Any = secrets
    is_list_open = True
    for step in steps:
        if isinstance(value, list) and is_list_open:
            value = value[int(step)] if re.fullmatch(r"0|[1-9][0-9]*", step) and int(step) < len(value) else MISSING
            is_list_open = False
        else:
            value = value.get(step, MISSING) if isinstance(value, dict) else MISSING
        if value is MISSING:
            return False
    return True
