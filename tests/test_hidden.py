"""No password in any output, whatever rules are on, ignored or fail.

Every file of `tests/hidden` holds secrets in many forms, and `zq` is in each of them and nowhere else.
"""

from __future__ import annotations

import logging
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from budgets import shared, some, stride
from marks import examples, is_catalog
from random_edits import edited, job_texts, random_edit

import pai_lsp.job.job as job_module
from pai_lsp import document as document_module
from pai_lsp.cli.main import main
from pai_lsp.cli.report import FORMATS, render
from pai_lsp.cli.report.results import Results, checked_file
from pai_lsp.cli.report.terminal import Terminal
from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Finding, Fix, Related, Rule, Settings
from pai_lsp.ide.completion.complete import complete
from pai_lsp.ide.hints_and_lenses import inlay_hints
from pai_lsp.ide.hover import hover
from pai_lsp.ide.navigation import links
from pai_lsp.ide.outline import outline
from pai_lsp.ide.prerequisite_graph import dot, mermaid, prerequisite_graph
from pai_lsp.ide.preview import preview
from pai_lsp.ide.refactorings import refactorings
from pai_lsp.rules import RULES
from pai_lsp.source.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pai_lsp.job.job import Job

FILES = {path.name: path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parent / "hidden").iterdir())}
MARK = "zq"
EXAMPLE = "not-a-real-one"


def with_marks() -> dict[str, str]:
    """The fixtures and examples of the rules, with a marked secret."""
    texts = {name: text for name, text in job_texts().items() if EXAMPLE in text}
    for rule in RULES:
        bad, good = examples(rule)
        texts |= {f"{rule.code} {number}": one for number, one in enumerate([*bad, *good]) if EXAMPLE in one}
    return {name: text.replace(EXAMPLE, "zq-a-real-one") for name, text in texts.items()}


OTHERS = with_marks()


def document_of(text: str, settings: Settings | None = None) -> Document:
    return Document(text, settings or Settings(), "a.pai.yaml", is_catalog=is_catalog(text))


def shown_anywhere(document: Document, step: int = 1) -> Iterator[str]:
    """Everything that the editor shows of a document, except its text and edits."""
    text, whole, every = document.text, Span(0, len(document.text)), stride(step)
    for offset in range(0, len(text) + 1, every):
        if found := hover(document, offset):
            yield found.markdown
    for offset in range(0, len(text) + 1, 5 * every):
        for one in complete(document, offset):
            # The word before the cursor is what the user types.
            typed = re.findall(r"\S*$", text[:offset])[0]
            yield f"{one.label} {one.detail} {one.documentation} {one.edit.new_text}".replace(typed or "\0", "")
    yield from (f"{hint.label} {hint.tooltip}" for hint in inlay_hints(document, whole))
    yield from (f"{link.address} {link.tooltip}" for link in links(document))
    yield str(outline(document))
    graph = prerequisite_graph(document.job)
    yield from (mermaid(graph), dot(graph))
    yield preview(document).text if not document.is_catalog else ""
    for offset in range(0, len(text), 10 * every):
        yield from (found.title for found in refactorings(document, Span(offset, offset)))


def reports(document: Document) -> Iterator[str]:
    results = Results((checked_file(document, document.diagnostics),))
    yield from (render(name, results, Terminal(), RULES) for name in FORMATS)
    yield str([without_edits(one).without_secrets(document.job.hidden) for one in document.diagnostics])


def without_edits(diagnostic: Any) -> Any:
    """An editor is sent the edits of fixes only to make them."""
    fixes = tuple(Fix(fix.title, ()) for fix in diagnostic.fixes)
    return type(diagnostic)(diagnostic.code, diagnostic.severity, diagnostic.span, diagnostic.message, fixes,
                            diagnostic.related)  # fmt: skip


def assert_hidden(outputs: Iterator[str]) -> None:
    for output in outputs:
        assert MARK not in output.lower(), [line for line in output.splitlines() if MARK in line.lower()]


