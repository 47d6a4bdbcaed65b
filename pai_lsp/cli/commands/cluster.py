"""`pai-lsp cluster`: makes and lists the profiles of clusters."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pai_lsp.cli import FINDINGS, WRONG_USAGE
from pai_lsp.cli.commands.job_file import failed
from pai_lsp.cluster.profile import ProfileError, read_profile
from pai_lsp.cluster.profile_file import path_of_name, profiles_folder
from pai_lsp.cluster.profile_import import profile_of_files
from pai_lsp.source.failures import OWN_FAILURE, why
from pai_lsp.source.files import UnreadableFile, decoded, read_bytes
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse


def run(arguments: argparse.Namespace) -> int:
    """Run the action."""
    if arguments.action == "list":
        return _list()
    try:
        output = arguments.output or str(path_of_name(arguments.name))
        profile = _imported(arguments)
    except ProfileError as error:
        return failed(f"cluster {arguments.action}", str(error), WRONG_USAGE)
    return _written(arguments.action, profile, output)


def _list() -> int:
    """Print the names of the user's profiles."""
    for path in sorted(profiles_folder().glob("*.json")):
        try:
            profile = read_profile(path.read_text(encoding="utf-8"))
        except (ProfileError, OSError, UnicodeDecodeError):
            sys.stdout.write(f"{visible(path.stem)}  cannot be read\n")
            continue
        taken = f", from {profile.taken_at}" if profile.taken_at else ""
        clusters = ", ".join(profile.virtual_clusters) or "none"
        sys.stdout.write(f"{visible(path.stem)}  {profile.document['platform']}, virtual clusters: {clusters}{taken}\n")
    return 0


def _imported(arguments: argparse.Namespace) -> dict[str, Any]:
    """The profile that the named files describe.

    Raises:
        ProfileError: if a file cannot be read.
    """
    texts: list[tuple[str, str]] = []
    for path in arguments.files:
        data = read_bytes(path)
        source = data if isinstance(data, UnreadableFile) else decoded(path, data)
        if isinstance(source, UnreadableFile):
            raise ProfileError(f"{visible(path)}: {source.message}")
        texts.append((visible(path), source.text))
    now = datetime.now(timezone.utc)
    return profile_of_files(texts, arguments.name, arguments.platform, arguments.group, now)


def _written(action: str, profile: dict[str, Any], output: str) -> int:
    text = json.dumps(profile, indent=1, ensure_ascii=False) + "\n"
    try:
        read_profile(text)
    except ProfileError as error:
        return failed(f"cluster {action}", f"the files do not describe a usable cluster: {error}", FINDINGS)
    if output == "-":
        sys.stdout.write(text)
        return 0
    try:
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        return failed(f"cluster {action}", f"{visible(output)}: {why(error)}", OWN_FAILURE)
    clusters = ", ".join(read_profile(text).virtual_clusters) or "none"
    sys.stderr.write(f"pai-lsp: wrote {visible(output)}; virtual clusters: {clusters}\n")
    return 0
