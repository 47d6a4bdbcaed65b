"""Rules about the parameters of the runtime plugins: their names, types, and values that the runtime inserts.

A value from a `<% %>` is not known here; its type is not checked. Facts: openpai-runtime, src/plugins/*/init.py.
"""

from __future__ import annotations

from pai_lsp.embedded.command_lines import parsed
from pai_lsp.embedded.shell_script import Word
from pai_lsp.findings.diagnostic import Consequence, Finding, Fixes, Related, Severity, Stage, later, rule
from pai_lsp.findings.fixes import fix_of, quote_fix, wrap_in_list_fix
from pai_lsp.job.definition import PROTOCOL_KEYS, Definition, key_name_span
from pai_lsp.job.plugin_parameters import damages, runtime_round_trip
from pai_lsp.job.template_answers import PathOutcome
from pai_lsp.platform.clone_options import OpenQuoteError, clone_words, is_refused
from pai_lsp.platform.programs import program
from pai_lsp.platform.secrets_section import runtime_secret
from pai_lsp.rules.plugins.plugin_entries import (
    PLUGIN_KEYS,
    as_severe,
    has_only_old_storages,
    is_ignored,
    misspelt_key,
    misspelt_keys,
    parameters_of,
    prepared,
)
from pai_lsp.rules.templates.parameters import first_item_fix, kind_of_value
from pai_lsp.rules.templates.template_fixes import quote_insertions
from pai_lsp.source.building import SURROGATE_ESCAPE
from pai_lsp.source.content import mapped
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Mapping, Scalar, ScalarStyle, Sequence, entries_of, entry_at, items_of, walk
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import did_you_mean
from pai_lsp.source.tags import runtime_value
from pai_lsp.source.text import TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.job.template_answers import TemplateAnswer
    from pai_lsp.job.uses import PluginUse
    from pai_lsp.platform.clone_options import CloneWord
    from pai_lsp.source.nodes import Entry, Node
    from pai_lsp.source.text import Span


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=("plugin",))
def plugin_parameter_type(job: Job) -> Iterator[Finding]:
    """A plugin parameter has the wrong type.

    The plugin fails while the task is prepared, and the job ends before the user's commands. With
    `failurePolicy: ignore`, the task starts without the plugin, which is a warning. `callback-command-not-text` checks
    the commands of `cmd`.
    Source: openpai-runtime, src/plugins/{git,tensorboard,ssh}/init.py; rest-server, src/models/v2/job/k8s.js
    (teamwise_storage).

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: tensorboard
              parameters:
                port: 12345
                logdir: /mnt/tensorboard
                #       ^^^^^^^^^^^^^^^^ error

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: tensorboard
              parameters:
                port: 12345
                logdir: {logs: /mnt/tensorboard}
    """
    for use in job.plugin_uses:
        owner = use.owner
        if not isinstance(owner, Definition):
            entry = None if is_ignored(job, use) else owner.node.entry("parameters")
            # The runtime reads null as no parameters; the rest-server, which mounts team storages, fails on it.
            is_of_server = use.plugin.name == "teamwise_storage"
            if entry and not isinstance(entry.value, Mapping) and (is_of_server or not _is_null(entry.value)):
                found = Finding(entry.place, f"'parameters' of '{use.plugin.name}' must be a mapping")
                if is_of_server:
                    yield _for_server(job, found, fails=_is_null(entry.value))
                elif _has_surrogates(job.text, entry.value):
                    yield as_severe(use, found)
                else:
                    yield _for_task(job, use, found)
        yield from _CHECKS[use.plugin.name](job, use) if use.plugin.name in _CHECKS else ()


def _for_server(job: Job, found: Finding, *, fails: bool) -> Finding:
    """What becomes of the job."""
    is_refused = fails and has_only_old_storages(job)
    return replace(found, consequence=Consequence.REFUSED if is_refused else Consequence.FAILS)


def _for_task(job: Job, use: PluginUse, found: Finding) -> Finding:
    """What becomes of the task: the runtime passes on some values of a wrong type as words, such as a date."""
    return as_severe(use, found if prepared(job, use).fails else replace(found, consequence=Consequence.FAILS))


def _has_surrogates(text: str, node: Node) -> bool:
    """Whether a text is written with escapes of UTF-16, which the runtime's YAML parser refuses as parameters."""
    is_escaped = isinstance(node, Scalar) and node.style is ScalarStyle.DOUBLE
    return is_escaped and SURROGATE_ESCAPE.search(text, node.span.start, node.span.end) is not None


