"""The manual page: it is the one that the command line gives today, and every command and option is on it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pai_lsp.cli.subcommands import SUBCOMMANDS, parser_of

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "pai-lsp.1"
GROFF = shutil.which("groff")


def test_it_is_up_to_date() -> None:
    run = subprocess.run(
        [sys.executable, ROOT / "scripts" / "man_page.py", "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stdout + run.stderr) == (0, "")


@pytest.mark.skipif(GROFF is None, reason="needs groff")
def test_it_reads_as_a_page_without_warnings() -> None:
    command = [GROFF or "groff", "-man", "-Tutf8", "-ww", "-P-c", str(PAGE)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert run.stderr == ""
    page = re.sub(".\x08", "", run.stdout)  # without the strokes that make it bold
    words = set(page.replace(",", " ").split())
    for one in SUBCOMMANDS:
        assert f"   pai-lsp {one.name}\n" in page
        assert set(parser_of(one)._option_string_actions) <= words
    assert "   pai-lsp marketplace lock\n" in page
    assert "pai-lsp check --format sarif -o pai-lsp.sarif" in page
