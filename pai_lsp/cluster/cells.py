"""The cells of HiveD: which cells a virtual cluster has, and how many SKUs they hold.

A cell is a group of SKUs that belong together, such as a GPU, a PCIe switch, a node or a rack. All physical cells with
one top type form a chain; a virtual cluster has cells of chains, and cells that the administrator pinned to it.
Source: microsoft/hivedscheduler, pkg/algorithm/config.go and pkg/api/config.go.
"""

from __future__ import annotations

from functools import cached_property

from pai_lsp.source.frozen import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


@dataclass(frozen=True, slots=True)
class Pieces:
    """Cells that the scheduler fills one by one: the number of SKUs in each, in its order, and their SKU type.

    chain: the top cell type of the chain they belong to.
    """

    chain: str
    sku_type: str
    sizes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells that HiveD's configuration describes; `document` is `hivedscheduler.config` as YAML reads it."""

    document: Mapping[str, Any]

    def has_virtual_cluster(self, name: str) -> bool:
        """Whether the scheduler has the virtual cluster."""
        return name in self.document["virtualClusters"]

    def skus(self, virtual_cluster: str) -> dict[str, int]:
        """The number of SKUs of a virtual cluster by type, pinned cells included."""
        found: dict[str, int] = {}
        for cell_type, number in self._cells_of(virtual_cluster):
            sku_type = self._leaf(cell_type)
            found[sku_type] = found.get(sku_type, 0) + number * self._size(cell_type)
        return found

    def pinned(self, virtual_cluster: str) -> dict[str, Pieces]:
        """The pinned cells of a virtual cluster by their identifier."""
        names = [one["pinnedCellId"] for one in self._entry(virtual_cluster).get("pinnedCells") or ()]
        return {
            name: self._pieces(chain, [(cell_type, 1)])
            for name in names
            if (found := self._pinned.get(name))
            for chain, cell_type in (found,)
        }

    def chains(self, virtual_cluster: str) -> list[Pieces]:
        """The pieces of a virtual cluster that are not pinned, one entry a chain."""
        by_chain: dict[str, list[tuple[str, int]]] = {}
        for one in self._entry(virtual_cluster).get("virtualCells") or ():
            path = one["cellType"].split(".")
            if one["cellNumber"]:
                by_chain.setdefault(path[0], []).append((path[-1], one["cellNumber"]))
        return [self._pieces(chain, cells) for chain, cells in by_chain.items()]

    def physical_chains(self) -> list[Pieces]:
        """The pieces of the whole cluster, one entry a chain."""
        numbers: dict[str, int] = {}
        for cell in self.document["physicalCells"]:
            numbers[cell["cellType"]] = numbers.get(cell["cellType"], 0) + 1
        return [self._pieces(chain, [(chain, number)]) for chain, number in numbers.items()]

    def _entry(self, virtual_cluster: str) -> Mapping[str, Any]:
        entry: Mapping[str, Any] | None = self.document["virtualClusters"].get(virtual_cluster)
        return entry or {}

    def _cells_of(self, virtual_cluster: str) -> Iterator[tuple[str, int]]:
        entry = self._entry(virtual_cluster)
        for one in entry.get("virtualCells") or ():
            if one["cellNumber"]:
                yield one["cellType"].split(".")[-1], one["cellNumber"]
        for one in entry.get("pinnedCells") or ():
            if found := self._pinned.get(one["pinnedCellId"]):
                yield found[1], 1

    @cached_property
    def _pinned(self) -> dict[str, tuple[str, str]]:
        """By identifier, the chain and the type of a pinned cell, which may be at any level."""
        found: dict[str, tuple[str, str]] = {}

        def visit(cell: Mapping[str, Any], cell_type: str, chain: str) -> None:
            if cell.get("pinnedCellId"):
                found[cell["pinnedCellId"]] = (chain, cell_type)
            child = self._types.get(cell_type, {}).get("childCellType", "")
            for one in cell.get("cellChildren") or ():
                visit(one, one.get("cellType") or child, chain)

        for cell in self.document["physicalCells"]:
            visit(cell, cell["cellType"], cell["cellType"])
        return found

    @property
    def _types(self) -> Mapping[str, Mapping[str, Any]]:
        types: Mapping[str, Mapping[str, Any]] = self.document["cellTypes"]
        return types

    def _leaf(self, cell_type: str) -> str:
        seen: set[str] = set()
        while cell_type in self._types and cell_type not in seen:
            seen.add(cell_type)
            cell_type = self._types[cell_type]["childCellType"]
        return cell_type

    def _size(self, cell_type: str) -> int:
        size, seen = 1, set[str]()
        while cell_type in self._types and cell_type not in seen:
            seen.add(cell_type)
            size *= self._types[cell_type]["childCellNumber"]
            cell_type = self._types[cell_type]["childCellType"]
        return size

    def _pieces(self, chain: str, cells: list[tuple[str, int]]) -> Pieces:
        """The cells cut down to nodes; a cell below a node, or of a type without nodes, stays whole.

        Source: microsoft/hivedscheduler, pkg/algorithm/topology_aware_scheduler.go, newClusterView.
        """
        sizes: list[int] = []
        for cell_type, number in cells:
            parts, size = self._nodes(cell_type)
            sizes += [size] * (parts * number)
        return Pieces(chain, self._leaf(chain), tuple(sorted(sizes, reverse=True)))

    def _nodes(self, cell_type: str) -> tuple[int, int]:
        """How many nodes a cell has, and the SKUs of each."""
        parts, current, seen = 1, cell_type, set[str]()
        while current in self._types and current not in seen:
            if self._types[current].get("isNodeLevel"):
                return parts, self._size(current)
            seen.add(current)
            parts *= self._types[current]["childCellNumber"]
            current = self._types[current]["childCellType"]
        return 1, self._size(cell_type)
