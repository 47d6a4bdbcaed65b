"""Rules about what only some platforms read or refuse: keys such as `jobType`, and parameters of plugins."""

from __future__ import annotations

import re

from pai_lsp.findings.diagnostic import Consequence, Finding, Severity, Stage, rule
from pai_lsp.findings.fixes import quote_fix
from pai_lsp.job.definition import Definition
from pai_lsp.platform.clone_options import OpenQuoteError, clone_words, is_always_refused, is_refused
from pai_lsp.rules.plugins.plugin_values import refused
from pai_lsp.source.nodes import Scalar, entries_of, entry_at, items_of, plain_value, scalar_text
from pai_lsp.source.scalar import counts_as_false
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.uses import PluginUse
    from pai_lsp.source.text import Span


@rule(Severity.ERROR, stage=Stage.SERVER, about=("jobType",))
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
    kind = scalar_text(section.value) if section else ""
    written = {entry.name for entry in entries_of(job.mapping("parameters"))}
    missing = [name for name in job.platform.required_parameters.get(kind, ()) if name not in written]
    if section and missing:
        what = "parameter" if len(missing) == 1 else "parameters"
        names = "', '".join(missing)
        yield Finding(section.place, f"a job of the type '{kind}' needs the {what} '{names}'")


@rule(Severity.WARNING, stage=Stage.SERVER, about=("jobType",))
def inference_parameter_not_string(job: Job) -> Iterator[Finding]:
    """A parameter of an inference job is not a string.

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
    section = job.section("jobType")
    if section is None or scalar_text(section.value) not in job.platform.job_type_reads_strings:
        return
    for entry in entries_of(job.mapping("parameters")):
        value = entry.value
        if not isinstance(value, Scalar) or not (value.is_string or value.value is None):
            fixes = quote_fix(value) if isinstance(value, Scalar) else ()
            message = f"the model proxy ignores the job because the parameter '{entry.name}' is not a string"
            yield Finding(entry.place, message, fixes)


@rule(Severity.ERROR, stage=Stage.SERVER, about=("enableLocalStorage",))
def local_storage_invalid(job: Job) -> Iterator[Finding]:
    """The rest-server refuses the paths of local storage.

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
    from pai_lsp.platform.local_storage import local_storage_faults  # noqa: PLC0415 - few jobs have it

    for fault in local_storage_faults(plain_value(section.value)):
        entry = entry_at(section.value, fault.key) if fault.key else None
        yield Finding(entry.place if entry else section.key.span, f"{fault.message}; the rest-server refuses the job")


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.IGNORED, about=("enableLocalStorage",))
def local_storage_not_enabled(job: Job) -> Iterator[Finding]:
    """`enabled` of local storage is not the boolean `true`.

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
    entry = entry_at(section.value, "enabled") if section and job.platform.mounts_local_storage else None
    if entry is not None and not isinstance(plain_value(entry.value), bool):
        yield Finding(entry.place, "'enabled' must be true; with any other value no folder is mounted")


@rule(Severity.ERROR, stage=Stage.SERVER, about=("forceNodes",))
def force_nodes_not_string(job: Job) -> Iterator[Finding]:
    """`extras.forceNodes` is not a string with names of nodes.

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
    if counts_as_false(value):
        return
    if not isinstance(value, str):
        yield Finding(section.place, "'forceNodes' must be a string: names of nodes with ',' between them")
    elif not value.split(",")[0].strip():
        yield Finding(section.place, "'forceNodes' must begin with the name of a node")


