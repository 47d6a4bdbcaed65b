"""Rules about variables that a script reads and nothing sets there: unset ones, and those that a callback exports.

Each callback, and the commands, are scripts and processes of their own; the commands run with nounset.
Source: openpai-runtime, src/runtime.d/runtime_entry.sh and src/plugins/plugin_utils.py.
"""

from __future__ import annotations

from pai_lsp.findings.diagnostic import Finding, Related, Severity, rule
from pai_lsp.findings.fixes import choice_fixes
from pai_lsp.job.variable_places import ScriptPlace, callback_scripts
from pai_lsp.platform.programs import OPERATOR_HOST_FILE, launch_of, launchers
from pai_lsp.platform.tables import Moment, event_at
from pai_lsp.rules.commands.environment import PLACEHOLDER_VARIABLES
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import nearest
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.shell_script import Assignment, VariableUse
    from pai_lsp.expansion.effective import EffectiveRole
    from pai_lsp.expansion.task_shell import Source
    from pai_lsp.job.job import Job
    from pai_lsp.source.text import Span

# Lower-case variables that a container may have by default.
_PROXIES = frozenset({"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"})
_NEAR = 0.87
# Names that bash or images set: those of the system, and those of software with its own prefix.
_SET_BY_IMAGES = lazy_pattern(
    r"(?:HOME|PATH|PWD|OLDPWD|HOSTNAME|SHELL|TERM|SHLVL|E?UID|PPID|RANDOM|SECONDS|IFS|OPT(?:IND|ARG)|OSTYPE|MACHTYPE"
    r"|HOSTTYPE|LINENO|REPLY|TZ|TMP|TEMP|TMPDIR|MAIL|USER|LOGNAME|DISPLAY|PS1|EDITOR|GROUPS|SRANDOM|EPOCH\w*|COLUMNS"
    r"|LINES|WORKDIR|LANG|LANGUAGE|LD_LIBRARY_PATH|LD_PRELOAD|(?:LC|XDG|SSH|DEBIAN|BASH|FUNCNAME|PIPESTATUS|CUDA|CUDNN|NVIDIA|NV|NCCL|GLOO|PYTHON"
    r"|CONDA|MAMBA|VIRTUAL|PIP|TORCH|TF|KERAS|OMPI|OPAL|PMIX|MPI|HOROVOD|MKL|OMP|JAVA|JRE|HADOOP|SPARK|HDFS|NODE|NPM|GO"
    r"|GOPATH|CARGO|RUST|AZURE|AML|AWS|HF|ROS|INTEL|KUBERNETES|FRAMEWORK|TASK|MASTER|WORLD|RANK|LOCAL|CC|CXX|C|CPLUS"
    r"|LIBRARY|PKG|MAN|HTTPS?|NO|ALL|FTP)(?:_\w*|[A-Z]*PATH|[A-Z]*HOME)?|.*_(?:HOME|ROOT|VERSION|PATH))$"
)


@rule(Severity.WARNING, about=("cmd",))
def export_in_callback(job: Job) -> Iterator[Finding]:
    """A variable is exported in a callback but read in the commands or in a later callback.

    Every callback runs in a separate process, and so do the commands; variables, functions and the working directory
    end with it. The commands stop at the variable: "unbound variable"; in a callback it is empty, and a test such as
    `${X+x}` always gives that it is not set. Set it where it is read, or let the
    callback write a file that the others `source`; `pai-lsp expand --inline` puts callbacks before the commands.
    Source: openpai-runtime, src/runtime.d/runtime_entry.sh (precommands.sh and user.sh are siblings); openpai, issue
    5145, whose own example has this mistake.

        prerequisites:
          - name: mnist
            type: data
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands: [export DATA_DIR=/mnt/mnist]
                #                 ^^^^^^^^ warning
        taskRoles:
          worker:
            prerequisites: [mnist]
            commands: [ls $DATA_DIR]

    Good:

        prerequisites:
          - name: mnist
            type: data
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands: [mkdir -p /mnt/mnist]
        taskRoles:
          worker:
            prerequisites: [mnist]
            commands: [export DATA_DIR=/mnt/mnist, ls $DATA_DIR]
    """
    from pai_lsp.expansion.effective import effective_roles  # noqa: PLC0415 - few jobs export anything in a callback

    found: dict[tuple[Span, str], Finding] = {}
    for role in effective_roles(job):
        scripts = _scripts_in_order(job, role)
        for number, exporter in enumerate(scripts):
            for assignment in exporter.place.script.assignments:
                if (reading := _first_reading(exporter, assignment, scripts[number + 1 :])) is not None:
                    finding = _exported(exporter, assignment, *reading)
                    found.setdefault((finding.span, assignment.name), finding)
    yield from found.values()


@dataclass(frozen=True, slots=True)
class _RunScript:
    """What one process runs; `owner` is None for the commands of the task role."""

    place: ScriptPlace
    title: str
    owner: Source | None = None


def _scripts_in_order(job: Job, role: EffectiveRole) -> list[_RunScript]:
    """What a task role runs when nothing fails, and its hooks, in the order in which it runs."""
    found: list[_RunScript] = []
    for moment in Moment:
        for source in role.sources if moment is Moment.START else role.sources[::-1]:
            scalars = tuple(item.scalar for item in source.moments(moment))
            if scalars:
                (place,) = callback_scripts(job, [scalars])
                found.append(_RunScript(place, f"{event_at(moment)} of {source.title}", source))
        if moment is Moment.START:
            found += (_RunScript(place, "the commands") for place in job.role_scripts if place.role is role.role)
    return found


