"""Rules about the addresses of docker images, as the runtime's image checker reads them.

Facts: openpai-runtime, src/init.d/image_checker.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Fix, Severity, rule
from pai_lsp.findings.fixes import change_fix
from pai_lsp.job.definition import name_span
from pai_lsp.source.nodes import Scalar, ScalarStyle
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.definition import Definition
    from pai_lsp.job.job import Job


# The patterns of a repository and a tag in image_checker.py, _get_normalized_image_info.
_REPOSITORY = re.compile(r"[a-z\-_.0-9]+[/a-z\-_.0-9]*")
_TAG = re.compile(r"[a-z\-_.0-9]+")


@rule(Severity.ERROR)
def image_uri_unsupported(job: Job) -> Iterator[Finding]:
    """Image address that the runtime refuses.

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
        if uri is None or (job.is_catalogue and ("{{" in uri.text or "<%" in uri.text)):
            continue
        if not uri.text:
            place = uri.span if len(uri.span) else definition.name_span
            yield Finding(place, "'uri' is empty; the image checker refuses it and the task dies")
            continue
        wrong = _wrong_part(uri.text)
        if wrong is not None:
            start, end, message = wrong
            yield Finding(_within(uri, start, end), message, _lower_case_fixes(uri))


@rule(Severity.INFORMATION)
def image_latest_tag(job: Job) -> Iterator[Finding]:
    """Image without a tag, or with the tag `latest`.

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
            yield Finding(
                name_span(uri), f"'{repository}' has no tag, which means 'latest' and can change at any time; pin a tag"
            )
        elif tag == "latest":
            end = len(uri.text)
            yield Finding(_within(uri, end - len(tag), end), "'latest' can change at any time; pin a tag")


def _wrong_part(uri: str) -> tuple[int, int, str] | None:
    """The part of an address that the image checker refuses (half-open, in the address), and why, if any."""
    rest = without_host(uri)
    start = len(uri) - len(rest)
    repository, *tags = rest.split(":")
    digest = rest.find("@")
    if digest >= 0:
        return start + digest, len(uri), "the image checker refuses a digest; use a tag"
    if not _REPOSITORY.fullmatch(repository):
        end = start + len(repository)
        return start, end, _complaint(repository, "repository", _REPOSITORY)
    if tags and not _TAG.fullmatch(tags[0]):
        at = start + len(repository) + 1
        if not tags[0]:
            return at - 1, at, "a tag is missing after ':'"
        return at, at + len(tags[0]), _complaint(tags[0], "tag", _TAG)
    return None


def _complaint(part: str, what: str, grammar: re.Pattern[str]) -> str:
    if grammar.fullmatch(part.lower()):
        return f"the image checker refuses upper case in the {what} '{part}'"
    if not part:
        return f"the image checker refuses an address without a {what}"
    wrong = next((character for character in part if not _TAG.fullmatch(character.lower()) and character != "/"), "/")
    shown = wrong if wrong.isprintable() and wrong != " " else ("a space" if wrong.isspace() else f"U+{ord(wrong):04X}")
    quoted = shown if len(shown) > 1 else f"'{shown}'"
    return f"the image checker refuses {quoted} in the {what} '{' '.join(part.split())}'"


def _lower_case_fixes(uri: Scalar) -> tuple[Fix, ...]:
    """Change to lower case if only the case is wrong; not a safe fix, because it may be a different image."""
    start = len(uri.text) - len(without_host(uri.text))
    lowered = uri.text[:start] + uri.text[start:].lower()
    if lowered == uri.text or _wrong_part(lowered) or uri.is_block or "\n" in uri.text:
        return ()
    return (change_fix(name_span(uri), lowered),)


def _within(scalar: Scalar, start: int, end: int) -> Span:
    """The span of `text[start:end]`; the whole scalar if it is written with escapes."""
    span = name_span(scalar)
    if scalar.style is ScalarStyle.PLAIN or (not scalar.is_block and len(span) == len(scalar.text)):
        return Span(span.start + start, span.start + end) if len(span) == len(scalar.text) else span
    return span


def images(job: Job) -> tuple[Definition, ...]:
    """The definitions of docker images."""
    return tuple(definition for definition in job.definitions if definition.type == "dockerimage")


def checked_images(job: Job) -> tuple[Definition, ...]:
    """The images that are surely looked up: those of task roles, and all in a catalog file."""
    return images(job) if job.is_catalogue else job.chosen_images


def text_of(definition: Definition, key: str) -> Scalar | None:
    """The value of one of a definition's keys, if it is a string."""
    node = definition.node.get(key)
    return node if isinstance(node, Scalar) and isinstance(node.value, str) else None


def image_host(uri: str) -> str:
    """The registry at the start of an image's address; empty for Docker Hub. Source: _is_default_domain_used."""
    host, slash, _ = uri.partition("/")
    return host if slash and ("." in host or ":" in host) else ""


def without_host(uri: str) -> str:
    """The address without its registry."""
    host = image_host(uri)
    return uri[len(host) + 1 :] if host else uri


def registry_host(registry: str) -> str:
    """The host that a `registryuri` names, as `https://index.docker.io/v1/` names `index.docker.io`."""
    return re.sub(r"^https?://", "", registry.strip()).partition("/")[0].lower()


RULES = (
    image_uri_unsupported,
    image_latest_tag,
)
