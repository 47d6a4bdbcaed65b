#!/usr/bin/env bash
# setup_venv.sh DIR PYTHON GROUP...: a virtual environment with the pinned requirements of the groups and pai-lsp itself.
# uv of .venv installs them, so that .venv is the first; pip takes several times as long. But uv knows nothing of a package
# index in pip's configuration: where it fails, pip is tried.
# An empty PYTHON means that pythons.sh has found none, and has said why.
set -euo pipefail
dir=$1 python=$2
shift 2
[ -n "$python" ] || exit 1
pip() { "$dir/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check "$@"; }
install() {
  .venv/bin/uv pip install --quiet --python "$dir/bin/python" "$@" && return
  "$dir/bin/python" -m ensurepip >/dev/null
  pip "$@"
}
if [ "$dir" = .venv ]; then
  [ -x .venv/bin/python ] || "$python" -m venv .venv
  pip --require-hashes -r requirements/setup.txt
fi
[ -x "$dir/bin/python" ] || .venv/bin/uv venv --quiet --python "$python" "$dir"
for group in "$@"; do
  install --require-hashes -r "requirements/$group.txt"
done
install --no-deps --editable .
touch "$dir/.ready"
