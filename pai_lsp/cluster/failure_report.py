"""What a pasted text reports about a failed task, and which line of the job led to it.

The texts are the end of a log, the portal's diagnostics, an event, or an answer. Their shapes: the portal's summary
(`[Exit Diagnostics]`, `code: N`), `PodFailed matched: {json}`, the block that the runtime writes between
`[PAI_RUNTIME_ERROR_START]` and `[PAI_RUNTIME_ERROR_END]`, the log of the first container (`child process is X, exit
code is N`), events of the scheduler, and plain ends of logs.
Sources: openpai-runtime, src/init and go/cmd/exithandler; rest-server, models/v2/job/k8s.js, generateExitDiagnostics.

The line is that of the command that failed, or of the key to change. The runtime writes the commands of a role into one
script after a header, so `user.sh: line N` is line N - 24 of the commands. Source: openpai-runtime,
runtime.d/user.sh; the header is the same on LTP.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

from pai_lsp.platform.tables import RUNTIME_PLUGIN, converted_role_name, exit_codes
from pai_lsp.source.foreign import as_mapping, as_text, as_whole, json_beginning, mappings_in, number_of
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Scalar, entry_at, nodes_along, scalar_text, value_at, walk
from pai_lsp.source.text import LineIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeAlias

    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.source.nodes import Node

    Place: TypeAlias = "Callable[[FailureReport, Job, TaskRole], Node | None]"

_UNKNOWN_FAILURE = 255
_CHILD = re.compile(r"child process is (\w+), exit code is (\d+)")
_POD = re.compile(r"matched:\s*(\{.*\})", re.DOTALL)
# The rest-server writes the same as YAML. Source: models/v2/utils/frameworkConverter.js, generateExitDiagnostics.
_POD_IN_YAML = "matched:\n"
_RUNTIME_BLOCK = re.compile(r"\[PAI_RUNTIME_ERROR_START\](.*?)\[PAI_RUNTIME_ERROR_END\]", re.DOTALL)
_CODE = re.compile(r"^\s*(?:code|containerExitCode|exitCode|exitcode|exit code)\s*[:=]\s*(-?\d+)\s*$", re.MULTILINE)
_ORIGINAL_CODE = re.compile(r"originUserExitCode:\s*(\d+)")
_ROLE = re.compile(r"task ?role(?: ?name)?['\"]?\s*[:=\[]\s*['\"]?([A-Za-z0-9_]+)", re.IGNORECASE)
_PASSED_ON = frozenset({130, 131, 132, 134, 135, 136, 137, 139, 141, 143})
# What the first container makes of the exit codes of its steps (openpai-runtime, src/init, exit_handler).
_INIT_CODES = {
    ("FRAMEWORK_BARRIER", 200): 250,
    ("FRAMEWORK_BARRIER", 201): 251,
    ("FRAMEWORK_BARRIER", 210): 252,
    ("PORT_CONFLICT_CHECKER", 10): 253,
}
# Reasons of pods and their codes (microsoft/pai src/k8s-job-exit-spec/config/k8s-job-exit-spec.yaml).
_POD_REASONS = {
    "evicted": -1000,
    "nodelost": -1001,
    "preempting": -1003,
    "deadlineexceeded": -1004,
    "forbidden": -1005,
    "unexpectedadmissionerror": -1006,
    "unknownreason": -1006,
    "invalidnodeinfo": -1006,
    "unexpectedpredicatefailuretype": -1006,
}
_START_CODES: dict[int | None, int] = {125: -1201, 126: -1202, 127: -1203, 128: -1204}
_NOT_FOUND = re.compile(r"not found|cannot find|no such", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FailureReport:
    """What is known of a failure.

    code: as the portal shows it; None where the text does not say, as for an event.
    user_code: the exit code of the commands. child: the failed step of the first container.
    pod: what Kubernetes reports about the pod. role: the converted name of the task role that triggered the end.
    """

    text: str
    code: int | None
    user_code: int | None
    child: str | None
    pod: dict[str, Any] | None
    role: str | None


def read_report(text: str, end: bytes, exit_code: int | None, platform_log: str = "") -> FailureReport:
    """What the text reports, whose end is `end`; `exit_code` and `platform_log` of the task where they are known."""
    role = match[1] if (match := _ROLE.search(text)) else None
    pod = _pod(text)
    if child := _CHILD.search(text):
        return FailureReport(text, _init_code(child[1], number_of(child[2])), None, child[1], pod, role)
    if exit_code is not None:
        return FailureReport(text, container_code(exit_code, end, platform_log), exit_code, None, pod, role)
    written = _CODE.search(text)
    code = _pod_code(pod) if pod is not None else number_of(written[1]) if written else None
    return FailureReport(text, code, _user_code(text), None, pod, role)


def container_code(exit_code: int, user_log: bytes, platform_log: str = "") -> int:
    """The code that the runtime gives a task whose commands ended with `exit_code`.

    user_log: the end of the log, as much as the runtime searches. The runtime takes the first code that matches; the
    code 128, which asks the GPU, cannot be known here.
    """
    if exit_code == 0:
        return 0
    lower = user_log.lower()
    for code, known in exit_codes().items():
        for pattern in known.patterns:
            if (
                pattern.exit_code in {None, exit_code}
                and (pattern.user_log is None or _is_in(pattern.user_log, user_log, lower))
                and (pattern.platform_log is None or re.search(pattern.platform_log, platform_log))
            ):
                return code
    return _UNKNOWN_FAILURE


_LITERAL = re.compile(r"[^\\.^$*+?{}\[\]|()]+")


def _is_in(pattern: str, text: bytes, lower: bytes) -> bool:
    """Whether a pattern of the runtime occurs; it is asked only where the longest words of its parts are.

    All of them are words in a row of one line, with `.*` between, in any case.
    """
    parts = pattern.partition(")")[2].lower().split(".*")
    words = (max(_LITERAL.findall(part), key=len, default="") for part in parts)
    return all(word.encode() in lower for word in words) and re.search(pattern.encode(), text) is not None


def _init_code(child: str, exit_code: int) -> int:
    if child == "DOCKER_IMAGE_CHECKER":
        return 254
    if exit_code in _PASSED_ON:
        return exit_code
    return _INIT_CODES.get((child, exit_code), 1)


def _user_code(text: str) -> int | None:
    if block := _RUNTIME_BLOCK.search(text):
        text = block[1]
    original = _ORIGINAL_CODE.search(text)
    return number_of(original[1]) if original else None


def _pod(text: str) -> dict[str, Any] | None:
    if found := _POD.search(text):
        return json_beginning(found[1]) or None
    _, _, written = text.partition(_POD_IN_YAML)
    return (written and _from_yaml(written)) or None


def _from_yaml(text: str) -> dict[str, Any]:
    """The mapping that a text begins with; the sections of the portal after it begin with other characters."""
    from pai_lsp.source.nodes import plain_value  # noqa: PLC0415 - most texts have none
    from pai_lsp.source.syntax import parse  # noqa: PLC0415 - as above

    lines = takewhile(lambda line: not line or line[0].islower() or line[0] in " -", text.splitlines())
    return as_mapping(plain_value(parse("\n".join(lines)).root))


def _reason(reported: dict[str, Any]) -> str:
    return (as_text(reported.get("reason")) or "").lower()


def _pod_code(pod: dict[str, Any]) -> int | None:
    """The code by the pod's reason, in the order of the exit specification."""
    reason = _reason(pod)
    if reason in _POD_REASONS:
        return _POD_REASONS[reason]
    if re.fullmatch(r"outof\S+", reason):
        return -1002
    containers = mappings_in(pod.get("containers"))
    if killed := [one for one in containers if _reason(one) == "oomkilled"]:
        return -1300 if any((as_text(one.get("name")) or "").lower() == "init" for one in killed) else -1200
    for one in containers:
        if _reason(one) == "containercannotrun":
            code = _START_CODES.get(as_whole(one.get("code")))
            return -1203 if code == -1204 and _NOT_FOUND.search(as_text(one.get("message")) or "") else code
    return next((code for one in containers if (code := as_whole(one.get("code")))), -300)


