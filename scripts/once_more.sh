#!/usr/bin/env bash
# once_more.sh WHAT COMMAND...: runs a command; when it fails, says that WHAT has failed, and runs it once more.
#
# An editor or a browser on a busy machine loses a key now and then.
what=$1
shift
"$@" && exit
echo "-- $what has failed; all once more"
exec "$@"
