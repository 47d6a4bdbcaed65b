"""docs/protocol.md, table by table and row by row: what the page promises is what is checked, expanded and run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from budgets import generated_cases
from hypothesis import given
from hypothesis import strategies as st
from runtime_container import FINISHED, STARTING, USER_END, USER_START, Container

from pai_lsp.document import Document
from pai_lsp.expansion.released_job import expanded
from pai_lsp.expansion.released_run import released_run
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.job.definition import Origin, read_definitions
from pai_lsp.job.lookup import LookupAnswer, LookupState, NoLookup
from pai_lsp.source.syntax import parse

PAGE = (Path(__file__).parent.parent / "docs" / "protocol.md").read_text(encoding="utf-8")

ITEM = "marketplace://prerequisites/itemId/2f7c1f5e-8a52-4d8e-9d7e-0c8f6a1b2c3d"
WEB = "https://definitions.example.com/tool.yaml"


def table(heading: str) -> list[str]:
    """The first cells of the table below a heading of the page."""
    section = PAGE.split(f"# {heading}\n", 1)[1].split("\n#", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [row.split("|")[1].strip() for row in rows[2:]]


class Shelf(NoLookup):
    """A marketplace of these definitions by address; `unknown` ones cannot be looked up."""

    def __init__(self, texts: dict[str, str], unknown: str = "") -> None:
        self._texts = texts
        self._unknown = unknown
        self._answers: dict[str, LookupAnswer] = {}

    def find(self, reference: str) -> LookupAnswer:
        if reference == self._unknown:
            return LookupAnswer(LookupState.UNKNOWN, note="no answer for 3 days")
        if reference not in self._texts:
            return LookupAnswer(LookupState.ABSENT)
        found = self._answers.get(reference)
        if found is None:
            definitions = read_definitions(parse(self._texts[reference]).root, Origin.CATALOG)
            found = self._answers[reference] = LookupAnswer(LookupState.FOUND, definitions, path="shelf.yaml")
        return found


def job(definitions: str = "", listed: str = "", *, command: str = "echo run", role: str = "", rest: str = "") -> str:
    """A job whose role `worker` lists some prerequisites; definitions are lines of a list."""
    lines = "".join(f"  {line}\n" for line in definitions.splitlines())
    return f"""\
protocolVersion: 2
name: model
type: job
prerequisites:
  - {{type: dockerimage, name: image, uri: "ubuntu:20.04"}}
{lines}taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [{listed}]
    resourcePerInstance: {{cpu: 1, memoryMB: 1024, gpu: 0}}
    commands: ["{command}"]
{f"    {role}" if role else ""}
{rest}"""


def echo(name: str, more: str = "", *, event: str = "taskStarts", printed: str = "") -> str:
    """A definition that prints its name."""
    callback = f'{{event: {event}, commands: ["echo {printed or name}"]}}'
    return f"- {{name: {name}, type: script, callbacks: [{callback}]{more}}}\n"


def findings(text: str, lookup: Shelf | None = None, *, is_catalog: bool = False) -> list[tuple[str, str, str]]:
    """Severity, code and words of each finding that is about the protocol."""
    document = Document(text, lookup=lookup or Shelf({}), is_catalog=is_catalog)
    found = document.diagnostics
    return [(one.severity.label, one.code, text[one.span.start : one.span.end]) for one in found]


def errors(text: str, lookup: Shelf | None = None) -> list[tuple[str, str]]:
    """Code and words of each error that expansion is not the answer to."""
    return [
        (code, words)
        for severity, code, words in findings(text, lookup)
        if severity == "error" and code != "refused-until-expanded"
    ]


def released(text: str, lookup: Shelf | None = None) -> str:
    """The expanded job's text; it needs nothing outside of itself, and nothing is wrong in it."""
    result = expanded(Document(text, lookup=lookup or Shelf({})).job)
    assert result.problems == ()
    assert result.text is not None
    wrong = [one for one in Document(result.text).diagnostics if one.severity is Severity.ERROR]
    assert [one.message for one in wrong] == []
    assert "needs-expansion" not in {code for _, code, _ in findings(result.text)}
    return result.text


def refused(text: str, lookup: Shelf | None = None) -> list[tuple[str, str]]:
    """Code and words of what keeps a job from being expanded."""
    result = expanded(Document(text, lookup=lookup or Shelf({})).job)
    assert result.text is None
    return [(one.code, text[one.span.start : one.span.end]) for one in result.problems]


