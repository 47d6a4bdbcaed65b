"""`check --images` against a real registry server with accounts in a file, and with a token service.

Run by scripts/e2e_registry.sh, which installs docker-registry.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import ssl
import subprocess
import time
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from loopback import Request, alone, marketplace

from pai_lsp.cli.main import main
from pai_lsp.cluster.image_check import ImageConfiguration, ask_registry, docker_account, image_verdict
from pai_lsp.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from loopback import Reaction

# bcrypt of "gum", as `htpasswd -nbB bob gum` writes it.
ACCOUNTS = "bob:$2y$05$abcdefghijklmnopqrstuujvt.d387S4Yn7rON8laL7VixQkCjgu2\n"
BOB, ANN = (base64.b64encode(one).decode() for one in (b"bob:gum", b"ann:glue"))
REFERENCE = "<% $secrets.word %>"
DOCKER = "application/vnd.docker.distribution.manifest.v2+json"
OCI = "application/vnd.oci.image.manifest.v1+json"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job file, nothing of the user's but in its folder, and an authority whose certificates are trusted."""
    alone(monkeypatch, str(tmp_path / "home"))
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "server.pem"))
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    return tmp_path / "train.pai.yaml"


@contextmanager
def registry(folder: Path, auth: dict[str, Any] | None = None) -> Iterator[str]:
    """A registry server; gives its host and port."""
    pem = str(folder / "server.pem")
    configuration = {
        "version": "0.1",
        "log": {"level": "info"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "storage")}},
        "http": {"addr": "127.0.0.1:0", "tls": {"certificate": pem, "key": pem}},
    }
    if auth is not None:
        configuration["auth"] = auth
    # YAML is a superset of JSON.
    (folder / "registry.yml").write_text(json.dumps(configuration), encoding="utf-8")
    command = ["docker-registry", "serve", str(folder / "registry.yml")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stderr is not None
            output = ""
            for line in process.stderr:
                output += line
                if (found := line.partition("listening on ")[2]) != "":
                    yield found.partition(",")[0]
                    break
            else:
                raise AssertionError(output)
        finally:
            process.kill()


def push(host: str, folder: Path, kind: str = DOCKER, **headers: str) -> None:
    """Push team/image:v1, of one layer, in docker's format or in that of OCI."""
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    layer = gzip.compress(b"\0" * 1024, mtime=0)
    configuration = {
        "architecture": "arm64",
        "os": "linux",
        "config": {"User": "app"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(bytes(1024)).hexdigest()}"]},
        "history": [{"created": "2026-01-01T00:00:00Z", "created_by": "COPY"}],
    }
    manifest: dict[str, Any] = {"schemaVersion": 2, "mediaType": kind}
    with httpx.Client(base_url=f"https://{host}/v2/team/image", verify=context, headers=headers) as client:

        def sent(blob: bytes, of_docker: str, of_oci: str) -> dict[str, Any]:
            upload = client.post("/blobs/uploads/")
            upload.raise_for_status()
            digest = f"sha256:{hashlib.sha256(blob).hexdigest()}"
            client.put(f"{upload.headers['location']}&digest={digest}", content=blob).raise_for_status()
            return {"mediaType": of_docker if kind == DOCKER else of_oci, "size": len(blob), "digest": digest}

        manifest["config"] = sent(
            json.dumps(configuration).encode(),
            "application/vnd.docker.container.image.v1+json",
            "application/vnd.oci.image.config.v1+json",
        )
        manifest["layers"] = [
            sent(
                layer,
                "application/vnd.docker.image.rootfs.diff.tar.gzip",
                "application/vnd.oci.image.layer.v1.tar+gzip",
            )
        ]
        put = client.put("/manifests/v1", content=json.dumps(manifest), headers={"Content-Type": kind})
        put.raise_for_status()


def write(place: Path, host: str, image: str = "team/image:v1", account: str = "") -> None:
    auth = "" if not account else f", auth: {{username: bob, password: {account}, registryuri: 'https://{host}'}}"
    place.write_text(
        f"""\
protocolVersion: 2
name: train
type: job
secrets: {{word: gum}}
prerequisites:
  - {{name: image, type: dockerimage, uri: "{host}/{image}"{auth}}}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {{gpu: 0, cpu: 1, memoryMB: 512}}
    commands: [echo hi]
""",
        encoding="utf-8",
    )


def answer(place: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    main(["check", "--images", "--format", "json", str(place)])
    shown = "".join(capsys.readouterr())
    assert not [secret for secret in ("gum", "glue", BOB, ANN) if secret in shown]
    job = Document(place.read_text(encoding="utf-8")).job
    found = image_verdict(job, "worker", ask_registry, lambda one: docker_account(one, os.environ))
    return {
        "verdict": "refused" if found.is_refused else "passed",
        "presence": found.presence.value,
        "explanation": found.explanation,
        "configuration": found.configuration,
    }


def docker(place: Path, host: str, account: str) -> None:
    """Write docker's configuration, as `docker login` does."""
    folder = place.parent / "home" / ".docker"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"auths": {host: {"auth": account}}}), encoding="utf-8")


