"""Rules about the shape of a job: missing, unknown and misplaced keys, and values of the wrong type."""

from __future__ import annotations

from pai_lsp.rules.structure import job_shape, value_types

RULES = (
    *job_shape.RULES,
    *value_types.RULES,
)
