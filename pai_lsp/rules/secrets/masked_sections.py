r"""Rules about the section `secrets`, which the rest-server finds by a pattern and masks before it stores the job.

Everyone who may see the job can read the stored text, and the runtime parses it again. So secrets that the pattern
misses are readable, and other keys that it matches are lost.
Source: rest-server, src/utils/protocolSecret.js: the text from `/(^secrets:)[^]*?(^\w)/m` is replaced.
"""

from __future__ import annotations

from pai_lsp.findings.diagnostic import Consequence, Finding, Fixes, Related, Severity, Stage, later, rule
from pai_lsp.findings.fixes import fix_of
from pai_lsp.job.definition import is_empty
from pai_lsp.platform.secrets_section import is_line_start, masked_span
from pai_lsp.source.nodes import Mapping, ProblemKind, Scalar, ScalarStyle, Sequence
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING
from pai_lsp.source.writing import written_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Entry

_KEY = "secrets:"
_NOTHING = lazy_pattern(r"(?:\s|#[^\n\r]*|\.\.\.)*")
# What ends the hidden text, at the start of a line.
_ENDS_MASK = lazy_pattern(r"[A-Za-z0-9_]")
_WORD = lazy_pattern(r"\w+")
_COLON = lazy_pattern(r"[ \t]*:")


def stored_text(text: str, hidden: Span) -> str:
    """The job as the rest-server stores it."""
    return f'{text[: hidden.start]}{_KEY} "******"\n{text[hidden.end :]}'


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.STYLE, about=("secrets",))
def secrets_not_masked(job: Job) -> Iterator[Finding]:
    """Secrets remain readable in the stored job.

    Before the rest-server stores a job, it masks the text after an unquoted `secrets:` at the start of a line, up to
    the next line that begins with a letter, a digit or `_`. It does not find `"secrets":`, `secrets :`, an indented or
    merged section or one in braces, and it stops inside a value with such a line.
    Source: rest-server, src/utils/protocolSecret.js.

        "secrets":
        #^^^^^^^^ warning
          token: not-a-real-one

    Good:

        secrets:
          token: not-a-real-one
    """
    entry = job.section("secrets")
    if entry is None or isinstance(entry.value, Scalar) or is_empty(entry.value):
        return
    hidden = masked_span(job.text)
    key = entry.key.span
    if not len(hidden) or hidden.start != key.start:
        message = "only an unquoted 'secrets:' at the start of a line is masked; everyone can read these secrets"
        yield Finding(key, message, _plain_key_fix(job, entry))
    elif hidden.end < entry.value.span.end:
        message = "secrets are only masked up to a line that begins with a letter or digit; everyone can read the rest"
        yield Finding(key, message)


@later
def _plain_key_fix(job: Job, entry: Entry) -> Fixes:
    start = entry.key.span.start
    is_own = job.root is not None and job.root.own(entry.name) is entry
    colon = _COLON.match(job.text, entry.key.span.end)
    if not is_own or colon is None or not is_line_start(job.text, start):
        return ()
    key = Span(start, colon.end())
    # Where it is written so already, another 'secrets:' above is masked instead.
    is_right = job.text[key.start : key.end] == _KEY
    return () if is_right else fix_of("Write 'secrets:'", TextEdit, key, _KEY, safe=True)


@rule(Severity.ERROR, stage=Stage.RUNTIME)
def key_after_secrets_swallowed(job: Job) -> Iterator[Finding]:
    """A key after `secrets` is masked with them and lost.

    The rest-server masks everything from `secrets:` to the next line that begins with a letter, a digit or `_`. A key
    in quotes, after `?` or after an anchor does not end the secrets. Without `taskRoles`, `prerequisites`, or
    parameters that a plugin uses, the task dies before it starts.
    Sources: rest-server, src/utils/protocolSecret.js; openpai-runtime, src/init.d/initializer.py, image_checker.py.

        secrets:
          token: not-a-real-one
        "taskRoles":
        #^^^^^^^^^^ error
          worker:
            instances: 1

    Good:

        secrets:
          token: not-a-real-one
        taskRoles:
          worker:
            instances: 1
    """
    for entry in _swallowed(job):
        if lost := [name for name in _names(entry) if _is_needed(job, name)]:
            message = f"'{lost[0]}' is masked with the secrets above, so the task dies before it starts"
            yield Finding(entry.key.span, message, _unquote_fix(entry))


