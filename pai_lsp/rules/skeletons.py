"""What a missing or empty part of a job could be: a first value that the author changes.

The values are the schema's examples, and names that the job already has. Source: schemas/job.schema.json.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pai_lsp.schema import field, fields

if TYPE_CHECKING:
    from pai_lsp.job import Job

# A path in the job's value, as `StructureError.path`.
Path = tuple[str | int, ...]


def skeleton(job: Job, path: Path) -> Any:
    """A value for the key or item at `path`; None where nothing is known about it."""
    own = _from_job(job, path)
    if own is not None:
        return own
    if path[0] == "taskRoles" and len(path) == 2:
        return {"instances": 1, **_required(job, path)}
    documented = field(path, prerequisite_type=prerequisite_type(job, path), kind=job.schema_kind)
    if documented is None:
        return None
    if documented.examples:
        return documented.examples[0]
    if documented.values:
        return documented.values[0]
    return _required(job, path) or None


def prerequisite_type(job: Job, path: Path) -> str | None:
    """The type of the prerequisite that a path leads through: as written, else the likeliest for its keys."""
    if path[0] != "prerequisites" or len(path) < 2 or not isinstance(job.plain, dict):
        return None
    items = job.plain.get("prerequisites")
    item = items[int(path[1])] if isinstance(items, list) and int(path[1]) < len(items) else None
    if not isinstance(item, dict):
        return None
    if isinstance(item.get("type"), str):
        return str(item["type"])
    if isinstance(item.get("uri"), list):
        return "data"
    return "dockerimage" if "uri" in item and "plugin" not in item else "script"


def _from_job(job: Job, path: Path) -> Any:
    """Values that depend on what the job already says."""
    key = path[-1]
    if key == "taskRoles":
        names = [role.name for role in job.task_roles] or ["worker"]
        return {names[0]: {} if len(path) > 1 else skeleton(job, ("taskRoles", "worker"))}
    if key == "dockerImage":
        images = [one.name for one in job.prerequisites if one.type == "dockerimage" and one.name]
        return images[0] if images else None
    if key == "commands" and path[0] == "taskRoles":
        return ["echo hello"]
    if path[0] == "prerequisites" and len(path) == 3 and key == "type":
        return prerequisite_type(job, path)
    if key == "name" and path[0] in {"prerequisites", "deployments"} and len(path) == 3:
        taken = {one.name for one in job.prerequisites} | {one.name for one in job.deployments}
        stem = "deployment" if path[0] == "deployments" else prerequisite_type(job, path) or "prerequisite"
        return next(name for number in range(len(taken) + 1) if (name := f"{stem}_{number}") not in taken)
    return None


def _required(job: Job, path: Path) -> dict[str, Any]:
    return {str(one.key): skeleton(job, (*path, one.key)) for one in fields(path, kind=job.schema_kind) if one.required}
