"""`check --watch`: checks again whenever a file changes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from time import process_time, sleep
from typing import TYPE_CHECKING

from pai_lsp.project.projects import stamp_of
from pai_lsp.project.targets import run_projects, targets
from pai_lsp.source.files import YAML_ENDINGS, full_path
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

_INTERVAL = 0.5  # seconds
# Looking takes at most this share of the time, also in a folder with very many files.
_SHARE = 0.05


def watch(paths: Sequence[str], others: Sequence[str], check: Callable[[], object]) -> NoReturn:
    """Check the files that `paths` name, again after each change, until ^C.

    others: further files that the check reads.
    """
    before: dict[str, object] | None = None
    while True:
        begin = process_time()
        now = _stamps(paths, others)
        looking = process_time() - begin
        if now != before:
            if before is not None:
                changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
                more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
                sys.stderr.write(f"\n--- changed: {visible(changed[0])}{more}\n")
            check()
            sys.stdout.flush()
            before = now
        sleep(max(_INTERVAL, looking / _SHARE))


def _stamps(paths: Sequence[str], others: Sequence[str]) -> dict[str, object]:
    """What changes when a file changes on which the check depends, by its name."""
    projects, here = run_projects(), str(Path.cwd())
    found: dict[str, object] = {one: stamp_of(one) for one in others}
    for target in targets(paths, projects, given=b"", given_name="", force_exclude=False):
        found[target.path] = stamp_of(target.path)
        setup = projects.setup_of(full_path(target.path), here)
        for folder in set(setup.directories) - set(setup.network_directories):
            for inner, _, names in os.walk(folder):
                files = (os.path.join(inner, name) for name in names if name.lower().endswith(YAML_ENDINGS))  # noqa: PTH118
                found.update((file, stamp_of(file)) for file in files)
        if setup.lock:
            found[setup.lock] = stamp_of(setup.lock)
    found["the configuration"] = projects.stamps()
    return found
