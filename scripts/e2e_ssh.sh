#!/usr/bin/env bash
# The plugin ssh in `pai-lsp run`, with real ssh servers. On other machines than those of CI, openssh-server is not
# installed for this: its package may start a server.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${CI:-}" = true ]; then
  scripts/apt_packages.sh "the plugin ssh" /usr/sbin/sshd=openssh-server ssh=openssh-client || exit
fi
[ -x /usr/sbin/sshd ] || exec scripts/not_run.sh "the plugin ssh needs sshd; install it with your package manager (Debian: openssh-server)"
[ -e .venv/.ready ] || make -s --no-print-directory .venv/.ready
timeout 60 .venv/bin/python -m pytest -q tests/test_run_task.py -k ssh
