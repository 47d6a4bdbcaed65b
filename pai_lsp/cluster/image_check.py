"""The runtime's check of an image before a task starts, and the requests to registries that repeat it here.

The check refuses an image (exit code 254) only when it is sure; whatever it does not understand passes, and the pull
then fails and is tried again forever. The name's rules are stricter than those of registries. Where the check does not
find the image, the user's own account at the registry can tell why; the platform never has that account.
Sources: openpai-runtime, src/init.d/image_checker.py; ltp-platform, src/openpai-runtime/src/src/init.d.

Requests are HEAD and GET, and a form to a token service, over https or to this machine; no redirects. An account is
sent only to its registry and to the token service that this registry names.
"""

from __future__ import annotations

import base64
import re
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from pai_lsp.expansion.released_run import RuntimeStopError, after_runtime, runtime_job
from pai_lsp.platform.image_addresses import REPOSITORY, TAG, image_host, without_host
from pai_lsp.source.failures import why
from pai_lsp.source.files import program_on_path
from pai_lsp.source.foreign import as_mapping, as_text, json_mapping, mappings_in
from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.text import visible
from pai_lsp.web.access_token import ProgramError, keeps_secrets, program_output
from pai_lsp.web.addresses import host_and_port
from pai_lsp.web.fetching import REDIRECTS, FetchFailure, Limits, exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias

    from pai_lsp.job.job import Job
    from pai_lsp.platform.platforms import Platform
    from pai_lsp.web.fetching import HttpAnswer

    Ask: TypeAlias = Callable[..., HttpAnswer]

_DOCKER_HUB = "https://index.docker.io/v2/"


class Presence(Enum):
    """Whether the image is there, as far as the registry answers."""

    THERE = "there"
    ABSENT = "not there"
    UNKNOWN = "could not ask"


class CouldNotAskError(Exception):
    """No answer came; the message has the reason."""


@dataclass(frozen=True, slots=True)
class RegistryAccount:
    """An account of the user at a registry, which its `repr` does not show; with an identity token, no password."""

    name: str
    password: str = ""
    identity_token: str = ""

    def __repr__(self) -> str:
        return "RegistryAccount(***)"

    @property
    def basic(self) -> str:
        """The header of the account."""
        return f"Basic {base64.b64encode(f'{self.name}:{self.password}'.encode()).decode('ascii')}"


@dataclass(frozen=True, slots=True)
class ImageConfiguration:
    """How an image runs, by its configuration in the registry.

    architectures: of Linux, such as `amd64`; several for an image of several platforms.
    user: the user that the image names; empty for root.
    """

    architectures: tuple[str, ...]
    user: str


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


class _CheckEndError(Exception):
    """The check ends before the registry has confirmed the image; unless it is sure, it lets the image pass."""

    def __init__(self, message: str, presence: Presence = Presence.UNKNOWN, *, is_refused: bool = True) -> None:
        super().__init__(message)
        self.presence, self.is_refused = presence, is_refused


def image_verdict(
    job: Job, role: str, ask: Ask, account_at: Callable[[str], RegistryAccount | None] = lambda _: None
) -> ImageVerdict:
    """The check of the image of a task role.

    ask: sends the requests, as `ask_registry` does.
    account_at: the user's own account at a registry, named by host and port; it may raise CouldNotAskError. It is used
        only where the check does not find the image, and only to explain that.
    """
    try:
        question = _question(job, role)
    except RuntimeStopError as error:
        return ImageVerdict("", is_refused=True, presence=Presence.UNKNOWN, explanation=str(error))
    found = ImageVerdict(question.image, is_refused=False, presence=Presence.UNKNOWN, explanation="")
    if not REPOSITORY.fullmatch(question.repository) or not TAG.fullmatch(question.tag):
        text = f"the platform does not accept the name '{question.image}'; use lower case and no digest"
        return replace(found, is_refused=True, explanation=text)
    try:
        return _present(question, _confirmed(question, job.platform, ask), ask)
    except _CheckEndError as error:
        found = replace(found, is_refused=error.is_refused, presence=error.presence, explanation=str(error))
    except CouldNotAskError as error:
        return replace(found, explanation=f"the registry could not be asked: {error}")
    if found.presence is Presence.THERE:
        return found
    try:
        account = account_at(host_and_port(question.registry))
        return _explained(found, question, account, ask) if account is not None else found
    except (CouldNotAskError, _CheckEndError) as error:
        return replace(found, explanation=f"{found.explanation}; your own account could not be used: {error}")


