"""What every conversion of an MPIJob answers, and the upgrade of an older MPIJob to kubeflow.org/v2beta1.

Sources: kubeflow/training-operator v1.9.0, pkg/apis/kubeflow.org/v1/mpi_types.go; kubeflow/mpi-operator v0.2.3,
pkg/apis/kubeflow/v1alpha1/types.go and v1alpha2/types.go.
"""

from __future__ import annotations

from copy import deepcopy
from itertools import accumulate
from typing import TYPE_CHECKING

from pai_lsp.embedded.command_lines import quoted_words
from pai_lsp.embedded.shell import read_script
from pai_lsp.mpijob.manifest import GPU, OTHER_OPERATOR, SERVED, is_text
from pai_lsp.source.comments import comments
from pai_lsp.source.foreign import as_list, as_mapping, as_text, as_whole, whole_number
from pai_lsp.source.frozen import dataclass, field
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.writing import value_lines

if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Mapping as MappingOf
    from typing import Any

    from pai_lsp.source.nodes import Syntax

_KEY = lazy_pattern(r"[ \t]*(?:-[ \t]+)*[\"']?([^\s\"'#:][^\"'#:]*)(?:[\"'][ \t]*)?:(?:[ \t]|\r?$)")
_FOR_TOOLS = lazy_pattern(r"#[ \t]*(?:pai-lsp|yaml-language-server)\b")


