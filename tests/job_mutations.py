"""Random jobs that are odd on purpose, and everything that must hold for each of them.

A base is a fixture or one of the sound jobs below; a mutation works on the nodes of its tree: tags, anchors and
aliases, odd numbers, plugins of every shape, keys and lines out of place. The same seed gives the same text.
"""

from __future__ import annotations

import random
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from expansion import marketplace
from job_text import HEAD
from random_edits import assert_sound, job_texts, no_failures, random_edit
from test_check_and_expand import assert_agreed, other_texts
from test_expand_round_trip import ANSWERED

from pai_lsp.document import Document
from pai_lsp.expansion.released_job import expanded
from pai_lsp.expansion.released_run import released_run
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.ide.prerequisite_graph import dot, mermaid, prerequisite_graph
from pai_lsp.rules import structure
from pai_lsp.rules import text as text_rules
from pai_lsp.safe_fixes import with_safe_fixes
from pai_lsp.source.nodes import Mapping, Scalar, Sequence, walk
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from pai_lsp.source.nodes import Node

# Fixtures of rules and fixes are large; a long one costs as much as ten short ones.
_LONGEST_BASE = 1_500

RELEASED = """\
protocolVersion: 2
name: released
type: job
jobRetryCount: 1
prerequisites:
  - {type: dockerimage, name: image, uri: "ubuntu:20.04"}
  - type: data
    name: mnist
    uri: ["https://example.com/mnist.zip", https://example.com/labels]
  - type: script
    name: setup
    plugin: com.microsoft.pai.runtimeplugin.cmd
    failurePolicy: ignore
    callbacks:
      - event: taskStarts
        commands:
          - echo <% $parameters.text %>
          - wget <% $data.uri[0] %>
      - event: taskSucceeds
        commands: ["echo 'done'"]
parameters: {rate: 0.1, text: words, list: [a, 2]}
secrets:
  key: &key "word1"
  other: 5
taskRoles:
  worker:
    instances: 2
    completion: {minFailedInstances: 1, minSucceededInstances: -1}
    taskRetryCount: 0
    dockerImage: image
    data: mnist
    prerequisites: [setup]
    extraContainerOptions: {shmMB: 512, infiniband: false}
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 1, ports: {web: 1}}
    commands:
      - python train.py --rate <% $parameters.rate %> --key <% $secrets.key %>
      - |
        for i in 1 2; do
          echo $PAI_HOST_IP_worker_0 $i
        done
  server:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [sleep 10]
defaults: {virtualCluster: default}
extras:
  com.microsoft.pai.runtimeplugin:
    - plugin: ssh
      parameters: {jobssh: true, userssh: {type: custom, value: ssh-rsa AAAA}}
    - plugin: cmd
      taskroles: [worker]
      parameters:
        callbacks: [{event: taskStarts, commands: [echo start]}]
    - {plugin: git, parameters: {repo_uri: "https://example.com/r.git", options: [--depth=1]}}
  hivedScheduler:
    taskRoles: {worker: {skuType: V100, skuNum: 1}}
"""
EXTENDED = (
    HEAD
    + """\
  - name: base
    type: script
    host: example.com
    callbacks:
      - event: taskStarts
        commands: ["wget <% this.host %>/data", export A=1]
      - {event: taskFails, commands: [echo failed]}
      - {event: containerExit, commands: [rm -rf /tmp/data]}
  - name: top
    type: script
    require:
      - base
      - {name: disk, template_variables: {mount: /mnt/x}}
    plugin: cmd
    callbacks: [{event: taskSucceeds, commands: ["cp 'a b' <% this.name %>"]}]
  - name: disk
    type: script
    template_variables: [{name: mount}]
    requireStorages: [{name: nfs, mountPath: "{{ mount }}"}]
    callbacks: [{event: taskStarts, commands: ["ls {{ mount }}"]}]
parameters: {x: words}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [top]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands:
      - echo <% $parameters.x %>
deployments:
  - name: prod
    taskRoles: {worker: {preCommands: [echo pre], postCommands: [echo post]}}
defaults: {deployment: prod}
"""
)
SHARED = (
    HEAD
    + """\
  - &one
    name: one
    type: script
    callbacks: &calls [{event: taskStarts, commands: &lines [echo one]}]
  - {<<: *one, name: two, callbacks: *calls}
taskRoles:
  worker: &role
    instances: 1
    dockerImage: image
    prerequisites: [one, two, "marketplace://name/install_wget"]
    resourcePerInstance: &size {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [echo run]
  server: {<<: *role, resourcePerInstance: *size, commands: *lines}
"""
)

