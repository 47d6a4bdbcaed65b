#!/usr/bin/env bash
# Runs the tests in real editors, one part after the other: every scripts/e2e_*.sh is a part. The part in VS Code takes as
# long as all others: with more than two processors they are run meanwhile, and its output follows theirs. With two, each
# would take twice as long.
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

vscode=scripts/e2e_vscode.sh failed=0
[ "$(nproc)" -gt 2 ] && [ -e $vscode ] || vscode=''
[ -z "$vscode" ] || run "$vscode" >"$made/output" 2>&1 &
for part in scripts/e2e_*.sh; do
  [ "$part" = "$vscode" ] || run "$part" || failed=1
done
wait $! || failed=1
[ -z "$vscode" ] || cat "$made/output"

summary=''
for part in scripts/e2e_*.sh; do
  [ ! -e "$made/${part##*/}" ] || summary+=$'\n'"$part"$'\n'$(sed 's/^/  /' "$made/${part##*/}")
done
[ -z "$summary" ] || echo "== not run, and what this machine lacks:$summary" >&2
exit $failed
