"""SSH key pairs of hosts and of the person who deploys."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from rehearsal import places


@dataclass(frozen=True)
class KeyPair:
    """An SSH key pair: the private half as a file, the public one as `TYPE BASE64`."""

    private: Path
    public: str

    @classmethod
    def make(cls, path: Path) -> KeyPair:
        """The pair in `path`, made if it is not there."""
        if not path.exists():
            key = ed25519.Ed25519PrivateKey.generate()
            private = key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
            )
            public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
            places.write(path, private)
            places.write(path.with_suffix(".pub"), public)
        return cls(path, path.with_suffix(".pub").read_text())


def person(hall: Path) -> KeyPair:
    """The pair of the person who deploys to the hosts of a hall."""
    return KeyPair.make(hall / "keys" / ".person")
