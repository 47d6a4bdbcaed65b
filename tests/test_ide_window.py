"""Of a large job only a part is read to tell where the cursor is; that gives what reading all of it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from budgets import stride

from pai_lsp.document import Document
from pai_lsp.ide import cursor as cursor_module
from pai_lsp.ide import cursor as window_module
from pai_lsp.ide.completion.complete import complete
from pai_lsp.ide.cursor import Cursor, cursor, window

if TYPE_CHECKING:
    from collections.abc import Iterator

JOB = """\
protocolVersion: 2
name: 漢字😀
type: job
prerequisites:
  # the image
  - type: dockerimage
    name: image
    uri: openpai/standard:python_3.6
  - type: script
    name: prepare
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskStarts
        commands:
          - echo <% $parameters.rate %> {{ path }}
    template_variables: [{name: path}]
  -
    type: data
    name: dataset
    uri: [https://example.com/a.zip]
parameters:
  rate: 0.1
  nested:
    deep: 1
taskRoles:
  master:
    instances: 1
    dockerImage: image
    prerequisites: [prepare, ]
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 2}
    commands:
      - |
        echo "語😀 <% $parameters.rate %>"

        echo $PAI_HOST_IP_worker_0
      - mpirun -H master-0:1
         hostname
  worker: # the others
    instances: 3

    dockerImage: image
    commands: [sleep infinity]
  empty:
deployments:
- name: prod
  taskRoles:
    worker:
      preCommands:
        - echo before
extras:
  com.microsoft.pai.runtimeplugin:
    - plugin: ssh
      parameters:
        jobssh: true
"""


@pytest.fixture
def _any_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts need not be long to have a window."""
    monkeypatch.setattr(window_module, "_SHORTEST", 0)


def without_indexes(found: Cursor | None) -> object:
    """What counts of a place: a part has fewer sections, roles and items, so that their numbers differ."""
    if found is None:
        return None
    path = [step if isinstance(step, str) else "item" for step in found.path]
    mapping = found.mapping if found.mapping not in found.parents[:2] else None
    keys = [entry.name for entry in mapping.entries] if mapping else []
    return (
        found.spot, path, [type(node) for node in found.parents], found.prefix, found.suffix, found.replace,
        found.content, found.index, found.missing, keys,
    )  # fmt: skip


def whole(document: Document, offset: int) -> Cursor | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cursor_module, "window", lambda _text, _offset: None)
        return cursor(document, offset)


def typed(text: str, step: int) -> Iterator[tuple[str, str, int]]:
    """At every place with a step between: nothing more, a letter, a letter behind which the line is gone."""
    for offset in range(0, len(text) + 1, step):
        end = text.find("\n", offset)
        yield "nothing", text, offset
        yield "a letter", f"{text[:offset]}c{text[offset:]}", offset + 1
        yield "the rest gone", f"{text[:offset]}c{text[end:] if end >= 0 else ''}", offset + 1


@pytest.mark.usefixtures("_any_text")
@pytest.mark.parametrize(("end", "step"), [("\n", stride(4)), ("\r\n", stride(9))], ids=["LF", "CRLF"])
def test_a_part_gives_what_the_whole_gives(end: str, step: int) -> None:
    parts = 0
    for what, text, offset in typed(JOB.replace("\n", end), step):
        document = Document(text)
        found = cursor(document, offset)
        parts += found is not None and found.is_part
        expected = whole(document, offset)
        assert without_indexes(found) == without_indexes(expected), f"{what} at {offset}: {text[:offset][-40:]!r}"
    assert parts > len(JOB) // step


@pytest.mark.usefixtures("_any_text")
@pytest.mark.parametrize(
    ("place", "wanted"),
    [
        ("    dockerImage: ", "image"),
        ("    prerequisites: [prepare, ", "dataset"),
        ("echo <% $parameters.", "$parameters.rate"),
        ("{{ ", "path"),
        ('echo "語😀 <% $', "$parameters.nested.deep"),
        ("echo $PAI_HOST", "PAI_HOST_IP_worker_2"),
        ("    worker:\n      ", "postCommands"),
        ("instances: 3\n\n    ", "resourcePerInstance"),
    ],
)
def test_names_of_the_whole_job_are_offered(place: str, wanted: str) -> None:
    document = Document(JOB)
    offset = JOB.index(place) + len(place)
    found = cursor(document, offset)
    assert found is not None
    assert found.is_part
    assert wanted in [suggestion.label for suggestion in complete(document, offset)]


@pytest.mark.usefixtures("_any_text")
@pytest.mark.parametrize(
    "text",
    [
        JOB.replace("  worker:", "  worker: &w").replace("instances: 3", "instances: ¤"),
        JOB.replace("instances: 3", "<<: *base\n    instances: ¤"),
        JOB.replace("taskRoles:", "taskRoles: {").replace("instances: 3", "instances: ¤"),
        JOB.replace("  worker:", "  ¤worker:"),
        JOB.replace("type: job", "¤type: job"),
        "¤" + JOB,
        JOB.replace("instances: 3", "instances: ¤").replace("\n", "\r"),
    ],
)
def test_where_more_may_count_the_whole_is_read(text: str) -> None:
    offset = text.index("¤")
    assert window(text.replace("¤", ""), offset) is None


def test_short_texts_are_read_whole() -> None:
    assert window(JOB, JOB.index("instances: 3")) is None
    assert window(JOB * 20, JOB.index("instances: 3")) is not None
