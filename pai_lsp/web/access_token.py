"""Access tokens, which come from the environment or a command, never from a file of a project, and who may see them."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from pai_lsp.source.failures import why
from pai_lsp.source.foreign import as_text, json_mapping
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import visible
from pai_lsp.web.addresses import address_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# How long a token command may take, in seconds: long enough for a password store, not for a dialog.
PATIENCE = 15.0
# IPv4 addresses of this machine. RFC 1122, section 3.2.1.3.
_LOOPBACK = lazy_pattern(r"127(?:\.[0-9]{1,3}){3}")
# POSIX.1-2017, volume Base Definitions, chapter 8.1.
_VARIABLE = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
# The characters that a header can hold. RFC 6750, section 2.1, allows fewer, but servers may issue others.
_TOKEN = lazy_pattern(r"[\x21-\x7e]{1,8192}")


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token, which its `repr` does not show."""

    secret: str

    def __repr__(self) -> str:
        return "AccessToken(***)"

    @property
    def user(self) -> str | None:
        """The user that the token names, as the servers read it; not verified. RFC 7519, section 3."""
        part = self.secret.split(".")[1] if self.secret.count(".") == 2 else ""
        try:
            content = json_mapping(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        except ValueError:
            return None
        return as_text(content.get("username")) or None

    def hidden_in(self, text: str) -> str:
        """A text with `***` instead of the token."""
        return text.replace(self.secret, "***")


class NoTokenError(Exception):
    """The configured token is not available; the message has the reason, and no output of the token command."""


def access_token(
    variable: str | None, command: tuple[str, ...], environment: Mapping[str, str], folder: str
) -> AccessToken | None:
    """The token in a variable of the environment, or that a command prints in `folder`; None if neither is named.

    Raises:
        NoTokenError: if a configured token is not available.
    """
    if variable is not None:
        if not _VARIABLE.fullmatch(variable):
            raise NoTokenError(f"'{visible(variable)}' is not a name that a variable of the environment can have")
        text = environment.get(variable, "").strip()
        if not text:
            raise NoTokenError(f"the environment variable '{variable}' is empty; set it to the access token")
        origin = f"the value of the environment variable '{variable}'"
    elif command:
        name = f"the token command '{command[0]}'"
        try:
            status, printed = program_output(command, name, folder=folder)
        except ProgramError as error:
            raise NoTokenError(str(error)) from None
        if status:
            raise NoTokenError(f"{name} failed with status {status}")
        text, origin = printed.decode("utf-8", "replace").strip(), f"the output of {name}"
    else:
        return None
    if not _TOKEN.fullmatch(text):
        raise NoTokenError(f"{origin} is not a valid token")
    return AccessToken(text)


def keeps_secrets(url: str) -> bool:
    """Whether others on the network cannot read a request: over https, or to this machine."""
    parts = address_parts(url)
    host = parts.hostname or ""
    return parts.scheme == "https" or host in {"localhost", "::1"} or _LOOPBACK.fullmatch(host) is not None


class ProgramError(Exception):
    """A program cannot be run, or does not end in time; the message has the reason."""


def program_output(
    command: Sequence[str], name: str, *, standard_input: bytes = b"", folder: str = ""
) -> tuple[int, bytes]:
    """Run a program that the user's own configuration names, without a shell: its status and what it printed.

    name: its name in messages. standard_input: what it reads. folder: where it runs; empty for this process' own.

    Raises:
        ProgramError: if it cannot be run, or does not end within `PATIENCE`.
    """
    import subprocess  # noqa: PLC0415 - few servers need a command

    try:
        ended = subprocess.run(  # noqa: S603 - callers see to it that the configuration is trusted
            command,
            cwd=folder or None,
            input=standard_input,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ProgramError(f"{name} did not end within {PATIENCE:g} seconds") from None
    except (OSError, ValueError) as error:
        raise ProgramError(
            f"{name} cannot be run: {why(error) if isinstance(error, OSError) else 'an error'}"
        ) from None
    return ended.returncode, ended.stdout
