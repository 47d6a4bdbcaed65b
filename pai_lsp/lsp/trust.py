"""Which folders the user trusts; decides whether a configuration may run a command or ask a server.

Nothing is trusted by default. Only the initialization options and a notification of the client grant trust; settings
can only take it away. Editors read settings from files of the workspace too, and a folder must not trust itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Trust:
    """The trust that the client has granted.

    is_everything: everything that is open is trusted.
    folders: the absolute paths of trusted folders, with everything in them.
    is_refused: the client refuses all trust, and shows this to the user itself.
    """

    is_everything: bool = False
    folders: tuple[str, ...] = ()
    is_refused: bool = False

    def covers(self, folders: Sequence[str]) -> bool:
        """Whether all these folders, absolute paths and at least one, are trusted. Links are followed on both sides."""
        if self.is_refused or self.is_everything:
            return not self.is_refused
        trusted = [os.path.realpath(folder) for folder in self.folders]
        places = [Path(os.path.realpath(folder)) for folder in folders]
        return bool(places) and all(any(place.is_relative_to(one) for one in trusted) for place in places)


def trust_in(value: Any) -> Trust:
    """What a client's value `trusted` means: true, a list of folders, false; anything else trusts nothing."""
    if isinstance(value, (list, tuple)):
        paths = (os.path.expanduser(one) for one in value if isinstance(one, str))  # noqa: PTH111 - `expanduser` of os.path never raises
        return Trust(folders=tuple(path for path in paths if Path(path).is_absolute()))
    return Trust(is_everything=value is True, is_refused=value is False)


def refuses(section: Any) -> bool:
    """Whether a section of the settings refuses all trust."""
    return isinstance(section, dict) and section.get("trusted") is False
