#!/usr/bin/env bash
# What users install: the sdist and the wheel are built, and the wheel is installed without a network and used.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -e .venv/.ready ] || make -s --no-print-directory .venv/.ready
make -s --no-print-directory .venvs/dist/.ready \
  || exec scripts/not_run.sh "building needs the packages of requirements/dist.txt from the Python package index; see pip's message"
# The same versions as wheels, for an installation that asks no index.
export E2E_WHEELHOUSE=$PWD/build/wheelhouse
.venv/bin/python scripts/wheelhouse.py "$E2E_WHEELHOUSE" \
  || exec scripts/not_run.sh "installing from wheels needs the packages of requirements/server.txt from the Python package index, once"
timeout 300 .venv/bin/python -m pytest -q tests/e2e/distribution/e2e_distribution.py
