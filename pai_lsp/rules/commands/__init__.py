"""Rules about commands as bash reads them, and the environment that they run in."""

from __future__ import annotations

from pai_lsp.findings.diagnostic import rules_of
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

FAMILIES = {
    "shell": rules_of(
        shell_syntax_rules, word_rules, scripts_in_yaml, script_order, errexit_rules, nounset_rules, script_variables
    ),
    "packages": rules_of(package_commands),
    "downloads": rules_of(download_commands),
    "launchers": rules_of(launch_commands, launch_processes, mpi_hosts, mpi),
    "environment": rules_of(environment),
    "programs": rules_of(servers, task_programs, job_end),
}
