"""Rules about commands as bash reads them, and the environment that they run in."""

from __future__ import annotations

from pai_lsp.rules.commands import (
    bash_commands,
    data_paths,
    download_commands,
    environment,
    errexit_rules,
    job_end,
    launch_commands,
    mpi,
    mpi_hosts,
    nounset_rules,
    package_commands,
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
    *nounset_rules.RULES,
    *task_programs.RULES,
    *job_end.RULES,
    *bash_commands.RULES,
    *data_paths.RULES,
    *environment.RULES,
    *task_variables.RULES,
    *mpi_hosts.RULES,
    *mpi.RULES,
)
