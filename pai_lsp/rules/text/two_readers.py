"""Rules about YAML that the rest-server's js-yaml and the runtime's PyYAML read differently.

The rest-server stores the text of the job, and the runtime's init container parses that text again, so a job can be
accepted and then die before its first command. See characters.py for single characters and
yaml_syntax.py for anchors.

Names are a case of their own: js-yaml reads only `true` and `false` as booleans, PyYAML implements YAML 1.1, which has
more.
"""

from __future__ import annotations

import re

from pai_lsp.findings.diagnostic import Consequence, Finding, Fixes, Related, Severity, Stage, rule
from pai_lsp.findings.fixes import fix_of, quote_fix
from pai_lsp.job.template_uses import RUNTIME_PLACES
from pai_lsp.platform.image_addresses import DOCKER_HUB, image_host, registry_host
from pai_lsp.platform.secrets_section import masked_span
from pai_lsp.source.nodes import NO_TYPE, Mapping, Scalar, ScalarStyle, Sequence, entries_below, walk
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.tags import server_refusal, tag_span, with_tag
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING
from pai_lsp.source.writing import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Node


# Plain scalars that PyYAML may fail to construct: the two special ones, numbers without digits, numbers in base 60 that
# are too long for a double, invalid dates.
_MAYBE_UNREADABLE = lazy_pattern(
    r"=|<<|[-+]?0[bx]_+|\._+(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_:]{300,}\.[0-9_]*|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*",
    re.DOTALL,
)
# Where a key may be a list or a mapping: explicit, an alias, before a colon, or alone in braces.
_MAYBE_COLLECTION_KEY = lazy_pattern(r"[\]}?*{,](?:(?<=[\]}])[ \t]*:|(?<=\?)\s|(?<=\*)|(?<=[{,])\s*[\[{])")


@rule(Severity.ERROR, stage=Stage.RUNTIME)
def unreadable_value(job: Job) -> Iterator[Finding]:
    """The runtime's YAML parser cannot read a value.

    The rest-server reads such a value as a string. For PyYAML, `=` and `<<` have a meaning in YAML 1.1 that it does not
    support, `0x_` and `._` are numbers without digits, and a date must exist in the calendar. It refuses the file, so
    every task fails in its init container. In quotes, both parsers read a string. A tag that PyYAML cannot construct,
    such as `!!map` before an empty value, fails in the same way.
    Source: PyYAML, resolver.py and constructor.py (SafeLoader).

        parameters:
          operator: =
          #         ^ error
          deadline: 2024-02-30
          #         ^^^^^^^^^^ error

    Good:

        parameters:
          operator: "="
          deadline: "2024-02-30"
    """
    if job.is_catalog:
        return
    candidates = filter(_may_be_unreadable, job.syntax.scalars)
    suspects = [scalar for scalar in candidates if isinstance(scalar.runtime_value, ValueError)]
    if not suspects:
        return
    masked = masked_span(job.text)
    # As a key, `=` is a string, and `<<` merges another mapping.
    keys = {entry.key for entry in entries_below(job.syntax.root) if entry.is_merge or entry.name in {"=", "<<"}}
    for scalar in suspects:
        if scalar.span.start in masked or scalar in keys:
            continue
        if scalar.tag is None:
            message = f"the runtime cannot read {_kind(scalar)}, so every task dies; quote it"
            yield Finding(scalar.span, message, quote_fix(scalar))
        else:
            tag = tag_span(job.text, scalar) or scalar.span
            written = job.text[tag.start : tag.end]
            message = f"the runtime cannot read this '{written}', so every task dies; remove the tag"
            yield Finding(with_tag(job.text, scalar), message)


def _may_be_unreadable(scalar: Scalar) -> bool:
    if scalar.tag is not None:
        return server_refusal(scalar) is None
    return scalar.style is ScalarStyle.PLAIN and _MAYBE_UNREADABLE.fullmatch(scalar.text) is not None


def _kind(scalar: Scalar) -> str:
    """The kind of value; never the value itself, which may be a secret."""
    if scalar.text in {"=", "<<"}:
        return f"a bare '{scalar.text}'"
    if scalar.text[4:5] == "-":
        return "a date that does not exist"
    is_without_digits = scalar.text.endswith("_") or scalar.text.startswith("._")
    return "a number without digits" if is_without_digits else "a number with so many parts"


