"""What a catalog of 10,000 definitions costs: read for the first time, read again, asked, and held in memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pai_lsp.catalog.remote_sources import read_items, server_key
from pai_lsp.catalog.setup import ServerSource
from pai_lsp.catalog.store import Store, Stored
from pai_lsp.source.user_folders import user_cache_folder

DEFINITIONS = 10_000
ROUNDS = 100

_DEFINITION = """\
name: dataset_{number}
type: {type}
summary: The dataset number {number}, unpacked where you say
require:
  - marketplace://name/dataset_{before}
template_variables:
  - name: dataPath
plugin: cmd
plugin_params:
  callbacks:
    - event: taskStarts
      commands:
        - mkdir -p {{{{ dataPath }}}}
        - wget -q https://example.com/{number}.tar.gz -O {{{{ dataPath }}}}/{number}.tar.gz
        - tar -xf {{{{ dataPath }}}}/{number}.tar.gz -C {{{{ dataPath }}}}
"""

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

# Runs in a process of its own, so that what it holds in memory is only its own; prints the figures as JSON.
_PROBE = """
import json, sys, time
begin = time.perf_counter()
from pai_lsp.catalog.setup import CatalogSetup
from pai_lsp.catalog.loading import Surroundings, load_catalog
from pai_lsp.document import Document
from pai_lsp.ide.completion import complete
from pai_lsp.marketplace_settings import DirectorySource, ServerSource
source, job, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
kind = ServerSource(source) if "://" in source else DirectorySource(source)
imported = time.perf_counter()
catalog = load_catalog(CatalogSetup(folder="/", sources=(kind,)), Surroundings())
found = catalog.find("marketplace://name/dataset_77")
loaded = time.perf_counter()
def p95(work):
    taken = []
    for number in range(rounds):
        start = time.perf_counter()
        work(number)
        taken.append(time.perf_counter() - start)
    return sorted(taken)[int(rounds * 0.95)]
def completion(number):
    typed = ("", "d", "dataset_", f"dataset_{number}", "marketplace://data/")[number % 5]
    text = job.replace("MARK", typed)
    return complete(Document(text, path="job.pai.yaml", lookup=catalog), len(text.rstrip("\\n")))
figures = {
    "definitions": sum(shelf.count for shelf in catalog.sources),
    "found": found.state.value,
    "start": loaded - begin,
    "load": loaded - imported,
    "find": p95(lambda number: catalog.find(f"marketplace://name/dataset_{number * 97}")),
    "offers": p95(lambda number: catalog.offers(f"dataset_{number}", 100)),
    "completion": p95(completion),
    "items": len(completion(3)),
}
def kilobytes(name):
    try:
        lines = open("/proc/self/status", encoding="ascii").read().splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith(name))
figures["held"], figures["peak"] = kilobytes("VmRSS"), kilobytes("VmHWM")
print(json.dumps(figures))
"""


def measure() -> list[str]:
    """The table's lines, in Markdown."""
    lines = [
        f"| {DEFINITIONS:,} definitions | first start | next start | find, p95 | completion, p95 | MiB held | peak |",
        "|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = str(Path(folder, "cache"))
        for name, source in (
            ("a folder of as many files", _many_files(Path(folder, "many"))),
            ("a folder with one file", _one_file(Path(folder, "one"))),
            ("a server's answer", _server(Path(folder))),
        ):
            first, again = _probe(source), _probe(source)
            lines.append(
                f"| {name} | {first['start']:.2f} s | {again['start']:.2f} s | {again['find'] * 1e3:.2f} ms |"
                f" {again['completion'] * 1e3:.1f} ms | {again['held'] // 1024} | {again['peak'] // 1024} |"
            )
    return lines


def _definition(number: int) -> str:
    kind = ("data", "script")[number % 2]
    return _DEFINITION.format(number=number, before=max(0, number - 1), type=kind)


def _many_files(folder: Path) -> str:
    folder.mkdir()
    for number in range(DEFINITIONS):
        Path(folder, f"{number}.yaml").write_text(_definition(number), encoding="utf-8")
    # A file that was changed a moment ago is read every time, since it may change again within the same time stamp.
    for file in folder.iterdir():
        os.utime(file, (1_600_000_000, 1_600_000_000))
    return str(folder)


def _one_file(folder: Path) -> str:
    folder.mkdir()
    file = Path(folder, "all.yaml")
    file.write_text("---\n".join(_definition(number) for number in range(DEFINITIONS)), encoding="utf-8")
    os.utime(file, (1_600_000_000, 1_600_000_000))
    return str(folder)


def _server(folder: Path) -> str:
    """A server that was asked once; its answer is in the cache, as it is whenever an editor starts."""
    url = "https://pai.example.com/marketplace/api"
    items = [_item(number) for number in range(DEFINITIONS)]
    texts, skipped = read_items(json.dumps(items).encode(), url)
    store = Store(user_cache_folder({**os.environ, "HOME": str(folder)}))
    store.save(server_key(ServerSource(url)), Stored(texts, {}, "etag", skipped))
    return url


def _item(number: int) -> dict[str, Any]:
    indented = _definition(number).replace("\n", "\n    ").rstrip()
    protocol = f"protocolVersion: 2\ntype: job\nname: item\nprerequisites:\n  - {indented}\ntaskRoles: {{}}\n"
    return {
        "id": f"{number:08}",
        "name": f"Item {number}",
        "protocol": protocol,
        "createdAt": "2021",
        "status": "approved",
    }


def _probe(source: str) -> dict[str, Any]:
    command = [sys.executable, "-c", _PROBE, source, _JOB, str(ROUNDS)]
    ended = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    figures: dict[str, Any] = json.loads(ended.stdout)
    assert figures["definitions"] == DEFINITIONS
    assert figures["found"] == "found"
    assert figures["items"] > 0
    return figures


if __name__ == "__main__":
    print("\n".join(measure()))