@rule(Severity.ERROR, stage=Stage.RUNTIME, consequence=Consequence.FAILS, about=("plugin",))
def plugin_needs_privilege(job: Job) -> Iterator[Finding]:
    """A prerequisite has a plugin that needs a privileged container.

    The rest-server makes the containers privileged only if the plugin is listed in `extras`. In a prerequisite the
    plugin `dind` runs without privilege, and Docker does not start.
    Source: ltp-platform, src/rest-server/src/models/v2/job/k8s.js.

        # pai-lsp: platform=ltp
        prerequisites:
          - name: docker
            type: script
            plugin: com.microsoft.pai.runtimeplugin.dind
            #       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error

    Good:

        # pai-lsp: platform=ltp
        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: dind
    """
    for name in job.platform.privileged_plugins:
        if any(entry.plugin == name for entry in job.plugins):
            continue
        for use in job.uses_of_plugin(name):
            if isinstance(use.owner, Definition):
                message = f"list '{name}' under 'extras': in a prerequisite, it runs in a container without privileges"
                yield Finding(use.name_span, message)


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=("git",))
def git_option_refused(job: Job) -> Iterator[Finding]:
    """The plugin `git` refuses an option or an address as unsafe.

    GitPython refuses options of `git clone` that can run programs, and addresses of remote helpers (`ext::`). The task
    dies before it starts. What only versions of July 2026 and later refuse, such as `--template`, is a warning: the
    version depends on the day on which the runtime's image was built.
    Source: GitPython 3.1.30 to 3.2.1, git/cmd.py, check_unsafe_options; git/repo/base.py.

        # pai-lsp: platform=ltp
        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: git
              parameters:
                repo_uri: https://example.com/team/code.git
                options: [--config, http.sslVerify=false]
                #         ^^^^^^^^ error

    Good:

        # pai-lsp: platform=ltp
        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: git
              parameters:
                repo_uri: https://example.com/team/code.git
                options: [--depth=1]
    """
    unsafe = job.platform.git_refused_options
    for use in job.uses_of_plugin("git") if unsafe else ():
        address, options = use.entry("repo_uri"), use.entry("options")
        written = address.value.text if address and isinstance(address.value, Scalar) else ""
        if address and "<%" not in written and re.match(job.platform.git_refused_addresses, written):
            is_always = not written.startswith(("ext://", "::"))
            yield _git_refusal(use, address.place, "this address", is_always=is_always)
        items = items_of(options.value) if options else ()
        scalars = [item for item in items if isinstance(item, Scalar) and "<%" not in item.text]
        try:
            words = clone_words([one.text for one in scalars], as_shell=job.platform.git_splits_as_shell)
        except OpenQuoteError:  # another rule reports it
            continue
        reported: set[int] = set()
        for word in words:
            if word.option not in reported and is_refused(word.text, unsafe):
                reported.add(word.option)
                name = word.text.partition("=")[0]
                option = f"the option '{name}'" if name in unsafe else "this option"  # a value may be a secret
                is_always = is_always_refused(scalars[word.option].text, job.platform.git_always_refused_options)
                yield _git_refusal(use, scalars[word.option].span, option, is_always=is_always)


def _git_refusal(use: PluginUse, span: Span, what: str, *, is_always: bool) -> Finding:
    if not is_always:
        happens = "nothing is cloned there" if use.ignores_failure else "there the task dies before it starts"
        message = f"newer clusters refuse {what} of the plugin 'git'; {happens}"
        return Finding(span, message, severity=Severity.WARNING)
    return refused(use, span, f"the plugin 'git' refuses {what}")


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=("teamwise_storage",))
def storage_name_not_string(job: Job) -> Iterator[Finding]:
    """The runtime cannot read the names of storages as strings.

    A step of the runtime reads `storageConfigNames` of the first plugin `teamwise_storage`; for null, a number or an
    item that is not a string the task dies before it starts.
    Source: ltp-platform, src/openpai-runtime/src/src/init.d/azure_blob_mount_checker.py.

        # pai-lsp: platform=ltp
        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: teamwise_storage
              parameters: {storageConfigNames: [blob-team-data, 2024]}
              #                                                 ^^^^ error

    Good:

        # pai-lsp: platform=ltp
        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: teamwise_storage
              parameters: {storageConfigNames: [blob-team-data, "2024"]}
    """
    if not job.platform.storage_names_are_strings:
        return
    use = next((one for one in job.uses_of_plugin("teamwise_storage") if not isinstance(one.owner, Definition)), None)
    names = use.entry("storageConfigNames") if use else None
    if names is None:
        return
    if isinstance(names.value, Scalar) and not names.value.runtime_value and names.value.runtime_value != "":
        yield Finding(names.place, "'storageConfigNames' must be a list of strings; the task dies before it starts")
    for item in items_of(names.value):
        if isinstance(item, Scalar) and not isinstance(item.runtime_value, str):
            fixes = quote_fix(item) if item.text else ()
            yield Finding(item.span, "the name of a storage must be a string; the task dies before it starts", fixes)
