"""Rules about the words of command lines: options that a program does not have, and values that it cannot use.

Facts: schemas/programs.json; DeepSpeed 0.18, launcher/runner.py; Python, `runpy`.
"""

from __future__ import annotations

from pai_lsp.embedded.command_lines import MODULES
from pai_lsp.findings.diagnostic import Finding, Related, Severity, rule
from pai_lsp.platform.programs import TORCH, hosts_of
from pai_lsp.rules.commands.command_uses import (
    LAUNCHING,
    CommandUse,
    all_uses,
    changed,
    insert_fix,
    known_lines,
)
from pai_lsp.source.foreign import number_of
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import did_you_mean, nearest
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.embedded.command_lines import Arguments
    from pai_lsp.embedded.shell_script import Word
    from pai_lsp.job.job import Job

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
    "horovodrun": {
        "--gpus": "-np", "--num_gpus": "-np", "--num-gpus": "-np", "--nproc_per_node": "-np",
        "--num_processes": "-np", "--num-processes": "-np", "-n": "-np",
    },
    **{f"azcopy {name}": {"-r": "--recursive", "-R": "--recursive"} for name in ("copy", "cp", "sync", "remove", "rm")},
    "apt-get": {"--no-recommends": "--no-install-recommends", "--force": "--force-yes"},
    "tensorboard": {"--log_dir": "--logdir", "--log-dir": "--logdir", "--bind-all": "--bind_all", "--ip": "--host"},
}  # fmt: skip
# What a program needs besides its options, and the options with which it does not.
_NEEDED = {
    "pip install": (("-r", "-e", "--group", "--requirements-from-script"), "a package or '-r FILE'"),
    "horovodrun": (("-np", "--min-np", "--host-discovery-script", "--num-proc"), "the number of processes, '-np'"),
    "tensorboard": (("--logdir", "--db", "--logdir_spec", "--inspect", "--version_tb"), "a folder, '--logdir'"),
    "unzip": (("-hh", "-Z"), "a file"),
    **dict.fromkeys((*TORCH, "deepspeed", "accelerate launch"), ((), "a script to run")),
}
_HELP = ("-h", "--help", "--helpfull", "--helpshort", "--version", "-v", "-cb", "--config_file")
# The values of launchers' options, by the first name of each.
_VALUES = {
    "--nproc-per-node": lazy_pattern(r"[0-9]{1,6}|gpu|cpu|auto|xpu"),
    "--nnodes": lazy_pattern(r"[0-9]+(?::[0-9]+)?"),
    "--node-rank": lazy_pattern(r"[0-9]+"),
    "--master-port": lazy_pattern(r"[0-9]+"),
}
_KNOWN_MODULES = (*MODULES, "http.server")
# Programs of which letters after one dash are not compared: there are too many to tell a mistake.
_JOINING_LETTERS = frozenset({"wget", "curl", "unzip", "ssh", "scp", "rsync"})
_NEAR = 0.8
_PYTHON_FILE = lazy_pattern(r"[\w./-]+/[\w.-]+\.py|[\w-]+\.py|[\w-]+(?:/[\w-]+)+")


