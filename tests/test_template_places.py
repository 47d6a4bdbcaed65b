"""Who fills a `<% %>` is one answer: for the uses of templates, for the fixes and for the refactorings."""

from __future__ import annotations

import pytest

from pai_lsp.document import Document
from pai_lsp.ide.refactorings.extract_value import Filler, piece_at
from pai_lsp.job.template_uses import TemplatePlace, place_at
from pai_lsp.source.text import Span

JOB = """\
protocolVersion: 2
name: a
type: job
secrets: {tok: x}
prerequisites:
  - name: image
    type: dockerimage
    uri: "openpai/standard:python_3.6-pytorch_1.2.0-gpu"
    auth: {username: u, password: SLOT1, registryuri: r}
  - name: p
    type: script
    plugin: com.microsoft.pai.runtimeplugin.cmd
    note: SLOT2
    callbacks:
      - event: taskStarts
        commands: ["echo SLOT3"]
  - name: short
    type: script
    plugin: cmd
    callbacks:
      - event: taskStarts
        commands: ["echo SLOT4"]
  - name: without
    type: script
    callbacks:
      - event: taskStarts
        commands: ["echo SLOT5"]
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 1}
    prerequisites: [p, short, without]
    commands: ["echo SLOT6"]
deployments:
  - name: d
    taskRoles:
      worker:
        preCommands: ["echo SLOT7"]
  - name: idle
    taskRoles:
      worker:
        preCommands: ["echo SLOTA"]
defaults: {deployment: d}
extras:
  com.microsoft.pai.runtimeplugin:
    - plugin: cmd
      parameters:
        preCommands: ["echo SLOT8"]
  reference_prerequisites:
    - name: r
      plugin: cmd
      callbacks:
        - event: taskStarts
          commands: ["echo SLOT9"]
  storages: [{name: SLOT0}]
"""
PLACES = {
    "SLOT1": (TemplatePlace.AUTH, Filler.AUTH),
    "SLOT2": (TemplatePlace.DEFINITION, Filler.RUNTIME),
    "SLOT3": (TemplatePlace.DEFINITION, Filler.RUNTIME),
    "SLOT4": (TemplatePlace.DEFINITION, Filler.RUNTIME),
    "SLOT5": (TemplatePlace.DEFINITION, Filler.RUNTIME),
    "SLOT6": (TemplatePlace.COMMANDS, Filler.SERVER),
    "SLOT7": (TemplatePlace.COMMANDS, Filler.SERVER),
    "SLOT8": (TemplatePlace.PLUGIN, Filler.RUNTIME),
    "SLOT9": (TemplatePlace.DEFINITION, Filler.RUNTIME),
    "SLOTA": (TemplatePlace.IDLE_DEPLOYMENT, Filler.SERVER),
    "SLOT0": (TemplatePlace.LITERAL, None),
}
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.mark.parametrize("slot", PLACES)
def test_every_reader_gives_the_same_answer(slot: str) -> None:
    place, filler = PLACES[slot]
    at = JOB.index(slot)
    document = Document(JOB, path="a.pai.yaml")
    assert place_at(document.job, at) is place
    piece = piece_at(document.job, Span(at, at + len(slot)))
    assert (piece.filler if piece else None) is filler
    filled = Document(JOB.replace(slot, "<% $secrets.tok %>"), path="a.pai.yaml")
    assert [use.place for use in filled.job.template_uses] == [place]
    written = JOB.replace(slot, TOKEN)
    at = written.index(TOKEN)
    findings = [one for one in Document(written, path="a.pai.yaml").diagnostics if one.span.touches(at)]
    titles = [fix.title for one in findings for fix in one.fixes]
    assert any(title.startswith("Move to the secret") for title in titles) == (filler is not None)
