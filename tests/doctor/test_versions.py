"""Kubernetes' minor and node images beside what EKS has."""

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from catalogue import versions as recorded
from catalogue.versions import KUBERNETES
from doctor import versions
from doctor.results import Status
from rehearsal.tests.cloud.conftest import Cloud
from tests.doctor.conftest import REGION, Run, case, client


def test_a_minor_in_standard_support(examined: Run) -> None:
    """Until when is told."""
    (told,) = examined("kubernetes", case())
    assert (told.status, told.subject) == (Status.OK, "1.36")
    assert told.sentence == "in standard support until 2027-08-02"


def test_a_minor_whose_support_ends_soon(examined: Run) -> None:
    """From sixty days before its end on."""
    near, far = datetime(2027, 6, 4, tzinfo=UTC), datetime(2027, 6, 3, tzinfo=UTC)
    assert examined("kubernetes", case(now=near))[0].status is Status.WARN
    assert examined("kubernetes", case(now=far))[0].status is Status.OK


@pytest.mark.parametrize(
    ("check", "minor", "status", "said"),
    [
        ("kubernetes", "1.33", Status.WARN, "ended on 2026-07-29: 0.6 USD an hour instead of 0.1"),
        ("kubernetes", "1.29", Status.FAIL, "no 1.29 in us-east-2"),
        ("image", "1.34", Status.FAIL, "1.34"),
    ],
    ids=["in extended support", "no cluster can be made of it", "its nodes could not be named"],
)
def test_a_minor_that_costs_more_or_cannot_be_had(
    examined: Run, check: str, minor: str, status: Status, said: str
) -> None:
    (told,) = examined(check, case({"platform.kubernetesVersion": minor}))
    assert told.status is status
    assert said in told.sentence


