"""`check --baseline` and `--update-baseline`: reads and writes the file that accepts findings."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pai_lsp.cli import FINDINGS
from pai_lsp.cli.commands.job_file import put
from pai_lsp.project.baseline import baseline_text, first_baseline, is_accepted, lowered, read_baseline, total
from pai_lsp.project.targets import STANDARD_INPUT
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pai_lsp.cli.commands.check_one import Options, Outcome
    from pai_lsp.project.baseline import Baseline


def given_baseline(arguments: argparse.Namespace) -> Baseline | None:
    """The baseline that the arguments name; None for one that is to be written first.

    Raises:
        ValueError: if it cannot be read, or cannot be written with these arguments; the message says why.
    """
    if arguments.update_baseline:
        if arguments.baseline is None:
            raise ValueError("--update-baseline needs --baseline FILE")
        if arguments.select or arguments.ignore or arguments.fix or arguments.diff or arguments.add_ignore:
            others = "--select, --ignore, --fix, --diff and --add-ignore"
            raise ValueError(f"--update-baseline counts all findings; leave out {others}")
        if STANDARD_INPUT in arguments.paths:
            raise ValueError("--update-baseline: standard input has no place in a baseline")
        if not os.path.exists(arguments.baseline):
            return None
    try:
        return read_baseline(arguments.baseline)
    except ValueError as error:
        raise ValueError(f"--baseline: {visible(arguments.baseline)}: {error}") from None


def updated_baseline(path: str, options: Options, outcomes: Sequence[Outcome]) -> int:
    """Write the baseline: what it accepted before and is still there; without one, what is found now.

    Returns the exit status of the run.
    """
    files = [outcome.file for outcome in outcomes if outcome.file is not None]
    if options.baseline is None:
        found = {one.path: [d for d in one.diagnostics if d.severity <= options.threshold] for one in files}
        new, before = first_baseline(path, found), 0
    else:
        new = lowered(options.baseline, {one.path: one.diagnostics for one in files})
        before = total(options.baseline)
    put(baseline_text(new), path)
    fewer = f" ({before - total(new)} fewer)" if before > total(new) else ""
    sys.stderr.write(f"{visible(path)}: {total(new)} findings accepted{fewer}\n")
    status = 0
    for one in files:
        codes = {d.code for d in one.diagnostics if d.severity <= options.threshold}
        if new_codes := codes - is_accepted(one.diagnostics, new.accepted_in(one.path)):
            sys.stderr.write(f"{visible(one.path)}: not accepted: {', '.join(sorted(new_codes))}\n")
            status = FINDINGS
    return status
