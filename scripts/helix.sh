#!/usr/bin/env bash
# helix.sh FOLDER: prints the path of Helix: the one on PATH, Debian's package, or in FOLDER that of a newer Debian.
#
# Debian has Helix from version 13 on. On an older one its package is unpacked, with the C library that it wants beside it,
# and nothing of it is installed. Ends with 77 and says what is missing where that cannot be done.
set -uo pipefail
folder=$1
release=trixie
command -v hx && exit 0

here=$(realpath "$(dirname "$0")")
lacking() {
  exec "$here/not_run.sh" "Helix: this machine lacks hx; $1"
}
command -v apt-get >/dev/null || lacking "install it by hand, there is no apt-get here"
if apt-cache show hx >/dev/null 2>&1; then
  "$here/apt_packages.sh" Helix hx=hx >&2 || exit
  command -v hx
  exit
fi
program=$folder/hx
if [ ! -x "$program" ]; then
  keys=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -e $keys ] || lacking "its package is Debian's, and the keys of Debian are not here"
  # Where this system has its own packages from.
  mirror() { apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1; }
  address=$(mirror)
  [ -n "$address" ] || { apt-get update -qq >/dev/null 2>&1; address=$(mirror); }
  [ -n "$address" ] || lacking "its package is Debian's, and apt-get knows no address of Debian's packages"
  mkdir -p "$folder"/{lists/partial,archives/partial,packages,root} && cd "$folder" || exit
  printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' "$address" $release $keys >$release.sources
  apt=(apt-get -qq -o Dir::Etc::sourcelist="$PWD/$release.sources" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$PWD/lists"
    -o Dir::Cache="$PWD" -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=2)
  said=$({ "${apt[@]}" update && cd packages && "${apt[@]}" download hx libc6 libgcc-s1; } 2>&1) \
    || lacking "its package is not available from Debian $release: $(tail -n 1 <<<"$said")"
  for package in packages/*.deb; do dpkg-deb -x "$package" root || exit; done
  libraries=$(dirname "$(find "$PWD/root" -name 'libc.so.6' | head -n 1)")
  loader=$(find "$PWD/root" -name 'ld-linux*' | head -n 1)
  printf '#!/bin/sh\nHELIX_RUNTIME=%q exec %q --library-path %q %q "$@"\n' \
    "$PWD/root/usr/lib/hx/runtime" "$loader" "$libraries" "$PWD/root/usr/lib/hx/hx" >hx
  chmod +x hx
fi
echo "$program"
