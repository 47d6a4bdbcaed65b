#!/usr/bin/env bash
# Prints the supported Pythons of this machine, one path a line, the oldest first: those on PATH, then pyenv's and uv's.
set -u
for version in 3.10 3.11 3.12 3.13; do
  for candidate in "$(command -v "python$version")" \
    "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python \
    "$HOME/.local/share/uv/python/cpython-$version"*/bin/python; do
    if [ -n "$candidate" ] && [ "$("$candidate" -c 'import sys, venv, ensurepip; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$version" ]; then
      "$candidate" -c 'import os, sys; print(os.path.realpath(sys.executable))'
      break
    fi
  done
done
