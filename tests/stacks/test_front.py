"""A certificate at the platform's load balancer: who registers it, and that all behind it is as elsewhere (Y12)."""

import json
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest

from components.serving.entry import Entry
from stacks.aws_front import of_account
from stacks.gateway import entry_of
from tests.graph.harness import Recorded
from tests.planner.serving.test_gateway import opened
from tests.planner.stacks import planned
from tests.stacks.test_gateway import ARN, HOST, ZONE, graph

BEGIN = "service.beta.kubernetes.io/aws-load-balancer-"
WORDS = ("ssl-cert", "ssl-ports", "ssl-negotiation-policy", "backend-protocol")
SHOWN = {f"{BEGIN}{word}" for word in WORDS}


def annotations(found: Recorded) -> dict[str, str]:
    """Of the gateway's Service."""
    told: dict[str, str] = found.one("traefik-release").inputs["values"]["service"]["annotations"]
    return told


def test_the_stack_requests_a_certificate_and_shows_it_when_it_is_issued() -> None:
    found = graph(acm=("zone", ZONE))
    certificate, record, issued = (
        found.one(f"front-{part}") for part in ("certificate", "llama-3-8b-record", "issued")
    )
    assert (certificate.inputs["domainName"], certificate.inputs["subjectAlternativeNames"]) == (HOST, [HOST])
    assert (certificate.inputs["validationMethod"], certificate.inputs["tags"]["Name"]) == ("DNS", "front-certificate")
    (option,) = certificate.outputs["domainValidationOptions"]
    assert (record.inputs["zoneId"], record.inputs["type"], record.inputs["name"], record.inputs["records"]) == (
        ZONE,
        "CNAME",
        option["resourceRecordName"],
        [option["resourceRecordValue"]],
    )
    assert "allowOverwrite" not in record.inputs
    assert issued.inputs["certificateArn"] == certificate.outputs["arn"]
    assert issued.timeouts["create"] == "30m"
    assert issued.urn in found.one("traefik-release").depends_on
    told = annotations(found)
    assert {key.removeprefix(BEGIN): told[key] for key in SHOWN} == {
        "ssl-cert": certificate.outputs["arn"],
        "ssl-ports": "443",
        "ssl-negotiation-policy": "ELBSecurityPolicy-TLS13-1-2-Res-2021-06",
        "backend-protocol": "ssl",
    }


def test_behind_it_everything_is_as_with_the_stacks_own_authority() -> None:
    """Hostnames, redirects, limits and the gateway's own certificates, which `up` waits for."""
    mine, theirs = graph(acm=("zone", ZONE)), graph()
    for name in (each.name for each in theirs.resources.values() if each.token.startswith("kubernetes:")):
        if name != "traefik-release":
            assert mine.one(name).inputs == theirs.one(name).inputs, name
    values, own = (deepcopy(each.one("traefik-release").inputs["values"]) for each in (mine, theirs))
    assert values["service"].pop("annotations").keys() - SHOWN == own["service"].pop("annotations").keys()
    assert values == own
    added = {each.name for each in mine.resources.values()} - {each.name for each in theirs.resources.values()}
    assert added == {"front", "front-certificate", "front-llama-3-8b-record", "front-issued"}


def test_an_issued_certificate_is_shown_as_it_is() -> None:
    found = graph(acm=("certificate", ARN))
    assert annotations(found)[f"{BEGIN}ssl-cert"] == ARN
    assert found.of_type("aws:acm/certificate:Certificate") == found.of_type("aws:route53/record:Record") == []


@pytest.mark.parametrize("without", [graph, lambda: graph(acme=True), lambda: graph(zone=True, reach="network")])
def test_no_other_issuer_has_it(without: Any) -> None:
    found = without()
    assert not SHOWN & annotations(found).keys()
    assert "aws:acm" not in json.dumps([each.token for each in found.resources.values()])


def test_a_platform_without_such_load_balancers_says_so() -> None:
    gateway = planned("dev", opened(issuer={"kind": "acm", "zone": ZONE})).gateway
    platform: Any = SimpleNamespace(front=None, entry=Entry())
    assert gateway is not None
    with pytest.raises(pulumi.RunError, match=r"issuer\.kind: this platform's load balancer has no certificates"):
        entry_of(gateway, platform, pulumi.ResourceOptions())


def test_a_certificate_of_another_account_is_refused_when_the_account_is_asked() -> None:
    assert of_account(ARN, "123456789012") == ARN
    with pytest.raises(pulumi.RunError, match=r"issuer\.certificate: it is one of the account 123456789012, and"):
        of_account(ARN, "999999999999")
