"""A registry on loopback for tests: images by digest, and signatures beside them as Cosign lays them out."""

import base64
import contextlib
import hashlib
import json

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from rehearsal.images.kyverno.signed import MANIFEST_TYPE, PAYLOAD_TYPE, SIGNATURE
from rehearsal.testing.answering import Asked, Said, answering


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
        self._content: dict[str, bytes] = {}
        self.status = 200
        self._serving = contextlib.ExitStack()
        self.host = self._serving.enter_context(answering(self._answer))

    def _answer(self, asked: Asked) -> Said:
        found = self._content.get(asked.path)
        return Said(found or b"", self.status if self.status != 200 or found else 404)

    def image(self, name: str) -> str:
        """Push an image; its name with its digest."""
        return f"{self.host}/{name}@{self._put(name, 'manifests', json.dumps({'name': name}).encode())}"

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
            "mediaType": PAYLOAD_TYPE,
            "digest": self._put(name, "blobs", payload),
            "size": len(payload),
            "annotations": {SIGNATURE: base64.b64encode(signer.sign(payload)).decode()},
        }
        manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "layers": [layer]}).encode()
        self._content[f"/v2/{name}/manifests/{digest.replace(':', '-')}.sig"] = manifest

    def replace(self, path: str, content: bytes) -> None:
        """Let whoever has the registry change what it answers below a path's end."""
        for key in [key for key in self._content if path in key]:
            self._content[key] = content

    def _put(self, name: str, kind: str, content: bytes) -> str:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self._content[f"/v2/{name}/{kind}/{digest}"] = content
        return digest

    def stop(self) -> None:
        self._serving.close()
