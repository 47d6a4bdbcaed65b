#!/usr/bin/env bash
# Runs the tests in real editors; every scripts/e2e_*.sh is a part. VS Code, which takes the longest, has one lane, and the
# other parts, one after the other, have a second one with lower priority, whose output follows.
#
# A part ends with 0 when its tests have passed, with 77 when this machine lacks something and may not install it (it has
# then said what), and with anything else when a test has failed. In CI (CI=true) a part that was not run is a failure.
set -uo pipefail
cd "$(dirname "$0")/.."
others=$(mktemp -d)
trap 'rm -rf "$others"' EXIT

lane() { # lane LACKING PART...: runs the parts; what this machine lacks is added to the file LACKING.
  local lacking=$1 status=0 began part
  shift
  for part; do
    began=$SECONDS
    E2E_LACKING=$(mktemp)
    export E2E_LACKING
    echo "== $part"
    "$part"
    case $? in
      0) echo "== $part: passed in $((SECONDS - began)) s" ;;
      77)
        { echo "$part"; sed 's/^/  /' "$E2E_LACKING"; } >>"$lacking"
        if [ "${CI:-}" = true ]; then
          echo "== $part: not run, and in CI nothing is left out" >&2
          status=1
        else
          echo "== $part: not run" >&2
        fi
        ;;
      *)
        echo "== $part: failed after $((SECONDS - began)) s" >&2
        status=1
        ;;
    esac
    rm -f "$E2E_LACKING"
  done
  return $status
}

status=0 parts=()
for part in scripts/e2e_*.sh; do [ "$part" = scripts/e2e_vscode.sh ] || parts+=("$part"); done
{ renice -n 10 "$BASHPID" >/dev/null; lane "$others/lacking" "${parts[@]}"; } >"$others/log" 2>&1 &
lane "$others/lacking-vscode" scripts/e2e_vscode.sh || status=1
wait $! || status=1
cat "$others/log"
summary=$(cat "$others"/lacking* 2>/dev/null)
[ -z "$summary" ] || printf '== not run, and what this machine lacks:\n%s\n' "$summary" >&2
exit $status
