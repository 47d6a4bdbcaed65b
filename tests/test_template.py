"""`<% %>` as mustache and the runtime read it."""

from __future__ import annotations

import pytest

from pai_lsp.embedded.server_rendering import looked_up, written
from pai_lsp.embedded.template import MISSING, TagKind, runtime_tags, server_path, tags, variables


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        ("<% $parameters.a %>", ["$parameters.a"]),
        ("<%$parameters.a%>x<%\n$data.uri[0]\n%>", ["$parameters.a", "$data.uri[0]"]),
        ("100 %> done", []),
        ("<% %>", [""]),
    ],
)
def test_names(text: str, contents: list[str]) -> None:
    found, fault = tags(text)
    assert fault is None
    assert [tag.content for tag in found] == contents
    assert all(text[tag.content_span.start : tag.content_span.end] == tag.content for tag in found)


@pytest.mark.parametrize(
    ("text", "message", "at"),
    [
        ('printf "<%s"', "'<%' without '%>'", "<%"),
        ("a <%# x %> b", "the section 'x' is never closed", "<%# x %>"),
        ("a <%/ x %> b", "nothing opens the section 'x'", "<%/ x %>"),
        ("<%# x %><%/ y %>", "the section 'x' is never closed", "<%# x %>"),
        ("<%= a %>", "mustache reads '<%=' as a change of its delimiters", "<%= "),
    ],
)
def test_faults(text: str, message: str, at: str) -> None:
    fault = tags(text)[1]
    assert fault is not None
    assert (fault.message, text[fault.span.start : fault.span.end]) == (message, at)


def test_kinds() -> None:
    found, _ = tags("<%& a %><%{ a }%><%! a %><%> a %><%^ a %><%/ a %>")
    assert [tag.kind for tag in found] == [
        TagKind.UNESCAPED,
        TagKind.UNESCAPED_BRACES,
        TagKind.COMMENT,
        TagKind.PARTIAL,
        TagKind.INVERTED,
        TagKind.END,
    ]


@pytest.mark.parametrize(
    ("content", "steps"),
    [
        ("$data.uri[0]", ["$data", "uri", 0]),
        ("$parameters.a.b", ["$parameters", "a", "b"]),
        ("$parameters.l[1][0]", ["$parameters", "l", 1, 0]),
        ("$parameters.", []),
        (".a", []),
    ],
)
def test_steps(content: str, steps: list[str | int]) -> None:
    text = f"echo <% {content} %>"
    tag = tags(text)[0][0]
    assert [step.name for step in tag.steps] == steps
    assert all(text[step.span.start : step.span.end] == str(step.name) for step in tag.steps)


def test_the_runtime_wants_the_dollar() -> None:
    assert [tag.content for tag in runtime_tags("<% foo %> <% $a %> <%$b%>")] == ["$a", "$b"]


def test_variables_are_not_the_controllers() -> None:
    text = "{{ dataPath }} {{x}} {{FC_TASK_INDEX}} {{.ID}} {{ two words }}"
    assert [variable.name for variable in variables(text)] == ["dataPath", "x"]


def test_lookup() -> None:
    values = {"$data": {"uri": ["u", "v"], "none": None}}
    assert looked_up(server_path("$data.uri[1]"), values) == "v"
    assert looked_up("$data.uri.length", values) == 2
    assert looked_up("$data.uri[-1]", values) is MISSING
    assert written(looked_up("$data.none", values)) is None
