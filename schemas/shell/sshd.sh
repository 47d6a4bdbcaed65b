#!/bin/bash
set -o errexit -o nounset -o pipefail
export -p >@HOME@/ssh/environment
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
# ssh and sshd take a key only from a file of the user's own that nobody else can read or write.
umask 077
for file in @HOME@/ssh-secret/ssh-privatekey @HOME@/ssh/server-key @HOME@/ssh/config; do
  cp "$file" "$file.own"
  mv -f "$file.own" "$file"
  chmod 600 "$file"
done
umask 022
@SERVER@ -D -e -f @HOME@/ssh/sshd_config 2>@HOME@/ssh/server.log &
for ((tries = 0; tries < 200; tries++)); do
  (exec 3<>"/dev/tcp/127.0.0.1/$PAI_CONTAINER_SSH_PORT") 2>/dev/null && exit 0
  kill -0 $! 2>/dev/null || break
  sleep 0.1
done
echo "the ssh server did not start" >&2
cat @HOME@/ssh/server.log >&2
exit 1
