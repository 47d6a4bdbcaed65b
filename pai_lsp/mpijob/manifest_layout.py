"""The parts of an MPIJob that its operator runs: pods, slots, launchers; what several rules ask."""

from __future__ import annotations

from functools import lru_cache

from pai_lsp.findings.diagnostic import Finding, Fix, Severity
from pai_lsp.mpijob.launch import Command, Container, containers
from pai_lsp.mpijob.manifest import OTHER_OPERATOR, Manifest
from pai_lsp.platform.launchers import HYDRA, OPEN_MPI, LaunchLine
from pai_lsp.source.frozen import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pai_lsp.source.text import Span

REPLICAS = "spec.mpiReplicaSpecs"
HOST_FILE = "/etc/mpi/hostfile"


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The parts of a manifest that its operator runs.

    launcher, worker: paths of the pod specifications; workers: how many; slots: of one worker;
    implementation: OpenMPI, Intel or MPICH; works: whether the launcher runs processes too.
    """

    manifest: Manifest
    launcher: str
    worker: str
    workers: int
    slots: int
    implementation: str
    works: bool
    is_other: bool

    @property
    def capacity(self) -> int:
        """How many processes fit."""
        return self.slots * (self.workers + self.works)

    @property
    def launcher_containers(self) -> tuple[Container, ...]:
        """The launcher's containers."""
        return containers(self.manifest, self.launcher)

    @property
    def worker_containers(self) -> tuple[Container, ...]:
        """A worker's containers."""
        return containers(self.manifest, self.worker)

    @property
    def pods(self) -> tuple[tuple[str, str, tuple[Container, ...]], ...]:
        """Both pods: name, path and containers."""
        return (
            ("launcher", self.launcher, self.launcher_containers),
            ("worker", self.worker, self.worker_containers),
        )

    @property
    def starters(self) -> list[tuple[Command, LaunchLine]]:
        """The launchers in the first container, as they read their words."""
        known = OPEN_MPI if self.implementation == "OpenMPI" else HYDRA
        first = self.launcher_containers[:1]
        return [(command, command.launch(known)) for container in first for command in container.launchers]


@lru_cache(maxsize=4)
def layout(manifest: Manifest) -> Layout | None:
    """The parts of a manifest of v2beta1 or of the other operator; None for another one."""
    if manifest.version == OTHER_OPERATOR:
        workers = manifest.number("spec.numWorkers") or 1
        paths = "spec.launcherTemplate.spec", "spec.workerTemplate.spec"
        return Layout(manifest, *paths, workers, 1, "OpenMPI", works=False, is_other=True)
    if not manifest.is_served:
        return None
    written = manifest.get("spec.slotsPerWorker")
    # Of a wrong value nothing follows; -1 is less than any number of slots.
    slots = 1 if written is None else manifest.number("spec.slotsPerWorker")
    slots = -1 if slots is None else slots
    return Layout(
        manifest,
        f"{REPLICAS}.Launcher.template.spec",
        f"{REPLICAS}.Worker.template.spec",
        max(manifest.number(f"{REPLICAS}.Worker.replicas") or 0, 0),
        slots,
        manifest.text("spec.mpiImplementation") or "OpenMPI",
        works=manifest.flag("spec.runLauncherAsWorker"),
        is_other=False,
    )


def finding_at(
    manifest: Manifest, path: str, message: str, severity: Severity | None = None, fixes: tuple[Fix, ...] = ()
) -> Finding:
    """A finding at a path; of a missing key, at the nearest parent."""
    return Finding(manifest.place(path), message, fixes, field=path, severity=severity)


def has_worker(found: Layout) -> bool:
    """Whether there are workers."""
    return found.is_other or found.manifest.get(f"{REPLICAS}.Worker") is not None


def all_containers(manifest: Manifest) -> list[Container]:
    """The containers of both pods."""
    found = layout(manifest)
    return [container for _, _, some in found.pods for container in some] if found else []


def user_of_launcher(found: Layout, container: Container) -> int | None:
    """The user that the launcher's container runs as, where the manifest says it."""
    own = container.value.get("securityContext", "runAsUser")
    pod = found.manifest.get(f"{found.launcher}.securityContext.runAsUser")
    value = own or pod
    return value.content if value is not None and value.kind == "integer" else None


def worker_gpus(manifest: Manifest) -> tuple[Layout, int, Span, str] | None:
    """The GPUs of each worker, with their place and its path."""
    found = layout(manifest)
    if found is None or found.is_other:
        return None
    for container in found.worker_containers[:1]:
        gpus = container.gpus()
        if gpus and gpus[0] > 0:
            group = "limits" if container.value.get("resources", "limits", "nvidia.com/gpu") else "requests"
            return found, gpus[0], gpus[1], f"{container.path}.resources.{group}.nvidia.com/gpu"
    return None
