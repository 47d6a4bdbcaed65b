#!/usr/bin/env bash
# What a newcomer sees first: the jobs in examples/ checked, one good, several with the mistakes that people really make.
set -uo pipefail
cd "$(dirname "$0")/.."
show() {
  printf '\n$ %s\n\n' "$*"
  "$@"
}
show pai-lsp check examples/good.pai.yaml
show pai-lsp check examples
[ $? -eq 1 ] # the mistakes are there on purpose
