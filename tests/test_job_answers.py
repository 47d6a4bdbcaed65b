"""What a job answers about its parts: the variables of its tasks, who runs and uses what, what templates find."""

from __future__ import annotations

import re

import pytest

from pai_lsp.embedded.template import tags_without_dollar
from pai_lsp.job.job import Job
from pai_lsp.job.this_lookup import asked, looked_up, this_parameters
from pai_lsp.job.variable_places import declared_ports, task_variables
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.syntax import parse

ROLES = Job(
    parse("""\
protocolVersion: 2
name: train
type: job
taskRoles:
  Work_er:
    instances: 3
    resourcePerInstance: {cpu: 1, memoryMB: 1, gpu: 0, ports: {data: 1, ssh: 1}}
  ps:
    resourcePerInstance: {cpu: 1, memoryMB: 1, gpu: 0}
  odd:
    resourcePerInstance: {ports: 3}
""")
)


@pytest.mark.parametrize(
    ("own", "most", "family", "found"),
    [
        (None, 1, "PAI_HOST_IP_(.*)", "worker_0 ps_0 odd_0"),
        (None, 2, "PAI_HOST_IP_(.*)", "worker_0 worker_1 ps_0 odd_0"),
        (None, 9, "PAI_HOST_IP_(.*)", "worker_0 worker_1 worker_2 ps_0 odd_0"),
        ("ps", 1, "PAI_HOST_IP_(.*)", "worker_0 ps_0 odd_0"),
        (None, 1, "PAI_RESOURCE_(.*)", "Work_er ps odd"),
        (None, 1, "PAI_PORT_LIST_(.*)", "worker_0_data worker_0_ssh worker_0_http ps_0_ssh ps_0_http"),
        (None, 1, "PAI_CONTAINER_HOST_(.*)_PORT_LIST", "data ssh http ssh http"),
        ("ps", 1, "PAI_CONTAINER_HOST_(.*)_PORT_LIST", "ssh http"),
        ("odd", 1, "PAI_CONTAINER_HOST_(.*)_PORT_LIST", ""),
        ("ps", 1, "(PAI_CURRENT_CONTAINER_IP|PAI_JOB_NAME|.*SECRET.*)", "PAI_JOB_NAME PAI_CURRENT_CONTAINER_IP"),
    ],
)
def test_variables_of_tasks(own: str | None, most: int, family: str, found: str) -> None:
    role = ROLES.task_roles_by_name[own] if own else None
    names = (re.fullmatch(family, name) for name, _, _ in task_variables(ROLES, role, most))
    assert [match[1] for match in names if match] == found.split()


def test_ports_that_cannot_be_read_are_not_known() -> None:
    ports = [declared_ports(role) for role in ROLES.task_roles]
    assert ports == [("data", "ssh", "ssh", "http"), ("ssh", "http"), None]


REQUIRING = Job(
    parse("""\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {name: a, type: script, require: [b], lr: 1, callbacks: []}
  - {name: b, type: script, require: [c, gone], sizes: [3, 4], inner: {deep: 5, none: , list: []}}
  - {name: c, type: script, require: [a], text: hello, lr: 2}
  - {name: d, type: script, require: [c]}
  - {name: image, type: dockerimage, uri: ubuntu}
  - {name: e, type: data}
taskRoles:
  one: {dockerImage: image, data: e, prerequisites: [b]}
  two: {prerequisites: [a, c, a]}
extras:
  com.microsoft.pai.runtimeplugin:
    - {plugin: ssh, taskroles: [one]}
    - {plugin: ssh}
    - {plugin: ssh, taskroles: {two: x}}
""")
)


@pytest.mark.parametrize(
    ("name", "listing", "running", "is_used"),
    [
        ("a", "two", "one two", True),
        ("b", "one", "one two", True),
        ("c", "two", "one two", True),
        ("d", "", "", False),
        ("image", "", "", True),
        ("e", "", "", True),
    ],
)
def test_who_uses_a_prerequisite(name: str, listing: str, running: str, *, is_used: bool) -> None:
    definition = REQUIRING.definitions_by_name[name]
    assert [role.name for role in REQUIRING.roles_listing(definition)] == listing.split()
    assert [role.name for role in REQUIRING.roles_running(definition)] == running.split()
    assert REQUIRING.is_used(definition) is is_used


def test_the_roles_that_a_plugin_acts_for() -> None:
    roles = [[role.name for role in REQUIRING.roles_of(use)] for use in REQUIRING.uses_of_plugin("ssh")]
    assert roles == [["one"], ["one", "two"], ["two"]]


