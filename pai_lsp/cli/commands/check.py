"""`pai-lsp check`: checks job files and reports what it finds."""

from __future__ import annotations

import gc
import os
import sys
from functools import partial
from itertools import chain

from pai_lsp.cli import FINDINGS, failed
from pai_lsp.cli.commands.check_one import Options, Outcome, check_configuration, check_one
from pai_lsp.cli.report import render, statistics
from pai_lsp.cli.report.results import CheckFailure, Results
from pai_lsp.cli.report.terminal import Terminal, terminal_for, with_progress
from pai_lsp.findings.diagnostic import SEVERITIES, Consequence, Severity
from pai_lsp.platform.platforms import platform_named
from pai_lsp.project.configuration import Configuration
from pai_lsp.project.targets import STANDARD_INPUT, faulty, missing, report_renamed, run_projects, targets
from pai_lsp.rules import UnknownCodeError, all_rules, codes_in, codes_themselves_in, names_in, renaming
from pai_lsp.source.failures import OWN_FAILURE, PLEASE_REPORT
from pai_lsp.source.text import visible
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from typing import TextIO

    from pai_lsp.cluster.profile import Profile
    from pai_lsp.project.baseline import Baseline
    from pai_lsp.project.projects import Projects
    from pai_lsp.project.targets import Target

_CONSEQUENCES = frozenset(one.value for one in Consequence)
# Formats for programs, which filter findings themselves.
_COMPLETE_FORMATS = frozenset({"json", "ndjson"})
# With fewer files to each process, forking costs more than it saves.
_FILES_A_PROCESS = 24
# For more files than these, Python looks for garbage so often (as of `gc.set_threshold`).
_MANY_FILES = 500
_COLLECTION_OF_MANY = (10_000, 5, 5)


def run(arguments: argparse.Namespace) -> int:
    """Check the files that the arguments name, and print the report."""
    # argparse before Python 3.13 breaks no line within a group, so these are two groups.
    written = [
        next((name for name in names if getattr(arguments, name)), "")
        for names in (("fix", "diff", "add_ignore"), ("show_files", "show_settings", "watch"))
    ]
    if all(written):
        return failed("check", " and ".join(f"--{name.replace('_', '-')}" for name in written) + " cannot go together")
    if not arguments.watch:
        return _run(arguments)
    if STANDARD_INPUT in arguments.paths or arguments.update_baseline:
        return failed("check", "--watch works only with files, and not with --update-baseline")
    from pai_lsp.cli.commands.check_watch import watch  # noqa: PLC0415 - rarely asked for

    named = (arguments.config, arguments.baseline, arguments.cluster)
    return watch(arguments.paths or [os.curdir], [one for one in named if one], partial(_run, arguments))


def _run(arguments: argparse.Namespace) -> int:
    paths: list[str] = arguments.paths or [os.curdir]
    try:
        options = _options(arguments)
    except UnknownCodeError as error:
        return failed("check", f"{error} (pai-lsp rules lists all rules)")
    except ValueError as error:
        return failed("check", str(error))
    if message := missing([*paths, *([arguments.config] if arguments.config else [])]):
        return failed("check", message)
    if arguments.unsafe_fixes and not options.fixes:
        return failed("check", "--unsafe-fixes works only with --fix or --diff")
    if arguments.statistics and arguments.format not in {"text", "json"}:
        return failed("check", "--statistics works only with --format text or json")
    if paths.count(STANDARD_INPUT) > 1:
        return failed("check", "standard input can be checked only once")
    for message in filter(None, map(renaming, sorted(names_in([*arguments.select, *arguments.ignore])))):
        sys.stderr.write(f"pai-lsp check: {message}\n")
    projects = run_projects(_configuration(arguments))
    found = list(
        targets(
            paths,
            projects,
            given=sys.stdin.buffer.read() if STANDARD_INPUT in paths else b"",
            given_name=arguments.stdin_filename or "<stdin>",
            force_exclude=arguments.force_exclude,
            only_jobs=arguments.only_jobs,
            respects_git=not arguments.no_gitignore,
        )
    )
    if arguments.output:
        from pai_lsp.cli.commands.job_file import names_input  # noqa: PLC0415 - rarely asked for

        if any(names_input(arguments.output, target.path) for target in found):
            return failed("check", "--output names a file that is checked")
    if arguments.show_settings:
        from pai_lsp.cli.commands.check_settings import settings_text  # noqa: PLC0415 - rarely asked for

        sys.stdout.write(settings_text(found, projects, options))
        return 0
    if arguments.format == "ndjson" and not arguments.output:
        return _streamed(found, options, projects)
    report_renamed(projects)
    outcomes = list(_outcomes(found, options))
    failures = tuple(failure for outcome in outcomes for failure in outcome.failures)
    if arguments.update_baseline:
        from pai_lsp.cli.commands.check_baseline import updated_baseline  # noqa: PLC0415 - few projects have one

        return updated_baseline(arguments.baseline, options, outcomes) or _reported_failures(failures)
    files = [outcome.file for outcome in outcomes if outcome.file is not None]
    files += [check_configuration(one, options) for one in faulty(projects, besides=found)]
    results = Results(
        tuple(sorted(files, key=lambda file: file.path)),
        failures,
        sum(outcome.fixed for outcome in outcomes),
        verb="fixed" if arguments.fix else "ignored" if arguments.add_ignore else "",
        folder=os.getcwd(),  # noqa: PTH109 - importing pathlib takes a while
    )
    if arguments.show_files:
        sys.stdout.write("".join(f"{visible(file.path)}\n" for file in results.files))
        return _reported_failures(results.failures)
    return _print(results, found, outcomes, arguments) or _status(results, outcomes, options)


