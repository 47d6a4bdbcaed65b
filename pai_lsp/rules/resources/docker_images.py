"""Rules about docker images: their addresses, as the runtime's image checker reads them, and their registry accounts.

Facts: openpai-runtime, src/init.d/image_checker.py; rest-server, models/v2/job/k8s.js (image pull secrets).
"""

from __future__ import annotations

from pai_lsp.findings.diagnostic import Consequence, Finding, Fixes, Related, Severity, Stage, later, rule
from pai_lsp.findings.fixes import change_fix, fix_of, quote_fix
from pai_lsp.job.definition import name_span
from pai_lsp.job.template_answers import PathOutcome
from pai_lsp.platform.image_addresses import (
    DOCKER_HUB,
    DOCKER_HUB_HOSTS,
    REPOSITORY,
    TAG,
    image_host,
    registry_host,
    without_host,
)
from pai_lsp.source.edits import insert_entry
from pai_lsp.source.nodes import Mapping, Scalar, entries_of, entry_at, scalar_text, value_at
from pai_lsp.source.scalar import counts_as_false
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job
    from pai_lsp.source.nodes import Node


# Also those that a word processor writes.
_QUOTES = "\"'`\u201c\u201d\u2018\u2019"


@rule(Severity.ERROR, stage=Stage.RUNTIME)
def image_uri_unsupported(job: Job) -> Iterator[Finding]:
    """The runtime refuses the address of an image.

    Before a task starts, the init container looks up the image. Its grammar is stricter than docker's: a repository and
    a tag consist of lower-case letters, digits, `-`, `_` and `.`; a registry host before them is allowed, a digest
    after them is not. For anything else the task ends with exit code 254, "ContainerImageNotExists", even if docker
    could pull the image. `<% %>` is not filled here, so it is refused as well.
    Source: openpai-runtime, src/init.d/image_checker.py, _get_normalized_image_info.

        prerequisites:
          - type: dockerimage
            name: image
            uri: openpai/standard:V1
            #                     ^^ error
        taskRoles:
          worker:
            dockerImage: image

    Good:

        prerequisites:
          - type: dockerimage
            name: image
            uri: openpai/standard:v1
        taskRoles:
          worker:
            dockerImage: image
    """
    for definition in checked_images(job):
        uri = text_of(definition, "uri")
        if uri is None or (job.is_catalog and ("{{" in uri.text or "<%" in uri.text)):
            continue
        if not uri.text:
            place = uri.span if len(uri.span) else definition.name_span
            yield Finding(place, "'uri' is empty; the image checker refuses it and the task dies")
        elif wrong := _wrong_part(uri.text):
            start, end, message = wrong
            yield Finding(_within(uri, start, end), message, _address_fixes(uri))


@rule(Severity.INFORMATION, stage=Stage.RUNTIME)
def image_latest_tag(job: Job) -> Iterator[Finding]:
    """An image has no tag, or the tag `latest`.

    The image is pulled again for every task and retry, so two runs of a job, and even two tasks of one run, may use
    different software.
    Source: rest-server, models/v2/job/k8s.js (imagePullPolicy: Always).

        prerequisites:
          - type: dockerimage
            name: image
            uri: openpai/standard
            #    ^^^^^^^^^^^^^^^^ information

    Good:

        prerequisites:
          - type: dockerimage
            name: image
            uri: openpai/standard:python_3.6-pytorch_1.2.0-gpu
    """
    for definition in images(job):
        uri = text_of(definition, "uri")
        if uri is None or not uri.text or "<%" in uri.text or "{{" in uri.text or _wrong_part(uri.text):
            continue
        repository, colon, tag = without_host(uri.text).partition(":")
        if not colon:
            message = f"'{repository}' has no tag, which means 'latest' and can change at any time; pin a tag"
            yield Finding(name_span(uri), message)
        elif tag == "latest":
            end = len(uri.text)
            yield Finding(_within(uri, end - len(tag), end), "'latest' can change at any time; pin a tag")


