"""Resolving digests against a registry on loopback that behaves like the public ones."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from catalogue import pins
from catalogue.pins import Reference
from rehearsal.testing.answering import Asked, Said, answering

MANIFEST = b'{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []}'
DIGEST = f"sha256:{sha256(MANIFEST).hexdigest()}"
TOKEN = "anonymous"


@dataclass
class Registry:
    """The token dance, a redirect as registry.k8s.io does, a missing tag, and a lying one; `realm` is where else."""

    realm: str = ""

    def answer(self, asked: Asked) -> Said:
        host, name = asked.headers["Host"], asked.path.removeprefix("/v2/").partition("/")[0]
        if asked.path.startswith("/token?"):
            return Said({"token": TOKEN if "repository%3Afenced" in asked.path else "none"})
        if name == "fenced" and asked.headers.get("Authorization") != f"Bearer {TOKEN}":
            challenge = f'Bearer realm="http://{host}/token",service="r",scope="repository:fenced/app:pull"'
            return Said(status=401, headers={"WWW-Authenticate": challenge})
        if name in ("open", "fenced"):
            assert "application/vnd.oci.image.index.v1+json" in asked.headers["Accept"]
            return Said(MANIFEST, headers={"Docker-Content-Digest": DIGEST})
        return {
            "moved": Said(status=307, headers={"Location": f"http://{host}/v2/open/manifests/1"}),
            "missing": Said({}, 404),
            "private": Said(status=401, headers={"WWW-Authenticate": 'Basic realm="here"'}),
            "realm": Said(status=401, headers={"WWW-Authenticate": f'Bearer realm="{self.realm}",service="r"'}),
            "away": Said(status=307, headers={"Location": self.realm}),
            "large": Said(b" " * (4 * 2**20 + 1)),
            "lying": Said(MANIFEST, headers={"Docker-Content-Digest": f"sha256:{'0' * 64}"}),
        }[name]


@pytest.fixture
def served() -> Registry:
    return Registry()


@pytest.fixture
def registry(served: Registry) -> Iterator[str]:
    """A registry's HOST:PORT."""
    with answering(served.answer) as where:
        yield where


@pytest.mark.parametrize(
    ("image", "host", "repository", "tag"),
    [
        ("vllm/vllm-openai:v0.29.0", "registry-1.docker.io", "vllm/vllm-openai", "v0.29.0"),
        ("busybox", "registry-1.docker.io", "library/busybox", "latest"),
        ("registry.k8s.io/kubectl:v1.2.3", "registry.k8s.io", "kubectl", "v1.2.3"),
        ("localhost:5000/a/b:1", "localhost:5000", "a/b", "1"),
        ("localhost:5000/a/b", "localhost:5000", "a/b", "latest"),
    ],
)
def test_reference_is_read_as_docker_reads_it(image: str, host: str, repository: str, tag: str) -> None:
    """Hosts, the library namespace, ports and default tags."""
    assert Reference.parse(image) == Reference(host, repository, tag)


@pytest.mark.parametrize("name", ["open", "fenced/app", "moved/app"])
def test_digest_is_what_the_registry_serves(registry: str, name: str) -> None:
    """I03: openly, with an anonymous token, and behind a redirect."""
    assert pins.digest(f"{registry}/{name}:1") == DIGEST


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing/app", "answers 404 for missing/app:1"),
        ("private/app", "wants credentials that anonymous callers do not have"),
        ("lying/app", f"says sha256:{'0' * 64} for lying/app:1 and sends {DIGEST}"),
    ],
)
def test_registry_that_gives_no_digest_is_named_with_its_reason(registry: str, name: str, why: str) -> None:
    """A digest that was not served is never written down."""
    with pytest.raises(pins.RegistryError, match="^" + why.replace("/", ".")):
        pins.digest(f"{registry}/{name}:1")


@pytest.mark.parametrize(
    ("realm", "why"),
    [
        ("file:///etc/hostname#", "file:///etc/hostname# is not https"),
        ("ftp://127.0.0.1/token", "is not https"),
        ("data:application/json,{}", "is not https"),
        ("http://auth.example.com/token", "http://auth.example.com/token is not https"),
        ("https://auth.example.com/token", "auth.example.com is not of 127.0.0.1"),
    ],
)
def test_a_realm_is_asked_only_where_the_registry_is(registry: str, served: Registry, realm: str, why: str) -> None:
    """A registry once had a local file read, and was sent what it held as a token."""
    served.realm = realm
    with pytest.raises(pins.RegistryError, match=f"names a realm that is not asked: .*{re.escape(why)}"):
        pins.digest(f"{registry}/realm/app:1")


@pytest.mark.parametrize("location", ["file:///etc/hostname", "http://example.com/v2/open/manifests/1", "ftp://a/b"])
def test_a_redirect_leads_nowhere_but_to_https(registry: str, served: Registry, location: str) -> None:
    served.realm = location
    with pytest.raises(pins.RegistryError, match=r"cannot be reached|answers 307"):
        pins.digest(f"{registry}/away/app:1")


def test_an_answer_without_an_end_is_not_read_to_it(registry: str) -> None:
    with pytest.raises(pins.RegistryError, match="sends more than 4 MiB"):
        pins.digest(f"{registry}/large/app:1")


@pytest.fixture
def digests(tmp_path: Path) -> Path:
    """A digests file with one old entry."""
    file = tmp_path / "digests.json"
    file.write_text('{"old:1": "sha256:kept"}\n', encoding="utf-8")
    return file


def test_answers_are_written_beside_older_ones(
    registry: str, digests: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`make pin-images` adds what it learned and keeps the rest."""
    monkeypatch.setattr(pins, "own_images", lambda **_: (f"{registry}/open:1",))
    assert pins.main([f"{registry}/fenced/app:1"], digests) == 0
    assert json.loads(digests.read_text(encoding="utf-8")) == {
        "old:1": "sha256:kept",
        f"{registry}/open:1": DIGEST,
        f"{registry}/fenced/app:1": DIGEST,
    }
    assert f"{registry}/open:1@{DIGEST}" in capsys.readouterr().out


def test_unreachable_registry_leaves_the_file_untouched(
    registry: str, digests: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Offline: one sentence per registry, however many images it has, and no half-written file."""
    before = digests.read_bytes()
    images = ("127.0.0.1:1/a:1", "127.0.0.1:1/b:1", f"{registry}/open:1")
    monkeypatch.setattr(pins, "own_images", lambda **_: images)
    assert pins.main([], digests) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("127.0.0.1:1: cannot be reached (")
    assert said[0].endswith("digests.json is unchanged, run this again where the registry answers")
    assert digests.read_bytes() == before
    assert list(digests.parent.iterdir()) == [digests]