@rule(Severity.ERROR)
def unknown_command_option(job: Job) -> Iterator[Finding]:
    """A program does not have an option.

    The program stops with "unrecognized arguments" or "no such option". Checked are options before the training script
    of torchrun, torch.distributed.launch, deepspeed, accelerate and horovodrun, and those of pip, conda, azcopy,
    `git clone`, rsync and tensorboard.
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
    for use, name, known, arguments in known_lines(job):
        for option, span in arguments.unknown:
            foreign = _FOREIGN.get(name, {})
            near = () if option in foreign else nearest(option, known.options, _NEAR)
            if known.is_partial and option not in foreign and not near:
                continue
            if not option.isascii() or (name in _JOINING_LETTERS and not option.startswith("--")):
                continue
            message = f"'{name}' has no option '{option}'"
            if name == "pip install" and option in {"-y", "--yes"}:
                start = max(word.span.end for word in use.line.words if word.span.end <= span.start)
                message += "; it never asks for confirmation"
                yield changed(use.place, Span(start, span.end), message, "", f"Remove '{option}'", at=span)
                continue
            better = foreign.get(option) or (near[0] if near else None)
            guess = f"; use '{better}'" if option in foreign and better else did_you_mean(option, near)
            yield changed(use.place, span, message + guess, better)


@rule(Severity.ERROR)
def missing_command_argument(job: Job) -> Iterator[Finding]:
    """A word that a command needs is missing.

    It stops with "expected one argument", "You must give at least one requirement" or the like: an option without its
    value, a launcher without the script to run, `horovodrun` without `-np`, tensorboard without `--logdir`, unzip
    without a file, `ssh -o NAME` without a value.
    Source: pip, pip/_internal/commands/install.py; torch/distributed/run.py; horovod/runner/launch.py;
    tensorboard/program.py; UnZip 6.00 and OpenSSH 9.2, by running them.

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
    for use, name, _, arguments in known_lines(job):
        if arguments.unknown:
            continue
        for option in arguments.without_value:
            yield Finding(use.span(option.span), f"'{use.written(option.span)}' needs a value")
        if name in {"ssh", "scp"}:
            yield from _settings_without_value(use, arguments)
        options, needed = _NEEDED.get(name, ((), ""))
        if not needed or arguments.is_open or arguments.without_value or (arguments.operands and name != "horovodrun"):
            continue
        if arguments.has(*_HELP, *options) or any((one.value or "").endswith(".py") for one in arguments.options):
            continue
        if use.line.step.has_piped_input or use.line.step.after == "|":
            continue
        lists = [hosts_of(one, use.line) for one in arguments.options if one.name == "-H" and name == "horovodrun"]
        count = sum(host.slots or 1 for hosts in lists for host in hosts or ())
        fixes = insert_fix(use.place, use.line.name.span.end, f" -np {count}") if count else ()
        # Without any word it prints its help, with code 0.
        severity = Severity.WARNING if name == "unzip" and not use.line.arguments else None
        place = use.word(use.line.arguments[0] if name == "pip install" else use.line.name)
        yield Finding(place, f"'{name}' needs {needed}", fixes, severity=severity)


def _settings_without_value(use: CommandUse, arguments: Arguments) -> Iterator[Finding]:
    """The `-o NAME` of ssh without a value: the word after it is the host."""
    for option in arguments.options:
        value, span = option.value, option.value_span
        if option.name == "-o" and value and span and value.isalpha():
            following = use.place.lines.word_after(span.end)
            gap = Span(span.end, following.start) if following and following.end <= use.line.span.end else None
            message = f"'{value}' has no value, so '{use.line.program}' stops; write '{value}=…'"
            new = "=" if gap and len(arguments.operands) > 1 else None
            yield changed(use.place, gap or span, message, new, at=span)