@rule(Severity.WARNING, stage=Stage.RUNTIME, consequence=Consequence.IGNORED)
def key_missing_in_stored_job(job: Job) -> Iterator[Finding]:
    """A key after `secrets` is missing from the stored job.

    The rest-server masks everything from `secrets:` to the next line that begins with a letter, a digit or `_`. The
    tasks start without this key, but runtime plugins under `extras` do not run, and a copy of the job does not have the
    key.
    Source: rest-server, src/utils/protocolSecret.js.

        secrets:
          token: not-a-real-one
        "contributor": me
        #^^^^^^^^^^^^ warning
        taskRoles: {}

    Good:

        secrets:
          token: not-a-real-one
        contributor: me
        taskRoles: {}
    """
    for entry in _swallowed(job):
        names = _names(entry)
        if names and not any(_is_needed(job, name) for name in names):
            has_plugins = "extras" in names and job.plugins
            happens = "its plugins do not run" if has_plugins else "the stored job does not have it"
            message = f"'{names[0]}' is masked with the secrets above: {happens}"
            yield Finding(entry.key.span, message, _unquote_fix(entry))


def _swallowed(job: Job) -> Iterator[Entry]:
    """The keys of the job that are masked with the secrets."""
    hidden = masked_span(job.text)
    for entry in job.root.entries if job.root else ():
        if entry.name != "secrets" and hidden.start < entry.key.span.start < hidden.end:
            yield entry


def _names(entry: Entry) -> list[str]:
    if not entry.is_merge:
        return [entry.name]
    sources = entry.value.items if isinstance(entry.value, Sequence) else (entry.value,)
    return [one.name for source in sources if isinstance(source, Mapping) for one in source.effective_entries()]


def _is_needed(job: Job, name: str) -> bool:
    if name == "parameters":
        return any(answer.in_plugin and answer.root == "$parameters" for answer in job.template_answers)
    return name in {"taskRoles", "prerequisites"}


@later
def _unquote_fix(entry: Entry) -> Fixes:
    key = entry.key
    if not isinstance(key, Scalar) or key.style is ScalarStyle.PLAIN:
        return ()
    if not _ENDS_MASK.match(key.text) or written_key(key.text) != key.text:
        return ()
    return fix_of(f"Write '{key.text}' without quotes", TextEdit, key.span, key.text, safe=True)


@rule(Severity.ERROR, stage=Stage.RUNTIME)
def masking_breaks_job(job: Job) -> Iterator[Finding]:
    """Masking the secrets makes the job invalid YAML.

    The rest-server masks everything from `secrets:` to the next line that begins with a letter, a digit or `_`. If that
    line belongs to a secret, or if the masked lines contain the start of a value that continues after them, the runtime
    cannot parse the rest, and the task dies before it starts.
    Source: rest-server, src/utils/protocolSecret.js.

        secrets:
          token: "not-a-
        real-one"
        #^^^ error
        name: train

    Good:

        secrets:
          token: "not-a-real-one"
        name: train
    """
    hidden = masked_span(job.text)
    if not len(hidden) or job.root is None or job.syntax.problems or _is_regular(job, hidden):
        return
    outside = (one for one in job.syntax.aliases if one.span.start not in hidden)
    if any(one.anchor and one.anchor.span.start in hidden for one in outside):
        return  # secrets_anchor reports an alias without its anchor
    problems = parse(stored_text(job.text, hidden)).problems
    if any(problem.kind is ProblemKind.SYNTAX for problem in problems):
        key = Span(hidden.start, hidden.start + len(_KEY) - 1)
        word = _WORD.match(job.text, hidden.end)
        message = "the secrets are masked up to here, and the rest is not valid YAML: the task dies before it starts"
        yield Finding(Span(*word.span()) if word else key, message, related=(Related(key, "from here"),))


def _is_regular(job: Job, hidden: Span) -> bool:
    """Whether exactly the section is masked, up to the next key."""
    entry = job.root.own("secrets") if job.root else None
    if entry is None or entry.key.span.start != hidden.start or entry.value.span.end > hidden.end:
        return False
    nothing = _NOTHING.match(job.text, max(entry.value.span.end, entry.key.span.end + 1))
    return nothing is not None and nothing.end() >= hidden.end
