"""What the rest-server refuses last: rights to virtual clusters, storages, and on LTP quotas, local storage and nodes.

Sources: rest-server, models/v2/job/k8s.js; ltp-platform, src/rest-server/src/middlewares/v2/quota.js and
models/v2/job/k8s.js.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from pai_lsp.cluster.hived_stage import hived_section
from pai_lsp.cluster.protocol_stage import Refusal
from pai_lsp.embedded.server_rendering import trim
from pai_lsp.platform.local_storage import local_storage_faults
from pai_lsp.platform.tables import RUNTIME_PLUGIN
from pai_lsp.source.foreign import as_mapping
from pai_lsp.source.scalar import server_text
from pai_lsp.source.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from pai_lsp.cluster.profile import Profile
    from pai_lsp.job.job import Job

_PRIORITY = ("extras", "hivedScheduler", "jobPriorityClass")
_STORAGES = ("extras", "storages")


def quota_refusals(values: Any, job: Job, profile: Profile, now: datetime) -> Iterator[Refusal]:
    """The limits of LTP: the right to the priority `prod`, virtual clusters with fixed commands, GPUs of a job."""
    if not profile.platform.has_user_limits or profile.user is None:
        return
    priority = as_mapping(hived_section(values)).get("jobPriorityClass")
    roles = values["taskRoles"].values()
    # Not a number if a role leaves out `instances`.
    gpus = float(sum(role["resourcePerInstance"]["gpu"] * role.get("instances", math.nan) for role in roles))
    if priority == "prod":
        yield from _prod_refusals(profile.user, now)
    yield from _code_refusals(values, job, profile, gpus, is_prod=priority == "prod")
    quota = profile.user.get("quota", {})
    limit = quota.get("maxGpusPerJob", -1)
    ends = _moment(quota.get("expiration"))
    if limit >= 0 and not (ends is not None and now > ends) and not gpus <= limit:
        message = f"You have exceeded the maximum number of GPUs allowed per job. Max GPUs per job: {limit}"
        if math.isnan(gpus):
            missing = next(name for name, role in values["taskRoles"].items() if "instances" not in role)
            text = f"with a limit of {limit} GPUs for each job, every task role needs 'instances'; '{missing}' has none"
            path: tuple[str, ...] = ("taskRoles", missing, "instances")
        else:
            text, path = f"the job requests {gpus:g} GPUs; you may use {limit} in one job", ("taskRoles",)
        yield _quota("NoEnoughQuotaError", message, text, path)


def job_refusals(values: Any, profile: Profile) -> Iterator[Refusal]:
    """What the rest-server refuses when it writes the job."""
    yield from _right_refusals(values, profile)
    storages = mounted_storages(values, profile)
    yield from storages if isinstance(storages, list) else ()
    local = as_mapping(values.get("extras")).get("enableLocalStorage")
    for fault in local_storage_faults(local) if profile.platform.mounts_local_storage else ():
        status, place = 500 if fault.code is None else 400, ("extras", "enableLocalStorage")
        yield Refusal("job", status, fault.code, fault.response, fault.message, place, None)
    if profile.platform.forces_nodes:
        yield from _forced_node_refusals(values, profile)


def virtual_cluster_for_rights(values: Any) -> Any:
    """The virtual cluster whose rights count: null and absent mean `default`."""
    found = as_mapping(values.get("defaults")).get("virtualCluster")
    return "default" if found is None else found


def _right_refusals(values: Any, profile: Profile) -> Iterator[Refusal]:
    virtual_cluster = virtual_cluster_for_rights(values)
    # JavaScript compares by identity: the number 1 is not the text '1'.
    if profile.user is None or virtual_cluster in profile.user["virtualClusters"]:
        return
    allowed, name = profile.user["virtualClusters"], server_text(virtual_cluster)
    user = profile.user.get("name") or "..."  # a file of the administrator does not know it
    message = f"User {user} is not allowed to do operation in {name}"
    ending = did_you_mean(name, allowed) or f"; you may use {', '.join(allowed) or 'none'}"
    what = "you may not use the" if name in profile.virtual_clusters else "the cluster has no"
    text, path = f"{what} virtual cluster '{name}'{ending}", ("defaults", "virtualCluster")
    rule = "virtual-cluster-not-allowed"
    yield Refusal("job", 403, "ForbiddenUserError", message, text, path, rule, choices=tuple(allowed))


def storage_entries(values: Any) -> tuple[Any, tuple[str | int, ...]]:
    """The storages that the job names, or None, and where.

    Source: rest-server, models/v2/job/k8s.js: `extras.storages` hides the plugin teamwise_storage.
    """
    extras = as_mapping(values.get("extras"))
    if extras.get("storages") or isinstance(extras.get("storages"), list | dict):
        return extras["storages"], _STORAGES
    plugins = extras.get(RUNTIME_PLUGIN)
    found: list[dict[str, Any]] | None = None
    place: tuple[str | int, ...] = ()
    for number, plugin in enumerate(plugins if isinstance(plugins, list) else ()):
        if isinstance(plugin, dict) and plugin.get("plugin") == "teamwise_storage":
            place = ("extras", RUNTIME_PLUGIN, number)
            names = as_mapping(plugin.get("parameters")).get("storageConfigNames")
            found = [{"name": name} for name in names] if isinstance(names, list) else []
    return found, place


def mounted_storages(values: Any, profile: Profile) -> tuple[str, ...] | list[Refusal]:
    """The names of the storages that the job mounts, or why the rest-server refuses it."""
    entries, place = storage_entries(values)
    if entries is None or profile.user is None or isinstance(entries, str):
        return ()
    if not isinstance(entries, list):
        text, message = "'storages' must be a list of storages", "config.extras.storages is not iterable"
        return [Refusal("job", 500, None, message, text, place, None)]
    if not entries:
        return tuple(profile.user.get("defaultStorages", ()))
    allowed = profile.user.get("storages")
    names = [(number, _storage_name(one)) for number, one in enumerate(entries) if isinstance(one, dict)]
    bound = profile.document.get("storages")
    refused = [
        _storage_refusal(name, number, place, profile)
        for number, name in names
        if name and ((allowed is not None and name not in allowed) or (bound is not None and name not in bound))
    ]
    return refused or tuple(name for _, name in names if name)


def _storage_name(entry: Mapping[str, Any]) -> str:
    """The name that is looked up, which JavaScript makes a text of any value; empty for none."""
    name = entry.get("name")
    return server_text(name) if name or isinstance(name, list | dict) else ""


def _storage_refusal(shown: str, number: int, place: tuple[str | int, ...], profile: Profile) -> Refusal:
    usable = (profile.user or {}).get("storages") or []
    exists = shown in profile.document.get("storages", {})
    near = did_you_mean(shown, usable) or (f"; you may use {', '.join(usable)}" if usable else "")
    text = f"you may not use the storage '{shown}'{near}" if exists else f"no storage is named '{shown}'{near}"
    path = (*place, number, "name") if place == _STORAGES else place
    message = f"Storage {shown} is not found."
    rule, choices = "storage-not-found", tuple(usable)
    return Refusal("job", 404, "NoStorageError", message, text, path, rule, choices=choices)


def _prod_refusals(user: Mapping[str, Any], now: datetime) -> Iterator[Refusal]:
    ends = _moment(user.get("jobExpiration"))
    if user.get("jobPriority") != 1:
        message = 'You do not have the required job priority set to 1 to submit a job with "prod" priority.'
        text = "you do not have the right to use the priority 'prod'"
        yield _quota("NoJobPriorityError", message, text, _PRIORITY)
    elif ends is None:
        message = "Your job priority expiration date is invalid."
        text = "your right to the priority 'prod' has no valid date"
        yield _quota("InvalidJobPriorityExpirationError", message, text, _PRIORITY)
    elif now > ends:
        message = "Your job priority expiration date has expired."
        text = f"your right to the priority 'prod' ended on {ends:%Y-%m-%d}"
        yield _quota("ExpiredJobPriorityExpirationError", message, text, _PRIORITY)


def _code_refusals(values: Any, job: Job, profile: Profile, gpus: float, *, is_prod: bool) -> Iterator[Refusal]:
    rule = profile.document.get("rules", {}).get("code")
    if rule is None or not gpus >= rule["gpus"]:
        return
    restricted = [name.strip().lower() for name in rule["virtualClusters"].split(",")]
    name = as_mapping(values.get("defaults")).get("virtualCluster")
    if name is not None and not isinstance(name, str):
        message = "An unknown error occurred while checking the quota"
        text = "'virtualCluster' must be a string; the cluster fails with an internal error"
        place = ("defaults", "virtualCluster")
        yield Refusal("quota", 500, "UnknownError", message, text, place, "cluster-limit")
        return
    if name is None or name.lower() not in restricted:
        return
    least = rule["gpus"]
    if not is_prod:
        message = f"Only prod priority job is allowed to run on this virtual cluster with {least} GPUs or more."
        text = f"a job with {least} GPUs or more needs the priority 'prod' in virtual cluster '{name}'"
        yield _quota("ExpectedJobPriorityClassError", message, text, _PRIORITY)
        return
    patterns, allowed = zip(*_allowed_commands(rule), strict=True)
    for role in job.task_roles:
        commands = [trim(scalar.text) for scalar in role.commands]
        if len(commands) == len(patterns) and all(map(re.fullmatch, patterns, commands)):
            continue
        text = f"in virtual cluster '{name}', a job with {least} GPUs or more may only run the six commands "
        text += f"that the administrator allows: {'; '.join(allowed)}"
        message = "Your job contains invalid command or git branch code. The correct commands are:\n"
        message += "\n".join(allowed)
        yield _quota("InvalidCommandError", message, text, ("taskRoles", role.name, "commands"))
        return


def _allowed_commands(rule: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The patterns of the six commands, each with the command as the server shows it.

    The administrator's texts are put in unescaped, as the server does.
    """
    infra, model, prefix, name = (rule.get(key, "") for key in ("repoInfra", "repoModel", "scriptPrefix", "scriptName"))
    clones = [
        (
            rf"git\s+clone\s+https://[a-zA-Z0-9_-]+:[a-zA-Z0-9_]+@(?:{repository})\s+-b\s+(?:{branch})",
            f"git clone https://<user>:<token>@{repository} -b {branch}",
        )
        for repository, branch in ((infra, rule.get("branchInfra", "")), (model, rule.get("branchModel", "")))
    ]
    target, source = _folder(infra), _folder(model)
    return [
        (r"export\s+WANDB_API_KEY=([\"']?)[0-9a-zA-Z]+\1", "export WANDB_API_KEY=<your-wandb-api-key>"),
        *clones,
        (rf"cp\s+-r\s+(?:{source})/\*\s+(?:{target})/", f"cp -r {source}/* {target}/"),
        (rf"cd\s+(?:{target})", f"cd {target}"),
        (rf"bash\s+(?:{prefix})\s*/\s*(?:{name}[a-zA-Z0-9_.-]*\.sh)", f"bash {prefix}/{name}"),
    ]


