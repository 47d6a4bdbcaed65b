"""The arguments and the help of each subcommand.

They are apart from the code that runs a subcommand, so that --help and completion in a shell import none of it.
"""

from __future__ import annotations

import argparse
import os

from pai_lsp.cli.report import FORMATS
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.platform.platforms import ALL_NAMES

_CHECK_DESCRIPTION = """\
Check OpenPAI job files and report what the cluster would reject or not run as
intended.

In a folder, job files are those named *.pai.yaml or *.pai.yml, and other .yaml
and .yml files whose top level has protocolVersion 2 and either taskRoles or
type: job. Hidden folders, node_modules and everything that .gitignore or
'exclude' in .pai-lsp.yaml matches are skipped. A file that is named here is
always checked.
"""

_CHECK_EPILOG = """\
severities:
  error        the cluster rejects the job, or the job cannot work as written
  warning      the job runs, but not as intended
  information  useful to know
  hint         unused or outdated

Information and hints are shown only with --severity information or hint. The
formats json and ndjson always include them.

CODES are codes of rules or families of rules, separated by commas. The families
are text, structure, prerequisites, plugins, platforms, templates, secrets,
resources, shell, packages, downloads, launchers, environment, programs,
cluster, mpijob and files; "commands" means the six from shell to programs.
--select and --ignore also take what becomes of the job: refused, dies, fails,
ignored or style.

exit status:
  0  no findings at or above --severity, or --exit-zero
  1  findings, or --diff found something to fix
  2  wrong usage
  3  pai-lsp failed; if on one file, the others were still checked

The environment variables NO_COLOR and FORCE_COLOR are respected.
Values of secrets are always shown as asterisks, also by --diff.

examples:
  pai-lsp check                                     this folder and below
  pai-lsp check train.yaml --format concise         one line for each finding
  pai-lsp check jobs/ --ignore unused-prerequisite,image-latest-tag
  pai-lsp check jobs/ --select secrets,templates    only these families
  pai-lsp check --add-ignore                        accept what is found today
  pai-lsp check --diff                              show what --fix would change
  pai-lsp check --watch jobs/                       while you edit elsewhere
  pai-lsp check --show-settings train.pai.yaml      which configuration applies?
  pai-lsp check - --stdin-filename train.pai.yaml   for editors
  pai-lsp check --format sarif -o pai-lsp.sarif     for code scanning
  pai-lsp check --format gitlab -o gl-code-quality.json  for GitLab
"""


