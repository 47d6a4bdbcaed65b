"""What the MPI operator refuses in a stored MPIJob: an event `ValidationError`, and nothing starts.

Source: kubeflow/mpi-operator v0.8.2, pkg/apis/kubeflow/validation/validation.go (`ValidateMPIJob`) and
pkg/apis/kubeflow/v2beta1/default.go.
"""

from __future__ import annotations

from pai_lsp.findings.fixes import choice_fixes
from pai_lsp.mpijob.structure import Fault
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.mpijob.manifest import Manifest

_LABEL = lazy_pattern(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_CLEAN = ("None", "Running", "All")
_MANAGERS = ("kubeflow.org/mpi-operator", "kueue.x-k8s.io/multikueue")
_RESTART = ("Never", "OnFailure")
_REPLICAS = "spec.mpiReplicaSpecs"
_LONGEST = 63


def admission_faults(manifest: Manifest) -> Iterator[Fault]:
    """What ValidateMPIJob refuses."""
    yield from _name(manifest)
    for path in ("spec.slotsPerWorker", *(f"spec.runPolicy.{name}" for name in _COUNTS)):
        number = manifest.number(path)
        if number is not None and number < 0:
            yield _refused(manifest, path, f"{number} is below 0")
    for path, allowed in (("spec.runPolicy.cleanPodPolicy", _CLEAN), ("spec.runPolicy.managedBy", _MANAGERS)):
        yield from _one_of(manifest, path, allowed)
    replicas = manifest.get(_REPLICAS)
    if replicas is None:
        if manifest.get("spec") is None:
            yield _refused(manifest, _REPLICAS, "'spec.mpiReplicaSpecs' is missing")
        return
    if replicas.kind != "object":
        return
    if replicas.get("Launcher") is None:
        yield _refused(manifest, f"{_REPLICAS}.Launcher", f"'{_REPLICAS}' has no 'Launcher'")
    for name in ("Launcher", "Worker"):
        spec = replicas.get(name)
        if spec is not None and spec.kind == "object":
            yield from _replica(manifest, name)


_COUNTS = ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")


def _refused(manifest: Manifest, path: str, message: str, choices: tuple[str, ...] = ()) -> Fault:
    span = manifest.place(path)
    message = f"{message}; the operator refuses the job and nothing starts"
    return Fault("refused", path, span, message, choice_fixes(span, choices))


def _one_of(manifest: Manifest, path: str, allowed: tuple[str, ...], *, empty: bool = False) -> Iterator[Fault]:
    text = manifest.text(path)
    if text is not None and text not in allowed and not (empty and not text):
        hint = did_you_mean(text, allowed)
        yield _refused(manifest, path, f"'{text}' is not supported{hint}, only {' and '.join(allowed)}", allowed)


def _replica(manifest: Manifest, name: str) -> Iterator[Fault]:
    path = f"{_REPLICAS}.{name}"
    count, written = manifest.number(f"{path}.replicas"), manifest.get(f"{path}.replicas")
    if written is None or written.kind == "integer":
        if name == "Launcher" and count not in {None, 1}:
            yield _refused(manifest, f"{path}.replicas", f"a job has exactly 1 launcher, not {count}")
        if name == "Worker" and (count is None or count <= 0):
            found = "'replicas' is missing, which means 0" if count is None else f"{count} is below 1"
            yield _refused(manifest, f"{path}.replicas", f"{found}; a job with 'Worker' needs at least 1 worker")
    yield from _one_of(manifest, f"{path}.restartPolicy", _RESTART, empty=True)
    template = manifest.get(f"{path}.template")
    if template is not None and template.kind != "object":
        return
    spec = manifest.get(f"{path}.template.spec")
    if spec is not None and spec.kind != "object":
        return
    containers = manifest.get(f"{path}.template.spec.containers")
    is_empty = containers is not None and containers.kind == "array" and not containers.content
    if spec is None or is_empty:
        yield _refused(manifest, f"{path}.template.spec.containers", f"'{name}' has no container")


def _name(manifest: Manifest) -> Iterator[Fault]:
    name = manifest.text("metadata.name")
    if not name:
        prefix = manifest.text("metadata.generateName")
        if not prefix:
            return
        field, name = "metadata.generateName", f"{prefix[:58]}aaaaa"
    else:
        field = "metadata.name"
    count = manifest.number(f"{_REPLICAS}.Worker.replicas") or 1
    pod = f"{name}-worker-{max(count, 1) - 1}"
    if len(pod) > _LONGEST:
        yield _refused(manifest, field, f"the pod '{pod[:80]}' has {len(pod)} characters, more than {_LONGEST}")
    elif not _LABEL.fullmatch(pod):
        yield _refused(
            manifest, field, f"'{name}' must begin with a lower-case letter and have only letters, digits and '-'"
        )
