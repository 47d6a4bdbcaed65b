"""Jobs to start from: the templates of the editor, filled with what an assistant knows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pai_lsp.assistant.allowed_files import AnswerError
from pai_lsp.assistant.job_answers import projects_of
from pai_lsp.ide.completion.snippet_texts import JOBS
from pai_lsp.ide.completion.suggestion import plain_text
from pai_lsp.source.foreign import as_list, as_mapping, as_text, mappings_in
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.spelling import did_you_mean, plural
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import visible
from pai_lsp.source.writing import value_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pai_lsp.assistant.allowed_files import AllowedFiles

_RESOURCES = ("cpu", "memoryMB", "gpu")
# What says nothing about a job with several task roles that are not known.
_OF_THE_ROLE = frozenset({*_RESOURCES, "instances", "ports", "shmMB", "setup", "command", "skuType"})
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
        return {"text": _filled(plain_text(own[name]), given, is_own=True)}
    if name not in of_others:
        known = [*own, *of_others]
        raise AnswerError(f"no template is named '{visible(name)}' ({', '.join(known)}){did_you_mean(name, known)}")
    text = of_others[name].text
    return {"text": text if given.keys() == {"template"} else _filled(text, given)}


def _filled(text: str, given: Mapping[str, Any], *, is_own: bool = False) -> str:
    """A job with the given values, without its comments; one that is not our own can have any form.

    Raises:
        AnswerError: if the job has no place for a value, or several.
    """
    job = as_mapping(plain_value(parse(text).root))
    roles = {name: as_mapping(role) for name, role in as_mapping(job.get("taskRoles")).items()}
    if not is_own:
        _refuse_what_has_no_place(roles, given)
    job |= {key: given[key] for key in ("name", "jobRetryCount") if key in given}
    if "image" in given:
        _image_of(job, roles)["uri"] = given["image"]
    if "virtualCluster" in given:
        job["defaults"] = {**as_mapping(job.get("defaults")), "virtualCluster": given["virtualCluster"]}
    _set_instances(roles, given)
    for role in roles.values():
        resources = as_mapping(role.get("resourcePerInstance"))
        resources |= {key: given[key] for key in _RESOURCES if key in given}
        if "ports" in given:
            resources["ports"] = {**as_mapping(resources.get("ports")), **given["ports"]}
        if resources:
            role["resourcePerInstance"] = resources
        if "taskRetryCount" in given:
            role["taskRetryCount"] = given["taskRetryCount"]
        if "shmMB" in given:
            role["extraContainerOptions"] = {**as_mapping(role.get("extraContainerOptions")), "shmMB": given["shmMB"]}
    for first in list(roles.values())[:1]:
        commands = as_list(first.get("commands"))
        if is_own:
            commands = [_launch(commands[-1], roles, given)]
        first["commands"] = [*given.get("setup", ()), *commands]
        job["taskRoles"] = roles
    _add_extras(job, roles, given)
    if "parameters" in given:
        keys = list(job)
        at = keys.index("taskRoles") if "taskRoles" in keys and "parameters" not in keys else len(keys)
        following = {key: job.pop(key) for key in keys[at:]}
        job |= {"parameters": {**as_mapping(job.get("parameters")), **given["parameters"]}, **following}
    return "".join(f"{line}\n" for line in value_lines(job))


def _refuse_what_has_no_place(roles: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    wrong = sorted(_OF_THE_ROLE & given.keys()) if len(roles) != 1 else [key for key in ("command",) if key in given]
    if wrong:
        what = "commands of its own" if len(roles) == 1 else plural(len(roles), "task role")
        raise AnswerError(f"this template has {what}: leave out {', '.join(wrong)}, change its text")


def _image_of(job: Mapping[str, Any], roles: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The prerequisite that is the image of all task roles."""
    names = {as_text(role.get("dockerImage")) for role in roles.values()}
    images = [one for one in mappings_in(job.get("prerequisites")) if one.get("type") == "dockerimage"]
    used = [one for one in images if as_text(one.get("name")) in names]
    if len(names) != 1 or len(used) != 1:
        raise AnswerError("the task roles of this template have no image in common: leave out image, change its text")
    return used[0]


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
    if given.get("taskRetryCount") and not _PROGRAM.fullmatch(line):
        raise AnswerError("the tasks of this template need each other: leave out taskRetryCount, use jobRetryCount")
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
    extras = as_mapping(job.get("extras"))
    hived = as_mapping(extras.get("hivedScheduler"))
    if "priority" in given:
        hived["jobPriorityClass"] = given["priority"]
    if "skuType" in given:
        of_roles = as_mapping(hived.get("taskRoles"))
        hived["taskRoles"] = {name: {**as_mapping(of_roles.get(name)), "skuType": given["skuType"]} for name in roles}
    if hived:
        extras["hivedScheduler"] = hived
    if given.get("storages"):
        others = [
            one for one in mappings_in(extras.get("storages")) if as_text(one.get("name")) not in given["storages"]
        ]
        extras["storages"] = [*others, *({"name": name, "mountPath": path} for name, path in given["storages"].items())]
    if given.get("taskRetryCount"):
        extras["gangAllocation"] = False
    if extras:
        job["extras"] = extras
