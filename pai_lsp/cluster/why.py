"""Why a task failed: the cause, who can fix it, the line of the job to look at, and what to change.

Causes are recognized by the words of the programs that users run and of the platform's own messages. The first cause
whose words occur wins, so that the specific ones come first; a cause by exit code alone comes last.
"""

from __future__ import annotations

import re
from enum import Enum

from pai_lsp.cluster.exit_code_text import explained_code, retry_text
from pai_lsp.cluster.failure_report import FailureReport, has_silent_command, line_of, read_report
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.frozen import dataclass, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pai_lsp.job.job import Job


class Blame(Enum):
    """Who can fix it."""

    JOB = "the job"
    PROGRAM = "the program"
    IMAGE = "the image"
    NODE = "the node"
    PLATFORM = "the platform"
    CLUSTER = "the cluster's resources"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Cause:
    """A kind of failure.

    words: a regular expression, searched in the text without regard to case. explanation, fix: one sentence each.
    """

    name: str
    blame: Blame
    explanation: str
    fix: str
    words: str = ""

    def is_in(self, text: str) -> bool:
        """Whether the words occur."""
        return bool(self.words) and re.search(self.words, text, re.IGNORECASE | re.MULTILINE) is not None


_J, _P, _I = Blame.JOB, Blame.PROGRAM, Blame.IMAGE

