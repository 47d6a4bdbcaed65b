#!/bin/bash
# As on a cluster, the parts run in the background, so they ignore SIGINT and read nothing. The first process of a
# container passes on what ends it: without a trap, it would ignore that signal. Standard input is open as long as
# pai-lsp lives, and nobody else has it: at its end, the task is asked to end, and killed after 5 seconds.
@OPTIONS@exec 2>&1
PAI_WORK_DIR="$(pwd)"
export PAI_WORK_DIR
source @SCRIPTS@/runtime_env.sh
echo "@TOKEN@user $EUID"
all=0 first=0
if [ "$$" = 1 ]; then
  all=-1 first=1
  trap 'trap : TERM; kill -TERM -1; wait; exit 143' TERM
fi
exec {alive}<&0
{
  set +o errexit
  read -r -u "$alive"
  trap '' TERM
  kill -TERM "$first"
  exec {never}<> <(:)
  read -r -t 5 -u "$never"
  kill -KILL "$all"
} >/dev/null 2>&1 &
ended_line() {
  local found
  if found=$(LC_ALL=C bash -n "$1" 2>&1); then
    [ ! -r "$1@REPORT@" ] || echo "$(<"$1@REPORT@")"
  elif [[ $found =~ line\ ([0-9]+): ]]; then
    echo "syntax ${BASH_REMATCH[1]}"
  fi
}
part() {
  local ended
  echo "@TOKEN@start $1"
  bash @SCRIPTS@/"$1" </dev/null {alive}<&- &
  wait "$!" || {
    ended=$?
    echo "@TOKEN@end $1 $(ended_line @SCRIPTS@/"$1")"
    exit "$ended"
  }
}
