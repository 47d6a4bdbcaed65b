#!/usr/bin/env bash
# code_server.sh FOLDER: installs VS Code as a server (code-server) and Playwright, as tests/e2e/vscode/package-lock.json
# names them, without a compiler. The terminal's native part is a package of its own; logs in files are done without.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
cd "$1"
wanted=$(cat "$here"/tests/e2e/vscode/package{,-lock}.json "$here"/scripts/code_server.sh | cksum)
[ "$(cat .ready 2>/dev/null)" = "$wanted" ] && exit 0
echo "installing VS Code (code-server) in $1"
cp "$here"/tests/e2e/vscode/package{,-lock}.json .
install='--ignore-scripts --no-audit --no-fund --loglevel=error'
npm ci $install
vscode=$PWD/node_modules/code-server/lib/vscode
# Its own npm-shrinkwrap.json names the versions; "npm ci" finds it incomplete.
(cd "$vscode" && npm install $install --omit=dev)
ln -sfn node_modules "$vscode/node_modules.asar"
ln -sfn code-linux.sh "$vscode/bin/remote-cli/code-server"
ln -sfn browser-linux.sh "$vscode/bin/helpers/browser.sh"
mkdir -p "$vscode/node_modules/@vscode/ripgrep/bin"
install -m755 node_modules/@vscode/ripgrep-linux-*/bin/rg "$vscode/node_modules/@vscode/ripgrep/bin/rg"
mkdir -p "$vscode/node_modules/node-pty/build/Release"
cp node_modules/@lydell/node-pty-linux-x64/pty.node "$vscode/node_modules/node-pty/build/Release/"
echo "$wanted" >.ready
