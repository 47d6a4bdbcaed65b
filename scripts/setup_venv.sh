#!/usr/bin/env bash
# setup_venv.sh DIR PYTHON GROUP...: a virtual environment with the pinned requirements of the groups and pai-lsp itself.
# uv installs them, from .venv, which is to be the first: for one environment pip needs ten times as long.
# It knows nothing of a package index in pip's configuration; where it fails, pip is tried.
# An empty PYTHON means that pythons.sh has found none, and has said why.
set -euo pipefail
dir=$1 python=$2
shift 2
[ -n "$python" ] || exit 1
pip() { .venv/bin/python -m pip --disable-pip-version-check --python "$1" install --quiet --no-compile "${@:2}"; }
if [ "$dir" = .venv ]; then
  [ -x .venv/bin/python ] || "$python" -m venv .venv
  pip .venv/bin/python --require-hashes -r requirements/setup.txt
fi
[ -x "$dir/bin/python" ] || .venv/bin/uv venv --quiet --python "$python" "$dir"
install() { .venv/bin/uv pip install --quiet --python "$dir/bin/python" "$@" || pip "$dir/bin/python" "$@"; }
for group in "$@"; do
  install --require-hashes -r "requirements/$group.txt"
done
install --no-deps --editable .
touch "$dir/.ready"
