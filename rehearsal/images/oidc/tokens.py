"""ID tokens: claims signed with RS256, and the keys by which they are known.

RFC 7515 (JWS, compact), RFC 7517 and RFC 7518, 6.3.1 (keys and their members), RFC 7519 (JWT).
"""

import base64
import json
import secrets
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa


def encoded(content: bytes) -> str:
    """Base64 for URLs without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


class SigningKey:
    """A key of 2048 bits and the name by which a token says that it is of it."""

    def __init__(self) -> None:
        self.name = secrets.token_hex(8)
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    @property
    def public(self) -> dict[str, str]:
        """The key as a key set lists it."""
        numbers = self._key.public_key().public_numbers()
        return {
            "kty": "RSA",
            "use": "sig",
            "alg": "RS256",
            "kid": self.name,
            "n": encoded(numbers.n.to_bytes(256, "big")),
            "e": encoded(numbers.e.to_bytes(3, "big")),
        }

    def signed(self, claims: Mapping[str, Any]) -> str:
        """A token of these claims."""
        head = {"alg": "RS256", "typ": "JWT", "kid": self.name}
        text = ".".join(encoded(json.dumps(part).encode()) for part in (head, claims))
        return f"{text}.{encoded(self._key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"
