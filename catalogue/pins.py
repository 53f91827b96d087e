"""Resolve image tags to digests at their registries: `python -m catalogue.pins [IMAGE ...]` (make pin-images).

Without arguments it resolves the images the program names itself, and what its trainer's image is built on; a stack
file's images are given as arguments. The
answers go to catalogue/digests.json. If a registry does not answer, the file stays as it is.
"""

import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPException, HTTPResponse
from pathlib import Path

from catalogue.fetching import kin, opened, refused, whole
from catalogue.images import DIGESTS_FILE, TRAINER_BASE, own_images

_DOCKER_HUB = "registry-1.docker.io"
_MANIFESTS = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_TIMEOUT_SECONDS = 20
_LARGEST = 4 * 2**20
"""Bytes of a manifest, as registries themselves take them (OCI distribution specification, "Pushing Manifests")."""
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


class RegistryError(Exception):
    """A registry that did not give a digest, and why."""


@dataclass(frozen=True)
class Reference:
    """Where an image lives: the registry's host, the repository in it, and the tag."""

    host: str
    repository: str
    tag: str

    @classmethod
    def parse(cls, image: str) -> "Reference":
        """Read NAME[:TAG] as Docker does: without a host it is Docker Hub, without an owner it is `library`."""
        name, _, tag = image.rpartition(":") if ":" in image.rpartition("/")[2] else (image, "", "latest")
        first, slash, rest = name.partition("/")
        if slash and ("." in first or ":" in first or first == "localhost"):
            return cls(first, rest, tag)
        return cls(_DOCKER_HUB, name if slash else f"library/{name}", tag)

    @property
    def url(self) -> str:
        """The manifest's address; plain HTTP on loopback only, as Docker has it."""
        local = self.host.partition(":")[0] in ("localhost", "127.0.0.1")
        return f"{'http' if local else 'https'}://{self.host}/v2/{self.repository}/manifests/{self.tag}"


def digest(image: str) -> str:
    """The digest (sha256:...) that the image's tag stands for now. Raises RegistryError."""
    reference = Reference.parse(image)
    try:
        response = _get(reference.url, None)
        if isinstance(response, urllib.error.HTTPError):
            if response.code != 401:
                raise RegistryError(f"answers {response.code} for {reference.repository}:{reference.tag}")
            response = _get(reference.url, _token(reference.url, response.headers.get("WWW-Authenticate", "")))
            if isinstance(response, urllib.error.HTTPError):
                raise RegistryError(f"answers {response.code} for {reference.repository}:{reference.tag} with a token")
        with response:
            body = whole(response, _LARGEST)
            named = response.headers.get("Docker-Content-Digest")
    except (OSError, HTTPException) as error:
        raise RegistryError(f"cannot be reached ({getattr(error, 'reason', error)})") from None
    found = f"sha256:{sha256(body).hexdigest()}"
    if named not in (None, found):
        raise RegistryError(f"says {named} for {reference.repository}:{reference.tag} and sends {found}")
    return found


def _get(url: str, token: str | None) -> HTTPResponse | urllib.error.HTTPError:
    request = urllib.request.Request(url, headers={"Accept": _MANIFESTS})  # noqa: S310
    if token:
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        response: HTTPResponse = opened(request, _TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        error.close()
        return error
    return response


def _token(url: str, challenge: str) -> str:
    """Ask for the anonymous token that a `Bearer realm=...,service=...,scope=...` challenge describes.

    Only who has the registry is asked: a realm may be any address, and what is read there goes to the registry.
    """
    asked = dict(_CHALLENGE.findall(challenge))
    if not challenge.startswith("Bearer") or "realm" not in asked:
        raise RegistryError("wants credentials that anonymous callers do not have")
    realm = asked["realm"]
    host, own = (urllib.parse.urlsplit(each).netloc for each in (realm, url))
    if why := refused(realm, url) or ("" if kin(host, own) else f"{host} is not of {own}"):
        raise RegistryError(f"names a realm that is not asked: {why}")
    query = urllib.parse.urlencode({key: asked[key] for key in ("service", "scope") if key in asked})
    response = _get(f"{realm}?{query}", None)
    if isinstance(response, urllib.error.HTTPError):
        raise RegistryError(f"refuses an anonymous token ({response.code})")
    with response:
        try:
            answer = json.loads(whole(response, _LARGEST))
        except ValueError:
            raise RegistryError("sends no token") from None
    token = (answer.get("token") or answer.get("access_token")) if isinstance(answer, dict) else None
    if not isinstance(token, str):
        raise RegistryError("sends no token")
    return token


def resolve(images: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Digests by image, and for every registry that failed why. A registry that failed is not asked again."""
    digests: dict[str, str] = {}
    failures: dict[str, str] = {}
    for image in images:
        host = Reference.parse(image).host
        if host in failures:
            continue
        try:
            digests[image] = digest(image)
        except RegistryError as error:
            failures[host] = str(error)
    return digests, failures


def main(arguments: list[str], file: Path = DIGESTS_FILE) -> int:
    """Resolve and write; 1 if a registry failed, with one sentence for each."""
    images = [
        each
        for each in (*own_images(experiments=True, mpi=True, mlflow=True, pipelines=True, people=True), *arguments)
        if "@" not in each
    ]
    digests, failures = resolve(dict.fromkeys(images))
    for host, why in failures.items():
        print(f"{host}: {why}; {file.name} is unchanged, run this again where the registry answers", file=sys.stderr)
    if failures:
        return 1
    known = json.loads(file.read_text(encoding="utf-8"))
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps({**known, **digests}, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    fresh.replace(file)
    for image in digests:
        print(f"{image}@{digests[image]}")
    return 0


if __name__ == "__main__":
    sys.exit(main([TRAINER_BASE, *sys.argv[1:]]))