def _git(job: Job, use: PluginUse) -> Iterator[Finding]:
    address, options = use.entry("repo_uri"), use.entry("options")
    if address and not _is_text(address.value):
        yield as_severe(use, Finding(address.place, "'repo_uri' must be a string, the URL of a repository"))
    if options is None:
        return
    if isinstance(options.value, Sequence):
        for item in options.value.items:
            if not _is_text(item):
                fixes = quote_fix(item) if isinstance(item, Scalar) and item.text else ()
                yield as_severe(use, Finding(item.span, "an option of 'git clone' must be a string", fixes))
    elif not isinstance(options.value, Scalar) or options.value.runtime_value:  # GitPython takes `''` and 0 for none
        fixes = wrap_in_list_fix(job.text, options.value)
        yield as_severe(use, Finding(options.place, "'options' must be a list of strings", fixes))


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=("git",))
def git_clone_option(job: Job) -> Iterator[Finding]:
    """The plugin `git` has an option that `git clone` refuses.

    OpenPAI splits the options at each blank, also within quotes, and the quotes stay; no value can contain a blank. LTP
    splits them as a shell does. A word that is not an option is one address too many ("Too many arguments"), and the
    task dies before it starts. Quotes that OpenPAI passes on are a warning.
    Source: GitPython, git/repo/base.py, _clone (3.1.11 on OpenPAI); git, builtin/clone.c.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: git
              parameters:
                repo_uri: https://example.com/team/code.git
                options: ["--origin 'the team'"]
                #                        ^^^^^ error

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: git
              parameters:
                repo_uri: https://example.com/team/code.git
                options: [--origin team]
    """
    for use, options in parameters_of(job, "git", "options"):
        items = items_of(options.value)
        scalars = [item for item in items if isinstance(item, Scalar) and isinstance(item.runtime_value, str)]
        if not scalars or len(scalars) < len(items) or any("<%" in one.text or damages(one.text) for one in scalars):
            continue
        try:
            found = clone_words([one.text for one in scalars], as_shell=job.platform.git_splits_as_shell)
        except OpenQuoteError as error:
            yield refused(use, scalars[error.option].span, "this option has an unclosed quote")
            continue
        if any(is_refused(word.text, job.platform.git_refused_options) for word in found):
            continue  # `git_option_refused` reports it
        words = [Word(word.text, _place(job, scalars[word.option], word)) for word in found]
        if refusal := _clone_refusal(words, found):
            yield refused(use, *refusal)
        elif not job.platform.git_splits_as_shell:
            yield from _passed_quotes(job, words)


def _place(job: Job, scalar: Scalar, word: CloneWord) -> Span:
    return mapped(job.text, scalar).span(word.start, word.end) if word.end > word.start else scalar.span


def refused(use: PluginUse, span: Span, message: str, near: str = "") -> Finding:
    """The finding about what keeps the plugin `git` from cloning."""
    happens = "nothing is cloned" if use.ignores_failure else "the task dies before it starts"
    return as_severe(use, Finding(span, f"{message}; {happens}{near}"))


def _clone_refusal(words: list[Word], found: list[CloneWord]) -> tuple[Span, str, str] | None:
    """The first word that `git clone` refuses, why, and the option that is meant."""
    known = program("git clone")
    if known is None:
        return None
    arguments = parsed(words, known, "")
    if arguments.unknown:
        name, span = arguments.unknown[0]
        return span, f"'git clone' has no option '{name}'", did_you_mean(name, known.options)
    if arguments.operands:
        word = arguments.operands[0]
        before = [one.text for one in found[: words.index(word)]]
        if "" in (*before, word.text):
            text = "this makes an empty word, which 'git clone' takes for an address; write one blank between words"
        elif any(one.count(quote) % 2 for one in before for quote in "'\""):
            text = "OpenPAI splits options at blanks, also within quotes, so 'git clone' takes this for an address"
        else:
            text = "this is not an option, so 'git clone' takes it for an address"
        return word.span, text, ""
    if arguments.without_value:
        option = arguments.without_value[0]
        return option.span, f"'{option.name}' has no value, so 'git clone' takes the next word", ""
    for option in arguments.options:
        valid, wanted = _CLONE_VALUES.get(option.name, (None, ""))
        if valid and not valid.fullmatch(option.value or ""):
            return option.value_span or option.span, f"the value of '{option.name}' must be {wanted}", ""
    return None


