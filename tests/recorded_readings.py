"""How texts are read, in `readings.txt`: `python tests/recorded_readings.py` writes the answers below each text again.

A section begins with `# ` and the kind of its text (`yaml`, `bash`, `template` or `job`); its lines follow a `|`. Write
a text there, record the answer, and read it. After a change, read what `git diff` shows of the record.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pai_lsp.document import Document
from pai_lsp.embedded.command_lines import command_lines
from pai_lsp.embedded.server_rendering import rendered
from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_structure import structure
from pai_lsp.embedded.shell_syntax import syntax_problem
from pai_lsp.embedded.template import runtime_tags, tags, tags_without_dollar, variables
from pai_lsp.job.require_graph import cycles, expansion
from pai_lsp.job.symbols import occurrences
from pai_lsp.job.this_lookup import this_faults
from pai_lsp.source.comments import comments
from pai_lsp.source.content import mapped
from pai_lsp.source.nodes import Mapping, Scalar, Sequence, plain_value
from pai_lsp.source.odd_characters import odd_characters
from pai_lsp.source.scalar import Reader
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pai_lsp.embedded.shell_script import Word
    from pai_lsp.embedded.shell_structure import Step
    from pai_lsp.source.nodes import Node

RECORD = Path(__file__).parent / "readings.txt"
_VALUES = {"$parameters": {"n": 3, "t": "a b", "l": [1, "two"], "m": {"k": None}, "f": 0.5}, "$data": {"uri": ["x"]}}


def sections() -> dict[str, tuple[str, list[str]]]:
    """By title, the text and the recorded answer."""
    found: dict[str, tuple[str, list[str]]] = {}
    for part in re.split(r"^# ", RECORD.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, *lines = part.splitlines()
        written = (line[1:].encode().decode("unicode_escape") for line in lines if line.startswith("|"))
        found[title] = ("\n".join(written), [line for line in lines if not line.startswith("|")])
    return found


def answer(title: str, text: str) -> list[str]:
    """How a text of a section is read."""
    kinds = {"yaml": _yaml, "bash": _bash, "template": _template, "job": _job}
    return [line.rstrip() for line in kinds[title.split(maxsplit=1)[0]](text)]


def _at(text: str, span: Span | None) -> str:
    return "nowhere" if span is None else f"{span.start}:{text[span.start : span.end]!a}"


def _yaml(text: str) -> Iterator[str]:
    answers = [list(_read_by(text, reader)) for reader in Reader]
    yield from answers[0]
    if answers[1] != answers[0]:
        yield "js-yaml 4"
        yield from answers[1]


def _read_by(text: str, reader: Reader) -> Iterator[str]:
    syntax = parse(text, reader)
    for one in syntax.problems:
        only = "runtime only" if one.is_runtime_only else "js-yaml only" if one.is_of_js_yaml else "both"
        yield f"{one.kind.value}, {only}, {_at(text, one.span)}, {one.message!a}"
        if one.other:
            yield f"  other {_at(text, one.other)}"
        if one.fix:
            yield f"  {one.fix[0]} {_at(text, one.fix[1].span)} -> {one.fix[1].new_text!a}"
    for document in syntax.documents:
        yield from _node(text, document, "")
    for anchor in syntax.anchors:
        yield f"anchor {_at(text, anchor.span)} {_at(text, anchor.node.span)}"
    for alias in syntax.aliases:
        yield f"alias {_at(text, alias.span)} {alias.anchor.span.start if alias.anchor else None}"
    yield from (f"comment {_at(text, one.span)} alone: {one.is_alone}" for one in comments(syntax))
    yield from (f"odd {one.at} {one.character!a} -> {one.meant!a}" for one in odd_characters(syntax))


def _node(text: str, node: Node | None, pad: str) -> Iterator[str]:
    if isinstance(node, Scalar):
        tag = f" {node.tag}" if node.tag else ""
        runtime = "" if node.runtime_value == node.value else f", runtime {node.runtime_value!a}"
        yield f"{pad}{_at(text, node.span)}{tag} = {node.value!a}{runtime}"
        if len(node.span) != len(node.text):
            place = mapped(text, node)
            yield f"{pad}  at {_ranges(place.place(number) for number in range(len(node.text)))}"
    elif isinstance(node, Sequence):
        yield f"{pad}list {node.span.start}-{node.span.end}{' in brackets' if node.is_flow else ''} {node.tag or ''}"
        for item in node.items:
            yield from _node(text, item, f"{pad}  ")
    elif isinstance(node, Mapping):
        yield f"{pad}mapping {node.span.start}-{node.span.end}{' in braces' if node.is_flow else ''} {node.tag or ''}"
        for entry in node.entries:
            yield f"{pad}  {entry.name!a} {_at(text, entry.key.span)}{' merges' if entry.is_merge else ''}"
            yield from _node(text, entry.value, f"{pad}    ")


def _ranges(spans: Iterable[Span]) -> str:
    """Places one after the other as one range, as `4-9 11-12`."""
    found: list[Span] = []
    for span in spans:
        if found and found[-1].end == span.start and len(span) == 1:
            found[-1] = Span(found[-1].start, span.end)
        else:
            found.append(span)
    return " ".join(f"{span.start}-{span.end}" for span in found)


def _word(word: Word) -> str:
    marks = ("" if word.is_literal else "*") + ("'" if word.is_quoted else "")
    return f"{word.span.start}:{word.text!a}{marks}"


def _bash(text: str) -> Iterator[str]:
    script = read_script(text)
    if problem := syntax_problem(script):
        yield f"{'error' if problem.is_error else 'warning'}, line {problem.line}, {_at(text, problem.span)}"
        yield f"  {problem.message!a}"
        yield from (f"  {_at(text, span)} {message!a}" for span, message in problem.related)
    for use in script.uses:
        flags = [name for name in ("is_guarded", "is_indirect", "is_question") if getattr(use, name)]
        yield f"use {_at(text, use.span)} {' '.join(flags)}"
    for one in script.assignments:
        value = f" = {_word(one.value)}" if one.value else ""
        yield f"sets {_at(text, one.span)}{value}{' exported' if one.is_exported else ''}"
    yield f"parts {' '.join(f'{one.kind.name.lower()} {_at(text, one.span)}' for one in script.parts)}"
    yield f"lines {sorted(script.line_ends)} comments {[one.start for one in script.comments]}"
    found = (script.tested_names, script.functions, {_at(text, one) for one in script.positionals})
    yield f"tested, functions, positionals {[sorted(one) for one in found]}"
    places = (*script.bad_substitutions, *script.open_redirections)
    yield f"bad, loop words {[_at(text, one) for one in places]} {[_word(one) for one in script.loop_words]}"
    lasting = (script.last_wait, script.endless_command, script.is_open_ended, script.allows_unset)
    yield f"waits, endless, open, unset allowed {[one if isinstance(one, bool) else bool(one) for one in lasting]}"
    tree = structure(script)
    yield from (_step(text, one, ends=tree.ends_script(one)) for one in tree.all)
    lines = command_lines(script)
    for line in lines.all:
        wrapped = f" {line.wrappers} {line.variables} user {line.user!a}" if line.wrappers or line.variables else ""
        module = " as module" if line.is_module else ""
        yield f"runs {line.program!a} {line.texts!a}{module}{wrapped} in {lines.folder(line)!a}"
    yield f"own {[one.name for one in tree.own_commands]} changes process {tree.changes_process}"


def _step(text: str, step: Step, *, ends: bool) -> str:
    named = {"part": step.part, "before": step.before, "after": step.after, "defines": step.defines}
    said = [f"{name} {value!a}" for name, value in named.items() if value]
    said += [f"prefixes {step.prefixes}"] if step.prefixes else []
    said += [f"to {to.descriptor}{to.operator}{to.target.text}" for to in step.redirections]
    if one := step.command:
        said += [_word(word) for word in one.words]
        said += [f"after {one.keyword}"] if one.keyword else []
        said += [f"in {one.function}()"] if one.function else []
        said += ["nested"] if one.is_nested else []
    said += [f"end {step.end}"] if step.end else []
    named_flags = ("is_background", "is_subshell", "has_piped_input")
    said += [*(name for name in named_flags if getattr(step, name)), *(["ends the script"] if ends else [])]
    around = len(list(step.ancestors))
    return f"{'  ' * around}{step.kind} {_at(text, step.span)} {', '.join(said)}"


def _template(text: str) -> Iterator[str]:
    found, fault = tags(text)
    if fault:
        yield f"fault {_at(text, fault.span)} {fault.message!a}"
    for kind, several in (("server", found), ("runtime", runtime_tags(text)), ("without $", tags_without_dollar(text))):
        for tag in several:
            place = " in section" if tag.in_section else ""
            yield f"{kind} {tag.kind.name} {_at(text, tag.span)} {_at(text, tag.content_span)}{place}"
            for name in ("steps", "server_steps", "runtime_steps"):
                yield f"  {name} {[(step.name, step.span.start, step.span.end) for step in getattr(tag, name)]!a}"
    yield from (f"variable {_at(text, one.span)} {_at(text, one.name_span)}" for one in variables(text))
    for version in (2, 4):
        written = rendered(text, _VALUES, version)
        yield f"mustache {version} {written if isinstance(written, str) else (written.message, written.span.start)!a}"


def _job(text: str) -> Iterator[str]:
    job = Document(text).job
    for one in occurrences(job):
        flags = [name for name in ("is_definition", "is_converted") if getattr(one, name)]
        yield f"{one.symbol.kind.value} {one.symbol.name!a} {one.symbol.scope} {_at(text, one.span)} {' '.join(flags)}"
    for answer_ in job.template_answers:
        roles = [role.name for role in answer_.roles]
        where = answer_.container.span.start if answer_.container else None
        value = ascii(plain_value(answer_.node)) if answer_.node else None
        end = f"step {answer_.step} of {answer_.path_above!a} in {where}"
        yield f"template {_at(text, answer_.use.span)} {answer_.outcome.value!a} {end} for {roles} = {value}"
        yield f"  {_at(text, answer_.span)} {'runtime' if answer_.in_plugin else 'server'}"
    for role in job.task_roles:
        done = expansion(job.require_graph, role.prerequisites)
        steps = [
            (one.definition.name, dict(one.values), [two.definition.name for two in one.required]) for one in done.steps
        ]
        yield f"expansion of {role.name} {steps!a}"
        unfilled = [(link.reference.name, list(names)) for link, names in done.unfilled.items()]
        yield f"  unresolved {[link.reference.name for link in done.unresolved]} unfilled {unfilled}"
        yield f"  cycles {[[two.name for two in one.definitions] for one in done.cycles]}"
    for cycle in cycles(job.require_graph):
        yield f"cycle {[one.name for one in cycle.definitions]} closed by {cycle.closing.reference.name}"
    for definition in job.definitions:
        used = [job.is_used(definition), [role.name for role in job.roles_running(definition)]]
        parameters = [one.name for one in definition.parameters]
        yield f"definition {_at(text, definition.name_span)} used {used} parameters {parameters}"
        for scalar, tag, fault in this_faults(job.require_graph, definition):
            place = fault.span(tag, mapped(text, scalar))
            yield f"  this {_at(text, place)} {fault.message!a} {fault.near} {fault.without_blanks}"
    yield from (f"mention {_at(text, one.span)} {one.parts} {one.right_role_name}" for one in job.role_mentions)
    yield from (f"secret {_at(text, one.span)} {one.kind}" for one in job.clear_secrets)
    yield f"hidden {[_at(text, one) for one in job.hidden.spans]}"


if __name__ == "__main__":
    lines: list[str] = []
    for name, (content, _) in sections().items():
        shown = (line.encode("unicode_escape").decode() for line in content.split("\n"))
        lines += [f"# {name}", *(f"|{line}" for line in shown), *answer(name, content)]
    RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")
