"""The words that `git clone` gets from the `options` of the plugin `git`, and those that the runtime refuses.

The plugin passes the options to GitPython, which joins them with blanks and splits them again. That of OpenPAI splits
at each blank: quotes stay, and an empty word is an operand. That of LTP splits as a shell does.
Source: GitPython 3.1.11 (pinned by openpai-runtime) and 3.2.1 (ltp-platform pins none), git/repo/base.py, _clone;
git/cmd.py, check_unsafe_options.
"""

from __future__ import annotations

from bisect import bisect_left
from io import StringIO
from itertools import accumulate

from pai_lsp.source.frozen import dataclass
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# Letters of `git clone` without a value, after which another letter may follow.
_LETTERS_WITHOUT_VALUE = frozenset("46flnqsv")


@dataclass(frozen=True, slots=True)
class CloneWord:
    """A word of the command line; `option` is the number of the option that it ends in, from 0.

    start, end: its place in that option, if the options are split at blanks.
    """

    text: str
    option: int
    start: int = 0
    end: int = 0


class OpenQuoteError(ValueError):
    """A quote, or a backslash at the end, is left open; `option` is the number of the option, from 0."""

    def __init__(self, option: int) -> None:
        super().__init__(f"option {option} has an open quote")
        self.option = option


def clone_words(options: Sequence[str], *, as_shell: bool) -> list[CloneWord]:
    """The words of the command line.

    Raises:
        OpenQuoteError: if they are split as a shell does, and a quote is left open.
    """
    return _shell_words(options) if as_shell else _words_at_blanks(options)


def _words_at_blanks(options: Sequence[str]) -> list[CloneWord]:
    found: list[CloneWord] = []
    for number, option in enumerate(options):
        start = 0
        for text in option.split(" "):
            found.append(CloneWord(text, number, start, start + len(text)))
            start += len(text) + 1
    return found


def _shell_words(options: Sequence[str]) -> list[CloneWord]:
    from shlex import shlex  # noqa: PLC0415 - few jobs have such options

    text = StringIO(" ".join(options))
    lexer = shlex(text, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    ends = list(accumulate(len(option) + 1 for option in options))
    try:
        return [CloneWord(word, bisect_left(ends, text.tell())) for word in lexer]
    except ValueError:
        raise OpenQuoteError(_open_option(options)) from None


def _open_option(options: Sequence[str]) -> int:
    """The option whose quote stays open: the last one with balanced quotes before it."""
    from shlex import split  # noqa: PLC0415 - few jobs have such options

    for number in range(len(options) - 1, 0, -1):
        try:
            split(" ".join(options[:number]))
        except ValueError:
            continue
        return number
    return 0


def is_refused(word: str, refused: Collection[str]) -> bool:
    """Whether GitPython refuses a word as unsafe, written in full, shortened, or after other letters.

    It compares values as well: the branch `config` is refused.
    """
    token = next(iter(word.partition("=")[0].split()), "")
    name = next(iter(word.lstrip("-").partition("=")[0].split()), "").replace("_", "-")
    names = {one.lstrip("-") for one in refused}
    if not name or name in names:
        return name in names
    if not token.startswith("-") or token.startswith("--"):
        return word.startswith("--") and any(one.startswith(name) for one in names)
    for letter in token[1:]:
        if letter in names:
            return True
        if letter not in _LETTERS_WITHOUT_VALUE:
            break
    return False


def is_always_refused(option: str, refused: Collection[str]) -> bool:
    """Whether older versions of GitPython refuse an option of the plugin, too.

    Before 3.1.51 they compare its beginning only, and know no shortened or joined names.
    """
    name = option.partition(" ")[0].partition("=")[0]
    return name in refused or f"--{name}" in refused