# The values that `git clone` does not refuse before it connects. Source: git 2.39, builtin/clone.c and refs.c.
_CLONE_VALUES = {
    "--depth": (lazy_pattern(r"[ \t]*\+?0*[1-9][0-9]{0,9}"), "a positive number"),
    "-o": (lazy_pattern(r"(?!.*(?:\.\.|/\.|\.lock$))[^\s.~^:?*\[\\][^\s~^:?*\[\\]*"), "the name of a remote"),
}


_QUOTED_PART = lazy_pattern(r"""(['"])([^'"]*)\1""")


def _passed_quotes(job: Job, words: list[Word]) -> Iterator[Finding]:
    for word in words:
        if _QUOTED_PART.search(word.text):
            is_written = job.text[word.span.start : word.span.end] == word.text
            plain = _QUOTED_PART.sub(r"\2", word.text)
            fixes = fix_of("Remove the quotes", TextEdit, word.span, plain) if is_written else ()
            message = "OpenPAI passes these quotes on to 'git clone' as a part of the word"
            yield Finding(word.span, message, fixes, severity=Severity.WARNING)


def _tensorboard(job: Job, use: PluginUse) -> Iterator[Finding]:
    logdir = use.entry("logdir")
    if logdir is None or is_ignored(job, use) or entries_of(logdir.value):
        return
    written = job.text[logdir.value.span.start : logdir.value.span.end]
    is_line = _is_text(logdir.value) and "\n" not in written
    fixes = fix_of("Give it the name 'logs'", TextEdit, logdir.value.span, f"{{logs: {written}}}") if is_line else ()
    message = "'logdir' must be a mapping of names to directories, with at least one entry"
    yield as_severe(use, Finding(logdir.place, message, fixes))


def _ssh(job: Job, use: PluginUse) -> Iterator[Finding]:
    user = use.entry("userssh")
    key = entry_at(user.value, "value") if user else None
    if user and key and entry_at(user.value, "type") and not _is_text(key.value) and not _is_null(key.value):
        yield _for_task(job, use, Finding(key.place, "the 'value' of 'userssh' must be a string, a public key"))
    elif user and not isinstance(user.value, Mapping) and not _is_null(user.value):
        found = Finding(user.place, "'userssh' must be a mapping with 'type' and 'value'")
        written = runtime_value(user.value)
        # The runtime searches in it, and reads 'type' if the user's account has a public key.
        if prepared(job, use).fails or (isinstance(written, str | list) and "type" in written):
            yield as_severe(use, found)
        else:
            yield replace(found, severity=Severity.WARNING, consequence=Consequence.IGNORED)


def _teamwise_storage(job: Job, use: PluginUse) -> Iterator[Finding]:
    names = use.entry("storageConfigNames")
    if names and not isinstance(names.value, Sequence):
        fixes = wrap_in_list_fix(job.text, names.value) if _is_text(names.value) else ()
        found = Finding(names.place, "'storageConfigNames' must be a list of strings", fixes)
        yield _for_server(job, found, fails=not isinstance(names.value, Scalar) or bool(names.value.value))
    for item in items_of(names.value) if names else ():
        if not isinstance(item, Scalar):
            found = Finding(item.span, "the name of a storage must be a string")
            yield _for_server(job, found, fails=isinstance(item, Mapping))


_CHECKS = {"git": _git, "tensorboard": _tensorboard, "ssh": _ssh, "teamwise_storage": _teamwise_storage}


def _is_text(node: Node) -> bool:
    return isinstance(node, Scalar) and isinstance(node.runtime_value, str)


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.runtime_value is None


@rule(Severity.WARNING, stage=Stage.RUNTIME, consequence=Consequence.IGNORED, about=("plugin",))
def plugin_key_misspelt(job: Job) -> Iterator[Finding]:
    """A key of a runtime plugin or of its parameters is misspelled.

    Keys are case-sensitive, and a plugin ignores unknown keys: `precommands` never run, and with `taskRoles` instead of
    `taskroles` the plugin runs for all task roles.
    Source: openpai-runtime, src/init.d/initializer.py, src/plugins/*/init.py.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: cmd
              parameters:
                precommands: [echo hello]
                #^^^^^^^^^^ warning

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: cmd
              parameters:
                preCommands: [echo hello]
    """
    for use in job.plugin_uses:
        if use.parameters is not None:
            known = [parameter.name for parameter in use.plugin.parameters]
            ignored = PROTOCOL_KEYS if isinstance(use.owner, Definition) else frozenset()
            yield from misspelt_keys(use.parameters, known, ignored)
    for plugin in job.plugins:
        yield from misspelt_keys(plugin.node, PLUGIN_KEYS, frozenset({"hook"}))


