"""Rules about the shape of a job: missing, unknown and misplaced keys, values of the wrong type, and names."""

from __future__ import annotations

from pai_lsp.findings.diagnostic import rules_of
from pai_lsp.rules.structure import invalid_names, job_shape

RULES = rules_of(job_shape, invalid_names)
