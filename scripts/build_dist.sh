#!/usr/bin/env bash
# build_dist.sh FOLDER: builds the sdist and, from it, the wheel with the pinned tools in .venvs/dist. The same commit gives
# the same bytes.
set -euo pipefail
umask 022
folder=$(realpath -m -- "${1:?a folder is needed}")
cd "$(dirname "$0")/.."
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1767225600)}
rm -f "$folder"/pai_lsp-*.whl "$folder"/pai_lsp-*.tar.gz
.venvs/dist/bin/python -m build --no-isolation --outdir "$folder" . >"$folder.log" 2>&1 || { cat "$folder.log" >&2; exit 1; }
rm "$folder.log"
ls "$folder"/pai_lsp-*
