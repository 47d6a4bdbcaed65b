"""MPIJob manifests in a text, read as Kubernetes reads them: kubectl's Go reader, then JSON.

Plain scalars differ from both readers of an OpenPAI job (`source/scalar.py`): `y` is true, `1e3` is an integer, and a
date is text. Of a key that is written twice, the last one counts.
Source: sigs.k8s.io/yaml, goyaml.v2/resolve.go (`resolve`) and yaml.go (`convertToJSONableObject`).
"""

from __future__ import annotations

import re
from base64 import b64decode
from math import isinf
from typing import TYPE_CHECKING

from pai_lsp.embedded.placeholders import is_placeholder, placeholder_spans
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import YAML_TAG, Mapping, ProblemKind, Scalar, ScalarStyle, Sequence
from pai_lsp.source.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping as MappingOf
    from collections.abc import Sequence as SequenceOf
    from typing import Any, TypeGuard

    from pai_lsp.source.nodes import Entry, Node, Syntax, SyntaxProblem
    from pai_lsp.source.text import Span

_TRUE = frozenset({"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})
_FALSE = frozenset({"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_UNSUPPORTED = lazy_pattern(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_INTEGER = lazy_pattern(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)"
    r"|0[oO]?(?P<octal>[0-7]+)|(?P<decimal>0|[1-9][0-9]*))"
)
_FLOAT = lazy_pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASES = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_DATE = lazy_pattern(r"[0-9]{4}-[0-9]")
# The kinds that fit a tag.
_TAGGED = {"int": {"integer"}, "float": {"integer", "number"}, "bool": {"boolean"}, "null": {"null"}}
_LARGEST = 2**63
_MOST_DIGITS = 400


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A value with its places.

    kind: the name of its type in JSON schema: null, boolean, integer, number, string, object or array; `unsupported`,
        without content, where it cannot be read.
    content: the Python value; for an object the values by key, for an array the list of them.
    node: where it is written; key: the key's node in its object.
    """

    kind: str
    content: Any
    node: Node
    key: Node | None = None

    @property
    def span(self) -> Span:
        """Where to point: the value, or the key of an empty one or of a large one."""
        is_name = self.kind == "object" and [one.kind for one in self.content.values()] == ["null"]  # as in `{name}`
        if self.key is not None and (not len(self.node.span) or self.kind in {"object", "array"}) and not is_name:
            return self.key.span
        return self.node.span

    @property
    def text(self) -> str | None:
        """The content if it is a string; any other content may be one that no set or dict takes."""
        return self.content if self.kind == "string" else None

    def get(self, *names: str) -> Value | None:
        """The value below, by keys; None if it is absent or null."""
        found: Value | None = self
        for name in names:
            found = found.content.get(name) if found is not None and found.kind == "object" else None
        return None if found is None or found.kind == "null" else found

    def items(self, *names: str) -> SequenceOf[Value]:
        """The items of the list below, by keys; none of another value."""
        found = self.get(*names)
        return found.content if found is not None and found.kind == "array" else ()

    def entries(self, *names: str) -> MappingOf[str, Value]:
        """The values of the object below, by keys; none of another value."""
        found = self.get(*names)
        return found.content if found is not None and found.kind == "object" else {}

    @property
    def plain(self) -> Any:
        """The JSON value."""
        if self.kind == "object":
            return {name: value.plain for name, value in self.content.items()}
        if self.kind == "array":
            return [value.plain for value in self.content]
        return self.content


class KubernetesReader:
    """Reads a tree, and collects on the way what no value shows.

    duplicates: names that are written twice in one mapping, with the first key. unsupported: unreadable scalars.
    """

    def __init__(self) -> None:
        self.duplicates: list[tuple[str, Node]] = []
        self.unsupported: list[Scalar] = []

    def read(self, node: Node, key: Node | None = None) -> Value:
        """The value of a node."""
        if isinstance(node, Scalar):
            kind, content = scalar_value(node)
            if kind == "unsupported":
                self.unsupported.append(node)
            return Value(kind, content, node, key)
        if isinstance(node, Sequence):
            return Value("array", [self.read(item) for item in node.items], node, key)
        return Value("object", self._entries(node), node, key)

    def _entries(self, node: Mapping) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for source in reversed(node.merged):
            found |= self._entries(source)
        own: dict[str, Entry] = {}
        for entry in node.entries:
            if entry.is_merge:
                continue
            name = _key(entry)
            if name in own:
                self.duplicates.append((name, own[name].key))
            own[name] = entry
            found[name] = self.read(entry.value, entry.key)
        return found


def _key(entry: Entry) -> str:
    if not isinstance(entry.key, Scalar):
        return entry.name
    kind, content = scalar_value(entry.key)
    if kind == "boolean":
        return "true" if content else "false"
    return entry.key.text if kind in {"string", "null", "unsupported"} else str(content)


def scalar_value(scalar: Scalar) -> tuple[str, Any]:
    """The kind and the content of a scalar; the kind `unsupported` for what JSON does not have, or its tag refuses.

    A tag goes by the text, quoted or not; one that the reader does not know makes it a string.
    """
    text, tag = scalar.text, scalar.tag
    if tag is None:
        return plain_value(text) if scalar.style is ScalarStyle.PLAIN else ("string", text)
    kind = tag.removeprefix(YAML_TAG) if tag.startswith(YAML_TAG) else ""
    if kind == "binary":
        try:
            return "string", b64decode(text, validate=True).decode(errors="replace")
        except ValueError:
            return "unsupported", None
    if kind == "timestamp":
        return ("string", text) if _DATE.match(text) else ("unsupported", None)
    if kind not in _TAGGED:
        return "string", text
    found = plain_value(text)
    is_integer = kind != "int" or _INTEGER.fullmatch(text.replace("_", "")) is not None
    return found if found[0] in _TAGGED[kind] and is_integer else ("unsupported", None)


def plain_value(text: str) -> tuple[str, Any]:
    """The kind and the content of a plain scalar."""
    if text in _NULL:
        return "null", None
    if text in _TRUE or text in _FALSE:
        return "boolean", text in _TRUE
    if text[0] not in "+-.0123456789":
        return "string", text
    if _UNSUPPORTED.fullmatch(text):
        return "unsupported", None
    digits = text.replace("_", "")
    if len(digits) <= _MOST_DIGITS and (match := _INTEGER.fullmatch(digits)):
        base = next(name for name in _BASES if match[name] is not None)
        number = int(match["sign"] + match[base], _BASES[base])
        if -_LARGEST <= number < _LARGEST:
            return "integer", number
        if 0 < number < 2 * _LARGEST:
            return "number", float(number)
    # A number that does not fit is tried as a decimal fraction, and a fraction that does not fit is a text.
    if _FLOAT.fullmatch(digits):
        real = float(digits)
        if isinf(real):
            return "string", text
        whole = real == real // 1 if abs(real) < _LARGEST else False
        return ("integer", int(real)) if whole else ("number", real)
    return "string", text


def is_text(text: str) -> bool:
    """Whether a plain scalar is a string."""
    return plain_value(text)[0] == "string"


def quantity(text: str) -> float | None:
    """The number that a quantity, such as `500m` or `16Gi`, means to the API server, at most 2^63; None for others."""
    if not _QUANTITY.fullmatch(text):
        return None
    unit = next((one for one in _UNITS if text.endswith(one)), "")
    number = float(text.removesuffix(unit)) * _UNITS.get(unit, 1)
    return max(-_LARGEST, min(number, _LARGEST))


# Source: the CRD's pattern of every quantity; Kubernetes, apimachinery/pkg/api/resource, takes whole exponents only.
_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_QUANTITY = lazy_pattern(rf"[-+]?{_NUMBER}(?:[KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?", re.ASCII)
_UNITS = {f"{unit}i": 1024.0**power for power, unit in enumerate("KMGTPE", 1)}
_UNITS |= {"n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3}
_UNITS |= {unit: 1000.0**power for power, unit in enumerate("MGTPE", 2)}


SERVED = "kubeflow.org/v2beta1"
TRAINING_OPERATOR = "kubeflow.org/v1"
OTHER_OPERATOR = "batch.test.bdap.com/v1"
_GROUPS = frozenset({"kubeflow.org", "kubeflow", "batch.test.bdap.com"})
_KINDS = frozenset({"mpijob", "mpijobs"})
# What OpenPAI's readers refuse and Kubernetes does not.
_ACCEPTED = frozenset({ProblemKind.DUPLICATE_KEY, ProblemKind.SEVERAL_DOCUMENTS})
# The resource that counts GPUs, and the file in which the operator lists the hosts.
GPU = "nvidia.com/gpu"
HOST_FOLDER = "/etc/mpi"
HOST_FILE = f"{HOST_FOLDER}/hostfile"
_KIND = lazy_pattern(r"^kind:[ \t]*[\"']?MPIJob[\"']?[ \t]*(?:#.*)?\r?$", 8)  # re.MULTILINE
_VERSION = lazy_pattern(r"^apiVersion:[ \t]*[\"']?kubeflow\.org/", 8)
# In these, bash or Kubernetes fill in what looks like a placeholder.
_RUN = frozenset({"command", "args", "env", "annotations"})


@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """One MPIJob: the values of its document, and what the reader noticed."""

    root: Value
    reader: KubernetesReader
    syntax: Syntax

    @property
    def version(self) -> str | None:
        """Its apiVersion; None where none is written."""
        return self.text("apiVersion") or None

    @property
    def has_schema(self) -> bool:
        """Whether the MPI operator or the Training Operator takes it."""
        return self.version in {SERVED, TRAINING_OPERATOR} and self.text("kind") == "MPIJob"

    def get(self, path: str) -> Value | None:
        """The value at a dotted path without indices; None if it is absent or null."""
        return self.root.get(*path.split("."))

    def text(self, path: str) -> str | None:
        """The string at a path."""
        value = self.get(path)
        return None if value is None else value.text

    def number(self, path: str) -> int | None:
        """The integer at a path."""
        value = self.get(path)
        return value.content if value is not None and value.kind == "integer" else None

    def flag(self, path: str) -> bool:
        """Whether true is written at a path."""
        value = self.get(path)
        return value is not None and value.content is True

    def place(self, path: str) -> Span:
        """Where to point for a path: its value, the nearest parent that is written, or the first key."""
        names = path.split(".")
        while names:
            value = self.root.entries(*names[:-1]).get(names[-1])
            if value is not None:
                return value.span
            names.pop()
        node = self.root.node
        return node.entries[0].key.span if isinstance(node, Mapping) and node.entries else node.span


def manifests(syntax: Syntax) -> Iterator[Manifest]:
    """The MPIJobs of a text."""
    for document in syntax.documents:
        if is_mpijob(document):
            reader = KubernetesReader()
            yield Manifest(reader.read(document), reader, syntax)


def has_mpijob(syntax: Syntax) -> bool:
    """Whether a document of the text is an MPIJob, also one with a syntax error."""
    is_written = syntax.problems and _KIND.search(syntax.text) and _VERSION.search(syntax.text)
    return bool(is_written) or any(map(is_mpijob, syntax.documents))


def unreadable(syntax: Syntax) -> list[SyntaxProblem]:
    """Why kubectl cannot read a text; empty if it can."""
    return [problem for problem in syntax.problems if problem.kind not in _ACCEPTED and not problem.is_of_js_yaml]


def filled_in(syntax: Syntax) -> tuple[Span, ...]:
    """The placeholders of a template of manifests, in order; none if the file is not a template.

    A template is no YAML, as those of Helm, or has a placeholder where no program fills one in later.
    """
    text = syntax.text
    found = placeholder_spans(text)
    if found and ("{{" in text or "{%" in text) and unreadable(syntax):
        return found
    return found if found and any(_is_filled(one.root, text) for one in manifests(syntax)) else ()


def _is_filled(value: Value, text: str) -> bool:
    written = text[value.node.span.start : value.node.span.end]
    if value.kind == "object" and not is_placeholder(written):
        return any(_is_filled(one, text) for name, one in value.content.items() if name not in _RUN)
    if value.kind == "array":
        return any(_is_filled(one, text) for one in value.content)
    return is_placeholder(written.strip("'\"")) or any(written[one.start] == "$" for one in placeholder_spans(written))


def is_mpijob(root: Node | None) -> TypeGuard[Mapping]:
    """Whether a document is an MPIJob, by its kind and the group of its version."""
    if not isinstance(root, Mapping):
        return False
    kind, version = root.get("kind"), root.get("apiVersion")
    if not isinstance(kind, Scalar) or kind.text.lower() not in _KINDS:
        return False
    if version is None or (isinstance(version, Scalar) and version.text in {"", "null", "~"}):
        return kind.text == "MPIJob" and root.get("spec") is not None
    if not isinstance(version, Scalar):
        return False
    group, slash, _ = version.text.rpartition("/")
    return group.lower() in _GROUPS if slash else kind.text == "MPIJob"