def run(folder: Path, text: str, lookup: Shelf | None = None) -> tuple[list[str], int]:
    """Expand a job and run a task of it: its output, and its exit code."""
    folder.mkdir(exist_ok=True)
    result = released_run(Document(released(text, lookup)).job)
    assert result.stops == ()
    end = Container(folder).run(result.roles["worker"])
    return [line for line in end.log if line not in {STARTING, FINISHED, USER_START, USER_END}], end.status


# --- layers ---

LEGACY = job(
    "- {type: data, name: set, uri: [a, b]}\n- {type: script, name: code, uri: c}\n"
    "- {type: output, name: out, uri: d}\n",
    command="echo <% $data.uri[1] %> <% $script.uri %> <% $output.name %>",
    role="data: set\n    script: code\n    output: out",
)
RELEASED = job(
    echo("first", ", plugin: com.microsoft.pai.runtimeplugin.cmd")
    + echo("last", ", plugin: com.microsoft.pai.runtimeplugin.cmd, failurePolicy: ignore", event="taskSucceeds"),
    "first, last",
)
EXTENDED = job(echo("base") + echo("top", ", require: [base]"), "top")


def test_every_layer_is_tested() -> None:
    assert table("The extended protocol") == ["legacy", "released (1.6)", "extended"]


@pytest.mark.parametrize(("text", "printed"), [(LEGACY, ["b c out"]), (RELEASED, ["first", "run", "last"])])
def test_what_a_released_cluster_runs_stays_as_it_is(tmp_path: Path, text: str, printed: list[str]) -> None:
    assert [one for one in findings(text) if one[0] != "hint"] == []
    assert released(text) == text
    assert run(tmp_path, text) == (printed, 0)


def test_what_it_does_not_run_becomes_what_it_runs(tmp_path: Path) -> None:
    as_is = released_run(Document(EXTENDED).job).roles["worker"]
    assert (as_is.pre, as_is.post) == ((), ())
    assert run(tmp_path, EXTENDED) == (["base", "top", "run"], 0)


REQUIRES = '- {name: one, require: [{name: "marketplace://name/tool"}]}\n'
FEATURES = {
    "require": (job(echo("base") + echo("one", ", require: [base]"), "one"), "require"),
    "no plugin": (job(echo("one"), "one"), "callbacks"),
    "short plugin": (job(echo("one", ", plugin: cmd"), "one"), "cmd"),
    "plugin_params": (
        job("- {name: one, type: script, plugin: cmd, plugin_params: {preCommands: [echo one]}}", "one"),
        "plugin_params",
    ),
    "template_variables": (
        job(
            echo("base", ", template_variables: [{name: v}]", printed="{{ v }}")
            + "- {name: one, type: script, require: [{name: base, template_variables: {v: 1}}]}",
            "one",
        ),
        "base",
    ),
    "this": (job(echo("one", ", folder: /x", printed="<% this.folder %>"), "one"), "<% this.folder %>"),
    "taskFails": (job(echo("one", event="taskFails"), "one"), "taskFails"),
    "containerExit": (job(echo("one", event="containerExit"), "one"), "containerExit"),
    "address": (job("", '"marketplace://name/tool"'), "marketplace://name/tool"),
    "web address": (job("", f'"{WEB}"'), WEB),
    "reference_prerequisites": (
        job("", "one", rest=f"extras:\n  reference_prerequisites:\n    {REQUIRES}"),
        "reference_prerequisites",
    ),
    "requireStorages": (job(echo("one", ", requireStorages: [{name: disk}]"), "one"), "requireStorages"),
    "storage": (job("- {name: one, type: storage, plugin: pvc_storage, mountPath: /x}", "one"), "storage"),
}
TOOL = Shelf({"marketplace://name/tool": echo("tool"), WEB: echo("tool"), ITEM: echo("tool")})


@pytest.mark.parametrize("feature", FEATURES)
def test_each_extended_feature_has_a_finding_until_it_is_expanded(feature: str) -> None:
    text, words = FEATURES[feature]
    printed = [(code, found) for _, code, found in findings(text, TOOL)]
    assert {("needs-expansion", words), ("refused-until-expanded", words)} & {*printed}
    released(text, TOOL)


# --- a definition ---


