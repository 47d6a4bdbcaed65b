"""Rules about resources, images, scheduling and completion."""

from __future__ import annotations

from pai_lsp.findings.diagnostic import rules_of
from pai_lsp.rules.resources import docker_images, hived, job_lifecycle, task_resources

RULES = rules_of(docker_images, task_resources, job_lifecycle, hived)
