"""What runs when a task's commands end: an EXIT trap, for events that no released cluster has.

The trap is set in front of the commands and keeps their exit code. Each hook runs in a shell of its own with the
options that callbacks have. Source of those: openpai-runtime, src/plugins/plugin_utils.py, inject_commands (errexit
alone); user commands run with errexit, nounset and pipefail (src/init.d, user.sh).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.frozen import dataclass
from pai_lsp.platform import Moment, event_at

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEAD = """\
# What runs when the commands below end; their exit code stays.
pai_lsp_at_exit() {
  pai_lsp_status=$?
  pai_lsp_result=$pai_lsp_status
  trap - EXIT
  set +o errexit
"""
_TAIL = """\
  exit "$pai_lsp_result"
}
trap pai_lsp_at_exit EXIT"""

_IF_FAILED = """\
  # {event} of {owner}
  if [ "$pai_lsp_status" -ne 0 ]; then (
set {errexit}o errexit +o nounset +o pipefail
{text}
  ) fi
"""
_ALWAYS = """\
  # {event} of {owner}
  (
set {errexit}o errexit +o nounset +o pipefail
{text}
  )
"""
# As after `taskSucceeds`, a failure behind successful commands fails the task.
_TAKE_STATUS = """\
  pai_lsp_hook_status=$?
  [ "$pai_lsp_result" -ne 0 ] || pai_lsp_result=$pai_lsp_hook_status
"""


@dataclass(frozen=True, slots=True)
class Hook:
    """Commands that run when the task's commands have failed, or have ended in either way.

    owner: whose they are, in words. text: the commands in the form that stands among a task role's.
    """

    moment: Moment
    owner: str
    text: str
    ignores_failure: bool = False


def exit_trap(hooks: Sequence[Hook]) -> str:
    """The trap as text to be put in front of a role's commands; the hooks run in the order given."""
    parts = [_HEAD]
    for hook in hooks:
        form = _IF_FAILED if hook.moment is Moment.FAILURE else _ALWAYS
        errexit = "+" if hook.ignores_failure else "-"
        # A backslash at the end must not take the bracket's line with it.
        text = hook.text + ("\n" if hook.text.endswith("\\") else "")
        parts.append(form.format(event=event_at(hook.moment), owner=hook.owner, errexit=errexit, text=text))
        if hook.moment is Moment.EXIT and not hook.ignores_failure:
            parts.append(_TAKE_STATUS)
    return "".join([*parts, _TAIL])