def test_another_day_than_the_catalogue_has(examined: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue's is what the planner warns by."""
    monkeypatch.setitem(recorded.STANDARD_SUPPORT_ENDS, "1.36", date(2027, 8, 3))
    (told,) = examined("kubernetes", case())
    assert told.status is Status.WARN
    assert "2027-08-02, and the catalogue has 2027-08-03" in told.sentence
    monkeypatch.delitem(recorded.STANDARD_SUPPORT_ENDS, "1.36")
    assert "the catalogue has no day" in examined("kubernetes", case())[0].sentence


def test_images_of_the_recorded_release(examined: Run) -> None:
    """One for nodes with GPUs and one for the others, told beside the newest."""
    told = examined("image", case())
    assert [(result.subject, result.status) for result in told] == [
        ("AL2023 x86_64 standard", Status.OK),
        ("AL2023 x86_64 nvidia", Status.OK),
    ]
    assert all(f"release {KUBERNETES['1.36'].ami_release} is ami-" in result.sentence for result in told)
    assert all("1.36.2-20260818 is the recommended one" in result.sentence for result in told)


def test_an_arm_pool_takes_an_arm_image(examined: Run) -> None:
    """GB200 nodes are of Arm processors."""
    changes = {
        "pools.1.instanceType": "p6e-gb200.36xlarge",
        "pools.1.capacity": "capacity-block",
        "pools.1.reservation": {
            "id": "cr-0123456789abcdef0",
            "zone": "use2-az1",
            "start": "2026-11-20",
            "end": "2026-11-27",
        },
    }
    assert "AL2023 arm64 nvidia" in {result.subject for result in examined("image", case(changes))}


def test_images_of_bottlerocket_go_by_their_own_parameters(examined: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """By version, with the commit beside it in what EKS calls the newest."""
    changes = {f"pools.{index}.amiFamily": "bottlerocket" for index in range(3)}
    told = examined("image", case(changes))
    assert [(result.subject, result.status) for result in told] == [
        ("Bottlerocket x86_64 standard", Status.OK),
        ("Bottlerocket x86_64 nvidia", Status.OK),
    ]
    assert all(result.sentence.endswith(", the recommended one") for result in told)
    old = replace(KUBERNETES["1.36"], bottlerocket_release="1.61.0-00000000")
    monkeypatch.setitem(recorded.KUBERNETES, "1.36", old)
    told = examined("image", case(changes))
    assert {result.status for result in told} == {Status.FAIL}
    assert all("record 1.66.0-1ad6b4a4 as the release of 1.36" in str(result.remedy) for result in told)


@pytest.mark.parametrize("release", ["1.36.2-20250101", "1.36.9-19991231"])
def test_a_release_that_does_not_exist(examined: Run, monkeypatch: pytest.MonkeyPatch, release: str) -> None:
    """The recommended one is named."""
    monkeypatch.setitem(recorded.KUBERNETES, "1.36", replace(KUBERNETES["1.36"], ami_release=release))
    told = examined("image", case())
    assert {result.status for result in told} == {Status.FAIL}
    assert all(release in result.sentence for result in told)
    assert all("record 1.36.2-20260818 as the release of 1.36" in str(result.remedy) for result in told)


def test_the_recommended_release_is_told_as_such(examined: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing newer exists."""
    newest = replace(KUBERNETES["1.36"], ami_release="1.36.2-20260818")
    monkeypatch.setitem(recorded.KUBERNETES, "1.36", newest)
    assert all(result.sentence.endswith(", the recommended one") for result in examined("image", case()))


AMI = "ami-0123456789abcdef0"


def shown(cloud: Cloud, name: str) -> None:
    """The account has the image, of this name."""
    cloud.call("PUT", f"images/{REGION}", {AMI: name})


def test_an_image_of_ones_own_is_looked_at_instead_of_eks_one(examined: Run, cloud: Cloud) -> None:
    shown(cloud, "own-node-al2023-x86_64-nvidia-v20260728")
    changed = case({"pools.1.ami": AMI})
    (told,) = examined("own-image", changed)
    assert (told.status, told.subject) == (Status.OK, "training")
    assert told.sentence == f"{AMI} is own-node-al2023-x86_64-nvidia-v20260728"
    assert list(examined("own-image", case())) == []


def test_an_image_that_the_account_does_not_see(examined: Run) -> None:
    (told,) = examined("own-image", case({"pools.1.ami": "ami-0fedcba9876543210"}))
    assert (told.status, "no image ami-0fedcba9876543210" in told.sentence) == (Status.FAIL, True)


def test_an_image_for_another_processor(examined: Run, cloud: Cloud) -> None:
    shown(cloud, "own-node-al2023-arm64-nvidia-v20260728")
    (told,) = examined("own-image", case({"pools.1.ami": AMI}))
    assert (told.status, f"{AMI} is for arm64" in told.sentence) == (Status.FAIL, True)


def test_an_image_that_a_version_of_a_parameter_holds(examined: Run, cloud: Cloud) -> None:
    shown(cloud, "own-node-al2023-x86_64-nvidia-v20260728")
    cloud.call("PUT", f"parameters/{REGION}", {"/images/node:2": AMI, "/images/node:4": "none"})
    (told,) = examined("own-image", case({"pools.1.ami": "/images/node:2"}))
    assert told.status is Status.OK
    assert told.sentence == f"{AMI} is own-node-al2023-x86_64-nvidia-v20260728, from /images/node:2"
    for version, wrong in ((3, "there is no /images/node:3"), (4, "/images/node:4 holds no id of an AMI")):
        (told,) = examined("own-image", case({"pools.1.ami": f"/images/node:{version}"}))
        assert (told.status, wrong in told.sentence) == (Status.FAIL, True)
        assert "get-parameter-history --name /images/node lists" in str(told.remedy)
    client(cloud, "ssm").delete_parameter(Name="/images/node")


def test_a_parameter_that_may_not_be_read_is_named_with_the_right_to_it(examined: Run, cloud: Cloud) -> None:
    fault = {"action": "GetParameters", "code": "AccessDeniedException", "status": 400, "times": 1}
    cloud.call("POST", "faults", fault)
    (told,) = examined("own-image", case({"pools.1.ami": "/images/node:2"}))
    assert told.status is Status.UNKNOWN
    assert "grant ssm:GetParameters on arn:aws:ssm:*:*:parameter/images/node," in str(told.remedy)


UNFIT = {
    "pending": ({"State": "pending"}, "is pending"),
    "device": ({"RootDeviceName": "/dev/sda1"}, "is /dev/sda1"),
    "size": ({"BlockDeviceMappings": [{"Ebs": {"VolumeSize": 500}}, {"VirtualName": "ephemeral0"}]}, "holds 500 GiB"),
    "old": ({"DeprecationTime": "2027-01-01T00:00:00.000Z"}, "deprecated from 2027-01-01 on"),
}


@pytest.mark.parametrize(("changes", "words"), UNFIT.values(), ids=UNFIT)
def test_an_image_that_does_not_fit_the_pool(changes: dict[str, Any], words: str) -> None:
    pool = case({"pools.1.ami": AMI}).plan.pools["training"]
    image = {"State": "available", "Architecture": "x86_64", "RootDeviceName": "/dev/xvda"}
    assert list(versions._unfit(pool, image)) == []
    ((_, sentence, remedy),) = versions._unfit(pool, {**image, **changes})
    assert (words in sentence, bool(remedy)) == (True, True)
