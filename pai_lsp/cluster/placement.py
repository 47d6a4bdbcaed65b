"""Where the schedulers put the tasks of a job on an empty, healthy cluster.

HiveD places a group of tasks in one chain, greedily and without looking back: the free pieces of the chain from big to
small, used ones first, the tasks from small to big. A cluster without HiveD needs one node for each task.
Source: microsoft/hivedscheduler, pkg/algorithm/topology_aware_scheduler.go, findNodesForPods.
"""

from __future__ import annotations

from pai_lsp.source.frozen import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pai_lsp.cluster.cells import Pieces

# Give up the search for room on nodes after this many steps; then the job counts as one that fits.
_MOST_STEPS = 20_000


@dataclass(slots=True)
class FreePieces:
    """The pieces of one chain while tasks are placed; `used` has the SKUs taken of each."""

    chain: str
    sku_type: str
    sizes: list[int]
    used: list[int] = field(default_factory=list)

    def place(self, tasks: Sequence[int]) -> bool:
        """Place a group of tasks, given by their SKUs; changes nothing if they do not fit together."""
        order = sorted(range(len(self.sizes)), key=lambda number: -self.used[number])
        waiting, taken, at = sorted(tasks), 0, 0
        for number in order:
            taken = 0
            while at < len(waiting) and self.sizes[number] - self.used[number] - taken >= waiting[at]:
                taken += waiting[at]
                at += 1
            if at == len(waiting):
                break
        if at < len(waiting):
            return False
        self._take(order, waiting)
        return True

    def _take(self, order: list[int], waiting: list[int]) -> None:
        at = 0
        for number in order:
            while at < len(waiting) and self.sizes[number] - self.used[number] >= waiting[at]:
                self.used[number] += waiting[at]
                at += 1
        # The view of the scheduler keeps its order between groups.
        self.sizes[:], self.used[:] = [self.sizes[n] for n in order], [self.used[n] for n in order]


def free(pieces: Pieces) -> FreePieces:
    """The pieces with nothing placed."""
    return FreePieces(pieces.chain, pieces.sku_type, list(pieces.sizes), [0] * len(pieces.sizes))


@dataclass(frozen=True, slots=True)
class Need:
    """What a task of a cluster without HiveD needs; memory in MiB."""

    gpu: float
    cpu: float
    memory: float

    def fits(self, room: Need) -> bool:
        """Whether there is that much room."""
        return self.gpu <= room.gpu and self.cpu <= room.cpu and self.memory <= room.memory

    def without(self, other: Need) -> Need:
        """What is left."""
        return Need(self.gpu - other.gpu, self.cpu - other.cpu, self.memory - other.memory)


def rooms(nodes: Sequence[Mapping[str, object]]) -> list[Need]:
    """What each node offers that takes tasks."""
    return [
        Need(float(str(node["gpu"])), float(str(node["cpu"])), float(str(node["memoryMB"])))
        for node in nodes
        if node["ready"] and not node.get("unschedulable")
    ]


def fit_together(tasks: Sequence[tuple[Need, int]], nodes: Sequence[Need]) -> bool:
    """Whether all tasks, each kind with its number, find room on the nodes at the same time."""
    kinds = sorted(tasks, key=lambda one: (one[0].gpu, one[0].memory, one[0].cpu), reverse=True)
    steps = iter(range(_MOST_STEPS))
    return _packed(kinds, tuple(nodes), 0, steps)


def _packed(kinds: list[tuple[Need, int]], left: tuple[Need, ...], first: int, steps: Iterator[int]) -> bool:
    """Place the first kind from node `first` on, in every way; then the others."""
    if not kinds:
        return True
    need, number = kinds[0]
    if number == 0:
        return _packed(kinds[1:], left, 0, steps)
    if next(steps, None) is None:
        return True
    for at in range(first, len(left)):
        most = _most(need, left[at], number)
        # As many as possible first; fewer may leave room for a smaller kind.
        for count in range(most, 0, -1):
            taken = Need(need.gpu * count, need.cpu * count, need.memory * count)
            rest = (*left[:at], left[at].without(taken), *left[at + 1 :])
            if _packed([(need, number - count), *kinds[1:]], rest, at + 1, steps):
                return True
    return False


def _most(need: Need, room: Need, number: int) -> int:
    count = 0
    while count < number and need.fits(room):
        room = room.without(need)
        count += 1
    return count
