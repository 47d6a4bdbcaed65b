"""What the README shows is what there is: its commands run, and its blocks are those that the editors' tests use."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from documentation_blocks import marked_blocks

from pai_lsp import __version__

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_report_is_what_the_command_prints() -> None:
    (shown,) = re.findall(r"^```console\n\$ pai-lsp (check \S+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[:1]
    command = [sys.executable, "-m", "pai_lsp", *shown[0].split()]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60, check=False).stdout
    parts = [part.strip("\n") for part in shown[1].split("…\n") if part.strip()]
    assert len(parts) == 2
    for part in parts:
        assert f"\n{part}\n" in printed


def test_neovim_is_configured_as_in_its_test() -> None:
    assert marked_blocks("../README.md")["neovim"] == marked_blocks("editors.md")["neovim-0.11"]


def test_the_package_of_the_extension_is_called_so() -> None:
    assert f"build/openpai-jobs-{__version__}.vsix" in README


def test_every_file_it_leads_to_is_there() -> None:
    targets = {target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", README)}
    assert targets
    assert not [target for target in targets if "://" not in target and not (ROOT / target).exists()]
