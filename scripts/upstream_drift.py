"""Compares checkouts of the platforms with our tables, and prints every difference: a release is then data entry.

    upstream_drift.py [--pai DIR] [--runtime DIR] [--ltp DIR] [--mpi-operator DIR] [--nccl DIR] [--program NAME FILE]...

--pai is a checkout of microsoft/pai, --runtime one of microsoft/openpai-runtime, --ltp one of microsoft/ltp-platform,
branch `dev`, which holds its own runtime, scheduler and controller. --mpi-operator is one of kubeflow/mpi-operator,
--nccl one of NVIDIA/nccl. --program compares the options of a program of schemas/programs.json with a file: its source
in Python or C, or its help as text. Other versions have further options, so only those are reported that the table
lacks.

A line names the platform and its branch, the file, the entry and the difference. Nothing of a checkout is run. Ends
with 0 without a difference, with 1 if there are some, and with 2 if a checkout cannot be read.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from pai_lsp.platform.job_schema import field, fields
from pai_lsp.platform.platforms import OPENPAI, Platform, platform_named
from pai_lsp.platform.programs import program
from pai_lsp.platform.tables import ExitPattern, exit_codes, released_events, table

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCHEMAS = Path(__file__).parent.parent / "schemas"
_SERVER = "src/rest-server/src"
_SCHEMA = "config/v2/protocol.js"
_POD = "models/v2/job/k8s.js"
_ENVIRONMENT = "models/v2/job/runtime-env.js"
_EXIT_CODES = "src/k8s-job-exit-spec/config/k8s-job-exit-spec.yaml"
_LTP_RUNTIME = "src/openpai-runtime/src/src"
_LTP_CONTROLLER = "src/frameworkcontroller/src/pkg"
_MPIJOB = "manifests/base/kubeflow.org_mpijobs.yaml"
_RETRIES = {
    "ALWAYS_RETRY": "always",
    "ALWAYS_BACKOFF_RETRY": "backoff",
    "RETRY_TO_MAX": "limited",
    "NEVER_RETRY": "never",
}
# The runtime asks the GPU for these; our table has patterns of texts only.
_ASKS_GPU = {128: {"nvidiaDoubleEccError": True}}
# The sources of the programs whose messages `pai-lsp why` recognizes.
_WRITERS = {
    "hivedscheduler": "src/hivedscheduler/src",
    "frameworkcontroller": "src/frameworkcontroller/src",
    "openpai-runtime": "src/openpai-runtime/src",
    "rest-server": "src/rest-server/src",
}
# A place for a value in a text of Go, Python or JavaScript.
_PLACE = re.compile(r"%[+#]?[a-zA-Z]|\{\}|\$\{[^}]*\}")
_VARIABLE = re.compile(r"\b(?:PAI|FC|AZCOPY)_[A-Z][A-Z_]*")
_PARAMETER = re.compile(r"""parameters(?:\[|\.get\()["'](\w+)["']|["'](\w+)["'] (?:not )?in parameters\b""")
_NESTED = re.compile(r"""\w+(?:\[|\.get\()["'](\w+)["']""")
_EVENT = re.compile(r"""["'](task[A-Z]\w+|container[A-Z]\w+)["']""")
_SHARED_MEMORY = re.compile(r"\bshmMB = (\d+);")
_BRANCH = re.compile(r"ref: refs/heads/(\S+)|([0-9a-f]{10})")


class UnreadableCheckoutError(Exception):
    """A file of a checkout is missing, or has another form than this script knows."""


@dataclass(frozen=True)
class Checkout:
    """The root of a repository."""

    root: Path

    @property
    def branch(self) -> str:
        """Its branch or commit; empty if it has no git directory."""
        git = self.root / ".git"
        if git.is_file():
            git = Path(git.read_text(encoding="utf-8").removeprefix("gitdir: ").strip())
        head = git / "HEAD"
        found = _BRANCH.match(head.read_text(encoding="utf-8")) if head.is_file() else None
        return (found[1] or found[2]) if found else ""

    def read(self, path: str) -> str:
        """The text of a file."""
        return _read(self.root / path)

    def texts(self, folder: str, *endings: str) -> dict[str, str]:
        """The files below a folder with one of the endings, by their paths."""
        files = (one for one in sorted((self.root / folder).rglob("*")) if one.suffix in endings and one.is_file())
        return {one.relative_to(self.root).as_posix(): _read(one) for one in files}


def drift(server: Checkout, runtime: Checkout | None, plugins: str, platform: Platform) -> Iterator[tuple[str, str]]:
    """The differences of one platform, each with the file that it is about.

    plugins: the folder of the runtime's sources below its root.

    Raises:
        UnreadableCheckoutError: if a file cannot be read.
    """
    schema = f"{_SERVER}/{_SCHEMA}"
    yield from ((schema, f"schema: {line}") for line in _schema_drift(server.read(schema), platform))
    pod = server.read(f"{_SERVER}/{_POD}")
    if (found := _SHARED_MEMORY.search(pod)) and int(found[1]) != platform.shared_memory:
        yield f"{_SERVER}/{_POD}", f"defaults: shared memory is {found[1]} MiB, not {platform.shared_memory}"
    yield from ((_EXIT_CODES, f"exit codes: {line}") for line in _exit_drift(server.read(_EXIT_CODES)))
    texts = {f"{_SERVER}/{_ENVIRONMENT}": server.read(f"{_SERVER}/{_ENVIRONMENT}"), f"{_SERVER}/{_POD}": pod}
    if runtime is not None:
        yield from ((file, f"plugins: {line}") for file, line in _plugin_drift(runtime, f"{plugins}/plugins", platform))
        texts |= runtime.texts(plugins, ".py", ".sh") | server.texts(f"{_LTP_CONTROLLER}/apis", ".go")
        yield from ((file, f"environment: {line}") for file, line in _variable_drift(texts, platform))


# --- the schema of a job ---


def _schema_drift(text: str, platform: Platform) -> Iterator[str]:
    base, schema = _literal(text, "baseSchema"), _literal(text, "protocolSchema")
    yield from _compared(schema, (), None, base, platform)


def _literal(text: str, name: str) -> dict[str, Any]:
    """An object literal of JavaScript; without comments, the literals of a schema are YAML as well."""
    start = text.find(f"const {name} = {{")
    if start < 0:
        raise UnreadableCheckoutError(f"{_SCHEMA} has no 'const {name} = {{'")
    start = text.index("{", start)
    text = re.sub(r"^\s*//.*$", "", text[start:], flags=re.MULTILINE)
    depth = 0
    for number, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            try:
                value = yaml.safe_load(text[: number + 1])
            except yaml.YAMLError as error:
                raise UnreadableCheckoutError(f"'{name}' in {_SCHEMA}: {error}") from None
            return dict(value)
    raise UnreadableCheckoutError(f"'{name}' in {_SCHEMA} has no end")


def _compared(
    schema: dict[str, Any], path: tuple[str | int, ...], kind: str | None, base: dict[str, Any], platform: Platform
) -> Iterator[str]:
    """The differences below `path`; `kind` is the type of the prerequisite that it is in."""
    schema = _resolved(schema, base)
    for part in schema.get("oneOf", ()):
        types = _resolved(part, base).get("properties", {}).get("type", {}).get("enum", [None])
        yield from _compared(part, path, types[0], base, platform)
    properties = {key: value for key, value in schema.get("properties", {}).items() if value is not False}
    for value in schema.get("patternProperties", {}).values():
        yield from _compared(value, (*path, "*"), kind, base, platform)
    if isinstance(schema.get("items"), dict):
        yield from _compared(schema["items"], (*path, 0), kind, base, platform)
    for key, value in properties.items():
        yield from _key_drift(_resolved(value, base), (*path, key), kind, key in schema.get("required", ()), platform)
        yield from _compared(value, (*path, key), kind, base, platform)
    if properties and schema.get("additionalProperties") is False:
        ours = fields(path, prerequisite_type=kind, platform=platform)
        gone = sorted({str(one.key) for one in ours if one.enforced_by == "rest-server"} - properties.keys())
        yield from (f"{_name((*path, key))}: only in our table" for key in gone)


def _resolved(schema: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """The schema with what it refers to."""
    if "$merge" in schema:
        inner, merged = schema["$merge"]["with"], {**base, **schema["$merge"]["with"]}
        merged["properties"] = {**base["properties"], **inner.get("properties", {})}
        return merged
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return dict(base["properties"].get(name, {}))
    return schema


def _key_drift(
    value: dict[str, Any], path: tuple[str | int, ...], kind: str | None, is_required: bool, platform: Platform
) -> Iterator[str]:
    ours = field(path, prerequisite_type=kind, platform=platform)
    if ours is None:
        yield f"{_name(path)}: not in our table"
        return
    types = value.get("type", ())
    types = {types} if isinstance(types, str) else set(types)
    if types and ours.types and types != set(ours.types):
        yield f"{_name(path)}: type {' or '.join(sorted(types))}, not {' or '.join(sorted(ours.types))}"
    values = {str(one) for one in value.get("enum", ())}
    if values and kind is None and values != set(ours.values):
        yield f"{_name(path)}: values {', '.join(sorted(values))}, not {', '.join(sorted(ours.values)) or 'any'}"
    if is_required != ours.required:
        yield f"{_name(path)}: {'required, not optional' if is_required else 'optional, not required'}"


def _name(path: tuple[str | int, ...]) -> str:
    return ".".join("[]" if isinstance(step, int) else step for step in path)


# --- the other tables ---


def _exit_drift(text: str) -> Iterator[str]:
    theirs = {entry["code"]: entry for entry in (yaml.safe_load(text) or {}).get("spec", ())}
    ours = exit_codes()
    for code in sorted(theirs.keys() | ours.keys()):
        if code not in ours:
            yield f"{code}: '{theirs[code].get('phrase')}' is not in our table"
        elif code not in theirs:
            yield f"{code}: only in our table"
        else:
            yield from _code_drift(code, theirs[code])


def _code_drift(code: int, entry: dict[str, Any]) -> Iterator[str]:
    ours = exit_codes()[code]
    if entry.get("phrase") != ours.phrase:
        yield f"{code}: phrase '{entry.get('phrase')}', not '{ours.phrase}'"
    if (retry := _RETRIES.get(entry.get("reaction", ""))) and retry != ours.retry:
        yield f"{code}: retried {retry}, not {ours.retry}"
    patterns = (entry.get("pattern") or {}).get("runtimeContainerPatterns") or ()
    asked = next((one["gpuInfo"] for one in patterns if "gpuInfo" in one), None)
    if asked != _ASKS_GPU.get(code):
        yield f"{code}: asks the GPU for {asked}, not {_ASKS_GPU.get(code)}"
    found = [
        ExitPattern(one.get("exitCode"), one.get("userLogRegex"), one.get("platformLogRegex"))
        for one in patterns
        if "gpuInfo" not in one
    ]
    yield from (f"{code}: pattern {_pattern(one)}: not in our table" for one in found if one not in ours.patterns)
    yield from (f"{code}: pattern {_pattern(one)}: only in our table" for one in ours.patterns if one not in found)


def _pattern(one: ExitPattern) -> str:
    parts = (("exit code", one.exit_code), ("user log", one.user_log), ("platform log", one.platform_log))
    return ", ".join(f"{name} {value!r}" for name, value in parts if value is not None)


def _plugin_drift(runtime: Checkout, folder: str, platform: Platform) -> Iterator[tuple[str, str]]:
    texts = runtime.texts(folder, ".py", ".sh", ".yaml")
    theirs = {Path(path).parent.name for path in texts if Path(path).name in {"desc.yaml", "init.py"}}
    for name in sorted(theirs | platform.plugins.keys()):
        if name not in platform.plugins:
            yield f"{folder}/{name}", f"{name}: not in our table"
        elif name not in theirs:
            yield f"{folder}/{name}", f"{name}: only in our table"
        else:
            code = "".join(text for path, text in texts.items() if Path(path).parent.name == name)
            read = {first or second for first, second in _PARAMETER.findall(code)}
            known = {parameter.name for parameter in platform.plugins[name].parameters}
            inner = _inner_parameters(name, platform)
            read |= {one for one in _NESTED.findall(code) if one in inner}
            yield from ((f"{folder}/{name}", f"{name}.{one}: not in our table") for one in sorted(read - known - inner))
            gone = sorted(one for one in (known | inner) - read if not re.search(rf"\b{re.escape(one)}\b", code))
            yield from ((f"{folder}/{name}", f"{name}.{one}: only in our table") for one in gone)
    events = set(_EVENT.findall(texts.get(f"{folder}/cmd/init.py", "")))
    if events and events != set(released_events()):
        listed = f"{', '.join(sorted(events))}, not {', '.join(sorted(released_events()))}"
        yield f"{folder}/cmd/init.py", f"cmd: events {listed}"


def _inner_parameters(name: str, platform: Platform) -> set[str]:
    """The keys of parameters that are mappings, such as `type` of `userssh`."""
    parameters = platform.plugin_table[name]["parameters"].values()
    return {key for one in parameters for key in one.get("properties", {})}


def _variable_drift(texts: dict[str, str], platform: Platform) -> Iterator[tuple[str, str]]:
    theirs = {name.rstrip("_"): path for path, text in texts.items() for name in _VARIABLE.findall(text)}
    ours = {one.name.partition("{")[0].rstrip("_"): one for one in platform.environment_variables}
    yield from ((theirs[name], f"{name}: not in our table") for name in sorted(theirs.keys() - ours.keys()))
    has_controller = any(path.startswith(_LTP_CONTROLLER) for path in texts)
    for name, one in sorted(ours.items()):
        is_elsewhere = one.source.startswith("microsoft/frameworkcontroller") and not has_controller
        if one.status in {"removed", "internal"} or is_elsewhere or not _VARIABLE.fullmatch(name):
            continue
        if name not in theirs:
            yield one.source.partition(" ")[2], f"{name}: only in our table"


def source_drift(checkout: Checkout, repository: str) -> Iterator[tuple[str, str]]:
    """The files that our tables name as sources and that are not there any more."""
    named = re.compile(rf"{repository} (src/[\w./-]*\w)")
    tables = [*_SCHEMAS.glob("*.json"), *_SCHEMAS.glob("platforms/*.json")]
    paths = {path: one.name for one in sorted(tables) for path in named.findall(_read(one))}
    gone = sorted(path for path in paths if not (checkout.root / path).exists())
    yield from ((path, f"sources: {paths[path]} names a file that is gone") for path in gone)


def phrase_drift(checkout: Checkout) -> Iterator[tuple[str, str]]:
    """The messages of LTP's own programs by which `why` recognizes a cause."""
    # No source has the composed ones as they are: they are made of several parts, or by Kubernetes.
    rows = [row for row in table("failure_causes.json")["patterns"] if not row.get("composed")]
    for writer, folder in _WRITERS.items():
        text = "\n".join(checkout.texts(folder, ".go", ".py", ".sh", ".js", "").values())
        written = _PLACE.sub("1", text)
        for row in rows:
            if row["source"].startswith(f"{writer},") and not re.search(row["pattern"], written):
                yield folder, f"failures: no message of '{row['cause']}' is '{row['pattern']}'"


def mpijob_drift(checkout: Checkout) -> Iterator[tuple[str, str]]:
    """The keys of an MPIJob, except for those that our table does not describe; scripts/mpijob_schema.py writes it."""
    definition = yaml.safe_load(checkout.read(_MPIJOB))
    versions = {one["name"]: one["schema"]["openAPIV3Schema"] for one in definition["spec"]["versions"]}
    if "v2beta1" not in versions:
        yield _MPIJOB, "no version v2beta1"
        return
    ours = table("mpijob.schema.json")
    yield from ((_MPIJOB, line) for line in _keys_drift(versions["v2beta1"], ours, ours["$defs"], ()))


def _keys_drift(theirs: dict[str, Any], ours: Any, parts: dict[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    if ours is True or (theirs.get("type") == "object" and len(theirs) == 1):
        return
    ours = parts[ours["$ref"].rpartition("/")[2]] if "$ref" in ours else ours
    if "items" in ours:
        yield from _keys_drift(theirs.get("items", {}), ours["items"], parts, (*path, "[]"))
        return
    name = ".".join(path)
    if ours.get("type", "object") != "object":
        kind = ["string", "integer"] if theirs.get("x-kubernetes-int-or-string") else theirs.get("type")
        if kind != ours["type"]:
            yield f"{name}: {kind}, not {ours['type']}"
    values = theirs.get("enum")
    if values is not None and set(values) != set(ours.get("enum", values)):
        yield f"{name}: values {', '.join(values)}, not {', '.join(ours['enum'])}"
    if set(theirs.get("required", ())) != set(ours.get("required", ())):
        yield f"{name}: requires {', '.join(theirs.get('required', ())) or 'nothing'}"
    if ours.get("additionalProperties"):
        below = ours["additionalProperties"]
        yield from _keys_drift(theirs.get("additionalProperties", {}), below, parts, (*path, "*"))
        return
    properties, keys = theirs.get("properties", {}), ours.get("properties", {})
    yield from (f"{'.'.join((*path, key))}: not in our table" for key in sorted(properties.keys() - keys.keys()))
    if properties:
        yield from (f"{'.'.join((*path, key))}: only in our table" for key in sorted(keys.keys() - properties.keys()))
    for key in sorted(keys.keys() & properties.keys()):
        yield from _keys_drift(properties[key], keys[key], parts, (*path, key))


# --- programs that other projects make ---

_OPTION_OF_C = re.compile(r"\bOPT_\w+\(\s*(?:'(\w)'|0)\s*,\s*\"([\w-]+)\"")
_OPTION = re.compile(r"--?[A-Za-z][\w.-]*")
# At the start of a line: a letter, a name, or both.
_OPTIONS_OF_HELP = re.compile(r"^\s*(-\w\b|--[A-Za-z][\w.-]*)(?:,\s+(--[A-Za-z][\w.-]*))?", re.MULTILINE)
_VARIABLE_OF_NCCL = re.compile(r"""NCCL_PARAM\(\s*\w+,\s*"(\w+)"|(?:getenv|ncclGetEnv)\(\s*"NCCL_(\w+)"\s*\)""")


def program_drift(name: str, file: Path) -> Iterator[tuple[str, str]]:
    """The options of a program that our table does not have."""
    if program(name) is None:
        raise UnreadableCheckoutError(f"schemas/programs.json has no program '{name}'")
    text = _read(file)
    options = _options_of_python(text, file) if file.suffix == ".py" else _options_of_text(text, file)
    # The subcommands of a program define their options in common files.
    others = (one for one in table("programs.json")["programs"] if one.partition(" ")[0] == name.partition(" ")[0])
    ours = {option for one in others if (other := program(one)) for option in other.options}
    missing = sorted(one for one in options if not {one, one.replace("--no-", "--", 1)} & ours)
    yield from ((str(file), f"{name}: {one}: not in our table") for one in missing)


# What defines an option: methods of argparse, of optparse, and classes of pip.
_DEFINES_OPTION = frozenset({"add_argument", "add_option", "Option", "PipOption", "make_option"})


def _options_of_python(text: str, file: Path) -> set[str]:
    """The names in the calls that define an option, such as `add_argument("-m", "--module")`."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise UnreadableCheckoutError(f"{file}: {error}") from None
    found: set[str] = set()
    for call in (one for one in ast.walk(tree) if isinstance(one, ast.Call)):
        # `partial(Option, "--name")` defines one, too.
        called = {getattr(one, "attr", getattr(one, "id", "")) for one in (call.func, *call.args[:1])}
        texts = {one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)}
        if called & _DEFINES_OPTION:
            found |= {one for one in texts if _OPTION.fullmatch(one)}
    return found


def _options_of_text(text: str, file: Path) -> set[str]:
    if file.suffix == ".c":
        pairs = _OPTION_OF_C.findall(text)
        return {f"-{letter}" for letter, _ in pairs if letter} | {f"--{name}" for _, name in pairs}
    return {one for pair in _OPTIONS_OF_HELP.findall(text) for one in pair if one}


def nccl_drift(checkout: Checkout) -> Iterator[tuple[str, str]]:
    """The variables that NCCL reads and our table does not have."""
    known = set(table("programs.json")["nccl"]["names"])
    for path, text in checkout.texts("src", ".cc", ".h", ".c").items():
        read = {f"NCCL_{first or second}" for first, second in _VARIABLE_OF_NCCL.findall(text)}
        yield from ((path, f"nccl: {name}: not in our table") for name in sorted(read - known))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UnreadableCheckoutError(f"{path}: {error.strerror}") from None


# --- the command ---


def _needed(checkout: Checkout, path: str, repository: str) -> Checkout:
    """The checkout if it has a file or folder that only the right repository and branch has.

    Raises:
        UnreadableCheckoutError: if it does not.
    """
    if (checkout.root / path).exists():
        return checkout
    branch = f" is on '{checkout.branch}' and" if checkout.branch else ""
    raise UnreadableCheckoutError(f"{checkout.root}{branch} has no {path}; name a checkout of {repository}")


def _differences(given: argparse.Namespace) -> Iterator[tuple[str, Checkout | None, Iterator[tuple[str, str]]]]:
    if given.pai is not None:
        server = _needed(Checkout(given.pai), f"{_SERVER}/{_SCHEMA}", "microsoft/pai")
        if (given.pai / _LTP_RUNTIME).exists():
            raise UnreadableCheckoutError(f"{given.pai} holds LTP; name it with --ltp")
        runtime = given.runtime and _needed(Checkout(given.runtime), "src/plugins", "microsoft/openpai-runtime")
        yield OPENPAI.name, server, drift(server, runtime, "src", OPENPAI)
        yield OPENPAI.name, server, source_drift(server, "microsoft/pai")
        if runtime is not None:
            yield OPENPAI.name, runtime, source_drift(runtime, "microsoft/openpai-runtime")
    if given.ltp is not None:
        ltp = _needed(Checkout(given.ltp), f"{_LTP_RUNTIME}/plugins", "microsoft/ltp-platform, branch 'dev'")
        yield "ltp", ltp, drift(ltp, ltp, _LTP_RUNTIME, platform_named("ltp"))
        yield "ltp", ltp, phrase_drift(ltp)
        yield "ltp", ltp, source_drift(ltp, "microsoft/ltp-platform")
    if given.mpi_operator is not None:
        operator = _needed(Checkout(given.mpi_operator), _MPIJOB, "kubeflow/mpi-operator")
        yield "mpi-operator", operator, mpijob_drift(operator)
    if given.nccl is not None:
        nccl = _needed(Checkout(given.nccl), "src", "NVIDIA/nccl")
        yield "nccl", nccl, nccl_drift(nccl)
    for name, file in given.program or ():
        yield "programs", None, program_drift(name, Path(file))


def main(arguments: list[str]) -> int:
    """Print the differences of all checkouts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--pai", "--runtime", "--ltp", "--mpi-operator", "--nccl"):
        parser.add_argument(name, type=Path, metavar="DIR")
    parser.add_argument("--program", nargs=2, action="append", metavar=("NAME", "FILE"))
    given = parser.parse_args(arguments)
    if not any(value for name, value in vars(given).items() if name != "runtime"):
        parser.error("name a checkout, such as --pai and --runtime, or --ltp")
    count = 0
    try:
        for title, checkout, found in _differences(given):
            where = f"{title} ({checkout.branch})" if checkout is not None and checkout.branch else title
            for file, line in found:
                count += 1
                sys.stdout.write(f"{where}: {file}: {line}\n")
    except UnreadableCheckoutError as error:
        sys.stderr.write(f"upstream_drift: {error}\n")
        return 2
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
