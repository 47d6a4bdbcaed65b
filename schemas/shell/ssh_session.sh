# A session has the environment of the task, and begins in its folder, not in the user's home.
source @HOME@/ssh/environment
cd "$PAI_WORK_DIR"
case "${SSH_ORIGINAL_COMMAND:-}" in
  '') exec /bin/bash ;;
  internal-sftp)
    for program in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec; do
      [ -x $program/sftp-server ] && exec $program/sftp-server
    done
    exit 127 ;;
  *) exec /bin/bash -c "$SSH_ORIGINAL_COMMAND" ;;
esac
