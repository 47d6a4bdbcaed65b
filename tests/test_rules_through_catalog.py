"""Rules about what a job finds in a marketplace: the three results of a lookup, and mistakes in its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pai_lsp.document import Document, check_expanded
from pai_lsp.expansion.released_job import expanded
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.job.definition import Origin, read_definitions
from pai_lsp.job.lookup import JobTemplate, LookupAnswer, LookupState, NoLookup, SuggestedDefinition
from pai_lsp.source.syntax import parse

if TYPE_CHECKING:
    from pai_lsp.findings.diagnostic import Diagnostic

CATALOG = {
    "tools": "name: tools\nplugin: cmd\nplugin_params: {callbacks: [{event: taskStarts, commands: [echo hello]}]}\n",
    "mnist": """
name: mnist
require: [{name: "marketplace://name/tools"}]
plugin: cmd
plugin_params: {callbacks: [{event: taskStarts, commands: ["mkdir {{ dataPath }}"]}]}
template_variables: [{name: dataPath}]
""",
    "broken": 'name: broken\nrequire: ["marketplace://name/gone", missing, {name: "marketplace://name/mnist"}]\n',
    "first": "name: first\nrequire: [second]\n",
    "second": 'name: second\nrequire: ["marketplace://name/first"]\n',
    "disk": "name: disk\nrequireStorages: [{name: nfs, mountPath: /a}]\n",
    "lost": "name: lost\nplugin: cmd\nuri: <% this.nothing %>\nserver: {host: '{{ port }}'}\n",
    "event": "name: event\nplugin: cmd\ncallbacks: [{event: taskEnd, commands: [ls]}]\n",
    "number": "name: number\nplugin: cmd\ncallbacks: [{event: taskStarts, commands: [[ls]]}]\n",
    "parameter": "name: parameter\nplugin: cmd\ncallbacks: [{event: taskFails, commands: [<% $parameters.no %>]}]\n",
    "offline": "name: offline\nmountPath: /mnt/offline\nrequire: [https://example.com/other.yaml]\n",
}


# By the code of the finding at the reference, the rest of a definition with a mistake.
FAULTY = {
    "unknown-plugin": "plugin: gitt, plugin_params: {repo_uri: https://example.com/x}",
    "plugin-missing-parameter": "plugin: git, plugin_params: {repo: https://example.com/x}",
    "plugin-parameter-type": "plugin: tensorboard, plugin_params: {port: 1, logdir: /logs}",
    "unknown-plugin-parameter": "plugin: ssh, jobssh: true, publicKeys: [a]",
    "ssh-switch-not-boolean": "plugin: ssh, jobssh: maybe",
    "invalid-failure-policy": "plugin: cmd, failurePolicy: maybe, preCommands: [ls]",
    "failure-policy-not-text": "plugin: cmd, failurePolicy: 5, preCommands: [ls]",
    "undefined-parameter": "plugin: git, plugin_params: {repo_uri: <% $parameters.no %>}",
    "undefined-secret": "plugin: git, plugin_params: {repo_uri: <% $secrets.no %>}",
    "test-brackets": 'plugin: cmd, preCommands: ["[ -z ${X+x}]"]',
    "export-in-callback": "plugin: cmd, preCommands: [export A=1], postCommands: [ls $A]",
    "prerequisite-without-effect": "type: data, uri: https://example.com/x",
    "cannot-be-expanded": "plugin: cmd, callbacks: [{event: taskStarts, commands: [ls: a]}]",
    "unresolved-this": "plugin: cmd, preCommands: [<% this.no %>]",
    "unfilled-template-variable": "plugin: cmd, preCommands: ['{{ a }}'], template_variables: [{name: a, default: b}]",
}
ADDRESSES = ("marketplace://name/faulty", "marketplace://prerequisites/itemId/7", "https://example.com/faulty.yaml")


class Faulty(NoLookup):
    """Finds the same definition at every address."""

    def __init__(self, rest: str) -> None:
        super().__init__()
        text = f"{{name: faulty, {rest}}}"
        self._found = read_definitions(parse(text).root, Origin.CATALOG)

    def find(self, reference: str) -> LookupAnswer:
        del reference
        return LookupAnswer(LookupState.FOUND, self._found, path="marketplace/faulty.yaml")


class Catalog:
    """Answers from `CATALOG`; web addresses are unknown."""

    def __init__(self) -> None:
        self._answers = {
            f"marketplace://name/{name}": LookupAnswer(
                LookupState.FOUND, read_definitions(parse(text).root, Origin.CATALOG), path=f"marketplace/{name}.yaml"
            )
            for name, text in CATALOG.items()
        }

    def find(self, reference: str) -> LookupAnswer:
        if reference.startswith("http"):
            return LookupAnswer(LookupState.UNKNOWN, note="example.com is not a configured host")
        return self._answers.get(reference, LookupAnswer(LookupState.ABSENT))

    def names(self) -> tuple[str, ...]:
        return tuple(self._answers)

    def job_templates(self) -> tuple[JobTemplate, ...]:
        return ()

    def suggestions(self, typed: str, most: int) -> tuple[SuggestedDefinition, ...]:
        found = [reference for reference in self._answers if typed in reference]
        return tuple(SuggestedDefinition(reference, reference.rpartition("/")[2]) for reference in found[:most])


JOB = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {{type: dockerimage, name: image, uri: "ubuntu:18.04"}}
{definitions}taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [{listed}]
    resourcePerInstance: {{cpu: 1, memoryMB: 1024, gpu: 0}}
    commands: [sleep 1h]
extras:
  storages: [{{name: nfs, mountPath: /b}}]
"""
OF_EVERY_EXTENDED_JOB = {"refused-until-expanded", "needs-expansion"}


