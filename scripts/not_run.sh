#!/usr/bin/env bash
# not_run.sh MESSAGE: says what this machine lacks and ends with 77; the message is also added to the file $E2E_LACKING.
echo "$1" >&2
echo "$1" >>"${E2E_LACKING:-/dev/null}"
exit 77
