"""Rules about programs that start training on several GPUs or tasks, compared with the job that they run in.

Facts: PyTorch 1.13 to 2.9, torch/distributed/run.py and elastic/rendezvous; DeepSpeed 0.18, launcher/runner.py;
Accelerate 1.15, commands/launch.py; Horovod 0.28, runner/launch.py.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Related, Severity, rule
from pai_lsp.platform.launchers import hosts_of
from pai_lsp.platform.programs import program, program_of
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.rules.commands.command_uses import CommandUse, all_uses, edit_fix, insert_fix, uses
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import did_you_mean, nearest
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.command_lines import Arguments, Option
    from pai_lsp.embedded.shell_script import Word
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole

_TORCH = ("torchrun", "torch.distributed.launch")
# What people write, by the launcher that they write it for.
_TORCH_NAMES = {
    "--num_gpus": "--nproc_per_node", "--num-gpus": "--nproc_per_node", "--gpus": "--nproc_per_node",
    "--ngpus": "--nproc_per_node", "--num_processes": "--nproc_per_node", "--nprocs": "--nproc_per_node",
    "--num_nodes": "--nnodes", "--num-nodes": "--nnodes", "--num_machines": "--nnodes", "--nodes": "--nnodes",
    "--machine_rank": "--node_rank", "--main_process_ip": "--master_addr", "--main_process_port": "--master_port",
    "--rank": "", "--world_size": "", "--world-size": "",
}  # fmt: skip
_FOREIGN = {
    "torchrun": _TORCH_NAMES,
    "torch.distributed.launch": _TORCH_NAMES,
    "deepspeed": {
        "--nproc_per_node": "--num_gpus", "--nproc-per-node": "--num_gpus", "--nnodes": "--num_nodes",
        "--num_processes": "--num_gpus", "--num_machines": "--num_nodes",
    },
    "accelerate launch": {
        "--num_gpus": "--num_processes", "--nproc_per_node": "--num_processes", "--nnodes": "--num_machines",
        "--num_nodes": "--num_machines", "--node_rank": "--machine_rank", "--master_addr": "--main_process_ip",
        "--master_port": "--main_process_port",
    },
    "horovodrun": {"--nproc_per_node": "-np", "--num_processes": "-np", "--num-processes": "-np", "-n": "-np"},
    "apt-get": {"--no-recommends": "--no-install-recommends", "--force": "--force-yes"},
    "tensorboard": {"--log_dir": "--logdir", "--log-dir": "--logdir", "--bind-all": "--bind_all", "--ip": "--host"},
}  # fmt: skip
_NEAR = 0.8
_LOCAL = lazy_pattern(r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|::1)(?::[0-9]+)?")
_NUMBER = lazy_pattern(r"[0-9]{1,6}")
_HOST_OF_TASK = lazy_pattern(r"\$\{?PAI_HOST_IP_([A-Za-z0-9]+)_([0-9]+)\}?(?::.*)?")
_TASK_COUNT = lazy_pattern(r"\$\{?PAI_TASK_ROLE_TASK_COUNT_[A-Za-z0-9_]+\}?")
_INDEX = "$PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"
_DYNAMIC = ("c10d", "etcd", "etcd-v2")
_PYTHON_FILE = lazy_pattern(r"[\w./-]+/[\w.-]+\.py|[\w-]+\.py|[\w-]+(?:/[\w-]+)+")


@rule(Severity.ERROR)
def unknown_command_option(job: Job) -> Iterator[Finding]:
    """Option that a program does not have.

    The program stops with "unrecognized arguments" or "no such option". Checked are options before the training script
    of torchrun, torch.distributed.launch, deepspeed, accelerate and horovodrun, and those of pip, `git clone` and
    tensorboard.
    Source: schemas/programs.json, with the source of each program's options.

        taskRoles:
          worker:
            commands:
              - torchrun --num_gpus 4 train.py
              #          ^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - torchrun --nproc_per_node 4 train.py
    """
    for use, name, arguments in _known_lines(job):
        known = program(name)
        for option, span in arguments.unknown if known else ():
            foreign = _FOREIGN.get(name, {})
            near = () if option in foreign else nearest(option, known.options, _NEAR) if known else ()
            if known and known.is_partial and option not in foreign and not near:
                continue
            if not option.isascii():
                continue
            better = foreign.get(option) or (near[0] if near else "")
            guess = f"; use '{better}'" if option in foreign and better else did_you_mean(option, near)
            fixes = edit_fix(use.place, f"Change to '{better}'", span, better) if better else ()
            if name == "pip install" and option in {"-y", "--yes"}:
                start = len(use.place.script.text[: span.start].rstrip(" "))
                fixes = edit_fix(use.place, f"Remove '{option}'", Span(start, span.end), "")
                guess = "; it never asks"
            yield Finding(use.span(span), f"'{name}' has no option '{option}'{guess}", fixes)


@rule(Severity.ERROR)
def missing_command_argument(job: Job) -> Iterator[Finding]:
    """Command without a word that it needs.

    It stops with "expected one argument", "You must give at least one requirement" or the like: an option without its
    value, a launcher without the script to run, `horovodrun` without `-np`, tensorboard without `--logdir`.
    Source: pip, pip/_internal/commands/install.py; torch/distributed/run.py; horovod/runner/launch.py;
    tensorboard/program.py.

        taskRoles:
          worker:
            commands:
              - torchrun --nproc_per_node 4
              # ^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - torchrun --nproc_per_node 4 train.py
    """
    for use, name, arguments in _known_lines(job):
        if arguments.unknown:
            continue
        for option in arguments.without_value:
            yield Finding(use.span(option.span), f"'{_written(use, option)}' needs a value")
        if arguments.is_open or arguments.without_value or use.line.step.has_piped_input or use.line.step.after == "|":
            continue
        if arguments.has("-h", "--help", "--helpfull", "--helpshort", "--version", "-v", "-cb", "--config_file"):
            continue
        if name == "pip install":
            if not arguments.operands and not arguments.has("-r", "-e", "--group", "--requirements-from-script"):
                word = use.line.arguments[0]
                yield Finding(use.word(word), "'pip install' needs a package or '-r FILE'")
        elif name == "horovodrun":
            if not arguments.has("-np", "--min-np", "--host-discovery-script", "--num-proc"):
                lists = [hosts_of(one, use.place.script.text) for one in arguments.options if one.name == "-H"]
                count = sum(host.slots or 1 for hosts in lists for host in hosts or ())
                fixes = insert_fix(use.place, use.line.name.span.end, f" -np {count}") if count else ()
                yield Finding(use.word(use.line.name), "'horovodrun' needs the number of processes, '-np'", fixes)
        elif name == "tensorboard":
            is_other = arguments.has("--db", "--logdir_spec", "--inspect", "--version_tb") or arguments.operands
            if not arguments.has("--logdir") and not is_other:
                yield Finding(use.word(use.line.name), "'tensorboard' needs a folder, '--logdir'")
        elif name in _FOREIGN and name != "apt-get" and not arguments.operands:
            if any((option.value or "").endswith(".py") for option in arguments.options):
                continue
            yield Finding(use.word(use.line.name), f"'{name}' needs the script to run")


@rule(Severity.ERROR)
def torchrun_bad_value(job: Job) -> Iterator[Finding]:
    """Value that a launcher cannot use.

    For torchrun, `--nproc_per_node` is a number, `gpu`, `cpu` or `auto`, and `--nnodes` a number or a range such as
    `1:4`. Launchers start Python themselves: a word `python` before the script is taken for the script.
    Source: torch/distributed/run.py, determine_local_world_size and parse_min_max_nnodes.

        taskRoles:
          worker:
            commands:
              - torchrun --nproc_per_node four train.py
              #                           ^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - torchrun --nproc_per_node 4 train.py
    """
    numbers = {"one": "1", "two": "2", "three": "3", "four": "4", "eight": "8", "all": "gpu", "gpus": "gpu"}
    launchers = (*_TORCH, "deepspeed", "accelerate launch")
    for use, name, arguments in _known_lines(job, launchers):
        first = arguments.operands[0] if len(arguments.operands) > 1 else None
        is_python = first is not None and first.text in {"python", "python3"}
        if first is not None and is_python and not arguments.has("--no-python", "--no_python"):
            fixes = edit_fix(use.place, "Remove it", Span(first.span.start, first.span.end + 1), "")
            message = f"'{name}' starts Python itself and takes '{first.text}' for the script"
            yield Finding(use.word(first), message, fixes)
        if name == "accelerate launch":
            count = arguments.option("--num-processes", "--num_processes")
            if arguments.has("--multi-gpu", "--multi_gpu") and count and count.value == "1" and count.value_span:
                yield Finding(use.span(count.value_span), "'--multi_gpu' needs at least 2 processes")
        if name not in _TORCH:
            continue
        for option in arguments.options:
            value, span = option.value, option.value_span
            if value is None or span is None or "<%" in value or "{{" in value:
                continue
            is_right = True
            if option.name.replace("-", "_") == "__nproc_per_node":
                is_right = bool(_NUMBER.fullmatch(value)) or value in {"gpu", "cpu", "auto", "xpu"}
            elif option.name == "--nnodes":
                is_right = re.fullmatch(r"[0-9]+(?::[0-9]+)?", value) is not None
            elif option.name.replace("-", "_") in {"__node_rank", "__master_port"}:
                is_right = value.isdigit()
            if not is_right and value.endswith(".py"):
                yield Finding(
                    use.span(option.span), f"'{_written(use, option)}' needs a value, and takes '{value}' for it"
                )
            elif not is_right:
                new = numbers.get(value.lower())
                fixes = edit_fix(use.place, f"Change to '{new}'", span, new) if new else ()
                yield Finding(use.span(span), f"'{_written(use, option)}' needs a number, but is '{value}'", fixes)


@rule(Severity.WARNING)
def processes_exceed_gpu(job: Job) -> Iterator[Finding]:
    """More processes than the task has GPUs.

    Each process takes one GPU; those without one stop with "invalid device ordinal" or share a GPU and its memory.
    Source: torch/distributed/run.py; deepspeed/launcher/runner.py.

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
            commands:
              - torchrun --nproc_per_node 8 train.py
              #                           ^ warning

    Good:

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
            commands:
              - torchrun --nproc_per_node 2 train.py
    """
    for use, gpu, option, count in _process_counts(job):
        if option.value_span is not None and count > gpu:
            fixes = edit_fix(use.place, f"Change to {gpu}", option.value_span, str(gpu))
            yield Finding(use.span(option.value_span), f"{count} processes, but the task has {_gpus(gpu)}", fixes)


@rule(Severity.INFORMATION)
def processes_below_gpu(job: Job) -> Iterator[Finding]:
    """Fewer processes than the task has GPUs.

    The other GPUs stay unused while the job holds them.
    Source: torch/distributed/run.py (one process for each GPU).

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 4}
            commands:
              - torchrun --nproc_per_node 1 train.py
              #                           ^ information

    Good:

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 4}
            commands:
              - torchrun --nproc_per_node 4 train.py
    """
    for use, gpu, option, count in _process_counts(job):
        launched = [one for one in uses(job, *_TORCH, "deepspeed") if one.role is use.role]
        if "CUDA_VISIBLE_DEVICES" in use.place.script.text or len(launched) > 1:
            continue
        if option.value_span is not None and count < gpu:
            fixes = edit_fix(use.place, f"Change to {gpu}", option.value_span, str(gpu))
            yield Finding(use.span(option.value_span), f"the task has {_gpus(gpu)}, of which {count} are used", fixes)


@rule(Severity.WARNING)
def launch_nodes_mismatch(job: Job) -> Iterator[Finding]:
    """Number of nodes that is not the number of instances of the task role.

    Every instance runs the commands. With more nodes than instances, each waits for others that never come and gives up
    after some minutes; with fewer, some wait in vain. One node in a role of several means independent runs and is not
    reported.
    Source: torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py; accelerate/commands/launch.py.

        taskRoles:
          worker:
            instances: 2
            commands:
              - torchrun --nnodes 4 --node_rank $PAI_TASK_INDEX --master_addr $PAI_HOST_IP_worker_0 train.py
              #                   ^ warning

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - torchrun --nnodes 2 --node_rank $PAI_TASK_INDEX --master_addr $PAI_HOST_IP_worker_0 train.py
    """
    for launch in _launches(job):
        option, count = launch.nodes, launch.node_count
        if option is None or option.value_span is None or count is None or count < 2:
            continue
        total = launch.arguments.option("--num-processes", "--num_processes")
        gpu = launch.role.amount("gpu")
        if total is not None and total.value_span is not None and gpu and gpu > 1 and total.value == str(gpu):
            new = str(gpu * count)
            fixes = edit_fix(launch.use.place, f"Change to {new}", total.value_span, new)
            message = f"'--num_processes' is the number on all machines: {new}"
            yield Finding(launch.use.span(total.value_span), message, fixes)
        if count != launch.role.instances and not launch.reaches_other_roles:
            use, instances = launch.use, launch.role.instances
            fixes = edit_fix(use.place, f"Change to {instances}", option.value_span, str(instances))
            message = f"{count} nodes, but '{launch.role.name}' has {instances} instance{'s' * (instances != 1)}"
            yield Finding(use.span(option.value_span), message, fixes)


@rule(Severity.WARNING)
def launch_rank(job: Job) -> Iterator[Finding]:
    """Rank that is the same in every task.

    Every instance runs the same commands, so a written rank, or the default 0, is the rank of all of them, and they do
    not find each other.
    Source: torch/distributed/run.py (`node_rank` defaults to 0); accelerate/commands/launch.py.

        taskRoles:
          worker:
            instances: 2
            commands:
              - torchrun --nnodes 2 --node_rank 0 --master_addr $PAI_HOST_IP_worker_0 train.py
              #                     ^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - >-
                torchrun --nnodes 2 --node_rank $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX
                --master_addr $PAI_HOST_IP_worker_0 train.py
    """
    for launch in _launches(job):
        if not launch.is_distributed or launch.is_dynamic or launch.asks_for_index:
            continue
        use, option = launch.use, launch.rank
        if option is None:
            new = f" {launch.rank_name} {_INDEX}"
            fixes = insert_fix(use.place, use.line.name.span.end, new) if launch.name in _TORCH else ()
            message = f"without '{launch.rank_name}' all tasks have rank 0; use {_INDEX}"
            yield Finding(use.word(use.line.name), message, fixes)
        elif option.value is not None and option.value_span is not None and _NUMBER.fullmatch(option.value):
            fixes = edit_fix(use.place, f"Change to '{_INDEX}'", option.value_span, _INDEX)
            span = Span(option.span.start, option.value_span.end)
            yield Finding(use.span(span), f"all tasks have rank {option.value}; use {_INDEX}", fixes)


@rule(Severity.WARNING)
def launch_master(job: Job) -> Iterator[Finding]:
    """Address of the master that other tasks cannot reach, or that is not the task of rank 0.

    `localhost` and the default are each task itself. The master is the task with rank 0: `$PAI_HOST_IP_ROLE_0`. A name
    such as `worker-0` only exists in the configuration of ssh.
    Source: torch/distributed/run.py (`master_addr` defaults to 127.0.0.1); openpai-runtime, src/plugins/ssh/sshd.sh.

        taskRoles:
          worker:
            instances: 2
            commands:
              - torchrun --nnodes 2 --node_rank $PAI_TASK_INDEX --master_addr localhost train.py
              #                                                               ^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            instances: 2
            commands:
              - torchrun --nnodes 2 --node_rank $PAI_TASK_INDEX --master_addr $PAI_HOST_IP_worker_0 train.py
    """
    roles = {converted_role_name(role.name): role for role in job.task_roles}
    for launch in _launches(job):
        standalone = launch.arguments.option("--standalone")
        if standalone is not None and (launch.node_count or 1) > 1 and launch.role.instances > 1:
            yield Finding(launch.use.span(standalone.span), "with '--standalone' each task is its own master")
        if not launch.is_distributed:
            continue
        use, option = launch.use, launch.master
        right = f"$PAI_HOST_IP_{converted_role_name(launch.role.name)}_0"
        if option is None:
            if not launch.has_master:
                name = "--main_process_ip" if launch.name == "accelerate launch" else "--master_addr"
                new = f" {name} {right}" if launch.name in _TORCH else ""
                fixes = insert_fix(use.place, use.line.name.span.end, new) if new else ()
                message = f"without '{name}' each task is its own master; use {right}"
                yield Finding(use.word(use.line.name), message, fixes)
            continue
        if option.value_span is None:
            continue
        written = use.place.script.text[option.value_span.start : option.value_span.end]
        host, _, port = written.partition(":")
        after = f":{port}" if port else ""
        host_span = Span(option.value_span.start, option.value_span.start + len(host))
        fixes = edit_fix(use.place, f"Change to '{right}'", host_span, right)
        match = _HOST_OF_TASK.fullmatch(written.strip('"'))
        if _LOCAL.fullmatch(written):
            yield Finding(use.span(host_span), f"'{host}' is each task itself; use {right}", fixes)
        elif match and match[1] == converted_role_name(launch.role.name) and match[2] != "0":
            fixes = edit_fix(use.place, f"Change to '{right}{after}'", option.value_span, right + after)
            yield Finding(use.span(option.value_span), f"the master is the task with rank 0; use {right}", fixes)
        elif not match and (role := roles.get(host.rpartition("-")[0])) and host.rpartition("-")[2].isdigit():
            right = f"$PAI_HOST_IP_{converted_role_name(role.name)}_{host.rpartition('-')[2]}"
            fixes = edit_fix(use.place, f"Change to '{right}'", host_span, right)
            yield Finding(use.span(host_span), f"'{host}' is a name for ssh only, not an address; use {right}", fixes)


@rule(Severity.ERROR)
def deepspeed_arguments(job: Job) -> Iterator[Finding]:
    """Deepspeed that cannot start here.

    Without a file of hosts, `--num_nodes` above 1 is an error, as are `--include` and `--exclude` together with counts,
    and a task without a GPU.
    Source: deepspeed/launcher/runner.py, main.

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 4}
            commands:
              - deepspeed --num_nodes 2 train.py
              #           ^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 4}
            commands:
              - deepspeed --num_gpus 4 train.py
    """
    for use, _, arguments in _known_lines(job, ("deepspeed",)):
        hosts = arguments.has("-H", "--hostfile") or "hostfile" in use.place.script.text
        nodes = arguments.option("--num_nodes")
        include = arguments.option("-i", "--include", "-e", "--exclude")
        count = arguments.option("--num_gpus", "--num_accelerators", "--num_nodes")
        gpu = use.role.amount("gpu") if use.role else None
        if nodes and nodes.value and nodes.value.isdigit() and int(nodes.value) > 1 and not hosts:
            yield Finding(
                use.span(Span(nodes.span.start, nodes.end)), "'--num_nodes' needs a file of hosts, '--hostfile'"
            )
        elif include and count:
            related = (Related(use.span(count.span), "a count"),)
            message = f"'{_written(use, include)}' cannot be combined with '{_written(use, count)}'"
            yield Finding(use.span(Span(include.span.start, include.end)), message, related=related)
        elif gpu == 0 and not hosts and not arguments.has("--bind_cores_to_rank") and arguments.operands:
            yield Finding(use.word(use.line.name), "'deepspeed' needs a GPU, but the task has none")


@rule(Severity.WARNING)
def module_path(job: Job) -> Iterator[Finding]:
    """Path where the name of a module is wanted.

    `python -m` and `torchrun -m` take a name with dots, without `.py`: "No module named ...".
    Source: Python, `runpy`; the documentation of the command line, `-m`.

        taskRoles:
          worker:
            commands:
              - python -m pkg/train.py
              #           ^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - python -m pkg.train
    """
    for use, word in _all_modules(job):
        if word.is_literal and _PYTHON_FILE.fullmatch(word.text):
            new = word.text.removeprefix("./").removesuffix(".py").replace("/", ".")
            fixes = edit_fix(use.place, f"Change to '{new}'", word.span, new)
            yield Finding(use.word(word), f"'-m' wants the name of a module: '{new}'", fixes)


@rule(Severity.ERROR)
def unknown_python_module(job: Job) -> Iterator[Finding]:
    """Misspelled name of a well-known module.

    Python stops with "No module named ...".
    Source: PyTorch, torch/distributed; the Python standard library.

        taskRoles:
          worker:
            commands:
              - python -m torch.distributed.lunch --nproc_per_node=1 train.py
              #           ^^^^^^^^^^^^^^^^^^^^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - python -m torch.distributed.launch --nproc_per_node=1 train.py
    """
    for use, word in _all_modules(job):
        if not word.is_literal or word.text in _MODULES or "/" in word.text or "." not in word.text:
            continue
        near = nearest(word.text, _MODULES, 0.9)
        if near and near[0].count(".") == word.text.count(".") and not word.text.endswith(".py"):
            fixes = edit_fix(use.place, f"Change to '{near[0]}'", word.span, near[0])
            yield Finding(use.word(word), f"no module is named '{word.text}'{did_you_mean(word.text, near)}", fixes)


_MODULES = ("torch.distributed.launch", "torch.distributed.run", "accelerate.commands.launch", "http.server")


@dataclass(frozen=True, slots=True, eq=False)
class _Launch:
    """A launcher of several tasks, read in the terms that all launchers share."""

    job: Job
    use: CommandUse
    name: str
    role: TaskRole
    arguments: Arguments
    nodes: Option | None
    rank: Option | None
    master: Option | None

    @property
    def node_count(self) -> int | None:
        """The number of nodes; None where it is a range, or bash makes it."""
        value = self.nodes.value if self.nodes else None
        return int(value) if value is not None and _NUMBER.fullmatch(value) else None

    @property
    def rank_name(self) -> str:
        """The option for the rank."""
        return "--machine_rank" if self.name == "accelerate launch" else "--node_rank"

    @property
    def is_distributed(self) -> bool:
        """Whether several tasks train together."""
        if self.role.instances < 2 or self.nodes is None or self.arguments.has("--standalone"):
            return False
        if self.nodes.value is None and self.nodes.value_span is not None:
            written = self.use.place.script.text[self.nodes.value_span.start : self.nodes.value_span.end]
            return _TASK_COUNT.fullmatch(written.strip('"')) is not None
        return (self.node_count or 2) > 1

    @property
    def is_dynamic(self) -> bool:
        """Whether the tasks agree on their ranks themselves."""
        backend = self.arguments.option("--rdzv-backend", "--rdzv_backend")
        return backend is not None and backend.value != "static"

    @property
    def has_master(self) -> bool:
        """Whether the master is given in another way, such as a variable."""
        names = ("MASTER_ADDR", "PET_RDZV_ENDPOINT", "ACCELERATE_")
        return self.arguments.has("--config_file", "--config-file") or any(
            name in variable for variable, _ in self.use.line.step.assigned for name in names
        )

    @property
    def asks_for_index(self) -> bool:
        """Whether the commands depend on the task in another way, or give the rank in a variable."""
        step = self.use.line.step
        if any(name.startswith(("PET_NODE_RANK", "ACCELERATE_")) for name, _ in step.assigned):
            return True
        if self.arguments.has("--config_file", "--config-file") or "PET_" in self.use.place.script.text:
            return True
        return any(one.part in {"then", "else", "body"} and one.parent is not None for one in (step, *step.ancestors))

    @property
    def reaches_other_roles(self) -> bool:
        """Whether tasks of other roles run a launcher, too."""
        launches = _launches(self.job)
        return any(one.role is not self.role and one.nodes is not None and one.node_count != 1 for one in launches)


def _launches(job: Job) -> Iterator[_Launch]:
    for use, name, arguments in _known_lines(job, (*_TORCH, "accelerate launch")):
        known = program(name)
        if use.role is not None and known is not None and not arguments.unknown:
            options = (arguments.option(*known.launch[meaning]) for meaning in ("nodes", "rank", "master"))
            yield _Launch(job, use, name, use.role, arguments, *options)


# The programs whose tables are complete enough to compare with.
_PROGRAMS = (
    *_TORCH, "deepspeed", "accelerate", "accelerate.commands.launch", "horovodrun",
    "apt-get", "tensorboard", "pip", "git",
)  # fmt: skip


def _known_lines(job: Job, names: tuple[str, ...] = ()) -> Iterator[tuple[CommandUse, str, Arguments]]:
    """The command lines of programs with a table; `names` are those wanted, all without."""
    return (one for one in _all_lines(job) if not names or one[1] in names)


@lru_cache(maxsize=1)
def _all_lines(job: Job) -> tuple[tuple[CommandUse, str, Arguments], ...]:
    found = ((use, program_of(use.line)) for use in uses(job, *_PROGRAMS))
    read = ((use, known[0], use.arguments(*known)) for use, known in found if known is not None)
    return tuple((use, name, arguments) for use, name, arguments in read if arguments is not None)


def _process_counts(job: Job) -> Iterator[tuple[CommandUse, int, Option, int]]:
    """The written numbers of processes of launchers on this task, with the GPUs of the task."""
    for use, name, arguments in _known_lines(job, (*_TORCH, "deepspeed", "accelerate launch")):
        known = program(name)
        gpu = use.role.amount("gpu") if use.role else None
        launch = known.launch if known else {}
        option = arguments.option(*launch.get("processes", launch.get("total", ())))
        value = option.value if option else None
        if name == "accelerate launch":
            machines = arguments.option(*launch["nodes"])
            is_elsewhere = (machines is not None and machines.value != "1") or arguments.has("--cpu")
        else:
            is_elsewhere = arguments.has("--hostfile", "-H")
        if gpu and option and value and _NUMBER.fullmatch(value) and not is_elsewhere:
            yield use, gpu, option, int(value)


def _all_modules(job: Job) -> Iterator[tuple[CommandUse, Word]]:
    """The words after `-m` of Python and torchrun."""
    for use in all_uses(job):
        if use.line.is_module:
            yield use, use.line.name
        elif use.line.program == "torchrun":
            arguments = use.arguments("torchrun")
            if arguments and arguments.has("-m", "--module") and arguments.operands:
                yield use, arguments.operands[0]


def _written(use: CommandUse, option: Option) -> str:
    return use.place.script.text[option.span.start : option.span.end]


def _gpus(count: int) -> str:
    return f"{count} GPU{'s' * (count != 1)}"


RULES = (
    unknown_command_option,
    missing_command_argument,
    torchrun_bad_value,
    processes_exceed_gpu,
    processes_below_gpu,
    launch_nodes_mismatch,
    launch_rank,
    launch_master,
    deepspeed_arguments,
    module_path,
    unknown_python_module,
)
