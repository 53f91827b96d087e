"""What TLS at a load balancer needs: one port, a policy of today, TLS onwards, and a certificate that is issued."""

import pytest

from policy import RULES
from policy.rule import violations
from tests.graph.changes import MISSING, Change, both, gone, put, unordered
from tests.stacks.test_gateway import ARN, ZONE, graph

ENDED, ISSUED, NAMED = (
    "load_balancers_end_tls_at_its_port",
    "shown_certificates_are_issued",
    "shown_certificates_are_for_the_hostnames",
)
RELEASE, CERTIFICATE, RECORD, WAIT = (
    "traefik-release",
    "front-certificate",
    "front-llama-3-8b-record",
    "front-issued",
)
HOST = "llama-3-8b.llm.example.com"


OTHER = both(
    put(CERTIFICATE, "domainName", "other.example.com"),
    put(CERTIFICATE, "subjectAlternativeNames", ["other.example.com"]),
)


def told(word: str, value: object) -> Change:
    """Another annotation of the gateway's Service."""
    return put(RELEASE, f"values.service.annotations.service~beta~kubernetes~io/aws-load-balancer-{word}", value)


WRONG: list[tuple[str, Change, str]] = [
    (ENDED, told("ssl-ports", MISSING), "ends TLS at *, and callers speak it at 443"),
    (ENDED, told("ssl-ports", "80,443"), "ends TLS at 80,443"),
    (ENDED, told("backend-protocol", MISSING), "goes on by tcp to an entry point that speaks TLS"),
    (ENDED, told("ssl-negotiation-policy", MISSING), "by the default policy, which takes TLS 1.0 or 1.1"),
    (ENDED, told("ssl-negotiation-policy", "ELBSecurityPolicy-TLS13-1-0-2021-06"), "which takes TLS 1.0 or 1.1"),
    (ISSUED, put(RECORD, "name", "_0.other.llm.example.com."), f"is for {HOST}, and no record shows whose that is"),
    (ISSUED, put(CERTIFICATE, "validationMethod", "EMAIL"), "is validated by letters"),
    (ISSUED, put(WAIT, "certificateArn", ARN), "shows front-certificate without waiting until it is issued"),
    (ISSUED, gone(RECORD), f"is for {HOST}, and no record"),
    (ISSUED, unordered(RELEASE, WAIT), "shows front-certificate without waiting"),
    (NAMED, OTHER, f"shows {HOST} with a certificate for other.example.com"),
]
RIGHT: list[tuple[str, Change]] = [
    (ENDED, told("ssl-ports", "websecure")),
    (ENDED, told("ssl-negotiation-policy", "ELBSecurityPolicy-TLS13-1-3-2021-06")),
    (ENDED, told("ssl-cert", MISSING)),
    (ISSUED, told("ssl-cert", ARN)),
    (NAMED, told("ssl-cert", ARN)),
    (NAMED, put(CERTIFICATE, "subjectAlternativeNames", ["*.llm.example.com"])),
]


def said(rule: str, change: Change) -> list[str]:
    """What a rule says of the changed stack."""
    found = change(graph(acm=("zone", ZONE)))
    return [str(each) for each in violations(found, [each for each in RULES if each.id == rule])]


@pytest.mark.parametrize(("rule", "change", "sentence"), WRONG, ids=[each[2] for each in WRONG])
def test_a_wrong_load_balancer_is_found(rule: str, change: Change, sentence: str) -> None:
    found = said(rule, change)
    assert [each for each in found if sentence in each], found


@pytest.mark.parametrize(("rule", "change"), RIGHT)
def test_another_load_balancer_passes(rule: str, change: Change) -> None:
    assert said(rule, change) == []


def test_a_certificate_at_the_load_balancer_keeps_every_rule() -> None:
    for acm in (("zone", ZONE), ("certificate", ARN)):
        assert [str(each) for each in violations(graph(acm=acm), RULES)] == []


BROKEN = {rule for rule, *_ in WRONG}
