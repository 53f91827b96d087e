"""What a gateway's issuer names is looked at in the account: zones and certificates (Y12)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from doctor.results import Result, Status
from rehearsal.tests.cloud.conftest import Cloud
from tests.doctor.conftest import Run, case, client
from tests.planner.serving.test_gateway import ACME, ZONE, opened


@pytest.fixture
def told(examined: Run) -> Any:
    """What is said of an issuer's zone or certificate, of the service at llama-3-8b.llm.example.com."""

    def tell(**issuer: Any) -> Result:
        (found,) = examined("certificate", case(opened(issuer=issuer)))
        return found

    return tell


def made(cloud: Cloud, name: str, **more: Any) -> str:
    zone = client(cloud, "route53").create_hosted_zone(Name=name, CallerReference=f"{name}{more}", **more)
    return str(zone["HostedZone"]["Id"]).rpartition("/")[2]


def imported(cloud: Cloud, *names: str) -> str:
    """A certificate that somebody has brought, of thirty days."""
    key, now, name = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC), x509.Name([])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(each) for each in names]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    answer = client(cloud, "acm").import_certificate(
        Certificate=signed.public_bytes(serialization.Encoding.PEM),
        PrivateKey=key.private_bytes(serialization.Encoding.PEM, *plain),
    )
    return str(answer["CertificateArn"])


def test_a_stack_without_a_zone_has_nothing_to_ask(examined: Run) -> None:
    assert list(examined("certificate", case())) == []
    assert list(examined("certificate", case(opened(issuer={"kind": "private-ca"})))) == []


@pytest.mark.parametrize("issuer", [{"kind": "acm"}, ACME], ids=["acm", "acme"])
def test_the_zone_is_public_and_has_the_hostnames(issuer: dict[str, str], told: Any, cloud: Cloud) -> None:
    zone = made(cloud, "llm.example.com")
    assert told(**issuer, zone=zone).status is Status.OK
    elsewhere = told(**issuer, zone=made(cloud, "other.example.com"))
    assert (elsewhere.status, elsewhere.sentence) == (
        Status.FAIL,
        "other.example.com has no place for llama-3-8b.llm.example.com",
    )
    lost = told(**issuer, zone=ZONE)
    assert (lost.status, lost.sentence) == (Status.FAIL, "the account has no such hosted zone")
    vpc = {"VPCRegion": "us-east-2", "VPCId": "vpc-1"}
    private = told(**issuer, zone=made(cloud, "example.com", VPC=vpc, HostedZoneConfig={"PrivateZone": True}))
    assert (private.status, "is a private zone" in private.sentence) == (Status.FAIL, True)


def test_a_certificate_is_issued_and_for_the_hostnames(told: Any, cloud: Cloud) -> None:
    pending = client(cloud, "acm").request_certificate(DomainName="*.llm.example.com", ValidationMethod="DNS")
    found = told(kind="acm", certificate=pending["CertificateArn"])
    assert (found.status, found.sentence) == (
        Status.FAIL,
        "it is PENDING_VALIDATION, and load balancers show issued ones only",
    )
    other = told(kind="acm", certificate=imported(cloud, "llm.example.com"))
    assert "it is for llm.example.com, and not for llama-3-8b.llm.example.com" in other.sentence
    brought = told(kind="acm", certificate=imported(cloud, "*.llm.example.com"))
    assert (brought.status, "ACM does not renew it" in brought.sentence) == (Status.WARN, True)
    absent = pending["CertificateArn"][:-4] + "0000"
    assert told(kind="acm", certificate=absent).sentence == "the account has no such certificate in this region"
