"""Certificates do what TLS and the API server need, verified by a real handshake."""

import datetime
import socket
import ssl
import threading
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from rehearsal.cluster.pki import Authority, Pair, service_account_key


def write(directory: Path, pair: Pair) -> tuple[Path, Path]:
    certificate, key = directory / "x.crt", directory / "x.key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    return certificate, key


def handshake(server: Pair, authority: bytes, hostname: str, directory: Path) -> None:
    """One TLS connection to a server with this certificate, checked against the authority and the name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*write(directory, server))
    here, there = socket.socketpair()

    def answer() -> None:
        try:
            with context.wrap_socket(there, server_side=True) as tls:
                tls.recv(1)
        except (ssl.SSLError, OSError):
            there.close()

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        client = ssl.create_default_context(cadata=authority.decode())
        with client.wrap_socket(here, server_hostname=hostname) as tls:
            tls.send(b"x")
    finally:
        here.close()
        thread.join(5)


@pytest.mark.parametrize("name", ["hook.default.svc", "127.0.0.1"])
def test_a_serving_certificate_is_good_for_its_names(tmp_path: Path, name: str) -> None:
    authority = Authority("test")
    handshake(authority.server("hook", ["hook.default.svc"], ["127.0.0.1"]), authority.certificate, name, tmp_path)


def test_a_serving_certificate_is_good_for_no_other_name_and_no_other_authority(tmp_path: Path) -> None:
    authority = Authority("test")
    pair = authority.server("hook", ["hook.default.svc"])
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(pair, authority.certificate, "other.default.svc", tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(pair, Authority("test").certificate, "hook.default.svc", tmp_path)


def test_a_client_certificate_carries_user_and_groups_and_outlives_a_rehearsal() -> None:
    certificate = x509.load_pem_x509_certificate(Authority("test").client("kwok", ["system:masters"]).certificate)
    names = {attribute.oid: attribute.value for attribute in certificate.subject}
    assert names == {NameOID.COMMON_NAME: "kwok", NameOID.ORGANIZATION_NAME: "system:masters"}
    now = datetime.datetime.now(datetime.UTC)
    assert certificate.not_valid_before_utc < now
    assert certificate.not_valid_after_utc > now + datetime.timedelta(days=7)


@pytest.mark.parametrize(
    ("off", "good"),
    [
        (datetime.timedelta(hours=-23), True),
        (datetime.timedelta(days=29), True),
        (datetime.timedelta(hours=-25), False),
        (datetime.timedelta(days=31), False),
    ],
    ids=["a day back", "a month ahead", "more than a day back", "more than a month ahead"],
)
def test_a_clock_that_is_set_by_a_day_breaks_no_connection(off: datetime.timedelta, *, good: bool) -> None:
    authority = Authority("test")
    made = (authority.certificate, authority.server("hook").certificate, authority.client("kwok").certificate)
    moment = datetime.datetime.now(datetime.UTC) + off
    read = [x509.load_pem_x509_certificate(each) for each in made]
    assert [each.not_valid_before_utc <= moment <= each.not_valid_after_utc for each in read] == [good] * 3


def test_the_service_account_key_has_two_halves() -> None:
    private, public = service_account_key()
    assert private.startswith(b"-----BEGIN PRIVATE KEY-----")
    assert public.startswith(b"-----BEGIN PUBLIC KEY-----")
