"""A registry on loopback for tests: images by digest, and signatures beside them as Cosign lays them out.

A manifest under the tag sha256-<digest>.sig has a layer for each signature; the layer is what was signed, its
annotation the signature (sigstore/cosign, specs/SIGNATURE_SPEC.md).
"""

import base64
import contextlib
import hashlib
import json
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from rehearsal.testing.answering import Asked, Said, answering

MANIFEST, CONFIG = (f"application/vnd.oci.image.{each}.v1+json" for each in ("manifest", "config"))
PAYLOAD, SIGNATURE = "application/vnd.dev.cosign.simplesigning.v1+json", "dev.cosignproject.cosign/signature"


class Signer:
    """A key pair; `public` is PEM."""

    def __init__(self) -> None:
        self._private = ec.generate_private_key(ec.SECP256R1())
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        self.public = self._private.public_key().public_bytes(serialization.Encoding.PEM, form).decode().strip()

    def sign(self, payload: bytes) -> bytes:
        """An ECDSA signature of the payload's SHA-256."""
        return self._private.sign(payload, ec.ECDSA(hashes.SHA256()))


class Registry:
    """Answers until it is stopped. `status` other than 200 is its answer to everything."""

    def __init__(self) -> None:
        self._content: dict[str, bytes] = {"/v2/": b"{}"}
        self.status = 200
        self._serving = contextlib.ExitStack()
        self.host = self._serving.enter_context(answering(self._answer))

    def _answer(self, asked: Asked) -> Said:
        found = self._content.get(asked.path)
        kind = MANIFEST if "/manifests/" in asked.path else "application/octet-stream"
        return Said(found or b"", self.status if self.status != 200 or found else 404, {"Content-Type": kind})

    def image(self, name: str) -> str:
        """Push an image; its name with its digest."""
        return f"{self.host}/{name}@{self._put(name, 'manifests', self._manifest(name, []))}"

    def sign(self, image: str, signer: Signer, *, of: str | None = None) -> None:
        """Put a signature beside an image; `of` is the image that was signed, if another one."""
        name, _, digest = image.removeprefix(f"{self.host}/").partition("@")
        signed = (of or image).partition("@")[2]
        critical = {
            "identity": {"docker-reference": image.partition("@")[0]},
            "type": "cosign container image signature",
        }
        payload = json.dumps({"critical": {**critical, "image": {"docker-manifest-digest": signed}}}).encode()
        layer = {
            **self._blob(name, PAYLOAD, payload),
            "annotations": {SIGNATURE: base64.b64encode(signer.sign(payload)).decode()},
        }
        self._content[f"/v2/{name}/manifests/{digest.replace(':', '-')}.sig"] = self._manifest(name, [layer])

    def replace(self, path: str, content: bytes) -> None:
        """Let whoever has the registry change what it answers below a path's end."""
        for key in [key for key in self._content if path in key]:
            self._content[key] = content

    def _manifest(self, name: str, layers: list[dict[str, Any]]) -> bytes:
        of = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}, "author": name}
        config = self._blob(name, CONFIG, json.dumps(of).encode())
        return json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers}).encode()

    def _blob(self, name: str, kind: str, content: bytes) -> dict[str, Any]:
        """Put a blob; what a manifest says of it."""
        return {"mediaType": kind, "digest": self._put(name, "blobs", content), "size": len(content)}

    def _put(self, name: str, kind: str, content: bytes) -> str:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self._content[f"/v2/{name}/{kind}/{digest}"] = content
        return digest

    def stop(self) -> None:
        self._serving.close()