@rule(Severity.WARNING, stage=Stage.RUNTIME, consequence=Consequence.IGNORED, about=("plugin",))
def unknown_plugin_parameter(job: Job) -> Iterator[Finding]:
    """A runtime plugin does not read a parameter that it is given.

    It has no effect: the ssh plugin reads `userssh`, not `publicKeys`, and git clones the default branch even if
    `branch` names another. Keys of a prerequisite that a template uses are not reported, and with the plugin `cmd` only
    those under `extras`, because prerequisites may have other keys for templates. If a required parameter is missing,
    only that is reported.
    Source: openpai-runtime, src/plugins/*/init.py.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: git
              parameters:
                repo_uri: https://github.com/microsoft/pai.git
                branch: main
                #^^^^^ warning

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: git
              parameters:
                repo_uri: https://github.com/microsoft/pai.git
                options: [--branch=main]
    """
    for use in job.plugin_uses:
        is_definition = isinstance(use.owner, Definition)
        if use.parameters is None or (is_definition and use.plugin.name == "cmd"):
            continue
        if any(parameter.required and use.entry(parameter.name) is None for parameter in use.plugin.parameters):
            continue  # plugin_missing_parameter reports it, and another key may be meant for the missing one
        known = [parameter.name for parameter in use.plugin.parameters]
        others = {*known, *PROTOCOL_KEYS, *_VALUES} if is_definition else {*known}
        for entry in use.parameters.effective_entries():
            if entry.name in others or misspelt_key(entry.name, known) or (is_definition and _is_filled_in(job, entry)):
                continue
            message = f"the plugin '{use.plugin.name}' does not read '{entry.name}'; it reads {', '.join(known)}"
            yield Finding(key_name_span(entry), message)


# Keys of a prerequisite that are for templates and people.
_VALUES = frozenset({"uri", "url"})


def _is_filled_in(job: Job, entry: Entry) -> bool:
    """Whether a template may use a key of a prerequisite: `<% this.key %>`, `<% $data.key %>`."""
    return any(f"{mark}{entry.name}" in text for text in _templates(job) for mark in ".['\"")


def _templates(job: Job) -> Iterator[str]:
    """Every text of the job and of the definitions that it uses in which there may be a template."""
    if "<%" in job.text:
        yield job.text
    graph = job.require_graph
    for definition in filter(graph.is_outside, graph.definitions):
        yield from (one.text for one in walk(definition.node) if isinstance(one, Scalar) and "<%" in one.text)


@rule(Severity.WARNING, stage=Stage.RUNTIME, consequence=Consequence.IGNORED, about=("tensorboard",))
def tensorboard_wrong_role(job: Job) -> Iterator[Finding]:
    """TensorBoard is not enabled for the first task role, the only one it runs in.

    The plugin starts TensorBoard in the first task of the first task role and has no effect elsewhere.
    Source: openpai-runtime, src/plugins/tensorboard/init.py.

        taskRoles:
          master: {instances: 1}
          worker: {instances: 2}
        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: tensorboard
              #       ^^^^^^^^^^^ warning
              taskroles: [worker]
              parameters: {port: 12345, logdir: {logs: /mnt/tensorboard}}

    Good:

        taskRoles:
          master: {instances: 1}
          worker: {instances: 2}
        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: tensorboard
              taskroles: [master]
              parameters: {port: 12345, logdir: {logs: /mnt/tensorboard}}
    """
    for use in job.uses_of_plugin("tensorboard"):
        if is_ignored(job, use):
            first = job.task_roles[0].name
            message = f"'tensorboard' has no effect here; it only runs in the first task role, '{first}'"
            yield Finding(use.name_span, message)


# Only these characters can end a quoted string.
_BREAKING = frozenset("'\"\\\n")