HEADER_LINES = 24
_SCRIPT_LINE = re.compile(r"user\.sh: line (\d+):")
_PLUGIN_FILE = re.compile(r"/plugins/([^/']+)")
_PYTHON_FILE = re.compile(r'File "([^"]+\.py)"|can\'t open file \'([^\']+)\'')
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./=:@+-]{2,}")
_PINNED = re.compile(r"pinned cell (\S+)")
_RESOURCE = re.compile(r"\bOutOf(\w[\w./-]*)|Insufficient ([\w./-]+)|enough resource: ([\w./-]+)", re.IGNORECASE)
_SILENT = re.compile(
    r"(?m)(?:^|[;&|]\s*)(?:(?:[ef]?grep|test|diff|cmp|false|expr|let|which|pgrep|exit|read)\b|\[|\(\()"
)
_INSTALL = re.compile(r"\b(?:pip\d?|conda|apt|apt-get|yum|dnf|npm)\b.*\binstall\b")
# What a command of some causes has, and how much that counts.
_HINTS = {
    "broken-pipe": (re.compile(r"\|\s*(?:head|tail|grep|sed|less|more|true|awk)\b"), 8),
    "silent-failure": (_SILENT, 8),
    "unset-variable": (re.compile(r"\bactivate\b"), 20),
}
_COMMAND_LINE = re.compile(r"(?m)^[^\S\n]*([^\s#].*)$")
_PYTHON = re.compile(r"\b(?:python[\d.]*|ipython|jupyter)\b|\.py\b")
# Causes that programs in Python report, or what started them.
_OF_PYTHON = frozenset(
    {
        "python-error", "python-import", "python-version", "package-versions", "gpu-memory", "host-memory", "encoding",
        "shared-memory", "open-files", "process-limit", "file-damaged", "checkpoint-mismatch", "device-assert",
        "gpu-fault", "gpu-library", "gpu-shared", "collective-timeout", "peer-lost", "child-failed", "rendezvous",
        "port-in-use", "nccl-network", "hub-access", "hub-offline", "service-login", "program-crash", "horovod-build",
    }
)  # fmt: skip
# The commands that a kind of cause is about, by the first word of its name.
_SUBJECTS = {
    "package": _INSTALL,
    "needs": _INSTALL,
    "git": re.compile(r"\bgit\b"),
    "ssh": re.compile(r"\b(?:ssh|scp|rsync)\b"),
    "conda": re.compile(r"\bconda\b"),
    "storage": re.compile(r"\b(?:azcopy|hdfs|hadoop|aws|gsutil|blobfuse|rclone)\b"),
}
# The kinds of causes that are about launchers of MPI, too.
_OF_LAUNCHERS = frozenset({"mpi", "ssh"})
# Words of messages that also occur in commands, without a meaning for the place.
_COMMON = frozenset({"error", "line", "file", "python", "from", "import", "the", "usr", "local", "home", "root", "bin"})


