"""Whether an image has a signature by a key, as Cosign leaves it beside the image in its registry.

The layout: a manifest under the tag sha256-<digest>.sig, with a layer for each signature; the layer is what was signed,
its annotation the signature (sigstore/cosign, specs/SIGNATURE_SPEC.md). Signatures as OCI referrers, which Cosign 3
writes unless it is told not to, certificates and logs are not played.
"""

import base64
import hashlib
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

SIGNATURE = "dev.cosignproject.cosign/signature"
PAYLOAD_TYPE = "application/vnd.dev.cosign.simplesigning.v1+json"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
_SECONDS = 10
_LARGEST = 4 * 2**20
_HERE = re.compile(r"(127\.0\.0\.1|localhost)(:\d+)?")
_IMAGE = re.compile(r"(?P<host>[^/]+)/(?P<path>[^@]+?)(:[\w.-]+)?@(?P<digest>sha256:[0-9a-f]{64})")


class RegistryError(Exception):
    """A registry that gives no answer; the text says what it was asked for."""


def is_here(image: str) -> bool:
    """Whether the image is at a registry on this machine, which is asked; others are out of a rehearsal's reach."""
    return _HERE.fullmatch(image.partition("/")[0]) is not None


def has_digest(image: str) -> bool:
    """Whether the image is named by a digest."""
    return re.search(r"@sha256:[0-9a-f]{64}$", image) is not None


def is_signed(image: str, key: str) -> bool:
    """Whether the owner of the public key, PEM, signed the image at its registry on this machine.

    Raises RegistryError, ValueError for an image without a digest or what is no key.
    """
    found = _IMAGE.fullmatch(image)
    if found is None:
        raise ValueError(f"{image} is not named by a digest")
    public = serialization.load_pem_public_key(key.encode())
    if not isinstance(public, ec.EllipticCurvePublicKey):
        raise ValueError("the key is none of ECDSA, which Cosign makes")  # noqa: TRY004 - the key's kind, not a caller's
    base, digest = f"http://{found['host']}/v2/{found['path']}", found["digest"]
    return any(_is_by(public, payload, signature, digest) for payload, signature in _signatures(base, digest))


def _signatures(base: str, digest: str) -> Iterator[tuple[bytes, bytes]]:
    """What was signed, and the signature."""
    manifest = _get(f"{base}/manifests/{digest.replace(':', '-')}.sig")
    if manifest is None:
        return
    for layer in json.loads(manifest).get("layers", []):
        payload = _get(f"{base}/blobs/{layer['digest']}")
        if payload is not None and layer["digest"] == f"sha256:{hashlib.sha256(payload).hexdigest()}":
            yield payload, base64.b64decode(_annotations(layer).get(SIGNATURE, ""))


def _annotations(layer: Mapping[str, Any]) -> Mapping[str, str]:
    return layer.get("annotations") or {}


def _is_by(public: ec.EllipticCurvePublicKey, payload: bytes, signature: bytes, digest: str) -> bool:
    """A signature of another image's digest is none of this one (cosign, SimpleClaimVerifier)."""
    try:
        public.verify(signature, payload, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return False
    signed: Any = json.loads(payload)["critical"]["image"]["docker-manifest-digest"]
    return bool(signed == digest)


def _get(url: str) -> bytes | None:
    """The answer, None where there is no such thing. Raises RegistryError."""
    request = urllib.request.Request(url, headers={"Accept": f"{MANIFEST_TYPE}, */*"})  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:  # noqa: S310
            content: bytes = response.read(_LARGEST)
            return content
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise RegistryError(f"GET {url}: unexpected status code {error.code}") from None
    except OSError as error:
        raise RegistryError(f"Get {url}: {getattr(error, 'reason', error)}") from None
