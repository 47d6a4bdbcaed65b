#!/usr/bin/env bash
# apt_packages.sh WHAT COMMAND=PACKAGE...: installs the Debian packages whose commands this machine lacks; for packages
# without a command of their own, COMMAND is the path of a file. WHAT is said to need them.
# Ends with 77 and says what is missing where that cannot be done: no apt-get, no root, no network, no such package.
set -uo pipefail
what=$1
shift
commands=() packages=()
for pair in "$@"; do
  command=${pair%%=*}
  [ -e "$command" ] || command -v "$command" >/dev/null || { commands+=("$command"); packages+=("${pair#*=}"); }
done
[ ${#packages[@]} -gt 0 ] || exit 0

lacking() {
  exec "$(dirname "$0")/not_run.sh" "$what: this machine lacks ${commands[*]}; $1"
}
command -v apt-get >/dev/null || lacking "install it by hand, there is no apt-get here (Debian calls it ${packages[*]})"
[ "$(id -u)" = 0 ] || lacking "install it with 'sudo apt-get install ${packages[*]}'"
exec {lock}<"$0" && flock "$lock"  # two parts of the tests may want something at the same time
echo "installing ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
install=(apt-get install -y -qq --no-install-recommends "${packages[@]}")
if [ "${CI:-}" = true ]; then  # where nobody reads it, and nothing is to last: a quarter less time
  install+=(-o Dpkg::Options::=--force-unsafe-io)
  for unread in doc help locale man; do install+=(-o "Dpkg::Options::=--path-exclude=/usr/share/$unread/*"); done
fi
# The lists of packages may be there already, and new enough.
said=$("${install[@]}" 2>&1 >/dev/null) || said=$({ apt-get update -qq && "${install[@]}"; } 2>&1 >/dev/null) \
  || lacking "'apt-get install ${packages[*]}' has failed: $(tail -n 1 <<<"$said")"