def line_of(cause: str, report: FailureReport, job: Job) -> int | None:
    """The line of the job, from 1, to look at; None where no line led to the failure."""
    role = _role(report, job)
    offset = None if role is None or cause in _WITHOUT_LINE else _offset(cause, report, job, role)
    return None if offset is None else LineIndex(job.text).line_of(offset) + 1


def _offset(cause: str, report: FailureReport, job: Job, role: TaskRole) -> int | None:
    if cause in _PLACES:
        places = (_place(place, report, job, role) for place in _PLACES[cause])
        return next((offset for offset in places if offset is not None), None)
    if found := _SCRIPT_LINE.search(report.text):
        offset = script_offset(job, role, number_of(found[1]) - HEADER_LINES)
        if offset is not None:
            return offset
    if cause == "gpu-missing" and report.pod is not None:
        return None
    place = _gpu_missing(report, job, role) if cause == "gpu-missing" else None
    return _command(cause, report.text, job, role) if place is None else place.span.start


def has_silent_command(job: Job, report: FailureReport) -> bool:
    """Whether the role has a command that can fail without a message, such as `grep`, and the exit code fits."""
    role = _role(report, job)
    return role is not None and report.user_code == 1 and bool(_SILENT.search(job.command_text(role).text))


# Causes that no line of a job leads to.
_WITHOUT_LINE = frozenset(
    {
        "node-lost", "waits-nodes", "waits-sandbox", "waits-spec", "port-conflict", "stopped", "gpu-hardware",
        "other-role-ended", "evicted", "priority-class",
    }
)  # fmt: skip


