"""Rules about commands that fetch, unpack and run files, and about git without a terminal and without keys.

Facts: GNU Wget 1.21, curl 7.88, GNU tar 1.34, UnZip 6.0, Python 3.11, bash 5.2 and git 2.39, run after the platform's
header.
"""

from __future__ import annotations

import re
from itertools import pairwise

from pai_lsp.embedded.shell_script import PartKind
from pai_lsp.findings.diagnostic import Finding, RuleStatus, Severity, rule
from pai_lsp.platform.command_files import clone_folder, made_files
from pai_lsp.rules.commands.command_uses import (
    CommandUse,
    changed,
    insert_fix,
    quote_words_fix,
    scripts,
    uses,
)
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.command_lines import Arguments
    from pai_lsp.embedded.shell_script import Word
    from pai_lsp.job.job import Job
    from pai_lsp.job.variable_places import ScriptPlace

_ADDRESS = lazy_pattern(r"https?://|ftp://")
_OF_THIS_HOST = lazy_pattern(r"https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0)\b")
# Addresses of pages that show a file, and what gives the file itself.
_PAGES: dict[str, tuple[re.Pattern[str], str]] = {
    "github.com": (lazy_pattern(r"(https://github\.com/[^/]+/[^/]+)/blob/(?!.*[?&]raw=true)(.+)"), r"\1/raw/\2"),
    "huggingface.co": (lazy_pattern(r"(https://(?:www\.)?huggingface\.co/.+)/blob/(.+)"), r"\1/resolve/\2"),
    "dropbox.com": (lazy_pattern(r"(https://(?:www\.)?dropbox\.com/.+[?&])dl=0(.*)"), r"\1dl=1\2"),
    "gitlab.com": (lazy_pattern(r"(https://gitlab\.com/.+?)(?:/-)?/blob/(.+)"), r"\1/-/raw/\2"),
    "drive.google.com": (lazy_pattern(r"https://drive\.google\.com/file/.+"), ""),
}
# A path below the working folder, with the name of its first folder.
_FOLDER = lazy_pattern(r"(?:\./)?(?!\.{1,2}(?:/|$))([\w.-]+)(?:/[\w./-]*)?$")
_COMPRESSIONS = {
    "z": (".tar.gz", ".tgz", ".gz"), "j": (".tar.bz2", ".tbz2", ".tbz", ".bz2"), "J": (".tar.xz", ".txz", ".xz"),
}  # fmt: skip
_TAR_NAMES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_TAR_MODES = frozenset("xctruAd")


@rule(Severity.WARNING, about=("wget", "curl"))
def download_of_page(job: Job) -> Iterator[Finding]:
    """A page that shows a file is downloaded, instead of the file.

    The command stores HTML under the file's name and succeeds; the next command fails.
    Source: the addresses of GitHub (`/raw/`), GitLab (`/-/raw/`), Hugging Face (`/resolve/`) and Dropbox (`dl=1`).

        taskRoles:
          worker:
            commands:
              - wget https://github.com/microsoft/pai/blob/master/README.md
              #      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - wget https://github.com/microsoft/pai/raw/master/README.md
    """
    for use in uses(job, "wget", "curl"):
        for word in use.line.arguments:
            host = word.text.removeprefix("https://").removeprefix("www.").partition("/")[0]
            page, form = _PAGES.get(host, (None, ""))
            match = page.fullmatch(word.text) if page is not None else None
            if match is not None and word.is_literal:
                message = "this is the address of the page that shows the file, not of the file"
                yield changed(use.place, use.line.inner(word), message, match.expand(form) if form else None)


