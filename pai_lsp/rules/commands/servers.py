"""Rules about programs that listen at a port: Jupyter, TensorBoard and other servers.

Sources: rest-server, models/v2/job/k8s.js (host network, ports); the programs' own manuals.
"""

from __future__ import annotations

import re
from itertools import zip_longest

from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.job.parts import whole_number
from pai_lsp.platform.programs import THIS_HOST, TRAINING, known_line
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.rules.commands.command_uses import CommandUse, all_uses, changed, insert_fix, uses
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.shell_script import Word
    from pai_lsp.job.job import Job
    from pai_lsp.job.variable_places import ScriptPlace

_SERVERS = (
    "tensorboard", "jupyter", "jupyter-notebook", "jupyter-lab", "http.server", "gunicorn", "flask", "streamlit",
    "uvicorn",
)  # fmt: skip
# Options and commands of Jupyter with which it starts no server. Source: `--help` of jupyter_server, notebook and
# jupyterlab.
_NOT_STARTING = {
    "--version", "--help", "-h", "--generate-config", "list", "stop", "password", "extension", "build", "clean", "path",
    "paths", "workspaces", "workspace", "licenses",
}  # fmt: skip
_JUPYTER = frozenset({"notebook", "lab", "server"})
_PORT = lazy_pattern(r"[1-9][0-9]{1,4}")


@rule(Severity.WARNING, about=("jupyter", "jupyter-notebook", "jupyter-lab"))
def jupyter_as_root(job: Job) -> Iterator[Finding]:
    """Root starts Jupyter without `--allow-root`.

    Containers run as root, and Jupyter refuses that: "Running as root is not recommended". Which Jupyter the image has
    is not known: those before Notebook 5 started.
    Source: jupyter_server, serverapp.py, init_webapp.

        taskRoles:
          worker:
            commands:
              - jupyter lab --ip 0.0.0.0
              # ^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - jupyter lab --allow-root --ip 0.0.0.0
    """
    for use, end in _jupyters(job):
        texts = use.line.texts
        if any("allow-root" in text or "config" in text for text in texts) or use.place.mentions("allow_root"):
            continue
        fixes = insert_fix(use.place, end, " --allow-root", safe=True)
        span = Span(use.line.name.span.start, end)
        yield Finding(use.span(span), "'jupyter' refuses to run as root; add '--allow-root'", fixes)


@rule(Severity.WARNING, about=_SERVERS)
def server_on_localhost(job: Job) -> Iterator[Finding]:
    """A server only listens on localhost.

    It cannot be reached from outside the task's machine. TensorBoard and Jupyter listen there by default.
    Source: TensorBoard, program.py, `--bind_all`; jupyter_server, `ServerApp.ip`.

        taskRoles:
          worker:
            commands:
              - tensorboard --logdir /tmp/log --port $PAI_PORT_LIST_worker_0_http
              # ^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - tensorboard --bind_all --logdir /tmp/log --port $PAI_PORT_LIST_worker_0_http
    """
    used: dict[ScriptPlace, int] = {}  # where a script names this machine last
    jupyters = dict(_jupyters(job))
    others = uses(job, "tensorboard", "http.server", "flask", "gunicorn", "uvicorn", "streamlit", with_callbacks=False)
    for use in (*jupyters, *others):
        if (found := _host(use)) is not None:
            span, host = found
            if use.place not in used:
                used[use.place] = max((at for one in THIS_HOST for at in use.place.lines.all_with(one)), default=-1)
            is_for_this_task = use.line.step.is_background and used[use.place] > use.line.span.end
            if host in THIS_HOST and not is_for_this_task:
                start = span.start + use.written(span).rfind(host)
                message = f"a server on '{host}' cannot be reached from outside the task"
                yield changed(use.place, Span(start, start + len(host)), message, "0.0.0.0", at=span)  # noqa: S104
        elif use in jupyters or use.line.program == "tensorboard":
            if {"--bind_all", "--version", "--help", "-h", "--inspect", "--db", "dev"} & {*use.line.texts}:
                continue
            if any("config" in text or ".ip" in text or text.endswith("$@") for text in use.line.texts) or any(
                not word.is_literal and not use.line.written(word).startswith(("$PAI_", "${PAI_", '"'))
                for word in use.line.arguments
            ):
                continue
            option = "--ip 0.0.0.0" if use in jupyters else "--bind_all"
            fixes = insert_fix(use.place, jupyters.get(use, use.line.name.span.end), f" {option}")
            message = f"this listens on localhost only and cannot be reached from outside; add '{option}'"
            yield Finding(use.word(use.line.name), message, fixes)