def _role(report: FailureReport, job: Job) -> TaskRole | None:
    """The role that the text names, else the first."""
    named = (role for role in job.task_roles if report.role and converted_role_name(role.name) == report.role.lower())
    return next(named, None) or (job.task_roles[0] if job.task_roles else None)


# --- keys ---


def _place(place: str | Place, report: FailureReport, job: Job, role: TaskRole) -> int | None:
    """The offset of a key; `place`: its path below the task role, or what finds it."""
    if not isinstance(place, str):
        found = place(report, job, role)
        return found.span.start if found is not None else None
    *above, last = place.split(".")
    holders = nodes_along(role.node, above)
    key = _key(holders[-1], last) if len(holders) > len(above) else None
    return key.span.start if key else None


def _key(mapping: Node | None, name: str) -> Node | None:
    entry = entry_at(mapping, name)
    return entry.key if entry else None


def _image(_report: FailureReport, job: Job, role: TaskRole) -> Node | None:
    definition = job.image_of(role)
    return definition.node.get("uri") if definition else None


def _resource(report: FailureReport, _job: Job, role: TaskRole) -> Node | None:
    """The resource that the message names: cpu, memory, or a device of a maker."""
    found = _RESOURCE.search(report.text)
    name = next((one.lower() for one in found.groups() if one), "") if found else ""
    return _key(role.resources, "cpu" if name.startswith("cpu") else "memoryMB" if name.startswith("mem") else "gpu")


def _many_gpus(_report: FailureReport, _job: Job, role: TaskRole) -> Node | None:
    number = getattr(value_at(role.resources, "gpu"), "value", None)
    return _key(role.resources, "gpu") if isinstance(number, int) and number > 1 else None


def _virtual_cluster(_report: FailureReport, job: Job, _role: TaskRole) -> Node | None:
    return _key(job.mapping("defaults"), "virtualCluster")


def _pinned_cell(report: FailureReport, job: Job, _role: TaskRole) -> Node | None:
    found = _PINNED.search(report.text)
    entries = [entry for one in job.hived_role_entries if (entry := entry_at(one.value, "pinnedCellId"))]
    named = [one for one in entries if found and scalar_text(one.value) == found[1]]
    return next((one.key for one in (*named, *entries)), None)


def _storages(report: FailureReport, job: Job, _role: TaskRole) -> Node | None:
    """The storage that the message names, else the first."""
    names = ((scalar_text(value_at(node, "name")), node) for node in job.storages)
    named = [node for name, node in names if name and name in report.text]
    entry = job.extras_entry("storages")
    return next(iter((*named, *job.storages)), entry.key if entry else None)


def _equal_mounts(report: FailureReport, job: Job, _role: TaskRole) -> Node | None:
    """The second of two storages with one name or one path."""
    if not re.search(r"mountPath|volumes?\b|must be unique|Duplicate", report.text):
        return None
    seen: set[str] = set()
    for node in job.storages:
        name = scalar_text(value_at(node, "name"))
        keys = {name, scalar_text(value_at(node, "mountPath")) or f"/mnt/{name}"}
        if seen & keys:
            return node
        seen |= keys
    return None


