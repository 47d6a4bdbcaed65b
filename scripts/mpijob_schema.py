"""Writes schemas/mpijob.schema.json: what the API server takes for an MPIJob, by the definitions of its two operators.

Usage: mpijob_schema.py MPI_OPERATOR TRAINING_OPERATOR

MPI_OPERATOR is a checkout of kubeflow/mpi-operator (v2beta1), TRAINING_OPERATOR one of kubeflow/training-operator, 1.9
(v1). A part that occurs twice is written once, in `$defs`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

TABLE = Path(__file__).parent.parent / "schemas" / "mpijob.schema.json"
V2BETA1 = "manifests/base/kubeflow.org_mpijobs.yaml"
V1 = "manifests/base/crds/kubeflow.org_mpijobs.yaml"
# Parts that are shorter than this, in characters of JSON, are repeated.
_SHORT = 100
_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_OWNER = {
    "type": "object",
    "required": ["apiVersion", "kind", "name", "uid"],
    "properties": {
        **{name: {"type": "string"} for name in ("apiVersion", "kind", "name", "uid")},
        **{name: {"type": "boolean"} for name in ("blockOwnerDeletion", "controller")},
    },
    "additionalProperties": False,
}
# Not in a definition: Kubernetes' own. Source: kubernetes/apimachinery, pkg/apis/meta/v1/types.go, ObjectMeta.
_METADATA = {
    "type": "object",
    "properties": {
        "annotations": _TEXTS,
        "creationTimestamp": {"type": "string"},
        "deletionGracePeriodSeconds": {"type": "integer"},
        "deletionTimestamp": {"type": "string"},
        "finalizers": {"type": "array", "items": {"type": "string"}},
        "generateName": {"type": "string"},
        "generation": {"type": "integer"},
        "labels": _TEXTS,
        "managedFields": {"type": "array", "items": True},
        "name": {"type": "string"},
        "namespace": {"type": "string"},
        "ownerReferences": {"type": "array", "items": _OWNER},
        "resourceVersion": {"type": "string"},
        "selfLink": {"type": "string"},
        "uid": {"type": "string"},
    },
    "additionalProperties": False,
}


def definition(file: Path, version: str) -> dict[str, Any]:
    """The schema of a version in a custom resource definition.

    Raises:
        LookupError: if it does not have the version.
    """
    versions = yaml.safe_load(file.read_text(encoding="utf-8"))["spec"]["versions"]
    found = [one["schema"]["openAPIV3Schema"] for one in versions if one["name"] == version]
    if not found:
        raise LookupError(f"{file} has no version {version}")
    result: dict[str, Any] = found[0]
    return result


def standard(theirs: dict[str, Any]) -> dict[str, Any]:
    """A schema of a custom resource definition as JSON Schema: unknown keys are not taken."""
    if theirs.get("x-kubernetes-int-or-string"):
        return {"$ref": "#/$defs/quantity" if "pattern" in theirs else "#/$defs/port"}
    if theirs.get("format") == "int32":
        return {"$ref": "#/$defs/int32"}
    kept = ("type", "required", "enum", "x-kubernetes-list-map-keys")
    found = {keyword: theirs[keyword] for keyword in kept if keyword in theirs}
    if "items" in theirs:
        found["items"] = standard(theirs["items"])
    if theirs["type"] == "object":
        if "properties" in theirs:
            found["properties"] = {name: standard(one) for name, one in theirs["properties"].items()}
        others = theirs.get("additionalProperties")
        found["additionalProperties"] = standard(others) if isinstance(others, dict) else False
    return found


class _Parts:
    """Writes each part that occurs twice once, under the name of its key."""

    def __init__(self, *schemas: dict[str, Any]) -> None:
        self.defs: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        for one in schemas:
            self._count(one)

    def _count(self, schema: dict[str, Any]) -> None:
        text = json.dumps(schema)
        self._counts[text] += 1
        if self._counts[text] == 1:
            for below in _below(schema).values():
                self._count(below)

    def written(self, schema: dict[str, Any], name: str) -> dict[str, Any]:
        """The schema with references; `name` is the key that it is for."""
        text = json.dumps(schema)
        if len(text) < _SHORT or self._counts[text] == 1:
            return self._short(schema, name)
        if text not in self._names:
            same = [one for one in self.defs if one.rstrip("0123456789") == name]
            self._names[text] = f"{name}{len(same) + 1}" if same else name
            self.defs[self._names[text]] = {}  # its place, before what it refers to
            self.defs[self._names[text]] = self._short(schema, name)
        return {"$ref": f"#/$defs/{self._names[text]}"}

    def _short(self, schema: dict[str, Any], name: str) -> dict[str, Any]:
        found = dict(schema)
        if "properties" in schema:
            found["properties"] = {key: self.written(one, key) for key, one in schema["properties"].items()}
        for keyword in ("items", "additionalProperties"):
            if isinstance(schema.get(keyword), dict):
                found[keyword] = self.written(schema[keyword], name.removesuffix("s"))
        return found


def _below(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    others = {keyword: schema.get(keyword) for keyword in ("items", "additionalProperties")}
    return {**schema.get("properties", {}), **{name: one for name, one in others.items() if isinstance(one, dict)}}


def schema(mpi_operator: str, training_operator: str) -> dict[str, Any]:
    """The schema by two checkouts."""
    theirs = {
        "v2beta1": definition(Path(mpi_operator, V2BETA1), "v2beta1")["properties"],
        "v1": definition(Path(training_operator, V1), "v1")["properties"],
    }
    specs = {version: standard(keys["spec"]) for version, keys in theirs.items()}
    states = dict.fromkeys(theirs["v2beta1"]["status"]["properties"], True)
    parts = _Parts(*specs.values())
    written = {version: parts.written(spec, version) for version, spec in specs.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An MPIJob of kubeflow.org/v2beta1; `$defs/v1` is the `spec` of kubeflow.org/v1",
        "description": (
            "Made by scripts/mpijob_schema.py. What the API server takes. Source: kubeflow/mpi-operator v0.8.2,"
            f" {V2BETA1}; kubeflow/training-operator v1.9.4, {V1}. The server drops `status` when a job is made."
            " Of a list with `x-kubernetes-list-map-keys`, no two items may have the same values of these keys."
        ),
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": _METADATA,
            "spec": {"$ref": "#/$defs/v2beta1"},
            "status": {"properties": states, "additionalProperties": False},
        },
        "additionalProperties": False,
        "$defs": {
            "int32": {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1},
            "port": {"type": ["string", "integer"], "minimum": -(2**31), "maximum": 2**31 - 1},
            "quantity": {
                "type": ["string", "integer"],
                "pattern": f"^(?:[-+]?{_NUMBER}(?:[KMGTPE]i|[numkMGTPE]|[eE][-+]?{_NUMBER})?)$",
            },
            **written,
            **parts.defs,
        },
    }


if __name__ == "__main__":
    TABLE.write_text(f"{json.dumps(schema(*sys.argv[1:]), indent=2)}\n", encoding="utf-8")
