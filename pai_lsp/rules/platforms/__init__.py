"""Rules about what only some platforms read or refuse: what holds for one is asked of `job.platform`."""

from __future__ import annotations

from pai_lsp.findings.diagnostic import rules_of
from pai_lsp.rules.platforms import other_platform, platform_keys

RULES = rules_of(other_platform, platform_keys)
