"""Secrets of a cluster that follow from its one key, so that none of them is made on a machine and read back."""

import base64
import hashlib
import hmac

KEY_LENGTH = 32
"""Characters that a cluster's key has at least; `openssl rand -hex 32` gives 64."""


def derived(key: str, purpose: str) -> bytes:
    """32 bytes that only who has the key can compute, others for each purpose (RFC 2104, with SHA-256)."""
    if len(key) < KEY_LENGTH:
        raise ValueError(
            f"the cluster's key has {len(key)} characters; take {KEY_LENGTH} or more (openssl rand -hex 32)"
        )
    return hmac.new(key.encode(), purpose.encode(), hashlib.sha256).digest()


def encryption_key(key: str) -> str:
    """The key with which the API server encrypts Secrets in etcd: 32 bytes, as base64 (secretbox takes no other)."""
    return base64.b64encode(derived(key, "encryption at rest")).decode()


def munge_key(key: str) -> bytes:
    """What machines of Slurm believe each other by (munge, mungekey(8): 32 bytes or more)."""
    return derived(key, "munge")


def accounting_password(key: str) -> str:
    """By which slurmdbd asks its database, in hexadecimal digits."""
    return derived(key, "slurm accounting").hex()


def certificate_key(key: str) -> str:
    """The key with which certificates are handed to further control plane nodes: AES-256, 64 hexadecimal digits.

    Source: kubeadm reference, `kubeadm certs certificate-key`.
    """
    return derived(key, "control plane certificates").hex()


def join_token(key: str, host: str, serial: str | None) -> str:
    """The token of one machine, `[a-z0-9]{6}.[a-z0-9]{16}`. It opens nothing until the control plane invites the
    machine by it, and nothing again once the machine has joined.

    Source: Kubernetes documentation, "Authenticating with Bootstrap Tokens".
    """
    digits = derived(key, f"join {host} {serial or ''}").hex()
    return f"{digits[:6]}.{digits[6:22]}"
