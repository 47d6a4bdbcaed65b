"""`make bench-hostile`: searches for small texts that take long, in every reader and every command.

Each reader has pieces that its grammar is made of. A text is one piece many times: alone, a line each, numbered, or
nested. It is made a quarter as long as a cluster takes, and if it might pass a limit then, as long as that. The search
fails where the longer one takes more CPU time or memory than the limits below, or grows faster than its length. What
seems to is measured again, as other processes disturb the figures; the least time counts. `--write` puts the slowest
into docs/reliability.md; `--count N` takes every Nth text.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from io import StringIO
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

PAGE = Path("docs/reliability.md")
BEGIN, END = "<!-- hostile -->\n", "<!-- /hostile -->\n"
# The rest-server refuses longer jobs (openpai, rest-server, express' body-parser: 100 kB).
MOST_BYTES = 102_400
MOST_SECONDS, MOST_MEBIBYTES, MOST_GROWTH = 1.0, 150, 5.0
KILLED_AFTER = 10
# Below so many seconds, the growth is that of the start.
_SLOW = 0.25
_LISTED = 25
# How often what is beyond a limit is measured.
_ATTEMPTS = 3
# A quarter of the longest text that takes less is harmless: four times the length may take sixteen times as long.
_HARMLESS_SECONDS, _HARMLESS_MEBIBYTES = 0.06, 100

_HEAD = """\
protocolVersion: 2
name: hostile
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "a/b:1"}
"""
_ROLE = """\
taskRoles:
  worker:
    instances: 2
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 1}
"""
_MANIFEST = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: m}
spec:
  slotsPerWorker: 1
  mpiReplicaSpecs:
    Worker: {replicas: 2, template: {spec: {containers: [{name: w, image: i}]}}}
    Launcher:
      template:
        spec:
          containers:
"""
# A cluster of one node; NODES and CLUSTERS stand for what the search writes there.
_PROFILE = """\
{"profileVersion": 1, "name": "lab", "platform": "openpai", "scheduler": "hived", "storages": STORAGES,
 "user": {"name": "a", "virtualClusters": ["default"], "storages": []},
 "hived": {"skuTypes": {SKUS "G": {"gpu": 1, "cpu": 4, "memory": "8Gi"}},
  "cellTypes": {CELLS "N": {"childCellType": "G", "childCellNumber": 4, "isNodeLevel": true}},
  "physicalCells": [NODES {"cellType": "N"}],
  "virtualClusters": {CLUSTERS "default": {"virtualCells": [{"cellType": "N", "cellNumber": 1}]}}}}
"""


@dataclass(frozen=True)
class Text:
    """A text to try: a name, the kind of file, and the text with `count` pieces."""

    name: str
    kind: str
    make: Callable[[int], str]

    @lru_cache(maxsize=4)  # noqa: B019 - each text is made for one task of a process
    def of_length(self, most: int) -> str:
        """The longest one of at most so many characters."""
        low, high = 1, 2
        while len(self.make(high)) < most and high < most:
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if len(self.make(middle)) < most else (low, middle)
        return self.make(low)


def job(*, prerequisites: str = "", role: str = "", commands: str = "      - echo hi\n", rest: str = "") -> str:
    """A job with lines in some places."""
    return f"{_HEAD}{prerequisites}{_ROLE}{role}    commands:\n{commands}{rest}"


def profile(place: str = "", text: str = "") -> str:
    """A cluster's profile with entries in one place."""
    found = _PROFILE
    for name in _CLUSTER:
        written = text if name == place else ""
        found = found.replace(name, f"{{{written.rstrip(', ')}}}" if name == "STORAGES" else written, 1)
    return found


def _script(text: str) -> str:
    return job(commands="      - |\n" + "".join(f"        {line}\n" for line in text.split("\n")))


def _numbered(piece: str, count: int) -> str:
    return "".join(piece.replace("№", str(number)) for number in range(count))


def _in(frame: Callable[[str], str], piece: str) -> Callable[[int], str]:
    return lambda count: frame(_numbered(piece, count))


def _nested(frame: Callable[[str], str], before: str, after: str, inner: str = "x") -> Callable[[int], str]:
    return lambda count: frame(before * count + inner + after * count)