@rule(Severity.WARNING, about=("wget", "curl"))
def download_option(job: Job) -> Iterator[Finding]:
    """Wget or curl has a wrong option, so the file is not stored.

    `wget -o` names a log file, `wget -p` takes no folder, and `curl -c` a file for cookies. `curl -O` without `-L` does
    not follow the redirection
    of a release and stores an empty answer; `curl` without `-o`, `-O` or `>` prints the file.
    Source: wget(1), `-o`; curl(1), `-c`, `-L` and `-o`.

        taskRoles:
          worker:
            commands:
              - wget -o train.py https://example.com/train.py
              #      ^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - wget -O train.py https://example.com/train.py
    """
    for use in uses(job, "wget", "curl"):
        arguments = use.arguments(use.line.program)
        if use.line.program == "wget":
            yield from _wget_findings(use, arguments)
            continue
        cookies = arguments.option("-c")
        if cookies is not None and cookies.value and _ADDRESS.match(cookies.value):
            message = "'-c' writes cookies to a file with this name; use '-C -' to continue a download"
            yield Finding(use.span(cookies.span), message)
        elif not use.line.step.redirections and use.line.step.after != "|" and use.role is not None:
            yield from _curl_findings(use, arguments)


def _wget_findings(use: CommandUse, arguments: Arguments) -> Iterator[Finding]:
    if (pages := arguments.option("-p")) and len(pages.span) == 2:
        following = next((one for one in arguments.operands if one.span.start == pages.end + 1), None)
        if following is not None and following.is_literal and not set(following.text) & set(":."):
            message = f"'-p' takes no folder, so wget asks for the page '{following.text}'; '-P' names the folder"
            yield changed(use.place, pages.span, message, "-P")
    log = arguments.option("-o")
    value = log.value if log and len(log.span) == 2 and not arguments.has("-O") else None
    if log and value and not re.search(r"^/dev/|(?:log|\.txt)$", value):
        yield changed(use.place, log.span, f"'-o' writes wget's log to '{value}'; '-O' names the file", "-O")


def _curl_findings(use: CommandUse, arguments: Arguments) -> Iterator[Finding]:
    addresses = [word for word in arguments.operands if word.is_literal and _ADDRESS.match(word.text)]
    if len(addresses) != 1 or _OF_THIS_HOST.match(addresses[0].text):
        return
    if arguments.is_open or use.line.step.parent is None or use.line.step.parent.is_substitution:
        return
    url, name_word = addresses[0].text, use.line.name
    name = url.partition("://")[2].partition("?")[0].partition("/")[2].rpartition("/")[2]
    is_saved = arguments.has("-o", "-O", "--remote-name-all", "-J")
    if is_saved and "/releases/download/" in url and not arguments.has("-L"):
        message = "a release is downloaded through a redirect, which curl does not follow; add '-L'"
        yield Finding(use.word(name_word), message, insert_fix(use.place, name_word.span.end, " -L"))
    elif not is_saved and "." in name and _is_used_later(use, name) and not arguments.has("-I", "-X", "-d", "-T", "-F"):
        message = f"curl prints the file instead of storing it; add '-O' to store it as '{name}'"
        yield Finding(use.word(name_word), message, insert_fix(use.place, name_word.span.end, " -O"))


@rule(Severity.WARNING, about=("wget", "curl"))
def address_without_quotes(job: Job) -> Iterator[Finding]:
    """An address with `&` has no quotes.

    Bash ends the command at `&` and runs it in the background; the rest of the address becomes a command.
    Source: the bash reference manual, "Lists of Commands".

        taskRoles:
          worker:
            commands:
              - wget https://example.com/get?id=1&confirm=t -O data.zip
              #      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - wget "https://example.com/get?id=1&confirm=t" -O data.zip
    """
    for use in uses(job, "wget", "curl"):
        word = use.line.arguments[-1] if use.line.arguments else None
        following = use.line.step.following()
        if word is None or use.line.step.after != "&" or not _ADDRESS.match(use.line.written(word)):
            continue
        if following is not None and following.span.start == word.span.end + 1:
            span = Span(word.span.start, (following.words[0] if following.words else following).span.end)
            message = "bash ends the command at '&'; quote the address"
            yield Finding(use.span(span), message, quote_words_fix(use.place, span))


