"""Rules about resources, images, scheduling and completion."""

from __future__ import annotations

from pai_lsp.rules.resources import docker_images, hived, job_lifecycle, task_resources

RULES = (
    *docker_images.RULES,
    *task_resources.RULES,
    *job_lifecycle.RULES,
    *hived.RULES,
)
