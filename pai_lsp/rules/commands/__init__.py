"""Rules about commands as bash reads them, and the environment that they run in."""

from __future__ import annotations

from pai_lsp.rules.commands import (
    download_commands,
    environment,
    errexit_rules,
    job_end,
    launch_commands,
    launch_processes,
    mpi,
    mpi_hosts,
    nounset_rules,
    package_commands,
    script_order,
    script_variables,
    scripts_in_yaml,
    servers,
    shell_syntax_rules,
    task_programs,
    word_rules,
)

RULES = (
    *shell_syntax_rules.RULES,
    *package_commands.RULES,
    *launch_commands.RULES,
    *download_commands.RULES,
    *errexit_rules.RULES,
    *word_rules.RULES,
    *servers.RULES,
    *scripts_in_yaml.RULES,
    *script_order.RULES,
    *launch_processes.RULES,
    *nounset_rules.RULES,
    *task_programs.RULES,
    *job_end.RULES,
    *script_variables.RULES,
    *environment.RULES,
    *mpi_hosts.RULES,
    *mpi.RULES,
)