# Events and diagnostics of the platform.
PLATFORM_CAUSES = (
    Cause(
        "waits-pinned", _J, "The scheduler does not have this pinned cell for the virtual cluster, so the job waits.",
        "Set `pinnedCellId` to a pinned cell of the virtual cluster, or remove it.",
        r"does not have pinned cell|not supported to use pinned cell",
    ),
    Cause(
        "waits-vc", _J, "The scheduler does not have this virtual cluster, although you may use it; the job waits.",
        "Set `defaults.virtualCluster` to one that the scheduler has.",
        r"VC \S* does not exists?|VirtualCluster is empty|hivedscheduler-ds-null",
    ),
    Cause(
        "waits-spec", _J, "The scheduler refuses the request of the task, so the job waits forever.",
        "Write `instances`, request at least one CPU, and use a virtual cluster with SKUs.",
        r"pod-scheduling-spec|LeafCellNumber is|PodNumber|which VC \S+ does not have|leaf cell type \S+ which",
    ),
    Cause(
        "waits-nodes", Blame.NODE, "A node that the job needs is not ready. The job continues when it is ready.",
        "Wait, or tell the administrators.",
        r"bad node|nodes? (?:is|are|were) (?:not ready|unhealthy|unschedulable)|"
        r"had taints? .*(?:not-ready|unreachable)",
    ),
    Cause(
        "waits-sandbox", Blame.NODE, "The node cannot create containers; the job keeps waiting.",
        "Tell the administrators, and stop and submit the job again.",
        r"FailedCreatePodSandBox|create pod sandbox|NetworkPlugin cni",
    ),
    Cause(
        "waits-image", _I, "The image cannot be pulled. The platform tries again and again; the job waits.",
        "Check the image's address and whether the node can reach its registry.",
        r"ImagePullBackOff|ErrImagePull|Back-off pulling image|Failed to pull image|InvalidImageName|"
        r"manifest (?:for \S+ )?(?:not found|unknown)|pull access denied",
    ),
    Cause(
        "waits-storage", _J, "A storage of the job cannot be mounted, so the container does not start.",
        "Check the storage's name, and tell the administrators if it exists.",
        r"FailedMount|FailedAttachVolume|persistentvolumeclaim|Unable to (?:attach or )?mount volumes|"
        r"MountVolume\.\w+ failed|mount\.nfs",
    ),
    Cause(
        "waits-capacity", Blame.CLUSTER, "The tasks do not fit what is free in the virtual cluster; the job waits.",
        "Request less for each task; `pai-lsp fit` shows whether it can ever fit.",
        r"insufficient capacity|Insufficient (?:cpu|memory|nvidia|amd|ephemeral|github)|FailedScheduling|"
        r"Pod needs to wait",
    ),
    Cause(
        "job-ended-by-rule", _J, "Enough tasks of a task role succeeded, so the platform ended the whole job.",
        "Set `minSucceededInstances: -1` for task roles that should not end the job.",
        r"SucceededTaskCount \d+ has reached MinSucceededTaskCount",
    ),
    Cause(
        "job-failed-by-rule", _J, "Enough tasks of a task role failed, so the platform ended the whole job.",
        "Look at the failed task that the trigger names; as many failures as `minFailedInstances` end the job.",
        r"FailedTaskCount \d+ has reached MinFailedTaskCount",
    ),
    Cause(
        "priority-class", Blame.PLATFORM, "The priority class of the job does not exist in Kubernetes.",
        "Submit the job again; tell the administrators if it happens again.",
        r"PriorityClass|priority class",
    ),
    Cause(
        "job-too-large", _J, "The job is too large to be stored.",
        "Put scripts and data into the image, a repository or a storage instead of the job.",
        r"request is too large|etcdserver|Too long: must have at most|exceed(?:s|ed)? .*(?:bytes|size limit)|"
        r"entity too large",
    ),
    Cause(
        "pod-refused", _J, "Kubernetes refuses the task as the job describes it.",
        "Read the field that the message names: equal mount paths, equal storages, impossible numbers, or a quota.",
        r"Failed to create Pod|pods? \S+ is (?:forbidden|invalid)|must be unique|failed quota",
    ),
    Cause(
        "job-refused-late", _J, "The server accepted the job, then Kubernetes refused it.",
        "Check `instances`, the counts of `completion` and `taskRetryCount`, and the names of task roles.",
        r"Framework\S* .*is invalid|spec\.taskRoles|CreateFramework|should be (?:less|greater) than or equal to",
    ),
    Cause(
        "evicted", Blame.NODE, "The node ran out of disk or memory and stopped the task.",
        "Write large files to a storage instead of the container.",
        r'"reason": ?"Evicted"|The node was low on resource|\bEvicted\b|DiskPressure|MemoryPressure',
    ),
    Cause(
        "node-lost", Blame.NODE, "The node of the task no longer answers.", "Wait for the next attempt.",
        r"NodeLost|node .*unresponsive|node .*(?:was )?lost",
    ),
    Cause(
        "resources", Blame.CLUSTER, "The task was sent to a node that does not have enough free resources.",
        "Wait; if it happens again, request less for each task or tell the administrators.",
        r"\bOutOf(?!Memory|Range)\S+|didn't have enough resource|OutOfmemory",
    ),
    Cause(
        "other-role-ended", _J, "The job ended for another reason, and the platform then stopped this task.",
        "Look at the task that the exit trigger names.",
        r"Stop to complete current FrameworkAttempt|FrameworkAttemptCompletion",
    ),
    Cause(
        "stopped", Blame.NOBODY, "Somebody stopped the job.", "Nothing.",
        r"StopFrameworkRequested|User has requested to stop|DeleteTaskRequested",
    ),
    Cause(
        "image-name", _I, "The platform does not accept the name of the image.",
        "Use only lower-case letters, digits, '.', '_' and '-', also in the tag, and no digest.",
        r"image uri:? .* is invalid|ImageNameError",
    ),
    Cause(
        "registry-login", _I, "The registry does not accept the user name or the password.",
        "Check `auth`: `username`, `password` and `registryuri`.",
        r"Login failed|Failed to (?:get auth token|login registry)|username or password is incorrect|"
        r"unauthorized: authentication required",
    ),
    Cause(
        "image-not-found", _I, "The registry does not have this image, or you may not read it.",
        "Check the image's address and tag, and `auth` for a private registry.",
        r"not found or user unauthorized|image \S+ not found|manifest unknown",
    ),
    Cause(
        "port-conflict", Blame.PLATFORM, "A port that was drawn for the task is in use on its node.",
        "Wait for the next attempt; request fewer ports if it happens often.",
        r"Port \S+ has conflict|PORT_CONFLICT_CHECKER",
    ),
    Cause(
        "gang-timeout", Blame.CLUSTER, "Not all tasks had a node within ten minutes.",
        "Request fewer tasks or less for each task; `pai-lsp fit` shows whether they can ever fit.",
        r"FRAMEWORK_BARRIER, exit code is 201|JobGangAllocationTimeout",
    ),
    Cause(
        "ports-zero", _J, "The count of the port `ssh` or `http` is 0, which makes the platform's script fail.",
        "Remove the port, or set its count to 1.",
        r"ENV_GENERATOR",
    ),
    Cause(
        "plugin-unknown", _J, "The platform has no runtime plugin with this name.", "Correct the name of the plugin.",
        r"No such file or directory: '\S*/plugins/[^']*'",
    ),
    Cause(
        "plugin-parameters", _J, "The platform cannot read the parameters of a runtime plugin.",
        "Check them with `pai-lsp check`; a command with both kinds of quotes is the usual reason.",
        r"PLUGIN_INITIALIZER",
    ),
)  # fmt: skip

