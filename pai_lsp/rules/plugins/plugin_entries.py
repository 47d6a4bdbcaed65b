"""Rules about runtime plugins: their names, the structure of their entries, and their required parameters.

Facts: openpai-runtime, src/init.d/initializer.py and src/plugins/*/init.py; schemas/plugins.json.

`misspelt_key` knows which key of a plugin's entry under `extras` a misspelled one means.

Source: openpai-runtime, src/init.d/initializer.py.
"""

from __future__ import annotations

from posixpath import normpath

from pai_lsp.findings.diagnostic import Consequence, Finding, Fixes, Severity, Stage, rule
from pai_lsp.findings.fixes import change_fix, fix_of, near_name_fixes, wrap_in_list_fix, wrap_mapping_fixes
from pai_lsp.job.definition import STORAGE_PLUGINS, Origin, is_empty, key_name_span, name_span
from pai_lsp.job.parts import PluginEntry
from pai_lsp.job.plugin_parameters import released_parameters, runtime_round_trip
from pai_lsp.job.uses import item_place
from pai_lsp.platform.tables import PLUGIN_PREFIX, RUNTIME_PLUGIN
from pai_lsp.source.edits import insert_entry, remove_entry
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Mapping, Scalar, Sequence, plain_value
from pai_lsp.source.scalar import counts_as_false
from pai_lsp.source.spelling import did_you_mean, nearest
from pai_lsp.source.tags import runtime_value
from pai_lsp.source.text import Span
from pai_lsp.source.tree_edits import insert_values
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any

    from pai_lsp.expansion.plugin_scripts import PluginScripts
    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.job.uses import PluginUse
    from pai_lsp.source.nodes import Entry


def as_severe(use: PluginUse, found: Finding) -> Finding:
    """A warning where the task starts without a plugin that fails: `failurePolicy: ignore`."""
    return replace(found, severity=Severity.WARNING) if use.ignores_failure else found


def parameters_of(job: Job, plugin: str, *names: str) -> Iterator[tuple[PluginUse, Entry]]:
    """The parameters of these names, each with the use of the plugin that has it."""
    return ((use, entry) for use in job.uses_of_plugin(plugin) for name in names if (entry := use.entry(name)))


def prepared(job: Job, use: PluginUse) -> PluginScripts:
    """What the plugin makes of its parameters in the first task of the first task role; templates are text."""
    from pai_lsp.expansion.plugin_scripts import PluginScripts, plugin_scripts  # noqa: PLC0415 - few jobs need it

    owner = use.owner
    try:
        if isinstance(owner, PluginEntry):
            entry = owner.node.entry("parameters")
            written = None if entry is None else runtime_value(entry.value)
            written = "None" if entry is not None and written is None else written
        else:
            written = released_parameters(owner)
        parameters = runtime_round_trip(written)
    except ValueError:
        return PluginScripts(fails=True)
    is_unreadable = isinstance(parameters, ValueError)
    return PluginScripts(fails=True) if is_unreadable else plugin_scripts(job, use.plugin.name, parameters)


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=("plugin",))
def unknown_plugin(job: Job) -> Iterator[Finding]:
    """The cluster does not have a runtime plugin of this name.

    The runtime has the plugins ssh, tensorboard, git, teamwise_storage and cmd. For any other name it fails while the
    task is prepared, regardless of `failurePolicy`, and the job ends before the user's commands. It is a warning in a
    prerequisite that no task role lists. List additional plugins of a cluster under `plugins` in `.pai-lsp.yaml`.
    Source: openpai-runtime, src/init.d/initializer.py, init_plugins.

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.CMD
            #                                       ^^^ error

    Good:

        prerequisites:
          - name: setup
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
    """
    known = (*job.platform.plugins, *sorted(job.site_plugins))
    for definition in job.definitions:
        name, scalar = definition.runtime_plugin, definition.plugin_scalar
        if scalar is None or definition.type == "dockerimage":
            continue
        if name is None:
            # A short name has no effect in a released job, so only files of the extended protocol are checked.
            if definition.origin is not Origin.JOB and definition.plugin not in {*known, *STORAGE_PLUGINS, ""}:
                yield _unknown_plugin(name_span(scalar), definition.plugin, known)
        elif not _has_folder(name, known) or not definition.plugin.startswith(PLUGIN_PREFIX):
            found = _unknown_full_name(scalar, name, known)
            yield replace(found, severity=Severity.WARNING) if never_runs(job, definition) else found
    for entry in job.plugins:
        scalar = entry.plugin_scalar
        if scalar is None or not scalar.text:
            where = scalar.span if scalar and len(scalar.span) else entry.node.span
            yield Finding(where, f"a runtime plugin needs a name in 'plugin': {', '.join(known)}")
        elif not _has_folder(scalar.text, known) and not scalar.text.startswith(RUNTIME_PLUGIN):
            yield _unknown_plugin(name_span(scalar), scalar.text, known)
        elif not _has_folder(scalar.text.removeprefix(PLUGIN_PREFIX), known):
            yield _unknown_full_name(scalar, scalar.text[len(PLUGIN_PREFIX) :], known)


