#!/bin/bash
tries=$((${1:-300} * 60))
for name in @OTHERS@; do
  until ssh -q -o BatchMode=yes "$name" true; do
    ((tries-- > 0)) || { echo "no ssh connection to $name" >&2; exit 10; }
    sleep 1
  done
done
echo "All ssh connections are established"
