"""The arguments and the help of the subcommands about clusters, failures and local runs.

Apart from arguments.py because `check` needs none of it.
"""

from __future__ import annotations

import threading

from pai_lsp.cli.arguments import job_arguments, one_job, path
from pai_lsp.platform.platforms import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

_FIT_DESCRIPTION = """\
Check whether jobs fit a cluster: whether its server would refuse them, how many
SKUs each task needs, and whether they would be accepted but never start.

The answer is for an empty and healthy cluster: "fits" does not mean that its
nodes are free now. It is based on the cluster's profile alone; the cluster is
not contacted.
"""

_FIT_EPILOG = """\
exit status:
  0  every job fits
  1  a job is refused or never starts
  2  wrong usage

examples:
  pai-lsp fit --cluster cluster.json train.pai.yaml
  pai-lsp fit --cluster lab --format json jobs/
"""


def fit(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp fit`."""
    parser.description = _FIT_DESCRIPTION
    parser.epilog = _FIT_EPILOG
    add = parser.add_argument
    job_arguments(parser)
    help_text = "a cluster's profile: its name, or a file (default: 'cluster' in .pai-lsp.yaml)"
    add("--cluster", metavar="CLUSTER", help=help_text)
    add("--format", choices=("text", "json"), default="text", help="output format (default: text)")


_CLUSTER_DESCRIPTION = """\
Create and list the profiles of clusters. A profile is a file with what pai-lsp
needs to know about a cluster: SKU types, virtual clusters and their cells, and
your rights.
It holds no token, host name, e-mail address or account key.
"""

_CLUSTER_EPILOG = """\
examples:
  pai-lsp cluster import services-configuration.yaml --name lab --group default
  pai-lsp cluster import hivedscheduler.yaml --name lab -o lab.json
  pai-lsp cluster pull lab
  pai-lsp cluster list
  pai-lsp fit --cluster lab train.pai.yaml
"""


def cluster(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp cluster`."""
    parser.description = _CLUSTER_DESCRIPTION
    parser.epilog = _CLUSTER_EPILOG
    parts = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)

    def part(name: str, summary: str) -> argparse.ArgumentParser:
        return parts.add_parser(name, help=summary, description=summary, allow_abbrev=False)

    importing = part("import", "create a profile from services-configuration.yaml, hivedscheduler.yaml, or both")
    importing.add_argument(
        "files", nargs="+", type=path, metavar="FILE", help="the administrator's configuration files"
    )
    importing.add_argument("--group", action="append", default=[], metavar="NAME", help="a group whose rights you have")
    importing.add_argument("--platform", choices=NAMES, help="the platform (default: as in the files)")
    importing.add_argument("--name", required=True, metavar="NAME", help="your name for the cluster")
    _profile_output(importing)
    pulling = part("pull", "create a profile from the REST API of a cluster in your clusters.yaml")
    pulling.add_argument("name", metavar="NAME", help="the cluster's name in your own clusters.yaml")
    _profile_output(pulling)
    login = part("login", "store the access token of a cluster in the key store of the system")
    login.add_argument("name", metavar="NAME", help="the cluster's name in your own clusters.yaml")
    part("list", "list your profiles")


def _profile_output(parser: argparse.ArgumentParser) -> None:
    help_text = "write the profile to this file, or to - for standard output (default: by its name)"
    parser.add_argument("-o", "--output", type=path, metavar="FILE", help=help_text)


_WHY_DESCRIPTION = """\
Explain why a task failed: what happened, who can fix it, which line of the job
caused it, and what to change.

TEXT is an exit code, a file, - for standard input, or the text itself: the end
of a log, the diagnostics of the portal, or an event of the scheduler. Nothing
of it is sent anywhere.

Or it is the name of a job on a cluster of your own clusters.yaml: its
diagnostics and the end of its log are fetched, and the file that was submitted
is looked for in the current folder.

The platform reports another code than the commands end with. A number as TEXT
is explained as both, where it can be both; --exit-code is the code of the
commands (originUserExitCode in the portal).
"""

_WHY_EPILOG = """\
exit status:
  0  the failure is explained, or there was none
  1  nothing is recognized in TEXT
  2  wrong usage

examples:
  pai-lsp why 137
  pai-lsp why --exit-code 127
  pai-lsp why --job train.pai.yaml --exit-code 1 user.pai.all
  pai-lsp why --cluster lab train
  pai-lsp why "Pod needs to wait, reason: insufficient capacity"
"""


def why(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp why`."""
    parser.description = _WHY_DESCRIPTION
    parser.epilog = _WHY_EPILOG
    add = parser.add_argument
    help_text = "an exit code, a file, - for standard input, the text itself, or a job's name"
    add("text", nargs="?", metavar="TEXT", help=help_text)
    add("--cluster", metavar="CLUSTER", help="TEXT is the name of a job on this cluster of your own clusters.yaml")
    add("--job", type=path, metavar="JOB", help="the job that failed, to find the line")
    add("--role", metavar="ROLE", help="the task role that failed (default: the one that TEXT names, or the first)")
    add("--exit-code", type=int, metavar="N", help="the exit code of the commands, alone or with their log")
    add("--platform-log", type=path, metavar="FILE", help="the runtime's log of the task")
    add("--diagnostics", type=path, metavar="FILE", help="the exit diagnostics of the portal, if TEXT is a log")
    add("--format", choices=("text", "json"), default="text", help="output format (default: text)")


_RUN_DESCRIPTION = """\
Run one task of a job on this machine as an OpenPAI cluster would: with the
same environment variables, scripts, order and shell options. Choose where:
--container podman or docker runs everything that the job says in a container
of its image, --container none runs it on this machine with your rights.

Everything that will run is shown, and you are asked before anything starts,
unless you give --yes.
"""

_RUN_EPILOG = """\
exit status:
  the exit status of the commands; 1 if the task would not start; 2 for wrong
  usage

examples:
  pai-lsp run --dry train.pai.yaml                         show what would run
  pai-lsp run --container podman train.pai.yaml --role worker --index 1
  pai-lsp run --container podman train.pai.yaml --all
  pai-lsp run train.pai.yaml --container docker --storage data=/data/mnist
"""


def run(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp run`."""
    parser.description = _RUN_DESCRIPTION
    parser.epilog = _RUN_EPILOG
    add = parser.add_argument
    one_job(parser, "you agree to all that it runs")
    add("--role", metavar="ROLE", help="the task role (default: the first)")
    add("--index", type=int, default=0, metavar="N", help="the index of the task, from 0 (default: 0)")
    add("--all", action="store_true", help="run all tasks of all task roles at once; the first failure ends the others")
    add("--user", default="user", metavar="NAME", help="the user name that the task sees (default: user)")
    add("--dry", action="store_true", help="run nothing; show the environment, the scripts and their order")
    add("--show-secrets", action="store_true", help="with --dry: insert the values of secrets as the runtime does")
    add("--container", choices=("podman", "docker", "none"), help="where the tasks run; none: on this machine")
    add("--git-image", metavar="IMAGE", help="the image in which the plugin git clones (default: that of the task)")
    add("--time-limit", type=_seconds, metavar="SECONDS", help="end the tasks after this time; the status is then 124")
    add(
        "--storage",
        action="append",
        default=[],
        metavar="NAME",
        help="NAME=FOLDER: use this folder as the storage NAME",
    )
    add("--yes", action="store_true", help="do not ask before running")
    add("--format", choices=("text", "json"), default="text", help="output format of --dry (default: text)")


def _seconds(text: str) -> float:
    """A time; argparse reports a ValueError."""
    seconds = float(text)
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise ValueError
    return seconds


_SUBMIT_DESCRIPTION = """\
Submit a job to one of your clusters: expand it, check it for the cluster, show
a summary, ask you, send it to the cluster's rest-server once, and print the
address of the job's page.

The address comes from your own clusters.yaml, never from a job or a project.
The token is sent only over https, or to this machine.
"""

_SUBMIT_EPILOG = """\
exit status:
  0  the cluster has accepted the job; with --follow, it has succeeded
  1  the job was not submitted; with --follow, also: it did not succeed
  2  wrong usage, or you did not agree
  3  it is not known whether the job was submitted

examples:
  pai-lsp submit train.pai.yaml
  pai-lsp submit --cluster lab --yes --follow train.pai.yaml
"""


def submit(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp submit`."""
    parser.description = _SUBMIT_DESCRIPTION
    parser.epilog = _SUBMIT_EPILOG
    add = parser.add_argument
    one_job(parser, "you agree to each")
    help_text = "the cluster's name in your own clusters.yaml (default: 'cluster' in .pai-lsp.yaml)"
    add("--cluster", metavar="CLUSTER", help=help_text)
    add("--yes", action="store_true", help="do not ask before the job is sent")
    add("--force", action="store_true", help="send the job even if it has errors")
    add("--follow", action="store_true", help="show how the job gets on until its end, then why it failed")


_JOBS_DESCRIPTION = """\
List your jobs on a cluster with their states, or show one of them: its tasks,
retries, what ended it, and what it waits for. It only reads; the page of the
job in the portal, whose address is shown, can stop it and has its metrics.
"""

_LOGS_DESCRIPTION = """\
Print the log of a task of a job on a cluster: that of the task that ended the
job, else of one that failed, else of the first one.
"""

_LIVE_EPILOG = """\
exit status:
  0  done      1  the cluster does not answer, or refuses      2  wrong usage

examples:
  pai-lsp jobs
  pai-lsp jobs --cluster lab train
  pai-lsp logs train --role worker --task 1 --follow
  pai-lsp why train
"""


def jobs(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp jobs`."""
    parser.description = _JOBS_DESCRIPTION
    parser.epilog = _LIVE_EPILOG
    help_text = "a job (default: list all); USER~NAME for that of another user"
    parser.add_argument("name", nargs="?", metavar="NAME", help=help_text)
    _live(parser)


def logs(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp logs`."""
    parser.description = _LOGS_DESCRIPTION
    parser.epilog = _LIVE_EPILOG
    add = parser.add_argument
    add("name", metavar="NAME", help="a job; USER~NAME for that of another user")
    add("--role", metavar="ROLE", help="the task role")
    add("--task", type=int, metavar="N", help="the index of the task, from 0")
    add("--follow", action="store_true", help="go on with what is still written, until the task ends")
    _live(parser)


def _live(parser: argparse.ArgumentParser) -> None:
    help_text = "the cluster's name in your own clusters.yaml (default: 'cluster' in .pai-lsp.yaml, or your only one)"
    parser.add_argument("--cluster", metavar="CLUSTER", help=help_text)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output format (default: text)")