def never_runs(job: Job, definition: Definition) -> bool:
    """Whether no task role has the prerequisite, in a job whose task roles are there."""
    return bool(job.task_roles) and definition.origin is Origin.JOB and not job.roles_running(definition)


def has_only_old_storages(job: Job) -> bool:
    """Whether the rest-server looks for storages among the plugins: the job has no `storages`.

    Source: rest-server, src/models/v2/job/k8s.js.
    """
    storages = job.extras_entry("storages")
    return storages is None or (isinstance(storages.value, Scalar) and counts_as_false(storages.value.value))


def _has_folder(name: str, known: tuple[str, ...]) -> bool:
    """Whether the runtime finds the plugin's folder, whose path may be spelled in any way: `cmd/`, `../plugins/cmd`."""
    return name in known or ("/" in name and normpath(f"/plugins/{name}").removeprefix("/plugins/") in known)


def _unknown_plugin(span: Span, name: str, known: tuple[str, ...]) -> Finding:
    expected = did_you_mean(name, known) or f"; expected {', '.join(known)}"
    return Finding(span, f"no runtime plugin is named '{name}'{expected}", near_name_fixes(span, name, known))


def _unknown_full_name(scalar: Scalar, name: str, known: tuple[str, ...]) -> Finding:
    span = name_span(scalar)
    if len(span) == len(scalar.text) and scalar.text.startswith(PLUGIN_PREFIX) and name:
        return _unknown_plugin(Span(span.start + len(PLUGIN_PREFIX), span.end), name, known)
    full = [PLUGIN_PREFIX + one for one in known]
    message = f"no runtime plugin is named '{scalar.text}'{did_you_mean(scalar.text, full)}"
    return Finding(span, message, near_name_fixes(span, scalar.text, full, safe=False))


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=(RUNTIME_PLUGIN,))
def plugin_name_form(job: Job) -> Iterator[Finding]:
    """A plugin under `extras` has its full name, as in a prerequisite.

    Under `extras`, a plugin must have its short name (`cmd`); in a prerequisite, its full name
    (`com.microsoft.pai.runtimeplugin.cmd`). With a full name under `extras` the runtime fails while the task is
    prepared, and the job ends before the user's commands.
    Source: openpai-runtime, src/init.d/initializer.py, init_plugins.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: com.microsoft.pai.runtimeplugin.ssh
              #       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error
              parameters: {jobssh: true}

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true}
    """
    for entry in job.plugins:
        short = entry.plugin.removeprefix(PLUGIN_PREFIX)
        if entry.plugin_scalar and short != entry.plugin and short in {*job.platform.plugins, *job.site_plugins}:
            span = name_span(entry.plugin_scalar)
            message = f"use the short name '{short}' under 'extras'; the task dies before it starts"
            yield Finding(span, message, change_fix(span, short, safe=True))


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=(RUNTIME_PLUGIN,))
def plugin_not_list(job: Job) -> Iterator[Finding]:
    """The runtime plugins under `extras` are not a list of mappings.

    For a mapping or null, and for null in the list, the rest-server responds with status 500; LTP's does for a string,
    too. Of anything else the runtime dies while the task is prepared. An empty string has no effect.
    Source: rest-server and ltp-platform, src/models/v2/job/k8s.js; openpai-runtime, src/init.d/initializer.py,
    collect_plugin_configs.

        extras:
          com.microsoft.pai.runtimeplugin: {plugin: ssh, parameters: {jobssh: true}}
          #                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error

    Good:

        extras:
          com.microsoft.pai.runtimeplugin: [{plugin: ssh, parameters: {jobssh: true}}]
    """
    section = job.extras_entry(RUNTIME_PLUGIN)
    if section is None:
        return
    if not isinstance(section.value, Sequence):
        fixes = wrap_mapping_fixes(section.value, safe=True)
        message = "runtime plugins must be a list of mappings with 'plugin' and 'parameters'"
        text = section.value.value if isinstance(section.value, Scalar) else None
        is_taken = isinstance(text, str) and not job.platform.privileged_plugins
        happens = Consequence.DIES if is_taken else Consequence.REFUSED
        found = Finding(section.place, message, fixes, consequence=happens)
        is_ignored = text == ""  # neither finds a plugin in it
        yield replace(found, severity=Severity.WARNING, consequence=Consequence.IGNORED) if is_ignored else found
        return
    # One that knows privileged plugins looks for them in any case.
    is_read = bool(job.platform.privileged_plugins) or has_only_old_storages(job)
    for item in section.value.items:
        if not isinstance(item, Mapping):
            message = "a runtime plugin must be a mapping with 'plugin' and 'parameters'"
            is_refused = is_read and isinstance(item, Scalar) and item.value is None
            yield Finding(item_place(job, item), message, consequence=Consequence.REFUSED if is_refused else None)


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=("taskroles",))
def plugin_roles_unreadable(job: Job) -> Iterator[Finding]:
    """`taskroles` of a runtime plugin is null, a number, a boolean or a date.

    The runtime searches the value for the name of the task role, which fails for anything but a list, a mapping or a
    string: every task dies before it starts. Leave the key out to run the plugin in all task roles.
    Source: openpai-runtime, src/init.d/initializer.py, collect_plugin_configs.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              taskroles:
              #^^^^^^^^ error
              parameters: {jobssh: true}

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true}
    """
    for plugin, entry, value in _single_task_roles(job):
        if not isinstance(value, (str, ValueError)):
            fixes = fix_of("Remove 'taskroles' (all task roles)", remove_entry, job.text, plugin.node, entry)
            message = "'taskroles' must be a list of task roles, or the task dies before it starts"
            yield Finding(entry.place, message, fixes)


