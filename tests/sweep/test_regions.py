"""A sweep of every region of an account, and what it shows and never removes: buckets and secrets."""

from datetime import date
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rehearsal.tests.cloud.conftest import REGION, Cloud
from sweep.__main__ import main
from sweep.account import AwsAccount
from sweep.regions import opted_in, seen_in
from sweep.remove import remove
from tests.sweep.conftest import TODAY, listed, tags
from tests.sweep.everything import LAB, PROD, ec2
from tests.sweep.inventory import Inventory
from tests.sweep.test_inventory import table

HOME, AWAY, DENIED = "eu-north-1", "us-east-2", "sa-east-1"


def bucket(name: str, region: str, of: Any) -> dict[str, Any]:
    """`of` are its tags, or the code with which S3 refuses to tell them."""
    return {"Name": name, "BucketRegion": region, "GroupTags": of}


def secret(name: str, of: dict[str, str]) -> dict[str, Any]:
    return {"Name": name, "ARN": f"arn:aws:secretsmanager:{HOME}:123456789012:secret:{name}", "Tags": listed(of)}


@pytest.fixture
def regions(monkeypatch: pytest.MonkeyPatch) -> dict[str, Inventory]:
    """An account with three regions, one of which its organisation denies; a lab that is over left things in two."""
    made = {each: Inventory() for each in (HOME, AWAY, DENIED)}
    buckets = [
        bucket("lab-artefacts", HOME, LAB),
        bucket("prod-artefacts", AWAY, PROD),
        bucket("untagged", HOME, "NoSuchTagSet"),
        bucket("gone", HOME, "NoSuchBucket"),
        *(bucket(f"closed-{each}", AWAY, "AccessDenied") for each in range(5)),
    ]
    for name, each in made.items():
        each.region, each.regions = name, sorted(made)
        each.things["s3 list_buckets"] = buckets
    made[HOME].things["secretsmanager list_secrets"] = [secret("lab/hub", LAB), secret("prod/hub", PROD)]
    made[HOME].things["ec2 describe_volumes"] = [ec2("VolumeId", "vol-home", "available", LAB, Size=50)]
    made[AWAY].things["ec2 describe_nat_gateways"] = [ec2("NatGatewayId", "nat-away", "available", LAB)]

    def denied(*_: Any, **__: Any) -> Any:
        code = {"Code": "UnauthorizedOperation", "Message": "with an explicit deny in a service control policy"}
        raise ClientError({"Error": code}, "ListClusters")

    monkeypatch.setattr(made[DENIED], "pages", denied)

    def account(region: str | None, profile: str | None) -> Inventory:
        assert profile == "ml"
        return made[region or HOME]

    monkeypatch.setattr("sweep.__main__.AwsAccount", account)
    monkeypatch.setitem(remove.__kwdefaults__ or {}, "pause", lambda _: None)
    return made


EVERYWHERE = ["--region", "all", "--profile", "ml"]


def test_every_region_is_looked_at_and_the_table_says_which(
    regions: dict[str, Inventory], capsys: pytest.CaptureFixture[str]
) -> None:
    """One that the organisation denies is told of, and hides none of the others."""
    assert main(EVERYWHERE, today=TODAY) == 1
    shown = capsys.readouterr()
    rows = [[each[0], each[2], each[3], each[4], each[7]] for each in table(shown.out)]
    assert rows == [
        ["lab", HOME, "bucket", "lab-artefacts", "stays: it may hold data: empty it and delete it"],
        ["lab", HOME, "secret", "lab/hub", "stays: it may be needed: aws secretsmanager delete-secret"],
        ["lab", HOME, "volume", "vol-home", ""],
        ["lab", AWAY, "NAT gateway", "nat-away", ""],
    ]
    closed = "whose these buckets are, their policies do not let you see: closed-0, closed-1, closed-2 and 2 more"
    assert shown.out.splitlines()[-2:] == [
        f"{AWAY}: {closed}",
        "make sweep REGION=all REMOVE=lab removes what lab left",
    ]
    assert shown.err.startswith(f"{DENIED}: not looked at: An error occurred (UnauthorizedOperation)")


def test_a_lab_goes_from_every_region_and_its_data_stays(
    regions: dict[str, Inventory], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*EVERYWHERE, "--remove", "lab"], today=TODAY, ask=lambda _: "no") == 1
    assert [each.done for each in regions.values()] == [[], [], []]
    assert main([*EVERYWHERE, "--remove", "lab", "--confirm", "lab"], today=TODAY) == 2, "one region is not known"
    assert "removed: 2; left: 0\n" in capsys.readouterr().out
    assert regions[HOME].done == ["ec2 delete_volume vol-home"]
    assert regions[AWAY].done == ["ec2 delete_nat_gateway nat-away"]
    assert main(EVERYWHERE, today=TODAY) == 2
    assert main(["--region", HOME, "--profile", "ml"], today=TODAY) == 0


def test_a_bucket_that_fails_otherwise_ends_the_sweep(regions: dict[str, Inventory]) -> None:
    """What is not known is not told as nothing."""
    regions[HOME].things["s3 list_buckets"] = [bucket("odd", HOME, "InternalError")]
    with pytest.raises(ClientError, match="InternalError"):
        seen_in(HOME, regions[HOME], TODAY)


def test_without_a_region_of_its_own_the_regions_are_asked_for_where_every_account_has_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []

    def account(region: str | None, profile: str | None) -> Inventory:
        asked.append(region)
        made = Inventory()
        made.region = region  # type: ignore[assignment]
        return made

    monkeypatch.setattr("sweep.__main__.AwsAccount", account)
    assert main(["--region", "all"], today=TODAY) == 0
    assert asked == [None, "us-east-1", "us-east-2"]


def test_buckets_and_secrets_of_an_account_are_found_by_their_tags(cloud: Cloud, account: AwsAccount) -> None:
    """On the services' own answers. A secret that is going already is not told of."""
    s3, manager = cloud.client("s3"), cloud.client("secretsmanager")
    of = listed(tags("stored"))
    for name in ("stored-artefacts", "nobodys-artefacts"):
        s3.create_bucket(Bucket=name)
    s3.put_bucket_tagging(Bucket="stored-artefacts", Tagging={"TagSet": of})
    for name in ("stored/hub", "stored/going"):
        manager.create_secret(Name=name, SecretString="x", Tags=of)
    manager.delete_secret(SecretId="stored/going")
    seen = seen_in(REGION, account, TODAY)
    mine = {(each.kind, each.id) for each in seen.over if each.owner.stack == "stored"}
    assert mine == {("bucket", "stored-artefacts"), ("secret", "stored/hub")}
    assert seen_in(REGION, account, date(2020, 1, 1)).over == ()
    assert seen.hidden == ()
    assert {REGION, "eu-north-1"} <= set(opted_in(account))