def _folder(repository: str) -> str:
    return repository.rpartition("/")[2].removesuffix(".git")


def _forced_node_refusals(values: Any, profile: Profile) -> Iterator[Refusal]:
    written = as_mapping(values.get("extras")).get("forceNodes")
    nodes = profile.document.get("nodes")
    if not written or not isinstance(written, str):
        return
    place = ("extras", "forceNodes")
    names = [name.strip() for name in written.split(",")]
    schedulable = [one["name"] for one in nodes or () if not one.get("unschedulable") and one["name"] in names]
    if schedulable:
        listed = ", ".join(schedulable)
        message = f"The following nodes are schedulable: {listed}"
        text = f"'forceNodes' only accepts nodes that are closed to other jobs; {listed} is open to them"
        yield Refusal("job", 400, "SchedulableNodeError", message, text, place, "cluster-limit")
        return
    machines = profile.document.get("machines")
    if machines is not None and names[0] not in machines:
        message = "Cannot read properties of undefined (reading 'machine-type')"
        text = f"the cluster has no machine '{names[0]}'"
        yield Refusal("job", 500, None, message, text, place, "cluster-limit")


def _moment(written: object) -> datetime | None:
    """The moment in a text, as `new Date` reads it; 1970 for null, None for what is not a date."""
    if written is None:
        return datetime.fromtimestamp(0, timezone.utc)
    try:
        found = datetime.fromisoformat(str(written).replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)


def _quota(code: str, message: str, text: str, path: tuple[str | int, ...]) -> Refusal:
    return Refusal("quota", 403, code, message, text, path, "cluster-limit")
