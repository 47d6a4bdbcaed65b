#!/usr/bin/env bash
# Runs the unit tests on every supported Python of this machine; extra arguments go to pytest.
# With all but the newest, a property is tried on fewer cases (tests/budgets.py).
set -euo pipefail
pythons=$(scripts/pythons.sh)
newest=$(tail -n 1 <<<"$pythons")
TESTED_PYTHONS=$(wc -l <<<"$pythons")
export TESTED_PYTHONS
while read -r python; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  venv=.venvs/$version
  if [ ! -e "$venv/.ready" ] || [ requirements/test.txt -nt "$venv/.ready" ] || [ pyproject.toml -nt "$venv/.ready" ] \
    || [ hatch_build.py -nt "$venv/.ready" ] || [ schemas/job.schema.json -nt "$venv/.ready" ]; then
    echo "== setting up Python $version"
    scripts/setup_venv.sh "$venv" "$python" test
  fi
  echo "== tests on Python $version"
  options=(-q -n auto --dist worksteal)
  [ "$python" = "$newest" ] || options+=(--hypothesis-profile repeated)
  "$venv/bin/python" -m pytest "${options[@]}" "$@"
done <<<"$pythons"