SOUND = (RELEASED, EXTENDED, SHARED)

TAGS = ("int", "float", "bool", "null", "str", "timestamp", "binary", "seq", "map", "set", "omap", "pairs", "merge")
ODD_SCALARS = (
    *(".inf", "-.INF", ".nan", "1e3", "1.", ".5", "._", "1_000", "1_", "0x1F", "017", "08", "0o17", "0b101", "1:30"),
    *("1:60", "-1", "-0", "+5", "0", "1e400", "9007199254740993", "99999999999999999999", "1.5e3", "2001-02-30", "="),
    *("2020-13-02", "~", "null", "yes", "no", "off", "True", "<<", "''", '""', "[]", "{}", "[[]]", "{a: }", "[a, , b]"),
    *('"\\ud83d\\ude00"', '"a\\tb"', '"\\u0085"', '"\\0"', "'it''s \"x\"'", '"1_"', '"="', '"06."', '"a\\nb"', "|\n x"),
    *("{{ x }}", "'{{ x }}'", '"<% $parameters.x %>"', '"<% $secrets.key %>"', '"<% this.x %>"', "'<% $nope.x %>'"),
    *("constructor", "__proto__", "toString", "a: b", "- a", "# a", "%x", "@x", "&a.b x", "*nothing", "? a", "!x a"),
)  # fmt: skip
KEYS = (
    *("plugin", "callbacks", "commands", "event", "require", "failurePolicy", "parameters", "taskroles", "name"),
    *("type", "uri", "auth", "plugin_params", "template_variables", "requireStorages", "prerequisites", "data"),
    *("output", "dockerImage", "ports", "instances", "secrets", "extras", "<<", "pathForUser", "skuType"),
)  # fmt: skip
PLUGINS = ("cmd", "ssh", "git", "tensorboard", "teamwise_storage", "nothing", "off", "5", "''", "cmd ", "CMD", "[cmd]")
PARAMETERS = (
    *("", "~", "[]", "{}", "text", "5", "[a]", "{callbacks: }", "{callbacks: {}}", "{callbacks: [5]}"),
    *("{preCommands: a}", "{preCommands: [a, 5]}", "{postCommands: ['<% $parameters.text %>']}"),
    *("{jobssh: 'yes'}", "{jobssh: true}"),
    *("{callbacks: [{event: taskStarts, commands: [!!bool yes]}]}", "{callbacks: [{event: taskEnds, commands: [a]}]}"),
    *("{callbacks: [{event: containerExit, commands: [echo x, 'exit 3']}]}", "{callbacks: [{commands: [a]}]}"),
    *("{userssh: {type: custom, value: '<% $parameters.list %>'}}", "{repo: x, options: [\"-c a='b\"]}", "{repo: 5}"),
    *("{storageConfigNames: x}", "{storageConfigNames: [a]}", "{port: 6006, logPath: /x}", "{port: ~}", "!!set {a, b}"),
)  # fmt: skip
_STRUCTURE = frozenset(rule.code for rule in (*structure.RULES, *text_rules.RULES))
BLOCK_HEADERS = ("|", ">", "|-", ">+", "|2", ">-3", "|#c", "|\t# c", "> # c", "|0", "|10", ">+-")


