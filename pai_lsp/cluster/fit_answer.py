"""Whether a job fits a cluster, as JSON has it: for the command line and for assistants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from pai_lsp.cluster.fit import Fit
    from pai_lsp.cluster.protocol_stage import Refusal
    from pai_lsp.job.hidden import Hidden


def fit_answer(found: Fit, hidden: Hidden) -> dict[str, Any]:
    """The answer, without the hidden values of the job; it has the keys that docs/fit.md describes."""
    answer: dict[str, Any] = cleaned(_whole_answer(found), hidden.without)
    return answer


def _whole_answer(found: Fit) -> dict[str, Any]:
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
    return answer


def _refusal_as_json(one: Refusal) -> dict[str, Any]:
    return {
        "stage": one.stage.value,
        "status": one.status,
        "code": one.code,
        "message": one.message,
        "role": one.role,
        "explanation": one.explanation,
        "path": list(one.path),
    }


def cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """A value of JSON with hidden texts replaced in every text of it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [cleaned(one, clean) for one in value]
    if isinstance(value, dict):
        return {key: cleaned(one, clean) for key, one in value.items()}
    return value
