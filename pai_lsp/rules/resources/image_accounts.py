"""Rules about the registry account of a docker image.

Facts: openpai-runtime, src/init.d/image_checker.py; rest-server, models/v2/job/k8s.js (image pull secrets).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.findings.diagnostic import Finding, Fix, Related, Severity, rule
from pai_lsp.job.definition import name_span
from pai_lsp.rules.resources.images import checked_images, image_host, images, registry_host, text_of
from pai_lsp.source.edits import insert_entry
from pai_lsp.source.nodes import Mapping, Scalar
from pai_lsp.source.text import Span, TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job

_DOCKER_HUB = "https://index.docker.io/v1/"
_DOCKER_HUB_HOSTS = frozenset({"", "docker.io", "index.docker.io", "registry-1.docker.io", "hub.docker.com"})


@rule(Severity.ERROR)
def auth_without_registryuri(job: Job) -> Iterator[Finding]:
    """Image account without `registryuri`.

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
    if not job.secrets:
        return
    for definition in checked_images(job):
        auth = definition.node.entry("auth")
        if auth is None or not isinstance(auth.value, Mapping) or auth.value.entry("registryuri"):
            continue
        username, password = auth.value.get("username"), auth.value.get("password")
        if not (isinstance(username, Scalar) and username.text and isinstance(password, Scalar) and password.text):
            continue
        uri = text_of(definition, "uri")
        registry = (image_host(uri.text) if uri else "") or _DOCKER_HUB
        fix = Fix(
            f"Add 'registryuri: {registry}'",
            (insert_entry(job.text, auth.value, f"registryuri: {registry}"),),
            safe=True,
        )
        yield Finding(
            auth.key.span, "'auth' has no 'registryuri', so the image checker fails and the task dies", (fix,)
        )


@rule(Severity.WARNING)
def auth_without_secrets(job: Job) -> Iterator[Finding]:
    """Image account in a job without secrets.

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
        if auth is not None and isinstance(auth.value, Mapping) and auth.value.entry("password"):
            yield Finding(
                auth.key.span, "the image checker ignores 'auth' in a job without 'secrets'; put the password there"
            )


@rule(Severity.WARNING)
def registry_mismatch(job: Job) -> Iterator[Finding]:
    """Image account for a different registry.

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
        registry = auth.get("registryuri") if isinstance(auth, Mapping) else None
        if uri is None or not uri.text or not isinstance(registry, Scalar) or not isinstance(registry.value, str):
            continue
        if any(mark in registry.text + uri.text for mark in ("<%", "{{", " ")):
            continue
        account, image = registry_host(registry.text), image_host(uri.text).lower()
        if not account or account == image or (account in _DOCKER_HUB_HOSTS and image in _DOCKER_HUB_HOSTS):
            continue
        source = f"from '{image}'" if image else "from Docker Hub, because its address has no registry"
        place = name_span(registry)
        start = name_span(uri).start
        is_name = not image and not uri.is_block and "." in account
        fixes = (Fix(f"Pull the image from '{account}'", (TextEdit(Span(start, start), f"{account}/"),)),)
        yield Finding(
            place,
            f"this account is for '{account}', but the image comes {source}",
            fixes if is_name else (),
            (Related(name_span(uri), "the image"),),
        )


RULES = (
    auth_without_registryuri,
    auth_without_secrets,
    registry_mismatch,
)
