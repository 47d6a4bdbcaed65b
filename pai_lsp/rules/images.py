"""Rules about docker images: what the runtime's image checker makes of an address, and of the account for it.

Facts: openpai-runtime, src/init.d/image_checker.py; rest-server, models/v2/job/k8s.js (image pull secrets).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.definition import name_span
from pai_lsp.diagnostic import Finding, Fix, Related, Severity, rule
from pai_lsp.edits import insert_entry
from pai_lsp.fixes import change_fix
from pai_lsp.syntax import Mapping, Scalar, Style
from pai_lsp.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.definition import Definition
    from pai_lsp.job import Job

# What image_checker.py, _get_normalized_image_info, takes for a repository and for a tag.
_REPOSITORY = re.compile(r"[a-z\-_.0-9]+[/a-z\-_.0-9]*")
_TAG = re.compile(r"[a-z\-_.0-9]+")

_DOCKER_HUB = "https://index.docker.io/v1/"
_DOCKER_HUB_HOSTS = frozenset({"", "docker.io", "index.docker.io", "registry-1.docker.io", "hub.docker.com"})


@rule(Severity.ERROR)
def image_uri_unsupported(job: Job) -> Iterator[Finding]:
    """The address of an image is one that the runtime's image checker refuses.

    Before a task starts, the init container looks the image up. Its grammar is narrower than docker's: a repository and
    a tag are made of lower-case letters, digits, `-`, `_` and `.`; there may be a host in front and no digest behind.
    Anything else ends the task with exit code 254, "ContainerImageNotExists", even if docker could pull the image.
    `<% %>` is not filled here, so it is refused as well.
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
    for definition in _checked_images(job):
        uri = _string(definition, "uri")
        if uri is None or (job.is_catalogue and ("{{" in uri.text or "<%" in uri.text)):
            continue
        if not uri.text:
            place = uri.span if len(uri.span) else definition.name_span
            yield Finding(place, "an image needs an address; the image checker refuses an empty one")
            continue
        wrong = _wrong_part(uri.text)
        if wrong is not None:
            start, end, message = wrong
            yield Finding(_within(uri, start, end), message, _lower_case_fixes(uri))


@rule(Severity.ERROR)
def auth_without_registryuri(job: Job) -> Iterator[Finding]:
    """An image has a username and a password but no `registryuri`, and the job has secrets.

    The image checker reads the registry only when `registryuri` is written, and uses it in any case: the init container
    dies with an UnboundLocalError, exit code 254.
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
    if not job.secrets:
        return
    for definition in _checked_images(job):
        auth = definition.node.entry("auth")
        if auth is None or not isinstance(auth.value, Mapping) or auth.value.entry("registryuri"):
            continue
        username, password = auth.value.get("username"), auth.value.get("password")
        if not (isinstance(username, Scalar) and username.text and isinstance(password, Scalar) and password.text):
            continue
        uri = _string(definition, "uri")
        registry = (_host(uri.text) if uri else "") or _DOCKER_HUB
        fix = Fix(
            f"Add 'registryuri: {registry}'",
            (insert_entry(job.text, auth.value, f"registryuri: {registry}"),),
            safe=True,
        )
        yield Finding(auth.key.span, "'auth' has no 'registryuri'; the image checker fails without it", (fix,))


@rule(Severity.WARNING)
def auth_without_secrets(job: Job) -> Iterator[Finding]:
    """An image has an account, and the job has no secrets.

    The image checker only looks at `auth` when the job has secrets. Without, it asks the registry as nobody, does not
    find a private image, and the task ends with exit code 254. A password in clear can also be read by everyone who can
    see the job: put it under `secrets`.
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
    if job.is_catalogue or (section is not None and (job.secrets or not isinstance(section.value, Mapping))):
        return
    for definition in _images(job):
        auth = definition.node.entry("auth")
        if auth is not None and isinstance(auth.value, Mapping) and auth.value.entry("password"):
            yield Finding(auth.key.span, "the image checker ignores 'auth' in a job without 'secrets'")


