"""Regions and zones: AWS' own list of the former, the recorded ones of the latter (newcomer's row A5)."""

import json
from pathlib import Path

import botocore

from catalogue.offerings import OFFERINGS
from catalogue.regions import REGIONS, is_recorded, zones

PARTITIONS = ("aws", "aws-cn", "aws-us-gov")


def test_regions_are_those_that_the_sdk_knows() -> None:
    """A region that AWS adds is missing here when botocore is raised, and this test names it."""
    data = json.loads((Path(botocore.__file__).parent / "data" / "endpoints.json").read_text(encoding="utf-8"))
    told = {region for each in data["partitions"] if each["partition"] in PARTITIONS for region in each["regions"]}
    assert set(REGIONS) == told
    assert list(REGIONS) == sorted(REGIONS)


def test_what_is_recorded_is_of_regions_that_there_are() -> None:
    assert {region for regions in OFFERINGS.values() for region in regions} <= set(REGIONS)


def test_zones_are_those_in_which_anything_is_offered() -> None:
    assert zones("eu-north-1", OFFERINGS) == ("eun1-az1", "eun1-az2", "eun1-az3")
    assert zones("us-west-1", OFFERINGS) == ("usw1-az1", "usw1-az3")
    assert zones("ap-east-2", OFFERINGS) == ()
    assert is_recorded("us-west-1", OFFERINGS)
    assert not is_recorded("ap-east-2", OFFERINGS)
