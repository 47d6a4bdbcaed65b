"""What the rules about docker images read: the definitions, and the registry in an image's address.

Source: openpai-runtime, src/init.d/image_checker.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.nodes import Scalar

if TYPE_CHECKING:
    from pai_lsp.definition import Definition
    from pai_lsp.job import Job


def images(job: Job) -> tuple[Definition, ...]:
    """The definitions of docker images."""
    return tuple(definition for definition in job.definitions if definition.type == "dockerimage")


def checked_images(job: Job) -> tuple[Definition, ...]:
    """The images that are surely looked up: those that a role runs in, and all of a catalogue."""
    return images(job) if job.is_catalogue else job.chosen_images


def text_of(definition: Definition, key: str) -> Scalar | None:
    """The value of one of a definition's keys, where it is a text."""
    node = definition.node.get(key)
    return node if isinstance(node, Scalar) and isinstance(node.value, str) else None


def image_host(uri: str) -> str:
    """The registry in front of an image's address; empty for Docker Hub. Source: _is_default_domain_used."""
    host, slash, _ = uri.partition("/")
    return host if slash and ("." in host or ":" in host) else ""


def without_host(uri: str) -> str:
    """The address without its registry."""
    host = image_host(uri)
    return uri[len(host) + 1 :] if host else uri


def registry_host(registry: str) -> str:
    """The host that a `registryuri` names, as `https://index.docker.io/v1/` names `index.docker.io`."""
    return re.sub(r"^https?://", "", registry.strip()).partition("/")[0].lower()