@rule(Severity.ERROR, stage=Stage.RUNTIME)
def non_string_parameter_in_plugin(job: Job) -> Iterator[Finding]:
    """A template in a callback or plugin parameter inserts a value that is not a string.

    The runtime concatenates strings in Python, which fails for a number, a date, a boolean, a list or a mapping: the
    task dies before it starts. `yes`, `no`, `on` and `off` are booleans here. In commands, which the rest-server fills,
    all of them work.
    Source: openpai-runtime, src/init.d/initializer.py, replace_ref.

        parameters:
          port: 8080
        prerequisites:
          - name: serve
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands:
                  - serve --port <% $parameters.port %>
                  #                 ^^^^^^^^^^^^^^^^ error
        taskRoles:
          worker:
            prerequisites: [serve]

    Good:

        parameters:
          port: "8080"
        prerequisites:
          - name: serve
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands:
                  - serve --port <% $parameters.port %>
        taskRoles:
          worker:
            prerequisites: [serve]
    """
    for answer in _inserted_by_runtime(job):
        node = answer.node
        if node is None:
            continue
        is_secret = answer.root == "$secrets"
        if isinstance(node, Scalar):
            value = runtime_secret(node) if is_secret else node.runtime_value
            if isinstance(value, (str, ValueError)):
                continue
            kind = kind_of_value(value) if isinstance(value, (bool, int, float)) else "a date"
            fixes = _quote_fixes(node, is_secret=is_secret)
        else:
            kind = "a list" if isinstance(node, Sequence) else "a mapping"
            fixes = first_item_fix(job, answer)
        related = () if is_secret else (Related(node.span, f"defined here as {kind}"),)
        consequence = "but the runtime only inserts strings; the task dies before it starts"
        message = f"'{answer.use.tag.content}' is {kind}, {consequence}"
        yield Finding(answer.use.content_span, message, fixes, related)


@later
def _quote_fixes(node: Scalar, *, is_secret: bool) -> Fixes:
    if is_secret:
        return () if node.is_string else fix_of("Quote the secret", quote_insertions, node, safe=True)
    return quote_fix(node, "Quote the value") if node.style is ScalarStyle.PLAIN and node.tag is None else ()


@rule(Severity.ERROR, stage=Stage.RUNTIME)
def value_breaks_plugin_parameter(job: Job) -> Iterator[Finding]:
    """An inserted value breaks the quoting of a callback or plugin parameter.

    The runtime inserts values into the Python syntax of the parameters, `{'commands': ['echo …']}`, and parses the
    result as YAML. A `'` in the value ends the string; in a string that itself contains `'`, a `"` or a backslash does.
    The rest is not valid YAML, and the task dies before it starts.
    Source: openpai-runtime, src/init.d/initializer.py, init_plugins and replace_ref.

        parameters:
          title: it's mine
        prerequisites:
          - name: hello
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands:
                  - echo <% $parameters.title %>
                  #         ^^^^^^^^^^^^^^^^^ error
        taskRoles:
          worker:
            prerequisites: [hello]

    Good:

        parameters:
          title: mine
        prerequisites:
          - name: hello
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
            callbacks:
              - event: taskStarts
                commands:
                  - echo <% $parameters.title %>
        taskRoles:
          worker:
            prerequisites: [hello]
    """
    for answer in _inserted_by_runtime(job):
        node = answer.node
        if not isinstance(node, Scalar):
            continue
        is_secret = answer.root == "$secrets"
        value = runtime_secret(node) if is_secret else node.runtime_value
        if not isinstance(value, str) or (value.isprintable() and _BREAKING.isdisjoint(value)):
            continue
        if _breaks(answer, value):
            related = () if is_secret else (Related(node.span, "the value"),)
            cause = "a quote in the value" if value.isprintable() else "a character of the value"
            message = f"{cause} ends the string that it is inserted into, so the task dies before it starts"
            yield Finding(answer.use.content_span, message, related=related)


def _inserted_by_runtime(job: Job) -> Iterator[TemplateAnswer]:
    return (answer for answer in job.answers_with(PathOutcome.FOUND) if answer.in_plugin)


def _breaks(answer: TemplateAnswer, value: str) -> bool:
    """Whether the runtime can parse the string, but not with the value inserted."""
    text = answer.use.text.text
    span = answer.use.tag.span
    tag = text[span.start : span.end]
    if isinstance(runtime_round_trip([text], lambda written: written), ValueError):
        return False
    found = runtime_round_trip([text], lambda written: written.replace(tag, value))
    return not isinstance(found, list) or not all(isinstance(one, str) for one in found)
