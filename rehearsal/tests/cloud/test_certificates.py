"""Certificates from their request to the load balancer that shows them, as EKS' controller and a stack ask for them."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rehearsal.eks import listeners
from rehearsal.eks.listeners import BEGIN, Mapped, mapped
from rehearsal.tests.cloud.conftest import Cloud

NAMES = ["a.llm.example.org", "b.llm.example.org"]
PORTS = [
    {"name": "web", "port": 80, "nodePort": 30080, "protocol": "TCP"},
    {"name": "websecure", "port": 443, "nodePort": 30443, "protocol": "TCP"},
]
TAGS = [{"Key": "kubernetes.io/service-name", "Value": "gateway/traefik"}]
POLICY = "ELBSecurityPolicy-TLS13-1-2-Res-2021-06"


def service(certificate: str, **told: str) -> dict[str, Any]:
    """Two ports, of which 443 shows a certificate if there is one."""
    tls = {"ssl-cert": certificate, "ssl-ports": "443", "backend-protocol": "ssl", "ssl-negotiation-policy": POLICY}
    annotations = {f"{BEGIN}{key}": value for key, value in {**(tls if certificate else {}), **told}.items()}
    meta = {"name": "traefik", "namespace": "gateway", "uid": "1", "annotations": annotations}
    return {"metadata": meta, "spec": {"ports": PORTS}}


@pytest.fixture
def zone(cloud: Cloud) -> Iterator[str]:
    route53 = cloud.client("route53")
    made = route53.create_hosted_zone(Name="llm.example.org", CallerReference="once")["HostedZone"]["Id"]
    yield made
    for each in route53.list_resource_record_sets(HostedZoneId=made)["ResourceRecordSets"]:
        if each["Type"] == "CNAME":
            change(cloud, made, "DELETE", each)
    route53.delete_hosted_zone(Id=made)


@pytest.fixture
def requested(cloud: Cloud) -> Iterator[str]:
    acm = cloud.client("acm")
    arn = acm.request_certificate(DomainName=NAMES[0], SubjectAlternativeNames=NAMES, ValidationMethod="DNS")
    yield arn["CertificateArn"]
    acm.delete_certificate(CertificateArn=arn["CertificateArn"])


@pytest.fixture
def balancer(cloud: Cloud) -> Iterator[dict[str, Any]]:
    elbv2, subnets = cloud.client("elbv2"), cloud.client("ec2").describe_subnets()["Subnets"]
    ids = [each["SubnetId"] for each in subnets if each["DefaultForAz"]][:2]
    made = elbv2.create_load_balancer(Name="a1", Type="network", Subnets=ids)["LoadBalancers"][0]
    yield made
    elbv2.delete_load_balancer(LoadBalancerArn=made["LoadBalancerArn"])
    for each in elbv2.describe_target_groups()["TargetGroups"]:
        elbv2.delete_target_group(TargetGroupArn=each["TargetGroupArn"])
    assert not {"elasticloadbalancing:target-group", "elasticloadbalancing:loadbalancer"} & cloud.inventory().keys()


def change(cloud: Cloud, zone: str, action: str, record: dict[str, Any]) -> None:
    batch = {"Changes": [{"Action": action, "ResourceRecordSet": record}]}
    cloud.client("route53").change_resource_record_sets(HostedZoneId=zone, ChangeBatch=batch)


def told(cloud: Cloud, arn: str) -> dict[str, Any]:
    found: dict[str, Any] = cloud.client("acm").describe_certificate(CertificateArn=arn)["Certificate"]
    return found


def validate(cloud: Cloud, zone: str, arn: str, *names: str) -> None:
    for each in told(cloud, arn)["DomainValidationOptions"]:
        if each["DomainName"] in names:
            wanted = each["ResourceRecord"]
            values = [{"Value": wanted["Value"]}]
            record = {"Name": wanted["Name"], "Type": wanted["Type"], "TTL": 300, "ResourceRecords": values}
            change(cloud, zone, "CREATE", record)


def test_it_is_issued_when_each_name_has_its_record_and_not_before(cloud: Cloud, zone: str, requested: str) -> None:
    pending = told(cloud, requested)
    assert (pending["Status"], "IssuedAt" in pending, "NotAfter" in pending) == ("PENDING_VALIDATION", False, False)
    records = {each["DomainName"]: each["ResourceRecord"] for each in pending["DomainValidationOptions"]}
    assert len({each["Name"] for each in records.values()}) == len({each["Value"] for each in records.values()}) == 2
    assert all(each["Name"].endswith(f".{name}.") for name, each in records.items())
    validate(cloud, zone, requested, NAMES[0])
    assert told(cloud, requested)["Status"] == "PENDING_VALIDATION"
    validate(cloud, zone, requested, NAMES[1])
    issued = told(cloud, requested)
    assert (issued["Status"], "IssuedAt" in issued, issued["InUseBy"]) == ("ISSUED", True, [])
    with pytest.raises(ClientError, match="already exists"):
        validate(cloud, zone, requested, NAMES[0])


def test_its_load_balancer_ends_tls_at_one_port_and_keeps_it_from_being_deleted(
    cloud: Cloud, zone: str, requested: str, balancer: dict[str, Any]
) -> None:
    elbv2, acm = cloud.client("elbv2"), cloud.client("acm")
    with pytest.raises(ClientError, match="UnsupportedCertificate"):
        listeners.ensure(elbv2, balancer, service(requested), TAGS)
    validate(cloud, zone, requested, *NAMES)
    listeners.ensure(elbv2, balancer, service(requested), TAGS)
    arn = balancer["LoadBalancerArn"]
    found = {each["Port"]: each for each in elbv2.describe_listeners(LoadBalancerArn=arn)["Listeners"]}
    assert {port: each["Protocol"] for port, each in found.items()} == {80: "TCP", 443: "TLS"}
    assert (found[443]["SslPolicy"], found[443]["Certificates"]) == (POLICY, [{"CertificateArn": requested}])
    groups = elbv2.describe_target_groups(LoadBalancerArn=arn)["TargetGroups"]
    assert {each["Port"]: each["Protocol"] for each in groups} == {30080: "TCP", 30443: "TLS"}
    assert told(cloud, requested)["InUseBy"] == [arn]
    with pytest.raises(ClientError, match="ResourceInUseException"):
        acm.delete_certificate(CertificateArn=requested)


def test_another_certificate_takes_its_place_and_a_look_without_news_changes_nothing(
    cloud: Cloud, zone: str, requested: str, balancer: dict[str, Any]
) -> None:
    elbv2, acm = cloud.client("elbv2"), cloud.client("acm")
    validate(cloud, zone, requested, *NAMES)
    first = acm.request_certificate(DomainName=NAMES[0], ValidationMethod="DNS")["CertificateArn"]
    listeners.ensure(elbv2, balancer, service(first), TAGS)
    before = elbv2.describe_listeners(LoadBalancerArn=balancer["LoadBalancerArn"])["Listeners"]
    listeners.ensure(elbv2, balancer, service(first), TAGS)
    assert elbv2.describe_listeners(LoadBalancerArn=balancer["LoadBalancerArn"])["Listeners"] == before
    listeners.ensure(elbv2, balancer, service(requested), TAGS)
    assert told(cloud, requested)["InUseBy"] == [balancer["LoadBalancerArn"]]
    acm.delete_certificate(CertificateArn=first)


def test_a_port_does_not_change_from_tcp_to_tls_in_place(
    cloud: Cloud, zone: str, requested: str, balancer: dict[str, Any]
) -> None:
    """The controller makes the new listener before it deletes the old one, and ELB has one at a port."""
    elbv2 = cloud.client("elbv2")
    validate(cloud, zone, requested, *NAMES)
    listeners.ensure(elbv2, balancer, service(""), TAGS)
    with pytest.raises(ClientError, match="DuplicateListener"):
        listeners.ensure(elbv2, balancer, service(requested), TAGS)


def test_a_certificate_that_nobody_has_is_not_found(cloud: Cloud, balancer: dict[str, Any]) -> None:
    lost = "arn:aws:acm:us-east-1:123456789012:certificate/1234abcd-12ab-34cd-56ef-1234567890ab"
    with pytest.raises(ClientError, match="CertificateNotFound"):
        listeners.ensure(cloud.client("elbv2"), balancer, service(lost), TAGS)


def test_what_was_there_before_a_stack_is_made_once(cloud: Cloud) -> None:
    """A certificate that is issued, and a public zone."""
    arn = "arn:aws:acm:us-east-1:123456789012:certificate/7f3c19ad-5b2e-4c86-9a41-d0e8f6b27c15"
    for _ in range(2):
        assert arn in cloud.call("PUT", "certificates/us-east-1", {arn: ["*.llm.example.org"]})
        assert "Z0123" in cloud.call("PUT", "zones", {"Z0123": "llm.example.org"})
    found = told(cloud, arn)
    assert (found["Status"], found["SubjectAlternativeNames"]) == ("ISSUED", ["*.llm.example.org"])
    zone = cloud.client("route53").get_hosted_zone(Id="Z0123")["HostedZone"]
    assert (zone["Name"], zone["Config"]["PrivateZone"]) == ("llm.example.org.", False)
    cloud.client("acm").delete_certificate(CertificateArn=arn)
    cloud.client("route53").delete_hosted_zone(Id="Z0123")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"ssl-ports": "websecure"}, [("TCP", "TCP"), ("TLS", "TLS")]),
        ({"ssl-ports": "*"}, [("TLS", "TLS"), ("TLS", "TLS")]),
        ({"ssl-ports": "443", "backend-protocol": "tcp"}, [("TCP", "TCP"), ("TLS", "TCP")]),
        ({"ssl-ports": "8443"}, [("TCP", "TCP"), ("TCP", "TCP")]),
    ],
    ids=["by name", "every port", "on in plain", "another port"],
)
def test_annotations_say_which_ports_speak_tls(told: dict[str, str], expected: list[tuple[str, str]]) -> None:
    found: list[Mapped] = mapped(service("arn", **told))
    assert [(each.protocol, each.target_protocol) for each in found] == expected
