"""The runtime's check of an image before a task starts: what it asks the registry, and what it makes of the answers.

The check refuses an image (exit code 254) only when it is sure; whatever it does not understand passes, and the pull
then fails and is tried again for ever. The name's rules are stricter than those of registries.
Sources: openpai-runtime, src/init.d/image_checker.py; ltp-platform, src/openpai-runtime/src/src/init.d.
"""

from __future__ import annotations

import base64
import re
from enum import Enum
from typing import Protocol

from pai_lsp.expansion.as_is.runtime_reading import RuntimeStopError, after_runtime, runtime_job
from pai_lsp.source.frozen import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pai_lsp.job.job import Job

_DOCKER_HUB = "https://index.docker.io/v2/"
_REPOSITORY = re.compile(r"[a-z_.0-9-]+[/a-z_.0-9-]*")
_TAG = re.compile(r"[a-z_.0-9-]+")


class Presence(Enum):
    """Whether the image is there, as far as the registry says."""

    THERE = "there"
    ABSENT = "not there"
    UNKNOWN = "could not ask"


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a server; `body` as JSON gives it, None if it is something else."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None

    @property
    def is_good(self) -> bool:
        """Whether the status is below 400."""
        return self.status < 400


class CouldNotAskError(Exception):
    """No answer came; the message says why."""


class Registry(Protocol):
    """How questions reach a registry."""

    def ask(
        self, method: str, url: str, authorization: str | None, parameters: Mapping[str, str], accept: str = "*/*"
    ) -> Reply:
        """Send a request without a body.

        Raises:
            CouldNotAskError: if no answer comes.
        """


@dataclass(frozen=True, slots=True)
class ImageConfiguration:
    """What the registry says about how an image runs.

    architectures: of Linux, such as `amd64`; several for an image of several platforms.
    user: the user that the image names; empty for root.
    entrypoint: the image's own program, which the platform does not run.
    """

    architectures: tuple[str, ...] = ()
    user: str = ""
    entrypoint: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImageVerdict:
    """What the check makes of an image; `is_refused` ends the task with 254.

    configuration: None if the image is not there, or its configuration could not be read.
    """

    image: str
    is_refused: bool
    presence: Presence
    explanation: str
    configuration: ImageConfiguration | None = None


class _RefusedError(Exception):
    """The check is sure that the image cannot be used."""


class _PassedOverError(Exception):
    """The check gives up and lets the image pass."""

    def __init__(self, message: str, presence: Presence = Presence.UNKNOWN) -> None:
        super().__init__(message)
        self.presence = presence


def image_verdict(job: Job, role: str, registry: Registry) -> ImageVerdict:
    """The check of the image of a task role."""
    try:
        question = _question(job, role)
    except RuntimeStopError as error:
        return ImageVerdict("", is_refused=True, presence=Presence.UNKNOWN, explanation=str(error))
    image = question.image
    try:
        repository, tag = question.name()
        if question.host.endswith(job.platform.unasked_registries):
            text = f"{job.platform.title} does not ask this registry; if the image is missing, the job waits"
            return ImageVerdict(image, is_refused=False, presence=Presence.UNKNOWN, explanation=text)
        authorization = _ask(question, f"{question.registry}{repository}/manifests/{tag}", registry)
    except _RefusedError as error:
        presence = Presence.ABSENT if "does not have" in str(error) else Presence.UNKNOWN
        return ImageVerdict(image, is_refused=True, presence=presence, explanation=str(error))
    except _PassedOverError as error:
        return ImageVerdict(image, is_refused=False, presence=error.presence, explanation=str(error))
    except CouldNotAskError as error:
        text = f"the registry could not be asked: {error}"
        return ImageVerdict(image, is_refused=False, presence=Presence.UNKNOWN, explanation=text)
    text = "the registry has the image"
    found = _configuration(f"{question.registry}{repository}", tag, authorization, registry)
    return ImageVerdict(image, is_refused=False, presence=Presence.THERE, explanation=text, configuration=found)


@dataclass(frozen=True, slots=True)
class _Question:
    """An image, the registry that is asked for it, and the header of its account, if one is used."""

    image: str
    registry: str
    basic: str | None = None

    @property
    def host(self) -> str:
        """The registry in the image's name; empty for Docker Hub."""
        first, slash, _ = self.image.partition("/")
        return first if slash and ("." in first or ":" in first) else ""

    def name(self) -> tuple[str, str]:
        """The repository and the tag.

        Raises:
            _RefusedError: if the check does not accept the name.
        """
        rest = self.image.partition("/")[2] if self.host else self.image
        parts = rest.split(":")
        repository, tag = parts[0], parts[1] if len(parts) > 1 else "latest"
        if not _REPOSITORY.fullmatch(repository) or not _TAG.fullmatch(tag):
            message = f"the platform does not accept the name '{self.image}'; use lower case and no digest"
            raise _RefusedError(message)
        return (f"library/{repository}" if "/" not in repository and not self.host else repository), tag


def _question(job: Job, role: str) -> _Question:
    """What the check reads from the job.

    Raises:
        RuntimeStopError: if it fails on the job, which refuses the image as well.
    """
    known = runtime_job(job)
    try:
        name = known.values["taskRoles"][role]["dockerImage"]
        found = [one for one in known.values["prerequisites"] if one["name"] == name]
        if len(found) != 1:
            raise RuntimeStopError(f"{len(found)} prerequisites are named '{name}'; the image check needs exactly one")
        image, auth = found[0]["uri"], found[0].get("auth")
        plain = _Question(image, _DOCKER_HUB)
        registry = _registry(plain.host) if plain.host else _DOCKER_HUB
        if not auth or not known.secrets:
            return _Question(image, registry)
        return _with_account(_Question(image, registry), auth, known.secrets)
    except (LookupError, TypeError, AttributeError):
        raise RuntimeStopError("the image check fails on the job") from None


