"""Certificates at the load balancer: what the plan says of them, and what it refuses (Y11, Y12)."""

from typing import Any

import pytest

from planner.faces.nodes import signer_words
from planner.rules.acm import IDLE_SECONDS
from planner.serving.gateway import LETS_ENCRYPT, FrontPlan
from tests.planner.serving.test_gateway import ACME, EVERYBODY, GATEWAY, ZONE, opened
from tests.planner.stacks import planned, planned_metal, sections

HOST = "llama-3-8b.llm.example.com"
UUID = "1234abcd-12ab-34cd-56ef-1234567890ab"


def arn(region: str = "us-east-2", account: str = "123456789012") -> str:
    return f"arn:aws:acm:{region}:{account}:certificate/{UUID}"


def acm(**issuer: str) -> dict[str, Any]:
    return {"kind": "acm", **issuer}


def told(found: Any) -> list[str]:
    """The rules about certificates at the load balancer that something breaks."""
    every = [each.rule for each in (*found.errors, *found.warnings)]
    return [each for each in every if each.startswith(("acm", "issuer"))]


@pytest.mark.parametrize(
    ("issuer", "expected"),
    [
        (acm(zone=ZONE), FrontPlan(zone=ZONE, certificate=None)),
        (acm(certificate=arn()), FrontPlan(zone=None, certificate=arn())),
        ({"kind": "private-ca"}, None),
        ({**ACME, "zone": ZONE}, None),
    ],
    ids=["requested", "issued", "the stack's own", "of an authority"],
)
def test_a_certificate_at_the_load_balancer_is_requested_or_there(issuer: Any, expected: FrontPlan | None) -> None:
    """The gateway's own certificates are then the stack's, which are there at once; nobody has to be let in."""
    found = planned("dev", opened(issuer=issuer))
    assert found.gateway is not None
    assert found.gateway.front == expected
    assert found.gateway.signed_at_once == (issuer["kind"] != "acme")
    assert told(found) == []


def test_it_costs_nothing_more() -> None:
    usual, other = (planned("dev", opened(issuer=each)).prices for each in ({"kind": "private-ca"}, acm(zone=ZONE)))
    assert usual == other


@pytest.mark.parametrize(
    ("certificate", "platform", "said"),
    [
        (arn(), {}, []),
        (arn(region="us-west-2"), {}, ["its region is us-west-2, and the load balancer looks for it in us-east-2"]),
        (arn(), {"platform.accountId": "123456789012"}, []),
        (
            arn(),
            {"platform.accountId": "210987654321"},
            ["its account is 123456789012, and the load balancer looks for it in 210987654321"],
        ),
        (
            arn(),
            {"platform.roleArn": "arn:aws:iam::210987654321:role/deployer"},
            ["its account is 123456789012, and the load balancer looks for it in 210987654321"],
        ),
    ],
    ids=["its region", "another region", "its account", "another account", "another account, by the role"],
)
def test_an_issued_one_is_of_the_stacks_region_and_account(
    certificate: str, platform: dict[str, str], said: list[str]
) -> None:
    found = planned("dev", opened(issuer=acm(certificate=certificate)) | platform)
    errors = [each for each in found.errors if each.rule == "acm-certificate"]
    assert [each.sentence for each in errors] == said
    assert {each.path for each in errors} <= {"gpucluster:serving.gateway.issuer.certificate"}


def test_racks_have_no_load_balancer_of_aws() -> None:
    gateway = {**GATEWAY, "issuer": acm(zone=ZONE)}
    found = planned_metal({"serving": {"services": [], "gateway": gateway}})
    (error,) = (each for each in found.errors if each.rule.startswith(("acm", "issuer")))
    assert (error.rule, error.path) == ("acm-elsewhere", "gpucluster:serving.gateway.issuer.kind")
    assert "private-ca" in error.remedy


@pytest.mark.parametrize(
    ("count", "issuer", "expected"),
    [
        (10, acm(zone=ZONE), []),
        (11, acm(zone=ZONE), ["acm-names"]),
        (11, acm(certificate=arn()), []),
    ],
    ids=["ten", "eleven", "of somebody's certificate"],
)
def test_one_certificate_has_ten_names_unless_aws_has_raised_that(count: int, issuer: Any, expected: list[str]) -> None:
    (service,) = sections("dev")["serving"]["services"]
    many = [{**service, "name": f"s{each}", "public": True, "keys": [f"key{each}"]} for each in range(count)]
    found = planned("dev", {"serving": {"services": many, "gateway": {**GATEWAY, "issuer": issuer}}})
    assert told(found) == expected


@pytest.mark.parametrize(("length", "expected"), [(64, []), (65, ["acm-long-name"])])
def test_the_shortest_hostname_is_a_common_name(length: int, expected: list[str]) -> None:
    begin, end = "llama-3-8b.", ".example.com"
    domain = "x" * (length - len(begin) - len(end)) + end
    assert told(planned("dev", opened(issuer=acm(zone=ZONE), domain=domain))) == expected
    assert told(planned("dev", opened(issuer={"kind": "private-ca"}, domain=domain))) == []


def test_a_whole_answer_that_is_silent_for_longer_than_the_load_balancer_waits_is_told_of() -> None:
    """Only of a public service behind such a load balancer: a stream of tokens is never silent for so long."""
    usual = planned("dev", opened(issuer=acm(zone=ZONE)))
    assert usual.services["llama-3-8b"].longest_stream_seconds <= IDLE_SECONDS
    long = {"maxModelLen": 32_768}
    found = planned("dev", opened(long, issuer=acm(zone=ZONE)))
    seconds = found.services["llama-3-8b"].longest_stream_seconds
    assert seconds > IDLE_SECONDS
    (warning,) = (each for each in found.warnings if each.rule == "acm-silence")
    assert (warning.subject, warning.path) == ("llama-3-8b", "gpucluster:serving.services[0].maxModelLen")
    assert (
        f"takes {seconds:,} s, and the load balancer closes connections that are silent for 350 s" in warning.sentence
    )
    for others in (opened(long), opened({**long, "public": False}, issuer=acm(zone=ZONE))):
        assert "acm-silence" not in told(planned("dev", others))


@pytest.mark.parametrize(
    ("issuer", "said"),
    [
        (
            acm(zone=ZONE),
            f"by AWS Certificate Manager at the load balancer, for {HOST}, validated and renewed in zone {ZONE}",
        ),
        (
            acm(certificate=arn()),
            f"{arn()} at the load balancer, which has to be for {HOST}; the plan cannot see which names it is for, "
            "make doctor asks",
        ),
        ({"kind": "private-ca"}, "by an authority of the stack's own, whose certificate callers have to be given"),
        ({**ACME, "zone": ZONE}, f"by {LETS_ENCRYPT}, validated by records in zone {ZONE}"),
        (ACME, f"by {LETS_ENCRYPT}, validated by requests to the hostnames"),
    ],
    ids=["acm", "an issued one", "its own", "records", "requests"],
)
def test_the_plan_says_who_signs(issuer: Any, said: str) -> None:
    gateway = planned("dev", opened(issuer=issuer, **EVERYBODY)).gateway
    assert gateway is not None
    assert signer_words(gateway) == said