def turned_off(codes: Callable[[str], bool]) -> Settings:
    return Settings(severities={rule.code: None for rule in RULES if codes(rule.code)})


CONFIGURATIONS = {
    "all rules": turned_off(lambda _: False),
    "no rule about secrets": turned_off(lambda code: "secret" in code or code == "masking-breaks-job"),
    "one rule": turned_off(lambda code: code != "unknown-prerequisite"),
}


@pytest.mark.parametrize("settings", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_no_report_shows_a_secret(text: str, settings: Settings) -> None:
    assert_hidden(reports(document_of(text, settings)))


@pytest.mark.parametrize("settings", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_no_report_of_an_example_shows_a_secret(settings: Settings) -> None:
    for text in OTHERS.values():
        assert_hidden(reports(document_of(text, settings)))


@pytest.mark.parametrize("text", some(FILES.values()), ids=some(FILES))
def test_nothing_in_the_editor_shows_a_secret(text: str) -> None:
    assert_hidden(shown_anywhere(document_of(text)))


def test_nothing_in_the_editor_shows_a_secret_of_an_example() -> None:
    for text in OTHERS.values():
        assert_hidden(shown_anywhere(document_of(text), step=1 + len(text) // 30))


WORD = re.compile(rf"[\w-]*{MARK}[\w-]*", re.IGNORECASE)


def hidden_words(document: Document) -> set[str]:
    """The marked words that are hidden at all their places, and long enough to be hidden everywhere else."""
    found: dict[str, bool] = {}
    for match in WORD.finditer(document.text):
        word = match[0].lower()
        is_hidden = all(document.job.hidden.holds(Span(at, at + 1)) for at in range(*match.span()))
        found[word] = found.get(word, len(word) >= (8 if word.isalnum() else 6)) and is_hidden
    shown = [word for word, is_hidden in found.items() if not is_hidden]
    return {word for word, is_hidden in found.items() if is_hidden and not any(word in other for other in shown)}


def assert_not_shown(words: set[str], document: Document) -> None:
    offsets = [match.start() for match in WORD.finditer(document.text)]
    hovers = (found.markdown for offset in offsets if (found := hover(document, offset)))
    step = max(1, len(document.text) // (8 * stride(1)))
    for output in (*hovers, *reports(document), *shown_anywhere(document, step)):
        lines = output.lower().splitlines()
        assert not [line for line in lines if any(word in line for word in words)], document.text


@pytest.mark.parametrize("text", some(FILES.values(), 1), ids=some(FILES, 1))
def test_every_output_hides_what_is_hidden_in_an_edited_text(text: str) -> None:
    for seed in shared(40):
        document = document_of(edited(text, seed).replace("\ud83d", "?"))
        assert_not_shown(hidden_words(document), document)


SECTION = re.compile(r"^secrets:.*\n(?:[ #].*\n|\n)*", re.MULTILINE)


@pytest.mark.parametrize("text", some(FILES.values(), 2), ids=some(FILES, 2))
def test_secrets_stay_hidden_while_other_sections_are_edited(text: str) -> None:
    sections = tuple(SECTION.finditer(text))
    if len(sections) != 1:
        return
    before, after = text[: sections[0].start()], text[sections[0].end() :]
    for seed in shared(40):
        source = random.Random(seed)  # noqa: S311 - nothing to keep secret
        above = random_edit(before[:-1], source).applied(before[:-1]) + "\n"
        below = random_edit(after, source).applied(after)
        document = document_of(f"{above}{sections[0][0]}{below}".replace("\ud83d", "?"))
        words = {word for word in map(str.lower, WORD.findall(sections[0][0])) if len(word) >= 8}
        assert_not_shown({word for word in words if word not in (above + below).lower()}, document)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Everything that a command prints."""
    main([*arguments])
    output, errors = capsys.readouterr()
    return output + errors


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def some_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules may fail here, which `conftest` forbids."""
    monkeypatch.setattr(logging.getLogger("pai_lsp.document"), "handlers", [])


def use_rules(monkeypatch: pytest.MonkeyPatch, *rules: Rule) -> None:
    monkeypatch.setattr(document_module, "RULES", rules)


def raising(job: Job) -> Iterator[Finding]:
    yield Finding(Span(0, 0), "this finding comes first")
    raise ValueError(job.text)


def quoting(job: Job) -> Iterator[Finding]:
    """A finding for each line that quotes it; the fix of the first marked line repeats it at the top of the file."""
    start = 0
    lines = job.text.splitlines(keepends=True)
    marked = [line for line in lines if MARK in line]
    for line in lines:
        span, message = Span(start, start + len(line.rstrip())), f"'{line.strip()}' is wrong"
        fix = Fix(f"Write '{line.strip()}'", (TextEdit(Span(0, 0), line),), safe=True)
        is_fixed = line not in marked[:1] or job.text.startswith(line)
        yield Finding(span, message, () if is_fixed else (fix,), (Related(Span(0, 1), message),))
        start += len(line)


CHECKS = (("check", "--severity", "hint"), ("check", "--diff", "--severity", "hint"))
OTHERS_THAN_CHECK = (
    *(("graph", "--format", name) for name in ("mermaid", "dot")),
    *(("expand", "--format", name) for name in ("script", "json")),
    ("expand", "--as-is"),
)


def checked(capsys: pytest.CaptureFixture[str], text: str, *more: str) -> Iterator[str]:
    """What `check` prints; `reports` tries its formats faster."""
    Path("a.pai.yaml").write_text(text, encoding="utf-8")
    yield from (run(capsys, *arguments, *more, "a.pai.yaml") for arguments in CHECKS)


def outputs(capsys: pytest.CaptureFixture[str], text: str) -> Iterator[str]:
    """What all commands print."""
    yield from checked(capsys, text)
    yield from (run(capsys, *arguments, "a.pai.yaml") for arguments in OTHERS_THAN_CHECK)
    run(capsys, "expand", "--output", "released.yaml", "a.pai.yaml")


JOBS = {name: text for name, text in FILES.items() if name.endswith(".pai.yaml")}


@pytest.mark.parametrize("text", some(JOBS.values(), 3), ids=some(JOBS, 3))
def test_no_command_shows_a_secret(folder: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert_hidden(outputs(capsys, text))
    assert_hidden(run(capsys, *CHECKS[0], "--format", name, "a.pai.yaml") for name in FORMATS)
    assert_hidden(checked(capsys, text, "--ignore", "secret-in-clear"))
    (folder / ".pai-lsp.yaml").write_text("rules: {secret-in-clear: off, unused-ignore: off}\n")
    assert_hidden(outputs(capsys, text))


@pytest.mark.parametrize("text", some(JOBS.values(), 4), ids=some(JOBS, 4))
@pytest.mark.usefixtures("folder")
def test_no_secret_is_shown_beside_an_ignore_comment(capsys: pytest.CaptureFixture[str], text: str) -> None:
    ignored = re.sub(r"(?m)(?<=zq\w{4})$", "  # pai-lsp: ignore[secret-in-clear]", text)
    commented = re.sub(r"(?m)^( *)(?=[^ ].*zq)", r"\1# pai-lsp: ignore[secret-in-clear]\n\1", text)
    assert commented != text
    for one in (ignored, commented):
        assert_hidden(checked(capsys, one))
        assert_hidden(reports(document_of(one)))


@pytest.mark.parametrize("text", some(JOBS.values(), 5), ids=some(JOBS, 5))
@pytest.mark.usefixtures("folder", "some_fail")
def test_no_secret_is_shown_when_rules_fail(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    broken = tuple(Rule(rule.code, rule.severity, raising, rule.docstring) for rule in RULES if "secret" in rule.code)
    others = tuple(rule for rule in RULES if "secret" not in rule.code)
    use_rules(monkeypatch, *broken, *others)
    assert_hidden(outputs(capsys, text))
    assert_hidden(reports(document_of(text)))


@pytest.mark.parametrize("text", some(JOBS.values(), 6), ids=some(JOBS, 6))
@pytest.mark.usefixtures("folder")
def test_no_secret_is_shown_by_a_rule_that_quotes_everything(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    use_rules(monkeypatch, Rule("quoting", RULES[0].severity, quoting, ""), *RULES)
    assert_hidden(outputs(capsys, text))
    assert_hidden(reports(document_of(text)))


def failing(job: Job) -> Any:
    raise ValueError(job.text)


@pytest.mark.parametrize("text", some(FILES.values(), 7), ids=some(FILES, 7))
@pytest.mark.usefixtures("folder", "some_fail")
def test_no_secret_is_shown_when_the_search_for_secrets_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(job_module, "clear_secrets", failing)
    assert_hidden(outputs(capsys, text))
    assert_hidden(shown_anywhere(document_of(text), step=10))
    assert_hidden(reports(document_of(text)))


def test_what_runs_is_shown_without_passwords(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.pai.yaml").write_text(FILES["runs.pai.yaml"], encoding="utf-8")
    for arguments in (("--format", "script"), ("--format", "json"), ("--as-is",), ("--as-is", "--format", "script")):
        shown = run(capsys, "expand", *arguments, "a.pai.yaml")
        assert "runs postgres://reader:***@db.example.com/runs -p *** <% $secrets.token %>" in shown
        assert "login -p***" in shown
        assert "logout -p***" in shown
    assert "-p zq" in run(capsys, "expand", "--as-is", "--show-secrets", "a.pai.yaml")


@pytest.mark.usefixtures("some_fail")
def test_the_log_does_not_quote_the_job(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    broken = Rule("broken", RULES[0].severity, failing, "")
    use_rules(monkeypatch, broken)
    assert {one.code for one in document_of(FILES["clear.pai.yaml"]).diagnostics} <= {"task-never-starts"}
    assert "rule broken failed: ValueError in pai_lsp.document, line" in caplog.text
    assert MARK not in caplog.text


DEFINITION = """\
name: tools
type: script
plugin: com.microsoft.pai.runtimeplugin.cmd
description: from https://reader:zq5word@example.com
template_variables: [path] # https://reader:zq6word@example.com
callbacks: []
"""


def test_no_secret_of_a_definition_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "marketplace").mkdir()
    (folder / "marketplace" / "tools.yaml").write_text(DEFINITION, encoding="utf-8")
    job = FILES["runs.pai.yaml"].replace("[prepare]", '["marketplace://name/tools"]')
    (folder / "a.pai.yaml").write_text(job, encoding="utf-8")
    report = run(capsys, "check", "--severity", "hint", "a.pai.yaml")
    assert "template_variables: [path] # https://reader:*******@example.com" in report
    listed = run(capsys, "marketplace", "show", "tools")
    assert "description: from https://reader:***@example.com" in listed
    locked = run(capsys, "marketplace", "show", "tools", "--format", "json")
    assert "https://reader:***@example.com" in locked
    assert MARK not in (report + listed + locked).lower()


def messages(text: str) -> list[str]:
    found = document_of(text)
    return [one.without_secrets(found.job.hidden).message for one in found.diagnostics]


def test_a_sentence_stays_whole_when_a_secret_is_one_of_its_words() -> None:
    for value in ("true", "this", "secret", "12"):
        text = f"secrets: {{b: {value}}}\ntaskRoles: {{a: {{commands: [echo <% $secrets.b %>]}}}}\n"
        assert all("***" not in message for message in messages(text)), value


def test_a_message_does_not_tell_which_boolean_a_secret_is() -> None:
    text = "secrets: {b: true}\ntaskRoles: {a: {commands: [echo <% $secrets.b %>]}}\n"
    assert "this secret is not read as a string, so a command receives different characters; quote it" in messages(text)
    assert not any("true" in message for message in messages(text))


def test_a_short_secret_hides_no_other_word() -> None:
    text = "secrets: {kind: data, number: '1'}\nprerequisites: [{name: data, type: data, uri: [a]}]\ntaskRoles: {}\n"
    document = document_of(text)
    found = hover(document, text.index("type"))
    assert found is not None
    assert "***" not in found.markdown
    assert "data" in str(outline(document))


def test_short_secrets_are_hidden_as_whole_words_where_the_file_is_quoted() -> None:
    hidden = document_of("secrets: {a: '--', b: k9, c: $x}\n").job.hidden
    assert hidden.sentence("'k9 -- k99 $x--k9'", is_in_place=True) == "'*** -- k99 ***--***'"
    assert hidden.sentence("'k9 -- k99 $x--k9'", is_in_place=False) == "'k9 -- k99 $x--k9'"


def test_names_of_secrets_are_shown() -> None:
    text = "secrets: {docker_password: docker_password}\ntaskRoles: {a: {commands: [<% $secrets.docker_pasword %>]}}\n"
    assert any("docker_password" in message for message in messages(text))


def test_a_completion_shows_no_password_of_what_it_offers() -> None:
    text = (
        "protocolVersion: 2\ntype: job\nname: a\nparameters: {dsn: 'postgres://u:zq5word@h/db'}\n"
        "prerequisites:\n  - name: tools\n    type: script\n    plugin: com.microsoft.pai.runtimeplugin.cmd\n"
        "    callbacks: [{event: taskStarts, commands: ['curl https://u:zq6word@h']}]\n"
        "taskRoles:\n  a:\n    prerequisites: []\n    commands:\n      - echo <% $parameters.\n"
    )
    document = document_of(text)
    parameters = complete(document, text.index("<% $parameters.") + len("<% $parameters."))
    names = complete(document, text.index("[]") + 1)
    shown = str([parameters, names])
    assert "postgres://u:***@h/db" in shown
    assert "curl https://u:***@h" in shown
    assert MARK not in shown


def test_many_secrets_are_looked_up_all_at_once() -> None:
    """Each place of a text is looked at once, not once for each secret."""
    names = [f"secret{number:04}x" for number in range(3000)]
    text = "secrets:\n" + "".join(f"  k{number}: {name}\n" for number, name in enumerate(names)) + f"name: {names[7]}\n"
    hidden = document_of(text).job.hidden
    assert hidden.without(f"{names[7]} {names[2999]}{names[0]} secret") == "*** ****** secret"
    assert len(hidden.spans) == len(names) + 1


@pytest.mark.parametrize("text", JOBS.values(), ids=JOBS)
def test_what_has_nothing_hidden_is_not_changed(text: str) -> None:
    hidden = document_of(text).job.hidden
    lines = [f"'{line.strip()}'" for line in text.splitlines()]
    staying = [line for line in lines if not hidden.changes(line)]
    assert [line for line in staying if hidden.without(line) != line] == []
    assert [line for line in staying if hidden.sentence(line, is_in_place=True) != line] == []
    assert 0 < len(staying) < len(lines)


def test_a_password_that_is_cut_off_is_hidden_too() -> None:
    hidden = document_of("secrets: {a: zq-scissors-and-stone}\n").job.hidden
    assert hidden.without("login zq-scissors-a…") == "login ***…"


TABBED = """\
parameters:
  password: zq-hidden\ttabbed
"taskRoles":
  worker:
    prerequisite<% $parameters.s: []
  commands: [echo <% $parameters.password %>]
"""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("secrets:\n  key: &zq-anchor 1\n  other: *zq-anchor\n", "zq-anchor"),
        ("secrets:\n  a: 1\n  keyzqPassWord\n", "zqPassWord"),
        ("secrets: {a: 1, zq-without-a-key}\n", "zq-without-a-key"),
        ("secrets: %>\n  key: *zqPassWord%\n", "zqPassWord"),
        ("secrets:\n  a: 1\n cent: %zqPassWord\n", "zqPassWord"),
        (TABBED, "zq-hidden"),
        ("parameters:\n  password: zq-\n  b: <% $parameters.password %>\n", "zq"),
    ],
)
def test_a_half_typed_secret_is_hidden(text: str, shown: str) -> None:
    document = document_of(text)
    for output in (*reports(document), *shown_anywhere(document)):
        assert shown not in output


def test_the_lines_after_a_merged_section_are_not_hidden() -> None:
    text = "base: &base\n  secrets: {key: zq-merged}\n  # none\n<<: *base\nname: train\n"
    document = document_of(text)
    assert [text[span.start : span.end] for span in document.job.hidden.spans] == ["zq-merged"]


def test_a_password_is_hidden_as_it_is_written_where_a_fault_is_repaired() -> None:
    text = 'protocolVersion: 2\nname: train\ntype: job\n"parameters":\n  password: zq-before  tokenn: 1\n'
    document = document_of(text)
    found = hover(document, text.index("password"))
    assert found is not None
    assert "zq-before" not in found.markdown


@pytest.mark.parametrize(
    ("text", "elsewhere", "shown"),
    [
        ("secrets: {a: abcdefgh}\n", "say abcdefgh", "say ***"),
        ("secrets: {a: abcdefg}\n", "say abcdefg", "say abcdefg"),  # may be an ordinary word
        ("secrets: {a: 12345678}\n", "12345678", "***"),
        ("secrets: {a: zq-six}\n", "zq-six", "***"),
        ("secrets: {a: zq-5!}\n", "zq-5!", "zq-5!"),
        ('secrets: {a: zq"hidden-1}\n', 'say "zq\\"hidden-1" now', 'say "***" now'),
        ("secrets: {a: zq'hidden-1}\n", "say 'zq''hidden-1' now", "say '***' now"),
        ("secrets: {a: zqé-hidden-1}\n", "zq\\u00e9-hidden-1 zqé-hidden-1", "*** ***"),
        ("secrets: {a: *zq-hidden-1}\n", "say zq-hidden-1", "say ***"),
        ("secrets: {a: &zq-hidden-1 x}\n", "say zq-hidden-1", "say ***"),
        ("secrets: {a: zq hidden  one}\n", "zq hidden  one, zq hidden one", "***, ***"),
        ("secrets:\n  a: |\n    zq-first-line\n    zq-second-line\n", "zq-second-line", "***"),
        ("secrets: {zq-name-1: zq-name-1}\n", "zq-name-1", "zq-name-1"),  # the name of a secret
        ("parameters: {db_password: q-, my_password: q-w}\n", "say q-w and q-", "say *** and q-"),
        ("secrets: {a: <% $secrets.other %>}\n", "<% $secrets.other %>", "<% $secrets.other %>"),
    ],
)
def test_which_values_are_hidden_everywhere(text: str, elsewhere: str, shown: str) -> None:
    assert document_of(text).job.hidden.without(elsewhere) == shown


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("secrets:\n a: one\n # note\nname: x\n", ["one", "# note"]),
        ("secrets:\n a: one\n# note\nname: x\n", ["one"]),
        ("secrets:\n a: one # note\n\n b: two\n\n# note\nname: x\n", ["one # note", "two"]),
        ("secrets: {a: one, b: [two, three], }\nname: x\n", ["one", "two, three"]),
        ("secrets:\n a: [one, two]\n b: {c: one}\nname: x\n", ["[one, two]", "{c: one}"]),
        ("secrets:\n - one\n - [two]\nname: x\n", ["- one", "- [two]"]),
        ("secrets: one two\nname: x\n", ["one two"]),
        ("secret:\n a: one\nSecrets:\n b: two\n", ["one", "two"]),
        ("<<: {secrets: {a: one}}\nname: x\n", ["one"]),
        ("name: x\n---\nsecrets: {a: one}\n", ["{a: one}"]),  # with a fault, by its lines
        ("name: x\n", []),
    ],
)
def test_which_places_are_hidden(text: str, hidden: list[str]) -> None:
    assert [text[span.start : span.end] for span in document_of(text).job.hidden.spans] == hidden