@rule(Severity.WARNING, about=("tar", "wget", "curl"))
def download_to_missing_folder(job: Job) -> Iterator[Finding]:
    """A download or an archive goes into a folder that nothing creates.

    wget and curl create no folder for `-O` and `-o`: "No such file or directory".
    Source: wget(1), `-O`; curl(1), `--create-dirs`.

        taskRoles:
          worker:
            commands:
              - wget -O data/new/train.zip https://example.com/train.zip
              #         ^^^^^^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - mkdir -p data/new
              - wget -O data/new/train.zip https://example.com/train.zip
    """
    for use in uses(job, "tar"):
        for flag, word in pairwise(use.line.arguments):
            if flag.text in {"-C", "--directory"} and _is_missing(use, word.text, word):
                yield Finding(use.word(word), f"the folder '{word.text}' is not created before this")
    for use in uses(job, "wget", "curl"):
        arguments = use.arguments(use.line.program)
        option = arguments.option("-O" if use.line.program == "wget" else "-o")
        folder = option.value.rpartition("/")[0] if option and option.value else ""
        if option and option.value_span and _is_missing(use, folder) and not arguments.has("--create-dirs"):
            yield Finding(use.span(option.value_span), f"the folder '{folder}' is not created before this")


@rule(Severity.ERROR, about=("tar", "unzip", "gunzip"))
def archive_mismatch(job: Job) -> Iterator[Finding]:
    """An archive is unpacked with the wrong program, compression or options.

    tar needs a mode such as `x`, and reads what follows `f` as the file's name; `tar xf` finds the compression itself.
    unzip reads only zip files, gunzip only gzip files. A `.tar` may be compressed all the same: that is a warning.
    Source: tar(1); unzip(1); gzip(1).

        taskRoles:
          worker:
            commands:
              - tar xjf data.tar.gz
              #     ^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - tar xf data.tar.gz
    """
    for use in uses(job, "tar", "unzip", "gunzip"):
        words = use.line.arguments
        if not words or any(not word.is_literal for word in words):
            continue
        if use.line.program == "tar":
            yield from _tar_findings(use)
            continue
        options = use.arguments(use.line.program).values
        operands = [word for word in words if not word.text.startswith("-") and word not in options]
        name = next(iter(operands), None)
        if name is None or (use.line.program == "gunzip" and {"-S", "--suffix"} & {*use.line.texts}):
            continue
        if use.line.program == "unzip" and name.text.endswith(_TAR_NAMES):
            message = f"unzip cannot read '{name.text}'; use 'tar xf'"
            yield changed(use.place, use.line.name.span, message, "tar xf" if words[0] is name else None)
        elif use.line.program == "gunzip" and name.text.endswith((".zip", ".tar", ".bz2", ".xz", ".7z")):
            yield Finding(use.word(use.line.name), f"gunzip cannot read '{name.text}'")


def _tar_findings(use: CommandUse) -> Iterator[Finding]:
    words = use.line.arguments
    bundle = words[0]
    if re.fullmatch(r"[^-].*\.(?:tar|tgz|tbz2|txz)(?:\.\w+)?", bundle.text):
        message = "tar needs options before the file, such as 'xf'"
        yield changed(use.place, bundle.span, message, f"xf {use.line.written(bundle)}", "Add 'xf'")
        return
    if not re.fullmatch(r"-?[A-Za-z]+", bundle.text):
        return
    letters = bundle.text.lstrip("-")
    has_dash = bundle.text.startswith("-")
    others = [word.text for word in words[1:] if word.text[:1] == "-"]
    all_letters = letters + "".join(one[1:] for one in others if not one.startswith("--"))
    modes = ("--extract", "--create", "--list", "--get", "--append", "--update", "--diff", "--delete", "--help")
    span = Span(use.line.name.span.start, bundle.span.end)
    if not _TAR_MODES.intersection(all_letters) and not any(one.startswith((*modes, "--version")) for one in others):
        if "C" not in letters or not has_dash:
            new = f"{'-' if has_dash else ''}x{letters}" if "f" in letters else None
            yield changed(use.place, bundle.span, "tar needs an operation, such as 'x' to extract", new, at=span)
        return
    if len(words) == 1 and letters.endswith("f") and not use.line.is_open:
        yield Finding(use.word(bundle), "tar needs the name of the archive after 'f'")
        return
    if has_dash and "f" in letters[:-1] and "x" in all_letters:
        rest = letters[letters.index("f") + 1 :]
        message = f"tar reads '{rest}' after 'f' as the name of the archive; put 'f' last"
        yield changed(use.place, bundle.span, message, "-" + letters.replace("f", "") + "f")
        return
    if "f" not in letters or len(words) < 2 or ("x" not in letters and "t" not in letters):
        return
    name = words[1]
    if name.text.endswith(".zip"):
        message = f"tar cannot read '{name.text}'; use 'unzip'"
        yield changed(use.place, span, message, "unzip -q" if len(words) == 2 else None)
        return
    known = [one for one, names in _COMPRESSIONS.items() if name.text.endswith(names)]
    is_tar = name.text.endswith(".tar")
    for letter, kind in {"z": "gzip", "j": "bzip2", "J": "xz"}.items():
        if letter in letters and (is_tar or (known and letter not in known)):
            right = bundle.text.replace(letter, known[0] if known else "")
            message = f"'{letter}' means {kind}, which '{name.text}' is not"
            severity = Severity.WARNING if is_tar else None
            yield changed(use.place, bundle.span, message, right, severity=severity)
            return


