"""A short file with thousands of mistakes: few findings, and little work."""

from __future__ import annotations

from job_text import HEAD

from pai_lsp.cli.report.results import checked_file
from pai_lsp.document import Document, check
from pai_lsp.job.require_graph import MAX_CYCLES, cycles
from pai_lsp.safe_fixes import with_safe_fixes

JOB = (
    HEAD
    + """\
taskRoles:
  worker: {dockerImage: image, commands: [a], resourcePerInstance: {cpu: 1, memoryMB: 1, gpu: 0}}
"""
)


def shown(text: str) -> list[str]:
    document = Document(text, path="a.pai.yaml")
    return [one.message for one in checked_file(document, check(document)).diagnostics]


# The numbers of docs/reliability.md.
def test_of_one_rule_the_last_finding_that_is_shown_counts_the_others() -> None:
    keys = "".join(f"key{number}: 1\n" for number in range(107))
    found = [message for message in shown(JOB + keys) if "'key" in message]
    assert len(found) == 100
    assert found[-1].endswith("(and 7 more 'unknown-key' in this file)")
    assert not any("more 'unknown-key'" in message for message in found[:-1])


def test_exactly_as_many_findings_as_are_shown_need_no_count() -> None:
    keys = "".join(f"key{number}: 1\n" for number in range(100))
    assert not any("more 'unknown-key'" in message for message in shown(JOB + keys))


def test_of_one_rule_so_many_findings_are_made() -> None:
    found = check(Document(JOB + "---\n" * 1050, path="a.pai.yaml"))
    assert max(len([one for one in found if one.code == code]) for code in {one.code for one in found}) == 1000
    assert any("at least" in message for message in shown(JOB + "---\n" * 1050))


def test_prerequisites_that_all_require_each_other() -> None:
    names = [f"s{number}" for number in range(60)]
    items = "".join(f"  - {{type: script, name: {name}, require: [{', '.join(names)}]}}\n" for name in names)
    document = Document(JOB.replace("taskRoles:", f"{items}taskRoles:"), path="a.pai.yaml")
    assert len(cycles(document.job.require_graph)) == MAX_CYCLES
    assert sum(len(one.related) for one in document.diagnostics) < 25 * MAX_CYCLES


def test_fixes_that_make_a_text_worse_are_tried_on_their_own_only_once_a_kind() -> None:
    tries = 0

    def counted(document: Document) -> tuple[object, ...]:
        nonlocal tries
        tries += 1
        return check(document)

    anchors = "extras:\n" + "".join(f"  a{number}: &x 1\n" for number in range(200))
    with_safe_fixes(Document(JOB + anchors, path="a.pai.yaml"), counted, lambda _: True)  # type: ignore[arg-type]
    assert tries < 30
