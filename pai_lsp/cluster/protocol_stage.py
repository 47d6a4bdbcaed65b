"""What a refusal is, and what the rest-server refuses before it looks at the cluster: syntax, schema, references.

Only whether a job is refused matters here; the rules of `check` report each mistake at its place and in better words.
Source: rest-server, config/v2/protocol.js and middlewares/v2/protocol.js, protocolValidate and protocolRender.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.cluster.profile import Profile
from pai_lsp.embedded.server_rendering import OBJECT_PROTOTYPE_NAMES, rendered
from pai_lsp.embedded.template import TemplateFault
from pai_lsp.expansion.released_run import server_command
from pai_lsp.platform.tables import ROLE_NAME
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.scalar import counts_as_false

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pai_lsp.job.job import Job
    from pai_lsp.platform.structure_errors import StructureError


@dataclass(frozen=True, slots=True)
class Refusal:
    """One refusal.

    stage: where the rest-server refuses the job: `protocol`, `render`, `hived`, `quota` or `job`, in its order.
        Source: rest-server, controllers/v2/job.js and middlewares/v2/protocol.js, protocolSubmitMiddleware.
    code: the rest-server's error code; None where its own program fails, which it answers with status 500.
    message: what the rest-server answers.
    explanation: what is wrong in the words of the job's author, with numbers.
    path: the keys that lead to the place in the job; the last one may be missing there.
    rule: the code of the rule that reports it; None if a rule that needs no cluster does.
    role: the task role that the message names.
    choices: names that would be right in this place; empty if the value is not a name.
    """

    stage: str
    status: int
    code: str | None
    message: str
    explanation: str
    path: tuple[str | int, ...]
    rule: str | None
    role: str | None = None
    choices: tuple[str, ...] = ()


def refusal(
    text: str,
    path: tuple[str | int, ...],
    *,
    stage: str = "protocol",
    message: str | None = None,
    code: str | None = "InvalidProtocolError",
    rule: str | None = None,
    role: str | None = None,
    choices: tuple[str, ...] = (),
) -> Refusal:
    """A refusal as most are, explained by `text`; without a `message` of its own, the server answers the same."""
    return Refusal(stage, 500 if code is None else 400, code, message or text, text, path, rule, role, choices)


@dataclass(frozen=True, slots=True)
class Wait:
    """Why an accepted job never starts.

    role: the task role of the first task that gets no place; None if each fits alone and all together do not.
    reason: what the scheduler reports.
    is_refused: whether the scheduler calls it an error of the user.
    is_of_all_clusters: whether it holds on every cluster, so that another rule reports it.
    """

    role: str | None
    reason: str
    explanation: str
    path: tuple[str | int, ...]
    is_refused: bool = False
    is_of_all_clusters: bool = False


# Mappings whose content the schema of the rest-server leaves open, by the number of keys that lead to a key of theirs.
_OPEN = {"extras": 2, "defaults": 2, "parameters": 2, "secrets": 2}
# Keys of a prerequisite that the schema checks.
_PREREQUISITE_KEYS = frozenset(
    {"protocolVersion", "name", "type", "version", "contributor", "description", "uri", "auth", "plugin", "require"}
)
_TYPED = {"script": "script", "output": "output", "data": "data", "dockerImage": "dockerimage"}
_INFERENCE_MESSAGE = """\
The following parameters must be specified for inference job:
INTERNAL_SERVER_IP=$PAI_HOST_IP_taskrole_0
INTERNAL_SERVER_PORT=$PAI_PORT_LIST_taskrole_0_http
API_KEY=[any string]"""


_ANY_CLUSTER = Profile({"platform": "openpai", "scheduler": "unknown"})


def is_accepted(job: Job) -> bool:
    """Whether the rest-server of OpenPAI accepts the file as such, whatever the cluster has."""
    return not any(protocol_refusals(job, _ANY_CLUSTER)) and not any(render_refusals(job))


def protocol_refusals(job: Job, profile: Profile) -> Iterator[Refusal]:
    """The refusals that follow from the file, and from the administrator's rule for images."""
    problem = next((one for one in job.syntax.problems if not one.is_runtime_only), None)
    if problem is not None:
        yield refusal(problem.message, (), code=None)
        return
    if job.root is None:
        yield refusal("should be object", ())
        return
    schema = [error for error in job.structure_errors if _is_enforced(error, profile)]
    yield from (refusal(error.message, _place(error)) for error in schema)
    for role in job.task_roles:
        if not ROLE_NAME.fullmatch(role.name):
            yield refusal(f"'{role.name}' is not a valid name of a task role", ("taskRoles", role.name))
    if schema:
        return
    values = job.plain
    foreign = [n for n, one in enumerate(values.get("prerequisites") or ()) if one["type"] not in _TYPED.values()]
    if foreign:
        yield refusal("should be equal to one of the allowed values", ("prerequisites", foreign[0], "type"))
        return
    yield from _duplicates(values)
    if profile.platform.has_user_limits:
        yield from _image_refusals(values, profile)
    yield from _reference_refusals(values, profile)


