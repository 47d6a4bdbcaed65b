#!/usr/bin/env bash
# Runs the tests in real editors, one part after the other: every scripts/e2e_*.sh is a part. Others run meanwhile, and their
# output follows: with more than two processors the part in VS Code, which takes as long as all others; with two, the parts
# that drive no editor, since an editor needs what one processor can do. The page with the playground waits most of the time.
#
# A part ends with 0 when its tests have passed, with 77 when this machine lacks something and may not install it (it has
# then said what), and with anything else when a test has failed. In CI (CI=true) a part that was not run is a failure.
set -uo pipefail
cd "$(dirname "$0")/.."
made=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$made"' EXIT

run() { # run PART: says how it ended; what is lacking is left in $made/PART
  local part=$1 began=$SECONDS status=0
  export E2E_LACKING=$made/${part##*/}
  : >"$E2E_LACKING"
  echo "== $part"
  "$part"
  case $? in
    0) echo "== $part: passed in $((SECONDS - began)) s" ;;
    77)
      [ "${CI:-}" = true ] || { echo "== $part: not run" >&2; return 0; }
      echo "== $part: not run, and in CI nothing is left out" >&2
      return 1
      ;;
    *)
      echo "== $part: failed after $((SECONDS - began)) s" >&2
      status=1
      ;;
  esac
  rm "$E2E_LACKING"
  return $status
}

failed=0 apart=' containers distribution graphviz playground pre_commit registry spark ssh '
[ "$(nproc)" -le 2 ] || apart=' vscode '
parts() { # parts yes|no: those that run apart, or the others
  local part name is_apart
  for part in scripts/e2e_*.sh; do
    name=${part#scripts/e2e_} is_apart=no
    [[ $apart != *" ${name%.sh} "* ]] || is_apart=yes
    [ "$1" != $is_apart ] || echo "$part"
  done
}
run_all() { local part status=0; for part; do run "$part" || status=1; done; return $status; }

run_all $(parts yes) >"$made/output" 2>&1 &
run_all $(parts no) || failed=1
wait $! || failed=1
cat "$made/output"

summary=''
for part in scripts/e2e_*.sh; do
  [ ! -e "$made/${part##*/}" ] || summary+=$'\n'"$part"$'\n'$(sed 's/^/  /' "$made/${part##*/}")
done
[ -z "$summary" ] || echo "== not run, and what this machine lacks:$summary" >&2
exit $failed
