"""The controllers' network is nobody's but theirs, and their certificates are known (Y14, F06)."""

from __future__ import annotations

from typing import Any

import pytest

from settings.errors import SettingsError
from tests.planner.stacks import planned_metal
from tests.planner.storage.test_ceph_machines import planned as ceph

RULES = ("controllers-reachable", "controller-certificate")
SHOWN = ":".join(["0A"] * 32)


def said(changes: dict[str, Any]) -> list[str]:
    return [str(each) for each in planned_metal(changes).findings if each.rule in RULES]


def test_the_committed_controllers_are_apart_and_known() -> None:
    assert said({}) == []


@pytest.mark.parametrize("cidr", ["10.20.4.0/22", "10.20.5.0/28", "10.20.4.21/32", "10.20.0.0/16"])
def test_no_range_that_pods_reach_has_controllers_in_it(cidr: str) -> None:
    (found,) = said({"inventory.objectStore.cidrs": ["10.20.2.0/28", cidr]})
    assert "inventory.objectStore.cidrs[1]" in found
    assert f"pods may speak with {cidr}, which overlaps platform.bmcCidr 10.20.4.0/22" in found
    assert "name the addresses of that service alone" in found


def test_neither_has_ceph() -> None:
    found = ceph(publicCidr="10.20.4.0/24", clusterCidr="10.20.5.0/24").findings
    paths = {each.path.removeprefix("gpucluster:") for each in found if each.rule == "controllers-reachable"}
    assert paths == {"storage.ceph.publicCidr", "storage.ceph.clusterCidr"}


def test_a_range_beside_theirs_may_be_reached() -> None:
    assert said({"inventory.objectStore.cidrs": ["10.20.8.0/24", "10.20.3.0/24"]}) == []


@pytest.mark.parametrize("path", ["platform.podCidr", "fabric.railCidr", "platform.managementCidr"])
def test_pods_rails_and_machines_are_in_networks_of_their_own(path: str) -> None:
    found = [each for each in planned_metal({path: "10.20.4.0/24"}).errors if each.rule == "addresses-overlap"]
    assert any("10.20.4.0/22" in each.sentence and "10.20.4.0/24" in each.sentence for each in found)


def test_a_controller_that_is_asked_has_a_known_certificate() -> None:
    """A password would go to whoever takes its address."""
    bare = {"inventory.controllers": {"user": "ops"}}
    found = said(bare)
    assert len(found) == 4
    assert "inventory.hosts[1].bmcFingerprints: the controllers of dgx-[01-08] have no known certificate" in found[1]
    assert len(said(bare | {"inventory.hosts.1.bmcFingerprints": [SHOWN] * 8})) == 3
    assert said({"inventory.controllers": None}) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"inventory.hosts.1.bmcFingerprints": [SHOWN]}, "has 1 for 8 machines"),
        ({"inventory.hosts.1.bmcFingerprints": ["0a:1b"] * 8}, "is not the SHA-256 of a certificate"),
        (
            {"inventory.hosts.1.bmcFingerprints": [SHOWN] * 8, "inventory.hosts.1.bmc": None},
            "bmcFingerprints: needs the controllers' addresses; add bmc",
        ),
        ({"inventory.controllers": {"user": "ops", "authority": "signed"}}, "is not a certificate as PEM"),
        ({"inventory.controllers": {"user": "ops", "password": "secret"}}, "password"),
    ],
)
def test_words_about_controllers_that_mean_nothing_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words.replace("[", r"\[")):
        planned_metal(changes)


WATCHED = {"monitoring": {}, "inventory.logs": {"host": "10.20.0.5"}}
SENSORS = WATCHED | {"inventory.controllers.sensors": {"user": "sensors"}}


def test_sensors_are_read_where_somebody_is_told() -> None:
    def sensors(changes: dict[str, Any]) -> list[str]:
        return [each.sentence for each in planned_metal(changes).findings if each.rule == "controller-sensors"]

    bare = {f"inventory.hosts.{index}.bmc": None for index in range(4)}
    assert sensors(SENSORS) == sensors({}) == []
    assert sensors(SENSORS | {"monitoring": None}) == [
        "there is no section monitoring, so nobody would be told what the sensors say"
    ]
    assert sensors(SENSORS | bare) == ["no machine of the inventory has a controller with an address"]


def test_what_controllers_tell_has_room_in_prometheus() -> None:
    plan, without = planned_metal(SENSORS).monitoring, planned_metal(WATCHED).monitoring
    assert plan is not None
    assert without is not None
    added = next(each for each in plan.exporters if each.name == "sensors")
    assert (added.targets, plan.series - without.series) == (1, added.series)
