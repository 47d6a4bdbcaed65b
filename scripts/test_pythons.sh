#!/usr/bin/env bash
# Runs the unit tests on every supported Python of this machine, also after a failure; extra arguments go to pytest.
set -euo pipefail
pythons=$(scripts/pythons.sh)
TESTED_PYTHONS=$(wc -l <<<"$pythons")
export TESTED_PYTHONS
status=0
while read -r python; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  venv=.venvs/$version
  if [ ! -e "$venv/.ready" ] || [ requirements/test.txt -nt "$venv/.ready" ] || [ pyproject.toml -nt "$venv/.ready" ] \
    || [ hatch_build.py -nt "$venv/.ready" ] || [ schemas/job.schema.json -nt "$venv/.ready" ]; then
    echo "== setting up Python $version"
    scripts/setup_venv.sh "$venv" "$python" test
  fi
  echo "== tests on Python $version"
  "$venv/bin/python" -m pytest -q -n auto --dist worksteal "$@" || { echo "== tests on Python $version: failed" >&2; status=1; }
done <<<"$pythons"
exit $status
