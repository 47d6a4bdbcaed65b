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
from pai_lsp.catalog.store import LoadedSource, Store
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
    store.save(server_key(ServerSource(url)), LoadedSource(texts=texts, skipped=skipped, etag="etag"))
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
    command = [sys.executable, "-m", "benchmarks.catalog_probe", source, str(ROUNDS)]
    ended = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    figures: dict[str, Any] = json.loads(ended.stdout)
    assert figures["definitions"] == DEFINITIONS
    assert figures["found"] == "found"
    assert figures["items"] > 0
    return figures


if __name__ == "__main__":
    print("\n".join(measure()))