# bash: what a script is made of; each is repeated on one line, and a line each with its number.
_WORDS = (
    *(
        '"',
        "'",
        "`",
        "\\",
        "$(",
        "$((",
        "${",
        "${a:-",
        "{ ",
        "( ",
        "((",
        "[[ ",
        "; ",
        "& ",
        "| ",
        "<<A ",
        "<<<a ",
        "<(",
    ),
    *("a=(", "$'", '$"', "{a,", "@(a|", "((1+", "case a in a) ", "if a; then ", "for i in a; do ", "while a; do ", "#"),
    *(
        "f() { ",
        "*?[",
        "~",
        "! ",
        "time ",
        "coproc ",
        "<% $parameters.a %>",
        "<% ",
        "{{ a }}",
        "{{ ",
        "$a ",
        ">a ",
        "=",
    ),
    *("$PAI_HOST_IP_worker_0 ", "a=1 ", "export A=1; ", "a && b || c; ", "-p ", "--x=1 ", "http://a:b@c/d ", "@", "%}"),
    *(
        "${a[",
        "${a/",
        "${#",
        "${!",
        "let a=1; ",
        'eval "',
        "bash -c '",
        "a) b;; ",
        "\t",
        "\u00a0",
        "😀",
        "\\\n        ",
    ),
    *("-H a:1,", "-x A ", "--mca a b ", "-np 1 a : ", "--password a ", "api_key=abcdefgh12 ", "-H 'X: a' ", "eyJ"),
)
_PAIRS = (
    *(
        ("$(", ")"),
        ("$((", "))"),
        ("${a:-", "}"),
        ("{ ", "; }"),
        ("( ", " )"),
        ('"$(', ')"'),
        ("{a,", "}"),
        ("a[", "]"),
    ),
    *(("if a; then ", "; fi"), ("while a; do ", "; done"), ("case a in a) ", ";; esac"), ("f() { ", "; }"), ("`", "`")),
    *(
        ("[[ ( ", " ) ]]"),
        ("cat <(", ")"),
        ("$(( a ? ", " : 1 ))"),
        ('bash -c "$(', ')"'),
        ("@(", ")"),
        ("((( ", ")))"),
    ),
)
_LINES = (
    *("cat <<'E№'\nx\nE№\n", "cat <<E\n", "mpirun -np 4 -H a№:1,b:2 python a\n", "torchrun --nnodes 2 t№.py\n"),
    *("horovodrun -np 4 -H a№:1 python a\n", "deepspeed --hostfile h№ a\n", "pip install a№==1\n", "cd a№\n"),
    *("apt-get install a№\n", "wget http://a/b№\n", "git clone http://a/b№\n", "export A№=$B№\n", "f№() { a; }; f№\n"),
    *("export A_KEY№=abcdefgh1234\n", "alias a№=b\n", "source a№\n", "set -e№\n", "trap 'a№' EXIT\n", "a№ &\nwait\n"),
    *("if [ $a№ -eq 1 ]; then b; fi\n", "for i№ in 1 2; do echo $i№; done\n", "read -r a№ <<<b\n", "unset a№; a $a№\n"),
    *("echo $PAI_PORT_LIST_worker_0_p№\n", "curl -H 'Authorization: Bearer abc№' http://a\n", "ssh worker-№ ls\n"),
    *("NCCL_SOCKET_IFNAME=eth№ python a --lr $L\n", "(cd a№; b)\n", "mkdir -p /a№; cp b /a№/\n", "a№=1\n[ $a№ ]\n"),
    *("echo <% $parameters.p№ %>\n", "echo <% $secrets.p№ %>\n", "echo <% $data.uri[№] %>\n", "echo <% this.a№ %>\n"),
    *("docker login -u a -p b# c\n", "[[ $a =~ ^b№ ]] && c\n", 'python -c "print(№)"\n', "a№ \\\n", "a \"b 'c\n"),
)
# YAML below a key of `extras`.
_NODES = (
    *("  a№: 1\n", "  a: 1\n", "  a№: &x 1\n", "  a№: *x\n", "  a№: !!int 1\n", "  a№: !!python/x 1\n", '  a№: "b\n'),
    *(
        "  a№: 'b\n",
        "  a№: b\n   c: d\n",
        "  a№ b\n",
        "  a№:b\n",
        "\ta№: b\n",
        "  ? a№\n  : b\n",
        "  -a№\n",
        "  a№: |\n",
    ),
    *("  a№: >\n   b\n", "  # c\n", "  a№: b  # pai-lsp: ignore[unknown-key]\n", "---\na: 1\n", "<<<<<<< a\n=======\n"),
    *("  a№: 1:30\n", "  a№: 2001-01-01\n", "  a№: 0x№\n", "  a№: 1_0\n", "  a№: {<<: *x}\n", "%YAML 1.2\n"),
)
_FLOW = (
    ("{a: ", "}"),
    ("[", "]"),
    ("[a, ", "]"),
    ("{? a : ", "}"),
    ("- ", ""),
    ("!!int ", ""),
    ("&a ", ""),
    ("'' : ", ""),
)
# Parts of a job: prerequisites, keys of a role, keys of the job.
_DEFINITIONS = (
    *("  - {type: script, name: same}\n", "  - {type: script, name: s№}\n", "  - {type: script}\n", "  - a\n", "  -\n"),
    *("  - {type: dockerimage, name: image, uri: a}\n", "  - {type: dockerimage, name: i№, uri: 'h:5000/a№/b:1'}\n"),
    *("  - {type: data, name: d№, uri: [http://a/№, b]}\n", "  - {type: script, name: s№, require: [s№]}\n"),
    *("  - {type: script, name: s№, callbacks: [{event: taskStrts, comands: [echo №]}]}\n", "  - {name: a№}\n"),
    *("  - {type: script, name: s№, callbacks: [{event: taskStarts, commands: ['<% this.a№ %>']}]}\n",),
    *("  - {type: script, name: s№, template_variables: [{name: a№}], requireStorages: [{name: '{{ a№ }}'}]}\n",),
    *("  - {type: script, name: s№, require: ['marketplace://name/x№']}\n",),
)
_ROLE_KEYS = (
    *("    ky№: 1\n", "    ky№: 1 # pai-lsp: ignore[unknown-key]\n", "    instances: 1\n", "    <<: *x\n"),
    *("    taskNumber: №\n", "    prerequisites: [s№]\n", "    completion: {a№: 1}\n"),
)
_SECTIONS = (
    *("key№: 1\n", "prerequisits№: 1\n", "taskRole: 1\n", "parameters: {p№: 1}\n", "# pai-lsp: ignore[x]\n", "# c\n"),
    *("# pai-lsp: ignore\n", "# pai-lsp: ignore-file[unknown-key]\n", "# pai-lsp: platform=ltp\n", "  w№: {a: 1}\n"),
    *("  w№:\n    dockerImage: imag№\n    commands: [a]\n", "secrets: {p№: abcdefgh№}\n", "deployments: [{name: d}]\n"),
)
_PLUGINS = (
    *(
        "{plugin: cmd, parameters: {preCommands: [echo №]}}",
        "{plugin: ssh, parameters: {jobssh: true}}",
        "{plugin: x№}",
    ),
    *("{plugin: git, parameters: {repo: http://a/№, options: ['-a \"']}}", "{plugin: ssh, taskroles: [wrkr№]}", "5"),
    *(
        "{plugin: teamwise_storage, parameters: {storageConfigNames: [s№]}}",
        "{plugin: tensorboard, parameters: {a№: b}}",
    ),
)
_IMAGES = ("a/", "a-", "a.", "a__", "a:", "A", "a@", "é", "a:1@")
_CONTAINERS = (
    *(
        "          - {name: c№, image: i}\n",
        "            imge№: x\n",
        "            image: x\n",
        "            args: [a№]\n",
    ),
    *(
        "          - {name: c, image: i, command: [mpirun, -np, '№', a]}\n",
        "          - {env: [{name: A№, value: b}]}\n",
    ),
    *("          - {resources: {limits: {memory: №Gi}}}\n", "          - {volumeMounts: [{name: v, mountPath: /a}]}\n"),
)
_CLUSTER = {
    "SKUS": '"s№": {"gpu": 1, "cpu": 1, "memory": "1Gi"}, ',
    "CELLS": '"c№": {"childCellType": "G", "childCellNumber": 1}, ',
    "NODES": '{"cellType": "N"}, ',
    "CLUSTERS": '"v№": {"virtualCells": [{"cellType": "N", "cellNumber": 1}]}, ',
    "STORAGES": '"s№": {}, ',
}
_LOG = (
    *("ModuleNotFoundError: No module named 'a№'\n", "a№: command not found\n", "Traceback (most recent call last):\n"),
    *(
        '  File "a№.py", line №, in b\n',
        "RuntimeError: CUDA out of memory. №\n",
        "NCCL WARN a№\n",
        "x",
        " ",
        "Killed\n",
    ),
    *(
        "Permission denied (publickey).\n",
        "bash: line №: a: No such file or directory\n",
        "exitcode: №\n",
        "[1,№]<stdout>: ",
    ),
)
_IGNORED = ("**/a", "*a", "a/", "!a№\n", "[a-z]", "a№\n", "**/", "?", "\\a", "**/a№/*b*c*d\n")


