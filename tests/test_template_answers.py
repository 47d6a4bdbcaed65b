"""What a `<% %>` finds, as the rest-server and as the runtime look it up."""

from __future__ import annotations

import pytest

from pai_lsp.embedded.template import TagKind, runtime_tags, tags, tags_without_dollar
from pai_lsp.job.job import Job
from pai_lsp.job.template_answers import PathOutcome
from pai_lsp.job.template_uses import TemplatePlace
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.syntax import parse

JOB = """\
parameters:
  a: one
  n: 5
  none: ~
  l: [x, [y, z]]
  m: {k: v, 0: zero}
secrets: {s: text, flag: yes}
prerequisites:
  - {type: data, name: d, uri: [u0, u1], version: 2}
  - type: script
    name: hook
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks: [{event: taskStarts, commands: ["%(plugin)s"]}]
taskRoles:
  worker:
    data: d
    prerequisites: [hook]
    commands: ["%(command)s"]
"""


def job(*, command: str = "", plugin: str = "") -> Job:
    return Job(parse(JOB % {"command": command, "plugin": plugin}))


@pytest.mark.parametrize(
    ("content", "in_command", "in_plugin"),
    [
        ("$parameters.a", PathOutcome.FOUND, PathOutcome.FOUND),
        ("$parameters.l[0]", PathOutcome.FOUND, PathOutcome.FOUND),
        ("$parameters.l.0", PathOutcome.FOUND, PathOutcome.DOTTED_INDEX),
        ("$parameters.l[ 0 ]", PathOutcome.UNDEFINED, PathOutcome.FOUND),
        ("$parameters.l[1][0]", PathOutcome.FOUND, PathOutcome.FOUND),
        ("$parameters.l[2]", PathOutcome.OUT_OF_RANGE, PathOutcome.OUT_OF_RANGE),
        ("$parameters.l[99999999999999999999]", PathOutcome.OUT_OF_RANGE, PathOutcome.OUT_OF_RANGE),
        ("$parameters.l.length", PathOutcome.FOUND, PathOutcome.NO_MEMBER),
        ("$parameters.a[1]", PathOutcome.FOUND, PathOutcome.FOUND),
        ("$parameters.a[3]", PathOutcome.OUT_OF_RANGE, PathOutcome.OUT_OF_RANGE),
        ("$parameters.a.b", PathOutcome.NO_MEMBER, PathOutcome.NO_MEMBER),
        ("$parameters.n.b", PathOutcome.NO_MEMBER, PathOutcome.NO_MEMBER),
        ("$parameters.none", PathOutcome.NULL, PathOutcome.NULL),
        ("$parameters.m.k", PathOutcome.FOUND, PathOutcome.FOUND),
        ("$parameters.m.0", PathOutcome.FOUND, PathOutcome.FOUND),
        ("$parameters.m[0]", PathOutcome.FOUND, PathOutcome.FOUND),
        ("$parameters.gone", PathOutcome.UNDEFINED, PathOutcome.UNDEFINED),
        ("$parameters", PathOutcome.FOUND, PathOutcome.FOUND),
        ("$parameters . a", PathOutcome.UNKNOWN_ROOT, PathOutcome.UNKNOWN_ROOT),
        ("$secrets.s", PathOutcome.FOUND, PathOutcome.FOUND),
        ("$secrets.gone", PathOutcome.UNDEFINED, PathOutcome.UNDEFINED),
        ("$data.uri[1]", PathOutcome.FOUND, PathOutcome.FOUND),
        ("$data.gone", PathOutcome.NO_MEMBER, PathOutcome.NO_MEMBER),
        ("$output.uri", PathOutcome.NO_FIELD, PathOutcome.NO_FIELD),
        ("$nothing.a", PathOutcome.UNKNOWN_ROOT, PathOutcome.UNKNOWN_ROOT),
    ],
)
def test_outcomes(content: str, in_command: PathOutcome, in_plugin: PathOutcome) -> None:
    (of_command,) = job(command=f"echo <% {content} %>").template_answers
    (of_plugin,) = job(plugin=f"echo <% {content} %>").template_answers
    assert (of_command.outcome, of_plugin.outcome) == (in_command, in_plugin)
    assert (of_command.in_plugin, of_plugin.in_plugin) == (False, True)
    assert [role.name for role in of_plugin.roles] == ["worker"]


def test_the_step_that_finds_nothing_is_placed_on_its_characters() -> None:
    one = job(command="echo <% $data.uri[7] %>")
    (answer,) = one.template_answers
    assert one.text[answer.span.start : answer.span.end] == "7"
    assert (answer.name, answer.path_above) == ("7", "$data.uri")
    assert answer.field_value is one.prerequisites[0]


def test_the_value_is_the_node_in_the_file() -> None:
    one = job(command="echo <% $parameters.l[1][0] %>")
    (answer,) = one.template_answers
    assert isinstance(answer.node, Scalar)
    assert one.text[answer.node.span.start : answer.node.span.end] == "y"