def test_both_forms_of_parameters_together_are_an_error() -> None:
    text = job("- {name: one, type: script, plugin: cmd, plugin_params: {preCommands: [x]}, postCommands: [x]}", "one")
    assert errors(text) == [("plugin-parameters-twice", "postCommands")]


def test_the_expanded_definition_has_the_full_name_of_its_plugin() -> None:
    for plugin in ("", ", plugin: cmd", ", plugin: com.microsoft.pai.runtimeplugin.cmd"):
        (_, one) = yaml.safe_load(released(job(echo("one", plugin), "one")))["prerequisites"]
        assert one["plugin"] == "com.microsoft.pai.runtimeplugin.cmd"


# --- references ---

FOUND: dict[str, list[tuple[str, Shelf | None]]] = {
    "`NAME`": [
        (job(echo("tool"), "tool"), None),
        (job("", "tool", rest="extras:\n  reference_prerequisites:\n    " + echo("tool")), None),
        (
            job(
                echo("tool"), "tool", rest="extras:\n  reference_prerequisites:\n    " + echo("tool", printed="shadow")
            ),
            None,
        ),
    ],
    "`marketplace://name/NAME`": [(job("", '"marketplace://name/tool"'), TOOL)],
    "`marketplace://TYPE/NAME`": [
        (job("", f'"marketplace://{kind}/tool"'), Shelf({f"marketplace://{kind}/tool": echo("tool")}))
        for kind in ("data", "script", "output", "dockerimage")
    ],
    "`marketplace://prerequisites/itemId/ID`": [(job("", f'"{ITEM}"'), TOOL)],
    "`http://…`, `https://…`": [
        (job("", f'"{WEB}"'), TOOL),
        (job("", '"http://a.example.com/x"'), Shelf({"http://a.example.com/x": echo("tool")})),
    ],
}


def test_every_form_of_reference_is_tested() -> None:
    assert table("References") == [*FOUND]


@pytest.mark.parametrize("form", FOUND)
def test_a_reference_finds_its_definition(tmp_path: Path, form: str) -> None:
    for number, (text, lookup) in enumerate(FOUND[form]):
        assert errors(text, lookup) == []
        assert run(tmp_path / str(number), text, lookup) == (["tool", "run"], 0)


@pytest.mark.parametrize("entry", ["base", "{name: base}", "{name: base, template_variables: {}}"])
def test_an_entry_of_require_is_a_name_or_a_mapping(tmp_path: Path, entry: str) -> None:
    text = job(echo("base") + echo("top", f", require: [{entry}]"), "top")
    assert run(tmp_path, text) == (["base", "top", "run"], 0)


def test_a_plain_name_in_the_marketplace_finds_the_nearest(tmp_path: Path) -> None:
    shelf = Shelf(
        {
            "marketplace://name/top": echo("top", ", require: [beside, shared, own]") + echo("beside"),
            "marketplace://name/beside": echo("beside", printed="another"),
            "marketplace://name/shared": echo("shared"),
        }
    )
    text = job(echo("own") + echo("shared", printed="hidden"), '"marketplace://name/top"')
    assert run(tmp_path, text, shelf) == (["beside", "shared", "own", "top", "run"], 0)


@pytest.mark.parametrize("reference", ["marketplace://name/tool", "marketplace://data/tool", ITEM, WEB])
def test_only_what_is_not_there_is_an_error(reference: str) -> None:
    text = job("", f'"{reference}"')
    assert ("unknown-marketplace-item", reference) in errors(text)
    assert refused(text) == [("unknown-marketplace-item", reference)]
    asleep = Shelf({}, unknown=reference)
    assert errors(text, asleep) == []
    assert ("information", "marketplace-not-asked", reference) in findings(text, asleep)
    assert refused(text, asleep) == [("marketplace-not-asked", reference)]


def test_an_unknown_name_is_an_error() -> None:
    assert errors(job("", "tool")) == [("unknown-prerequisite", "tool")]
    required = job(echo("top", ", require: [tool]"), "top")
    assert errors(required) == [("unknown-required-prerequisite", "tool")]
    assert refused(required) == [("unknown-required-prerequisite", "tool")]


# --- template variables ---


def filled(values: str, *, declared: str = "[{name: path}]", printed: str = "{{ path }}", more: str = "") -> str:
    return job(
        echo("set", f", template_variables: {declared}{more}", printed=printed)
        + f"- {{name: one, type: data, require: [{{name: set, template_variables: {values}}}]}}",
        "one",
    )


