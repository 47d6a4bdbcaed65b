#!/usr/bin/env bash
# setup_venv.sh DIR PYTHON GROUP...: a virtual environment with the pinned requirements of the groups and pai-lsp itself.
# Python compiles a module when it is first imported; to compile all of them beforehand takes twice as long as to install them.
# An empty PYTHON means that pythons.sh has found none, and has said why.
set -euo pipefail
dir=$1 python=$2
shift 2
[ -n "$python" ] || exit 1
[ -x "$dir/bin/python" ] || "$python" -m venv "$dir"
for group in "$@"; do
  "$dir/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check --require-hashes -r "requirements/$group.txt"
done
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --editable .
touch "$dir/.ready"