def asked_registry(job: Job, role: str) -> str | None:
    """The host and port of the registry that is asked for the image of a task role; None if none is asked."""
    try:
        return host_and_port(_question(job, role).registry)
    except RuntimeStopError:
        return None


def _present(question: _Question, authorization: str | None, ask: Ask) -> ImageVerdict:
    text, found = "the registry has the image", _configuration(question, authorization, ask)
    return ImageVerdict(question.image, False, Presence.THERE, text, found)


def _explained(found: ImageVerdict, question: _Question, account: RegistryAccount, ask: Ask) -> ImageVerdict:
    """The verdict with what the registry answers to the user's own account.

    Raises:
        _CheckEndError, CouldNotAskError: if that answer says nothing about the image.
    """
    authorization: str | None = None
    reply = ask("HEAD", question.manifest, accept=_MANIFESTS)
    if reply.status == 401:
        authorization = _own_authorization(reply, account, ask)
        reply = ask("HEAD", question.manifest, authorization, accept=_MANIFESTS)
    if reply.status == 404:
        text = "the registry does not have the image; your own account was asked as well"
        return replace(found, presence=Presence.ABSENT, explanation=text)
    if reply.status in {401, 403}:
        return replace(found, explanation=f"{found.explanation}; your own account may not read it either")
    if not _is_manifest(reply):
        raise _passed_over(reply)
    if found.is_refused or found.presence is Presence.ABSENT:
        has_none = question.basic is None
        lack = "has no account; add 'auth' to the image" if has_none else "has an account that may not read it"
        return replace(found, explanation=f"your own account can read the image, but the job {lack}")
    return _present(question, authorization, ask)


_CHALLENGE = re.compile(r'([A-Za-z_]+)="([^"]*)"')


def _own_authorization(reply: HttpAnswer, account: RegistryAccount, ask: Ask) -> str:
    """The header for an account of the user. Source: distribution/distribution, docs/content/spec/auth.

    Raises:
        _CheckEndError, CouldNotAskError: if there is none.
    """
    challenge = reply.headers.get("www-authenticate", "")
    scheme = challenge.strip().partition(" ")[0].lower()
    if scheme == "basic" and not account.identity_token:
        return account.basic
    given = dict(_CHALLENGE.findall(challenge))
    realm = given.pop("realm", None)
    if scheme != "bearer" or realm is None:
        raise _CheckEndError("the registry does not describe how to log in")
    wanted = {key: given[key] for key in ("service", "scope") if key in given}
    if account.identity_token:
        wanted |= {"grant_type": "refresh_token", "client_id": "pai-lsp", "refresh_token": account.identity_token}
        reply = ask("POST", realm, None, wanted)
    else:
        reply = ask("GET", realm, account.basic, wanted)
    if reply.status in {400, 401, 403}:
        raise _CheckEndError("the registry does not accept it")
    body = json_mapping(reply.body)
    token = as_text(body.get("access_token")) or as_text(body.get("token"))
    if reply.status >= 400 or token is None:
        raise _CheckEndError("the token service's answer is not understood")
    return f"Bearer {token}"


@dataclass(frozen=True, slots=True)
class _Question:
    """An image, the registry that is asked for it, and the header of its account, if one is used."""

    image: str
    registry: str
    basic: str | None = None

    @property
    def host(self) -> str:
        """The registry in the image's name; empty for Docker Hub."""
        return image_host(self.image)

    @property
    def repository(self) -> str:
        """The name without registry and tag."""
        return without_host(self.image).partition(":")[0]

    @property
    def tag(self) -> str:
        """The tag."""
        return [*without_host(self.image).split(":"), "latest"][1]

    @property
    def base(self) -> str:
        """The address of the repository."""
        return f"{self.registry}{'' if '/' in self.repository or self.host else 'library/'}{self.repository}"

    @property
    def manifest(self) -> str:
        """The address of the manifest."""
        return f"{self.base}/manifests/{self.tag}"


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
        host = image_host(image)
        question = _Question(image, _registry(host) if host else _DOCKER_HUB)
        return _with_account(question, auth, known.secrets) if auth and known.secrets else question
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
    return _Question(question.image, registry, RegistryAccount(name, password).basic)