def found(listed: str, definitions: str = "") -> list[Diagnostic]:
    text = JOB.format(listed=listed, definitions=definitions)
    document = Document(text, lookup=Catalog())
    return [one for one in document.diagnostics if one.code not in OF_EVERY_EXTENDED_JOB]


def codes(listed: str, definitions: str = "") -> list[str]:
    return [one.code for one in found(listed, definitions)]


def test_what_is_there_is_right() -> None:
    assert codes("'marketplace://name/tools'") == []
    definition = """\
  - name: data
    type: data
    plugin: com.microsoft.pai.runtimeplugin.cmd
    require: [{name: 'marketplace://name/mnist', template_variables: {dataPath: /data}}]
    callbacks: [{event: taskStarts, commands: [ls /data]}]
"""
    assert codes("data", definition) == []


def test_what_is_not_there_is_an_error_with_the_nearest_name() -> None:
    (one,) = found("'marketplace://name/mnits'")
    assert one.code == "unknown-marketplace-item"
    assert one.message == "the marketplace has no 'marketplace://name/mnits'; did you mean 'marketplace://name/mnist'?"
    assert one.fixes[0].edits[0].new_text == "marketplace://name/mnist"


def test_what_could_not_be_asked_is_information() -> None:
    (one,) = found("'https://example.com/x.yaml'")
    assert (one.code, one.severity.label) == ("marketplace-not-asked", "information")
    assert one.message.endswith("could not be looked up: example.com is not a configured host")


def test_variables_of_the_catalog_are_wanted() -> None:
    (one,) = found("'marketplace://name/mnist'")
    assert one.code == "unfilled-template-variable"
    assert [related.path for related in one.related] == ["marketplace/mnist.yaml"]


def test_mistakes_in_the_catalog_are_shown_on_the_reference() -> None:
    diagnostics = found("'marketplace://name/broken'")
    assert sorted((one.code, one.message) for one in diagnostics) == [
        (
            "unfilled-template-variable",
            "'marketplace://name/broken' requires 'marketplace://name/mnist' without a value for 'dataPath'",
        ),
        (
            "unknown-marketplace-item",
            "'marketplace://name/broken' requires 'marketplace://name/gone', which does not exist",
        ),
        ("unknown-required-prerequisite", "'marketplace://name/broken' requires 'missing', which does not exist"),
    ]
    assert {related.path for one in diagnostics for related in one.related} == {"marketplace/broken.yaml"}
    assert len({one.span for one in diagnostics}) == 1


def test_a_cycle_across_files() -> None:
    (one,) = found("'marketplace://name/first'")
    assert one.code == "prerequisite-cycle"
    assert one.message.endswith("'first' → 'second' → 'first'")
    assert [related.path for related in one.related] == ["marketplace/first.yaml", "marketplace/second.yaml"]


def test_a_storage_of_the_catalog_is_in_the_way() -> None:
    (one,) = found("'marketplace://name/disk'")
    assert one.code == "storage-conflict"
    assert [related.path for related in one.related] == ["marketplace/disk.yaml", None]


@pytest.mark.parametrize(("required", "expected"), [("offline", []), ("tools", ["unresolved-this"])])
def test_this_is_lost_only_when_everything_is_known(required: str, expected: list[str]) -> None:
    definition = f"""\
  - name: data
    type: data
    plugin: com.microsoft.pai.runtimeplugin.cmd
    require: ['marketplace://name/{required}']
    callbacks: [{{event: taskStarts, commands: ["ls <% this.anything %>"]}}]
"""
    assert codes("data", definition) == expected