@rule(Severity.INFORMATION, about=(*TRAINING, *_SERVERS))
def fixed_port(job: Job) -> Iterator[Finding]:
    """A server has a fixed port.

    Tasks share the network of their machine: another task may already use the port. Declare a port and use
    `$PAI_PORT_LIST_ROLE_INDEX_LABEL`; `http` always exists.
    Source: rest-server, models/v2/job/k8s.js (`hostNetwork: true`).

        taskRoles:
          worker:
            commands:
              - tensorboard --bind_all --logdir /tmp/log --port 6006
              #                                                 ^^^^ information

    Good:

        taskRoles:
          worker:
            commands:
              - tensorboard --bind_all --logdir /tmp/log --port $PAI_PORT_LIST_worker_0_http
    """
    for use in uses(job, *TRAINING, *_SERVERS, with_callbacks=False):
        role = use.role
        if role is None or (use.line.program in TRAINING and role.instances < 2):
            continue
        own = f"$PAI_PORT_LIST_{converted_role_name(role.name)}_0_http" if role.instances == 1 else None
        for span in _ports(use):
            port = use.written(span)
            message = f"another task on the same machine may use port {port}; use a port of the platform"
            yield changed(use.place, span, message, own)


@rule(Severity.ERROR)
def port_list_as_port(job: Job) -> Iterator[Finding]:
    """Several ports are inserted where a program wants one.

    A port that is declared with a count above 1 gives a list such as `31002,31900`: "invalid int value". Use the first
    one, `${NAME%%,*}`.
    Source: openpai-runtime, src/init.d/framework_parser.py, generate_runtime_env.

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0, ports: {web: 2}}
            commands:
              - python -m http.server $PAI_PORT_LIST_worker_0_web
              #                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0, ports: {web: 2}}
            commands:
              - python -m http.server ${PAI_PORT_LIST_worker_0_web%%,*}
    """
    if "PAI_PORT_LIST" not in job.text:
        return
    counts = {
        (converted_role_name(role.name), entry.name): whole_number(entry.value) or 1
        for role in job.task_roles
        for entry in role.port_labels
    }
    for use in all_uses(job, with_callbacks=False):
        if use.line.program in {"echo", "read", "printf", "export", "for", "IFS", "["}:
            continue
        for number, word in enumerate(use.line.arguments):
            written = use.line.written(word)
            match = _PORT_LIST.fullmatch(written)
            before = use.line.arguments[number - 1].text if number else ""
            name = written.partition("=")[0] if written.startswith("-") else before
            is_port = re.fullmatch(r"--?[\w-]*port", name.lower()) is not None or ":" in written
            if match is None or not (is_port or use.line.program == "http.server" or before in {"-p", "-l"}):
                continue
            variable = job.platform.environment_variable(match[2])
            parts = dict(variable.match(match[2]) or {}) if variable else {}
            if counts.get((parts.get("role", ""), parts.get("label", "")), 1) > 1:
                at, new = word.span.start + match.start(1), f"${{{match[2]}%%,*}}"
                message = f"this is a list of ports; the first one is '{new}'"
                yield changed(use.place, Span(at, at + len(match[1])), message, new)


# The variable with the ports, as the value of an option or after a host.
_PORT_LIST = lazy_pattern(r"\"?(?:--?[\w-]+=)?(?:[\w.]+:|\$\{?\w+\}?:)?(\$\{?(PAI_PORT_LIST_\w+?)\}?)\"?")


def _jupyters(job: Job) -> Iterator[tuple[CommandUse, int]]:
    """The commands that start Jupyter, each with the end of its name."""
    for use in uses(job, "jupyter", "jupyter-notebook", "jupyter-lab", with_callbacks=False):
        words = use.line.arguments
        if use.line.is_other_user or not _NOT_STARTING.isdisjoint(use.line.texts):
            continue
        if use.line.program != "jupyter":
            yield use, use.line.name.span.end
        elif words and words[0].text in _JUPYTER:
            yield use, words[0].span.end


def _host(use: CommandUse) -> tuple[Span, str] | None:
    """The option of a server for its address, and the value."""
    names = ("--host", "--ip", "--bind", "-b", "--server.address", "--ServerApp.ip", "--NotebookApp.ip")
    for word, span, value in _values(use, names):
        return Span(word.span.start, span.end), value.strip("'\"").partition(":")[0]
    return None


def _ports(use: CommandUse) -> list[Span]:
    """The fixed numbers of ports of a command line."""
    found = known_line(use.line) if use.line.program in TRAINING else None
    option = found.arguments.option(*found.program.launch.get("port", ())) if found else None
    spans = [option.value_span] if option and option.value_span else []
    if found is None:
        spans += [span for _, span, _ in _values(use, ("--port", "--server.port", "--http-port"))]
        spans += [word.span for word in use.line.arguments[:1] if use.line.program == "http.server"]
    return [span for span in spans if _PORT.fullmatch(use.written(span))]


def _values(use: CommandUse, names: tuple[str, ...]) -> Iterator[tuple[Word, Span, str]]:
    """The values of options, with the word of each option."""
    for word, following in zip_longest(use.line.arguments, use.line.arguments[1:]):
        name, equals, value = word.text.partition("=")
        if name in names and equals:
            yield word, Span(word.span.end - len(value), word.span.end), value
        elif name in names and following is not None:
            yield word, following.span, following.text