@pytest.mark.parametrize(
    "command",
    [
        "echo <%! note %>",
        "<%# a %><% $parameters.gone %><%/ a %>",
        "# <% $gone %>",
        "<% $parameters.{{ x }} %>",
        "<% %>",
    ],
)
def test_what_is_never_looked_up(command: str) -> None:
    assert job(command=command).template_answers == ()


def test_a_prerequisite_answers_for_every_role_that_reaches_it() -> None:
    text = """\
prerequisites:
  - {type: data, name: d, uri: [u]}
  - {type: script, name: low, plugin: cmd, callbacks: [{event: taskStarts, commands: ["<% $data.uri[0] %>"]}]}
  - {type: script, name: high, plugin: cmd, require: [low], callbacks: []}
taskRoles:
  a: {data: d, prerequisites: [high]}
  b: {prerequisites: [low]}
  c: {}
"""
    answers = Job(parse(text)).template_answers
    assert {(answer.outcome, tuple(role.name for role in answer.roles)) for answer in answers} == {
        (PathOutcome.FOUND, ("a",)),
        (PathOutcome.NO_FIELD, ("b",)),
    }


def test_unknowable_names_are_left_out() -> None:
    text = 'secrets: "******"\ntaskRoles: {a: {data: gone, commands: ["<% $secrets.s %> <% $data.uri %>"]}}'
    assert Job(parse(text)).template_answers == ()


def test_uses_know_their_place() -> None:
    text = """\
description: <% $parameters.a %>
prerequisites:
  - {type: dockerimage, name: i, auth: {password: <% $secrets.p %>}}
  - {type: script, name: s, plugin: com.microsoft.pai.runtimeplugin.cmd, callbacks: [<% $data.name %>]}
deployments: [{name: d, taskRoles: {w: {preCommands: [<% $secrets.q %>]}}}]
taskRoles: {w: {commands: [<% $data.uri %>]}}
extras: {com.microsoft.pai.runtimeplugin: [{plugin: ssh, parameters: {k: <% $secrets.k %> <% x %>}}]}
"""
    assert [(use.tag.content, use.place) for use in Job(parse(text)).template_uses] == [
        ("$data.uri", TemplatePlace.COMMANDS),
        ("$secrets.p", TemplatePlace.AUTH),
        ("$data.name", TemplatePlace.DEFINITION),
        ("$secrets.k", TemplatePlace.PLUGIN),
        ("x", TemplatePlace.PLUGIN),
        ("$secrets.q", TemplatePlace.IDLE_DEPLOYMENT),
        ("$parameters.a", TemplatePlace.LITERAL),
    ]


@pytest.mark.parametrize(
    ("content", "server", "runtime"),
    [
        ("$data.uri[0]", ["$data", "uri", "0"], ["$data", "uri", 0]),
        ("$data.uri.0", ["$data", "uri", "0"], ["$data", "uri", "0"]),
        ("$a.l[ 0 ][1].k", ["$a", "l[ 0 ]", "1", "k"], ["$a", "l", 0, 1, "k"]),
        ("$a.l[-1]", ["$a", "l[-1]"], ["$a", "l[-1]"]),
        ("$a[0].b", ["$a", "0", "b"], ["$a[0]", "b"]),
        (".a", [".a"], ["", "a"]),
        ("$a.", ["$a", ""], ["$a", ""]),
    ],
)
def test_two_ways_to_split_a_path(content: str, server: list[str], runtime: list[str | int]) -> None:
    text = f"echo <% {content} %>"
    tag = tags(text)[0][0]
    assert [step.name for step in tag.server_steps] == server
    assert [step.name for step in tag.runtime_steps] == runtime
    for step in (*tag.server_steps, *tag.runtime_steps):
        assert text[step.span.start : step.span.end] == str(step.name)


def test_braces_and_equals_end_in_their_own_way() -> None:
    found, fault = tags("<%{ a }%> <%= [ ] =%> [b] <% c %>")
    assert fault is None
    assert [(tag.kind, tag.content) for tag in found] == [
        (TagKind.UNESCAPED_BRACES, "a"),
        (TagKind.DELIMITERS, "[ ]"),
        (TagKind.NAME, "b"),
    ]
    unclosed = tags("<%{ a %>")[1]
    assert unclosed is not None
    assert unclosed.message == "'<%{' without '}%>'"


def test_tags_in_sections_are_marked() -> None:
    found, _ = tags("<% a %><%# s %><% b %><%/ s %><% c %>")
    assert [tag.content for tag in found if tag.kind is TagKind.NAME and not tag.in_section] == ["a", "c"]


def test_the_runtime_reads_blanks_only() -> None:
    assert [tag.content for tag in runtime_tags("<%  $a  %> <%\n$b %> <% $c")] == ["$a"]
    assert [tag.content for tag in tags_without_dollar("<% a <% b %> <% $c %> %> <%%>")] == ["b"]