def _registry(address: str) -> str:
    """The address of a registry's second version, as the check derives it."""
    found = address.strip().rstrip("/")
    if not found.startswith("http"):
        found = f"https://{found}"
    start, _, last = found.rpartition("/")
    return f"{(start if last in {'v1', 'v2'} else found).rstrip('/')}/v2/"


def _confirmed(question: _Question, platform: Platform, ask: Ask) -> str | None:
    """Ask for the manifest; returns the header with which the registry answers.

    The check first asks without the job's account, also where there is one.

    Raises:
        _CheckEndError, CouldNotAskError: as the check ends; it passes without any.
    """
    if question.host.endswith(platform.unasked_registries):
        text = f"{platform.title} does not ask this registry; if the image is missing, the job waits"
        raise _CheckEndError(text, is_refused=False)
    reply = ask("HEAD", question.registry)
    if reply.status >= 400 and reply.status != 401:
        raise _CheckEndError(f"the registry answers {reply.status} and is not checked", is_refused=False)
    reply = ask("HEAD", question.manifest)
    if reply.status == 404 and _is_there_as_oci(question, question.basic, ask):
        return question.basic  # the check lets it pass, and the container engine does ask for this format
    if reply.status >= 400 and reply.status != 401:
        raise _passed_over(reply)
    authorization = question.basic
    if (challenge := reply.headers.get("www-authenticate")) is not None:
        authorization = _token(challenge, question, ask) or question.basic
    elif reply.status == 401:
        raise _CheckEndError("the registry requires a login, but does not describe how")
    reply = ask("HEAD", question.manifest, authorization)
    if reply.status == 404 and _is_there_as_oci(question, authorization, ask):
        lack = "which the platform's check does not ask for; build it with oci-mediatypes=false"
        raise _CheckEndError(f"the registry has the image in OCI format only, {lack}", Presence.THERE)
    if reply.status in {401, 404}:
        lack = "the account may not read it" if question.basic else "requires an account for it, and the job has none"
        raise _CheckEndError(f"the registry does not have the image, or {lack}", Presence.ABSENT)
    if not _is_manifest(reply):
        raise _passed_over(reply)
    return authorization


def _is_there_as_oci(question: _Question, authorization: str | None, ask: Ask) -> bool:
    """Whether a registry has an image that it only gives to those who name its format, as the check does not.

    Source: distribution/distribution 2.8, registry/handlers/manifests.go, GetManifest.
    """
    try:
        return _is_manifest(ask("HEAD", question.manifest, authorization, accept=_MANIFESTS))
    except CouldNotAskError:
        return False


def _is_manifest(reply: HttpAnswer) -> bool:
    """Whether an answer is one of a registry: the platform also takes a redirect and a login page for the image."""
    return reply.status < 300 and "html" not in reply.headers.get("content-type", "")


# Source: opencontainers/image-spec, media-types.md; distribution/distribution, docs/content/spec/manifest-v2-2.md.
_MANIFESTS = (
    "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
)
_DIGEST = re.compile(r"[a-z0-9]+:[0-9a-f]{32,128}")


