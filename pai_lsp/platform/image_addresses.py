"""Addresses of docker images: how the runtime's check cuts them, and which hosts are Docker Hub.

Source: openpai-runtime, src/init.d/image_checker.py, _is_default_domain_used and _get_normalized_image_info.
"""

from __future__ import annotations

from pai_lsp.source.patterns import lazy_pattern

# What the check accepts, stricter than Docker: no upper case, no digest.
REPOSITORY = lazy_pattern(r"[a-z_.0-9-][/a-z_.0-9-]*")
TAG = lazy_pattern(r"[a-z_.0-9-]+")
# A page of Docker Hub has such a name. Source: distribution, reference/regexp.go.
_NAME = lazy_pattern(r"(?!localhost/)([a-z0-9][\w./-]*?)(?::[\w.-]+)?(?:@\S+)?")

DOCKER_HUB = "https://index.docker.io/v1/"
DOCKER_HUB_HOSTS = frozenset({"", "docker.io", "index.docker.io", "registry-1.docker.io", "hub.docker.com"})


def image_host(address: str) -> str:
    """The registry at the start of an image's address; empty for Docker Hub."""
    host, slash, _ = address.partition("/")
    return host if slash and ("." in host or ":" in host) else ""


def without_host(address: str) -> str:
    """The address without its registry."""
    host = image_host(address)
    return address[len(host) + 1 :] if host else address


def registry_host(registry: str) -> str:
    """The host that a `registryuri` names, as `https://index.docker.io/v1/` names `index.docker.io`."""
    address = registry.strip()
    for scheme in ("http://", "https://"):
        address = address.removeprefix(scheme)
    return address.partition("/")[0].lower()


def image_page(address: str) -> str:
    """The web page of an image; empty for one that is not on Docker Hub."""
    match = _NAME.fullmatch(without_host(address)) if image_host(address) in DOCKER_HUB_HOSTS else None
    if match is None:
        return ""
    name = match[1].removeprefix("library/")
    return f"https://hub.docker.com/r/{name}" if "/" in name else f"https://hub.docker.com/_/{name}"