@rule(Severity.WARNING, stage=Stage.RUNTIME, about=("taskroles",))
def plugin_roles_string(job: Job) -> Iterator[Finding]:
    """`taskroles` of a runtime plugin is a string.

    The runtime asks whether the name of the task role is a part of the string: `taskroles: worker2` also runs the
    plugin in the task role `worker`, and `taskroles: ps, worker` in `ps` and `worker`. Write a list.
    Source: openpai-runtime, src/init.d/initializer.py, collect_plugin_configs.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              taskroles: worker
              #          ^^^^^^ warning
              parameters: {jobssh: true}

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              taskroles: [worker]
              parameters: {jobssh: true}
    """
    for _, entry, value in _single_task_roles(job):
        if isinstance(value, str):
            message = "'taskroles' must be a list; a string selects every task role whose name is a part of it"
            yield Finding(entry.place, message, wrap_in_list_fix(job.text, entry.value))


def _single_task_roles(job: Job) -> Iterator[tuple[PluginEntry, Entry, Any]]:
    """The plugins whose `taskroles` is not a list or mapping, with the value that the runtime reads."""
    for plugin in job.plugins:
        entry = plugin.node.entry("taskroles")
        if entry is not None and isinstance(entry.value, Scalar):
            yield plugin, entry, entry.value.runtime_value


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=("plugin",))
def plugin_missing_parameter(job: Job) -> Iterator[Finding]:
    """A required parameter of a runtime plugin is missing.

    git requires `repo_uri`, tensorboard `port` and `logdir`. Without them the plugin fails while the task is prepared,
    and the job ends before the user's commands.
    Source: openpai-runtime, src/plugins/git/init.py, src/plugins/tensorboard/init.py.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: git
              #       ^^^ error
              parameters: {clone_dir: /root/code}

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: git
              parameters: {repo_uri: "https://github.com/microsoft/pai.git", clone_dir: /root/code}
    """
    for use in job.plugin_uses:
        missing = [one for one in use.plugin.parameters if one.required and use.entry(one.name) is None]
        if not missing or is_ignored(job, use):
            continue
        if use.plugin.name == "tensorboard" and _has_no_parameters(use):
            continue  # it has no effect, but does not fail
        names = " and ".join(f"'{one.name}'" for one in missing)
        fixes: Fixes = ()
        if use.parameters is not None:
            values = {one.name: _EXAMPLES[one.name] for one in missing}
            fixes = fix_of(f"Add {names}", insert_values, job.text, use.parameters, values)
        happens = "; without it, nothing happens" if use.ignores_failure else ", or the task dies before it starts"
        message = f"the plugin '{use.plugin.name}' needs {names}{happens}"
        yield as_severe(use, Finding(use.name_span, message, fixes))


def is_ignored(job: Job, use: PluginUse) -> bool:
    """Whether it is tensorboard for other task roles than the first one: the runtime uses none of its parameters.

    Source: openpai-runtime, src/plugins/tensorboard/init.py.
    """
    roles = job.roles_of(use) if use.plugin.name == "tensorboard" else ()
    return bool(roles) and job.task_roles[0] not in roles


def _has_no_parameters(use: PluginUse) -> bool:
    """Whether `parameters` is absent or empty; null is not, it becomes the string 'None'."""
    node = use.parameters or (use.owner.parameters if isinstance(use.owner, PluginEntry) else None)
    return node is None or (is_empty(node) and plain_value(node) is not None)


_EXAMPLES = {"repo_uri": "https://github.com/microsoft/pai.git", "port": 12345, "logdir": {"logs": "/mnt/tensorboard"}}