# What programs write into the log of a task.
LOG_CAUSES = (
    Cause(
        "carriage-return", _J, "The file or the commands have Windows line endings (CRLF).",
        "Convert them: `sed -i 's/\\r$//' FILE`, or store the job with Unix line endings.",
        r"\\r'?: (?:command not found|No such file)|\^M|bad interpreter: .*\r|\r': command not found|\$'\\r'|\\r['’]|"
        r"invalid option\w* name\s*$|: invalid option.*\\r|'\S+\\r'",
    ),
    Cause(
        "unset-variable", _J, "The commands run with 'nounset', and this variable is not set.",
        "Define it, or write `${NAME:-}`; before activation scripts `set +u`, and after them `set -u`.",
        r"unbound variable|parameter (?:not set|null or not set)",
    ),
    Cause(
        "shell-syntax", _J, "bash cannot read the commands.", "Fix the quotes, brackets or the missing word.",
        r"syntax error|unexpected end of file|unexpected EOF|bad substitution|unterminated|"
        r"here-document .*delimited by end-of-file",
    ),
    Cause(
        "mpi-root", _J, "Tasks run as root, and mpirun refuses to run as root.", "Add `--allow-run-as-root`.",
        r"mpi(?:run|exec) has detected an attempt to run as root|allow-run-as-root",
    ),
    Cause(
        "ssh-login", _J, "The ssh server of another task did not accept the login.",
        "Use the ssh plugin with `jobssh: true` in all task roles, and the ports and options that it provides.",
        r"Permission denied \((?:publickey|password|keyboard)|Host key verification failed",
    ),
    Cause(
        "ssh-barrier", _J, "Not every task could be reached by ssh in time.",
        "Use the ssh plugin in all task roles and keep the tasks running until the barrier is passed.",
        r"SSH barrier reaches max retry count|sshbarrier",
    ),
    Cause(
        "gpu-hardware", Blame.NODE, "A GPU of the node has a hardware error.",
        "Wait, and tell the administrators which node it is.",
        r"ECC_UNCORRECTABLE|uncorrectable ECC|fallen off the bus|\bXid\b|GPU is lost|NVLink error",
    ),
    Cause(
        "shared-memory", _J, "The shared memory is full: 512 MB on OpenPAI unless the job asks for more.",
        "Set `extraContainerOptions.shmMB`, or use fewer loader workers.",
        r"shared memory|\bBus error\b|unable to (?:open|write to|mmap).*(?:/torch_|/dev/shm)|/dev/shm|\bSIGBUS\b|"
        r"unable to open shared memory object",
    ),
    Cause(
        "gpu-memory", _P, "The memory of the GPU is full.",
        "Use a smaller batch, or an SKU with more GPU memory.",
        r"(?:CUDA|HIP|GPU) (?:error: )?out of memory|cuda runtime error \(2\)|CUDA_ERROR_OUT_OF_MEMORY|"
        r"cudaErrorMemoryAllocation|ran out of memory trying to allocate|ResourceExhaustedError|"
        r"CUBLAS_STATUS_ALLOC_FAILED|OOM when allocating tensor|CUDNN_STATUS_ALLOC_FAILED",
    ),
    Cause(
        "gpu-driver", _I, "CUDA in the image does not fit the driver or the GPU of the node.",
        "Use an image with an older CUDA, or one that is built for this GPU.",
        r"driver version is insufficient|driver on your system is too old|no kernel image is available|"
        r"unsatisfied condition: cuda|forward compatibility was attempted|dropout supported only in cudnn|"
        r"driver/library version mismatch|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|unsupported display driver",
    ),
    Cause(
        "gpu-missing", _J, "The task has no GPU, or the program in the image cannot use one.",
        "Request GPUs with `gpu`, and use an image whose packages are built for GPUs.",
        r"No CUDA GPUs are available|no CUDA-capable device|Found no NVIDIA driver|not compiled with CUDA|"
        r"CUDA_ERROR_NO_DEVICE|invalid device ordinal|unknown device id|no NVIDIA GPU|libcuda\.so|"
        r"cudaErrorNoDevice|no supported gpu|No HIP GPUs|couldn't communicate with the NVIDIA driver|"
        r"CUDA is not available|is_available\(\) is False|cuda unavailable",
    ),
    Cause(
        "python-import", _I, "A Python module, or a library that it needs, is not in the image.",
        "Install it in the commands, or use an image that has it.",
        r"ModuleNotFoundError|ImportError|No module named|error while loading shared libraries",
    ),
    Cause(
        "host-memory", _J, "The program needed more memory than the task has.",
        "Raise `memoryMB`, which includes /dev/shm, or use less memory.",
        r"ArrayMemoryError|\bMemoryError\b|Cannot allocate memory|bad_alloc|OOMKilled|oom-kill|Out of memory|"
        r"^\S*(?:line \d+:\s+\d+ )?Killed\b|: Killed\b|OutOfMemoryError",
    ),
    Cause(
        "disk-full", Blame.NODE, "A disk is full.", "Write large files to a storage, and remove what is not needed.",
        r"No space left on device|Disk quota exceeded|ENOSPC",
    ),
    Cause(
        "package-install", _J, "A package could not be installed.",
        "Check its name and version; `apt-get` needs `update` before and `-y`.",
        r"No matching distribution found|Could not find a version|Unable to locate package|"
        r"Unable to fetch some archives|(?:^|\s)Abort\.$|PackagesNotFoundError|ResolutionImpossible|"
        r"Failed building wheel|"
        r"Could not build wheels|has no installation candidate|UnsatisfiableError|dpkg: error|E: Could not get lock|"
        r"Sub-process /usr/bin/dpkg returned|metadata-generation-failed|has unmet dependencies|"
        r"is not available, but is referred|npm ERR!|Unable to find a match",
    ),
    Cause(
        "encoding", _P, "A text does not have the encoding that the program expects.",
        "Set `export PYTHONIOENCODING=utf-8 LC_ALL=C.UTF-8`, or name the encoding when the file is opened.",
        r"Unicode(?:De|En)codeError|invalid (?:continuation|start) byte|codec can't (?:de|en)code|"
        r"ascii codec|illegal byte sequence|invalid multibyte",
    ),
    Cause(
        "command-not-found", _I, "The image does not have this command.",
        "Check the spelling, or install it in the commands.",
        r"command not found|: not found$|executable file not found",
    ),
    Cause(
        "wrong-option", _J, "A program does not know one of its options or arguments.",
        "Compare the command with the program's help.",
        r"unknown option|unrecognized (?:option|argument)|invalid option|illegal option|invalid argument:|"
        r"arguments are required|no such option|expected (?:one|at least one) argument|invalid choice|"
        r"unexpected keyword argument|got multiple values for keyword|unrecognized arguments|Unknown command line flag|"
        r"ambiguous option|option .* requires|invalid (?:int|float) value",
    ),
    Cause(
        "network", _J, "A name was not found, or a connection failed.",
        "Check the address and whether the node can reach it; for your own ports, use PAI_PORT_LIST_….",
        r"Could not resolve|name resolution|Name or service not known|Connection (?:refused|timed out|reset|aborted)|"
        r"Address already in use|Network is unreachable|No route to host|ncclSystemError|ncclInternalError|"
        r"NCCL (?:error|WARN)|ConnectTimeout|ReadTimeout|timed out|Max retries exceeded|unable to access|"
        r"unable to resolve|ERROR (?:40\d|50\d)|HTTP Error \d|SSL|certificate verify failed|EADDRINUSE|"
        r"Rendezvous|connect\(\) failed|"
        r"Failed to establish a new connection|The remote end hung up|Could not connect|RPC failed|"
        r"Connection closed by|Gloo connect|socket\.gaierror|worker .* (?:lost|not reachable)|"
        r"There are not enough slots|ORTE (?:was unable|has lost)|WatchDog|Watchdog caught",
    ),
    Cause(
        "permission-denied", _J, "A file may not be read, written or executed.",
        "Run a script with `bash FILE`, or make it executable with `chmod +x`.",
        r"Permission denied|Operation not permitted|Read-only file system|PermissionError|EACCES|not writable",
    ),
    Cause(
        "file-not-found", _J, "A file or folder does not exist.",
        "Check the path and the working directory; a folder of a storage needs `extras.storages`.",
        r"No such file or directory|can't open file|FileNotFoundError|cannot (?:stat|access|open)|does not exist|"
        r"not a directory|Could not find file|No such file|NotFoundError|bad interpreter|did not match any file",
    ),
    Cause(
        "broken-pipe", _J, "A command wrote to a pipe whose reader had ended; 'pipefail' makes that a failure.",
        "Add `|| true` to the pipe, or let the reader read everything.",
        r"Broken pipe|BrokenPipeError|SIGPIPE",
    ),
    Cause(
        "program-crash", _P, "The program crashed.", "Read the end of the log; it is a fault of the program.",
        r"Segmentation fault|core dumped|\bAborted\b|Floating point exception|Illegal instruction|SIGSEGV|SIGABRT|"
        r"Address not mapped|terminate called after|double free|Assertion .* failed|Fatal Python error",
    ),
    Cause(
        "python-error", _P, "The Python program has an error.", "Read the last lines of the traceback.",
        r"^\s*(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Warning)\b(?::|\s*$)|Traceback \(most recent call last\)|"
        r"SyntaxError|UnpicklingError",
    ),
    Cause(
        "stopped", Blame.NOBODY, "The task was asked to stop.", "Nothing; it is started again.",
        r"^Terminated|SIGTERM|KeyboardInterrupt",
    ),
)  # fmt: skip

