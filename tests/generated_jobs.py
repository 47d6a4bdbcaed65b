"""Random jobs in the extended protocol, what each is meant to do, and the expanded job: both run with bash.

A job is made from a seed. `meant` follows docs/protocol.md ("Order", "Events") without the product: every callback, and
the commands, are a script of their own. `released` runs what a released cluster runs for the expanded job, with the
scripts in files, as the runtime has them.
"""

from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from expansion import Ended, job_of
from programs import harmless_programs

from pai_lsp.expansion.released_job import expanded
from pai_lsp.expansion.released_run import RoleRun, released_run
from pai_lsp.source.writing import value_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

EVENTS = ("taskStarts", "taskSucceeds", "taskFails", "containerExit")
_USER_OPTIONS = "set -o errexit\nset -o nounset\nset -o pipefail\n"
_WORD, _TOKEN = "two words", "t0k3n"

# One or more items of a list of commands; MARK is another word each time.
_QUIET: tuple[tuple[str, ...], ...] = (
    ("echo MARK",),
    ("printf '%s\\n' MARK \"two  words\"",),
    ("if [ -n MARK ]; then\n\techo 'MARK'\nfi\n",),
    ("cat <<END\nMARK $((2 * 3)) 'single' \"double\"\nEND",),
    ("cat <<'END'\n\\MARK $HOME\nEND\n",),
    ("for i in 1 2; do", 'echo "MARK $i"', "done"),
    ("echo MARK \\\n  'goes on'",),
    ("(exit 3) | cat; echo MARK $?",),
    ('echo MARK "[${NOT_SET-none}]"',),
    ("[[ MARK-1 =~ ^MARK-[0-9]$ ]] && echo \"MARK 'matches'\"",),
    ('echo MARK # it\'s a "comment"',),
    ("case MARK in M*) echo 'MARK in';; esac",),
    ("echo 'a\\tb' \"MARK\\\\\"",),
    ("echo $'MARK\\x41' é 数",),
    ("echo MARK >> order", "cat order"),
    ("set +e; false; echo MARK; set -e",),
    ('echo "${PWD##*/} $# MARK"',),
    ("echo MARK &", "wait"),
    ('x="$(echo \'MARK\' "in")"', 'echo "$x"'),
    ('echo "{MARK} {{.ID}} {{FC_TASK_INDEX}}"',),
    ('echo "MARK <% $parameters.word %>"',),
    ("echo MARK <%$secrets.token%>",),
)
# What ends a process, or changes one.
_LOUD: tuple[tuple[str, ...], ...] = (
    ("exit 0",),
    ("exit 7", "echo never"),
    ("exec echo MARK",),
    ("exec bash -c 'exit 9'",),
    ("trap 'echo MARK at the end' EXIT",),
    ("trap 'exit 6' EXIT", "echo MARK"),
    ("false",),
    ("test -e nothing && echo MARK",),
    ("echo MARK; kill -9 $BASHPID",),
    ("echo MARK", "fi"),
)
# What the shell of the commands keeps, where an inlined start callback leaves it.
_LASTING: tuple[tuple[str, ...], ...] = (
    ("echo() { printf 'MARK %s\\n' \"$*\"; }", "exec() { :; }", "cd() { :; }"),
    ("set -f; IFS=o; set -- a b",),
    ("mkdir -p MARK; cd MARK",),
    ("export ONE=MARK; HIDDEN=MARK",),
    ("trap 'echo MARK' ERR",),
)


@dataclass(frozen=True)
class Role:
    """What a task role is meant to run; each callback is the text of its script."""

    starts: tuple[str, ...]
    commands: str
    successes: tuple[str, ...]
    failures: tuple[str, ...]
    exits: tuple[str, ...]


@dataclass(frozen=True)
class GeneratedJob:
    """A job's text, and its task roles by name."""

    text: str
    roles: dict[str, Role]


@dataclass
class _Definition:
    name: str
    has_value: bool
    required: list[tuple[int, str]]  # numbers of definitions, and the value that they get
    callbacks: list[tuple[str, list[str]]]
    ignores: bool
    is_plugin_named: bool = True
    node: dict[str, Any] = field(default_factory=dict)


def generated_job(seed: int) -> GeneratedJob:
    """The job with this seed."""
    return _Generator(seed).job()


