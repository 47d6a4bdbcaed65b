#!/usr/bin/env bash
# Prints the supported Pythons of this machine, one path a line, the oldest first: those on PATH, then pyenv's and uv's.
# Where there is none, it says why and ends with 1.
set -u
supported=(3.10 3.11 3.12 3.13 3.14)
found='' without_venv=''

# described PYTHON: its version, whether it can make environments, and its path.
described() {
  "$1" -c 'if True:
    import os, sys
    from importlib.util import find_spec
    able = "yes" if find_spec("venv") and find_spec("ensurepip") else "no"
    print("%d.%d" % sys.version_info[:2], able, os.path.realpath(sys.executable))' 2>/dev/null
}

default=$(described python3)
for version in "${supported[@]}"; do
  for candidate in "$(command -v "python$version")" python3 \
    "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python \
    "$HOME/.local/share/uv/python/cpython-$version"*/bin/python; do
    if [ "$candidate" = python3 ]; then description=$default; else description=$(described "$candidate"); fi
    case $description in
      "$version yes "*)
        found=yes
        echo "${description#* yes }"
        break
        ;;
      "$version no "*) without_venv=$version ;;
    esac
  done
done
[ -z "$found" ] || exit 0

default=${default%% *}
range="${supported[0]} to ${supported[-1]}"
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