@rule(Severity.ERROR, about=LAUNCHING)
def torchrun_bad_value(job: Job) -> Iterator[Finding]:
    """A launcher cannot use a value.

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
    launchers = (*TORCH, "deepspeed", "accelerate launch")
    for use, name, _, arguments in known_lines(job, launchers):
        first = arguments.operands[0] if len(arguments.operands) > 1 else None
        is_python = first is not None and first.text in {"python", "python3"}
        if first is not None and is_python and not arguments.has("--no-python", "--no_python"):
            removed = Span(first.span.start, first.span.end + 1)
            message = f"'{name}' starts Python itself and treats '{first.text}' as the script"
            yield changed(use.place, removed, message, "", "Remove it", at=first.span)
        if name == "accelerate launch":
            count = arguments.option("--num-processes", "--num_processes")
            if arguments.has("--multi-gpu", "--multi_gpu") and count and count.value == "1" and count.value_span:
                yield Finding(use.span(count.value_span), "'--multi_gpu' needs at least 2 processes")
        if name not in TORCH:
            continue
        for option in arguments.options:
            value, span, valid = option.value, option.value_span, _VALUES.get(option.name.replace("_", "-"))
            if valid is None or value is None or span is None or "<%" in value or "{{" in value:
                continue
            written = use.written(option.span)
            if valid.fullmatch(value):
                if value == "gpu" and use.role is not None and use.role.amount("gpu") == 0:
                    yield Finding(use.span(span), "the task has no GPU, so the launcher stops")
            elif value.endswith(".py"):
                yield Finding(use.span(option.span), f"'{written}' needs a value and treats '{value}' as the value")
            else:
                message = f"'{written}' needs a number, but is '{value}'"
                yield changed(use.place, span, message, numbers.get(value.lower()))


@rule(Severity.ERROR, about=("deepspeed",))
def deepspeed_arguments(job: Job) -> Iterator[Finding]:
    """A `deepspeed` command cannot start here.

    Without a file of hosts, `--num_nodes` above 1 is an error, as are `--include` and `--exclude` together with counts.
    A task without a GPU is a warning.
    Source: deepspeed/launcher/runner.py, main; deepspeed/accelerator/real_accelerator.py, get_accelerator.

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
    for use, _, _, arguments in known_lines(job, ("deepspeed",)):
        hosts = arguments.has("-H", "--hostfile") or use.place.mentions("hostfile")
        nodes = arguments.option("--num_nodes")
        include = arguments.option("-i", "--include", "-e", "--exclude")
        count = arguments.option("--num_gpus", "--num_accelerators", "--num_nodes")
        gpu = use.role.amount("gpu") if use.role else None
        if nodes and nodes.value and nodes.value.isdigit() and number_of(nodes.value) > 1 and not hosts:
            place = use.span(Span(nodes.span.start, nodes.end))
            yield Finding(place, "'--num_nodes' needs a file of hosts, '--hostfile'")
        elif include and count:
            related = (Related(use.span(count.span), "a count"),)
            message = f"'{use.written(include.span)}' cannot be combined with '{use.written(count.span)}'"
            yield Finding(use.span(Span(include.span.start, include.end)), message, related=related)
        elif gpu == 0 and not (hosts or arguments.has("--bind_cores_to_rank") or use.place.mentions("DS_ACCELERATOR")):
            message = "the task has no GPU: DeepSpeed trains on the processor, and old versions stop"
            if arguments.operands:
                yield Finding(use.word(use.line.name), message, severity=Severity.WARNING)


@rule(Severity.WARNING)
def module_path(job: Job) -> Iterator[Finding]:
    """A path is written where a module name is expected.

    `python -m` and `torchrun -m` need a name with dots, without `.py`: "No module named ...".
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
    for use, word in job.once(_all_modules):
        if word.is_literal and _PYTHON_FILE.fullmatch(word.text):
            new = word.text.removeprefix("./").removesuffix(".py").replace("/", ".")
            yield changed(use.place, word.span, f"'-m' needs the name of a module: '{new}'", new)


@rule(Severity.ERROR)
def unknown_python_module(job: Job) -> Iterator[Finding]:
    """The name of a well-known module is misspelled.

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
    for use, word in job.once(_all_modules):
        if not word.is_literal or word.text in _KNOWN_MODULES or "/" in word.text or "." not in word.text:
            continue
        near = nearest(word.text, _KNOWN_MODULES, 0.9)
        if near and near[0].count(".") == word.text.count(".") and not word.text.endswith(".py"):
            message = f"no module is named '{word.text}'{did_you_mean(word.text, near)}"
            yield changed(use.place, word.span, message, near[0])


def _all_modules(job: Job) -> list[tuple[CommandUse, Word]]:
    """The words after `-m` of Python and torchrun."""
    found: list[tuple[CommandUse, Word]] = []
    for use in all_uses(job):
        if use.line.is_module:
            found.append((use, use.line.name))
        elif use.line.program == "torchrun":
            arguments = use.arguments("torchrun")
            if arguments.has("-m", "--module") and arguments.operands:
                found.append((use, arguments.operands[0]))
    return found
