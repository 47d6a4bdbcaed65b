"""`make demo` shows what it announces."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parent.parent / "scripts" / "demo.sh"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a script for bash")
def test_the_demo_checks_expands_and_draws(tmp_path: Path) -> None:
    program = tmp_path / "pai-lsp"
    program.write_text(f'#!/bin/bash\nexec "{sys.executable}" -m pai_lsp "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    environment = {**os.environ, "PATH": os.pathsep.join([str(tmp_path), os.environ["PATH"]])}
    run = subprocess.run(["bash", str(DEMO)], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    parts = run.stdout.split("\n$ pai-lsp ")[1:]
    assert [part.split("\n", 1)[0] for part in parts] == [
        "check examples/good.pai.yaml",
        "check examples",
        "expand examples/marketplace-job.pai.yaml --format script",
        "expand examples/marketplace-job.pai.yaml",
        "graph examples/marketplace-job.pai.yaml",
    ]
    assert "all good" in parts[0]
    assert "did you mean 'mnist'?" in parts[1]
    assert "when they failed: 'debug_hook'" in parts[2]
    assert "pai_lsp_at_end 'taskFails of debug_hook'" in parts[3]
    assert "flowchart LR" in parts[4]
