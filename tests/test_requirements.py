"""The require graph and the order in which a role's prerequisites come."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from pai_lsp.job.definition import Origin, read_definitions
from pai_lsp.job.job import Job
from pai_lsp.job.lookup import LookupAnswer, LookupState, NoLookup
from pai_lsp.job.require_graph import cycles, expansion
from pai_lsp.source.syntax import parse


@dataclass(frozen=True)
class Shelf:
    """A catalog of definition files by address."""

    files: dict[str, str]

    def answers(self) -> dict[str, LookupAnswer]:
        return {
            address: LookupAnswer(
                LookupState.FOUND, read_definitions(parse(text).root, Origin.CATALOG), path=f"{address[-4:]}.yaml"
            )
            for address, text in self.files.items()
        }


class ShelfLookup(NoLookup):
    def __init__(self, files: dict[str, str]) -> None:
        self.known = Shelf(files).answers()

    def find(self, reference: str) -> LookupAnswer:
        return self.known.get(reference, LookupAnswer(LookupState.ABSENT))


def job(text: str, files: dict[str, str] | None = None) -> Job:
    return Job(parse(text), lookup=ShelfLookup(files) if files is not None else NoLookup())


def order(read: Job, role: str = "worker") -> list[str]:
    found = expansion(read.require_graph, read.task_roles_by_name[role].prerequisites)
    return [step.definition.name for step in found.steps]


def test_what_is_required_comes_first_and_once() -> None:
    read = job("""
prerequisites:
  - {name: fetch, require: [tools, space]}
  - {name: train, require: [space, fetch]}
  - {name: tools}
  - {name: space, require: [tools]}
taskRoles: {worker: {prerequisites: [train, tools]}}
""")
    assert order(read) == ["tools", "space", "fetch", "train"]
    assert not cycles(read.require_graph)


def test_the_same_definition_with_other_values_is_another_step() -> None:
    read = job("""
prerequisites:
  - {name: mount, template_variables: [{name: where}]}
  - name: both
    require:
      - {name: mount, template_variables: {where: /a}}
      - {name: mount, template_variables: {where: /b}}
      - {name: mount, template_variables: {where: /a, extra: 1}}
taskRoles: {worker: {prerequisites: [both]}}
""")
    found = expansion(read.require_graph, read.task_roles[0].prerequisites)
    assert [dict(step.values) for step in found.steps] == [{"where": "/a"}, {"where": "/b"}, {}]
    assert [len(step.required) for step in found.steps] == [0, 0, 3]
    assert not found.unfilled


def test_a_variable_is_handed_on_with_its_type() -> None:
    read = job("""
prerequisites:
  - {name: hold, template_variables: [{name: minutes}, {name: note}]}
  - name: debug
    template_variables: [{name: min}]
    require:
      - {name: hold, template_variables: {minutes: "{{ min }}", note: "for {{min}} of {{ other }}"}}
  - {name: all, require: [{name: debug, template_variables: {min: 30}}]}
taskRoles: {worker: {prerequisites: [all]}}
""")
    found = expansion(read.require_graph, read.task_roles[0].prerequisites)
    assert dict(found.steps[0].values) == {"minutes": 30, "note": "for 30 of {{ other }}"}


def test_what_is_not_given_is_unfilled_once_for_each_reference() -> None:
    read = job("""
prerequisites:
  - {name: data, template_variables: [{name: path}, {name: size}]}
  - {name: one, require: [{name: data, template_variables: {path: /x}}]}
taskRoles:
  worker: {prerequisites: [one, data]}
""")
    found = expansion(read.require_graph, read.task_roles[0].prerequisites)
    unfilled = [(link.requirement is None, link.reference.name, [*names]) for link, names in found.unfilled.items()]
    assert unfilled == [(False, "data", ["size"]), (True, "data", ["path", "size"])]


def test_a_cycle_has_its_whole_path() -> None:
    read = job("""
prerequisites:
  - {name: a, require: [b]}
  - {name: b, require: [c, missing]}
  - {name: c, require: [b]}
  - {name: me, require: [me]}
taskRoles: {worker: {prerequisites: [a, me]}}
""")
    found = expansion(read.require_graph, read.task_roles[0].prerequisites)
    assert [step.definition.name for step in found.steps] == ["c", "b", "a", "me"]
    assert [[one.name for one in cycle.definitions] for cycle in found.cycles] == [["b", "c"], ["me"]]
    assert [link.reference.name for link in found.cycles[0].links] == ["c", "b"]
    assert [link.reference.name for link in found.unresolved] == ["missing"]
    assert [[one.name for one in cycle.definitions] for cycle in cycles(read.require_graph)] == [["b", "c"], ["me"]]


def test_a_cycle_whose_values_always_change_ends() -> None:
    read = job("""
prerequisites:
  - name: grow
    template_variables: [{name: x}]
    require: [{name: grow, template_variables: {x: "{{ x }}+"}}]
  - {name: start, require: [{name: grow, template_variables: {x: "1"}}]}
taskRoles: {worker: {prerequisites: [start]}}
""")
    found = expansion(read.require_graph, read.task_roles[0].prerequisites)
    assert len(found.cycles) == 1
    assert len(found.steps) == 2


def test_through_the_catalog() -> None:
    files = {
        "marketplace://name/data": "- {name: data, require: [helper, tool]}\n- {name: helper}\n",
        "marketplace://name/tool": "- {name: tool, require: [base]}\n",
    }
    read = job(
        "prerequisites: [{name: base}]\ntaskRoles: {worker: {prerequisites: ['marketplace://name/data']}}\n", files
    )
    found = expansion(read.require_graph, read.task_roles[0].prerequisites)
    assert [(step.definition.name, step.path) for step in found.steps] == [
        ("helper", "data.yaml"),
        ("base", None),
        ("tool", "tool.yaml"),
        ("data", "data.yaml"),
    ]


def test_what_could_not_be_asked_is_unresolved() -> None:
    read = job("taskRoles: {worker: {prerequisites: ['marketplace://name/x', y]}}\n")
    found = expansion(read.require_graph, read.task_roles[0].prerequisites)
    assert [link.answer.state for link in found.unresolved] == [LookupState.UNKNOWN, LookupState.ABSENT]


def test_long_and_wide_requirements_are_quick() -> None:
    chain = "".join(f"  - {{name: p{n}, require: [p{n + 1}]}}\n" for n in range(1000)) + "  - {name: p1000}\n"
    wide = f"  - {{name: wide, require: [{', '.join(f'p{n}' for n in range(1000))}]}}\n"
    read = job(f"prerequisites:\n{chain}{wide}taskRoles: {{worker: {{prerequisites: [wide]}}}}\n")
    started = time.process_time()
    names = order(read)
    assert names == [f"p{n}" for n in range(1000, -1, -1)] + ["wide"]
    assert not cycles(read.require_graph)
    assert time.process_time() - started < 1


@pytest.mark.slow
def test_a_file_that_asks_for_endlessly_many_steps_is_cut_short() -> None:
    levels = "".join(
        f"  - name: p{n}\n    template_variables: [x]\n    require:\n"
        f"      - {{name: p{n + 1}, template_variables: {{x: '{{{{ x }}}}a'}}}}\n"
        f"      - {{name: p{n + 1}, template_variables: {{x: '{{{{ x }}}}b'}}}}\n"
        for n in range(40)
    )
    read = job(f"prerequisites:\n{levels}taskRoles: {{worker: {{prerequisites: [p0]}}}}\n")
    found = expansion(read.require_graph, read.task_roles[0].prerequisites)
    assert not found.is_complete
