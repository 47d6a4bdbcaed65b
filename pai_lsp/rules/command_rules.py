"""Rules that no job breaks by itself: commands report them about a file or about their own work.

They never run on a job, so they are not in `RULES`; explanations, settings and reports find them in `all_rules`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Consequence, Finding, Severity, Stage, rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pai_lsp.job.job import Job


@rule(Severity.ERROR, stage=Stage.SERVER)
def unreadable_file(_job: Job) -> Iterable[Finding]:
    """The file or folder cannot be read, or is not UTF-8.

    OpenPAI reads a job as UTF-8: the rest-server decodes the request body as UTF-8 unless the client sends another
    charset, and no OpenPAI client does. Save the file as UTF-8; a byte order mark is harmless.
    Source: rest-server, config/express.js (`bodyParser.text`); body-parser, lib/types/text.js.
    """
    return ()  # there is no job


@rule(Severity.ERROR, stage=Stage.CHECKER, consequence=Consequence.IGNORED)
def invalid_configuration(_job: Job) -> Iterable[Finding]:
    """A setting in `.pai-lsp.yaml` is not valid; the rest of the file applies.

    The file is a mapping. `pai-lsp schema configuration` prints its JSON schema for editors. An unknown rule is only a
    warning, so that one file works with several versions of pai-lsp.

        rules:
          unused-prerequisite: warning    # error, warning, information, hint or off
        exclude:
          - generated/                    # patterns as in .gitignore, relative to this file
        plugins:
          - our_site_plugin               # additional runtime plugins of this cluster
    """
    return ()  # there is no job


@rule(Severity.ERROR, stage=Stage.RUNTIME)
def image_not_found(_job: Job) -> Iterable[Finding]:
    """The registry does not have the image, or the platform does not accept it; only with `check --images`.

    The platform asks the registry before a task starts, and ends the task with 254 if the image does not exist. If it
    cannot ask the registry, it accepts the image; if the image does not exist, the job waits forever.
    Source: openpai-runtime, src/init.d/image_checker.py.
    """
    return ()  # a registry is asked


@rule(Severity.INFORMATION, stage=Stage.CHECKER)
def image_not_asked(_job: Job) -> Iterable[Finding]:
    """The registry could not be asked for the image; only with `check --images`.

    The image may be there: the registry does not answer, asks for a login, or is one that the platform does not ask.
    Source: openpai-runtime, src/init.d/image_checker.py.
    """
    return ()  # a registry is asked


@rule(Severity.WARNING, consequence=Consequence.DIES)
def image_user(_job: Job) -> Iterable[Finding]:
    """The image has a user other than root; only with `check --images`.

    The platform's runtime makes its pipes in a folder that belongs to root, with the user of the image: another user
    may not, and the task ends before its first command. Add the line `USER root` to the end of the image's Dockerfile.
    Source: openpai-runtime, src/init and src/runtime.d/runtime_entry.sh (mkfifo).
    """
    return ()  # a registry is asked


@rule(Severity.WARNING, consequence=Consequence.DIES)
def image_architecture(_job: Job) -> Iterable[Finding]:
    """The image is not for the processors of the cluster; only with `check --images`.

    The nodes of a cluster usually have x86-64 processors (`amd64`). There, an image for `arm64` alone, such as one that
    was built on a Mac, ends with "exec format error". Build it with `--platform linux/amd64`.
    Source: opencontainers/image-spec, image-index.md.
    """
    return ()  # a registry is asked
