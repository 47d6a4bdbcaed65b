"""The files and folders that commands make, by what each program does with its words."""

from __future__ import annotations

from pai_lsp.platform.programs import known_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.command_lines import CommandLine
    from pai_lsp.embedded.shell_script import Word

# Programs that make everything that they are given.
_MAKING = frozenset({"mkdir", "touch", "tee", "mkfifo"})
# Programs that make the last of their words.
_MAKING_LAST = frozenset({"cp", "mv", "ln", "install", "rsync", "scp"})


def made_files(line: CommandLine) -> Iterator[str]:
    """The paths that a command surely makes, as written but without `./`; what bash makes of words is left out."""
    for one in line.step.redirections:
        if one.is_output and one.target.is_literal:
            yield _path(one.target.text)
    for name in _made_by(line):
        yield _path(name)


def clone_folder(operands: list[Word]) -> str | None:
    """The folder that `git clone` makes; None where it is not known."""
    if not operands or not all(word.is_literal for word in operands):
        return None
    if len(operands) > 1:
        return _path(operands[1].text)
    # git-clone(1): "The \"humanish\" part of the source repository is used".
    return operands[0].text.rstrip("/").removesuffix("/.git").rpartition("/")[2].rpartition(":")[2].removesuffix(".git")


def _made_by(line: CommandLine) -> Iterator[str]:
    if line.program in {"wget", "curl"}:
        yield from _downloaded(line)
    elif line.program == "git":
        known = known_line(line)
        folder = clone_folder(known.arguments.operands) if known is not None and known.name == "git clone" else None
        if folder:
            yield folder
    elif line.program in _MAKING or line.program in _MAKING_LAST:
        operands = [word for word in line.arguments if not word.text.startswith("-")]
        for word in operands if line.program in _MAKING else operands[-1:]:
            if word.is_literal:
                yield word.text


def _downloaded(line: CommandLine) -> Iterator[str]:
    known = known_line(line)
    if known is None:
        return
    option = known.arguments.option("-O" if line.program == "wget" else "-o")
    if option is not None:
        yield option.value or ""
    elif line.program == "wget" or known.arguments.has("-O"):
        for word in known.arguments.operands:
            if word.is_literal:
                yield word.text.rpartition("/")[2].partition("?")[0]


def _path(name: str) -> str:
    return name.removeprefix("./")
