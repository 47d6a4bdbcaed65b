"""A baseline: how many findings of each rule are accepted in each file, in a file of its own.

It has counts and no places, so that moved lines change nothing. An update only lowers them. Where a file has more
findings of a rule than the baseline accepts, all of them are reported: it is not known which one is new.
"""

# ruff: noqa: PTH118, PTH120 - importing pathlib takes longer than this module's work
from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import causes
from pai_lsp.source.files import UnreadableFile, decoded, full_path, is_in_folder, read_bytes
from pai_lsp.source.foreign import as_whole, json_mapping
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pai_lsp.findings.diagnostic import Diagnostic

    Counts = Mapping[str, Mapping[str, int]]

# It changes when older versions of pai-lsp cannot read the file.
_VERSION = 1


class BaselineError(ValueError):
    """A baseline cannot be read; the message says why and what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """The accepted findings.

    path: the file, an absolute path. counts: by the path of a file, from the baseline's folder with `/`, and by code.
    """

    path: str
    counts: Counts

    def name_of(self, file: str) -> str:
        """What the baseline calls a file."""
        full, folder = full_path(file), os.path.dirname(self.path)
        below = os.path.relpath(full, folder) if is_in_folder(full, folder) else full
        return below.replace(os.sep, "/")

    def accepted_in(self, file: str) -> Mapping[str, int]:
        """How many findings of each rule are accepted in a file, by code."""
        return self.counts.get(self.name_of(file), {})


def read_baseline(path: str) -> Baseline:
    """The baseline in a file.

    Raises:
        BaselineError: if it is not a baseline, or cannot be read.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise BaselineError("it is not a plain file")
    source = decoded(path, read_bytes(path))
    if isinstance(source, UnreadableFile):
        raise BaselineError(source.message)
    value = json_mapping(source.text)
    files = value.get("files")
    if value.get("version") != _VERSION or not isinstance(files, dict) or not all(map(_are_counts, files.values())):
        raise BaselineError("this is not a baseline; delete it, and write it again with --update-baseline")
    return Baseline(full_path(path), files)


def _are_counts(value: object) -> bool:
    return isinstance(value, dict) and all((as_whole(number) or 0) > 0 for number in value.values())


def first_baseline(path: str, found: Mapping[str, Iterable[Diagnostic]]) -> Baseline:
    """The baseline that accepts what was found, by file."""
    empty = Baseline(full_path(path), {})
    return Baseline(empty.path, {empty.name_of(file): _counts(diagnostics) for file, diagnostics in found.items()})


def lowered(baseline: Baseline, found: Mapping[str, Iterable[Diagnostic]]) -> Baseline:
    """The baseline without what is gone: in the files that were checked, and of files that do not exist any more."""
    folder = os.path.dirname(baseline.path)
    left = {name: counts for name, counts in baseline.counts.items() if os.path.exists(os.path.join(folder, name))}
    for file, diagnostics in found.items():
        name, now = baseline.name_of(file), _counts(diagnostics)
        if name in left:
            left[name] = {code: min(number, now[code]) for code, number in left[name].items()}
    return Baseline(baseline.path, left)


def _counts(diagnostics: Iterable[Diagnostic]) -> Counter[str]:
    return Counter(one.code for one in causes(diagnostics))


def baseline_text(baseline: Baseline) -> str:
    """The content of the file: one line a rule, sorted, so that two versions can be compared and merged."""
    files = {
        name: {code: number for code, number in sorted(counts.items()) if number}
        for name, counts in sorted(baseline.counts.items())
        if any(counts.values())
    }
    return json.dumps({"version": _VERSION, "files": files}, indent=1, ensure_ascii=False) + "\n"


def total(baseline: Baseline) -> int:
    """How many findings are accepted."""
    return sum(number for counts in baseline.counts.values() for number in counts.values())


def without_accepted(
    diagnostics: Iterable[Diagnostic], accepted: Mapping[str, int]
) -> tuple[tuple[Diagnostic, ...], int]:
    """The findings of a file that a baseline does not accept, and the number of those that it accepts."""
    every = tuple(diagnostics)
    old = is_accepted(every, accepted)
    return tuple(one for one in every if one.code not in old), sum(one.code in old for one in causes(every))


def is_accepted(diagnostics: Iterable[Diagnostic], accepted: Mapping[str, int]) -> frozenset[str]:
    """The codes of which there are no more findings in a file than the baseline accepts."""
    if not accepted:
        return frozenset()
    return frozenset(code for code, number in _counts(diagnostics).items() if number <= accepted.get(code, 0))
