#!/usr/bin/env bash
# The VS Code extension in a real VS Code (code-server) in a real browser (Chromium): e2e_vscode.sh [--update-pictures] [TEST...]
#
# Screenshots are left in build/screenshots; with --update-pictures those that the README, the walkthrough and the
# documentation show are taken anew, in light and dark colors, and copied to docs/images/vscode. TESTs are files; without any, all are run.
set -euo pipefail
cd "$(dirname "$0")/.."
update=''
if [ "${1:-}" = --update-pictures ]; then update=yes; shift; fi

scripts/node.sh "testing in VS Code" || exit

# Debian's package is the browser; Playwright's own download is not needed.
find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
fonts=/usr/share/fonts/truetype/dejavu
find_chromium >/dev/null || scripts/apt_packages.sh "the tests in VS Code" chromium=chromium $fonts=fonts-dejavu-core || exit

scripts/code_server.sh .venvs/code-server \
  || exec scripts/not_run.sh "the tests in VS Code need code-server from the npm registry"
scripts/npm_packages.sh vscode-extension \
  || exec scripts/not_run.sh "the tests in VS Code need the packages of the extension from the npm registry"
[ -x .venv/bin/python ] || make --no-print-directory .venv/.ready

echo "-- the extension's source"
(cd vscode-extension && node node_modules/typescript/bin/tsc --noEmit && node node_modules/eslint/bin/eslint.js . \
  && node node_modules/prettier/bin/prettier.cjs --config .prettierrc.json --check --log-level warn . ../tests/e2e/vscode/*.mjs)
export SOURCE_DATE_EPOCH=1767225600  # for each build of it, so that they can be compared
vsix=$(scripts/build_vsix.sh)

E2E_CODE_SERVER=$PWD/.venvs/code-server
E2E_CHROMIUM=$(find_chromium)
E2E_SCREENSHOTS=$PWD/build/screenshots
E2E_STAGE=$PWD/build/stage/extension
E2E_EXTENSIONS=$PWD/build/e2e-extensions
E2E_VSIX=$vsix
E2E_PAI_LSP=$PWD/.venv/bin/pai-lsp
E2E_PYTHON=$(scripts/pythons.sh | tail -n 1)
E2E_PYTHON_ENVIRONMENT=$PWD/.venv/bin/python
export E2E_CODE_SERVER E2E_CHROMIUM E2E_SCREENSHOTS E2E_STAGE E2E_EXTENSIONS E2E_VSIX E2E_PAI_LSP E2E_PYTHON E2E_PYTHON_ENVIRONMENT
rm -rf "$E2E_SCREENSHOTS" "$E2E_EXTENSIONS"
mkdir -p "$E2E_SCREENSHOTS" docs/images/vscode

if [ -n "$update" ]; then
  export E2E_DARK=yes
  set -- tests/e2e/vscode/{writing,seeing,marketplace,commands}.test.mjs
elif [ $# -eq 0 ]; then
  echo "-- the parts of the extension"
  rm -rf build/vscode-unit-tests
  node vscode-extension/scripts/bundle.mjs unit "$PWD/build/vscode-unit-tests"
  (cd vscode-extension && node --test --test-reporter=dot ../build/vscode-unit-tests)
  set -- tests/e2e/vscode/*.test.mjs
fi
# The package is built and tried meanwhile; editors are driven one at a time, each needs a whole machine's attention.
editors=() others=()
for test in "$@"; do
  case $test in *package.test.mjs) others+=("$test") ;; *) editors+=("$test") ;; esac
done
status=0
echo "-- the extension in VS Code"
run=(timeout 900 node --test --test-reporter=spec)
[ ${#others[@]} -eq 0 ] || "${run[@]}" "${others[@]}" >build/e2e-package.log 2>&1 &
[ ${#editors[@]} -eq 0 ] || scripts/once_more.sh "${run[@]}" -- "${editors[@]}" || status=$?
wait $! || status=$?
[ ${#others[@]} -eq 0 ] || { echo "-- the package"; cat build/e2e-package.log; }
[ $status -eq 0 ] || exit $status

if [ -n "$update" ]; then
  node tests/e2e/vscode/updatePictures.mjs "$E2E_SCREENSHOTS" docs/images/vscode
fi