VARIABLES = {
    "declared, not given": (filled("{}"), ("error", "unfilled-template-variable", "set")),
    "used, not declared": (
        filled("{path: x}", printed="{{ path }} {{ size }}"),
        ("error", "undeclared-template-variable", "size"),
    ),
    "given, not declared": (filled("{path: x, size: 1}"), ("warning", "template-variable-not-wanted", "size")),
    "declared, never used": (
        filled("{path: x, size: 1}", declared="[{name: path}, {name: size}]"),
        ("hint", "unused-template-variable", "size"),
    ),
    "declared with a `default`": (
        filled("{path: x}", declared="[{name: path, default: y}]"),
        ("warning", "template-variable-default", "default"),
    ),
}


def test_every_fault_of_variables_is_tested() -> None:
    assert table("Template variables") == [*VARIABLES]


@pytest.mark.parametrize("fault", VARIABLES)
def test_a_fault_of_variables_has_its_finding(fault: str) -> None:
    text, finding = VARIABLES[fault]
    assert finding in findings(text)
    if finding[0] == "error":
        assert finding[1] in {code for code, _ in refused(text)}
    else:
        released(text)


@pytest.mark.parametrize(
    ("values", "printed", "expected"),
    [
        ("{path: /data}", "{{ path }} {{path}} x{{  path  }}y", "/data /data x/datay"),
        ("{path: 30}", "{{ path }}m", "30m"),
        ("{path: true}", "{{ path }}", "true"),
        ("{path: x}", "{{FC_TASK_INDEX}} {{.ID}} {{ path }}", "{{FC_TASK_INDEX}} {{.ID}} x"),
    ],
)
def test_a_variable_is_filled(tmp_path: Path, values: str, printed: str, expected: str) -> None:
    assert run(tmp_path, filled(values, printed=printed)) == ([expected, "run"], 0)


def test_what_a_value_brings_with_it_is_not_filled_again(tmp_path: Path) -> None:
    text = filled("{a: '{{ b }}', b: x}", declared="[{name: a}, {name: b}]", printed="{{ a }} {{ b }}")
    assert run(tmp_path, text) == (["{{ b }} x", "run"], 0)


def test_a_text_that_is_one_variable_keeps_the_value_s_type() -> None:
    text = job(
        """\
- name: board
  type: script
  plugin: tensorboard
  plugin_params: {port: "{{ port }}", logdir: {path: "/{{ port }}"}}
  template_variables: [{name: port}]
- {name: one, type: script, require: [{name: board, template_variables: {port: 8080}}]}
""",
        "one",
    )
    definitions = yaml.safe_load(released(text))["prerequisites"]
    (board,) = [one for one in definitions if one.get("plugin") == "com.microsoft.pai.runtimeplugin.tensorboard"]
    assert (board["port"], board["logdir"]) == (8080, {"path": "/8080"})


def test_an_unquoted_variable_is_a_mapping_and_can_be_quoted() -> None:
    text = job("- {name: disk, type: storage, plugin: pvc_storage}\n").replace(
        "plugin: pvc_storage}", "plugin: pvc_storage, mountPath: {{ path }}, template_variables: [{name: path}]}"
    )
    found = next(one for one in Document(text).diagnostics if one.code == "unquoted-template")
    assert text[found.span.start : found.span.end] == "{{ path }}"
    assert [edit.new_text for edit in found.fixes[0].edits] == ["'{{ path }}'"]


# --- order ---


def test_what_is_required_comes_first_in_list_order_and_once(tmp_path: Path) -> None:
    text = job(
        echo("a") + echo("b", ", require: [a]") + echo("c", ", require: [d, b]") + echo("d", ", require: [a]"),
        "c, b, a",
    )
    assert run(tmp_path, text) == (["a", "d", "b", "c", "run"], 0)


def test_other_values_are_another_run(tmp_path: Path) -> None:
    requires = ", ".join(f"{{name: set, template_variables: {{v: {value}}}}}" for value in ("1", "2", "1"))
    definition = echo("set", ", template_variables: [{name: v}]", printed="{{ v }}")
    text = job(f"{definition}- {{name: top, type: data, require: [{requires}]}}", "top")
    assert run(tmp_path, text) == (["1", "2", "run"], 0)