def _wrong_part(uri: str) -> tuple[int, int, str] | None:
    """The part of an address that the image checker refuses (half-open, in the address), and why, if any."""
    rest = without_host(uri)
    start = len(uri) - len(rest)
    repository, *tags = rest.split(":")
    if "@" in rest:
        return start + rest.index("@"), len(uri), "the image checker refuses a digest; use a tag"
    if not REPOSITORY.fullmatch(repository):
        end = start + len(repository)
        return start, end, _complaint(repository, "repository", REPOSITORY)
    if tags and not TAG.fullmatch(tags[0]):
        at = start + len(repository) + 1
        if not tags[0]:
            return at - 1, at, "a tag is missing after ':'"
        return at, at + len(tags[0]), _complaint(tags[0], "tag", TAG)
    return None


def _complaint(part: str, what: str, grammar: re.Pattern[str]) -> str:
    if grammar.fullmatch(part.lower()):
        return f"the image checker refuses upper case in the {what} '{part}'"
    if not part:
        return f"the image checker refuses an address without a {what}"
    wrong = next((character for character in part if not TAG.fullmatch(character.lower()) and character != "/"), "/")
    shown = "a space" if wrong.isspace() else f"'{wrong}'" if wrong.isprintable() else f"U+{ord(wrong):04X}"
    return f"the image checker refuses {shown} in the {what} '{' '.join(part.split())}'"


@later
def _address_fixes(uri: Scalar) -> Fixes:
    """Remove quotes around the address, of which one may be left; no address has them.

    Or change to lower case if only the case is wrong; that is not safe, because it may be a different image.
    """
    if uri.is_block or "\n" in uri.text:
        return ()
    bare = uri.text.strip(_QUOTES)
    if bare and bare != uri.text and _wrong_part(bare) is None:
        return change_fix(name_span(uri), bare, safe=True)
    start = len(uri.text) - len(without_host(uri.text))
    lowered = uri.text[:start] + uri.text[start:].lower()
    return change_fix(name_span(uri), lowered) if lowered != uri.text and not _wrong_part(lowered) else ()


def _within(scalar: Scalar, start: int, end: int) -> Span:
    """The span of `text[start:end]`; the whole scalar if it is written with escapes."""
    span = name_span(scalar)
    is_as_written = not scalar.is_block and len(span) == len(scalar.text)
    return Span(span.start + start, span.start + end) if is_as_written else span


def images(job: Job) -> tuple[Definition, ...]:
    """The definitions of docker images."""
    return tuple(definition for definition in job.definitions if definition.type == "dockerimage")


def checked_images(job: Job) -> tuple[Definition, ...]:
    """The images that are surely looked up: those of task roles, and all in a catalog file."""
    return images(job) if job.is_catalog else job.chosen_images


def text_of(definition: Definition, key: str) -> Scalar | None:
    """The value of one of a definition's keys, if it is a string."""
    node = definition.node.get(key)
    return node if isinstance(node, Scalar) and isinstance(node.value, str) else None


@rule(Severity.ERROR, stage=Stage.SERVER, about=("auth",))
def auth_not_strings(job: Job) -> Iterator[Finding]:
    """A value in an image's `auth` is not a string.

    The rest-server fills templates in every value of `auth`, whatever its key, and responds with status 500 if one is a
    number, a boolean, a list or a mapping.
    Source: rest-server, middlewares/v2/protocol.js, protocolRender.

        prerequisites:
          - name: image
            type: dockerimage
            uri: registry.example.com/train:v1
            auth:
              username: reader
              id: 5
              #   ^ error

    Good:

        prerequisites:
          - name: image
            type: dockerimage
            uri: registry.example.com/train:v1
            auth:
              username: reader
              id: "5"
    """
    for definition in job.prerequisites:
        auth = definition.node.get("auth") if definition.type == "dockerimage" else None
        for entry in entries_of(auth):
            value = entry.value
            # The server renders nothing for such a value.
            is_fine = isinstance(value, Scalar) and (value.is_string or counts_as_false(value.value))
            if not is_fine and entry.name not in _ACCOUNT:
                fixes = quote_fix(value) if isinstance(value, Scalar) and value.tag is None else ()
                message = f"'{entry.name}' must be a string; the rest-server refuses the job with status 500"
                yield Finding(entry.place, message, fixes)