def _configuration(question: _Question, authorization: str | None, ask: Ask) -> ImageConfiguration | None:
    """The configuration of an image; of one for several platforms, that for amd64 or else the first."""
    try:
        manifest = _json(ask("GET", question.manifest, authorization, accept=_MANIFESTS))
        digests: dict[str, str] = {}
        if "manifests" in manifest:
            for one in mappings_in(manifest["manifests"]):
                platform = as_mapping(one.get("platform"))
                if platform.get("os") == "linux" and (name := as_text(platform.get("architecture"))):
                    digests.setdefault(name, _digest(one))
            chosen = digests.get("amd64") or next(iter(digests.values()), "")
            manifest = _json(ask("GET", f"{question.base}/manifests/{chosen}", authorization, accept=_MANIFESTS))
        reply = ask("GET", f"{question.base}/blobs/{_digest(as_mapping(manifest.get('config')))}", authorization)
        if reply.status in REDIRECTS:
            # A registry keeps its files elsewhere; that address is for one file, and gets no account.
            reply = ask("GET", reply.headers.get("location", ""))
        found = _json(reply)
        own = as_mapping(found.get("config"))
        architecture = as_text(found.get("architecture"))
        known = tuple(digests) or ((architecture,) if architecture else ())
        return ImageConfiguration(known, as_text(own.get("User")) or "")
    except CouldNotAskError:
        return None


def _digest(descriptor: Mapping[str, Any]) -> str:
    """The digest in a descriptor.

    Raises:
        CouldNotAskError: if it has none.
    """
    digest = as_text(descriptor.get("digest")) or ""
    if not _DIGEST.fullmatch(digest):
        raise CouldNotAskError("the answer has no digest")
    return digest


def _json(reply: HttpAnswer) -> dict[str, Any]:
    """The object of an answer; an empty one if it is something else.

    Raises:
        CouldNotAskError: if there is no answer.
    """
    if reply.status != 200:
        raise CouldNotAskError(f"the answer is not understood ({reply.status})")
    return json_mapping(reply.body)


def _passed_over(reply: HttpAnswer) -> _CheckEndError:
    if reply.status == 404:
        text = "the registry does not have the image; the platform's check accepts it, and the job would wait forever"
        return _CheckEndError(text, Presence.ABSENT, is_refused=False)
    what = f"answers {reply.status}" if reply.status >= 300 else "answers with a page"
    return _CheckEndError(f"the registry {what}; the platform's check accepts the image", is_refused=False)


def _token(challenge: str, question: _Question, ask: Ask) -> str | None:
    """The header with a token, if the challenge asks for one."""
    if not challenge.strip().startswith("Bearer"):
        return None
    found: dict[str, str] = {}
    for part in challenge.strip().removeprefix("Bearer").split(","):
        name, equals, value = part.strip().partition("=")
        if not equals:
            text = "the registry's challenge is not understood; the platform's check accepts the image"
            raise _CheckEndError(text, is_refused=False)
        found[name] = value.partition("=")[0].strip('"')
    realm = found.pop("realm", None)
    if realm is None:
        return None
    reply = ask("GET", realm, question.basic, found)
    if reply.status == 401:
        is_wrong = "does not accept the user name or the password"
        what = is_wrong if question.basic else "requires an account, and the job has none; add 'auth' to the image"
        raise _CheckEndError(f"the registry {what}")
    token = as_text(json_mapping(reply.body).get("access_token"))
    if reply.status >= 400 or token is None:
        text = "the token service's answer is not understood; the platform's check accepts the image"
        raise _CheckEndError(text, is_refused=False)
    return f"Bearer {token}"


# The names of Docker Hub; the first is that of its accounts. Source: docker/cli, cli/registry/client.
_DOCKER_HUB_NAMES = ("https://index.docker.io/v1/", "index.docker.io", "docker.io", "registry-1.docker.io")
_HELPER = re.compile(r"[A-Za-z0-9._-]+")
LIMITS = Limits(connect=10.0, silence=10.0, total=20.0, size=1024 * 1024)


def ask_registry(
    method: str,
    url: str,
    authorization: str | None = None,
    parameters: Mapping[str, str] | None = None,
    accept: str = "*/*",
) -> HttpAnswer:
    """Send a request to a registry; the parameters of a POST are a form.

    Raises:
        CouldNotAskError: if no answer comes; the message has the reason.
    """
    if not keeps_secrets(url):
        raise CouldNotAskError("only https is used, except on this machine")
    headers = {"Accept": accept}
    if authorization is not None:
        headers["Authorization"] = authorization
    body = urlencode(parameters or {})
    if method == "POST":
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    elif body:
        url, body = f"{url}{'&' if '?' in url else '?'}{body}", ""
    found = exchange(method, url, headers, body=body.encode(), limits=LIMITS)
    if isinstance(found, FetchFailure):
        raise CouldNotAskError(found.note)
    if found.is_cut:
        raise CouldNotAskError("the answer is too large")
    return found


