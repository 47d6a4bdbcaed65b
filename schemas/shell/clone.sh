#!/bin/bash
set -o errexit -o nounset -o pipefail
command -v git >/dev/null || {
  echo "the image has no git; --git-image names one that has it" >&2
  exit 127
}
export GIT_TERMINAL_PROMPT=0