@rule(Severity.WARNING)
def file_not_executable(job: Job) -> Iterator[Finding]:
    """A file that was just written or downloaded is started without `chmod +x`.

    Bash refuses it with code 126, "Permission denied". Without `./`, bash does not look for it in the working folder:
    code 127, "command not found".
    Source: the bash reference manual, "Command Search and Execution".

        taskRoles:
          worker:
            commands:
              - wget https://example.com/run.sh
              - ./run.sh
              # ^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - wget https://example.com/run.sh
              - bash run.sh
    """
    for place in scripts(job):
        yield from _without_path(place)
        if place.mentions("chmod") or "install" in place.lines.by_program or not place.mentions("./"):
            continue
        made: set[str] = set()
        for use in (CommandUse(place, line) for line in place.lines.all):
            name = use.line.name
            if name.text.startswith("./") and name.text[2:] in made and use.ends_script:
                script = name.text[2:]
                message = f"'{script}' is not executable; use 'bash {script}' or 'chmod +x {script}'"
                yield changed(place, name.span, message, f"bash {script}" if script.endswith(".sh") else None)
            made.update(made_files(use.line))


def _without_path(place: ScriptPlace) -> Iterator[Finding]:
    """Programs that were just made executable, in the working folder, and are run by their name alone."""
    lines = place.lines
    made = {word.text: line for line in lines.by_program.get("chmod", ()) for word in line.arguments if word.is_literal}
    if not made or any(one.name == "PATH" for one in place.script.assignments):
        return
    for line in lines.all:
        name, maker = line.name, made.get(line.name.text)
        is_made = maker is not None and maker.span.start < name.span.start and not line.wrappers
        if is_made and "." in name.text[1:] and "/" not in name.text:
            message = f"bash does not look for '{name.text}' in the working folder; write './{name.text}'"
            yield changed(place, name.span, message, f"./{name.text}")


@rule(Severity.INFORMATION)
def shebang_not_first(job: Job) -> Iterator[Finding]:
    """A `#!` line is not the first line of a file.

    Only the first line names the program; otherwise the file runs as a shell script.
    Source: execve(2), "Interpreter scripts".

        taskRoles:
          worker:
            commands:
              - |
                cat > run.py <<'EOF'

                #!/usr/bin/env python
                #^^^^^^^^^^^^^^^^^^^^ information
                print(1)
                EOF

    Good:

        taskRoles:
          worker:
            commands:
              - |
                cat > run.py <<'EOF'
                #!/usr/bin/env python
                print(1)
                EOF
    """
    for place in scripts(job):
        for part in place.script.parts:
            if part.kind is not PartKind.HERE_DOCUMENT:
                continue
            match = re.match(r"(?:[ \t]*(?:#(?!!)[^\n]*)?\n){0,5}[ \t]*(#!/[^\n]*)", place.written(part.span))
            if match and match.start(1):
                span = Span(part.span.start + match.start(1), part.span.start + match.end(1))
                yield Finding(place.span(span), "'#!' only has an effect in the first line of a file")


