#!/usr/bin/env bash
# build_playground.sh [playground|portal]...: makes the page that checks jobs in the browser, in build/playground/, and the
# plugin of the portal, in build/portal/, and prints these paths; without an argument, the page. Each is a folder of static
# files, for the documentation or for any other web server.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
scripts/node.sh "building the playground" || exit 1
python=${PAI_LSP_PYTHON:-.venv/bin/python}
scripts/npm_packages.sh docs/playground

[ $# -gt 0 ] || set -- playground
stage=build/playground-stage
rm -rf "$stage" "${@/#/build/}"
mkdir -p "$stage"
"$python" scripts/playground_packages.py "$stage" || {
  echo "the libraries of the playground cannot be downloaded; see pip's message" >&2
  exit 1
}
node docs/playground/build.mjs "$stage" build "$@"
rm -rf "$stage"
printf '%s\n' "${@/#/build/}"