OTHER_CAUSES = {
    cause.name: cause
    for cause in (
        Cause(
            "silent-failure", _J, "A command failed without a message; 'errexit' ends the commands there.",
            "Add `|| true` where a failure is not a problem, such as a `grep` without a match.",
        ),
        Cause(
            "program-error", _P, "The program ended with its own exit code.", "Read the end of its log.",
        ),
        Cause(
            "image-without-bash", _I, "The image has no bash, which the platform needs to start the commands.",
            "Use an image with /bin/bash.",
        ),
    )
}  # fmt: skip

NO_FAILURE = Cause("no-failure", Blame.NOBODY, "The commands ended with 0: they succeeded.", "Nothing.")
NOT_KNOWN = Cause(
    "not-known", Blame.NOBODY, "Nothing in this text is recognized as a failure.",
    "Give the end of the log, and the exit code of the commands with --exit-code.",
)  # fmt: skip
_BY_NAME = {cause.name: cause for cause in (*PLATFORM_CAUSES, *LOG_CAUSES)} | OTHER_CAUSES

# Causes of the platform's codes that say enough by themselves.
_BY_CODE = {
    -101: "stopped", -200: "pod-refused", -210: "stopped", -220: "other-role-ended", -230: "stopped",
    -1000: "evicted", -1001: "node-lost", -1002: "resources", -1100: "job-refused-late", -1200: "host-memory",
    -1203: "image-without-bash", -1205: "gpu-missing", -310: "priority-class",
    128: "gpu-hardware", 130: "stopped", 132: "program-crash", 134: "program-crash", 135: "shared-memory",
    136: "program-crash", 137: "host-memory", 139: "program-crash", 141: "broken-pipe", 143: "stopped",
    220: "command-not-found", 221: "gpu-memory", 222: "program-crash", 223: "gpu-hardware", 224: "gpu-driver",
    225: "gpu-driver", 226: "gpu-memory", 228: "wrong-option", 231: "python-error", 232: "python-import",
    233: "python-error", 234: "program-crash", 235: "program-crash", 249: "ssh-barrier", 251: "gang-timeout",
    253: "port-conflict", 254: "image-not-found",
}  # fmt: skip


