# Runs the commands in a process of their own, for which this script starts itself once more, and so each callback.
pai_lsp_part=${1-whole} pai_lsp_folder=$PWD pai_lsp_titles=() pai_lsp_texts=()
set --
# Runs a callback now: its title is the argument, its commands are in file descriptor 3.
pai_lsp_run() {
  IFS= builtin read -r -d '' pai_lsp_text <&3 || :
  (builtin cd "$pai_lsp_folder" || :; builtin exec /bin/bash -c "$pai_lsp_text" "$1" 3<&-)
}
# Keeps a callback for the end.
pai_lsp_at_end() {
  [ "$pai_lsp_part" = whole ] || return 0
  IFS= read -r -d '' pai_lsp_text <&3 || :
  pai_lsp_titles+=("$1") pai_lsp_texts+=("$pai_lsp_text")
}
# Runs all that follows, then the callbacks at the end. The exit code is that of what failed first.
pai_lsp_commands() {
  [ "$pai_lsp_part" = whole ] || return 0
  local status=0 event number code
  /bin/bash ${BASH_EXECUTION_STRING:+-c "$BASH_EXECUTION_STRING"} "$0" commands || status=$?
  for event in @EVENTS@; do
    for ((number = 0; number < ${#pai_lsp_titles[@]}; number++)); do
      [ "${pai_lsp_titles[number]%% *}" = "$event" ] || continue
      case "$event $status" in "@ON_FAILURE@ 0" | "@ON_SUCCESS@ "[1-9]*) continue ;; esac
      code=0
      /bin/bash -c "${pai_lsp_texts[number]}" "${pai_lsp_titles[number]}" || code=$?
      [ "$status" -ne 0 ] || status=$code
    done
  done
  exit "$status"
}