def _first_reading(
    exporter: _RunScript, assignment: Assignment, later: list[_RunScript]
) -> tuple[_RunScript, VariableUse] | None:
    """The first use of an exported variable in a later process that does not set it itself."""
    if not assignment.is_exported:
        return None
    # A value that extends the variable, as in PATH=$PATH:/opt, shows that all processes have one.
    is_extended = assignment.value is not None and any(
        use.name == assignment.name and use.span.start in assignment.value.span for use in exporter.place.script.uses
    )
    for reader in later:
        script = reader.place.script
        if script.is_open_ended or (is_extended and reader.owner is not None):
            continue
        for use in script.uses:
            is_asked_for = use.is_question and use.name not in script.assigned_names
            if use.name == assignment.name and (is_asked_for or not script.provides_for(use.name)):
                return reader, use
    return None


def _exported(exporter: _RunScript, assignment: Assignment, reader: _RunScript, use: VariableUse) -> Finding:
    """The finding at the export, or at the reference that leads to its definition."""
    message = f"a callback runs in a separate process, so '{assignment.name}' is not set in {reader.title}"
    is_outside = reader.owner is not None and reader.owner.reference is not None
    related = () if is_outside else (Related(reader.place.span(use.span), "not set here"),)
    if exporter.owner is None or exporter.owner.reference is None:
        return Finding(exporter.place.span(assignment.span), message, related=related)
    message = f"in {exporter.owner.title}: {message}"
    return Finding(exporter.owner.reference, message, related=(*exporter.owner.related, *related))


@rule(Severity.INFORMATION, spreads=True)
def unset_variable_in_commands(job: Job) -> Iterator[Finding]:
    """A variable is not set in the commands.

    Commands run with `set -o nounset`, so the task ends there with "unbound variable" unless the image sets the
    variable. Names that images, bash or the platform set are not reported, unless they look like a misspelling of one
    that the commands set. Write `${X:-}` if the variable may be unset. In a path for `rm -r` it is a warning, also
    after `set +u`: `rm -rf $OUT/tmp` would remove `/tmp`.
    Source: openpai-runtime, src/runtime.d/runtime_entry.sh (`set -o nounset`).

        taskRoles:
          worker:
            commands:
              - MODEL_DIR=/models
              - ls $MODELS_DIR $epoch
              #     ^^^^^^^^^^ information
              #                 ^^^^^ information

    Good:

        taskRoles:
          worker:
            commands:
              - MODEL_DIR=/models
              - ls $MODEL_DIR ${epoch:-1}
    """
    for place in job.role_scripts:
        script = place.script
        if not script.uses or script.is_open_ended or (script.fault is None and not script.is_readable):
            continue
        seen: set[str] = set()  # the script ends at the first of them
        for use in script.uses:
            if script.allows_unset and not _is_removed(place, use):
                continue
            if script.provides_for(use.name) or use.name in _PROXIES or use.name.startswith(("PAI_", "FC_")):
                continue
            if _is_reported(place, use):
                continue
            near = nearest(use.name, script.assigned_names, _NEAR)[:1]
            if not near and use.name.upper() == use.name and _SET_BY_IMAGES.match(use.name):
                continue
            if job.platform.environment_variable(use.name) is not None or use.name in job.once(_exported_names):
                continue
            span = place.span(use.name_span)
            fixes = choice_fixes(span, near)
            guess = f"; did you mean '{near[0]}'?" if near else ""
            is_path = (use.name not in seen or script.allows_unset) and _is_removed(place, use)
            seen.add(use.name)
            happens = ", so 'rm' does not get the path that is meant" if is_path else ""
            message = f"'{use.name}' is not set in these commands{happens}{guess}"
            yield Finding(span, message, fixes, severity=Severity.WARNING if is_path else None)


def _is_reported(place: ScriptPlace, use: VariableUse) -> bool:
    """Whether another rule reports a variable that is not set."""
    is_bad = any(use.span.start in span for span in place.script.bad_substitutions)
    is_host_file = use.name == OPERATOR_HOST_FILE and _is_host_file(place, use)
    return is_bad or is_host_file or use.name.rstrip("_") in PLACEHOLDER_VARIABLES


def _is_removed(place: ScriptPlace, use: VariableUse) -> bool:
    """Whether the variable is in a path that `rm -r` removes."""
    return any(
        any(use.span.start in word.span for word in line.arguments)
        and any(text.startswith("-") and "r" in text.lower() for text in line.texts)
        for line in place.lines.by_program.get("rm", ())
    )


def _is_host_file(place: ScriptPlace, use: VariableUse) -> bool:
    """Whether a variable is the value of a launcher's option for a file of hosts."""
    lines = (line for line in place.lines.all if line.program in launchers())
    files = (option.value_span for line in lines for option in launch_of(line).host_files)
    return any(span is not None and use.span.start in span for span in files)


def _exported_names(job: Job) -> set[str]:
    """The variables that callbacks export; `export_in_callback` reports those."""
    from pai_lsp.expansion.effective import effective_roles  # noqa: PLC0415 - as above

    scripts = (one.place.script for role in effective_roles(job) for one in _scripts_in_order(job, role) if one.owner)
    return {assignment.name for script in scripts for assignment in script.assignments if assignment.is_exported}