@rule(Severity.ERROR, stage=Stage.RUNTIME)
def unquoted_question_mark(job: Job) -> Iterator[Finding]:
    """A string with `?` inside `[ ]` or `{ }` has no quotes.

    Inside brackets the runtime's YAML parser reads every `?` as a key indicator and refuses the file, so every task
    fails in its init container. URLs with a query and shell patterns are the usual cases. In quotes, or outside of
    brackets, both parsers read a string.
    Source: PyYAML, scanner.py, scan_plain.

        prerequisites:
          - name: cifar10
            type: data
            uri: [https://example.com/cifar10?raw=true]
            #     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error

    Good:

        prerequisites:
          - name: cifar10
            type: data
            uri: ["https://example.com/cifar10?raw=true"]
    """
    if "?" not in job.text or job.is_catalog:
        return
    suspects = [scalar for scalar in job.syntax.scalars if "?" in scalar.text and scalar.style is ScalarStyle.PLAIN]
    masked = masked_span(job.text)
    flow = [node for node in walk(job.syntax.root) if isinstance(node, (Mapping, Sequence)) and node.is_flow]
    values = {entry.value for node in flow if isinstance(node, Mapping) for entry in node.entries}
    for scalar in suspects:
        if scalar.span.start not in masked and any(scalar.span.start in node.span for node in flow):
            # Where only the first character is one, the runtime reads the rest as a key, where one can be.
            is_read = scalar.text.rfind("?") == 0 and scalar not in values
            refuses = "" if is_read else " and refuses the file"
            message = f"the runtime reads '?' in brackets as a key indicator{refuses}; quote the string"
            consequence = Consequence.FAILS if is_read else None
            yield Finding(scalar.span, message, quote_fix(scalar), consequence=consequence)


@rule(Severity.ERROR, stage=Stage.RUNTIME)
def collection_key(job: Job) -> Iterator[Finding]:
    """The key of a mapping is a list or a mapping.

    The rest-server converts it to a string, `a,b` or `[object Object]`. The runtime's YAML parser refuses the file, so
    every task fails in its init container: "found unhashable key". A string in brackets or braces must be quoted.
    Source: PyYAML, constructor.py, construct_mapping.

        parameters:
          [a, b]: 1
          #^^^^^ error

    Good:

        parameters:
          "[a, b]": 1
    """
    if job.is_catalog or not _MAYBE_COLLECTION_KEY.search(job.text):
        return
    masked = masked_span(job.text)
    seen: set[Node] = set()
    for entry in entries_below(job.syntax.root):
        key = entry.key
        if isinstance(key, Scalar) or key.span.start in masked or key in seen:
            continue
        seen.add(key)
        kind = "list" if isinstance(key, Sequence) else "mapping"
        message = f"the runtime does not allow a {kind} as a key; quote it if it is a string"
        written = job.text[key.span.start : key.span.end]
        is_plain = "\n" not in written and key.is_flow and entry.value.span.start >= key.span.end
        fixes = fix_of("Quote it", TextEdit, key.span, quoted(written)) if is_plain else ()
        yield Finding(key.span, message, fixes)


@rule(Severity.ERROR, stage=Stage.RUNTIME)
def runtime_reads_differently(job: Job) -> Iterator[Finding]:
    """The runtime reads a name, an image's address or a plugin differently, not as a string, and fails.

    `yes`, `no`, `on` and `off` are booleans in YAML 1.1, `1_` and the key `1` are numbers. When such a prerequisite is
    defined with quotes and referred to without them, or the other way round, when `<% $parameters.on %>` is used in a
    plugin's commands, or when such a value is the `uri` of an image, its account in a job with secrets, or the `plugin`
    of a listed prerequisite, the init container dies. In quotes, both parsers read a string. `&name:` alone in a
    mapping is an anchor with the colon in its name to the rest-server, and a key without a name to the runtime.
    Sources: PyYAML, resolver.py; js-yaml, loader.js, readAnchorProperty; openpai-runtime, src/init.d/initializer.py,
    collect_plugin_configs and replace_ref; src/init.d/image_checker.py.

        prerequisites:
          - name: "on"
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
        taskRoles:
          worker:
            prerequisites: [on]
            #               ^^ error

    Good:

        prerequisites:
          - name: "on"
            type: script
            plugin: com.microsoft.pai.runtimeplugin.cmd
        taskRoles:
          worker:
            prerequisites: ["on"]
    """
    if job.is_catalog:
        return
    yield from _names_read_differently(job)
    yield from _values_read_differently(job)
    yield from _parameters_read_differently(job)
    yield from _anchors_read_differently(job)


def _names_read_differently(job: Job) -> Iterator[Finding]:
    for role in job.task_roles:
        image = role.typed_references.get("dockerImage")
        for reference in (*role.prerequisites, *((image,) if image else ())):
            definition = job.definitions_by_name.get(reference.name)
            if definition is None or definition.name_scalar is None:
                continue
            here, there = reference.scalar, definition.name_scalar
            odd = next((one for one in (here, there) if is_read_differently(one)), None)
            if odd is None or here.runtime_value == there.runtime_value:
                continue
            message = f"the runtime does not read '{odd.text}' as a string and does not find the prerequisite"
            yield Finding(odd.span, f"{message}; {_step(odd)}", _quote_fix(job, odd))


