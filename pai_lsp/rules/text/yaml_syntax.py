"""Rules about YAML syntax, anchors and aliases that the rest-server or the runtime refuses or reads differently."""

from __future__ import annotations

from functools import partial

from pai_lsp.findings.diagnostic import Consequence, Finding, Fix, Fixes, Related, Severity, Stage, later, rule
from pai_lsp.findings.fixes import fix_of
from pai_lsp.platform.job_schema import structure_errors
from pai_lsp.platform.secrets_section import masked_span
from pai_lsp.rules.structure.structure_places import places
from pai_lsp.source.edits import entry_end, remove_entry
from pai_lsp.source.nodes import Mapping, ProblemKind, Sequence, SyntaxProblem, plain_value, walk
from pai_lsp.source.spelling import free_name, repeated
from pai_lsp.source.text import TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING
from pai_lsp.source.writing import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Anchor, Entry, Node
    from pai_lsp.source.text import Span


_reading_rule = partial(rule, stage=Stage.SERVER, is_about_reading=True)


def _problems(job: Job, kind: ProblemKind) -> Iterator[SyntaxProblem]:
    return (problem for problem in job.syntax.problems if problem.kind is kind)


@_reading_rule(Severity.ERROR, about=("yaml-syntax",))
def yaml_syntax(job: Job) -> Iterator[Finding]:
    """The file is not valid YAML.

    The rest-server responds with status 500 when it cannot parse the YAML.
    Source: rest-server, middlewares/v2/protocol.js (js-yaml 3.13, `safeLoad`).

        name: train
        type job
        #^^^^^^^ error

    Good:

        name: train
        type: job
    """
    for problem in _problems(job, ProblemKind.SYNTAX):
        title, edit = problem.fix or ("", None)
        fixes = fix_of(title, TextEdit, edit.span, edit.new_text) if edit else ()
        consequence = Consequence.DIES if problem.is_runtime_only else None
        yield Finding(problem.span, problem.message, fixes, consequence=consequence)


@_reading_rule(Severity.ERROR, about=("duplicate-key",))
def duplicate_key(job: Job) -> Iterator[Finding]:
    """A mapping has the same key twice.

    The rest-server's YAML parser refuses the file ("duplicated mapping key"). `a` and `"a"` are the same key.
    Source: js-yaml 3.13, lib/js-yaml/loader.js, storeMappingPair.

        name: train
        name: train2
        #^^^ error

    Good:

        name: train
    """
    for problem in _problems(job, ProblemKind.DUPLICATE_KEY):
        related = (Related(problem.other, "first defined here"),) if problem.other else ()
        fixes = _remove_doubled(job, problem) if problem.other else ()
        yield Finding(problem.span, problem.message, fixes, related)


@later
def _remove_doubled(job: Job, problem: SyntaxProblem) -> Fixes:
    """Remove keys that are written twice with the same value, or of which one has no value."""
    mapping, doubled = job.once(_doubled_keys).get(problem.span.start, (None, ()))
    edits: list[TextEdit] = []
    for entries in doubled:
        written = [job.text[one.key.span.end : entry_end(job.text, one)].strip() for one in entries]
        if mapping is None or len(written) != 2 or (written[0] != written[1] and ":" not in written):
            return ()
        edits += remove_entry(job.text, mapping, entries[0] if written[0] == ":" else entries[1])
    return (Fix("Remove what is written twice", tuple(edits), safe=True),) if edits else ()


def _doubled_keys(job: Job) -> dict[int, tuple[Mapping, list[list[Entry]]]]:
    """The mappings with keys that occur twice, each with its entries of these keys, by the offset of the second key."""
    found: dict[int, tuple[Mapping, list[list[Entry]]]] = {}
    for node in walk(job.root):
        if isinstance(node, Mapping):
            names: dict[str, list[Entry]] = {}
            for entry in node.entries:
                names.setdefault(entry.name, []).append(entry)
            if same := [entries for entries in names.values() if len(entries) > 1]:
                found[min(entries[1].key.span.start for entries in same)] = (node, same)
    return found


