"""Rules about how many processes a launcher starts, and how those of several tasks find each other.

Facts: PyTorch 1.13 to 2.9, torch/distributed/run.py and elastic/rendezvous; Accelerate 1.15, commands/launch.py.
"""

from __future__ import annotations

from collections import Counter

from pai_lsp.findings.diagnostic import Finding, Fixes, Severity, rule
from pai_lsp.platform.programs import TORCH
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.rules.commands.command_uses import LAUNCHING, CommandUse, changed, insert_fix, known_lines, uses
from pai_lsp.source.foreign import number_of
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import plural
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.command_lines import Arguments, Option
    from pai_lsp.job.job import Job
    from pai_lsp.job.parts import TaskRole

_LOCAL = lazy_pattern(r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|::1)(?::[0-9]+)?")
_HOST_OF_TASK = lazy_pattern(r"\$\{?PAI_HOST_IP_([A-Za-z0-9]+)_([0-9]+)\}?(?::.*)?")
_TASK_COUNT = lazy_pattern(r"\$\{?PAI_TASK_ROLE_TASK_COUNT_[A-Za-z0-9_]+\}?")
_NUMBER = lazy_pattern(r"[0-9]{1,6}")
_INDEX = "$PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"


@rule(Severity.WARNING, about=LAUNCHING)
def processes_exceed_gpu(job: Job) -> Iterator[Finding]:
    """More processes are started than the task has GPUs.

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
    for use, gpu, span, count in _process_counts(job):
        if count > gpu:
            message = f"{count} processes, but the task has {plural(gpu, 'GPU')}"
            yield changed(use.place, span, message, str(gpu), f"Change to {gpu}")


@rule(Severity.INFORMATION, about=LAUNCHING)
def processes_below_gpu(job: Job) -> Iterator[Finding]:
    """Fewer processes are started than the task has GPUs.

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
    launched = Counter(use.place for use in uses(job, *TORCH, "deepspeed", with_callbacks=False))
    for use, gpu, span, count in _process_counts(job):
        if count < gpu and launched[use.place] < 2 and not use.place.mentions("CUDA_VISIBLE_DEVICES"):
            message = f"the task has {plural(gpu, 'GPU')}, of which {count} are used"
            yield changed(use.place, span, message, str(gpu), f"Change to {gpu}")


@rule(Severity.WARNING, about=LAUNCHING)
def launch_option_after_script(job: Job) -> Iterator[Finding]:
    """An option of the launcher is written after the script.

    The launcher reads options up to the script; everything after it belongs to the script, so that one process starts.
    Source: torch/distributed/run.py (`training_script_args`); accelerate/commands/launch.py.

        taskRoles:
          worker:
            commands:
              - torchrun train.py --nproc_per_node=4
              #                   ^^^^^^^^^^^^^^^^ warning

    Good:

        taskRoles:
          worker:
            commands:
              - torchrun --nproc_per_node=4 train.py
    """
    names = frozenset({"--nproc_per_node", "--nproc-per-node", "--nnodes", "--num_machines", "--num-machines"})
    for use, name, known, arguments in known_lines(job, (*TORCH, "accelerate launch")):
        if arguments.has(*(one for key in ("nodes", "processes", "total") for one in known.launch.get(key, ()))):
            continue
        for word in arguments.operands[1:]:
            option = word.text.partition("=")[0]
            if option in names and option in known.options:
                span = Span(word.span.start, word.span.start + len(option))
                message = f"the script receives '{option}', not '{name}'; write it before the script"
                yield Finding(use.span(span), message)


@rule(Severity.WARNING, about=LAUNCHING)
def launch_nodes_mismatch(job: Job) -> Iterator[Finding]:
    """The number of nodes is not the number of instances of the task role.

    Every instance runs the commands. With more nodes than instances, each waits for others that never come and gives up
    after some minutes; with fewer, some tasks wait and then give up. One node in a role of several means independent
    runs and is not reported.
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
            message = f"'--num_processes' is the number on all machines: {new}"
            yield changed(launch.use.place, total.value_span, message, new, f"Change to {new}")
        # Tasks of other roles may run a launcher, too.
        is_alone = all(role is launch.role for role in job.once(_roles_on_nodes))
        if count != launch.role.instances and is_alone:
            instances = launch.role.instances
            message = f"{count} nodes, but '{launch.role.name}' has {plural(instances, 'instance')}"
            yield changed(launch.use.place, option.value_span, message, str(instances), f"Change to {instances}")


@rule(Severity.WARNING, about=LAUNCHING)
def launch_rank(job: Job) -> Iterator[Finding]:
    """The rank is the same in every task.

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
            name = "--node_rank" if launch.name in TORCH else "--machine_rank"
            message = f"without '{name}' all tasks have rank 0; use {_INDEX}"
            yield Finding(use.word(use.line.name), message, _added(launch, name, _INDEX))
        elif option.value is not None and option.value_span is not None and _NUMBER.fullmatch(option.value):
            span = Span(option.span.start, option.value_span.end)
            message = f"all tasks have rank {option.value}; use {_INDEX}"
            yield changed(use.place, option.value_span, message, _INDEX, at=span)


