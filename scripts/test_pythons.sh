#!/usr/bin/env bash
# Runs the unit tests on every supported Python of this machine; extra arguments go to pytest.
set -euo pipefail
found=0
while read -r python; do
  found=1
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  venv=.venvs/$version
  if [ ! -e "$venv/.ready" ] || [ requirements/test.txt -nt "$venv/.ready" ] || [ pyproject.toml -nt "$venv/.ready" ]; then
    echo "== setting up Python $version"
    scripts/setup_venv.sh "$venv" "$python" test
  fi
  echo "== tests on Python $version"
  "$venv/bin/python" -m pytest -q "$@"
done < <(scripts/pythons.sh)
[ "$found" = 1 ] || { echo "pai-lsp needs Python 3.10 to 3.13 (with venv), and none was found" >&2; exit 1; }
