"""Rules about resources, images, scheduling and completion."""

from __future__ import annotations

from pai_lsp.rules.resources import (
    completion_policy,
    gang_allocation,
    hived,
    image_accounts,
    images,
    notifications,
    task_resources,
)

RULES = (
    *images.RULES,
    *image_accounts.RULES,
    *task_resources.RULES,
    *gang_allocation.RULES,
    *completion_policy.RULES,
    *hived.RULES,
    *notifications.RULES,
)
