"""The rules about MPIJobs: what the cluster refuses, drops or does not serve."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Consequence, Finding, Fixes, Severity, Stage, later, rule, rules_of
from pai_lsp.findings.fixes import all_of, fix_of
from pai_lsp.mpijob import manifest_launch_rules, manifest_pod_rules
from pai_lsp.mpijob.conversion import ConversionError, upgraded
from pai_lsp.mpijob.launch import layout_of
from pai_lsp.mpijob.manifest import OTHER_OPERATOR, SERVED, TRAINING_OPERATOR, filled_in, manifests, unreadable
from pai_lsp.mpijob.manifest_edits import edits_of_keys, edits_towards
from pai_lsp.mpijob.structure import admission_faults, place_today, structure_faults
from pai_lsp.source.nodes import YAML_TAG
from pai_lsp.source.text import TextEdit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pai_lsp.findings.diagnostic import Rule
    from pai_lsp.mpijob.manifest import Manifest
    from pai_lsp.source.nodes import Syntax


@rule(Severity.ERROR, stage=Stage.SERVER)
def mpijob_unreadable(manifest: Manifest) -> Iterator[Finding]:
    """The MPIJob is not YAML that kubectl can read.

    JSON has no infinity and no NaN, and a text has to fit its tag, as in `!!int 5`.
    Source: sigs.k8s.io/yaml, `YAMLToJSON`; go.yaml.in/yaml/v2, resolve.go.
    """
    for node in manifest.reader.unsupported:
        tag = (node.tag or "").replace(YAML_TAG, "!!")
        reason = f"its text does not fit '{tag}'" if tag else "JSON has no infinity and no NaN"
        yield Finding(node.span, f"Kubernetes cannot read this value: {reason}")


@rule(Severity.INFORMATION, stage=Stage.SERVER)
def mpijob_template(manifest: Manifest) -> Iterator[Finding]:
    """The file is a template of manifests.

    Helm, envsubst or another program fills in values such as `{{ .Values.slots }}` and `${SLOTS}` before the file is
    sent. They are not checked, and everything else is.
    Source: envsubst(1); Helm, "Template Functions and Pipelines".

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        metadata: {name: train}
        spec:
          slotsPerWorker: ${SLOTS}
          #               ^^^^^^^^ information
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{name: main, image: mpi, command: [mpirun, ./a.out]}]}}}
    """
    yield from _template(manifest.syntax)


def _template(syntax: Syntax) -> Iterator[Finding]:
    for span in filled_in(syntax)[:1]:
        written = syntax.text[span.start : span.end]
        yield Finding(span, f"'{written}' is a placeholder for another program; what it fills in is not checked")


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.REFUSED)
def mpijob_unserved(manifest: Manifest) -> Iterator[Finding]:
    """The cluster does not serve this version of the MPIJob.

    kubectl: no matches for kind "MPIJob". `kubeflow.org/v2beta1` is the version of the MPI operator since 0.4.0.
    `kubeflow.org/v1` is served by the Kubeflow Training Operator up to 1.9; a cluster has one of the two.
    Source: kubeflow/mpi-operator, manifests/base/kubeflow.org_mpijobs.yaml; kubeflow/training-operator v1.9.0.

        apiVersion: kubeflow.org/v1alpha2
        #           ^^^^^^^^^^^^^^^^^^^^^ warning
        kind: MPIJob
        metadata: {name: train}
    """
    kind = manifest.text("kind") or ""
    if kind != "MPIJob":
        span = manifest.place("kind")
        fixes = fix_of("Write MPIJob", TextEdit, span, "MPIJob", safe=True)
        message = f"no cluster serves the kind '{kind}'; write 'MPIJob' with these capitals"
        yield Finding(span, message, fixes, field="kind")
    version = manifest.version
    if version == SERVED:
        return
    span = manifest.place("apiVersion")
    convert = "pai-lsp convert --to v2beta1 upgrades the file"
    if version in {TRAINING_OPERATOR, OTHER_OPERATOR}:
        who = "the Training Operator up to 1.9" if version == TRAINING_OPERATOR else "its own operator"
        message = f"only {who} serves {version}; the MPI operator needs {SERVED} ({convert})"
        yield Finding(span, message, _upgrade(manifest), field="apiVersion", severity=Severity.INFORMATION)
    elif version is None:
        yield Finding(span, f"'apiVersion' is not set; the MPI operator serves {SERVED}", field="apiVersion")
    else:
        known = version in {"kubeflow.org/v1alpha1", "kubeflow.org/v1alpha2"}
        hint = f" ({convert})" if known else ""
        message = f"'{version}' is no longer served; the MPI operator serves {SERVED}{hint}"
        yield Finding(span, message, _upgrade(manifest), field="apiVersion")


@later
def _upgrade(manifest: Manifest) -> Fixes:
    """Write the manifest as the version that is served; its title names what that version does not have."""
    try:
        found = upgraded(manifest.root.plain)
    except ConversionError:
        return ()
    lost = ", ".join(found.lost)
    title = f"Upgrade to {SERVED}" + (f" (not kept: {lost})" if lost else "")
    return fix_of(title, edits_towards, manifest, found.result)


@rule(Severity.ERROR, stage=Stage.SERVER)
def mpijob_refused(manifest: Manifest) -> Iterator[Finding]:
    """The API server or the MPI operator refuses the MPIJob.

    The API server refuses wrong types, missing keys, unknown words and names. A manifest that the operator refuses is
    stored; it writes one event, and nothing starts. `kubeflow.org/v1` is held against the Training Operator.
    Source: kubeflow/mpi-operator v0.8.2, manifests/base/kubeflow.org_mpijobs.yaml and
    pkg/apis/kubeflow/validation/validation.go; kubeflow/training-operator v1.9.4.

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        metadata: {name: train}
        spec:
          slotsPerWorker: "4"
          #               ^^^ error
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{name: main, image: mpi, command: [mpirun, ./a.out]}]}}}
    """
    if not manifest.has_schema:
        return
    faults = [fault for fault in structure_faults(manifest) if fault.kind != "dropped"]
    # The operator never sees an object whose types are wrong.
    if not any(fault.kind == "mistyped" for fault in faults):
        faults += admission_faults(manifest)
    seen: set[str] = set()
    for fault in faults:
        if fault.field not in seen:
            seen.add(fault.field)
            yield Finding(fault.span, fault.message, fault.fixes, field=fault.field)


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.IGNORED)
def mpijob_dropped_key(manifest: Manifest) -> Iterator[Finding]:
    """The API server drops a key that it does not know.

    kubectl refuses the file with `--validate=strict`, its default since Kubernetes 1.25. Other clients, and kubectl
    with `--validate=ignore`, lose the key without a message.
    Source: kubernetes/apiextensions-apiserver, pkg/apiserver/schema/pruning.

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        metadata: {name: train}
        spec:
          cleanPodPolicy: Running
        # ^^^^^^^^^^^^^^ warning
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{name: main, image: mpi, command: [mpirun, ./a.out]}]}}}
    """
    if manifest.has_schema:
        for fault in structure_faults(manifest):
            if fault.kind == "dropped":
                fixes = all_of(fault.fixes, _moved(manifest, fault.field))
                yield Finding(fault.span, fault.message, fixes, field=fault.field)


@later
def _moved(manifest: Manifest, field: str) -> Fixes:
    """Write a key of an older version at its place today, if nothing is there."""
    place, value = place_today(field, manifest.version or SERVED), manifest.get(field)
    if place is None or value is None or manifest.get(place) is not None or place.endswith(".spec"):
        return ()
    changes = (tuple(field.split(".")), None), (tuple(place.split(".")), value.plain)
    return fix_of(f"Move to {place}", edits_of_keys, manifest, *changes, safe=True)


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.IGNORED)
def mpijob_duplicate_key(manifest: Manifest) -> Iterator[Finding]:
    """A key is written twice, and the last one wins.

    kubectl reads the last of them without a message; strict YAML readers refuse the file.
    Source: sigs.k8s.io/yaml, `yaml.Unmarshal` into a map.

        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        metadata: {name: train}
        spec:
          slotsPerWorker: 2
        # ^^^^^^^^^^^^^^ warning
          slotsPerWorker: 4
          mpiReplicaSpecs:
            Launcher: {template: {spec: {containers: [{name: main, image: mpi, command: [mpirun, ./a.out]}]}}}
    """
    for name, first in manifest.reader.duplicates:
        message = f"'{name}' is written again below; Kubernetes reads only the last one"
        yield Finding(first.span, message, field=name)


_OF_ALL, _OF_OPERATORS, _OF_TODAY = map(rules_of, (sys.modules[__name__], manifest_launch_rules, manifest_pod_rules))
MANIFEST_RULES = (*_OF_ALL, *_OF_OPERATORS, *_OF_TODAY)


def manifest_checks(syntax: Syntax) -> Iterator[tuple[Rule, Callable[[], Iterable[Finding]]]]:
    """Each rule with its check of a manifest, to be run; of a text that cannot be read, only why."""
    if problems := unreadable(syntax):
        if filled_in(syntax):
            yield mpijob_template, lambda: _template(syntax)
        else:
            yield mpijob_unreadable, lambda: [Finding(problem.span, problem.message) for problem in problems]
        return
    for manifest in manifests(syntax):
        layout = layout_of(manifest)
        yield from ((one, partial(one.check, manifest)) for one in _OF_ALL)
        yield from ((one, partial(one.check, layout)) for one in _OF_OPERATORS if layout)
        yield from ((one, partial(one.check, layout)) for one in _OF_TODAY if layout and not layout.is_other)
