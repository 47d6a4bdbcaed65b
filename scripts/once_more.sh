#!/usr/bin/env bash
# once_more.sh COMMAND... -- TEST...: runs the command with each of the tests, one after the other. A test that fails is run
# once more when all have been run, and both results are printed at the end.
#
# An editor or a browser on a busy machine loses a key now and then.
set -uo pipefail
command=()
while [ "$1" != -- ]; do command+=("$1"); shift; done
shift
failed=() results='' status=0
for test; do "${command[@]}" "$test" || failed+=("$test"); done
[ ${#failed[@]} -gt 0 ] || exit 0
for test in "${failed[@]}"; do
  echo "-- $test has failed; once more"
  if "${command[@]}" "$test"; then
    results+=$'\n'"-- $test: failed, then passed"
  else
    results+=$'\n'"-- $test: failed twice"
    status=1
  fi
done
echo "-- once more:$results"
exit $status
