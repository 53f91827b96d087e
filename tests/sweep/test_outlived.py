"""What a rehearsal says of a stack's own end, where the keeper does what it should and where it does not."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rehearsal.keys import Account, Keys
from rehearsal.plugins.aws.types.lambda_ import archive
from rehearsal.tests.cloud.conftest import REGION, Cloud
from rehearsal.tests.cloud.world import Network
from rehearsed import ending
from stacks.aws_keeper import code
from tests.sweep.conftest import lab_network, running_cloud
from tests.sweep.test_keeper import Kept, make

__all__ = ["make"]
FILE = f"config:\n  gpucluster:region: {REGION}\n  gpucluster:keeper: {{}}\n"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """An account of its own: what is left in it is counted whatever its tags."""
    with running_cloud(tmp_path_factory.mktemp("outlived")) as running:
        yield running


@pytest.fixture(scope="module")
def network(cloud: Cloud) -> Network:
    return lab_network(cloud)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "PAUSE_SECONDS", 0.1)


def outlived(cloud: Cloud, file: str = FILE) -> tuple[list[str], list[str]]:
    """What is wrong, and what was said on the way."""
    said: list[str] = []
    return ending.outlive(file, cloud.account, said.append), said


def test_a_lab_that_ends_as_it_should_is_no_problem(make: Any, cloud: Cloud) -> None:
    kept: Kept = make("outlived", expires=True)
    kept.mail("a@example.com")
    kept.lab.everything()
    group = kept.lab.cluster_group()
    wrong, said = outlived(cloud, FILE.replace("{}", "{emails: [a@example.com]}"))
    assert wrong == []
    groups = cloud.client("ec2").describe_security_groups()["SecurityGroups"]
    assert group not in [each["GroupId"] for each in groups], "a protected volume protects no group of EKS'"
    assert said[0] == "the account's clock is moved to the end of the stack: 2099-01-01T00:00:00Z"
    assert said[1].endswith("warned by mail: a@example.com")
    assert "have gone" in said[-1]
    assert kept.left() == {}
    assert cloud.client("sqs").list_queues().get("QueueUrls", []) == []


@pytest.mark.parametrize(
    ("silenced", "said"),
    [
        ("ends soon", "the topic should have got 'ends-soon ends soon' once before the end, and it got []"),
        ("has ended", "the topic should have got that the stack has ended, and it got ['has-ended ends soon']"),
    ],
)
def test_what_reaches_nobody_is_told(silenced: str, said: str, make: Any, cloud: Cloud) -> None:
    """A keeper that remembers that it told, and did not; and an address that no mail goes to."""
    files = code()
    call = '    account.call("sns", "publish"'
    mute = files["handler.py"].replace(call, f'    if subject == "{silenced}":\n        return\n{call}')
    assert mute != files["handler.py"]
    name = silenced.replace(" ", "-")
    make(name, expires=True)
    archived = archive({"assets": {name: {"text": text} for name, text in {**files, "handler.py": mute}.items()}})
    cloud.client("lambda").update_function_code(FunctionName=f"gpucluster-{name}-keeper", ZipFile=archived)
    wrong, told = outlived(cloud, FILE.replace("{}", "{emails: [b@example.com]}"))
    assert wrong == [said, "nothing is sent to b@example.com, whom keeper.emails names"]
    assert told[1].endswith("warned by mail: nobody: keeper.emails names no address")


def test_what_goes_on_costing_is_named(make: Any, cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what carries none of the stack's tags, which neither the keeper nor the sweep sees."""
    monkeypatch.setattr(ending, "ROUNDS", 3)
    kept: Kept = make("untagged", expires=True)
    kept.lab.volume()
    ec2 = cloud.client("ec2")
    stray = ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=1)["VolumeId"]
    cloud.call(
        "POST", "faults", {"action": "DeleteVolume", "code": "UnauthorizedOperation", "status": 403, "times": 99}
    )
    order = {"InstanceType": "m7i.large", "InstancePlatform": "Linux/UNIX", "InstanceCount": 1}
    held = ec2.create_capacity_reservation(AvailabilityZone=f"{REGION}a", **order)["CapacityReservation"]
    wrong, _ = outlived_with_faults(cloud)
    ec2.cancel_capacity_reservation(CapacityReservationId=held["CapacityReservationId"])
    assert len(wrong) == 1
    named = f"goes on costing by the hour: capacity reservation {held['CapacityReservationId']}, volume vol-"
    assert wrong[0].startswith(f"after its end and 3 looks it {named}")
    assert stray in wrong[0]
    for each in ec2.describe_volumes()["Volumes"]:
        ec2.delete_volume(VolumeId=each["VolumeId"])


def outlived_with_faults(cloud: Cloud) -> tuple[list[str], list[str]]:
    """The faults end before the rehearsal's own volumes are taken away."""
    leave = ending.Strangers.leave

    def first(self: ending.Strangers) -> None:
        cloud.call("DELETE", "faults")
        leave(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ending.Strangers, "leave", first)
        return outlived(cloud)


def test_an_end_that_takes_what_is_protected_is_told(make: Any, cloud: Cloud) -> None:
    files = code()
    broken = files["sweep/remove.py"].replace("if not thing.owner.protected and not thing.stays", "")
    assert broken != files["sweep/remove.py"]
    careless = archive(
        {"assets": {name: {"text": text} for name, text in {**files, "sweep/remove.py": broken}.items()}}
    )
    make("careless", expires=True)
    cloud.client("lambda").update_function_code(FunctionName="gpucluster-careless-keeper", ZipFile=careless)
    (wrong,), _ = outlived(cloud)
    assert wrong.startswith("its end takes what was meant to last: volume vol-")


def test_a_keeper_that_nothing_calls_and_one_that_fails_are_told(make: Any, cloud: Cloud) -> None:
    assert outlived(cloud)[0] == ["the stack file has a keeper, and no schedule of the account calls one"]
    kept: Kept = make("mute", expires=True)
    cloud.client("ssm").put_parameter(Name=kept.ends, Value="soon", Type="String", Overwrite=True)
    assert outlived(cloud)[0] == ["the keeper's first look failed; its words are in the log"]


def test_a_keeper_of_the_preset_is_rehearsed(make: Any, cloud: Cloud) -> None:
    make("given", expires=True)
    _, said = outlived(cloud, FILE.replace("gpucluster:keeper: {}", "gpucluster:preset: lab-cloud"))
    assert "2099-01-01" in said[0]


def test_an_end_within_the_warning_is_warned_of_by_the_first_look(make: Any, cloud: Cloud) -> None:
    kept: Kept = make("near", expires=True, warn_hours=2)
    kept.extend(datetime.now(UTC) + timedelta(hours=1))
    kept.lab.volume()
    assert outlived(cloud)[0] == []


def test_a_region_that_only_a_preset_names_is_where_the_cluster_is(make: Any, cloud: Cloud) -> None:
    kept: Kept = make("elsewhere", expires=True)
    kept.lab.cluster()
    wrong = ending.outlive("config:\n  gpucluster:region: eu-north-1\n  gpucluster:keeper: {}\n", cloud.account, print)
    assert wrong == []
    assert kept.left() == {}


def test_a_stack_without_a_keeper_is_not_ended() -> None:
    assert (
        ending.outlive("config:\n  gpucluster:preset: dev\n", Account("http://127.0.0.1:1", Keys("", "", "")), print)
        == []
    )