def _count(report: FailureReport, job: Job, role: TaskRole) -> Node | None:
    """The count or name that Kubernetes names, such as `minFailedTaskCount`."""
    entry = job.section("jobRetryCount")
    if entry and "spec.retryPolicy" in report.text:
        return entry.key
    if re.search(r"taskRoles\.name|a-z0-9", report.text):
        return role.entry.key
    completion = role.get("completion")
    counts = (
        (completion, "minFailedInstances", "minfailed"),
        (completion, "minSucceededInstances", "minsucceeded"),
        (role.node, "taskRetryCount", "retry"),
    )
    named = ((mapping, name) for mapping, name, word in counts if word in report.text.lower())
    return next((key for mapping, name in named if (key := _key(mapping, name))), None)


def _longest_command(_report: FailureReport, job: Job, _role: TaskRole) -> Node | None:
    parts = [part for role in job.task_roles for part in job.command_parts(role)]
    return max(parts, key=lambda part: len(part.text), default=None)


def _role_name(_report: FailureReport, _job: Job, role: TaskRole) -> Node | None:
    return role.entry.key


def _plugin_name(report: FailureReport, job: Job, _role: TaskRole) -> Node | None:
    found = _PLUGIN_FILE.search(report.text)
    named = [plugin.node for plugin in job.plugins if found and plugin.plugin == found[1]]
    defined = ((one.node, scalar_text(one.node.get("plugin"))) for one in job.prerequisites)
    return next(iter((*named, *(node for node, name in defined if found and name.endswith(f".{found[1]}")))), None)


def _plugin_quotes(_report: FailureReport, job: Job, _role: TaskRole) -> Node | None:
    """The first text in plugin parameters with both kinds of quotes, which the runtime cannot read."""
    entry = job.extras_entry(RUNTIME_PLUGIN)
    prerequisites = [one.node for one in job.prerequisites if one.node.get("plugin") is not None]
    texts = (one for node in (*([entry.value] if entry else ()), *prerequisites) for one in walk(node))
    return next((one for one in texts if isinstance(one, Scalar) and "'" in one.text and '"' in one.text), None)


def _plugin(report: FailureReport, job: Job, _role: TaskRole) -> Node | None:
    """The plugin that the message names, else the first."""
    named = [plugin.node for plugin in job.plugins if plugin.plugin and plugin.plugin in report.text]
    return next(iter((*named, *(plugin.node for plugin in job.plugins))), None)


def _ssh_barrier(_report: FailureReport, job: Job, _role: TaskRole) -> Node | None:
    plugins = [plugin for plugin in job.plugins if plugin.plugin == "ssh"]
    keys = (entry.key for plugin in plugins if (entry := plugin.parameter("sshbarrier")))
    return next(iter((*keys, *(plugin.node for plugin in plugins))), None)


def _zero_port(_report: FailureReport, job: Job, _role: TaskRole) -> Node | None:
    labels = (label for role in job.task_roles for label in role.port_labels)
    return next((one.key for one in labels if isinstance(one.value, Scalar) and one.value.value == 0), None)