# Causes of the commands' own exit codes that say enough by themselves; the runtime passes these signals on.
_BY_COMMAND_CODE = {code: _BY_CODE[code] for code in (130, 132, 134, 135, 136, 137, 139, 141, 143)} | {
    126: "permission-denied", 127: "command-not-found",
}  # fmt: skip


def cause_named(name: str) -> Cause:
    """The cause of that name."""
    return _BY_NAME[name]


def cause_of_code(code: int | None) -> Cause | None:
    """The cause that a code of the platform names by itself, if it does."""
    name = _BY_CODE.get(code) if code is not None else None
    return _BY_NAME[name] if name else None


def cause_of_command_code(code: int | None) -> Cause | None:
    """The cause that an exit code of the commands names by itself, if it does."""
    name = _BY_COMMAND_CODE.get(code) if code is not None else None
    return _BY_NAME[name] if name else None


def first_in(causes: tuple[Cause, ...], text: str) -> Cause | None:
    """The first cause whose words occur in the text."""
    return next((cause for cause in causes if cause.is_in(text)), None)


_COMPLAINT = re.compile(r"error|fail|abort|exception|fatal|cannot|warn|nan\b", re.IGNORECASE)
_BARRIER_ENDED = 10
_OUT_OF_WORDS = frozenset({"python-error", "file-not-found", "stopped", "permission-denied"})


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure explained. `line`: of the job, from 1; None where no line led to it, or no job is given."""

    cause: Cause
    code: int | None
    line: int | None = None


def failure(
    text: str,
    job: Job | None = None,
    exit_code: int | None = None,
    platform_log: str = "",
    role: str | None = None,
) -> Failure:
    """The explanation of a pasted text: the end of a log, diagnostics, an event.

    exit_code: of the commands, where it is known. platform_log: the log of the runtime. role: the task role that
    failed; without it the one that the text names, else the first.
    """
    report = read_report(text, exit_code, platform_log)
    if role is not None:
        report = replace(report, role=converted_role_name(role))
    cause = _cause(report, job)
    has_line = job is not None and cause not in {NO_FAILURE, NOT_KNOWN}
    return Failure(cause, report.code, line_of(cause.name, report, job) if job is not None and has_line else None)


def failure_text(found: Failure, job: Job | None, path: str) -> str:
    """The explanation in lines, with the line of the job, which is called `path`; no secret in it."""
    text = f"{found.cause.name}: {found.cause.explanation}\n{found.cause.fix}\n"
    if found.line is not None and job is not None:
        line = job.hidden.without(job.text.splitlines()[found.line - 1].strip())
        text += f"\n{path}:{found.line}: {line}\n"
    if found.code is not None:
        known = explained_code(found.code)
        text += f"\ncode {found.code} {known.phrase} ({retry_text(known)})\n"
    return text


def _cause(report: FailureReport, job: Job | None) -> Cause:
    is_log = report.user_code is not None and report.child is None and report.pod is None
    if not is_log:
        if found := _platform_cause(report):
            return found
    elif report.user_code == 0:
        return NO_FAILURE
    elif report.user_code == _BARRIER_ENDED and job is not None and _has_ssh_barrier(job) and not report.text.strip():
        return cause_named("ssh-barrier")
    by_code = cause_of_command_code(report.user_code) or cause_of_code(report.code)
    logs = f"{report.text}\n{report.platform_log}"
    if found := first_in(LOG_CAUSES, logs):
        is_signal = report.user_code is not None and report.user_code > 128
        return by_code if by_code and is_signal and found.name in _OUT_OF_WORDS else found
    if by_code is not None:
        return by_code
    if not is_log and (found := first_in(PLATFORM_CAUSES, report.text)):
        return found
    is_quiet = job is not None and has_silent_command(job, report) and not _COMPLAINT.search(report.text)
    if is_quiet or not report.text.strip():
        return cause_named("silent-failure")
    return cause_named("program-error") if report.user_code is not None else NOT_KNOWN


def _platform_cause(report: FailureReport) -> Cause | None:
    if report.pod is not None and report.code in {-1203, -1204} and not re.search("device|nvidia", report.text):
        return cause_named("image-without-bash")
    if report.child == "PLUGIN_INITIALIZER" and re.search(r"KeyError: '", report.text):
        return None if cause_named("plugin-unknown").is_in(report.text) else cause_named("plugin-parameters")
    if report.pod is not None and (found := cause_of_code(report.code)):
        return found
    return first_in(PLATFORM_CAUSES, report.text)


def _has_ssh_barrier(job: Job) -> bool:
    return any(plugin.plugin == "ssh" for plugin in job.plugins)