def render_refusals(job: Job) -> Iterator[Refusal]:
    """The templates that the rest-server fails to render: in accounts of images, and in commands."""
    for number, one in enumerate(job.plain.get("prerequisites") or ()):
        auth = one.get("auth") if isinstance(one, dict) and one.get("type") == "dockerimage" else None
        for key, value in auth.items() if isinstance(auth, dict) else ():
            if isinstance(value, str):
                fault = rendered(value, {"$secrets": job.plain.get("secrets")}, job.platform.mustache)
                message = fault.message if isinstance(fault, TemplateFault) else ""
            else:  # nothing is rendered for a value that counts as false
                message = "" if counts_as_false(value) else f"'{key}' must be a string"
            if message:
                yield refusal(message, ("prerequisites", number, "auth", key), stage="render", code=None)
    for role in job.task_roles:
        if isinstance(fault := server_command(job, role), TemplateFault):
            place = ("taskRoles", role.name, "commands")
            yield refusal(fault.message, place, stage="render", code=None)


def _place(error: StructureError) -> tuple[str | int, ...]:
    return error.path if error.key is None else (*error.path, error.key)


def _is_enforced(error: StructureError, profile: Profile) -> bool:
    path = _place(error)
    if path and len(path) >= _OPEN.get(str(path[0]), len(path) + 1):
        return False
    if path[:1] == ("prerequisites",) and len(path) > 2:
        return path[2] in _PREREQUISITE_KEYS or error.kind == "dockerimage-extra-key"
    if "extraContainerOptions" in path[2:3] and error.kind == "unknown-key":
        return False
    if error.is_of_ports and not profile.platform.checks_mappings:
        return False  # the server's schema has no type for it
    # A job that is checked for another platform has errors at the keys that only this one reads.
    return path[:1] not in {(key,) for key in profile.platform.marked_keys} or error.kind != "unknown-key"


def _duplicates(values: Any) -> Iterator[Refusal]:
    keys = [(one["type"], one["name"]) for one in values.get("prerequisites") or ()]
    for number, (kind, name) in enumerate(keys):
        if (kind, name) in keys[:number]:
            yield refusal(f"Duplicate {kind} prerequisites {name}.", ("prerequisites", number, "name"))
    names = [one["name"] for one in values.get("deployments") or ()]
    for number, name in enumerate(names):
        if name in names[:number]:
            yield refusal(f"Duplicate deployments {name}.", ("deployments", number, "name"))


def _image_refusals(values: Any, profile: Profile) -> Iterator[Refusal]:
    """The rule `image-regex` of LTP, which looks at the first image only.

    Source: ltp-platform, src/rest-server/src/middlewares/v2/protocol.js, protocolValidate.
    """
    written = profile.document.get("rules", {}).get("imageRegex")
    if not written or "prerequisites" not in values:
        return
    try:
        pattern = re.compile(written)
    except re.error as error:
        # Python and JavaScript disagree on other patterns; the profile cannot answer then.
        if error.msg in _BAD_PATTERNS and "[]" not in written and "[^]" not in written:
            message = f'The provided imageRegex pattern "{written}" is invalid.'
            text = f"the cluster's rule for images, '{written}', is not a regular expression: it refuses every job"
            yield refusal(text, ("prerequisites",), message=message, code=None, rule="image-not-allowed")
        return
    images = ((n, one) for n, one in enumerate(values["prerequisites"]) if one["type"] == "dockerimage" and one["uri"])
    number, image = next(images, (0, None))
    if image is None:
        text = "No valid docker image found in prerequisites."
        yield refusal(text, ("prerequisites",), code="NoDockerImageError", rule="image-not-allowed")
    elif not pattern.search(image["uri"]):
        message, place = f"The image {image['uri']} is not allowed.", ("prerequisites", number, "uri")
        text = f"the cluster does not allow the image '{image['uri']}'; images must match '{written}'"
        yield refusal(text, place, message=message, code="InvalidImageError", rule="image-not-allowed")


# Python's messages about patterns that JavaScript does not accept either.
_BAD_PATTERNS = frozenset(
    ["missing ), unterminated subpattern", "unbalanced parenthesis", "unterminated character set"]
)


def _reference_refusals(values: Any, profile: Profile) -> Iterator[Refusal]:
    known: dict[str, set[str]] = {kind: set() for kind in _TYPED.values()}
    for one in values.get("prerequisites") or ():
        known[one["type"]].add(one["name"])
    every = set().union(*known.values())
    for name, role in values["taskRoles"].items():
        for number, reference in enumerate(role.get("prerequisites") or ()):
            if reference not in every:
                text = f"Prerequisite {reference} does not exist."
                yield refusal(text, ("taskRoles", name, "prerequisites", number))
    yield from _parameter_refusals(values, profile.platform.required_parameters.get(values.get("jobType"), ()))
    for name, role in values["taskRoles"].items():
        for key, kind in _TYPED.items():
            # JavaScript finds some names in every mapping; a job without its image dies all the same.
            is_inherited = key != "dockerImage" and role.get(key) in OBJECT_PROTOTYPE_NAMES
            if key in role and role[key] not in known[kind] and not is_inherited:
                yield refusal(f"Prerequisite {role[key]} does not exist.", ("taskRoles", name, key))
    defaults = values.get("defaults") or {}
    deployments = [one["name"] for one in values.get("deployments") or ()]
    if "deployment" in defaults and defaults["deployment"] not in deployments:
        text = f"Default deployment {defaults['deployment']} does not exist."
        yield refusal(text, ("defaults", "deployment"))


def _parameter_refusals(values: Any, required: tuple[str, ...]) -> Iterator[Refusal]:
    if required and "parameters" not in values:
        yield refusal(_INFERENCE_MESSAGE, ("jobType",))
        return
    for name in [name for name in required if name not in values["parameters"]][:1]:
        yield refusal(f"Parameter {name} must be specified for inference job.", ("parameters",))
