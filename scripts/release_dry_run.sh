#!/usr/bin/env bash
# Makes the files of a release twice, in two clean clones of the last commit, and compares them. The tag is made in the
# clones alone, which are removed; nothing is published. The files are left in build/release.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' pai_lsp/version.py)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for clone in first second/folder; do
  git clone --quiet --no-hardlinks . "$folder/$clone"
  # The files name the repository that they are from, which is not this clone of it.
  if origin=$(git remote get-url origin 2>/dev/null); then git -C "$folder/$clone" remote set-url origin "$origin"; fi
  git -C "$folder/$clone" -c user.name=dry-run -c user.email=dry-run@localhost tag "v$version"
  make -s --no-print-directory -C "$folder/$clone" .venv/.ready .venvs/dist/.ready
  echo "== $clone"
  "$folder/$clone/.venv/bin/python" "$folder/$clone/scripts/release.py" --dry-run "$folder/$clone/build/release"
done
cmp "$folder/first/build/release/SHA256SUMS" "$folder/second/folder/build/release/SHA256SUMS" || {
  echo "the same commit gave different files" >&2
  exit 1
}
rm -rf build/release
mkdir -p build
cp -r "$folder/first/build/release" build/release
(cd build/release && rm -rf stage && sha256sum --check --quiet SHA256SUMS)
echo "== both clones gave the same files: build/release"
