#!/usr/bin/env bash
# Prints the supported Pythons of this machine, one path a line, the oldest first: those on PATH, then pyenv's and uv's.
# Where there is none, it says why and ends with 1.
set -u
supported=(3.10 3.11 3.12 3.13 3.14)
found='' without_venv=''

version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }

for version in "${supported[@]}"; do
  for candidate in "$(command -v "python$version")" "$(command -v python3)" \
    "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python \
    "$HOME/.local/share/uv/python/cpython-$version"*/bin/python; do
    if [ -n "$candidate" ] && [ "$(version_of "$candidate")" = "$version" ]; then
      if "$candidate" -c 'import venv, ensurepip' 2>/dev/null; then
        found=yes
        "$candidate" -c 'import os, sys; print(os.path.realpath(sys.executable))'
        break
      fi
      without_venv=$version
    fi
  done
done
[ -z "$found" ] || exit 0

range="${supported[0]} to ${supported[-1]}"
default=$(version_of python3)
if [ -n "$without_venv" ]; then
  # Debian has the module in a package of its own; python3-venv is that of its default Python.
  package=python$without_venv-venv
  [ "$default" != "$without_venv" ] || package=python3-venv
  echo "Python $without_venv is installed, but its venv module is not: sudo apt-get install $package" >&2
elif [ -n "$default" ]; then
  echo "pai-lsp needs Python $range, and python3 is $default" >&2
else
  echo "pai-lsp needs Python $range, and none was found: sudo apt-get install python3 python3-venv" >&2
fi
exit 1
