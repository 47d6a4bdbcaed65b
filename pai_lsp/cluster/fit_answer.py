"""Whether a job fits a cluster, as JSON has it and in words: for the command line, for assistants and for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from pai_lsp.cluster.fit import Fit
    from pai_lsp.cluster.profile import Profile
    from pai_lsp.cluster.protocol_stage import Refusal
    from pai_lsp.job.hidden import Hidden


def fit_answer(found: Fit, hidden: Hidden) -> dict[str, Any]:
    """The answer, without the hidden values of the job; it has the keys that docs/fit.md describes."""
    answer: dict[str, Any] = {"outcome": found.outcome}
    if found.refusals:
        answer |= _refusal_as_json(found.refusals[0])
        answer["also"] = [_refusal_as_json(one) for one in found.refusals[1:]]
    if found.request is not None and found.request.roles is not None:
        answer["skus"] = {
            role.name: {
                "number": role.number,
                "type": role.sku_type,
                "pinnedCellId": role.pinned_cell,
                "priority": role.priority,
                "affinityGroup": role.group,
            }
            for role in found.request.roles
        }
        answer["total"] = found.request.total
    if found.outcome == "waits-forever" and found.wait:
        wait = found.wait
        result = "refused" if wait.is_refused else "wait"
        answer["wait"] = {"role": wait.role, "result": result, "reason": wait.reason, "explanation": wait.explanation}
    if found.storages:
        answer["storages"] = list(found.storages)
    shown: dict[str, Any] = cleaned(answer, hidden.without)
    return shown


def _refusal_as_json(one: Refusal) -> dict[str, Any]:
    return {
        "stage": one.stage,
        "status": one.status,
        "code": one.code,
        "message": one.message,
        "role": one.role,
        "explanation": one.explanation,
        "path": list(one.path),
    }


def fit_lines(found: Fit, profile: Profile, hidden: Hidden) -> list[str]:
    """The outcome, and in further lines each reason and the SKUs, without the hidden values of the job."""
    titles = {
        "refused": f"'{profile.name}' refuses the job",
        "waits-forever": f"'{profile.name}' accepts the job, but it can never start",
        "runs": f"fits '{profile.name}' when it is empty",
        "accepted": f"'{profile.name}' accepts the job; the profile does not say whether it can start",
    }
    lines = [titles[found.outcome]]
    lines += [_at(one.path, one.explanation) for one in found.refusals]
    if found.wait and not found.refusals:
        lines.append(_at(found.wait.path, found.wait.explanation))
    request = found.request
    if request is not None and request.roles is not None:
        parts = ", ".join(f"{role.name} {role.instances or 1} × {role.number}" for role in request.roles)
        lines.append(f"SKUs: {request.total} ({parts})")
    return [hidden.without(line) for line in lines]


def _at(path: tuple[str | int, ...], explanation: str) -> str:
    place = ".".join(str(step) for step in path)
    return f"{place}: {explanation}" if place else explanation


def cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """A value of JSON with hidden texts replaced in every text of it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [cleaned(one, clean) for one in value]
    if isinstance(value, dict):
        return {key: cleaned(one, clean) for key, one in value.items()}
    return value