_OF_IMAGE = ("image-without-bash", "image-name", "image-not-found", "registry-login", "waits-image", "gpu-driver")
# For each cause, the keys to change, of which the job's first one counts.
_PLACES: dict[str, tuple[str | Place, ...]] = {
    "host-memory": ("resourcePerInstance.memoryMB",),
    **dict.fromkeys(_OF_IMAGE, (_image,)),
    "resources": (_resource,),
    "waits-capacity": (_many_gpus, "instances", "resourcePerInstance.gpu"),
    "gang-timeout": ("instances", "resourcePerInstance.gpu"),
    "waits-vc": (_virtual_cluster,),
    "waits-pinned": (_pinned_cell,),
    "waits-storage": (_storages,),
    "pod-refused": (_equal_mounts,),
    "job-refused-late": (_count, "instances"),
    "job-too-large": (_longest_command,),
    "job-ended-by-rule": ("completion.minSucceededInstances", "completion", _role_name),
    "job-failed-by-rule": ("completion.minFailedInstances", "completion", _role_name),
    "plugin-unknown": (_plugin_name,),
    "plugin-parameters": (_plugin_quotes, _plugin),
    "ssh-barrier": (_ssh_barrier,),
    "ports-zero": (_zero_port, "resourcePerInstance.ports"),
}


def _gpu_missing(report: FailureReport, job: Job, role: TaskRole) -> Node | None:
    """The key `gpu` if no GPU is requested; the image for packages without CUDA."""
    entry = entry_at(role.resources, "gpu")
    is_zero = entry is not None and isinstance(entry.value, Scalar) and entry.value.value == 0
    if entry and (is_zero or re.search(r"invalid device ordinal", report.text, re.IGNORECASE)):
        return entry.key
    is_of_image = re.search(r"not compiled with CUDA|libcuda", report.text, re.IGNORECASE)
    return _image(report, job, role) if is_of_image else None


# --- commands ---


def script_offset(job: Job, role: TaskRole, number: int) -> int | None:
    """The offset of line `number`, from 1, of the role's commands; the last line for one after the end."""
    text = job.command_text(role)
    lines = text.text.split("\n")
    if number < 1:
        return None
    number = min(number, len(lines))
    start = sum(len(line) + 1 for line in lines[: number - 1])
    return text.span(start, start + len(lines[number - 1])).start if lines[number - 1] else text.offset(start)


def _command(cause: str, text: str, job: Job, role: TaskRole) -> int | None:
    """The offset of the line of the commands that the message fits best; None if it fits none of several."""
    mapped = job.command_text(role)
    lines = [(found.start(1), found[1].rstrip()) for found in _COMMAND_LINE.finditer(mapped.text)]
    score, start = max(((_score(cause, text, line), start) for start, line in lines), default=(0.0, 0))
    return mapped.offset(start) if score or len(lines) == 1 else None


def _score(cause: str, text: str, line: str) -> float:
    """How well a line of the commands fits a message."""
    from pai_lsp.platform.programs import TRAINING, launchers  # noqa: PLC0415 - only with a job

    score = 0.0
    for found in _PYTHON_FILE.finditer(text):
        name = (found[1] or found[2]).rpartition("/")[2]
        if name and name in line:
            score += 10
    words = {word.strip("./:=") for word in _WORD.findall(text)} - _COMMON
    score += sum(1 + len(word) / 10 for word in words if len(word) > 2 and _occurs(word, line))
    program = re.match(r"\s*(?:\S+/)?([\w.+-]+):", text.strip().splitlines()[-1] if text.strip() else "")
    if program and re.search(rf"(?:^|[\s|;&(/]){re.escape(program[1])}(?:\s|$)", line):
        score += 5
    pattern, points = _HINTS.get(cause, (None, 0))
    if pattern is not None and pattern.search(line):
        score += points
    if cause == "python-import" and "shared object" in text and _INSTALL.search(line):
        score += 8
    if cause in _OF_PYTHON and (_PYTHON.search(line) or _names(line, (*TRAINING, *launchers()))):
        score += 2
    subject = cause.partition("-")[0]
    of_subject = _SUBJECTS.get(subject)
    if (of_subject is not None and of_subject.search(line)) or (subject in _OF_LAUNCHERS and _names(line, launchers())):
        score += 4
    return score


def _names(line: str, programs: Iterable[str]) -> bool:
    """Whether a line has the name of a program as a word."""
    return any(_occurs(name, line) for name in programs if name in line)


def _occurs(word: str, line: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])", line) is not None
