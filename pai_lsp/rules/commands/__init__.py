"""Rules about commands as bash reads them, and the environment that they run in."""

from __future__ import annotations

from pai_lsp.rules.commands import (
    data_paths,
    download_commands,
    environment,
    errexit_rules,
    git_commands,
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
    task_variables,
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
    *git_commands.RULES,
    *nounset_rules.RULES,
    *task_programs.RULES,
    *job_end.RULES,
    *script_variables.RULES,
    *data_paths.RULES,
    *environment.RULES,
    *task_variables.RULES,
    *mpi_hosts.RULES,
    *mpi.RULES,
)
