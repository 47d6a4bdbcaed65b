#!/usr/bin/env bash
# build_vsix.sh [--no-wheelhouse | --target TARGET] [--into FOLDER]: packs the VS Code extension, with the server's wheel in
# it, as FOLDER/openpai-jobs-VERSION.vsix and prints that path; FOLDER is build/ unless it is named.
# It carries the packages that the server needs on this platform, for every supported Python, and the hashes of all:
# on other platforms, and with --no-wheelhouse, the extension downloads exactly these versions. With --target it is for one
# platform of VS Code (wheelhouse.py --targets) and is named openpai-jobs-TARGET-VERSION.vsix. Its page links to the repository
# that this clone is of. The same commit gives the same bytes on one platform.
set -euo pipefail
umask 022
export TZ=UTC
into=build wheelhouse=yes target=''
while [ $# -gt 0 ]; do
  case $1 in
    --no-wheelhouse) wheelhouse='' ;;
    --target) target=${2:?--target needs a platform}; shift ;;
    --into) into=$(realpath -- "${2:?--into needs a folder}"); shift ;;
    *) echo "usage: build_vsix.sh [--no-wheelhouse | --target TARGET] [--into FOLDER]" >&2; exit 2 ;;
  esac
  shift
done
cd "$(dirname "$0")/.."
scripts/node.sh "packing the VS Code extension" || exit 1
python=${PAI_LSP_PYTHON:-.venv/bin/python}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1767225600)}

scripts/npm_packages.sh vscode-extension

stage=$into/stage
rm -rf "$stage"
mkdir -p "$stage"
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$stage" . || {
  echo "the server's wheel could not be built; pip fetches its build tools 'hatchling' and 'fastjsonschema' from the package index" >&2
  exit 1
}
if [ -n "$wheelhouse" ]; then
  wheelhouse=$stage/wheelhouse
  "$python" scripts/wheelhouse.py "$wheelhouse" $target || {
    [ -z "$target" ] || exit 1
    echo "the packages of requirements/server.txt cannot be downloaded, so the extension carries none; see pip's message" >&2
    rm -rf "$wheelhouse"
    wheelhouse=''
  }
fi

"$python" -m pai_lsp rules --format json >"$stage/rules.json"
node vscode-extension/scripts/stage.mjs "$stage/extension" "$stage"/pai_lsp-*.whl "$stage/rules.json" \
  requirements/server.txt $wheelhouse
version=$(node -p 'require("./vscode-extension/package.json").version')
package=$(realpath "$into")/openpai-jobs-${target:+$target-}$version.vsix
vsce=$PWD/vscode-extension/node_modules/@vscode/vsce/vsce
# There are no dependencies left, and no relative links: both are in the staged files already.
(cd "$stage/extension" && node "$vsce" package --no-dependencies --allow-missing-repository --no-rewrite-relative-links \
  ${target:+--target "$target"} --out "$package" >../vsce.log 2>&1) || { cat "$stage/vsce.log" >&2; exit 1; }
echo "$package"