def texts() -> Iterator[Text]:
    """All texts of the search."""

    def below_extras(text: str) -> str:
        return job(rest=f"extras:\n  x: &x {{k: 1}}\n{text}")

    def plugins(text: str) -> str:
        return job(rest=f"extras:\n  com.microsoft.pai.runtimeplugin:\n{text}")

    def value(text: str) -> str:
        return job(rest=f"extras: {text}\n")

    for piece in _WORDS:
        yield Text(f"bash {piece!r}", "job", _in(_script, piece))
        yield Text(f"bash lines {piece!r}", "job", _in(_script, f"a {piece}\n"))
        yield Text(f"commands {piece!r}", "job", _in(lambda text: job(commands=text), f"      - {piece} b\n"))
    for before, after in _PAIRS:
        yield Text(f"bash {before!r} in itself", "job", _nested(_script, before, after))
        yield Text(f"bash lines {before!r} in itself", "job", _nested(_script, f"{before}\n", f"\n{after}"))
    for piece in _LINES:
        yield Text(f"bash {piece!r}", "job", _in(_script, piece))
    for piece in _NODES:
        yield Text(f"YAML {piece!r}", "job", _in(below_extras, piece))
    for before, after in _FLOW:
        yield Text(f"YAML {before!r} in itself", "job", _nested(value, before, after))
        yield Text(f"YAML {before!r} left open", "job", _nested(value, before, ""))
    for piece in _DEFINITIONS:
        yield Text(f"prerequisites {piece!r}", "job", _in(lambda text: job(prerequisites=text), piece))
        yield Text(f"definitions {piece!r}", "definitions", _in(lambda text: text, piece[2:]))
    for piece in _ROLE_KEYS:
        yield Text(f"task role {piece!r}", "job", _in(lambda text: job(role=text), piece))
    for piece in _SECTIONS:
        yield Text(f"job {piece!r}", "job", _in(lambda text: job(rest=text), piece))
    for piece in _PLUGINS:
        yield Text(f"plugins {piece!r}", "job", _in(plugins, f"    - {piece}\n"))
    for piece in _IMAGES:
        yield Text(f"image {piece!r}", "job", _in(lambda text: job().replace("a/b:1", f"{text}!"), piece))
    yield Text("names that are listed", "job", lambda n: job(role=f"    prerequisites: [{', '.join(['image'] * n)}]\n"))
    yield Text(
        "aliases of a command",
        "job",
        lambda n: job(commands="      - &c echo <% $parameters.a %>\n" + "      - *c\n" * n),
    )
    yield Text("aliases of a role", "job", lambda n: job(rest="  x: &x {commands: [a]}\n" + _numbered("  w№: *x\n", n)))
    yield Text("a chain of requirements", "job", _chain)
    for piece in _CONTAINERS:
        yield Text(f"MPIJob {piece!r}", "manifest", _in(lambda text: _MANIFEST + text, piece))
    for piece in _WORDS:
        yield Text(f"MPIJob bash {piece!r}", "manifest", _in(_launcher, piece.replace("'", "''")))
    for place, piece in _CLUSTER.items():
        yield Text(f"profile {piece!r}", "profile", _in(partial(profile, place), piece))
    for piece in _LOG:
        yield Text(f"log {piece!r}", "log", _in(lambda text: text, piece))
    for piece in _IGNORED:
        yield Text(f".gitignore {piece!r}", "gitignore", _in(lambda text: text, piece))
        yield Text(
            f"exclude {piece!r}",
            "configuration",
            _in(lambda text: f"exclude: ['{text.strip()}']\n".replace("\n!", "!"), piece),
        )


