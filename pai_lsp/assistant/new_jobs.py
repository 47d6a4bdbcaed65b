"""Jobs to start from: the templates of the editor, filled with what an assistant knows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pai_lsp.assistant.allowed_files import AnswerError
from pai_lsp.assistant.job_answers import projects_of, shown_text
from pai_lsp.document import Document
from pai_lsp.ide.completion.snippet_texts import JOBS
from pai_lsp.ide.completion.suggestion import plain_text
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import visible
from pai_lsp.source.writing import value_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pai_lsp.assistant.allowed_files import AllowedFiles

_RESOURCES = ("cpu", "memoryMB", "gpu", "ports")
# What the templates start.
_PROGRAM = re.compile(r"(?:python )?train\.py")
_PYTHON = re.compile(r"python[\d.]* +(?!-[cm]\b)")


def new_job(given: Mapping[str, Any], files: AllowedFiles) -> dict[str, Any]:
    """The filled template, or without the name of one the templates that there are."""
    of_others = {}
    if files.folders:
        projects, folder = projects_of(files), files.folders[0]
        of_others = {one.name: one for one in projects.lookup_of(f"{folder}/job.pai.yaml", folder).job_templates()}
    own = {name: snippet for name, _, snippet in JOBS}
    name = given.get("template")
    if name is None:
        rows = [*((name, detail) for name, detail, _ in JOBS), *((one.name, one.summary) for one in of_others.values())]
        if len(given) > 0:
            raise AnswerError(f"the argument 'template' is missing; the templates are {', '.join(dict(rows))}")
        return {"templates": [{"name": name, "description": detail} for name, detail in rows]}
    if name in own:
        return {"text": _filled(plain_text(own[name]), given)}
    if name not in of_others:
        known = [*own, *of_others]
        raise AnswerError(f"no template is named '{visible(name)}' ({', '.join(known)}){did_you_mean(name, known)}")
    if more := sorted(given.keys() - {"template"}):
        raise AnswerError(f"a template of the marketplace is not filled: leave out {', '.join(more)}, change its text")
    return {"text": shown_text(Document(of_others[name].text))[0]}


def _filled(text: str, given: Mapping[str, Any]) -> str:
    job: dict[str, Any] = plain_value(parse(text).root)
    for key in ("name", "jobRetryCount"):
        if key in given:
            job[key] = given[key]
    if "image" in given:
        job["prerequisites"][0]["uri"] = given["image"]
    if "virtualCluster" in given:
        job["defaults"]["virtualCluster"] = given["virtualCluster"]
    roles: dict[str, dict[str, Any]] = job["taskRoles"]
    _set_instances(roles, given)
    for role in roles.values():
        role["resourcePerInstance"] |= {
            key: {**role["resourcePerInstance"].get(key, {}), **given[key]} if key == "ports" else given[key]
            for key in _RESOURCES
            if key in given
        }
        if "shmMB" in given:
            role["extraContainerOptions"] = {"shmMB": given["shmMB"]}
    first = next(iter(roles.values()))
    first["commands"] = [*given.get("setup", ()), _launch(first["commands"][-1], roles, given)]
    _add_extras(job, roles, given)
    if "parameters" in given:
        following = {key: job.pop(key) for key in [*job][[*job].index("taskRoles") :]}
        job |= {"parameters": given["parameters"], **following}
    return "".join(f"{line}\n" for line in value_lines(job))


def _set_instances(roles: dict[str, dict[str, Any]], given: Mapping[str, Any]) -> None:
    """Distribute the tasks: all to the only role, or one to the first role and the others to the second."""
    if (count := given.get("instances")) is None:
        return
    if count < len(roles):
        raise AnswerError(
            f"the argument 'instances' must be at least {len(roles)} for the template '{given['template']}'"
        )
    list(roles.values())[-1]["instances"] = count - len(roles) + 1


def _launch(line: str, roles: Mapping[str, Mapping[str, Any]], given: Mapping[str, Any]) -> str:
    """The template's last command with the program, and with the processes that the tasks have room for."""
    each = max(1, next(iter(roles.values()))["resourcePerInstance"]["gpu"])
    tasks = [f"{name}-{index}:{each}" for name, role in roles.items() for index in range(role["instances"])]
    line = re.sub(r"--nproc_per_node=\d+", f"--nproc_per_node={each}", line)
    line = re.sub(r"-np \d+ -H \S+", f"-np {each * len(tasks)} -H {','.join(tasks)}", line)
    command = given.get("command")
    if command is None:
        return line
    is_python_launcher = line.startswith("torchrun ")
    if is_python_launcher:
        if not (command.startswith("-m ") or command.endswith(".py") or ".py " in command or "python" in command):
            raise AnswerError("the argument 'command' must start a Python program for this template")
        command = _PYTHON.sub("", command, count=1) if _PYTHON.match(command) else command
        command = re.sub(r"^python[\d.]* +(?=-m\b)", "", command)
    return _PROGRAM.sub(lambda _: command, line, count=1)


def _add_extras(job: dict[str, Any], roles: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    extras: dict[str, Any] = job.get("extras", {})
    hived: dict[str, Any] = {}
    if "priority" in given:
        hived["jobPriorityClass"] = given["priority"]
    if "skuType" in given:
        hived["taskRoles"] = {name: {"skuType": given["skuType"]} for name in roles}
    if hived:
        extras["hivedScheduler"] = hived
    if given.get("storages"):
        extras["storages"] = [{"name": name, "mountPath": path} for name, path in given["storages"].items()]
    if extras:
        job["extras"] = extras
