"""What security groups let through, as EC2 describes them."""

from typing import Any

import pytest

from rehearsal.cloud.seen.network import End, Groups

ITSELF: dict[str, Any] = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-efa"}]}
ANYWHERE: dict[str, Any] = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
ANOTHER: dict[str, Any] = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-other"}]}
PORTS: dict[str, Any] = {**ITSELF, "IpProtocol": "tcp", "FromPort": 0, "ToPort": 65535}
NODE = End(("sg-other", "sg-efa"), ("10.0.0.5",))


@pytest.mark.parametrize(
    ("inside", "outside", "carried"),
    [
        ([ITSELF], [ITSELF], True),
        ([ANYWHERE, ITSELF], [ANYWHERE, ITSELF], True),
        ([ITSELF], [ANYWHERE], False),
        ([ANYWHERE], [ITSELF], False),
        ([ITSELF], [], False),
        ([ITSELF], [ANOTHER], False),
        ([PORTS], [ITSELF], False),
    ],
)
def test_efa_goes_by_rules_of_a_group_to_itself(
    inside: list[dict[str, Any]], outside: list[dict[str, Any]], carried: bool
) -> None:
    group = {"GroupId": "sg-efa", "IpPermissions": inside, "IpPermissionsEgress": outside}
    assert Groups.of([group]).carries_efa(NODE) is carried


def test_two_groups_with_one_half_each_carry_nothing() -> None:
    halves = [
        {"GroupId": "sg-efa", "IpPermissions": [ITSELF], "IpPermissionsEgress": [ANYWHERE]},
        {"GroupId": "sg-other", "IpPermissions": [], "IpPermissionsEgress": [ANOTHER]},
    ]
    assert not Groups.of(halves).carries_efa(NODE)
    assert not Groups.of([]).carries_efa(NODE)
