"""Rules about the parameters that a platform needs for a `jobType`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.findings.fixes import quote_fix
from pai_lsp.source.nodes import Scalar

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


RULES = (inference_parameter_missing, inference_parameter_not_string)
