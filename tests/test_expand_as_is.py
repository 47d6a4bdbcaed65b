"""What a released cluster runs for a file as it is: templates, plugin parameters, order, policies."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pai_lsp.embedded.server_rendering import rendered, trim
from pai_lsp.embedded.template import TemplateFault
from pai_lsp.expansion.released_run import (
    RoleRun,
    RuntimeStopError,
    after_runtime,
    masked_text,
    references,
    released_run,
)
from pai_lsp.expansion.script import released_script
from pai_lsp.job.job import Job
from pai_lsp.source.syntax import parse

if TYPE_CHECKING:
    from pathlib import Path

VALUES = {
    "$parameters": {
        "rate": "0.1", "epochs": 5, "half": 0.5, "list": ["x", ["y", "z"], None], "map": {"key": "v"}, "none": None,
        "again": "<% $parameters.rate %>", "face": "😀", "flag": True, "empty": "",
    },
    "$data": {"name": "mnist", "uri": ["https://a/1", "https://a/2"]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("template", "command"),
    [
        ("a <% $parameters.rate %> b", "a 0.1 b"),
        ("<%$parameters.epochs%><%\n$parameters.half\n%>", "50.5"),
        ("<% $parameters.list %>|<% $parameters.list[1][0] %>|<% $parameters.list.0 %>", "x,y,z,|y|x"),
        ("<% $parameters.map %> <% $parameters.flag %> [<% $parameters.empty %>]", "[object Object] true []"),
        ("<% $parameters.none %> <% $parameters.list[7] %>", "<% $parameters.none %> <% $parameters.list.7 %>"),
        ("<% $secrets.token %> <%   unknown name %>", "<% $secrets.token %> <% unknown name %>"),
        ("<% $parameters.again %>", "<% $parameters.rate %>"),
        ("<% $data.uri.length %> <% $parameters.rate.length %> <% $parameters.face.length %>", "2 3 2"),
        ("<% $data.uri[ 0 ] %>", "<% $data.uri[ 0 ] %>"),
        ("<% $parameters.constructor.name %> <% $parameters.rate.toUpperCase %>", "Object [OBJECT OBJECT]"),
        ("<% . %> <% toString %>", "[object Object] [object Object]"),
        ("a<%# $parameters.rate %> in <%/ $parameters.rate %>b<%^ none %>c<%/none%>", "ab"),
        ("a<%! note %>b<%& $parameters.rate %>c<%{ $parameters.rate }%>d<%> part %>e", "abcde"),
        ("echo 1\n  <%! note %>  \necho 2", "echo 1\necho 2"),
        ("echo 1\n  <%! note %> x\necho 2", "echo 1\n   x\necho 2"),
        ("<%={{ }}=%>{{ $parameters.rate }} <% $parameters.rate %>", "0.1 <% $parameters.rate %>"),
        ("  \ufeff echo %> \u3000\n", "echo %>"),
        ("<%\ufeff$parameters.rate\u3000%><%\x85$parameters.rate%>", "0.1<% \x85$parameters.rate %>"),
        ("<%=\n[[\n]]\n=%>[[ $parameters.rate ]]", "0.1"),
        ("<%{ a %> b }%>c<%& a\n%>", "c"),
        ("constructor\necho", "constructor\necho"),
    ],
)  # fmt: skip
def test_the_rest_server_renders_as_mustache_does(template: str, command: str) -> None:
    assert rendered(template, VALUES) == command


@pytest.mark.parametrize(
    ("template", "command"),
    [
        ("toString", "toString"),
        ("<% $parameters.epochs.toFixed %>", "<% $parameters.epochs.toFixed %>"),
        ("<% $parameters.rate.__proto__ %>", "<% $parameters.rate.__proto__ %>"),
        ("<% $parameters.rate.length %> <% $parameters.constructor.name %>", "3 Object"),
        ("<% $parameters.none.a %> <% toString %>", "<% $parameters.none.a %> [object Object]"),
    ],
)
def test_mustache_4_finds_nothing_that_a_string_or_a_number_inherits(template: str, command: str) -> None:
    assert rendered(template, VALUES, 4) == command


@pytest.mark.parametrize(
    ("template", "place"),
    [
        ('echo a; printf "<%s>"', "<%"),
        ("x <%# open %> y", "<%# open %>"),
        ("x <%/ open %> y", "<%/ open %>"),
        ("x <%# a %><%/ b %> y", "<%# a %>"),
        ("x <%=one=%> y", "<%="),
        ("x <%{ $parameters.rate } %> y", "<%{ "),
        ("x <% $parameters.epochs.toFixed %> y", "<% $parameters.epochs.toFixed %>"),
        ("toString", "toString"),
    ],
)  # fmt: skip
def test_a_template_that_the_rest_server_dies_of_is_shown(template: str, place: str) -> None:
    fault = rendered(template, VALUES)
    assert isinstance(fault, TemplateFault)
    assert template[fault.span.start : fault.span.end] == place


@pytest.mark.parametrize("text", ["<% $a" + " " * 200_000 + "b %>", "<% $" * 100_000, "<%" + "\n" * 200_000 + "$a"])
def test_a_text_made_to_be_slow_is_not(text: str) -> None:
    assert isinstance(rendered(text, {}), (str, TemplateFault))
    assert isinstance(after_runtime(text, SECRETS, shows_secrets=True), str)
    assert len(list(references(text))) == text.count("%>")


def test_trimming_is_javascripts() -> None:
    assert trim("\ufeff\xa0 a\x1c \u2028") == "a\x1c"


JOB = """\
protocolVersion: 2
name: train
type: job
parameters: {rate: "0.1", epochs: 5, quote: it's, list: [x, y], none: null}
secrets: {token: abc, broken: it's}
prerequisites:
  - {type: dockerimage, name: image, uri: "ubuntu:20.04"}
  - {type: data, name: mnist, uri: [https://a/1], version: 3}
  - type: script
    name: setup
    plugin: com.microsoft.pai.runtimeplugin.cmd
%s
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    data: mnist
    prerequisites: [setup]
    resourcePerInstance: {cpu: 1, memoryMB: 1, gpu: 0}
    commands: [echo hello]
"""


def worker(text: str, site_plugins: frozenset[str] = frozenset()) -> RoleRun | str:
    """What runs in the role, or why nothing does with the words it is about."""
    run = released_run(Job(parse(text), site_plugins))
    if run.stops:
        stop = run.stops[0]
        return f"{text[stop.span.start : stop.span.end]}: {stop.message}"
    return run.roles["worker"]


def with_setup(text: str) -> str:
    """The job with these lines in the definition of its prerequisite."""
    return JOB % "\n".join(f"    {line}" for line in text.splitlines())


def callbacks(*commands: str, event: str = "taskStarts") -> str:
    """A callback with these items, written as YAML."""
    lines = "\n".join(f"    - {command}" for command in commands)
    return with_setup(f"callbacks:\n- event: {event}\n  commands:\n{lines}")


@pytest.mark.parametrize(
    ("item", "line"),
    [
        ("echo <% $parameters.rate %> <% $data.uri[ 0 ] %>", "echo 0.1 https://a/1"),
        ("echo <% $parameters.list[1] %><% $parameters.none %>", "echo y"),
        ("echo <% $secrets.token %> <% foo %> <%# x %>", "echo <% $secrets.token %> <% foo %> <%# x %>"),
        ('grep "\\\\d" f', 'grep "\\\\\\\\d" f'),
        ("\"grep 'a\\\\d' f\"", "grep 'a\\d' f"),
        ('"a\\nb\\tc"', "a\\nb\\tc"),
        ("\"echo 'a\\nb'\"", "echo 'a\nb'"),
        (">-\n      one\n      two", "one two"),
        ("~", "None"),
        ("' '", " "),
        ("echo 中文 😀", "echo 中文 😀"),
    ],
)
def test_an_item_of_a_callback_is_mangled_as_the_runtime_mangles_it(item: str, line: str) -> None:
    run = worker(callbacks(item))
    assert isinstance(run, RoleRun), run
    assert run.pre == (f"set -o errexit\n{line}\n",)


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ("""'echo "it''s"'""", "setup: the runtime's YAML reader fails on the plugin's parameters"),
        ("5", "setup: the plugin 'cmd' cannot read its parameters"),
        ("yes", "setup: the plugin 'cmd' cannot read its parameters"),
        ("[a]", "setup: the plugin 'cmd' cannot read its parameters"),
        ("echo <% $parameters.epochs %>", "setup: '$parameters.epochs' is not text, and the runtime fills only text"),
        ("echo <% $parameters.nope %>", "setup: '$parameters.nope' finds nothing in the runtime"),
        ("echo <% $script.uri %>", "setup: '$script.uri' finds nothing in the runtime"),
        ("echo <% $other.x %>", "setup: '$other.x' finds nothing in the runtime"),
        ("echo <% $data.version %>", "setup: '$data.version' is not text, and the runtime fills only text"),
        ("echo <% $secrets.broken %>", "setup: the runtime's YAML reader fails on the plugin's parameters"),
    ],
)  # fmt: skip
def test_an_item_that_ends_the_task_is_a_stop_at_the_reference(item: str, why: str) -> None:
    stop = worker(callbacks(item))
    assert isinstance(stop, str)
    assert stop.startswith(why)


@pytest.mark.parametrize(
    ("lines", "pre", "post"),
    [
        ("callbacks:\n- {event: taskSucceeds, commands: [a, b]}", (), ("set -o errexit\na\nb\n",)),
        ("callbacks:\n- {event: taskFails, commands: [a]}\n- {event: tasksucceeds, commands: [b]}", (), ()),
        ("callbacks:\n- {event: taskStarts, commands: [a]}\n- {event: taskStarts, commands: [b]}",
         ("set -o errexit\na\nb\n",), ()),
        ("callbacks:\n- {event: taskStarts, commands: ls}", ("set -o errexit\nl\ns\n",), ()),
        ("callbacks:\n- {event: taskStarts, commands: null}", ("set -o errexit\nN\no\nn\ne\n",), ()),
        ("preCommands: [a]\npostCommands: [b]", ("set -o errexit\na\n",), ("set -o errexit\nb\n",)),
        ("failurePolicy: Ignore\npreCommands: [a]", ("set +o errexit\na\nset -o errexit\n",), ()),
        ("failurePolicy: whatever\npreCommands: [a]", ("set -o errexit\na\n",), ()),
        ("failurePolicy: ignore\npreCommands: [5]", (), ()),
        ("failurePolicy: ignore\npreCommands: [a]\npostCommands: [5]", ("set +o errexit\na\nset -o errexit\n",), ()),
        ("require: [mnist]\npathForUser: /data", (), ()),
    ],
)  # fmt: skip
def test_the_cmd_plugin_writes_what_it_is_given(lines: str, pre: tuple[str, ...], post: tuple[str, ...]) -> None:
    assert worker(with_setup(lines)) == RoleRun(pre, "echo hello", post)


@pytest.mark.parametrize(
    "lines",
    [
        "callbacks: null",
        "callbacks: [{commands: [a]}]",
        "callbacks: [{event: taskStarts}]",
        "callbacks: []\npreCommands: [a]",
        "failurePolicy: 5\npreCommands: [a]",
        "failurePolicy: Ignore\npreCommands: [5]",
    ],
)
def test_the_cmd_plugin_ends_the_task_on_parameters_of_the_wrong_form(lines: str) -> None:
    assert worker(with_setup(lines)) == "setup: the plugin 'cmd' cannot read its parameters"


def test_plugins_run_in_order_before_and_in_reverse_after() -> None:
    text = with_setup("preCommands: [setup]\npostCommands: [clean]").replace(
        "[setup]\n    res", "[setup, setup]\n    res"
    )
    run = worker(
        f"{text}extras:\n"
        "  com.microsoft.pai.runtimeplugin:\n"
        "    - {plugin: ssh, parameters: {jobssh: true}}\n"
        "    - {plugin: cmd, taskroles: [other], parameters: {preCommands: [never]}}\n"
        "    - {plugin: cmd, taskroles: [worker], parameters: {preCommands: [x1], postCommands: [x2]}}\n"
        "    - {plugin: cmd}\n"
        "    - {plugin: cmd, parameters: null}\n"
    )
    header = "set -o errexit\n"
    assert run == RoleRun(
        (f"{header}setup\n", f"{header}setup\n", f"{header}x1\n"),
        "echo hello",
        (f"{header}x2\n", f"{header}clean\n", f"{header}clean\n"),
        ("ssh",),
    )
    assert released_script(run).startswith(
        "# --- before the commands: plugin 'ssh'; its script is left to the platform"
    )


@pytest.mark.parametrize("name", ["", "CMD", "cmd.x", "../cmd", "x/../cmd"])
def test_a_plugin_that_the_runtime_does_not_have_ends_the_task(name: str) -> None:
    text = with_setup("preCommands: [a]").replace("runtimeplugin.cmd", f"runtimeplugin.{name}")
    assert worker(text) == f"setup: the runtime has no plugin '{name}'"


def test_the_name_of_a_plugin_is_a_path() -> None:
    run = worker(with_setup("preCommands: [a]").replace("runtimeplugin.cmd", "runtimeplugin./ssh/../../plugins/cmd"))
    assert run == RoleRun(("set -o errexit\na\n",), "echo hello", ())


def test_a_plugin_of_the_site_is_no_stop() -> None:
    text = with_setup("anything: [a]").replace("runtimeplugin.cmd", "runtimeplugin.ours")
    assert worker(text, frozenset({"ours"})) == RoleRun((), "echo hello", (), ("ours",))


def test_a_plugin_without_the_prefix_is_ignored() -> None:
    assert worker(with_setup("preCommands: [a]").replace("com.microsoft.pai.runtimeplugin.cmd", "cmd")) == RoleRun(
        (), "echo hello", ()
    )


def test_a_role_that_the_runtime_does_not_find_never_starts() -> None:
    text = with_setup("preCommands: [a]").replace("  worker:", "  my_worker:")
    assert worker(text) == (
        "my_worker: the runtime looks for the task role under 'myworker', and does not find it"
    )  # fmt: skip


def test_deployments_stand_around_the_commands() -> None:
    text = with_setup("preCommands: [a]").replace(
        "taskRoles:",
        "deployments:\n"
        "  - name: prod\n"
        "    taskRoles:\n"
        '      worker: {preCommands: [" before "], postCommands: ["after <% $parameters.rate %>"]}\n'
        "defaults: {deployment: prod}\n"
        "taskRoles:",
    )
    run = worker(text)
    assert isinstance(run, RoleRun)
    assert run.command == "before\necho hello\nafter 0.1"


def test_secrets_stay_as_they_are_and_other_tags_are_emptied() -> None:
    text = with_setup("preCommands: [a]").replace(
        "[echo hello]", '["x <% $secrets.token %> <% $secrets.nope %> <% $parameters.none %> <% foo %> y"]'
    )
    run = worker(text)
    assert isinstance(run, RoleRun)
    assert run.command == "x <% $secrets.token %>    y"


SECRETS = {
    "list": ["s", ["t"]],
    "map": {"key": "s", "on": True},
    "html": "a&b<'\"",
    "none": None,
    "empty": "",
    "bytes": b"a&b",
}


@pytest.mark.parametrize(
    ("text", "left", "filled"),
    [
        ("a <% $secrets.list[0] %> <% $secrets.list.9 %> b", "a <% $secrets.list[0] %>  b", "a s  b"),
        ("<% $secrets.map.key %>[<% $secrets.map.no %>]", "<% $secrets.map.key %>[]", "s[]"),
        ("<% $secrets.html %>", "<% $secrets.html %>", "a&amp;b&lt;&#x27;&quot;"),
        ("<%& $secrets.html %>", "<%& $secrets.html %>", "a&b<'\""),
        ("<% $secrets.bytes %>", "<% $secrets.bytes %>", "a&amp;b"),
        ("<%{ $secrets.html }%>", "<%{ $secrets.html }%>", "a&b<'\""),
        ("<% $secrets.none %>|<% $secrets.empty %>", "<% $secrets.none %>|<% $secrets.empty %>", "None|"),
        ("<% $secrets.map %>", "<% $secrets.map %>", "{&#x27;key&#x27;: &#x27;s&#x27;, &#x27;on&#x27;: True}"),
        ("<% $secrets.list.1.0 %>", "", ""),
        ("a\n<%! note %>\nb <%# x %>gone<%/ x %> <%> part %> <% y", "a\nb   <% y", "a\nb   <% y"),
        ("<%^ x %>kept<%/ x %>", "kept", "kept"),
        ("<%# $secrets.map %><% key %><%/ $secrets.map %>", "<%# $secrets.map %><% key %><%/ $secrets.map %>", "s"),
        ("<%^ $secrets.none %>x<%/ $secrets.none %>", "<%^ $secrets.none %>x<%/ $secrets.none %>", "x"),
        ("gone <%# x %>left <% $secrets.map.key %>", "left <% $secrets.map.key %>", "left s"),
        ("<%= [ ] =%>[ $secrets.map.key ]<% $secrets.map.key %>", "[ $secrets.map.key ]<% $secrets.map.key %>",
         "s<% $secrets.map.key %>"),
        ("<% %> <%# %>", "", ""),
    ],
)  # fmt: skip
def test_what_the_second_reader_makes_of_tags(text: str, left: str, filled: str) -> None:
    assert after_runtime(text, SECRETS, shows_secrets=False) == left
    assert after_runtime(text, SECRETS, shows_secrets=True) == filled
    assert after_runtime(text, None, shows_secrets=True) == text


@pytest.mark.parametrize("text", ["a <%/ x %>", "<%# x %><%/ y %>", "<%= one =%>", "<%# a %>" * 1000])
def test_what_the_second_reader_fails_on_ends_the_task(text: str) -> None:
    with pytest.raises(RuntimeStopError, match="the runtime fails on the commands"):
        after_runtime(text, SECRETS, shows_secrets=True)


def test_a_secret_that_is_no_text_ends_the_task() -> None:
    with pytest.raises(RuntimeStopError, match="its bytes are not UTF-8"):
        after_runtime("echo <% $secrets.key %>", {"key": b"\xff"}, shows_secrets=False)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("abc", "abc"),
        ("5", "5"),
        ("1.0", "1"),
        ("1e-7", "1e-07"),
        ("1e21", "1e+21"),
        ("0123", "83"),
        (".inf", "inf"),
        ("true", "True"),
        ("yes", "yes"),
        ("2020-01-02", "2020-01-02 00:00:00+00:00"),
        ("1234_", "1234"),
        ('"0123"', "0123"),
        ("'-1_'", "-1_"),
        ("'!'", "!"),
        ("'<<'", "&lt;&lt;"),
        (r'"49\n"', "49\n"),
        ("._1", "0.1"),
        ("null", "None"),
        ("[a, 1]", "{&#x27;0&#x27;: &#x27;a&#x27;, &#x27;1&#x27;: 1}"),
        ('"a&b"', "a&amp;b"),
        ("'<% $secrets.other %>'", "&lt;% $secrets.other %&gt;"),
    ],
)
def test_secrets_come_into_commands_as_the_runtime_writes_them(written: str, shown: str) -> None:
    text = with_setup("preCommands: [a]").replace("token: abc", f"token: {written}")
    job = Job(parse(text.replace("echo hello", '"echo <% $secrets.token %>"')))
    assert released_run(job, shows_secrets=True).roles["worker"].command == f"echo {shown}"
    assert released_run(job).roles["worker"].command == "echo <% $secrets.token %>"


def test_secrets_come_into_callbacks_as_they_are() -> None:
    text = callbacks("echo <% $secrets.token %>").replace("token: abc", 'token: "a&b"')
    run = released_run(Job(parse(text)), shows_secrets=True)
    assert run.roles["worker"].pre == ("set -o errexit\necho a&b\n",)


@pytest.mark.parametrize("secret", ["=", "._"])
def test_a_secret_that_the_runtime_cannot_read_ends_the_task(secret: str) -> None:
    assert worker((JOB % "    preCommands: [a]").replace("token: abc", f'token: "{secret}"')) == (
        ": the runtime's YAML reader fails on the secrets as the rest-server writes them"
    )


def test_a_secret_that_makes_a_command_a_mapping_ends_the_task() -> None:
    text = callbacks("x <% $secrets.token %> y").replace("token: abc", """token: "<6':\"""")
    assert worker(text) == "setup: the plugin 'cmd' cannot read its parameters"


def test_a_number_is_no_secret_for_a_callback() -> None:
    text = callbacks("echo <% $secrets.token %>").replace("token: abc", "token: 1234_")
    assert worker(text) == "setup: '$secrets.token' is not text, and the runtime fills only text into plugin parameters"


def test_the_runtime_loses_what_the_masking_of_secrets_swallows() -> None:
    text = JOB % "    preCommands: [a]"
    swallowed = text.replace("prerequisites:\n  - {type: d", '"prerequisites":\n  - {type: d')
    assert worker(text) == RoleRun(("set -o errexit\na\n",), "echo hello", ())
    assert worker(swallowed) == RoleRun((), "echo hello", ())


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("a: 1\nsecrets:\n  x: y\nb: 2\n", 'a: 1\nsecrets: "******"\nb: 2\n'),
        ("secrets:\n  x: y\n", 'secrets: "******"'),
        ("a: 1\nsecrets : {x: y}\n", "a: 1\nsecrets : {x: y}\n"),
        ("secrets: {\n x: y\n}\n# note\nb: 2", 'secrets: "******"\nb: 2'),
    ],
)
def test_secrets_are_masked_by_a_pattern(text: str, masked: str) -> None:
    assert masked_text(text) == masked


def test_the_command_line_prints_what_runs(tmp_path: Path) -> None:
    job = tmp_path / "train.pai.yaml"
    job.write_text(with_setup("preCommands: [a]"), encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "pai_lsp", "expand", "--as-is", "--format", "json", str(job)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    role = {"pre": ["set -o errexit\na\n"], "command": "echo hello", "post": [], "platformPlugins": []}
    assert json.loads(run.stdout) == {"version": 1, "taskRoles": {"worker": role}}


def test_the_command_reports_why_nothing_runs(tmp_path: Path) -> None:
    job = tmp_path / "train.pai.yaml"
    job.write_text(callbacks("echo <% $parameters.nope %>"), encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "pai_lsp", "expand", "--as-is", "--format", "json", str(job)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 1
    assert run.stdout == ""
    assert "'$parameters.nope' finds nothing in the runtime" in run.stderr
