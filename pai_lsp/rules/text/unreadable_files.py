"""What can be wrong with a file before it is a job: found by who reads files, described here beside the other rules.

These two never run on a job, so they are not in the package's `RULES`; explanations and reports know them from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Severity, rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pai_lsp.job.job import Job


@rule(Severity.ERROR)
def unreadable_file(job: Job) -> Iterable[Finding]:
    """A file or folder that is to be checked can not be read, or holds no UTF-8 text.

    OpenPAI takes a job as UTF-8 text: the rest-server reads the body of the request as such unless the client names
    another charset, and no client of OpenPAI does. Save the file as UTF-8; a byte order mark does no harm.
    Source: rest-server, config/express.js (`bodyParser.text`); body-parser, lib/types/text.js.
    """
    del job  # there is none
    return ()


@rule(Severity.ERROR)
def invalid_configuration(job: Job) -> Iterable[Finding]:
    """Something in `.pai-lsp.yaml` can not be understood; the rest of the file applies.

    The file is a mapping. `pai-lsp schema configuration` prints its JSON schema for editors.
    A rule that is not known is only a warning, so that a file may serve several versions of pai-lsp.

        rules:
          unused-prerequisite: warning    # error, warning, information, hint or off
        exclude:
          - generated/                    # as in .gitignore, from this file's folder
        plugins:
          - our_site_plugin               # runtime plugins that this cluster has besides OpenPAI's own
    """
    del job  # there is none
    return ()


RULES = (unreadable_file, invalid_configuration)