def test_a_cycle_is_told_with_its_whole_path() -> None:
    text = job(echo("a", ", require: [b]") + echo("b", ", require: [c]") + echo("c", ", require: [b]"), "a")
    (found,) = [one for one in Document(text).diagnostics if one.code == "prerequisite-cycle"]
    assert "'b' → 'c' → 'b'" in found.message
    assert [code for code, _ in refused(text)] == ["prerequisite-cycle"]


def test_plugins_of_extras_start_last_and_end_first(tmp_path: Path) -> None:
    callbacks = "[{event: taskStarts, commands: [echo +%s]}, {event: taskSucceeds, commands: [echo -%s]}]"
    one = f"- {{name: one, type: script, callbacks: {callbacks % ('one', 'one')}}}\n"
    two = f"- {{name: two, type: script, require: [one], callbacks: {callbacks % ('two', 'two')}}}\n"
    plugin = f"    - {{plugin: cmd, parameters: {{callbacks: {callbacks % ('extras', 'extras')}}}}}\n"
    text = job(one + two, "two", rest=f"extras:\n  com.microsoft.pai.runtimeplugin:\n{plugin}")
    assert run(tmp_path, text) == (["+one", "+two", "+extras", "run", "-extras", "-two", "-one"], 0)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("own", "top"), ("parameters.own", "top"), ("left", "left"), ("deep", "right"), ("deepest", "base")],
)
def test_this_is_the_nearest_parameter(tmp_path: Path, asked: str, expected: str) -> None:
    definitions = (
        "- {name: base, type: script, own: base, left: base, deep: base, deepest: base}\n"
        "- {name: left, type: script, require: [base], own: left, left: left}\n"
        "- {name: right, type: script, own: right, left: right, deep: right}\n"
        + echo("top", ", require: [left, right], own: top", printed=f"<% this.{asked} %>")
    )
    assert run(tmp_path, job(definitions, "top")) == ([expected, "run"], 0)


def storages(*written: str) -> str:
    definitions = "".join(
        f"- {{name: s{number}, type: data, requireStorages: [{one}]}}\n" for number, one in enumerate(written)
    )
    return job(definitions, ", ".join(f"s{number}" for number in range(len(written))))


def test_storages_are_merged_by_name() -> None:
    text = storages("{name: disk}", "{name: disk, mountPath: /mnt/disk}", "{name: other, mountPath: /x}")
    rest = "extras:\n  storages:\n    - {name: other, mountPath: /x}\n    - {name: third, mountPath: /y}\n"
    extras = yaml.safe_load(released(text + rest))["extras"]
    assert sorted((one["name"], one.get("mountPath", "/mnt/disk")) for one in extras["storages"]) == [
        ("disk", "/mnt/disk"),
        ("other", "/x"),
        ("third", "/y"),
    ]


@pytest.mark.parametrize(
    "written",
    [
        ("{name: disk, mountPath: /a}", "{name: disk, mountPath: /b}"),
        ("{name: disk, mountPath: /a}", "{name: other, mountPath: /a}"),
    ],
)
def test_storages_that_contradict_each_other_are_an_error(written: tuple[str, ...]) -> None:
    text = storages(*written)
    assert "storage-conflict" in {code for code, _ in errors(text)}
    assert "storage-conflict" in {code for code, _ in refused(text)}


_GRAPHS = st.integers(1, 7).flatmap(
    lambda count: st.tuples(
        st.lists(st.lists(st.integers(0, count - 1), max_size=3), min_size=count, max_size=count),
        st.lists(st.integers(0, count - 1), min_size=1, max_size=3, unique=True),
    )
)


@generated_cases(60)
@given(_GRAPHS)
def test_any_job_runs_in_the_order_of_the_page(graph: tuple[list[list[int]], list[int]]) -> None:
    requires, listed = graph
    # Only later ones are required, so that there is no cycle.
    requires = [[other for other in dict.fromkeys(one) if other > number] for number, one in enumerate(requires)]
    order: dict[int, None] = {}

    def follow(number: int) -> None:
        for other in requires[number]:
            follow(other)
        order.setdefault(number)

    for number in listed:
        follow(number)
    definitions = "".join(
        f"- {{name: p{number}, type: script, require: [{', '.join(f'p{other}' for other in one)}], callbacks: "
        f"[{{event: taskStarts, commands: [echo p{number}]}}, {{event: taskSucceeds, commands: [echo p{number}]}}]}}\n"
        for number, one in enumerate(requires)
    )
    text = released(job(definitions, ", ".join(f"p{number}" for number in listed)))
    task = released_run(Document(text).job).roles["worker"]
    wanted = [f"p{number}" for number in order]
    assert [re.findall(r"p\d", script)[0] for script in task.pre] == wanted
    assert [re.findall(r"p\d", script)[0] for script in task.post] == wanted[::-1]
    assert expanded(Document(text).job).text == text


