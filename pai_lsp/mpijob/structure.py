"""What Kubernetes and the MPI operator refuse and drop in an MPIJob, and the documentation of its keys.

The API server goes by the schema of the custom resource definition (schemas/mpijob.schema.json). A refusal by the
operator is an event, and nothing starts. Sources: kubeflow/mpi-operator v0.8.2,
pkg/apis/kubeflow/validation/validation.go (`ValidateMPIJob`) and pkg/apis/kubeflow/v2beta1/default.go;
kubeflow/training-operator v1.9.4, pkg/apis/kubeflow.org/v1/mpi_validation.go (`ValidateV1MpiJobSpec`).

The documented keys are those of kubeflow.org/v2beta1 and v1, as fields like those of a job.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from jsonschema import ValidationError

from pai_lsp.findings.fixes import choice_fixes, fix_of, near_name_fixes, quote_fix
from pai_lsp.mpijob.manifest import SERVED, TRAINING_OPERATOR, Manifest, Value, plain_value
from pai_lsp.platform.job_schema import Field, structural
from pai_lsp.platform.structure_errors import schema_check
from pai_lsp.platform.tables import table
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Scalar, scalar_text
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.text import TextEdit, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from collections.abc import Mapping as MappingOf
    from typing import Any

    from pai_lsp.findings.diagnostic import Fixes
    from pai_lsp.platform.structure_errors import FailedKeyword
    from pai_lsp.source.nodes import Mapping
    from pai_lsp.source.text import Span

_SUBDOMAIN = lazy_pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL = lazy_pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_NAME = lazy_pattern(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_LONGEST = 63
_ARTICLES = {kind: f"a {kind}" for kind in ("string", "number", "boolean")}
_ARTICLES |= {"integer": "an integer", "object": "a mapping", "array": "a list", "null": "null"}
# Keys of older versions of the MPIJob, with their place today.
MOVED = {
    **{
        f"spec.{name}": f"spec.runPolicy.{name}"
        for name in ("activeDeadlineSeconds", "backoffLimit", "cleanPodPolicy", "suspend", "ttlSecondsAfterFinished")
    },
    "spec.replicas": "spec.mpiReplicaSpecs.Worker.replicas",
    "spec.launcherOnMaster": "spec.mpiReplicaSpecs.Launcher.template.spec",
    "spec.mpiDistribution": "spec.mpiImplementation",
    "spec.workers": "spec.mpiReplicaSpecs.Worker.replicas",
    "spec.runPolicy.queue": "spec.runPolicy.schedulingPolicy.queue",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """Something at a field path of a manifest, with the fixes that change only its own place.

    kind: `refused`, `dropped`, `mistyped` (refused for its type) or `undecodable` (stored, but unreadable).
    """

    kind: str
    field: str
    span: Span
    message: str
    fixes: Fixes = ()


@lru_cache(maxsize=1)
def mpijob_table() -> Any:
    """The documentation of keys, and the variables that the operator sets."""
    return table("mpijob.json")


@cache
def mpijob_schema(version: str = SERVED) -> Any:
    """The structure of an MPIJob of a version, as a JSON Schema without references."""
    schema = structural(table("mpijob.schema.json"))
    schema["properties"]["spec"] = {"$ref": f"#/$defs/{version.rpartition('/')[2]}"}
    parts = schema.pop("$defs")
    return _expanded(schema, parts, {})


def _expanded(schema: Any, parts: dict[str, Any], known: dict[str, Any]) -> Any:
    """The schema with each part in place of a reference to it."""
    if isinstance(schema, list):
        return [_expanded(one, parts, known) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" not in schema:
        return {keyword: _expanded(one, parts, known) for keyword, one in schema.items()}
    name = schema["$ref"].rpartition("/")[2]
    if name not in known:
        known[name] = _expanded(parts[name], parts, known)
    return known[name]


@cache
def _check(version: str) -> Callable[[Any], Iterator[FailedKeyword]]:
    # Only whole numbers as they are written are integers of Go.
    keywords = {"x-kubernetes-list-map-keys": _repeated}
    return schema_check(mpijob_schema(version), lambda _number: False, keywords=keywords)


@lru_cache(maxsize=1)  # two rules ask, one after the other
def structure_faults(manifest: Manifest) -> tuple[Fault, ...]:
    """What the API server refuses and drops, by their places."""
    found: dict[str, Fault] = {}
    version = manifest.version or SERVED
    for failed in _check(version)(_as_checked(manifest.root, mpijob_schema(version))):
        value = manifest.root
        for step in failed.path:
            value = value.content[step]
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in failed.path)
        field = "".join(steps).removeprefix(".")
        for fault in () if value.kind == "unsupported" else _faults(failed, value, field, version):
            found.setdefault(fault.field, fault)
    return (*sorted(found.values(), key=lambda one: one.span.start), *_metadata(manifest))


def _as_checked(value: Value, schema: dict[str, Any]) -> Any:
    """The JSON value as the API server checks it: a known key without a value counts as absent."""
    if value.kind == "object":
        below = {name: _below(schema, name) for name in value.content}
        kept = ((name, one) for name, one in value.content.items() if one.kind != "null" or below[name] is None)
        return {name: _as_checked(one, below[name] or {}) for name, one in kept}
    return [_as_checked(one, _of_items(schema)) for one in value.content] if value.kind == "array" else value.content


def _repeated(_validator: object, keys: Sequence[str], items: Any, _schema: object) -> Iterator[ValidationError]:
    """The later one of two items that have the same values of `keys`; the protocol of a port is TCP by default."""
    seen: set[tuple[Any, ...]] = set()
    for number, item in enumerate(items if isinstance(items, list) else ()):
        values: list[Any] = [
            item.get(key, "TCP" if key == "protocol" else None) if isinstance(item, dict) else [] for key in keys
        ]
        if any(isinstance(one, (list, dict)) for one in values):
            continue
        if values[0] is not None and tuple(values) in seen:
            yield ValidationError("", path=[number], instance=item)
        seen.add(tuple(values))


def _faults(failed: FailedKeyword, value: Value, field: str, version: str) -> Iterator[Fault]:
    wanted, refusal = failed.schema, "the API server refuses the job"
    if failed.keyword == "additionalProperties":
        names = set(wanted["properties"])
        for name, item in value.content.items():
            if name not in names:
                below = f"{field}.{name}" if field else name
                span = item.key.span if item.key is not None else item.span
                place = place_today(below, version)
                near = near_name_fixes(span, name, names - set(value.content)) if place is None else ()
                message = f"unknown key '{name}'{did_you_mean(name, sorted(names))}; the API server drops it"
                if place is not None:
                    message = f"'{name}' is not a key here and the API server drops it; its place is {place}"
                yield Fault("dropped", below, span, message, near)
    elif failed.keyword == "required":
        for name in wanted["required"]:
            if value.get(name) is None:
                yield Fault("refused", f"{field}.{name}", value.span, f"'{name}' is required here; {refusal}")
    elif failed.keyword == "x-kubernetes-list-map-keys":
        key = wanted[failed.keyword][0]
        message = f"'{failed.instance[key]}' is in this list twice; {refusal}"
        yield Fault("refused", field, (value.get(key) or value).span, message)
    elif failed.keyword == "type":
        yield _wrong(value, field, _types(wanted)[0])
    elif failed.keyword == "enum":
        if value.kind == "string":
            hint = did_you_mean(value.content, wanted["enum"])
            message = f"'{value.content}' is not supported{hint}; use one of {', '.join(wanted['enum'])}"
            yield Fault("refused", field, value.span, message, choice_fixes(value.span, wanted["enum"]))
    elif failed.keyword == "pattern":
        yield Fault("refused", field, value.span, f"'{value.content}' is not a quantity such as 500m, 2 or 16Gi")
    else:
        message = f"{value.content} does not fit in 32 bits; the operator cannot read this MPIJob, nor list the others"
        yield Fault("undecodable", field, value.span, message)


def _types(schema: MappingOf[str, Any]) -> tuple[str, ...]:
    found = schema.get("type", ())
    return (found,) if isinstance(found, str) else tuple(found)


def _wrong(value: Value, field: str, wanted: str) -> Fault:
    name = field.rpartition(".")[2]
    if value.kind == "null":
        return Fault("refused", field, value.span, f"an item must be {_ARTICLES[wanted]}, but is null")
    if wanted == "array" and value.kind == "object" and value.content:
        # At the key where the dash is missing.
        key, first = next(iter(value.content.items()))
        span = first.key.span if first.key is not None else first.span
        message = f"'{name}' must be a list, but is a mapping; each item begins with '- '"
        return Fault("mistyped", f"{field}.{key}", span, f"{message}; the API server refuses the job")
    message = f"'{name}' must be {_ARTICLES[wanted]}, but is {_ARTICLES[value.kind]}"
    fixes: Fixes = ()
    if wanted == "string" and value.kind in {"integer", "number", "boolean"} and isinstance(value.node, Scalar):
        message += "; put it in quotes"
        fixes = quote_fix(value.node)
    elif wanted in {"integer", "boolean"} and value.kind == "string" and plain_value(value.content)[0] == wanted:
        message += "; remove the quotes"
        fixes = fix_of("Remove the quotes", TextEdit, value.node.span, value.content, safe=True)
    return Fault("mistyped", field, value.span, f"{message}; the API server refuses the job", fixes)


def place_today(field: str, version: str) -> str | None:
    """Where a version has the key of another version at a path; None for any other key."""
    place = MOVED.get(field)
    return place if place and _schema_at(tuple(place.split(".")), version) is not None else None


def _metadata(manifest: Manifest) -> Iterator[Fault]:
    metadata = manifest.get("metadata")
    if metadata is not None and metadata.kind != "object":
        return
    fields = {field: manifest.get(field) for field in ("metadata.name", "metadata.generateName")}
    if all(one is None or one.content == "" for one in fields.values()):
        span = manifest.place("metadata.name")
        yield Fault("refused", "metadata.name", span, "'metadata.name' is required; the API server refuses the job")
    for field, one in fields.items():
        written = (one.text if one is not None else None) or ""
        if field == "metadata.generateName" and len(written) > 1 and written.endswith("-"):
            written = f"{written[:-2]}a"  # as Kubernetes checks it
        if one is not None and written and (len(written) > 253 or not _SUBDOMAIN.fullmatch(written)):
            yield _invalid(field, one, "name", "lower-case letters, digits, '-' and '.', at most 253 characters")
    namespace = manifest.get("metadata.namespace")
    written = (namespace.text if namespace is not None else None) or ""
    if namespace is not None and written and (len(written) > _LONGEST or not LABEL.fullmatch(written)):
        rule = f"lower-case letters, digits and '-', at most {_LONGEST} characters"
        yield _invalid("metadata.namespace", namespace, "namespace", rule)
    yield from _labels(manifest)


def _invalid(field: str, value: Value, what: str, rule: str) -> Fault:
    message = f"'{shortened(value.content, 60)}' is not a valid {what}; use {rule}"
    return Fault("refused", field, value.span, message)


def _is_qualified(name: str) -> bool:
    """Whether Kubernetes takes the name of a label or a finalizer, with or without the domain before it."""
    domain, slash, last = name.rpartition("/")
    is_domain = not slash or (_SUBDOMAIN.fullmatch(domain) is not None and len(domain) <= 253)
    return is_domain and len(last) <= _LONGEST and _NAME.fullmatch(last) is not None


def _labels(manifest: Manifest) -> Iterator[Fault]:
    for number, one in enumerate(manifest.root.items("metadata", "finalizers")):
        if one.text is not None and not _is_qualified(one.text):
            yield _invalid(f"metadata.finalizers[{number}]", one, "finalizer", "a name such as example.com/name")
    for group in ("labels", "annotations"):
        for name, value in manifest.root.entries("metadata", group).items():
            field = f"metadata.{group}.{name}"
            if not _is_qualified(name.lower() if group == "annotations" else name):
                span = value.key.span if value.key else value.span
                yield Fault("refused", field, span, f"'{shortened(name, 60)}' is not a valid key of {group}")
            text = value.text if group == "labels" else ""
            if text and (len(text) > _LONGEST or not _NAME.fullmatch(text)):
                rule = f"letters, digits, '-', '_' and '.', at most {_LONGEST} characters"
                yield _invalid(field, value, "label value", rule)


_LABEL_FROM_LETTER = lazy_pattern(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_CLEAN = ("None", "Running", "All")
_MANAGERS = ("kubeflow.org/mpi-operator", "kueue.x-k8s.io/multikueue")
_RESTART = ("Never", "OnFailure")
_REPLICAS = "spec.mpiReplicaSpecs"
_KINDS = ("Launcher", "Worker")


def admission_faults(manifest: Manifest) -> Iterator[Fault]:
    """What the operator refuses."""
    is_of_training = manifest.version == TRAINING_OPERATOR
    replicas = {name: one for name, one in manifest.root.entries(*_REPLICA_PATH).items() if one.kind == "object"}
    if not is_of_training:
        yield from _name(manifest)
        for path in ("spec.slotsPerWorker", *(f"spec.runPolicy.{name}" for name in _COUNTS)):
            number = manifest.number(path)
            if number is not None and number < 0:
                yield _refused(manifest, path, f"{number} is below 0")
        for path, allowed in (("spec.runPolicy.cleanPodPolicy", _CLEAN), ("spec.runPolicy.managedBy", _MANAGERS)):
            yield from _one_of(manifest, path, allowed)
    if not is_of_training or all(name in _KINDS for name in replicas):  # else the other name is at fault
        yield from _launcher_missing(manifest)
    for name, spec in replicas.items():
        if name in _KINDS:
            yield from _replica(manifest, name, is_of_training=is_of_training)
        elif is_of_training:
            span = spec.key.span if spec.key is not None else spec.span
            message = f"'{name}' is not a kind of replica{did_you_mean(name, _KINDS)}; use {' and '.join(_KINDS)}"
            yield _refused_at(span, f"{_REPLICAS}.{name}", message)


def _launcher_missing(manifest: Manifest) -> Iterator[Fault]:
    replicas = manifest.get(_REPLICAS)
    if replicas is None and manifest.get("spec") is None:
        yield _refused(manifest, _REPLICAS, "'spec.mpiReplicaSpecs' is missing")
    elif replicas is not None and replicas.kind == "object" and replicas.get("Launcher") is None:
        yield _refused(manifest, f"{_REPLICAS}.Launcher", f"'{_REPLICAS}' has no 'Launcher'")


_COUNTS = ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")


def _refused(manifest: Manifest, path: str, message: str, choices: tuple[str, ...] = ()) -> Fault:
    return _refused_at(manifest.place(path), path, message, choices)


def _refused_at(span: Span, path: str, message: str, choices: tuple[str, ...] = ()) -> Fault:
    message = f"{message}; the operator refuses the job and nothing starts"
    return Fault("refused", path, span, message, choice_fixes(span, choices))


def _one_of(manifest: Manifest, path: str, allowed: tuple[str, ...], *, empty: bool = False) -> Iterator[Fault]:
    text = manifest.text(path)
    if text is not None and text not in allowed and not (empty and not text):
        hint = did_you_mean(text, allowed)
        yield _refused(manifest, path, f"'{text}' is not supported, only {' and '.join(allowed)}{hint}", allowed)


def _replica(manifest: Manifest, name: str, *, is_of_training: bool) -> Iterator[Fault]:
    path = f"{_REPLICAS}.{name}"
    count, written = manifest.number(f"{path}.replicas"), manifest.get(f"{path}.replicas")
    if name == "Launcher" and count not in {None, 1}:
        yield _refused(manifest, f"{path}.replicas", f"a job has exactly one launcher, not {count}")
    is_of_worker = name == "Worker" and not is_of_training
    if is_of_worker and (written is None or written.kind == "integer") and (count is None or count <= 0):
        found = "'replicas' is missing, which means 0" if count is None else f"{count} is below 1"
        yield _refused(manifest, f"{path}.replicas", f"{found}; a job with 'Worker' needs at least 1 worker")
    if not is_of_training:
        yield from _one_of(manifest, f"{path}.restartPolicy", _RESTART, empty=True)
    yield from _no_container(manifest, name)
    path = f"{path}.template.spec.containers"
    for number, one in enumerate(manifest.root.items(*path.split(".")) if is_of_training else ()):
        for key in ("image", "name") if one.kind == "object" else ():
            field = one.get(key)
            if field is None or field.content == "":
                yield _refused_at((field or one).span, f"{path}[{number}].{key}", f"'{key}' is required here")


def _no_container(manifest: Manifest, name: str) -> Iterator[Fault]:
    path = f"{_REPLICAS}.{name}.template"
    template, spec = manifest.get(path), manifest.get(f"{path}.spec")
    if any(one is not None and one.kind != "object" for one in (template, spec)):
        return
    containers = manifest.get(f"{path}.spec.containers")
    if spec is None or (containers is not None and containers.content == []):
        yield _refused(manifest, f"{path}.spec.containers", f"'{name}' has no container")


def _name(manifest: Manifest) -> Iterator[Fault]:
    field, name = "metadata.name", manifest.text("metadata.name")
    if not name and (prefix := manifest.text("metadata.generateName")):
        field, name = "metadata.generateName", f"{prefix[:58]}aaaaa"
    if not name:
        return
    pod = f"{name}-worker-{max(manifest.number(f'{_REPLICAS}.Worker.replicas') or 1, 1) - 1}"
    if len(pod) > _LONGEST:
        yield _refused(manifest, field, f"the pod '{shortened(pod)}' has {len(pod)} characters, more than {_LONGEST}")
    elif not _LABEL_FROM_LETTER.fullmatch(pod):
        message = f"'{name}' must begin with a lower-case letter and have only letters, digits and '-'"
        yield _refused(manifest, field, message)


_REPLICA_PATH = ("spec", "mpiReplicaSpecs")


def documented_version(root: Mapping) -> str | None:
    """The version of an MPIJob whose keys are meant: the written one, SERVED for a half-typed one; None for others."""
    version = scalar_text(root.get("apiVersion"))
    if version in {SERVED, TRAINING_OPERATOR}:
        return version
    return None if "/v" in version else SERVED


def manifest_fields(path: Sequence[str | int], version: str = SERVED) -> list[Field]:
    """The keys that an author may write in the mapping at `path`, documented ones first; of a list, in its items."""
    names = tuple(step for step in path if isinstance(step, str))
    known = list(_of_items(_schema_at(names, version) or {}).get("properties", ()))
    listed = mpijob_table()["keys"]["names"]
    known += [*listed.get(".".join(names), ()), *listed.get(_of_any_replica(names), ())]
    found = [one for name in dict.fromkeys(known) if (one := manifest_field((*names, name), version))]
    if names in {(), ("metadata",)}:
        found = [one for one in found if one.description]  # the others are the server's
    documented = mpijob_table()["keys"]["documented"].values()
    order = {one["description"]: number for number, one in enumerate(documented)}
    return sorted(found, key=lambda one: (one.deprecated, not one.required, order.get(one.description, len(order))))


@cache
def manifest_field(path: tuple[str | int, ...], version: str = SERVED) -> Field | None:
    """The documentation of the key at `path`; None for a key that the version does not have."""
    names = tuple(step for step in path if isinstance(step, str))
    wanted, above = _schema_at(names, version), _schema_at(names[:-1], version)
    if wanted is None or above is None or not names:
        return None
    keys = mpijob_table()["keys"]
    documented = keys["documented"]
    written = ".".join(names)
    # A key of `kubeflow.org/v1` has the words of its place in today's version.
    places = (written, _of_any_replica(names), MOVED.get(written, written))
    found: dict[str, Any] = next((documented[one] for one in places if one in documented), {})
    types, words = _type(wanted)
    values = found.get("values") or (("true", "false") if words == "boolean" else ())
    return Field(
        key=names[-1],
        title=names[-1],
        description=found.get("description", ""),
        types=types,
        type=words,
        default=found.get("default"),
        values=tuple(values),
        examples=(),
        required=found.get("required", False) or names[-1] in _of_items(above).get("required", ()),
        source=keys["source"],
        enforced_by=found.get("by", ""),
        deprecated=found.get("deprecated", False),
    )


def _of_any_replica(names: tuple[str, ...]) -> str:
    """The path of a key that the launcher and the workers have."""
    is_replica = names[:2] == _REPLICA_PATH and len(names) > len(_REPLICA_PATH) + 1
    return ".".join((*_REPLICA_PATH, "*", *names[3:]) if is_replica else names)


def _schema_at(names: tuple[str, ...], version: str = SERVED) -> dict[str, Any] | None:
    """The part of the schema at a path without indices, {} where it takes anything; None for an unknown key."""
    found: dict[str, Any] | None = mpijob_schema(version)
    for name in names:
        found = _below(_of_items(found), name) if found else None
    return found


def _below(schema: dict[str, Any], name: str) -> dict[str, Any] | None:
    """What the schema of a mapping says of a key, {} where it takes anything; None for an unknown key."""
    found = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
    return {} if found is True else found or None


def _of_items(schema: dict[str, Any]) -> dict[str, Any]:
    items = schema.get("items", schema)
    return items if isinstance(items, dict) else {}


def _type(schema: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    """The types of JSON Schema, and the same in words."""
    types = _types(schema)
    if not types or len(types) > 1:
        return (), "quantity" if types else "any value"
    if types == ("array",):
        of = {"string": "strings", "integer": "integers"}.get(" ".join(_types(_of_items(schema))), "mappings")
        return types, f"list of {of}"
    return types, "mapping" if types == ("object",) else types[0]