def _with_account(question: _Question, auth: Any, secrets: dict[str, Any]) -> _Question:
    """The question with the job's account, which replaces the registry; used only in a job with secrets."""
    registry = _registry(auth["registryuri"]) if "registryuri" in auth else None
    if registry is not None and not question.host and registry != _DOCKER_HUB:
        return question
    password = after_runtime(auth["password"], secrets, shows_secrets=True) if "password" in auth else ""
    name = auth.get("username", "")
    if not name or not password:
        return question
    if registry is None:
        raise RuntimeStopError("'auth' has no 'registryuri', and the image check fails without it")
    account = base64.b64encode(f"{name}:{password}".encode()).decode("ascii")
    return _Question(question.image, registry, f"Basic {account}")


def _registry(address: str) -> str:
    """The address of a registry's second version, as the check derives it."""
    found = address.strip().rstrip("/")
    if not found.startswith("http"):
        found = f"https://{found}"
    start, _, last = found.rpartition("/")
    return f"{(start if last in {'v1', 'v2'} else found).rstrip('/')}/v2/"


def _ask(question: _Question, url: str, registry: Registry) -> str | None:
    """Ask for the manifest; returns the header with which the registry answers.

    Raises:
        _RefusedError, _PassedOverError, CouldNotAskError: as the check ends; it passes without any.
    """
    reply = registry.ask("HEAD", question.registry, question.basic, {})
    if not reply.is_good and reply.status != 401:
        raise _PassedOverError(f"the registry answers {reply.status} and is not checked")
    reply = registry.ask("HEAD", url, question.basic, {})
    if not reply.is_good and reply.status != 401:
        _pass_over(reply)
    headers = {name.lower(): value for name, value in reply.headers.items()}
    authorization = question.basic
    if "www-authenticate" in headers:
        authorization = _token(headers["www-authenticate"], question, registry) or question.basic
    elif reply.status == 401:
        raise _RefusedError("the registry asks for a login and does not say how")
    reply = registry.ask("HEAD", url, authorization, {})
    if reply.status in {401, 404}:
        raise _RefusedError("the registry does not have the image, or the account may not read it")
    if not reply.is_good:
        _pass_over(reply)
    return authorization


# Source: opencontainers/image-spec, media-types.md; distribution/distribution, docs/content/spec/manifest-v2-2.md.
_MANIFESTS = (
    "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
)
_DIGEST = re.compile(r"[a-z0-9]+:[0-9a-f]{32,128}")


def _configuration(base: str, tag: str, authorization: str | None, registry: Registry) -> ImageConfiguration | None:
    """The configuration of an image; of one for several platforms, that for amd64 or else the first."""
    try:
        manifest = _json(registry.ask("GET", f"{base}/manifests/{tag}", authorization, {}, _MANIFESTS))
        architectures: tuple[str, ...] = ()
        if "manifests" in manifest:
            linux = [one for one in manifest["manifests"] if one.get("platform", {}).get("os") == "linux"]
            architectures = tuple(dict.fromkeys(str(one["platform"]["architecture"]) for one in linux))
            chosen = next((one for one in linux if one["platform"]["architecture"] == "amd64"), linux[0])
            url = f"{base}/manifests/{_digest(chosen)}"
            manifest = _json(registry.ask("GET", url, authorization, {}, _MANIFESTS))
        reply = registry.ask("GET", f"{base}/blobs/{_digest(manifest['config'])}", authorization, {})
        if reply.status in {301, 302, 303, 307, 308}:
            # A registry keeps its files elsewhere; that address is for one file, and gets no account.
            location = next(value for name, value in reply.headers.items() if name.lower() == "location")
            reply = registry.ask("GET", location, None, {})
        found = _json(reply)
        own = found.get("config") or {}
        return ImageConfiguration(
            architectures or ((str(found["architecture"]),) if found.get("architecture") else ()),
            str(own.get("User") or ""),
            tuple(map(str, own.get("Entrypoint") or ())),
        )
    except (CouldNotAskError, LookupError, StopIteration, TypeError, AttributeError, ValueError):
        return None


def _digest(descriptor: Any) -> str:
    digest = str(descriptor["digest"])
    if not _DIGEST.fullmatch(digest):
        raise ValueError(digest)
    return digest


def _json(reply: Reply) -> dict[str, Any]:
    if reply.status != 200 or not isinstance(reply.body, dict):
        raise ValueError(reply.status)
    return reply.body


def _pass_over(reply: Reply) -> None:
    if reply.status == 404:
        text = "the registry does not have the image; the check lets it pass, and the job would wait for ever"
        raise _PassedOverError(text, Presence.ABSENT)
    raise _PassedOverError(f"the registry answers {reply.status}; the check lets the image pass")


def _token(challenge: str, question: _Question, registry: Registry) -> str | None:
    """The header with a token, if the challenge asks for one."""
    if not challenge.strip().startswith("Bearer"):
        return None
    found: dict[str, str] = {}
    for part in challenge.strip().removeprefix("Bearer").split(","):
        name, equals, value = part.strip().partition("=")
        if not equals:
            raise _PassedOverError("the registry's challenge is not understood; the check lets the image pass")
        found[name] = value.partition("=")[0].strip('"')
    realm = found.pop("realm", None)
    if realm is None:
        return None
    reply = registry.ask("GET", realm, question.basic, found)
    if reply.status == 401:
        raise _RefusedError("the registry does not accept the user name or the password")
    token = reply.body.get("access_token") if isinstance(reply.body, dict) else None
    if not reply.is_good or not isinstance(token, str):
        raise _PassedOverError("the token service's answer is not understood; the check lets the image pass")
    return f"Bearer {token}"