def test_a_registry_for_everybody(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with registry(place.parent) as host:
        push(host, place.parent)
        write(place, host)
        found = answer(place, capsys)
        assert (found["verdict"], found["presence"]) == ("passed", "there")
        assert found["configuration"] == ImageConfiguration(("arm64",), "app")
        assert main(["check", "--images", str(place)]) == 1
        assert "the image is for arm64" in capsys.readouterr().out
        write(place, host, "team/image:v2")
        assert answer(place, capsys)["presence"] == "not there"


def test_a_registry_with_accounts_in_a_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place.parent / "accounts").write_text(ACCOUNTS, encoding="utf-8")
    auth = {"htpasswd": {"realm": "registry", "path": str(place.parent / "accounts")}}
    with registry(place.parent, auth) as host:
        push(host, place.parent, Authorization=f"Basic {BOB}")
        write(place, host, account=REFERENCE)
        assert (answer(place, capsys)["verdict"], answer(place, capsys)["presence"]) == ("passed", "there")
        write(place, host, account="x")
        assert answer(place, capsys)["verdict"] == "refused"
        write(place, host)
        assert "the job has none" in answer(place, capsys)["explanation"]
        docker(place, host, BOB)
        found = answer(place, capsys)
        assert (found["verdict"], found["presence"]) == ("refused", "not there")
        assert (
            found["explanation"]
            == "your own account can read the image, but the job has no account; add 'auth' to the image"
        )
        write(place, host, "team/image:v2")
        assert answer(place, capsys)["explanation"].startswith("the registry does not have the image; your own")
        docker(place, host, ANN)
        assert "your own account" in answer(place, capsys)["explanation"]


def test_an_image_in_oci_format(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with registry(place.parent) as host:
        push(host, place.parent, OCI)
        write(place, host)
        assert (answer(place, capsys)["verdict"], answer(place, capsys)["presence"]) == ("passed", "there")


def test_a_registry_with_a_token_service(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = signing_certificate(key)
    (place.parent / "tokens.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    with marketplace(token_service(key, certificate)) as service:
        auth = {
            "token": {
                "realm": f"{service.url}/token",
                "service": "registry",
                "issuer": "tests",
                "rootcertbundle": str(place.parent / "tokens.pem"),
            }
        }
        with registry(place.parent, auth) as host:
            push(
                host, place.parent, Authorization=f"Bearer {token(key, certificate, 'repository:team/image:pull,push')}"
            )
            docker(place, host, ANN)
            write(place, host)
            assert answer(place, capsys)["explanation"].startswith("your own account can read the image, but the job")
            write(place, host, account=REFERENCE)
            assert (answer(place, capsys)["verdict"], answer(place, capsys)["presence"]) == ("passed", "there")
            pusher = token(key, certificate, "repository:team/image:pull,push")
            push(host, place.parent, OCI, Authorization=f"Bearer {pusher}")
            assert "in OCI format only" in answer(place, capsys)["explanation"]
            write(place, host, "team/image:v2", account=REFERENCE)
            assert (answer(place, capsys)["verdict"], answer(place, capsys)["presence"]) == ("refused", "not there")


def signing_certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tokens")])
    now = datetime.now(timezone.utc)
    day = timedelta(days=1)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now - day, now + day)
    return made.sign(key, hashes.SHA256())


def token_service(key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> Reaction:
    """Gives tokens to two accounts, for what they ask for."""

    def react(request: Request) -> None:
        if request.headers.get("authorization") not in {f"Basic {BOB}", f"Basic {ANN}"}:
            request.send(401, b"{}")
            return
        scope = parse_qs(urlsplit(request.path).query).get("scope", [""])[0]
        body = json.dumps({"access_token": token(key, certificate, scope)}).encode()
        request.send(200, body, Content_Type="application/json")

    return react


def token(key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate, scope: str) -> str:
    """A token of distribution/distribution, docs/content/spec/auth/jwt.md."""

    def encoded(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).decode().rstrip("=")

    kind, name, actions = [*scope.split(":"), "", "", ""][:3]
    now = int(time.time())
    chain = [base64.b64encode(certificate.public_bytes(serialization.Encoding.DER)).decode()]
    claims = {
        "iss": "tests",
        "aud": "registry",
        "iat": now,
        "nbf": now - 60,
        "exp": now + 600,
        "jti": "1",
        "access": [{"type": kind, "name": name, "actions": actions.split(",")}] if kind else [],
    }
    header = {"typ": "JWT", "alg": "ES256", "x5c": chain}
    signed = ".".join(encoded(json.dumps(part).encode()) for part in (header, claims))
    r, s = decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{signed}.{encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
