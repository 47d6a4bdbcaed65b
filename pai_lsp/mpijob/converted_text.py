"""One file as another: an MPIJob as an OpenPAI job or of today's version, a job as an MPIJob; for every front end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.mpijob.conversion import ConversionError, Converted, kept_comments, manifest_text, upgraded
from pai_lsp.mpijob.job_to_manifest import job_to_manifest
from pai_lsp.mpijob.manifest import SERVED, Manifest, manifests
from pai_lsp.mpijob.manifest_edits import edits_towards
from pai_lsp.mpijob.manifest_to_job import manifest_to_job
from pai_lsp.mpijob.structure import structure_faults
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import apply_edits

if TYPE_CHECKING:
    from pai_lsp.job.job import Job

MPIJOB, PAI, V2BETA1 = "mpijob", "pai", "v2beta1"
DIRECTIONS = (MPIJOB, PAI, V2BETA1)


def converted_text(job: Job, to: str) -> Converted:
    """The file that a job or its manifest becomes; the first MPIJob of the file, with the comments of the file.

    Raises:
        ConversionError: if it cannot be expressed in the other format.
    """
    comments = "".join(f"{line}\n" for line in kept_comments(job.syntax))
    if to == MPIJOB:
        converted = job_to_manifest(job)
        converted.text = comments + manifest_text(converted.result)
        return converted
    manifest = next(manifests(job.syntax), None)
    if manifest is None:
        raise ConversionError("not-an-mpijob", "this file has no MPIJob")
    if to == V2BETA1:
        converted = upgraded(manifest.root.plain)
        edits = edits_towards(manifest, converted.result)
        converted.text = apply_edits(job.text, edits) if edits else comments + manifest_text(converted.result)
        return converted
    _refuse_wrong_types(manifest)
    converted = manifest_to_job(manifest.root.plain)
    others = [number for number, one in enumerate(job.syntax.documents) if one and one is not manifest.root.node]
    converted.lost |= {f"documents[{number}]": "only the first MPIJob is converted" for number in others}
    comments += "".join(f"# {line}\n" for line in converted.comments)
    converted.text = comments + manifest_text(converted.result)
    return converted


def _refuse_wrong_types(manifest: Manifest) -> None:
    """Raise if the manifest, as today's version, has values of wrong types: nothing is known of what they mean."""
    if manifest.version != SERVED:
        text = manifest_text(upgraded(manifest.root.plain).result)
        manifest = next(manifests(parse(text)))
    wrong = next((fault for fault in structure_faults(manifest) if fault.kind == "mistyped"), None)
    if wrong is not None:
        raise ConversionError("wrong-type", wrong.message)
