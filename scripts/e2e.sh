#!/usr/bin/env bash
# Runs the tests in real editors, one part after the other: every scripts/e2e_*.sh is a part.
#
# A part ends with 0 when its tests have passed, with 77 when this machine lacks something and may not install it (it has
# then said what), and with anything else when a test has failed. In CI (CI=true) a part that was not run is a failure.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0 summary=''
E2E_LACKING=$(mktemp)
export E2E_LACKING
trap 'rm -f "$E2E_LACKING"' EXIT
for part in scripts/e2e_*.sh; do
  began=$SECONDS
  : >"$E2E_LACKING"
  echo "== $part"
  "$part"
  case $? in
    0) echo "== $part: passed in $((SECONDS - began)) s" ;;
    77)
      summary+=$'\n'"$part"$'\n'$(sed 's/^/  /' "$E2E_LACKING")
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
done
[ -z "$summary" ] || echo "== not run, and what this machine lacks:$summary" >&2
exit $status