def _values_read_differently(job: Job) -> Iterator[Finding]:
    values = [value for definition in job.chosen_images for value in _of_image(job, definition)]
    values += [one.plugin_scalar for one in job.prerequisites if job.roles_listing(one)]
    for value in values:
        if isinstance(value, Scalar) and value.is_string and is_read_differently(value):
            message = f"the runtime does not read '{value.text}' as a string, so the task dies at start; {_step(value)}"
            yield Finding(value.span, message, _quote_fix(job, value))


def _of_image(job: Job, definition: Definition) -> Iterator[Node | None]:
    """What the image checker reads as strings; it looks at an account only if the job has secrets."""
    uri, auth = definition.node.get("uri"), definition.node.get("auth")
    yield uri
    if not job.secrets or not isinstance(auth, Mapping):
        return
    registry = auth.get("registryuri")
    yield registry
    # It ignores the account of another registry for an image whose address has none.
    is_used = not isinstance(registry, Scalar) or registry_host(registry.text) == registry_host(DOCKER_HUB)
    if is_used or (isinstance(uri, Scalar) and image_host(uri.text)):
        yield from (auth.get("username"), auth.get("password"))


def _parameters_read_differently(job: Job) -> Iterator[Finding]:
    odd = {name: entry.key for name, entry in job.parameters.items() if is_read_differently(entry.key)}
    for use in job.template_uses if odd else ():
        steps = use.tag.steps
        if use.place not in RUNTIME_PLACES or len(steps) < 2 or steps[0].name != "$parameters":
            continue
        name = str(steps[1].name)
        if name not in odd or (use.definition is not None and not job.roles_listing(use.definition)):
            continue
        key = odd.pop(name)  # reported once
        message = f"the runtime does not read the key '{name}' as a string and finds no '$parameters.{name}'; quote it"
        fixes = _quote_fix(job, key) if isinstance(key, Scalar) and key.text == name else ()
        yield Finding(key.span, message, fixes, (Related(use.span, "used here"),))


def _anchors_read_differently(job: Job) -> Iterator[Finding]:
    for anchor in job.syntax.anchors:
        if anchor.name.endswith(":") and anchor.span.end <= anchor.node.span.start < anchor.node.span.end:
            message = f"the runtime reads a key without a name, the rest-server an anchor '{anchor.name}'; remove '&'"
            span = Span(anchor.span.start - 1, anchor.span.end)
            removal = fix_of("Remove '&'", TextEdit, Span(span.start, anchor.span.start), "")
            yield Finding(span, message, removal, consequence=Consequence.FAILS)


def is_read_differently(node: Node) -> bool:
    """Whether the rest-server reads a string, and the runtime something else: of a plain scalar, or one with `!`."""
    if not isinstance(node, Scalar) or (node.style is not ScalarStyle.PLAIN and node.tag != NO_TYPE):
        return False
    return not isinstance(node.runtime_value, (str, ValueError))


def _step(scalar: Scalar) -> str:
    return "quote it" if scalar.tag is None else "write it in quotes, without the tag '!'"


def _quote_fix(job: Job, scalar: Scalar) -> Fixes:
    return fix_of("Quote it", TextEdit, with_tag(job.text, scalar), quoted(scalar.text), safe=True)


@rule(Severity.WARNING, stage=Stage.RUNTIME, consequence=Consequence.IGNORED, about=("taskroles",))
def plugin_role_read_differently(job: Job) -> Iterator[Finding]:
    """The runtime reads a role in a plugin's `taskroles` differently, not as a string, and skips the plugin.

    `yes`, `no`, `on` and `off` are booleans in YAML 1.1. The runtime compares them with the role's name, finds no match
    and silently skips the plugin. In quotes, both parsers read a string.
    Sources: PyYAML, resolver.py; openpai-runtime, src/init.d/initializer.py, collect_plugin_configs.

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              taskroles: [on]
              #           ^^ warning

    Good:

        extras:
          com.microsoft.pai.runtimeplugin:
            - plugin: ssh
              taskroles: ["on"]
    """
    for plugin in job.plugins:
        for scalar in plugin.task_roles or ():
            if is_read_differently(scalar) and isinstance(scalar.value, str):
                message = f"the runtime does not read '{scalar.text}' as a string and skips the plugin; {_step(scalar)}"
                yield Finding(scalar.span, message, _quote_fix(job, scalar))
