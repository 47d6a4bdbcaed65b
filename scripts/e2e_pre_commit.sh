#!/usr/bin/env bash
# The hooks in a real pre-commit, on real git repositories.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/apt_packages.sh "the hooks in pre-commit" git=git || exit
[ -e .venv/.ready ] || make -s --no-print-directory .venv/.ready
make -s --no-print-directory .venvs/e2e/.ready \
  || exec scripts/not_run.sh "pre-commit needs the packages of requirements/e2e.txt from the Python package index; see pip's message"
E2E_PRE_COMMIT=$PWD/.venvs/e2e/bin/pre-commit timeout 200 .venv/bin/python -m pytest -q tests/e2e/pre_commit/e2e_pre_commit.py
