#!/usr/bin/env bash
# build_vsix.sh [--wheelhouse]: packs the VS Code extension, with the server's wheel in it, as build/openpai-jobs-VERSION.vsix.
# The same commit gives the same bytes. With --wheelhouse it also carries what the server needs on this platform and
# Python, for machines without network; the file is then named after both.
set -euo pipefail
umask 022
export TZ=UTC
cd "$(dirname "$0")/.."
python=${PAI_LSP_PYTHON:-.venv/bin/python}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1767225600)}

wheelhouse='' variant=''
case ${1:-} in
  '') ;;
  --wheelhouse) wheelhouse=build/vsix/wheelhouse ;;
  *) echo "usage: build_vsix.sh [--wheelhouse]" >&2; exit 2 ;;
esac

for program in node npm; do
  command -v $program >/dev/null || { echo "packing the VS Code extension needs '$program' (Node.js 20 or newer)" >&2; exit 1; }
done
scripts/npm_packages.sh vscode-extension

rm -rf build/vsix
mkdir -p build/vsix
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/vsix . || {
  echo "the server's wheel could not be built: pip fetches its build tool 'hatchling' from the package index" >&2
  exit 1
}
if [ -n "$wheelhouse" ]; then
  "$python" -m pip download --quiet --disable-pip-version-check --only-binary :all: --dest $wheelhouse build/vsix/pai_lsp-*.whl
  rm $wheelhouse/pai_lsp-*.whl
  variant=-$("$python" -c 'import sys, sysconfig; print("%s-py%d%d" % (sysconfig.get_platform(), *sys.version_info[:2]))')
fi

node vscode-extension/scripts/stage.mjs build/vsix/extension build/vsix/pai_lsp-*.whl $wheelhouse
version=$(node -p 'require("./vscode-extension/package.json").version')
target=$PWD/build/openpai-jobs-$version$variant.vsix
# Without a licence key or a repository there is nothing to rewrite; node_modules are in the bundle.
(cd build/vsix/extension && node ../../../vscode-extension/node_modules/@vscode/vsce/vsce package --no-dependencies \
  --allow-missing-repository --no-rewrite-relative-links --out "$target" >../vsce.log 2>&1) || { cat build/vsix/vsce.log >&2; exit 1; }
echo "$target"