@rule(Severity.ERROR, about=("python",), status=RuleStatus.PREVIEW)
def python_code_unquoted(job: Job) -> Iterator[Finding]:
    """The code for `python -c` has no quotes.

    Bash splits it at the spaces, and Python receives only the first word: "SyntaxError".
    Source: the documentation of Python's command line, `-c`.

        taskRoles:
          worker:
            commands:
              - python -c import torch
              #           ^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - python -c "import torch"
    """
    for use in uses(job, "python"):
        words = use.line.arguments
        for number, word in enumerate(words[:-2]):
            if word.text == "-c" and words[number + 1].text in {"import", "from", "print", "assert", "for", "if"}:
                span = Span(words[number + 1].span.start, words[-1].span.end)
                new = None if '"' in (written := use.written(span)) else f'"{written}"'
                yield changed(use.place, span, "bash splits this code at the spaces; quote it", new, "Quote it")
            if not word.text.startswith("-"):
                break


def _is_used_later(use: CommandUse, name: str) -> bool:
    """Whether a command after this one has a file's name."""
    later = (line for line in use.place.lines.all if line.span.start > use.line.span.start)
    return any(name in word.text for line in later for word in line.words)


def _is_missing(use: CommandUse, folder: str, besides: Word | None = None) -> bool:
    """Whether nothing in the script creates a folder below the one where it surely begins.

    Its name may be in other commands then, and in this one `besides` a word.
    """
    match = _FOLDER.match(folder)
    if match is None:
        return False
    own = {word.span.start for word in (use.line.words if besides is None else (besides,))}
    return own.issuperset(use.place.lines.all_with(match[1])) and use.folder == "" and use.ends_script


_ADDRESS_FOR_SSH = lazy_pattern(r"(?:ssh://)?git@([\w.-]+)[:/](.+)")
_ADDRESS_OF_PAGE = lazy_pattern(r"(https?://git(?:hub|lab)\.com/[^/]+/[^/]+?)(?:/-)?/(?:tree|blob)/.*")


@rule(Severity.ERROR, about=("git",))
def git_clone_operands(job: Job) -> Iterator[Finding]:
    """`git clone` has more than an address and a folder.

    git stops with "Too many arguments".
    Source: git, builtin/clone.c, cmd_clone.

        taskRoles:
          worker:
            commands:
              - git clone git clone https://github.com/microsoft/pai.git
              #           ^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - git clone https://github.com/microsoft/pai.git
    """
    for use, arguments in job.once(_git_clones):
        operands = arguments.operands
        if len(operands) < 3 or arguments.is_open:
            continue
        if [one.text for one in operands[:2]] == ["git", "clone"]:
            span = Span(operands[0].span.start, operands[1].span.end)
            removed = Span(span.start, span.end + 1)
            yield changed(use.place, removed, "'git clone' is written twice", "", "Remove it", at=span)
        else:
            span = Span(operands[2].span.start, operands[-1].span.end)
            yield Finding(use.span(span), "'git clone' takes only an address and a folder")


@rule(Severity.ERROR, about=("git",))
def git_clone_page(job: Job) -> Iterator[Finding]:
    """`git clone` gets the address of a page instead of a repository.

    `https://github.com/OWNER/NAME/tree/BRANCH` shows a folder in a browser; git cannot clone it. Clone the repository,
    with `--branch` for another branch.
    Source: git, git-clone(1), "Git URLs".

        taskRoles:
          worker:
            commands:
              - git clone https://github.com/microsoft/pai/tree/master
              #           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - git clone https://github.com/microsoft/pai
    """
    for use, arguments in job.once(_git_clones):
        for word in arguments.operands[:1]:
            match = _ADDRESS_OF_PAGE.fullmatch(word.text) if word.text.startswith("http") else None
            if match and word.is_literal:
                yield changed(use.place, word.span, "this is the address of a page, which git cannot clone", match[1])


