#!/usr/bin/env bash
# Runs the unit tests on every supported Python of this machine, also after a failure; extra arguments go to pytest.
# The oldest and the newest run all of them, those between the fast lane: no fault was ever seen on one of them alone.
# What no Python changes, such as the files of the repository, only the newest asks.
# With --set-up, it only makes their environments; the newest one's is .venv, which make sets up.
set -uo pipefail
pythons=$(scripts/pythons.sh) || exit
oldest=$(head -n 1 <<<"$pythons") newest=$(tail -n 1 <<<"$pythons")
TESTED_PYTHONS=$([ "$oldest" = "$newest" ] && echo 1 || echo 2)
export TESTED_PYTHONS

version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }
is_ready() {
  local file
  for file in requirements/test.txt pyproject.toml hatch_build.py schemas/job.schema.json; do
    [ ! "$file" -nt "$1/.ready" ] || return
  done
}
environment_of() { [ "$1" = "$newest" ] && echo .venv || echo ".venvs/$(version_of "$1")"; }

setting_up=()
while read -r python; do
  venv=$(environment_of "$python")
  if [ "$venv" != .venv ] && ! is_ready "$venv"; then
    echo "== setting up ${venv#.venvs/}"
    scripts/setup_venv.sh "$venv" "$python" test &
    setting_up+=($!)
  fi
done <<<"$pythons"
for process in ${setting_up[@]+"${setting_up[@]}"}; do wait "$process" || exit; done
[ "${1:-}" != --set-up ] || exit 0

status=0
while read -r python; do
  version=$(version_of "$python")
  lane=() called=''
  case $python in
    "$newest") ;;
    "$oldest") lane=(-m "not repository") ;;
    *) lane=(-m "not slow and not repository" --hypothesis-profile fast) called=', fast lane' ;;
  esac
  echo "== tests on Python $version$called"
  "$(environment_of "$python")/bin/python" -m pytest -q -n auto --dist worksteal ${lane[@]+"${lane[@]}"} "$@" \
    || { echo "== tests on Python $version: failed" >&2; status=1; }
done <<<"$pythons"
exit $status
