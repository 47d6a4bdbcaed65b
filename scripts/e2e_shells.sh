#!/usr/bin/env bash
# What `pai-lsp completion` prints, in real shells: zsh at a terminal, and fish. bash is among the unit tests.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/apt_packages.sh "completion in zsh and fish" zsh=zsh fish=fish || exit
[ -e .venv/.ready ] || make -s --no-print-directory .venv/.ready
timeout 120 .venv/bin/python -m pytest -q tests/e2e/shells/e2e_shells.py