# The schema has these, so `type_mismatch` reports them.
_ACCOUNT = frozenset({"username", "password", "registryuri"})


@rule(Severity.ERROR, stage=Stage.RUNTIME, about=("auth",))
def auth_without_registryuri(job: Job) -> Iterator[Finding]:
    """The account of an image has no `registryuri`.

    In a job with secrets, the image checker fails for an account without `registryuri`: the init container dies with an
    UnboundLocalError, exit code 254.
    Source: openpai-runtime, src/init.d/image_checker.py, _init_auth_info.

        prerequisites:
          - type: dockerimage
            name: image
            uri: example.azurecr.io/train:v1
            auth:
            #^^^ error
              username: reader
              password: <% $secrets.docker %>
        secrets:
          docker: "******"
        taskRoles:
          worker:
            dockerImage: image

    Good:

        prerequisites:
          - type: dockerimage
            name: image
            uri: example.azurecr.io/train:v1
            auth:
              username: reader
              password: <% $secrets.docker %>
              registryuri: example.azurecr.io
        secrets:
          docker: "******"
        taskRoles:
          worker:
            dockerImage: image
    """
    # A secret that is not defined is empty for the image checker, which then needs no account.
    uses = [answer.use for answer in job.answers_with(PathOutcome.UNDEFINED) if answer.root == "$secrets"]
    unset = [use.span for use in uses if use.tag.span == Span(0, len(use.text.text))]
    for definition in checked_images(job) if job.secrets else ():
        auth = definition.node.entry("auth")
        if auth is None or not isinstance(auth.value, Mapping) or auth.value.entry("registryuri"):
            continue
        if not all(_is_given(auth.value.get(key), unset) for key in ("username", "password")):
            continue
        uri = text_of(definition, "uri")
        registry = (image_host(uri.text) if uri else "") or DOCKER_HUB
        line = f"registryuri: {registry}"
        fixes = fix_of(f"Add '{line}'", insert_entry, job.text, auth.value, line, safe=True)
        message = "'auth' has no 'registryuri', so the image checker fails and the task dies"
        yield Finding(auth.key.span, message, fixes)


def _is_given(node: Node | None, unset: list[Span]) -> bool:
    """Whether a value is there for the image checker, to which a secret that is not defined, at `unset`, is empty."""
    return node is not None and scalar_text(node) != "" and not any(span.start in node.span for span in unset)


@rule(Severity.WARNING, stage=Stage.RUNTIME, consequence=Consequence.IGNORED, about=("auth",))
def auth_without_account(job: Job) -> Iterator[Finding]:
    """An image's `auth` has no `username` or no `password`.

    The image checker uses an account only if it has both. Otherwise it looks up the image anonymously, does not find a
    private image, and the task ends with exit code 254.
    Source: openpai-runtime, src/init.d/image_checker.py, _init_auth_info; openpai, issue 4586.

        prerequisites:
          - type: dockerimage
            name: image
            uri: example.azurecr.io/train:v1
            auth:
            #^^^ warning
              password: <% $secrets.docker %>
              registryuri: example.azurecr.io
        secrets:
          docker: "******"

    Good:

        prerequisites:
          - type: dockerimage
            name: image
            uri: example.azurecr.io/train:v1
            auth:
              username: reader
              password: <% $secrets.docker %>
              registryuri: example.azurecr.io
        secrets:
          docker: "******"
    """
    # Without secrets, `auth_without_secrets` reports it.
    for definition in images(job) if job.secrets and not job.is_catalog else ():
        auth = definition.node.entry("auth")
        keys = {entry.name for entry in entries_of(auth.value)} & _ACCOUNT if auth is not None else set()
        missing = [f"'{key}'" for key in ("username", "password") if key not in keys]
        if auth is not None and keys and missing:
            message = f"'auth' has no {' and no '.join(missing)}, so the image checker does not use it"
            yield Finding(auth.key.span, message)