class ConversionError(Exception):
    """The file cannot be converted: `code` for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class Converted:
    """The new object, and its text.

    lost: what it does not have: paths of the input, each with the reason. comments: for the top of its file.
    """

    result: dict[str, Any]
    lost: dict[str, str] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    text: str = ""

    @property
    def text_with_lost(self) -> str:
        """The text, with what it does not have as comments at its top."""
        return "".join(f"# Not converted: {path}: {reason}\n" for path, reason in self.lost.items()) + self.text


def others_lost(values: MappingOf[str, Any], known: Collection[str], path: str, reason: str) -> dict[str, str]:
    """The keys of a mapping that a conversion does not know."""
    return {f"{path}{name}": reason for name, value in values.items() if name not in known and value is not None}


def manifest_text(values: dict[str, Any]) -> str:
    """A manifest or a job as YAML that Kubernetes, too, reads back as the same values."""
    return "".join(f"{line}\n" for line in value_lines(values, is_text))


def kept_comments(syntax: Syntax) -> list[str]:
    """The comments of the input as lines for the top of the result, each with the key that it explains.

    Comments before the first key have no key; comments for tools are left out.
    """
    lines = syntax.text.splitlines()
    keys = [match[1].strip() if (match := _KEY.match(one)) else None for one in lines]
    # Of each line, the key on it or below.
    following: list[str | None] = [*accumulate(reversed(keys), lambda below, key: key or below)][::-1]
    first = next((number for number, key in enumerate(keys) if key), 0)
    found: list[str] = []
    for comment in comments(syntax):
        text = comment.text.lstrip("#").strip()
        if text and not _FOR_TOOLS.match(comment.text):
            line = syntax.text.count("\n", 0, comment.span.start)
            key = keys[line] if not comment.is_alone else following[line] if line > first else None
            found.append(f"# {key}: {text}" if key else f"# {text}")
    return found


_POLICY = ("cleanPodPolicy", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
_RESTARTS = ("Always", "ExitCode")
_MANAGER = "kubeflow.org/training-operator"
_SSHD = "/usr/sbin/sshd -De"


def upgraded(manifest: dict[str, Any]) -> Converted:
    """The manifest as v2beta1.

    Raises:
        ConversionError: if it cannot be expressed in v2beta1, or is not of an older version.
    """
    old = deepcopy(manifest)
    spec = old.get("spec")
    version = as_text(old.get("apiVersion"))
    if not isinstance(spec, dict) or old.get("kind") != "MPIJob":
        raise ConversionError("not-an-mpijob", "this is not an MPIJob with a 'spec'")
    readers = {
        "kubeflow.org/v1": _from_replicas,
        "kubeflow.org/v1alpha2": _from_replicas,
        "kubeflow.org/v1alpha1": _from_one_template,
        OTHER_OPERATOR: _from_templates,
    }
    if version not in readers:
        raise ConversionError("not-an-older-version", f"'{version or ''}' is not a version that can be upgraded")
    lost: dict[str, str] = {}
    made = {"metadata": old.get("metadata") or {}, "spec": readers[version](spec, lost)}
    return Converted({"apiVersion": SERVED, "kind": "MPIJob", **made}, lost)


def _from_replicas(spec: dict[str, Any], lost: dict[str, str]) -> dict[str, Any]:
    result = {name: value for name, value in spec.items() if name not in (*_POLICY, "mainContainer")}
    policy = _policy(spec) | as_mapping(spec.get("runPolicy"))
    if policy.get("managedBy") == _MANAGER:
        del policy["managedBy"]
    result |= {"runPolicy": policy} if policy else {}
    for name, written in as_mapping(result.get("mpiReplicaSpecs")).items():
        path, replica = f"spec.mpiReplicaSpecs.{name}", as_mapping(written)
        if as_text(replica.get("restartPolicy")) in _RESTARTS:
            lost[f"{path}.restartPolicy"] = "v2beta1 has only Never and OnFailure"
            replica["restartPolicy"] = "OnFailure"
        pod = _pod(replica.get("template"))
        pod.pop("restartPolicy", None)
        main, containers = spec.get("mainContainer"), _containers(pod)
        containers.sort(key=lambda one: one.get("name") != main)
        if name == "Worker":
            if not replica.get("replicas"):
                raise ConversionError("worker-replicas-missing", f"'{path}.replicas' is missing or 0")
            _start_sshd(containers, f"{path}.template.spec.containers[0]", lost)
        elif name == "Launcher" and any(_gpus(one) for one in containers[:1]):
            result["runLauncherAsWorker"] = True
    return result


def _from_one_template(spec: dict[str, Any], lost: dict[str, str]) -> dict[str, Any]:
    units = next((name for name in ("gpus", "processingUnits") if spec.get(name)), None)
    template = as_mapping(spec.get("template"))
    kind = "cpu" if spec.get("processingResourceType") == "cpu" else GPU
    worker, launcher = deepcopy(template), deepcopy(template)
    for one in _containers(_pod(launcher))[:1]:
        resources = as_mapping(one.get("resources"))
        limits = as_mapping(resources.get("limits"))
        limits.pop(GPU, None)
        if "resources" in one and not limits and set(resources) <= {"limits"}:
            del one["resources"]
    workers, slots = spec.get("replicas") or 1, None
    for one in _containers(_pod(worker))[:1]:
        one.pop("command", None)
        one.pop("args", None)
        slots = _gpus(one)
    if units is not None:
        total = as_whole(spec[units]) or 0
        names = (f"{units}PerNode", "gpusPerNode", "processingUnitsPerNode")
        each = as_whole(next((spec[name] for name in names if spec.get(name)), None)) or 0
        if total <= 0 or each <= 0:
            message = f"'{units}' needs '{units}PerNode'; the number was an option of the operator"
            raise ConversionError("gpus-without-gpusPerNode", message)
        workers, slots = (1, total) if total < each else (total // each, each)
        for one in _containers(_pod(worker))[:1]:
            resources = as_mapping(one.get("resources"))
            one["resources"] = {**resources, "limits": {**as_mapping(resources.get("limits")), kind: slots}}
    for pod in (_pod(launcher), _pod(worker)):
        pod.pop("restartPolicy", None)
    if "launcherOnMaster" in spec:
        lost["spec.launcherOnMaster"] = "v2beta1 has no such key; use a nodeSelector"
    policy = _policy(spec)
    return {
        "slotsPerWorker": spec.get("slotsPerWorker") or slots or 1,
        **({"runPolicy": policy} if policy else {}),
        "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "template": launcher},
            "Worker": {"replicas": workers, "template": worker},
        },
    }


def _policy(spec: dict[str, Any]) -> dict[str, Any]:
    return {name: spec[name] for name in _POLICY if spec.get(name) is not None}


def _from_templates(spec: dict[str, Any], lost: dict[str, str]) -> dict[str, Any]:
    launcher: dict[str, Any] = {"replicas": 1, "template": as_mapping(spec.get("launcherTemplate"))}
    template = as_mapping(spec.get("workerTemplate"))
    worker: dict[str, Any] = {"replicas": spec.get("numWorkers") or 1, "template": template}
    policy = _pod(launcher["template"]).pop("restartPolicy", None)
    if as_text(policy) in {"Never", "OnFailure"}:
        launcher["restartPolicy"] = policy
    elif policy is not None:
        lost["spec.launcherTemplate.spec.restartPolicy"] = "v2beta1 has only Never and OnFailure"
    if _pod(template).pop("restartPolicy", None) is not None:
        worker["restartPolicy"] = "OnFailure"
    _start_sshd(_containers(_pod(template)), "spec.workerTemplate.spec.containers[0]", lost)
    return {
        "slotsPerWorker": 1,
        "launcherCreationPolicy": "WaitForWorkersReady",
        "mpiReplicaSpecs": {"Launcher": launcher, "Worker": worker},
    }


def _pod(template: Any) -> dict[str, Any]:
    return as_mapping(as_mapping(template).get("spec"))


def _containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    """The containers of a pod; those of another type are not looked at."""
    containers = as_list(pod.get("containers"))
    return containers if all(isinstance(one, dict) for one in containers) else []


def _gpus(container: dict[str, Any]) -> int | None:
    limits = as_mapping(as_mapping(container.get("resources")).get("limits"))
    return whole_number(str(limits.get(GPU, ""))) or None


def _start_sshd(containers: list[dict[str, Any]], path: str, lost: dict[str, str]) -> None:
    """Let the first container of a worker run the ssh server that v2beta1 needs."""
    for one in containers[:1]:
        words = [*as_list(one.get("command")), *as_list(one.get("args"))]
        if not words or any("sshd" in str(word) for word in words):
            return
        key = "args" if one.get("args") else "command"
        texts = [as_text(word) for word in words]
        script = read_script(texts[-1] or "") if len(texts) > 1 else read_script("")
        if read_script(quoted_words(texts)).last_wait is not None or (len(script.commands) == 1 and script.last_wait):
            one.pop("command", None)
            one.pop("args", None)
        elif wait := script.last_wait:
            one[key][-1] = f"{script.text[: wait.words[0].span.start]}{_SSHD}"
        else:
            lost[f"{path}.{'command' if one.get('command') else 'args'}"] = "no ssh server runs in it"
