#!/usr/bin/env bash
# The pictures of `pai-lsp graph`, drawn by the real Graphviz.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/apt_packages.sh "the pictures of graphs" dot=graphviz || exit
[ -e .venv/.ready ] || make -s --no-print-directory .venv/.ready
timeout 120 .venv/bin/python -m pytest -q tests/e2e/graphviz/e2e_graphviz.py
