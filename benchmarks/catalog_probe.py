"""Reads a catalog and asks it: `python -m benchmarks.catalog_probe SOURCE ROUNDS` prints the figures as JSON.

It runs in a process of its own, so that what it holds in memory is only its own.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

from benchmarks.memory import kilobytes

if TYPE_CHECKING:
    from collections.abc import Callable

_JOB = """\
protocolVersion: 2
name: bench
type: job
prerequisites: [{name: image, type: dockerimage, uri: "example/image:1.0"}]
taskRoles:
  worker:
    dockerImage: image
    prerequisites: [mine]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [echo hello]
extras:
  reference_prerequisites:
    - name: mine
      require:
        - MARK
"""


def main() -> None:
    """Print the figures; times are in seconds, memory in kilobytes."""
    source, rounds = sys.argv[1], int(sys.argv[2])
    begin = time.perf_counter()
    from pai_lsp.catalog.loading import load_catalog  # noqa: PLC0415 - importing it is measured
    from pai_lsp.catalog.setup import CatalogSetup, DirectorySource, ServerSource  # noqa: PLC0415 - as above
    from pai_lsp.catalog.store import Surroundings  # noqa: PLC0415 - as above
    from pai_lsp.document import Document  # noqa: PLC0415 - as above
    from pai_lsp.ide.completion.complete import complete  # noqa: PLC0415 - as above

    imported = time.perf_counter()
    kind = ServerSource(source) if "://" in source else DirectorySource(source)
    catalog = load_catalog(CatalogSetup(folder="/", sources=(kind,)), Surroundings())
    found = catalog.find("marketplace://name/dataset_77")
    loaded = time.perf_counter()

    def p95(work: Callable[[int], object]) -> float:
        taken = []
        for number in range(rounds):
            start = time.perf_counter()
            work(number)
            taken.append(time.perf_counter() - start)
        return sorted(taken)[int(rounds * 0.95)]

    def completion(number: int) -> int:
        typed = ("", "d", "dataset_", f"dataset_{number}", "marketplace://data/")[number % 5]
        text = _JOB.replace("MARK", typed)
        return len(complete(Document(text, path="job.pai.yaml", lookup=catalog), len(text.rstrip("\n"))))

    figures = {
        "definitions": sum(shelf.count for shelf in catalog.sources),
        "found": found.state.value,
        "start": loaded - begin,
        "load": loaded - imported,
        "find": p95(lambda number: catalog.find(f"marketplace://name/dataset_{number * 97}")),
        "completion": p95(completion),
        "items": completion(3),
        "held": kilobytes("VmRSS"),
        "peak": kilobytes("VmHWM"),
    }
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    main()
