"""The access token of a marketplace server: from the environment or a command, never from a file of the project."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pai_lsp.marketplace_settings import ServerSource

# How long a command may take, in seconds: it may ask a password store, but not a person.
PATIENCE = 15.0
# What may stand in a header (RFC 6750, section 2.1, and whatever else a server may have made up).
_TOKEN = re.compile(r"[\x21-\x7e]{1,8192}")


@dataclass(frozen=True, slots=True)
class Token:
    """A token; it never shows itself."""

    secret: str

    def __repr__(self) -> str:
        return "Token(***)"

    def hidden_in(self, text: str) -> str:
        """A text without the token in it."""
        return text.replace(self.secret, "***")


class NoTokenError(Exception):
    """The token that is configured can not be had; the text says why, and nothing of what was printed."""


def access_token(source: ServerSource, environment: Mapping[str, str], folder: str) -> Token | None:
    """The token of a server; None when none is configured. Runs the configured command, in `folder`.

    Raises:
        NoTokenError: if one is configured and can not be had.
    """
    if source.token_env is not None:
        text = environment.get(source.token_env, "").strip()
        if not text:
            raise NoTokenError(f"the environment variable '{source.token_env}' holds no token")
        origin = f"the environment variable '{source.token_env}'"
    elif source.token_command:
        text = _printed(source.token_command, folder)
        origin = f"the command '{source.token_command[0]}'"
    else:
        return None
    if not _TOKEN.fullmatch(text):
        raise NoTokenError(f"what {origin} gives is no token")
    return Token(text)


def _printed(command: tuple[str, ...], folder: str) -> str:
    import subprocess  # noqa: PLC0415 - few servers need a command

    name = command[0]
    try:
        ended = subprocess.run(  # noqa: S603 - the user's own configuration, in a workspace that is trusted
            command,
            cwd=folder or None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NoTokenError(f"the command '{name}', which prints the token, does not end") from None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "an error").lower()
        raise NoTokenError(f"the command '{name}', which prints the token, can not be run: {reason}") from None
    if ended.returncode:
        raise NoTokenError(f"the command '{name}', which prints the token, ended with status {ended.returncode}")
    return ended.stdout.decode("utf-8", "replace").strip()