@cache
def bases() -> tuple[str, ...]:
    """What is mutated: the sound jobs above, each as often as ten fixtures, and the short fixtures of the tests."""
    fixtures = (*job_texts().values(), *other_texts().values())
    short = [text for text in fixtures if len(text) <= _LONGEST_BASE]
    return (*short, *SOUND * max(len(short) // 6, 1))


def mutated_job(seed: int) -> str:
    """A base after one mutation, or after some."""
    source = random.Random(seed)  # noqa: S311 - nothing to keep secret
    return mutated(source.choice(bases()), source)


def mutated(text: str, source: random.Random) -> str:
    """A text of YAML after one mutation, or after some."""
    for _ in range(source.choice((1, 1, 1, 2, 2, 3, 5))):
        text = source.choice(_MUTATIONS)(text, source)
    return text


@lru_cache(maxsize=300)  # the bases are read once
def _nodes(text: str) -> list[Node]:
    """The nodes that are written in the text, by an alias once."""
    seen: dict[int, Node] = {}
    for node in walk(parse(text).root):
        seen.setdefault(id(node), node)
        if len(seen) > 3_000:  # a text full of aliases
            break
    return list(seen.values())


def _node(text: str, source: random.Random, kinds: tuple[type, ...] = (Scalar, Mapping, Sequence)) -> Node | None:
    found = [node for node in _nodes(text) if isinstance(node, kinds)]
    return source.choice(found) if found else None


def _put(text: str, span: Span, new: str) -> str:
    return text[: span.start] + new + text[span.end :]


def _tagged(text: str, source: random.Random) -> str:
    """A tag before a value or a key."""
    node = _node(text, source)
    tag = source.choice(("!!" + source.choice(TAGS), "!!" + source.choice(TAGS), "!x", "!", "!!python/tuple", "!<x>"))
    return _put(text, Span(node.span.start, node.span.start), f"{tag} ") if node else text


def _anchored(text: str, source: random.Random) -> str:
    """An anchor before a node, and perhaps an alias to it elsewhere."""
    node, other = _node(text, source), _node(text, source)
    if node is None or other is None:
        return text
    name = source.choice(("a", "a", "key", "a.b", "中", "a\x7fb"))
    alias = source.choice((f"*{name}", f"*{name}", f"{{<<: *{name}}}", f"{{<<: [*{name}]}}"))
    places = [(node.span, f"&{name} ", True), (other.span, alias, False)]
    for span, new, is_before in sorted(places, key=lambda one: -one[0].start)[: source.choice((1, 2, 2))]:
        text = _put(text, Span(span.start, span.start) if is_before else span, new)
    return text


def _odd_scalar(text: str, source: random.Random) -> str:
    node = _node(text, source, (Scalar,))
    return _put(text, node.span, source.choice(ODD_SCALARS)) if node else text


def _odd_node(text: str, source: random.Random) -> str:
    node = _node(text, source, (Mapping, Sequence))
    return _put(text, node.span, source.choice(ODD_SCALARS)) if node else text


def _swapped(text: str, source: random.Random) -> str:
    """A node as another one is written."""
    node, other = _node(text, source), _node(text, source)
    return _put(text, node.span, text[other.span.start : other.span.end]) if node and other else text


def _key(text: str, source: random.Random) -> str:
    """A key of another name, a second key, or a key without its value."""
    node = _node(text, source, (Mapping,))
    if not isinstance(node, Mapping) or not node.entries:
        return text
    entry = source.choice(node.entries)
    kind = source.random()
    if kind < 0.4:
        name = source.choice(KEYS) if source.random() < 0.5 else _misspelled(entry.name, source)
        return _put(text, entry.key.span, name)
    if kind < 0.6:
        return _put(text, entry.value.span, "")
    value = source.choice((*ODD_SCALARS, *PARAMETERS))
    start = entry.key.span.start
    line = text[text.rfind("\n", 0, start) + 1 : start]
    gap = ", " if node.is_flow else "\n" + " " * len(line)
    return _put(text, Span(start, start), f"{source.choice(KEYS)}: {value}{gap}")


def _misspelled(name: str, source: random.Random) -> str:
    at = source.randrange(len(name)) if name else 0
    return source.choice((name[:at] + name[at + 1 :], name[:at] + name[at : at + 1] + name[at:], name.upper()))


def _plugin(text: str, source: random.Random) -> str:
    """Another plugin, or the parameters of one replaced."""
    name, value = source.choice(PLUGINS), source.choice(PARAMETERS)
    roles = source.choice(("", "", ", taskroles: [worker]", ", taskroles: worker1", ", taskroles: ", ", taskroles: 5"))
    policy = source.choice(("", "", "", ", failurePolicy: ignore", ", failurePolicy: ", ", failurePolicy: 5"))
    plugin = f"{{plugin: {name}, parameters: {value}{roles}{policy}}}"
    key = "com.microsoft.pai.runtimeplugin:\n"
    at = text.find(key)
    if at >= 0:
        return _put(text, Span(at + len(key), at + len(key)), f"    - {plugin}\n")
    lines = f"  com.microsoft.pai.runtimeplugin:\n    - {plugin}\n"
    if (extras := text.find("\nextras:\n")) >= 0:
        return _put(text, Span(extras + 9, extras + 9), lines)
    return f"{text}\nextras:\n{lines}"


def _block(text: str, source: random.Random) -> str:
    """A scalar as a block with an odd header."""
    node = _node(text, source, (Scalar,))
    if not isinstance(node, Scalar):
        return text
    start = node.span.start
    margin = " " * (start - text.rfind("\n", 0, start) + source.randint(-2, 2))
    lines = f"\n{margin}".join(node.text.split("\n"))
    return _put(text, node.span, f"{source.choice(BLOCK_HEADERS)}\n{margin}{lines}\n")


def _line(text: str, source: random.Random) -> str:
    """A line twice, gone, at another place, or indented otherwise."""
    lines = text.split("\n")
    at, to = source.randrange(len(lines)), source.randrange(len(lines))
    kind = source.randrange(4)
    if kind == 0:
        lines.insert(to, lines[at])
    elif kind == 1:
        lines.insert(to, lines.pop(at))
    elif kind == 2:
        del lines[at]
    else:
        lines[at] = source.choice((" ", "  ", "\t")) + lines[at] if source.random() < 0.5 else lines[at][1:]
    return "\n".join(lines)


def _edited(text: str, source: random.Random) -> str:
    return random_edit(text, source).applied(text)


_MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (
    _tagged,
    _anchored,
    *(_odd_scalar, _odd_scalar, _odd_node),
    _swapped,
    *(_key, _key),
    *(_plugin, _plugin),
    _block,
    _line,
    _edited,
)


def assert_all_holds(text: str, *, is_fixed: bool = True) -> None:
    """Check, fix, draw and expand a text, in both forms; each answer fits the others.

    Args:
        text: the text of a file.
        is_fixed: whether its fixes are applied, which checks it several times again.

    Raises:
        AssertionError: with what does not hold.
    """
    with no_failures():
        document = Document(text, path="a.pai.yaml", lookup=marketplace())
        assert_sound(document)
        graph = prerequisite_graph(document.job)
        assert dot(graph)
        assert mermaid(graph)
        if is_fixed:
            assert_sound(with_safe_fixes(document, lambda one: one.diagnostics, lambda _: True).document)
        if not document.job.syntax.problems and "pai-lsp: ignore" not in text:
            _assert_stops_are_reported(document)
            # A mistake in the structure hides what only follows from it.
            if not _STRUCTURE.intersection(errors(document)):
                assert_agreed(document)
        for is_inline in (False, True):
            _assert_expands(document, is_inline=is_inline)


def errors(document: Document) -> set[str]:
    """The codes of the errors, without those that expansion answers."""
    found = {one.code for one in document.diagnostics if one.severity is Severity.ERROR}
    return found - ANSWERED


def _assert_stops_are_reported(document: Document) -> None:
    stops = released_run(document.job).stops
    reasons = errors(document) | ANSWERED.intersection(one.code for one in document.diagnostics)
    assert not stops or reasons, stops


def _is_filled_in(span: Span, after: Document, before: Document) -> bool:
    """Whether these words of an expanded job come from the value of a variable; the command line reports them."""
    words = after.text[span.start : span.end]
    mappings = (node for node in walk(before.job.root) if isinstance(node, Mapping))
    given = [values for mapping in mappings if (values := mapping.get("template_variables"))]
    is_value = any(isinstance(node, Scalar) and node.text == words for values in given for node in walk(values))
    return is_value or (words not in before.text and ("{{" in before.text or "this" in before.text))


def _assert_expands(document: Document, *, is_inline: bool) -> None:
    """The expanded job of one without errors has none, and is its own expansion."""
    inlined = [role.name for role in document.job.task_roles] if is_inline else []
    result = expanded(document.job, inlined)
    if result.text is None:
        assert result.problems
        return
    if errors(document) or result.text == document.text:
        return  # the command line prints nothing that has errors
    after = Document(result.text, path="a.pai.yaml", lookup=marketplace())
    assert_sound(after)
    new = errors(after) - {one.code for one in after.diagnostics if _is_filled_in(one.span, after, document)}
    assert not new, f"new errors: {sorted(new)}"
    again = expanded(after.job, [role.name for role in after.job.task_roles] if is_inline else [])
    assert again.text == result.text, "expanding twice is not expanding once"
