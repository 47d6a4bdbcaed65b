"""`check --show-settings`: which settings apply to a file, and where they come from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.cli.commands.check_one import settings_for
from pai_lsp.findings.diagnostic import Settings
from pai_lsp.platform.platforms import platform_comment
from pai_lsp.project.configuration import FILE_NAME, project_folder
from pai_lsp.project.exclusion import IgnoredByGit
from pai_lsp.project.targets import source_of
from pai_lsp.rules import codes_named, family_names, known
from pai_lsp.source.files import SourceFile, full_path
from pai_lsp.source.text import visible

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from pai_lsp.cli.commands.check_one import Options
    from pai_lsp.project.projects import Projects
    from pai_lsp.project.targets import Target


def settings_text(found: Sequence[Target], projects: Projects, options: Options) -> str:
    """The names of the files that have the same settings, and these settings, one a line."""
    files: dict[str, list[str]] = {}
    by_git = None if options.arguments.no_gitignore else IgnoredByGit(projects.report)
    for target in found:
        rows = _settings(target, projects, by_git, options)
        lines = "".join(f"  {name:<15}{visible(value)}\n" for name, value in rows)
        files.setdefault(lines, []).append(f"{visible(target.path)}\n")
    return "\n".join("".join(names) + lines for lines, names in files.items())


def _settings(
    target: Target, projects: Projects, by_git: IgnoredByGit | None, options: Options
) -> Iterator[tuple[str, str]]:
    settings, file = settings_for(target, options), target.configuration
    full = full_path(target.path)
    if options.arguments.isolated:
        yield "configuration", "none (--isolated)"
    elif file.path is None:
        folder = str(Path(full).parent)
        top = project_folder(folder) or Path(folder).anchor
        yield "configuration", f"none: no {FILE_NAME} in the file's folder or above it, up to {top}"
    else:
        reason = "--config" if options.arguments.config else f"the nearest {FILE_NAME} in the file's folder or above it"
        wrong = f"; wrong settings that do not apply: {len(file.diagnostics)}" if file.diagnostics else ""
        yield "configuration", f"{file.path} ({reason}){wrong}"
    if file.excludes(full):
        yield "excluded", "by 'exclude' of the configuration; checked only because it is named"
    elif by_git is not None and by_git.excludes(full, is_folder=False):
        yield "excluded", "by .gitignore; checked only because it is named"
    yield "platform", _platform(target, settings, options)
    if options.cluster is not None:
        yield "cluster", f"{options.cluster.name} (--cluster)"
    elif file.cluster:
        yield "cluster", f"{file.cluster} (configuration){'' if settings.cluster else ', which cannot be read'}"
    ignored = file.ignored_in(target.path)
    if settings.previews:
        yield "preview", f"on ({'configuration' if file.settings.previews else '--preview'})"
    yield from _rules(settings, file.settings, ignored)
    if settings.plugins:
        yield "plugins", ", ".join(sorted(settings.plugins))
    yield "shellcheck", (options.shellcheck and f"{options.shellcheck} (--shellcheck)") or settings.shellcheck or "off"
    if (baseline := options.baseline or file.baseline) is not None:
        yield "baseline", f"{baseline.path}, which accepts {sum(settings.accepted.values())} findings of this file"
    setup = projects.setup_of(full, os.curdir)
    for directory in setup.directories:
        yield "definitions", directory
    for server in setup.servers:
        yield "definitions", f"{server.url}{'' if projects.is_trusted(setup) else ', not trusted (pai-lsp trust)'}"


def _rules(settings: Settings, configured: Settings, ignored: Collection[str]) -> Iterator[tuple[str, str]]:
    """The families, then the rules, without their default severity. ignored: the codes of `per_file_ignores`."""
    default = Settings(previews=settings.previews)
    values: dict[str, str] = {}
    changed: set[str] = set()
    for code, severity in settings.severities.items():
        rule = known(code)
        is_turned_on = configured.severity_of(rule) is None and severity is not None
        reason = "per_file_ignores" if code in ignored else "--select" if is_turned_on else "rules"
        values[code] = f"{severity.label if severity else 'off'} ({reason})"
        if severity is not default.severity_of(rule):
            changed.add(code)
    for name in reversed(family_names()):  # a group of families before each of them
        codes = codes_named(name)
        if len(codes) > 1 and not changed.isdisjoint(codes) and len({values.get(code) for code in codes}) == 1:
            yield "family", f"{name}: {values[min(codes)]}"
            changed -= codes
    for code in sorted(changed):
        yield "rule", f"{code}: {values[code]}"


def _platform(target: Target, settings: Settings, options: Options) -> str:
    source = source_of(target)
    text = source.text if isinstance(source, SourceFile) else ""
    found = settings.platform_of(text)
    if options.platform is not None:
        return f"{found.name} (--platform)"
    if platform_comment(text) is not None:
        return f"{found.name} (comment in the file)"
    if target.configuration.settings.platform is not None:
        return f"{found.name} (configuration)"
    return f"{found.name} ({'--cluster' if options.cluster is not None else 'default'})"
