#!/usr/bin/env bash
# `pai-lsp check --images` against a real registry server on this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/apt_packages.sh "checking images against a registry" docker-registry=docker-registry || exit
[ -e .venv/.ready ] || make -s --no-print-directory .venv/.ready
timeout 60 .venv/bin/python -m pytest -q tests/e2e/registry/e2e_registry.py
