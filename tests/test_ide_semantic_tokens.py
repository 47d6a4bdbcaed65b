"""Semantic tokens: what the words of a job are, written under them."""

from __future__ import annotations

import pytest
from budgets import some

from pai_lsp.document import Document
from pai_lsp.ide.semantic_tokens import SemanticToken, semantic_tokens
from pai_lsp.ide.token_types import TokenType
from pai_lsp.lsp.convert import Places, token_numbers
from pai_lsp.source.text import ColumnUnit, LineIndex, Span

JOB = """\
protocolVersion: 2
name: 训练😀
prerequisites:
  - {type: dockerimage, name: image, uri: "a:b"}
  - name: prepare
    plugin: com.microsoft.pai.runtimeplugin.cmd
    template_variables: [{name: path}]
    callbacks: [{event: taskStarts, commands: ["ls {{ path }} {{ other }} <% this.x %>"]}]
parameters: {rate: 0.1}
secrets: {token: "***"}
taskRoles:
  master:
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1, gpu: 0, ports: {sync: 1}}
    prerequisites: [prepare]
    commands:
      - echo "語😀 <% $parameters.rate %>" <% $secrets.token %> ${HOME} '$NOT'
      - mpirun -H master-0:1 $PAI_PORT_LIST_master_0_sync $PAI_DATA_DIR
      - echo <% $parameters.rate
      # a comment with <% $parameters.rate %>
deployments: [{name: prod, taskRoles: {master: {preCommands: [echo $A]}}}]
defaults: {deployment: prod}
"""

WORDS = """\
image: function declaration
prepare: function declaration
path: typeParameter declaration
{{: macro
path: typeParameter
}}: macro
<%: macro
this: keyword
x: property
%>: macro
rate: parameter declaration
token: parameter declaration readonly
master: class declaration
image: function
sync: enumMember declaration
prepare: function
<%: macro
$parameters: keyword
rate: parameter
%>: macro
<%: macro
$secrets: keyword
token: parameter readonly
%>: macro
${HOME}: variable
master: class
$PAI_PORT_LIST_: variable defaultLibrary
master: class
_0_: variable defaultLibrary
sync: enumMember
$PAI_DATA_DIR: variable defaultLibrary deprecated
prod: namespace declaration
master: class
$A: variable
prod: namespace
"""


def words(document: Document, span: Span | None = None) -> str:
    return "".join(
        " ".join((f"{document.text[token.span.start : token.span.end]}:", token.type.value,
                  *(modifier.value for modifier in token.modifiers))) + "\n"
        for token in semantic_tokens(document, span)
    )  # fmt: skip


def test_the_words_of_a_job() -> None:
    job = JOB.replace("      - echo <% $parameters.rate\n", "")
    assert words(Document(job)) == WORDS


def test_with_the_other_line_end() -> None:
    job = JOB.replace("      - echo <% $parameters.rate\n", "").replace("\n", "\r\n")
    assert words(Document(job)) == WORDS


def test_only_what_is_asked_for() -> None:
    start = JOB.index("deployments")
    assert words(Document(JOB), Span(start, len(JOB))) == "".join(WORDS.splitlines(keepends=True)[-4:])


@pytest.mark.parametrize("end", some(range(0, len(JOB), 41)))
@pytest.mark.parametrize("more", ["", "'", "\n  - <% $", "{{ x"])
def test_tokens_never_overlap(end: int, more: str) -> None:
    text = JOB[:end] + more
    last = 0
    for token in semantic_tokens(Document(text)):
        assert last <= token.span.start < token.span.end <= len(text)
        last = token.span.end


def test_an_alias_brings_no_tokens_of_its_own() -> None:
    text = "taskRoles:\n  a: {commands: &c [echo $A]}\n  b: {commands: *c}\n"
    assert words(Document(text)).splitlines() == ["a: class declaration", "$A: variable", "b: class declaration"]


def test_numbers_count_from_the_token_before() -> None:
    lines = LineIndex("ab cd\n  ef gh\nij\n")
    spans = [Span(*place) for place in ((0, 2), (3, 5), (8, 10), (11, 13), (14, 16))]
    tokens = [SemanticToken(span, TokenType.ROOT) for span in spans]
    numbers = token_numbers(tokens, Places(lines, ColumnUnit.UTF16))
    places = [tuple(numbers[at : at + 3]) for at in range(0, len(numbers), 5)]
    assert places == [(0, 0, 2), (0, 3, 2), (1, 2, 2), (0, 3, 2), (1, 0, 2)]
