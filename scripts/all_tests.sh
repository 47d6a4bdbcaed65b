#!/usr/bin/env bash
# Runs the unit tests on every Python and the tests in real editors, each also after a failure of the other; lists all
# failures at the end.
#
# An editor waits most of the time, so the unit tests run meanwhile, with the lowest priority: what an editor waits for
# is never behind them. Their output follows when the editors are done.
set -uo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp) meanwhile=$(mktemp)
trap 'rm -f "$log" "$meanwhile"; kill "$(jobs -p)" 2>/dev/null' EXIT
status=0
failed() { echo "== $1: failed" >>"$log"; status=1; }

# An installation also makes files of the package; no test is to meet one that is half written.
scripts/test_pythons.sh --set-up || exit
nice -n 19 scripts/test_pythons.sh >"$meanwhile" 2>&1 &
scripts/e2e.sh 2>&1 | tee -a "$log"
[ "${PIPESTATUS[0]}" -eq 0 ] || failed scripts/e2e.sh
wait $! || failed scripts/test_pythons.sh
tee -a "$log" <"$meanwhile"
[ $status -eq 0 ] || { echo "== failures:"; grep -E '^((FAILED|ERROR) |(==|--) .*: (failed|not run))' "$log"; } >&2
exit $status
