"""Completion in MPIJobs: keys with the start of their values, and the only values of keys."""

from __future__ import annotations

from pai_lsp.ide.completion.completion_keys import key_suggestion, written_names
from pai_lsp.ide.completion.completion_values import value_suggestions
from pai_lsp.ide.completion.snippet_texts import indented
from pai_lsp.ide.cursor import Spot
from pai_lsp.mpijob.manifest import SERVED, is_mpijob
from pai_lsp.mpijob.manifest_keys import manifest_field, manifest_fields
from pai_lsp.source.nodes import Mapping, Scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pai_lsp.ide.completion.suggestion import Suggestion
    from pai_lsp.ide.cursor import InsertionPoint

_LAUNCHER = """\
template:
  spec:
    containers:
      - name: launcher
        image: ${1:image}
        command: [mpirun, --allow-run-as-root, --hostfile, /etc/mpi/hostfile, ${2:./program}]"""
_WORKER = """\
replicas: ${3:2}
template:
  spec:
    containers:
      - name: worker
        image: ${4:image}"""
_BOTH = f"Launcher:\n  {indented(_LAUNCHER)}\nWorker:\n  {indented(_WORKER)}"
# By the end of a key's path, what its value begins with.
_VALUES = {
    "metadata": "name: ${1:train}",
    "spec": f"slotsPerWorker: ${{5:1}}\nrunPolicy:\n  cleanPodPolicy: Running\nmpiReplicaSpecs:\n  {indented(_BOTH)}",
    "mpiReplicaSpecs": _BOTH,
    "Launcher": _LAUNCHER,
    "Worker": _WORKER,
    "runPolicy": "cleanPodPolicy: ${1|Running,None,All|}",
    "template": "spec:\n  containers:\n    - name: ${1:main}\n      image: ${2:image}",
    "resources": "limits:\n  $1",
}


def complete_manifest(point: InsertionPoint) -> list[Suggestion]:
    """What can be typed in an MPIJob of the version that is served; nothing in other documents of the file."""
    root = point.parents[0] if point.parents else None
    if not isinstance(root, Mapping) or not is_mpijob(root):
        return []
    path = point.path
    version = root.get("apiVersion")
    is_version = path == ("apiVersion",)
    if isinstance(version, Scalar) and "/v" in version.text and version.text != SERVED and not is_version:
        return []
    if point.spot is Spot.VALUE and (described := manifest_field(path)) is not None and described.values:
        return list(value_suggestions(point, described))
    written = written_names(point)
    offered = [one for one in manifest_fields(path) if one.key not in written]
    return [key_suggestion(point, one, number, _value(point, str(one.key))) for number, one in enumerate(offered)]


def _value(point: InsertionPoint, key: str) -> str | None:
    """What follows the colon of a key whose value is a mapping; None where nothing is known."""
    if key == "spec" and point.path:
        return "\n  containers:\n    - name: ${1:main}\n      image: ${2:image}"
    lines = _VALUES.get(key)
    return None if lines is None or (key == "metadata" and point.path) else f"\n  {indented(lines)}"
