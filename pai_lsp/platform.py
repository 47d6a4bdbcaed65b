"""OpenPAI itself as values: events, runtime plugins, environment variables and exit codes.

The facts stand in the JSON tables of `schemas/`, each entry with the place it comes from.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

# A job names a plugin in a prerequisite by this prefix and the plugin's own name
# (openpai-runtime, src/init.d/initializer.py).
PLUGIN_PREFIX = "com.microsoft.pai.runtimeplugin."

_NOT_IN_CONVERTED_NAME = re.compile("[^a-z0-9]")


def table(name: str) -> Any:
    """One of the shipped JSON files, such as `job.schema.json`, read anew.

    Raises:
        OSError: if the installation is broken and the file is not there.
    """
    package = Path(__file__).parent
    # An installed package holds the folder; in a checkout it stands beside the package.
    shipped = package / "schemas"
    folder = shipped if shipped.is_dir() else package.parent / "schemas"
    return json.loads((folder / name).read_text(encoding="utf-8"))


def converted_role_name(name: str) -> str:
    """A task role's name as the runtime and host names have it: lower case, only `a` to `z` and digits.

    Source: rest-server, src/utils/name.js, convertName.
    """
    return _NOT_IN_CONVERTED_NAME.sub("", name.lower())
