#!/usr/bin/env bash
# `pai-lsp run` with real containers of podman, and of docker where it runs. Their images are made of programs of this
# machine: no registry is asked. podman gets settings and a storage of its own, so that nothing of the user's is read or
# changed. Without root, these are containers without root; a user needs ranges of numbers in /etc/subuid and subgid.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/apt_packages.sh "tasks in containers" podman=podman runc=runc busybox=busybox-static git=git \
  slirp4netns=slirp4netns /usr/lib/podman/netavark=netavark iptables=iptables ssh=openssh-client || exit
[ -e .venv/.ready ] || make -s --no-print-directory .venv/.ready
made=$(mktemp -d)
trap 'podman system reset --force >/dev/null 2>&1 || true; rm -rf "$made"' EXIT
printf '[containers]\ndefault_ulimits = ["nofile=1024:20000", "nproc=1000:1000"]\n[engine]\nruntime = "runc"\n' \
  >"$made/containers.conf"
printf '[storage]\ndriver = "vfs"\nrunroot = "%s/run"\ngraphroot = "%s/graph"\n' "$made" "$made" >"$made/storage.conf"
export CONTAINERS_CONF=$made/containers.conf CONTAINERS_STORAGE_CONF=$made/storage.conf
.venv/bin/python tests/e2e/containers/images.py "$made/root" podman || exit 1
said=$(podman run --rm localhost/pai-lsp-small:1 /bin/bash -c : 2>&1) \
  || exec scripts/not_run.sh "podman cannot run a container here: $(tail -n 1 <<<"$said")"
timeout 600 .venv/bin/python -m pytest -q -n 2 -o faulthandler_timeout=100 tests/e2e/containers/e2e_containers.py || exit 1
docker info >/dev/null 2>&1 || exit 0
.venv/bin/python tests/e2e/containers/images.py "$made/docker" docker || exit 1
ENGINE=docker timeout 600 .venv/bin/python -m pytest -q -n 2 -o faulthandler_timeout=100 tests/e2e/containers/e2e_containers.py || status=1
docker rmi localhost/pai-lsp-{bare,small,tools,repository}:1 >/dev/null
exit "${status:-0}"
