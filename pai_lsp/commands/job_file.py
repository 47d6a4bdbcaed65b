"""Reads the one file that a command is about, with the configuration and the marketplace of its folder."""

from __future__ import annotations

import sys
from pathlib import Path

from pai_lsp.commands.known_rules import BY_CODE
from pai_lsp.commands.targets import STANDARD_INPUT, Configurations
from pai_lsp.diagnostic import Diagnostic, Severity
from pai_lsp.document import Document
from pai_lsp.files import UnreadableFile, decoded, read_bytes
from pai_lsp.report.results import CheckedFile
from pai_lsp.rules.files import unreadable_file


def job_file(path: str) -> Document | CheckedFile:
    """The job in a file, or on standard input for `-`; where nobody can read it, what is to be reported.

    A file of definitions in a marketplace's folder is read as one.
    """
    is_input = path == STANDARD_INPUT
    name = "<stdin>" if is_input else path
    data = sys.stdin.buffer.read() if is_input else read_bytes(name)
    source = data if isinstance(data, UnreadableFile) else decoded(name, data)
    if isinstance(source, UnreadableFile):
        diagnostic = Diagnostic(unreadable_file.code, Severity.ERROR, source.span, source.message)
        return CheckedFile(name, source.text, (diagnostic,))
    configurations, folder = Configurations(BY_CODE), str(Path(name).parent)
    document = Document(source.text, configurations.of_folder(folder).settings, name, configurations.lookup_of(folder))
    in_catalogue = None if is_input or document.is_job else configurations.in_catalogue(path)
    if in_catalogue is None:
        return document
    return document.as_definitions(is_wanted=in_catalogue.is_configured)