@rule(Severity.WARNING, stage=Stage.RUNTIME, consequence=Consequence.IGNORED, about=("hook",))
def plugin_hook_unsupported(job: Job) -> Iterator[Finding]:
    """A runtime plugin has a `hook`, which no released runtime supports.

    The portal accepts the key, but it has no effect.
    Source: openpai, src/webportal/src/app/job-submission/models/protocol-schema.js (pull request 5507);
    openpai-runtime, src/init.d/initializer.py.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true}
              hook: preTaskStarts
              #^^^ warning

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true}
    """
    for plugin in job.plugins:
        if entry := plugin.node.own("hook"):
            fixes = fix_of("Remove 'hook'", remove_entry, job.text, plugin.node, entry, safe=True)
            yield Finding(entry.key.span, "'hook' has no effect; no released runtime supports it", fixes)


@rule(Severity.INFORMATION, stage=Stage.SERVER, about=(RUNTIME_PLUGIN,))
def plugin_key_rejected_by_portal(job: Job) -> Iterator[Finding]:
    """The portal's submission page refuses a runtime plugin that the cluster accepts.

    The portal allows `plugin`, `parameters`, `failurePolicy` and `hook`, requires `jobssh` for ssh, and at least one
    name in `storageConfigNames`. The cluster itself accepts the entry: submit such a job through the REST API.
    Source: openpai, src/webportal/src/app/job-submission/models/protocol-schema.js.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              taskroles: [worker]
              #^^^^^^^^ information
              parameters: {jobssh: true}

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              parameters: {jobssh: true}
    """
    for plugin in job.plugins:
        for entry in plugin.node.effective_entries():
            if entry.name not in _PORTAL_KEYS and misspelt_key(entry.name, PLUGIN_KEYS) is None:
                yield Finding(entry.key.span, f"the portal refuses a runtime plugin with '{entry.name}'")
        holder = plugin.parameters
        if plugin.plugin == "ssh" and isinstance(holder, Mapping) and holder.entry("jobssh") is None:
            scalar = plugin.plugin_scalar
            span = name_span(scalar) if scalar else plugin.node.span
            fixes = fix_of("Add 'jobssh: false'", insert_entry, job.text, holder, "jobssh: false")
            yield Finding(span, "the portal refuses ssh without 'jobssh'", fixes)
        names = plugin.parameter("storageConfigNames")
        if (
            plugin.plugin == "teamwise_storage"
            and names
            and isinstance(names.value, Sequence)
            and not names.value.items
        ):
            yield Finding(names.place, "the portal refuses an empty list of storages")


_PORTAL_KEYS = frozenset({"plugin", "parameters", "failurePolicy", "hook"})


@rule(Severity.INFORMATION, stage=Stage.RUNTIME, about=("clone_dir",))
def git_clone_dir_loses_dotfiles(job: Job) -> Iterator[Finding]:
    """The git plugin does not move hidden files to `clone_dir`.

    It clones into a temporary directory and moves `*` from there, so `clone_dir` has no `.git` and is not a repository,
    and `.gitmodules`, `.env` and the like are missing.
    Source: openpai-runtime, src/plugins/git/init.py.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: git
              parameters:
                repo_uri: https://github.com/microsoft/pai.git
                clone_dir: /root/code
                #^^^^^^^^ information

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: git
              parameters:
                repo_uri: https://github.com/microsoft/pai.git
    """
    for _, entry in parameters_of(job, "git", "clone_dir"):
        yield Finding(entry.key.span, "hidden files, including '.git', are not moved to 'clone_dir'")


PLUGIN_KEYS = ("plugin", "parameters", "failurePolicy", "taskroles")

# Other keys may be parameters of the extended protocol; only close matches are misspellings.
_NEAR = 0.85


def misspelt(entry: Entry, meant: str, *, is_free: bool) -> Finding:
    """The finding about a key of which the right name is known; `is_free`: the right one is not there yet."""
    span = key_name_span(entry)
    message = f"unknown key '{entry.name}' has no effect; did you mean '{meant}'?"
    return Finding(span, message, change_fix(span, meant, safe=True) if is_free else ())


def misspelt_key(name: str, known: Collection[str]) -> str | None:
    """The one of the known keys that an unknown one surely means."""
    if name in known:
        return None
    swapped = (one for one in known if sorted(one) == sorted(name))
    return next(iter(nearest(name, known, _NEAR)), next(swapped, None))


def misspelt_keys(holder: Mapping, known: Collection[str], ignored: Collection[str] = ()) -> Iterator[Finding]:
    """The keys of a mapping that are misspelled ones of the known keys."""
    for entry in holder.effective_entries():
        meant = None if entry.name in ignored else misspelt_key(entry.name, known)
        if meant and isinstance(entry.key, Scalar):
            yield misspelt(entry, meant, is_free=holder.entry(meant) is None)
