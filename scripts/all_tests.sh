#!/usr/bin/env bash
# Runs the unit tests on every Python and then, also after a failure, the tests in real editors; lists all failures at the end.
set -uo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
for part in scripts/test_pythons.sh scripts/e2e.sh; do
  "$part" 2>&1 | tee -a "$log"
  [ "${PIPESTATUS[0]}" -eq 0 ] || { echo "== $part: failed" >>"$log"; status=1; }
done
[ $status -eq 0 ] || { echo "== failures:"; grep -E '^((FAILED|ERROR) |(==|--) .*: (failed|not run))' "$log"; } >&2
exit $status