@rule(Severity.WARNING)
def registry_mismatch(job: Job) -> Iterator[Finding]:
    """The account of an image is for another registry than the one that the image comes from.

    The registry is the host in front of `uri`; without a host it is Docker Hub, whatever `registryuri` says. The
    account is then not used for the image (the image checker logs "Using default registry ... ignore auth info").
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
    for definition in _images(job):
        auth, uri = definition.node.get("auth"), _string(definition, "uri")
        registry = auth.get("registryuri") if isinstance(auth, Mapping) else None
        if uri is None or not uri.text or not isinstance(registry, Scalar) or not isinstance(registry.value, str):
            continue
        if any(mark in registry.text + uri.text for mark in ("<%", "{{", " ")):
            continue
        account, image = _registry_host(registry.text), _host(uri.text).lower()
        if not account or account == image or (account in _DOCKER_HUB_HOSTS and image in _DOCKER_HUB_HOSTS):
            continue
        source = f"from '{image}'" if image else "from Docker Hub, because its address names no registry"
        place = name_span(registry)
        start = name_span(uri).start
        is_name = not image and not uri.is_block and "." in account
        fixes = (Fix(f"Take the image from '{account}'", (TextEdit(Span(start, start), f"{account}/"),)),)
        yield Finding(
            place,
            f"this account is for '{account}', and the image comes {source}",
            fixes if is_name else (),
            (Related(name_span(uri), "the image"),),
        )


@rule(Severity.INFORMATION)
def image_latest_tag(job: Job) -> Iterator[Finding]:
    """An image has no tag, or the tag `latest`.

    The image is pulled anew for every task and retry, so that two runs of one job may run different software, and even
    two tasks of one run.
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
    for definition in _images(job):
        uri = _string(definition, "uri")
        if uri is None or not uri.text or "<%" in uri.text or "{{" in uri.text or _wrong_part(uri.text):
            continue
        repository, colon, tag = _rest(uri.text).partition(":")
        if not colon:
            yield Finding(name_span(uri), f"'{repository}' has no tag, which means 'latest': it may change any time")
        elif tag == "latest":
            end = len(uri.text)
            yield Finding(_within(uri, end - len(tag), end), "what 'latest' means may change any time")


def _images(job: Job) -> Iterator[Definition]:
    """The definitions of docker images."""
    return (definition for definition in job.definitions if definition.type == "dockerimage")


def _checked_images(job: Job) -> Iterator[Definition]:
    """The images that are surely looked up: those that a role runs in, and all of a catalogue."""
    if job.is_catalogue:
        return _images(job)
    return job.chosen_images


def _string(definition: Definition, key: str) -> Scalar | None:
    node = definition.node.get(key)
    return node if isinstance(node, Scalar) and isinstance(node.value, str) else None


def _host(uri: str) -> str:
    """The registry in front of an image's address; empty for Docker Hub. Source: _is_default_domain_used."""
    host, slash, _ = uri.partition("/")
    return host if slash and ("." in host or ":" in host) else ""


def _rest(uri: str) -> str:
    """The address without its registry."""
    host = _host(uri)
    return uri[len(host) + 1 :] if host else uri


def _registry_host(registry: str) -> str:
    """The host that a `registryuri` names, as `https://index.docker.io/v1/` names `index.docker.io`."""
    return re.sub(r"^https?://", "", registry.strip()).partition("/")[0].lower()


def _wrong_part(uri: str) -> tuple[int, int, str] | None:
    """The part of an address that the image checker refuses (half-open, in the address), and why, if any."""
    rest = _rest(uri)
    start = len(uri) - len(rest)
    repository, *behind = rest.split(":")
    digest = rest.find("@")
    if digest >= 0:
        return start + digest, len(uri), "the image checker refuses a digest; name a tag"
    if not _REPOSITORY.fullmatch(repository):
        end = start + len(repository)
        return start, end, _complaint(repository, "repository", _REPOSITORY)
    if behind and not _TAG.fullmatch(behind[0]):
        at = start + len(repository) + 1
        if not behind[0]:
            return at - 1, at, "a tag is missing behind ':'"
        return at, at + len(behind[0]), _complaint(behind[0], "tag", _TAG)
    return None


def _complaint(part: str, what: str, grammar: re.Pattern[str]) -> str:
    if grammar.fullmatch(part.lower()):
        return f"the image checker refuses upper case in the {what} '{part}'"
    if not part:
        return f"the image checker refuses an address without a {what}"
    wrong = next((character for character in part if not _TAG.fullmatch(character.lower()) and character != "/"), "/")
    shown = wrong if wrong.isprintable() and wrong != " " else ("a blank" if wrong.isspace() else f"U+{ord(wrong):04X}")
    quoted = shown if len(shown) > 1 else f"'{shown}'"
    return f"the image checker refuses {quoted} in the {what} '{' '.join(part.split())}'"


def _lower_case_fixes(uri: Scalar) -> tuple[Fix, ...]:
    """Lower case where only case is wrong; another tag may be another image, so this is never applied unasked."""
    start = len(uri.text) - len(_rest(uri.text))
    mended = uri.text[:start] + uri.text[start:].lower()
    if mended == uri.text or _wrong_part(mended) or uri.is_block or "\n" in uri.text:
        return ()
    return (change_fix(name_span(uri), mended),)


def _within(scalar: Scalar, start: int, end: int) -> Span:
    """The place of `text[start:end]`; the whole scalar where its text is not written as it is."""
    span = name_span(scalar)
    if scalar.style is Style.PLAIN or (not scalar.is_block and len(span) == len(scalar.text)):
        return Span(span.start + start, span.start + end) if len(span) == len(scalar.text) else span
    return span


RULES = (image_uri_unsupported, auth_without_registryuri, auth_without_secrets, registry_mismatch, image_latest_tag)