def test_what_is_required_is_walked_nearest_first() -> None:
    graph, by_name = REQUIRING.require_graph, REQUIRING.definitions_by_name
    assert [one.name for one in graph.reachable([by_name["a"]])] == ["a", "b", "c"]
    assert [one.name for one in graph.reachable([by_name["d"], by_name["b"]])] == ["d", "b", "c", "a"]
    assert [one.name for one in graph.required(by_name["b"])] == ["c"]
    assert list(this_parameters(graph, by_name["a"])) == ["lr", "sizes", "inner", "text"]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("this.lr", "1"),
        ("this.parameters.lr", "1"),
        ("this.text", "hello"),
        ("this.sizes[1]", "4"),
        ("this.sizes.0", "3"),
        ("this.inner.deep", "5"),
        ("this.inner.deap", "no 'deap' in 'inner'; did you mean 'deep'?"),
        ("this.inner.none", "'inner.none' has no value"),
        ("this.inner.none.x", "'inner.none' has no value"),
        ("this.inner", "'inner' is a mapping; expected one of its keys, 'inner.KEY'"),
        ("this.inner.list[0]", "no item 0 in 'inner.list', which is an empty list"),
        ("this.sizes[2]", "no item 2 in 'sizes', a list whose last item is 1"),
        ("this.sizes.x", "'sizes' is a list, so it has no 'x'; expected 'sizes[0]'"),
        ("this.lr.x", "'lr' is a single value, so it has no 'x'"),
        ("this", "expected 'this.NAME', with the name of a parameter"),
        ("this[0]", "expected 'this.NAME', with the name of a parameter"),
        ("this.lr [0]", "remove the space around '.' or '['"),
        ("this.lrr", "neither 'a' nor a definition that it requires has a parameter 'lrr'; did you mean 'lr'?"),
    ],
)
def test_what_this_finds(path: str, found: str) -> None:
    by_name = REQUIRING.definitions_by_name
    (tag,) = tags_without_dollar(f"<% {path} %>")
    answer = looked_up(tag, asked(by_name[name] for name in "abc"))
    if answer.fault is not None:
        assert answer.fault.message == found
    else:
        assert isinstance(answer.node, Scalar)
        assert answer.node.text == found


# Where a template is, its path, what it comes to, the step at which it ends, and the value.
TEMPLATES = """\
auth $secrets.key FOUND key -
auth $data.uri ROOT_NOT_FILLED $data -
commands $parameters.sizes.0 FOUND 0 3
commands $parameters.sizes[1] FOUND 1 4
commands $parameters.sizes.2 OUT_OF_RANGE 2 -
commands $parameters.sizes.x NO_MEMBER x -
commands $parameters.sizes.length FOUND length -
commands $parameters.word.4 FOUND 4 -
commands $parameters.word.5 OUT_OF_RANGE 5 -
commands $parameters.word.4.x OUT_OF_RANGE 4 -
commands $parameters.word.length FOUND length -
commands $parameters.none NULL none ~
commands $parameters.none.x NULL none ~
commands $parameters.inner.deap NO_MEMBER deap -
commands $parameters.inner.deep FOUND deep 5
commands $parameters.inner.deep.x NO_MEMBER x -
commands $parameters.gone.x UNDEFINED gone -
commands $data.uri[0] FOUND 0 hdfs
commands $data.gone NO_MEMBER gone -
commands $output.uri[0] NO_FIELD $output -
commands $date.uri UNKNOWN_ROOT $date -
definition $parameters.sizes.0 DOTTED_INDEX 0 -
definition $parameters.sizes.x NO_MEMBER x -
definition $parameters.sizes[1] FOUND 1 4
definition $parameters.sizes[2] OUT_OF_RANGE 2 -
definition $parameters.word[4] FOUND 4 -
definition $parameters.word[5] OUT_OF_RANGE 5 -
definition $parameters.word[4].x OUT_OF_RANGE 4 -
definition $parameters.word.length NO_MEMBER length -
definition $parameters.none NULL none ~
definition $parameters.none.x NO_MEMBER x -
definition $parameters.gone UNDEFINED gone -
definition $secrets.key[1] FOUND 1 b
definition $secrets.key.length NO_MEMBER length -
definition $data.uri[0] FOUND 0 hdfs
definition $output.uri NO_FIELD $output -
"""
PLACES = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: ubuntu, auth: {username: reader, password: "AUTH"}}
  - {name: set, type: data, uri: [hdfs]}
  - name: setup
    type: script
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks: [{event: taskStarts, commands: ["DEFINITION"]}]
parameters: {sizes: [3, 4], word: hello, none: ~, inner: {deep: 5}}
secrets: {key: [a, b]}
taskRoles:
  worker:
    dockerImage: image
    data: set
    prerequisites: [setup]
    commands: ["COMMANDS"]
"""


def test_what_templates_find() -> None:
    rows, text = [row.split() for row in TEMPLATES.splitlines()], PLACES
    for place in ("auth", "commands", "definition"):
        text = text.replace(place.upper(), " ".join(f"<% {row[1]} %>" for row in rows if row[0] == place))
    found = []
    for answer in Job(parse(text)).template_answers:
        value = answer.node.text if isinstance(answer.node, Scalar) else "-"
        found.append([answer.use.place.value, answer.use.tag.content, answer.outcome.name, answer.name, value])
    assert sorted(found) == sorted(rows)