def _launcher(text: str) -> str:
    return f"{_MANIFEST}          - {{name: a, image: i, command: [bash, -c, '{text}']}}\n"


def _chain(count: int) -> str:
    names = "".join(
        f"  - {{type: script, name: s{one}, v{one}: h, require: [s{one - 1 if one else ''}]}}\n" for one in range(count)
    )
    commands = ", ".join(f"'<% this.v{one} %>'" for one in range(count))
    callbacks = f"[{{event: taskStarts, commands: [{commands}]}}]"
    last = f"  - {{type: script, name: z, require: [s{count - 1}], callbacks: {callbacks}}}\n"
    return job(prerequisites=names + last, role="    prerequisites: [z]\n")


# The command lines for each kind of file; `server` stands for the slowest answer to an editor.
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "job": (
        *(
            ("check", "FILE"),
            ("check", "--diff", "FILE"),
            ("expand", "--force", "FILE"),
            ("graph", "--format", "dot", "FILE"),
        ),
        *(("convert", "--to", "mpijob", "FILE"), ("fit", "--cluster", "PROFILE", "FILE"), ("server",)),
    ),
    "definitions": (("check", "FILE"), ("server",)),
    "manifest": (("check", "FILE"), ("check", "--diff", "FILE"), ("convert", "--to", "pai", "FILE"), ("server",)),
    "profile": (("fit", "--cluster", "FILE", "JOB"),),
    "log": (("why", "FILE"),),
    "gitignore": (("check", "--show-files", "FOLDER"),),
    "configuration": (("check", "--config", "FILE", "JOB"),),
}
_ENDINGS = {"job": "hostile.pai.yaml", "profile": "hostile.json", "log": "hostile.log", "gitignore": ".gitignore"}


