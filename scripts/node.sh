#!/usr/bin/env bash
# node.sh WHAT: checks that Node.js and npm are installed and new enough. WHAT is reported to need them.
# Ends with 77 and says what is missing.
set -uo pipefail
least=20
here=$(dirname "$0")
for program in node npm; do
  command -v $program >/dev/null || exec "$here/not_run.sh" "$1 needs Node.js $least or newer with npm; '$program' was not found"
done
version=$(node --version)
major=${version#v}
major=${major%%.*}
[ "$major" -ge $least ] 2>/dev/null || exec "$here/not_run.sh" "$1 needs Node.js $least or newer; $(command -v node) is $version"
