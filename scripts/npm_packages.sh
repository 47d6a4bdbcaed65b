#!/usr/bin/env bash
# npm_packages.sh FOLDER: installs exactly what FOLDER/package-lock.json names, once for each state of that file.
set -euo pipefail
cd "$1"
[ node_modules/.ready -nt package-lock.json ] && [ node_modules/.ready -nt package.json ] && exit 0
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || {
  echo "the packages of '$1/package-lock.json' could not be installed; what npm says stands above. It needs the npm registry, or all of them in its cache" >&2
  exit 1
}
touch node_modules/.ready
