#!/usr/bin/env bash
# What a newcomer sees first: the jobs in examples/ checked, one good, several with the mistakes that people really make;
# and one that takes its data from the marketplace folder beside it, expanded and drawn.
set -uo pipefail
cd "$(dirname "$0")/.."
show() {
  printf '\n$ %s\n\n' "$*"
  "$@"
}
show pai-lsp check examples/good.pai.yaml || exit
show pai-lsp check examples
[ $? -eq 1 ] || exit 1 # the mistakes are there on purpose
show pai-lsp expand examples/marketplace-job.pai.yaml --format script || exit
show pai-lsp expand examples/marketplace-job.pai.yaml || exit
show pai-lsp graph examples/marketplace-job.pai.yaml