@dataclass(frozen=True)
class Figures:
    """CPU seconds and peak memory in MiB of one command; `fault` is what it raised.

    seconds: of the whole command, or of the server's slowest answer. total: of all its answers, by which growth is
        measured: the places where the server is asked are not alike in texts of two lengths.
    """

    seconds: float
    total: float
    mebibytes: int
    fault: str = ""


def main() -> int:
    """Search, print what is beyond a limit, and write the slowest when asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--write", action="store_true", help=f"write the slowest to {PAGE} too")
    parser.add_argument("--count", type=int, default=1, metavar="N", help="try every Nth text (default: %(default)s)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="how many processes (default: %(default)s)"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="texts whose name contains one of these; default: all")
    arguments = parser.parse_args()
    chosen = [
        number
        for number, one in enumerate(texts())
        if not arguments.names or any(name in one.name for name in arguments.names)
    ][:: arguments.count]
    beyond = runs = 0
    found: list[tuple[float, str]] = []
    with tempfile.TemporaryDirectory() as name, _pool(arguments.jobs, name) as pool:
        for rows in pool.map(tried, chosen):
            for seconds, row, is_beyond in rows:
                runs += 1
                if row:
                    found.append((seconds, row))
                if is_beyond:
                    beyond += 1
                    sys.stdout.write(f"{row}\n")
                    sys.stdout.flush()
    sys.stdout.write(f"{len(chosen)} texts, {runs} runs, {len(found)} with the longest text, {beyond} beyond a limit\n")
    if arguments.write:
        lines = ["", "| text, command | CPU s | MiB | growth |", "|---|---|---|---|"]
        lines += [row for _, row in sorted(found, reverse=True)[:_LISTED]]
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(before + BEGIN + "\n".join([*lines, "", ""]) + END + rest.partition(END)[2], encoding="utf-8")
    return 1 if beyond else 0


def _pool(processes: int, folder: str) -> ProcessPoolExecutor:
    os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_STATE_HOME"] = os.environ["XDG_CACHE_HOME"] = folder
    return ProcessPoolExecutor(processes, get_context("fork"), _start, (Path(folder),))


def _start(parent: Path) -> None:
    """Give a process a folder of its own, and load what all commands load."""
    folder = parent / str(os.getpid())
    folder.mkdir()
    os.chdir(folder)
    _warm(folder)


def tried(number: int) -> list[tuple[float, str, bool]]:
    """Try the text of this number with each command: CPU seconds, the row of the table, and whether it is too much.

    The row is empty if the longest text was not tried.
    """
    text = next(islice(texts(), number, None))
    return [_tried(text, words) for words in COMMANDS[text.kind]]


def _tried(text: Text, words: tuple[str, ...]) -> tuple[float, str, bool]:
    folder = Path.cwd()
    short = text.of_length(MOST_BYTES // 4)
    first = measured(folder, text.kind, short, words)
    if not first.fault and first.mebibytes < _HARMLESS_MEBIBYTES and not _may_be_slow(text, words, first):
        return first.seconds, "", False
    long = text.of_length(MOST_BYTES)
    figures = measured(folder, text.kind, long, words)
    growth, quarter = 0.0, first.total
    if figures.seconds > _SLOW:
        for _ in range(_ATTEMPTS - 1):
            growth = figures.total / max(quarter, 0.01)
            if figures.fault or (figures.seconds <= MOST_SECONDS and growth <= MOST_GROWTH):
                break
            figures = min(figures, measured(folder, text.kind, long, words), key=lambda one: (one.fault, one.seconds))
            quarter = min(quarter, measured(folder, text.kind, short, words).total)
        growth = figures.total / max(quarter, 0.01)
    title = f"{text.name}, {' '.join(words[:2])}".replace("|", "¦")
    row = f"| `{title}` | {figures.seconds:.2f} | {figures.mebibytes} | {growth:.1f} | {figures.fault}".strip()
    is_slow = figures.seconds > MOST_SECONDS or figures.mebibytes > MOST_MEBIBYTES
    return figures.seconds, row, is_slow or growth > MOST_GROWTH or bool(figures.fault)


def _may_be_slow(text: Text, words: tuple[str, ...], figures: Figures) -> bool:
    """Whether a text four times as long as one that takes so long may be beyond a limit."""
    if figures.seconds < _HARMLESS_SECONDS:
        return False
    shorter = measured(Path.cwd(), text.kind, text.of_length(MOST_BYTES // 16), words)
    growth = figures.total / max(shorter.total, 0.01)
    return growth > MOST_GROWTH or figures.seconds * max(growth, 4) > MOST_SECONDS


def run(folder: Path, kind: str, text: str, words: tuple[str, ...]) -> tuple[float, float]:
    """Run one command on a text, in this process; returns the `seconds` and the `total` of its `Figures`."""
    file = folder / _ENDINGS.get(kind, "hostile.yaml")
    if words == ("server",):
        return ask_server(text, str(file))
    from pai_lsp.cli.main import OBJECTS_BEFORE_COLLECTION  # noqa: PLC0415 - after the tests have set the environment
    from pai_lsp.cli.main import main as pai_lsp  # noqa: PLC0415 - as above

    gc.set_threshold(OBJECTS_BEFORE_COLLECTION)

    places = {"FILE": str(file), "FOLDER": str(folder), "JOB": str(folder / "small.pai.yaml")}
    places["PROFILE"] = str(folder / "small.json")
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    begin = time.process_time()
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()), suppress(SystemExit):
        pai_lsp([places.get(word, word) for word in words])
    seconds = time.process_time() - begin
    return seconds, seconds


def ask_server(text: str, path: str) -> tuple[float, float]:
    """Answer each request of an editor about a text, two places each; CPU seconds of the slowest and of all answers.

    The check of the text is one of them, and comes first.
    """
    from lsprotocol import types as lsp  # noqa: PLC0415 - as above
    from pygls.exceptions import JsonRpcException  # noqa: PLC0415 - as above

    from pai_lsp.lsp.answers import DOCUMENT_ANSWERS  # noqa: PLC0415 - as above
    from pai_lsp.lsp.client import Client  # noqa: PLC0415 - as above
    from pai_lsp.lsp.code_actions import resolved_action  # noqa: PLC0415 - as above
    from pai_lsp.lsp.documents import OpenDocument  # noqa: PLC0415 - as above
    from pai_lsp.lsp.language_server import COLLECTION_THRESHOLDS  # noqa: PLC0415 - as above

    gc.set_threshold(*COLLECTION_THRESHOLDS)

    able = lsp.CodeActionClientCapabilities(  # as most editors
        code_action_literal_support=lsp.ClientCodeActionLiteralOptions(lsp.ClientCodeActionKindOptions([])),
        disabled_support=True,
        data_support=True,
        resolve_support=lsp.ClientCodeActionResolveOptions(["edit"]),
    )
    client = Client(lsp.ClientCapabilities(text_document=lsp.TextDocumentClientCapabilities(code_action=able)))
    document = OpenDocument(f"file://{path}", 1, "yaml", text, path, client)
    times = [0.0]
    for offset in (len(text) // 2, len(text) - 1):
        at = document.places.position(offset)
        context = SimpleNamespace(
            diagnostics=[], only=None, trigger_kind=1, trigger_character=None, include_declaration=True
        )
        asked = SimpleNamespace(
            position=at,
            positions=[at],
            range=lsp.Range(at, at),
            context=context,
            options=lsp.FormattingOptions(2, True),
            new_name="renamed",
            ch=":",
            item=None,
        )
        for method, answer in DOCUMENT_ANSWERS.items():
            if method.endswith("/resolve") or (method.startswith("callHierarchy") and not asked.item):
                continue
            found: Any = None
            begin = time.process_time()
            with suppress(JsonRpcException):
                found = answer(document, asked)
                if method == lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY and found:
                    asked.item = found[0]
            times.append(time.process_time() - begin)
            actions = found if method == lsp.TEXT_DOCUMENT_CODE_ACTION and found else ()
            for action in [one for one in actions if isinstance(one, lsp.CodeAction) and one.data]:
                begin = time.process_time()
                with suppress(JsonRpcException):
                    resolved_action(document, action)
                times.append(time.process_time() - begin)
    return max(times), sum(times)


def prepared(folder: Path) -> None:
    """The small files beside the text, and a deep folder."""
    (folder / "small.pai.yaml").write_text(job(), encoding="utf-8")
    (folder / "small.json").write_text(profile(), encoding="utf-8")
    deep = folder.joinpath(*["a"] * 40)
    deep.mkdir(parents=True, exist_ok=True)
    (folder / ".git").mkdir(exist_ok=True)
    (deep / "a.yaml").write_text("a: 1\n", encoding="utf-8")


def _warm(folder: Path) -> None:
    """Load what all commands load, so that each measured run has only the text to read."""
    prepared(folder)
    for kind, commands in COMMANDS.items():
        for words in commands:
            run(folder, kind, job() if kind != "gitignore" else "b\n", words)


def measured(folder: Path, kind: str, text: str, words: tuple[str, ...]) -> Figures:
    """Run one command in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        most = KILLED_AFTER * 3 if words == ("server",) else KILLED_AFTER  # the answers of a server are many
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
        seconds, total, fault = 0.0, 0.0, ""
        try:
            seconds, total = run(folder, kind, text, words)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is reported
            fault = repr(error)[:100]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        os.write(writing, f"{seconds} {total} {memory} {fault}".encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        answer = stream.read().decode().split(" ", 3)
    os.waitpid(child, 0)
    if len(answer) < 4:
        return Figures(KILLED_AFTER, KILLED_AFTER, 0, "killed")
    return Figures(float(answer[0]), float(answer[1]), int(answer[2]), answer[3])


if __name__ == "__main__":
    sys.exit(main())