def check(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp check`."""
    parser.description = _CHECK_DESCRIPTION
    parser.epilog = _CHECK_EPILOG
    add = parser.add_argument
    add(
        "paths",
        nargs="*",
        type=path,
        metavar="PATH",
        help="files, folders, or - for standard input (default: this folder)",
    )
    add(
        "--format",
        choices=FORMATS,
        default="text",
        metavar="FORMAT",
        help=f"report format: {', '.join(FORMATS)} (default: text)",
    )
    add("--select", action="append", default=[], metavar="CODES", help="check only these rules (codes or families)")
    add("--ignore", action="append", default=[], metavar="CODES", help="skip these rules (codes or families)")
    add(
        "--severity",
        choices=[severity.label for severity in Severity],
        help="lowest severity that is shown and causes status 1 (default: warning)",
    )
    _platform(parser)
    fixing = parser.add_mutually_exclusive_group()
    fixing.add_argument("--fix", action="store_true", help="apply safe fixes; with -, print the fixed text")
    fixing.add_argument("--diff", action="store_true", help="show what --fix would change; write nothing")
    fixing.add_argument(
        "--add-ignore",
        action="store_true",
        help="add comments that ignore current findings on their lines; with -, print the text",
    )
    showing = parser.add_mutually_exclusive_group()
    showing.add_argument("--show-files", action="store_true", help="list the files that are checked; check nothing")
    showing.add_argument("--show-settings", action="store_true", help="show which settings apply to each file, and why")
    showing.add_argument("--watch", action="store_true", help="check again whenever a file changes, until Ctrl+C")
    add("--baseline", type=path, metavar="FILE", help="leave out the findings that this file accepts")
    add("--update-baseline", action="store_true", help="write the file of --baseline: first all, later only fewer")
    add("--unsafe-fixes", action="store_true", help="with --fix and --diff: also apply fixes that may be wrong")
    add(
        "--stdin-filename",
        type=path,
        metavar="PATH",
        help="file name for standard input in reports, also used to find .pai-lsp.yaml",
    )
    add(
        "--cluster",
        metavar="CLUSTER",
        help="also check whether the jobs fit this cluster: its name or its profile file",
    )
    add("--force-exclude", action="store_true", help="skip excluded files even if they are named here")
    add("--no-gitignore", action="store_true", help="also check files in folders that .gitignore excludes")
    add("--only-jobs", action="store_true", help="skip files that are not jobs even if they are named here")
    add(
        "--jobs",
        type=_process_count,
        metavar="N",
        help="number of processes (default: one per processor for many files)",
    )
    add(
        "--shellcheck",
        type=path,
        metavar="PROGRAM",
        help="also run ShellCheck on the commands: a program, 'auto' (where it is installed) or 'off'",
    )
    add("--images", action="store_true", help="also ask the registries whether the images exist")
    configuring = parser.add_mutually_exclusive_group()
    configuring.add_argument("--config", type=path, metavar="FILE", help="use this configuration for all files")
    configuring.add_argument("--isolated", action="store_true", help="ignore all configuration files")
    output_option(parser, "the report")
    add("-q", "--quiet", action="store_true", help="print only findings: no summary, no progress bar")
    add("--statistics", action="store_true", help="print how many findings each rule has, as text or json")
    add("--exit-zero", action="store_true", help="exit with 0 if there are findings")
    add("--color", choices=("auto", "always", "never"), default="auto", help="use colors (default: auto)")
    add("--no-progress", action="store_true", help="do not show a progress bar")


def output_option(parser: argparse.ArgumentParser, content: str, *, is_for_many: bool = False) -> None:
    """Add `--output`, which means the same in each command; `is_for_many` if several jobs go to a folder."""
    more = "; for several jobs, to files in this folder" if is_for_many else ""
    help_text = f"write {content} to this file, or to - for standard output (default){more}"
    parser.add_argument("-o", "--output", type=path, metavar="FILE", help=help_text)


def job_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the jobs of a command."""
    help_text = "job files, folders of jobs, or - for standard input"
    parser.add_argument("jobs", nargs="+", type=path, metavar="JOB", help=help_text)


def one_job(parser: argparse.ArgumentParser, reason: str) -> None:
    """Add the job of a command that takes only one, for a reason that its messages give."""

    def file(text: str) -> str:
        if os.path.isdir(path(text)):  # noqa: PTH112 - importing pathlib takes a while
            raise argparse.ArgumentTypeError(f"'{text}' is a folder; give one job: {reason}")
        return text

    parser.add_argument("job", type=file, metavar="JOB", help="a job file, or - for standard input")
    parser.set_defaults(one_job=reason)


def _platform(parser: argparse.ArgumentParser) -> None:
    help_text = "the platform of the jobs (default: as in their comment or .pai-lsp.yaml, or openpai)"
    parser.add_argument("--platform", choices=ALL_NAMES, metavar="PATH", help=help_text)


_EXPAND_DESCRIPTION = """\
Expand a job into one that any released cluster accepts and runs as intended.

Required prerequisites from the job, from extras.reference_prerequisites and
from the marketplace are copied into the job. Template variables are replaced,
and storages are moved to extras. Commands for taskFails and containerExit
are moved into the commands of the task role. Commands that the released
runtime would change (several lines, quotes, backslashes) are rewritten so that
they run unchanged. Comments, order and formatting of everything else are kept.

Secrets remain references in every format; only --show-secrets inserts their
values. Passwords in clear text are asterisks in script and json, unless
--show-secrets is given.
"""

_EXPAND_EPILOG = """\
formats:
  yaml    the job to submit
  script  for reading: what runs before, in and after the commands, and where
          each part is written
  json    the scripts and commands of each task role as the released runtime
          writes them: {"version": 1, "taskRoles": {"ROLE": {"pre": [...],
          "command": "...", "post": [...], "platformPlugins": [...]}}};
          the scripts of these plugins (ssh, git, ...) are left to the platform

The expanded job is checked before it is printed. Its findings are printed to
standard error, with the lines of JOB that they come from. If the job cannot be
expanded, or the expanded job has errors, there is no output.

exit status:
  0  success, and the expanded job has no errors
  1  the job cannot be expanded, the expanded job has errors, or --check found
     a difference
  2  wrong usage
  3  pai-lsp failed, or the output could not be written

examples:
  pai-lsp expand train.pai.yaml > released.yaml
  pai-lsp expand train.pai.yaml --format script --task-role worker
  # what runs if you submit it unexpanded
  pai-lsp expand train.pai.yaml --as-is
  # the same with secrets, to compare with a real task
  pai-lsp expand train.pai.yaml --as-is --show-secrets
  # for pre-commit and CI
  pai-lsp expand train.pai.yaml -o released.yaml --check
  pai-lsp expand jobs/ -o released/ --check
"""


def expand(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp expand`."""
    parser.description = _EXPAND_DESCRIPTION
    parser.epilog = _EXPAND_EPILOG
    add = parser.add_argument
    job_arguments(parser)
    _platform(parser)
    add("--as-is", action="store_true", help="show what a released cluster runs if you submit the unexpanded file")
    add(
        "--show-secrets",
        action="store_true",
        help="with --as-is in json: insert the secrets of the file as the runtime does, to compare with what a cluster "
        "ran; the output then contains their values",
    )
    add("--inline", action="store_true", help="put the commands of callbacks into the commands of the task roles")
    add("--format", choices=("yaml", "json", "script"), help="output format (default: yaml; with --as-is: json)")
    add("--task-role", metavar="ROLE", help="print only this task role; with yaml, inline only this task role")
    output_option(parser, "the result", is_for_many=True)
    add("--check", action="store_true", help="write nothing; exit with 1 if the file of --output is not up to date")
    add("--force", action="store_true", help="print the expanded job even if it has errors, and exit with 1")


_CONVERT_DESCRIPTION = """\
Convert a job of protocol version 1 (JSON, also with // comments, or the same
keys in YAML) to version 2.

Comments are kept. Task roles are renamed where the runtime cannot handle their
names, also in environment variables in commands. Defaults of version 1 are
written out where version 2 has a different default. Comments at the top list
what clusters no longer support.

With --to v2beta1, upgrade an MPIJob manifest of an older version
(kubeflow.org/v1, v1alpha2, v1alpha1, or batch.test.bdap.com/v1) to
kubeflow.org/v2beta1. With --to pai, convert an MPIJob manifest to an OpenPAI
job; with --to mpijob, a job with mpirun or horovodrun to an MPIJob manifest.
The parts that the result lacks are listed on standard error.
"""

_CONVERT_EPILOG = """\
Findings in the new job are printed to standard error.

exit status:
  0  success
  1  the file cannot be read or converted
  2  wrong usage
  3  pai-lsp failed, or the output could not be written

examples:
  pai-lsp convert train.json > train.pai.yaml
  pai-lsp convert old/*.json -o jobs/
  pai-lsp convert --to v2beta1 mpijob.yaml > new-mpijob.yaml
  pai-lsp convert --to pai mpijob.yaml > train.pai.yaml
  pai-lsp convert --to mpijob train.pai.yaml > mpijob.yaml
"""


def convert(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp convert`."""
    parser.description = _CONVERT_DESCRIPTION
    parser.epilog = _CONVERT_EPILOG
    help_text = "job files, or - for standard input; no folders, which do not tell what to convert"
    parser.add_argument("jobs", nargs="+", type=path, metavar="JOB", help=help_text)
    parser.add_argument(
        "--to",
        choices=("v2", "v2beta1", "pai", "mpijob"),
        default="v2",
        help="v2 (default): v1 job to v2; v2beta1: upgrade an MPIJob; pai: MPIJob to job; mpijob: job to MPIJob",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="output format of --to v2beta1, pai and mpijob"
    )
    output_option(parser, "the result", is_for_many=True)


_GRAPH_DESCRIPTION = """\
Draw the prerequisite graph: the task roles of a job, their prerequisites, and
everything that these require, in the file, in extras.reference_prerequisites
and in the marketplace.

Cycles are red, undefined names are red and dashed, and definitions from the
marketplace show their file or address.
"""

_GRAPH_EPILOG = """\
formats:
  mermaid        for a ```mermaid block on GitHub, GitLab and many wikis
  dot            for Graphviz
  svg, png, pdf  pictures, drawn by Graphviz: its program 'dot' must be on PATH

exit status:
  0  success
  1  the file has syntax errors or nothing to draw
  2  wrong usage
  3  pai-lsp failed, the picture could not be drawn, or the output could not be
     written

examples:
  pai-lsp graph train.pai.yaml
  pai-lsp graph train.pai.yaml -o train.svg
  pai-lsp graph train.pai.yaml --format dot > train.dot
"""


def graph(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp graph`."""
    parser.description = _GRAPH_DESCRIPTION
    parser.epilog = _GRAPH_EPILOG
    add = parser.add_argument
    job_arguments(parser)
    add(
        "--format",
        choices=("mermaid", "dot", "svg", "png", "pdf"),
        help="output format (default: from the extension of FILE, or mermaid)",
    )
    output_option(parser, "the graph", is_for_many=True)


_MARKETPLACE_DESCRIPTION = """\
List, show, fetch, pin and publish the definitions that jobs refer to by
marketplace:// and http(s):// addresses.

Sources are configured under 'marketplace' in .pai-lsp.yaml; a folder
'marketplace' needs no configuration. Only 'refresh', 'publish' and 'withdraw'
use the network. All other commands, including 'check' and 'expand', use folders
and cached results.
"""

_MARKETPLACE_EPILOG = """\
exit status:
  0  success
  1  not found, not reachable, not locked, refused, or a difference
  2  wrong usage
  3  pai-lsp failed, or the lock file could not be written

examples:
  pai-lsp marketplace list mnist
  pai-lsp marketplace show marketplace://name/mnist
  pai-lsp marketplace refresh
  pai-lsp marketplace lock --check      in a build: is the lock file up to date?
  pai-lsp marketplace lock mnist        pin the newest form of this definition
  pai-lsp marketplace diff --base main  what does this branch change in jobs?
  pai-lsp marketplace publish marketplace/mnist.yaml --dry-run
"""


def marketplace(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp marketplace`."""
    parser.description = _MARKETPLACE_DESCRIPTION
    parser.epilog = _MARKETPLACE_EPILOG
    parts = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)

    def part(name: str, summary: str) -> argparse.ArgumentParser:
        added = parts.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        added.add_argument("--folder", type=path, default=os.curdir, help="the project (default: this folder)")
        return added

    listing = part("list", "list all definitions, or those that contain QUERY in their name, type or summary")
    listing.add_argument("query", nargs="?", default="", metavar="QUERY", help="text to search for (default: list all)")
    listing.add_argument("--type", metavar="TYPE", help="only data, script, output, storage or dockerimage")
    showing = part("show", "show a definition and its source")
    showing.add_argument("reference", metavar="REF", help="an address or a name")
    for one in (listing, showing):
        one.add_argument("--format", choices=("text", "json"), default="text", help="output format (default: text)")
    refreshing = part("refresh", "fetch definitions from the servers and from the web addresses that jobs use")
    refreshing.add_argument(
        "--trust", action="store_true", help="trust the configuration for this run, as PAI_LSP_TRUST=1 does"
    )
    locking = part("lock", "pin the definitions that the jobs use in .pai-lsp.lock")
    locking.add_argument(
        "paths",
        nargs="*",
        type=path,
        metavar="PATH",
        help="job files or folders (default: the project), or the definitions to update: names or addresses",
    )
    showing_only = locking.add_mutually_exclusive_group()
    showing_only.add_argument(
        "--check", action="store_true", help="write nothing; name what would change and exit with 1"
    )
    showing_only.add_argument("--diff", action="store_true", help="write nothing; show what would change")
    comparing = part("diff", "show which jobs a change of definitions changes, and how what they run changes")
    comparing.add_argument("paths", nargs="*", type=path, metavar="PATH", help="jobs or folders (default: the project)")
    comparing.add_argument(
        "--base",
        metavar="COMMIT",
        help="compare with the definitions of this commit (default: those of the lock file, and of folders as in HEAD)",
    )
    publishing = part("publish", "share the definitions of a file, or a whole job, on a marketplace server")
    publishing.add_argument("file", type=path, metavar="FILE", help="a file of definitions, or a job")
    publishing.add_argument("--dry-run", action="store_true", help="print what would be sent; send nothing")
    publishing.add_argument("--title", metavar="TITLE", help="the item's name on the server's pages")
    publishing.add_argument("--item", metavar="ID", default="", help="the item of yours to change")
    publishing.add_argument("--private", action="store_true", help="only you can see a new item")
    withdrawing = part("withdraw", "delete an item of yours from a marketplace server")
    withdrawing.add_argument("reference", metavar="REF", help="the item's id or title, or a definition in it")
    for one in (publishing, withdrawing):
        one.add_argument("--server", metavar="URL", help="one of the configured servers (default: the only one)")
        one.add_argument("--yes", action="store_true", help="do not ask")
        one.add_argument("--trust", action="store_true", help="trust the configuration for this run")


_TRUST_DESCRIPTION = """\
Trust the 'marketplace' section of a folder's .pai-lsp.yaml. Only then does the
language server run its token commands, send its tokens, contact its servers and
hosts, and read its folders outside the workspace. The same holds for
'pai-lsp marketplace refresh'. Everything else works without trust.

The answer is for this section only: when the section, or a script in the folder
that it runs, changes, it is no longer trusted. Sources in your own
configuration, ~/.config/pai-lsp/config.yaml, need no trust.
"""

_TRUST_EPILOG = """\
exit status:
  0  success, or there is nothing to trust
  1  with --remove: there is no answer for this folder
  2  wrong usage
  3  pai-lsp failed, or the answer could not be saved

In CI, set PAI_LSP_TRUST=1 for the commands that may use the network.

examples:
  pai-lsp trust                show what may happen in this folder, and trust it
  pai-lsp trust --list         list the answers
  pai-lsp trust --remove ~/jobs
"""


def trust(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp trust`."""
    parser.description = _TRUST_DESCRIPTION
    parser.epilog = _TRUST_EPILOG
    parser.add_argument(
        "folder", nargs="?", type=path, default=os.curdir, metavar="FOLDER", help="the project (default: this folder)"
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--list", action="store_true", help="list the folders with an answer, and what each may do")
    action.add_argument("--remove", action="store_true", help="forget the answer for this folder")
    action.add_argument("--remove-all", action="store_true", help="forget all answers")


_RULES_DESCRIPTION = """\
List all rules with code, default severity and summary. `pai-lsp explain CODE`
explains one.

Change the severity of a rule, or turn it off, under 'rules' in .pai-lsp.yaml.
To ignore one finding, put the comment `# pai-lsp: ignore[code] reason` on its
line or on the line above.
"""


def rules(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp rules`."""
    parser.description = _RULES_DESCRIPTION
    parser.add_argument("family", nargs="?", metavar="FAMILY", help="only the rules of this family (default: all)")
    parser.add_argument("--fixable", action="store_true", help="only rules with fixes that `check --fix` applies")
    parser.add_argument("--search", metavar="WORDS", help="only rules whose code or explanation has these words")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output format (default: text)")


def explain(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp explain`."""
    parser.description = (
        "Explain a rule or an exit code: what is wrong, what the cluster does, the\nsource for that, and examples."
    )
    parser.add_argument("code", metavar="CODE", help="the code of a rule, as shown in reports, or an exit code")
    choices = ("auto", "always", "never")
    parser.add_argument("--color", choices=choices, default="auto", help="use colors (default: auto)")


_SCHEMA_DESCRIPTION = """\
Print a JSON schema (draft 2020-12):

  job            a job file
  definition     a file with definitions, as in a marketplace folder
  configuration  .pai-lsp.yaml
"""

_SCHEMA_EPILOG = """\
example, for an editor with yaml-language-server:
  pai-lsp schema job > openpai-job.schema.json
  # then, as the first line of a job:
  # yaml-language-server: $schema=openpai-job.schema.json
"""


def schema(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp schema`."""
    parser.description = _SCHEMA_DESCRIPTION
    parser.epilog = _SCHEMA_EPILOG
    parser.add_argument(
        "name",
        nargs="?",
        choices=("job", "definition", "configuration"),
        default="job",
        help="the schema to print (default: job)",
    )


_SHELL_DESCRIPTION = """\
Check the syntax of bash scripts as bash does, without running anything.

Standard input holds one JSON object per line, {"id": ..., "script": "..."}. For
each of them, one line is printed: {"id", "status", "line", "message"} with the
status "ok", "warning" (a here-document never ends) or "error", and the line
that bash reports, from 1. Use this command in other programs, or to check
scripts that a program generates.
"""

_SHELL_EPILOG = """\
exit status:
  0  bash reads every script
  1  at least one has an error
  2  wrong usage, or a line that is not such an object

example:
  echo '{"id": 1, "script": "if true; then echo"}' | pai-lsp shell
"""


def shell(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp shell`."""
    parser.description = _SHELL_DESCRIPTION
    parser.epilog = _SHELL_EPILOG
    parser.add_argument("--format", choices=("ndjson",), default="ndjson", help="input and output (default: ndjson)")


_SERVER_DESCRIPTION = """\
Run the language server. It uses the Language Server Protocol over standard
input and output. With --tcp it uses TCP, for debugging only: everyone who can
reach the address can use the server.
"""


def server(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp server`."""
    parser.description = _SERVER_DESCRIPTION
    parser.add_argument("--stdio", action="store_true", help="use standard input and output (default)")
    parser.add_argument(
        "--tcp", type=address, metavar="HOST:PORT", help="listen on this address, such as 127.0.0.1:2087"
    )


_COMPLETION_DESCRIPTION = """\
Print a shell script that completes commands, options, their values, files and
codes of rules.
"""

_COMPLETION_EPILOG = """\
to install it:
  bash   echo 'eval "$(pai-lsp completion bash)"' >> ~/.bashrc
  zsh    echo 'eval "$(pai-lsp completion zsh)"' >> ~/.zshrc   (after compinit)
  fish   pai-lsp completion fish > ~/.config/fish/completions/pai-lsp.fish
"""


def completion(parser: argparse.ArgumentParser) -> None:
    """Describe `pai-lsp completion`."""
    parser.description = _COMPLETION_DESCRIPTION
    parser.epilog = _COMPLETION_EPILOG
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def path(text: str) -> str:
    """A path. An empty one would mean the current folder, and is a mistake: `--fix "$UNSET"`.

    Raises:
        argparse.ArgumentTypeError: if it is empty.
    """
    if not text:
        raise argparse.ArgumentTypeError("the path is empty; is a variable of the shell not set?")
    return text


def address(text: str) -> tuple[str, int]:
    """A host and a port; `[::1]:2087` for an IPv6 address.

    Raises:
        argparse.ArgumentTypeError: for anything else.
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is not HOST:PORT with a port up to 65535")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _process_count(text: str) -> int:
    """A number of processes, at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of processes, such as 4")
    return int(text)