@rule(Severity.WARNING, stage=Stage.RUNTIME, consequence=Consequence.IGNORED, about=("auth",))
def auth_without_secrets(job: Job) -> Iterator[Finding]:
    """An image has an account, but the job has no secrets.

    The image checker only uses `auth` if the job has secrets. Otherwise it looks up the image anonymously, does not
    find a private image, and the task ends with exit code 254. A plain-text password can also be read by everyone who
    can see the job: put it under `secrets`.
    Source: openpai-runtime, src/init.d/image_checker.py, __init__; openpai-protocol, schemas/v2 (auth.password).

        prerequisites:
          - type: dockerimage
            name: image
            uri: example.azurecr.io/train:v1
            auth:
            #^^^ warning
              username: reader
              password: example
              registryuri: example.azurecr.io

    Good:

        prerequisites:
          - type: dockerimage
            name: image
            uri: example.azurecr.io/train:v1
            auth:
              username: reader
              password: <% $secrets.docker %>
              registryuri: example.azurecr.io
        secrets:
          docker: "******"
    """
    section = job.section("secrets")
    if job.is_catalog or (section is not None and (job.secrets or not isinstance(section.value, Mapping))):
        return
    for definition in images(job):
        auth = definition.node.entry("auth")
        if auth is not None and entry_at(auth.value, "password"):
            message = "the image checker ignores 'auth' in a job without 'secrets'; put the password there"
            yield Finding(auth.key.span, message)


@rule(Severity.WARNING, stage=Stage.RUNTIME, consequence=Consequence.IGNORED, about=("auth",))
def registry_mismatch(job: Job) -> Iterator[Finding]:
    """The account of an image is for a different registry.

    The registry of an image is the host at the start of `uri`; without a host it is Docker Hub, regardless of
    `registryuri`. The account of another registry is not used for the image (the image checker logs "Using default
    registry ... ignore auth info").
    Source: openpai-runtime, src/init.d/image_checker.py, _init_auth_info; openpai, issues 5031 and 4586.

        prerequisites:
          - type: dockerimage
            name: image
            uri: example/train:v1
            auth:
              username: reader
              password: <% $secrets.docker %>
              registryuri: example.azurecr.io
              #            ^^^^^^^^^^^^^^^^^^ warning

    Good:

        prerequisites:
          - type: dockerimage
            name: image
            uri: example.azurecr.io/example/train:v1
            auth:
              username: reader
              password: <% $secrets.docker %>
              registryuri: example.azurecr.io
    """
    for definition in images(job):
        auth, uri = definition.node.get("auth"), text_of(definition, "uri")
        registry = value_at(auth, "registryuri")
        if uri is None or not uri.text or not isinstance(registry, Scalar) or not isinstance(registry.value, str):
            continue
        if any(mark in registry.text + uri.text for mark in ("<%", "{{", " ")):
            continue
        if job.secrets and not isinstance(registry.runtime_value, str):
            continue  # `runtime_reads_differently` reports it
        account, image = registry_host(registry.text), image_host(uri.text).lower()
        if not account or account == image or (account in DOCKER_HUB_HOSTS and image in DOCKER_HUB_HOSTS):
            continue
        source = f"from '{image}'" if image else "from Docker Hub, because its address has no registry"
        start = name_span(uri).start
        is_name = not image and not uri.is_block and "." in account
        fixes = fix_of(f"Pull the image from '{account}'", TextEdit, Span(start, start), f"{account}/")
        message = f"this account is for '{account}', but the image comes {source}"
        related = (Related(name_span(uri), "the image"),)
        yield Finding(name_span(registry), message, fixes if is_name else (), related)
