"""What somebody else made, as the planner sees it: a VPC, links of the file system with buckets."""

from typing import Any

import pytest

from tests.planner.stacks import planned, rules

KEY = "arn:aws:kms:us-east-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
WEB = {"path": "/datasets/web", "source": "s3://acme-datasets/web"}
SOURCES = ({"bucket": "acme-datasets"}, {"bucket": "acme-model-weights"})


def in_vpc(system: str = "10.40.16.0/20", *, changes: dict[str, Any] | None = None, public: bool = False) -> Any:
    """The dev stack in a VPC in which one subnet of a zone holds nodes and control plane."""
    ranges = {"use2-az1": system, "use2-az2": "10.40.32.0/20"}
    rows = [
        {"id": f"subnet-0aaaaaaaaaaaaaaa{zone[-1]}", "role": role, "zone": zone, "cidr": ranges[zone]}
        for zone in ranges
        for role in ("system", "control-plane")
    ]
    rows.append({"id": "subnet-0aaaaaaaaaaaaaaa9", "role": "gpu", "zone": "use2-az1", "cidr": "10.40.64.0/18"})
    if public:
        rows.append({"id": "subnet-0aaaaaaaaaaaaaaa8", "role": "public", "zone": "use2-az1", "cidr": "10.40.0.0/24"})
    existing = {"vpcId": "vpc-0fe12d34c56b78a90", "subnets": rows}
    told = {"platform.vpcCidr": "10.40.0.0/16", "platform.network": {"existing": existing}}
    return planned(changes={**told, **(changes or {})})


def test_no_vpc_or_nat_gateway_is_paid_or_counted() -> None:
    own, theirs = planned(), in_vpc()
    assert theirs.nat_zones == ()
    gone = {each.name for each in own.prices.lines} - {each.name for each in theirs.prices.lines}
    assert gone == {"NAT gateway", "GB a month through the NAT gateway"}
    names = [{each.quota.name for each in found.quotas} for found in (own, theirs)]
    assert names[0] - names[1] == {"VPCs per Region", "EC2-VPC Elastic IPs", "NAT gateways per Availability Zone"}


def test_a_subnet_of_two_roles_holds_what_both_put_there() -> None:
    """The control plane's six addresses count beside the nodes': at the border they are one too many."""
    system = next(each for each in in_vpc().subnets if each.name == "system-use2-az1")
    needed = system.needed + 6
    size = 32 - (needed + 4).bit_length()
    assert 2 ** (32 - size) - 5 >= needed
    assert rules(in_vpc(f"10.40.16.0/{size}")) == []
    (finding,) = in_vpc(f"10.40.16.0/{size + 1}").errors
    assert finding.rule == "subnet-size"
    assert f"as system and control-plane subnet it takes up to {needed}" in finding.sentence


def test_a_gateway_outside_needs_a_public_subnet() -> None:
    gateway = {
        "reach": "internet",
        "domain": "llm.team-a.ai",
        "issuer": {"kind": "private-ca"},
        "callers": ["203.0.113.0/24"],
    }
    changes = {"serving.gateway": gateway}
    assert "existing-without-public" in rules(in_vpc(changes=changes))
    assert "existing-without-public" not in rules(in_vpc(changes=changes, public=True))
    assert "existing-without-public" not in rules(planned(changes=changes))


@pytest.mark.parametrize(("protect", "linked"), [(True, True), (True, False), (False, True)])
def test_a_protected_stack_is_told_that_links_end_backups(protect: bool, linked: bool) -> None:
    found = stored([WEB] if linked else [], protect=protect)
    assert ("association-backups" in rules(found)) is (protect and linked)
    assert found.file_system.backup_days == (7 if protect and not linked else 0)


def test_a_key_of_somebody_elses_is_told_of() -> None:
    assert "association-key" in rules(stored([WEB], sources=[{**SOURCES[0], "keyArn": KEY}, SOURCES[1]]))
    assert "association-key" not in rules(stored([WEB]))
    assert "association-key" not in rules(stored([], sources=[{**SOURCES[0], "keyArn": KEY}, SOURCES[1]]))


def stored(associations: list[Any], *, protect: bool = False, sources: list[Any] | None = None) -> Any:
    """The dev stack on a persistent file system."""
    lustre = {"deploymentType": "PERSISTENT_2", "capacityGib": 2400, "throughputMbpsPerTib": 125}
    storage = {"lustre": {**lustre, "associations": associations}, "sources": sources or list(SOURCES)}
    return planned(changes={"storage": storage, "lifecycle.protect": protect})


def test_prefixes_beside_others_addresses_are_warned_of() -> None:
    """F02: in subnets of the stack's own nothing else has addresses."""
    on = {"platform.network.prefixDelegation": True}
    assert "prefixes-scattered" in rules(in_vpc(changes=on))
    assert "prefixes-scattered" not in rules(planned(changes=on))
    assert "prefixes-scattered" not in rules(in_vpc())