@_reading_rule(Severity.ERROR, about=("several-documents",))
def several_documents(job: Job) -> Iterator[Finding]:
    """The file has more than one YAML document.

    The rest-server accepts a single document ("expected a single document in the stream").
    Source: js-yaml 3.13, lib/js-yaml/loader.js, load.

        name: train
        ---
        #^^ error
        name: second

    Good:

        ---
        name: train
    """
    if not job.is_catalog:
        for problem in _problems(job, ProblemKind.SEVERAL_DOCUMENTS):
            yield Finding(problem.span, problem.message)


@_reading_rule(Severity.ERROR, about=("unquoted-template",))
def unquoted_template(job: Job) -> Iterator[Finding]:
    """A value that begins with `{{` has no quotes.

    YAML reads `{{ x }}` as a mapping inside a mapping. Where the rest-server wants a string, such as a `uri`, it
    refuses the job; elsewhere the runtime's YAML parser fails, so every task dies. Inside a longer string it is
    harmless.
    Source: openpai, issue 5345, whose own example has this mistake.

        prerequisites:
          - name: mnist
            mountPath: {{ mountPath }}
            #          ^^^^^^^^^^^^^^^ error

    Good:

        prerequisites:
          - name: mnist
            mountPath: "{{ mountPath }}"
    """
    problems = [*_problems(job, ProblemKind.UNQUOTED_TEMPLATE)]
    templates = {problem.span for problem in problems}
    is_taken = problems and not structure_errors(_read(job.syntax.root, templates), job.schema_kind, job.platform)
    for problem in problems:
        written = job.text[problem.span.start : problem.span.end]
        fixes = fix_of("Quote it", TextEdit, problem.span, quoted(written), safe=True)
        happens = Consequence.DIES if is_taken else None
        # The runtime does not read the secrets in the file; it is given what the rest-server reads.
        if problem.span.start in masked_span(job.text):
            happens = Consequence.FAILS
        yield Finding(problem.span, problem.message, fixes, consequence=happens)


def _read(node: Node | None, templates: set[Span]) -> Any:
    """A value of the file as the rest-server reads it, with mappings in place of templates."""
    if isinstance(node, Mapping):
        return {entry.name: _read(entry.value, templates) for entry in node.effective_entries()}
    if isinstance(node, Sequence):
        return [_read(item, templates) for item in node.items]
    return {} if node is not None and node.span in templates else plain_value(node)


@_reading_rule(Severity.ERROR, about=("too-large-to-read",))
def too_large_to_read(job: Job) -> Iterator[Finding]:
    """The file is too large, nested too deeply, or expands too much through aliases.

    pai-lsp stops parsing such a file. The rest-server accepts at most 102,400 bytes, so no valid job reaches these
    limits.
    Source: rest-server, src/config/express.js (bodyParser.text, default limit).
    """
    for problem in _problems(job, ProblemKind.TOO_LARGE):
        yield Finding(problem.span, problem.message)


@_reading_rule(Severity.WARNING, consequence=Consequence.STYLE, about=("alias-inside-itself",))
def alias_inside_itself(job: Job) -> Iterator[Finding]:
    """An alias is inside the value that it refers to.

    Both parsers build a value that contains itself endlessly, which no job needs.
    Source: js-yaml 3.13, lib/js-yaml/loader.js, readAlias; PyYAML, composer.py.

        parameters: &all
          again: *all
          #      ^^^^ warning

    Good:

        parameters:
          rate: &rate 0.1
          again: *rate
    """
    refused = _refused_aliases(job)
    for problem in _problems(job, ProblemKind.SELF_ALIAS):
        if problem.span not in refused:
            yield Finding(problem.span, problem.message)


