#!/usr/bin/env bash
# npm_packages.sh FOLDER: installs exactly what FOLDER/package-lock.json names, once for each state of that file.
set -euo pipefail
cd "$1"
wanted=$(cksum <package-lock.json)
[ "$(cat node_modules/.ready 2>/dev/null)" = "$wanted" ] && exit 0
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2 || {
  echo "the packages of '$1/package-lock.json' could not be installed; what npm says stands above. It needs the npm registry, or all of them in its cache" >&2
  exit 1
}
echo "$wanted" >node_modules/.ready