def test_what_nothing_fills_in_a_definition_of_the_catalog() -> None:
    first, second = sorted(found("'marketplace://name/lost'"), key=lambda one: one.code)
    assert first.code == "undeclared-template-variable"
    assert first.message == "template variable 'port' is not declared in 'lost'"
    assert second.code == "unresolved-this"
    assert second.message == "neither 'lost' nor a definition that it requires has a parameter 'nothing'"
    assert {related.path for one in (first, second) for related in one.related} == {"marketplace/lost.yaml"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("event", "'taskEnd' is not an event; did you mean 'taskSucceeds'?"),
        ("number", "a command must be a string, not a list"),
        ("parameter", "'$parameters.no' finds nothing"),
    ],
)
def test_a_mistake_in_another_file_is_reported_where_the_job_uses_the_definition(name: str, message: str) -> None:
    (finding,) = found(f'"marketplace://name/{name}"')
    assert (finding.code, finding.message) == ("cannot-be-expanded", message)
    assert len(finding.span) == len(f"marketplace://name/{name}")
    assert [(one.path, one.message) for one in finding.related] == [(f"marketplace/{name}.yaml", "defined here")]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("code", FAULTY)
def test_a_fault_of_a_definition_is_reported_at_the_reference(code: str, address: str) -> None:
    document = Document(JOB.format(listed=f"'{address}'", definitions=""), lookup=Faulty(FAULTY[code]))
    (finding,) = [one for one in document.diagnostics if one.code not in OF_EVERY_EXTENDED_JOB]
    assert finding.code == code
    assert document.text[finding.span.start : finding.span.end] == address
    assert "marketplace/faulty.yaml" in {related.path for related in finding.related}


@pytest.mark.parametrize("code", FAULTY)
def test_what_expand_reports_of_a_definition_is_reported_at_the_reference(code: str) -> None:
    document = Document(JOB.format(listed=f"'{ADDRESSES[0]}'", definitions=""), lookup=Faulty(FAULTY[code]))
    result = expanded(document.job)
    reference = document.job.require_graph.entries[0].reference.span
    reported = {one.code for one in document.diagnostics if one.span == reference}
    found_after = [one for one in check_expanded(document, result) if one.severity <= Severity.WARNING]
    assert {one.code for one in found_after if one.span == reference} <= reported
    assert not result.problems or reported - OF_EVERY_EXTENDED_JOB


def test_a_default_that_has_no_effect_is_shown_with_the_missing_value() -> None:
    text = JOB.format(listed=f"'{ADDRESSES[0]}'", definitions="")
    document = Document(text, lookup=Faulty(FAULTY["unfilled-template-variable"]))
    (finding,) = [one for one in document.diagnostics if one.code == "unfilled-template-variable"]
    assert [one.message for one in finding.related] == ["the 'default' of 'a' has no effect"]


def test_a_definition_with_hooks_is_read_for_exports() -> None:
    rest = (
        "plugin: cmd, callbacks: [{event: taskStarts, commands: [export A=1]}, {event: taskFails, commands: [ls $A]}]"
    )
    document = Document(JOB.format(listed=f"'{ADDRESSES[0]}'", definitions=""), lookup=Faulty(rest))
    (finding,) = [one for one in document.diagnostics if one.code not in OF_EVERY_EXTENDED_JOB]
    assert finding.message == (
        "in 'faulty': a callback runs in a separate process, so 'A' is not set in taskFails of 'faulty'"
    )


class Titled(Catalog):
    """The marketplace shows some items with titles, one of them twice."""

    def suggestions(self, typed: str, most: int) -> tuple[SuggestedDefinition, ...]:
        titles = {"tools": "Team tools", "mnist": "Hand written digits", "first": "Hand written digits"}
        found = (SuggestedDefinition(f"marketplace://name/{n}", n, title=title) for n, title in titles.items())
        return tuple(one for one in found if typed.lower() in one.title.lower())[:most]


@pytest.mark.parametrize(
    ("written", "code", "addresses"),
    [
        ("Team tools", "unknown-prerequisite", ["tools"]),
        ("team Tools", "unknown-prerequisite", ["tools"]),
        ("marketplace://name/Team tools", "malformed-reference", ["tools"]),
        ("Hand written digits", "unknown-prerequisite", ["mnist", "first"]),
        ("Team", "unknown-prerequisite", []),
        ("Hand written", "unknown-prerequisite", []),
    ],
)
def test_a_title_in_place_of_an_address_has_a_fix(written: str, code: str, addresses: list[str]) -> None:
    text = JOB.format(listed=f"'{written}'", definitions="")
    (one,) = (one for one in Document(text, lookup=Titled()).diagnostics if one.code == code)
    assert [fix.title for fix in one.fixes if "Change" in fix.title] == [
        f"Change to 'marketplace://name/{name}'" for name in addresses
    ]
    wanted = " or ".join(f"'marketplace://name/{name}'" for name in addresses)
    is_title = f"is the title of an item of the marketplace; write {wanted}" in one.message
    assert is_title is bool(addresses)
