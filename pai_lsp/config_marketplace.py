"""Reads the section `marketplace` of a configuration: where definitions come from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pai_lsp.config_values import items, mapping, string, strings, unknown_keys, wrong
from pai_lsp.marketplace_settings import DirectorySource, Marketplace, ServerSource
from pai_lsp.nodes import Mapping

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.diagnostic import Diagnostic
    from pai_lsp.nodes import Entry, Node

_KEYS = ("sources", "allowed_hosts")
_SOURCE_KEYS = ("directory", "url", "token_env", "token_command")
_ADDRESS = ("http://", "https://")


def marketplace_in(entry: Entry | None, found: list[Diagnostic]) -> Marketplace:
    """The section as values; what is wrong goes to `found`, and the rest counts."""
    section = mapping(entry, found, _KEYS)
    if section is None:
        return Marketplace()
    sources = _sources(items(section.entry("sources"), found, "sources"), found)
    return Marketplace(tuple(sources), frozenset(strings(section.entry("allowed_hosts"), found)))


def _sources(nodes: tuple[Node, ...], found: list[Diagnostic]) -> Iterator[DirectorySource | ServerSource]:
    for node in nodes:
        if not isinstance(node, Mapping):
            found.append(wrong(node, "a source is a mapping with 'directory' or 'url'"))
            continue
        found += unknown_keys(node, _SOURCE_KEYS, "a source")
        directory, url = node.entry("directory"), node.entry("url")
        if (directory is None) == (url is None):
            found.append(wrong(node, "a source has either 'directory' or 'url'"))
        elif directory is not None:
            yield from _directory(node, directory, found)
        elif url is not None:
            yield from _server(node, url, found)


def _directory(node: Mapping, entry: Entry, found: list[Diagnostic]) -> Iterator[DirectorySource]:
    tokens = filter(None, (node.entry("token_env"), node.entry("token_command")))
    found += (
        wrong(token.key, f"'{token.name}' is for a source with 'url'; a folder needs no token") for token in tokens
    )
    if directory := string(entry, found):
        if os.path.expanduser(directory).startswith("~"):  # noqa: PTH111 - Path.expanduser() raises then
            user = directory.partition("/")[0]
            reason = f"'{user}' is not a home folder on this machine, so nothing is read from this 'directory'"
            found.append(wrong(entry.value, f"{reason}; write a path from the folder of this file"))
        yield DirectorySource(directory)


def _server(node: Mapping, entry: Entry, found: list[Diagnostic]) -> Iterator[ServerSource]:
    url = string(entry, found)
    if url is not None and not url.startswith(_ADDRESS):
        found.append(wrong(entry.value, "'url' begins with 'http://' or 'https://'"))
        url = None
    elif url is not None and "@" in url.split("/")[2]:
        found.append(wrong(entry.value, "'url' has no user's name or password in it; see 'token_env'"))
        url = None
    variable = string(node.entry("token_env"), found)
    command = tuple(strings(token_command := node.entry("token_command"), found))
    if token_command is not None and node.entry("token_env"):
        found.append(
            wrong(token_command.key, "the token comes from 'token_env' or from 'token_command', not from both")
        )
    elif token_command is not None and not command:
        found.append(wrong(token_command.key, "'token_command' is a command and its arguments, as a list"))
    if url is not None:
        yield ServerSource(url, variable, command)
