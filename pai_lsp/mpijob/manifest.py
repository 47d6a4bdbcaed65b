"""Which documents of a text are MPIJobs, and the places in them by their field paths."""

from __future__ import annotations

from functools import cached_property

from pai_lsp.findings.diagnostic import Finding, Rule, Severity
from pai_lsp.mpijob.kubernetes_values import KubernetesReader, Value
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping, Scalar
from pai_lsp.source.patterns import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pai_lsp.source.nodes import Syntax
    from pai_lsp.source.text import Span

SERVED = "kubeflow.org/v2beta1"
TRAINING_OPERATOR = "kubeflow.org/v1"
OTHER_OPERATOR = "batch.test.bdap.com/v1"
_GROUPS = frozenset({"kubeflow.org", "kubeflow", "batch.test.bdap.com"})
_KINDS = frozenset({"mpijob", "mpijobs"})
# The resource that counts GPUs, and the file in which the operator lists the hosts.
GPU = "nvidia.com/gpu"
HOST_FILE = "/etc/mpi/hostfile"
_KIND = lazy_pattern(r"^kind:[ \t]*[\"']?MPIJob[\"']?[ \t]*(?:#.*)?\r?$", 8)  # re.MULTILINE
_VERSION = lazy_pattern(r"^apiVersion:[ \t]*[\"']?kubeflow\.org/", 8)
_TEMPLATE = lazy_pattern(r"\{\{.*?\}\}")


@dataclass(frozen=True, eq=False)
class Manifest:
    """One MPIJob: the values of its document, and what the reader noticed."""

    root: Value
    reader: KubernetesReader
    syntax: Syntax

    @property
    def version(self) -> str | None:
        """Its apiVersion; None where none is written."""
        value = self.root.get("apiVersion")
        return value.content if value and value.kind == "string" and value.content else None

    @property
    def is_served(self) -> bool:
        """Whether today's MPI operator takes it."""
        return self.version == SERVED and self.text("kind") == "MPIJob"

    def get(self, path: str) -> Value | None:
        """The value at a dotted path without indices; None if it is absent or null."""
        return self.root.get(*path.split("."))

    def text(self, path: str) -> str | None:
        """The string at a path."""
        value = self.get(path)
        return value.content if value is not None and value.kind == "string" else None

    def number(self, path: str) -> int | None:
        """The integer at a path."""
        value = self.get(path)
        return value.content if value is not None and value.kind == "integer" else None

    def flag(self, path: str) -> bool:
        """Whether true is written at a path."""
        value = self.get(path)
        return value is not None and value.content is True

    def place(self, path: str) -> Span:
        """Where to point for a path: its value, or the nearest parent that is written."""
        names = path.split(".")
        while names:
            parent = self.root.get(*names[:-1])
            value = parent.content.get(names[-1]) if parent is not None and parent.kind == "object" else None
            if isinstance(value, Value):
                return value.span
            names.pop()
        return self.start

    @cached_property
    def start(self) -> Span:
        """The first key of the document."""
        node = self.root.node
        return node.entries[0].key.span if isinstance(node, Mapping) and node.entries else node.span


def manifest_rule(severity: Severity) -> Callable[[Callable[[Manifest], Iterable[Finding]]], Rule]:
    """Make a rule about a manifest of a function: its name is the code, its docstring the documentation."""

    def make(check: Callable[[Manifest], Iterable[Finding]]) -> Rule:
        return Rule(check.__name__.replace("_", "-"), severity, check, check.__doc__ or "")

    return make


def manifests(syntax: Syntax) -> Iterator[Manifest]:
    """The MPIJobs of a text."""
    for document in syntax.documents:
        if isinstance(document, Mapping) and is_mpijob(document):
            reader = KubernetesReader()
            yield Manifest(reader.read(document), reader, syntax)


def has_mpijob(syntax: Syntax) -> bool:
    """Whether a document of the text is an MPIJob, also one with a syntax error."""
    if any(isinstance(document, Mapping) and is_mpijob(document) for document in syntax.documents):
        return True
    return bool(syntax.problems and _KIND.search(syntax.text) and _VERSION.search(syntax.text))


def is_template(text: str) -> bool:
    """Whether it is a template of Helm, which is not YAML."""
    return _TEMPLATE.search(text) is not None


def is_mpijob(root: Mapping) -> bool:
    """Whether a document is an MPIJob, by its kind and the group of its version."""
    kind, version = root.get("kind"), root.get("apiVersion")
    if not isinstance(kind, Scalar) or kind.text.lower() not in _KINDS:
        return False
    if version is None or (isinstance(version, Scalar) and version.text in {"", "null", "~"}):
        return kind.text == "MPIJob" and root.get("spec") is not None
    if not isinstance(version, Scalar):
        return False
    group, slash, _ = version.text.rpartition("/")
    return group.lower() in _GROUPS if slash else kind.text == "MPIJob"