@rule(Severity.WARNING, about=LAUNCHING)
def launch_master(job: Job) -> Iterator[Finding]:
    """Other tasks cannot reach the address of the master, or it is not the task of rank 0.

    In each task, `localhost` and the default mean the task itself. The master is the task with rank 0:
    `$PAI_HOST_IP_ROLE_0`. A name such as `worker-0` only exists in the configuration of ssh.
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
                name = "--master_addr" if launch.name in TORCH else "--main_process_ip"
                message = f"without '{name}' each task is its own master; use {right}"
                yield Finding(use.word(use.line.name), message, _added(launch, name, right))
            continue
        if option.value_span is None:
            continue
        written = use.written(option.value_span)
        host, _, port = written.partition(":")
        after = f":{port}" if port else ""
        host_span = Span(option.value_span.start, option.value_span.start + len(host))
        match = _HOST_OF_TASK.fullmatch(written.strip('"'))
        if _LOCAL.fullmatch(written):
            message = f"in each task, '{host}' is the task itself; use {right}"
            yield changed(use.place, host_span, message, right)
        elif match and match[1] == converted_role_name(launch.role.name) and match[2] != "0":
            message = f"the master is the task with rank 0; use {right}"
            yield changed(use.place, option.value_span, message, right + after)
        elif not match and (role := roles.get(host.rpartition("-")[0])) and host.rpartition("-")[2].isdigit():
            right = f"$PAI_HOST_IP_{converted_role_name(role.name)}_{host.rpartition('-')[2]}"
            message = f"'{host}' is only a name for ssh, not an address; use {right}"
            yield changed(use.place, host_span, message, right)


def _added(launch: _NodesLaunch, name: str, value: str) -> Fixes:
    at = launch.use.line.name.span.end
    return insert_fix(launch.use.place, at, f" {name} {value}") if launch.name in TORCH else ()


@dataclass(frozen=True, slots=True, eq=False)
class _NodesLaunch:
    """A launcher of several tasks, read in the terms that all launchers share."""

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
        return number_of(value) if value is not None and _NUMBER.fullmatch(value) else None

    @property
    def is_distributed(self) -> bool:
        """Whether several tasks train together."""
        if self.role.instances < 2 or self.nodes is None or self.arguments.has("--standalone"):
            return False
        if self.nodes.value is None and self.nodes.value_span is not None:
            return _TASK_COUNT.fullmatch(self.use.written(self.nodes.value_span).strip('"')) is not None
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
            name in one.name for one in self.use.line.step.assigned for name in names
        )

    @property
    def asks_for_index(self) -> bool:
        """Whether the commands depend on the task in another way, or give the rank in a variable."""
        step = self.use.line.step
        is_set = any(one.name.startswith("ACCELERATE_") for one in step.assigned) or self.use.place.mentions("PET_")
        is_configured = self.arguments.has("--config_file", "--config-file")
        return is_set or is_configured or any(one.part in {"then", "else", "body"} for one in step.around)


def _roles_on_nodes(job: Job) -> tuple[TaskRole, ...]:
    """The task roles that run a launcher on several nodes."""
    roles = (one.role for one in _launches(job) if one.nodes is not None and one.node_count != 1)
    return tuple(dict.fromkeys(roles))


def _launches(job: Job) -> Iterator[_NodesLaunch]:
    for use, name, known, arguments in known_lines(job, (*TORCH, "accelerate launch")):
        if use.role is not None and not arguments.unknown:
            options = (arguments.option(*known.launch[meaning]) for meaning in ("nodes", "rank", "master"))
            yield _NodesLaunch(use, name, use.role, arguments, *options)


def _process_counts(job: Job) -> Iterator[tuple[CommandUse, int, Span, int]]:
    """The written numbers of processes of launchers on this task, with the GPUs of the task before them."""
    for use, name, known, arguments in known_lines(job, (*TORCH, "deepspeed", "accelerate launch")):
        gpu, launch = use.role.amount("gpu") if use.role else None, known.launch
        option = arguments.option(*launch.get("processes", launch.get("total", ())))
        if name == "accelerate launch":
            machines = arguments.option(*launch["nodes"])
            is_elsewhere = (machines is not None and machines.value != "1") or arguments.has("--cpu")
            is_elsewhere = is_elsewhere or (machines is None and arguments.has("--config_file", "--config-file"))
        else:
            is_elsewhere = arguments.has("--hostfile", "-H")
        value, span = (option.value, option.value_span) if option else (None, None)
        if gpu and value and span and _NUMBER.fullmatch(value) and not is_elsewhere:
            yield use, gpu, span, number_of(value)
