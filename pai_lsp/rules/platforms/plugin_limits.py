"""Rules about runtime plugins whose parameters only some platforms refuse."""

from __future__ import annotations

import re
import shlex

from pai_lsp.findings.diagnostic import Finding, Severity, rule
from pai_lsp.findings.fixes import quote_fix
from pai_lsp.job.definition import Definition
from pai_lsp.source.nodes import Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Node


@rule(Severity.ERROR)
def plugin_needs_privilege(job: Job) -> Iterator[Finding]:
    """A plugin that needs a privileged container, in a prerequisite.

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
                message = f"list '{name}' under 'extras': in a prerequisite it runs in a container without privilege"
                yield Finding(use.name_span, message)


@rule(Severity.ERROR)
def git_option_refused(job: Job) -> Iterator[Finding]:
    """An option or an address that the plugin `git` refuses as unsafe.

    GitPython refuses options of `git clone` that can run programs, and addresses of remote helpers (`ext::`). The task
    dies before it starts. Source: GitPython, git/cmd.py, check_unsafe_options; git/repo/base.py.

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
    refused = {option.lstrip("-") for option in job.platform.git_refused_options}
    if not refused:
        return
    for use in job.uses_of_plugin("git"):
        address, options = use.entry("repo_uri"), use.entry("options")
        written = address.value.text if address and isinstance(address.value, Scalar) else ""
        if address and "<%" not in written and re.match(job.platform.git_refused_addresses, written):
            yield Finding(address.place, "the plugin 'git' refuses this address; the task dies before it starts")
        for item in options.value.items if options and isinstance(options.value, Sequence) else ():
            if option := next((word for word in _words(item) if _option_name(word) in refused), None):
                message = f"the plugin 'git' refuses the option '{option}'; the task dies before it starts"
                yield Finding(item.span, message)


def _words(item: Node) -> list[str]:
    if not isinstance(item, Scalar) or "<%" in item.text:
        return []
    try:
        return shlex.split(item.text)
    except ValueError:  # another rule reports the open quote
        return []


def _option_name(word: str) -> str:
    """As GitPython compares options: without dashes, and without a value after `=`."""
    return word.lstrip("-").partition("=")[0]


@rule(Severity.ERROR)
def storage_name_not_string(job: Job) -> Iterator[Finding]:
    """Names of storages that the runtime cannot read as strings.

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
    for item in names.value.items if isinstance(names.value, Sequence) else ():
        if isinstance(item, Scalar) and not isinstance(item.runtime_value, str):
            fixes = (quote_fix(item),) if item.text else ()
            yield Finding(item.span, "the name of a storage must be a string; the task dies before it starts", fixes)


RULES = (plugin_needs_privilege, git_option_refused, storage_name_not_string)