def docker_account(registry: str, environment: Mapping[str, str]) -> RegistryAccount | None:
    """The user's account at a registry, named by host and port; in docker's own configuration, else in podman's.

    A credential helper that these files name is run, as docker does; a job or a project has no part in that.
    Sources: docker/cli, cli/config/configfile/file.go and cli/config/credentials/native_store.go;
    containers/image, docs/containers-auth.json.5.md, where an address may name a part of a registry.

    Raises:
        CouldNotAskError: if a file cannot be read, or its credential helper fails, and no file before it has one.
    """
    home = Path(environment.get("HOME") or Path.home())
    podmans = (environment.get("XDG_RUNTIME_DIR"), environment.get("XDG_CONFIG_HOME") or home / ".config")
    files = [Path(environment.get("DOCKER_CONFIG") or home / ".docker", "config.json")]
    files += [Path(folder, "containers", "auth.json") for folder in podmans if folder]
    accounts = (_account_in(file, registry, environment.get("PATH", "")) for file in files)
    return next((account for account in accounts if account is not None), None)


def _account_in(file: Path, registry: str, search_path: str) -> RegistryAccount | None:
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise CouldNotAskError(f"{visible(str(file))}: {why(error)}") from None
    known = json_mapping(text)
    if not known and text.strip() != "{}":
        raise CouldNotAskError(f"{visible(str(file))}: not a JSON object")
    names = _DOCKER_HUB_NAMES if registry in _DOCKER_HUB_NAMES else (registry,)
    helpers = as_mapping(known.get("credHelpers"))
    own = next((helpers[name] for name in names if name in helpers), None)
    helper = as_text(own or known.get("credsStore"))
    if helper and (found := _account_of_helper(helper, names[0], search_path)) is not None:
        return found
    written = as_mapping(known.get("auths")).items()
    for address, entry in sorted(written, key=lambda one: one[0] not in names):  # a whole registry before its parts
        host = (address.partition("://")[2] or address).partition("/")[0]
        if {address, host} & set(names) and (found := _written_account(as_mapping(entry))):
            return found
    return None


def _account_of_helper(name: str, registry: str, search_path: str) -> RegistryAccount | None:
    """What a credential helper answers. Source: docker/docker-credential-helpers, README.md, "Development"."""
    program = program_on_path(f"docker-credential-{name}", search_path) if _HELPER.fullmatch(name) else ""
    shown = f"the credential helper 'docker-credential-{visible(name)}'"
    if not program:
        raise CouldNotAskError(f"{shown} is not installed")
    try:
        status, printed = program_output([program, "get"], shown, standard_input=registry.encode())
    except ProgramError as error:
        raise CouldNotAskError(str(error)) from None
    if status:
        if b"credentials not found" in printed:
            return None
        raise CouldNotAskError(f"{shown} failed with status {status}")
    found = json_mapping(printed)
    user, secret = as_text(found.get("Username")), as_text(found.get("Secret"))
    if user is None or secret is None:
        raise CouldNotAskError(f"the answer of {shown} is not understood")
    if user == "<token>":
        return RegistryAccount("", identity_token=secret)
    return RegistryAccount(user, secret) if user else None


def _written_account(entry: Mapping[str, Any]) -> RegistryAccount | None:
    """The account of an entry of docker's file; None if it has none."""
    name, password, token = (as_text(entry.get(key)) or "" for key in ("username", "password", "identitytoken"))
    if encoded := as_text(entry.get("auth")):
        try:
            name, _, password = base64.b64decode(encoded).decode("utf-8").partition(":")
        except ValueError:
            return None
    if token:
        return RegistryAccount("", identity_token=token)
    return RegistryAccount(name, password.rstrip("\0")) if name and password else None