@rule(Severity.ERROR, about=("git",))
def git_remote_with_branch(job: Job) -> Iterator[Finding]:
    """`git pull` or `git fetch` has remote and branch in one word.

    git looks for a repository with this name: "'origin/main' does not appear to be a git repository".
    Source: git, git-pull(1).

        taskRoles:
          worker:
            commands:
              - git pull origin/main
              #          ^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - git pull origin main
    """
    for use in uses(job, "git"):
        words = [word for word in use.line.arguments if not word.text.startswith("-")]
        if len(words) > 1 and words[0].text in {"pull", "fetch"} and words[1].text.startswith("origin/"):
            new = words[1].text.replace("/", " ", 1) if len(words) == 2 else None
            message = "git takes this as the name of a remote; write a space after it"
            yield changed(use.place, words[1].span, message, new)


@rule(Severity.WARNING, about=("git",))
def git_clone_without_key(job: Job) -> Iterator[Finding]:
    """`git clone` uses ssh, but there is no key.

    A container has no ssh key: "Permission denied (publickey)". Clone by https.
    Source: git, git-clone(1), "Git URLs".

        taskRoles:
          worker:
            commands:
              - git clone git@github.com:microsoft/pai.git
              #           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - git clone https://github.com/microsoft/pai.git
    """
    keys = ("ssh-add", ".ssh", "id_rsa", "GIT_SSH", "ssh-keygen", "insteadOf")
    for use, arguments in job.once(_git_clones):
        for word in arguments.operands[:1] if use.role is not None else ():
            match = _ADDRESS_FOR_SSH.fullmatch(word.text) if "git@" in word.text else None
            if match and word.is_literal and not any(use.place.mentions(part) for part in keys):
                message = "a container has no ssh key, so git cannot clone this; use https"
                yield changed(use.place, word.span, message, f"https://{match[1]}/{match[2]}")


# Commands of git that need a repository.
_INSIDE = {"checkout", "switch", "pull", "reset", "submodule", "log", "apply", "am", "commit", "add", "fetch", "lfs"}


@rule(Severity.WARNING, about=("git",))
def git_outside_repository(job: Job) -> Iterator[Finding]:
    """A git command runs beside the folder that was just cloned.

    `git clone` does not change the folder: "fatal: not a git repository".
    Source: git, git-clone(1).

        taskRoles:
          worker:
            commands:
              - git clone https://github.com/microsoft/pai.git
              - git checkout v1.8.0
              # ^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - git clone https://github.com/microsoft/pai.git
              - cd pai
              - git checkout v1.8.0
    """
    for use in uses(job, "git"):
        word = next(iter(use.line.arguments), None)
        if word is None or word.text not in _INSIDE or not use.ends_script:
            continue
        if word.text == "lfs" and any(one.text == "install" for one in use.line.arguments):
            continue
        if _is_beside_clone(job, use):
            span = Span(use.line.name.span.start, word.span.end)
            yield Finding(use.span(span), "this does not run in the cloned repository; use 'cd' first")


def _is_beside_clone(job: Job, use: CommandUse) -> bool:
    """Whether a command surely runs in the folder where a repository was cloned, and in no repository itself."""
    folder = use.folder
    here = ((one, arguments) for one, arguments in job.once(_git_clones) if one.place is use.place)
    clones = [(one, arguments) for one, arguments in here if one.line.span.start < use.line.span.start]
    earlier = use.earlier("git")
    if not clones or folder is None or use.place.mentions("GIT_") or any(one.texts[:1] == ("init",) for one in earlier):
        return False
    made = [clone_folder(arguments.operands) for _, arguments in clones]
    if any(arguments.is_open for _, arguments in clones) or None in made or not {"", "."}.isdisjoint(made):
        return False
    first = min(clone.line.span.start for clone, _ in clones)
    if any(line.span.start < first and _INSIDE.intersection(line.texts[:1]) for line in earlier):
        return False  # the script begins in a repository
    return any(clone.folder == folder for clone, _ in clones)


def _git_clones(job: Job) -> list[tuple[CommandUse, Arguments]]:
    found: list[tuple[CommandUse, Arguments]] = []
    for use in uses(job, "git"):
        texts = use.line.texts
        if "clone" in texts:
            number = texts.index("clone")
            before = [text for text in texts[:number] if not text.startswith("-")]
            values = [text for text in texts[:number] if text in {"-C", "-c"}]
            arguments = use.arguments("git clone", number + 1)
            if len(before) == len(values) and not arguments.unknown:
                found.append((use, arguments))
    return found
