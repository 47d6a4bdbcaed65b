"""Rules about what only some platforms read or refuse: what holds for one is asked of `job.platform`."""

from __future__ import annotations

from pai_lsp.rules.platforms import inference_jobs, node_access, other_platform, platform_programs, plugin_limits

RULES = (
    *other_platform.RULES,
    *inference_jobs.RULES,
    *node_access.RULES,
    *plugin_limits.RULES,
    *platform_programs.RULES,
)
