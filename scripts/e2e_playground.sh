#!/usr/bin/env bash
# The playground, the plugin of the portal and the site in a real browser (Chromium), served from files on this machine:
# e2e_playground.sh [--update-pictures]
#
# Screenshots are left in build/playground-screenshots; with --update-pictures, only the plugin is tried, and those that
# docs/portal.md shows are copied to docs/images/portal.
set -euo pipefail
cd "$(dirname "$0")/.."
tests=(tests/e2e/playground/*.test.mjs)
[ "${1:-}" != --update-pictures ] || tests=(tests/e2e/playground/portal.test.mjs)
scripts/node.sh "testing the playground" || exit

# Debian's package is the browser; Playwright's own download is not needed.
find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
fonts=/usr/share/fonts/truetype/dejavu
find_chromium >/dev/null || scripts/apt_packages.sh "the tests of the playground" chromium=chromium $fonts=fonts-dejavu-core || exit

scripts/npm_packages.sh docs/playground \
  || exec scripts/not_run.sh "the tests of the playground need its packages from the npm registry"
[ -e .venv/.ready ] || make -s --no-print-directory .venv/.ready

echo "-- the page's source"
(cd docs/playground && node node_modules/typescript/bin/tsc --noEmit && node node_modules/eslint/bin/eslint.js . \
  && node node_modules/prettier/bin/prettier.cjs --config .prettierrc.json --check --log-level warn . \
    ../../tests/e2e/playground/*.mjs)
scripts/build_playground.sh playground portal
make --silent --no-print-directory docs

echo "-- the pages in a browser"
E2E_PLAYGROUND=$PWD/build/playground
E2E_PORTAL=$PWD/build/portal
E2E_PYTHON=$PWD/.venv/bin/python
E2E_PLAYGROUND_PACKAGES=$PWD/docs/playground
E2E_SCREENSHOTS=$PWD/build/playground-screenshots
E2E_CHROMIUM=$(find_chromium)
E2E_PAI_LSP=$PWD/.venv/bin/pai-lsp
E2E_SITE=$PWD/site
export E2E_SITE E2E_PLAYGROUND E2E_PORTAL E2E_PYTHON E2E_PLAYGROUND_PACKAGES E2E_SCREENSHOTS E2E_CHROMIUM E2E_PAI_LSP
rm -rf "$E2E_SCREENSHOTS"
scripts/once_more.sh timeout 600 node --test --test-reporter=spec -- "${tests[@]}"
[ "${1:-}" != --update-pictures ] || for name in findings submit why; do
  install -D -m 644 "$E2E_SCREENSHOTS/portal-$name.png" "docs/images/portal/$name.png"
done