class _Generator:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - random tests, not secrets
        self._marks = 0

    def _commands(self, *pools: Sequence[tuple[str, ...]]) -> list[str]:
        found: list[str] = []
        for _ in range(self._random.choice([1, 1, 2, 3])):
            pool = self._random.choice([_QUIET, _QUIET, *pools])
            self._marks += 1
            found += [item.replace("MARK", f"M{self._marks}") for item in self._random.choice(pool)]
        return found

    def _definition(self, number: int, count: int, *, has_hooks: bool) -> _Definition:
        chosen = self._random
        later = range(number + 1, count)
        required = [(other, f"v{number}{other}") for other in later if chosen.random() < 0.5]
        callbacks: list[tuple[str, list[str]]] = []
        for event in chosen.sample(EVENTS, chosen.randint(0, 3)):
            if event == "taskStarts":
                callbacks.append((chosen.choice([event, "containerStart"]), self._commands(_LOUD)))
            elif event == "taskSucceeds" or has_hooks:
                callbacks.append((event, self._commands(_LOUD, _LASTING)))
        has_value = number > 0 and chosen.random() < 0.4
        if has_value and callbacks:
            callbacks[0][1].insert(0, f"echo {{{{ value }}}} of p{number}")
        return _Definition(f"p{number}", has_value, required, callbacks, chosen.random() < 0.25, chosen.random() < 0.5)

    def job(self) -> GeneratedJob:
        chosen = self._random
        count = chosen.randint(1, 5)
        has_hooks = chosen.random() < 0.6
        definitions = [self._definition(number, count, has_hooks=has_hooks) for number in range(count)]
        references: list[dict[str, Any]] = []
        names = ["worker", "helper"][: chosen.choice([1, 1, 2])]
        nodes: dict[str, Any] = {}
        roles: dict[str, Role] = {}
        plugin = self._plugin()
        for name in names:
            listed: list[str] = []
            links: list[tuple[int, str]] = []
            for number in chosen.sample(range(count), chosen.randint(1, count)):
                value = ""
                if definitions[number].has_value or chosen.random() < 0.2:
                    value = f"r{len(references)}"
                    listed.append(value)
                    references.append(
                        {"name": value, "type": "script", "require": [_required(definitions, number, value)]}
                    )
                else:
                    listed.append(definitions[number].name)
                links.append((number, value))
            commands = self._commands(_LOUD, _LASTING)
            steps = list(_steps(definitions, links))
            is_for = plugin.get("taskroles", [name]) == [name] if plugin else False
            roles[name] = _role(definitions, steps, commands, plugin if is_for else {})
            nodes[name] = {
                "instances": 1,
                "dockerImage": "image",
                "prerequisites": listed,
                "resourcePerInstance": {"cpu": 1, "memoryMB": 1024, "gpu": 0},
                "commands": commands,
            }
        whole: dict[str, Any] = {
            "protocolVersion": 2,
            "name": "generated",
            "type": "job",
            "parameters": {"word": _WORD},
            "secrets": {"token": _TOKEN},
            "prerequisites": [
                {"type": "dockerimage", "name": "image", "uri": "ubuntu:20.04"},
                *(_node(definitions, number) for number in range(count)),
            ],
            "taskRoles": nodes,
        }
        extras: dict[str, Any] = {"reference_prerequisites": references} if references else {}
        if plugin:
            extras["com.microsoft.pai.runtimeplugin"] = [plugin]
        if extras:
            whole["extras"] = extras
        return GeneratedJob("\n".join(value_lines(whole)) + "\n", roles)

    def _plugin(self) -> dict[str, Any]:
        """An entry of the `cmd` plugin under `extras`, or nothing."""
        if self._random.random() < 0.7:
            return {}
        limit = {"taskroles": ["worker"]} if self._random.random() < 0.5 else {}
        return {
            "plugin": "cmd",
            **limit,
            "parameters": {"preCommands": self._commands(), "postCommands": self._commands(_LOUD)},
        }


def _required(definitions: list[_Definition], number: int, value: str) -> Any:
    one = definitions[number]
    return {"name": one.name, "template_variables": {"value": value}} if one.has_value else one.name


def _node(definitions: list[_Definition], number: int) -> dict[str, Any]:
    one = definitions[number]
    node: dict[str, Any] = {"name": one.name, "type": "script"}
    if one.is_plugin_named:
        node["plugin"] = "com.microsoft.pai.runtimeplugin.cmd"
    if one.ignores:
        node["failurePolicy"] = "ignore"
    if one.required:
        node["require"] = [_required(definitions, other, value) for other, value in one.required]
    if one.has_value:
        node["template_variables"] = [{"name": "value"}]
    if one.callbacks:
        node["callbacks"] = [{"event": event, "commands": commands} for event, commands in one.callbacks]
    return node


