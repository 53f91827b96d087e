"""The certificates of one control plane: a cluster CA, a CA for the front proxy, a key for service accounts.

Keys are elliptic (P-256): five of them take milliseconds. Everything is valid from a day ago for thirty days, longer
than a rehearsal lives, so that a machine's clock may be set by a day either way while it does.
"""

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=30)
SKEW = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """A certificate authority that lives in memory: its key is never written."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _subject(name, ())
        builder = _builder(self._name, self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
        self.certificate = _pem(builder.sign(self._key, hashes.SHA256()))

    def server(self, name: str, dns: Sequence[str] = (), ips: Sequence[str] = ()) -> Pair:
        """A serving certificate for these names and addresses."""
        names: list[x509.GeneralName] = [x509.DNSName(each) for each in dns]
        names += [x509.IPAddress(ipaddress.ip_address(each)) for each in ips]
        return self._issue(_subject(name, ()), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, user: str, groups: Sequence[str] = ()) -> Pair:
        """A client certificate; the API server reads the user from CN and the groups from O."""
        return self._issue(_subject(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH, [])

    def _issue(self, subject: x509.Name, purpose: x509.ObjectIdentifier, names: list[x509.GeneralName]) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(subject, self._name, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return Pair(_pem(builder.sign(self._key, hashes.SHA256())), _private(key))


def service_account_key() -> tuple[bytes, bytes]:
    """The key that signs service-account tokens and its public half, both PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return _private(key), public


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + LIFETIME)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _subject(name: str, organizations: Sequence[str]) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    # Go's API server reads a service-account key only in the traditional form or PKCS#8; PKCS#8 serves both uses.
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
