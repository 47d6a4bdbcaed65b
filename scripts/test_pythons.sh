#!/usr/bin/env bash
# Runs the unit tests on every supported Python of this machine, also after a failure; extra arguments go to pytest.
# The oldest and the newest run all of them, those between the fast lane: no fault was ever seen on one of them alone.
# What no Python changes, such as the files of the repository, only the newest asks.
# With --set-up, it only makes their environments; the newest one's is .venv, which make sets up.
#
# Two Pythons run at a time, each on half of the processors, and their output follows. One process needs a fifth less CPU time
# than two with pytest-xdist. The two Pythons share the cases of tests/budgets.py.
set -uo pipefail
pythons=$(scripts/pythons.sh) || exit
oldest=$(head -n 1 <<<"$pythons") newest=$(tail -n 1 <<<"$pythons")

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

processes=auto arguments=("$@")
tested() { # tested PYTHON: runs its tests
  local version lane=() called=''
  version=$(version_of "$1")
  case $1 in
    "$newest") ;;
    "$oldest") lane=(-m "not repository") ;;
    *) lane=(-m "not slow and not repository" --hypothesis-profile fast) called=', fast lane' ;;
  esac
  echo "== tests on Python $version$called"
  "$(environment_of "$1")/bin/python" -m pytest -q -n $processes --dist worksteal ${lane[@]+"${lane[@]}"} \
    ${arguments[@]+"${arguments[@]}"} || { echo "== tests on Python $version: failed" >&2; return 1; }
}
[ "$oldest" != "$newest" ] || { tested "$newest"; exit; }

made=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$made"' EXIT
# nproc knows to which processors a container is limited; macOS does not have it.
processes=$(($(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN) / 2))
[ $processes -gt 1 ] || processes=0
first=("$newest") second=("$oldest")
while read -r python; do
  case $python in
    "$newest" | "$oldest") ;;
    *) if [ ${#first[@]} -le ${#second[@]} ]; then first+=("$python"); else second+=("$python"); fi ;;
  esac
done <<<"$pythons"
one_by_one() { # one_by_one SHARE PYTHON...
  local python status=0
  export TEST_SHARE=$1
  shift
  for python; do tested "$python" >"$made/$(version_of "$python")" 2>&1 || status=1; done
  return $status
}
status=0
one_by_one 1/2 "${first[@]}" &
one_by_one 2/2 "${second[@]}" || status=1
wait $! || status=1
while read -r python; do cat "$made/$(version_of "$python")"; done <<<"$pythons"
exit $status