@_reading_rule(Severity.ERROR, about=("alias-inside-itself",))
def alias_refused(job: Job) -> Iterator[Finding]:
    """An alias is inside the value that it refers to, where the rest-server expects a value of another type.

    The rest-server refuses the job.
    Source: js-yaml 3.13, lib/js-yaml/loader.js, readAlias; rest-server, config/v2/protocol.js.

        taskRoles:
          worker:
            commands: &all
              - echo hello
              - *all
              # ^^^^ error

    Good:

        taskRoles:
          worker:
            commands:
              - &hello echo hello
              - *hello
    """
    refused = _refused_aliases(job)
    for problem in _problems(job, ProblemKind.SELF_ALIAS):
        if problem.span in refused:
            yield Finding(problem.span, f"{problem.message}; the rest-server refuses the job")


def _refused_aliases(job: Job) -> set[Span]:
    """The spans of values with a structure error, if the job has aliases inside their own values."""
    if not any(_problems(job, ProblemKind.SELF_ALIAS)):
        return set()
    kinds = {error.kind for error in job.structure_errors}
    return {place.node.span for kind in kinds for place in places(job, kind) if place.node is not None}


@rule(Severity.ERROR, stage=Stage.RUNTIME)
def redefined_anchor(job: Job) -> Iterator[Finding]:
    """An anchor is defined twice.

    The rest-server uses the latest definition, as YAML 1.2 allows. The runtime's YAML parser refuses the file, so every
    task fails in its init container: "found duplicate anchor".
    Source: PyYAML, composer.py, compose_node.

        parameters:
          first: &rate "0.1"
          second: &rate "0.2"
          #        ^^^^ error

    Good:

        parameters:
          first: &first "0.1"
          second: &second "0.2"
    """
    if job.is_catalog:
        return
    masked = masked_span(job.text)
    read = [one for one in job.syntax.anchors if one.span.start not in masked]
    for anchor, earlier in repeated(read, lambda one: one.name):
        message = f"the anchor '{anchor.name}' is already defined; the runtime refuses the file"
        related = (Related(earlier.span, "first defined here"),)
        yield Finding(anchor.span, message, _rename_anchor(job, anchor), related)


@later
def _rename_anchor(job: Job, anchor: Anchor) -> Fixes:
    new_name = free_name(anchor.name, {one.name for one in job.syntax.anchors}, separator="")
    aliases = [one.span for one in job.syntax.aliases if one.anchor is anchor]
    edits = tuple(TextEdit(span, new_name) for span in (anchor.span, *aliases))
    return (Fix(f"Rename to '{new_name}'", edits, safe=True),)


@rule(Severity.ERROR, stage=Stage.RUNTIME)
def secrets_anchor(job: Job) -> Iterator[Finding]:
    """An alias refers to an anchor inside `secrets`, which the runtime does not see.

    The rest-server replaces the text of `secrets` before it stores the job. The runtime then reads an alias without its
    anchor, and every task fails in its init container: "found undefined alias". Where another anchor before it has the
    same name, the runtime takes that one's value, which is a warning. Refer to the secret as `<% $secrets.name %>`
    instead, or define the anchor elsewhere.
    Sources: rest-server, utils/protocolSecret.js; PyYAML, composer.py, compose_node.

        secrets:
          token: &token "not-a-real-one"
        parameters:
          key: *token
          #     ^^^^^ error
        taskRoles: {}

    Good:

        secrets:
          token: "not-a-real-one"
        parameters:
          key: plain
        taskRoles: {}
    """
    if not job.syntax.aliases or job.is_catalog:
        return
    masked = masked_span(job.text)
    seen = {one.name: one for one in reversed(job.syntax.anchors) if one.span.start not in masked}
    for alias in job.syntax.aliases:
        anchor = alias.anchor
        if anchor is None or anchor.span.start not in masked or alias.span.start in masked:
            continue
        hidden = f"the anchor '{alias.name}' is inside 'secrets', which the runtime does not see"
        here = Related(anchor.span, "defined here")
        other = seen.get(alias.name)
        if other is None or other.span > alias.span:
            yield Finding(alias.span, f"{hidden}; every task dies", related=(here,))
        else:
            message = f"{hidden}; it takes the earlier one of that name"
            related = (here, Related(other.span, "what the runtime takes"))
            yield Finding(alias.span, message, (), related, severity=Severity.WARNING, consequence=Consequence.IGNORED)
