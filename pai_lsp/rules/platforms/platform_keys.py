"""Rules about keys that only some platforms read: `jobType`, `extras.enableLocalStorage` and `extras.forceNodes`."""

from __future__ import annotations

from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.findings.fixes import quote_fix
from pai_lsp.platform.local_storage import local_storage_faults
from pai_lsp.source.nodes import Mapping, Scalar, plain_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job


@rule(Severity.ERROR)
def inference_parameter_missing(job: Job) -> Iterator[Finding]:
    """A parameter that the type of the job needs is missing.

    On LTP, a job with `jobType: inference` must have the parameters INTERNAL_SERVER_IP, INTERNAL_SERVER_PORT and
    API_KEY; otherwise the rest-server refuses it.
    Source: ltp-platform, src/rest-server/src/middlewares/v2/protocol.js.

        # pai-lsp: platform=ltp
        jobType: inference
        #        ^^^^^^^^^ error
        parameters:
          INTERNAL_SERVER_IP: $PAI_HOST_IP_taskrole_0
          INTERNAL_SERVER_PORT: $PAI_PORT_LIST_taskrole_0_http

    Good:

        # pai-lsp: platform=ltp
        jobType: inference
        parameters:
          INTERNAL_SERVER_IP: $PAI_HOST_IP_taskrole_0
          INTERNAL_SERVER_PORT: $PAI_PORT_LIST_taskrole_0_http
          API_KEY: "1234"
    """
    section = job.section("jobType")
    if section is None or not isinstance(section.value, Scalar):
        return
    parameters = job.mapping("parameters")
    written = {entry.name for entry in parameters.effective_entries()} if parameters else set()
    required = job.platform.required_parameters.get(section.value.text, ())
    missing = [name for name in required if name not in written]
    if missing:
        listed = "', '".join(missing)
        kind = "parameter" if len(missing) == 1 else "parameters"
        yield Finding(section.place, f"a job of the type '{section.value.text}' needs the {kind} '{listed}'")


@rule(Severity.WARNING)
def inference_parameter_not_string(job: Job) -> Iterator[Finding]:
    """A parameter of an inference job that is not a string.

    The model proxy of LTP reads all parameters of an inference job as strings. With a number, a boolean, a list or a
    mapping among them it does not find the job, and requests never reach its server.
    Source: ltp-platform, src/model-proxy/src/proxy/model_server.go.

        # pai-lsp: platform=ltp
        jobType: inference
        parameters:
          INTERNAL_SERVER_IP: $PAI_HOST_IP_taskrole_0
          INTERNAL_SERVER_PORT: 8000
          #                     ^^^^ warning
          API_KEY: "1234"

    Good:

        # pai-lsp: platform=ltp
        jobType: inference
        parameters:
          INTERNAL_SERVER_IP: $PAI_HOST_IP_taskrole_0
          INTERNAL_SERVER_PORT: "8000"
          API_KEY: "1234"
    """
    section, parameters = job.section("jobType"), job.mapping("parameters")
    if section is None or parameters is None or not isinstance(section.value, Scalar):
        return
    if section.value.text not in job.platform.job_type_reads_strings:
        return
    for entry in parameters.effective_entries():
        value = entry.value
        if isinstance(value, Scalar) and (value.is_string or value.value is None):
            continue
        fixes = (quote_fix(value),) if isinstance(value, Scalar) else ()
        message = f"the model proxy ignores the job because the parameter '{entry.name}' is not a string"
        yield Finding(entry.place, message, fixes)


@rule(Severity.ERROR)
def local_storage_invalid(job: Job) -> Iterator[Finding]:
    """Paths of local storage that the rest-server refuses.

    With `enabled: true`, `hostpath` and `mntpath` must have the same number of absolute paths, with `:` between them.
    A path may contain letters, digits, `.`, `_` and `-`.
    Source: ltp-platform, src/rest-server/src/models/v2/job/k8s.js.

        # pai-lsp: platform=ltp
        extras:
          enableLocalStorage:
            enabled: true
            hostpath: /mnt/nvme
            mntpath: data
            #        ^^^^ error

    Good:

        # pai-lsp: platform=ltp
        extras:
          enableLocalStorage:
            enabled: true
            hostpath: /mnt/nvme
            mntpath: /data
    """
    section = job.extras_entry("enableLocalStorage")
    if not job.platform.mounts_local_storage or section is None:
        return
    for fault in local_storage_faults(plain_value(section.value)):
        entry = section.value.entry(fault.key) if fault.key and isinstance(section.value, Mapping) else None
        yield Finding(entry.place if entry else section.key.span, f"{fault.message}; the rest-server refuses the job")


@rule(Severity.WARNING)
def local_storage_not_enabled(job: Job) -> Iterator[Finding]:
    """Local storage with an `enabled` that is not the boolean `true`.

    Only the boolean `true` mounts the folders. Any other value, such as `yes` or `"true"`, mounts nothing, without a
    message.
    Source: ltp-platform, src/rest-server/src/models/v2/job/k8s.js.

        # pai-lsp: platform=ltp
        extras:
          enableLocalStorage:
            enabled: yes
            #        ^^^ warning
            hostpath: /mnt/nvme
            mntpath: /data

    Good:

        # pai-lsp: platform=ltp
        extras:
          enableLocalStorage:
            enabled: true
            hostpath: /mnt/nvme
            mntpath: /data
    """
    section = job.extras_entry("enableLocalStorage")
    if not job.platform.mounts_local_storage or section is None or not isinstance(section.value, Mapping):
        return
    entry = section.value.entry("enabled")
    if entry is not None and not isinstance(plain_value(entry.value), bool):
        yield Finding(entry.place, "'enabled' must be true; with any other value no folder is mounted")


@rule(Severity.ERROR)
def force_nodes_not_string(job: Job) -> Iterator[Finding]:
    """`extras.forceNodes` that is not a string with names of nodes.

    The rest-server splits the string at its commas. For a list or another value, and for a string that begins with a
    comma, it responds with status 500.
    Source: ltp-platform, src/rest-server/src/models/v2/job/k8s.js.

        # pai-lsp: platform=ltp
        extras:
          forceNodes: [node-1, node-2]
          #           ^^^^^^^^^^^^^^^^ error

    Good:

        # pai-lsp: platform=ltp
        extras:
          forceNodes: node-1,node-2
    """
    section = job.extras_entry("forceNodes")
    if not job.platform.forces_nodes or section is None:
        return
    value = plain_value(section.value)
    if value is None or (isinstance(value, (str, bool, int)) and not value):
        return
    if not isinstance(value, str):
        yield Finding(section.place, "'forceNodes' must be a string: names of nodes with ',' between them")
    elif not value.split(",")[0].strip():
        yield Finding(section.place, "'forceNodes' must begin with the name of a node")


RULES = (
    inference_parameter_missing,
    inference_parameter_not_string,
    local_storage_invalid,
    local_storage_not_enabled,
    force_nodes_not_string,
)
