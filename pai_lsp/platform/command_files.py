"""The files and folders that commands write, by what each program does with its words."""

from __future__ import annotations

from pai_lsp.platform.programs import known_line
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.command_lines import CommandLine
    from pai_lsp.embedded.shell_script import Word


def made_files(line: CommandLine) -> Iterator[str]:
    """The files that a command surely writes, as written but without `./`; what bash makes of words is left out.

    A copy keeps the mode of its file, so that it is not among them.
    """
    for one in line.step.redirections:
        if one.is_output and one.target.is_literal:
            yield _path(one.target.text)
    if line.program in {"wget", "curl"}:
        yield from map(_path, _downloaded(line))
    elif line.program in {"touch", "tee"}:
        yield from (_path(word.text) for word in line.arguments if word.is_literal and not word.text.startswith("-"))


def clone_folder(operands: list[Word]) -> str | None:
    """The folder that `git clone` makes; None where it is not known."""
    if not operands or not all(word.is_literal for word in operands):
        return None
    if len(operands) > 1:
        return _path(operands[1].text)
    # git-clone(1): "The \"humanish\" part of the source repository is used".
    return operands[0].text.rstrip("/").removesuffix("/.git").rpartition("/")[2].rpartition(":")[2].removesuffix(".git")


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