# --- events ---

MOVED = "- pai_lsp_commands"
EVENTS: dict[str, Any] = {
    "`taskStarts`": (["taskStarts"], ["hook", "run"], ["hook"], "event: taskStarts"),
    "`taskSucceeds`": (["taskSucceeds"], ["run", "hook"], [], "event: taskSucceeds"),
    "`containerStart`, `containerStarts`": (
        ["containerStart", "containerStarts"],
        ["hook", "run"],
        ["hook"],
        "event: taskStarts",
    ),
    "`taskFails`": (["taskFails"], ["run"], ["hook"], MOVED),
    "`containerExit`": (["containerExit"], ["run", "hook"], ["hook"], MOVED),
}
NEVER = "anything else"


def test_every_event_is_tested() -> None:
    assert table("Events") == [*EVENTS, NEVER]


@pytest.mark.parametrize("row", EVENTS)
def test_an_event_runs_when_the_page_says(tmp_path: Path, row: str) -> None:
    spellings, succeeded, failed, form = EVENTS[row]
    for event in spellings:
        definition = echo("one", event=event, printed="hook")
        assert run(tmp_path / f"{event}-0", job(definition, "one")) == (succeeded, 0)
        assert run(tmp_path / f"{event}-7", job(definition, "one", command="exit 7")) == (failed, 7)
        text = released(job(definition, "one"))
        assert form in text.replace(", pai_lsp_commands", "\n- pai_lsp_commands")
        assert ("pai_lsp_commands" in text) == (form is MOVED)


@pytest.mark.parametrize(
    ("event", "near"), [("taskstarts", "taskStarts"), ("containerStop", "containerStart"), ("onFail", "taskStarts")]
)
def test_any_other_event_is_an_error(event: str, near: str) -> None:
    text = job(echo("one", event=event), "one")
    assert errors(text) == [("invalid-event", event)]
    (found,) = [one for one in Document(text).diagnostics if one.code == "invalid-event"]
    assert f"'{near}'" in found.message
    assert refused(text) == [("invalid-event", event)]


# --- what expand gives ---


def test_the_expanded_job_is_the_author_s_text_without_what_is_extended() -> None:
    text = f"""\
# A job of ours.
protocolVersion: 2
name: model   # the name
type: job

prerequisites:
  - {{type: dockerimage, name: image, uri: "ubuntu:20.04"}}

secrets:
  token: hammer-and-tongs   # stays

taskRoles:
  # Does the work.
  worker:
    instances: 1
    dockerImage: image
    prerequisites:
      - top   # all that we need
    resourcePerInstance: {{cpu: 1, memoryMB: 1024, gpu: 0}}
    commands:
      - echo run
extras:
  reference_prerequisites:
    - {{name: top, require: [{{name: "marketplace://name/log-in", template_variables: {{user: ada}}}}]}}
    {echo("unused").strip()}
"""
    shelf = Shelf(
        {
            "marketplace://name/log-in": "- {name: log-in, type: script, template_variables: [{name: user}], "
            "callbacks: [{event: taskStarts, commands: ['echo {{ user }} <% $secrets.token %>']}]}\n"
        }
    )
    result = released(text, shelf)
    for comment in ("# A job of ours.", "# the name", "# stays", "# Does the work."):
        assert comment in result
    values = yaml.safe_load(result)
    assert "extras" not in values
    assert values["taskRoles"]["worker"]["prerequisites"] == ["log-in"]
    assert values["prerequisites"][1] == {
        "name": "log-in",
        "type": "script",
        "plugin": "com.microsoft.pai.runtimeplugin.cmd",
        "callbacks": [{"event": "taskStarts", "commands": ["echo ada <% $secrets.token %>"]}],
    }
    inlined = expanded(Document(text, lookup=shelf).job, ["worker"]).text
    assert inlined is not None
    assert "prerequisites" not in yaml.safe_load(inlined)["taskRoles"]["worker"]
    assert "echo ada <% $secrets.token %>" in yaml.safe_load(inlined)["taskRoles"]["worker"]["commands"][0]