def _streamed(found: Sequence[Target], options: Options, projects: Projects) -> int:
    """Print the findings of each file as soon as the files before it are done; return the exit status."""
    status = 0
    configurations = (Outcome(check_configuration(one, options)) for one in faulty(projects, besides=found))
    for outcome in chain(_outcomes(found, options), configurations):
        files = () if outcome.file is None else (outcome.file,)
        results = Results(files, outcome.failures)
        sys.stdout.write(render(options.arguments.format, results, Terminal(), ()))
        status = max(status, _reported_failures(results.failures) or _status(results, (outcome,), options))
    return status


def _options(arguments: argparse.Namespace) -> Options:
    """The options in the arguments.

    Raises:
        ValueError: if they name an unknown rule, or a cluster, a program or a baseline that cannot be used.
    """
    baseline: Baseline | None = None
    if arguments.baseline or arguments.update_baseline:
        from pai_lsp.cli.commands.check_baseline import given_baseline  # noqa: PLC0415 - few projects have one

        baseline = given_baseline(arguments)
    cluster: Profile | None = None
    if arguments.cluster is not None:
        from pai_lsp.cluster.profile import profile_named  # noqa: PLC0415 - most checks know no cluster

        cluster = profile_named(arguments.cluster)
    threshold = SEVERITIES[arguments.severity or "warning"]
    is_complete = arguments.severity is None and arguments.format in _COMPLETE_FORMATS
    return Options(
        arguments,
        _selection(arguments.select),
        _selection(arguments.ignore),
        codes_themselves_in(names_in(arguments.select) - _CONSEQUENCES),
        Severity.HINT if is_complete or arguments.update_baseline else threshold,
        threshold,
        _shellcheck(arguments.shellcheck),
        baseline,
        cluster,
        platform_named(arguments.platform) if arguments.platform else None,
    )


def _selection(lists: Sequence[str]) -> frozenset[str]:
    """The codes that lists such as `secrets,refused` name, and the consequences among the names.

    Raises:
        UnknownCodeError: for a name that means nothing.
    """
    names = names_in(lists)
    return codes_in(names - _CONSEQUENCES) | (names & _CONSEQUENCES)


def _shellcheck(setting: str | None) -> str:
    """`auto`, `off` or the path of a program; empty where nothing is asked for.

    Raises:
        ValueError: if there is no such program.
    """
    if not setting or setting in {"off", "auto"}:
        return setting or ""
    from pai_lsp.project.shellcheck import shellcheck_program  # noqa: PLC0415 - rarely wanted

    if found := shellcheck_program(setting):
        return found
    raise ValueError(f"--shellcheck: no program '{visible(setting)}' was found")


def _configuration(arguments: argparse.Namespace) -> Configuration | None:
    """The configuration of all files, if the arguments say so."""
    if arguments.isolated:
        return Configuration()
    if not arguments.config:
        return None
    from pai_lsp.project.config_reader import load_configuration  # noqa: PLC0415 - rarely named

    return load_configuration(arguments.config)


