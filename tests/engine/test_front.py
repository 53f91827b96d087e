"""The dev stack with a certificate of ACM at its load balancer: issued, shown, changed and taken back (Y12).

The load balancer of a rehearsal carries nothing: what is seen of it is its listeners, and what a caller gets who comes
as it does, over TLS to the gateway's pods without a name in the handshake.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from .caller import SPACE, Caller
from .rehearsed import Rehearsed, until
from .test_gateway import DOMAIN, HOST, OLD, SERVICE, key

pytestmark = [pytest.mark.engine, pytest.mark.scale]

OTHER = f"chat.{DOMAIN}"


@pytest.fixture(scope="module")
def zone(dev: Rehearsed) -> Iterator[str]:
    """A public zone that was in the account before, and that nobody needs afterwards."""
    made = dev.aws("route53").create_hosted_zone(Name=DOMAIN, CallerReference="before the stack")["HostedZone"]["Id"]
    yield str(made).rpartition("/")[2]
    dev.aws("route53").delete_hosted_zone(Id=made)


@pytest.fixture(scope="module")
def open_site(dev: Rehearsed, zone: str) -> Iterator[Rehearsed]:
    """The dev stack, published; the stack and its file are as before in the end."""
    with dev.tree.changed() as tree:
        stack = tree.stack("dev")
        issuer = {"kind": "acm", "zone": zone}
        stack.set("gpucluster:serving.gateway", {"domain": DOMAIN, "issuer": issuer, "callers": ["10.0.0.0/8"]})
        stack.set(f"{SERVICE}.public", value=True)
        dev.up().require()
        yield dev
    dev.up().require()


def certificates(site: Rehearsed) -> dict[str, dict[str, Any]]:
    """Certificates of the account by their first name."""
    acm = site.aws("acm")
    arns = [each["CertificateArn"] for each in acm.list_certificates()["CertificateSummaryList"]]
    found = [acm.describe_certificate(CertificateArn=each)["Certificate"] for each in arns]
    return {each["DomainName"]: each for each in found}


def records(site: Rehearsed, zone: str) -> list[str]:
    """Names of the zone's records, but for its own."""
    every = site.aws("route53").list_resource_record_sets(HostedZoneId=zone)["ResourceRecordSets"]
    return [each["Name"].rstrip(".") for each in every if each["Type"] == "CNAME"]


def listeners(site: Rehearsed) -> dict[int, dict[str, Any]]:
    """Those of the one load balancer, by their ports."""
    elbv2 = site.aws("elbv2")
    (balancer,) = elbv2.describe_load_balancers()["LoadBalancers"]
    found = elbv2.describe_listeners(LoadBalancerArn=balancer["LoadBalancerArn"])["Listeners"]
    return {each["Port"]: each for each in found}


def shown(site: Rehearsed) -> list[str]:
    """ARNs of the certificates at port 443."""
    return [each["CertificateArn"] for each in listeners(site).get(443, {}).get("Certificates", ())]


def test_the_certificate_is_issued_by_its_record_and_the_load_balancer_shows_it(
    open_site: Rehearsed, zone: str
) -> None:
    (certificate,) = certificates(open_site).values()
    assert (certificate["DomainName"], certificate["Status"]) == (HOST, "ISSUED")
    (record,) = records(open_site, zone)
    assert record.endswith(f".{HOST}")
    until(lambda: shown(open_site) == [certificate["CertificateArn"]], "the load balancer shows the certificate")
    assert {port: each["Protocol"] for port, each in listeners(open_site).items()} == {80: "TCP", 443: "TLS"}
    groups = open_site.aws("elbv2").describe_target_groups()["TargetGroups"]
    assert sorted(each["Protocol"] for each in groups) == ["TCP", "TLS"]


def test_who_comes_as_the_load_balancer_does_is_answered_by_the_host_that_it_asks_for(open_site: Rehearsed) -> None:
    caller = Caller(open_site, HOST, key(open_site, OLD))
    stranger = Caller(open_site, f"other.{DOMAIN}", caller.key)
    for at in caller.pods().values():
        until(lambda: caller.unnamed(at).status == 200, f"{at} answers")  # noqa: B023 - at once
        assert stranger.unnamed(at).status == 404
        assert Caller(open_site, HOST, "a-wrong-key").unnamed(at).code == "invalid_api_key"
        assert (caller.plain(at).status, caller.plain(at).location) == (308, f"https://{HOST}/v1/models")


def test_a_second_preview_finds_nothing_to_do(open_site: Rehearsed) -> None:
    open_site.assert_quiet()


def test_another_hostname_is_another_certificate_in_the_place_of_the_first(open_site: Rehearsed, zone: str) -> None:
    """Which goes when the load balancer does not show it any more."""
    before = shown(open_site)
    open_site.tree.stack("dev").set(f"{SERVICE}.hostname", OTHER)
    open_site.up().require()
    (certificate,) = certificates(open_site).values()
    assert (certificate["DomainName"], certificate["Status"]) == (OTHER, "ISSUED")
    assert shown(open_site) == [certificate["CertificateArn"]] != before
    assert [each.partition(".")[2] for each in records(open_site, zone)] == [OTHER]


def test_an_arn_of_nobody_ends_in_an_event_that_names_it(open_site: Rehearsed) -> None:
    """And callers get the certificate that was there."""
    before = shown(open_site)
    kube = open_site.kube
    lost = before[0][:-12] + "0" * 12
    word = "service.beta.kubernetes.io/aws-load-balancer-ssl-cert"
    kube.patch("v1", "Service", "traefik", SPACE, {"metadata": {"annotations": {word: lost}}})

    def told() -> list[str]:
        return [
            str(each.get("message"))
            for each in kube.list("v1", "Event", SPACE)
            if each.get("reason") == "SyncLoadBalancerFailed"
        ]

    until(lambda: any("CertificateNotFound" in each and lost in each for each in told()), "the event")
    assert shown(open_site) == before
    kube.patch("v1", "Service", "traefik", SPACE, {"metadata": {"annotations": {word: before[0]}}})


def test_without_the_section_nothing_of_it_is_left(open_site: Rehearsed, zone: str) -> None:
    assert f"https://{OTHER}" in json.dumps(open_site.outputs())
    open_site.tree.restore()
    open_site.up().require()
    assert certificates(open_site) == {}
    assert records(open_site, zone) == []
    assert open_site.aws("elbv2").describe_load_balancers()["LoadBalancers"] == []
    assert open_site.aws("elbv2").describe_target_groups()["TargetGroups"] == []
