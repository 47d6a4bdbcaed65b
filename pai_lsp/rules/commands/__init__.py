"""Rules about commands as bash reads them, and the environment that they run in."""

from __future__ import annotations

from pai_lsp.rules.commands import (
    bash_commands,
    download_commands,
    environment,
    job_end,
    launch_commands,
    mpi,
    mpi_hosts,
    package_commands,
    shell_syntax_rules,
    task_variables,
)

RULES = (
    *shell_syntax_rules.RULES,
    *package_commands.RULES,
    *launch_commands.RULES,
    *download_commands.RULES,
    *job_end.RULES,
    *bash_commands.RULES,
    *environment.RULES,
    *task_variables.RULES,
    *mpi_hosts.RULES,
    *mpi.RULES,
)