def _outcomes(found: Sequence[Target], options: Options) -> Iterator[Outcome]:
    """The outcome of each file, in the order of `found`."""
    arguments = options.arguments
    is_shown = not (arguments.no_progress or arguments.quiet) and sys.stderr.isatty()
    return with_progress(_checked(found, options, _processes(found, arguments.jobs)), len(found), shown=is_shown)


def _checked(found: Sequence[Target], options: Options, processes: int) -> Iterator[Outcome]:
    work = partial(check_one, options=options)
    if len(found) > _MANY_FILES:
        # The tree of a script refers to itself: without looking for garbage, 100,000 jobs take twice the memory.
        gc.freeze()
        gc.set_threshold(*_COLLECTION_OF_MANY)
    if processes < 2:
        yield from map(work, found)
        return
    from pai_lsp.cli.processes import LostItem, mapped  # noqa: PLC0415 - most runs have too few files to need them

    first, *others = found
    yield work(first)  # what is loaded and compiled for it, the processes need not load and compile again
    for target, outcome in zip(others, mapped(work, others, processes), strict=True):
        if isinstance(outcome, LostItem):
            yield Outcome(failures=(CheckFailure(target.path, outcome.reason),))
        else:
            yield outcome


def _processes(found: Sequence[Target], jobs: int | None) -> int:
    """How many processes to use."""
    if jobs == 1 or (jobs is None and len(found) < 2 * _FILES_A_PROCESS):
        return 1
    from pai_lsp.cli.processes import available_processors, can_fork  # noqa: PLC0415 - as above

    if not can_fork():
        return 1
    return min(jobs or available_processors(), len(found) if jobs else len(found) // _FILES_A_PROCESS)


def _print(
    results: Results, found: Sequence[Target], outcomes: Sequence[Outcome], arguments: argparse.Namespace
) -> int:
    """Print the report: to standard output, or to standard error if standard output has a fixed text or a diff.

    Returns the exit status of a failure, or 0.
    """
    is_filter = (arguments.fix or arguments.add_ignore) and STANDARD_INPUT in arguments.paths
    if is_filter:
        _print_given(found, outcomes)
    elif arguments.diff:
        from pai_lsp.cli.report.text_report import styled_difference  # noqa: PLC0415 - rarely asked for

        terminal = _terminal(sys.stdout, arguments.color)
        sys.stdout.write("".join(styled_difference(outcome.difference, terminal) for outcome in outcomes))
    output = sys.stderr if is_filter or arguments.diff else sys.stdout
    terminal = Terminal() if arguments.output else _terminal(output, arguments.color)
    rules = all_rules() if arguments.format == "sarif" or arguments.statistics else ()
    if arguments.statistics:
        report = statistics(results, terminal, rules, is_json=arguments.format == "json")
    else:
        report = render(arguments.format, results, terminal, rules, has_summary=not arguments.quiet)
    if arguments.output:
        from pai_lsp.cli.commands.job_file import put  # noqa: PLC0415 - rarely asked for

        put(report, arguments.output)
    else:
        output.write(report)
    return _reported_failures(results.failures)


def _reported_failures(failures: Sequence[CheckFailure]) -> int:
    """Print the files that could not be checked; return the exit status for them, or 0."""
    for failure in failures:
        sys.stderr.write(f"pai-lsp: {visible(failure.path)}: {failure.reason}\n")
    if any(failure.is_fault for failure in failures):
        sys.stderr.write(f"pai-lsp: {PLEASE_REPORT}\n")
    return OWN_FAILURE if failures else 0


def _print_given(found: Sequence[Target], outcomes: Sequence[Outcome]) -> None:
    """Print the text of standard input: fixed, or unchanged if it could not be read."""
    for target, outcome in zip(found, outcomes, strict=True):
        if target.given is not None:
            sys.stdout.flush()
            sys.stdout.buffer.write(target.given if outcome.text is None else outcome.text.encode("utf-8"))


def _status(results: Results, outcomes: Sequence[Outcome], options: Options) -> int:
    if options.arguments.exit_zero:
        return 0
    matters = any(diagnostic.severity <= options.threshold for file in results.files for diagnostic in file.diagnostics)
    return FINDINGS if matters or any(outcome.difference for outcome in outcomes) else 0


def _terminal(output: TextIO, choice: str) -> Terminal:
    try:
        width = os.get_terminal_size(output.fileno()).columns if output.isatty() else 0
    except OSError:
        width = 0
    return terminal_for(choice, os.environ, is_terminal=output.isatty(), width=width)