def _steps(
    definitions: list[_Definition], links: list[tuple[int, str]], seen: set[tuple[int, str]] | None = None
) -> Iterator[tuple[int, str]]:
    """Depth first, what is required before what requires it; each with the same value once."""
    seen = set() if seen is None else seen
    for number, given in links:
        step = (number, given if definitions[number].has_value else "")
        if step not in seen:
            seen.add(step)
            yield from _steps(definitions, definitions[number].required, seen)
            yield step


def _role(
    definitions: list[_Definition], steps: list[tuple[int, str]], commands: list[str], plugin: dict[str, Any]
) -> Role:
    scripts: dict[str, list[str]] = {event: [] for event in EVENTS}
    for number, value in steps:
        one = definitions[number]
        for event in EVENTS:
            items = [item for named, found in one.callbacks if _moment(named) == event for item in found]
            if items:
                text = "\n".join(items).replace("{{ value }}", value)
                scripts[event].append(_script(text, ignores=one.ignores))
    if plugin:
        scripts["taskStarts"].append(_script("\n".join(plugin["parameters"]["preCommands"]), ignores=False))
        scripts["taskSucceeds"].append(_script("\n".join(plugin["parameters"]["postCommands"]), ignores=False))
    trimmed = "\n".join(command.strip() for command in commands)
    return Role(
        tuple(scripts["taskStarts"]),
        _USER_OPTIONS + _filled(trimmed),
        *(tuple(scripts[event][::-1]) for event in EVENTS[1:]),
    )


def _moment(event: str) -> str:
    return "taskStarts" if event == "containerStart" else event


def _script(text: str, *, ignores: bool) -> str:
    filled = _filled(text)
    return f"set +o errexit\n{filled}\nset -o errexit\n" if ignores else f"set -o errexit\n{filled}\n"


def _filled(text: str) -> str:
    return text.replace("<% $parameters.word %>", _WORD).replace("<%$secrets.token%>", _TOKEN)


def meant(role: Role, folder: Path) -> Ended:
    """Run what a role is meant to run."""
    return _run(
        [
            *(("success", text) for text in (*role.starts, role.commands, *role.successes)),
            *(("failure", text) for text in role.failures),
            *(("always", text) for text in role.exits),
        ],
        folder,
    )


def released(run: RoleRun, folder: Path) -> Ended:
    """Run what a released cluster runs for a role."""
    return _run([("success", text) for text in (*run.pre, _USER_OPTIONS + run.command, *run.post)], folder)


def differences(seed: int, folder: Path) -> Iterator[str]:
    """What an expanded job does in another way than it is meant, in both forms."""
    job = generated_job(seed)
    wanted = {name: meant(role, _new(folder / f"{seed}-{name}")) for name, role in job.roles.items()}
    for form, inlined in (("expand", ()), ("expand --inline", tuple(job.roles))):
        found = expanded(job_of(job.text), inlined)
        if found.text is None:
            yield f"seed {seed}, {form}: {found.problems[0].message}\n{job.text}"
            continue
        if expanded(job_of(found.text)).text != found.text:
            yield f"seed {seed}, {form}: a second expansion changes the job\n{found.text}"
        runs = released_run(job_of(found.text), shows_secrets=True).roles
        for name, run in runs.items():
            got = released(run, _new(folder / f"{seed}-{len(inlined)}-{name}"))
            if got != wanted[name]:
                yield f"seed {seed}, {form}, {name}: {got} instead of {wanted[name]}\n{job.text}\n{found.text}"


def _new(folder: Path) -> Path:
    (folder / "task").mkdir(parents=True)
    return folder


def _run(scripts: list[tuple[str, str]], folder: Path) -> Ended:
    """Run scripts, each a process of its own, if the task succeeded or failed until then, or always."""
    lines = ["status=0"]
    for number, (when, text) in enumerate(scripts):
        path = folder / f"{number}.sh"
        path.write_text(text, encoding="utf-8")
        test = {"success": "[ $status -eq 0 ]", "failure": "[ $status -ne 0 ]", "always": "true"}[when]
        lines.append(f"if {test}; then bash {path} || {{ code=$?; [ $status -ne 0 ] || status=$code; }}; fi")
    one = subprocess.run(
        ["/bin/bash", "-c", "\n".join([*lines, "exit $status"])],
        cwd=folder / "task",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": harmless_programs(), "LC_ALL": "C.UTF-8"},
    )
    return Ended(one.stdout, one.returncode)
